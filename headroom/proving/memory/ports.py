"""In-memory ports beside the ledger: fixed policy, fixed prices, open calendars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from headroom.domain.catalog import PriceTable
from headroom.domain.policy import Policy
from headroom.domain.state import CalendarState
from headroom.ports import Metrics, Ports, Storage
from headroom.proving.memory.ledger import InMemoryLedger


class StorageAndMetrics(Storage, Metrics, Protocol):
    """The Storage and Metrics ports of a simulated account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedPolicy:
    """A policy that never changes."""

    policy: Policy

    def current(self) -> Policy:
        """The policy in force."""
        return self.policy

    def fresh(self) -> Policy:
        """The same."""
        return self.policy


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedPrices:
    """Prices that never change."""

    prices: PriceTable

    def table(self, region: str) -> PriceTable:
        """Unit prices of the scenario's Region."""
        return self.prices


class OpenCalendars:
    """Every calendar is open at any time: a simulation does not know them."""

    def seen(self, names: Sequence[str], now: datetime) -> tuple[CalendarState, ...]:
        """All calendars, open."""
        return tuple(CalendarState(name=name, open=True) for name in names)


def ports_in_memory(
    world: StorageAndMetrics, ledger: InMemoryLedger, *, policy: Policy, prices: PriceTable
) -> Ports:
    """The application's ports on a simulated account."""
    return Ports(
        storage=world,
        metrics=world,
        ledger=ledger,
        state_store=ledger,
        scan=ledger,
        work=ledger,
        archive=ledger,
        policies=FixedPolicy(policy=policy),
        prices=FixedPrices(prices=prices),
        calendars=OpenCalendars(),
    )
