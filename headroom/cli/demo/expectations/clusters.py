"""What is expected of the Aurora clusters, by what the record and RDS show."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

from headroom.cli.demo.expectations.changes import unchanged
from headroom.cli.demo.script.outcome import Checked, ClusterRun, Expectations, clock, cost
from headroom.cli.terminal.output import money
from headroom.cli.views.decision import DecisionStory, chosen, ended_at
from headroom.domain.catalog.aurora import Bills
from headroom.domain.decision import Decision, Hold, Reason
from headroom.domain.guardrails import Guardrail
from headroom.domain.resources import GATE, StorageMode
from headroom.domain.state import Step

SOON = timedelta(minutes=2)
"""How late a change may be and still count as made when AWS allows it."""
CENT = Decimal("0.01")


def bills_of(decision: Decision) -> Bills | None:
    """The monthly bills in both modes on record; None without them."""
    return None if decision.cluster is None else decision.cluster.bills


def _switched(run: ClusterRun) -> Checked:
    changes = run.applied
    if not changes:
        return unchanged(run)
    first = changes[0]
    both, at = bills_of(first.decision), ended_at(first, Step.APPLIED)
    if both is None or at is None:
        return unchanged(run)
    line = (
        f"Switched to I/O-Optimized at {clock(at)} {cost(_change(first))}: {_both(both)}; "
        f"{'verified' if _verified(first) else 'not verified'}."
    )
    return line, {**_moved(run, first, both), "I/O was 40 % of the bill": _share(both) == 40}


def _left(run: ClusterRun) -> Checked:
    both = next((b for t in run.decisions if (b := bills_of(t.decision)) is not None), None)
    if both is None:
        return unchanged(run, "the record states both bills")
    reasons = {
        t.decision.answer.reason for t in run.decisions if isinstance(t.decision.answer, Hold)
    }
    return f"Left in Standard: {_both(both)}; nobody was notified.", {
        "RDS shows Standard throughout": all(s.mode is StorageMode.STANDARD for s in run.states),
        "nothing was sent": not any(ended_at(t, Step.INTENDED) for t in run.decisions),
        "I/O was 15 % of the bill": _share(both) == 15,
        "the record says that Standard is cheaper": reasons == {Reason.ALREADY_CHEAPEST}
        and both.standard.total_usd < both.io_optimized.total_usd,
        "nobody was notified": run.messages == 0,
    }  # fmt: skip


def _gate(run: ClusterRun) -> Checked:
    opens, changes = run.opened, run.applied
    if opens is None or not changes:
        return unchanged(run)
    first = changes[0]
    both, at = bills_of(first.decision), ended_at(first, Step.APPLIED)
    if both is None or at is None:
        return unchanged(run)
    line = (
        f"Held until {clock(opens)}, the time that AWS names; switched to I/O-Optimized at "
        f"{clock(at)} {cost(_change(first))}: {_both(both)}."
    )
    return line, {
        **_moved(run, first, both),
        "the gate held it first, until the time that AWS names": _held(run),
        "it was changed when the gate opened": timedelta(0) <= at - opens <= SOON,
        "AWS never refused": not run.refused,
    }


def _moved(run: ClusterRun, act: DecisionStory, both: Bills) -> Expectations:
    """What is expected of every cluster that is switched once."""
    at = ended_at(act, Step.APPLIED)
    last = run.states[-1]
    change = _change(act)
    return {
        "it was changed once": len(run.applied) == 1,
        "RDS shows I/O-Optimized at the end": last.mode is StorageMode.IO_OPTIMIZED,
        "RDS allows no return to I/O-Optimized for 30 days": last.opens is not None
        and at is not None
        and abs(last.opens - GATE - at) <= SOON,
        "the record states both bills, and their difference is the change": abs(
            change + both.saving_usd(StorageMode.STANDARD)
        ) <= CENT and change < 0,
        "the change was verified": _verified(act),
    }  # fmt: skip


def _held(run: ClusterRun) -> bool:
    """Whether the gate held every decision before it opened, until that very instant."""
    before = [
        t.decision for t in run.decisions
        if run.opened is not None and t.decision.at < run.opened
    ]  # fmt: skip
    return bool(before) and all(
        isinstance(decision.answer, Hold)
        and decision.answer.until == run.opened
        and Guardrail.MODE_CHANGE_INTERVAL in _blocking(decision)
        for decision in before
    )


def _blocking(decision: Decision) -> set[Guardrail]:
    return {guardrail for plan in decision.considered for guardrail in plan.blocked_by}


def _change(act: DecisionStory) -> Decimal:
    plan = chosen(act.decision)
    return Decimal(0) if plan is None else plan.price_change_usd


def _verified(act: DecisionStory) -> bool:
    return ended_at(act, Step.RELIEVED) is not None


def _share(both: Bills) -> int:
    """I/O's share of the bill in Standard, in whole percent."""
    return round(100 * both.standard.io_share)


def _both(both: Bills) -> str:
    return (
        f"{money(both.standard.total_usd)} a month in Standard, {_share(both)} % of it I/O, "
        f"{money(both.io_optimized.total_usd)} in I/O-Optimized"
    )


CHECKS: dict[str, Callable[[ClusterRun], Checked]] = {
    "aurora-40": _switched,
    "aurora-15": _left,
    "aurora-gate": _gate,
}
