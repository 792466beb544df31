"""How the stories of Aurora clusters ended: by what records and RDS show, not by what was hoped for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from decimal import Decimal

from headroom.cli.demo.script.clusters import PlayedCluster
from headroom.cli.demo.script.outcome import Claims, Ending, clock, cost
from headroom.cli.terminal.output import money
from headroom.cli.views.decision import DecisionStory, chosen, ended_at, kind
from headroom.domain.catalog.aurora import Bills
from headroom.domain.decision import Decision, Hold, Reason
from headroom.domain.guardrails import Guardrail
from headroom.domain.resources import GATE, StorageMode
from headroom.domain.state import Step

SOON = timedelta(minutes=2)
"""How long after AWS's instant a change may be made and still count as made at it."""
CENT = Decimal("0.01")


def ending(played: PlayedCluster) -> Ending:
    """How a cluster's story ended."""
    return Ending.of(*_ENDINGS[played.story.key](played))


def bills_of(decision: Decision) -> Bills | None:
    """The month on both sides as the record states it; None where it states none."""
    return None if decision.cluster is None else decision.cluster.bills


def applied(played: PlayedCluster) -> tuple[DecisionStory, ...]:
    """The decisions that changed the mode."""
    return tuple(t for t in played.told if ended_at(t, Step.APPLIED))


def _switched(played: PlayedCluster) -> tuple[str, Claims]:
    changes = applied(played)
    if not changes:
        return _nothing(played)
    first = changes[0]
    both, at = bills_of(first.decision), ended_at(first, Step.APPLIED)
    if both is None or at is None:
        return _nothing(played)
    line = (
        f"Switched to I/O-Optimized at {clock(at)} {cost(_change(first))}: {_both(both)}; "
        f"{'verified' if _verified(first) else 'not verified'}."
    )
    return line, {**_moved(played, first, both), "I/O was 40 % of the bill": _share(both) == 40}


def _left(played: PlayedCluster) -> tuple[str, Claims]:
    both = next((b for t in played.told if (b := bills_of(t.decision)) is not None), None)
    if both is None:
        return _nothing(played)[0], {"the record states both bills": False}
    why = {t.decision.answer.reason for t in played.told if isinstance(t.decision.answer, Hold)}
    return f"Left in Standard: {_both(both)}; nobody was disturbed.", {
        "RDS shows Standard throughout": all(s.mode is StorageMode.STANDARD for s in played.seen),
        "nothing was sent": not any(ended_at(t, Step.INTENDED) for t in played.told),
        "I/O was 15 % of the bill": _share(both) == 15,
        "the record says that Standard is cheaper": why == {Reason.ALREADY_CHEAPEST}
        and both.standard.total_usd < both.io_optimized.total_usd,
        "nobody was notified": played.messages == 0,
    }  # fmt: skip


def _gate(played: PlayedCluster) -> tuple[str, Claims]:
    opens, changes = played.opened, applied(played)
    if opens is None or not changes:
        return _nothing(played)
    first = changes[0]
    both, at = bills_of(first.decision), ended_at(first, Step.APPLIED)
    if both is None or at is None:
        return _nothing(played)
    line = (
        f"Held until {clock(opens)}, the instant that AWS names; switched to I/O-Optimized at "
        f"{clock(at)} {cost(_change(first))}: {_both(both)}."
    )
    return line, {
        **_moved(played, first, both),
        "it was held on the gate first, until the instant that AWS names": _held(played),
        "it was done when the gate opened": timedelta(0) <= at - opens <= SOON,
        "AWS never refused": not any(ended_at(t, Step.REFUSED) for t in played.told),
    }


def _moved(played: PlayedCluster, act: DecisionStory, both: Bills) -> Claims:
    """What is true of every cluster that was switched once."""
    at = ended_at(act, Step.APPLIED)
    last = played.seen[-1]
    told = _change(act)
    return {
        "it was changed once": len(applied(played)) == 1,
        "RDS shows I/O-Optimized at the end": last.mode is StorageMode.IO_OPTIMIZED,
        "RDS shows that the way there is shut for 30 days": last.opens is not None
        and at is not None
        and abs(last.opens - GATE - at) <= SOON,
        "the record states both bills, and their difference is the change": abs(
            told + both.saving_usd(StorageMode.STANDARD)
        ) <= CENT and told < 0,
        "the change was verified": _verified(act),
    }  # fmt: skip


def _held(played: PlayedCluster) -> bool:
    """Whether every decision before the gate opened was held on it, until that very instant."""
    before = [
        t.decision for t in played.told
        if played.opened is not None and t.decision.at < played.opened
    ]  # fmt: skip
    return bool(before) and all(
        isinstance(decision.answer, Hold)
        and decision.answer.until == played.opened
        and Guardrail.MODE_CHANGE_INTERVAL in _blocking(decision)
        for decision in before
    )


def _blocking(decision: Decision) -> set[Guardrail]:
    return {v.guardrail for judged in decision.judgements for v in judged.blocking}


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


def _nothing(played: PlayedCluster) -> tuple[str, Claims]:
    kinds = ", ".join(kind(t.decision) for t in played.told) or "nothing was recorded"
    return f"The mode was not changed ({kinds}).", {"the mode was changed": False}


_ENDINGS: Mapping[str, Callable[[PlayedCluster], tuple[str, Claims]]] = {
    "aurora-40": _switched,
    "aurora-15": _left,
    "aurora-gate": _gate,
}
