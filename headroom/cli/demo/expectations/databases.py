"""How each story of a database ended: one line, and whether it is the ending that was foretold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta

from headroom.cli.demo.script.outcome import (
    Claims,
    Ending,
    Played,
    blocking,
    calm_at_the_end,
    clock,
    cost,
    nothing_done,
    relieved,
    starvation,
    the_act,
)
from headroom.cli.terminal.output import money
from headroom.cli.views.decision import DecisionStory
from headroom.domain.decision import Escalate
from headroom.domain.guardrails import Guardrail
from headroom.domain.planning import Plan
from headroom.domain.resources import VolumeType
from headroom.domain.workload import Binding

SOON = timedelta(minutes=20)
"""A scan comes every quarter of an hour, and looks a little later."""
CROSSED = 400


def ending(played: Played) -> Ending:
    """How a story ended."""
    return Ending.of(*_ENDINGS[played.story.key](played))


def _credits(played: Played) -> tuple[str, Claims]:
    act = the_act(played)
    if act is None:
        return nothing_done(played)
    told, plan, at = act
    grown, io1 = _priced(told, VolumeType.GP2), _priced(told, VolumeType.IO1)
    beside = " and ".join(
        f"{name} for {money(rival.monthly_usd)}"
        for name, rival in (("growing gp2", grown), ("io1", io1))
        if rival is not None
    )
    left = told.decision.demand.credits
    balance = "unknown" if left is None else f"{left.balance_percent:.0f} %"
    line = (
        f"Moved to {plan.target.volume_type} at {clock(at)} with {balance} of its credits left for "
        f"{money(plan.monthly_usd)} a month (beside it stood {beside}); "
        f"{len(played.starved)} minutes starved."
    )
    return line, {
        "it went to gp3 of the same size": _is(played, VolumeType.GP3, plan.origin.size_gib),
        "burst credits were what bound": told.decision.diagnosis.binding is Binding.BURST_CREDITS,
        "growing gp2 is priced beside it": grown is not None and not grown.reversible,
        "io1 is priced beside it": io1 is not None,
        "it was the cheapest that meets the need": all(
            plan.monthly_usd <= rival.monthly_usd for rival in (grown, io1) if rival is not None
        ),
        "no minute starved": not played.starved,
        "it was changed once": len(played.applied) == 1,
        "the change was verified": relieved(played),
    }


def _below(played: Played) -> tuple[str, Claims]:
    asked = _escalated(played)
    if not asked:
        return nothing_done(played)[0], {"the owner was told": False}
    judgements = asked[0].decision.judgements
    copies = [j for j in judgements if j.plan.full_copy]
    io1 = _priced(asked[0], VolumeType.IO1)
    if not copies or io1 is None:
        return nothing_done(played)[0], {"both ways out are priced in the record": False}
    cheapest = min((j.plan for j in copies), key=lambda plan: plan.monthly_usd)
    line = (
        f"Left alone: below {CROSSED} GiB gp3 has nothing to set, and {cheapest.target} "
        f"({money(cheapest.price_change_usd, signed=True)} a month) is a full copy, which a person "
        f"begins; io1 would be {money(io1.price_change_usd, signed=True)}. Said at "
        f"{clock(asked[0].decision.at)}."
    )
    return line, {
        "the storage was not changed": _untouched(played),
        "no copy may begin by itself": all(
            Guardrail.FULL_COPY in {v.guardrail for v in j.blocking} for j in copies
        ),
        "no plan sets IOPS of gp3 below the threshold": all(
            j.plan.target.iops is None
            for j in judgements
            if j.plan.target.volume_type is VolumeType.GP3 and j.plan.target.size_gib < CROSSED
        ),
        "io1 was too dear": Guardrail.PRICE_PER_RESOURCE in _against(asked[0], io1),
        "the owner was told once": len(asked) == 1,
    }


def _above(played: Played) -> tuple[str, Claims]:
    act = the_act(played)
    if act is None:
        return nothing_done(played)
    told, plan, at = act
    line = (
        f"Raised in place from {plan.origin.iops:,} to {plan.target.iops:,} IOPS at {clock(at)} "
        f"{cost(plan.price_change_usd)}; {starvation(played)}, then none."
    )
    return line, {
        "its IOPS were what bound": told.decision.diagnosis.binding is Binding.VOLUME_IOPS,
        "the size stayed": played.final.size_gib == plan.origin.size_gib,
        "RDS shows what was planned": played.final == plan.target,
        "one change was enough": len(played.applied) == 1,
        "the pressure ended": relieved(played),
        "it no longer starved at the end": calm_at_the_end(played),
    }


def _pending(played: Played) -> tuple[str, Claims]:
    act, asked = the_act(played), _escalated(played)
    if act is None or not asked or len(played.changed_by_others) < 2:
        return nothing_done(played)[0], {"it was held, told and then changed": False}
    _, plan, at = act
    gone = played.changed_by_others[-1]
    line = (
        f"Held from {clock(asked[0].decision.at)}: our change would have applied theirs too, with a "
        f"restart. They took it back at {clock(gone)}; moved to {plan.target.volume_type} at "
        f"{clock(at)} {cost(plan.price_change_usd)}; {len(played.starved)} minutes starved."
    )
    return line, {
        "somebody's pending change was what held it": all(
            Guardrail.PENDING_CHANGES in {v.guardrail for v in blocking(t.decision)} for t in asked
        ),
        "nothing was changed before it was gone": at >= gone,
        "it was changed soon after": at - gone <= SOON,
        "the owner was told once": len(asked) == 1,
        "RDS never refused": not played.refused,
        "it was changed once": len(played.applied) == 1 and played.final == plan.target,
        "the pressure ended": relieved(played),
    }


def _class(played: Played) -> tuple[str, Claims]:
    asked = _escalated(played)
    if not asked:
        return nothing_done(played)[0], {"the owner was told": False}
    first = asked[0].decision
    line = (
        f"Left alone: {first.diagnosis.explanation.strip().rstrip('.')}; a faster storage would "
        f"change nothing. Said at {clock(first.at)}."
    )
    binding = {t.decision.diagnosis.binding for t in asked}
    held = [t for t in played.told if t.decision.at > first.at]
    return line, {
        "the class was what bound": binding == {Binding.INSTANCE_IOPS},
        "the storage was not changed": _untouched(played),
        "no plan was made that would change nothing": not first.judgements,
        "the owner was told once": len(asked) == 1,
        "nothing was asked of RDS afterwards": not any(t.decision.judgements for t in held),
    }


def _escalated(played: Played) -> list[DecisionStory]:
    """The decisions that told the owner."""
    return [t for t in played.told if isinstance(t.decision.answer, Escalate)]


def _priced(told: DecisionStory, kind: VolumeType) -> Plan | None:
    """The best plan of a type that the record has."""
    plans = [j.plan for j in told.decision.judgements if j.plan.target.volume_type is kind]
    return min(plans, key=lambda plan: plan.monthly_usd, default=None)


def _against(told: DecisionStory, plan: Plan) -> set[Guardrail]:
    return {v.guardrail for j in told.decision.judgements if j.plan == plan for v in j.blocking}


def _untouched(played: Played) -> bool:
    return played.final == played.story.volume and not played.applied


def _is(played: Played, kind: VolumeType, size_gib: int) -> bool:
    return (played.final.volume_type, played.final.size_gib) == (kind, size_gib)


_ENDINGS: Mapping[str, Callable[[Played], tuple[str, Claims]]] = {
    "db-credits": _credits,
    "db-below": _below,
    "db-above": _above,
    "db-pending": _pending,
    "db-class": _class,
}
