"""The items that stop changes: the account's switch with its breaker, and each open breaker."""

from __future__ import annotations

from datetime import UTC, datetime

from headroom.adapters.errors import reading
from headroom.adapters.ledger.items import (
    USABLE,
    USABLE_NAMES,
    Item,
    moment,
    readable,
    stamped,
    unwire,
    wire,
)
from headroom.adapters.ledger.reads import Reads
from headroom.adapters.tables import BREAKER, PAUSE
from headroom.domain.state import STATE_FORMAT, AccountStopState, Breaker, Pause, WrongFormat

UNTIL, OPENED, COUNT = "paused_until", "breaker_opened_at", "failures_in_a_row"
CLOSED = "breaker_closed_at"
OWN_UNTIL = "own_pause_until"
BREAKER_COUNT, WHY = "breaker_failures", "breaker_why"
NAMES = {
    "#until": UNTIL, "#opened": OPENED, "#count": COUNT, "#failures": BREAKER_COUNT, "#why": WHY,
}  # fmt: skip
SWITCH_NAMES = {
    "#until": UNTIL, "#by": "by", "#at": "at", "#reason": "reason", "#own": OWN_UNTIL,
}  # fmt: skip


class BreakerItems:
    """Reads what is stopped, and builds the parts of transactions that stop and release."""

    def __init__(self, reads: Reads, *, table: str, account: str) -> None:
        self._reads = reads
        self._table = table
        self._account = account

    def account(self) -> AccountStopState:
        """The account's switch and breaker, read consistently."""
        found = self._reads.items(self._table, [self._key(PAUSE)])
        with reading("the kill switch"):
            return account_stops(found[0] if found else None, self._account)

    def breakers(self) -> tuple[Breaker, ...]:
        """Breakers of single resources that are open, the oldest first."""
        found = self._reads.query(
            self._table,
            condition="#owner = :owner AND begins_with(#item, :breaker)",
            names={"#owner": "owner", "#item": "item"},
            values={":owner": wire(self._account), ":breaker": wire(f"{BREAKER}#")},
        )
        with reading("open breakers"):
            every = [
                _breaker(i, unwire(i["item"]).partition("#")[2])
                for i in map(readable, found)
                if OPENED in i
            ]
        return tuple(sorted(every, key=lambda b: (b.opened_at, b.resource)))

    def require_not_stopped(self, now: datetime) -> Item:
        """Part of a transaction: only if neither kill switch nor breaker holds at `now`."""
        return {
            "ConditionCheck": {
                "TableName": self._table,
                "Key": self._key(PAUSE),
                "ConditionExpression": "(attribute_not_exists(#until) OR #until <= :now) "
                f"AND attribute_not_exists(#opened) AND {USABLE}",
                "ExpressionAttributeNames": {name: NAMES[name] for name in ("#until", "#opened")}
                | USABLE_NAMES,
                "ExpressionAttributeValues": {
                    ":now": wire(moment(now)),
                    ":format": wire(STATE_FORMAT),
                },
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        }

    def switched_item(
        self,
        pause: Pause | None,
        *,
        at: datetime,
        who: str,
        over: tuple[Pause | None] | None = None,
    ) -> Item:
        """Part of a transaction: the kill switch on, or off (None), only over the pause (or none) in `over`.

        Only where this release can read what it ends.
        """
        condition, seen = (None, Item()) if over is None else _still(over[0])
        if pause is not None:
            return self._paused(pause, condition, seen)
        return self._update(
            PAUSE, "SET #by = :by, #at = :at REMOVE #until, #reason, #own", SWITCH_NAMES,
            {":by": wire(who), ":at": wire(moment(at))} | seen, condition,
        )  # fmt: skip

    def paused_item(self, pause: Pause) -> Item:
        """Part of a transaction: the kill switch on, over whatever the item holds but a longer pause."""
        shorter = "attribute_not_exists(#until) OR #until <= :until"
        return self._paused(pause, shorter, {}, usable=False)

    def kept_item(self, until: datetime) -> Item:
        """Part of a transaction: the longer pause that is in force is the account's own until then."""
        return self._update(
            PAUSE, "SET #own = :own", {"#own": OWN_UNTIL, "#until": UNTIL},
            {":own": wire(moment(until))},
            "#until > :own AND (attribute_not_exists(#own) OR #own < :own)", usable=False,
        )  # fmt: skip

    def _paused(
        self, pause: Pause, condition: str | None, seen: Item, *, usable: bool = True
    ) -> Item:
        values = {
            ":until": wire(moment(pause.until)), ":reason": wire(pause.reason),
            ":by": wire(pause.who), ":at": wire(moment(pause.since)),
        }  # fmt: skip
        expression = "SET #by = :by, #at = :at, #until = :until, #reason = :reason"
        if pause.own_until is None:
            expression += " REMOVE #own"
        else:
            expression += ", #own = :own"
            values[":own"] = wire(moment(pause.own_until))
        return self._update(
            PAUSE, expression, SWITCH_NAMES, values | seen, condition, usable=usable
        )

    def counted(self, before: AccountStopState, after: AccountStopState) -> Item:
        """Part of a transaction: the account's count and breaker, only if nobody moved them."""
        expression, names = (
            "SET #count = :count",
            {name: NAMES[name] for name in ("#count", "#opened")},
        )
        values = {":count": wire(after.failures_in_a_row), ":seen": wire(before.failures_in_a_row)}
        condition = "#count = :seen"
        if not before.failures_in_a_row:
            condition = "(attribute_not_exists(#count) OR #count = :seen)"
        if before.breaker is None:
            condition += " AND attribute_not_exists(#opened)"
        else:
            condition += " AND #opened = :opened"
            values[":opened"] = wire(moment(before.breaker.opened_at))
        if after.breaker is None and before.breaker is not None:
            expression += ", #closed = :closed REMOVE #opened, #failures, #why"
            names |= {"#failures": BREAKER_COUNT, "#why": WHY, "#closed": CLOSED}
            values[":closed"] = wire(moment(after.closed_at or before.breaker.opened_at))
        elif after.breaker is not None and before.breaker is None:
            expression += ", #opened = :at, #failures = :failures, #why = :why"
            names |= {"#failures": BREAKER_COUNT, "#why": WHY}
            values |= {
                ":at": wire(moment(after.breaker.opened_at)),
                ":why": wire(after.breaker.why),
                ":failures": wire(after.breaker.failures),
            }
        return self._update(PAUSE, expression, names, values, condition)

    def marked(self, resource: str, breaker: Breaker | None) -> Item:
        """Part of a transaction: the breaker of a resource among the open ones, or not (None)."""
        names = {name: NAMES[name] for name in ("#opened", "#failures", "#why")}
        if breaker is None:
            expression, values = "REMOVE #opened, #failures, #why", None
        else:
            expression = "SET #opened = :opened, #failures = :failures, #why = :why"
            values = {
                ":opened": wire(moment(breaker.opened_at)),
                ":failures": wire(breaker.failures),
                ":why": wire(breaker.why),
            }
        return self._update(f"{BREAKER}#{resource}", expression, names, values)

    def _key(self, item: str) -> Item:
        return {"owner": wire(self._account), "item": wire(item)}

    def _update(
        self, item: str, expression: str, names: dict[str, str], values: Item | None,
        condition: str | None = None, *, usable: bool = True,
    ) -> Item:  # fmt: skip
        update: Item = {
            "TableName": self._table,
            "Key": self._key(item),
            "UpdateExpression": expression,
            "ExpressionAttributeNames": names,
        }
        update |= {} if values is None else {"ExpressionAttributeValues": values}
        update |= {} if condition is None else {"ConditionExpression": condition}
        return {"Update": stamped(update, usable=usable)}


def account_stops(item: Item | None, account: str) -> AccountStopState:
    """The account's side in its item; nothing stopped when there is none."""
    if item is None:
        return AccountStopState()
    pause, item = None, readable(item)
    if UNTIL in item:
        pause = Pause(
            until=instant(unwire(item[UNTIL])), since=instant(unwire(item["at"])),
            who=unwire(item["by"]), reason=unwire(item.get("reason", {"S": ""})),
            own_until=instant(unwire(item[OWN_UNTIL])) if OWN_UNTIL in item else None,
        )  # fmt: skip
    return AccountStopState(
        pause=pause,
        failures_in_a_row=unwire(item.get(COUNT, {"N": "0"})),
        breaker=_breaker(item, account) if OPENED in item else None,
        closed_at=instant(unwire(item[CLOSED])) if CLOSED in item else None,
    )


def stop_reason(item: Item) -> tuple[str, str]:
    """Why the account's item refused an intent, as ports.NotIntended names it."""
    try:
        readable(item)
    except WrongFormat as problem:
        return "paused", str(problem)
    if OPENED in item:
        since = unwire(item[OPENED])
        return "breaker", f"the account's breaker is open since {since}; a person closes it"
    return "paused", f"paused until {unwire(item.get(UNTIL, {'S': 'further notice'}))}"


def _still(pause: Pause | None) -> tuple[str, Item]:
    """Condition that the item holds just this pause, or none, and the condition's values."""
    if pause is None:
        return "attribute_not_exists(#until)", {}
    seen = {
        ":seen_until": wire(moment(pause.until)), ":seen_by": wire(pause.who),
        ":seen_at": wire(moment(pause.since)),
    }  # fmt: skip
    condition = "#until = :seen_until AND #by = :seen_by AND #at = :seen_at"
    if pause.own_until is None:
        return f"{condition} AND attribute_not_exists(#own)", seen
    seen[":seen_own"] = wire(moment(pause.own_until))
    return f"{condition} AND #own = :seen_own", seen


def _breaker(item: Item, resource: str) -> Breaker:
    return Breaker(
        resource=resource, opened_at=instant(unwire(item[OPENED])),
        failures=unwire(item.get(BREAKER_COUNT, {"N": "0"})),
        why=unwire(item.get(WHY, {"S": ""})),
    )  # fmt: skip


def instant(text: str) -> datetime:
    """An instant as it is stored, in UTC."""
    return datetime.fromisoformat(text).astimezone(UTC)
