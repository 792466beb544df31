"""What is the same for every controller, and what the guardrails leave of a wish."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.catalog import why_invalid
from headroom.domain.policy import PRESETS, Mode
from headroom.domain.resources import Configuration, VolumeType
from headroom.proving.trials import STARTS, Conditions, ceiling, within

BALANCED = Conditions()


def gp3(iops: int, mibps: int, size: int = 400) -> Configuration:
    return Configuration(
        volume_type=VolumeType.GP3, size_gib=size, iops=iops, throughput_mibps=mibps
    )


def io(kind: VolumeType, iops: int, size: int = 400) -> Configuration:
    return Configuration(volume_type=kind, size_gib=size, iops=iops, throughput_mibps=None)


def cut(origin: Configuration, wish: Configuration, start: str = "gp3") -> Configuration | None:
    return within(BALANCED, origin, BALANCED.monthly(STARTS[start]), wish)


@pytest.mark.parametrize("preset", list(PRESETS))
def test_the_policy_is_the_default_one_in_auto_with_the_presets_value(preset):
    conditions = Conditions(preset=preset)
    limits = conditions.policy.defaults
    assert limits.mode is Mode.AUTO
    assert limits.relief_value_usd_per_minute == PRESETS[preset] == conditions.value_usd
    assert conditions.slots == 3


def test_an_unknown_preset_is_refused():
    with pytest.raises(KeyError):
        Conditions(preset="cheap")


def test_starts_are_what_the_conditions_say():
    prices = {name: round(BALANCED.monthly(start), 2) for name, start in STARTS.items()}
    assert prices == {"gp2": 40.0, "gp3": 32.0, "io1": 1090.0}


@pytest.mark.parametrize(
    ("origin", "wish", "left"),
    [
        (gp3(3_000, 125), gp3(6_000, 300), gp3(6_000, 300)),
        (gp3(3_000, 125), gp3(16_000, 1_000), gp3(12_000, 500)),
        (gp3(12_000, 500), gp3(20_000, 1_500), gp3(16_000, 1_000)),
        (gp3(16_000, 1_000), gp3(20_000, 1_500), None),
        (STARTS["gp2"], gp3(3_000, 125), gp3(3_000, 125)),
        (gp3(3_000, 125), gp3(3_000, 125), None),
        (gp3(3_000, 125), io(VolumeType.IO1, 5_000), None),
        (gp3(3_000, 125), io(VolumeType.IO2, 5_000), None),
        (io(VolumeType.IO2, 6_000), io(VolumeType.IO2, 5_000), io(VolumeType.IO2, 5_000)),
        (gp3(3_000, 125), STARTS["gp2"], None),
        (STARTS["gp2"], Configuration(volume_type=VolumeType.GP2, size_gib=500, iops=None,
                                      throughput_mibps=None), None),
        (gp3(3_000, 125), gp3(6_000, 300, size=500), gp3(6_000, 300)),
    ],
    ids=["fits", "largest step", "ceilings", "at the ceilings", "another type", "what is there",
         "a type that is not allowed", "io2 is for good", "less of io2", "back to gp2", "growth", "growth beside IOPS"],
)  # fmt: skip
def test_a_target_is_cut_to_the_owners_limits(origin, wish, left):
    assert cut(origin, wish) == left


def test_the_price_may_rise_only_so_far_above_the_start():
    start = io(VolumeType.IO2, 3_000)
    left = within(BALANCED, start, 245.0, io(VolumeType.IO2, 12_000))
    assert left is not None
    assert 494.8 < BALANCED.monthly(left) <= 495.0


def test_io1_may_be_given_less_without_changing_its_type():
    assert cut(STARTS["io1"], io(VolumeType.IO1, 4_000), "io1") == io(VolumeType.IO1, 4_000)


def test_growth_is_for_those_who_may_grow():
    larger = Configuration(
        volume_type=VolumeType.GP2, size_gib=500, iops=None, throughput_mibps=None
    )
    assert within(BALANCED, STARTS["gp2"], 40.0, larger, may_grow=True) == larger


@pytest.mark.parametrize(
    ("start", "most"),
    [
        ("gp2", gp3(16_000, 1_000)), ("gp3", gp3(16_000, 1_000)),
        ("io1", gp3(16_000, 1_000)),
    ],
)  # fmt: skip
def test_the_ceiling_is_the_most_that_any_number_of_changes_reaches(start, most):
    assert ceiling(BALANCED, STARTS[start]) == most


wishes = st.one_of(
    st.builds(gp3, st.integers(3_000, 80_000), st.integers(125, 2_000)),
    st.builds(io, st.sampled_from([VolumeType.IO1, VolumeType.IO2]), st.integers(100, 256_000)),
)


@given(origin=st.sampled_from(list(STARTS)), wish=wishes, then=wishes)
def test_what_is_left_is_valid_affordable_and_needs_no_second_cut(origin, wish, then):
    start = STARTS[origin]
    start_usd = BALANCED.monthly(start)
    for target in (wish, then):
        left = within(BALANCED, start, start_usd, target)
        if left is None:
            continue
        assert why_invalid(left) is None
        assert BALANCED.monthly(left) <= max(start_usd + 250, BALANCED.monthly(start)) + 1e-9
        assert within(BALANCED, start, start_usd, left) == left
        start = left
