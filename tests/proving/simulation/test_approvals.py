"""Raises of which a part needs no approval, where nobody answers."""

from __future__ import annotations

from datetime import timedelta

from tests.proving.simulation.situations import hours, simulated, starved_between, step, targets

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
