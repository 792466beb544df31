from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from headroom.cli.demo.script.actor import instant
from headroom.cli.demo.script.outcome import StoryVerdict
from headroom.cli.demo.script.settling import AGAIN, QUIET, OpenStory, Settling
from headroom.domain.state import Record, RecordSummary
from tests.cli.sources.chains import acted


class Book:
    """A ledger with one chain, which is there from minute 10 on."""

    def __init__(self) -> None:
        self.records = acted()

    def record_summaries(self, *, since: datetime, until: datetime) -> Iterator[RecordSummary]:
        if since <= instant(10) <= until:
            for r in self.records:
                yield RecordSummary(
                    decision_id=r.decision_id, sequence=r.sequence, step=r.step,
                    resource=r.resource, at=r.at, outcome=r.outcome, summary=r.summary,
                )  # fmt: skip

    def chain(self, decision_id: str) -> tuple[Record, ...]:
        assert decision_id == self.records[0].decision_id
        return self.records


def story(*, right_from: int, asked: list[int]) -> OpenStory:
    name = acted()[0].resource.rsplit("/", 1)[-1]

    def judge(decisions: Sequence[Any]) -> StoryVerdict:
        asked.append(len(decisions))
        return StoryVerdict.of("It ended.", {"it is over": len(asked) >= right_from})

    return OpenStory(key="iops", title="A volume", resource=name, judge=judge)


def settled(one: OpenStory, until: int) -> list[int]:
    settling = Settling(Book(), [one])  # type: ignore[arg-type]
    return [minute for minute in range(0, until, 10) if settling.at(minute)]


def test_a_story_is_settled_once_its_record_was_quiet_for_a_while() -> None:
    asked: list[int] = []
    first = 10
    assert settled(story(right_from=1, asked=asked), 600) == [first + QUIET]
    assert asked == [1]


def test_a_story_that_is_not_as_expected_is_judged_again_later() -> None:
    assert settled(story(right_from=3, asked=[]), 600) == [10 + QUIET + 2 * AGAIN]


def test_a_story_without_a_record_is_never_settled() -> None:
    other = OpenStory(key="iops", title="A volume", resource="vol-0", judge=lambda _: 1 / 0)  # type: ignore[arg-type, return-value]
    assert settled(other, 600) == []
