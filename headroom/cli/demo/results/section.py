"""The result of a story, as the demo's table, page and JSON object display it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from headroom.cli.demo.expectations.verdict import verdict
from headroom.cli.demo.results.clusters import bills, cluster_timeline
from headroom.cli.demo.script.outcome import ClusterRun, StorageRun, StoryRun, StoryVerdict
from headroom.cli.demo.stories.volumes import START, Story
from headroom.cli.terminal.output import money
from headroom.cli.views import section as section_view
from headroom.cli.views.bills import NAMES
from headroom.cli.views.decision import DecisionStory
from headroom.cli.views.report import Section
from headroom.cli.views.timeline import Mark, Timeline, timeline
from headroom.domain.decision import Act

Kind = Literal["volume", "database", "cluster"]
Facts = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryResult:
    """One story at its end; `resource` is what its records call it."""

    key: str
    title: str
    kind: Kind
    resource: str
    decisions: tuple[DecisionStory, ...]
    """Its decisions with their chains, oldest first."""
    changes: int
    """How often the resource was changed."""
    verdict: StoryVerdict
    section: Section
    price_change: Decimal
    """USD a month at the end less those at the start."""
    starved_minutes: int

    def to_json(self) -> dict[str, object]:
        """The story in the demo's JSON object."""
        return {
            "key": self.key,
            "title": self.title,
            self.kind: self.resource,
            "as_expected": self.verdict.ok,
            "result": self.verdict.line,
            "unmet": list(self.verdict.unmet),
            "starved_minutes": self.starved_minutes,
            "changes": sum(1 for t in self.decisions if isinstance(t.decision.answer, Act)),
            "decisions": [t.decision.decision_id for t in self.decisions],
        }


def result_of(run: StoryRun) -> StoryResult:
    """The result of a story of any kind."""
    if isinstance(run, ClusterRun):
        both, (first, last) = bills(run), (run.states[0], run.states[-1])
        was, now = (
            (Decimal(0),) * 2
            if both is None
            else (both.of(first.mode).total_usd, both.of(last.mode).total_usd)
        )
        facts: Facts = (
            ("cluster", run.resource_id),
            ("members", f"{run.story.members} of {run.story.instance_class}"),
            ("at first", NAMES[first.mode]),
            ("at last", NAMES[last.mode]),
            ("price", "not on record" if both is None else _prices(was, now)),
        )
        return _result(run, "cluster", facts, cluster_timeline(run, both), now - was, 0)
    assert isinstance(run, StorageRun)
    kind: Kind = "volume" if isinstance(run.story, Story) else "database"
    begin, end, starved = run.minutes[0], run.minutes[-1], len(run.starved)
    facts = (
        (kind, run.resource_id),
        ("at first", str(run.story.volume)),
        ("at last", str(run.final)),
        ("instance" if kind == "volume" else "class", run.story.instance_type),
        ("starved minutes", f"{starved:,}"),
        ("price", _prices(begin.usd_per_month, end.usd_per_month)),
    )
    others = tuple(
        Mark(at=at, kind="other", label="Somebody else", lines=(f"They changed the {kind}.",))
        for at in run.changed_by_others
    )
    return _result(run, kind, facts, timeline(run.minutes), run.price_change, starved, others)


def _result(
    run: StoryRun, kind: Kind, facts: Facts, plots: Timeline, price_change: Decimal, starved: int,
    others: tuple[Mark, ...] = (),
) -> StoryResult:  # fmt: skip
    found = verdict(run)
    return StoryResult(
        key=run.story.key,
        title=run.story.title,
        kind=kind,
        resource=run.resource_id,
        decisions=run.decisions,
        changes=len(run.applied),
        verdict=found,
        price_change=price_change,
        starved_minutes=starved,
        section=section_view.section(
            run.story.key, run.story.title, found.text,
            (*facts, ("messages to people", str(run.messages))), plots, run.decisions,
            ok=found.ok, others=others, since=START,
        ),
    )  # fmt: skip


def _prices(was: Decimal | float, now: Decimal | float) -> str:
    return f"{money(was)} to {money(now)} a month"
