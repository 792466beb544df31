"""How long a modification takes: always the same, or drawn from ranges by the hour."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random

MINUTE = timedelta(minutes=1)
Range = tuple[timedelta, timedelta]
"""The least and the most, both included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """How long after its start a modification leaves `modifying`, takes effect and completes."""

    modifying: timedelta = timedelta(minutes=1)
    effect: timedelta = timedelta(minutes=10)
    completed: timedelta = timedelta(hours=2)

    def __post_init__(self) -> None:
        for name in ("modifying", "effect"):
            delay = getattr(self, name)
            if not timedelta(0) <= delay <= self.completed:
                raise ValueError(f"Delays.{name} is {delay}; it must be 0 to {self.completed}.")

    def at(self, start: datetime) -> Delays:
        """Those of a modification that starts at an instant: always these."""
        return self

    def named(self, name: str) -> Delays:
        """Those of a run of some name: always these."""
        return self

    @property
    def latest_effect(self) -> timedelta:
        """The longest time to effect."""
        return self.effect


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayRanges:
    """Delays of whole minutes, drawn for the clock hour in which a modification starts.

    The same `name` draws the same delays, whoever makes the change: runs stay comparable.
    """

    effect: Range
    completed: Range
    name: str = ""

    def __post_init__(self) -> None:
        for name in ("effect", "completed"):
            low, high = getattr(self, name)
            if not timedelta(0) <= low <= high:
                raise ValueError(f"DelayRanges.{name} is {low} to {high}; it must ascend from 0.")
        if self.effect[0] > self.completed[0] or self.effect[1] > self.completed[1]:
            raise ValueError("DelayRanges.effect must not be later than completed.")

    def at(self, start: datetime) -> Delays:
        """Those of a modification that starts at an instant."""
        random = Random(f"{self.name}/{start.astimezone(UTC):%Y-%m-%dT%H}")  # noqa: S311
        completed = drawn(random, self.completed)
        effect = min(completed, drawn(random, self.effect))
        return Delays(modifying=min(MINUTE, completed), effect=effect, completed=completed)

    def named(self, name: str) -> DelayRanges:
        """Those of a run of some name."""
        return replace(self, name=name)

    @property
    def latest_effect(self) -> timedelta:
        """The longest time to effect."""
        return self.effect[1]


def drawn(random: Random, between: Range) -> timedelta:
    """A time between two, in whole minutes from the least on."""
    low, high = between
    return low + MINUTE * random.randint(0, (high - low) // MINUTE)
