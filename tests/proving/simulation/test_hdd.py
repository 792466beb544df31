"""A volume of an HDD type after one batch, and under a nightly one."""

from __future__ import annotations

from pathlib import Path

import pytest

from headroom.domain.resources import VolumeType
from headroom.proving.scenarios import parse_scenario
from headroom.proving.simulation import simulate
from tests.proving.simulation.situations import simulated, step, targets

ONE_BATCH = [("1d", 2, 64), ("4h", 3_000, 64), ("10d", 2, 64)]
NIGHTLY = [("22h", 2, 64), ("2h", 2_500, 16)] * 5


@pytest.mark.parametrize(
    ("steps", "types", "kinds"),
    [
        (ONE_BATCH, ["gp3", "st1"], ["gp3", "st1"]),
        (ONE_BATCH, ["gp3"], ["gp3"]),
        (NIGHTLY, ["gp3", "st1"], ["gp3"]),
    ],
    ids=["one batch", "one batch, st1 not allowed", "nightly"],
)
def test_st1_is_left_for_a_batch_and_returned_to_where_it_ended_and_the_owner_allows_it(
    steps: list[tuple[str, int, int]], types: list[str], kinds: list[str]
) -> None:
    document = {
        "start": "2026-01-05T00:00:00Z",
        "resource": {"type": "st1", "size_gib": 1_000},
        "workload": {"steps": [{"for": f, "iops": n, "io_kib": kib} for f, n, kib in steps]},
        "policy": {"defaults": {"mode": "auto", "types": types}},
    }
    result = simulate(parse_scenario(document, source="hdd.yaml", base=Path()))
    targets = [change.target.volume_type.value for change in result.changes]
    assert list(dict.fromkeys(targets)) == kinds
    assert targets.count("st1") == kinds.count("st1")
    stays = "only a person can change it back to st1, which types does not name"
    assert any(stays in decision.summary for decision in result.decisions) is ("st1" not in types)
    assert result.violations == ()


def test_sequential_load_within_the_baseline_buys_no_ssd_type() -> None:
    """155 MiB/s are 620 operations of an SSD type, and 155 of this one, which sustains 156."""
    large = {"io_kib": 1024, "sequential": True}
    result = simulated(
        {"type": "st1", "size_gib": 4_000},
        [
            {"for": "3d", "iops": 5, **large},
            {"for": "1d", "iops": 155, **large},
            {"for": "4d", "iops": 5, **large},
        ],
        policy={"version": 1, "defaults": {"types": ["gp3", "st1"]}},
    )
    assert result.starved_minutes == 0
    assert result.changes == ()


@pytest.mark.parametrize(
    "limits", [{"max_throughput_mibps": 200}, {"price_increase_usd_per_month": 38}]
)
def test_the_load_is_served_though_the_owners_limits_leave_less_than_a_burst(
    limits: dict[str, int],
) -> None:
    """A burst served 190 MiB/s, of which a tenth more may not be bought; 200 last the whole load."""
    large = {"io_kib": 1024, "sequential": True}
    result = simulated(
        {"type": "st1", "size_gib": 1_000},
        [{"for": "3h", "iops": 5, **large}, {"for": "3h", "iops": 190, **large}],
        policy={"version": 1, "defaults": limits},
    )
    assert result.shortfall_minutes == 0
    (target,) = targets(result)
    assert (target.volume_type, target.throughput_mibps) == (VolumeType.GP3, 200)


@pytest.mark.parametrize("known_days", [0, 6])
def test_no_ssd_is_bought_for_a_batch_that_ends_before_the_credits_do(known_days: int) -> None:
    """Nothing leads back to st1 by default. Known days show when it ends; else it is acted on 20 minutes before."""
    large = {"io_kib": 1024, "sequential": True}
    night = [
        {"for": "1h", "iops": 5, **large}, {"for": "2h", "iops": 80, **large},
        {"for": "21h", "iops": 5, **large},
    ]  # fmt: skip
    result = simulated({"type": "st1", "size_gib": 500}, night * 3, history=night * known_days)
    assert result.starved_minutes == 0
    balances = [minute.facts.burst_balance_percent for minute in result.minutes]
    assert min(percent for percent in balances if percent is not None) < 20
    assert result.changes == ()


def test_a_batch_that_outlasts_the_credits_of_st1_is_met_before_they_end() -> None:
    large = {"io_kib": 1024, "sequential": True}
    night = [{"for": "1h", "iops": 5, **large}, {"for": "6h", "iops": 80, **large}]
    result = simulated({"type": "st1", "size_gib": 500}, night)
    assert result.starved_minutes == 0
    assert [one.volume_type for one in targets(result)] == [VolumeType.GP3]


@pytest.mark.parametrize(
    ("kind", "gib", "mib_ops", "batch"), [("st1", 4_000, 40, 420), ("sc1", 2_000, 20, 200)]
)
def test_streams_that_an_hdd_type_served_lead_back_to_it_after_a_batch(
    kind: str, gib: int, mib_ops: int, batch: int
) -> None:
    """1 MiB operations count four times in a profile; st1 of 4,000 GiB sustains 156 random ones, and served these."""
    result = simulated(
        {"type": kind, "size_gib": gib},
        [step("1d", mib_ops, 1024), step("8h", batch, 512), step("9d", mib_ops, 1024)],
        history=[step("10d", mib_ops, 1024)],
        policy={"version": 1, "defaults": {"mode": "auto", "types": ["gp3", "st1", "sc1"]}},
    )
    assert result.changes[0].target.volume_type is VolumeType.GP3
    assert str(result.changes[-1].target.volume_type) == kind
    assert result.shortfall_minutes < 15
