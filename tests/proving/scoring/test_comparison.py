"""The rows of a comparison: everybody on the same ground, the oracle below all, on every core."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from headroom.proving.inputs import BadInput
from headroom.proving.scoring import (
    CONTROLLERS,
    ComparisonRow,
    Job,
    compare,
    comparison_jobs,
    conditions_json,
    load_series_in,
    sample_load_series_list,
)
from headroom.proving.scoring.comparison import run_controller
from headroom.proving.scoring.reuse import joined
from headroom.proving.workloads import SAMPLES, LoadSeries, sample_load_series
from tests.proving.series import load_series_of

HOUR = 12


def bursty() -> LoadSeries:
    """Ten hours with one of them at twice what gp3 includes."""
    load = [200.0] * 4 * HOUR + [6_000.0] * HOUR + [200.0] * 5 * HOUR
    return replace(load_series_of(load, step_s=300), trace_days=10 / 24)


def job(load_series: LoadSeries, **more: tuple[str, ...]) -> Job:
    parts = {"scales": ("1",), "starts": ("gp3",), "presets": ("balanced",), **more}
    return Job(load_series=load_series, file_name=f"{load_series.name}.csv", **parts)


@pytest.fixture(scope="module")
def rows() -> list[ComparisonRow]:
    return run_controller(job(bursty(), scales=("1", "auto"), presets=("balanced", "thrift")))


def test_every_controller_has_a_row_in_every_case(rows: list[ComparisonRow]) -> None:
    cases = {row.case for row in rows}
    assert {case[1:] for case in cases} == {
        (scale, "gp3", preset) for scale in ("1", "auto") for preset in ("balanced", "thrift")
    }
    for case in cases:
        assert [row.controller for row in rows if row.case == case] == list(CONTROLLERS)


def test_a_score_is_dollars_plus_the_value_of_the_shortfall(rows: list[ComparisonRow]) -> None:
    assert {row.value_usd for row in rows} == {0.1, 0.01}
    for row in rows:
        worth = row.value_usd * row.shortfall_minutes
        assert row.score == pytest.approx(row.storage_usd + worth + row.running_usd)
        own = row.controller == "headroom"
        assert row.running_usd == pytest.approx(0.30 * 10 / 730 if own else 0.0)


def test_running_headroom_costs_more_while_the_volume_has_credits() -> None:
    """gp2 publishes its balance too, until it is changed to gp3 within the first hours."""
    found = run_controller(job(bursty(), starts=("gp2",)))
    [own] = [row for row in found if row.controller == "headroom"]
    assert own.modifications
    assert 0.30 * 10 / 730 < own.running_usd < 0.43 * 10 / 730


def test_no_controller_within_the_limits_beats_the_oracle_nor_the_oracle_its_bound(
    rows: list[ComparisonRow],
) -> None:
    for row in rows:
        oracle = next(r for r in rows if r.case == row.case and r.controller == "oracle")
        assert row.regret == pytest.approx(row.score - oracle.score)
        assert row.guardrail_violations or row.regret >= -1e-6
        assert oracle.oracle_bound <= oracle.score + 1e-6


def test_none_pays_for_what_it_has_and_starves(rows: list[ComparisonRow]) -> None:
    none = next(row for row in rows if row.controller == "none")
    assert none.storage_usd == pytest.approx(32 * 10 / 730)
    assert none.starved_minutes >= 60
    assert 30 < none.shortfall_minutes <= none.starved_minutes
    assert (none.modifications, none.held, none.unsavable_minutes) == (0, 0, 0)


def test_headroom_keeps_the_limits_and_starves_less_than_none(rows: list[ComparisonRow]) -> None:
    by_name = {row.controller: row for row in rows if row.preset == "balanced"}
    own = by_name["headroom"]
    assert (own.guardrail_violations, own.measures.invalid_plans) == (0, 0)
    assert own.starved_minutes < by_name["none"].starved_minutes
    assert own.shortfall_minutes < by_name["none"].shortfall_minutes


def test_reused_rows_say_the_same_as_made_ones(rows: list[ComparisonRow]) -> None:
    earlier = {
        case: tuple(r for r in rows if r.case == case and r.controller != "headroom")
        for case in {row.case for row in rows}
    }
    load_series = bursty()
    again = run_controller(
        replace(job(load_series, scales=("1",), presets=("balanced", "thrift")), earlier=earlier)
    )
    made = [row for row in rows if row.scale == "1"]
    assert sorted(map(repr, again)) == sorted(map(repr, made))


def test_rows_of_another_scale_are_not_reused(rows: list[ComparisonRow]) -> None:
    earlier = {rows[0].case: tuple(r for r in rows if r.case == rows[0].case)}
    load_series = bursty().scaled(0.01)
    again = run_controller(replace(job(load_series), earlier=earlier))
    assert len(again) == len(CONTROLLERS)
    assert next(r for r in again if r.controller == "none").starved_minutes == 0


def test_who_beats_an_earlier_oracle_becomes_the_oracle(rows: list[ComparisonRow]) -> None:
    case = [row for row in rows if row.case == rows[0].case]
    others = [row for row in case if row.controller != "headroom"]
    better = replace(next(r for r in case if r.controller == "headroom"), score=0.01)
    found = {row.controller: row for row in joined(others, better)}
    assert found["headroom"].regret == pytest.approx(better.running_usd)
    assert found["oracle"].score == pytest.approx(0.01 - better.running_usd)
    assert found["none"].regret == pytest.approx(found["none"].score - found["oracle"].score)


def test_two_processes_find_what_one_finds() -> None:
    quiet = [replace(load_series_of([50.0] * 2 * HOUR, step_s=300), name=name) for name in "ab"]
    work = comparison_jobs(
        [(f"{c.name}.csv", c) for c in quiet], scales=("1",), starts=("gp3",), workers=2
    )
    done: list[str] = []
    both = compare(work, workers=2, on_done=lambda job: done.append(job.load_series.name))
    assert sorted(done) == ["a", "b"]
    assert list(map(repr, both)) == list(map(repr, compare(work, workers=1)))


def test_a_load_that_auto_does_not_scale_is_run_once_for_both_scales() -> None:
    busy = load_series_of([60_000.0] * HOUR, step_s=300)
    (one,) = comparison_jobs([("a.csv", busy)], starts=("gp3",))
    assert one.scales == ("1", "auto")
    quiet = comparison_jobs([("a.csv", load_series_of([10.0] * HOUR, step_s=300))], starts=("gp3",))
    assert sorted(job.scales for job in quiet) == [("1",), ("auto",)]


def test_few_load_series_are_split_by_start_and_the_longest_begins() -> None:
    short, long = (
        load_series_of([10.0] * HOUR, step_s=300),
        load_series_of([10.0] * 2 * HOUR, step_s=300),
    )
    work = comparison_jobs([("s.csv", short), ("l.csv", long)], scales=("1",), workers=2)
    assert [job.starts for job in work] == [("gp2",), ("gp3",), ("io1",)] * 2
    assert [job.load_series.minutes for job in work] == [120] * 3 + [60] * 3


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "is no directory"),
        ({}, "holds no trace"),
        ({"notes.txt": "x"}, "holds no trace"),
        ({"a.csv": "what,ever\n1,2\n"}, "a.csv line 1 must be the header"),
        ({"a.csv": "", "a.CSV": ""}, "holds two traces named a;"),
    ],
)
def test_a_directory_without_good_traces_is_refused_in_a_sentence(
    tmp_path: Path, content: dict[str, str] | None, words: str
) -> None:
    place = tmp_path / "traces"
    if content is not None:
        place.mkdir()
        for name, text in content.items():
            (place / name).write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=words):
        load_series_in(place)


def test_made_up_loads_are_the_same_every_time() -> None:
    for name in SAMPLES:
        assert np.array_equal(sample_load_series(name).ops, sample_load_series(name).ops)
    assert [file_name for file_name, _ in sample_load_series_list()] == [
        f"{n}.csv" for n in SAMPLES
    ]
    with pytest.raises(KeyError):
        sample_load_series("sample-of-nothing")


def test_the_conditions_name_what_every_run_had() -> None:
    said = conditions_json(comparison_jobs([("a.csv", bursty())], presets=("thrift",)))
    assert said["presets_usd_per_shortfall_minute"] == {"thrift": 0.01}
    assert said["starts"] == {
        "gp2": "gp2 400 GiB", "gp3": "gp3 400 GiB 3000 IOPS 125 MiB/s",
        "io1": "io1 400 GiB 16000 IOPS",
    }  # fmt: skip
    policy = said["policy"]
    assert isinstance(policy, dict)
    assert policy["modifications_per_24h"] == 3
