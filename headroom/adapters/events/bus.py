"""Puts every record on the account's default EventBridge bus, for others to build on.

Few detail types, one detail for each record: docs/events.md and docs/events/*.schema.json. The
source is Headroom's own, which none of its own rules match, so that it never wakes itself.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from headroom.adapters.actions import EVENT_SOURCE
from headroom.adapters.notifications import clipped, plan_facts, plan_of
from headroom.domain.decision import Act, Decision, Escalate, Hold
from headroom.domain.reports import handoff_values
from headroom.domain.state import Record, Step
from headroom.ports import Delivery, Recorded
from headroom.serialization import Unreadable, decision_from_json

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_events.type_defs import PutEventsRequestEntryTypeDef

SOURCE = EVENT_SOURCE
BUS = "default"
VERSION = "1"
"""Of the detail. New fields may come under the same version; none changes its meaning."""
DECISION = "Headroom Decision"
CHANGE = "Headroom Change"
REQUEST = "Headroom Request"
STOP = "Headroom Stop"
DETAIL_TYPES = (DECISION, REQUEST, CHANGE, STOP)
REQUESTS = frozenset(
    {
        Step.AWAITING, Step.APPROVED, Step.REJECTED, Step.EXPIRED, Step.ROLLBACK_REQUESTED,
        Step.POLICY_PUBLISHED, Step.POLICY_REFUSED,
    }
)  # fmt: skip
STOPS = frozenset({Step.PAUSED, Step.RESUMED, Step.BREAKER_OPENED, Step.BREAKER_CLOSED})
BATCH_LIMIT = 10
"""Entries of one call. Source: EventBridge API reference, PutEvents (botocore 1.44, 2026-11)."""
TRANSIENT = frozenset(
    {
        "InternalException",
        "InternalFailure",
        "ServiceUnavailable",
        "Throttling",
        "ThrottlingException",
    }
)
"""Error codes of entries that EventBridge may take a minute later. Source: as above, and its common errors."""
LARGEST = 250_000
"""Bytes of one call, kept below the 256 KB that one event may have since long (1 MB since 2026)."""
LONGEST = 2_000
"""Characters of any text in an event."""
MAX_RESOURCES = 60
_log = logging.getLogger(__name__)


class EventBus:
    """Publishes to the default bus of the client's account and Region; made when first needed."""

    def __init__(self, client: Callable[[], EventBridgeClient]) -> None:
        self._client = client

    def publish(self, recorded: Sequence[Recorded]) -> tuple[Delivery, ...]:
        """Put one event for each; what became of them, in their order. Never raises."""
        made = [_made(one) for one in recorded]
        found: list[Delivery] = []
        try:
            for entries in _calls([one for one in made if one is not None]):
                found += self._put(entries)
        except Exception as error:  # the record is what counts; it is sent again later
            _log.warning("events were not published: %s: %s", type(error).__name__, error)
        deliveries = iter(found)
        return tuple(
            Delivery.REFUSED if one is None else next(deliveries, Delivery.UNSENT) for one in made
        )

    def _put(self, entries: list[PutEventsRequestEntryTypeDef]) -> list[Delivery]:
        answer = self._client().put_events(Entries=entries)
        results = answer["Entries"]
        if len(results) != len(entries):
            raise ValueError(f"{len(entries)} entries were put and {len(results)} answered for")
        for one in results:
            if "ErrorCode" in one:
                _log.warning("an event was refused: %s", one)
        return [_delivery(one.get("ErrorCode")) for one in results]


def _delivery(error: str | None) -> Delivery:
    if error is None:
        return Delivery.ACCEPTED
    return Delivery.UNSENT if error in TRANSIENT else Delivery.REFUSED


def _made(recorded: Recorded) -> PutEventsRequestEntryTypeDef | None:
    """The entry for a record; None where none can be made of it, which must not stop the others."""
    try:
        return entry(recorded)
    except Exception:
        _log.exception("no event can be made of record %s", recorded.record.hash)
        return None


def entry(recorded: Recorded) -> PutEventsRequestEntryTypeDef:
    """The entry of PutEvents for a record."""
    record = recorded.record
    return {
        "Time": record.at,
        "Source": SOURCE,
        "Resources": [record.resource] if record.resource.startswith("arn:") else [],
        "DetailType": detail_type(record.step),
        "Detail": json.dumps(detail(recorded), ensure_ascii=False),
        "EventBusName": BUS,
    }


def detail_type(step: Step) -> str:
    """Which kind of event a record of that step is."""
    if step is Step.DECIDED:
        return DECISION
    if step in STOPS:
        return STOP
    return REQUEST if step in REQUESTS else CHANGE


def detail(recorded: Recorded) -> dict[str, Any]:
    """The event's detail; the same fields for every record of a detail type.

    Texts are cut at 2,000 characters; the record has all of them. Prices are numbers of USD a
    month, so that rules can compare them.
    """
    record = recorded.record
    account, region = _place(record.resource)
    content: dict[str, Any] = {
        "version": VERSION,
        "record_hash": record.hash,
        "previous_hash": record.previous_hash,
        "decision_id": record.decision_id,
        "sequence": record.sequence,
        "step": record.step.value,
        "outcome": record.outcome,
        "at": _instant(record.at),
        "resource": clipped(record.resource, LONGEST),
        "account": account,
        "region": region,
        "summary": clipped(record.summary, LONGEST),
    }
    kind = detail_type(record.step)
    if kind == STOP:
        return content | _switched(_body(record))
    decision = recorded.decision
    if record.step is Step.DECIDED:
        try:
            decision = decision_from_json(record.body, for_display=True)
        except Unreadable as problem:  # of a later release: the rest is sent all the same
            _log.warning("a decision could not be read: %s", problem)
    content |= _decided(decision)
    asked = _body(record).get("asked")
    if record.step is Step.AWAITING and isinstance(asked, Mapping):  # renewed, it expires later
        content["expires"] = _text(asked.get("expires"))
    return content | {"who": _text(_body(record).get("who"))} if kind == REQUEST else content


def log_fields(recorded: Recorded) -> dict[str, Any]:
    """What the log says of a record, flat: names of the event's detail, USD a month."""
    content = detail(recorded)
    names = ("decision_id", "resource", "step", "answer", "reason", "binding", "blocking")
    plan = content.get("plan") or {}
    fields = {name: content.get(name) for name in names}
    return fields | {"price_change_usd": plan.get("price_change_usd")}


def _decided(decision: Decision | None) -> dict[str, Any]:
    """What a decision adds; nulls where there is none."""
    names = ("answer", "reason", "trigger", "mode", "binding", "policy_version", "plan",
             "approval", "expires", "held_until", "cause", "remedy", "write_back")  # fmt: skip
    content: dict[str, Any] = {**dict.fromkeys(names), "blocking": []}
    if decision is None:
        return content
    answer, plan = decision.answer, plan_of(decision)
    until = answer.until if isinstance(answer, Hold) else None
    judged = next((j for j in decision.judgements if j.plan == plan), None)
    blocking = () if judged is None or isinstance(answer, Act) else judged.blocking
    escalated = answer if isinstance(answer, Escalate) else None
    return content | {
        "answer": type(answer).__name__.lower(),
        "reason": answer.reason.value,
        "trigger": decision.trigger,
        "mode": decision.effective.limits.mode.value,
        "binding": decision.diagnosis.binding.value,
        "policy_version": decision.policy_version,
        "plan": None if plan is None else plan_facts(plan),
        "blocking": [verdict.guardrail.value for verdict in blocking][:MAX_RESOURCES],
        "approval": _text(answer.approval) if isinstance(answer, Act) else None,
        "expires": _instant(answer.expires) if isinstance(answer, Act) else None,
        "held_until": _instant(until),
        "cause": None if escalated is None else clipped(escalated.cause, LONGEST),
        "remedy": None if escalated is None else clipped(escalated.remedy, LONGEST),
        "write_back": handoff_values(decision),
    }


def _switched(body: Mapping[str, object]) -> dict[str, Any]:
    failures = body.get("failures")
    return {
        "who": _text(body.get("who")),
        "because": _text(body.get("reason")),
        "until": _text(body.get("until")),
        "failures": failures if isinstance(failures, int) else None,
        "last_decision_id": _text(body.get("decision_id")),
    }


def _body(record: Record) -> Mapping[str, object]:
    try:
        plain = json.loads(record.body)
    except ValueError:
        return {}
    return plain if isinstance(plain, Mapping) else {}


def _instant(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat().replace("+00:00", "Z")


def _text(value: object) -> str | None:
    return clipped(value, LONGEST) if isinstance(value, str) and value else None


def _place(resource: str) -> tuple[str | None, str | None]:
    """Account and Region of an ARN or of an account's own key."""
    if resource.startswith("account#"):
        _, account, region, *_ = [*resource.split("#"), "", ""]
        return account or None, region or None
    parts = resource.split(":")
    return (parts[4] or None, parts[3] or None) if len(parts) >= 6 else (None, None)


def _calls(
    entries: Sequence[PutEventsRequestEntryTypeDef],
) -> Iterator[list[PutEventsRequestEntryTypeDef]]:
    """Entries in calls of at most AT_ONCE and LARGEST bytes."""
    call: list[PutEventsRequestEntryTypeDef] = []
    size = 0
    for one in entries:
        weight = len(json.dumps(one, default=str, ensure_ascii=False).encode())
        if call and (len(call) == BATCH_LIMIT or size + weight > LARGEST):
            yield call
            call, size = [], 0
        call.append(one)
        size += weight
    if call:
        yield call
