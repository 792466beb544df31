"""The profile of a resource's past: read from the ledger, started from CloudWatch, extended by each reconciliation."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from headroom.domain.resources import Observation, VolumeActivity
from headroom.domain.state import (
    HOUR,
    MOST_HOURS,
    KnownModification,
    LimitHistory,
    LoadProfile,
    ResourceState,
    hour_of,
    merged,
)
from headroom.domain.workload import digest_of
from headroom.ports import Ports, ReadFailed, StorageView

SAVED_EVERY = timedelta(hours=24)
"""How much newer a profile must be than the stored one to be stored: each reconciliation reads 14 days anyway, so a
stored profile that is a day old loses nothing, and a write costs by its size (up to 50 KB)."""


def with_profile(
    ports: Ports, view: StorageView, observation: Observation, resource_state: ResourceState
) -> ResourceState:
    """The resource state with the profile of the resource's past until now."""
    profile = _current_profile(ports, view, observation, resource_state.modifications)
    return replace(resource_state, profile=profile)


def _current_profile(
    ports: Ports, view: StorageView, observation: Observation,
    modifications: Sequence[KnownModification],
) -> LoadProfile | None:  # fmt: skip
    """The profile until now; None where nothing of the past is known.

    What CloudWatch keeps of the time before `observation.history` is read only where the stored
    profile does not reach up to it: at the first reconciliation, after a loss, after 14 days without one.
    Where that fails, the profile has a gap there, and the next reconciliation reads again.
    """
    ref, history = observation.volume.ref, observation.history
    stored = ports.state_store.profile(ref)
    created = observation.volume.created_at
    if stored is not None:  # a database may have the name of one that is gone
        stored = stored.since(created)
    if history is None:
        return stored
    limits = LimitHistory(observation, modifications)
    begin = hour_of(history.read_iops.start) + HOUR
    known_until = max(
        created, observation.at - MOST_HOURS * HOUR if stored is None else stored.end
    )  # fmt: skip
    older, complete = _older(ports, view, observation.at, known_until, begin)
    found = stored
    for part in older:
        found = merged(found, digest_of(part, limits))
    # The last stored hour again: some of its minutes may have been published late.
    since = created if stored is None else max(created, stored.end - HOUR)
    found = merged(found, digest_of(history, limits, since=since))
    if complete and (stored is None or found.end - stored.end >= SAVED_EVERY):
        with suppress(ReadFailed):  # the next reconciliation saves it
            ports.state_store.save_profile(ref, found)
    return found


def _older(
    ports: Ports, view: StorageView, now: datetime, since: datetime, until: datetime
) -> tuple[tuple[VolumeActivity, ...], bool]:
    """What is published of the time between, and whether that could be read."""
    if since >= until:
        return (), True
    try:
        return ports.metrics.older_history(view, now, since=since, until=until), True
    except ReadFailed:
        return (), False
