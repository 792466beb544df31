"""Did the change land, and did the pressure end? Relief is proven, never assumed."""

from __future__ import annotations

from datetime import datetime, timedelta

from headroom.domain.catalogue import capability
from headroom.domain.demand import Binding, Diagnosis
from headroom.domain.diagnose import diagnose
from headroom.domain.estimate import estimate
from headroom.domain.observation import Observation
from headroom.domain.plans import Plan
from headroom.domain.pressure import Minute, clear_run, minutes
from headroom.domain.resources import Modification, ModificationState
from headroom.domain.verification import (
    Diverged,
    FailedAtAws,
    Ineffective,
    Pending,
    Relieved,
    Verification,
)

CLEAR_MINUTES = 5
"""Measured minutes without pressure, after the change took hold, that prove relief."""
LOOK_AGAIN = timedelta(minutes=5)
LOOK_AGAIN_LATER = timedelta(minutes=15)
PRESSED_MINUTES = 10
"""Measured minutes still pressed after AWS called the change completed: it did not help."""
SAME_CHANGE = timedelta(hours=1)
"""An unanswered call may be resolved to applied that long after AWS started the change."""
GIVE_UP = timedelta(hours=30)
"""Past this, a change whose effect could not be proven is reported as not having helped."""


def assess(observation: Observation, plan: Plan, applied_at: datetime) -> Verification:
    """What became of `plan`, applied at `applied_at`, as far as `observation` tells."""
    change = observation.modification
    ours = change is not None and change.started_at >= applied_at - SAME_CHANGE
    if ours and change is not None and change.state is ModificationState.FAILED:
        return FailedAtAws(detail="AWS reports the modification as failed")
    if observation.volume.configuration != plan.target:
        return Diverged(detail=f"expected {plan.target}, found {observation.volume.configuration}")
    if change is None or change.state is ModificationState.MODIFYING:
        return Pending(next_look=observation.at + LOOK_AGAIN, detail="the change has not landed")
    return _pressure_after(observation, plan, applied_at, change)


def _pressure_after(
    observation: Observation, plan: Plan, applied_at: datetime, change: Modification
) -> Verification:
    can = capability(plan.target)
    after = tuple(m for m in minutes(observation.activity, can) if m.at >= applied_at + LOOK_AGAIN)
    clear = clear_run(after)
    if clear >= CLEAR_MINUTES:
        return Relieved(detail=_relief(after, clear))
    completed = change.state is ModificationState.COMPLETED
    ended_at = change.ended_at or applied_at
    settled = [m for m in after if m.at >= ended_at] if completed else []
    pressed = sum(m.pressed for m in settled)
    if pressed >= PRESSED_MINUTES:
        diagnosis = diagnose(observation, estimate(observation))
        return Ineffective(cause=_cause(diagnosis, settled))
    if observation.at - applied_at > GIVE_UP:
        return Ineffective(cause="no proof of relief: too little was measured since the change")
    wait = LOOK_AGAIN if completed or not after or after[-1].pressed else LOOK_AGAIN_LATER
    return Pending(
        next_look=observation.at + min(wait, LOOK_AGAIN_LATER),
        detail=f"{change.state}, {clear} clear minutes so far",
    )


def _relief(after: tuple[Minute, ...], clear: int) -> str:
    recent = after[-clear:]
    iops = max(m.iops for m in recent)
    mibps = max(m.mibps for m in recent)
    return (
        f"{clear} measured minutes without pressure at up to {iops:.0f} IOPS and {mibps:.1f} MiB/s "
        f"(limit {recent[-1].iops_limit:.0f} and {recent[-1].mibps_limit:.0f})"
    )


def _cause(diagnosis: Diagnosis, settled: list[Minute]) -> str:
    if diagnosis.binding in (Binding.INSTANCE_IOPS, Binding.INSTANCE_THROUGHPUT):
        return f"the instance is the limit: {diagnosis.explanation}"
    pressed = [m for m in settled if m.pressed]
    used_up = sum(m.iops >= 0.95 * m.iops_limit or m.mibps >= 0.95 * m.mibps_limit for m in pressed)
    if used_up * 2 >= len(pressed):
        return (
            "the load used up the new limit as well: it wants more, or it is a closed loop "
            "without natural demand"
        )
    return "the limit is reached in bursts shorter than a minute; the volume's average is not"
