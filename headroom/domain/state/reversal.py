"""What Headroom itself lowered, and what the way back to it would be."""

from __future__ import annotations

from collections.abc import Sequence

from headroom.domain.catalog.ebs import capability
from headroom.domain.resources import Configuration
from headroom.domain.state.resource_state import KnownModification

BY_HEADROOM = "headroom"
ROLLBACK = "rollback"
"""Whose a change counts as that undoes one of ours: what people set up is not ours to lower."""


def reduced_from(
    modifications: Sequence[KnownModification], current: Configuration
) -> Configuration | None:
    """What the volume had before our own latest change lowered it to `current`, else None."""
    latest = max(modifications, key=lambda m: m.started_at, default=None)
    if (
        latest is None
        or latest.by != BY_HEADROOM
        or latest.origin is None
        or latest.target != current
    ):
        return None
    before, now = capability(latest.origin), capability(current)
    lower = now.burst_iops < before.burst_iops or now.burst_mibps < before.burst_mibps
    return latest.origin if lower else None


__all__ = ["BY_HEADROOM", "ROLLBACK", "reduced_from"]
