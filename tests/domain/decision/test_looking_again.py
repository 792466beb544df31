"""After every answer somebody looks again while less may cost less: no kept storage waits for luck."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from headroom.domain.decision import DAILY, Decision, Escalate, Hold, Reason, decide
from headroom.domain.decision.action import Action
from headroom.domain.decision.next_reconcile import CLOSED, UNREPORTED, next_reconcile_at
from headroom.domain.policy import Mode, PolicyUnreadable
from headroom.domain.resources import Configuration, VolumeType
from tests.builders import (
    NOW,
    activity,
    decision_input,
    gp2,
    gp3,
    instance,
    io,
    observation,
    policy,
    volume,
)

LEAST, MORE = gp3(400, 3_000, 125), gp3(400, 6_000, 250)
TOMORROW = NOW + timedelta(hours=20)
WITH_AN_HOUR = {Reason.BLOCKED_TEMPORARILY}
"""Reasons whose hour to wait for holds for giving back as well."""
ANSWERS: list[Action] = [
    made
    for reason in Reason
    for made in (
        Hold(reason=reason, until=None, proposed_plan=None),
        Hold(reason=reason, until=TOMORROW, proposed_plan=None),
        Escalate(reason=reason, cause="test", remedy="", proposed_plan=None),
    )
]


def decided(configuration: Configuration, *, mode: Mode = Mode.AUTO, pressed: bool) -> Decision:
    """At its limit for three hours, or far below it."""
    can = float(configuration.iops or 3_000)
    load = activity(
        [can if pressed else 300.0] * 180, queue=900.0 if pressed else 1.0,
        iops_check=1.0 if pressed else 0.0,
    )  # fmt: skip
    seen = observation(
        load, volume(configuration, tags=(("headroom", mode.value),)),
        instance=instance(baseline_iops=40_000),
    )  # fmt: skip
    return replace(decide(decision_input(seen, trigger="due")), next_change_at=None)


@pytest.mark.parametrize(
    "answer", ANSWERS, ids=lambda a: f"{type(a).__name__} {a.reason} {getattr(a, 'until', None)}"
)
def test_after_every_answer_somebody_looks_again_within_an_hour_of_pressure_and_a_day_of_calm(
    answer: Action,
) -> None:
    """Of gp3 with twice the IOPS that are free, whatever was decided and whyever."""
    known = isinstance(answer, Hold) and answer.until and answer.reason in WITH_AN_HOUR
    unreadable = answer.reason is Reason.POLICY_UNREADABLE
    for pressed, most in ((True, CLOSED if unreadable else UNREPORTED), (False, DAILY)):
        decision = replace(decided(MORE, pressed=pressed), answer=answer)
        at = next_reconcile_at(decision)
        assert at is not None, pressed
        assert NOW < at <= (TOMORROW if known else NOW + most), pressed


@pytest.mark.parametrize(
    ("configuration", "again"),
    [
        (LEAST, None), (gp3(400, 3_001, 125), UNREPORTED), (gp3(400, 3_000, 126), UNREPORTED),
        (gp2(400), UNREPORTED), (io(VolumeType.IO2, 400, 1_000), UNREPORTED),
    ],
    ids=str,
)  # fmt: skip
def test_what_costs_the_least_already_is_left_to_the_scans(
    configuration: Configuration, again: timedelta | None
) -> None:
    held = Hold(reason=Reason.BLOCKED_PERMANENTLY, until=None, proposed_plan=None)
    decision = replace(decided(configuration, pressed=True), answer=held)
    assert next_reconcile_at(decision) == (again and NOW + again)


def test_nobody_looks_for_savings_that_may_not_be_made() -> None:
    watched = decided(MORE, mode=Mode.OBSERVE, pressed=True)
    assert isinstance(watched.answer, Hold)
    assert watched.answer.reason is Reason.OBSERVE_ONLY
    assert next_reconcile_at(watched) is None


def test_while_the_policy_cannot_be_read_a_look_that_fell_into_that_time_is_made_up_for() -> None:
    found = decided(MORE, pressed=False).observation
    unreadable = PolicyUnreadable(reason="no such document")
    decision = decide(decision_input(found, rules=unreadable, trigger="due"))
    assert next_reconcile_at(decision) == NOW + CLOSED
    least = replace(found, volume=volume(LEAST))
    decision = decide(decision_input(least, rules=unreadable, trigger="due"))
    assert next_reconcile_at(decision) is None


@pytest.mark.parametrize(
    ("limits", "reason"),
    [({"max_iops": 6_000}, Reason.BLOCKED_PERMANENTLY), ({}, Reason.INSTANCE_LIMITED)],
    ids=["the owner's ceiling", "the instance"],
)
def test_a_limit_that_may_not_be_raised_is_looked_at_each_hour_and_not_more_often(
    limits: dict[str, int], reason: Reason
) -> None:
    seen = replace(
        decided(MORE, pressed=True).observation,
        instance=instance(baseline_iops=40_000 if limits else 6_000, maximum_iops=40_000),
    )
    decision = decide(decision_input(seen, rules=policy(**limits), trigger="due"))
    assert isinstance(decision.answer, Escalate)
    assert decision.answer.reason is reason
    assert next_reconcile_at(replace(decision, next_change_at=None)) == NOW + UNREPORTED
