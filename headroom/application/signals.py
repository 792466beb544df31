"""An event came: look where it points."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import assert_never

from headroom.application.reconcile import look
from headroom.domain.decision import Decision
from headroom.domain.resources import Claim, ResourceRef, Signal
from headroom.ports import Ports, ReadFailed

RESERVE_S = 20.0
"""Seconds of a function's time kept for finishing what was begun."""


def remediate(
    ports: Ports,
    signal: Signal,
    now: datetime,
    *,
    time_left: Callable[[], float] = lambda: float("inf"),
) -> tuple[Decision, ...]:
    """Follow one signal; the decisions made, one for each volume it pointed at.

    A muted alarm wakes nobody: somebody silenced it on purpose, and the sweep still looks.
    One volume that cannot be read does not hide the others. Raises ReadFailed at the end when
    AWS did not answer for one or time ran out; the event is then delivered again.
    """
    if signal.muted:
        return ()
    refs: tuple[ResourceRef, ...] = ()
    asked = False
    match signal.claim:
        case Claim.NOTHING:
            return ()
        case Claim.PRESSURE:
            refs = () if signal.ref is None else (signal.ref,)
            asked = True
        case Claim.CHECK_CONTRIBUTORS:
            refs = (
                () if signal.alarm_name is None else ports.metrics.contributors(signal.alarm_name)
            )
        case Claim.MODIFICATION | Claim.HINT:  # recorded where a look finds news
            refs = () if signal.ref is None else (signal.ref,)
        case _:
            assert_never(signal.claim)
    trigger = "event" if signal.claim in (Claim.MODIFICATION, Claim.HINT) else "alarm"
    decisions: list[Decision] = []
    missed: list[str] = []
    for ref in refs:
        if time_left() < RESERVE_S:
            missed.append(f"{ref.resource_id}: no time left")
            continue
        try:
            decision = look(ports, ref, now, trigger=trigger, must_record=asked)
        except ReadFailed as error:
            missed.append(f"{ref.resource_id}: {error}")
            continue
        if decision is not None:
            decisions.append(decision)
    if missed:
        raise ReadFailed("; ".join(missed))
    return tuple(decisions)
