"""`headroom explain`: one decision in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headroom.cli.loading import imported
from headroom.cli.sources.options import JsonOption, RecordsOptions
from headroom.cli.sources.records import source
from headroom.cli.terminal.names import short
from headroom.cli.terminal.output import counted, emit, money, out, setting_text, utc
from headroom.cli.terminal.problems import FAILED, OK, BadRequest
from headroom.cli.views import cluster as cluster_view
from headroom.cli.views import decision as decision_view
from headroom.cli.views import volume as volume_view
from headroom.cli.views.decision import DecisionStory, said
from headroom.cli.views.record_list import with_body
from headroom.domain.decision import Act, Decision, Escalate
from headroom.domain.policy import FRIENDLY, EffectiveLimits, plain_value
from headroom.domain.state import Step, broken_link, link_problem

if TYPE_CHECKING:
    from rich.console import Console

_WOKEN = {"alarm": "an alarm", "event": "an event", "sweep": "the sweep",
          "due": "the sweep, because a check was due", "person": "a person"}  # fmt: skip


def explain(
    decision_id: Annotated[
        str,
        typer.Argument(help="Id of the decision; with a file, its first characters are enough."),
    ],
    as_json: JsonOption = False,
    *,
    where: RecordsOptions,
) -> int:
    """Explain one decision: what was observed, considered, judged and done, and the result."""
    opened = source(where)
    chain = opened.records.chain(decision_id)
    if not chain:
        raise BadRequest(f"There is no decision {decision_id} in {opened.name}.")
    broken = broken_link(chain)
    if chain[0].step is not Step.DECIDED:
        rejected = chain[0].step is Step.REJECTED_SIGNAL
        what = "An event that Headroom did not understand: " if rejected else ""
        if as_json:
            emit({"decision_id": decision_id, "chain": [with_body(r) for r in chain]})
        else:
            out().print(f"{utc(chain[0].at)} {what}{chain[0].summary}")
        return OK if broken is None else FAILED
    story = decision_view.decision_story(chain)
    if as_json:
        emit(_object(story, whole=broken is None))
    else:
        _print(story, out())
        if broken is None:
            out().print(f"\nRecord: {counted(len(chain), 'link')}, and all hashes match.")
    if broken is not None:
        out().print(f"\nRecord: BROKEN at link {broken.sequence}; {link_problem(broken)}.")
        return FAILED
    return OK


def _print(story: DecisionStory, console: Console) -> None:
    decision = story.decision
    volume, answer = decision.observation.volume, decision.answer
    console.print(decision_view.kind(decision).upper(), style="bold", end=" ")
    console.print(f"{short(volume.ref.arn)} at {utc(decision.at)}, "
                  f"woken by {_WOKEN.get(decision.trigger, decision.trigger)}")  # fmt: skip
    console.print(decision.summary)
    if decision.cluster is None:
        console.print(volume_view.was(volume))
    about = volume_view.lines(decision.observation)
    if about:
        _part(console, "The database", about)
    _part(console, "What was observed", (decision_view.observed(decision),))
    if decision.space is not None:
        _part(console, "Free space", volume_view.space_lines(decision.space))
    if decision.cluster is not None:
        _part(console, "Its bill in both modes", cluster_view.lines(decision.cluster))
    _part(console, "What was considered", decision_view.considered(decision) or ("nothing",))
    said = decision_view.guardrails(decision)
    _part(console, "What the guardrails decided", said or ("there was no plan to judge",))
    limits = decision.effective
    _part(console, "Under which policy", (
        f"version {decision.policy_version}, mode {limits.limits.mode.value} (from "
        f"{limits.mode_from}), prices from {decision.price_source}", *_limits(limits),
    ))  # fmt: skip
    _part(console, "What was done", _done(story))
    if isinstance(answer, Escalate):
        _part(console, "What you can do", (answer.cause, answer.remedy))
    _part(console, "What it costs", (_cost(story),))
    _set(console, decision)
    if decision.code_owner is not None and decision.write_back:
        handed = imported("headroom.domain.reports:handoff_text")(decision)
        _part(console, "What to write back", tuple(handed.splitlines()))


def _set(console: Console, decision: Decision) -> None:
    group = decision.group
    if group is None:
        return
    lines = [
        f"{member.volume_id}: {member.configuration}"
        + (f" (decision {member.decision_id})" if member.decision_id else "")
        for member in group.members
    ]
    becomes = f": all become {group.shared}" if group.shared else ""
    _part(console, "Its striped set", (f"{group.name}{becomes}", *lines))


def _limits(effective: EffectiveLimits) -> tuple[str, ...]:
    """Limits that differ from the policy's defaults, their origin, and tags that were ignored."""
    origins = dict(effective.origins)
    own = tuple(
        f"{name} {setting_text(plain_value(name, getattr(effective.limits, setting.name)))} (from "
        f"{origins[setting.name]})"
        for name, setting in FRIENDLY.items()
        if name != "mode" and setting.name in origins
    )
    problem = () if effective.problem is None else (f"ignored: {effective.problem}",)
    return (*own, *effective.notes, *problem)


def _part(console: Console, title: str, lines: tuple[str, ...]) -> None:
    console.print(f"\n{title}", style="bold")
    for line in lines:
        console.print(f"  {line}")


def _done(story: DecisionStory) -> tuple[str, ...]:
    first = f"{decision_view.kind(story.decision)}: {decision_view.change(story.decision)}"
    if len(story.chain) == 1:
        return (first, decision_view.result(story))
    return (first, *(f"{utc(r.at)} {r.step.value}: {said(r)}" for r in story.chain[1:]))


def _cost(story: DecisionStory) -> str:
    plan = decision_view.chosen(story.decision)
    if plan is None:
        return "nothing"
    before = plan.monthly_usd - plan.price_change_usd
    line = f"{money(before)} -> {money(plan.monthly_usd)} a month ({decision_view.change_of_price(plan)})"
    return line if isinstance(story.decision.answer, Act) else f"nothing; it would be {line}"


def _object(story: DecisionStory, *, whole: bool) -> dict[str, object]:
    decision = story.decision
    return {
        "decision_id": decision.decision_id,
        "at": decision.at,
        "resource": decision.observation.volume.ref.arn,
        "answer": decision_view.kind(decision),
        "database": volume_view.as_object(decision.observation),
        "free_space": volume_view.space_object(decision.space),
        "summary": decision.summary,
        "seen": decision_view.observed(decision),
        "considered": list(decision_view.considered(decision)),
        "guardrails": list(decision_view.guardrails(decision)),
        "policy_version": decision.policy_version,
        "change": decision_view.change(decision),
        "price_change": decision_view.price(decision),
        "result": decision_view.result(story),
        "group": None
        if decision.group is None
        else {
            "name": decision.group.name,
            "shared": decision.group.shared,
            "members": {m.volume_id: m.decision_id or None for m in decision.group.members},
        },
        "cluster": None if decision.cluster is None else cluster_view.as_object(decision.cluster),
        "write_back": [
            {"language": part.language, "where": part.where, "text": part.text}
            for part in decision.write_back
        ],
        "chain_whole": whole,
        "chain": [with_body(record) for record in story.chain],
    }
