"""A simulated Aurora cluster: its mode, AWS's rules for it, and what CloudWatch publishes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from headroom.domain.catalog.aurora import HOURS_PER_MONTH
from headroom.domain.resources import (
    GATE,
    AuroraActivity,
    AuroraCluster,
    AuroraObservation,
    Kind,
    ResourceRef,
    Series,
    StorageMode,
)
from headroom.domain.workload import GIB, LOOKBACK_WINDOW, PAST_WINDOW
from headroom.proving.scenarios import AuroraScenario
from headroom.proving.workloads import PERIOD, PERIODS_PER_HOUR, READ_SHARE, traced_ios

PER_DAY = 288
HOUR = timedelta(hours=1)
ACCOUNT = "123456789012"


@dataclass(slots=True)
class SimulatedCluster:
    """The simulated cluster: its mode, when AWS allows the next change, and its metrics."""

    scenario: AuroraScenario
    mode: StorageMode = field(init=False)
    since: datetime | None = None
    opens: datetime | None = field(init=False)
    refusals: int = 0
    counts: list[float | None] = field(init=False)
    """Billed I/O of every five minutes from the start; None where not measured."""
    hours: list[float | None] = field(init=False)
    """Billed I/O of every hour, from PAST_WINDOW before the start."""
    log: list[tuple[datetime, StorageMode]] = field(init=False)

    def __post_init__(self) -> None:
        scenario = self.scenario
        self.mode, self.opens = scenario.mode, scenario.next_allowed_at
        if self.mode is StorageMode.IO_OPTIMIZED:
            gone = None if self.opens is None else self.opens - GATE
            self.since = scenario.start - LOOKBACK_WINDOW if gone is None else gone
        self.counts = list(_counts(scenario))
        self.hours = list(_hours(scenario, self.counts))
        self.log = [(datetime.min.replace(tzinfo=UTC), self.mode)]

    def ios_of(self, day: int) -> float:
        """Billed I/O of one simulated day; unmeasured periods are assumed to be like the others."""
        known = [n for n in self.counts[day * PER_DAY : (day + 1) * PER_DAY] if n is not None]
        return sum(known) / len(known) * PER_DAY if known else 0.0

    def mean_ios_a_month(self) -> float:
        """Billed I/O a month at the mean rate of all measured periods."""
        known = [n for n in self.counts if n is not None]
        return sum(known) / len(known) * 12 * HOURS_PER_MONTH if known else 0.0

    def observed(self, at: datetime) -> AuroraObservation:
        """What Headroom reads at `at`: the cluster, its metrics, and the longer past of its I/O."""
        scenario = self.scenario
        first = -(LOOKBACK_WINDOW // PERIOD) + (at - scenario.start) // PERIOD
        last = (at - scenario.start) // PERIOD
        start = scenario.start + first * PERIOD
        ios = self._published(first, last)
        measured = [None if n is None else 1.0 for n in ios]
        halves = {
            name: [None if n is None else n * share for n in ios]
            for name, share in (("reads", READ_SHARE), ("writes", 1 - READ_SHARE))
        }
        every = [1.0] * len(ios) if scenario.trace is None else measured

        def series(values: Sequence[float | None]) -> Series:
            return Series(start=start, period_s=300, values=tuple(values))

        def flat(value: float | None) -> Series:
            return series([None if value is None or n is None else value for n in every])

        return AuroraObservation(
            at=at,
            cluster=self._described(),
            activity=AuroraActivity(
                read_ios=series(halves["reads"]),
                write_ios=series(halves["writes"]),
                bytes_used=series([scenario.storage_gib * GIB] * len(ios)),
                acus=flat(scenario.acus),
                commit_latency_ms=series(self._commits(first, last))
                if scenario.commits
                else flat(scenario.commit_latency_ms),
                hourly_ios=self._hourly(at),
            ),
        )

    def change(self, at: datetime, target: StorageMode) -> bool:
        """ModifyDBCluster; False where AWS refuses it."""
        if target is StorageMode.IO_OPTIMIZED:
            if self.opens is not None and self.opens > at:
                self.refusals += 1
                return False
            self.opens = at + GATE
        self.mode, self.since = target, at
        self.log.append((at, target))
        return True

    def _described(self) -> AuroraCluster:
        scenario = self.scenario
        return AuroraCluster(
            ref=ResourceRef(
                kind=Kind.AURORA, account_id=ACCOUNT, region=scenario.region,
                resource_id="cluster-1",
            ),
            engine=scenario.engine, engine_version=scenario.engine_version, status="available",
            mode=self.mode, mode_since=self.since, pending_storage_mode=None, next_allowed_at=self.opens,
            members=scenario.members, reserved=scenario.reserved,
            parallel_query=scenario.parallel_query, tags=(),
        )  # fmt: skip

    def _published(self, first: int, last: int) -> list[float | None]:
        """Billed I/O of the periods [first, last) from the start, as CloudWatch would return it."""
        start = self.scenario.start
        before = [
            self.scenario.untraced_ios(start + number * PERIOD)
            for number in range(first, min(last, 0))
        ]
        counts = before + self.counts[max(0, first) : max(0, last)]
        return self._as_published(counts, start + first * PERIOD, PERIOD)

    def _commits(self, first: int, last: int) -> list[float | None]:
        """The recorded commit latency of the periods [first, last) from the start."""
        recorded = self.scenario.commits[max(0, first) : max(0, last)]
        before: list[float | None] = [None] * min(last - first, max(0, -first))
        return [*before, *recorded, *([None] * (last - first - len(before) - len(recorded)))]

    def _hourly(self, at: datetime) -> Series:
        """Billed I/O of the hours of PAST_WINDOW before `at`, as CloudWatch would return it."""
        first = (at - self.scenario.start) // HOUR
        start = self.scenario.start + first * HOUR - PAST_WINDOW
        hours = self.hours[first : first + PAST_WINDOW // HOUR]
        return Series(
            start=start, period_s=3600, values=tuple(self._as_published(hours, start, HOUR))
        )

    def _as_published(
        self, values: list[float | None], start: datetime, period: timedelta
    ) -> list[float | None]:
        """`values` without those under I/O-Optimized, if the scenario says that none are published."""
        if self.scenario.published_when_optimized:
            return values
        modes = (
            next(mode for since, mode in reversed(self.log) if since <= start + number * period)
            for number in range(len(values))
        )
        return [
            None if mode is StorageMode.IO_OPTIMIZED else value
            for value, mode in zip(values, modes, strict=True)
        ]


def _counts(scenario: AuroraScenario) -> Iterator[float | None]:
    for number in range(scenario.days * PER_DAY):
        if scenario.trace is None:
            yield scenario.untraced_ios(scenario.start + number * PERIOD)
        else:
            yield traced_ios(scenario.trace, number * PERIOD.total_seconds())


def _hours(scenario: AuroraScenario, counts: Sequence[float | None]) -> Iterator[float | None]:
    """Billed I/O of every hour from PAST_WINDOW before the start; None unless all was measured."""
    for number in range(-(PAST_WINDOW // HOUR), 0):
        ios = scenario.untraced_ios(scenario.start + number * HOUR)
        yield None if ios is None else ios * PERIODS_PER_HOUR
    for first in range(0, len(counts), PERIODS_PER_HOUR):
        known = [count for count in counts[first : first + PERIODS_PER_HOUR] if count is not None]
        yield sum(known) if len(known) == PERIODS_PER_HOUR else None
