"""Values for tests, each with sensible defaults and one word to change one thing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from headroom.domain.catalog import PriceTable, catalogue_prices
from headroom.domain.decision import DecisionInput
from headroom.domain.policy import Limits, Mode, Policy, PolicyUnreadable, Rule, Selector
from headroom.domain.resources import (
    Configuration,
    Instance,
    InstanceActivity,
    InstanceLimits,
    Kind,
    Modification,
    ModificationState,
    Observation,
    ResourceRef,
    Series,
    Volume,
    VolumeActivity,
    VolumeType,
)
from headroom.domain.state import ResourceState, new_resource_state

NOW = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
ACCOUNT = "123456789012"
REGION = "us-east-1"
IMAGE = "ami-03cf127a"
"""Any image: moto starts instances from images that it does not know as well."""


def ref(volume_id: str = "vol-1") -> ResourceRef:
    return ResourceRef(kind=Kind.EBS, account_id=ACCOUNT, region=REGION, resource_id=volume_id)


def gp3(size: int = 100, iops: int = 3000, mibps: int = 125) -> Configuration:
    return Configuration(
        volume_type=VolumeType.GP3, size_gib=size, iops=iops, throughput_mibps=mibps
    )


def gp2(size: int = 400) -> Configuration:
    return Configuration(
        volume_type=VolumeType.GP2, size_gib=size, iops=None, throughput_mibps=None
    )


def io(kind: VolumeType = VolumeType.IO2, size: int = 400, iops: int = 5000) -> Configuration:
    return Configuration(volume_type=kind, size_gib=size, iops=iops, throughput_mibps=None)


def volume(configuration: Configuration | None = None, **changes: object) -> Volume:
    base = Volume(
        ref=ref(),
        configuration=configuration or gp3(),
        availability_zone="us-east-1a",
        state="in-use",
        created_at=NOW - timedelta(days=90),
        instance_ids=("i-1",),
        multi_attach=False,
        managed_by=None,
        on_outpost=False,
        tags=(("headroom", "auto"),),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def series(values: Sequence[float | None], *, end: datetime = NOW, period_s: int = 60) -> Series:
    start = end - timedelta(seconds=period_s * len(values))
    return Series(start=start, period_s=period_s, values=tuple(values))


def activity(
    iops: Sequence[float | None],
    *,
    io_kib: float = 16,
    queue: Sequence[float | None] | float = 1.0,
    balance: Sequence[float | None] | float | None = None,
    iops_check: Sequence[float | None] | float | None = 0,
    mibps_check: Sequence[float | None] | float | None = 0,
    latency_ms: Sequence[float | None] | float | None = 1.0,
    end: datetime = NOW,
    period_s: int = 60,
) -> VolumeActivity:
    """Activity with half of `iops` reads; a None minute was not measured at all.

    A latency of one millisecond is that of an idle device: it is as long as the queue says.
    """

    def spread(value: Sequence[float | None] | float | None) -> list[float | None]:
        each = [value] * len(iops) if value is None or isinstance(value, int | float) else [*value]
        return [None if i is None else v for i, v in zip(iops, each, strict=True)]

    def make(values: Sequence[float | None]) -> Series:
        return series(values, end=end, period_s=period_s)

    latencies = spread(latency_ms)
    if latency_ms == 1.0:
        latencies = [
            ms if ms is None or q is None or not i else max(ms, 1_000 * q / i)
            for ms, q, i in zip(latencies, spread(queue), iops, strict=True)
        ]
    half = make([None if i is None else i / 2 for i in iops])
    bytes_half = make([None if i is None else i / 2 * io_kib / 1024 for i in iops])
    return VolumeActivity(
        read_iops=half,
        write_iops=half,
        read_mibps=bytes_half,
        write_mibps=bytes_half,
        queue_length=make(spread(queue)),
        latency_ms=make(latencies),
        burst_balance_percent=make(spread(balance)),
        iops_exceeded=make(spread(iops_check)),
        throughput_exceeded=make(spread(mibps_check)),
    )


def instance(
    *, baseline_iops: int = 12_000, baseline_mibps: float = 600.0, maximum_iops: int = 40_000,
    volumes: tuple[str, ...] = (),
) -> Instance:  # fmt: skip
    return Instance(
        instance_id="i-1",
        limits=InstanceLimits(
            instance_type="m6i.2xlarge",
            nitro=True,
            baseline_iops=baseline_iops,
            baseline_mibps=baseline_mibps,
            maximum_iops=maximum_iops,
            maximum_mibps=1200.0,
        ),
        volume_ids=("vol-1", *volumes),
    )


def instance_activity(
    iops: Sequence[float | None],
    mibps: Sequence[float | None],
    *,
    iops_check: float = 0,
    mibps_check: float = 0,
    end: datetime = NOW,
) -> InstanceActivity:
    return InstanceActivity(
        iops=series(iops, end=end),
        mibps=series(mibps, end=end),
        iops_exceeded=series([iops_check] * len(iops), end=end),
        throughput_exceeded=series([mibps_check] * len(iops), end=end),
        io_balance_percent=series([], period_s=300),
        byte_balance_percent=series([], period_s=300),
    )


def observation(
    load: VolumeActivity | None = None, vol: Volume | None = None, **changes: object
) -> Observation:
    base = Observation(
        at=NOW,
        volume=vol or volume(),
        modification=None,
        activity=load or activity([500.0] * 60),
        history=None,
        instance=instance(),
        instance_activity=None,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def starved_gp3(**changes: object) -> Observation:
    """A gp3 volume at its 3,000 IOPS, its check at 1 for half an hour."""
    load = activity(
        [1500.0] * 30 + [3000.0] * 30,
        queue=[1.0] * 30 + [900.0 + 3 * i for i in range(30)],
        iops_check=[0.0] * 30 + [1.0] * 30,
    )
    return observation(load, **changes)


def resource_state(**changes: object) -> ResourceState:
    return replace(new_resource_state(), **changes)  # type: ignore[arg-type]


def policy(**limits: object) -> Policy:
    return Policy(version="test", defaults=replace(Limits(), **limits))  # type: ignore[arg-type]


def database_policy(**limits: object) -> Policy:
    """A policy that names databases, which is what anything they may do takes."""
    settings = tuple(sorted(limits.items()))
    rule = Rule(selector=Selector(kind=Kind.RDS), settings=settings)
    return replace(policy(), rules=(rule,))


def decision_input(
    seen: Observation | None = None,
    *,
    stand: ResourceState | None = None,
    rules: Policy | PolicyUnreadable | None = None,
    prices: PriceTable | None = None,
    trigger: str = "alarm",
) -> DecisionInput:
    return DecisionInput(
        trigger=trigger,
        observation=seen or starved_gp3(),
        resource_state=stand or resource_state(),
        policy=rules or policy(),
        prices=prices or catalogue_prices(REGION),
    )


def modification(
    target: Configuration,
    *,
    state: ModificationState = ModificationState.COMPLETED,
    started_at: datetime = NOW - timedelta(hours=3),
    ended_at: datetime | None = None,
    origin: Configuration | None = None,
) -> Modification:
    done = state is ModificationState.COMPLETED
    return Modification(
        state=state,
        started_at=started_at,
        ended_at=ended_at or (started_at + timedelta(hours=1) if done else None),
        origin=origin or gp3(),
        target=target,
        progress_percent=100 if done else 40,
    )


USD = Decimal
AUTO = Mode.AUTO
