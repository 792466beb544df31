"""An event came: look where it points."""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

from headroom.application.look import look
from headroom.domain.decision import Decision
from headroom.domain.resources import ResourceRef
from headroom.domain.signals import Claim, Signal
from headroom.ports import Ports


def remediate(ports: Ports, signal: Signal, now: datetime) -> tuple[Decision, ...]:
    """Follow one signal; the decisions made, one for each volume it pointed at.

    A muted alarm wakes nobody: somebody silenced it on purpose, and the sweep still looks.
    Raises ReadFailed when AWS did not answer; the event is then delivered again.
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
        case Claim.LOOK_AT_CONTRIBUTORS:
            refs = (
                () if signal.alarm_name is None else ports.metrics.contributors(signal.alarm_name)
            )
        case Claim.MODIFICATION:
            refs = () if signal.ref is None else (signal.ref,)
        case _:
            assert_never(signal.claim)
    trigger = "event" if signal.claim is Claim.MODIFICATION else "alarm"
    decisions = (look(ports, ref, now, trigger=trigger, must_record=asked) for ref in refs)
    return tuple(d for d in decisions if d is not None)
