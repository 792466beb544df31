"""How long raises took until they had their effect: AWS says minutes to hours, and does not report it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from headroom.domain.catalog.ebs import SSD_IO_BYTES, Capability, capability
from headroom.domain.resources import Observation, VolumeActivity
from headroom.domain.state.limit_history import permits
from headroom.domain.state.resource_state import KnownModification

MIB = 1024 * 1024
EMPTY_PERCENT = 1.0
"""A bucket at or below this is empty: the sustained limit is in force."""
LONGEST = timedelta(hours=24)
LATELY = timedelta(days=3)
"""Earlier raises were looked at when they were as recent: what they showed is remembered."""
REMEMBERED = timedelta(days=90)
"""How long the slowest raise counts: those in time since then do not show how long they took."""
HELD = 0.97
"""Share of the earlier limit from which load is held at it, if operations wait all the time."""
CLEARLY = 1.5
"""Times the earlier limit from which what is served shows whether a raise has its effect."""
WAITS_MS, WAITS = 10.0, 5.0
"""Latency from which operations wait where no check is published: in ms, and in times the median."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowEffect:
    """The raise of a resource that took the longest until it had its effect."""

    minutes: int
    """How long it had none, at least."""
    seen_at: datetime


def slower(before: SlowEffect | None, now: SlowEffect) -> SlowEffect:
    """The slower of both, as long as the earlier one is remembered."""
    if before is None or now.seen_at - before.seen_at > REMEMBERED:
        return now
    return now if now.minutes > before.minutes else before


def effect_takes(observation: Observation, known: Sequence[KnownModification]) -> timedelta:
    """The longest time after which a raise still had no effect: load was held at the earlier limit.

    Of the raises of the last days; zero where none was seen to come late. Load that no earlier limit
    held says nothing.
    """
    history, found = observation.history, timedelta(0)
    if history is None:
        return found
    changes = sorted(known, key=lambda change: change.started_at)
    latest = observation.modification
    for number, change in enumerate(changes, start=1):
        until = change.started_at + LONGEST
        if number < len(changes):
            until = min(until, changes[number].started_at)
        elif latest is not None and latest.ended_at is not None:
            until = min(until, max(latest.ended_at, change.started_at))
        if until < observation.at - LATELY:
            continue
        found = max(found, _held_until(history, change, until) - change.started_at)
    return found


def _held_until(history: VolumeActivity, change: KnownModification, until: datetime) -> datetime:
    """The end of the last period in which load was held at the limit before a raise; its start if none."""
    if change.origin is None or change.target is None:
        return change.started_at
    before, then = capability(change.origin), capability(change.target)
    raised_to = then.sustained_iops, then.sustained_mibps
    if permits((before.sustained_iops, before.sustained_mibps), raised_to):
        return change.started_at
    grid, held = history.read_iops, change.started_at
    step = timedelta(seconds=grid.period_s)
    first = max(0, -((grid.start - change.started_at) // step))
    end = max(first, -((grid.start - until) // step))
    balances = history.burst_balance_percent.values
    for place, took in enumerate(_taken(history, slice(first, end)), start=first):
        if took is None:
            continue
        old = _limits(before, balances[place])
        if not permits(old, took):
            break
        sides = zip(took, old, raised_to, strict=True)
        near = any(mine >= HELD * was and now >= CLEARLY * was for mine, was, now in sides)
        if near and _waits(history, place):
            held = grid.start + (place + 1) * step
    return held


def _taken(history: VolumeActivity, places: slice) -> Iterator[tuple[float, float] | None]:
    """SSD operations/s and MiB/s of each of these periods; None where they were not measured."""
    parts = (history.read_iops, history.write_iops, history.read_mibps, history.write_mibps)
    for reads, writes, read_mibps, write_mibps in zip(
        *(one.values[places] for one in parts), strict=True
    ):
        if reads is None or writes is None:
            yield None
        else:
            mibps = (read_mibps or 0.0) + (write_mibps or 0.0)
            yield max(reads + writes, mibps * MIB / SSD_IO_BYTES), mibps


def _limits(can: Capability, balance: float | None) -> tuple[float, float]:
    if balance is not None and balance <= EMPTY_PERCENT:
        return can.sustained_iops, can.sustained_mibps
    return can.burst_iops, can.burst_mibps


def _waits(history: VolumeActivity, place: int) -> bool:
    """Whether operations waited all the time: by the checks, else by their latency."""
    checks = history.iops_exceeded.values[place], history.throughput_exceeded.values[place]
    if any(check is not None for check in checks):
        return max(check or 0.0 for check in checks) >= history.read_iops.period_s / 60
    latency = history.latency_ms.values[place]
    usual = median([ms for ms in history.latency_ms.values if ms] or [0.0])
    return latency is not None and latency > max(WAITS_MS, WAITS * usual)
