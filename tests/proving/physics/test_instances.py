"""EBS limits of instance types, against figures of AWS's documentation."""

from __future__ import annotations

import pytest

from headroom.proving.inputs import BadInput
from headroom.proving.physics import instance_limits


@pytest.mark.parametrize(
    ("name", "iops", "mb_per_s", "most_iops", "most_mb_per_s"),
    [
        ("m5.large", 3_600, 81.25, 18_750, 593.75),
        ("c7i.2xlarge", 12_000, 312.5, 40_000, 1_250),
        ("m6i.2xlarge", 12_000, 312.5, 40_000, 1_250),
        ("r5.8xlarge", 30_000, 850, 30_000, 850),
        ("t3.medium", 2_000, 43.375, 11_800, 260.625),
    ],
)
def test_limits_are_awss_in_binary_units(
    name: str, iops: int, mb_per_s: float, most_iops: int, most_mb_per_s: float
) -> None:
    limits = instance_limits(name)
    assert limits.nitro
    assert (limits.baseline_iops, limits.maximum_iops) == (iops, most_iops)
    assert limits.baseline_mibps * 1_048_576 == pytest.approx(mb_per_s * 1e6, rel=1e-4)
    assert limits.maximum_mibps * 1_048_576 == pytest.approx(most_mb_per_s * 1e6, rel=1e-4)


def test_an_older_type_is_known_not_to_be_nitro() -> None:
    assert not instance_limits("m4.large").nitro


def test_an_unknown_type_says_what_to_give_instead() -> None:
    with pytest.raises(BadInput, match=r"did you mean m6i\.2xlarge") as caught:
        instance_limits("m6i.2xlage")
    assert "baseline_throughput_mbps" in str(caught.value)
