"""Volumes of one instance share it fairly, and never take more than it gives."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headroom.domain.resources import InstanceLimits
from headroom.proving.awsrules import VolumeLifecycle
from headroom.proving.physics import (
    Attachment,
    MinuteFacts,
    VolumePhysics,
    instance_limits,
    share_instance,
)
from headroom.proving.physics.fairness import fair_left, settled
from tests.proving.build import T0, gp3, steady, volume

M5_4XLARGE = instance_limits("m5.4xlarge")  # 18,750 IOPS
Pair = tuple[VolumePhysics, VolumeLifecycle]


def pair(iops: float, limits: InstanceLimits = M5_4XLARGE, kib: int = 16) -> Pair:
    """A gp3 volume of 10,000 IOPS that is asked for `iops`."""
    physics = VolumePhysics(steady(iops, kib), attachment=Attachment(limits=limits))
    return physics, volume(gp3(500, 10_000, 500))


def minutes(volumes: list[Pair], count: int) -> list[list[MinuteFacts]]:
    """All minutes of all volumes, on one instance."""
    found = []
    for number in range(count):
        start = T0 + timedelta(minutes=number)
        share_instance(volumes, start)
        found.append([physics.minute(start, lifecycle) for physics, lifecycle in volumes])
    return found


@pytest.mark.parametrize(
    ("wants", "left"),
    [((), 90), ((10,), 80), ((50,), 45), ((90, 90), 30), ((10, 90), 40), ((0, 200, 5), 42.5)],
)
def test_what_others_leave_is_an_equal_part_or_more(wants: tuple[float, ...], left: float) -> None:
    assert fair_left(90, wants) == left


def test_operations_that_throughput_keeps_from_one_volume_are_left_to_another() -> None:
    wants = settled([(10_000, 1_000), (800, 8)], (2_000, 100))
    assert wants[0][0] == pytest.approx(920)  # of 92 bytes
    assert wants[1] == (800, 8)
    assert fair_left(2_000, [wants[0][0]]) == pytest.approx(1_080)  # not 1,000


def test_three_busy_volumes_get_a_third_each_from_the_first_minute_on() -> None:
    for facts in minutes([pair(9_000), pair(9_000), pair(9_000)], 5):
        assert [one.ebs_iops for one in facts] == pytest.approx([6_250] * 3)
        assert [one.instance_iops_exceeded for one in facts] == [1, 1, 1]
        assert [one.iops_exceeded for one in facts] == [0, 0, 0]


def test_who_asks_for_less_than_a_third_gets_it_and_the_others_share_the_rest() -> None:
    for facts in minutes([pair(9_900), pair(9_000), pair(2_000)], 5):
        assert [one.ebs_iops for one in facts] == pytest.approx([8_375, 8_375, 2_000])
        assert [one.instance_iops_exceeded for one in facts] == [1, 1, 0]


def test_the_volumes_spend_one_balance_together_and_fall_to_the_baseline_together() -> None:
    large = instance_limits("m5.large")  # 3,600 IOPS, 18,750 for half an hour
    found = minutes([pair(7_000, large, kib=1), pair(7_000, large, kib=1)], 50)
    served = [sum(one.ebs_iops for one in facts) for facts in found]
    balances = [{one.instance_io_balance_percent for one in facts} for facts in found]
    assert served[:43] == pytest.approx([14_000] * 43)
    assert served[45:] == pytest.approx([3_600] * 5)
    assert all(len(each) == 1 for each in balances)
    after = 100 * (1 - 21 * (14_000 - 3_600) / (30 * (18_750 - 3_600)))
    assert balances[20].pop() == pytest.approx(after)


def test_alone_again_a_volume_has_the_instance_for_itself() -> None:
    both = [pair(9_900), pair(9_900)]
    assert minutes(both, 1)[0][0].ebs_iops == pytest.approx(9_375)
    share_instance(both[:1], T0 + timedelta(minutes=1))
    physics, lifecycle = both[0]
    facts = physics.minute(T0 + timedelta(minutes=1), lifecycle)
    assert facts.ebs_iops == pytest.approx(10_000)  # what waited is served too
