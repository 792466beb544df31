"""Load that comes again: foreseen, given back between, and what a late change would meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from headroom.domain.resources import VolumeType
from headroom.proving.scenarios import parse_scenario
from headroom.proving.simulation import Result, simulate
from headroom.proving.trials import STARTS, Conditions, run_engine
from headroom.proving.workloads import shape_load_series
from tests.proving.simulation.situations import (
    RDS,
    START,
    hours,
    simulated,
    starved_between,
    step,
    targets,
)

# --- rhythms


def night(minutes: int) -> list[dict[str, Any]]:
    """A day of 9,000 IOPS for some minutes from 02:00 on."""
    return [step("2h", 300), step(f"{minutes}m", 9_000), step(f"{22 * 60 - minutes}m", 300)]


@pytest.mark.parametrize("minute", [57, 59])
def test_a_load_that_begins_at_the_end_of_an_hour_is_foreseen(minute: int) -> None:
    """A raise that follows it has its effect in the next hour, and that hour's shortfall is what a raise ahead saves."""
    day = [
        step(f"1h{minute}m", 500),
        step("40m", 9_000),
        step(f"{24 * 60 - 160 - minute + 60}m", 500),
    ]
    result = simulated({"type": "gp3", "size_gib": 400}, day * 7)
    assert starved_between(result, timedelta(days=2), timedelta(days=7)) <= 5 * 3


@pytest.mark.parametrize("minute", [53, 58])
def test_a_load_that_goes_on_into_the_next_hour_is_foreseen_whenever_it_begins(minute: int) -> None:
    """Of the minutes until a raise that follows has its effect, some are in the next hour."""
    before = 9 * 60 + minute
    day = [step(f"{before}m", 250), step("130m", 8_200), step(f"{1_440 - 130 - before}m", 250)]
    result = simulated({"type": "gp3", "size_gib": 250}, day * 8)
    assert starved_between(result, timedelta(days=2), timedelta(days=8)) == 0


def test_a_daily_peak_on_load_that_never_ends_is_raised_for_where_that_is_dear() -> None:
    """io2 asks for every IOPS: a raise pays for the hours of the peak, not for the small chances of a day."""
    draw = Random(1)
    noisy = [
        step("1m", (10_500 if 600 <= minute % 1_440 < 720 else 3_000) * draw.uniform(0.9, 1.1))
        for minute in range(4 * 1_440)
    ]
    day = [step("10h", 3_000), step("2h", 10_500), step("12h", 3_000)]
    result = simulated({"type": "io2", "size_gib": 400, "iops": 9_000}, noisy, history=day * 10)
    assert starved_between(result, timedelta(days=1), timedelta(days=4)) <= 5


@pytest.mark.parametrize("minutes", [10, 150])
def test_a_load_of_every_night_is_foreseen_and_what_it_needs_is_given_back(minutes: int) -> None:
    gp3 = {"type": "gp3", "size_gib": 500}
    result = simulated(gp3, night(minutes) * 3, history=night(minutes) * 7)
    assert hours(result)[0] < 2
    assert result.starved_minutes == 0
    raised = sum(m.usd_per_month > 45 for m in result.minutes) / len(result.minutes)
    assert raised < 0.5


def test_a_load_of_every_night_starves_no_more_from_the_fourth_night_on() -> None:
    result = simulated({"type": "gp3", "size_gib": 500}, night(10) * 5)
    day = timedelta(days=1)
    assert starved_between(result, timedelta(0), 3 * day) > 0
    assert starved_between(result, 3 * day, 5 * day) == 0


def test_a_load_of_every_sunday_is_foreseen_from_the_third_on() -> None:
    week = [step("6d", 300), step("2h", 300), step("3h", 9_000), step("19h", 300)]
    result = simulated({"type": "gp3", "size_gib": 500}, week[1:], history=[*week * 2, week[0]])
    assert hours(result)[0] < 2, "raised before the load, whose height nobody has seen yet"
    assert result.starved_minutes == 0


def test_a_load_of_every_tenth_day_is_foreseen() -> None:
    ten = [step("9d", 300), step("2h", 300), step("3h", 9_000), step("19h", 300)]
    begins = [step("2h", 300), step("3h", 9_000), step("3h", 300)]
    last = [step("9d", 300)]
    result = simulated({"type": "gp3", "size_gib": 500}, begins, history=ten * 3 + last)
    assert hours(result)[0] < 2
    assert result.starved_minutes == 0


def test_a_load_of_two_nights_every_ten_days_is_foreseen_and_no_third_one() -> None:
    quiet = [step("24h", 300)]
    busy = [step("2h", 300), step("3h", 9_000), step("19h", 300)]
    ten = [*quiet * 8, *busy * 2]
    result = simulated(
        {"type": "gp3", "size_gib": 500}, [*busy * 2, *quiet], history=[*ten * 3, *quiet * 8]
    )
    assert hours(result)[0] < 2
    assert hours(result)[-1] < 48, "nothing is bought for a third night"
    assert result.starved_minutes == 0


def test_nothing_is_bought_on_a_day_on_which_no_load_comes() -> None:
    week = [step("6d", 300), step("2h", 300), step("3h", 9_000), step("19h", 300)]
    result = simulated({"type": "gp3", "size_gib": 500}, [step("4d", 300)], history=week * 2)
    assert not result.changes


def test_a_load_that_stops_for_good_is_paid_for_a_few_days_and_no_longer() -> None:
    result = simulated(
        {"type": "gp3", "size_gib": 500}, [step("6h", 300), step("66h", 9_000), step("5d", 300)],
        history=[step("14d", 300)],
    )  # fmt: skip
    assert result.usd_per_month_end == 40
    assert hours(result)[-1] < 24 * 6


QUIET_DAY = [step("24h", 300)]
WEEKLY = [*QUIET_DAY * 2, *night(180), *QUIET_DAY * 4]


def test_a_weekly_load_that_becomes_daily_is_foreseen_within_days() -> None:
    result = simulated({"type": "gp3", "size_gib": 400}, night(180) * 6, history=WEEKLY * 8)
    assert starved_between(result, timedelta(days=4), timedelta(days=6)) == 0


def test_short_spikes_are_no_reason_for_small_steps_in_a_row() -> None:
    spikes = [step("40m", 1_500), step("3m", 3_600), step("17m", 1_500)] * 24
    thrift = {"policy": {"defaults": {"mode": "auto", "preset": "thrift"}}}
    result = simulated({"type": "gp3", "size_gib": 500}, spikes, **thrift)
    raises = [c for c in result.changes if (c.target.iops or 0) > (c.origin.iops or 0)]
    assert len(raises) <= 1
    assert result.starved_minutes < 24


# --- what lowering would meet


LATE = {"aws": {"effect_delay": "30m", "completes_after": "5h"}}
"""As slow as AWS may be."""
IO2 = {"type": "io2", "size_gib": 500, "iops": 16_000}


def test_no_first_change_is_in_flight_when_a_known_night_comes() -> None:
    """At midnight, two hours before 8,000 IOPS: what is lowered would not be back in time."""
    nights = {
        "every": "24h",
        "after": "2h",
        "for": "2h",
        "iops": 8_000,
        "else_iops": 100,
        "io_kib": 16,
    }
    result = simulated(IO2, [{**nights, "repeat": 2}], history=[{**nights, "repeat": 20}], **LATE)
    assert result.changes[0].target.iops is not None
    assert 8_000 <= result.changes[0].target.iops < 16_000
    assert result.shortfall_minutes == 0


def test_what_was_taken_from_the_owner_is_back_before_each_of_two_daily_loads() -> None:
    day = [step("6h", 300), step("1h", 9_000), step("8h", 300), step("2h", 5_000), step("7h", 300)]
    result = simulated(
        IO2, [{"repeat": 3, "steps": day}], history=[{"repeat": 21, "steps": day}],
        aws={"effect_delay": "30m", "completes_after": "3h"},
    )  # fmt: skip
    assert any("likely in the hour from 06:00 UTC" in one.summary for one in result.decisions)
    assert result.shortfall_minutes == 0


def test_a_load_of_every_hour_is_known_for_as_long_as_it_goes_on() -> None:
    """Ten minutes of each hour for eight weeks: no hour of the last four begins an episode."""
    hourly = {
        "every": "1h",
        "after": "10m",
        "for": "10m",
        "iops": 7_000,
        "else_iops": 300,
        "io_kib": 16,
    }
    result = simulated(
        IO2, [{**hourly, "repeat": 72}], history=[{**hourly, "repeat": 56 * 24}], **LATE
    )
    assert result.changes
    assert all((target.iops or 0) >= 7_000 for target in targets(result))
    assert result.shortfall_minutes == 0


def test_a_nightly_load_that_doubles_is_met_from_the_second_night_on() -> None:
    """The first such night was held back at 6,600 IOPS: nothing proves that less than 12,000 is enough."""
    night = {"every": "24h", "after": "1h", "for": "2h", "else_iops": 300, "io_kib": 16}
    result = simulated(
        {"type": "gp3", "size_gib": 500},
        [{**night, "repeat": 7, "iops": 6_000}, {**night, "repeat": 4, "iops": 12_000}],
        aws={"effect_delay": "10m", "completes_after": "3h"},
    )  # fmt: skip
    assert starved_between(result, timedelta(days=1), timedelta(days=7)) == 0
    assert starved_between(result, timedelta(days=7), timedelta(days=8)) > 40
    assert starved_between(result, timedelta(days=8), timedelta(days=11)) == 0


def test_random_load_on_st1_is_served_at_once() -> None:
    result = simulated(
        {"type": "st1", "size_gib": 1_000},
        [step("6h", 20, 1_024), step("3h", 600), step("3h", 20, 1_024)],
        aws={"effect_delay": "10m", "completes_after": "1h"},
    )  # fmt: skip
    assert targets(result)[0].volume_type is VolumeType.GP3
    assert hours(result)[0] < 6.2
    assert starved_between(result, timedelta(hours=7), timedelta(hours=12)) == 0


def test_a_weekly_load_on_top_of_one_that_never_ends_is_foreseen() -> None:
    """4,000 IOPS at any hour, as a busy database has, and 12,000 in the nights to Sunday."""
    week = [step("146h", 4_000), step("5h", 12_000), step("17h", 4_000)]
    volume = {"type": "gp3", "size_gib": 500, "iops": 13_500, "throughput_mibps": 250}
    result = simulated(volume, week, history=[{"repeat": 3, "steps": week}])
    assert [change.reason for change in result.changes[:2]] == [
        "scaling_down",
        "recurrence_expected",
    ]
    assert targets(result)[0].iops in range(4_000, 6_000)
    assert 144 < hours(result)[1] < 146
    assert result.starved_minutes == 0


# --- what grows


def test_load_that_grows_by_a_twentieth_a_day_never_starves_once_that_is_known() -> None:
    """From the tenth day on it is above 3,000 IOPS; without looking ahead each second day starved."""
    days = [
        each
        for day in range(15)
        for each in (step("9h", 300), step("8h", round(2_000 * 1.05**day)), step("7h", 300))
    ]
    result = simulated({"type": "gp3", "size_gib": 200}, days)
    assert result.starved_minutes == 0
    assert 2 <= len(result.changes) <= 5


def test_a_load_that_rises_through_each_week_is_not_raised_for_as_if_it_went_on() -> None:
    """Back at 2,400 IOPS on Monday."""
    week = [
        each
        for day in range(7)
        for each in (step("9h", 300), step("8h", round(2_400 * 1.17**day)), step("7h", 300))
    ]
    volume = {"type": "gp3", "size_gib": 200, "iops": 7_000, "throughput_mibps": 125}
    result = simulated(volume, week[:3], history=week * 4)
    assert [target.iops for target in targets(result)] == [3_000]
    assert result.starved_minutes == 0


# --- what is not measured


def test_hours_without_metrics_every_other_day_keep_no_first_raise_for_good() -> None:
    """Afternoons at 6,000 IOPS for six days; on every second nothing is measured until ten."""
    whole = shape_load_series("sensor-gaps")
    steps = 6 * 24 * 60 * 60 // whole.step_s
    week = replace(
        whole, ops=whole.ops[:steps], ebs_ops=whole.ebs_ops[:steps], bytes=whole.bytes[:steps],
        read_share=whole.read_share[:steps], read_bytes=whole.read_bytes[:steps],
        workers=whole.workers[:steps],
    )  # fmt: skip
    run = run_engine(week, STARTS["gp3"], Conditions(preset="balanced"))
    first = run.changes[0]
    assert (first.target.iops or 0) >= 6_000
    assert run.changes[1].minute <= first.minute + 24 * 60, "given back once a day is measured"
    assert not [c for c in run.changes[1:] if c.reason == "starved"], (
        "not below what the load needs"
    )
    peak = max(change.target.iops or 0 for change in run.changes)
    held = sum(
        until - change.minute
        for change, until in zip(
            run.changes, [*(c.minute for c in run.changes[1:]), week.minutes], strict=True
        )
        if change.target.iops == peak
    )  # fmt: skip
    assert held < 0.3 * week.minutes
    assert not run.guardrail_violations


def recorded(folder: Path, days: int, iops_at: Callable[[datetime], int | None]) -> Result:
    """gp3 of 400 GiB under a trace of minutes; those of None were not measured."""
    rows = ["timestamp,read_ops,write_ops,read_bytes,write_bytes"]
    for minute in range(days * 24 * 60):
        at = START + timedelta(minutes=minute)
        if (iops := iops_at(at)) is not None:
            ops = iops * 30
            rows.append(f"{at:%Y-%m-%dT%H:%M:%SZ},{ops},{ops},{ops * 16_384},{ops * 16_384}")
    (folder / "load.csv").write_text("\n".join(rows))
    scenario = {
        "resource": {"kind": "ebs", "type": "gp3", "size_gib": 400, "tags": {"headroom": "auto"}},
        "workload": {"trace": {"file": "load.csv"}},
    }
    return simulate(parse_scenario(scenario, source="test", base=folder))


def test_what_is_measured_in_every_second_five_minutes_is_given_back(tmp_path: Path) -> None:
    """Six hours at 6,000 IOPS on the first day; half of the minutes of three days are never published."""

    def first_day(at: datetime) -> int | None:
        busy = at.date() == START.date() and 8 <= at.hour < 14
        return None if at.minute % 10 >= 5 else 6_000 if busy else 300

    result = recorded(tmp_path, 3, first_day)
    raised, lowered = result.changes[:2]
    assert (lowered.target.iops or 0) < (raised.target.iops or 0)
    assert lowered.at < START + timedelta(hours=48)  # a measured day takes two


def test_small_sequential_operations_need_mibps_and_no_iops() -> None:
    """EBS merges them: 25,600 of 16 KiB a second are 400 MiB/s, which 3,000 IOPS serve."""
    batch = {
        "every": "24h",
        "repeat": 5,
        "after": "1h",
        "for": "2h",
        "else_iops": 100,
        "iops": 25_600,
    }
    result = simulated(
        {"type": "gp3", "size_gib": 500}, [{**batch, "io_kib": 16, "sequential": True}]
    )
    assert {target.iops for target in targets(result)} == {3_000}
    assert starved_between(result, timedelta(days=1), timedelta(days=5)) == 0


def test_a_saving_that_nobody_may_take_is_no_reason_to_wait_for_it() -> None:
    """gp3 of 200 GiB costs less than any io1, and no raise leads on from there: so less io1 is taken each day."""
    day = [step("9h", 200), step("3h", 4_500), step("12h", 200)]
    resource = RDS | {"storage_type": "io1", "allocated_storage_gib": 200, "iops": 5_000}
    result = simulated(resource, day * 6)
    lowered = [change for change in result.changes if (change.target.iops or 0) < 3_000]
    assert len(lowered) >= 4
    assert {change.target.volume_type for change in result.changes} == {VolumeType.IO1}
    assert result.starved_minutes <= 20


def test_a_raise_is_given_back_as_soon_as_a_load_of_every_night_is_over() -> None:
    """The look at it does not wait for as long as the load might have gone on."""
    result = simulated(IO2, night(150) * 3, history=night(150) * 14)
    lowered = [
        at
        for at, change in zip(hours(result), result.changes, strict=True)
        if (change.target.iops or 0) < (change.origin.iops or 0)
    ]
    assert len(lowered) >= 3
    assert all(4.5 < at % 24 < 5.75 for at in lowered[1:])  # it ends at half past four
    assert result.starved_minutes == 0


def test_a_load_that_just_uses_the_present_mibps_is_raised_for_once() -> None:
    """8,000 operations of 16 KiB are 125 MiB/s, which gp3 includes: with more IOPS it would be at that limit."""
    day = [step("1h", 300), step("2h", 8_000), step("21h", 300)]
    result = simulated({"type": "gp3", "size_gib": 400}, day * 8)
    raised = [target for target in targets(result) if (target.iops or 0) > 3_000]
    assert all((target.throughput_mibps or 0) >= 137 for target in raised)
    assert starved_between(result, timedelta(days=1), timedelta(days=8)) == 0


def test_a_months_end_on_top_of_working_days_is_foreseen_the_fourth_time() -> None:
    start = datetime(2026, 4, 29, tzinfo=UTC)
    earlier = [
        each for before in range(115, 0, -1) for each in office_day(start - timedelta(days=before))
    ]
    volume = {"type": "gp3", "size_gib": 300, "iops": 16_000, "throughput_mibps": 250}
    result = simulated(
        volume, [*office_day(start), *office_day(start + timedelta(days=1))], history=earlier,
        start=start.isoformat(),
    )  # fmt: skip
    raised = [change for change in result.changes if (change.target.iops or 0) > 13_500]
    assert [change.reason for change in raised] == ["recurrence_expected"]
    assert all(
        (change.target.iops or 0) < 6_500 for change in result.changes if change not in raised
    )
    assert result.starved_minutes == 0


def office_day(at: datetime) -> list[dict[str, Any]]:
    """5,200 IOPS in office hours, 13,500 at a month's end."""
    ends = (at + timedelta(days=1)).day == 1
    busy = 13_500 if ends else 5_200 if at.weekday() < 5 else 400
    return [step("9h", 400), step("8h", busy), step("7h", 400)]


def test_growth_from_day_to_day_is_seen_although_raises_were_late() -> None:
    days = [
        each
        for day in range(14)
        for each in (step("9h", 300), step("8h", 4_000 + 400 * day), step("7h", 300))
    ]
    result = simulated({"type": "gp3", "size_gib": 400}, days)
    assert starved_between(result, timedelta(days=8), timedelta(days=14)) == 0
    assert result.starved_minutes < 100


def test_an_instance_that_is_stopped_at_night_and_at_weekends_gets_what_its_load_needs_in_time(
    tmp_path: Path,
) -> None:
    """From 06:00 to 20:00, with 9,000 IOPS for the first two hours; a stopped one publishes nothing, and nothing is changed."""

    def by_day(at: datetime) -> int | None:
        if not 6 <= at.hour < 20 or at.weekday() >= 5:
            return None
        return 9_000 if at.hour < 8 else 300

    result = recorded(tmp_path, 15, by_day)
    assert starved_between(result, timedelta(days=10), timedelta(days=15)) == 0
    assert any(change.target.iops == 3_000 for change in result.changes), "given back by day"


def test_hours_in_which_an_instance_was_always_off_are_expected_without_load(
    tmp_path: Path,
) -> None:
    """On the first three days 8,000 IOPS from 09:00 to 17:00, with 300 from 08:00 on; off at night."""

    def by_day(at: datetime) -> int | None:
        busy = at < START + timedelta(days=3) and 9 <= at.hour < 17
        return None if not 8 <= at.hour < 18 else 8_000 if busy else 300

    result = recorded(tmp_path, 12, by_day)
    last = result.changes[-1]
    assert last.target.iops == 3_000
    assert last.at < START + timedelta(days=11)


def test_a_load_that_comes_days_after_the_last_window_is_raised_for_in_it() -> None:
    """On Wednesdays: the first shows that it comes, the second when. What is announced beside it needs no raise."""
    week = [step("57h", 800), step("4h", 9_000), step("107h", 800)]
    rules = {
        "version": 1, "defaults": {"mode": "auto", "change_windows": ["Sun 03:25-03:40 UTC"]},
        "known_events": [{"name": "small", "when": "daily 01:00 UTC", "for": "1h", "iops": 1_000}],
    }  # fmt: skip
    result = simulated({"type": "gp3", "size_gib": 400}, week * 3, policy=rules)
    assert starved_between(result, timedelta(days=14), timedelta(days=21)) == 0
    said = "expected to come again, before the next change may start on 2026-01-25: "
    assert any(said in decision.summary for decision in result.decisions)


def test_a_load_in_a_long_freeze_is_raised_for_before_it_begins() -> None:
    """The day after the freeze began: within the coming day there is no load."""
    nights = [step("20h", 800), step("2h", 9_000), step("2h", 800)]
    freeze = {"from": "2026-01-10T12:00:00Z", "until": "2026-01-18T12:00:00Z"}
    every_third = [*nights, step("48h", 800)]
    result = simulated(
        {"type": "gp3", "size_gib": 400}, every_third * 4, history=every_third * 6,
        policy={"version": 1, "account": {"freezes": [freeze]}},
    )  # fmt: skip
    assert result.starved_minutes == 0


def test_a_give_back_that_once_came_late_comes_as_early_as_its_load_ends() -> None:
    """Its slot is free again in the afternoon, and nothing ever came between."""
    night = {"after": "11h", "for": "3h", "iops": 14_000, "else_iops": 200, "io_kib": 64}
    result = simulated(
        {"type": "gp3", "size_gib": 100}, [{"every": "24h", "repeat": 11, **night}],
        start="2026-03-25T17:13:00Z",
    )  # fmt: skip
    lowered = [one.at for one in result.changes if one.reason == "scaling_down"]
    assert lowered[1].hour > 12  # the first days are not over yet
    assert [at.hour for at in lowered[-2:]] == [8, 8]
    assert result.starved_minutes < 300  # none after the second night


def test_no_slot_is_used_for_lowering_where_load_that_was_never_seen_would_lose_more() -> None:
    """Someone else's change in the evening leaves one slot after the night; then load comes by day, for the first time."""
    night, day = [step("2h", 300), step("3h", 9_000)], step("10h", 9_000)
    steps = [*[*night, step("19h", 300)] * 8, *night, step("2h", 300), day]
    result = simulated(
        {"type": "gp3", "size_gib": 500}, steps, aws={"modified_at": ["2026-01-12T20:00:00Z"]}
    )
    assert result.starved_minutes < 60
