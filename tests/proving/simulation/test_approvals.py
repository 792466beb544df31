"""Raises of which a part needs no approval, where nobody answers."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from headroom.domain.state import Step
from tests.proving.simulation.situations import (
    START,
    hours,
    simulated,
    starved_between,
    step,
    targets,
)

NIGHT = [step("2h", 300), step("3h", 8_000), step("19h", 300)]
POLICY = {"version": 1, "defaults": {"mode": "auto", "approve_above_usd_per_month": 20}}


def test_the_part_that_needs_no_approval_comes_before_a_load_that_is_known() -> None:
    """7,000 IOPS cost $20 a month more. Nobody answers whether it may be 8,800."""
    result = simulated(
        {"type": "gp3", "size_gib": 400}, NIGHT * 3, history=NIGHT * 9, policy=POLICY
    )
    for night in range(3):
        before = [
            target
            for at, target in zip(hours(result), targets(result), strict=True)
            if at <= 24 * night + 2
        ]
        assert before
        assert (before[-1].iops or 0) >= 6_900
    assert starved_between(result, timedelta(0), timedelta(days=3)) <= 3 * 210


def test_a_request_waits_while_a_load_lasts_also_after_nobody_answered_one_made_before_it() -> None:
    """Requests for tomorrow's load run out as it begins, or before."""
    result = simulated(
        {"type": "gp3", "size_gib": 300, "tags": {"headroom": "approve"}},
        [step("9h", 500), step("2h", 7_000), step("13h", 500)] * 6,
        policy={"version": 1, "defaults": {"mode": "approve"}},
    )
    requests = [
        (record.at, datetime.fromisoformat(json.loads(record.body)["asked"]["expires"]))
        for record in result.records
        if record.step is Step.AWAITING
    ]
    waited = len({r.decision_id for r in result.records if r.step is Step.AWAITING})
    assert f"{waited} changes waited for a person and changed nothing" in result.notes[-1]
    assert not result.changes
    for day in range(6):
        pressed = START + timedelta(days=day, hours=9, minutes=10)
        assert [at for at, expires in requests if at <= pressed < expires], f"day {day}"
