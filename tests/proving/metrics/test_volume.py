"""What CloudWatch would publish: dimensions, and above all what is missing."""

from __future__ import annotations

import pytest

from headroom.domain.resources import Configuration
from headroom.proving.metrics import Datapoint, datapoints, instance_datapoints
from headroom.proving.physics import Attachment, MinuteFacts, VolumePhysics
from tests.proving.build import (
    MINUTE,
    T0,
    configuration,
    gp2,
    gp3,
    instance,
    loop,
    play,
    steady,
    steps,
    volume,
)

PAIR = (("InstanceId", "i-1"), ("VolumeId", "vol-1"))
ALONE = (("VolumeId", "vol-1"),)


def published(facts: MinuteFacts, what: Configuration, **more: object) -> dict[str, Datapoint]:
    settings: dict[str, object] = {"instance_id": "i-1"} | more
    points = datapoints(facts, volume_id="vol-1", configuration=what, **settings)  # type: ignore[arg-type]
    assert len({(p.name, p.dimensions) for p in points}) == len(points)
    return {p.name: p for p in points}


def busy(what: Configuration, iops: float = 500, **more: object) -> dict[str, Datapoint]:
    return published(play(steady(iops), what, 1)[0], what, **more)


def test_operations_are_sums_under_the_volume_alone() -> None:
    found = busy(gp3())
    assert found["VolumeReadOps"].sum == pytest.approx(15_000)
    assert found["VolumeWriteBytes"].sum == pytest.approx(15_000 * 16_384)
    assert found["VolumeWriteBytes"].sum / found["VolumeWriteBytes"].samples == pytest.approx(
        16_384
    )
    for name in ("VolumeReadOps", "VolumeTotalReadTime", "VolumeQueueLength", "VolumeIdleTime"):
        assert found[name].dimensions == ALONE
        assert found[name].namespace == "AWS/EBS"


@pytest.mark.parametrize(
    "name",
    ["VolumeIOPSExceededCheck", "VolumeThroughputExceededCheck", "VolumeStalledIOCheck",
     "VolumeAvgIOPS", "VolumeAvgThroughput", "VolumeAvgReadLatency", "VolumeAvgWriteLatency"],
)  # fmt: skip
def test_checks_and_averages_live_under_the_pair_and_on_nitro_only(name: str) -> None:
    assert busy(gp3())[name].dimensions == PAIR
    assert name not in busy(gp3(), nitro=False)


def test_the_check_is_one_while_the_average_is_low() -> None:
    facts = play(steps((2, 6_000, 16), (600, 100, 16)), gp3(), 1)[0]
    found = published(facts, gp3())
    assert found["VolumeIOPSExceededCheck"].sum == 1
    assert found["VolumeAvgIOPS"].sum < 0.11 * 3_000


@pytest.mark.parametrize(
    ("what", "there"),
    [
        (gp2(400), True), (gp2(999), True), (gp2(1_000), False), (gp3(), False),
        (configuration("io1", 100, 500), False), (configuration("io2", 100, 500), False),
        (configuration("st1", 500), True), (configuration("sc1", 500), True),
        (configuration("st1", 12_800), False),
    ],
)  # fmt: skip
def test_burst_balance_exists_only_where_there_is_a_bucket(
    what: Configuration, there: bool
) -> None:
    assert ("BurstBalance" in busy(what)) is there


def test_burst_balance_is_missing_while_the_volume_is_idle() -> None:
    found = busy(gp2(400), iops=0)
    assert "BurstBalance" not in found
    assert found["VolumeReadOps"].sum == 0
    assert found["VolumeIdleTime"].sum == 60


@pytest.mark.parametrize(
    ("what", "there"), [(configuration("io1", 100, 1_000), True), (gp3(), False), (gp2(100), False)]
)
def test_share_of_provisioned_iops_exists_for_io1_and_io2(what: Configuration, there: bool) -> None:
    found = busy(what)
    assert ("VolumeThroughputPercentage" in found) is there
    assert ("VolumeConsumedReadWriteOps" in found) is there
    if there:
        assert found["VolumeThroughputPercentage"].sum == pytest.approx(50)
        assert found["VolumeConsumedReadWriteOps"].sum == pytest.approx(30_000)


def test_nothing_is_published_while_detached_or_unmeasured() -> None:
    facts = play(steady(500), gp3(), 1)[0]
    assert published(facts, gp3(), instance_id=None) == {}
    late = VolumePhysics(steady(500, seconds=90))
    last = [late.minute(T0 + n * MINUTE, volume(gp3())) for n in (0, 1)][-1]
    assert published(last, gp3()) == {}


def test_multi_attach_has_no_checks_and_no_times() -> None:
    found = busy(configuration("io2", 100, 500), multi_attach=True)
    assert "VolumeIOPSExceededCheck" not in found
    assert "VolumeTotalReadTime" not in found
    assert "VolumeAvgIOPS" in found


def test_total_time_and_queue_agree_with_littles_law() -> None:
    facts = play(loop(256, 4, 0.5), gp3(), 1)[0]
    found = published(facts, gp3())
    time = found["VolumeTotalReadTime"].sum + found["VolumeTotalWriteTime"].sum
    assert found["VolumeQueueLength"].sum == pytest.approx(256)
    assert time == pytest.approx(256 * 60)
    assert found["VolumeAvgReadLatency"].sum == pytest.approx(1_000 * 256 / 3_000)


def on_instance(attachment_settings: Attachment, minutes: int = 6) -> list[dict[str, Datapoint]]:
    facts = play(steady(2_500), gp3(), minutes, attachment=attachment_settings)
    return [
        {
            p.name: p
            for p in instance_datapoints(f, instance_id="i-1", limits=attachment_settings.limits)
        }
        for f in facts
    ]


def test_instance_checks_come_every_minute_and_balances_every_five() -> None:
    found = on_instance(instance(2_000, 60, most_iops=3_000, most_mibps=90))
    check = found[0]["InstanceEBSIOPSExceededCheck"]
    assert (check.namespace, check.dimensions) == ("AWS/EC2", (("InstanceId", "i-1"),))
    assert ["EBSIOBalance%" in f for f in found] == [True, False, False, False, False, True]
    assert "EBSByteBalance%" in found[0]
    assert 99 < found[5]["EBSIOBalance%"].sum * 100 / 90 < 110


def test_an_instance_that_never_bursts_has_no_balances() -> None:
    found = on_instance(instance(2_000, 60))
    assert "EBSIOBalance%" not in found[0]
    assert found[0]["InstanceEBSIOPSExceededCheck"].sum == 1
    assert found[0]["InstanceEBSThroughputExceededCheck"].sum == 0


def test_noise_is_on_the_published_queue_alone() -> None:
    calm, noisy = busy(gp3()), busy(gp3(), queue_noise=0.2)
    assert noisy["VolumeQueueLength"].sum == pytest.approx(1.2 * calm["VolumeQueueLength"].sum)
    del calm["VolumeQueueLength"], noisy["VolumeQueueLength"]
    assert noisy == calm
