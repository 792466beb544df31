"""What the owner says and what AWS charges: the policy, its calendars and the prices."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from headroom.domain.catalog import PriceTable
from headroom.domain.policy import Policy, PolicyUnreadable, unread
from headroom.domain.state import CalendarState


class Policies(Protocol):
    """Where the policy is."""

    def current(self) -> Policy | PolicyUnreadable:
        """The policy in force, or why it cannot be used."""

    def fresh(self) -> Policy | PolicyUnreadable:
        """The same, read anew: a policy may change while a function runs."""


class Calendars(Protocol):
    """Where the Change Calendars are that a policy names."""

    def seen(self, names: Sequence[str], now: datetime) -> tuple[CalendarState, ...]:
        """What each of them says at `now`; never raises: one that cannot be read is closed."""


class NoCalendars:
    """Reads none: every calendar that a policy names counts as closed."""

    def seen(self, names: Sequence[str], now: datetime) -> tuple[CalendarState, ...]:
        """All of them unread."""
        return unread(names, "no calendars can be read here")


class Prices(Protocol):
    """Where prices come from."""

    def table(self, region: str) -> PriceTable:
        """Unit prices of a Region; raises PriceUnknown."""
