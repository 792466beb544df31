"""`kind: rds`: reference case A as RDS is today, striping, and what is no database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.decision import Escalate
from headroom.proving.inputs import BadInput
from headroom.proving.metrics import datapoints, instance_datapoints
from headroom.proving.scenarios import load_scenario, parse_scenario
from headroom.proving.scenarios.database import DATABASE
from headroom.proving.simulation import Result, simulate
from tests.proving.scenarios.test_bad_input_fuzz import NEST, one_sentence

SCENARIOS = Path(__file__).parents[3] / "docs" / "scenarios"
CASE_A: dict[str, Any] = {
    "closed_loop": {"outstanding": 250, "io_kib": 16, "read_fraction": 0, "service_ms": 100,
                    "duration": "6h"},
}  # fmt: skip


ENROLLED = {"storage_type": "gp3", "allocated_storage_gib": 800, "tags": {"headroom": "auto"}}


def scenario(workload: dict[str, Any] | None = None, **resource: object) -> dict[str, Any]:
    base = {"kind": "rds", "engine": "mysql", "instance_class": "db.r6g.4xlarge",
            "storage_type": "gp2", "allocated_storage_gib": 400}  # fmt: skip
    return {
        "resource": {k: v for k, v in (base | resource).items() if v is not None},
        "workload": workload or {"steps": [{"for": "30m", "iops": 500, "io_kib": 16}]},
    }


def simulated(document: dict[str, Any], controller: str = "none") -> Result:
    made = parse_scenario(document, source="case", base=Path())
    return simulate(made, "headroom" if controller == "headroom" else "none")


def iops_of(result: Result) -> list[int]:
    return [round(minute.facts.ebs_iops) for minute in result.minutes]


def test_case_a_on_four_volumes_drains_four_buckets_and_then_sits_at_the_baseline() -> None:
    """AWS Database Blog, 2018: 250 writers ask for 2,500 IOPS of 400 GiB with 1,200."""
    result = simulated(scenario(CASE_A))
    served = iops_of(result)
    drained = 4 * 5_400_000 // (2_500 - 1_200) // 60
    assert drained == 276
    assert set(served[:drained]) == {2_500}
    assert set(served[drained + 1 :]) == {1_200}
    assert result.starved_minutes == 360 - drained
    # One volume, as all of RDS was in 2018: gone in a quarter of the time.
    single = iops_of(simulated(scenario(CASE_A, allocated_storage_gib=399)))
    assert single[:69] == [2_500] * 69
    assert single[70:] == [1_197] * 290


def test_case_a_on_io1_serves_all_that_is_asked_for() -> None:
    result = simulated(scenario(CASE_A, storage_type="io1", iops=5_000))
    assert set(iops_of(result)) == {2_500}
    assert result.starved_minutes == 0


@pytest.mark.parametrize(
    ("resource", "offered", "most"),
    [
        ({"allocated_storage_gib": 400}, 13_000, 12_000),
        ({"allocated_storage_gib": 399}, 13_000, 3_000),
        ({"storage_type": "gp3", "allocated_storage_gib": 399}, 13_000, 3_000),
        ({"storage_type": "gp3"}, 13_000, 12_000),
        ({"storage_type": "gp3", "iops": 12_500}, 13_000, 12_500),
        ({"engine": "postgres", "storage_type": "io2", "iops": 1_000}, 13_000, 1_000),
    ],
)
def test_a_stripe_serves_what_its_volumes_serve_together(
    resource: dict[str, object], offered: int, most: int
) -> None:
    load = {"steps": [{"for": "5m", "iops": offered, "io_kib": 4}]}
    boundless = scenario(load, instance_class=None, **resource)
    assert set(iops_of(simulated(boundless))) == {most}


def test_the_instance_class_is_a_limit_like_any_instance() -> None:
    load = {"steps": [{"for": "2h", "iops": 11_000, "io_kib": 4}]}
    small = simulated(scenario(load, instance_class="db.r6g.large", storage_type="gp3"))
    assert iops_of(small)[-1] == 3_600
    assert small.starved_minutes == 0, "what the instance holds back is not the storage's doing"


def test_a_database_publishes_no_check_of_any_limit_and_no_balance_without_a_bucket() -> None:
    made = parse_scenario(scenario(), source="case", base=Path())
    minute = simulated(scenario()).minutes[0]
    points = datapoints(
        minute.facts, volume_id="database-1", instance_id="i-1",
        configuration=made.resource.configuration,
    )  # fmt: skip
    points += instance_datapoints(
        minute.facts,
        instance_id="i-1",
        limits=made.attachment_settings.attachment.limits,
        database=True,
    )
    names = {point.name for point in points}
    assert not any("Exceeded" in name for name in names)
    assert "BurstBalance" in names


def test_headroom_moves_a_draining_gp2_to_gp3_before_its_first_starved_minute() -> None:
    load = {"steps": [{"for": "30m", "iops": 800, "io_kib": 16},
                      {"for": "4h", "iops": 4_500, "io_kib": 16}]}  # fmt: skip
    document = scenario(
        load, engine="postgres", allocated_storage_gib=500, burst_balance_percent=30,
        tags={"headroom": "auto"},
    )  # fmt: skip
    result = simulated(document, "headroom")
    (change,) = result.changes
    assert str(change.target) == "gp3 500 GiB 12000 IOPS 500 MiB/s"
    assert (result.starved_minutes, len(result.refusals), len(result.violations)) == (0, 0, 0)
    assert simulated(document).starved_minutes > 30


QUIET = {"iops": 50, "io_kib": 16}


def of_small_gp2(
    size_gib: int, *steps: dict[str, object], days: int = 1, history: str = "5d", **other: object
) -> dict[str, Any]:
    """A gp2 database below the striping threshold: three quiet hours, then `steps`, every day."""
    document = scenario(
        {"steps": [{"repeat": days, "steps": [{"for": "3h"} | QUIET, *steps]}]},
        engine="postgres", allocated_storage_gib=size_gib, instance_class="db.r6g.2xlarge",
        tags={"headroom": "auto"},
    )  # fmt: skip
    return document | {"history": {"steps": [{"for": history} | QUIET]}} | other


@pytest.mark.parametrize(
    ("size_gib", "iops", "io_kib", "hours"), [(150, 1_860, 64, 5), (100, 1_500, 80, 8)]
)
def test_a_gp2_without_spare_throughput_on_gp3_moves_before_its_credits_are_gone(
    size_gib: int, iops: int, io_kib: int, hours: int
) -> None:
    """116 MiB/s of gp3's 125: less than a tenth is left, and gp2 would have 19 to 28 without credits."""
    load = {"for": f"{hours}h", "iops": iops, "io_kib": io_kib}
    document = of_small_gp2(size_gib, load, {"for": f"{21 - hours}h"} | QUIET)
    result, as_it_was = simulated(document, "headroom"), simulated(document)
    assert [str(change.target) for change in result.changes] == [f"gp3 {size_gib} GiB"]
    assert result.shortfall_minutes == 0
    assert result.usd_per_month_end == as_it_was.usd_per_month_end
    assert as_it_was.starved_minutes > 1_000


def test_no_io2_is_bought_for_good_where_gp3_serves_the_load_for_the_same_money() -> None:
    """1,900 IOPS of 64 KiB for eight hours: io2 of 100 GiB cost $101 a month more for ever."""
    rules = [{"match": {"kind": "rds"}, "set": {"mode": "auto", "one_way": "allow"}}]
    document = of_small_gp2(
        100, {"for": "8h", "iops": 1_900, "io_kib": 64}, {"for": "2d"} | QUIET, history="3h",
        policy={"version": 1, "rules": rules},
    )  # fmt: skip
    result = simulated(document, "headroom")
    assert [str(change.target) for change in result.changes] == ["gp3 100 GiB"]
    assert result.shortfall_minutes == 0
    assert result.usd_per_month_end == simulated(document).usd_per_month_end


def test_a_gp2_moves_once_its_load_came_late_for_longer_than_on_gp3() -> None:
    """2,900 IOPS of 64 KiB are 181 MiB/s: 42 minutes a night with credits, then 750 IOPS; gp3 has 2,000."""
    night = {"for": "3h", "iops": 2_900, "io_kib": 64}
    document = of_small_gp2(250, night, {"for": "18h"} | QUIET, days=4)
    result, as_it_was = simulated(document, "headroom"), simulated(document)
    assert [str(change.target) for change in result.changes] == ["gp3 250 GiB"]
    assert result.usd_per_month_end == as_it_was.usd_per_month_end
    assert result.shortfall_minutes < 1_100 < 2_000 < as_it_was.shortfall_minutes


@pytest.mark.parametrize(("iops", "io_kib", "most"), [(2_900, 48, 330), (3_300, 44, 375)])
def test_a_load_a_little_above_what_gp3_has_moves_soon_after_its_credits_are_gone(
    iops: int, io_kib: int, most: int
) -> None:
    """136 and 142 MiB/s for five hours: 45 minutes with credits, then 900 IOPS; gp3 has 125 MiB/s."""
    load = {"for": "5h", "iops": iops, "io_kib": io_kib}
    document = of_small_gp2(300, {"for": "24h"} | QUIET, load, {"for": "19h"} | QUIET)
    result = simulated(document, "headroom")
    assert [str(change.target) for change in result.changes] == ["gp3 300 GiB"]
    assert result.shortfall_minutes < most < 600 < simulated(document).shortfall_minutes


@pytest.mark.parametrize(
    ("size_gib", "iops", "io_kib", "minutes"),
    [
        (300, 2_900, 64, 60),  # 17 minutes without credits, and 40 to drain; on gp3 90 in all
        (350, 2_500, 100, 20),  # 244 MiB/s that credits last for
        (390, 1_300, 240, 480),  # without credits 274 MiB/s, at most 250
    ],
)
def test_a_gp2_that_serves_more_than_gp3_stays(
    size_gib: int, iops: int, io_kib: int, minutes: int
) -> None:
    load = {"for": f"{minutes}m", "iops": iops, "io_kib": io_kib}
    document = of_small_gp2(size_gib, load, {"for": f"{1_260 - minutes}m"} | QUIET, days=2)
    result = simulated(document, "headroom")
    assert result.changes == ()
    assert result.shortfall_minutes == simulated(document).shortfall_minutes


def test_one_import_moves_no_gp2_that_serves_its_weekly_load_better_than_gp3() -> None:
    """225 MiB/s for three hours a week, and once 1,800 IOPS for three hours, which run out of credits."""
    week = [
        {"for": "1h"} | QUIET,
        {"for": "3h", "iops": 900, "io_kib": 256},
        {"for": "164h"} | QUIET,
    ]
    cut = [*week[:2], {"for": "76h"} | QUIET]
    loads = [*week, *cut, {"for": "3h", "iops": 1_800, "io_kib": 16}, {"for": "85h"} | QUIET, *week]
    document = scenario(
        {"steps": loads}, engine="postgres", storage_type="gp2", allocated_storage_gib=300,
        instance_class=None, tags={"headroom": "auto"},
    )  # fmt: skip
    result = simulated(document, "headroom")
    assert result.changes == ()
    assert result.starved_minutes == simulated(document).starved_minutes


@pytest.mark.parametrize(("rate", "noise"), [(11_800, 0), (12_000, 0), (11_800, 15)])
def test_a_load_that_just_fits_buys_nothing_and_needs_nobody(rate: int, noise: int) -> None:
    """No check is published: operations that take no longer than on calm days wait for nothing.

    Their latency says so, however the queue varies, which is only sampled.
    """
    steps = [{"for": "1d", "iops": 3_000, "io_kib": 16}, {"for": "1d", "iops": rate, "io_kib": 16}]
    document = scenario({"steps": [*steps, steps[0]]}, **ENROLLED)
    result = simulated({**document, "aws": {"queue_noise_percent": noise}}, "headroom")
    assert result.changes == ()
    assert not [d for d in result.decisions if isinstance(d.answer, Escalate)]


def test_a_load_that_just_fits_what_was_left_brings_nothing_back() -> None:
    """1,440 IOPS at 1,467 after 1,333 at 5,000: at none of these did operations wait."""
    io2: dict[str, Any] = {"storage_type": "io2", "allocated_storage_gib": 1_000, "iops": 5_000}
    steps = [{"for": "5d", "iops": 1_333, "io_kib": 16}, {"for": "6h", "iops": 1_440, "io_kib": 16}]
    result = simulated(scenario({"steps": steps}, **(ENROLLED | io2)), "headroom")
    assert [(change.target.iops or 0) < 2_000 for change in result.changes] == [True]


def test_what_nearly_reaches_what_the_class_sustains_gets_all_of_it() -> None:
    """19,800 of 20,000 IOPS would be short for as long as the load is higher, with no way to the rest."""
    days = {9_000: "1d", 12_000: "1d", 24_000: "6h"}
    steps = [{"for": lasts, "iops": rate, "io_kib": 16} for rate, lasts in days.items()]
    result = simulated(scenario({"steps": steps}, **ENROLLED), "headroom")
    assert max(change.target.iops or 0 for change in result.changes) == 20_000
    assert iops_of(result)[-1] == 20_000


def test_headroom_never_has_a_database_copied_though_it_starves() -> None:
    load = {"steps": [{"for": "2h", "iops": 5_000, "io_kib": 16}]}
    document = scenario(
        load, storage_type="gp3", allocated_storage_gib=300, tags={"headroom": "auto"}
    )
    document["policy"] = {
        "version": 1, "defaults": {"types": ["gp3"], "growth": True},
    }  # fmt: skip
    result = simulated(document, "headroom")
    assert result.changes == ()
    assert result.starved_minutes > 100
    assert result.violations == ()


def test_an_allowed_copy_begins_at_a_quiet_hour_and_is_followed_to_its_end() -> None:
    """docs/scenarios/rds-full-copy.yaml: hours at the limit on two days, then none on the third."""
    result = simulate(load_scenario(SCENARIOS / "rds-full-copy.yaml"), "headroom")
    (change,) = result.changes
    assert str(change.target) == "gp3 400 GiB 12000 IOPS 500 MiB/s"
    assert change.at.day == 6
    assert change.at.hour >= 15
    after = [minute for minute in result.minutes if minute.facts.start >= change.at]
    assert {minute.facts.limit_iops for minute in after[1:180]} == {3_000}
    assert {minute.facts.limit_iops for minute in after[181:]} == {12_000}
    assert not any(minute.facts.starved for minute in after)
    assert (len(result.refusals), result.violations) == (0, ())


@pytest.mark.parametrize(
    ("resource", "fragment"),
    [
        ({"engine": "aurora-mysql"}, "resource.engine is 'aurora-mysql'; it must be one of mysql"),
        ({"engine": None}, "resource.engine is missing"),
        ({"storage_type": "st1"}, "resource.storage_type is 'st1'; it must be one of gp3"),
        ({"storage_type": "gp3", "allocated_storage_gib": 300, "iops": 6_000},
         "resource.iops is 6000; mysql takes none below 400 GiB"),
        ({"storage_throughput_mibps": 250},
         "resource.storage_throughput_mibps is 250; mysql takes none with gp2"),
        ({"storage_type": "io1"}, "needs its IOPS set"),
        ({"storage_type": "io1", "iops": 30_000}, "0.5 to 50 per GiB, not 30000"),
        ({"engine": "db2"}, "db2 single-az has no gp2 storage"),
        ({"allocated_storage_gib": 4}, "5 to 399, 400 to 65536 GiB, not 4"),
        ({"instance_class": "r6g.large"}, "must be one like db.r6g.4xlarge"),
        ({"instance_class": "db.r6g.9xlarge"}, "an instance whose EBS limits are not known"),
        ({"multi_az": "yes"}, "resource.multi_az is 'yes'; it must be true or false"),
        ({"size_gib": 400}, "resource.size_gib is not a known key"),
        ({"kind": "rsd"}, "resource.kind is 'rsd'; it must be one of ebs, rds"),
        ({"kind": "aurora"}, "docs/aurora-scenarios.md"),
        ({"kind": ["rds"]}, "resource.kind is ['rds']"),
    ],
)  # fmt: skip
def test_an_invalid_database_is_refused_in_one_sentence(
    resource: dict[str, object], fragment: str
) -> None:
    with pytest.raises(BadInput) as raised:
        parse_scenario(scenario(**resource), source="case.yaml", base=Path())
    assert fragment in str(raised.value)
    assert str(raised.value).count(".yaml:") == 1


def test_a_database_has_no_attachment_of_its_own() -> None:
    document = scenario() | {"attachment": {"instance_type": "r6g.large"}}
    with pytest.raises(BadInput, match="give its instance_class instead"):
        parse_scenario(document, source="case.yaml", base=Path())


def test_a_second_copy_is_paid_for() -> None:
    single, double = (
        simulated(scenario(multi_az=both)).minutes[0].usd_per_month for both in (False, True)
    )
    assert double == 2 * single


@settings(max_examples=150, deadline=None)
@given(key=st.sampled_from(DATABASE), value=NEST)
def test_one_wrong_value_of_a_database_is_one_sentence(key: str, value: object) -> None:
    document = scenario()
    document["resource"][key] = value
    try:
        parse_scenario(document, source="case.yaml", base=Path("/nonexistent"))
    except BadInput as error:
        one_sentence(error)


@pytest.mark.parametrize("engine", ["oracle", "sqlserver", "db2"])
def test_an_engine_without_dated_prices_is_simulated_at_anothers_with_a_note(engine: str) -> None:
    wanted = {"storage_type": "io1", "iops": 3_000}
    mine, other = (
        parse_scenario(scenario(engine=each, **wanted), source="case.yaml", base=Path())
        for each in (engine, "postgres")
    )
    assert other.notes == ()
    (note,) = mine.notes
    assert f"no dated prices of {engine} are known for us-east-1: those of postgres" in note
    bills = {each.aws.prices.monthly(each.resource.configuration) for each in (mine, other)}
    assert len(bills) == 1


def test_without_any_dated_price_there_is_no_fallback() -> None:
    elsewhere = scenario(engine="oracle", storage_type="io1", iops=3_000)
    elsewhere["aws"] = {"region": "us-west-2"}
    with pytest.raises(BadInput, match="has no price"):
        parse_scenario(elsewhere, source="case.yaml", base=Path())


def test_bursts_that_wait_less_under_a_larger_limit_are_raised_for_until_they_wait_no_more() -> (
    None
):
    """20 seconds of each minute at 24,000 IOPS, which no average shows."""
    minute = [
        {"for": "20s", "iops": 24_000, "io_kib": 16},
        {"for": "40s", "iops": 1_000, "io_kib": 16},
    ]
    document = scenario(
        {"steps": [{"steps": minute, "repeat": 480}]}, engine="postgres", storage_type="gp3",
        allocated_storage_gib=500, instance_class="db.r6g.8xlarge",
        tags={"headroom": "auto"},
    )  # fmt: skip
    policy = {"version": 1, "defaults": {"relief_value_usd_per_minute": 2}}
    result = simulated({**document, "policy": policy}, "headroom")
    steps = [change.target.iops or 0 for change in result.changes]
    assert steps == sorted(steps)
    assert steps[-1] >= 20_000


def test_sql_server_at_its_iops_for_each_gib_gets_all_of_them_in_one_step() -> None:
    """20 GiB take 10,000 IOPS, and no more throughput than they can use."""
    steps = [
        {"for": "1h", "iops": 1_000, "io_kib": 16},
        {"for": "1h", "iops": 18_000, "io_kib": 16},
    ]
    tags = {"headroom": "auto"}
    document = scenario(
        {"steps": steps},
        engine="sqlserver",
        storage_type="gp3",
        allocated_storage_gib=20,
        tags=tags,
    )
    del document["resource"]["instance_class"]
    found = simulated(document, "headroom")
    (only,) = found.changes
    assert (only.target.size_gib, only.target.iops) == (20, 10_000)
    assert 125 < (only.target.throughput_mibps or 0) < 300
