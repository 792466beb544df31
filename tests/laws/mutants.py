"""Is the law any good? Each guardrail is broken in turn, and the law must notice.

`make fuzz` ends with it. `python -m tests.laws.mutants [SEEDS] [NAME...]` does it at length: it
prints for each by which trial, and ends with 1 when one is not noticed that was put to the test.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import takewhile
from math import inf
from typing import Any

from headroom.domain.guardrails import GUARDRAILS, Case, Guardrail, PlanJudgement, Relation, Verdict
from headroom.domain.guardrails import registry as guardrails
from headroom.domain.resources import defer
from tests.laws.law import Broken
from tests.laws.script import play, script

LEDGER = "the ledger refuses the intent"
HELD_BY = {
    Guardrail.POLICY: "a tag that is not understood also makes the mode observe",
    Guardrail.APPROVAL: LEDGER, Guardrail.FAILURES: LEDGER, Guardrail.BREAKER: LEDGER,
    Guardrail.MAX_IN_FLIGHT: LEDGER, Guardrail.MAX_IN_FLIGHT_PER_AZ: LEDGER,
    Guardrail.MAX_CHANGES_PER_HOUR: LEDGER,
    Guardrail.REGIONAL_QUOTA: "AWS refuses; the trials have no quotas",
    Guardrail.DATABASE_STATE: "the trials have no databases",
    Guardrail.PENDING_CHANGES: "the trials have no databases",
    Guardrail.STORAGE_AUTOSCALING: "the trials have no databases",
    Guardrail.FULL_COPY: "the trials have no databases",
    Guardrail.FREE_SPACE: "the trials have no databases",
}  # fmt: skip
"""What holds instead where the law need not notice; each has tables of its own."""
FEW = 20
"""Trials below which nothing was proven either way."""
MOST = 40
"""Trials run for one guardrail before it is given up."""


@contextmanager
def broken(name: Guardrail) -> Iterator[None]:
    """Within it, one guardrail allows whatever it is asked."""

    def lax(rule: Callable[[Case], Verdict]) -> Callable[[Case], Verdict]:
        def allows(case: Case) -> Verdict:
            return replace(rule(case), relation=Relation.IS, value="anything", limit="anything")

        return allows

    sound = guardrails.GUARDRAILS
    guardrails.GUARDRAILS = tuple(
        (each, lax(rule) if each is name else rule) for each, rule in GUARDRAILS
    )
    try:
        yield
    finally:
        guardrails.GUARDRAILS = sound


def decisive(seeds: Iterable[int]) -> dict[Guardrail, list[int]]:
    """The trials in which a guardrail alone stood in the way of some plan.

    In no other can it matter whether it is broken.
    """
    found: dict[Guardrail, list[int]] = {name: [] for name in Guardrail}
    alone: set[Guardrail] = set()

    def watched(judged: PlanJudgement, **later: Any) -> PlanJudgement:
        made = defer(judged, **later)
        if len(made.blocking) == 1:
            alone.add(made.blocking[0].guardrail)
        return made

    guardrails.defer = watched  # type: ignore[attr-defined]
    try:
        for seed in seeds:
            alone.clear()
            play(script(seed))
            for name in alone:
                found[name].append(seed)
    finally:
        guardrails.defer = defer  # type: ignore[attr-defined]
    return found


def noticed(name: Guardrail, seeds: Iterable[int]) -> tuple[int, str] | None:
    """The first trial in which the law notices that a guardrail is broken, and what it says."""
    with broken(name):
        for seed in seeds:
            try:
                play(script(seed))
            except Broken as said:
                return seed, str(said)
    return None


def main(arguments: list[str]) -> int:
    """Break each in turn and report the result."""
    many, names = int(arguments[0]) if arguments else 2_000, arguments[1:]
    return _report(decisive(range(many)), names)


def broken_in_turn(seeds: Iterable[int], end: float) -> int:
    """The same with as many of `seeds` as half the time until `end` allows, and then until then."""
    middle = time.time() + (end - time.time()) / 2
    return _report(decisive(takewhile(lambda _: time.time() < middle, seeds)), [], end)


def _report(trials: dict[Guardrail, list[int]], names: list[str], end: float = inf) -> int:
    missed, put_off = 0, []
    for name, seeds in trials.items():
        if names and name.value not in names:
            continue
        if time.time() >= end:
            put_off.append(name.value)
            continue
        found = noticed(name, seeds[:MOST])
        missed += found is None and name not in HELD_BY and len(seeds) >= FEW
        result = f"not noticed in the {len(seeds)} trials where it alone was in the way"
        if name in HELD_BY:
            result = f"held by another line: {HELD_BY[name]}"
        if found is not None:
            result = f"trial {found[0]}: {found[1][:150]}"
        print(f"{name.value:20} {result}", flush=True)
    if put_off:
        print(f"No time was left to break {', '.join(put_off)}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
