"""docs/decision-quality.md says what its stored figures say, and speaks of whatever they miss."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatch
from typing import Any

from headroom.cli.comparison import markdown as compared_markdown
from headroom.proving.scoring import CONTROLLERS
from headroom.proving.scoring.release_targets import ORACLE_RATIO, REGRET_RATIO, SCORE_RATIO
from headroom.proving.scoring.rows import (
    RUNNING_USD_PER_MONTH,
    RUNNING_WITHOUT_CREDITS,
    half_of,
)
from tests import ROOT

DOCS = ROOT / "docs"
FIGURES = DOCS / "figures" / "decision-quality.json"
MOST_BYTES = 200_000


def figures() -> Any:
    return json.loads(FIGURES.read_text(encoding="utf-8"))


def notes() -> str:
    return (DOCS / "decision-quality-notes.md").read_text(encoding="utf-8")


def test_the_page_is_what_the_stored_figures_and_the_notes_make() -> None:
    written = (DOCS / "decision-quality.md").read_text(encoding="utf-8")
    assert written == compared_markdown.render(figures(), notes()), (
        "run `make quality`, or `python -m tools.quality` after changing the notes alone"
    )


def test_the_notes_speak_of_every_target_that_is_missed() -> None:
    for preset in figures()["summary"]["presets"].values():
        for target in preset["targets"]:
            if target["met"] is False:
                assert f"`{target['key']}`" in notes(), f"why is {target['key']} missed?"


def test_the_notes_name_the_public_source_of_every_trace() -> None:
    patterns = re.findall(r"^\| `([a-z0-9_*-]+)` \|", notes(), re.M)
    for trace in figures()["summary"]["traces"]:
        assert any(fnmatch(trace["trace"], pattern) for pattern in patterns), trace["trace"]


def test_the_figures_are_of_a_whole_comparison_of_recorded_loads() -> None:
    measured = figures()
    summary, traces = measured["summary"], measured["summary"]["traces"]
    assert measured["made_up"] is False
    assert measured["conditions"]["scales"] == ["1", "auto"]
    assert summary["cases"] == len(traces) * 2 * len(measured["conditions"]["starts"])
    for preset in summary["presets"].values():
        assert {each["controller"] for each in preset["controllers"]} == set(CONTROLLERS)
        for each in preset["controllers"]:
            assert each["totals"]["all"]["runs"] == summary["cases"]
    assert summary["runs"] == summary["cases"] * len(CONTROLLERS) * len(summary["presets"])


def test_sums_of_halves_and_of_long_and_short_traces_are_the_whole() -> None:
    for preset in figures()["summary"]["presets"].values():
        for each in preset["controllers"]:
            totals = each["totals"]
            for one, other in (("tuning", "unseen"), ("long", "short")):
                for name in ("runs", "starved_minutes", "modifications"):
                    assert totals[one][name] + totals[other][name] == totals["all"][name]
                parts = totals[one]["score"] + totals[other]["score"]
                assert abs(parts - totals["all"]["score"]) < 0.001


def test_ratios_follow_from_the_totals_beside_them() -> None:
    for name, preset in figures()["summary"]["presets"].items():
        totals = {c["controller"]: c["totals"]["all"] for c in preset["controllers"]}
        published = [c["controller"] for c in preset["controllers"] if c["kind"] == "published"]
        targets = {target["key"]: target for target in preset["targets"]}
        best = min(totals[each]["regret"] for each in published)
        regret, score = targets["regret_ratio"], targets["score_ratio"]
        assert abs(regret["figure"] - totals["headroom"]["regret"] / best) < 1e-3
        best_static = totals["best-static"]["score"]
        assert abs(score["figure"] - totals["headroom"]["score"] / best_static) < 1e-3
        assert (regret["limit"], score["limit"]) == (REGRET_RATIO[name], SCORE_RATIO[name])
        oracle = targets["oracle_ratio"]
        assert (
            abs(oracle["figure"] - totals["headroom"]["score"] / totals["oracle"]["score"]) < 1e-3
        )
        assert oracle["limit"] == ORACLE_RATIO[name]
        assert regret["met"] is (regret["figure"] <= regret["limit"])
        assert preset["oracle"]["bound"] <= totals["oracle"]["score"] + 0.001


def test_halves_follow_from_the_names_of_the_files() -> None:
    summary = figures()["summary"]
    for trace in summary["traces"]:
        assert trace["half"] == half_of(f"{trace['trace']}.csv")
        assert trace["trace"] in summary["halves"][trace["half"]]


def test_the_running_cost_in_the_score_is_that_of_the_deployment_page() -> None:
    page = (DOCS / "operate" / "deployment.md").read_text(encoding="utf-8")
    (detection,) = re.findall(r"^\| `fleet` \|.*\| \$([0-9.]+) \|[^|]*\|$", page, re.M)
    (daily,) = re.findall(r"Daily reconciliation:\*\* \$[0-9.]+-\$([0-9.]+) per 1,000", page)
    (alarms,) = re.findall(r"a fleet of only gp3 pays \$([0-9]+[.][0-9]+)", page)
    (scans,) = re.findall(r"gp3 and io2 have three of the four metrics \(\$([0-9.]+)\)", page)
    assert round((float(detection) + float(daily)) / 1_000, 2) == RUNNING_USD_PER_MONTH
    without = float(alarms) + float(scans) + float(daily)
    assert round(without / 1_000, 2) == RUNNING_WITHOUT_CREDITS


def test_the_figures_are_small_and_name_no_place() -> None:
    text = FIGURES.read_text(encoding="utf-8")
    assert len(text) < MOST_BYTES
    assert not re.search(r"/(?:home|root|tmp|work|usr|Users)\b|\\\\", text)
