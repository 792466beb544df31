"""How likely a load is a pool of workers, inferred from its queue at a used-up limit."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.catalog.ebs import capability
from headroom.domain.workload import LoadShape, Minute, estimate, minutes
from headroom.domain.workload.worker_pool import CALM_S, MOST_OVER, Pool, worker_pool
from tests.builders import activity, gp2, gp3, observation, volume


def pressed(
    queue: Sequence[float | None], iops: Sequence[float] | float = 3_000.0
) -> tuple[Minute, ...]:
    each = [iops] * len(queue) if isinstance(iops, float) else iops
    return minutes(activity(each, queue=queue, iops_check=1), capability(gp3()))


def pool(queue: Sequence[float | None], free: Sequence[Minute] = ()) -> Pool:
    found = worker_pool(free, pressed(queue))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("queue", "why"),
    [
        ([1024.0] * 10, "the device cuts it off: any backlog may hide behind it"),
        ([500.0] * 9 + [1000.0], "it is cut off by now"),
        ([3.0] * 10, "hardly anybody waits"),
        ([None] * 10, "nobody knows"),
        ([64.0], "an open load fills a queue within one minute"),
        ([], "no minute"),
    ],
)
def test_nothing_is_concluded_where_the_queue_does_not_show(
    queue: list[float | None], why: str
) -> None:
    assert worker_pool((), pressed(queue)) is None, why


@pytest.mark.parametrize(
    ("queue", "why"),
    [
        ([100.0, 200.0, 300.0, 400.0], "it grows"),
        ([60.0 + 20 * i for i in range(20)], "it grows without an end"),
        ([400.0, 300.0, 200.0], "it drains"),
    ],
)
def test_a_queue_that_grows_or_drains_is_an_open_load(queue: list[float], why: str) -> None:
    assert pool(queue).probability < 0.05, why


def test_bursts_inside_the_minute_are_no_pool_however_alike() -> None:
    assert worker_pool((), pressed([40.0] * 10, 1_500.0)) is None


def test_every_minute_of_the_same_queue_makes_a_pool_more_likely() -> None:
    found = [pool([64.0] * count).probability for count in (2, 3)]
    assert 0.9 < found[0] < found[1] > 0.98


@given(
    workers=st.integers(8, 800), noise=st.floats(0, 0.1), seed=st.integers(0, 1_000),
    count=st.integers(2, 60),
)  # fmt: skip
def test_whenever_a_pool_began_and_however_its_queue_is_measured_it_is_a_pool(
    workers: int, noise: float, seed: int, count: int
) -> None:
    draw = Random(seed)
    queue = [workers * (1 + draw.uniform(-noise, noise)) for _ in range(count)]
    found = pool(queue)
    assert found.probability >= 0.75
    assert found.outstanding == pytest.approx(workers, rel=0.11)


@given(st.floats(1.1, 16), st.integers(0, 1_000))
def test_an_open_load_a_tenth_above_the_limit_is_never_taken_for_a_pool(
    ratio: float, seed: int
) -> None:
    """Its queue is cut off within the first minute: nothing can be inferred."""
    draw, waiting, queue = Random(seed), 0.0, []
    for _ in range(10):
        before = waiting
        waiting += 60 * 3_000 * (ratio - 1) * draw.uniform(0.9, 1.1)
        queue.append(min(1024.0, (before + waiting) / 2))
    found = worker_pool((), pressed(queue))
    assert found is None or found.probability < 0.5


# --- what it would take without any limit


def test_the_latency_of_calm_minutes_bounds_what_the_workers_could_do() -> None:
    free = minutes(activity([500.0] * 10, latency_ms=20.0), capability(gp3()))
    assert pool([240.0] * 5, free).natural == pytest.approx(240 / 0.020 / 3_000)


def test_without_a_calm_minute_the_latency_of_an_ssd_does() -> None:
    assert pool([64.0] * 5).natural == pytest.approx(64 / CALM_S / 3_000)
    assert pool([900.0] * 5).natural == MOST_OVER


# --- the estimate


def demand_of(queue: float, latency_ms: float = 1.0) -> tuple[float, ...]:
    load = activity(
        [500.0] * 30 + [3_000.0] * 30, queue=[1.0] * 30 + [queue] * 30,
        latency_ms=[latency_ms] * 30 + [queue / 3] * 30, iops_check=[0.0] * 30 + [1.0] * 30,
    )  # fmt: skip
    demand = estimate(observation(load))
    assert demand.shape is LoadShape.CLOSED_LOOP
    return tuple(
        demand.expected_shortfall(iops=rate, mibps=1e6) for rate in (3_000, 6_000, 12_000, 64_000)
    )


def test_what_a_pool_wants_is_what_it_gets_and_up_to_what_no_limit_would_leave_it() -> None:
    demand = estimate(observation(activity([3_000.0] * 60, queue=256.0, iops_check=1)))
    assert demand.shape is LoadShape.CLOSED_LOOP
    assert demand.iops.likely == demand.iops.least == demand.iops.floor == 3_000
    assert demand.iops.upper == 3_000 * MOST_OVER
    assert demand.backlog_ops == 0
    assert demand.pool > 0.98
    assert "256 operations outstanding" in demand.basis


def test_every_step_relieves_a_pool_in_part_and_the_more_the_fewer_its_workers() -> None:
    """240 workers at 20 ms could take 12,000; 64 at a millisecond 64,000."""
    few, many = demand_of(240.0, latency_ms=20.0), demand_of(64.0)
    for found in (few, many):
        assert found[0] > found[1] > found[2] >= found[3]
    assert few[1] < 0.4
    assert few[2] == pytest.approx(0.0, abs=0.01)
    assert many[2] > 0.2
    assert many[3] < 0.01


def test_a_pool_that_was_seen_unsaturated_has_a_natural_demand() -> None:
    """250 workers of 100 ms make 2,500 IOPS while gp2's credits last, then wait at its baseline."""
    load = activity(
        [2_500.0] * 30 + [1_200.0] * 30, queue=250.0, latency_ms=100.0,
        balance=[50.0] * 30 + [0.0] * 30, iops_check=[0.0] * 30 + [1.0] * 30,
    )  # fmt: skip
    demand = estimate(observation(load, volume(gp2(400))))
    assert demand.shape is LoadShape.CENSORED
    assert demand.tail == 0
    assert demand.iops.likely == 2_500
