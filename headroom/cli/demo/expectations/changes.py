"""What the expectations of volumes and databases ask of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from headroom.cli.demo.script.outcome import Checked, StorageRun, StoryRun, clock
from headroom.cli.views.decision import DecisionStory, chosen, ended_at, kind
from headroom.domain.decision import Decision, Escalate
from headroom.domain.guardrails import Guardrail
from headroom.domain.planning import Plan
from headroom.domain.state import Step

Check = Callable[[StorageRun], Checked]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The first change of a run: its decision, its plan, and when it was applied."""

    decision: Decision
    plan: Plan
    at: datetime


def first_change(run: StoryRun) -> Change | None:
    """The first change; None without any."""
    for story in run.applied:
        plan, at = chosen(story.decision), ended_at(story, Step.APPLIED)
        if plan is not None and at is not None:
            return Change(decision=story.decision, plan=plan, at=at)
    return None


def of_change(check: Callable[[StorageRun, Change], Checked]) -> Check:
    """`check` on the first change; a run without one is not as expected."""

    def checked(run: StorageRun) -> Checked:
        change = first_change(run)
        return unchanged(run) if change is None else check(run, change)

    return checked


def unchanged(run: StoryRun, expectation: str = "a change was made") -> Checked:
    """A run in which nothing was changed although `expectation` needs it."""
    kinds = ", ".join(kind(each.decision) for each in run.decisions) or "nothing was recorded"
    return f"Nothing was changed ({kinds}).", {expectation: False}


def escalated(run: StoryRun) -> list[DecisionStory]:
    """The decisions that notified the owner."""
    return [each for each in run.decisions if isinstance(each.decision.answer, Escalate)]


def sentence(text: str) -> str:
    return text.strip().rstrip(".")


def starvation(run: StorageRun) -> str:
    starved = run.starved
    return f"{len(starved)} starved minutes from {clock(starved[0])}" if starved else "none starved"


def relieved(run: StoryRun) -> bool:
    return ended_at(run.applied[-1], Step.RELIEVED) is not None


def calm_at_the_end(run: StorageRun) -> bool:
    return not any(m.starved for m in run.minutes[-20:])


def untouched(run: StorageRun) -> bool:
    return run.final == run.story.volume and not run.applied


def credits_left(decision: Decision) -> str:
    left = decision.demand.credits
    return "unknown" if left is None else f"{left.balance_percent:.0f} %"


def blocking(decision: Decision) -> set[Guardrail]:
    """The guardrails that block the best plan of a decision that changed nothing."""
    plan, judgements = chosen(decision), decision.judgements
    best = next((j for j in judgements if plan in (None, j.plan)), None)
    return set() if best is None else {v.guardrail for v in best.blocking}
