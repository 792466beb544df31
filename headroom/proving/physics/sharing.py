"""Volumes of one instance that share what it gives, each with physics of its own."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from headroom.proving.awsrules import VolumeLifecycle
from headroom.proving.physics.fairness import Rates, settled
from headroom.proving.physics.volume import VolumePhysics


def share_instance(
    volumes: Sequence[tuple[VolumePhysics, VolumeLifecycle]], start: datetime
) -> None:
    """Let the volumes of one instance share it in the clock minute that begins at `start`.

    Each gets its fair part of what they ask for in this minute. The balances are one: the lowest.
    """
    shares = [physics.share for physics, _ in volumes]
    known = [share for share in shares if share is not None]
    if not known:
        return
    levels = min(share.iops.level for share in known), min(share.bytes.level for share in known)
    wants: Sequence[Rates] = ()
    if len(volumes) > 1:
        capacity = (
            min(share.shared()[0] for share in known),
            min(share.shared()[1] for share in known),
        )
        wants = settled([one.asks(start, lifecycle) for one, lifecycle in volumes], capacity)
    for own, (physics, _) in enumerate(volumes):
        physics.stand_beside((*wants[:own], *wants[own + 1 :]), levels)
