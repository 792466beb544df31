"""Plays adaptive detection over a fleet under load, and counts what it reads, finds and misses.

The deployed planning of glances runs every five minutes over volumes of the proving ground's physics.
Nothing is ever changed, as in mode `observe`, so what starves goes on starving: that is the dearest case.
Reconciliations are counted, not made; in that mode none plans the next one by itself. `python -m tools.fleet_week --volumes 1000 --days 7` prints one run.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from headroom.application.glances import glance_at_due
from headroom.domain.catalog.ebs import capability
from headroom.domain.detection import (
    SHORTEST,
    AlarmPlan,
    Candidate,
    GlanceState,
    Metric,
    ResourceAlarm,
    most_alarms,
    planned,
)
from headroom.domain.policy import Policy
from headroom.domain.resources import Configuration, Kind, ResourceRef, Volume, VolumeType
from headroom.policy import default_policy
from headroom.ports import Glance, Glanced, GlanceRequest, StorageView
from headroom.proving.vectorized import VectorizedVolume
from headroom.proving.workloads import (
    SAMPLES,
    Floats,
    LoadSeries,
    read_load_series,
    sample_load_series,
)
from headroom.running_cost import DAYS_PER_MONTH, PRICES
from headroom.settings import DeploymentConfig

MINUTES_A_DAY = 1_440
DELAY_MIN = 3
"""How late metrics are published."""
ALARM_DELAY_MIN = 2
"""How late an alarm sees them: as in the proving ground's scenarios."""
APART_MIN = 60
"""Pressure after so many minutes without is a new episode."""
PER_RECONCILE = (23, 31)
FIRST = timedelta(days=1)
"""Not counted: a new fleet is read more often at first."""
UNKNOWN_MIN = 180
"""So long, nothing is known of a new volume and it is glanced at often."""
AT_RISK = ("steady", "sample-working-day", "sample-nightly-batch", "sample-short-bursts",
           "sample-random-spikes")  # fmt: skip
CONFIGURATIONS = (("gp3", 14), ("gp2", 5), ("io2", 1))
"""Types of every twenty volumes."""
QUIET_PEAK, PRESSED_PEAK = (0.05, 0.7), (1.2, 3.0)
"""Of a volume's limit, the peak of the loads."""


@dataclass(slots=True)
class Column:
    """What CloudWatch publishes of one volume, by the minute."""

    queue: Floats
    balance: Floats
    iops: Floats
    throughput: Floats

    def glance(self, minute: int, back: int, metrics: frozenset[Any]) -> Glance:
        """Over `back` minutes before `minute`, as far as they are published."""
        place = slice(max(0, minute - back), max(0, minute - DELAY_MIN))
        queue, balance = self.queue[place], self.balance[place]
        known = queue == queue
        balances = balance[balance == balance]
        return Glance(
            iops_exceeded_minutes=int(self.iops[place][known].sum()) if known.any() else None,
            throughput_exceeded_minutes=int(self.throughput[place][known].sum())
            if known.any()
            else None,
            lowest_burst_balance_percent=float(balances.min()) if balances.size else None,
            longest_queue=float(queue[known].max()) if known.any() else None,
        ).only(metrics)


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


@dataclass(slots=True)
class Fleet:
    """Volumes, what is published of them, and everything that is counted. Storage, metrics, claims."""

    start: datetime
    views: dict[str, StorageView] = field(default_factory=dict)
    columns: dict[str, Column] = field(default_factory=dict)
    states: dict[str, GlanceState] = field(default_factory=dict)
    reconciled: dict[str, datetime] = field(default_factory=dict)
    count: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, count: int = 1) -> None:
        """Count something."""
        self.count[name] = self.count.get(name, 0) + count

    def glances(self, asked: Sequence[GlanceRequest], now: datetime) -> Mapping[str, Glance]:
        """As the adapter answers."""
        minute = int((now - self.start) / timedelta(minutes=1))
        found = {}
        for one in asked:
            name, metrics = one.view.volume.ref.resource_id, one.metrics or frozenset()
            found[name] = self.columns[name].glance(
                minute, int(one.back.total_seconds() // 60), metrics
            )
            with_credits = bool(np.isfinite(self.columns[name].balance[0]))
            self.add(
                "metrics", sum(m != "free" and (m != "balance" or with_credits) for m in metrics)
            )
        self.add("calls", -(-len(asked) // 500) if asked else 0)
        return found

    def glanced(self, refs: Sequence[ResourceRef]) -> Mapping[str, Glanced]:
        """What was saved."""
        return {
            ref.arn: Glanced(
                state=self.states.get(ref.arn), reconciled_at=self.reconciled.get(ref.arn)
            )
            for ref in refs
        }

    def save_glance(self, ref: ResourceRef, state: GlanceState) -> None:
        """Keep it, and count a write."""
        self.states[ref.arn] = state
        self.add("glances")


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
        """So many in a month, per 1,000 volumes."""
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
    fleet, pressed = _fleet(volumes, days, at_risk, traces)
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
            for view_seen in glance_at_due(ports, mine, rules, now, _never, 1):
                ref = view_seen.view.volume.ref
                state = fleet.states[ref.arn]
                if view_seen.candidate is not None:
                    candidates.append(view_seen.candidate)
                if state.at == now:
                    every = (state.next_at - now) / timedelta(minutes=1)
                    intervals[ref.resource_id].append((tick, every))
                    if state.trouble_at == now:
                        seen_at[ref.resource_id].append(tick)
                if view_seen.look or view_seen.new:
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


def _fleet(
    volumes: int, days: float, at_risk: float, traces: Sequence[Path]
) -> tuple[Fleet, frozenset[str]]:
    rng = np.random.default_rng(13)
    recorded = [read_load_series(path, scale="1") for path in traces]
    base = {name: sample_load_series(name) for name in SAMPLES}
    fleet = Fleet(start=base[SAMPLES[0]].start)
    kinds = [kind for kind, count in CONFIGURATIONS for _ in range(count)]
    pressed = set()
    for number in range(volumes):
        name, risky = f"vol-{number:05}", number < round(at_risk * volumes)
        configuration = _configuration(kinds[number * 7 % len(kinds)], rng)
        if recorded and number % 2:
            load = recorded[number // 2 % len(recorded)]
        elif risky:
            load = base.get(AT_RISK[number % len(AT_RISK)], base["sample-idle"])
        else:
            load = base[
                SAMPLES[int(rng.choice(len(SAMPLES), p=(0.1, 0.25, 0.05, 0.45, 0.05, 0.1)))]
            ]
        peak = rng.uniform(*(PRESSED_PEAK if risky else QUIET_PEAK))
        steady = (
            risky and not (recorded and number % 2) and AT_RISK[number % len(AT_RISK)] == "steady"
        )
        series = _fitted(load, configuration, peak, days, rng, steady=steady, start=fleet.start)
        fleet.columns[name] = _published(series, configuration)
        fleet.views[name] = _view(name, configuration, fleet.start)
        if risky:
            pressed.add(name)
    return fleet, frozenset(pressed)


def _configuration(kind: str, rng: np.random.Generator) -> Configuration:
    match kind:
        case "gp3":
            fast = rng.random() < 0.2
            return Configuration(volume_type=VolumeType.GP3, size_gib=500,
                                 iops=6_000 if fast else 3_000, throughput_mibps=250 if fast else 125)  # fmt: skip
        case "gp2":
            return Configuration(volume_type=VolumeType.GP2, size_gib=int(rng.choice((50, 100, 300, 500, 1_000))),
                                 iops=None, throughput_mibps=None)  # fmt: skip
        case _:
            return Configuration(
                volume_type=VolumeType.IO2, size_gib=500, iops=5_000, throughput_mibps=None
            )


def _fitted(
    load: LoadSeries, configuration: Configuration, peak: float, days: float,
    rng: np.random.Generator, *, steady: bool, start: datetime,
) -> LoadSeries:  # fmt: skip
    """The load with its 99th percentile at `peak` of the sustained limit, begun anywhere.

    One below the limit is at most lowered: what idles goes on idling.
    """
    can = capability(configuration)
    steps = round(days * MINUTES_A_DAY * 60 / load.step_s)
    turn = int(rng.integers(0, len(load.ops)))

    def cut(values: Floats) -> Floats:
        rolled = np.roll(np.nan_to_num(values), turn)
        return np.tile(rolled, -(-steps // len(rolled)))[:steps]

    ops, ebs, size = cut(load.ops), cut(load.ebs_ops), cut(load.bytes)
    share = np.maximum(ebs / can.sustained_iops, size / (can.sustained_mibps * 1024**2))
    level = float(np.percentile(share, 99)) or 1.0
    factor = peak / level
    if peak < 1:  # a quiet load is as it is, or less
        factor = min(1.0, factor)
    if steady:
        middle = float(np.mean(ops))
        ops, ebs, size = (np.full(steps, float(np.mean(each))) for each in (ops, ebs, size))
        factor = peak / max(
            middle / can.sustained_iops, float(size[0]) / (can.sustained_mibps * 1024**2)
        )
    return replace(
        load, start=start, ops=ops * factor, ebs_ops=ebs * factor, bytes=size * factor,
        read_share=cut(load.read_share), read_bytes=np.empty(0),
    )  # fmt: skip


def _published(series: LoadSeries, configuration: Configuration) -> Column:
    volume = VectorizedVolume(series, configuration)
    volume.run_ahead(series.minutes)
    found = volume.published_series()
    queue, balance, iops, throughput = (np.array(found[n], dtype=np.float32) for n in (4, 5, 6, 7))
    return Column(queue=queue, balance=balance, iops=iops, throughput=throughput)


def _view(name: str, configuration: Configuration, start: datetime) -> StorageView:
    ref = ResourceRef(
        kind=Kind.EBS, account_id="123456789012", region="us-east-1", resource_id=name
    )
    volume = Volume(
        ref=ref, configuration=configuration, availability_zone="us-east-1a", state="in-use",
        created_at=start - timedelta(days=365), instance_ids=("i-1",), multi_attach=False,
        managed_by=None, on_outpost=False, tags=(("headroom", "auto"),),
    )  # fmt: skip
    return StorageView(volume=volume, modification=None, instance=None)


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
