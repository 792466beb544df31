"""What is expected of the databases."""

from __future__ import annotations

from datetime import timedelta

from headroom.cli.demo.expectations.changes import (
    Change,
    Check,
    blocking,
    calm_at_the_end,
    credits_left,
    escalated,
    first_change,
    of_change,
    relieved,
    sentence,
    starvation,
    unchanged,
    untouched,
)
from headroom.cli.demo.script.outcome import Checked, StorageRun, clock, cost
from headroom.cli.terminal.output import money
from headroom.domain.catalog.rds import full_copy
from headroom.domain.decision import Decision
from headroom.domain.guardrails import Guardrail, PlanSummary
from headroom.domain.resources import VolumeType
from headroom.domain.workload import Binding

SOON = timedelta(minutes=20)
"""A scan comes every quarter of an hour, and the decision a little later."""
CROSSED = 400


@of_change
def _credits(run: StorageRun, change: Change) -> Checked:
    plan, at = change.plan, change.at
    grown, io1 = _priced(change.decision, VolumeType.GP2), _priced(change.decision, VolumeType.IO1)
    others = " and ".join(
        f"{name} for {money(rival.monthly_usd)}"
        for name, rival in (("growing gp2", grown), ("io1", io1))
        if rival is not None
    )
    line = (
        f"Moved to {plan.target.volume_type} at {clock(at)} with {credits_left(change.decision)} of its credits left for "
        f"{money(plan.monthly_usd)} a month (alternatives: {others}); "
        f"{len(run.starved)} minutes starved."
    )
    return line, {
        "it went to gp3 of the same size": (run.final.volume_type, run.final.size_gib)
        == (VolumeType.GP3, plan.origin.size_gib),
        "burst credits were the limit": change.decision.diagnosis.binding is Binding.BURST_CREDITS,
        "the record prices growing gp2": grown is not None
        and grown.target.size_gib > plan.origin.size_gib,
        "the record prices io1": io1 is not None,
        "it was the cheapest that meets the need": all(
            plan.monthly_usd <= rival.monthly_usd for rival in (grown, io1) if rival is not None
        ),
        "no minute starved": not run.starved,
        "it was changed once": len(run.applied) == 1,
        "the change was verified": relieved(run),
    }


def _below(run: StorageRun) -> Checked:
    asked = escalated(run)
    if not asked:
        return unchanged(run, "the owner was notified")
    plans, today = asked[0].decision.considered, run.story.volume
    copies = [plan for plan in plans if full_copy(today, plan.target)]
    io1 = _priced(asked[0].decision, VolumeType.IO1)
    if not copies or io1 is None:
        return unchanged(run, "the record prices both alternatives")
    cheapest = min(copies, key=lambda plan: plan.monthly_usd)
    line = (
        f"Not changed: below {CROSSED} GiB gp3 has no settings, and {cheapest.target} "
        f"({money(cheapest.price_change_usd, signed=True)} a month) is a full copy, which only a "
        f"person may start; io1 would be {money(io1.price_change_usd, signed=True)}. Reported at "
        f"{clock(asked[0].decision.at)}."
    )
    return line, {
        "the storage was not changed": untouched(run),
        "no full copy may start automatically": all(
            Guardrail.FULL_COPY in plan.blocked_by for plan in copies
        ),
        "no plan sets IOPS of gp3 below the threshold": all(
            plan.target.iops is None
            for plan in plans
            if plan.target.volume_type is VolumeType.GP3 and plan.target.size_gib < CROSSED
        ),
        "io1 was too expensive": Guardrail.PRICE_PER_RESOURCE in io1.blocked_by,
        "the owner was notified once": len(asked) == 1,
    }


@of_change
def _above(run: StorageRun, change: Change) -> Checked:
    plan, at = change.plan, change.at
    line = (
        f"Raised in place from {plan.origin.iops:,} to {plan.target.iops:,} IOPS at {clock(at)} "
        f"{cost(plan.price_change_usd)}; {starvation(run)}, then none."
    )
    return line, {
        "its IOPS were the limit": change.decision.diagnosis.binding is Binding.VOLUME_IOPS,
        "the size stayed": run.final.size_gib == plan.origin.size_gib,
        "RDS shows what was planned": run.final == plan.target,
        "one change was enough": len(run.applied) == 1,
        "the pressure ended": relieved(run),
        "it no longer starved at the end": calm_at_the_end(run),
    }


def _pending(run: StorageRun) -> Checked:
    change, asked = first_change(run), escalated(run)
    if change is None or not asked or len(run.changed_by_others) < 2:
        return unchanged(run, "it was held, reported and then changed")
    plan, at = change.plan, change.at
    gone = run.changed_by_others[-1]
    line = (
        f"Held from {clock(asked[0].decision.at)}: this change would have applied the pending one "
        f"too, with a restart. Its owner withdrew it at {clock(gone)}; moved to {plan.target.volume_type} at "
        f"{clock(at)} {cost(plan.price_change_usd)}; {len(run.starved)} minutes starved."
    )
    return line, {
        "the pending change held it": all(
            Guardrail.PENDING_CHANGES in blocking(t.decision) for t in asked
        ),
        "nothing was changed before it was withdrawn": at >= gone,
        "it was changed soon after": at - gone <= SOON,
        "the owner was notified once": len(asked) == 1,
        "RDS never refused": not run.refused,
        "it was changed once": len(run.applied) == 1 and run.final == plan.target,
        "the pressure ended": relieved(run),
    }


def _class(run: StorageRun) -> Checked:
    asked = escalated(run)
    if not asked:
        return unchanged(run, "the owner was notified")
    first = asked[0].decision
    line = (
        f"Not changed: {sentence(first.diagnosis.explanation)}; faster storage would not "
        f"help. Reported at {clock(first.at)}."
    )
    binding = {t.decision.diagnosis.binding for t in asked}
    held = [t for t in run.decisions if t.decision.at > first.at]
    return line, {
        "the class was the limit": binding == {Binding.INSTANCE_IOPS},
        "the storage was not changed": untouched(run),
        "no useless plan was made": not first.considered,
        "the owner was notified once": len(asked) == 1,
        "RDS was asked for nothing afterwards": not any(t.decision.considered for t in held),
    }


def _priced(decision: Decision, kind: VolumeType) -> PlanSummary | None:
    """The cheapest plan of a type that the record has."""
    plans = [plan for plan in decision.considered if plan.target.volume_type is kind]
    return min(plans, key=lambda plan: plan.monthly_usd, default=None)


CHECKS: dict[str, Check] = {
    "db-credits": _credits,
    "db-below": _below,
    "db-above": _above,
    "db-pending": _pending,
    "db-class": _class,
}
