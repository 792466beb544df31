"""A fleet of the proving ground's volumes under load, and what CloudWatch publishes of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from headroom.domain.catalog.ebs import capability
from headroom.domain.detection import GlanceState
from headroom.domain.resources import Configuration, Kind, ResourceRef, Volume, VolumeType
from headroom.ports import Glance, Glanced, GlanceRequest, StorageView
from headroom.proving.vectorized import VectorizedVolume
from headroom.proving.workloads import (
    SAMPLES,
    Floats,
    LoadSeries,
    read_load_series,
    sample_load_series,
)

MINUTES_A_DAY = 1_440
DELAY_MIN = 3
"""How late metrics are published."""

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


def loaded_fleet(
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
