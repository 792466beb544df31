"""Whole decisions about what is not there yet: raised before it comes, given back when it is over."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import Act, Decision, Hold, Reason, decide
from headroom.domain.guardrails import Guardrail
from headroom.domain.planning import Plan
from headroom.domain.policy import (
    Freeze,
    KnownEvent,
    Mode,
    TagsMay,
    parse_schedule,
    parse_window,
)
from headroom.domain.resources import (
    Configuration,
    Modification,
    ModificationState,
    VolumeActivity,
    VolumeType,
)
from headroom.domain.state import HOUR, KnownModification
from tests.builders import (
    NOW,
    activity,
    decision_input,
    gp2,
    gp3,
    io,
    observation,
    policy,
    resource_state,
    starved_gp3,
    volume,
)
from tests.domain.earlier import Load, changed, history, nightly

LOW, HIGH = gp3(400, 3_000, 125), gp3(400, 12_000, 500)
MIDNIGHT = NOW.replace(hour=0)


def at(hour: int, minute: int = 0) -> datetime:
    """An instant of the day under test; `nightly` comes at two o'clock."""
    return MIDNIGHT + timedelta(hours=hour, minutes=minute)


def decided(
    now: datetime,
    configuration: Configuration,
    *,
    load: Load = nightly,
    days: float = 5.2,
    recent: VolumeActivity | None = None,
    known: tuple[KnownModification, ...] = (),
    metrics: VolumeActivity | None = None,
    freezes: tuple[Freeze, ...] = (),
    events: tuple[KnownEvent, ...] = (),
    **limits: object,
) -> Decision:
    """What is decided at `now`, with `load` seen free over so many days before."""
    activity_now = recent or activity([load(now) or 0.0] * 180, end=now)
    seen = observation(
        activity_now, volume(configuration), at=now,
        history=metrics or (history(load, days=days, end=now) if days else None),
    )  # fmt: skip
    rules = replace(policy(**limits), freezes=freezes, known_events=events)
    return decide(
        decision_input(seen, stand=resource_state(modifications=known), rules=rules, trigger="due")
    )


def taken(decision: Decision) -> Plan:
    assert isinstance(decision.answer, Act), decision.summary
    return decision.answer.plan


def lowered_at(when: datetime) -> tuple[KnownModification, ...]:
    return (changed(when, HIGH, LOW),)


# --- a load that grows


def test_load_that_grows_every_day_is_raised_for_before_it_is_short() -> None:
    """Yesterday 2,940 IOPS were enough, and today they are not."""

    def growing(when: datetime) -> float:
        day = (when - MIDNIGHT) // timedelta(days=1)
        return 3_090 * 1.05**day if 9 <= when.hour < 17 else 300.0

    def level(when: datetime) -> float:
        return 2_940.0 if 9 <= when.hour < 17 else 300.0

    decision = decided(at(8, 20), LOW, load=growing, days=9.3)
    assert taken(decision).capability.sustained_iops >= 3_090
    assert taken(decision).price_change_usd < 4
    assert "expected to come again, 5 % more each day" in decision.summary
    assert isinstance(decided(at(8, 20), LOW, load=level, days=9.3).answer, Hold)


# --- a nightly batch


def test_the_likely_hour_is_that_of_the_load_also_where_what_is_raised_to_is_less() -> None:
    decision = decided(at(1, 40), LOW, known=lowered_at(at(-8)), max_iops=6_000)
    assert taken(decision).capability.sustained_iops == 6_000
    assert re.search(r"9\d % likely in the hour from 02:00 UTC", decision.summary)


@pytest.mark.parametrize(
    ("morning", "ceilings"),
    [(12_000.0, {}), (14_000.0, {"max_throughput_mibps": 125})],
    ids=["IOPS and MiB/s are raised", "IOPS alone"],
)
def test_the_likely_hour_is_the_first_of_two_loads_also_where_the_raise_serves_part_of_it(
    morning: float, ceilings: dict[str, int]
) -> None:
    def daily(when: datetime) -> float:
        return morning if when.hour == 9 else 5_000.0 if 12 <= when.hour < 14 else 300.0

    decision = decided(at(8, 20), LOW, load=daily, days=8.3, max_iops=6_000, **ceilings)
    assert taken(decision).capability.sustained_iops == 6_000
    assert re.search(r"9\d % likely in the hour from 09:00 UTC", decision.summary)


def test_the_likely_hour_is_the_first_load_also_where_a_later_one_is_likelier() -> None:
    """Mornings without load follow no rhythm."""

    def daily(when: datetime) -> float:
        mornings = (when - MIDNIGHT).days not in {-3, -6, -8, -13}
        return 9_000.0 if (when.hour == 9 and mornings) or 12 <= when.hour < 14 else 300.0

    decision = decided(at(8, 20), LOW, load=daily, days=14.3)
    taken(decision)
    assert re.search(r"6\d % likely in the hour from 09:00 UTC", decision.summary)


def test_the_likely_hour_is_not_that_of_a_load_that_the_raise_does_not_serve() -> None:
    """From nine, MiB/s that may not be raised; from twelve, IOPS that may, and the window closes."""

    def daily(when: datetime) -> float:
        return 5_000.0 if 12 <= when.hour < 14 else 1_500.0 if when.hour == 9 else 300.0

    small = history(daily, days=8.3, end=at(8, 20))
    large = history(daily, days=8.3, end=at(8, 20), io_kib=128)
    by_size = [
        big if at == 1_500 / 2 else few
        for at, few, big in zip(
            small.read_iops.values, small.read_mibps.values, large.read_mibps.values, strict=True
        )
    ]
    mibps = replace(small.read_mibps, values=tuple(by_size))
    decision = decided(
        at(8, 20), LOW, load=daily, max_throughput_mibps=125,
        metrics=replace(small, read_mibps=mibps, write_mibps=mibps),
        change_windows=(parse_window("Mon-Sun 07:00-08:30 UTC"),),
    )  # fmt: skip
    assert taken(decision).capability.sustained_mibps == 125
    assert re.search(r"9\d % likely in the hour from 12:00 UTC", decision.summary)


def test_a_batch_seen_on_five_nights_is_raised_for_before_it_comes() -> None:
    decision = decided(at(1, 40), LOW, known=lowered_at(at(-8)))
    plan = taken(decision)
    assert isinstance(decision.answer, Act)
    assert decision.answer.reason is Reason.RECURRENCE_EXPECTED
    assert plan.capability.sustained_iops >= 9_000
    assert plan.price_change_usd > 0
    assert decision.demand.pressed_minutes == 0
    assert re.search(
        r"expected to come again, 9\d % likely in the hour from 02:00 UTC", decision.summary
    )


def test_a_raise_hours_before_a_load_says_that_it_may_be_higher_than_lately() -> None:
    heights = (8_400, 9_500, 8_600, 10_000, 10_800, 9_700, 10_400, 9_400)

    def wandering(when: datetime) -> float:
        return heights[(when - MIDNIGHT).days % 8] if 9 <= when.hour < 17 else 300.0

    def steady(when: datetime) -> float:
        return 10_800.0 if 9 <= when.hour < 17 else 300.0

    early = decided(at(6, 20), LOW, load=wandering, days=8.3)
    taken(early)
    assert re.search(
        r"likely in the hour from 09:00 UTC, and may be higher than lately", early.summary
    )
    assert isinstance(decided(at(5, 20), LOW, load=steady, days=8.3).answer, Hold)
    assert "higher than lately" not in decided(at(8, 20), LOW, load=steady, days=8.3).summary


def test_hours_before_the_batch_nothing_is_done_and_the_hour_of_the_change_is_known() -> None:
    decision = decided(at(-6), LOW, known=lowered_at(at(-8)))
    assert isinstance(decision.answer, Hold)
    assert decision.answer.reason is Reason.NO_PRESSURE
    assert decision.next_change_at is not None
    assert at(0) <= decision.next_change_at <= at(2)
    assert decision.summary.endswith(
        f"held (no pressure); a change may be due at {decision.next_change_at:%Y-%m-%d %H:%M} UTC"
    )


@pytest.mark.parametrize(
    "closed",
    [
        {"change_windows": (parse_window("Mon-Sun 16:00-21:00 UTC"),)},
        {"freezes": (Freeze(begins=at(-3), until=at(12)),)},
    ],
    ids=["window", "freeze"],
)
def test_a_batch_out_of_reach_of_the_owners_windows_is_raised_for_before_they_close(
    closed: dict[str, Any],
) -> None:
    known = lowered_at(at(-30))
    assert decided(at(-4, 25), LOW, known=known).next_change_at == at(1, 20)
    last = decided(at(-4, 25), LOW, known=known, **closed)
    assert taken(last).capability.sustained_iops >= 9_000
    early = decided(at(-7, 15), LOW, known=known, **closed)
    assert isinstance(early.answer, Hold)
    assert early.next_change_at == at(-4, 20)


def test_what_the_batch_needed_is_given_back_when_it_is_over() -> None:
    for value in (0.01, 0.1):
        decision = decided(at(7), HIGH, relief_value_usd_per_minute=value)
        plan = taken(decision)
        assert isinstance(decision.answer, Act)
        assert decision.answer.reason is Reason.SCALING_DOWN
        assert plan.price_change_usd < 0
        assert plan.value_usd_per_day > 0
    assert taken(decided(at(7), HIGH, relief_value_usd_per_minute=0.01)).target == LOW


def test_nothing_that_the_batch_needs_is_given_back_shortly_before_it_comes() -> None:
    decision = decided(at(1, 20), HIGH)
    for judgement in decision.judgements:
        if judgement.allowed:
            assert judgement.plan.capability.sustained_iops >= 9_000


@pytest.mark.parametrize(("hour", "deep"), [(-10, True), (-1, False), (0, False), (1, False)])
def test_nothing_is_lowered_below_a_batch_that_may_find_the_change_still_in_flight(
    hour: int, deep: bool
) -> None:
    """io2 of 16,000 IOPS, $1.20 an hour, needs 8,000 at two: for some hours it is lowered to that."""

    def batch(when: datetime) -> float:
        return 8_000.0 if when.hour in (2, 3) else 100.0

    decision = decided(at(hour), io(VolumeType.IO2, 500, 16_000), load=batch, days=20)
    taken_iops = [j.plan.capability.sustained_iops for j in decision.judgements if j.allowed]
    assert (min(taken_iops, default=8_000) < 8_000) is deep


def test_a_batch_that_missed_no_night_is_met_where_it_is_worth_it_and_not_where_it_is_not() -> None:
    for value, acts in ((1.0, True), (0.1, True), (0.0001, False)):
        decision = decided(at(1, 40), LOW, relief_value_usd_per_minute=value)
        assert isinstance(decision.answer, Act) == acts


def test_what_headroom_took_from_the_owner_is_there_for_a_batch_whatever_a_minute_is_worth() -> (
    None
):
    for value in (1.0, 0.1, 0.0001, 0.0):
        decision = decided(
            at(1, 40), LOW, known=lowered_at(at(-8)), relief_value_usd_per_minute=value
        )
        assert 9_000 <= taken(decision).capability.sustained_iops <= 12_000


def test_load_of_one_day_of_five_is_not_raised_for_as_for_one_of_every_day() -> None:
    once = decided(
        at(1, 40), LOW, known=lowered_at(at(-8)),
        load=lambda i: nightly(i) if i < at(-80) else 300.0, relief_value_usd_per_minute=0.01,
    )  # fmt: skip
    assert not isinstance(once.answer, Act)


@pytest.mark.parametrize("lowered", [True, False])
def test_what_headroom_lowered_comes_back_also_where_a_raise_would_stay(lowered: bool) -> None:
    """Four minutes are no reason to buy for good; what the owner chose is not bought."""
    minutes = activity(
        [300.0] * 176 + [3_000.0] * 4, queue=[0.3] * 176 + [1_024.0] * 4,
        iops_check=[0.0] * 176 + [1.0] * 4, end=at(12),
    )  # fmt: skip
    known = lowered_at(at(-8)) if lowered else ()
    decision = decided(
        at(12), LOW, load=lambda _: 300.0, recent=minutes, known=known, give_back=False
    )
    assert isinstance(decision.answer, Act) == lowered, decision.summary


# --- what keeps performance where it is


@pytest.mark.parametrize(
    ("hour", "origin", "least", "limits"),
    [
        (-2, LOW, None, {}),
        (-1, LOW, 4_500, {}),  # a level from which the next change leads to 9,000
        (1, gp3(400, 4_950, 125), 9_000, {}),
        # where a second may not follow in time, the first alone saves most of what drains after the load
        (1, LOW, 6_000, {"cooldown_minutes": 180}),
        (-1, LOW, 6_000, {"price_increase_usd": Decimal(20)}),
        (-1, LOW, None, {"max_iops": 6_000}),
        (1, LOW, 6_000, {"max_iops": 6_000}),
        (-1, LOW, None, {"slots_reserve": 3}),
        (-1, LOW, 6_000, {"approve_above_usd": Decimal(20)}),  # nobody may answer before the load
        (-1, LOW, 4_500, {"approve_above_usd": Decimal(40)}),
        (-1, LOW, 6_000, {"mode": Mode.APPROVE, "tags_may": TagsMay.NARROW}),
        (-1, gp3(401, 3_000, 125), 6_000, {}),  # AWS may work on the first for too long
    ],
)
def test_load_beyond_one_step_is_raised_for_in_two(
    hour: int, origin: Configuration, least: float | None, limits: dict[str, Any]
) -> None:
    """9,000 IOPS at two o'clock, from 3,000, where a change may at most double."""
    known = (changed(at(-8), HIGH, origin),)
    decision = decided(at(hour, 25), origin, known=known, largest_step=2.0, **limits)
    if least is None:
        assert isinstance(decision.answer, Hold)
    else:
        assert taken(decision).capability.sustained_iops >= least


def test_load_above_all_that_a_volume_ever_had_is_no_reason_for_two_raises() -> None:
    """What 3,000 IOPS served was merged before it counted."""
    decision = decided(at(-1, 25), LOW, largest_step=2.0)
    assert isinstance(decision.answer, Hold)


def test_an_announced_load_beyond_one_step_is_raised_for_in_two() -> None:
    close = KnownEvent(
        name="close", schedule=parse_schedule("daily 06:00 UTC"), minutes=180, iops=9_000
    )
    first = decided(at(-1, 25), LOW, load=idle, events=(close,), largest_step=2.0)
    assert taken(first).capability.sustained_iops >= 4_500
    second = decided(
        at(5, 25), gp3(400, 4_950, 125), load=idle, events=(close,), largest_step=2.0
    )  # fmt: skip
    assert taken(second).capability.sustained_iops >= 9_000


@pytest.mark.parametrize(("usd_per_minute", "hours"), [(0.01, 10), (0.1, 24), (0.1, 72)])
def test_a_long_announced_load_is_raised_for_before_it_begins(usd_per_minute, hours) -> None:
    """A raise that follows costs as much for the rest of the load: waiting saves nothing."""
    sale = KnownEvent(
        name="sale", schedule=parse_schedule(f"once {at(0):%Y-%m-%d} 10:00 UTC"), minutes=60 * hours,
        iops=12_000,
    )  # fmt: skip
    decision = decided(
        at(9, 20), LOW, load=idle, days=9.2, events=(sale,),
        relief_value_usd_per_minute=usd_per_minute,
    )  # fmt: skip
    assert taken(decision).capability.sustained_iops >= 12_000


@pytest.mark.parametrize(
    ("size_gib", "limits", "raised"),
    [
        (500, {}, True),
        (8_000, {}, False),
        (500, {"cooldown_minutes": 1_440}, False),
        (500, {"slots_reserve": 2}, False),
        (500, {"give_back": False}, False),
    ],
    ids=["in hours", "AWS works for days", "long cooldown", "no slot to give back", "never"],
)
def test_a_raise_pays_for_some_hours_only_where_it_can_be_given_back_after_them(
    size_gib: int, limits: dict[str, Any], raised: bool
) -> None:
    """An hour of 5,500 IOPS each night on io1 of 2,000: worth $5.79, at $0.36 an hour or $8.76 a day."""
    small = Configuration(
        volume_type=VolumeType.IO1, size_gib=size_gib, iops=2_000, throughput_mibps=None
    )
    decision = decided(
        at(1, 40), small, load=partial(nightly, iops=5_500.0), days=10.2, types=(VolumeType.IO1,),
        price_increase_usd=Decimal(900), **limits,
    )  # fmt: skip
    assert (decision.plan is not None and decision.plan.price_change_usd > 0) is raised


def test_load_due_in_the_rest_of_the_hour_is_no_reason_to_lower_iops() -> None:
    """More MiB/s for 02:30 would not be there in time, and 6,000 IOPS are not to be halved for them."""

    def half_past(when: datetime) -> float:
        return (
            1_600.0
            if (when.hour, when.minute >= 30) in ((2, True), (3, False), (3, True))
            else 40.0
        )

    now = at(2, 20)
    decision = decided(
        now, gp3(400, 6_000, 125), recent=activity([40.0] * 180, end=now, io_kib=256),
        metrics=history(half_past, days=9.3, end=now, io_kib=256),
    )  # fmt: skip
    assert isinstance(decision.answer, Hold)


def idle(_: datetime) -> float:
    return 300.0


def test_what_is_not_needed_is_given_back() -> None:
    plan = taken(decided(NOW, HIGH, load=idle))
    assert plan.target == LOW
    assert plan.price_change_usd == Decimal("-60.00")


@pytest.mark.parametrize(
    ("bought", "days", "left"),
    [(14_000, 1.2, 3_850), (14_000, 9.2, 3_000), (12_000, 1.2, 3_000), (20_000, 7.2, 3_000)],
)
def test_one_raise_leads_back_to_the_owners_level_until_three_days_were_seen(
    bought: int, days: float, left: int
) -> None:
    """A raise is fourfold at most; from 3,000 IOPS, which gp3 includes, it leads to 12,000."""
    plan = taken(decided(NOW, gp3(400, bought, 500), load=idle, days=days))
    assert plan.target == gp3(400, left, 125)


@pytest.mark.parametrize("days", [1.2, 6.9])
def test_what_a_ceiling_would_never_let_back_is_kept_for_a_week(days: float) -> None:
    """20,000 IOPS with max_iops 16,000: a week may use them yet."""
    assert isinstance(decided(NOW, gp3(400, 20_000, 500), load=idle, days=days).answer, Hold)


@pytest.mark.parametrize(
    ("iops", "limits", "lowered"),
    [
        (11_000, {}, 3_000),  # raised to again in time
        (11_000, {"change_windows": (parse_window("Mon 00:00-24:00 UTC"),)}, None),
        (18_000, {}, None),  # above the ceiling
        (2_000, {"change_windows": (parse_window("Mon 00:00-24:00 UTC"),)}, 3_000),
    ],
)
def test_what_the_owner_announced_is_not_lowered_where_it_could_not_come_back(
    iops: int, limits: dict[str, Any], lowered: int | None
) -> None:
    """A sale in three weeks, on gp3 of 18,000 IOPS that nothing has used for ten days."""
    sale = KnownEvent(
        name="sale", schedule=parse_schedule("once 2026-01-26 08:00 UTC"), minutes=600, iops=iops
    )
    owners = gp3(400, 18_000, 500)
    decision = decided(NOW, owners, load=idle, days=10, events=(sale,), **limits)
    kept = [
        j.plan.capability.sustained_iops
        for j in decision.judgements
        if j.allowed and j.plan.sustains_less
    ]
    assert min(kept, default=None) == lowered


def test_a_saving_too_small_for_a_slot_is_left_where_it_is() -> None:
    decision = decided(NOW, gp3(400, 3_050, 126), load=idle)
    assert isinstance(decision.answer, Hold)
    assert decision.answer.reason is Reason.NO_PRESSURE
    assert decision.next_change_at is None


@pytest.mark.parametrize(("days", "least"), [(0.5, 1.0), (0.9, 1.0), (5.2, 7.0)])
def test_nothing_is_lowered_before_enough_days_were_seen(days: float, least: float) -> None:
    decision = decided(NOW, HIGH, load=idle, days=days, give_back_after_days=least)
    assert isinstance(decision.answer, Hold)
    assert decision.answer.reason is Reason.BLOCKED_TEMPORARILY
    would = decision.answer.proposed_plan
    assert would is not None
    assert would.lowers
    assert decision.answer.until is not None
    missing = timedelta(days=least - days)
    assert timedelta(0) <= decision.answer.until - (NOW + missing) < HOUR  # whole hours count


@pytest.mark.parametrize(("hour", "moves"), [(20, False), (23, False), (1, True), (5, True)])
def test_a_cheaper_type_is_not_bought_early_at_the_height_of_the_next_load(
    hour: int, moves: bool
) -> None:
    def short(when: datetime) -> float:
        return 5_000.0 if when.hour == 2 and when.minute < 20 else 300.0

    decision = decided(at(hour, 20), gp2(400), load=short, days=9.2)
    assert isinstance(decision.answer, Act) == moves
    if not moves:
        assert decision.next_change_at is not None
        assert at(hour, 20) < decision.next_change_at <= at(25, 20)


def test_a_cheaper_type_does_not_wait_for_ever_where_changes_take_all_day() -> None:
    """A change that is in flight for a day meets every load; the end of the next one is hours away at most."""

    def short(when: datetime) -> float:
        return 12_000.0 if when.hour == 20 and when.minute < 10 else 300.0

    def at_work(hours: int, since: datetime) -> Modification:
        return Modification(
            state=ModificationState.COMPLETED, started_at=since,
            ended_at=since + timedelta(hours=hours), origin=gp2(1_000), target=gp2(1_000),
            progress_percent=100,
        )  # fmt: skip

    taken_at = []
    for hour in range(0, 24, 2):
        now = at(hour, 50)
        seen = observation(
            activity([short(now)] * 180, end=now), volume(gp2(1_000)), at=now,
            history=history(short, days=9.2, end=now),
            modification=at_work(16, now - timedelta(days=6)),
        )  # fmt: skip
        decision = decide(decision_input(seen, rules=policy(), trigger="due"))
        if isinstance(decision.answer, Act):
            assert decision.answer.plan.target.volume_type is VolumeType.GP3
            taken_at.append(hour)
    assert taken_at


def test_nothing_is_lowered_where_the_owner_says_so() -> None:
    decision = decided(NOW, HIGH, load=idle, give_back=False)
    assert isinstance(decision.answer, Hold)
    for judgement in decision.judgements:
        assert not judgement.allowed or not judgement.plan.lowers


@pytest.mark.parametrize(("clear", "lowers"), [(6, False), (29, False), (30, True), (120, True)])
def test_nothing_is_lowered_within_half_an_hour_of_touching_a_limit(
    clear: int, lowers: bool
) -> None:
    recent = activity(
        [300.0] * 180, iops_check=[0.0] * (179 - clear) + [1.0] + [0.0] * clear
    )  # fmt: skip
    decision = decided(NOW, HIGH, load=idle, recent=recent)
    assert isinstance(decision.answer, Act) == lowers


@pytest.mark.parametrize(
    ("hours_ago", "reserve", "lowers"),
    [((), 1, True), ((5,), 1, True), ((5, 10), 1, False), ((5, 10), 0, True),
     ((5, 10, 20), 0, False), ((5, 25), 1, True)],
)  # fmt: skip
def test_nothing_is_lowered_with_the_last_slot(
    hours_ago: tuple[int, ...], reserve: int, lowers: bool
) -> None:
    known = tuple(
        KnownModification(started_at=NOW - timedelta(hours=h), by="headroom") for h in hours_ago
    )
    decision = decided(NOW, HIGH, load=idle, known=known, slots_reserve=reserve)
    assert isinstance(decision.answer, Act) == lowers
    if not lowers:
        assert isinstance(decision.answer, Hold)
        assert decision.answer.reason is Reason.BLOCKED_TEMPORARILY
        oldest = min(k.started_at for k in known)
        assert decision.answer.until == oldest + timedelta(hours=24)


@settings(max_examples=15, deadline=None)
@given(load=st.floats(0, 11_000), value=st.sampled_from([0.01, 0.1, 1.0]))
def test_nothing_is_lowered_below_what_is_served_now(load: float, value: float) -> None:
    recent = activity([load] * 180)
    decision = decided(NOW, HIGH, load=idle, recent=recent, relief_value_usd_per_minute=value)
    if isinstance(decision.answer, Act):
        assert decision.answer.plan.capability.sustained_iops >= load


def test_in_observe_mode_it_is_said_what_would_be_given_back() -> None:
    decision = decided(NOW, HIGH, load=idle, mode=Mode.OBSERVE)
    seen = replace(decision.observation, volume=volume(HIGH, tags=()))
    watched = decide(decision_input(seen, rules=policy(mode=Mode.OBSERVE)))
    assert isinstance(watched.answer, Hold)
    assert watched.answer.reason is Reason.OBSERVE_ONLY
    assert watched.answer.proposed_plan is not None
    assert watched.answer.proposed_plan.target == LOW


# --- the same for less


def test_another_type_that_does_the_same_for_less_needs_no_days_of_data() -> None:
    decision = decided(NOW, gp2(1_000), load=idle, days=0)
    plan = taken(decision)
    assert isinstance(decision.answer, Act)
    assert decision.answer.reason is Reason.CHEAPER_EQUIVALENT
    assert plan.target == gp3(1_000, 3_000, 250)
    assert plan.price_change_usd < 0
    assert not plan.lowers


@pytest.mark.parametrize(("minutes", "moves"), [(4, False), (9, True), (29, True)])
def test_what_takes_nothing_away_for_less_waits_for_few_minutes(minutes: int, moves: bool) -> None:
    recent = activity([500.0] * minutes)
    decision = decided(NOW, gp2(1_000), load=idle, days=0, recent=recent)
    assert isinstance(decision.answer, Act) is moves
    if moves:
        assert not taken(decision).lowers


@pytest.mark.parametrize(
    ("iops", "days", "moves"),
    [(800.0, 0.0, True), (2_200.0, 0.0, False), (2_200.0, 0.3, True), (2_900.0, 1.2, True)],
)
def test_on_the_first_day_a_saving_waits_while_the_load_may_soon_exceed_its_limit(
    iops: float, days: float, moves: bool
) -> None:
    """A raise cannot begin while it is in flight, and gp2 that bursts to 3,000 IOPS may go to 12,000 at once."""
    recent = activity([iops] * 9)
    decision = decided(NOW, gp2(1_000), load=lambda _: iops, days=days, recent=recent)
    assert isinstance(decision.answer, Act) is moves
    assert ("; a cheaper type waits until 2026-01-" in decision.summary) is not moves


@pytest.mark.parametrize("pressed", [1, 3])
def test_nothing_is_saved_in_the_minutes_after_a_limit_was_touched(pressed: int) -> None:
    checks = [0.0] * 6 + [1.0] * pressed
    recent = activity([3_000.0] * len(checks), iops_check=checks)
    decision = decided(NOW, gp2(1_000), load=idle, days=0, recent=recent)
    if isinstance(decision.answer, Act):
        assert decision.answer.reason is not Reason.CHEAPER_EQUIVALENT


@pytest.mark.parametrize(
    ("days", "mibps", "reason"),
    [(1.2, 250, Reason.CHEAPER_EQUIVALENT), (30, 125, Reason.SCALING_DOWN)],
)
def test_with_weeks_of_data_the_other_type_gets_no_more_than_is_needed(
    days: float, mibps: int, reason: Reason
) -> None:
    """What an owner bought is evidence of a load that uses it, until many days say otherwise."""
    decision = decided(NOW, gp2(1_000), load=idle, days=days, relief_value_usd_per_minute=0.5)
    assert isinstance(decision.answer, Act)
    assert decision.answer.reason is reason
    assert taken(decision).target == gp3(1_000, 3_000, mibps)


def test_io1_moves_to_a_type_that_asks_less_for_what_is_needed() -> None:
    plan = taken(decided(NOW, io(VolumeType.IO1, 400, 16_000), load=lambda _: 6_000.0))
    assert plan.target.volume_type is VolumeType.GP3
    assert 6_000 <= (plan.target.iops or 0) < 16_000


def test_durability_is_never_lowered_to_save() -> None:
    decision = decided(NOW, io(VolumeType.IO2, 400, 16_000), load=lambda _: 6_000.0)
    plan = taken(decision)
    assert plan.target.volume_type is VolumeType.IO2
    assert 6_000 <= (plan.target.iops or 0) < 16_000
    for judgement in decision.judgements:
        if judgement.plan.target.volume_type is not VolumeType.IO2:
            assert Guardrail.DURABILITY in {v.guardrail for v in judgement.blocking}


# --- what stands in the list of plans


@pytest.mark.parametrize("iops", [300.0, 2_900.0])
def test_no_price_is_raised_where_nothing_would_starve(iops: float) -> None:
    """However near a limit the load goes, and whatever a minute is worth."""
    for configuration in (LOW, HIGH, gp2(1_000), io(VolumeType.IO1, 400, 3_000)):
        decision = decided(
            NOW, configuration, load=lambda _: iops, relief_value_usd_per_minute=1_000.0
        )
        assert all(j.plan.price_change_usd <= 0 for j in decision.judgements)


def test_no_step_without_a_way_back_is_taken_where_there_is_one_with() -> None:
    """io2 keeps data better and can never be left for gp3 again."""
    for decision in (decided(at(1, 40), LOW, known=lowered_at(at(-8))), decide(decision_input())):
        first = next(j.plan for j in decision.judgements if j.allowed)
        assert first.target.volume_type is VolumeType.GP3
        assert first.target.size_gib == first.origin.size_gib


def _changes(plan: Plan) -> int:
    names = ("volume_type", "size_gib", "iops", "throughput_mibps")
    return sum(getattr(plan.origin, n) != getattr(plan.target, n) for n in names)


@pytest.mark.parametrize("configuration", [LOW, HIGH, gp2(1_000), io(VolumeType.IO1, 400, 9_000)])
@pytest.mark.parametrize("hour", [1, 5, 12])
def test_plans_stand_in_the_order_of_their_worth_and_alike_ones_by_how_little_they_change(
    configuration: Configuration, hour: int
) -> None:
    plans = [j.plan for j in decided(at(hour), configuration).judgements]
    keys = [
        (-round(p.value_usd_per_day, 2), _changes(p), not p.reversible, p.monthly_usd)
        for p in plans
    ]
    assert keys == sorted(keys)
    assert len({p.target for p in plans}) == len(plans)
    for plan in plans:
        assert plan.capability == capability(plan.target)
        assert plan.target != plan.origin
        assert plan.target.size_gib >= plan.origin.size_gib


def test_under_pressure_nothing_is_given_back() -> None:
    seen = replace(starved_gp3(), history=history(idle, days=5.2))
    for configuration in (gp3(), gp3(100, 3_000, 500)):
        moved = replace(seen, volume=volume(configuration))
        decision = decide(decision_input(moved))
        assert not any(j.plan.lowers and j.allowed for j in decision.judgements)


def test_levels_nearly_alike_are_valued_once() -> None:
    targets = [
        j.plan.target for j in decided(NOW, HIGH, load=lambda i: 4_000.0 + i.minute).judgements
    ]
    iops = sorted({t.iops or 0 for t in targets if t.volume_type is VolumeType.GP3})
    settable = [n for n in iops if n > 3_100]
    assert all(b / a > 1.02 for a, b in pairwise(settable))


# --- where no change may follow for days


@pytest.mark.parametrize(
    ("limits", "lowers"),
    [
        ({}, True),
        (
            {"change_windows": tuple(parse_window(f"{NOW:%a} 00:00-24:00 UTC") for _ in range(1))},
            False,
        ),
        ({"cooldown_minutes": 3 * 24 * 60}, False),
        ({"cooldown_minutes": 12 * 60}, True),
    ],
    ids=["at any time", "one window a week", "a cooldown of days", "a cooldown of hours"],
)
def test_what_a_load_took_lately_stays_where_no_change_may_follow_for_days(
    limits: dict[str, Any], lowers: bool
) -> None:
    """A load of every fourth day was over yesterday; what comes beyond the coming day is in no plan's value."""

    def fourth_day(when: datetime) -> float:
        return nightly(when) if (when - MIDNIGHT) // timedelta(days=1) % 4 == 3 else 300.0

    raised = (changed(at(-22), LOW, HIGH),)
    decision = decided(at(9), HIGH, load=fourth_day, days=14, known=raised, **limits)
    assert isinstance(decision.answer, Act) is lowers


def test_a_raise_for_load_that_is_not_there_yet_and_may_not_be_made_says_what_it_is_for() -> None:
    seen = observation(
        activity([300.0] * 180), volume(gp3(400)),
        history=history(
            lambda at: min(3_000.0, nightly(at, hour=12)), days=8,
            check=lambda at: 5.0 if at.hour == 12 else 0.0,
        ),
    )  # fmt: skip
    decision = decide(decision_input(seen, rules=policy(price_increase_usd=Decimal(0))))
    assert isinstance(decision.answer, Hold)
    assert "held (no pressure); for load as before it would take gp3 400 GiB 12000" in (
        decision.summary
    )
