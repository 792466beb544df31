"""What the engine would see of a load: simulated by the physics, published, and read back."""

from __future__ import annotations

from datetime import datetime, timedelta

from headroom.domain.resources import Configuration, Instance, Modification, Observation
from headroom.proving.awsrules import VolumeLifecycle
from headroom.proving.metrics import PublishedVolume, metric_sums, minute_number
from headroom.proving.physics import Attachment, VolumePhysics
from headroom.proving.workloads import Workload
from tests import builders
from tests.proving.build import MINUTE, instance, volume

ROOMY = instance(1_000_000, 100_000)


def observed(
    workload: Workload,
    what: Configuration | VolumeLifecycle,
    minutes: int,
    *,
    attachment: Attachment = ROOMY,
    delay_min: int = 0,
    earlier_days: bool = False,
    burst_balance_percent: float = 100,
) -> Observation:
    """The Observation `minutes` after the workload's start; earlier days are those it passed."""
    lifecycle = what if isinstance(what, VolumeLifecycle) else volume(what)
    physics = VolumePhysics(
        workload, attachment=attachment, burst_balance_percent=burst_balance_percent
    )
    published = PublishedVolume(
        delay=delay_min * MINUTE,
        other_iops=attachment.other_iops,
        other_mibps=attachment.other_mibps,
    )
    for number in range(minutes):
        start = workload.start + number * MINUTE
        facts = physics.minute(start, lifecycle)
        sums = metric_sums(
            facts, configuration=lifecycle.described(start), limits=attachment.limits
        )
        published.put(minute_number(start), sums)
    now = workload.start + timedelta(minutes=minutes)
    activity, together = published.activity(now)
    return Observation(
        at=now,
        volume=builders.volume(lifecycle.described(now)),
        modification=_latest(lifecycle, now),
        activity=activity,
        history=published.history(now) if earlier_days else None,
        instance=Instance(instance_id="i-1", limits=attachment.limits, volume_ids=("vol-1",)),
        instance_activity=together,
    )


def _latest(lifecycle: VolumeLifecycle, now: datetime) -> Modification | None:
    return lifecycle.modification(now)
