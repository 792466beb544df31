"""Demand from what was served: limits censor it, so what was seen is where guessing starts."""

from __future__ import annotations

from datetime import timedelta
from statistics import mean, median, pstdev

from headroom.domain.catalogue import Capability, capability
from headroom.domain.credits import forecast, lasting
from headroom.domain.demand import CreditForecast, Demand, Estimate, Shape
from headroom.domain.observation import Observation
from headroom.domain.pressure import AT_LIMIT, Minute, clear_run, episode, minutes

LEAD_TIME = timedelta(minutes=45)
"""A depletion this close is acted on: time to effect, plus scan period, plus metric delay."""
CENSORED_TAIL = 1.2
"""Tail of demand above a limit it touched; heavy, as storage load is (Pareto)."""
NO_BOUND = 16.0
"""Upper estimate over floor where queue and latency give no bound."""
FRESH_MINUTES = 30


def estimate(observation: Observation) -> Demand:
    """What the workload of `observation` wants, with how sure that is."""
    can = capability(observation.volume.configuration)
    seen = minutes(observation.activity, can)
    earlier = () if observation.history is None else minutes(observation.history, can)
    current = _under_present_configuration(observation, seen)
    now_pressed = episode(current)
    credits = forecast(
        now=observation.at,
        seen=seen,
        balance=observation.activity.burst_balance_percent,
        history=observation.history,
        can=can,
    )
    pressed = tuple(m for m in now_pressed if m.pressed)
    touched = _touched_earlier(earlier, observation)
    starved = _expected_starved(observation, current, pressed, credits)
    starved = min(1440.0, starved + _per_day(touched, earlier, observation))
    telling = pressed or _bursts(current) or touched
    iops, mibps, tail = _levels(seen, telling, can)
    fresh = tuple(m for m in seen if m.at >= observation.at - timedelta(minutes=FRESH_MINUTES))
    return Demand(
        iops=iops,
        mibps=mibps,
        shape=_shape(seen, pressed),
        tail=tail,
        iops_share=round(_iops_share(telling), 3),
        confidence=round(min(1.0, len(seen) / 60) * (0.5 if pressed else 1.0), 3),
        known_minutes=len(fresh),
        pressed_minutes=len(pressed),
        expected_starved_minutes=round(starved, 3),
        credits=credits,
        peak_iops=max((m.iops for m in (*seen, *earlier)), default=0.0),
        peak_mibps=max((m.mibps for m in (*seen, *earlier)), default=0.0),
        clear_minutes=clear_run(current),
    )


def _under_present_configuration(
    observation: Observation, seen: tuple[Minute, ...]
) -> tuple[Minute, ...]:
    """Minutes since the present configuration was asked for; before that, limits were others."""
    change = observation.modification
    if change is None or change.target != observation.volume.configuration:
        return seen
    return tuple(m for m in seen if m.at >= change.started_at)


def _expected_starved(
    observation: Observation,
    current: tuple[Minute, ...],
    pressed: tuple[Minute, ...],
    credits: CreditForecast | None,
) -> float:
    """Minutes expected to starve in the next 24 h by the present episode, depletion, recurrence."""
    expected = 0.0
    if len(pressed) >= 2:
        expected = lasting(len(pressed))
    if credits is not None and credits.empty_at is not None:
        near = credits.empty_at - observation.at <= LEAD_TIME
        expected = max(expected, credits.starved_minutes if near else 0.0)
    return max(expected, _recurring(current))


def _bursts(current: tuple[Minute, ...]) -> tuple[Minute, ...]:
    """The pressed minutes of short bursts that come again; empty below three bursts."""
    pressed = tuple(m for m in current if m.pressed)
    runs = sum(
        1
        for i, m in enumerate(pressed)
        if i == 0 or m.at - pressed[i - 1].at > timedelta(minutes=5)
    )
    return pressed if runs >= 3 else ()


def _recurring(current: tuple[Minute, ...]) -> float:
    """Pressed minutes per day if bursts go on at the rate of the last hours."""
    bursts = _bursts(current)
    return len(bursts) * 1440 / len(current) if bursts else 0.0


def _touched_earlier(earlier: tuple[Minute, ...], observation: Observation) -> tuple[Minute, ...]:
    """Periods of earlier days in which load touched what the volume sustains today.

    None for a bucket, which forgives: only running it forward tells (see credits.py).
    """
    can = capability(observation.volume.configuration)
    if can.iops_credits or can.mib_credits:
        return ()
    change = observation.modification
    since = None if change is None else change.started_at
    return tuple(
        m
        for m in earlier
        if m.at < observation.at - timedelta(hours=3)
        and (_at_limit(m, can) or (m.pressed and (since is None or m.at >= since)))
    )


def _at_limit(minute: Minute, can: Capability) -> bool:
    return (
        minute.iops >= AT_LIMIT * can.sustained_iops
        or minute.mibps >= AT_LIMIT * can.sustained_mibps
    )


def _per_day(
    touched: tuple[Minute, ...], earlier: tuple[Minute, ...], observation: Observation
) -> float:
    """Minutes a day in `touched`: a period at the limit counts whole, one whose check was 1 at
    some time as the one minute that is certain."""
    history = observation.history
    if history is None or not touched:
        return 0.0
    can = capability(observation.volume.configuration)
    period_min = history.read_iops.period_s / 60
    days = len(earlier) * period_min / 1440
    total = sum(period_min if _at_limit(m, can) else 1.0 for m in touched)
    return total / days if days >= 1 else 0.0


def _levels(
    seen: tuple[Minute, ...], pressed: tuple[Minute, ...], can: Capability
) -> tuple[Estimate, Estimate, float]:
    """IOPS and MiB/s wanted, and how heavy the tail above them is."""
    free = [m for m in seen if not m.pressed]
    peak_iops = max((m.iops for m in free), default=0.0)
    peak_mibps = max((m.mibps for m in free), default=0.0)
    if not pressed:
        return _known(peak_iops), _known(peak_mibps), 0.0
    at_iops, at_mibps = _touched(pressed)
    if peak_iops >= 1.02 * at_iops and peak_mibps >= 1.02 * at_mibps:
        # The same load was seen running free: a bucket that ran dry, or a limit since lowered.
        return _known(max(peak_iops, at_iops)), _known(max(peak_mibps, at_mibps)), 0.0
    bound = _little_bound(free, pressed)
    return (
        _censored(at_iops, peak_iops, bound, any(m.iops_pressed for m in pressed)),
        _censored(at_mibps, peak_mibps, bound, any(m.mibps_pressed for m in pressed)),
        CENSORED_TAIL,
    )


def _touched(pressed: tuple[Minute, ...]) -> tuple[float, float]:
    """IOPS and MiB/s the load reached: a check of 1 at a low average means it reached the limit.

    A burst of operations carries its bytes with it; a burst of bytes is large I/O, and says
    nothing of more operations than were served.
    """
    by_iops = [m for m in pressed if m.iops_pressed]
    by_mibps = [m for m in pressed if m.mibps_pressed]
    iops = mean(m.iops for m in by_mibps or pressed)
    mibps = mean(m.mibps for m in by_iops or pressed)
    if by_iops:
        served = mean(m.iops for m in by_iops)
        reached = max(served, max(m.iops_limit for m in by_iops))
        iops, mibps = max(iops, reached), mibps * (reached / served if served else 1.0)
    if by_mibps:
        mibps = max(mibps, max(m.mibps_limit for m in by_mibps))
    return iops, mibps


def _iops_share(pressed: tuple[Minute, ...]) -> float:
    """Share of pressed minutes that IOPS held back; minutes that both did count half."""
    held = [(m.iops_pressed, m.mibps_pressed) for m in pressed if m.pressed]
    if not held:
        return 1.0
    return sum(1.0 if not tput else 0.5 if ops else 0.0 for ops, tput in held) / len(held)


def _little_bound(free: list[Minute], pressed: tuple[Minute, ...]) -> float:
    """Most the load could be over what it got, by Little's law; never a target."""
    queues = [m.queue for m in pressed if m.queue is not None]
    calm = [m.latency_ms for m in free if m.latency_ms and m.iops > 1]
    served = mean(m.iops for m in pressed)
    if not queues or not calm or not served:
        return NO_BOUND
    return min(NO_BOUND, max(1.0, median(queues) / (median(calm) / 1000) / served))


def _known(value: float) -> Estimate:
    return Estimate(floor=value, likely=value, upper=value, censored=False)


def _censored(at: float, peak: float, bound: float, binds: bool) -> Estimate:
    floor = max(at, peak)
    return Estimate(
        floor=floor, likely=floor * min(2.0, bound), upper=floor * bound, censored=binds
    )


def _shape(seen: tuple[Minute, ...], pressed: tuple[Minute, ...]) -> Shape:
    if not seen:
        return Shape.UNKNOWN
    if not pressed:
        return Shape.IDLE if max(m.iops for m in seen) < 1 else Shape.UNCONSTRAINED
    queues = [m.queue for m in pressed if m.queue is not None]
    flat = len(queues) >= 5 and min(queues) > 8 and pstdev(queues) <= 0.05 * mean(queues)
    # Long and flat at the limit: a fixed number of workers waits, there is no natural demand.
    return Shape.CLOSED_LOOP if flat else Shape.CENSORED
