"""Laws of the estimate: what was served is a floor, and evidence only ever adds to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from headroom.domain.resources import (
    Configuration,
    ModificationState,
    Observation,
    Series,
    VolumeActivity,
)
from headroom.domain.workload import Demand, Estimate, estimate
from tests.builders import (
    NOW,
    activity,
    gp3,
    modification,
    observation,
    series,
    starved_gp3,
    volume,
)

FIVE_MINUTES = 300
CHANGES_KIND = ("iops_exceeded", "history")
"""Without these a load may look free: what is then known is known of another kind of load."""
GRID = settings(
    max_examples=80, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate)
)


def load_of(
    share: list[float], queue: list[float], limit: float, what: Configuration
) -> Observation:
    """Minutes at these shares of the IOPS limit; a check of 1 wherever a burst is marked by > 1."""
    checks = [float(s >= 1) for s in share]
    iops = [min(s, 2 - s if s > 1 else 1.0) * limit for s in share]
    # a share of 1.4 stands for a minute at 0.6 whose check is 1 all the same
    return observation(activity(iops, queue=queue, iops_check=checks, io_kib=4), volume(what))


SHARES = st.lists(st.floats(0.05, 1.9), min_size=12, max_size=60)


@st.composite
def observed(draw: st.DrawFn) -> Observation:
    share = draw(SHARES)
    queue = draw(st.lists(st.floats(0, 1_024), min_size=len(share), max_size=len(share)))
    return load_of(share, queue, 6_000, gp3(100, 6_000, 1_000))


@st.composite
def free_or_pressed(draw: st.DrawFn) -> Observation:
    """Free all the time, or pressed for the last ten minutes: what is missing ends no episode."""
    share = draw(st.lists(st.floats(0.05, 0.95), min_size=12, max_size=40))
    share += draw(st.sampled_from([[], [1.0] * 10, [1.4] * 10]))
    return load_of(share, [1_024.0] * len(share), 6_000, gp3(100, 6_000, 1_000))


@GRID
@given(observed())
def test_the_estimate_is_in_order_and_never_below_what_was_served(seen: Observation) -> None:
    demand = estimate(seen)
    for each in (demand.iops, demand.mibps):
        assert 0 <= each.floor <= each.least <= each.likely <= each.upper
    assert 0 <= demand.confidence <= 1
    assert demand.backlog_ops >= 0
    served = seen.activity.read_iops.values[-1]
    assert served is None or demand.iops.upper >= 2 * served


@GRID
@given(observed(), st.sampled_from([0.5, 2.0, 8.0]))
def test_the_estimate_scales_with_load_and_limit(seen: Observation, times: float) -> None:
    """Without a queue, which has a size of its own."""
    here = without(seen, "queue_length")
    there = scaled(here, times)
    small, large = estimate(here), estimate(there)
    for name in ("floor", "least", "likely", "upper"):
        want = getattr(small.iops, name) * times
        assert getattr(large.iops, name) == pytest.approx(want, rel=1e-6)
    assert large.confidence == small.confidence
    assert large.shape is small.shape


@GRID
@given(free_or_pressed(), st.data())
def test_missing_data_never_raises_what_is_certain(seen: Observation, data: st.DataObject) -> None:
    name = data.draw(
        st.sampled_from(
            ["queue_length", "latency_ms", "iops_exceeded", "read_iops", "read_mibps", "history"]
        )
    )
    past = activity(
        [5_000.0, 7_000.0] * 144 * 7, io_kib=4, end=NOW - timedelta(hours=3), period_s=FIVE_MINUTES
    )
    whole = replace(seen, history=past)
    blind = replace(whole, history=None) if name == "history" else without(whole, name)
    assert estimate(blind).iops.least <= estimate(whole).iops.least * (1 + 1e-9)
    assert estimate(blind).confidence <= estimate(whole).confidence or name in CHANGES_KIND


@GRID
@given(free_or_pressed(), st.data())
def test_minutes_nobody_published_never_raise_the_floor(
    seen: Observation, data: st.DataObject
) -> None:
    count = len(seen.activity.read_iops.values)
    gone = data.draw(st.sets(st.integers(0, count - 1), max_size=count - 1))
    assert estimate(holes(seen, gone)).iops.floor <= estimate(seen).iops.floor * (1 + 1e-9)


@GRID
@given(observed(), st.floats(1.0, 3.0))
def test_more_load_never_gives_a_smaller_floor(seen: Observation, times: float) -> None:
    """The same minutes with more offered: each serves more, up to the limit, and waits more."""
    limit = 6_000.0
    values = [2 * (v or 0.0) for v in seen.activity.read_iops.values]
    checks = [v or 0.0 for v in seen.activity.iops_exceeded.values]
    more = [min(limit, v * times) for v in values]
    pressed = [1.0 if v * times >= limit else c for v, c in zip(values, checks, strict=True)]
    after = observation(activity(more, iops_check=pressed, io_kib=4, queue=1_024.0), seen.volume)
    assert estimate(after).iops.floor >= estimate(seen).iops.floor * (1 - 1e-9)
    assert estimate(after).iops.likely >= estimate(seen).iops.floor * (1 - 1e-9)


@GRID
@given(
    floor=st.floats(1, 1e5), excess=st.floats(0, 15), weight=st.floats(0, 1),
    rates=st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)),
)  # fmt: skip
def test_more_is_never_less_likely_to_suffice(
    floor: float, excess: float, weight: float, rates: tuple[float, float]
) -> None:
    each = Estimate(
        floor=floor, least=floor, likely=floor * (1 + excess), upper=floor * 16, censored=True,
        indicated=floor * (1 + excess), weight=weight,
    )  # fmt: skip
    low, high = (each.probability_within(rate, 1.2) for rate in sorted(rates))
    assert 0 <= low <= high <= 1
    assert each.probability_within(floor * 0.99, 1.2) == 0
    assert each.probability_within(floor * 16, 1.2) == 1


def test_evidence_moves_the_chance_to_where_it_points() -> None:
    blind = Estimate(floor=3_000, likely=5_400, upper=48_000, censored=True)
    informed = replace(blind, likely=4_000, indicated=4_000, weight=0.9)
    assert blind.probability_within(6_000, 1.2) == pytest.approx(1 - 2**-1.2)
    assert informed.probability_within(3_500, 1.2) < 0.1
    assert informed.probability_within(4_400, 1.2) > 0.9


def same_hour(*levels: float) -> Observation:
    """At its 3,000 IOPS for ten minutes; earlier days took these, free, in the same hours."""
    now = activity([1_000.0] * 50 + [3_000.0] * 10, queue=1_024.0,
                   iops_check=[0.0] * 50 + [1.0] * 10)  # fmt: skip
    day = [800.0] * 276
    past: list[float | None] = []
    for level in levels:
        past += [*day, *[level] * 12]
    history = activity(past, end=NOW + timedelta(minutes=30) - timedelta(days=1), period_s=300)
    return observation(now, history=history)


def test_the_same_hours_of_earlier_days_show_how_much_is_needed() -> None:
    demand = estimate(same_hour(5_000, 5_200, 4_900))
    assert demand.iops.likely == demand.iops.least == 5_000
    assert demand.confidence > estimate(same_hour(1_000, 1_000, 1_000)).confidence
    assert "3 earlier days" in demand.basis


def test_earlier_days_below_the_limit_leave_the_usual_excess() -> None:
    demand = estimate(same_hour(2_000, 2_500, 1_000))
    assert demand.iops.likely == pytest.approx(1.8 * 3_000)
    assert demand.iops.weight == 0


def test_a_backlog_is_what_the_likely_load_left_waiting() -> None:
    demand = estimate(same_hour(5_000, 5_000))
    assert demand.backlog_ops == pytest.approx(10 * 60 * 2_000)
    assert estimate(observation()).backlog_ops == 0


def test_a_short_burst_inside_the_minute_leaves_no_backlog() -> None:
    load = activity([500.0] * 57 + [1_800.0] * 3, iops_check=[0.0] * 57 + [1.0] * 3,
                    queue=[0.3] * 57 + [8.0] * 3)  # fmt: skip
    demand = estimate(observation(load))
    assert demand.iops.floor == 3_000
    assert demand.iops.likely > 3_000
    assert demand.backlog_ops == 0


def test_a_demand_without_pressure_is_what_was_served() -> None:
    demand: Demand = estimate(observation(activity([400.0] * 60 + [900.0] * 10)))
    assert demand.iops.likely == demand.iops.upper == 900
    assert demand.probability_within(iops=900, mibps=125) == 1.0
    assert demand.basis == ""


def without(seen: Observation, name: str) -> Observation:
    load = seen.activity
    gone = series([None] * len(load.read_iops.values))
    return replace(seen, activity=replace_series(load, {name: gone}))


def holes(seen: Observation, gone: set[int]) -> Observation:
    load = seen.activity
    fields = {
        name: series([None if i in gone else v for i, v in enumerate(getattr(load, name).values)])
        for name in load.__dataclass_fields__
        if getattr(load, name) is not None
    }
    return replace(seen, activity=replace_series(load, fields))


def scaled(seen: Observation, times: float) -> Observation:
    load = seen.activity
    rates = ("read_iops", "write_iops", "read_mibps", "write_mibps")
    fields = {
        name: series([None if v is None else v * times for v in getattr(load, name).values])
        for name in rates
    }
    old = seen.volume.configuration
    new = gp3(4_000, round((old.iops or 0) * times), round((old.throughput_mibps or 0) * times))
    return replace(
        seen, activity=replace_series(load, fields), volume=replace(seen.volume, configuration=new)
    )


def replace_series(load: VolumeActivity, fields: Mapping[str, Series]) -> VolumeActivity:
    return replace(load, **fields)


def test_a_burst_of_bytes_beside_used_up_iops_is_no_evidence_of_more_iops() -> None:
    """3,000 IOPS of 12 KiB for five minutes; for a few seconds of the last the bytes touched 125 MiB/s."""
    both = estimate(
        observation(
            activity(
                [600.0] * 100 + [3_000.0] * 5, io_kib=12, iops_check=[0.0] * 100 + [1.0] * 5,
                mibps_check=[0.0] * 104 + [1.0], queue=[1.0] * 100 + [200.0] * 5,
            ),
            volume(gp3(400, 3_000, 125)),
        )
    )  # fmt: skip
    assert both.iops.floor == pytest.approx(3_000)
    assert both.mibps.floor == pytest.approx(125)


@pytest.mark.parametrize(("origin", "pressed"), [(None, True), (gp3(100, 2_000, 125), False)])
def test_work_that_left_what_is_set_hides_no_pressure(
    origin: Configuration | None, pressed: bool
) -> None:
    """As RDS's on another volume of the instance; a change of this one began anew."""
    seen = starved_gp3()
    now = seen.volume.configuration
    began = modification(
        now, origin=origin or now, state=ModificationState.OPTIMIZING, started_at=NOW
    )
    found = estimate(replace(seen, modification=began))
    assert (found.pressed_minutes > 0) is pressed
    if pressed:
        assert found == estimate(seen)
