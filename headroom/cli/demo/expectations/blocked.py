"""What is expected of the volumes that something else holds back: owner, AWS or instance."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

from headroom.cli.demo.expectations.changes import (
    Change,
    Check,
    blocking,
    escalated,
    of_change,
    relieved,
    sentence,
    unchanged,
    untouched,
)
from headroom.cli.demo.script.outcome import Checked, StorageRun, clock, cost
from headroom.cli.terminal.output import money
from headroom.cli.views.decision import chosen
from headroom.domain.decision import Escalate, Hold
from headroom.domain.guardrails import Guardrail
from headroom.domain.workload import ON_INSTANCE

DAY = timedelta(hours=24)
SOON = timedelta(minutes=1)


def _instance(run: StorageRun) -> Checked:
    bound = [
        t for t in run.decisions
        if t.decision.diagnosis.binding in ON_INSTANCE
    ]  # fmt: skip
    if not bound:
        return unchanged(run, "the record says that the instance is the limit")
    first = bound[0].decision
    line = f"Not changed: {sentence(first.diagnosis.explanation)}; reported at {clock(first.at)}."
    return line, {
        "the volume was not changed": untouched(run),
        "the owner was notified": any(isinstance(t.decision.answer, Escalate) for t in bound),
    }


def _watched(run: StorageRun) -> Checked:
    holds = [
        (t.decision, t.decision.answer.proposed_plan)
        for t in run.decisions
        if isinstance(t.decision.answer, Hold) and t.decision.answer.proposed_plan is not None
    ]
    if not holds:
        return unchanged(run, "the plan it would have taken is on record")
    decision, plan = holds[0]
    line = (
        f"Observed only: at {clock(decision.at)} it would have been changed to {plan.target} "
        f"({money(plan.price_change_usd, signed=True)} a month); nobody was notified."
    )
    return line, {
        "the volume was not changed": untouched(run),
        "the mode blocked the change": Guardrail.MODE in blocking(decision),
        "nobody was notified": run.messages == 0,
    }


def _chase(run: StorageRun) -> Checked:
    if not run.applied:
        return unchanged(run)
    iops = [run.story.volume.iops or 0]
    iops += [plan.target.iops or 0 for t in run.applied if (plan := chosen(t.decision))]
    asked = escalated(run)
    stopped = {g for t in asked for plan in t.decision.considered for g in plan.blocked_by}
    by = [g.value for g in (Guardrail.MAX_IOPS, Guardrail.PRICE_PER_RESOURCE) if g in stopped]
    line = (
        f"Raised {' -> '.join(f'{n:,}' for n in iops)} IOPS {cost(run.price_change)}, still "
        f"saturated (a closed loop has no natural demand), then stopped by {' and '.join(by)}."
    )
    ceiling, price = (
        run.story.policy["max_iops"],
        run.story.policy["price_increase_usd_per_month"],
    )
    return line, {
        "the ceiling held": max(iops) <= int(str(ceiling)),
        "the price limit held": run.price_change <= Decimal(str(price)),
        "ceiling and price limit both blocked": len(by) == 2,
        "the owner was notified": bool(asked),
    }


@of_change
def _slots_seen(run: StorageRun, change: Change) -> Checked:
    plan, at = change.plan, change.at
    frees = sorted(run.changed_by_others)[1] + DAY
    line = (
        f"Held while all four slots were used; at {clock(at)}, when used + reserve left room, raised to "
        f"{plan.target.iops:,} IOPS {cost(plan.price_change_usd)}; {len(run.starved)} minutes starved."
    )
    return line, {
        "the slots held it first": _held_on_slots(run, before=at),
        "it was changed in the minute the slot cleared": timedelta(0) <= at - frees <= SOON,
        "AWS never refused": not run.refused,
        "the pressure ended": relieved(run),
    }


def _held_on_slots(run: StorageRun, *, before: datetime) -> bool:
    return any(
        Guardrail.SLOTS in blocking(t.decision)
        for t in run.decisions
        if t.decision.at < before and isinstance(t.decision.answer, Hold)
    )


@of_change
def _slots_before(run: StorageRun, change: Change) -> Checked:
    plan, at = change.plan, change.at
    frees = min(run.changed_by_others) + DAY
    asked = run.refused
    times = "once" if len(asked) == 1 else f"{len(asked)} times"
    line = (
        f"AWS refused {times} (first at {clock(asked[0])}); " if asked else "AWS never refused; "
    ) + f"at {clock(at)} raised to {plan.target.iops:,} IOPS {cost(plan.price_change_usd)}."
    return line, {
        "AWS refused": bool(asked),
        "AWS was asked no more than once an hour": all(
            b - a >= timedelta(hours=1) for a, b in zip(asked, [*asked[1:], at], strict=True)
        ),
        "it was changed when the slot cleared": timedelta(0) <= at - frees <= SOON,
        "the pressure ended": relieved(run),
    }


CHECKS: dict[str, Check] = {
    "instance": _instance,
    "watched": _watched,
    "chase": _chase,
    "slots-seen": _slots_seen,
    "slots-before": _slots_before,
}
