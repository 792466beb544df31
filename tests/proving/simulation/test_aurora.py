"""`kind: aurora`: case C, the gate, and what is no cluster."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.guardrails import Guardrail
from headroom.proving.inputs import BadInput, load_yaml
from headroom.proving.scenarios import aurora as aurora_scenario
from headroom.proving.scenarios import is_aurora, load_aurora_scenario
from headroom.proving.scenarios.aurora import parse_aurora
from headroom.proving.simulation import AuroraResult, simulate_aurora
from tests.proving.scenarios.test_bad_input_fuzz import NEST, one_sentence

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "aurora-scenarios.md").read_text(encoding="utf-8")
START = datetime(2026, 1, 5, tzinfo=UTC)


def document(limits: dict[str, Any] | None = None, **resource: object) -> dict[str, Any]:
    base: dict[str, object] = {
        "kind": "aurora", "members": [{"class": "db.r7g.xlarge", "count": 2}],
        "storage_gib": 100, "io_millions_per_month": 2_740,
    }  # fmt: skip
    return {
        "start": "2026-01-05T00:00:00Z",
        "days": 40,
        "resource": {k: v for k, v in (base | resource).items() if v is not None},
        "limits": limits or {},
    }


def simulated(made: dict[str, Any], controller: str = "headroom") -> AuroraResult:
    return simulate_aurora(parse_aurora(made, source="case.yaml", base=Path()), controller)


def trace(folder: Path, millions_a_day: Sequence[float | None]) -> dict[str, Any]:
    """A trace of one row an hour; a day of None was not measured."""
    rows = ["timestamp,read_ops,write_ops,read_bytes,write_bytes"]
    for hour in range(24 * len(millions_a_day)):
        at = START + timedelta(hours=hour)
        day = millions_a_day[hour // 24]
        ops = "" if day is None else str(day * 1e6 / 48)
        size = "" if day is None else "1000000"
        rows.append(f"{at.isoformat()},{ops},{ops},{size},{size}")
    (folder / "io.csv").write_text("\n".join(rows), encoding="utf-8")
    return {"trace": {"file": str(folder / "io.csv")}, "io_millions_per_month": None}


@pytest.mark.parametrize(
    ("millions", "share", "ends"),
    [(720, 15.0, "aurora"), (1_200, 22.7, "aurora"), (2_740, 40.1, "aurora-iopt1")],
)
def test_case_c_io_optimized_from_about_a_quarter_of_the_bill_and_a_margin(
    millions: float, share: float, ends: str
) -> None:
    said = simulated(document(io_millions_per_month=millions)).to_json()
    assert said["io_share_percent"] == pytest.approx(share, abs=0.05)
    assert said["storage_type_end"] == ends
    assert said["break_even_io_millions_per_month"] == pytest.approx(1_274.3)


def test_the_result_states_the_bill_in_both_modes() -> None:
    said = simulated(document()).to_json()
    assert said["usd_per_month"] == {
        "standard": {"instances": 807.38, "serverless": 0.0, "storage": 10.0, "io": 548.0,
                     "total": 1365.38},
        "io_optimized": {"instances": 1049.74, "serverless": 0.0, "storage": 22.5, "io": 0.0,
                         "total": 1072.24},
    }  # fmt: skip
    assert said["paid_usd"] == said["paid_in_io_optimized_usd"]


def test_the_controller_none_pays_for_standard() -> None:
    said = simulated(document(), "none").to_json()
    assert said["paid_usd"] == said["paid_in_standard_usd"]
    assert said["modifications"] == []


def test_within_the_thirty_days_nothing_is_requested_of_aws_until_they_are_over() -> None:
    result = simulated(document(next_allowed_at="2026-01-20T00:00:00Z"))
    (change,) = result.changes
    assert change.at == datetime(2026, 1, 20, 1, tzinfo=UTC)
    assert result.refusals == 0


def test_it_returns_to_standard_after_a_lasting_drop_of_io_once_io_optimized_is_allowed_again(
    tmp_path: Path,
) -> None:
    days = [90.0] * 20 + [5.0] * 50
    made = document(**trace(tmp_path, days)) | {"days": 70}
    result = simulated(made)
    there, back = result.changes
    assert there.at == START + timedelta(days=14, hours=1)
    assert (back.origin.value, back.target.value) == ("aurora-iopt1", "aurora")
    assert back.at >= there.at + timedelta(days=30)
    assert result.refusals == 0
    assert result.end_mode.value == "aurora"


def test_where_nothing_is_published_under_io_optimized_it_stays_and_says_so(tmp_path: Path) -> None:
    days = [90.0] * 20 + [5.0] * 50
    made = document(**trace(tmp_path, days)) | {"days": 70}
    made["aws"] = {"io_published_when_optimized": False}
    result = simulated(made)
    assert len(result.changes) == 1
    assert result.news[-1].answer.reason.value == "no_billed_io"
    assert "nothing is published" in result.news[-1].summary


def test_a_load_that_comes_and_goes_by_the_week_does_not_flap(tmp_path: Path) -> None:
    days = [90.0 if day // 7 % 2 else 20.0 for day in range(70)]
    made = document(**trace(tmp_path, days)) | {"days": 70}
    assert len(simulated(made).changes) <= 1


def month_ends(quiet: float, busy: float, last_days: int) -> list[float]:
    """160 days from START with other I/O, in millions a day, on the last days of each month."""
    days = (START + timedelta(days=day) for day in range(160))
    return [busy if (day + timedelta(days=last_days)).month != day.month else quiet for day in days]


def test_a_busy_end_of_every_month_is_no_reason_to_switch_where_staying_costs_less() -> None:
    scenario = load_aurora_scenario(DOCS / "scenarios" / "aurora-month-end.yaml")
    result = simulate_aurora(scenario)
    assert len(result.decisions) == 160
    assert result.changes == ()
    assert result.paid_usd == result.paid_in_standard_usd < result.paid_in_optimized_usd
    verdicts = {v.guardrail for d in result.decisions for j in d.judgements for v in j.blocking}
    assert Guardrail.RHYTHM in verdicts  # every other guardrail allows it after a month end


@pytest.mark.parametrize(
    ("quiet", "busy", "last_days", "most_percent", "changes"),
    [
        (10, 200, 5, 0.0, 0),
        (10, 230, 3, 0.0, 0),
        # I/O-Optimized costs less over whole months: one change after the first month ends.
        (20, 200, 5, 2.5, 1),
        (5, 230, 10, 2.5, 1),
    ],
)
def test_without_an_earlier_past_month_ends_cost_little_more_than_the_better_mode_throughout(
    tmp_path: Path, quiet: float, busy: float, last_days: int, most_percent: float, changes: int
) -> None:
    days = month_ends(quiet, busy, last_days)
    result = simulated(document(**trace(tmp_path, days)) | {"days": len(days)})
    assert len(result.changes) == changes
    best = min(result.paid_in_standard_usd, result.paid_in_optimized_usd)
    assert float(result.paid_usd / best) <= 1 + most_percent / 100


def test_one_or_two_busy_days_of_every_month_are_not_unusual(tmp_path: Path) -> None:
    """Nor are they a reason where staying costs less."""
    for busy, last_days, changes in ((1_400, 1, 1), (700, 2, 1), (300, 2, 0)):
        days = month_ends(1, busy, last_days)
        made = document(**trace(tmp_path, days), members=[{"class": "db.r6g.large", "count": 2}])
        result = simulated(made | {"days": len(days)})
        assert len(result.changes) == changes, (busy, last_days)
        if changes:
            assert result.paid_usd < result.paid_in_standard_usd


@pytest.mark.parametrize("import_days", [6, 8, 10])
def test_the_import_into_a_new_cluster_is_no_load_to_come(tmp_path: Path, import_days: int) -> None:
    """Of fourteen days most are of an import that is over."""
    days = [150.0] * import_days + [10.0] * (60 - import_days)
    made = document(**trace(tmp_path, days), members=[{"class": "db.r7g.xlarge", "count": 3}])
    assert simulated(made | {"days": 60}).changes == ()


def test_a_last_month_of_each_quarter_moves_a_cluster_once_at_most(tmp_path: Path) -> None:
    days = [120.0 if (START + timedelta(days=day)).month % 3 == 0 else 5.0 for day in range(240)]
    result = simulated(document(**trace(tmp_path, days)) | {"days": len(days)})
    assert len(result.changes) <= 1


@pytest.mark.parametrize(("busy", "most_days"), [(600, 36), (450, 45), (420, 45)])
def test_one_busy_day_of_every_week_is_not_unusual(
    tmp_path: Path, busy: float, most_days: int
) -> None:
    """Fourteen days have two of them, which a migration of two days would look like."""
    days = [busy if day % 7 == 6 else 12.0 for day in range(120)]
    (change,) = simulated(document(**trace(tmp_path, days)) | {"days": len(days)}).changes
    assert START + timedelta(days=28) <= change.at <= START + timedelta(days=most_days)


@pytest.mark.parametrize("before", [12.0, 90.0], ids=["never much", "much until weeks before"])
def test_two_unusual_days_in_three_months_are_no_reason_to_switch(
    tmp_path: Path, before: float
) -> None:
    """Whether or not a load that ended before them would have paid for it: I/O-Optimized was not to be had then."""
    days = [before] * 40 + [2_000.0 if day in (50, 51) else 12.0 for day in range(90)]
    gate = START + timedelta(days=58)
    made = document(**trace(tmp_path, days), next_allowed_at=f"{gate:%Y-%m-%dT%H:%M:%SZ}")
    assert simulated(made | {"days": len(days)}).changes == ()


def test_a_lasting_change_of_the_load_is_followed_once(tmp_path: Path) -> None:
    for days, origin, latest in (
        ([20.0] * 60 + [90.0] * 100, "aurora", 60 + 28),
        ([90.0] * 60 + [5.0] * 40, "aurora-iopt1", 60 + 14),
    ):
        made = document(**trace(tmp_path, days), storage_type=origin) | {"days": len(days)}
        (change,) = simulated(made).changes
        assert START + timedelta(days=60) < change.at <= START + timedelta(days=latest)


def test_unmeasured_days_delay_a_change(tmp_path: Path) -> None:
    days: list[float | None] = [90.0] * 30
    days[5] = days[6] = days[9] = None
    made = document(**trace(tmp_path, days)) | {"days": 30}
    result = simulated(made)
    assert result.changes[0].at == START + timedelta(days=22, hours=1)
    assert result.unknown_periods == 3 * 288


def test_for_speed_a_cluster_with_slow_commits_goes_within_its_price() -> None:
    slow = {"io_millions_per_month": 720, "commit_latency_ms": 25}
    limits = {"goal": "performance", "commit_latency_ms": 10}
    allowed = simulated(document(limits | {"price_increase_usd_per_month": 120}, **slow))
    assert [c.reason for c in allowed.changes] == ["slow_commits"]
    refused = simulated(document(limits | {"price_increase_usd_per_month": 100}, **slow))
    assert refused.changes == ()
    assert simulated(document(limits, **(slow | {"commit_latency_ms": 5}))).changes == ()


def test_what_only_the_owner_can_change_is_escalated_once_as_in_the_deployed_functions() -> None:
    said = simulated(document(engine_version="13.9")).to_json()
    assert said["decisions"] == {"act": 0, "hold": 39, "escalate": 1}
    assert said["modifications"] == []


@settings(max_examples=6, deadline=None)
@given(
    millions=st.floats(0, 6_000),
    mode=st.sampled_from(["aurora", "aurora-iopt1"]),
    count=st.integers(1, 4),
    reserved=st.integers(0, 3),
)
def test_a_steady_load_is_changed_for_at_most_once_and_never_for_the_worse(
    millions: float, mode: str, count: int, reserved: int
) -> None:
    made = document(
        io_millions_per_month=millions, storage_type=mode,
        members=[{"class": "db.r6g.large", "count": count}],
        reserved=[{"class": "db.r6g.xlarge", "count": reserved}],
    )  # fmt: skip
    result = simulated(made | {"days": 33})
    assert len(result.changes) <= 1
    assert result.refusals == 0
    stayed = result.paid_in_standard_usd if mode == "aurora" else result.paid_in_optimized_usd
    assert result.paid_usd <= stayed


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        ({"members": None}, "resource.members is empty; give at least one"),
        ({"members": [{"class": "db.r7g.xlarge", "count": 0}]}, "resource.members is empty"),
        ({"members": [{"class": "r7g.xlarge"}]}, "members[1].class is 'r7g.xlarge'; it must be"),
        ({"members": [{"class": "db.r7g.huge"}]}, "an unknown size"),
        ({"members": [{"class": "db.r5.24xlarge"}]}, "known are db.r6g.large, db.r7g.xlarge"),
        ({"members": [{"klass": "db.r7g.xlarge"}]}, "members[1].klass is not a known key"),
        ({"members": [{"class": "db.serverless"}]}, "resource.acus is missing"),
        ({"acus": 4}, "resource.acus is given, but no member is db.serverless"),
        ({"reserved": [{"class": "db.serverless"}]}, "which cannot be reserved"),
        ({"storage_gib": None}, "resource.storage_gib is missing"),
        ({"storage_gib": -1}, "must be from 0 to"),
        ({"io_millions_per_month": None}, "exactly one of io_millions_per_month and trace"),
        ({"month_end": {"days": 5}}, "month_end.io_millions_per_day is missing"),
        ({"month_end": {"days": 31, "io_millions_per_day": 1}}, "must be from 1 to 27"),
        ({"trace": {"file": "io.csv"}}, "exactly one of io_millions_per_month and trace"),
        ({"trace": {"file": "none.csv"}, "io_millions_per_month": None}, "cannot be used"),
        ({"engine": "mysql"}, "resource.engine is 'mysql'; it must be one of aurora-postgresql"),
        ({"storage_type": "gp3"}, "must be one of aurora, aurora-iopt1"),
        ({"next_allowed_at": "soon"}, "must be an instant"),
        ({"parallel_query": "on"}, "must be true or false"),
    ],
)
def test_an_invalid_cluster_is_refused_in_one_sentence(
    change: dict[str, Any], fragment: str
) -> None:
    with pytest.raises(BadInput) as raised:
        parse_aurora(document(**change), source="case.yaml", base=Path("/nonexistent"))
    assert fragment in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        ({"days": 0}, "days is 0; it must be from 1 to 400"),
        ({"aws": {"region": "mars-1"}}, "no Aurora prices for Region mars-1"),
        ({"limits": {"goal": "fame"}}, "limits.goal is 'fame'"),
        ({"workload": {}}, "workload is not a known key"),
    ],
)
def test_an_invalid_scenario_is_refused_in_one_sentence(
    change: dict[str, Any], fragment: str
) -> None:
    with pytest.raises(BadInput) as raised:
        parse_aurora(document() | change, source="case.yaml", base=Path())
    assert fragment in str(raised.value)


KEYS = (
    *aurora_scenario.TOP, *aurora_scenario.CLUSTER, *aurora_scenario.MEMBER,
    *aurora_scenario.MONTH_END, *aurora_scenario.TRACE, *aurora_scenario.AWS, *aurora_scenario.LIMITS,
)  # fmt: skip


@pytest.mark.parametrize("key", sorted(set(KEYS)))
def test_every_key_of_the_format_is_documented(key: str) -> None:
    assert re.search(rf"\b{key}\b", PAGE)


def test_every_key_of_the_result_is_documented_and_the_example_is_read(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    file = tmp_path / "example.yaml"
    file.write_text(example, encoding="utf-8")
    made = load_yaml(file)
    assert is_aurora(made)
    assert isinstance(made, dict)
    made["resource"]["reserved"] = []
    for key in simulated(made | {"days": 1}).to_json():
        assert f"`{key}`" in PAGE


@settings(max_examples=150, deadline=None)
@given(
    key=st.sampled_from((*aurora_scenario.CLUSTER, *aurora_scenario.TOP)),
    value=NEST,
    where=st.sampled_from(["", "resource", "aws", "limits"]),
)
def test_one_wrong_value_anywhere_is_one_sentence(key: str, value: object, where: str) -> None:
    made: dict[str, Any] = document() | {"days": 1}
    if where:
        made[where] = {**made.get(where, {}), key: value}
    else:
        made[key] = value
    try:
        parse_aurora(made, source="case.yaml", base=Path("/nonexistent"))
    except BadInput as error:
        one_sentence(error)
