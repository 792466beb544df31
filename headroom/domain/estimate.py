"""Demand from what was served: limits censor it, so what was seen is where guessing starts."""

from __future__ import annotations

from datetime import timedelta

from headroom.domain.catalogue import Capability, capability
from headroom.domain.credits import forecast, lasting
from headroom.domain.demand import CreditForecast, Demand
from headroom.domain.observation import Observation
from headroom.domain.pressure import AT_LIMIT, Minute, clear_run, episode, minutes
from headroom.domain.wanted import Evidence, Wanted, iops_share, wanted

LEAD_TIME = timedelta(minutes=45)
"""A depletion this close is acted on: time to effect, plus scan period, plus metric delay."""
FRESH_MINUTES = 30
CONFIDENCE_OVER = timedelta(minutes=60)


def estimate(observation: Observation) -> Demand:
    """What the workload of `observation` wants, with how sure that is."""
    can = capability(observation.volume.configuration)
    change = observation.modification
    seen = minutes(observation.activity, can, change)
    earlier = () if observation.history is None else minutes(observation.history, can, change)
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
    found = wanted(
        Evidence(
            at=observation.at, seen=seen, earlier=earlier,
            ongoing=episode(seen) if pressed else (), telling=telling,
        )
    )  # fmt: skip
    fresh = tuple(m for m in seen if m.at >= observation.at - timedelta(minutes=FRESH_MINUTES))
    return Demand(
        iops=found.iops,
        mibps=found.mibps,
        shape=found.shape,
        tail=found.tail,
        iops_share=round(iops_share(telling), 3),
        confidence=_confidence(observation, seen, found),
        known_minutes=len(fresh),
        pressed_minutes=len(pressed),
        expected_starved_minutes=round(starved, 3),
        credits=credits,
        peak_iops=max((m.ssd_iops for m in (*seen, *earlier)), default=0.0),
        peak_mibps=max((m.mibps for m in (*seen, *earlier)), default=0.0),
        clear_minutes=clear_run(current),
        backlog_ops=found.backlog_ops,
        evidence=found.evidence,
    )


def _confidence(observation: Observation, seen: tuple[Minute, ...], found: Wanted) -> float:
    """Share of the last hour that was measured whole, halved where the estimate is a guess."""
    since = observation.at - CONFIDENCE_OVER
    known = sum(1.0 if m.whole else 0.5 for m in seen if m.at >= since)
    guessed = 1.0 if found.tail == 0 else 0.5 + 0.5 * found.weight
    return round(min(1.0, known / (CONFIDENCE_OVER.total_seconds() / 60)) * guessed, 3)


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
