"""Endings of the stories in which something other than the volume decides: owner, AWS, instance."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

from headroom.cli.demo.script.outcome import (
    Claims,
    Played,
    blocking,
    clock,
    cost,
    nothing_done,
    relieved,
    the_act,
)
from headroom.cli.terminal.output import money
from headroom.cli.views.decision import chosen
from headroom.domain.decision import Escalate, Hold
from headroom.domain.guardrails import Guardrail
from headroom.domain.workload import Binding

DAY = timedelta(hours=24)
SOON = timedelta(minutes=1)


def instance(played: Played) -> tuple[str, Claims]:
    bound = [
        t for t in played.told
        if t.decision.diagnosis.binding in (Binding.INSTANCE_IOPS, Binding.INSTANCE_THROUGHPUT)
    ]  # fmt: skip
    if not bound:
        return nothing_done(played)[0], {"the record says that the instance is the limit": False}
    first = bound[0].decision
    line = f"Left alone: {_sentence(first.diagnosis.explanation)}; said at {clock(first.at)}."
    return line, {
        "the volume was not changed": played.final == played.story.volume and not played.applied,
        "the owner was told": any(isinstance(t.decision.answer, Escalate) for t in bound),
    }


def _sentence(text: str) -> str:
    return text.strip().rstrip(".")


def watched(played: Played) -> tuple[str, Claims]:
    holds = [
        (t.decision, t.decision.answer.proposed_plan)
        for t in played.told
        if isinstance(t.decision.answer, Hold) and t.decision.answer.proposed_plan is not None
    ]
    if not holds:
        return nothing_done(played)[0], {"the plan it would have taken is on record": False}
    decision, plan = holds[0]
    line = (
        f"Only watched: at {clock(decision.at)} it would have gone to {plan.target} "
        f"({money(plan.price_change_usd, signed=True)} a month); nobody was notified."
    )
    return line, {
        "the volume was not changed": played.final == played.story.volume and not played.applied,
        "the mode was what blocked": Guardrail.MODE in {v.guardrail for v in blocking(decision)},
        "nobody was notified": played.messages == 0,
    }


def chase(played: Played) -> tuple[str, Claims]:
    act = the_act(played)
    if act is None:
        return nothing_done(played)
    iops = [played.story.volume.iops or 0]
    iops += [plan.target.iops or 0 for t in played.applied if (plan := chosen(t.decision))]
    told = [t for t in played.told if isinstance(t.decision.answer, Escalate)]
    stopped = {v.guardrail for t in told for j in t.decision.judgements for v in j.blocking}
    by = [g.value for g in (Guardrail.MAX_IOPS, Guardrail.PRICE_PER_RESOURCE) if g in stopped]
    line = (
        f"Raised {' -> '.join(f'{n:,}' for n in iops)} IOPS {cost(played.price_change)}, still "
        f"saturated (a closed loop has no natural demand), then stopped by {' and '.join(by)}."
    )
    ceiling, price = (
        played.story.policy["max_iops"],
        played.story.policy["price_increase_usd_per_month"],
    )
    return line, {
        "the ceiling held": max(iops) <= int(str(ceiling)),
        "the price limit held": played.price_change <= Decimal(str(price)),
        "ceiling and price limit both spoke": len(by) == 2,
        "the owner was told": bool(told),
    }


def slots_seen(played: Played) -> tuple[str, Claims]:
    act = the_act(played)
    if act is None:
        return nothing_done(played)
    _, plan, at = act
    frees = sorted(played.changed_by_others)[1] + DAY
    line = (
        f"Held with all four slots used; at {clock(at)}, when used + reserve left room, raised to "
        f"{plan.target.iops:,} IOPS {cost(plan.price_change_usd)}; {len(played.starved)} minutes starved."
    )
    return line, {
        "it was held on slots first": _held_on_slots(played, before=at),
        "it was done in the minute the slot cleared": timedelta(0) <= at - frees <= SOON,
        "AWS never refused": not played.refused,
        "the pressure ended": relieved(played),
    }


def _held_on_slots(played: Played, *, before: datetime) -> bool:
    return any(
        Guardrail.SLOTS in {v.guardrail for v in blocking(t.decision)}
        for t in played.told
        if t.decision.at < before and isinstance(t.decision.answer, Hold)
    )


def slots_before(played: Played) -> tuple[str, Claims]:
    act = the_act(played)
    if act is None:
        return nothing_done(played)
    _, plan, at = act
    frees = min(played.changed_by_others) + DAY
    asked = played.refused
    times = "once" if len(asked) == 1 else f"{len(asked)} times"
    line = (
        f"AWS refused {times} (first at {clock(asked[0])}); " if asked else "AWS never refused; "
    ) + f"at {clock(at)} raised to {plan.target.iops:,} IOPS {cost(plan.price_change_usd)}."
    return line, {
        "AWS refused": bool(asked),
        "it was asked no more than once an hour": all(
            b - a >= timedelta(hours=1) for a, b in zip(asked, [*asked[1:], at], strict=True)
        ),
        "it was done when the slot cleared": timedelta(0) <= at - frees <= SOON,
        "the pressure ended": relieved(played),
    }
