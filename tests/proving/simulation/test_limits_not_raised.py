"""Limits that Headroom may not raise: what load leaves unused is given back all the same, and nothing else."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from headroom.domain.decision import Escalate
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
GP3 = {"type": "gp3", "size_gib": 400}


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


def tagged_from(monkeypatch: pytest.MonkeyPatch, hours: float, tags: dict[str, str]) -> None:
    """The owner replaces the tags of the volume so many hours after the start."""
    minute = World._minute

    def with_tags(self: World, volume: SimulatedVolume, start: datetime) -> MinuteFacts:
        if start >= START + timedelta(hours=hours):
            volume.tags = tuple(tags.items())
        return minute(self, volume, start)

    monkeypatch.setattr(World, "_minute", with_tags)


@pytest.mark.parametrize(
    ("tag", "loaded_days"),
    [(("max-iops", "3000"), 12), (("max-iops", "3000"), 5), (("price-increase-usd-per-month", "10"), 12)],
)  # fmt: skip
def test_what_the_load_uses_above_a_limit_that_its_owner_lowered_is_kept_while_it_comes(
    tag: tuple[str, str], loaded_days: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """9,807 IOPS for every night; on the fourth day nothing above 3,000, or $10, may be raised to any more."""
    tagged_from(monkeypatch, 96, {"headroom": "auto", f"headroom:{tag[0]}": tag[1]})
    days = [
        {"repeat": loaded_days, "steps": [step("20h", 800), step("4h", 9_000)]},
        {"repeat": 20 - loaded_days, "steps": [step("24h", 800)]},
    ]
    result = simulated(GP3, days[: 2 if loaded_days < 12 else 1])
    assert result.starved_minutes < 60, "the first night"
    assert (targets(result)[-1].iops == 3_000) is (loaded_days < 12)


@pytest.mark.parametrize(
    "tags",
    [
        {"headroom": "auto", "headroom:max-iops": "many"},
        {"headroom": "auto", "headroom:mode": "off"},
    ],
    ids=["no number", "two modes"],
)
@pytest.mark.parametrize("tagged_hour", [1, 10])
def test_tags_that_nobody_understands_are_reported_under_load_and_while_they_keep_a_raise(
    tags: dict[str, str], tagged_hour: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    tagged_from(monkeypatch, tagged_hour, tags)
    result = simulated(GP3, [step("9h", 800), step("4h", 9_000), step("59h", 800)])
    told = [d for d in result.decisions if isinstance(d.answer, Escalate)]
    assert [d.answer.cause for d in told if isinstance(d.answer, Escalate)] == ["policy"]
    assert told[0].at < START + timedelta(hours=tagged_hour + 9)
    kept = "gives back nothing of what it added for $47.52 a month"
    assert (kept in told[0].summary) is bool(result.changes) is (tagged_hour > 9)


def test_a_floor_that_was_never_reached_keeps_nothing_on_the_other_side() -> None:
    """At least 300 MiB/s wanted, of which the volume has 125: the IOPS of one load were kept for ever."""
    rules = {"version": 1, "defaults": {"min_throughput_mibps": 300}}
    load = [step("9h", 800), step("4h", 9_000), step("155h", 800)]
    result = simulated({**GP3, "throughput_mibps": 250}, load, policy=rules)
    assert result.starved_minutes < 60
    assert (targets(result)[-1].iops, targets(result)[-1].throughput_mibps) == (3_000, 250)
