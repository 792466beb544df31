"""One controller on one load series: its changes, their cost and the minutes that starved.

The same guardrails bind every controller: targets are cut to the owner's limits and one slot stays
in reserve. AWS's own rules refuse the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Protocol

import numpy as np

from headroom.domain.catalog import SECONDS_PER_MONTH
from headroom.domain.decision import Decision
from headroom.domain.policy import Policy
from headroom.domain.resources import Configuration, Modification
from headroom.domain.state import Record
from headroom.proving.awsrules import MODIFICATION_WINDOW, ModificationRefused
from headroom.proving.scenarios import AwsBehaviour, Resource
from headroom.proving.simulation import Change, violations
from headroom.proving.trials.calibration import Calibration
from headroom.proving.trials.conditions import Conditions, within
from headroom.proving.vectorized import VectorizedVolume
from headroom.proving.workloads import Bools, Floats, LoadSeries

MAY_GROW = frozenset({"grow-gp2"})
"""Rules that only grow volumes may do so; each growth counts as a violation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialChange:
    """A modification that a controller started at a minute of the series."""

    minute: int
    origin: Configuration
    target: Configuration
    usd_change: float
    """Difference of the monthly price."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrialRun:
    """The result of one controller on one load series; two arrays have a value per minute.

    `held` counts targets that the guardrails or missing slots blocked.
    """

    starved: Bools
    shortfall: Floats
    changes: tuple[TrialChange, ...]
    storage_usd: float
    aws_refusals: int
    guardrail_violations: int
    held: int
    decisions: tuple[Decision, ...] = ()
    records: tuple[Record, ...] = ()
    calibration: Calibration | None = None
    """How well the forecasts of the run held; None where they were not compared."""


@dataclass(frozen=True, slots=True, eq=False)
class PublishedSoFar:
    """The metrics published so far, one value per minute from the start of the series.

    Operations/s are the application's, throughput in MiB/s, the balance in percent; NaN where
    nothing was published.
    """

    configuration: Configuration
    """As DescribeVolumes reports it."""
    modification: Modification | None
    """The latest one."""
    read_iops: Floats
    write_iops: Floats
    read_mibps: Floats
    write_mibps: Floats
    queue: Floats
    balance: Floats
    iops_exceeded: Floats
    throughput_exceeded: Floats
    iops: Floats
    """Reads and writes together."""
    mibps: Floats
    """Read and written together."""

    @property
    def in_flight(self) -> bool:
        """Whether AWS would refuse a change because of the latest one."""
        return self.modification is not None and self.modification.in_flight


class ControlRule(Protocol):
    """A controller that is asked every `every_min` minutes for a target."""

    @property
    def name(self) -> str:
        """Its name in tables."""

    @property
    def every_min(self) -> int:
        """Minutes from one question to the next; the first is asked at minute 0."""

    def desired(self, published: PublishedSoFar, now: datetime) -> Configuration | None:
        """The target configuration; None to leave the volume alone."""


class Trial:
    """A volume under one controller, with the guardrails around it."""

    def __init__(
        self, load_series: LoadSeries, start: Configuration, conditions: Conditions
    ) -> None:
        self.volume = VectorizedVolume(
            load_series,
            start,
            delays=conditions.delays.named(load_series.name),
            burst_balance_percent=conditions.burst_balance_percent,
        )
        self.changes: list[TrialChange] = []
        self.aws_refusals = self.held = 0
        self._conditions = conditions
        self._start = start
        self._start_usd = conditions.monthly(start)
        late = conditions.metric_delay_of(load_series.name)
        self._late = -int(-late.total_seconds() // 60)

    def ask(self, desired: Configuration, reason: str, *, may_grow: bool = False) -> bool:
        """Change the volume to `desired` as far as guardrails and AWS allow; whether it was changed."""
        volume, now = self.volume, self.volume.now
        origin = volume.lifecycle.described(now)
        if desired == origin:
            return False
        target = within(self._conditions, origin, self._start_usd, desired, may_grow=may_grow)
        recent = sum(now - MODIFICATION_WINDOW < at for at in volume.lifecycle.starts)
        if target is None or recent >= self._conditions.slots:
            self.held += 1
            return False
        try:
            volume.modify(target)
        except ModificationRefused:
            self.aws_refusals += 1
            return False
        self.add_change(volume.minute, origin, target, reason)
        return True

    def add_change(
        self, minute: int, origin: Configuration, target: Configuration, reason: str
    ) -> None:
        """Note a change that AWS accepted."""
        monthly = self._conditions.monthly
        self.changes.append(
            TrialChange(
                minute=minute, origin=origin, target=target, reason=reason,
                usd_change=monthly(target) - monthly(origin),
            )
        )  # fmt: skip

    def published(self) -> PublishedSoFar:
        """The metrics that are published at the present instant."""
        volume, now = self.volume, self.volume.now
        last = max(0, volume.minute - self._late)
        return PublishedSoFar(
            volume.lifecycle.described(now),
            volume.lifecycle.modification(now),
            *(array[:last] for array in volume.published_series()),
        )

    def finished(
        self,
        decisions: tuple[Decision, ...] = (),
        records: tuple[Record, ...] = (),
        *,
        policy: Policy | None = None,
    ) -> TrialRun:
        """Run to the end of the series; the result, audited against `policy`."""
        volume = self.volume
        volume.run(volume.load_series.minutes)
        policy = policy or self._conditions.policy
        return TrialRun(
            starved=volume.starved,
            shortfall=volume.shortfall,
            changes=tuple(self.changes),
            storage_usd=held_usd(
                self._start,
                [(change.minute, change.target) for change in self.changes],
                volume.load_series.minutes,
                self._conditions.monthly,
            ),
            aws_refusals=self.aws_refusals,
            guardrail_violations=self._violations(policy),
            held=self.held,
            decisions=decisions,
            records=records,
        )

    def _violations(self, policy: Policy) -> int:
        """How many changes broke a limit of `policy`, by the audit's own arithmetic."""
        conditions, start = self._conditions, self.volume.load_series.start
        changes = [
            Change(
                at=start + timedelta(minutes=change.minute), origin=change.origin,
                target=change.target, decision_id="", reason=change.reason,
            )
            for change in self.changes
        ]  # fmt: skip
        found = violations(
            changes,
            self.volume.lifecycle.starts,
            since=start,
            resource=Resource(configuration=self._start),
            aws=AwsBehaviour(region=conditions.region, prices=conditions.prices),
            policy=policy,
        )
        return len({sentence.split(": ", 1)[0] for sentence in found})


def run_schedule(
    load_series: LoadSeries,
    start: Configuration,
    schedule: Sequence[tuple[int, Configuration]],
    conditions: Conditions,
) -> TrialRun:
    """Make the changes of `schedule` (minute, target) in their order; those after the end are dropped."""
    trial = Trial(load_series, start, conditions)
    for minute, target in sorted(schedule, key=lambda each: each[0]):
        if minute < load_series.minutes:
            trial.volume.run(minute)
            trial.ask(target, "scheduled")
    return trial.finished()


def run_static(
    load_series: LoadSeries, start: Configuration, target: Configuration, conditions: Conditions
) -> TrialRun:
    """Bring the volume to `target` from minute 0 on, in as many changes as the largest step takes."""
    trial = Trial(load_series, start, conditions)
    start_usd = conditions.monthly(start)
    goal = within(conditions, start, start_usd, target, at_once=False)
    minute = 0
    while goal is not None and minute < load_series.minutes:
        trial.volume.run(minute)
        lifecycle, now = trial.volume.lifecycle, trial.volume.now
        here = lifecycle.described(now)
        if here == goal or within(conditions, here, start_usd, goal) is None:
            break
        change = lifecycle.modification(now)
        if change is None or not change.in_flight:
            trial.ask(goal, "static")
        minute += 1
    return trial.finished()


def run_rule(
    load_series: LoadSeries, start: Configuration, rule: ControlRule, conditions: Conditions
) -> TrialRun:
    """Ask `rule` every `every_min` minutes for a target, and make that change."""
    trial = Trial(load_series, start, conditions)
    grows = rule.name in MAY_GROW
    for minute in range(0, load_series.minutes, rule.every_min):
        trial.volume.run(minute)
        target = rule.desired(trial.published(), trial.volume.now)
        if target is not None:
            trial.ask(target, rule.name, may_grow=grows)
    return trial.finished()


def held_usd(
    start: Configuration,
    changes: Sequence[tuple[int, Configuration]],
    minutes: int,
    a_month: Callable[[Configuration], float],
) -> float:
    """USD over `minutes` at what each configuration costs a month, from the start of its modification on."""
    edges = [(0, start), *changes, (minutes, start)]
    total = 0.0
    for (begin, paid), (end, _) in pairwise(edges):
        total += a_month(paid) * (end - begin) * 60 / SECONDS_PER_MONTH
    return total


def score_usd(run: TrialRun, unavoidable: Floats, conditions: Conditions) -> float:
    """Storage dollars plus the value of the avoidable shortfall."""
    return run.storage_usd + conditions.value_usd * avoidable(run.shortfall, unavoidable)


def avoidable(shortfall: Floats, unavoidable: Floats) -> float:
    """Shortfall minutes above what the most that the guardrails allow would leave."""
    return float(np.sum(np.maximum(0.0, shortfall - unavoidable)))
