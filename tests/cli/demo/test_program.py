from __future__ import annotations

import pytest

from headroom.cli.demo.stories.program import EVERY, NUMBERS, Program, selected
from headroom.cli.terminal.problems import BadRequest


def test_without_numbers_every_story_runs() -> None:
    assert selected(None) == Program()
    assert selected(None).whole
    assert list(NUMBERS.values()) == list(range(1, len(EVERY) + 1))


def test_only_the_named_stories_run_in_their_order() -> None:
    some = selected("17, 10,2,2")
    assert not some.whole
    assert [story.key for story in some.stories] == [
        "iops", "db-credits", "aurora-gate",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "0", "18", "2,", "2,x", "-1", "2.5", "²"])
def test_a_number_of_no_story_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(
        BadRequest, match=r"^There is no story '.*'; --story takes numbers from 1 to 17"
    ):
        selected(text)
