"""Whole simulations: the public result, money, slots, refusals, and what Headroom does."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headroom.proving.scenarios import parse_scenario
from headroom.proving.simulation import Controller, Result, simulate
from headroom.proving.simulation.run import queue_noise
from tests.proving.build import gp2

KEYS = {
    "scenario", "controller", "simulated_minutes", "unknown_minutes", "offered_ops", "served_ops",
    "starved_minutes", "latency_ms", "served", "burst_balance_min", "storage_usd",
    "usd_per_month_start", "usd_per_month_end", "modifications", "decisions", "aws_refusals",
    "guardrail_violations", "onset_to_relief_minutes",
}  # fmt: skip
GP2 = {"type": "gp2", "size_gib": 400, "tags": {"headroom": "auto"}}
GP3 = {"type": "gp3", "size_gib": 200, "tags": {"headroom": "auto"}}
LARGE = {"instance_type": "m6i.4xlarge"}


def steps(*parts: tuple[str, float]) -> dict[str, object]:
    """Each part is how long and how many operations per second of 16 KiB."""
    return {"steps": [{"for": for_, "iops": iops, "io_kib": 16} for for_, iops in parts]}


def run(
    resource: dict[str, object],
    workload: dict[str, object],
    controller: Controller = "headroom",
    **more: object,
) -> Result:
    document = {"resource": resource, "workload": workload, "attachment": LARGE} | more
    return simulate(parse_scenario(document, source="case", base=Path()), controller)


def said(result: Result) -> dict[str, object]:
    """The result as its reader gets it: through JSON and back."""
    found = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert isinstance(found, dict)
    return found


def test_the_result_has_the_public_keys() -> None:
    result = run(GP2, steps(("30m", 500)), "none")
    found = said(result)
    assert set(found) >= KEYS
    assert set(found["latency_ms"]) == {"avg", "p50", "p99"}  # type: ignore[call-overload]
    assert set(found["served"]) == {"read_iops", "write_iops", "mib_per_s"}  # type: ignore[call-overload]
    assert found["decisions"] == {"act": 0, "hold": 0, "escalate": 0}
    assert (found["simulated_minutes"], found["unknown_minutes"]) == (30, 0)
    assert found["offered_ops"] == found["served_ops"] == 500 * 1_800
    assert found["onset_to_relief_minutes"] is None
    assert found["latency_ms"] == {"avg": 0.5, "p50": 0.5, "p99": 0.5}


def test_no_controller_changes_nothing_and_is_billed_by_the_second() -> None:
    found = said(run(GP2, steps(("1h", 2_000), ("6h", 4_000)), "none"))
    assert found["modifications"] == []
    assert found["usd_per_month_start"] == found["usd_per_month_end"] == 40
    assert found["storage_usd"] == pytest.approx(40 * 7 / 730, abs=1e-6)
    assert found["burst_balance_min"] == 0
    assert found["starved_minutes"] == found["onset_to_relief_minutes"] == 360


def test_what_is_served_in_a_gap_is_in_no_rate(tmp_path: Path) -> None:
    """Half a minute at 10,000 IOPS leaves 210,000 operations: 180,000 of them are served in the gap."""
    (tmp_path / "gap.csv").write_text(
        "timestamp,read_ops,write_ops,read_bytes,write_bytes\n"
        "2026-01-05T00:00:00Z,300000,0,4915200000,0\n"
        "2026-01-05T00:00:30Z,,,,\n"
        "2026-01-05T00:01:00Z,,,,\n"
        "2026-01-05T00:01:30Z,60,0,983040,0\n"
    )
    document = {"resource": GP3, "workload": {"trace": {"file": "gap.csv"}}}
    found = said(simulate(parse_scenario(document, source="case", base=tmp_path), "none"))
    read_iops = (90_000 + 30_000 + 60) / 60
    assert found["served"] == {
        "read_iops": read_iops, "write_iops": 0, "mib_per_s": round(read_iops / 64, 4),
    }  # fmt: skip
    assert found["served_ops"] == found["offered_ops"] == 300_060


def test_the_lowest_balance_is_the_buckets_own() -> None:
    """It counts the start, and dips that are over before their minute is."""
    filling = run(GP2 | {"burst_balance_percent": 10}, steps(("30m", 0)), "none")
    assert said(filling)["burst_balance_min"] == 10
    dip = steps(("15s", 3_000), ("45s", 0))
    dipping = said(run(GP2 | {"burst_balance_percent": 10}, dip, "none"))
    assert dipping["burst_balance_min"] == pytest.approx(10 - 100 * 15 * 1_800 / 5_400_000)


def test_headroom_ends_a_starvation_on_the_first_change() -> None:
    result = run(GP3, steps(("30m", 1_000), ("5h", 5_000)))
    found = said(result)
    (change,) = result.changes
    assert change.target.volume_type == "gp3"
    assert (change.target.iops or 0) >= 5_000
    assert change.decision_id in {d.decision_id for d in result.decisions}
    assert found["decisions"]["act"] == 1  # type: ignore[index,call-overload]
    assert found["guardrail_violations"] == found["aws_refusals"] == 0
    onset = found["onset_to_relief_minutes"]
    assert onset is not None
    assert onset < 40  # type: ignore[operator]
    assert not any(m.facts.starved for m in result.minutes[-60:])
    assert (
        found["starved_minutes"]
        < said(run(GP3, steps(("30m", 1_000), ("5h", 5_000)), "none"))["starved_minutes"]
    )  # type: ignore[operator]


def test_headroom_acts_before_the_credits_of_a_gp2_volume_run_out() -> None:
    result = run(GP2, steps(("1h", 800), ("8h", 2_600)))
    assert len(result.changes) == 1
    assert result.starved_minutes == 0
    assert said(result)["burst_balance_min"] > 0  # type: ignore[operator]


def test_money_follows_the_change_by_the_second() -> None:
    result = run(GP3, steps(("30m", 1_000), ("5h", 5_000)))
    before, after = (result.minutes[i].usd_per_month for i in (0, -1))
    changed = result.changes[0].at - datetime(2026, 1, 5, tzinfo=UTC)
    first = changed.total_seconds()
    paid = (before * int(first) + after * (19_800 - int(first))) / (730 * 3_600)
    assert float(result.storage_usd) == pytest.approx(float(paid))


def test_what_is_not_enrolled_is_watched_and_left_alone() -> None:
    result = run(GP3 | {"tags": {}}, steps(("30m", 1_000), ("3h", 5_000)))
    found = said(result)
    assert found["modifications"] == []
    assert found["decisions"]["hold"] >= 1  # type: ignore[index,call-overload]
    assert found["decisions"]["escalate"] == 0  # type: ignore[index,call-overload]


def test_an_instance_that_is_the_limit_costs_no_money() -> None:
    small = {"baseline_iops": 2_000, "baseline_throughput_mbps": 200}
    result = run(GP3, steps(("30m", 1_000), ("3h", 2_900)), attachment=small)
    assert result.changes == ()
    assert result.starved_minutes == 0


def test_four_changes_from_before_make_aws_refuse_and_the_wait_is_known() -> None:
    start = datetime(2026, 1, 5, tzinfo=UTC)
    past = [(start - timedelta(hours=h)).isoformat() for h in (22, 17, 12, 4)]
    aws = {"modified_at": past, "known_to_ledger": False}
    result = run(GP3, steps(("5h", 5_000)), aws=aws, start=start.isoformat())
    assert [r.code for r in result.refusals] == ["VolumeModificationRateExceeded"]
    (change,) = result.changes
    assert change.at >= start + timedelta(hours=2), (
        "22 hours before the start is the first to clear"
    )
    assert change.at <= start + timedelta(hours=2, minutes=2)


def test_changes_of_others_use_slots_while_headroom_watches() -> None:
    start = datetime(2026, 1, 5, tzinfo=UTC)
    others = [(start + timedelta(hours=h)).isoformat() for h in (0, 3, 6, 9)]
    result = run(
        GP3, steps(("12h", 1_000), ("20h", 5_000)), aws={"modified_at": others},
        start=start.isoformat(),
    )  # fmt: skip
    assert len(result.external_changes) == 4
    assert result.refusals == ()
    assert result.violations == ()
    first = result.changes[0].at - start
    assert first == timedelta(hours=27), "in the very minute in which used + reserve leaves room"


def test_what_has_no_effect_is_in_the_notes() -> None:
    nothing = run(
        GP3, steps(("10m", 100)), "none", attachment={"other_load": {"iops": 5_000, "mibps": 100}},
        aws={"modified_at": ["2026-01-05T00:05:00Z", "2026-01-05T00:10:00Z", "2026-01-05T09:00:00Z"]},
    )  # fmt: skip
    assert nothing.notes == (
        "aws.modified_at: 2 instant(s) after the end have no effect.",
        "attachment.other_load has no effect: the instance is never the limit.",
    )
    assert len(nothing.external_changes) == 1
    with_limit = {"instance_type": "m6i.4xlarge", "other_load": {"iops": 5_000, "mibps": 100}}
    assert run(GP3, steps(("10m", 100)), "none", attachment=with_limit).notes == ()


def test_a_closed_loop_is_chased_no_further_than_its_limits_allow() -> None:
    loop = {"closed_loop": {"outstanding": 256, "io_kib": 4, "duration": "26h"}}
    result = run(GP3, loop)
    assert result.violations == ()
    assert len(result.changes) <= 3
    target = result.changes[-1].target if result.changes else None
    assert target is None or (target.iops or 0) <= 16_000


def test_the_same_scenario_gives_the_same_record() -> None:
    def record() -> list[tuple[str, str]]:
        result = run(GP3, steps(("30m", 1_000), ("3h", 5_000)))
        return [(r.hash, r.summary) for r in result.records]

    assert record() == record()


def test_history_is_published_but_not_scored() -> None:
    history = steps(("26h", 4_000), ("12h", 100))
    found = said(run(GP3, steps(("30m", 100)), "none", history=history))
    assert found["simulated_minutes"] == 30
    assert found["starved_minutes"] == 0
    assert found["offered_ops"] == 100 * 1_800


@pytest.mark.parametrize(
    ("resource", "starved", "lowest"),
    [
        (GP3, 20, None),
        ({"type": "gp2", "size_gib": 100}, 20, 0.0),
        ({"type": "gp3", "size_gib": 100, "iops": 4_000}, 0, None),
    ],
)
def test_what_the_history_leaves_goes_on_into_the_scenario(
    resource: dict[str, object], starved: int, lowest: float | None
) -> None:
    """Three hours at 4,000 IOPS leave work for longer than the twenty minutes that are seen."""
    found = said(run(resource, steps(("20m", 500)), "none", history=steps(("3h", 4_000))))
    assert found["starved_minutes"] == starved
    assert found["burst_balance_min"] == lowest


@pytest.mark.parametrize(
    ("said_of_it", "lowest"), [({}, 99.0), ({"burst_balance_percent": 30}, 30.0)]
)
def test_a_balance_that_is_given_is_that_of_the_start(
    said_of_it: dict[str, object], lowest: float
) -> None:
    gp2 = {"type": "gp2", "size_gib": 100, **said_of_it}
    found = said(run(gp2, steps(("20m", 100)), "none", history=steps(("3h", 100))))
    assert lowest <= float(str(found["burst_balance_min"])) <= lowest + 5


def test_credits_go_on_from_the_history_to_the_minute() -> None:
    gp2 = {"type": "gp2", "size_gib": 100}
    whole = said(run(gp2, steps(("40m", 2_000)), "none"))
    parts = said(run(gp2, steps(("20m", 2_000)), "none", history=steps(("20m", 2_000))))
    assert parts["burst_balance_min"] == whole["burst_balance_min"]


def test_progress_is_reported_minute_by_minute() -> None:
    seen: list[datetime] = []
    document = {"resource": GP2, "workload": steps(("10m", 100))}
    scenario = parse_scenario(document, source="case", base=Path())
    simulate(scenario, "none", on_minute=lambda facts: seen.append(facts.start))
    assert seen == [scenario.start + timedelta(minutes=n) for n in range(10)]


def test_a_run_without_a_controller_loads_no_application() -> None:
    code = (
        "import sys; import headroom.proving.simulation.run; "
        "sys.exit(any(m.startswith('headroom.application') for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_ten_days_of_a_trace_at_five_minutes_are_simulated_without_a_violation(
    tmp_path: Path,
) -> None:
    start = datetime(2020, 3, 1, tzinfo=UTC)
    lines = ["timestamp,read_ops,write_ops,read_bytes,write_bytes"]
    for n in range(2_880):
        rate = 4_000 if n % 288 in range(12, 30) else 300
        at = (start + timedelta(minutes=5 * n)).isoformat()
        lines.append(f"{at},{rate * 150},{rate * 150},{rate * 2_457_600},{rate * 2_457_600}")
    (tmp_path / "month.csv").write_text("\n".join(lines), encoding="utf-8")
    document = {"resource": GP2, "workload": {"trace": {"file": "month.csv"}}}
    result = simulate(parse_scenario(document, source="case", base=tmp_path), "headroom")
    assert len(result.minutes) == 10 * 1_440
    assert result.violations == ()
    assert result.changes[0].origin == gp2(400)


def test_noise_on_the_queue_is_the_same_in_every_run_of_a_name() -> None:
    noise, again, other = (queue_noise(name, 0.1) for name in ("pool", "pool", "other"))
    values = [noise(minute) for minute in range(1_000)]
    assert values == [again(minute) for minute in range(1_000)]
    assert values != [other(minute) for minute in range(1_000)]
    assert sum(values) / 1_000 == pytest.approx(0.0, abs=0.01)
    assert sum(value**2 for value in values) / 1_000 == pytest.approx(0.01, rel=0.15)
