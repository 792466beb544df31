"""What must hold of a history, by what AWS did, what people heard and what is on record.

Nothing here asks a guardrail, and nothing is counted by the product's own books: changes in flight, prices
and accepted calls are AWS's.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from headroom.adapters.ledger.items import record_of, state_of
from headroom.adapters.ledger.state_table import SUM
from headroom.adapters.tables import BUDGET, RECORDS, STATE, STATE_ITEM, account_key
from headroom.adapters.work.messages import MARK
from headroom.domain.catalog import catalogue_prices
from headroom.domain.catalog.ebs import capability
from headroom.domain.state import (
    BY_HEADROOM,
    NEXT,
    ROLLBACK,
    Record,
    Step,
    StoredState,
    broken_link,
)
from headroom.policy import policy_from_json
from tests.builders import ACCOUNT, REGION
from tests.laws.deployed.account import Account, Change
from tests.laws.deployed.running import Functions
from tests.laws.deployed.wire import Call

PRICES = catalogue_prices(REGION)
HEARD = frozenset(
    {
        Step.APPLIED, Step.AWAITING, Step.EXPIRED, Step.FAILED, Step.RELIEVED,
        Step.UNTESTED, Step.INEFFECTIVE, Step.DIVERGED, Step.ROLLED_BACK, Step.BREAKER_OPENED,
        Step.BREAKER_CLOSED, Step.PAUSED, Step.RESUMED,
    }
)  # fmt: skip
"""Records that people must hear of; and escalations."""
SWITCHED = (Step.BREAKER_OPENED, Step.BREAKER_CLOSED, Step.PAUSED, Step.RESUMED)
"""Records with chains of their own, whose messages are about a decision or about none."""
PROVEN = (Step.RELIEVED, Step.UNTESTED, Step.INEFFECTIVE, Step.ROLLED_BACK)
"""Ends of a change that free its place: it was seen to have landed."""
CALLS = {"ModifyVolume": {"pause": 2, "policy": 3}}
"""Calls of a process after its last read of a pause or of the policy, the change left out."""
CALLS_OF_RDS = 8
"""The same for RDS, which is read twice, with a record in between."""
FRESH = timedelta(minutes=1)
"""How old an intent may be at the last read before its change."""
ATTEMPTS = 4
"""Of one Publish: if no answer comes, each may have been a message."""
CENT = Decimal("0.01")
OF_ACCOUNT = account_key(ACCOUNT, REGION)
HOUR = timedelta(hours=1)
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
KINDS = {"vol": "ec2:{}:{}:volume/", "db": "rds:{}:{}:db:", "cluster": "rds:{}:{}:cluster:"}


class Broken(BaseException):
    """The law was broken; no worker catches it."""


def arn_of(account: Account, name: str) -> str:
    """The ARN of a resource by its name."""
    kind = "vol" if name in account.ec2.volumes else "db"
    kind = "cluster" if name in account.rds.store.clusters else kind
    return f"arn:aws:{KINDS[kind].format(REGION, ACCOUNT)}{name}"


@dataclass(slots=True, kw_only=True)
class Law:
    """Watches each change at the instant AWS gets it, and judges what is left when all is quiet."""

    max_in_flight: int = 1
    most_usd: Decimal | None = None
    """The policy's limit of all increases, USD a month."""
    others_change: bool = False
    """Whether somebody else changes storage in the story."""
    used: set[str] = field(default_factory=set)
    """Decisions whose change was sent."""
    paused_at: int | None = None
    """The number of the call after which a pause was in force."""
    paused_until: datetime | None = None
    wanted_back: bool = False
    """Whether a person asked for a change to be undone, on record."""
    breaker: bool = False
    """Whether the breaker is open."""
    policy_at: int | None = None
    """The same of the policy that is published now."""
    began: dict[str, datetime] = field(default_factory=dict)
    """When each decision's change was accepted."""

    def before_change(self, account: Account, call: Call, name: str) -> None:
        """A change is about to be made: it must be intended, once, and nothing may speak against it."""
        chain = stored_state(account, arn_of(account, name)).chain
        if chain is None or chain.phase != Step.INTENDED:
            raise Broken(f"intent: {name} is changed and its open chain is {chain}")
        if chain.decision_id in self.used:
            raise Broken(f"once: {chain.decision_id} is sent a second time")
        self.used.add(chain.decision_id)
        if self.breaker:
            raise Broken(f"breaker: {name} is changed while it is open")
        between = CALLS.get(call.operation, {}).get("pause", CALLS_OF_RDS)
        run = account.invocation
        if run is not None and run.times[-1 - between] - chain.since > FRESH:
            raise Broken(f"late: {name} is changed though it was intended at {chain.since}")
        for what, at in (("pause", self.paused_at), ("policy", self.policy_at)):
            most = CALLS.get(call.operation, {}).get(what, CALLS_OF_RDS)
            if (
                at is not None
                and account.calls - at > most
                and self._outdated(account, chain.decision_id, what)
            ):
                raise Broken(f"{what}: {name} is changed {account.calls - at} calls after it")

    def _outdated(self, account: Account, decision_id: str, what: str) -> bool:
        if what == "pause":
            return self.paused_until is not None and account.now < self.paused_until
        decision = json.loads(_records(account)[decision_id][0].body)
        return bool(
            decision["policy_version"] != policy_from_json(account.policy, source="law").version
        )

    def after_change(self, account: Account, call: Call, name: str) -> None:
        """AWS accepted a change: it counts as in flight until it is done, or on record as proven."""
        added = _added(account)
        if self.most_usd is not None and added > self.most_usd:
            raise Broken(f"money: ${added} added, ${self.most_usd} allowed in the account")
        flying = [each for each in account.changes if self._in_flight(account, each)]
        if len(flying) > self.max_in_flight:
            names = [each.name for each in flying]
            raise Broken(f"in flight: {names} at AWS, {self.max_in_flight} allowed")
        twice = Counter(each.name for each in flying)
        if twice and max(twice.values()) > 1:
            raise Broken(f"in flight: two of {max(twice, key=lambda n: twice[n])}")

    def _in_flight(self, account: Account, change: Change) -> bool:
        if account.now >= change.until:
            return False
        arn = arn_of(account, change.name)
        return not any(
            record.resource == arn and record.step in PROVEN and record.at > change.at
            for chain in _records(account).values()
            for record in chain
        )

    def settled(self, functions: Functions, delivered: set[str]) -> None:
        """All is quiet: what must be true whatever befell the functions."""
        account = functions.account
        chains = _records(account)
        self._nothing_open(account, chains)
        self._accepted(account, chains)
        self._sums(account)
        answered = any(
            "rollback of" in chain[0].summary and chain[0].step is Step.DECIDED
            for chain in chains.values()
        )
        if self.wanted_back and not answered:
            raise Broken("liveness: a rollback that a person asked for was forgotten")
        self._scans(account, chains, functions.scan_every)
        self._heard(functions, chains)
        self._events(account, chains, delivered)

    def _nothing_open(self, account: Account, chains: Mapping[str, list[Record]]) -> None:
        if stuck := [each.body for each in account.queue.values() if each.receives > 1]:
            raise Broken(f"liveness: messages come again and again: {stuck}")
        for name, state in _states(account):
            if _open(state):
                raise Broken(f"liveness: {name} keeps {_open(state)}")
            others = [m for m in state.modifications if m.by not in (BY_HEADROOM, ROLLBACK)]
            if others and not self.others_change:
                raise Broken(f"blame: {name} was changed by somebody else: {others}")
        for name, chain in chains.items():
            if broken_link(tuple(chain)) is not None:
                raise Broken(f"records: the chain {name} is broken")
            ended = chain[-1].step not in NEXT or (chain[-1].step is Step.DECIDED)
            if not ended:
                raise Broken(f"liveness: {name} ends {chain[-1].step}")
            wrong = {Step.DIVERGED, Step.FAILED} & {record.step for record in chain}
            if wrong and not self.others_change:
                raise Broken(f"blame: {name} ends {chain[-1].summary}, and nobody else was there")

    def _scans(
        self, account: Account, chains: Mapping[str, list[Record]], every: timedelta
    ) -> None:
        """One scan of the fleet a period, and one more for each pause or breaker that people ended."""
        own = (json.loads(text).get(MARK, {}) for text in account.bodies)
        begun = {each["page"]["scan"] for each in own if "page" in each}
        periods = Counter((datetime.fromisoformat(scan) - EPOCH) // every for scan in begun)
        ended = sum(
            r.step in (Step.RESUMED, Step.BREAKER_CLOSED) for c in chains.values() for r in c
        )
        if periods and max(periods.values()) > 1 + ended:
            raise Broken(f"scans: {sorted(begun)}")

    def _accepted(self, account: Account, chains: Mapping[str, list[Record]]) -> None:
        """As many changes on record as AWS accepted, resource by resource."""
        made = Counter(arn_of(account, change.name) for change in account.changes)
        recorded = Counter(
            chain[0].resource
            for chain in chains.values()
            if Step.APPLIED in {record.step for record in chain}
        )
        if made != recorded:
            raise Broken(f"records: AWS accepted {dict(made)}, on record are {dict(recorded)}")

    def _sums(self, account: Account) -> None:
        true = _added(account)
        found = [
            i.item for i in account.tables.partition(STATE.name, OF_ACCOUNT) if i["item"] == BUDGET
        ]
        total = (
            next((Decimal(v["N"]) for i in found for k, v in i.items() if k == SUM), Decimal(0))
            / 10**6
        )
        if abs(total - true) > CENT:
            raise Broken(f"sums: AWS charges ${true} more, the account's sum is ${total}")

    def _heard(self, functions: Functions, chains: Mapping[str, list[Record]]) -> None:
        messages = Counter(_messages(functions.account))
        steps = {step for _, step in messages}
        groups = {
            name for name, chain in chains.items() if json.loads(chain[0].body or "{}").get("group")
        }
        most = 1 + sum(ATTEMPTS for i in functions.invocations if i.fault.kind != "none")
        for name, chain in chains.items():
            for record in chain:
                must = record.step in HEARD or record.outcome == "escalate"
                heard = messages[name, record.step.value] or (
                    record.step in SWITCHED and record.step in steps
                )
                if must and name not in groups and not heard:
                    raise Broken(f"heard: nobody heard of {record.step} of {name}")
        if groups and not any(name in groups for name, _ in messages):
            raise Broken("heard: nobody heard of the set")
        for (name, step), times in messages.items():
            # one failure may open the breaker of its resource and that of the account
            if times > most * (2 if step == Step.BREAKER_OPENED else 1):
                raise Broken(f"heard: {step} of {name} x{times} with {functions.crashes} crashes")
        published = {(e["decision_id"], e["sequence"]) for e in functions.account.events}
        for name, chain in chains.items():
            for record in chain:
                if (name, record.sequence) not in published:
                    raise Broken(f"published: {record.step} of {name} never reached the bus")

    def _events(
        self, account: Account, chains: Mapping[str, list[Record]], delivered: set[str]
    ) -> None:
        recorded = {
            item["event_id"]["S"]: item["led_to"]["S"]
            for item in account.tables.items(RECORDS.name)
            if "event_id" in item
        }
        for event_id in delivered:
            if event_id not in recorded:
                raise Broken(f"events: {event_id} has no record")
            if recorded[event_id] == "unreadable":
                raise Broken(f"events: {event_id} is left unreadable, though AWS answers again")


def relieved(account: Account) -> None:
    """No volume or database is starved any more: what it is asked for, it can do."""
    for name, volume in account.ec2.volumes.items():
        can = capability(volume.life.effective(account.now))
        if volume.load(account.now) > can.burst_iops:
            raise Broken(f"liveness: {name} is starved for ever")
    for name, load in account.rds.loads.items():
        can = capability(account.rds.billed(name, account.now))
        if load.at(account.now) > can.sustained_iops:
            raise Broken(f"liveness: {name} is starved for ever")


def nothing_open(account: Account) -> bool:
    """Whether no change is under way, wanted or asked for, and people heard of all there is."""
    noticed = any(
        i["item"].startswith("notice#") for i in account.tables.partition(STATE.name, OF_ACCOUNT)
    )
    return not noticed and not any(_open(state) for _, state in _states(account))


def _open(state: StoredState) -> list[object]:
    """What keeps a resource from being at rest."""
    every = (
        state.chain,
        *state.reserved,
        state.approval_request,
        state.rollback,
        state.unstarted_act,
    )
    return [each for each in every if each is not None]


def stored_state(account: Account, arn: str) -> StoredState:
    """The state of a resource as it is stored."""
    found = [i.item for i in account.tables.partition(STATE.name, arn) if i["item"] == STATE_ITEM]
    return state_of(found[0] if found else None)[0]


def _states(account: Account) -> Iterator[tuple[str, StoredState]]:
    names = (*account.ec2.volumes, *account.rds.loads, *account.rds.ios_a_day)
    for name in names:
        yield name, stored_state(account, arn_of(account, name))


def _records(account: Account) -> dict[str, list[Record]]:
    """The chains by decision, oldest record first."""
    found: dict[str, list[Record]] = {}
    for item in account.tables.items(RECORDS.name):
        if "step" in item:
            found.setdefault(item["decision_id"]["S"], []).append(record_of(item))
    for chain in found.values():
        chain.sort(key=lambda record: record.sequence)
    return found


def _added(account: Account) -> Decimal:
    """What AWS charges more than for what the owners set, USD a month."""
    volumes = account.ec2.volumes.items()
    databases = account.rds.loads.items()
    return sum(
        (
            *(_increase(v.owner, v.life.billed(account.now)) for _, v in volumes),
            *(
                _increase(load.owner, account.rds.billed(name, account.now))
                for name, load in databases
            ),
        ),
        Decimal(0),
    )


def _increase(owner: Any, billed: Any) -> Decimal:
    return max(PRICES.monthly(billed) - PRICES.monthly(owner), Decimal(0))


def _messages(account: Account) -> Iterator[tuple[str, str]]:
    """Decision and step of what each message is about."""
    for message in account.published:
        facts = message["headroom"]
        for each in facts.get("notices", [facts]):
            if "decision_id" in each:
                yield each["decision_id"], each["step"]
