"""What ModifyVolume is called with: everything that counts said, and a size only to grow."""

from __future__ import annotations

import pytest

from headroom.domain.catalog.ebs import parameters
from headroom.domain.resources import Configuration
from tests.builders import gp2, gp3


@pytest.mark.parametrize(
    ("origin", "target", "sent"),
    [
        (gp3(100), gp3(100, 6_000, 250),
         {"VolumeType": "gp3", "Iops": 6_000, "Throughput": 250}),
        (gp2(400), gp3(400), {"VolumeType": "gp3", "Iops": 3_000, "Throughput": 125}),
        (gp2(400), gp2(834), {"VolumeType": "gp2", "Size": 834}),
        (gp3(100), gp2(100), {"VolumeType": "gp2"}),
    ],
)  # fmt: skip
def test_iops_and_throughput_are_explicit_and_the_size_only_where_it_grows(
    origin: Configuration, target: Configuration, sent: dict[str, object]
) -> None:
    assert dict(parameters(origin, target)) == sent
