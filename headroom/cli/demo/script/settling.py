"""Which stories are settled while the demo still runs, so that their results appear at once.

A story is settled once it ended as expected and nothing was recorded about it for a while. The
final results come from the whole record again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from headroom.adapters.ledger import DynamoLedger
from headroom.cli.demo.script.actor import instant
from headroom.cli.demo.script.outcome import StoryVerdict
from headroom.cli.views.decision import DecisionStory, decision_stories
from headroom.domain.state import Record, Step

QUIET = 30
"""Minutes without a record after which a story is judged."""
AGAIN = 60
"""Minutes after which a story that was not as expected is judged again."""


@dataclass(slots=True, kw_only=True)
class OpenStory:
    """A story that is not settled; `judge` gives the verdict by the decisions so far."""

    key: str
    title: str
    resource: str
    judge: Callable[[Sequence[DecisionStory]], StoryVerdict]
    records: int = 0
    judge_at: int = 0
    """The minute before which it is not judged."""


@dataclass(slots=True)
class Settling:
    """Follows the record as it grows."""

    ledger: DynamoLedger
    stories: list[OpenStory]
    _chains: dict[str, tuple[Record, ...]] = field(default_factory=dict)
    _read_to: int = -1_440

    @property
    def decisions(self) -> int:
        """How many decisions are on record."""
        return sum(chain[0].step is Step.DECIDED for chain in self._chains.values())

    def at(self, minute: int) -> list[tuple[OpenStory, StoryVerdict]]:
        """Read what is new, and return which stories are settled since the last call."""
        self._read(minute)
        count = {story.key: self._records_of(story) for story in self.stories}
        found: list[tuple[OpenStory, StoryVerdict]] = []
        decisions: tuple[DecisionStory, ...] | None = None
        for story in list(self.stories):
            if count[story.key] != story.records:
                story.records, story.judge_at = count[story.key], minute + QUIET
            if not story.records or minute < story.judge_at:
                continue
            decisions = decided(self._chains.values()) if decisions is None else decisions
            verdict = story.judge(decisions)
            if verdict.ok:
                self.stories.remove(story)
                found.append((story, verdict))
            else:
                story.judge_at = minute + AGAIN
        return found

    def _read(self, minute: int) -> None:
        new = self.ledger.record_summaries(since=instant(self._read_to), until=instant(minute + 1))
        for decision_id in {record_summary.decision_id for record_summary in new}:
            self._chains[decision_id] = self.ledger.chain(decision_id)
        self._read_to = minute

    def _records_of(self, story: OpenStory) -> int:
        return sum(
            len(chain)
            for chain in self._chains.values()
            if chain[0].resource.rsplit(":", 1)[-1].rsplit("/", 1)[-1] == story.resource
        )


def decided(chains: Iterable[Sequence[Record]]) -> tuple[DecisionStory, ...]:
    """The decisions of all chains."""
    return decision_stories(record for chain in chains for record in chain)
