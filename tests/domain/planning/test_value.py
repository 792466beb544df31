"""Plans weighed against each other and against waiting."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial

import pytest

from headroom.domain.catalog import catalogue_prices
from headroom.domain.decision.diagnose import diagnose
from headroom.domain.planning import FORESEEN_USD, Plan, Situation, ValuedPlans, value_plans
from headroom.domain.planning.build_plan import plan_to
from headroom.domain.planning.planner import candidates
from headroom.domain.planning.restoring import could_come_back
from headroom.domain.planning.situation import hardly_more
from headroom.domain.policy import Limits, parse_window
from headroom.domain.resources import Configuration, ModificationState, Observation, VolumeType
from headroom.domain.workload import estimate
from tests.builders import (
    NOW,
    REGION,
    activity,
    gp2,
    gp3,
    instance,
    io,
    modification,
    observation,
    volume,
)
from tests.domain.databases import rds
from tests.domain.earlier import Load, history, nightly, past_seen

LOW, HIGH = gp3(400, 3_000, 125), gp3(400, 12_000, 500)


def situation(seen: Observation, *, starts: tuple[float, ...] = (), **limits: object) -> Situation:
    """`starts` are hours since the volume's modifications."""
    demand = estimate(seen)
    prices = catalogue_prices(REGION)
    own = replace(Limits(), **limits)  # type: ignore[arg-type]
    return Situation(
        observation=seen,
        past=past_seen(seen, limits=own),
        demand=demand,
        diagnosis=diagnose(seen, demand),
        limits=own,
        prices=prices,
        baseline_usd=prices.monthly(seen.volume.configuration),
        account_left_usd=Decimal(2_000),
        starts=tuple(NOW - timedelta(hours=h) for h in starts),
    )


def calm(configuration: Configuration = LOW, load: Load = nightly, *, days: float = 5.2,
         now: datetime = NOW, **changes: object) -> Observation:  # fmt: skip
    """Idle now, and `load` seen running free on earlier days."""
    metrics = history(load, days=days, end=now)
    return observation(
        activity([300.0] * 180, end=now), volume(configuration), at=now, history=metrics, **changes
    )


def pressed(minutes: int, load: Load | None = None, **changes: object) -> Observation:
    """At the 3,000 IOPS of gp3 for so many minutes."""
    clear = 180 - minutes
    recent = activity(
        [900.0] * clear + [3_000.0] * minutes, iops_check=[0.0] * clear + [1.0] * minutes,
        queue=[1.0] * clear + [500.0 + i for i in range(minutes)],
    )  # fmt: skip
    metrics = None if load is None else history(load, days=5.2)
    return observation(recent, volume(LOW), history=metrics, **changes)


def best(found: ValuedPlans) -> Plan:
    return found.plans[0]


# --- what slots are left


@pytest.mark.parametrize(
    ("starts", "earliest", "latest"),
    [
        ((), 12, 14),  # two o'clock is fourteen hours from noon
        ((23, 22, 21), 12, 14),
        ((1, 2, 3), 21, 24),  # the first slot frees long after
    ],
)
def test_a_change_is_planned_for_when_it_is_needed_and_a_slot_is_there(
    starts: tuple[float, ...], earliest: int, latest: int
) -> None:
    found = value_plans(situation(calm(), starts=starts))
    if found.next_change is None:
        assert earliest > 14
        return
    assert NOW + timedelta(hours=earliest) <= found.next_change <= NOW + timedelta(hours=latest)


def test_the_last_free_slot_is_kept_for_the_night_rather_than_spent_on_a_small_saving() -> None:
    """2 % less IOPS now, or the raise at two o'clock: with one slot left it is one or the other."""
    a_little_more = gp3(400, 3_400, 125)
    with_slots = value_plans(situation(calm(a_little_more)))
    with_one = value_plans(situation(calm(a_little_more), starts=(1, 2)))

    def worth_of_lowering(found: ValuedPlans) -> float:
        return next(p.value_usd_per_day for p in found.plans if p.target == LOW)

    assert worth_of_lowering(with_one) < worth_of_lowering(with_slots)
    assert worth_of_lowering(with_one) < 0


@pytest.mark.parametrize(("days", "lowered"), [(1.05, False), (2, False), (16, True)])
def test_nothing_small_is_given_back_while_new_load_may_come_before_it_is_done(
    days: float, lowered: bool
) -> None:
    """$5 a month for 125 MiB/s: while the change is in flight nothing else could follow."""
    found = value_plans(situation(calm(gp3(400, 3_000, 250), lambda _: 2_000.0, days=days)))
    value = next(p.value_usd_per_day for p in found.plans if p.target == LOW)
    assert (value > 0) is lowered


def every(hours: int, last: int, iops: float = 3_300.0) -> Load:
    """An hour of load every so many hours, the last of them so many hours ago; idle otherwise."""

    def load(at: datetime) -> float:
        ago = (NOW - at) // timedelta(hours=1)
        return iops if ago >= last and (ago - last) % hours == 0 else 100.0

    return load


def rest_of(load: Load, days: float) -> float:
    """The value of giving back 400 IOPS, $2 a month, that Headroom had raised."""
    seen = situation(calm(gp3(400, 3_400, 125), load, days=days))
    found = value_plans(replace(seen, chosen=LOW))
    return next((p.value_usd_per_day for p in found.plans if p.target == LOW), -1.0)


@pytest.mark.parametrize(
    ("last", "given_back"), [(400, True), (20, False)], ids=["calm for two weeks", "lately"]
)
def test_what_a_load_may_use_before_the_next_window_is_kept(last: int, given_back: bool) -> None:
    """Of a load of every third day nothing is due within the coming one."""
    low = situation(calm(gp3(400, 3_400, 125), every(72, last), days=14.2))
    window = parse_window("Mon 11:00-13:00 UTC")
    seen = replace(low, chosen=LOW, limits=replace(low.limits, change_windows=(window,)))
    values = [p.value_usd_per_day for p in value_plans(seen).plans if p.target == LOW]
    assert (max(values, default=-1.0) > 0) is given_back


@pytest.mark.parametrize(
    ("load", "days", "given_back"),
    [
        (lambda _: 100.0, 1.2, False),
        (lambda _: 100.0, 5.2, True),
        (every(1_000, 24), 12.0, False),  # calm for a day
        (every(1_000, 200), 12.0, True),  # for eight
        (every(24, 20), 12.0, False),
        (every(168, 100), 26.0, False),  # every week: calm for no longer than before
    ],
)
def test_a_small_saving_counts_for_as_many_days_as_were_calm(
    load: Load, days: float, given_back: bool
) -> None:
    assert (rest_of(load, days) > 0) is given_back


@pytest.mark.parametrize(("days", "given_back"), [(1.2, False), (14.0, True)])
def test_a_little_that_the_owner_bought_is_given_back_after_calm_weeks(
    days: float, given_back: bool
) -> None:
    """3,400 IOPS prove a load beyond 3,000 less than 15,000 would."""
    found = value_plans(situation(calm(gp3(400, 3_400, 125), lambda _: 5.0, days=days)))
    lowered = next(p for p in found.plans if p.target == LOW)
    assert (lowered.value_usd_per_day > 0) is given_back


# --- what pressure is worth


def test_the_longer_pressure_lasts_the_longer_it_is_expected_to() -> None:
    ended = [best(value_plans(situation(pressed(m)))).relieved_minutes_per_day for m in (3, 20, 90)]
    assert ended[0] < ended[1] < ended[2]


def test_where_load_like_this_was_always_short_less_is_expected_of_it() -> None:
    def short(at: datetime) -> float:
        return 6_000.0 if at.minute < 10 and at.hour % 3 == 0 else 900.0

    def long(at: datetime) -> float:
        return 6_000.0 if at.hour in (8, 9, 10, 20, 21, 22) else 900.0

    def of_the_episode(load: Load) -> float:
        found = value_plans(situation(pressed(4, load), relief_value_usd_per_minute=0.01))
        raised = [p for p in found.plans if p.capability.sustained_iops >= 6_000]
        return max(p.value_usd_per_day for p in raised)

    assert of_the_episode(short) < of_the_episode(long)


def test_a_minute_that_is_worth_more_makes_every_relief_worth_more() -> None:
    values = []
    for usd in (0.01, 0.1, 1.0):
        found = value_plans(situation(pressed(20), relief_value_usd_per_minute=usd))
        values.append(max(p.value_usd_per_day for p in found.plans))
    assert values[0] < values[1] < values[2]


def test_one_pressed_minute_is_an_accident() -> None:
    found = value_plans(situation(pressed(1)))
    assert all(p.value_usd_per_day < 0 or p.price_change_usd <= 0 for p in found.plans)


# --- what is not weighed


def test_nothing_is_valued_where_the_instance_is_the_limit() -> None:
    found = value_plans(situation(pressed(30, nightly, instance=instance(baseline_iops=3_000))))
    assert found.plans == ()
    assert found.next_change is None
    assert found.known_days == pytest.approx(5.2, abs=1 / 24)


def test_what_the_instance_cannot_carry_ends_nothing() -> None:
    """Nine thousand every night, on an instance of 5,000 and on one with room."""
    at = NOW.replace(hour=1, minute=40)

    def ended(baseline_iops: int) -> float:
        seen = calm(now=at, instance=instance(baseline_iops=baseline_iops))
        plans = value_plans(situation(seen)).plans
        return max((p.relieved_minutes_per_day for p in plans), default=0.0)

    assert ended(40_000) > 30
    assert ended(5_000) < 0.75 * ended(40_000)


@pytest.mark.parametrize("kind", [VolumeType.ST1, VolumeType.SC1])
def test_a_quiet_volume_of_a_type_that_is_only_left_is_let_be(kind: VolumeType) -> None:
    quiet = Configuration(volume_type=kind, size_gib=500, iops=None, throughput_mibps=None)
    seen = observation(activity([5.0] * 180), volume(quiet), history=history(lambda _: 5.0, days=3))
    assert value_plans(situation(seen)).plans == ()


# --- candidates


def test_in_calm_only_types_that_are_allowed_and_leave_a_way_back_are_candidates() -> None:
    for configuration in (LOW, HIGH, gp2(1_000)):
        kinds = {p.target.volume_type for p in candidates(situation(calm(configuration)))}
        assert kinds <= {VolumeType.GP3}
    only_io2 = candidates(situation(calm(HIGH), types=(VolumeType.IO2,)))
    assert {p.target.volume_type for p in only_io2} <= {VolumeType.GP3, VolumeType.IO2}
    from_io1 = candidates(situation(calm(io(VolumeType.IO1, 400, 12_000))))
    assert VolumeType.GP3 in {p.target.volume_type for p in from_io1}


def test_no_candidate_of_the_past_goes_beyond_a_ceiling_or_the_largest_step() -> None:
    huge = calm(LOW, lambda at: 60_000.0 if at.hour == 2 else 300.0)
    for plan in candidates(situation(huge)):
        assert (plan.target.iops or 0) <= 12_000
        assert (plan.target.throughput_mibps or 0) <= 1_000
    low_ceiling = candidates(situation(huge, max_iops=5_000, max_throughput_mibps=200))
    for plan in low_ceiling:
        assert (plan.target.iops or 0) <= 5_000
        assert (plan.target.throughput_mibps or 0) <= 200


def test_what_is_above_a_ceiling_today_may_stay_or_come_down() -> None:
    above = candidates(situation(calm(HIGH), max_iops=5_000, max_throughput_mibps=200))
    assert above
    assert all(p.lowers for p in above)


@pytest.mark.parametrize(("percent", "iops"), [(0, 9_000), (10, 9_900), (25, 11_250)])
def test_spare_is_kept_above_what_earlier_days_wanted(percent: int, iops: int) -> None:
    found = candidates(situation(calm(HIGH), headroom_percent=percent))
    assert any((p.target.iops or 0) == pytest.approx(iops, rel=0.01) for p in found)


def test_spare_alone_leaves_what_gp3_includes_only_for_more_than_a_little() -> None:
    """2,773 IOPS and a tenth are 3,050: nobody buys 50 IOPS, and nobody changes IOPS for them."""
    for peak, least in ((2_773.0, 3_000), (2_950.0, 3_200)):
        found = candidates(situation(calm(HIGH, lambda at, p=peak: p if at.hour == 2 else 300.0)))
        enough = [p.target.iops or 0 for p in found if (p.target.iops or 0) >= peak]
        assert least <= min(n for n in enough if n >= least) <= 1.02 * least
        assert not [n for n in enough if 3_000 < n < least]


@pytest.mark.parametrize(
    ("configuration", "types"),
    [
        (io(iops=3_000), (VolumeType.GP3, VolumeType.IO2)),
        (io(VolumeType.IO1, iops=3_000), (VolumeType.IO1,)),
    ],
)
def test_a_type_that_includes_no_iops_is_lowered_below_those_that_gp3_includes(
    configuration: Configuration, types: tuple[VolumeType, ...]
) -> None:
    found = candidates(situation(calm(configuration, lambda at: 900.0), types=types))
    of_its_type = {
        p.target.iops for p in found if p.target.volume_type is configuration.volume_type
    }
    assert any(980 <= (iops or 0) <= 1_000 for iops in of_its_type)


def test_no_price_takes_from_the_owners_choice_what_the_load_uses() -> None:
    """A minute that is worth next to nothing buys no IOPS, but they are the owner's and in use."""
    mine = gp3(400, 12_000, 500)

    def lowest(load: float, **changes: object) -> int:
        seen = observation(
            activity([load] * 180), volume(mine), history=history(lambda at: load, days=5.2)
        )
        limits: dict[str, object] = {"relief_value_usd_per_minute": 0.00001}
        here = replace(situation(seen, **limits), **changes)  # type: ignore[arg-type]
        return min(p.target.iops or 0 for p in value_plans(here).plans if p.lowers)

    assert lowest(300.0) == 3_000
    assert lowest(8_000.0) >= 8_000
    assert lowest(8_000.0, chosen=LOW) == 3_000  # the rest is Headroom's own


def test_a_pause_of_the_load_is_no_reason_to_take_what_the_owner_chose() -> None:
    """Half an hour of pause a day, after which 90,000 IOPS met a sixteenth of what had been there."""

    def used(at: datetime, hours: int) -> float:
        return 8_000.0 if (at - NOW).total_seconds() % 86_400 < hours * 3600 else 300.0

    def lowest(hours: int) -> int:
        seen = observation(
            activity([300.0] * 180), volume(gp3(400, 12_000, 500)),
            history=history(lambda at: used(at, hours), days=5.2),
        )  # fmt: skip
        here = situation(seen, relief_value_usd_per_minute=0.00001)
        return min(
            (p.target.iops or 0 for p in value_plans(here).plans if p.lowers), default=12_000
        )

    assert lowest(20) >= 8_000
    assert lowest(4) == 3_000


@pytest.mark.parametrize(
    ("hours", "state", "lowered"),
    [
        (1, ModificationState.COMPLETED, True),
        (13, ModificationState.COMPLETED, False),
        (13, ModificationState.OPTIMIZING, False),
    ],
)
def test_nothing_is_given_back_that_is_missed_while_aws_may_be_at_work_on_it(
    hours: int, state: ModificationState, lowered: bool
) -> None:
    """AWS was at work on the latest change for half a day: the raise for load ten hours on comes too late."""
    bought = io(iops=10_000)
    done = state is ModificationState.COMPLETED
    started = NOW - timedelta(hours=hours + 2 * done)
    latest = modification(
        bought, origin=bought, state=state, started_at=started,
        ended_at=started + timedelta(hours=hours) if done else None,
    )  # fmt: skip

    def daily(at: datetime) -> float:
        return 9_000.0 if (at - NOW).total_seconds() % 86_400 // 3_600 in (10, 11, 12) else 300.0

    seen = calm(bought, daily, days=12.0, modification=latest)
    plans = value_plans(situation(seen)).plans
    missed = [p for p in plans if p.capability.sustained_iops < 9_000]
    assert any(p.value_usd_per_day > 0 for p in missed) is lowered


def test_from_a_type_that_includes_no_iops_one_raise_leads_back_to_the_highest_load() -> None:
    """A database of io2 was lowered so far that two raises, hours apart, led back to its nightly load."""
    seen = situation(calm(io(iops=20_000), lambda at: nightly(at, iops=12_000.0)), largest_step=4)
    lowest = min(
        p.target.iops or 0 for p in candidates(seen) if p.target.volume_type is VolumeType.IO2
    )
    assert lowest * 4 >= 12_000 * 1.09


def test_operations_that_no_iops_are_left_for_get_no_throughput() -> None:
    """Four times the load would be 28,000 IOPS and 440 MiB/s; of the 16,000 IOPS permitted, 250 MiB/s are used."""
    limit = gp3(400, 7_000, 125)
    seen = situation(calm(limit, lambda at: nightly(at, iops=7_000.0), days=9.2), max_iops=16_000)
    highest = [p for p in candidates(seen) if p.target.iops == 16_000]
    assert highest
    assert max(p.target.throughput_mibps or 0 for p in highest) <= 275


def test_a_raise_of_one_percent_is_worth_no_slot() -> None:
    def highest(most_iops: int) -> int:
        plans = candidates(situation(pressed(60), max_iops=most_iops))
        return max(iops for p in plans if (iops := p.target.iops or 0) <= most_iops)

    assert highest(3_030) <= 3_000
    assert highest(3_300) == 3_300


def test_what_the_price_limit_forbids_does_not_follow_load_either() -> None:
    """io2 with 5,000 of the 7,000 IOPS of its nights: no raise in the first minutes of a night saves its rest."""
    seen = calm(
        io(VolumeType.IO2, 400, 5_000), partial(nightly, iops=7_000.0), days=9.2,
        now=NOW.replace(hour=17),
    )  # fmt: skip

    def value(increase_usd: int) -> float:
        here = situation(
            seen, types=(VolumeType.IO2,), largest_step=4, price_increase_usd=Decimal(increase_usd)
        )
        return next(p.value_usd_per_day for p in value_plans(here).plans if p.target.iops == 7_733)

    assert value(0) > value(10_000) + 5.0


@pytest.mark.parametrize(("left", "mibps"), [(None, 1_000.0), (566.0, 566.0)])
def test_of_the_throughput_that_came_with_iops_no_more_comes_back_than_the_instance_lets_through(
    left: float | None, mibps: float
) -> None:
    """4,000 IOPS of io1 bring 1,000 MiB/s."""
    here = situation(calm(rds(VolumeType.IO1, 500, 4_000), partial(nightly, iops=4_000.0)))
    diagnosis = replace(here.diagnosis, instance_mibps_left=left)
    assert could_come_back(replace(here, diagnosis=diagnosis))[1] == mibps


# --- the present hour, whose rest a schedule of whole hours leaves out


def late_in_the_hour(at: datetime) -> float:
    """Load from 02:40 to 03:00 every night."""
    return 9_000.0 if at.hour == 2 and at.minute >= 40 else 300.0


@pytest.mark.parametrize(
    ("hour", "minute", "given_back"),
    [(1, 25, False), (2, 5, False), (2, 25, False), (2, 35, False), (3, 45, True)],
)
def test_nothing_is_given_back_minutes_before_a_load_that_is_due_in_the_same_hour(
    hour: int, minute: int, given_back: bool
) -> None:
    """At 02:25 the schedule begins at three, for what is asked for then; lowering takes minutes."""
    now = NOW.replace(hour=hour, minute=minute)
    seen = situation(calm(gp3(400, 9_900, 155), late_in_the_hour, days=9.2, now=now))
    found = value_plans(replace(seen, chosen=LOW))
    lowering = next(p for p in found.plans if p.target == LOW)
    assert (lowering.value_usd_per_day > 0) is given_back
    if (hour, minute) in ((2, 25), (2, 35)):  # as soon as that hour has passed
        assert found.next_change == now.replace(hour=3, minute=0)


def test_a_raise_that_is_not_yet_worth_enough_is_valued_again_within_the_hour() -> None:
    """No later hour is better for it, so that nothing else would bring it up again before the load."""
    seen = calm(load=partial(nightly, iops=3_800.0), days=9.2, now=NOW.replace(hour=1, minute=30))
    found = value_plans(situation(seen, relief_value_usd_per_minute=0.013))
    assert 0 < best(found).value_usd_per_day < FORESEEN_USD
    assert found.next_change == NOW.replace(hour=2, minute=20)


@pytest.mark.parametrize(
    ("target", "small"),
    [
        (gp3(400, 3_600, 250), True),  # a fifth more, and MiB/s that 16 KiB operations cannot use
        (gp3(400, 3_600, 125), True),
        (gp3(400, 4_000, 125), False),
        (gp3(400, 3_000, 500), True),
    ],
)
def test_more_throughput_than_a_load_can_use_is_hardly_more(
    target: Configuration, small: bool
) -> None:
    pressed = observation(activity([3_000.0] * 60, queue=[1_024.0] * 60, iops_check=1), volume(LOW))
    found = situation(pressed)
    plan = plan_to(found, target)
    assert plan is not None
    assert hardly_more(found, plan) is small
