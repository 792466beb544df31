"""What is known about one story after the demo, and the words its ending is told in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from headroom.cli.demo.stories.databases import DatabaseStory
from headroom.cli.demo.stories.volumes import START, Story
from headroom.cli.terminal.output import money
from headroom.cli.views.decision import DecisionStory, chosen, ended_at, kind
from headroom.cli.views.timeline import Minute
from headroom.domain.decision import Decision
from headroom.domain.guardrails import Verdict
from headroom.domain.planning import Plan
from headroom.domain.resources import Configuration
from headroom.domain.state import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """Everything that is known about one story after the demo."""

    story: Story | DatabaseStory
    resource_id: str
    final: Configuration
    told: tuple[DecisionStory, ...]
    """Its decisions with their chains, oldest first."""
    minutes: tuple[Minute, ...]
    messages: int
    """Notifications that spoke of the volume or database."""
    changed_by_others: tuple[datetime, ...]

    @property
    def applied(self) -> tuple[DecisionStory, ...]:
        """The decisions that changed the volume."""
        return tuple(t for t in self.told if ended_at(t, Step.APPLIED))

    @property
    def refused(self) -> tuple[datetime, ...]:
        """When AWS refused."""
        return tuple(at for t in self.told if (at := ended_at(t, Step.REFUSED)))

    @property
    def starved(self) -> tuple[datetime, ...]:
        """The starved minutes."""
        return tuple(m.at for m in self.minutes if m.starved)

    @property
    def price_change(self) -> Decimal:
        """Monthly price at the end less the one at the start."""
        return Decimal(str(self.minutes[-1].usd_per_month - self.minutes[0].usd_per_month))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What happened in a line, and what of it was not as foretold (empty when all was)."""

    line: str
    amiss: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether the story ended as told."""
        return not self.amiss

    @classmethod
    def of(cls, line: str, claims: Mapping[str, bool]) -> Ending:
        """The ending told by `line`, amiss where a claim does not hold."""
        return cls(line=line, amiss=tuple(claim for claim, true in claims.items() if not true))


Claims = Mapping[str, bool]
"""What should be true of an ending, and whether it is."""


def clock(instant: datetime) -> str:
    days = (instant - START).days
    return f"{instant:%H:%M}Z" + (f" on day {days + 1}" if days else "")


def cost(amount: Decimal) -> str:
    if amount == 0:
        return "at the same price"
    way = "more" if amount > 0 else "less"
    return f"for {money(abs(amount))} a month {way}"


def the_act(played: Played) -> tuple[DecisionStory, Plan, datetime] | None:
    """The only change, its plan, and when it was applied; None when there is none."""
    if not played.applied:
        return None
    first = played.applied[0]
    plan, at = chosen(first.decision), ended_at(first, Step.APPLIED)
    return None if plan is None or at is None else (first, plan, at)


def nothing_done(played: Played) -> tuple[str, Claims]:
    kinds = ", ".join(kind(t.decision) for t in played.told) or "nothing was recorded"
    return f"Nothing was changed ({kinds}).", {"a change was made": False}


def starvation(played: Played) -> str:
    starved = played.starved
    return f"{len(starved)} starved minutes from {clock(starved[0])}" if starved else "none starved"


def relieved(played: Played) -> bool:
    return ended_at(played.applied[-1], Step.RELIEVED) is not None


def calm_at_the_end(played: Played) -> bool:
    return not any(m.starved for m in played.minutes[-20:])


def blocking(decision: Decision) -> tuple[Verdict, ...]:
    """The verdicts against the best plan of a decision that did nothing."""
    plan, judgements = chosen(decision), decision.judgements
    best = next((j for j in judgements if plan in (None, j.plan)), None)
    return () if best is None else best.blocking
