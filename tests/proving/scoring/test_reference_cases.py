"""Published measurements and bills that the proving ground reproduces.

A: AWS Database Blog, "How to use CloudWatch metrics to decide between General Purpose or
Provisioned IOPS for your RDS database" (2018). B: DevelopersIO on VolumeIOPSExceededCheck and
VolumeThroughputExceededCheck, fio on a 50 GB gp3 volume of a c7i.2xlarge.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from headroom.domain.catalog import catalogue_prices
from headroom.domain.resources import Configuration
from headroom.proving.scenarios import parse_scenario
from headroom.proving.simulation import Result, simulate
from tests.proving.build import configuration, gp2, gp3, loop, play


def measured(iops: int, mibps: int, closed_loop: dict[str, object]) -> Result:
    document = {
        "resource": {"type": "gp3", "size_gib": 50, "iops": iops, "throughput_mibps": mibps},
        "attachment": {"instance_type": "c7i.2xlarge"},
        "workload": {"closed_loop": closed_loop | {"duration": "180s"}},
    }
    return simulate(parse_scenario(document, source="case B", base=Path()), "none")


RANDOM: dict[str, object] = {"outstanding": 256, "io_kib": 4, "read_fraction": 0.7}
SEQUENTIAL: dict[str, object] = {
    "outstanding": 64, "io_kib": 1024, "read_fraction": 1, "sequential": True,
}  # fmt: skip


@pytest.mark.parametrize(
    ("iops", "mibps", "total", "random_ms", "mib_per_s", "sequential_ms"),
    [(3_000, 125, 3_016, 84.9, 125.8, 508.7), (6_000, 250, 6_033, 42.4, 251.5, 254.4)],
)
def test_case_b_gp3_at_its_limits(
    iops: int, mibps: int, total: float, random_ms: float, mib_per_s: float, sequential_ms: float
) -> None:
    random = measured(iops, mibps, RANDOM)
    served = random.to_json()["served"]
    assert isinstance(served, dict)
    assert served["read_iops"] + served["write_iops"] == pytest.approx(total, rel=0.05)
    assert served["read_iops"] / served["write_iops"] == pytest.approx(7 / 3)
    assert random.latencies.mean_ms == pytest.approx(random_ms, rel=0.05)
    assert all(m.facts.iops_exceeded for m in random.minutes)

    sequential = measured(iops, mibps, SEQUENTIAL)
    served = sequential.to_json()["served"]
    assert isinstance(served, dict)
    assert served["mib_per_s"] == pytest.approx(mib_per_s, rel=0.05)
    assert sequential.latencies.mean_ms == pytest.approx(sequential_ms, rel=0.05)
    assert all(m.facts.throughput_exceeded for m in sequential.minutes)


def test_case_b_a_large_io2_clears_both_checks() -> None:
    facts = play(loop(256, 4, 8), configuration("io2", 500, 64_000), 3)
    assert not any(f.iops_exceeded or f.throughput_exceeded for f in facts)


def test_case_a_gp2_drains_its_credits_and_then_sits_at_its_baseline() -> None:
    facts = play(loop(250, 16, 100), gp2(400), 120)
    drained = next(i for i, f in enumerate(facts) if f.burst_balance_percent == 0)
    assert drained == 5_400_000 // (2_500 - 1_200) // 60
    assert [round(f.ebs_iops) for f in facts[:drained]] == [2_500] * drained
    assert [round(f.ebs_iops) for f in facts[drained + 1 :]] == [1_200] * (119 - drained)
    assert facts[-1].latency_ms_avg == pytest.approx(250 / 1_200 * 1_000)
    assert facts[-1].starved
    assert not facts[0].starved


def test_case_a_io1_serves_2500_without_touching_its_limit() -> None:
    facts = play(loop(250, 16, 100), configuration("io1", 400, 5_000), 120)
    assert {round(f.ebs_iops) for f in facts} == {2_500}
    assert not any(f.starved for f in facts)


@pytest.mark.parametrize(
    ("what", "usd"),
    [
        (gp2(400), "40.00"),
        (configuration("io1", 400, 5_000), "375.00"),
        (configuration("io1", 400, 2_500), "212.50"),
        (gp2(834), "83.40"),
        (gp3(400), "32.00"),
    ],
)
def test_case_a_bills_to_the_cent(what: Configuration, usd: str) -> None:
    assert catalogue_prices("us-west-2").monthly(what) == Decimal(usd)
