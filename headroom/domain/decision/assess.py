"""Verification: whether a change landed, and whether pressure ended, stayed away, or space was added."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from statistics import mean, median

from headroom.domain.catalog.ebs import Capability, capability
from headroom.domain.decision.action import (
    RECHECK_INTERVAL,
    VERIFICATION_TIMEOUT,
    Diverged,
    FailedAtAws,
    Ineffective,
    Pending,
    ReducedTooFar,
    ReductionConfirmed,
    Relieved,
    RollbackConfirmed,
    Untested,
    Verification,
)
from headroom.domain.decision.diagnose import diagnose
from headroom.domain.decision.space import assess_space
from headroom.domain.planning import Plan
from headroom.domain.resources import Modification, ModificationState, Observation, spoken
from headroom.domain.workload import (
    AT_LIMIT,
    BUSY_IOPS,
    ON_INSTANCE,
    Diagnosis,
    Minute,
    clear_run,
    estimate,
    held_by_instance,
    minutes,
)

CLEAR_MINUTES = 5
"""Measured minutes without pressure, after the change took effect, that prove relief."""
TESTED_MINUTES = 3
"""Of them, minutes with a load that used to press."""
ALIKE = 0.8
"""Share of the load that pressed before the change from which a minute counts as such."""
REDUCTION_CONFIRMED_MINUTES = 15
"""Measured minutes without pressure, after a reduction, that confirm it."""
PRESSED_MINUTES = 10
"""This many pressed minutes make a change ineffective: after its completion, or before it at the new limit,
if pressure lasts. What only drained a backlog is over by then."""
REDUCED_TOO_FAR_MINUTES = 2
"""Minutes pressed by a limit that the change lowered, after which it is raised again."""
LATENCY_MINUTES = 30
"""Measured minutes after which the latency of a type is known, half of them with load."""
HELD_MINUTES = 2
"""Of the minutes that would prove relief, those held back by the instance from which they prove none."""
SAME_CHANGE = timedelta(hours=1)
"""How long before the call AWS may have started what counts as the same change."""
FULL_COPY_TIMEOUT = timedelta(days=7)
"""The same while RDS still works on it or copies all data; AWS documents no duration."""
FULL_COPY_RECHECK_INTERVAL = timedelta(minutes=30)


def assess(observation: Observation, plan: Plan, applied_at: datetime) -> Verification:
    """The result of `plan`, applied at `applied_at`, as far as `observation` shows it."""
    landing = _landing(observation, plan, applied_at)
    if landing is not None:
        return landing
    if plan.growth is not None:
        space = assess_space(observation, plan, applied_at)
        if plan.growth.alone or not isinstance(space, Relieved):
            return space
    return _pressure_after(observation, plan, applied_at, observation.modification)


def assess_latency(
    observation: Observation, plan: Plan, applied_at: datetime, objective_ms: float
) -> Verification:
    """Whether a type that was taken for its latency meets the owner's objective, once AWS has completed the change."""
    landing, change = _landing(observation, plan, applied_at), observation.modification
    if landing is not None:
        return landing
    completed_at = _completed_at(change, applied_at)
    measured = minutes(observation.activity, capability(plan.target), change)
    since = [m for m in measured if completed_at is not None and m.at >= completed_at]
    limited = sum(m.pressed for m in since) >= REDUCED_TOO_FAR_MINUTES
    if len(since) < LATENCY_MINUTES and not limited:
        return _pending(observation, plan, applied_at, "its latency is not measured yet")
    times = [m.latency_ms for m in since if m.latency_ms is not None and m.ops >= BUSY_IOPS]
    if limited or 2 * len(times) < LATENCY_MINUTES:
        return Untested(detail="too little load below its limits to tell its latency")
    takes = f"operations take {median(times):.2f} ms, the owner's objective is {objective_ms:g}"
    return Ineffective(cause=takes) if median(times) > objective_ms else Relieved(detail=takes)


def assess_rollback(observation: Observation, plan: Plan, applied_at: datetime) -> Verification:
    """The result of a rollback: landed or not; its relief is not verified."""
    landing, noun = _landing(observation, plan, applied_at), observation.volume.ref.noun
    return landing or RollbackConfirmed(detail=f"rolled back: the {noun} is {plan.target} again")


def _landing(observation: Observation, plan: Plan, applied_at: datetime) -> Verification | None:
    """What keeps a change from counting as landed; None once it has landed."""
    change = observation.modification
    ours = (
        change is not None
        and _makes(change, plan)
        and change.started_at >= applied_at - SAME_CHANGE
    )
    if ours and change is not None and change.state is ModificationState.FAILED:
        return FailedAtAws(detail="AWS reports the modification as failed")
    if ours and change is not None and change.state is ModificationState.MODIFYING:
        # Until it leaves this state AWS may still describe the volume as it was.
        return _pending(observation, plan, applied_at, "the change has not landed")
    found = observation.volume.configuration
    if ours and found.storage == plan.origin.storage:
        # Two reads of different age: a change that AWS lists as past `modifying` has landed.
        return _pending(observation, plan, applied_at, "AWS still describes the old configuration")
    if found.storage != plan.target.storage:
        return Diverged(detail=f"expected {plan.target}, found {found}")
    return None


def _makes(change: Modification, plan: Plan) -> bool:
    """Whether `change` makes the storage of `plan`; a change of the deployment alone makes none."""
    origin, target = change.origin, change.target
    of_storage = origin == target or origin.storage != target.storage
    return of_storage and target.storage == plan.target.storage


def _pending(
    observation: Observation, plan: Plan, applied_at: datetime, detail: str,
    since: Sequence[Minute] | None = None,
) -> Pending | Ineffective | Untested:  # fmt: skip
    """Wait; after the timeout, what the minutes measured `since` show: None before it landed.

    Only measured pressure makes a change ineffective, which the policy may have rolled back.
    """
    waited, most = _waited(observation, applied_at), verification_timeout(observation, plan)
    if waited > most:
        unproven = f"no proof of relief in {_hours(most)}"
        if since is not None and sum(m.pressed for m in since) >= PRESSED_MINUTES:
            return Ineffective(cause=f"{unproven}: {detail}")
        if since is not None:
            unproven += f", and {_measured(observation, since)}"
        return Untested(detail=f"{unproven}: {detail}")
    again = (
        FULL_COPY_RECHECK_INTERVAL
        if plan.full_copy or waited > VERIFICATION_TIMEOUT
        else RECHECK_INTERVAL
    )
    return Pending(next_reconcile_at=observation.at + again, detail=detail)


def _measured(observation: Observation, since: Sequence[Minute]) -> str:
    """How much of the last hours was measured, and pressed, since a change."""
    series = observation.activity.read_iops
    hours = _hours(timedelta(seconds=series.period_s * len(series.values)))
    if not since:
        return f"nothing was measured in the last {hours}"
    pressed = sum(m.pressed for m in since)
    return f"{pressed} of {len(since)} measured minutes of the last {hours} were at a limit"


def _hours(time: timedelta) -> str:
    return f"{time.total_seconds() / 3600:.0f} h"


def verification_timeout(observation: Observation, plan: Plan) -> timedelta:
    """How long verification may take: RDS may work on the storage for days."""
    change = observation.modification
    of_rds = observation.volume.facts is not None
    at_work = of_rds and change is not None and change.in_flight
    return FULL_COPY_TIMEOUT if plan.full_copy or at_work else VERIFICATION_TIMEOUT


def _waited(observation: Observation, applied_at: datetime) -> timedelta:
    """Time since the change could be verified; for a database, since RDS finished it."""
    change = observation.modification
    of_rds = observation.volume.facts is not None and change is not None
    ended_at = change.ended_at if of_rds and change is not None else None
    return observation.at - max(applied_at, ended_at or applied_at)


def _pressure_after(
    observation: Observation, plan: Plan, applied_at: datetime, change: Modification | None
) -> Verification:
    completed_at = _completed_at(change, applied_at)
    old = capability(plan.origin)
    since = tuple(
        m
        for m in minutes(observation.activity, capability(plan.target), change)
        if m.at >= applied_at + RECHECK_INTERVAL
    )
    after = tuple(m for m in since if m.pressed or _is_evidence(m, old, completed_at))
    clear = clear_run(after)
    so_far = f"{change.state.value if change else 'completed'}, {clear} clear minutes so far"
    lowered_too_far = _lowered_too_far(plan, after)
    if lowered_too_far is not None:
        return ReducedTooFar(cause=lowered_too_far)
    if not plan.sustains_more:
        if not since and _waited(observation, applied_at) > verification_timeout(observation, plan):
            return Untested(detail=f"{_measured(observation, since)}: {so_far}")
        return _after_reduction(observation, plan, after, applied_at, completed_at, so_far)
    needed = REDUCTION_CONFIRMED_MINUTES if plan.lowers else CLEAR_MINUTES
    run = after[len(after) - clear :]
    held = set(held_by_instance(observation, run))
    if sum(m in held for m in run[-needed:]) >= HELD_MINUTES:
        if completed_at is None or len(held) < PRESSED_MINUTES:
            so_far += ", the instance is the limit"
            return _pending(observation, plan, applied_at, so_far, since)
        times = f"its own Exceeded check was 1 in {len(held)} of {clear} minutes in which the volume's was not"
        return Ineffective(cause=f"the instance is the limit: {times}")
    free = tuple(m for m in run if m not in held)
    if clear >= needed and _tested(observation, plan, free, applied_at):
        return Relieved(detail=_clear(plan, free, completed_at))
    if clear >= REDUCTION_CONFIRMED_MINUTES and completed_at is not None:
        but = ", except while the instance was the limit" if held else ""
        told = f"in these minutes no load was as high as the one that caused the pressure{but}"
        return Untested(detail=f"{_clear(plan, free, completed_at)}: {told}")
    settled = [
        m for m in after
        if completed_at is not None
        and (m.at >= completed_at or (not clear_run(since) and _used_up(m, old, plan.capability)))
    ]  # fmt: skip
    if sum(m.pressed for m in settled) >= PRESSED_MINUTES:
        diagnosis = diagnose(observation, estimate(observation))
        cause = spoken(observation.volume.ref.kind, _cause(diagnosis, settled))
        return Ineffective(cause=cause)
    return _pending(observation, plan, applied_at, so_far, since)


def _tested(
    observation: Observation, plan: Plan, clear: tuple[Minute, ...], applied_at: datetime
) -> bool:
    """Whether the load since would have pressed before: only that proves relief.

    More than the old limits sustained, or about what pressed in the minutes before the change.
    """
    old = capability(plan.origin)
    before = [
        m for m in minutes(observation.activity, old) if m.at < applied_at and m.pressed
    ]  # fmt: skip
    bars = [AT_LIMIT * old.sustained_iops, AT_LIMIT * old.sustained_mibps]
    by_iops, by_mibps = (
        [m.iops for m in before if m.iops_pressed],
        [m.mibps for m in before if m.mibps_pressed],
    )
    if by_iops:
        bars[0] = min(bars[0], ALIKE * mean(by_iops))
    if by_mibps:
        bars[1] = min(bars[1], max(1.0, ALIKE * mean(by_mibps)))
    return sum(m.iops >= bars[0] or m.mibps >= bars[1] for m in clear) >= TESTED_MINUTES


def _after_reduction(
    observation: Observation, plan: Plan, after: tuple[Minute, ...], applied_at: datetime,
    completed_at: datetime | None, so_far: str,
) -> ReductionConfirmed | Pending:  # fmt: skip
    """The result of a change that raised nothing; pressure on other limits is not its fault."""
    clear, pressed = clear_run(after), sum(m.pressed for m in after)
    if pressed >= REDUCED_TOO_FAR_MINUTES:
        return ReductionConfirmed(
            detail=f"the {pressed} minutes of pressure since come from a limit it did not lower"
        )
    if clear >= REDUCTION_CONFIRMED_MINUTES:
        return ReductionConfirmed(detail=_clear(plan, after[-clear:], completed_at))
    if _waited(observation, applied_at) > verification_timeout(observation, plan):
        return ReductionConfirmed(detail=f"no pressure was measured in all that time ({so_far})")
    more = 0 if pressed else REDUCTION_CONFIRMED_MINUTES - clear
    return Pending(
        next_reconcile_at=observation.at + max(RECHECK_INTERVAL, timedelta(minutes=more)),
        detail=so_far,
    )


def _lowered_too_far(plan: Plan, after: tuple[Minute, ...]) -> str | None:
    """Which lowered limit the load touches now; None if none."""
    now, then = capability(plan.origin), plan.capability
    for what, less, pressed in (
        ("IOPS", _less(now.sustained_iops, then.sustained_iops, now.burst_iops, then.burst_iops),
         sum(m.iops_pressed for m in after)),
        ("MiB/s", _less(now.sustained_mibps, then.sustained_mibps, now.burst_mibps,
                        then.burst_mibps), sum(m.mibps_pressed for m in after)),
    ):  # fmt: skip
        if less is not None and pressed >= REDUCED_TOO_FAR_MINUTES:
            return f"{pressed} minutes at the limit of {less[1]:.0f} {what}, lowered from {less[0]:.0f}"
    return None


def _less(
    sustained: float, sustained_then: float, burst: float, burst_then: float
) -> tuple[float, float] | None:
    """The limit before and after the change; None where it is not lower."""
    if burst_then < burst:
        return burst, burst_then
    return (sustained, sustained_then) if sustained_then < sustained else None


def _completed_at(change: Modification | None, applied_at: datetime) -> datetime | None:
    """Since when the new performance is guaranteed; None while AWS still optimizes."""
    if change is None:  # AWS no longer lists it: it ended long ago
        return applied_at
    if change.state is not ModificationState.COMPLETED:
        return None
    return change.ended_at or applied_at


def _used_up(minute: Minute, old: Capability, new: Capability) -> bool:
    """Whether more was served than the old limits allowed, and all that a new one allows."""
    return (
        minute.iops * AT_LIMIT > old.burst_iops and minute.iops >= AT_LIMIT * new.burst_iops
    ) or (minute.mibps * AT_LIMIT > old.burst_mibps and minute.mibps >= AT_LIMIT * new.burst_mibps)


def _is_evidence(minute: Minute, old: Capability, completed_at: datetime | None) -> bool:
    """Whether a minute without pressure is evidence that the change helped.

    Before AWS calls it completed, an idle minute proves nothing, and a minute without an Exceeded
    check only if more was served than the old limits allowed.
    """
    if completed_at is not None and minute.at >= completed_at:
        return True
    if minute.checked:
        return minute.iops >= 1
    return minute.iops * AT_LIMIT > old.burst_iops or minute.mibps * AT_LIMIT > old.burst_mibps


def _clear(plan: Plan, clear: Sequence[Minute], completed_at: datetime | None) -> str:
    iops, mibps, last = max(m.iops for m in clear), max(m.mibps for m in clear), clear[-1]
    most = plan.capability.burst_iops, plan.capability.burst_mibps
    if completed_at is not None and last.at >= completed_at:
        most = last.iops_limit, last.mibps_limit
    return (
        f"{len(clear)} measured minutes without pressure at up to {iops:.0f} IOPS and {mibps:.1f} MiB/s (limit "
        f"{most[0]:.0f} and {most[1]:.0f}{' once AWS is done' if completed_at is None else ''})"
    )


def _cause(diagnosis: Diagnosis, settled: list[Minute]) -> str:
    if diagnosis.binding in ON_INSTANCE:
        return f"the instance is the limit: {diagnosis.explanation}"
    pressed = [m for m in settled if m.pressed]
    used_up = sum(m.iops >= 0.95 * m.iops_limit or m.mibps >= 0.95 * m.mibps_limit for m in pressed)
    if used_up * 2 >= len(pressed):
        return (
            "the load used up the new limit as well: it wants more, or it is a closed loop "
            "without natural demand"
        )
    return "the limit is reached in bursts shorter than a minute; the volume's average is not"
