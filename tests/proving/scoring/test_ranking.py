"""Totals, Pareto front and targets, from rows made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headroom.proving.scoring import ComparisonRow, summary
from headroom.proving.scoring.ranking import rank_controllers
from headroom.proving.scoring.release_targets import ReleaseTarget, release_targets
from headroom.proving.scoring.rows import ControllerKind, Measures, half_of


def row(
    controller: str, score: float, *, kind: ControllerKind = "published", trace: str = "a", usd: float = 1.0,
    starved: int = 0, preset: str = "balanced", oracle: float = 0.0, **more: Any,
) -> ComparisonRow:  # fmt: skip
    values = {
        "scale": "1", "start": "gp3", "modifications": 1, "aws_refusals": 0,
        "guardrail_violations": 0, "unsavable_minutes": 0, "held": 0, "scale_factor": 1.0,
        "days": 30.0, "trace_days": 30.0, "half": "tuning", "value_usd": 0.1,
        "running_usd": 0.0, "oracle_bound": 0.0, "oracle_exact": True, "measures": Measures(),
    }  # fmt: skip
    return ComparisonRow(
        trace=trace, preset=preset, controller=controller, kind=kind, score=score,
        regret=score - oracle, storage_usd=usd, shortfall_minutes=0.5 * starved,
        starved_minutes=starved, **{**values, **more},
    )  # fmt: skip


def ours(score: float, **more: Any) -> ComparisonRow:
    return row("headroom", score, kind="headroom", **more)


def found(rows: list[ComparisonRow], key: str) -> ReleaseTarget:
    return next(target for target in release_targets(rows) if target.key == key)


def test_controllers_are_ranked_by_total_score_and_references_apart() -> None:
    rows = [
        row("slow", 10), row("slow", 30, trace="b"), row("quick", 25), ours(5),
        row("oracle", 1, kind="reference"), row("best-static", 3, kind="reference"),
    ]  # fmt: skip
    order = [(s.controller, s.rank) for s in rank_controllers(rows)]
    assert order == [("headroom", 1), ("quick", 2), ("slow", 3), ("oracle", 1), ("best-static", 2)]


@pytest.mark.parametrize(
    ("points", "front"),
    [
        ({"a": (0, 10.0), "b": (5, 5.0), "c": (9, 1.0)}, {"a", "b", "c"}),
        ({"a": (0, 10.0), "b": (0, 11.0)}, {"a"}),
        ({"a": (3, 10.0), "b": (4, 10.0)}, {"a"}),
        ({"a": (3, 10.0), "b": (3, 10.0)}, {"a", "b"}),
        ({"a": (3, 10.0), "b": (2, 9.0), "c": (1, 20.0)}, {"b", "c"}),
    ],
)
def test_the_pareto_front_is_what_no_other_beats(
    points: dict[str, tuple[int, float]], front: set[str]
) -> None:
    rows = [row(name, 0, starved=starved, usd=usd) for name, (starved, usd) in points.items()]
    rows.append(row("oracle", 0, kind="reference", starved=0, usd=0.0))
    own = [s for s in rank_controllers(rows) if s.kind != "reference"]
    assert {s.controller for s in own if not s.dominated} == front


def test_short_traces_and_halves_are_summed_apart() -> None:
    rows = [
        ours(1), ours(2, trace="b", trace_days=0.1), ours(4, trace="c", half="unseen"),
    ]  # fmt: skip
    (ranking,) = rank_controllers(rows)
    sums = {name: total.score for name, total in ranking.totals.items()}
    assert sums == {"all": 7, "tuning": 3, "unseen": 4, "long": 5, "short": 2}


@pytest.mark.parametrize(
    ("name", "half"),
    [
        ("a.csv", "tuning"),
        ("b.csv", "tuning"),
        ("c.csv", "tuning"),
        ("d.csv", "unseen"),
        ("e.csv", "unseen"),
    ],
)
def test_the_half_of_a_trace_is_the_parity_of_its_file_names_hash(name: str, half: str) -> None:
    assert half_of(name) == half


@pytest.mark.parametrize(
    ("preset", "limit"), [("performance", 0.10), ("balanced", 0.20), ("thrift", 0.60)]
)
def test_regret_is_held_against_the_best_published_rule_in_hindsight(
    preset: str, limit: float
) -> None:
    rows = [
        row("x", 10, preset=preset), row("x", 90, preset=preset, trace="b"),
        row("y", 60, preset=preset), row("y", 20, preset=preset, trace="b"),
        ours(80 * limit, preset=preset), ours(0, preset=preset, trace="b"),
    ]  # fmt: skip
    target = found(rows, "regret_ratio")
    assert (target.limit, target.figure, target.met) == (limit, limit, True)
    assert "of y" in target.detail
    worse = [*rows[:-1], ours(0.5, preset=preset, trace="b")]
    assert found(worse, "regret_ratio").met is False


@pytest.mark.parametrize(
    ("preset", "static", "oracle"),
    [("performance", 1.15, 1.80), ("balanced", 0.98, 1.45), ("thrift", 0.98, 1.25)],
)
def test_the_score_is_held_against_best_static_and_the_oracle(
    preset: str, static: float, oracle: float
) -> None:
    def rows(score: float) -> list[ComparisonRow]:
        return [
            ours(score, preset=preset), row("x", 1, preset=preset),
            row("best-static", 20, kind="reference", preset=preset),
            row("oracle", 10, kind="reference", preset=preset, oracle_bound=9.0),
        ]  # fmt: skip

    target = found(rows(20 * static - 1e-9), "score_ratio")
    assert (target.figure, target.met) == (static, True)
    assert found(rows(20 * static + 0.01), "score_ratio").met is False
    target = found(rows(10 * oracle - 1e-9), "oracle_ratio")
    assert (target.figure, target.met) == (oracle, True)
    assert "bound $9.00" in target.detail
    assert found(rows(10 * oracle + 0.01), "oracle_ratio").met is False


def test_to_be_worst_by_less_than_a_cent_is_not_to_be_worst() -> None:
    rows = [
        row("x", 5), ours(5.001), row("x", 5, trace="b"), ours(6, trace="b"),
        row("x", 1, trace="c"), row("none", 9, kind="none", trace="c"), ours(8, trace="c"),
        row("static-peak", 99, kind="reference", trace="b"),
    ]  # fmt: skip
    target = found(rows, "worst_on")
    assert target.figure == 1
    assert target.detail.startswith("b ($1.00")


@pytest.mark.parametrize(
    ("score", "value", "ok"),
    [
        (10.0 + 1.5, 0.1, True),
        (10.0 + 1.51, 0.1, False),
        (10.0 + 0.30, 0.01, True),
        (10.0 + 0.31, 0.01, False),
        (10.0 + 15.0, 1.0, True),
    ],
)
def test_a_run_may_cost_one_reaction_more_than_the_better_of_two(
    score: float, value: float, ok: bool
) -> None:
    rows = [
        row("none", 50, kind="none"), row("static-peak", 10, kind="reference"),
        ours(score - 1e-9, value_usd=value),
    ]  # fmt: skip
    assert found(rows, "tolerable_share").figure == (1.0 if ok else 0.0)
    rows = [row("none", 10, kind="none"), ours(score - 1e-9, value_usd=value)]
    target = found(rows, "worse_than_none")
    assert (target.figure, target.met) == (0.0 if ok else 1.0, ok)


def measured(key: str, *measures: dict[str, int]) -> float | None:
    rows = [ours(1, trace=str(i), measures=Measures(**m)) for i, m in enumerate(measures)]
    return found(rows, key).figure


def test_measures_are_summed_over_the_runs() -> None:
    days = ({"calm_days": 30, "disturbed_days": 1}, {"calm_days": 20})
    assert measured("left_alone_share", *days) == 0.98
    runs = ({"foreseeable": 3, "foreseen": 3}, {"foreseeable": 1})
    assert measured("foreseen_share", *runs) == 0.75
    raised = ({"price_raising": 3, "episodes": 1}, {"price_raising": 0, "episodes": 1})
    assert measured("raises_per_episode", *raised) == 1.5
    assert measured("runs_out_of_slots", {"slotless_minutes": 7}, {}) == 1
    assert measured("invalid_plans", {"invalid_plans": 2}, {}) == 2


def test_what_cannot_be_measured_is_neither_met_nor_missed() -> None:
    assert found([ours(1)], "foreseen_share").met is None
    assert found([row("x", 1)], "regret_ratio").met is None
    assert found([ours(1)], "regret_ratio").met is None


def test_halves_are_measured_beside_the_whole() -> None:
    rows = [
        row("x", 10), ours(5), row("x", 10, trace="b", half="unseen"),
        ours(20, trace="b", half="unseen"),
    ]  # fmt: skip
    target = found(rows, "regret_ratio")
    assert (target.figure, target.tuning, target.unseen) == (1.25, 0.5, 2.0)


def test_the_summary_holds_every_preset() -> None:
    rows = [ours(1), replace(ours(2), preset="thrift"), row("x", 3)]
    said: Any = summary(rows)
    assert list(said["presets"]) == ["balanced", "thrift"]
    assert said["halves"]["tuning"] == ["a"]
    assert said["presets"]["balanced"]["ranking"] == ["headroom", "x"]


def test_the_summary_counts_runs_and_lists_traces_with_their_scales() -> None:
    rows = [
        each
        for scale, factor in (("1", 1.0), ("auto", 3.14159))
        for each in (
            ours(1, scale=scale, scale_factor=factor, trace_days=0.5),
            row("x", 2, scale=scale, scale_factor=factor, trace_days=0.5),
        )
    ]
    said: Any = summary(rows)
    assert (said["runs"], said["cases"]) == (4, 2)
    assert said["traces"] == [
        {"trace": "a", "half": "tuning", "days": 0.5, "short": True,
         "scales": {"1": 1.0, "auto": 3.142}},
    ]  # fmt: skip


def test_the_summary_has_the_oracles_bound() -> None:
    rows = [
        ours(9), row("oracle", 5, kind="reference", oracle_bound=5.0),
        row("oracle", 7, kind="reference", trace="b", oracle_bound=6.5, oracle_exact=False),
    ]  # fmt: skip
    said: Any = summary(rows)
    oracle = said["presets"]["balanced"]["oracle"]
    assert oracle == {"score": 12.0, "bound": 11.5, "proven_optimal": 1, "runs": 2}


def test_scores_are_summed_by_trace_over_all_starts() -> None:
    rows = [
        ours(1), ours(2, start="io1"), ours(4, scale="auto"), ours(8, trace="b"), row("x", 16),
    ]  # fmt: skip
    said: Any = summary(rows)
    assert [(e["trace"], e["scale"], e["scores"]) for e in said["presets"]["balanced"]["by_trace"]] == [
        ("a", "1", {"headroom": 3.0, "x": 16.0}),
        ("a", "auto", {"headroom": 4.0}),
        ("b", "1", {"headroom": 8.0}),
    ]  # fmt: skip


def test_unsavable_minutes_are_summed_apart_from_those_that_score() -> None:
    rows = [ours(1, starved=3, unsavable_minutes=7), ours(1, trace="b", unsavable_minutes=2)]
    (ranking,) = rank_controllers(rows)
    found = ranking.totals["all"]
    assert (found.starved_minutes, found.unsavable_minutes) == (3, 9)


def test_a_cheaper_type_that_serves_more_leaves_a_day_alone() -> None:
    own = ours(1, measures=Measures(calm_days=10, disturbed_days=0, sped_up_days=1))
    target = found([own], "left_alone_share")
    assert (target.figure, target.met) == (1.0, True)
    assert "90.0% if a cheaper type" in target.detail


def test_used_slots_are_reported_even_without_starvation() -> None:
    rows = [ours(1, measures=Measures(most_in_24h=n)) for n in (3, 3, 1)]
    target = found(rows, "runs_out_of_slots")
    assert (target.figure, target.met) == (0.0, True)
    assert target.detail == "at most 3 modifications in 24 h, in 2 of 3 runs"
