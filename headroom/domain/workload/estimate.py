"""The demand estimate of a volume: served load, corrected where a limit censored it."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from headroom.domain.catalog.ebs import HDD_IO_BYTES, Capability, capability
from headroom.domain.resources import Observation, Series, VolumeActivity
from headroom.domain.state import LoadProfile
from headroom.domain.workload.censoring import (
    DemandEstimate,
    DemandSamples,
    estimate_demand,
    iops_share,
)
from headroom.domain.workload.credits import forecast_credits, lasting
from headroom.domain.workload.demand import CreditForecast, Demand, Minute
from headroom.domain.workload.demand_ratio import AFTER, BEFORE
from headroom.domain.workload.history import OPS_PER_MIB
from headroom.domain.workload.pressure import clear_run, episode, minutes, recent_minutes, since

LEAD_TIME = timedelta(minutes=45)
"""Headroom acts on a depletion this close: time to effect, scan period and metric delay."""
HDD_LEAD_TIME = timedelta(minutes=20)
"""The same on HDD types: raises lead to SSD, from where few owners let a volume return."""
FRESH_MINUTES = 30
CONFIDENCE_OVER = timedelta(minutes=60)


def estimate(
    observation: Observation, seen: tuple[Minute, ...] | None = None,
    profile: LoadProfile | None = None,
) -> Demand:  # fmt: skip
    """The demand of the workload of `observation`, with its confidence.

    `seen` are its minutes, `profile` its past, where the caller has them.
    """
    can = capability(observation.volume.configuration)
    if seen is None:
        seen = recent_minutes(observation)
    current = _under_present_configuration(observation, seen)
    now_pressed = episode(current)
    credits = forecast_credits(
        now=observation.at,
        seen=seen,
        balance=observation.activity.burst_balance_percent,
        history=observation.history,
        can=can,
    )
    pressed = tuple(m for m in now_pressed if m.pressed)
    touched = tuple([m for m in current if m.iops_pressed or m.mibps_pressed])
    bursts = _bursts(touched)
    recurring = len(bursts) * 1440 / len(current) if bursts else 0.0
    starved = min(1440.0, max(_expected_starved(observation, pressed, credits), recurring))
    informative = pressed or bursts
    found = estimate_demand(
        DemandSamples(
            at=observation.at, seen=seen, earlier=partial(_same_hours, observation, can),
            ongoing=episode(seen) if pressed else (), informative=informative,
        )
    )  # fmt: skip
    before = _peaks(observation.history) if profile is None else profile.peaks
    fresh = since(seen, observation.at - timedelta(minutes=FRESH_MINUTES))
    return Demand(
        iops=found.iops,
        mibps=found.mibps,
        shape=found.shape,
        tail=found.tail,
        iops_share=round(iops_share(informative), 3),
        confidence=_confidence(observation, seen, found),
        known_minutes=len(fresh),
        pressed_minutes=len(pressed),
        expected_starved_minutes=round(starved, 3),
        credits=credits,
        peak_iops=max(max([m.ssd_iops for m in seen], default=0.0), before[0]),
        peak_mibps=max(max([m.mibps for m in seen], default=0.0), before[1]),
        clear_minutes=clear_run(current),
        backlog_ops=found.backlog_ops,
        basis=found.basis,
        pool=found.pool,
        io_mib=_io_sizes(informative or fresh),
        saturated_share=round(sum(m.saturated for m in informative) / len(informative), 3)
        if informative
        else 1.0,
    )


def _io_sizes(among: tuple[Minute, ...]) -> tuple[float, ...]:
    """Mean MiB per operation of the minutes held back by IOPS, and by MiB/s; of all without any."""
    found = []
    for held in (
        [m for m in among if m.iops_pressed], [m for m in among if m.mibps_pressed]
    ):  # fmt: skip
        ops = sum(m.ssd_iops for m in held)
        if ops:
            found.append(sum(m.mibps for m in held) / ops)
    if not found and (ops := sum(m.ssd_iops for m in among)):
        found.append(sum(m.mibps for m in among) / ops)
    return tuple(round(size, 6) for size in found)


def _confidence(observation: Observation, seen: tuple[Minute, ...], found: DemandEstimate) -> float:
    """Share of the last hour that was measured whole, halved where the estimate is a guess."""
    known = sum(1.0 if m.whole else 0.5 for m in since(seen, observation.at - CONFIDENCE_OVER))
    guessed = 1.0 if found.tail == 0 else 0.5 + 0.5 * found.weight
    return round(min(1.0, known / (CONFIDENCE_OVER.total_seconds() / 60)) * guessed, 3)


def _under_present_configuration(
    observation: Observation, seen: tuple[Minute, ...]
) -> tuple[Minute, ...]:
    """Minutes since the current configuration was requested; before that, other limits held.

    Not before work that left what is set as it was, such as RDS's on another volume of the instance.
    """
    change = observation.modification
    if change is None or change.target != observation.volume.configuration:
        return seen
    if change.origin == change.target:
        return seen
    return since(seen, change.started_at)


def _expected_starved(
    observation: Observation, pressed: tuple[Minute, ...], credits: CreditForecast | None
) -> float:
    """Minutes expected to starve in the next 24 h by the present episode or a depletion."""
    expected = 0.0
    if len(pressed) >= 2:
        expected = lasting(len(pressed))
    if credits is not None and near_depletion(credits, observation):
        expected = max(expected, credits.starved_minutes)
    return expected


def near_depletion(credits: CreditForecast | None, observation: Observation) -> bool:
    """Whether burst credits run out so soon that Headroom acts now."""
    hdd = capability(observation.volume.configuration).io_bytes == HDD_IO_BYTES
    empty_at = None if credits is None else credits.empty_at
    lead = HDD_LEAD_TIME if hdd else LEAD_TIME
    return empty_at is not None and empty_at - observation.at <= lead


def _bursts(pressed: tuple[Minute, ...]) -> tuple[Minute, ...]:
    """The pressed minutes if they are recurring short bursts: at least three."""
    runs = sum(
        1
        for i, m in enumerate(pressed)
        if i == 0 or m.at - pressed[i - 1].at > timedelta(minutes=5)
    )
    return pressed if runs >= 3 else ()


def _same_hours(
    observation: Observation, can: Capability, by_iops: bool, least: float
) -> tuple[Minute, ...]:
    """Periods of earlier days about this time of day: all that took `least` EBS operations/s, else MiB/s."""
    history, change = observation.history, observation.modification
    if history is None:
        return ()
    period_s, count = history.read_iops.period_s, len(history.read_iops.values)
    here = int((observation.at - history.read_iops.start).total_seconds() // period_s)
    per_day = 86_400 // period_s
    before, after = int(BEFORE.total_seconds() // period_s), int(AFTER.total_seconds() // period_s)
    if by_iops:  # none that a limit merged is left out: its size shows which others were merged
        limits = can, can if change is None else capability(change.origin)
        least = min(least, *(one.burst_iops for one in limits))
    reads, writes = history.read_iops.values, history.write_iops.values
    read_mibps, write_mibps = history.read_mibps.values, history.write_mibps.values
    places = []
    for day in range(here // per_day + 1, 0, -1):
        then = here - day * per_day
        for place in range(max(0, then - before - 1), min(count, then + after + 2)):
            most = (read_mibps[place] or 0.0) + (write_mibps[place] or 0.0)
            if by_iops:  # as if operations and bytes were different ones
                most = (reads[place] or 0.0) + (writes[place] or 0.0) + most * OPS_PER_MIB
            if most >= least:
                places.append(place)
    return minutes(history, can, change, places=places)


def _peaks(history: VolumeActivity | None) -> tuple[float, float]:
    """Highest operations/s and MiB/s of any period of earlier days."""
    if history is None:
        return 0.0, 0.0
    mibps = _together(history.read_mibps, history.write_mibps)
    iops = _together(history.read_iops, history.write_iops)
    return max(iops, mibps * OPS_PER_MIB), mibps


def _together(reads: Series, writes: Series) -> float:
    pairs = zip(reads.values, writes.values, strict=True)
    return max(((r or 0.0) + (w or 0.0) for r, w in pairs), default=0.0)
