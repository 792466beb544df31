"""A fixed number of workers is told from an open load by a queue that stays the same."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from headroom.domain.catalog.ebs import capability
from headroom.domain.workload import LoadShape, Minute, estimate, minutes
from headroom.domain.workload.demand_ratio import MAX_RATIO
from headroom.domain.workload.worker_pool import closed_loop
from tests.builders import activity, gp2, gp3, observation, volume


def pressed(
    queue: Sequence[float | None], iops: Sequence[float] | float = 3_000.0
) -> tuple[Minute, ...]:
    each = [iops] * len(queue) if isinstance(iops, float) else iops
    return minutes(activity(each, queue=queue, iops_check=1), capability(gp3()))


@pytest.mark.parametrize(
    ("queue", "why"),
    [
        ([1024.0] * 10, "the device cuts it off: any backlog may hide behind it"),
        ([256.0, 256.0], "two minutes are too few"),
        ([100.0, 200.0, 300.0, 400.0], "it grows"),
        ([900.0 + 3 * i for i in range(12)], "it grows, if slowly"),
        ([400.0, 300.0, 200.0], "it drains"),
        ([4.0] * 10, "hardly anybody waits"),
        ([None] * 10, "nobody knows"),
    ],
)
def test_what_may_be_an_open_load_is_no_closed_loop(queue: list[float | None], why: str) -> None:
    assert closed_loop((), pressed(queue)) is None, why


def test_bursts_inside_the_minute_are_no_closed_loop_however_alike() -> None:
    assert closed_loop((), pressed([40.0] * 10, 1_500.0)) is None


def test_one_and_the_same_queue_at_a_used_up_limit_is_a_closed_loop() -> None:
    found = closed_loop((), pressed([256.0, 254.0, 257.0]))
    assert found is not None
    assert found.outstanding == pytest.approx(255.67, abs=0.1)
    assert found.natural == MAX_RATIO


def test_unsaturated_latency_bounds_what_the_workers_could_do() -> None:
    free = minutes(activity([500.0] * 10, latency_ms=20.0), capability(gp3()))
    found = closed_loop(free, pressed([240.0] * 5))
    assert found is not None
    assert found.natural == pytest.approx(240 / 0.020 / 3_000)


def test_the_estimate_of_a_closed_loop_never_exceeds_what_it_gets() -> None:
    demand = estimate(observation(activity([3_000.0] * 60, queue=256.0, iops_check=1)))
    assert demand.shape is LoadShape.CLOSED_LOOP
    assert demand.iops.likely == demand.iops.least == demand.iops.floor == 3_000
    assert demand.backlog_ops == 0
    assert "256 operations outstanding" in demand.basis


def test_nothing_short_of_all_its_workers_could_do_relieves_a_closed_loop() -> None:
    load = activity(
        [500.0] * 30 + [3_000.0] * 30, queue=[1.0] * 30 + [240.0] * 30, latency_ms=20.0,
        iops_check=[0.0] * 30 + [1.0] * 30,
    )  # fmt: skip
    demand = estimate(observation(load))
    assert demand.iops.upper == pytest.approx(12_000)
    assert demand.probability_within(iops=6_000, mibps=1_000) < 0.01
    assert demand.probability_within(iops=12_000, mibps=1_000) == 1.0


def test_a_loop_that_was_seen_unsaturated_has_a_natural_demand() -> None:
    """250 workers of 100 ms make 2,500 IOPS while gp2's credits last, then wait at its baseline."""
    load = activity(
        [2_500.0] * 30 + [1_200.0] * 30, queue=250.0, latency_ms=100.0,
        balance=[50.0] * 30 + [0.0] * 30, iops_check=[0.0] * 30 + [1.0] * 30,
    )  # fmt: skip
    demand = estimate(observation(load, volume(gp2(400))))
    assert demand.shape is LoadShape.CENSORED
    assert demand.tail == 0
    assert demand.iops.likely == 2_500
