"""Raises of an instance's other volumes that a decision must know of, although no ledger holds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from headroom.domain.resources import ResourceRef
from headroom.domain.state import SHOWS, InFlight, ResourceState
from headroom.ports import StateStore


def with_raises(states: StateStore, raises: Sequence[InFlight]) -> StateStore:
    """`states` that also know these raises, each from its beginning until the metrics show it."""
    return cast(StateStore, _WithRaises(states, raises)) if raises else states


class _WithRaises:
    def __init__(self, states: StateStore, raises: Sequence[InFlight]) -> None:
        self._states, self._raises = states, raises

    def __getattr__(self, name: str) -> Any:
        return getattr(self._states, name)

    def resource_state(self, ref: ResourceRef, now: datetime) -> ResourceState:
        known = self._states.resource_state(ref, now)
        late = tuple(one for one in self._raises if one.since <= now < one.since + SHOWS)
        in_flight = (*known.concurrency.in_flight, *late)
        return replace(known, concurrency=replace(known.concurrency, in_flight=in_flight))
