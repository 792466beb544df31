"""Plays adaptive detection over a fleet under load, and counts what it reads, finds and misses.

The deployed planning of glances runs every five minutes over volumes of the proving ground's physics.
Nothing is ever changed, as in mode `observe`, so what starves goes on starving: that is the dearest case.
Reconciliations are counted, not made; in that mode none plans the next one by itself. `python -m tools.fleet_week --volumes 1000 --days 7` prints one run.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from headroom.application.glances import glance_at_due, save_glances
from headroom.domain.detection import (
    SHORTEST,
    AlarmPlan,
    Candidate,
    Metric,
    ResourceAlarm,
    most_alarms,
    planned,
)
from headroom.domain.policy import Policy
from headroom.domain.resources import ResourceRef
from headroom.policy import default_policy
from headroom.running_cost import DAYS_PER_MONTH, PRICES
from headroom.settings import DeploymentConfig
from tools.loaded_fleet import MINUTES_A_DAY, Column, Fleet, loaded_fleet

ALARM_DELAY_MIN = 2
"""How late an alarm sees them: as in the proving ground's scenarios."""
APART_MIN = 60
"""Minutes without pressure after which pressure is a new episode."""
PER_RECONCILE = (23, 31)
FIRST = timedelta(days=1)
"""Not counted: a new fleet is read more often at first."""
UNKNOWN_MIN = 180
"""So long, nothing is known of a new volume and it is glanced at often."""


@dataclass(slots=True)
class Alarms:
    """Alarms on single volumes: in ALARM from a minute that breaches until an hour passed without one."""

    most: int
    columns: Mapping[str, Column]
    plan: AlarmPlan = field(default_factory=AlarmPlan)
    last: dict[str, int] = field(default_factory=dict)
    """The last minute that breached, of volumes with an alarm."""
    had: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """From and to the minutes in which a volume had an alarm."""
    woke: dict[str, list[int]] = field(default_factory=dict)
    """Minutes at which an alarm went off."""
    made: int = 0
    minutes: int = 0
    """Of all alarms together."""

    def evaluate(self, tick: int) -> list[tuple[str, int]]:
        """Alarms that went off since the last tick: volume and minute."""
        step, found = int(SHORTEST.total_seconds() // 60), []
        for one in self.plan.watched:
            name = one.alarm.resource_id
            new = name not in self.last
            first = APART_MIN if new else step
            last = self.last.setdefault(name, -APART_MIN - 1)
            until = max(0, tick - ALARM_DELAY_MIN)
            for minute in range(max(0, until - first), until):
                if not _breaches(one.alarm, self.columns[name], minute):
                    continue
                if minute - last >= APART_MIN:
                    at = tick if new else minute + 1 + ALARM_DELAY_MIN
                    self.woke.setdefault(name, []).append(at)
                    found.append((name, at))
                last = minute
            self.last[name] = last
            self.had[name][-1] = self.had[name][-1][0], tick
            self.minutes += step
        return found

    def replan(self, seen: Sequence[Candidate], now: datetime, tick: int) -> None:
        """As the deployed workers do after a page."""
        before = {one.alarm for one in self.plan.watched}
        self.plan = planned(self.plan, seen, now, most=self.most, scanned=now)
        after = {one.alarm for one in self.plan.watched}
        self.made += len(after - before)
        for alarm in before - after:
            self.last.pop(alarm.resource_id, None)
        for alarm in after - before:
            self.had.setdefault(alarm.resource_id, []).append((tick, tick))

    def wait(self, name: str, minute: int) -> float | None:
        """Minutes until the alarm went off, if there was one when pressure began; 0 if it was on."""
        if not any(start <= minute <= end for start, end in self.had.get(name, ())):
            return None
        found = [at for at in self.woke.get(name, ()) if minute - 240 <= at <= minute + 75]
        after = (float(at - minute) for at in found if at >= minute)
        return next(after, 0.0) if found else None


def _breaches(alarm: ResourceAlarm, column: Column, minute: int) -> bool:
    of = {
        Metric.IOPS_CHECK: column.iops, Metric.THROUGHPUT_CHECK: column.throughput,
        Metric.BALANCE: column.balance, Metric.QUEUE: column.queue,
    }  # fmt: skip
    value = float(of[alarm.metric][minute])
    return value < alarm.threshold if alarm.metric is Metric.BALANCE else value >= alarm.threshold


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """What planning glances needs of the ports."""

    metrics: Fleet
    work: Fleet


@dataclass(frozen=True, slots=True, kw_only=True)
class Week:
    """One run, by volume, day and month."""

    volumes: int
    at_risk: int
    days: float
    metrics: int
    """Of glances, after the first day."""
    metrics_quiet: int
    glances: int
    glances_quiet: int
    reconciliations: int
    reconciliations_quiet: int
    waits_at_risk: tuple[float, ...]
    """Minutes from the first exceeded minute to the glance that saw it, of volumes at risk then."""
    waits_quiet: tuple[float, ...]
    waits_alarmed: tuple[float, ...]
    """Of both, of volumes with an alarm of their own."""
    waits_first: tuple[float, ...]
    """Of each volume's first pressure, the first day included but for its first three hours."""
    alarms: float
    """Alarms on single volumes, on average."""
    alarms_made: int
    missed: tuple[int, ...]
    """Exceeded minutes of each episode that no glance saw within 75 minutes."""
    exceeded: int
    """Exceeded minutes of all episodes."""

    def a_month(self, count: float) -> float:
        """How many that is in a month, per 1,000 volumes."""
        return count / self.days * float(DAYS_PER_MONTH) / self.volumes * 1_000

    def usd(self) -> tuple[float, float, float]:
        """A month per 1,000 volumes: metrics of glances, metrics of reconciliations from and to."""
        price = float(PRICES["metric_read"].usd)
        looks = self.a_month(self.reconciliations) * price
        return (
            self.a_month(self.metrics) * price,
            looks * PER_RECONCILE[0],
            looks * PER_RECONCILE[1],
        )

    def __str__(self) -> str:
        glances, low, high = self.usd()
        pressed, quiet = self.at_risk, self.volumes - self.at_risk
        per_day = self.days * max(1, pressed), self.days * max(1, quiet)
        return "\n".join((
            f"{self.volumes:,} volumes, {self.at_risk:,} of them at risk, {self.days:g} days",
            f"per quiet volume and day: {self.glances_quiet / per_day[1]:.1f} glances, "
            f"{self.metrics_quiet / per_day[1]:.1f} metrics, "
            f"{self.reconciliations_quiet / per_day[1]:.2f} reconciliations",
            f"per volume at risk and day: {(self.glances - self.glances_quiet) / per_day[0]:.1f} glances, "
            f"{(self.metrics - self.metrics_quiet) / per_day[0]:.1f} metrics, "
            f"{(self.reconciliations - self.reconciliations_quiet) / per_day[0]:.2f} reconciliations",
            f"minutes until pressure is seen: at risk {_spread(self.waits_at_risk)}; "
            f"quiet {_spread(self.waits_quiet)}; with an alarm {_spread(self.waits_alarmed)}; "
            f"the first of a volume {_spread(self.waits_first)}; "
            f"{len(self.missed)} never, which are "
            f"{100 * sum(self.missed) / max(1, self.exceeded):.2f} % of exceeded minutes",
            f"a month per 1,000 volumes: glances ${glances:.2f}, reconciliations ${low:.2f}-${high:.2f}, "
            f"{self.alarms:.1f} alarms on average, made or changed {self.alarms_made:,} times",
        ))  # fmt: skip


def _spread(waits: Sequence[float]) -> str:
    if not waits:
        return "none"
    ordered = sorted(waits)
    late = (ordered[int(share * (len(ordered) - 1))] for share in (0.9, 0.95))
    return (f"median {median(ordered):.0f}, {', '.join(f'{p} % {v:.0f}' for p, v in zip((90, 95), late, strict=True))}, "
            f"most {ordered[-1]:.0f} of {len(ordered):,} episodes")  # fmt: skip


def play(
    volumes: int, days: float, *, at_risk: float = 0.05, traces: Sequence[Path] = (),
    alarm_budget_usd: float = 0.0,
) -> Week:  # fmt: skip
    """Play a fleet; the first day of it is not counted where there are more."""
    fleet, pressed = loaded_fleet(volumes, days, at_risk, traces)
    rules = default_policy()
    if not isinstance(rules, Policy):
        raise TypeError("the default policy cannot be read")
    ports: Any = Ports(metrics=fleet, work=fleet)
    views = list(fleet.views.values())
    begin = FIRST if days > 1 else timedelta(0)
    episodes = {name: _episodes(column) for name, column in fleet.columns.items()}
    seen_at: dict[str, list[int]] = {name: [] for name in fleet.columns}
    sizes: dict[str, dict[str, int]] = {"quiet": {}, "pressed": {}}
    intervals: dict[str, list[tuple[int, float]]] = {name: [] for name in fleet.columns}
    alarms = Alarms(most=most_alarms(alarm_budget_usd), columns=fleet.columns)
    for tick in range(0, int(days * MINUTES_A_DAY), int(SHORTEST.total_seconds() // 60)):
        now = fleet.start + timedelta(minutes=tick)
        woken, candidates = alarms.evaluate(tick), []
        for name, at in woken:
            fleet.reconciled[fleet.views[name].volume.ref.arn] = fleet.start + timedelta(minutes=at)
        for group in ("quiet", "pressed"):
            mine = [
                v for v in views if (v.volume.ref.resource_id in pressed) == (group == "pressed")
            ]
            fleet.count = {}
            mine_woken = sum((name in pressed) == (group == "pressed") for name, _ in woken)
            fleet.add("reconciliations", mine_woken)
            glanced = glance_at_due(ports, mine, rules, now, _never)
            save_glances(ports, glanced, 1)
            for view_seen in glanced:
                ref = view_seen.view.volume.ref
                state = fleet.states[ref.arn]
                if view_seen.candidate is not None:
                    candidates.append(view_seen.candidate)
                if state.at == now:
                    every = (state.next_at - now) / timedelta(minutes=1)
                    intervals[ref.resource_id].append((tick, every))
                    if state.trouble_at == now:
                        seen_at[ref.resource_id].append(tick)
                if view_seen.reconcile or view_seen.new:
                    fleet.reconciled[ref.arn] = now + timedelta(minutes=1)
                    fleet.add("reconciliations")
            if now - fleet.start >= begin:
                for name, count in fleet.count.items():
                    sizes[group][name] = sizes[group].get(name, 0) + count
        alarms.replan(candidates, now, tick)
    waits = [
        (alarms.wait(name, minute), _wait(minute, seen_at[name]), _every(intervals[name], minute), lasted)
        for name, starts in episodes.items()
        for minute, lasted in starts
        if timedelta(minutes=minute) >= begin and minute + 75 < days * MINUTES_A_DAY
    ]  # fmt: skip
    found = [(wait, every) for early, wait, every, _ in waits if wait is not None and early is None]
    return Week(
        volumes=volumes, at_risk=len(pressed), days=days - begin / FIRST,
        metrics=_sum(sizes, "metrics"), metrics_quiet=sizes["quiet"].get("metrics", 0),
        glances=_sum(sizes, "glances"), glances_quiet=sizes["quiet"].get("glances", 0),
        reconciliations=_sum(sizes, "reconciliations"),
        reconciliations_quiet=sizes["quiet"].get("reconciliations", 0),
        waits_at_risk=tuple(wait for wait, every in found if every <= 10),
        waits_quiet=tuple(wait for wait, every in found if every > 10),
        waits_alarmed=tuple(
            early if wait is None else min(early, wait)
            for early, wait, _, _ in waits if early is not None
        ),
        waits_first=tuple(_first(episodes, alarms, seen_at)),
        alarms=alarms.minutes / (days * MINUTES_A_DAY), alarms_made=alarms.made,
        missed=tuple(lasted for early, wait, _, lasted in waits if wait is None and early is None),
        exceeded=sum(lasted for _, _, _, lasted in waits),
    )  # fmt: skip


def _first(
    episodes: Mapping[str, Sequence[tuple[int, int]]],
    alarms: Alarms,
    seen_at: Mapping[str, Sequence[int]],
) -> Iterator[float]:
    for name, starts in episodes.items():
        if starts and starts[0][0] >= UNKNOWN_MIN:
            waits = alarms.wait(name, starts[0][0]), _wait(starts[0][0], seen_at[name])
            found = [each for each in waits if each is not None]
            if found:
                yield min(found)


def _never(_: ResourceRef) -> bool:
    return False


def _sum(sizes: Mapping[str, Mapping[str, int]], name: str) -> int:
    return sum(each.get(name, 0) for each in sizes.values())


def _episodes(column: Column) -> list[tuple[int, int]]:
    """Minutes at which pressure began, and how many minutes of each episode were exceeded."""
    found: list[tuple[int, int]] = []
    last = -APART_MIN
    for minute in map(int, np.flatnonzero((column.iops > 0) | (column.throughput > 0))):
        if minute - last >= APART_MIN:
            found.append((minute, 0))
        found[-1] = (found[-1][0], found[-1][1] + 1)
        last = minute
    return found


def _wait(minute: int, seen: Sequence[int]) -> float | None:
    after = next((tick for tick in seen if tick > minute), None)
    return None if after is None or after - minute > 75 else float(after - minute)


def _every(planned: Sequence[tuple[int, float]], minute: int) -> float:
    """The interval that was planned when the minute came."""
    before = [every for tick, every in planned if tick <= minute]
    return before[-1] if before else 60.0


def main() -> None:
    """Print one run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--volumes", type=int, default=1_000)
    parser.add_argument("--days", type=float, default=7.0)
    parser.add_argument("--at-risk", type=float, default=0.05)
    parser.add_argument(
        "--traces", type=Path, help="A folder of recorded loads, for half of the fleet."
    )
    parser.add_argument("--alarm-budget", type=float, default=DeploymentConfig().alarm_budget_usd)
    said = parser.parse_args()
    traces = sorted(said.traces.glob("*.csv")) if said.traces else []
    print(play(said.volumes, said.days, at_risk=said.at_risk, traces=traces,
               alarm_budget_usd=said.alarm_budget))  # fmt: skip


if __name__ == "__main__":
    main()
