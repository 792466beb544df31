"""Load that ends its day at a limit that Headroom may not raise: what it leaves unused is given back all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from headroom.proving.scenarios import parse_scenario
from headroom.proving.simulation import Result, simulate

DAY = (("2h", 300), ("1h30m", 1.0), ("20h30m", 300))
SMALL = {
    "baseline_iops": 4_000, "baseline_throughput_mbps": 600, "maximum_iops": 4_000,
    "maximum_throughput_mbps": 600,
}  # fmt: skip
LARGE = {"instance_type": "m6i.4xlarge"}


def nights(iops: float, attachment: dict[str, object], days: int = 3) -> Result:
    """gp3 with 16,000 IOPS, and an hour and a half of load in each of so many nights."""
    steps = [
        {"for": for_, "iops": iops if load == 1.0 else load, "io_kib": 4} for for_, load in DAY
    ]
    document = {
        "resource": {
            "type": "gp3", "size_gib": 500, "iops": 16_000, "throughput_mibps": 250,
            "tags": {"headroom": "auto"},
        },
        "attachment": attachment, "workload": {"steps": steps * days}, "detection": "adaptive",
    }  # fmt: skip
    return simulate(parse_scenario(document, source="case", base=Path()))


@pytest.mark.parametrize(
    ("iops", "attachment", "most_usd"),
    [(8_000, SMALL, 8.0), (20_000, LARGE, 8.0), (3_500, LARGE, 8.0)],
    ids=["the instance", "max_iops", "no limit at all"],
)
def test_what_a_load_leaves_unused_is_given_back_whatever_limit_it_was_at(
    iops: float, attachment: dict[str, object], most_usd: float
) -> None:
    """Three days at 16,000 IOPS cost $10.85."""
    found = nights(iops, attachment)
    assert found.changes
    assert float(found.storage_usd) < most_usd
