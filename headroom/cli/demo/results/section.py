"""A story after the demo, whatever its resource, as the demo's table, page and JSON object show it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from headroom.cli.demo.script.outcome import Ending
from headroom.cli.views.decision import DecisionStory
from headroom.cli.views.report import Section
from headroom.domain.decision import Act


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """One story at its end; `resource` is what its records call it."""

    key: str
    title: str
    kind: Literal["volume", "database", "cluster"]
    resource: str
    told: tuple[DecisionStory, ...]
    """Its decisions with their chains, oldest first."""
    changes: int
    """How often the resource was changed."""
    ending: Ending
    section: Section
    price_change: Decimal
    """USD a month at the end less those at the start."""
    starved_minutes: int

    def to_json(self) -> dict[str, object]:
        """The story in the demo's JSON object."""
        return {
            "key": self.key,
            "title": self.title,
            self.kind: self.resource,
            "as_told": self.ending.ok,
            "ending": self.ending.line,
            "amiss": list(self.ending.amiss),
            "starved_minutes": self.starved_minutes,
            "changes": sum(1 for t in self.told if isinstance(t.decision.answer, Act)),
            "decisions": [t.decision.decision_id for t in self.told],
        }
