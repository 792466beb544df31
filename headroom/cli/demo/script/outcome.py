"""What is known about a story so far, and the verdict on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from headroom.cli.demo.stories.clusters import ClusterStory
from headroom.cli.demo.stories.databases import DatabaseStory
from headroom.cli.demo.stories.program import AnyStory
from headroom.cli.demo.stories.volumes import START, Story
from headroom.cli.terminal.output import money
from headroom.cli.views.decision import DecisionStory, ended_at
from headroom.cli.views.timeline import Minute
from headroom.domain.resources import Configuration, StorageMode
from headroom.domain.state import Step

Expectations = Mapping[str, bool]
"""What should be true of a story, and whether it is."""
Checked = tuple[str, Expectations]
"""What happened in one line, and the expectations it was checked against."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryRun:
    """What is known about one story of any kind."""

    story: AnyStory
    resource_id: str
    decisions: tuple[DecisionStory, ...]
    """Its decisions with their chains, oldest first."""
    messages: int
    """Notifications that name the resource."""

    @property
    def applied(self) -> tuple[DecisionStory, ...]:
        """The decisions that changed the resource."""
        return tuple(each for each in self.decisions if ended_at(each, Step.APPLIED))

    @property
    def refused(self) -> tuple[datetime, ...]:
        """When AWS refused."""
        return tuple(at for each in self.decisions if (at := ended_at(each, Step.REFUSED)))


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageRun(StoryRun):
    """The story of a volume or a database."""

    story: Story | DatabaseStory
    final: Configuration
    minutes: tuple[Minute, ...]
    changed_by_others: tuple[datetime, ...]

    @property
    def starved(self) -> tuple[datetime, ...]:
        """The starved minutes."""
        return tuple(m.at for m in self.minutes if m.starved)

    @property
    def price_change(self) -> Decimal:
        """Monthly price at the end less the one at the start."""
        return Decimal(str(self.minutes[-1].usd_per_month - self.minutes[0].usd_per_month))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """What RDS reported about a cluster at one instant."""

    at: datetime
    mode: StorageMode
    opens: datetime | None
    """When a change to I/O-Optimized is allowed again; None without an earlier one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRun(StoryRun):
    """The story of an Aurora cluster."""

    story: ClusterStory
    states: tuple[ClusterState, ...]
    billed_ios: tuple[tuple[datetime, float], ...]
    """Billed I/O of every hour, from CloudWatch."""

    @property
    def opened(self) -> datetime | None:
        """When AWS's gate opened, as RDS reported it at the start."""
        return self.states[0].opens


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryVerdict:
    """What happened in one line, and which expectations were not met."""

    line: str
    unmet: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether the story ended as expected."""
        return not self.unmet

    @property
    def text(self) -> str:
        """The line with everything that was not met."""
        return self.line + "".join(f" Not met: {each}." for each in self.unmet)

    @classmethod
    def of(cls, line: str, expectations: Expectations) -> StoryVerdict:
        """The verdict by `expectations`."""
        return cls(line=line, unmet=tuple(text for text, met in expectations.items() if not met))


def clock(instant: datetime) -> str:
    days = (instant - START).days
    return f"{instant:%H:%M}Z" + (f" on day {days + 1}" if days else "")


def cost(amount: Decimal) -> str:
    if amount == 0:
        return "at the same price"
    way = "more" if amount > 0 else "less"
    return f"for {money(abs(amount))} a month {way}"
