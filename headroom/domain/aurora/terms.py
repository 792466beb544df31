"""A cluster in the terms of a decision about a volume: no metrics, no IOPS to set, and the bill is what binds."""

from __future__ import annotations

from datetime import timedelta

from headroom.domain.decision import Reason
from headroom.domain.resources import AuroraObservation, Series, StorageMode, VolumeActivity
from headroom.domain.workload import (
    DAYS,
    AuroraDemand,
    Binding,
    Demand,
    Diagnosis,
    Estimate,
    LoadShape,
)

CONTENT = frozenset({Reason.ALREADY_CHEAPEST, Reason.FAST_ENOUGH, Reason.KEPT_FOR_PERFORMANCE})
"""Reasons by which a cluster is in the mode that is right for it."""
NOT_PUBLISHED = (
    "nothing is published of the billed I/O under I/O-Optimized: compare the days recorded before "
    "the change, the cluster stays as it is"
)
LONG_DAYS = 30
"""After so many days of which hardly any is whole, none are waited for without a word."""
SELDOM_WHOLE = (
    f"of the last {LONG_DAYS} days and more too few are published whole (billed I/O, and ACUs of "
    "serverless members): a cluster that is stopped or scaled every few days is not judged"
)


def empty_activity(observed: AuroraObservation) -> VolumeActivity:
    """A cluster has none of a volume's metrics: every series is empty."""
    empty = Series(start=observed.at, period_s=300, values=())
    return VolumeActivity(
        read_iops=empty, write_iops=empty, read_mibps=empty, write_mibps=empty,
        queue_length=empty, latency_ms=empty, burst_balance_percent=empty,
        iops_exceeded=empty, throughput_exceeded=empty,
    )  # fmt: skip


def diagnosis_of_bill(stays: Reason | None, explanation: str) -> Diagnosis:
    """What binds is the bill: a cluster cannot be short of IOPS."""
    binding = Binding.STORAGE_MODE
    if stays in CONTENT:
        binding = Binding.NOTHING
    elif stays is Reason.NOT_ENOUGH_DATA:
        binding = Binding.UNKNOWN
    return Diagnosis(
        binding=binding, volume_iops_limit=0.0, volume_mibps_limit=0.0, instance_iops_left=None,
        instance_mibps_left=None, explanation=explanation,
    )  # fmt: skip


def demand_of_days(demand: AuroraDemand) -> Demand:
    """A cluster has no IOPS or MiB/s to set, so none are needed; `confidence` is of the days."""
    none = Estimate(floor=0.0, likely=0.0, upper=0.0, censored=False)
    known = len(demand.days)
    return Demand(
        iops=none, mibps=none, shape=LoadShape.UNCONSTRAINED if known else LoadShape.UNKNOWN, tail=0.0,
        confidence=min(1.0, known / DAYS), known_minutes=known * 24 * 60, pressed_minutes=0,
        expected_starved_minutes=0.0, credits=None, peak_iops=0.0, peak_mibps=0.0,
        clear_minutes=0, basis=f"{known} whole days",
    )  # fmt: skip


def owner_note(demand: AuroraDemand, observed: AuroraObservation) -> str:
    """What the owner should know of a cluster of which too little is published, and for how long; empty if nothing."""
    cluster, hourly = observed.cluster, observed.activity.hourly_ios
    if not demand.known:
        return NOT_PUBLISHED if cluster.mode is StorageMode.IO_OPTIMIZED else ""
    if demand.whole or hourly is None:
        return ""
    first = next((at for at, value in hourly.points() if value is not None), observed.at)
    since = max(first, cluster.mode_since or first)
    return SELDOM_WHOLE if observed.at - since >= timedelta(days=LONG_DAYS) else ""
