"""The law on the deployed handlers: real clients and adapters, and an AWS that keeps no promise it never made.

Every crash point of a change and every lost answer is run; `make fuzz` runs those of all stories,
random histories, and each mutant.
"""

from __future__ import annotations

import os

import pytest

from headroom.adapters.ledger.items import USABLE
from tests.laws.deployed.faults import Fault
from tests.laws.deployed.histories import (
    History,
    crash_points,
    interruptions,
    lost_answers,
    random_history,
)
from tests.laws.deployed.judge import Broken
from tests.laws.deployed.mutants import MUTANTS, TAKEN_AWAY, noticed
from tests.laws.deployed.stories import STORIES, run_story

pytestmark = pytest.mark.filterwarnings("ignore:No application metrics")
RUNS = int(os.environ.get("LAW_RUNS", "4"))
FIRST = int(os.environ.get("LAW_FROM", "2"))
SHORT = (
    "relief", "two volumes", "set", "database", "database goes back", "space", "cluster",
    "cluster goes back", "others", "approved", "reverted", "several volumes", "seen at a glance",
)  # fmt: skip
"""Stories that are run whole here; the others take longer and are part of `make fuzz`."""


def kept(history: History) -> None:
    """Play a history; fails with what the law says against it."""
    try:
        history.play()
    except Broken as said:
        pytest.fail(f"{history}: {said}")


@pytest.mark.parametrize("adaptive", [False, True], ids=["alarms", "adaptive"])
@pytest.mark.parametrize("story", SHORT)
def test_with_reads_that_lag_behind_every_story_comes_to_its_end(
    story: str, adaptive: bool
) -> None:
    kept(History(story=story, faults=(), stale=True, adaptive=adaptive))


def of_the_change(histories: list[History]) -> list[History]:
    """Those of the run that makes the change."""
    return [each for each in histories if each.faults[0][0] == 0]


def test_a_worker_may_die_at_any_point_of_a_change() -> None:
    points = of_the_change(list(crash_points("relief", stale=True)))
    assert len(points) >= 12
    for history in points:
        kept(history)


def test_the_answer_to_any_write_of_a_change_may_be_lost() -> None:
    lost = of_the_change(list(lost_answers("relief", stale=True)))
    assert len(lost) >= 20
    for history in lost[::3]:
        kept(history)


def test_a_change_meets_another_worker_a_pause_or_another_owner() -> None:
    for history in of_the_change(list(interruptions("relief")))[::50]:
        kept(history)


@pytest.mark.explores
def test_random_histories_keep_the_law() -> None:
    for seed in range(FIRST, FIRST + RUNS):
        history = random_history(seed)
        try:
            history.play()
        except Broken as said:
            pytest.fail(f"history {seed}: {history}: {said}")


@pytest.mark.parametrize(
    "name",
    [
        "nobody hears",
        "events are not recorded",
        "a state replaces one that was not read",
        "no settling",
        "our own change is not remembered",
    ],
)
def test_the_law_notices_what_is_taken_away(name: str) -> None:
    """`make fuzz` takes away every condition, lease and re-check in turn."""
    assert noticed(name) is not None


def test_every_mutant_has_histories_or_tests_of_its_own_or_says_what_holds_instead() -> None:
    assert all(m.families or m.seen_by or m.held_by for m in MUTANTS.values())


@pytest.mark.parametrize("story", ["rolled back", "paused"])
def test_every_condition_is_taken_away_by_a_mutant(story: str) -> None:
    """That an item is in no newer format is part of nearly all: what else they say must be missed."""
    conditions = run_story(STORIES[story]).account.tables.seen
    assert len(conditions) > 10
    for condition in conditions - {f"state: {USABLE}"}:
        table, _, words = condition.removesuffix(f" AND {USABLE}").partition(": ")
        assert any(table == t and taken in words for t, taken in TAKEN_AWAY), condition


def test_requests_are_parsed_and_answers_are_of_aws() -> None:
    """The harness itself: a refused change is a refusal on record, with AWS's own code."""
    harness = run_story(STORIES["throttled"], {0: Fault(kind="none", at=0, many=0)})
    steps = [record["step"] for record in harness.account.events if record["step"] != "decided"]
    assert steps[:2] == ["intended", "refused"]
    assert steps[-3:] == ["intended", "applied", "relieved"]
