"""`headroom compare`: its JSON, its page, its Markdown, and what it says to bad input."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from headroom.cli.comparison import markdown as compared_markdown
from headroom.cli.comparison import page as compared_page
from headroom.cli.main import run
from headroom.cli.views.report import uplot
from headroom.proving.scoring import CONTROLLERS, comparison
from headroom.proving.workloads import SHAPES, shapes
from tests.cli.commands.browser import chromium

PLOTTING = ("/* plotting script */", "/* plotting style */")
NAMES = ("trace", "scale", "start", "preset", "controller")
FIELDS = {
    "trace", "scale", "start", "preset", "controller", "score", "regret", "storage_usd",
    "shortfall_minutes", "starved_minutes", "modifications", "aws_refusals", "guardrail_violations",
}  # fmt: skip
TARGETS = {
    "score_ratio", "oracle_ratio", "regret_ratio", "worse_than_none", "worst_on", "tolerable_share", "foreseen_share",
    "left_alone_share", "raises_per_episode", "runs_out_of_slots", "violations", "invalid_plans",
}  # fmt: skip


SCENARIO = """
name: short
resource: {type: gp3, size_gib: 100, tags: {headroom: auto}}
workload: {steps: [{for: 30m, iops: 200, io_kib: 8, read_fraction: 0.5}]}
"""


def trace(folder: Path, name: str = "night.csv") -> Path:
    """A week by the hour with one busy hour."""
    rows = ["timestamp,read_ops,write_ops,read_bytes,write_bytes"]
    for hour in range(7 * 24):
        ops = 4_000 * 3_600 if hour == 30 else 20 * 3_600
        stamp = f"2026-01-{5 + hour // 24:02d}T{hour % 24:02d}:00:00Z"
        rows.append(f"{stamp},{ops},0,{ops * 8192},0")
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one run wrote: result.json, page.html, page.md."""
    folder = tmp_path_factory.mktemp("compare")
    (folder / "page-notes.md").write_text("## What was tried\n\nMuch.\n", encoding="utf-8")
    (folder / "short.yaml").write_text(SCENARIO, encoding="utf-8")
    traces = trace(folder / "traces")
    with pytest.MonkeyPatch.context() as patch:
        text: list[str] = []
        patch.setattr("sys.stdout.write", text.append)
        code = run([
            "compare", "--traces", str(traces), "--scale", "1", "--workers", "1", "--json",
            "--html", str(folder / "page.html"), "--markdown", str(folder / "page.md"),
            "--figures", str(folder / "figures" / "page.json"),
            "--scenarios", str(folder / "short.yaml"),
        ])  # fmt: skip
    assert code == 0
    (folder / "result.json").write_text("".join(text), encoding="utf-8")
    return folder


def said(made: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((made / "result.json").read_text(encoding="utf-8"))
    return loaded


def test_the_json_has_a_row_per_run_and_a_summary(made: Path) -> None:
    found = said(made)
    assert len(found["rows"]) == 3 * len(CONTROLLERS)
    for row, more in zip(found["rows"], found["details"], strict=True):
        assert row.keys() == FIELDS
        assert {name: more[name] for name in NAMES} == {name: row[name] for name in NAMES}
        assert more.keys() - FIELDS >= {"unsavable_minutes", "oracle_bound", "episodes", "half"}
        assert (row["trace"], row["scale"], row["preset"]) == ("night", "1", "balanced")
    balanced = found["summary"]["presets"]["balanced"]
    assert {target["key"] for target in balanced["targets"]} == TARGETS
    assert set(balanced["ranking"]) | set(balanced["references"]) == set(CONTROLLERS)
    assert found["conditions"]["metric_delay_min"] == [1, 4]
    assert found["made_up"] is False


def test_a_table_says_what_the_json_says(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    traces, earlier = str(made / "traces"), str(made / "result.json")
    words = ["compare", "--traces", traces, "--scale", "1", "--workers", "1", "--reuse", earlier]
    assert run(words) == 0
    printed, progress = capsys.readouterr()
    assert "21 of 21 volume-days: night, scale 1, from io1" in progress
    for each in said(made)["summary"]["presets"]["balanced"]["controllers"]:
        assert each["controller"] in printed
        assert f"${each['totals']['all']['score']:,.2f}" in printed
    assert "Conditions: us-east-1" in printed
    assert "Tuning:" in printed


def test_the_page_asks_nothing_of_the_network(made: Path) -> None:
    html = (made / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", html)
    assert "@import" not in html
    for name in CONTROLLERS:
        assert html.count(name) >= 3


def test_the_calibration_of_the_forecast_is_in_the_figures_the_page_and_beside_the_markdown(
    made: Path,
) -> None:
    found = said(made)
    own = [more["calibration"] for more in found["details"] if more["controller"] == "headroom"]
    summed = found["summary"]["presets"]["balanced"]["calibration"]
    assert [band["hours"] for band in summed["bands"]] == [
        sum(hours) for hours in zip(*(one["hours"] for one in own), strict=True)
    ]
    assert sum(band["hours"] for band in summed["bands"]) > 1_000
    assert summed["log_score"] < 0.0
    assert all(m["calibration"] is None for m in found["details"] if m["controller"] != "headroom")
    drawn = ElementTree.parse(made / "page-calibration-balanced.svg")
    dots = drawn.findall(".//{http://www.w3.org/2000/svg}circle")
    assert len(dots) == sum(band["hours"] > 0 for band in summed["bands"])
    assert "](page-calibration-balanced.svg)" in (made / "page.md").read_text(encoding="utf-8")
    assert (made / "page.html").read_text(encoding="utf-8").count("<svg") == 1


def test_the_page_defines_every_measure_and_controller(made: Path) -> None:
    html = (made / "page.html").read_text(encoding="utf-8")
    for word in ("starvation episode", "volume-day left alone", "foreseeable depletion", "regret"):
        assert f"<dt>{word}</dt>" in html
    for name in CONTROLLERS:
        assert f"<dt>{name}</dt>" in html


HOSTILE = "</script><script>alert(1)</script>"


def test_names_of_traces_cannot_break_out_of_the_page(made: Path) -> None:
    found = said(made)
    for preset in found["summary"]["presets"].values():
        for row in preset["by_trace"]:
            row["trace"] = HOSTILE
        preset["targets"][0]["detail"] = HOSTILE
    html = compared_page.render(found, PLOTTING)
    assert "<script>alert" not in html
    assert html.count("&lt;script&gt;alert") == 2


@pytest.mark.browser
def test_the_chart_is_drawn(made: Path) -> None:
    html = made / "drawn.html"
    html.write_text(compared_page.render(said(made), uplot()), encoding="utf-8")
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 800})
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(html.as_uri())
        page.wait_for_function("document.documentElement.dataset.drawn")
        assert page.evaluate("document.documentElement.dataset.drawn") == "1"
        assert page.locator(".chart canvas").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert problems == []


def test_the_markdown_holds_the_tables_the_shortfalls_and_the_notes(made: Path) -> None:
    text = (made / "page.md").read_text(encoding="utf-8")
    found = said(made)["summary"]["presets"]["balanced"]
    for each in found["controllers"]:
        assert f"| `{each['controller']}` | ${each['totals']['all']['score']:,.2f} |" in text
    for target in found["targets"]:
        line = f"- *balanced*, `{target['key']}`: {target['about']} is "
        assert (line in text) is (target["met"] is False)
    assert "## What was tried\n\nMuch.\n\n## Conditions" in text


def test_the_figures_are_the_result_without_its_runs_and_enough_for_the_markdown(
    made: Path,
) -> None:
    whole = said(made)
    figures = json.loads((made / "figures" / "page.json").read_text(encoding="utf-8"))
    assert whole.keys() - figures.keys() == {"rows", "details"}
    assert figures == {name: whole[name] for name in figures}
    notes = (made / "page-notes.md").read_text(encoding="utf-8")
    written = (made / "page.md").read_text(encoding="utf-8")
    assert compared_markdown.render(figures, notes, stem="page") == written


def test_a_page_without_notes_or_shortfalls_says_so(made: Path) -> None:
    found = said(made)
    for target in found["summary"]["presets"]["balanced"]["targets"]:
        target["met"] = True
    text = compared_markdown.render(found)
    assert "None: every target that could be measured is met." in text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--traces", "nowhere"], "nowhere is no directory; give one that holds traces (*.csv)."),
        (["--traces", "."], ". holds no trace: no file in it ends in .csv."),
        (["--traces", "bad"], "bad.csv line 1 must be the header"),
        (["--traces", "good", "--reuse", "none.json"], "none.json cannot be read"),
        (["--traces", "good", "--reuse", "odd.json"], "odd.json is no result of"),
        (["--traces", "good", "--reuse", "other.json"], "other.json was made under other cond"),
        (["--traces", "good", "--scenarios", "odd.json"], "odd.json must be a YAML list"),
        (["--traces", "good", "--scenarios", "number.yaml"], "number.yaml lists 7, which is no"),
        (["--traces", "good", "--scenarios", "gone.yaml"], "gone.yaml"),
        (["--traces", "folder"], "folder.csv cannot be read: Is a directory"),
        (["--traces", "bytes"], "bytes.csv"),
        (["--traces", "empty"], "empty.csv"),
        (["--html", "good"], "good could not be written: it is a directory."),
        (["--html", "odd.json/page.html"], "odd.json is not a directory."),
        (["--markdown", "good"], "good could not be written: it is a directory."),
        (["--figures", "odd.json/more/page.json"], "odd.json is not a directory."),
        (["--workers", "-1"], "it must be greater than or equal to 0"),
        (["--scale", "2"], "'2' is not one of"),
        (["--preset", "cheap"], "'cheap' is not one of"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(
    words: list[str],
    sentence: str,
    made: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "bad.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    trace(tmp_path / "good")
    (tmp_path / "folder" / "folder.csv").mkdir(parents=True)
    for name, content in (("bytes", b"\xff\xfe\x00\x01"), ("empty", b"")):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.csv").write_bytes(content)
    (tmp_path / "odd.json").write_text("{}", encoding="utf-8")
    (tmp_path / "number.yaml").write_text("[7]", encoding="utf-8")
    other = said(made)
    other["conditions"]["metric_delay_min"] = 5
    (tmp_path / "other.json").write_text(json.dumps(other), encoding="utf-8")
    assert run(["compare", *words]) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert sentence in error
    assert error.count("headroom:") == 1


def assert_has_the_scenario(found: dict[str, Any]) -> None:
    lines = found["scenarios"]
    assert [(line["scenario"], line["controller"]) for line in lines] == [
        ("short", "none"), ("short", "headroom"),
    ]  # fmt: skip
    assert all(line["starved_minutes"] == 0 for line in lines)


def test_a_scenario_runs_besides_the_traces(made: Path) -> None:
    assert_has_the_scenario(said(made))


def test_the_suite_of_shapes_runs_each_from_its_own_volume_and_a_list_of_scenarios(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "short.yaml").write_text(SCENARIO, encoding="utf-8")
    (tmp_path / "all.yaml").write_text("- short.yaml\n", encoding="utf-8")
    short = {name: replace(SHAPES[name], days=0.5) for name in ("hourly-bursts", "pool-by-day")}
    monkeypatch.setattr(comparison, "SHAPES", short)
    monkeypatch.setattr(shapes, "SHAPES", short)
    scenarios = ["--scenarios", str(tmp_path / "all.yaml")]
    assert run(["compare", "--suite", "shapes", "--workers", "1", "--json", *scenarios]) == 0
    found = json.loads(capsys.readouterr().out)
    assert_has_the_scenario(found)
    assert {(row["trace"], row["start"], row["scale"]) for row in found["rows"]} == {
        ("hourly-bursts", "gp3", "1"), ("pool-by-day", "gp2", "1"),
    }  # fmt: skip
    assert len(found["rows"]) == 2 * len(CONTROLLERS)
    assert (found["suite"], found["made_up"]) == ("shapes", True)
    for each in found["summary"]["presets"]["balanced"]["by_trace"]:
        assert 0 < each["oracle_bound"] <= each["scores"]["oracle"] <= each["scores"]["best-static"]


def test_the_suite_of_shapes_takes_no_traces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", "--suite", "shapes", "--traces", str(tmp_path)]) == 2
    assert "Leave out --traces" in capsys.readouterr().err
