"""Loads that one raise does not serve: what happens before, between and after several of them."""

from __future__ import annotations

from datetime import timedelta

from tests.proving.simulation.situations import START, hours, simulated, step, targets

GP3 = {"type": "gp3", "size_gib": 500}


def test_an_announced_load_beyond_the_largest_step_is_raised_for_in_two_steps_before_it() -> None:
    """Waiting for the load was valued as if one raise would then serve it all; it starved for 11 hours."""
    policy = {
        "version": 1,
        "defaults": {"mode": "auto", "largest_step": 2},
        "known_events": [
            {"name": "sale", "when": "once 2026-01-05 10:00 UTC", "for": "6h", "iops": 12_000}
        ],
    }
    load = [step("10h", 300), step("6h", 12_000), step("2h", 300)]
    result = simulated(GP3, load, history=[step("3d", 300)], policy=policy)
    assert [target.iops for target in targets(result)][:2] == [6_000, 12_000]
    assert hours(result)[1] < 10
    assert result.starved_minutes == 0


def test_a_second_load_is_raised_for_by_its_own_limit() -> None:
    """The 12,000 IOPS of the first job were taken for a bound on the MiB/s of the second."""
    jobs = [
        step("1h", 300), step("1h", 9_000, 4), step("1h", 300),
        {**step("1h", 1_600, 256), "sequential": True}, step("3h", 300),
    ]  # fmt: skip
    result = simulated(GP3, jobs)
    second = targets(result)[1]
    assert (second.throughput_mibps or 0) >= 400
    assert (second.iops or 0) < 14_000
    after = [m for m in result.minutes if m.facts.start >= START + timedelta(hours=3)]
    assert sum(m.facts.starved for m in after) < 65


def test_a_raise_whose_limit_was_used_up_is_followed_by_the_next_when_aws_has_completed_it() -> (
    None
):
    """Ten more starved minutes were waited for, although the new limit had been full for two hours."""
    result = simulated(GP3, [step("30m", 300), step("5h", 14_500)])
    first, second = result.changes
    assert second.at - first.at <= timedelta(hours=2, minutes=1)


def test_a_weekly_load_that_is_skipped_once_is_raised_for_as_high_the_next_time() -> None:
    """A week without it took away what was known of its height: 2 hours starved at half of it."""
    quiet, week = step("6d", 300), [step("2h", 300), step("3h", 9_000), step("19h", 300)]
    history = [*[quiet, *week] * 4, step("7d", 300), quiet]
    result = simulated(GP3, week, history=history)
    assert result.starved_minutes == 0


def night(hours: int, iops: float) -> list[dict[str, object]]:
    """A day of `iops` for some hours from two o'clock on."""
    return [step("2h", 300), step(f"{hours}h", iops), step(f"{22 - hours}h", 300)]


def test_a_raise_for_the_night_pays_for_the_hours_that_need_it_and_not_for_a_day() -> None:
    """io1 costs so much that a whole day of it was never worth an hour: raised after it began, and held."""
    policy = {"version": 1, "defaults": {"mode": "auto", "types": ["io1"]}}
    volume = {"type": "io1", "size_gib": 500, "iops": 2_000}
    result = simulated(volume, night(1, 4_000) * 4, history=night(1, 4_000) * 10, policy=policy)
    assert result.starved_minutes == 0
    assert result.storage_usd < 27


def test_one_raise_leads_back_to_what_the_load_uses_where_no_second_would_follow_in_time() -> None:
    """500 GiB on io2: lowered to 825 IOPS, from where one step was too little for the next night."""
    volume = {"type": "io2", "size_gib": 500, "iops": 3_000}
    result = simulated(volume, night(1, 9_000) * 4, history=night(1, 9_000) * 10)
    had = max(change.target.iops or 0 for change in result.changes)
    assert had > 6_000, "as far as the price limit goes"
    assert all((change.target.iops or 0) * 4 >= had for change in result.changes)
    assert all(
        sum(m.facts.starved for m in result.minutes if m.facts.start.day == day) < 100
        for day in (5, 6, 7, 8)
    )


def test_a_pool_that_its_ceiling_holds_is_raised_for_before_it_comes() -> None:
    """200 workers from 20 to 24 h, of which 9,000 IOPS serve nine tenths: it was lowered at 16:20, and starved at 20:04."""
    pool = {"service_ms": 1, "io_kib": 8}
    day = [
        {"for": "20h", "outstanding": 10, "think_ms": 9, **pool},
        {"for": "4h", "outstanding": 200, "think_ms": 19, **pool},
    ]
    result = simulated(
        {"type": "gp3", "size_gib": 800}, day * 6,
        policy={"version": 1, "defaults": {"mode": "auto", "max_iops": 9_000}},
    )  # fmt: skip
    late = [
        sum(m.facts.shortfall for m in result.minutes[1440 * n : 1440 * (n + 1)]) for n in range(6)
    ]
    assert max(late[2:]) <= 24 + 1, "a tenth of four hours, and nothing for the reaction"
    nightly = [hour % 24 for hour in hours(result) if hour > 48]
    assert all(hour < 2 or 18 <= hour < 20 for hour in nightly)


def test_a_load_of_every_day_above_one_step_is_given_back_to_where_one_raise_leads_back_from() -> (
    None
):
    """900 MiB/s on gp3: from its 125 it takes two raises, and with the change back there is no slot for the next day."""
    night = [step("11h", 500), step("155m", 7_200, 128), step("625m", 500)]
    result = simulated(
        {"type": "gp3", "size_gib": 100}, night * 9,
        policy={"version": 1, "defaults": {"mode": "auto", "preset": "thrift"}},
    )  # fmt: skip
    given_back = [
        c.target
        for c in result.changes
        if c.reason == "scaling_down" and c.at > START + timedelta(days=3)
    ]
    assert len(given_back) >= 4
    assert all((target.throughput_mibps or 0) >= 225 for target in given_back)
