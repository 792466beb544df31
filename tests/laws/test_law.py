"""The law: no act ever exceeds any limit, in any mode, after any crash.

Random policies, fleets, loads, orders of events, faults and crashes; what is permitted is worked
out anew from the policy's text (permits.py). `make law` plays thousands of trials and breaks every
guardrail in turn; here it is a few.
"""

from __future__ import annotations

import os
from pprint import pformat

import pytest

from headroom.domain.verdicts import Guardrail
from tests.laws.law import Broken
from tests.laws.mutants import noticed
from tests.laws.script import Script, play, script, shortest

RUNS = int(os.environ.get("LAW_RUNS", "120"))
FIRST = int(os.environ.get("LAW_FROM", "0"))
AT_ONCE = 20


def breaks(found: Script) -> str | None:
    """What the law says against a trial; None when it was kept."""
    try:
        play(found)
    except Broken as said:
        return str(said)
    return None


@pytest.mark.parametrize("first", range(FIRST, FIRST + RUNS, AT_ONCE))
def test_no_act_ever_exceeds_any_limit_in_any_mode_after_any_crash(first: int) -> None:
    for seed in range(first, min(first + AT_ONCE, FIRST + RUNS)):
        found = script(seed)
        if breaks(found) is not None:
            least = shortest(found, lambda fewer: breaks(fewer) is not None)
            pytest.fail(f"trial {seed}: {breaks(least)}\n{pformat(least, width=120)}")


def test_trials_are_worth_something() -> None:
    """Changes are made, asked for, refused, lost and undone in them, or nothing was proven."""
    laws = [play(script(seed)) for seed in range(60)]
    assert sum(law.changes for law in laws) >= 30
    assert sum(bool(law.quiet_until) for law in laws) >= 3
    assert sum(bool(law.asked_usd) for law in laws) >= 3
    assert sum(bool(law.wished) for law in laws) >= 3


@pytest.mark.parametrize(
    "name", [Guardrail.MODE, Guardrail.MAX_IOPS, Guardrail.LARGEST_STEP, Guardrail.NEVER_SHRINK]
)
def test_the_law_notices_a_guardrail_that_lets_everything_through(name: Guardrail) -> None:
    assert noticed(name, range(200)) is not None


def test_the_same_trial_ends_the_same_for_ever() -> None:
    one, other = (play(script(7)) for _ in range(2))
    assert (one.acts, one.changes, one.by_decision) == (
        other.acts,
        other.changes,
        other.by_decision,
    )
