"""Known events, and trouble that nothing but the profile of the past shows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from headroom.domain.decision import Escalate
from headroom.proving.simulation import Result
from tests.proving.simulation.situations import (
    RDS,
    START,
    hours,
    simulated,
    starved_between,
    step,
    targets,
)

# --- as a deployment detects trouble that says nothing else


def test_a_known_event_of_a_quiet_volume_is_met_though_it_is_reconciled_once_a_week() -> None:
    event = {"name": "launch", "when": "once 2026-01-09 10:00 UTC", "for": "4h", "iops": 10_000}
    result = simulated(
        {"type": "gp3", "size_gib": 200}, [step("106h", 300), step("4h", 9_500), step("4h", 300)],
        policy={"version": 1, "known_events": [event]}, detection="adaptive",
    )  # fmt: skip
    assert result.starved_minutes == 0
    assert result.changes


def test_a_weekly_load_that_is_always_met_is_not_forgotten() -> None:
    """It was last trouble in its second week; three weeks later nothing but its profile shows it."""
    week = [step("1h", 9_000), step("167h", 300)]
    result = simulated(
        {"type": "gp3", "size_gib": 500}, [{"repeat": 5, "steps": week}], detection="adaptive"
    )
    assert starved_between(result, timedelta(0), timedelta(days=21)) >= 50
    assert starved_between(result, timedelta(days=21), timedelta(days=35)) == 0


# --- known events


def announced_event(iops: int, **defaults: Any) -> dict[str, Any]:
    event = {"name": "launch", "when": "once 2026-01-07 00:30 UTC", "for": "4h", "iops": iops}
    return {"version": 1, "known_events": [event], "defaults": {"mode": "auto", **defaults}}


@pytest.mark.parametrize(
    ("size", "iops", "defaults"),
    [(1_000, 15_000, {}), (500, 12_000, {"largest_step": 2}), (200, 12_000, {"largest_step": 2})],
    ids=["beyond one step", "a small step", "a small volume"],
)
def test_two_changes_for_a_known_event_begin_in_time(
    size: int, iops: int, defaults: dict[str, Any]
) -> None:
    """AWS works on each for six hours, its own figure for a TiB."""
    result = simulated(
        {"type": "gp3", "size_gib": size},
        [step("48h", 500), step("30m", 500), step("4h", iops), step("24h", 500)],
        policy=announced_event(iops, **defaults), aws={"completes_after": "6h"},
    )  # fmt: skip
    assert result.starved_minutes == 0
    assert len(result.changes) == 3


def test_the_part_of_a_known_event_that_the_price_limit_permits_is_raised_ahead() -> None:
    result = simulated(
        {"type": "gp3", "size_gib": 200},
        [step("48h", 500), step("30m", 500), step("4h", 9_800), step("8h", 500)],
        policy=announced_event(10_000, price_increase_usd_per_month=20),
    )  # fmt: skip
    first = result.changes[0]
    assert first.at < START + timedelta(hours=48, minutes=30)
    assert first.reason == "recurrence_expected"
    assert first.target.iops in range(6_500, 7_001)
    told = [d.at for d in result.decisions if isinstance(d.answer, Escalate)]
    assert told
    assert told[0] < START + timedelta(hours=30)


@pytest.mark.parametrize("most", [250, 1_000])
def test_of_io2_at_rds_the_price_is_named_and_no_type_that_nobody_may_choose(most: int) -> None:
    """gp3 would serve the event and is less durable: Headroom never goes there, whatever the policy says."""
    event = {"name": "launch", "when": "once 2026-01-06 16:00 UTC", "for": "10h", "iops": 9_500}
    rule = {"match": {"kind": "rds"}, "set": {"mode": "auto", "price_increase_usd_per_month": most}}
    result = simulated(
        RDS | {"storage_type": "io2", "allocated_storage_gib": 500, "iops": 3_000},
        [step("20h", 300)],
        policy={"version": 1, "known_events": [event], "rules": [rule]},
    )  # fmt: skip
    told = [d.answer.remedy for d in result.decisions if isinstance(d.answer, Escalate)]
    assert ["adds more than $250.00 a month" in remedy for remedy in told] == [True] * (most == 250)


def test_a_raise_for_an_event_each_day_is_given_back_as_it_ends() -> None:
    """The first is given back at night, as a day must be measured; that must not block all that follow."""
    event = {"name": "ev", "when": "daily 09:00 UTC", "for": "3h", "iops": 8_000}
    result = simulated(
        {"type": "gp3", "size_gib": 300},
        [step("9h", 500), step("3h", 8_000), step("12h", 500)] * 7,
        policy={
            "version": 1, "known_events": [event], "defaults": {"mode": "auto", "preset": "thrift"},
        },
    )  # fmt: skip
    assert result.starved_minutes == 0
    given_back = [
        at % 24 for at, target in zip(hours(result), targets(result), strict=True)
        if target.iops == 3_000
    ]  # fmt: skip
    assert len(given_back) >= 5
    assert [round(at) for at in given_back[1:]] == [12] * len(given_back[1:])


def one_sale(iops: int, lasts: str, preset: str) -> Result:
    """A sale on Thursday evening, on gp3 with what its price includes."""
    event = {"name": "sale", "when": "once 2026-01-08 20:00 UTC", "for": lasts, "iops": iops}
    return simulated(
        {"type": "gp3", "size_gib": 400}, [step("92h", 500), step(lasts, iops), step("1d", 500)],
        policy={"version": 1, "defaults": {"preset": preset}, "known_events": [event]},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("iops", "lasts", "preset"), [(6_000, "5m", "balanced"), (12_000, "1h", "thrift")]
)
def test_what_waits_behind_a_short_event_is_worth_a_raise_ahead(
    iops: int, lasts: str, preset: str
) -> None:
    """Counted without its backlog, the load was met late: 9.5 and 70 minutes of shortfall, for the same price."""
    assert one_sale(iops, lasts, preset).shortfall_minutes == 0


def test_of_an_event_that_is_not_worth_its_price_the_owner_is_notified_the_day_before() -> None:
    [text] = told(one_sale(6_000, "20m", "thrift"))
    assert text.startswith("not_cost_effective")
    assert "takes 6,000 IOPS" in text
    assert "relief_value_usd_per_minute" in text


def told(result: Result) -> list[str]:
    """What the owner was notified of before the event, by reason and text."""
    before = [d for d in result.decisions if d.at < START + timedelta(hours=92)]
    return [f"{d.answer.reason}: {d.summary}" for d in before if isinstance(d.answer, Escalate)]


def sale(iops: int, lasts: str, resource: dict[str, Any], **more: Any) -> Result:
    """The same sale, with detection as in a deployment."""
    event = {"name": "sale", "when": "once 2026-01-08 20:00 UTC", "for": lasts, "iops": iops}
    defaults = more.pop("defaults", {})
    return simulated(
        resource, [step("92h", 500), step(lasts, iops), step("1d", 500)], detection="adaptive",
        policy={"version": 1, "defaults": defaults, "known_events": [event], **more.pop("policy", {})},
        **more,
    )  # fmt: skip


GP3 = {"type": "gp3", "size_gib": 400}


@pytest.mark.parametrize(
    ("iops", "defaults", "named"),
    [
        (9_000, {"max_iops": 8_600}, "max_iops is 8,600"),
        (3_150, {"max_iops": 3_000}, "max_iops is 3,000"),
        (9_000, {"price_increase_usd_per_month": 30}, "blocked by price_per_resource"),
    ],
)
def test_a_level_just_below_an_event_does_not_pass_for_serving_it(
    iops: int, defaults: dict[str, Any], named: str
) -> None:
    """Five per cent less is short for as long as the event lasts: nobody was notified before."""
    [text] = told(sale(iops, "4h", GP3, defaults=defaults))
    assert text.startswith("blocked_permanently")
    assert named in text


def test_where_two_changes_do_not_follow_in_time_one_is_made_and_the_owner_is_notified() -> None:
    """AWS may work for a day on 4 TiB: no second change of at most four times is sure to follow."""
    result = sale(
        14_000, "10h", {"type": "gp3", "size_gib": 4_096}, defaults={"preset": "performance"}
    )
    assert "two changes" in told(result)[0]
    assert result.changes[0].at < START + timedelta(hours=92)
    assert result.changes[0].target.iops == 12_000
    assert result.shortfall_minutes < 200


@pytest.mark.parametrize(
    ("resource", "iops", "more"),
    [
        (GP3, 6_000, {"attachment": {"instance_type": "m6i.large"}}),
        ({**RDS, "storage_type": "gp2", "allocated_storage_gib": 300}, 2_500, {}),
    ],
    ids=["within the instance's bursts", "for $0"],
)
def test_no_notice_says_that_an_event_is_not_worth_what_then_serves_it(
    resource: dict[str, Any], iops: int, more: dict[str, Any]
) -> None:
    result = sale(iops, "1h", resource, **more)
    assert told(result) == []
    assert result.shortfall_minutes == 0


@pytest.mark.parametrize("iops", [30_000, 50_000])
def test_an_event_beyond_the_instance_is_raised_for_as_far_as_it_lets_it_through(iops: int) -> None:
    """db.r6g.4xlarge sustains 20,000 IOPS. More than that was bought for the first, nothing for the second."""
    result = sale(iops, "2h", {**RDS, "storage_type": "gp3", "allocated_storage_gib": 600})
    assert result.changes[0].at < START + timedelta(hours=92)
    assert result.changes[0].target.iops == 20_000
    [text] = told(result)
    assert text.startswith("instance_limited")
    assert f"takes {iops:,} IOPS, of which the instance lets {20_000 / iops:.0%} through" in text


def test_what_else_is_in_the_way_is_named_beside_the_instance() -> None:
    """A larger instance alone would gain nothing: the ceiling is below what this one lets through."""
    attached = {"attachment": {"instance_type": "m6i.large"}, "defaults": {"max_iops": 4_000}}
    [text] = told(sale(9_000, "4h", GP3, **attached))
    assert "of which the instance lets 91% through" in text
    assert "max_iops is 4,000" in text


def test_large_operations_so_far_take_no_announced_iops_away() -> None:
    """Idle operations of 256 KiB made 9,000 IOPS 2,250 MiB/s, of which the instance lets a part through."""
    event = {"name": "sale", "when": "once 2026-01-08 20:00 UTC", "for": "1h", "iops": 9_000}
    backup = {"for": "92h", "iops": 100, "io_kib": 256}
    result = simulated(
        GP3, [backup, step("1h", 9_000), step("12h", 500)], detection="adaptive",
        attachment={"instance_type": "m6i.2xlarge"}, policy={"version": 1, "known_events": [event]},
    )  # fmt: skip
    assert told(result) == []
    assert 9_900 in [one.target.iops for one in result.changes]
    assert result.shortfall_minutes == 0


def test_of_two_events_of_one_day_each_has_its_notice() -> None:
    """The second was no news beside the first: 816 minutes were short without a word before."""
    small = {"name": "small", "when": "once 2026-01-08 20:00 UTC", "for": "10m", "iops": 3_100}
    big = {"name": "big", "when": "once 2026-01-08 23:00 UTC", "for": "4h", "iops": 9_000}
    result = simulated(
        GP3, [step("120h", 500)], detection="adaptive",
        policy={"version": 1, "defaults": {"max_iops": 3_000}, "known_events": [small, big]},
    )  # fmt: skip
    assert [name for text in told(result) for name in ("small", "big") if f"event {name} " in text] == [
        "small", "big",
    ]  # fmt: skip


def test_nobody_is_notified_of_an_event_that_burst_credits_serve() -> None:
    result = sale(
        3_000, "20m", {"type": "gp2", "size_gib": 334}, defaults={"types": ["gp2", "io1"]}
    )
    assert told(result) == []
    assert result.shortfall_minutes == 0


def test_the_last_opening_before_an_event_is_used_days_ahead_of_it() -> None:
    """Nobody looked again at the end of the opening: neither raised nor notified, $29.25 instead of $17.32."""
    event = {"name": "sale", "when": "once 2026-01-12 06:00 UTC", "for": "1h", "iops": 9_000}
    result = simulated(
        GP3, [step("174h", 500), step("1h", 9_000), step("12h", 500)], detection="adaptive",
        policy={
            "version": 1, "known_events": [event],
            "defaults": {"change_windows": ["Tue 09:00-11:00 UTC"]},
        },
    )  # fmt: skip
    assert result.shortfall_minutes == 0
    assert result.changes[0].at < START + timedelta(hours=35)


def announced_each_night(iops: float) -> Result:
    """Three nights of an announced load, on a database that may cost $250 a month more: 18,250 IOPS."""
    event = {"name": "nightly", "when": "daily 01:00 UTC", "for": "4h", "iops": iops}
    return simulated(
        {**RDS, "storage_type": "gp3", "allocated_storage_gib": 600, "multi_az": True},
        [step("1h", 900), step("4h", iops), step("19h", 900)] * 3,
        policy={"version": 1, "known_events": [event]},
    )  # fmt: skip


def test_what_is_permitted_just_below_what_an_event_needs_is_no_duplicate_of_it() -> None:
    """18,250 IOPS serve 17,000; 18,700, with the spare, are above the price limit."""
    assert announced_each_night(17_000).starved_minutes == 0


def test_no_escalation_says_that_an_event_cannot_be_served_which_is_served_each_time() -> None:
    """Between two nights no plan for it may be at hand yet; the owner's limits permit one."""
    result = announced_each_night(16_500)
    assert result.starved_minutes == 0
    assert not [d for d in result.decisions if isinstance(d.answer, Escalate)]


def closed(policy: dict[str, Any]) -> Result:
    """A sale on Wednesday at 06:00 for four hours, on gp3 with what its price includes."""
    event = {"name": "sale", "when": "once 2026-01-07 06:00 UTC", "for": "4h", "iops": 9_000}
    return simulated(
        {"type": "gp3", "size_gib": 400},
        [step("54h", 300), step("4h", 9_000), step("26h", 300)],
        policy={"version": 1, "known_events": [event], **policy},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("policy", "raised_by"),
    [
        ({"account": {"freezes": [{"from": "2026-01-06", "until": "2026-01-07"}]}}, 24),
        ({"defaults": {"change_windows": ["Mon 09:00-11:00 UTC"]}}, 11),
    ],
    ids=["a freeze", "a window a week"],
)
def test_an_event_in_a_closed_stretch_is_raised_for_in_the_last_opening_before(
    policy: dict[str, Any], raised_by: int
) -> None:
    result = closed(policy)
    assert hours(result)[0] < raised_by
    assert "the known event sale is due at 2026-01-07 06:00 UTC" in result.decisions[0].summary
    assert result.starved_minutes == 0


def test_what_a_blocked_event_left_waiting_is_no_rhythm() -> None:
    """Seven hours of backlog after the event's end; the next days must not be raised for it."""
    result = closed({"defaults": {"max_iops": 4_000}})
    after = [change for change in result.changes if change.at > START + timedelta(hours=66)]
    assert all(change.reason == "scaling_down" for change in after)


def test_storage_is_not_held_through_a_long_freeze_for_an_event_that_is_worth_less() -> None:
    """Ten minutes are worth a dollar; 6,900 IOPS for six days cost seven."""
    event = {"name": "report", "when": "once 2026-01-12 06:00 UTC", "for": "10m", "iops": 9_000}
    policy = {"account": {"freezes": [{"from": "2026-01-06", "until": "2026-01-12"}]}}
    result = simulated(
        {"type": "gp3", "size_gib": 400}, [step("174h", 300), step("10m", 9_000), step("2h", 300)],
        policy={"version": 1, "known_events": [event], **policy},
    )  # fmt: skip
    assert not [change for change in result.changes if change.at < START + timedelta(days=6)]


def test_an_event_in_the_first_hour_takes_operations_as_large_as_those_so_far() -> None:
    """9,000 of 32 KiB are 281 MiB/s, and twenty minutes of such operations are all that is known."""
    event = {"name": "load", "when": "once 2026-01-05 01:00 UTC", "for": "4h", "iops": 9_000}
    result = simulated(
        {"type": "gp3", "size_gib": 300},
        [step("1h", 300, 32), step("4h", 9_000, 32), step("3h", 300, 32)],
        policy={"version": 1, "known_events": [event]},
    )  # fmt: skip
    assert (targets(result)[0].throughput_mibps or 0) > 281
    assert result.starved_minutes == 0


# --- announced load that nothing but a full copy serves


def announced_to_a_small_database(when: str, **resource: Any) -> Result:
    """Below 400 GiB gp3 has no settings. The owner permits full copies; 9,000 IOPS for four hours are announced."""
    event = {"name": "batch", "when": when, "for": "4h", "iops": 9_000}
    permits = {"mode": "auto", "growth": True, "full_copy": True, "max_size_gib": 1_000}
    return simulated(
        {**RDS, "storage_type": "gp3", "allocated_storage_gib": 300, **resource},
        [step("50h", 400), step("4h", 9_000), step("164h", 400), step("4h", 9_000), step("1h", 400)],
        policy={
            "version": 1, "known_events": [event],
            "rules": [{"match": {"kind": "rds"}, "set": permits}],
        },
    )  # fmt: skip


def test_a_permitted_full_copy_is_made_before_a_load_that_is_announced_for_every_week() -> None:
    result = announced_to_a_small_database("weekly wed 02:00 UTC")
    (change,) = result.changes
    assert change.target.size_gib == 400
    assert change.at < START + timedelta(hours=44)  # a copy takes six hours
    assert result.starved_minutes == 0


def test_no_full_copy_is_made_for_what_the_instance_does_not_let_through() -> None:
    """db.m5.large sustains 3,600 IOPS, hardly more than the 3,000 that the storage has."""
    result = announced_to_a_small_database("weekly wed 02:00 UTC", instance_class="db.m5.large")
    assert not [c for c in result.changes if c.target.size_gib > 300]


def test_no_full_copy_is_made_for_a_load_that_is_announced_once() -> None:
    result = announced_to_a_small_database("once 2026-01-07 02:00 UTC")
    assert not [c for c in result.changes if c.target.size_gib > 300]
    assert [d for d in result.decisions if isinstance(d.answer, Escalate)]


def test_no_full_copy_begins_so_late_that_it_runs_beside_the_announced_load() -> None:
    """Announced for every hour of the day but five."""
    event = {"name": "day", "when": "daily 05:00 UTC", "for": "19h", "iops": 9_000}
    result = simulated(
        {**RDS, "storage_type": "gp3", "allocated_storage_gib": 300}, [step("3d", 400)],
        policy={
            "version": 1, "known_events": [event],
            "rules": [{"match": {"kind": "rds"}, "set": {
                "mode": "auto", "growth": True, "full_copy": True, "max_size_gib": 1_000}}],
        },
    )  # fmt: skip
    assert not result.changes


def test_a_type_for_good_that_the_owner_allows_is_worth_what_was_announced() -> None:
    """Only io2 is allowed, for good: it was bought as if nobody had announced the load, a step too small at first."""
    defaults = {
        "mode": "auto", "types": ["io2"], "one_way": "allow", "preset": "performance",
        "price_increase_usd_per_month": 2_000,
    }  # fmt: skip
    event = {"name": "sale", "when": "once 2026-01-08 20:00 UTC", "for": "10h", "iops": 9_000}
    result = simulated(
        {"type": "gp2", "size_gib": 400}, [step("92h", 500), step("10h", 9_000), step("1d", 500)],
        policy={"version": 1, "defaults": defaults, "known_events": [event]},
    )  # fmt: skip
    assert result.shortfall_minutes < 300
    assert float(result.storage_usd) < 60


def test_an_event_of_mibps_alone_hides_no_load_of_iops() -> None:
    """9,000 IOPS of 16 KiB move the 145 MiB/s that were announced, and start on 3,000 IOPS every night."""
    night = [step("2h", 200), step("3h", 9_000), step("19h", 200)]
    event = {"name": "batch", "when": "daily 02:00 UTC", "for": "3h", "throughput_mibps": 145}
    result = simulated(GP3, night * 7, policy={"version": 1, "known_events": [event]})
    assert starved_between(result, timedelta(days=1), timedelta(days=7)) == 0


@pytest.mark.parametrize("takes", ["2h", "12h"])
def test_nothing_is_lowered_from_where_more_changes_than_follow_in_time_lead_to_an_event(
    takes: str,
) -> None:
    """One step of 2 leads there from what the owner chose, two from half of that, three from what gp3 includes."""
    event = {"name": "launch", "when": "once 2026-01-10 00:00 UTC", "for": "12h", "iops": 15_000}
    result = simulated(
        {"type": "gp3", "size_gib": 400, "iops": 8_000},
        [step("120h", 500), step("12h", 15_000), step("12h", 500)],
        policy={"version": 1, "known_events": [event], "defaults": {"largest_step": 2}},
        aws={"completes_after": takes},
    )  # fmt: skip
    assert result.starved_minutes == 0
    assert min(target.iops or 0 for target in targets(result)) < 8_000
    assert not [d for d in result.decisions if isinstance(d.answer, Escalate)]


def test_an_event_that_begins_while_a_change_is_in_flight_is_announced_before_it_is_short() -> None:
    """AWS takes six hours for the first change; the second is due 40 minutes before the event."""
    result = simulated(
        {"type": "gp3", "size_gib": 500},
        [step("12h", 1_000), step("2h", 9_000), step("6h", 1_000), step("2h", 15_500), step("2h", 500)],
        policy={
            "version": 1, "defaults": {"mode": "auto"},
            "known_events": [
                {"name": "close", "when": "once 2026-01-05 20:00 UTC", "for": "2h", "iops": 15_500}
            ],
        },
        aws={"effect_delay": "20m", "completes_after": "14h"},
    )  # fmt: skip
    told = [d for d in result.decisions if isinstance(d.answer, Escalate)]
    assert told
    assert told[0].at - START <= timedelta(hours=19, minutes=30)
    assert "in_flight, which may last until it has begun" in told[0].summary


def test_a_window_that_opens_shortly_before_an_event_is_no_reason_for_a_message() -> None:
    result = simulated(
        {"type": "gp3", "size_gib": 500},
        [step("10h", 1_000), step("2h", 9_000), step("6h", 1_000)],
        policy={
            "version": 1,
            "defaults": {"mode": "auto", "change_windows": ["Mon-Sun 09:35-20:00 UTC"]},
            "known_events": [
                {"name": "close", "when": "once 2026-01-05 10:00 UTC", "for": "2h", "iops": 9_000}
            ],
        },
    )  # fmt: skip
    assert not [d for d in result.decisions if isinstance(d.answer, Escalate)]
    assert result.starved_minutes == 0
