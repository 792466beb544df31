"""What is expected of the volumes that Headroom changes."""

from __future__ import annotations

from headroom.cli.demo.expectations.changes import (
    Change,
    Check,
    calm_at_the_end,
    credits_left,
    of_change,
    relieved,
    starvation,
)
from headroom.cli.demo.script.outcome import Checked, StorageRun, clock, cost
from headroom.cli.terminal.output import money
from headroom.domain.catalog.ebs import gp2_baseline
from headroom.domain.guardrails import Guardrail
from headroom.domain.resources import VolumeType
from headroom.domain.workload import Binding


@of_change
def _credits(run: StorageRun, change: Change) -> Checked:
    plan, at = change.plan, change.at
    line = (
        f"Moved to {plan.target.volume_type} at {clock(at)} with {credits_left(change.decision)} of its credits left, "
        f"{cost(run.price_change)}; {len(run.starved)} minutes starved."
    )
    return line, {
        "Headroom acted before the first starved minute": not run.starved or at < run.starved[0],
        "no minute starved": not run.starved,
        "burst credits were the limit, or it costs less without any": (
            change.decision.diagnosis.binding is Binding.BURST_CREDITS or run.price_change < 0
        ),
        "it was changed once": len(run.applied) == 1,
        "the change was verified": relieved(run),
    }


@of_change
def _iops(run: StorageRun, change: Change) -> Checked:
    plan, at = change.plan, change.at
    line = (
        f"Raised from {plan.origin.iops:,} to {plan.target.iops:,} IOPS at {clock(at)} "
        f"{cost(run.price_change)}; {starvation(run)}, then none."
    )
    return line, {
        "its IOPS were the limit": change.decision.diagnosis.binding is Binding.VOLUME_IOPS,
        "one change was enough": len(run.applied) == 1,
        "the pressure ended": relieved(run),
        "it no longer starved at the end": calm_at_the_end(run),
    }


@of_change
def _throughput(run: StorageRun, change: Change) -> Checked:
    plan, at = change.plan, change.at
    line = (
        f"Raised from {plan.origin.throughput_mibps} to {plan.target.throughput_mibps} MiB/s at "
        f"{clock(at)} {cost(run.price_change)}, IOPS unchanged at {plan.target.iops:,}; "
        f"{starvation(run)}, then none."
    )
    binding = change.decision.diagnosis.binding
    return line, {
        "its throughput was the limit": binding is Binding.VOLUME_THROUGHPUT,
        "only throughput was raised": plan.target.iops == plan.origin.iops,
        "one change was enough": len(run.applied) == 1,
        "the pressure ended": relieved(run),
        "it no longer starved at the end": calm_at_the_end(run),
    }


@of_change
def _growth(run: StorageRun, change: Change) -> Checked:
    plan, at = change.plan, change.at
    rival = next(
        (other for other in change.decision.considered
         if other.target.volume_type is VolumeType.GP3 and Guardrail.TYPES in other.blocked_by),
        None,
    )  # fmt: skip
    alternative = "" if rival is None else f" (gp3 for {money(rival.monthly_usd)} was refused)"
    line = (
        f"Grown once at {clock(at)}, {plan.origin.size_gib} to {plan.target.size_gib} GiB for "
        f"{money(plan.monthly_usd)} a month{alternative}; this cannot be undone, and the file system is not touched."
    )
    recorded = " ".join(
        (change.decision.summary, plan.why,
         *(v.detail for j in change.decision.judgements if j.plan == plan for v in j.verdicts))
    )  # fmt: skip
    return line, {
        "it grew once": len(run.applied) == 1 and run.final.size_gib > plan.origin.size_gib,
        "it stayed gp2": run.final.volume_type is VolumeType.GP2,
        "the baseline meets the need": gp2_baseline(run.final.size_gib) >= plan.demand_iops,
        "the record prices the refused gp3 plan": rival is not None,
        "the record says that it cannot be undone": "undone" in recorded and not plan.reversible,
        "the record says that the file system is not touched": "file system" in recorded,
        "the pressure ended": relieved(run),
    }


CHECKS: dict[str, Check] = {
    "credits": _credits,
    "iops": _iops,
    "throughput": _throughput,
    "growth": _growth,
}
