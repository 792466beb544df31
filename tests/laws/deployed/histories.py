"""Histories of a story: every crash point, every lost answer and failed call, and what happens meanwhile.

A crash leaves nothing behind but what was written: before which of the calls between two writes a
process dies makes no difference. So the crash points of an invocation are before its first call and
after each write, which is all there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from random import Random

from tests.laws.deployed.faults import MOST_ATTEMPTS, Fault
from tests.laws.deployed.stories import MEANWHILE, STORIES, Harness, run_story

READS = ("Describe", "Get", "Query", "BatchGet", "List")


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A story with what befalls its invocations, by their numbers."""

    story: str
    faults: tuple[tuple[int, Fault], ...]
    stale: bool = False
    meanwhile: str = ""
    adaptive: bool = False

    def play(self) -> Harness:
        """Play it under the law; raises Broken."""
        return run_story(
            STORIES[self.story], dict(self.faults), stale=self.stale, meanwhile=self.meanwhile,
            adaptive=self.adaptive,
        )  # fmt: skip

    def __str__(self) -> str:
        parts = [f"{f.kind} x{f.many} at call {f.at} of run {run}" for run, f in self.faults]
        aged = (", stale reads" if self.stale else "") + (", adaptive" if self.adaptive else "")
        return f"{self.story}: {', '.join(parts) or 'undisturbed'}{aged} {self.meanwhile}".strip()


@cache
def logs(story: str, *, stale: bool = False) -> list[list[str]]:
    """The calls of each invocation of an undisturbed history."""
    return [run.log for run in run_story(STORIES[story], stale=stale).functions.invocations]


def crash_points(story: str, *, stale: bool = False) -> Iterator[History]:
    """Every place where a process may die, but for places with no write between them."""
    for run, log in enumerate(logs(story, stale=stale)):
        for at in range(1, len(log) + 2):
            if at == 1 or _writes(log[at - 2]):
                yield _history(story, run, Fault(kind="crash", at=at), stale=stale)


def lost_answers(story: str, *, stale: bool = False) -> Iterator[History]:
    """Every write done and not answered: one attempt of it, or all."""
    for run, log in enumerate(logs(story, stale=stale)):
        for at, call in enumerate(log, 1):
            if _writes(call):
                for many in (1, MOST_ATTEMPTS):
                    yield _history(story, run, Fault(kind="lost", at=at, many=many), stale=stale)


def failed_calls(story: str, *, stale: bool = False) -> Iterator[History]:
    """Every call not done: throttled once, or failing with all retries and whatever comes after."""
    for run, log in enumerate(logs(story, stale=stale)):
        for at in range(1, len(log) + 1):
            yield _history(story, run, Fault(kind="throttled", at=at), stale=stale)
            for many in (6, MOST_ATTEMPTS):
                yield _history(story, run, Fault(kind="fails", at=at, many=many), stale=stale)


def interruptions(
    story: str, *, stale: bool = False, only: tuple[str, ...] = tuple(MEANWHILE)
) -> Iterator[History]:
    """Between any two calls, something happens elsewhere."""
    for run, log in enumerate(logs(story, stale=stale)):
        for at in range(1, len(log) + 1):
            for name in only:
                fault = Fault(kind="meanwhile", at=at)
                yield _history(story, run, fault, stale=stale, meanwhile=name)


def random_history(seed: int) -> History:
    """A story with two or three faults drawn at random."""
    draw = Random(seed)
    story = draw.choice(sorted(STORIES))
    faults = {}
    for _ in range(draw.choice((1, 2, 2, 3))):
        kind = draw.choice(("crash", "crash", "lost", "fails", "throttled", "meanwhile"))
        many = 1 if kind in ("crash", "meanwhile") else draw.choice((1, 2, 6, MOST_ATTEMPTS))
        faults[draw.randint(0, 9)] = Fault(kind=kind, at=draw.randint(1, 45), many=many)
    return History(
        story=story, faults=tuple(sorted(faults.items())), stale=draw.random() < 0.7,
        meanwhile=draw.choice(sorted(MEANWHILE)), adaptive=draw.random() < 0.5,
    )  # fmt: skip


def _history(story: str, run: int, fault: Fault, *, stale: bool, meanwhile: str = "") -> History:
    return History(story=story, faults=((run, fault),), stale=stale, meanwhile=meanwhile)


def _writes(call: str) -> bool:
    return not call.partition(".")[2].startswith(READS)
