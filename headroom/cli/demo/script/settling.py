"""Which stories have come to their end while the demo still plays: told at once, not at the end.

A story is settled once its ending is as told and nothing was recorded of it for a while. What is
said then is said again at the end, from the whole record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from headroom.adapters.ledger import DynamoLedger
from headroom.cli.demo.script.outcome import Ending
from headroom.cli.demo.script.script import decided, instant
from headroom.cli.views.decision import DecisionStory
from headroom.domain.state import Record, Step

QUIET = 30
"""Minutes without a record after which an ending is looked at."""
AGAIN = 60
"""Minutes after which one that was not as told is looked at again."""


@dataclass(slots=True, kw_only=True)
class Open:
    """A story that is not settled; `judge` tells how it would end by the decisions so far."""

    key: str
    title: str
    resource: str
    judge: Callable[[Sequence[DecisionStory]], Ending]
    records: int = 0
    look_at: int = 0
    """The minute before which there is nothing to look at."""


@dataclass(slots=True)
class Settling:
    """Follows the record as it grows."""

    book: DynamoLedger
    stories: list[Open]
    _chains: dict[str, tuple[Record, ...]] = field(default_factory=dict)
    _read_to: int = -1_440

    @property
    def decisions(self) -> int:
        """How many decisions are on record."""
        return sum(chain[0].step is Step.DECIDED for chain in self._chains.values())

    def at(self, minute: int) -> list[tuple[Open, Ending]]:
        """Read on, and tell which stories are settled since the last time."""
        self._read(minute)
        count = {story.key: self._records_of(story) for story in self.stories}
        found: list[tuple[Open, Ending]] = []
        every: tuple[DecisionStory, ...] | None = None
        for story in list(self.stories):
            if count[story.key] != story.records:
                story.records, story.look_at = count[story.key], minute + QUIET
            if not story.records or minute < story.look_at:
                continue
            every = decided(tuple(self._chains.values())) if every is None else every
            ending = story.judge(every)
            if ending.ok:
                self.stories.remove(story)
                found.append((story, ending))
            else:
                story.look_at = minute + AGAIN
        return found

    def _read(self, minute: int) -> None:
        new = self.book.record_summaries(since=instant(self._read_to), until=instant(minute + 1))
        for decision_id in {record_summary.decision_id for record_summary in new}:
            self._chains[decision_id] = self.book.chain(decision_id)
        self._read_to = minute

    def _records_of(self, story: Open) -> int:
        return sum(
            len(chain)
            for chain in self._chains.values()
            if chain[0].resource.rsplit(":", 1)[-1].rsplit("/", 1)[-1] == story.resource
        )
