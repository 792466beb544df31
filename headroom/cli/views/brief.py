"""One decision in the few words that fit a cell of a terminal table."""

from __future__ import annotations

from headroom.cli.terminal.output import money, number
from headroom.cli.views.decision import BINDINGS, DecisionStory, chosen, quantity
from headroom.domain.decision import Act, ClusterDetail, Decision, Escalate, Hold
from headroom.domain.state import Step
from headroom.domain.workload import DAYS, Binding

MOST_NAMED = 3
"""Blocking guardrails named in a cell; `explain` names them all."""


def observed(decision: Decision) -> str:
    """What bound, in a few words, for example `3,000 of 3,000 IOPS served`."""
    demand, diagnosis = decision.demand, decision.diagnosis
    if decision.cluster is not None:
        return _of_cluster(decision.cluster)
    match diagnosis.binding:
        case Binding.VOLUME_IOPS:
            return f"IOPS: {number(demand.iops.floor)} of {number(diagnosis.volume_iops_limit)}"
        case Binding.VOLUME_THROUGHPUT:
            limit = number(diagnosis.volume_mibps_limit)
            return f"MiB/s: {number(demand.mibps.floor)} of {limit}"
        case Binding.BURST_CREDITS if demand.credits is not None:
            gone = demand.credits.empty_at
            left = f"credits {demand.credits.balance_percent:.0f} %"
            return left if gone is None else f"{left}, gone {gone:%H:%M}"
        case binding:
            return f"limit: {BINDINGS[binding]}"


def _of_cluster(side: ClusterDetail) -> str:
    """The share of I/O in the bill under Standard, or why it is unknown."""
    if side.bills is None:
        return f"{len(side.demand.days)} of {DAYS} whole days"
    bill = side.bills.standard
    return f"I/O {100 * bill.io_share:.0f} % of {money(bill.total_usd)}"


def considered(decision: Decision) -> str:
    """How many plans there were, and what the cheapest and dearest would cost a month."""
    plans = decision.considered
    prices = [plan.monthly_usd for plan in plans]
    if not prices:
        return "no plan"
    allowed = sum(not plan.blocked_by for plan in plans)
    span = f"{money(min(prices))} to {money(max(prices))}" if len(prices) > 1 else money(prices[0])
    return f"{len(prices)} plans, {allowed} allowed: {span}"


def guardrails(decision: Decision) -> str:
    """How many guardrails allow, and the blocking ones with their numbers."""
    plan = chosen(decision)
    judgement = next((j for j in decision.judgements if plan in (None, j.plan)), None)
    if judgement is None:
        return "-"
    count, blocking = len(judgement.verdicts), judgement.blocking
    each = [
        f"{v.guardrail.value} {quantity(v.value)}"
        + ("" if isinstance(v.limit, tuple) else f" / {quantity(v.limit)}")
        for v in blocking
    ]
    more = [f"and {len(each) - MOST_NAMED} more"] if len(each) > MOST_NAMED else []
    return "\n".join([f"{count - len(blocking)} of {count} allow", *each[:MOST_NAMED], *more])


def change(decision: Decision) -> str:
    """Only what would change, in brackets when nothing was changed."""
    plan = chosen(decision)
    if plan is None:
        return "no change"
    a, b = plan.origin, plan.target
    parts = []
    if a.volume_type is not b.volume_type:
        parts.append(f"{a.volume_type} -> {b.volume_type}")
    if a.size_gib != b.size_gib:
        parts.append(f"{a.size_gib} -> {b.size_gib} GiB")
    for unit, was, to in (
        ("IOPS", a.iops, b.iops), ("MiB/s", a.throughput_mibps, b.throughput_mibps)
    ):  # fmt: skip
        if was != to and to is not None:
            parts.append(f"{'' if was is None else f'{was:,} -> '}{to:,} {unit}")
    line = ", ".join(parts)
    return line if isinstance(decision.answer, Act) else f"({line})"


def result(story: DecisionStory) -> str:
    """The result in two words."""
    last, answer = story.chain[-1], story.decision.answer
    if last.step is not Step.DECIDED:
        return f"{last.step.value} {last.at:%H:%M}"
    if isinstance(answer, Hold) and answer.until is not None:
        return f"until {answer.until:%d %H:%M}"
    return "owner notified" if isinstance(answer, Escalate) else "watching"
