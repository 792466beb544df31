"""No act ever exceeds any limit, in any mode, after any crash: who watches, and what is broken.

Two things are held to the owner's text: every *decision* to act, by what its process observed,
and every *change* that AWS took, by what was true at that instant. Nothing here asks a guardrail.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from math import ceil
from typing import Any

from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import Act, Decision
from headroom.domain.resources import (
    Configuration,
    Modification,
    ResourceRef,
    Volume,
    VolumeActivity,
)
from headroom.domain.state import (
    HOUR,
    WORKER_VANISHED,
    Outcome,
    Record,
    Refusal,
    Refused,
    Step,
    broken_link,
    hour_of,
)
from headroom.ports import Intent, NotIntended, StorageView
from tests.builders import NOW
from tests.laws.permits import SLOTS, Permit, broken_limits, permit
from tests.laws.world import PRICES, World

DAY = timedelta(hours=24)
CLOCKS = timedelta(minutes=15)
"""A function reads its clock once and may live that long: its `now` is that much behind."""
CALM_MINUTES, LEAST_MINUTES, FRESH = 30, 5, timedelta(minutes=30)
QUARTER = timedelta(minutes=15)
FAILURES, ACCOUNT_FAILURES = 5, 10
WAITING = (Refusal.SLOTS, Refusal.IN_FLIGHT, Refusal.REGION_QUOTA, Refusal.THROTTLED)
QUIET = {
    Refusal.SLOTS: timedelta(hours=1), Refusal.IN_FLIGHT: timedelta(minutes=15),
    Refusal.THROTTLED: timedelta(minutes=2), Refusal.REGION_QUOTA: timedelta(hours=1),
    Refusal.OTHER: timedelta(minutes=15),
}  # fmt: skip
"""How long AWS is left alone after a refusal; after any other six hours."""
LANDED = (Step.RELIEVED, Step.INEFFECTIVE, Step.DIVERGED, Step.ROLLED_BACK)
WORKED = (Step.APPLIED, Step.ALREADY_THERE, Step.RELIEVED, Step.INEFFECTIVE, Step.ROLLED_BACK)
ROLLBACKS_ARE_SPARED = frozenset({
    "types", "largest_step", "give_back", "give_back_data", "give_back_stabilization", "give_back_slot",
    "give_back_reversible", "cost_benefit", "data", "instance_limit", "cooldown", "reverted",
    "rolled_back",
})  # fmt: skip
"""Limits that are on what Headroom thinks of by itself; docs/rollback.md."""
LATE = timedelta(minutes=25)
CODE_TAG, GROUP_TAG = "aws:cloudformation:stack-name", "headroom:group"
GIVE_UP = timedelta(hours=31)
"""A change whose effect nobody can prove is given up after 30 hours."""
CENT = Decimal("0.000001")
HEARD = frozenset(
    {
        Step.AWAITING, Step.EXPIRED, Step.FAILED, Step.RELIEVED, Step.UNTESTED, Step.INEFFECTIVE,
        Step.DIVERGED, Step.ROLLED_BACK, Step.BREAKER_OPENED, Step.BREAKER_CLOSED, Step.PAUSED,
        Step.RESUMED,
    }
)  # fmt: skip
"""Records that people must hear of, whoever died meanwhile; and escalations."""


def said_before(record: Record, chain: Sequence[Record]) -> bool:
    """Whether people heard of a request, or of a similar one, in the 24 h before this record of it."""
    asked = [r for r in chain if r.step is Step.AWAITING and r.sequence <= record.sequence]
    if record.step not in (Step.AWAITING, Step.EXPIRED) or not asked:
        return False
    last = json.loads(asked[-1].body)["asked"]
    at = datetime.fromisoformat(last["notified"][-1])
    before = at < (record.at if record.step is Step.AWAITING else asked[0].at)
    return before and record.at - at < timedelta(hours=24 + 8)


class Broken(BaseException):
    """The law was broken; the message says which limit, by how much.

    No worker catches it: one resource that fails must not hide it.
    """


@dataclass(slots=True, kw_only=True)
class Observed:
    """What a process observed of one volume, and what was true then."""

    view: StorageView
    allowed: Permit
    asked: Any
    owner: Configuration
    on: str
    state_read_at: datetime | None = None
    stopped: tuple[str, ...] = ()
    others_usd: Decimal = Decimal(0)
    activity: VolumeActivity | None = None
    days: float = 0.0


@dataclass(slots=True, kw_only=True)
class Served:
    """What one process was given so far."""

    observed: dict[ResourceRef, Observed] = field(default_factory=dict)
    document: Any = None
    intents: dict[ResourceRef, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Law:
    """Watches every port call of every process, and keeps its own books."""

    world: World
    acts: int = 0
    changes: int = 0
    refusals: int = 0
    used: set[str] = field(default_factory=set)
    """Decisions that were carried out."""
    external_starts: dict[ResourceRef, set[datetime]] = field(default_factory=dict)
    """Starts of modifications by others that a decision was once made with."""
    no_changes: dict[ResourceRef, set[datetime]] = field(default_factory=dict)
    """Those that left what is set as it was: they use a slot, and say nothing of the load."""
    failures: dict[ResourceRef, int] = field(default_factory=dict)
    account_failures: int = 0
    broken: set[ResourceRef] = field(default_factory=set)
    account_broken: bool = False
    quiet_until: dict[ResourceRef, datetime] = field(default_factory=dict)
    asked_usd: dict[str, Decimal] = field(default_factory=dict)
    """What a person was asked to agree to, by decision, in USD a month more."""
    approved: set[str] = field(default_factory=set)
    wished: set[str] = field(default_factory=set)
    """Changes that a person wants undone."""
    under_way: dict[str, tuple[ResourceRef, datetime, str]] = field(default_factory=dict)
    """Changes that were begun and have not ended, by decision."""
    measured: dict[ResourceRef, set[datetime]] = field(default_factory=dict)
    """Hours of the past that were observed since the first read: a profile keeps them."""
    begun: dict[str, datetime] = field(default_factory=dict)
    """Changes that were begun in the last hour and that AWS did not refuse."""
    rolled_back: dict[ResourceRef, datetime] = field(default_factory=dict)
    external: dict[ResourceRef, dict[datetime, Modification]] = field(default_factory=dict)
    """The modifications by others that decisions were made with, by their start."""
    by_decision: dict[str, datetime] = field(default_factory=dict)
    """Changes that AWS took, by the decision they are of."""

    # What a process observes
    def before(self, served: Served, port: str, name: str, args: Any) -> int:
        """What `after` needs to know of before the call: changes of ours until now."""
        if (port, name) != ("storage", "apply"):
            return 0
        ref = args[0]
        if ref not in served.intents:
            raise Broken(f"intent: {ref.resource_id} is changed without a durable intent")
        if served.intents[ref] in self.used:
            raise Broken(f"once: {served.intents[ref]} is carried out twice")
        self.used.add(served.intents[ref])
        return len(self._own_starts(ref))

    def after(
        self, served: Served, port: str, name: str, args: Any, named: Any, answer: Any, mark: int
    ) -> None:
        """See what a process was given, and judge what it did with it."""
        match port, name:
            case "storage", "apply":
                self._changed(served, args[0], answer, mark)
            case "storage", "view":
                self._observed(served, answer)
            case "storage", "attached":
                for view in answer:
                    if view.volume.ref not in served.observed:
                        self._observed(served, view)
            case "policies", "current":
                served.document = self.world.document
                for observed in served.observed.values():
                    observed.allowed = permit(served.document, observed.view.volume, observed.asked)
            case "state_store", "resource_state":
                self._state_read(served, args[0])
            case "metrics", "activity":
                served.observed[args[0].volume.ref].activity = answer[0]
            case "metrics", "history":
                self._complete(served, args[0])
            case "ledger", "decided" if answer:
                self._decided(served, args[0])
            case "ledger", "intend" if isinstance(answer, Intent):
                self._intended(served, args[0], named["now"])
            case "ledger", "intend_together" if not isinstance(answer, NotIntended):
                self._in_one(args[0])
                for decision in args[0]:
                    self._intended(served, decision, named["now"])
            case "ledger", "append":
                self._ended(args[0], args[1])
                self._appended(args[1], named)

    def _observed(self, served: Served, view: StorageView) -> None:
        held = self.world.held[view.volume.ref.resource_id]
        served.observed[view.volume.ref] = Observed(
            view=view, allowed=permit(served.document, view.volume, held.asked), asked=held.asked,
            owner=held.owner, on=held.on,
        )  # fmt: skip

    def _state_read(self, served: Served, ref: ResourceRef) -> None:
        observed = served.observed.get(ref)
        if observed is not None:
            observed.state_read_at, observed.stopped = self.world.now, self._stopped(ref)
            observed.others_usd = sum(
                (self.world.increase(name) for name in self.world.held if name != ref.resource_id),
                Decimal(0),
            )

    def _complete(self, served: Served, view: StorageView) -> None:
        """The last read before a decision: what is observed by now is known from now on."""
        ref = view.volume.ref
        end, hours = hour_of(self.world.now), self.measured.setdefault(ref, set())
        days = self.world._measured(ref.resource_id).days
        hours |= {end - hour * HOUR for hour in range(1, ceil(24 * days) + 1)}
        served.observed[ref].days = len(hours) / 24
        change = view.modification
        if change is not None and change.started_at not in self._own_starts(ref):
            self.external_starts.setdefault(ref, set()).add(change.started_at)
            self.external.setdefault(ref, {})[change.started_at] = change
            if change.origin == change.target == view.volume.configuration:
                self.no_changes.setdefault(ref, set()).add(change.started_at)

    def _stopped(self, ref: ResourceRef) -> tuple[str, ...]:
        paused = self.world.paused_until
        reasons = []
        if paused is not None and self.world.now < paused:
            reasons.append("pause")
        if self.account_broken:
            reasons.append("breaker")
        if ref in self.broken:
            reasons.append("failures")
        if self.world.now < self.quiet_until.get(ref, self.world.now):
            reasons.append("retry_backoff")
        return tuple(reasons)

    # Decisions
    def _decided(self, served: Served, decision: Decision) -> None:
        if not isinstance(decision.answer, Act):
            return
        self.acts += 1
        found = self._against(served, decision, decision.answer)
        allowed = served.observed[decision.observation.volume.ref].allowed
        plan = decision.answer.plan
        more = plan.price_change_usd
        found += self._alone(served, decision)
        if decision.answer.approval is not None:  # asked by day for what is started at night
            self.asked_usd[decision.decision_id] = more
            self._report(decision, found)
            return
        found += allowed.closed(decision.at)
        asks = allowed.needs_a_person(plan.origin, plan.target, more)
        if asks and decision.rollback_of not in self.wished:
            found.append("approval: a person must agree, and is not asked")
        self._report(decision, found)

    def _broken(
        self, decision: Decision, allowed: Permit, origin: Configuration, target: Configuration,
        owner: Configuration,
    ) -> list[str]:  # fmt: skip
        """The limits that a change breaks; a person may go back to what the owner had above a ceiling,
        but not above a hard cap."""
        found = broken_limits(allowed, origin, target)
        if decision.rollback_of not in self.wished or not _no_more(target, owner):
            return found
        spared = {
            limit
            for limit, cap in (("max_iops", "max_iops"), ("max_throughput", "max_throughput_mibps"))
            if cap not in allowed.caps
        }
        return [each for each in found if each.split(":")[0] not in spared]

    def _against(self, served: Served, decision: Decision, act: Act) -> list[str]:
        """What speaks against a change by what its process observed."""
        ref, plan = decision.observation.volume.ref, act.plan
        observed = served.observed[ref]
        found = self._broken(decision, observed.allowed, plan.origin, plan.target, observed.owner)
        found += [f"{each}: stopped when it was decided" for each in observed.stopped]
        if observed.allowed.values is not None:
            reserve = (
                0 if decision.rollback_of in self.wished else observed.allowed["slots_reserve"]
            )
            found += self._dear(
                observed.allowed, plan.origin, plan.target, observed.owner, observed.others_usd
            )
            found += self._too_often(ref, observed, reserve, plan.origin, plan.target)
            found += self._unknown(ref, observed, plan.origin, plan.target)
            found += self._fought(ref, observed, plan.origin, plan.target)
        found += self._not_ours(observed, plan.origin)
        if plan.value_usd_per_day < 0:
            found.append(f"cost_benefit: {plan.value_usd_per_day}")
        dearer = PRICES.monthly(plan.target) > PRICES.monthly(plan.origin)
        vain = _pressed(observed.activity, decision.observation.at) and not _serves_more(
            plan.origin, plan.target
        )
        if observed.on == "unknown" or (observed.on == "bound" and dearer and vain):
            found.append(f"instance_limit: the instance is {observed.on}")
        if decision.rollback_of is not None:
            found = [one for one in found if one.split(":")[0] not in ROLLBACKS_ARE_SPARED]
        return found

    def _not_ours(self, observed: Observed, origin: Configuration) -> list[str]:
        volume, change, found = observed.view.volume, observed.view.modification, []
        if origin != volume.configuration:
            found.append(f"stale: decided from {origin}, observed {volume.configuration}")
        if volume.managed_by or volume.on_outpost:
            found.append("managed_elsewhere: it is not ours to change")
        if volume.multi_attach or len(volume.instance_ids) > 1:
            found.append("multi_attach: it is shared")
        if change is not None and change.in_flight:
            found.append(f"in_flight: {change.state}")
        coded = volume.tag(CODE_TAG) is not None and observed.allowed.values is not None
        if coded and observed.allowed["infrastructure_as_code"] != "act":
            found.append("infrastructure_as_code: code owns it")
        return found

    def _alone(self, served: Served, decision: Decision) -> list[str]:
        """A volume of a set is changed with the whole of it, or not at all.

        One that was deleted since this process observed it may be part of it still.
        """
        mine = decision.observation.volume
        if mine.tag(GROUP_TAG) is None:
            return []
        there = self._set_of(mine)
        members = set() if decision.group is None else {m.volume_id for m in decision.group.members}
        gone = {r.resource_id for r in served.observed if r.resource_id in self.world.gone}
        if len(members) < 2 or there != members - gone:
            return [f"group: it is one of {sorted(there)}, and changed with {sorted(members)}"]
        return []

    def _set_of(self, volume: Volume) -> set[str]:
        return {
            name
            for name, held in self.world.held.items()
            if held.volume.tag(GROUP_TAG) == volume.tag(GROUP_TAG)
            and held.volume.instance_ids == volume.instance_ids
        }

    def _in_one(self, decisions: Sequence[Decision]) -> None:
        """The intents of one transaction are those of a whole set, and alike."""
        plans = [d.answer.plan for d in decisions if isinstance(d.answer, Act)]
        alike = {(p.target.volume_type, p.target.iops, p.target.throughput_mibps) for p in plans}
        names = {d.observation.volume.ref.resource_id for d in decisions}
        members = [] if decisions[0].group is None else decisions[0].group.members
        if len(alike) != 1 or names != {m.volume_id for m in members if m.decision_id}:
            raise Broken(f"group: {sorted(names)} are changed to {alike}")

    def _fought(
        self, ref: ResourceRef, observed: Observed, origin: Configuration, target: Configuration
    ) -> list[str]:
        """What somebody undid is not done again for a while, nor anything after a rollback."""
        at = observed.state_read_at or self.world.now
        back = self.rolled_back.get(ref)
        found = []
        if back is not None and at - back < DAY - CLOCKS:
            found.append(f"rolled_back: {at - back} ago")
        held = self.world.held.get(ref.resource_id)
        mine = [each for each in held.ours if each not in held.undone] if held else []
        start, before, made = max(mine, default=(at, origin, origin))
        since = [each for when, each in sorted(self.external.get(ref, {}).items()) if when > start]
        if not since or _settings(since[0].origin) == _settings(before) != _settings(made):
            return found  # not changed since, or AWS failed it
        when: datetime | None = None
        ways, last = _ways(before, made, made, made), made
        for change in since:
            now = change.target
            ways = _ways(before, made, made, now)
            if not any(map(any, ways)):
                when = None
            elif when is None or any(map(any, _ways(before, made, last, now))):
                when = change.started_at
            last = now
        if when is None or at - when >= observed.allowed.span("revert_wait"):
            return found
        lowered, raised = (any(column) for column in zip(*ways, strict=True))
        is_, then = _sustained(origin), _sustained(target)
        if lowered and any(t > i for t, i in zip(then, is_, strict=True)):
            found.append(f"reverted: {made} was made {last}, raised again")
        elif raised and not lowered and any(t < i for t, i in zip(then, is_, strict=True)):
            found.append(f"reverted: {made} was made {last}, lowered again")
        return found

    def _dear(
        self, allowed: Permit, origin: Configuration, target: Configuration, owner: Configuration,
        others: Decimal,
    ) -> list[str]:  # fmt: skip
        base = PRICES.monthly(owner)
        now = max(PRICES.monthly(origin) - base, Decimal(0))
        then = max(PRICES.monthly(target) - base, Decimal(0))
        if then <= now:  # nothing is added: giving back is never stopped by money
            return []
        found, limit = [], Decimal(str(allowed["price_increase_usd_per_month"]))
        if then > limit + CENT:
            found.append(f"price_per_resource: ${then} more than enrolled, ${limit} allowed")
        if others + then > allowed.account_usd + CENT:
            found.append(
                f"price_per_account: ${others + then} of increases, ${allowed.account_usd} allowed"
            )
        return found

    def _own_starts(self, ref: ResourceRef) -> set[datetime]:
        held = self.world.held.get(ref.resource_id)
        return set() if held is None else {start for start, _, _ in held.ours}

    def _too_often(
        self, ref: ResourceRef, observed: Observed, reserve: int, origin: Configuration,
        target: Configuration,
    ) -> list[str]:  # fmt: skip
        at, found = observed.state_read_at or self.world.now, list[str]()
        own = self._own_starts(ref)
        recent = [start for start in own | self.external_starts.get(ref, set()) if start > at - DAY]
        if len(recent) + 1 + reserve > SLOTS:
            found.append(f"slots: {len(recent)} used, {reserve} kept")
        lowers = _lowers(origin, target)
        if lowers and len(recent) + 2 + reserve > SLOTS:
            found.append(f"give_back_slot: {len(recent)} used, none would be left")
        last = max(own, default=None)
        if last is not None and at - last < observed.allowed.span("cooldown") - CLOCKS:
            held = self.world.held[ref.resource_id]
            (_, before, made) = max(held.ours)
            less = any(a < b for a, b in zip(_reach(made), _reach(before), strict=True))
            undoes = made == origin and less and not lowers
            if not undoes:
                found.append(f"cooldown: {at - last} since our last change")
        return found

    def _unknown(
        self, ref: ResourceRef, observed: Observed, origin: Configuration, target: Configuration
    ) -> list[str]:
        """What is not known well enough for such a change."""
        activity, at = observed.activity, observed.state_read_at
        if activity is None or at is None:
            return ["data: nothing was read"]
        fresh = len(activity.read_iops.since(at - FRESH).known())
        found = [] if fresh >= LEAST_MINUTES else [f"data: {fresh} minutes are known"]
        if not _lowers(origin, target):
            return found
        least = observed.allowed.least_days
        changes = self.external_starts.get(ref, set()) - self.no_changes.get(ref, set())
        ages = [(at - start).total_seconds() / 86_400 for start in changes]
        seen = min([observed.days + 0.01, *ages])
        if seen < least - 0.01:
            found.append(f"give_back_data: {seen} days seen, {least} asked for")
        clear = _clear_minutes(activity)
        if clear < CALM_MINUTES and not _only_unused_throughput(activity, origin, target):
            found.append(f"give_back_stabilization: {clear} clear minutes")
        return found

    # Intents, outcomes, changes
    def _intended(self, served: Served, decision: Decision, now: datetime) -> None:
        ref = decision.observation.volume.ref
        served.intents[ref] = decision.decision_id
        stopped = [s for s in self._stopped(ref) if s in ("pause", "breaker", "failures")]
        if stopped:
            raise Broken(
                f"{stopped[0]}: stopped, and {decision.decision_id} is intended all the same"
            )
        if not isinstance(decision.answer, Act):
            raise Broken(f"intent: {decision.decision_id} is not to act")
        found = self._against(served, decision, decision.answer) + self._alone(served, decision)
        allowed = served.observed[ref].allowed
        found += self._unagreed(decision, decision.answer, allowed) + allowed.closed(now)
        if allowed.values is not None:
            found += self._too_many(decision, allowed, now)
        self._report(decision, found)

    def _unagreed(self, decision: Decision, act: Act, allowed: Permit) -> list[str]:
        """What a person has not agreed to, or not at that price."""
        name, plan = decision.decision_id, act.plan
        more = plan.price_change_usd
        asks = allowed.needs_a_person(plan.origin, plan.target, more)
        if name not in self.asked_usd and not asks:
            return []
        if decision.rollback_of in self.wished:
            return []
        if name not in self.approved:
            return ["approval: nobody agreed"]
        if more > self.asked_usd[name]:
            return [f"approval: ${more}, agreed was ${self.asked_usd[name]}"]
        return []

    def _too_many(self, decision: Decision, allowed: Permit, now: datetime) -> list[str]:
        """Begun changes beyond those that may be under way at once; takes the place."""
        volume, found = decision.observation.volume, []
        mine = (volume.ref, now, volume.availability_zone)
        self.under_way = {
            name: held for name, held in self.under_way.items()
            if held[0] != volume.ref and held[1] > now - 2 * DAY
        }  # fmt: skip
        self.under_way[decision.decision_id] = mine
        self.begun = {n: at for n, at in self.begun.items() if at > now - timedelta(hours=1)}
        self.begun[decision.decision_id] = now
        here = sum(held[2] == mine[2] for held in self.under_way.values())
        for name, many in (
            ("max_in_flight", len(self.under_way)), ("max_in_flight_per_az", here),
            ("max_changes_per_hour", len(self.begun)),
        ):  # fmt: skip
            if many > allowed.most(name):
                found.append(f"{name}: {many} with this one")
        return found

    def _ended(self, decision_id: str, step: Step) -> None:
        """A chain that ends gives its place back; what AWS refused was no change."""
        if step not in (Step.APPLIED, Step.ALREADY_THERE, Step.UNKNOWN):
            self.under_way.pop(decision_id, None)
        if step in (Step.REFUSED, Step.STALE, Step.NOT_APPLIED, Step.ALREADY_THERE):
            self.begun.pop(decision_id, None)

    def _changed(self, served: Served, ref: ResourceRef, outcome: Outcome, starts: int) -> None:
        """After a call of ModifyVolume: if AWS took it, was it allowed by what is true now?"""
        invalid = isinstance(outcome, Refused) and outcome.refusal is Refusal.INVALID
        if invalid and outcome.message != "no":
            raise Broken(f"valid: AWS refused {outcome.message}")
        held = self.world.held.get(ref.resource_id)
        if held is None or len(held.ours) == starts:
            return
        self.changes += 1
        start, origin, target = held.ours[-1]
        decision_id = served.intents[ref]
        self.by_decision[decision_id] = start
        decision = self.world.ledger.decision(decision_id)
        if decision.rollback_of is not None:
            held.undone += [each for each in held.ours if each[2] == origin]
            self.rolled_back[ref] = start
        allowed = served.observed[ref].allowed
        found = self._broken(decision, allowed, origin, target, held.owner)
        others = sum(
            (self.world.increase(n) for n in self.world.held if n != ref.resource_id), Decimal(0)
        )
        if allowed.values is not None and held.failed is None:
            found += self._dear(allowed, origin, target, held.owner, others)
        if decision.rollback_of is not None:
            found = [one for one in found if one.split(":")[0] not in ROLLBACKS_ARE_SPARED]
        self._report(decision, [f"{one} (AWS took it)" for one in found])

    def _appended(self, step: Step, named: Any) -> None:
        ref, outcome = named["ref"], named["body"].get("outcome")
        if step is Step.REFUSED and isinstance(outcome, Refused):
            quiet = QUIET.get(outcome.refusal, timedelta(hours=6))
            self.quiet_until[ref] = named["at"] + quiet
            self.refusals += 1
        if step in (Step.APPLIED, Step.ALREADY_THERE):
            self.quiet_until.pop(ref, None)
        waits = isinstance(outcome, Refused) and outcome.refusal in WAITING
        if step in (Step.REFUSED, Step.FAILED, Step.NOT_APPLIED) and not waits:
            self.failures[ref] = self.failures.get(ref, 0) + 1
            self.account_failures += not named["body"].get(WORKER_VANISHED)
            if self.failures[ref] >= FAILURES:
                self.broken.add(ref)
            self.account_broken = self.account_broken or self.account_failures >= ACCOUNT_FAILURES
        if step in LANDED:
            self.failures[ref] = 0
        if step in WORKED:
            self.account_failures = 0

    def closed(self, ref: ResourceRef | None) -> None:
        """A person closed a breaker: AWS may be asked again at once."""
        if ref is None:
            self.account_broken, self.account_failures = False, 0
            self.quiet_until.clear()
            return
        self.broken.discard(ref)
        self.failures[ref] = 0
        self.quiet_until.pop(ref, None)

    def _report(self, decision: Decision, found: Sequence[str]) -> None:
        if found:
            raise Broken(f"{'; '.join(found)}: {decision.summary} ({decision.decision_id})")

    # At every instant
    def holds(self) -> None:
        """The books are right: the sum is that of its parts, and nothing dear is left out of it."""
        ledger = self.world.ledger
        total = Decimal(0)
        for ref in self.refs():
            resource_state = ledger.resource_state(ref, self.world.now)
            total += resource_state.resource_increase_usd
            true = self.world.increase(ref.resource_id) if self._exists(ref) else Decimal(0)
            if true > resource_state.resource_increase_usd + CENT:
                raise Broken(f"books: {ref.resource_id} costs ${true} more, counted as "
                             f"${resource_state.resource_increase_usd}")  # fmt: skip
        for ref in self.refs():
            counted = ledger.resource_state(ref, self.world.now).account_increase_usd
            if counted != total:
                raise Broken(f"books: the account counts ${counted}, its volumes ${total}")
            break

    def refs(self) -> list[ResourceRef]:
        every = (*self.world.held.values(), *self.world.gone.values())
        return sorted({each.volume.ref for each in every}, key=lambda ref: ref.arn)

    def _exists(self, ref: ResourceRef) -> bool:
        return ref.resource_id in self.world.held

    def settled(self) -> None:
        """After all faults are over and enough time has passed: nothing is left hanging."""
        ledger, now = self.world.ledger, self.world.now
        for ref in self.refs():
            resource_state = ledger.resource_state(ref, now)
            chain, asked, wish = (
                resource_state.open_chain,
                resource_state.approval_request,
                resource_state.rollback,
            )
            if asked is not None and now - asked.expires > LATE:
                raise Broken(f"liveness: {asked} waits for ever")
            if wish is not None and now - wish.expires > GIVE_UP + LATE:
                raise Broken(f"liveness: {wish} waits for ever")
            if chain is not None and now - chain.since > GIVE_UP:
                raise Broken(f"liveness: {resource_state.open_chain} is open for ever")
            if chain is None and ledger._state.held(ref).state.reserved:
                raise Broken(
                    f"liveness: {ref.resource_id} keeps {ledger._state.held(ref).state.reserved}"
                )
        if late := ledger.due(now - LATE, 10):
            raise Broken(f"liveness: {late[0]} is not reconciled")
        waiting = {(n.decision_id, n.sequence) for n in ledger.notices(100_000)}
        for name in {r.decision_id for r in ledger.by_time(since=NOW, until=now)}:
            chain = ledger.chain(name)
            if broken_link(chain) is not None:
                raise Broken(f"records: the chain {name} is broken")
            for record in chain:  # no trial sends messages: all that must be heard still waits
                must = record.step in HEARD and not said_before(record, chain)
                must = must or record.outcome == "escalate"
                if must and (name, record.sequence) not in waiting:
                    raise Broken(f"heard: nobody will hear of {record.step} of {name}")
            steps = [record.step for record in chain]
            open_now = steps[-1] in (Step.INTENDED, Step.UNKNOWN)
            if (
                name in self.by_decision
                and not open_now
                and (not {Step.APPLIED, Step.GONE} & set(steps))
            ):
                raise Broken(f"records: AWS took {name}, its chain says {steps}")
            if Step.APPLIED in steps and name not in self.by_decision:
                external = Step.UNKNOWN in steps  # somebody else did exactly the same meanwhile
                if not external:
                    raise Broken(f"records: {name} is said to be applied and was not")
        self.holds()


def _reach(configuration: Configuration) -> tuple[float, float]:
    can = capability(configuration)
    return can.burst_iops, can.burst_mibps


def _sustained(configuration: Configuration) -> tuple[float, float]:
    can = capability(configuration)
    return can.sustained_iops, can.sustained_mibps


def _settings(configuration: Configuration) -> tuple[object, ...]:
    return configuration.volume_type, configuration.iops, configuration.throughput_mibps


def _ways(
    before: Configuration, made: Configuration, held: Configuration, now: Configuration
) -> list[tuple[bool, bool]]:
    """Of IOPS and throughput: whether a raise, or a lowering, went back between `held` and `now`."""
    numbers = zip(*map(_sustained, (before, made, held, now)), strict=True)
    return [(b < m and n < h, b > m and n > h) for b, m, h, n in numbers]


def _lowers(origin: Configuration, target: Configuration) -> bool:
    now, then = capability(origin), capability(target)
    return then.sustained_iops < now.sustained_iops or then.sustained_mibps < now.sustained_mibps


def _no_more(target: Configuration, owner: Configuration) -> bool:
    then, had = capability(target), capability(owner)
    return then.sustained_iops <= had.sustained_iops and then.sustained_mibps <= had.sustained_mibps


def _serves_more(origin: Configuration, target: Configuration) -> bool:
    """Whether more is sustained on an instance that gives what `origin` reaches with credits."""
    most, now, then = _reach(origin), _sustained(origin), _sustained(target)
    return any(min(t, m) > n for t, m, n in zip(then, most, now, strict=True))


def _only_unused_throughput(
    activity: VolumeActivity, origin: Configuration, target: Configuration
) -> bool:
    """Whether nothing is lowered but throughput that no minute came near."""
    now, then = capability(origin), capability(target)
    fewer = then.sustained_iops < now.sustained_iops or then.burst_iops < now.burst_iops
    pairs = zip(activity.read_mibps.values, activity.write_mibps.values, strict=True)
    most = max(((read or 0.0) + (write or 0.0) for read, write in pairs), default=0.0)
    return not fewer and most <= then.sustained_mibps


def _pressed(activity: VolumeActivity | None, at: datetime) -> bool:
    """Whether a limit was touched in the last quarter of an hour, more than once."""
    checks = () if activity is None else (activity.iops_exceeded, activity.throughput_exceeded)
    return any(sum(check.since(at - QUARTER).known()) >= 2 for check in checks)


def _clear_minutes(activity: VolumeActivity) -> int:
    """Known minutes since a check was last 1."""
    clear = 0
    pairs = zip(activity.iops_exceeded.values, activity.throughput_exceeded.values, strict=True)
    for one, other in reversed(list(pairs)):
        if one is None:
            continue
        if one or other:
            break
        clear += 1
    return clear


__all__ = ["Broken", "Law", "Observed", "Served"]
