"""The planner's input: one resource with its load, history, limits and prices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal

from headroom.domain.catalog import PriceTable, included
from headroom.domain.catalog.ebs import capability
from headroom.domain.planning.plan import Plan
from headroom.domain.policy import Freeze, Limits, Mode, is_open
from headroom.domain.resources import Configuration, Observation
from headroom.domain.state import CalendarState, ServedByHdd
from headroom.domain.workload import Binding, Demand, Diagnosis, KnownLoad, Past

ANY_PRICE = Decimal(10**9)
CALM_MINUTES = 30
"""Measured minutes without touching a limit after which a plan may lower anything."""
MORE, MORE_OF_HIDDEN = 1.1, 1.25
"""How many times as much a dearer plan of the same type has at least: in calm, and where a limit hides the load."""
HARDLY_LESS, LITTLE_USD = 0.98, Decimal(3)
"""The share of what it has that a plan leaves which gives back too little to be made: a profile's rates are as coarse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The planner's input; `baseline_usd` is the price at enrolment."""

    observation: Observation
    past: Past
    demand: Demand
    diagnosis: Diagnosis
    limits: Limits
    prices: PriceTable
    baseline_usd: Decimal
    account_left_usd: Decimal
    """What the account's budget has left, without this resource's own increase."""
    starts: tuple[datetime, ...] = ()
    """Known starts of modifications in the last 24 hours."""
    reduced_from: Configuration | None = None
    """What the volume had before Headroom's latest change lowered it."""
    extra_target: Configuration | None = None
    """A target that is always a candidate."""
    known_loads: tuple[KnownLoad, ...] = ()
    """Load of the coming day that the owner announced."""
    announced: tuple[KnownLoad, ...] = ()
    """All that the owner announced, months ahead."""
    slow: bool = False
    """Whether operations are slower than the owner's objective below every limit."""
    chosen: Configuration | None = None
    """What the owner last chose; None if Headroom never changed it."""
    raises_take: timedelta = timedelta(0)
    """The longest that a raise of it was seen to have no effect yet; 0 where none came late."""
    unanswered: bool = False
    """Whether people were asked for an approval some time ago, and did not answer."""
    freezes: tuple[Freeze, ...] = ()
    """The account's periods without changes."""
    next_growth_usd: Decimal = Decimal(0)
    """The price of the growth for space that will be needed within a day, which no raise may use up."""
    served_by_hdd: ServedByHdd | None = None
    """What the owner's HDD type served before Headroom left it; None if that is not known, or no longer like the load."""

    @property
    def current(self) -> Configuration:
        """The configuration to start from."""
        return self.observation.volume.configuration

    @property
    def owners_choice(self) -> Configuration:
        """What the owner chose, Headroom's own changes left aside."""
        return self.chosen or self.current

    @property
    def change_takes_hours(self) -> float:
        """How long AWS was at work on the latest change, or is by now; 0 where that is not known."""
        change = self.observation.modification
        if change is None or (change.ended_at is None and not change.in_flight):
            return 0.0
        ended = change.ended_at or self.observation.at
        return (ended - change.started_at).total_seconds() / 3600

    def asks_for(self, target: Configuration) -> bool:
        """Whether a person has to approve what a target costs more than at enrolment, and less needs none.

        Several changes that nobody has to approve never add up to more than one of them may.
        """
        above = self.limits.approve_above_usd
        if above is None or not self.asks_at_all:
            return False
        return self.prices.monthly(target) - self.baseline_usd > max(above, Decimal(0))

    @property
    def asks_at_all(self) -> bool:
        """Whether a person has to approve some prices, and others need none."""
        return self.limits.approve_above_usd is not None and self.limits.mode is Mode.AUTO

    def may_change(self, at: datetime) -> bool:
        """Whether a change may start at `at`, by the owner's windows and freezes."""
        return is_open(self.limits.change_windows, at) and not any(
            freeze.is_active(at) for freeze in self.freezes
        )

    @property
    def calm(self) -> bool:
        """Whether no limit was touched recently and no depletion is near."""
        return (
            self.demand.pressed_minutes == 0
            and self.demand.clear_minutes >= CALM_MINUTES
            and self.diagnosis.binding is not Binding.BURST_CREDITS
        )

    def sustains(self, configuration: Configuration) -> tuple[float, float]:
        """SSD operations/s and MiB/s that a configuration sustains.

        Of random operations, of which an HDD type counts each as a MiB; what it served before, it serves again.
        """
        can, before = capability(configuration), self.served_by_hdd
        again = (
            before is not None
            and configuration.volume_type is before.configuration.volume_type
            and configuration.size_gib >= before.configuration.size_gib
        )
        if before is None or not again:
            return can.sustained_iops, can.sustained_mibps
        return max(can.sustained_iops, before.iops), max(can.sustained_mibps, before.mibps)

    def harmless(self, plan: Plan) -> bool:
        """Whether a plan is cheaper, lowers nothing, and there is no pressure: it need not wait."""
        return (
            self.diagnosis.binding is Binding.NOTHING
            and self.demand.pressed_minutes == 0
            and plan.price_change_usd < 0
            and not plan.lowers
        )


def step_of(origin: Configuration, target: Configuration) -> float:
    """By what factor IOPS or MiB/s grow, whichever more, over what the volume can reach today.

    What a type includes at its smallest (gp3: 3,000 IOPS and 125 MiB/s) is never a step.
    """
    now, then = capability(origin), capability(target)
    iops, mibps = included(target)
    step = then.sustained_iops / max(now.burst_iops, iops)
    if target.throughput_mibps is None:  # derived throughput is neither set nor paid for
        return step
    return max(step, target.throughput_mibps / max(now.burst_mibps, mibps))


def within_limits(situation: Situation, target: Configuration, *, changes: int = 1) -> bool:
    """Whether ceilings, prices and so many largest steps permit `target`; the guardrails judge again.

    Before the first of several changes nothing is reserved for the others, so the account must have as much left for each.
    """
    limits, then = situation.limits, capability(target)
    now = capability(situation.current)
    if then.sustained_iops > max(limits.max_iops, now.sustained_iops):
        return False
    if (target.throughput_mibps or 0) > max(limits.max_throughput_mibps, now.sustained_mibps):
        return False
    if step_of(situation.current, target) > limits.largest_step**changes:
        return False
    usd, now_usd = situation.prices.monthly(target), situation.prices.monthly(situation.current)
    increase = max(Decimal(0), usd - situation.baseline_usd)
    if target.size_gib == situation.current.size_gib and usd > max(now_usd, situation.baseline_usd):
        increase += situation.next_growth_usd
    return (
        increase <= limits.price_increase_usd and increase * changes <= situation.account_left_usd
    )


def closed_by(
    freezes: tuple[Freeze, ...], calendars: Iterable[CalendarState], at: datetime
) -> tuple[Freeze, ...]:
    """The freezes, and from `at` on what Change Calendars say of when they are closed."""
    found = list(freezes)
    for one in calendars:
        closed = one.closed_ahead
        if not one.open and one.problem is None and one.changes_at is not None:
            closed = ((at, one.changes_at), *closed)
        found += [
            Freeze(begins=begins, until=until, reason=one.name)
            for begins, until in closed
            if at < until
        ]
    return tuple(found)


def at_any_price(situation: Situation) -> Situation:
    """The situation of an owner who limits no price."""
    limits = replace(situation.limits, price_increase_usd=ANY_PRICE)
    return replace(situation, account_left_usd=ANY_PRICE, limits=limits)


def hardly_more(situation: Situation, plan: Plan) -> bool:
    """Whether a plan of the same type costs more for hardly more; such steps would only use up slots.

    The spare above what is needed covers that. Where a limit hides what the load takes, a small step shows little of it.
    """
    now, then, demand = capability(situation.current), plan.capability, situation.demand
    if demand.pressed_minutes and not demand.tail:
        return False
    if plan.price_change_usd <= 0 or plan.target.volume_type is not plan.origin.volume_type:
        return False
    if demand.pressed_minutes:  # of MiB/s that its operations cannot use, twice as many are no more
        served = (
            demand.useful_rate(can.sustained_iops, can.sustained_mibps) for can in (now, then)
        )
        return all(after < before * MORE_OF_HIDDEN for before, after in zip(*served, strict=True))
    return (
        then.sustained_iops < now.sustained_iops * MORE
        and then.sustained_mibps < now.sustained_mibps * MORE
    )


def hardly_less(plan: Plan) -> bool:
    """Whether a plan of the same type gives back less than 2 %, of less than $3 a month: as much as a change a day costs.

    It would use up a slot and lock the storage.
    """
    now, then = capability(plan.origin), plan.capability
    return (
        plan.target.volume_type is plan.origin.volume_type
        and -plan.price_change_usd < LITTLE_USD
        and HARDLY_LESS * now.sustained_iops < then.sustained_iops <= now.sustained_iops
        and HARDLY_LESS * now.sustained_mibps < then.sustained_mibps <= now.sustained_mibps
    )
