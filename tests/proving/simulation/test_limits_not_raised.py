"""Load that ends its day at a limit that Headroom may not raise: what it leaves unused is given back all the same."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from headroom.proving.physics import MinuteFacts
from headroom.proving.scenarios import parse_scenario
from headroom.proving.simulation import Result, simulate
from headroom.proving.simulation.world import SimulatedVolume, World
from tests.proving.simulation.situations import START, simulated, step, targets

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


@pytest.mark.parametrize("tag", ["max-iops", "price-increase-usd-per-month"])
@pytest.mark.parametrize("loaded_days", [20, 5])
def test_what_the_load_uses_above_a_limit_that_its_owner_lowered_is_kept_while_it_comes(
    tag: str, loaded_days: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """9,807 IOPS for every night; on the fourth day nothing above 3,000, or $10, may be raised to any more."""
    minute, values = World._minute, {"max-iops": "3000", "price-increase-usd-per-month": "10"}

    def lowered(self: World, volume: SimulatedVolume, start: datetime) -> MinuteFacts:
        if start >= START + timedelta(days=4):
            volume.tags = (("headroom", "auto"), (f"headroom:{tag}", values[tag]))
        return minute(self, volume, start)

    monkeypatch.setattr(World, "_minute", lowered)
    days = [
        {"repeat": loaded_days, "steps": [step("20h", 800), step("4h", 9_000)]},
        {"repeat": 20 - loaded_days, "steps": [step("24h", 800)]},
    ]
    result = simulated({"type": "gp3", "size_gib": 400}, [one for one in days if one["repeat"]])
    assert result.starved_minutes < 60, "the first night"
    assert (targets(result)[-1].iops == 3_000) is (loaded_days < 20)
