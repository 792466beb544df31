"""Short ways to make volumes, loads and minutes for the proving ground's tests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from headroom.domain.resources import Configuration, InstanceLimits, VolumeType
from headroom.proving.awsrules import Delays, VolumeLifecycle
from headroom.proving.physics import Attachment, MinuteFacts, VolumePhysics
from headroom.proving.workloads import Load, Steps, Stretch, Workload, closed_load, open_load

T0 = datetime(2026, 1, 5, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def configuration(
    kind: str, size_gib: int, iops: int | None = None, mibps: int | None = None
) -> Configuration:
    return Configuration(
        volume_type=VolumeType(kind), size_gib=size_gib, iops=iops, throughput_mibps=mibps
    )


def gp2(size_gib: int) -> Configuration:
    return configuration("gp2", size_gib)


def gp3(size_gib: int = 100, iops: int = 3_000, mibps: int = 125) -> Configuration:
    return configuration("gp3", size_gib, iops, mibps)


def steady(iops: float, io_kib: float = 16, seconds: float = 86_400, **more: bool) -> Steps:
    return Steps(
        T0, [Stretch(duration_s=seconds, load=open_load(iops=iops, io_kib=io_kib, **more))]
    )


def steps(*parts: tuple[float, float, float]) -> Steps:
    """Each part is (seconds, IOPS, KiB per operation)."""
    return Steps(
        T0, [Stretch(duration_s=s, load=open_load(iops=iops, io_kib=kib)) for s, iops, kib in parts]
    )


def loop(outstanding: float, io_kib: float, service_ms: float, seconds: float = 7_200) -> Steps:
    load: Load = closed_load(outstanding=outstanding, io_kib=io_kib, service_ms=service_ms)
    return Steps(T0, [Stretch(duration_s=seconds, load=load)])


def volume(
    what: Configuration, *, delays: Delays | None = None, history: Sequence[datetime] = ()
) -> VolumeLifecycle:
    return VolumeLifecycle(what, created_at=T0 - timedelta(days=30), delays=delays, history=history)


def instance(
    iops: int, mibps: float, *, most_iops: int | None = None, most_mibps: float | None = None
) -> Attachment:
    return Attachment(
        limits=InstanceLimits(
            instance_type="test",
            nitro=True,
            baseline_iops=iops,
            baseline_mibps=mibps,
            maximum_iops=most_iops or iops,
            maximum_mibps=most_mibps or mibps,
        )
    )


def play(
    workload: Workload,
    what: Configuration | VolumeLifecycle,
    minutes: int,
    *,
    attachment: Attachment | None = None,
    burst_balance_percent: float = 100,
    queue_limit: int = 1024,
) -> list[MinuteFacts]:
    lifecycle = what if isinstance(what, VolumeLifecycle) else volume(what)
    physics = VolumePhysics(
        workload,
        attachment=attachment,
        burst_balance_percent=burst_balance_percent,
        queue_limit=queue_limit,
    )
    return [physics.minute(T0 + i * MINUTE, lifecycle) for i in range(minutes)]


def served(facts: Sequence[MinuteFacts]) -> float:
    return sum(f.served_ops for f in facts)


def offered(facts: Sequence[MinuteFacts]) -> float:
    return sum(f.offered_ops for f in facts)
