"""One decision in words: what was observed, considered, judged and done, from its record chain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import lru_cache

from headroom.cli.terminal.output import money, number, utc
from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import Act, Decision, Escalate, Hold
from headroom.domain.guardrails import (
    Guardrail,
    PlanJudgement,
    PlanSummary,
    Quantity,
    Relation,
    Verdict,
    distance,
)
from headroom.domain.planning import Plan
from headroom.domain.resources import Configuration, spoken
from headroom.domain.state import Record, Step
from headroom.domain.workload import Binding, Estimate
from headroom.serialization import decision_from_json

_RELATIONS = {
    Relation.AT_MOST: ("is at most", "is more than"),
    Relation.AT_LEAST: ("is at least", "is less than"),
    Relation.IS: ("", "instead of"),
    Relation.ONE_OF: ("is one of", "is none of"),
    Relation.FAILED: ("", "could not be judged against"),
}
BINDINGS = {
    Binding.VOLUME_IOPS: "the volume's IOPS",
    Binding.VOLUME_THROUGHPUT: "the volume's throughput",
    Binding.BURST_CREDITS: "burst credits",
    Binding.INSTANCE_IOPS: "the instance's IOPS",
    Binding.INSTANCE_THROUGHPUT: "the instance's throughput",
    Binding.STORAGE_MODE: "the storage mode",
    Binding.LATENCY: "latency below every limit",
    Binding.NOTHING: "nothing",
    Binding.UNKNOWN: "unknown",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionStory:
    """A chain and the decision it starts with."""

    decision: Decision
    chain: tuple[Record, ...]


def decision_story(chain: Sequence[Record]) -> DecisionStory:
    """The decision at the head of `chain`, which must not be empty or a rejected signal."""
    return DecisionStory(decision=_decision(chain[0].body), chain=tuple(chain))


@lru_cache(maxsize=256)
def _decision(body: str) -> Decision:
    return decision_from_json(body, for_display=True)


def decision_stories(records: Iterable[Record]) -> tuple[DecisionStory, ...]:
    """The decisions among `records`, which hold whole chains."""
    chains: dict[str, list[Record]] = {}
    for record in records:
        chains.setdefault(record.decision_id, []).append(record)
    return tuple(
        decision_story(chain) for chain in chains.values() if chain[0].step is Step.DECIDED
    )


def kind(decision: Decision) -> str:
    """`act`, `hold` or `escalate`."""
    return type(decision.answer).__name__.lower()


def chosen(decision: Decision) -> Plan | None:
    """The plan that was chosen, or would be."""
    return decision.plan


def observed(decision: Decision) -> str:
    """What was measured and concluded, in a sentence or two; of a cluster both bills."""
    if decision.cluster is not None:
        return f"{decision.diagnosis.explanation}."
    demand = decision.demand
    parts = [f"{_need(demand.iops, 'IOPS')}, {_need(demand.mibps, 'MiB/s')}"]
    if demand.credits is not None:
        left = f"burst credits at {demand.credits.balance_percent:.0f} %"
        empty = demand.credits.empty_at
        parts.append(left if empty is None else f"{left}, gone at {utc(empty)}")
    of = decision.observation.volume.ref.kind
    binds = spoken(of, BINDINGS[decision.diagnosis.binding])
    return f"{'; '.join(parts)}. Binding: {binds}. {decision.diagnosis.explanation}".strip()


def _need(estimate: Estimate, unit: str) -> str:
    if not estimate.censored:
        return f"{number(estimate.likely)} {unit} needed"
    floor = number(estimate.floor)
    return f"{number(estimate.likely)} {unit} needed (served {floor}, held back by a limit)"


def considered(decision: Decision) -> tuple[str, ...]:
    """Every plan with its price and what blocks it: those that mattered, then the others."""
    plan, act = chosen(decision), isinstance(decision.answer, Act)
    taken = "; chosen" if act else "; would be chosen"
    return (
        *(_plan_line(decision, j) + (taken if j.plan == plan else "") for j in decision.judgements),
        *(_other_line(decision, each) for each in decision.other_plans),
        *(f"not recorded, to keep the record small: {what}" for what in decision.left_out),
    )


def _plan_line(decision: Decision, judgement: PlanJudgement) -> str:
    plan = judgement.plan
    line = _price_line(decision, plan)
    if plan.capped_from is not None:
        line += f", capped from {plan.capped_from}"
    if plan.full_copy:
        line += ", full copy for hours, irreversible"
    elif not plan.reversible:
        line += ", cannot be undone"
    return line + _blocked_by([v.guardrail for v in judgement.blocking])


def _other_line(decision: Decision, plan: PlanSummary) -> str:
    return _price_line(decision, plan) + _blocked_by(plan.blocked_by)


def _price_line(decision: Decision, plan: Plan | PlanSummary) -> str:
    value = money(plan.value_usd_per_day, signed=True)
    line = f"{plan.target}: {money(plan.monthly_usd)} a month ({change_of_price(plan)})"
    line += f", value {value} a day"
    short = below_need(decision, plan.target)
    return f"{line}, {short}" if short else line


def below_need(decision: Decision, target: Configuration) -> str:
    """Which of the rates that are needed `target` does not sustain, in words; empty if it sustains both.

    Plans are planned for loads of their own, by which one that has more could be said to have too little.
    """
    if decision.cluster is not None:
        return ""
    can, demand = capability(target), decision.demand
    rates = (
        (can.sustained_iops, round(demand.iops.likely), "IOPS"),
        (can.sustained_mibps, round(demand.mibps.likely), "MiB/s"),
    )
    short = [f"{number(needed)} {unit}" for has, needed, unit in rates if has < needed]
    return f"below the {' and '.join(short)} needed" if short else ""


def _blocked_by(guardrails: Sequence[Guardrail]) -> str:
    return f"; blocked by {', '.join(guardrails)}" if guardrails else "; allowed"


def change_of_price(plan: Plan | PlanSummary) -> str:
    """The change of the monthly price, for example `+$14.00`."""
    return money(plan.price_change_usd, signed=True)


def guardrails(decision: Decision) -> tuple[str, ...]:
    """What every guardrail said about the chosen plan, else the nearest to being allowed; the first line sums it up."""
    plan = chosen(decision)
    judgement = next((j for j in decision.judgements if j.plan == plan), None)
    if judgement is None and plan is None:
        judgement = min(decision.judgements, key=distance, default=None)
    if judgement is None:
        return ()
    about = "" if plan is not None else f"{judgement.plan.target}: "
    verdicts, blocking = judgement.verdicts, judgement.blocking
    head = f"{about}all {len(verdicts)} allow"
    if blocking:
        names = ", ".join(v.guardrail.value for v in blocking)
        head = (
            f"{about}blocked by {names}; {len(verdicts) - len(blocking)} of {len(verdicts)} allow"
        )
    ordered = (*blocking, *(v for v in verdicts if v.allows))
    return (head, *(verdict_line(v) for v in ordered))


def verdict_line(verdict: Verdict) -> str:
    """One verdict with its numbers, for example `max_iops: 4,741 is at most 16,000 IOPS`."""
    line = f"{verdict.guardrail.value}: {quantity(verdict.value)}"
    if verdict.relation is not Relation.IS or not verdict.allows:
        limit = verdict.limit
        shown = ", ".join(limit) if isinstance(limit, tuple) else quantity(limit)
        relation = _RELATIONS[verdict.relation][0 if verdict.allows else 1]
        line += f" {relation} {shown}" + (f" {verdict.unit}" if verdict.unit else "")
    line += f" ({verdict.detail})" if verdict.detail else ""
    if verdict.clears_at is None or verdict.allows:
        return line
    return f"{line}; clears at {utc(verdict.clears_at)}"


def quantity(value: Quantity) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "nothing"}[value]
    if isinstance(value, Decimal):
        return f"{value:,.2f}"
    return value if isinstance(value, str) else f"{value:,.6g}" if value < 1e5 else f"{value:,.0f}"


def change(decision: Decision) -> str:
    """From and to, or what it would have been."""
    plan = chosen(decision)
    if plan is None:
        return "no change"
    line = f"{plan.origin} -> {plan.target}"
    return line if isinstance(decision.answer, Act) else f"none (would be {line})"


def price(decision: Decision) -> str:
    """The change of the monthly price, in brackets when nothing was changed."""
    plan = chosen(decision)
    if plan is None:
        return "-"
    line = change_of_price(plan)
    return line if isinstance(decision.answer, Act) else f"({line})"


def result(story: DecisionStory) -> str:
    """The result: the last record of an act, when a hold clears, or what an owner should do."""
    last, answer = story.chain[-1], story.decision.answer
    if last.step is not Step.DECIDED:
        return f"{last.step.value} {utc(last.at)}: {said(last)}"
    match answer:
        case Hold(until=None):
            return "held; every sweep checks it again"
        case Hold(until=until) if until is not None:
            return f"held until {utc(until)}"
        case Escalate(remedy=remedy):
            return f"owner notified: {remedy}"
    return "decided, not started yet"


def said(record: Record) -> str:
    """What a record says beside its step, with which its summary may begin."""
    return record.summary.removeprefix(f"{record.step.value}: ")


def ended_at(story: DecisionStory, step: Step) -> datetime | None:
    """When the chain reached `step`, None if it never did."""
    return next((r.at for r in story.chain if r.step is step), None)
