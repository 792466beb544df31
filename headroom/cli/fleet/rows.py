"""One line of a fleet's plan: what would change about a resource and why, as plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from headroom.cli.second_opinion.opinion import SecondOpinion, opinion_from_json

Json = dict[str, Any]


class Depth(StrEnum):
    """How much was read about a resource."""

    CONFIGURATION = "configuration"
    """Its configuration and tags alone."""
    SUMMARY = "summary"
    """Besides, five metrics with one datapoint a day."""
    ENGINE = "engine"
    """All that a reconciliation reads; decided by the deployed engine."""


class Change(StrEnum):
    """What would happen to a resource."""

    RAISE = "raise"
    LOWER = "lower"
    MOVE = "move"
    """Another volume type or storage mode."""
    HOLD = "hold"
    """A change would help, and something blocks it."""
    NONE = "none"
    FAILED = "failed"
    """It could not be read or decided about."""


CHANGES = (Change.RAISE, Change.LOWER, Change.MOVE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow:
    """What would change about one resource. Prices in USD per month."""

    resource: str
    """What the command line calls it."""
    arn: str
    kind: str
    name: str
    account_id: str
    region: str
    configuration: str
    usd_per_month: float | None
    mode: str
    """The mode that the policy and its tags really give it."""
    enrolled: bool
    depth: Depth
    change: Change
    target: str
    """The configuration it would get; empty if none."""
    usd_change: float
    starved_minutes_per_day: float
    """Starved minutes that the change ends, a day."""
    exceeded_minutes: int
    """Minutes of the days read in which the volume touched a limit."""
    blocked_by: tuple[str, ...]
    """Guardrails that block the change."""
    why: str
    opinion: SecondOpinion | None = None
    """Compute Optimizer's, if it was asked and the two were compared."""

    @property
    def due(self) -> bool:
        """Whether the engine would change it now."""
        return self.depth is Depth.ENGINE and self.change in CHANGES

    @property
    def possible(self) -> bool:
        """Whether it was not decided about, and its summary says that something could change."""
        return self.depth is not Depth.ENGINE and self.change in CHANGES

    def to_json(self) -> Json:
        """Plain values."""
        return asdict(self) | {"due": self.due, "possible": self.possible}


def row_from_json(fields: Mapping[str, Any]) -> PlanRow:
    """What `to_json` made; raises KeyError, TypeError, ValueError for anything else."""
    plain = {name: fields[name] for name in PlanRow.__slots__}
    return PlanRow(**plain | {
        "depth": Depth(plain["depth"]), "change": Change(plain["change"]),
        "blocked_by": tuple(plain["blocked_by"]),
        "opinion": None if plain["opinion"] is None else opinion_from_json(plain["opinion"]),
    })  # fmt: skip


def biggest_first(rows: Iterable[PlanRow], usd_per_minute: float) -> list[PlanRow]:
    """Rows by what their change is worth a month, dollars and starved minutes together."""

    def order(row: PlanRow) -> tuple[bool, bool, float, str]:
        worth = abs(row.usd_change) + row.starved_minutes_per_day * 30 * usd_per_minute
        return not row.due, row.change not in (*CHANGES, Change.HOLD), -worth, row.arn

    return sorted(rows, key=order)


def totals(rows: Sequence[PlanRow]) -> Json:
    """The whole fleet in figures."""
    due = [row for row in rows if row.due]
    held = [row for row in rows if row.change is Change.HOLD]
    return {
        "resources": len(rows),
        "enrolled": sum(row.enrolled for row in rows),
        "due": len(due),
        "by_change": {change.value: sum(r.change is change for r in due) for change in CHANGES},
        "held": len(held),
        "held_by": dict(Counter(name for row in held for name in row.blocked_by).most_common()),
        "possible": sum(row.possible for row in rows),
        "failed": sum(row.change is Change.FAILED for row in rows),
        "by_depth": {depth.value: sum(r.depth is depth for r in rows) for depth in Depth},
        "usd_per_month": round(sum(row.usd_per_month or 0.0 for row in rows), 2),
        "usd_up": round(sum(max(0.0, row.usd_change) for row in due), 2),
        "usd_down": round(sum(min(0.0, row.usd_change) for row in due), 2),
        "usd_possible": round(sum(min(0.0, row.usd_change) for row in rows if row.possible), 2),
        "starved_minutes_per_day": round(sum(row.starved_minutes_per_day for row in due), 1),
    }


def opinion_totals(rows: Sequence[PlanRow], recommended: int | None) -> Json | None:
    """How far Compute Optimizer agrees, `recommended` resources of the fleet; None if not asked."""
    if recommended is None:
        return None
    compared = [row.opinion for row in rows if row.opinion is not None]
    savings = (opinion.saving_usd for opinion in compared if not opinion.agrees)
    return {
        "recommendations": recommended,
        "compared": len(compared),
        "agree": sum(opinion.agrees for opinion in compared),
        "disagree": sum(not opinion.agrees for opinion in compared),
        "usd_of_its_savings_where_they_disagree": round(sum(filter(None, savings)), 2),
    }
