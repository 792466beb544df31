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
    starved = _expected_starved(observation, current, pressed, credits, earlier)
    iops, mibps, tail = _levels(seen, pressed, can)
    fresh = tuple(m for m in seen if m.at >= observation.at - timedelta(minutes=FRESH_MINUTES))
    return Demand(
        iops=iops,
        mibps=mibps,
        shape=_shape(seen, pressed),
        tail=tail,
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
    earlier: tuple[Minute, ...],
) -> float:
    """Minutes expected to starve in the next 24 h: the present episode, depletion, recurrence."""
    expected = 0.0
    if len(pressed) >= 2:
        expected = lasting(len(pressed))
    if credits is not None and credits.empty_at is not None:
        near = credits.empty_at - observation.at <= LEAD_TIME
        expected = max(expected, credits.starved_minutes if near else 0.0)
    expected = max(expected, _recurring(current, pressed))
    expected += _on_earlier_days(earlier, observation)
    return min(1440.0, expected)


def _recurring(current: tuple[Minute, ...], pressed: tuple[Minute, ...]) -> float:
    """Short bursts that come again: pressed minutes per day at the rate of the last hours."""
    all_pressed = [m for m in current if m.pressed]
    runs = sum(
        1
        for i, m in enumerate(all_pressed)
        if i == 0 or m.at - all_pressed[i - 1].at > timedelta(minutes=5)
    )
    if runs < 3 or not current:
        return 0.0
    return len(all_pressed) * 1440 / len(current)


def _on_earlier_days(earlier: tuple[Minute, ...], observation: Observation) -> float:
    """Minutes per earlier day in which load touched what the volume sustains today.

    A period served at the limit counts whole; one whose check was 1 at some time counts as the
    one minute that is certain.
    """
    can = capability(observation.volume.configuration)
    history, change = observation.history, observation.modification
    if history is None or can.iops_credits or can.mib_credits:
        return 0.0  # a bucket forgives: only running it forward tells (see credits.py)
    period_min = history.read_iops.period_s / 60
    since = change.started_at if change is not None else None
    seen = [m for m in earlier if m.at < observation.at - timedelta(hours=3)]
    touched = 0.0
    for m in seen:
        if m.iops >= AT_LIMIT * can.sustained_iops or m.mibps >= AT_LIMIT * can.sustained_mibps:
            touched += period_min
        elif m.pressed and (since is None or m.at >= since):
            touched += 1
    days = len(seen) * period_min / 1440
    return touched / days if days >= 1 else 0.0


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
    """The level the load reached: a check of 1 at a low average means it reached the limit."""
    served_iops = mean(m.iops for m in pressed)
    served_mibps = mean(m.mibps for m in pressed)
    by_iops = max(
        (m.iops_limit / served_iops for m in pressed if m.iops_pressed and served_iops), default=1.0
    )
    by_mibps = max(
        (m.mibps_limit / served_mibps for m in pressed if m.mibps_pressed and served_mibps),
        default=1.0,
    )
    lift = (
        max(1.0, min(x for x in (by_iops, by_mibps) if x > 1.0))
        if max(by_iops, by_mibps) > 1
        else 1.0
    )
    return served_iops * lift, served_mibps * lift


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
