"""A dry run for people and scripts: the limit, the plans with their prices, what blocks them, the call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rich.console import Console

from headroom.cli.terminal.names import short
from headroom.cli.terminal.output import money, number, say, table, utc
from headroom.cli.views import bills as bills_view
from headroom.cli.views import cluster as cluster_view
from headroom.cli.views import decision as decision_view
from headroom.cli.views import volume as volume_view
from headroom.cli.views.request import sending
from headroom.domain.decision import Decision, Escalate
from headroom.domain.guardrails import PlanJudgement, Verdict
from headroom.domain.planning import Alternative, Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanView:
    """A decision that was not made, with every type priced for what is needed."""

    decision: Decision
    policy: str
    """Which policy it was decided under, in words."""
    remarks: tuple[str, ...]
    need: tuple[float, float]
    """IOPS and MiB/s that `offers` are priced for."""
    alternatives: tuple[Alternative, ...]


def show(what: PlanView, console: Console) -> None:
    """For people."""
    decision = what.decision
    observation = decision.observation
    name = short(observation.volume.ref.arn)
    say(f"{decision_view.kind(decision).upper()} (dry run) {name} at {utc(decision.at)}", console)
    say(decision.summary, console)
    for remark in what.remarks:
        say(f"Note: {remark}.", console)
    side = decision.cluster
    if side is None:
        say(volume_view.was(observation.volume), console)
    for line in volume_view.lines(observation) if side is None else cluster_view.lines(side):
        say(f"  {line}", console)
    say(f"Observed: {decision_view.observed(decision)}", console)
    if decision.judgements:
        console.print(
            table("What could be done, best first", _COLUMNS, _plans(decision), lines=True)
        )
        for detail in _details(decision):
            say(f"  {detail}", console)
    else:
        say("There is no plan: no change is needed, or none would help.", console)
    if decision.cluster is None:
        iops, mibps = what.need
        title = f"Every type at its cheapest for {number(iops)} IOPS and {number(mibps)} MiB/s"
        columns = ("Type", "Target", "A month", "Change", "")
        console.print(table(title, columns, _offers(what.alternatives)))
    elif decision.cluster.bills is not None:
        both = ("", *bills_view.NAMES.values())
        bills = bills_view.rows(decision.cluster.bills)
        console.print(table("USD a month in both modes", both, bills))
    say(str(sending(decision) or "Nothing would be sent."), console)
    if isinstance(decision.answer, Escalate):
        say(f"What you can do: {decision.answer.remedy}.", console)
    limits = decision.effective
    say(
        f"Under {what.policy}, version {decision.policy_version}, mode {limits.limits.mode.value} "
        f"(from {limits.mode_from}); prices from {decision.price_source}.",
        console,
    )
    if by_cap := limits.by_hard_cap:
        say(f"Set by the deployment's hard caps: {', '.join(by_cap)}.", console)


def as_object(what: PlanView) -> dict[str, object]:
    """For scripts: one JSON object."""
    decision = what.decision
    observation = decision.observation
    iops, mibps = what.need
    plan = decision_view.chosen(decision)
    return {
        "resource": observation.volume.ref.arn,
        "at": decision.at,
        "answer": decision_view.kind(decision),
        "reason": decision.answer.reason.value,
        "summary": decision.summary,
        "configuration": str(observation.volume.configuration),
        "database": volume_view.as_object(observation),
        "cluster": None if decision.cluster is None else cluster_view.as_object(decision.cluster),
        "usd_per_month": decision.current_usd,
        "binding": decision.diagnosis.binding.value,
        "seen": decision_view.observed(decision),
        "chosen": None if plan is None else str(plan.target),
        "plans": [_plan_object(judgement) for judgement in decision.judgements],
        "need": None
        if decision.cluster is not None
        else {"iops": round(iops, 1), "mibps": round(mibps, 1)},
        "types": [_offer_object(offer) for offer in what.alternatives],
        "would_send": None if (sent := sending(decision)) is None else sent.as_object(),
        "policy": what.policy,
        "policy_version": decision.policy_version,
        "mode": decision.effective.limits.mode.value,
        "set_by_hard_caps": list(decision.effective.by_hard_cap),
        "prices": decision.price_source,
        "remarks": list(what.remarks),
    }


_COLUMNS = ("Target", "A month", "Change", "Value a day", "Notes", "Blocked by")


def _plans(decision: Decision) -> list[tuple[str, ...]]:
    return [
        (
            str(plan.target),
            money(plan.monthly_usd),
            decision_view.change_of_price(plan),
            money(plan.value_usd_per_day, signed=True),
            "; ".join(_means(decision, plan)) or "-",
            "\n".join(map(_held, judged.blocking)) or "nothing",
        )
        for judged in decision.judgements
        for plan in (judged.plan,)
    ]


def _held(verdict: Verdict) -> str:
    """A verdict in a cell; its detail is printed once, below the table."""
    return decision_view.verdict_line(replace(verdict, detail=""))


def _details(decision: Decision) -> Iterator[str]:
    """What the guardrails that hold a plan add in words, each once."""
    every = (v for judged in decision.judgements for v in judged.blocking if v.detail)
    yield from dict.fromkeys(f"{v.guardrail.value}: {v.detail}" for v in every)


def _means(decision: Decision, plan: Plan) -> Iterator[str]:
    if plan.full_copy:
        yield "full copy for hours, irreversible"
    elif not plan.reversible:
        yield "grows, which cannot be undone"
    if short := decision_view.below_need(decision, plan.target):
        yield short
    if plan.capped_from is not None:
        yield f"capped from {plan.capped_from}"
    if plan.lowers:
        yield "lowers its maximum performance"


def _offers(alternatives: tuple[Alternative, ...]) -> list[tuple[str, ...]]:
    return [
        (
            offer.volume_type.value,
            "-" if offer.target is None else str(offer.target),
            "?" if offer.monthly_usd is None else money(offer.monthly_usd),
            "?" if offer.price_change_usd is None else money(offer.price_change_usd, signed=True),
            _remark(offer),
        )
        for offer in alternatives
    ]


def _remark(offer: Alternative) -> str:
    if offer.target is None:
        return "cannot meet it with one change"
    if offer.full_copy:
        return "full copy for hours, irreversible"
    return "grows, which cannot be undone" if offer.grows else ""


def _plan_object(judged: PlanJudgement) -> dict[str, object]:
    plan = judged.plan
    return {
        "target": str(plan.target),
        "type": plan.target.volume_type.value,
        "usd_per_month": plan.monthly_usd,
        "price_change_usd_per_month": plan.price_change_usd,
        "worth_usd_per_day": plan.value_usd_per_day,
        "meets_need": plan.meets_need,
        "reversible": plan.reversible,
        "full_copy": plan.full_copy,
        "allowed": judged.allowed,
        "held_by": [
            {"guardrail": v.guardrail.value, "said": decision_view.verdict_line(v),
             "clears_at": v.clears_at}
            for v in judged.blocking
        ],
    }  # fmt: skip


def _offer_object(offer: Alternative) -> dict[str, object]:
    can = offer.can
    return {
        "type": offer.volume_type.value,
        "target": None if offer.target is None else str(offer.target),
        "sustained_iops": None if can is None else can.sustained_iops,
        "sustained_mibps": None if can is None else can.sustained_mibps,
        "usd_per_month": offer.monthly_usd,
        "price_change_usd_per_month": offer.price_change_usd,
        "grows": offer.grows,
        "full_copy": offer.full_copy,
    }
