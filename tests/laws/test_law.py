"""The law: no act ever exceeds any limit, in any mode, after any crash.

Random policies, fleets, loads, orders of events, faults and crashes; what is permitted is worked
out anew from the policy's text (permits.py). `make fuzz` plays random trials and breaks every guardrail
in turn; here it is a few.
"""

from __future__ import annotations

import os
from functools import cache
from pprint import pformat

import pytest

from headroom.domain.guardrails import Guardrail
from tests.laws.law import Broken, Law
from tests.laws.mutants import noticed
from tests.laws.script import Script, play, script, shortest

RUNS = int(os.environ.get("LAW_RUNS", "80"))
FIRST = int(os.environ.get("LAW_FROM", "0"))
BATCH_LIMIT = 20
RARE = (457, 1018, 3209, 5485, 5630, 7496, 10790, 12475, 12707, 13979, 17154, 18170, 128042600007)
"""Trials in which something rare happens: each was once against the law, or against a law that was wrong."""


def breaks(found: Script) -> str | None:
    """What the law says against a trial; None when it was kept."""
    try:
        play(found)
    except Broken as said:
        return str(said)
    return None


@cache
def judged(seed: int) -> Law | str:
    """The law after a trial, or what it says against it."""
    try:
        return play(script(seed))
    except Broken as said:
        return str(said)


@pytest.mark.explores
@pytest.mark.parametrize("first", range(FIRST, FIRST + RUNS, BATCH_LIMIT))
def test_no_act_ever_exceeds_any_limit_in_any_mode_after_any_crash(first: int) -> None:
    for seed in range(first, min(first + BATCH_LIMIT, FIRST + RUNS)):
        if isinstance(judged(seed), str):
            least = shortest(script(seed), lambda fewer: breaks(fewer) is not None)
            pytest.fail(f"trial {seed}: {breaks(least)}\n{pformat(least, width=120)}")


@pytest.mark.parametrize("seed", RARE)
def test_rare_trials_keep_the_law(seed: int) -> None:
    assert not isinstance(judged(seed), str)


def test_trials_are_worth_something() -> None:
    """Changes are made, asked for, refused, lost and undone in them, or nothing was proven."""
    laws = [law for seed in range(80) if isinstance(law := judged(seed), Law)]
    assert sum(law.changes for law in laws) >= 25
    assert sum(law.refusals for law in laws) >= 1
    assert sum(len(law.asked_usd) for law in laws) >= 1
    assert sum(len(law.wished) for law in laws) >= 1


@pytest.mark.parametrize(
    ("name", "first"),
    [(Guardrail.MAX_IOPS, 170), (Guardrail.LARGEST_STEP, 10), (Guardrail.DURABILITY, 35)],
)
def test_the_law_notices_a_guardrail_that_lets_everything_through(
    name: Guardrail, first: int
) -> None:
    """Trials begin shortly before the first that notices; `make fuzz` breaks every guardrail."""
    assert noticed(name, range(first, first + 200)) is not None


def test_the_same_trial_ends_the_same_for_ever() -> None:
    one, other = (play(script(7)) for _ in range(2))
    assert (one.acts, one.changes, one.by_decision) == (
        other.acts,
        other.changes,
        other.by_decision,
    )
