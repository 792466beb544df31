"""How each story of the demo ended: one line, and whether it is the ending that was foretold."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headroom.cli.demo.expectations import blocked as endings_held
from headroom.cli.demo.script.outcome import (
    Claims,
    Ending,
    Played,
    calm_at_the_end,
    clock,
    cost,
    nothing_done,
    relieved,
    starvation,
    the_act,
)
from headroom.cli.terminal.output import money
from headroom.domain.catalog.ebs import gp2_baseline
from headroom.domain.guardrails import Guardrail
from headroom.domain.resources import VolumeType
from headroom.domain.workload import Binding


def ending(played: Played) -> Ending:
    """How a story ended."""
    return Ending.of(*_ENDINGS[played.story.key](played))


def _credits(played: Played) -> tuple[str, Claims]:
    act = the_act(played)
    if act is None:
        return nothing_done(played)
    told, plan, at = act
    left = told.decision.demand.credits
    balance = "unknown" if left is None else f"{left.balance_percent:.0f} %"
    line = (
        f"Moved to {plan.target.volume_type} at {clock(at)} with {balance} of its credits left, "
        f"{cost(played.price_change)}; {len(played.starved)} minutes starved."
    )
    return line, {
        "it was acted on before the first starved minute": not played.starved
        or at < played.starved[0],
        "no minute starved": not played.starved,
        "burst credits were what bound": told.decision.diagnosis.binding is Binding.BURST_CREDITS,
        "it was changed once": len(played.applied) == 1,
        "the change was verified": relieved(played),
    }


def _iops(played: Played) -> tuple[str, Claims]:
    act = the_act(played)
    if act is None:
        return nothing_done(played)
    told, plan, at = act
    line = (
        f"Raised from {plan.origin.iops:,} to {plan.target.iops:,} IOPS at {clock(at)} "
        f"{cost(played.price_change)}; {starvation(played)}, then none."
    )
    return line, {
        "its IOPS were what bound": told.decision.diagnosis.binding is Binding.VOLUME_IOPS,
        "one change was enough": len(played.applied) == 1,
        "the pressure ended": relieved(played),
        "it no longer starved at the end": calm_at_the_end(played),
    }


def _throughput(played: Played) -> tuple[str, Claims]:
    act = the_act(played)
    if act is None:
        return nothing_done(played)
    told, plan, at = act
    line = (
        f"Raised from {plan.origin.throughput_mibps} to {plan.target.throughput_mibps} MiB/s at "
        f"{clock(at)} {cost(played.price_change)}, IOPS left at {plan.target.iops:,}; "
        f"{starvation(played)}, then none."
    )
    binding = told.decision.diagnosis.binding
    return line, {
        "its throughput was what bound": binding is Binding.VOLUME_THROUGHPUT,
        "only throughput was raised": plan.target.iops == plan.origin.iops,
        "one change was enough": len(played.applied) == 1,
        "the pressure ended": relieved(played),
        "it no longer starved at the end": calm_at_the_end(played),
    }


def _growth(played: Played) -> tuple[str, Claims]:
    act = the_act(played)
    if act is None:
        return nothing_done(played)
    told, plan, at = act
    rival = next(
        (j for j in told.decision.judgements
         if j.plan.target.volume_type is VolumeType.GP3
         and Guardrail.TYPES in {v.guardrail for v in j.blocking}), None,
    )  # fmt: skip
    beside = "" if rival is None else f" (gp3 for {money(rival.plan.monthly_usd)} was refused)"
    line = (
        f"Grown once at {clock(at)}, {plan.origin.size_gib} to {plan.target.size_gib} GiB for "
        f"{money(plan.monthly_usd)} a month{beside}; it cannot be undone, the file system is not touched."
    )
    said = " ".join(
        (told.decision.summary, plan.why,
         *(v.detail for j in told.decision.judgements if j.plan == plan for v in j.verdicts))
    )  # fmt: skip
    return line, {
        "it grew once": len(played.applied) == 1 and played.final.size_gib > plan.origin.size_gib,
        "it stayed gp2": played.final.volume_type is VolumeType.GP2,
        "the baseline meets the need": gp2_baseline(played.final.size_gib) >= plan.demand_iops,
        "the refused gp3 plan is priced beside it": rival is not None,
        "the record says that it cannot be undone": "undone" in said and not plan.reversible,
        "the record says that the file system is not touched": "file system" in said,
        "the pressure ended": relieved(played),
    }


_ENDINGS: Mapping[str, Callable[[Played], tuple[str, Claims]]] = {
    "credits": _credits,
    "iops": _iops,
    "throughput": _throughput,
    "instance": endings_held.instance,
    "watched": endings_held.watched,
    "chase": endings_held.chase,
    "slots-seen": endings_held.slots_seen,
    "slots-before": endings_held.slots_before,
    "growth": _growth,
}
