"""The world in memory speaks as AWS does: delays, holes, refusals, alarms on transitions only."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from headroom.domain.resources import Claim, Configuration, Kind, ResourceRef, Series
from headroom.domain.state import AlreadyThere, Applied, Refusal, Refused, Stale
from headroom.ports import ResourceGone
from headroom.proving.metrics import PublishedVolume
from headroom.proving.physics import Attachment, VolumePhysics
from headroom.proving.simulation.world import SimulatedVolume, World
from headroom.proving.workloads import Workload
from tests.proving.build import MINUTE, T0, gp2, gp3, instance, steady, steps, volume

REF = ResourceRef(kind=Kind.EBS, account_id="123456789012", region="us-east-1", resource_id="vol-1")
DELAY = timedelta(minutes=2)


def world(
    what: Configuration,
    load: Workload,
    *,
    attachment_settings: Attachment | None = None,
    others: Sequence[datetime] = (),
    history: Sequence[datetime] = (),
) -> World:
    attachment = attachment_settings or instance(20_000, 1_000, most_iops=40_000, most_mibps=2_000)
    one = SimulatedVolume(
        ref=REF,
        lifecycle=volume(what, history=history),
        physics=VolumePhysics(load, attachment=attachment),
        attachment=attachment,
        tags=(("headroom", "auto"),),
        published=PublishedVolume(
            delay=DELAY, other_iops=attachment.other_iops, other_mibps=attachment.other_mibps
        ),
        others=tuple(others),
    )
    return World([one], now=T0)


def passed(place: World, minutes: int) -> World:
    for _ in range(minutes):
        place.advance()
    return place


def known(series: Series) -> list[tuple[int, float]]:
    """Minutes since T0 and their values."""
    return [(int((at - T0).total_seconds() // 60), value) for at, value in series.points()]


def test_a_minute_is_readable_once_it_has_ended_and_the_delay_has_passed() -> None:
    place = passed(world(gp3(), steady(600)), 5)
    activity, _ = place.activity(place.view(REF), place.now)
    assert known(activity.read_iops) == [(0, 300.0), (1, 300.0), (2, 300.0)]
    assert (activity.read_iops.period_s, len(activity.read_iops.values)) == (60, 180)
    assert activity.read_iops.end == place.now
    assert activity.read_mibps.last() == pytest.approx(300 * 16 / 1024)
    assert activity.latency_ms.last() == pytest.approx(0.5)


def test_what_is_never_published_is_missing_and_not_zero() -> None:
    place = passed(world(gp3(), steady(0)), 12)
    activity, instance_activity = place.activity(place.view(REF), place.now)
    assert activity.burst_balance_percent.known() == ()
    assert activity.latency_ms.known() == ()
    assert set(activity.read_iops.known()) == {0.0}
    assert set(activity.iops_exceeded.known()) == {0.0}
    assert instance_activity is not None
    assert known(instance_activity.io_balance_percent) == [(0, 100.0), (5, 100.0)]
    assert instance_activity.io_balance_percent.period_s == 300


def test_earlier_days_come_in_periods_of_five_minutes() -> None:
    place = passed(world(gp2(100), steps((300, 600, 16), (300, 6_000, 16), (999, 0, 16))), 12)
    history = place.history(place.view(REF), place.now)
    assert history is not None
    assert known(history.read_iops) == [(0, 300.0), (5, 1_500.0)]
    assert known(history.iops_exceeded) == [(0, 0.0), (5, 5.0)]
    balance = known(history.burst_balance_percent)
    assert balance[1][1] < balance[0][1]
    assert len(history.read_iops.values) == 14 * 288
    fresh = world(gp3(), steady(1))
    assert fresh.history(fresh.view(REF), T0) is None


def test_an_unfinished_period_has_what_is_published_so_far() -> None:
    place = passed(world(gp3(), steady(600)), 12)
    history = place.history(place.view(REF), place.now)
    assert history is not None
    assert known(history.read_iops) == [(0, 300.0), (5, 300.0)]
    assert known(passed(place, 3).history(place.view(REF), place.now).read_iops)[-1] == (  # type: ignore[union-attr]
        10,
        pytest.approx(300 * 3 / 5),
    )


def test_a_glance_covers_half_an_hour() -> None:
    place = passed(world(gp2(100), steps((120, 6_000, 16), (7_200, 100, 16))), 10)
    glance = place.glance([place.view(REF)], place.now)["vol-1"]
    assert glance.iops_exceeded_minutes == 5, "two minutes of surge, 124 s to work off the rest"
    assert glance.throughput_exceeded_minutes == 0
    assert glance.longest_queue == pytest.approx(1_024, rel=0.02)
    later = passed(place, 60)
    assert later.glance([later.view(REF)], later.now)["vol-1"].iops_exceeded_minutes == 0


def test_the_instance_reports_the_load_of_its_other_volumes_too() -> None:
    busy = Attachment(limits=instance(20_000, 1_000).limits, other_iops=700, other_mibps=30)
    place = passed(world(gp3(), steady(600), attachment_settings=busy), 5)
    view = place.view(REF)
    _, activity = place.activity(view, place.now)
    assert activity is not None
    assert activity.iops.last() == pytest.approx(1_300)
    assert activity.mibps.last() == pytest.approx(30 + 600 * 16 / 1024)
    assert view.instance is not None
    assert len(view.instance.volume_ids) == 2
    assert len(list(place.fleet())) == 1


def test_a_change_is_applied_to_what_the_decision_saw() -> None:
    place = world(gp3(), steady(600))
    outcome = place.apply(REF, expected=gp3(), seen=None, target=gp3(100, 6_000, 250))
    assert outcome == Applied(started_at=T0)
    view = place.view(REF)
    assert view.volume.configuration == gp3(), "the origin while it is modifying"
    assert view.modification is not None
    assert view.modification.in_flight
    assert view.modification.target == gp3(100, 6_000, 250)
    place.advance()
    assert place.view(REF).volume.configuration == gp3(100, 6_000, 250)


def test_a_change_in_flight_is_neither_already_there_nor_added_to() -> None:
    place = world(gp3(), steady(600))
    target = gp3(100, 6_000, 250)
    place.apply(REF, expected=gp3(), seen=None, target=target)
    for minute in range(2):  # modifying, then optimizing
        described = place.view(REF).volume.configuration
        for wanted in (gp3(), target, gp3(100, 9_000, 250)):
            outcome = place.apply(REF, expected=described, seen=T0, target=wanted)
            assert isinstance(outcome, Refused), minute
            assert outcome.refusal is Refusal.IN_FLIGHT
        place.advance()
    assert len(place.applied) == 1


def test_a_change_to_what_is_already_there_uses_no_slot() -> None:
    place = world(gp3(), steady(600))
    assert place.apply(REF, expected=gp3(), seen=None, target=gp3()) == AlreadyThere()
    assert place.view(REF).modification is None


@pytest.mark.parametrize("expected", [gp3(100, 4_000, 125), gp2(100)])
def test_a_world_that_moved_is_stale(expected: Configuration) -> None:
    place = world(gp3(), steady(600))
    outcome = place.apply(REF, expected=expected, seen=None, target=gp3(100, 6_000, 250))
    assert isinstance(outcome, Stale)
    assert outcome.found == gp3()


def test_a_change_of_another_program_makes_a_decision_stale() -> None:
    place = passed(world(gp3(), steady(600), others=[T0 + timedelta(seconds=90)]), 3)
    outcome = place.apply(REF, expected=gp3(), seen=None, target=gp3(100, 6_000, 250))
    assert isinstance(outcome, Stale)


def test_refusals_are_classified_and_keep_awss_message() -> None:
    past = [T0 - timedelta(hours=h) for h in (20, 15, 10, 5)]
    place = world(gp3(), steady(600), history=past)
    outcome = place.apply(REF, expected=gp3(), seen=past[-1], target=gp3(100, 6_000, 250))
    assert isinstance(outcome, Refused)
    assert (outcome.refusal, outcome.retry_at) == (Refusal.SLOTS, T0 + timedelta(hours=4))
    assert [r.code for r in place.refusals] == ["VolumeModificationRateExceeded"]
    shrink = place.apply(REF, expected=gp3(), seen=past[-1], target=gp3(50))
    assert isinstance(shrink, Refused)
    assert shrink.refusal is Refusal.INVALID


def test_a_refused_change_of_another_program_is_in_the_notes() -> None:
    others = [T0 + timedelta(minutes=5), T0 + timedelta(minutes=30)]
    place = passed(world(gp3(), steady(1), others=others), 40)
    assert place.refusals == []
    assert place.notes == [
        "AWS refused another program's change at 2026-01-05T00:30:00Z (IncorrectModificationState)."
    ]


def test_an_unknown_volume_is_gone() -> None:
    gone = ResourceRef(kind=Kind.EBS, account_id="1", region="us-east-1", resource_id="vol-9")
    with pytest.raises(ResourceGone):
        world(gp3(), steady(1)).view(gone)


def heard(place: World, minutes: int) -> list[tuple[int, str]]:
    found = []
    for _ in range(minutes):
        place.advance()
        at = int((place.now - T0) / MINUTE)
        found += [(at, s.alarm_name or s.claim.value) for s in place.signals()]
    return found


def test_alarms_wake_on_the_transition_only_and_again_after_relief() -> None:
    load = steps((300, 100, 16), (600, 3_500, 16), (1_200, 0, 16), (600, 3_500, 16))
    found = heard(world(gp3(), load), 60)
    assert [name for _, name in found] == ["headroom-iops_exceeded"] * 2
    assert found[0][0] == 5 + 2 + 2, "two breaching minutes, each readable two minutes late"


def test_a_falling_balance_wakes_below_70_percent_in_two_minutes_as_the_alarm_does() -> None:
    found = heard(world(gp2(100), steady(3_000)), 20)
    fall = 100 * (3_000 - 300) * 60 / 5_400_000
    minute = next(n for n in range(1, 99) if 100 - n * fall < 70)
    assert found == [(minute + 1 + 2, "headroom-burst_balance")]


def test_each_state_of_a_modification_is_an_event() -> None:
    place = world(gp3(), steady(1), others=[T0 + timedelta(minutes=3)])
    found = heard(place, 150)
    assert [at for at, _ in found] == [4, 123]
    assert {name for _, name in found} == {Claim.MODIFICATION.value}
