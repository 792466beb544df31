"""A resource's section of a report: its plots, its decisions as rows, and their marks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from headroom.cli.terminal.output import utc
from headroom.cli.views import decision as decision_view
from headroom.cli.views.decision import DecisionStory
from headroom.cli.views.report import DecisionRow, Section
from headroom.cli.views.timeline import Mark, Timeline
from headroom.domain.state import Step


def section(
    key: str, title: str, ending: str, facts: tuple[tuple[str, str], ...], plots: Timeline,
    stories: Sequence[DecisionStory], *, ok: bool | None = None, others: Sequence[Mark] = (),
    since: datetime | None = None,
) -> Section:  # fmt: skip
    """A resource's section of a report, with the marks of its decisions and `others` from `since` on."""
    every = (*others, *(mark for story in stories for mark in marks(story)))
    drawn = (mark for mark in every if since is None or mark.at >= since)
    return Section(
        key=key, title=title, ending=ending, ok=ok, facts=facts, timeline=plots,
        marks=tuple(sorted(drawn, key=lambda mark: mark.at)),
        decisions=tuple(row(story) for story in stories),
    )  # fmt: skip


def row(story: DecisionStory) -> DecisionRow:
    """The decision as one row of the tables."""
    decision = story.decision
    return DecisionRow(
        at=utc(decision.at),
        resource=decision.observation.volume.ref.resource_id,
        kind=decision_view.kind(decision),
        observed=decision_view.observed(decision),
        considered=decision_view.considered(decision),
        guardrails=decision_view.guardrails(decision),
        change=decision_view.change(decision),
        price_change=decision_view.price(decision),
        result=decision_view.result(story),
        decision_id=decision.decision_id,
    )


def marks(story: DecisionStory) -> tuple[Mark, ...]:
    """The decision and everything that followed, as marks on a time line."""
    decision = story.decision
    head = Mark(
        at=decision.at,
        kind=decision_view.kind(decision),
        label=decision_view.kind(decision).capitalize(),
        lines=(
            decision.summary,
            decision_view.change(decision),
            f"price {decision_view.price(decision)}",
        ),
    )
    rest = (
        Mark(at=r.at, kind="outcome", label=r.step.value, lines=(r.summary,))
        for r in story.chain[1:]
        if r.step is not Step.INTENDED
    )
    return (head, *rest)
