"""AWS's modification rules, one refusal and one promise at a time."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.catalog import why_invalid
from headroom.domain.resources import EBS_TYPES, Configuration, ModificationState, VolumeType
from headroom.proving.awsrules import Delays, ModificationRefused, VolumeLifecycle
from tests.proving.build import MINUTE, T0, configuration, gp2, gp3, volume

HOUR = timedelta(hours=1)


def refused(lifecycle: VolumeLifecycle, now: datetime, **asked: object) -> ModificationRefused:
    before = lifecycle.described(now), lifecycle.starts
    with pytest.raises(ModificationRefused) as caught:
        lifecycle.modify(now, **asked)  # type: ignore[arg-type]
    assert (lifecycle.described(now), lifecycle.starts) == before
    return caught.value


@pytest.mark.parametrize(
    ("origin", "asked", "code", "words"),
    [
        (gp3(), {"size_gib": 99}, "InvalidParameterValue", "New size cannot be smaller"),
        (gp3(), {"iops": 2_999}, "InvalidParameterValue", "minimum is 3000"),
        (gp3(1_000), {"iops": 80_001}, "InvalidParameterValue", "maximum is 80000"),
        (gp3(20), {"iops": 10_001}, "InvalidParameterValue", "volume size ratio of 500.05"),
        (gp3(), {"throughput_mibps": 124}, "InvalidParameterValue", "minimum is 125"),
        (gp3(), {"throughput_mibps": 751}, "InvalidParameterValue", "iops ratio of 0.250333"),
        (gp3(), {"throughput_mibps": 2_001, "iops": 9_000}, "InvalidParameterValue", "2000"),
        (gp3(), {"size_gib": 65_537}, "InvalidParameterValue", "too large"),
        (gp3(20_000), {"volume_type": "gp2"}, "InvalidParameterValue", "too large"),
        (gp3(), {"volume_type": "gp2", "iops": 300}, "InvalidParameterCombination", "iops"),
        (gp3(), {"volume_type": "st1"}, "InvalidParameterValue", "minimum is 125GiB"),
        (gp3(), {"volume_type": "io2", "iops": 3_000, "throughput_mibps": 125},
         "InvalidParameterCombination", "throughput"),
        (gp2(100), {"throughput_mibps": 250}, "InvalidParameterCombination", "throughput"),
        (gp2(3), {"volume_type": "io1", "iops": 100}, "InvalidParameterValue", "too small"),
        (gp2(100), {"volume_type": "io1", "iops": 5_001}, "InvalidParameterValue", "maximum is 50"),
        (gp2(10), {"volume_type": "io1"}, "InvalidParameterValue", "ratio of 300"),
        (gp2(100), {"volume_type": "io2", "iops": 99}, "InvalidParameterValue", "minimum is 100"),
        (gp3(), {"volume_type": "gp4"}, "InvalidParameterValue", "Unknown volume type"),
        (gp3(), {}, "MissingParameter", "at least one"),
    ],
)  # fmt: skip
def test_aws_refuses_what_the_target_type_does_not_allow(
    origin: Configuration, asked: dict[str, object], code: str, words: str
) -> None:
    refusal = refused(volume(origin), T0, **asked)
    assert refusal.code == code
    assert words in refusal.message


@pytest.mark.parametrize(
    ("origin", "asked", "target"),
    [
        (gp3(100, 5_000, 300), {"size_gib": 200}, gp3(200, 5_000, 300)),
        (gp3(100, 5_000, 300), {"volume_type": "gp3"}, gp3(100, 5_000, 300)),
        (gp2(100), {"volume_type": "gp3"}, gp3(100, 3_000, 128)),
        (gp2(500), {"volume_type": "gp3"}, gp3(500, 3_000, 250)),
        (gp2(2_000), {"volume_type": "gp3"}, gp3(2_000, 6_000, 250)),
        (gp2(2_000), {"volume_type": "gp3", "iops": 3_000}, gp3(2_000, 3_000, 250)),
        (gp2(500), {"volume_type": "io2"}, configuration("io2", 500, 3_000)),
        (configuration("io1", 500, 9_000), {"volume_type": "gp3"}, gp3(500, 3_000, 125)),
        (configuration("io1", 500, 9_000), {"volume_type": "io1"}, configuration("io1", 500, 9_000)),
        (configuration("io1", 500, 9_000), {"volume_type": "io2"}, configuration("io2", 500, 3_000)),
        (gp3(5), {"iops": 3_000}, gp3(5)),
        (gp3(160), {"iops": 80_000, "throughput_mibps": 2_000}, gp3(160, 80_000, 2_000)),
        (gp2(5), {"volume_type": "st1", "size_gib": 125}, configuration("st1", 125)),
    ],
)  # fmt: skip
def test_what_is_left_out_is_as_aws_defaults_it(
    origin: Configuration, asked: dict[str, object], target: Configuration
) -> None:
    change = volume(origin).modify(T0, **asked)  # type: ignore[arg-type]
    assert (change.origin, change.target) == (origin, target)


def test_a_boot_volume_cannot_become_hdd() -> None:
    root = VolumeLifecycle(gp3(500), created_at=T0, root=True)
    assert refused(root, T0, volume_type="st1").code == "InvalidParameterValue"
    assert root.modify(T0, volume_type="gp2").target.volume_type is VolumeType.GP2


def test_multi_attach_keeps_to_io1_and_io2() -> None:
    shared = VolumeLifecycle(configuration("io1", 100, 500), created_at=T0, multi_attach=True)
    assert refused(shared, T0, volume_type="gp3").code == "UnsupportedOperation"
    assert shared.modify(T0, volume_type="io2", iops=500).target.volume_type is VolumeType.IO2


def test_gp3_on_an_outpost_has_the_limits_of_before_2025() -> None:
    outpost = VolumeLifecycle(gp3(500), created_at=T0, on_outpost=True)
    assert "maximum is 16000" in refused(outpost, T0, iops=16_001).message
    assert "maximum is 1000" in refused(outpost, T0, iops=9_000, throughput_mibps=1_001).message


@pytest.mark.parametrize(("after", "state"), [(timedelta(0), "MODIFYING"), (HOUR, "OPTIMIZING")])
def test_only_one_modification_is_in_flight(after: timedelta, state: str) -> None:
    lifecycle = volume(gp3())
    lifecycle.modify(T0, iops=4_000)
    refusal = refused(lifecycle, T0 + after, iops=5_000)
    assert refusal.code == "IncorrectModificationState"
    assert state in refusal.message
    lifecycle.modify(T0 + 2 * HOUR, iops=5_000)


def test_a_fifth_modification_in_24_hours_is_refused_until_the_first_is_a_day_old() -> None:
    lifecycle = volume(gp3())
    for number in range(4):
        lifecycle.modify(T0 + 3 * number * HOUR, iops=4_000 + number)
    refusal = refused(lifecycle, T0 + 12 * HOUR, iops=9_000)
    assert refusal.code == "VolumeModificationRateExceeded"
    assert "2026-01-06T00:00:00.000Z" in refusal.message
    refused(lifecycle, T0 + 24 * HOUR - timedelta(seconds=1), iops=9_000)
    lifecycle.modify(T0 + 24 * HOUR, iops=9_000)


def test_the_refusal_need_not_name_the_instant() -> None:
    past = [T0 - n * 3 * HOUR for n in range(1, 5)]
    silent = VolumeLifecycle(gp3(), created_at=T0, history=past, names_instant=False)
    assert "2026" not in refused(silent, T0, iops=4_000).message


def test_earlier_modifications_count_and_the_latest_is_reported() -> None:
    past = [T0 - 20 * HOUR, T0 - 15 * HOUR, T0 - 10 * HOUR, T0 - 3 * HOUR]
    lifecycle = volume(gp3(), history=past)
    latest = lifecycle.modification(T0)
    assert latest is not None
    assert (latest.started_at, latest.state) == (T0 - 3 * HOUR, ModificationState.COMPLETED)
    assert refused(lifecycle, T0, iops=4_000).code == "VolumeModificationRateExceeded"
    assert lifecycle.next_modification_at(T0) == T0 + 4 * HOUR


def test_a_call_that_changes_nothing_uses_a_slot() -> None:
    lifecycle = volume(gp3())
    for number in range(4):
        lifecycle.modify(T0 + 3 * number * HOUR, volume_type="gp3", iops=3_000)
    assert refused(lifecycle, T0 + 13 * HOUR, iops=4_000).code == "VolumeModificationRateExceeded"


def test_an_invalid_request_is_refused_as_invalid_even_while_a_modification_is_in_flight() -> None:
    lifecycle = volume(gp3())
    lifecycle.modify(T0, iops=4_000)
    assert refused(lifecycle, T0, size_gib=50).code == "InvalidParameterValue"


def test_states_performance_price_and_size_follow_the_clock() -> None:
    lifecycle = volume(gp2(100))
    change = lifecycle.modify(T0, volume_type="gp3", size_gib=200, iops=6_000, throughput_mibps=250)
    seen = []
    for seconds in (0, 59, 60, 599, 600, 7_199, 7_200):
        now = T0 + timedelta(seconds=seconds)
        latest = lifecycle.modification(now)
        assert latest is not None
        assert lifecycle.billed(now) == change.target
        described = lifecycle.described(now) == change.target
        fast = lifecycle.effective(now) == change.target
        size, progress = lifecycle.usable_size_gib(now), latest.progress_percent
        seen.append((latest.state.value, described, fast, size, progress))
    assert seen == [
        ("modifying", False, False, 100, 0), ("modifying", False, False, 100, 0),
        ("optimizing", True, False, 200, 0), ("optimizing", True, False, 200, 7),
        ("optimizing", True, True, 200, 7), ("optimizing", True, True, 200, 98),
        ("completed", True, True, 200, 100),
    ]  # fmt: skip
    latest = lifecycle.modification(T0 + 3 * HOUR)
    assert latest is not None
    assert latest.ended_at == T0 + 2 * HOUR


def test_describe_volumes_reports_the_origin_until_the_state_has_left_modifying() -> None:
    slow = volume(gp3(), delays=Delays(modifying=20 * MINUTE, effect=30 * MINUTE))
    slow.modify(T0, iops=6_000)
    for after, iops in ((0, 3_000), (19, 3_000), (20, 6_000), (240, 6_000)):
        assert slow.described(T0 + after * MINUTE).iops == iops
        assert slow.billed(T0 + after * MINUTE).iops == 6_000
    slow.modify(T0 + 3 * HOUR, iops=9_000)
    assert slow.described(T0 + 3 * HOUR).iops == 6_000


def test_the_next_instant_of_change_is_known() -> None:
    lifecycle = volume(gp3())
    assert lifecycle.next_change(T0) is None
    lifecycle.modify(T0, iops=4_000)
    edges, now = [], T0
    while (upcoming := lifecycle.next_change(now)) is not None:
        edges.append(upcoming - T0)
        now = upcoming
    assert edges == [timedelta(minutes=1), timedelta(minutes=10), timedelta(hours=2)]


def test_past_instants_are_still_reported_as_they_were() -> None:
    lifecycle = volume(gp3())
    lifecycle.modify(T0 + HOUR, iops=4_000)
    assert lifecycle.described(T0) == lifecycle.effective(T0) == gp3()
    assert lifecycle.modification(T0) is None
    with pytest.raises(ValueError, match="before the latest"):
        lifecycle.modify(T0, iops=5_000)


def test_an_instant_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        volume(gp3()).modify(datetime(2026, 1, 5), iops=4_000)  # noqa: DTZ001


def test_delays_that_contradict_themselves_are_refused() -> None:
    with pytest.raises(ValueError, match="effect"):
        Delays(effect=timedelta(hours=3), completed=timedelta(hours=2))


ASKED = st.fixed_dictionaries(
    {"after_h": st.integers(0, 30)},
    optional={
        "volume_type": st.sampled_from([t.value for t in EBS_TYPES]),
        "size_gib": st.integers(1, 20_000),
        "iops": st.integers(50, 90_000),
        "throughput_mibps": st.integers(100, 2_100),
    },
)


@settings(max_examples=200, deadline=None)
@given(calls=st.lists(ASKED, max_size=12))
def test_whatever_is_asked_the_volume_stays_valid_never_shrinks_and_keeps_its_slots(
    calls: list[dict[str, object]],
) -> None:
    lifecycle, now = volume(gp3()), T0
    for call in calls:
        asked = dict(call)
        now += asked.pop("after_h") * HOUR  # type: ignore[operator]
        size = lifecycle.described(now).size_gib
        with suppress(ModificationRefused):
            lifecycle.modify(now, **asked)  # type: ignore[arg-type]
        after = lifecycle.described(now)
        assert after.size_gib >= size
        assert why_invalid(after) is None
        recent = [s for s in lifecycle.starts if s > now - timedelta(hours=24)]
        assert len(recent) <= 4
        assert all(b - a >= timedelta(hours=2) for a, b in pairwise(recent))
