from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from headroom.cli.views.overview import overview
from headroom.cli.views.report import (
    DecisionRow,
    Report,
    ReportAssetsMissing,
    Section,
    render,
    write,
)
from headroom.cli.views.timeline import MOST_POINTS, Mark, Minute, timeline

START = datetime(2026, 1, 5, tzinfo=UTC)
UPLOT = ("/* plotting script */", "/* plotting style */")


def minute(n: int, *, starved: bool = False, credits_percent: float | None = None) -> Minute:
    return Minute(
        at=START + timedelta(minutes=n), offered_iops=4_000 + n, served_iops=3_000,
        limit_iops=3_000, offered_mibps=62, served_mibps=47, limit_mibps=125,
        credits_percent=credits_percent, queue=12.5, latency_ms=4.2, usd_per_month=8,
        starved=starved,
    )  # fmt: skip


def section(count: int = 60) -> Section:
    minutes = [minute(n, starved=10 <= n < 20) for n in range(count)]
    return Section(
        key="iops", title="Over its limit", ending="Raised at 00:12Z.", ok=True,
        facts=(("volume", "vol-1"),), timeline=timeline(minutes),
        marks=(Mark(at=START + timedelta(minutes=12), kind="act", label="Act", lines=("why",)),),
        decisions=(
            DecisionRow(
                at="2026-01-05 00:12Z", resource="vol-1", kind="act", observed="4,000 IOPS needed",
                considered=("gp3", "io2"), guardrails=("all allow", "mode", "slots"),
                change="a -> b", price_change="+$5.00", result="relieved", decision_id="d1",
            ),
        ),
    )  # fmt: skip


def report(*sections: Section) -> Report:
    return Report(
        title="A night", lead="One volume.", facts=(("seed", "1"),), sections=sections,
        notes=("made here",),
    )  # fmt: skip


def data_in(html: str) -> dict[str, dict[str, list[object]]]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    assert found
    loaded: dict[str, dict[str, list[object]]] = json.loads(found[1])
    return loaded


def test_the_file_asks_nothing_of_the_network() -> None:
    html = render(report(section()), UPLOT)
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", html)
    assert "@import" not in html


def test_hostile_text_stays_text() -> None:
    evil = "</script><script>alert(1)</script>"
    mark = Mark(at=START, kind="hold", label=evil, lines=(evil,))
    html = render(report(replace(section(), title=evil, marks=(mark,))), UPLOT)
    assert evil not in html
    assert data_in(html)["iops"]["marks"][0]["label"] == evil  # type: ignore[index]


def test_every_plot_says_in_words_what_it_shows() -> None:
    html = render(report(section()), UPLOT)
    labels = re.findall(r'class="plot" role="img" aria-label="([^"]+)"', html)
    assert len(labels) == len(section().timeline.plots)
    assert "offered load peaks at 4,059" in labels[0]


def test_the_figures_behind_the_plots_are_in_a_table() -> None:
    html = render(report(section()), UPLOT)
    assert "<td>01-05 00:00</td><td>4,000</td><td>3,000</td><td>3,000</td>" in html


def test_starved_minutes_in_a_row_are_one_span() -> None:
    assert section().timeline.starved == (
        (int(START.timestamp()) + 600, int(START.timestamp()) + 1_200),
    )


def test_what_was_never_published_has_no_plot() -> None:
    titles = [plot.title for plot in section().timeline.plots]
    assert titles == ["IOPS", "Throughput", "Queue", "Latency", "Price"]
    with_credits = timeline([minute(n, credits_percent=90 - n) for n in range(5)])
    assert "Burst credits" in [plot.title for plot in with_credits.plots]


def test_a_long_run_is_thinned_to_what_can_be_drawn() -> None:
    line = timeline([minute(n) for n in range(MOST_POINTS * 3 + 1)])
    assert len(line.times) <= MOST_POINTS
    assert line.step_minutes == 4
    assert all(len(each.values) == len(line.times) for plot in line.plots for each in plot.lines)
    thinned = report(replace(section(), timeline=line))
    assert "Each point of a plot is 4 minutes." in render(thinned, UPLOT)
    assert "Each point" not in render(report(section()), UPLOT)


def test_a_missing_uplot_is_one_sentence_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ReportAssetsMissing, match="make setup"):
        write(report(section()), tmp_path / "r.html", root=tmp_path)


def unpacked(values: list[object]) -> list[object]:
    """What the page's script makes of packed values."""
    found: list[object] = []
    for value in values:
        found += found[-1:] * value[0] if isinstance(value, list) else [value]
    return found


def test_the_data_of_a_page_are_the_values_of_its_plots_and_nothing_is_said_twice() -> None:
    minutes = [minute(n, starved=n > 100) for n in range(400)]
    quiet = [replace(m, offered_iops=3_000 if n < 100 else 4_321.5) for n, m in enumerate(minutes)]
    one = replace(section(), timeline=timeline(quiet))
    data = data_in(render(report(one), UPLOT))["iops"]
    steps = unpacked(data["times"])
    times = [sum(steps[: n + 1]) for n in range(len(steps))]  # type: ignore[arg-type]
    assert times == list(one.timeline.times)
    iops = {line["name"]: unpacked(line["values"]) for line in data["plots"][0]["lines"]}  # type: ignore[index]
    assert iops == {
        "offered": ["="] * 100 + [4_320] * 300, "served": [3_000] * 400, "limit": [3_000] * 400,
    }  # fmt: skip
    assert data["plots"][0]["lines"][1]["values"] == [3_000, [399]]  # type: ignore[index]


def test_a_report_of_seventeen_noisy_days_is_small() -> None:
    draw = Random(7)
    noisy = [
        replace(
            minute(n), offered_iops=draw.uniform(100, 9_000), served_iops=draw.uniform(100, 3_000),
            offered_mibps=draw.uniform(1, 300), served_mibps=draw.uniform(1, 125),
            queue=draw.uniform(0, 60), latency_ms=draw.uniform(0.4, 90),
        )
        for n in range(1_620)
    ]  # fmt: skip
    sections = [replace(section(), key=str(n), timeline=timeline(noisy)) for n in range(17)]
    assert len(render(report(*sections), UPLOT)) < 600_000


def test_the_overview_has_a_strip_for_each_on_one_axis() -> None:
    later = [replace(minute(n), at=START + timedelta(minutes=60 + n)) for n in range(61)]
    found = overview([(section().timeline, section().marks), (timeline(later), ())])
    first, second = found.strips
    assert first.seen == (0, pytest.approx(492, abs=1))
    assert second.seen == (pytest.approx(500, abs=1), pytest.approx(500, abs=1))
    assert first.marks == ((100, "act"),)
    assert first.starved == ((83.3, pytest.approx(83.3, abs=0.2)),)
    assert (first.about, second.about) == (
        "10 starved minutes, 1 change",
        "0 starved minutes, no change",
    )
    assert [label for _, label in found.ticks] == ["01-05", "01:00", "02:00"]
    assert not overview([]).strips


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 400])
def test_a_browser_draws_every_plot_without_a_complaint(tmp_path: Path, width: int) -> None:
    from tests.cli.commands.browser import chromium

    path = tmp_path / "report.html"
    write(report(section(), replace(section(), key="again")), path)
    complaints: list[str] = []
    with chromium() as browser:
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-drawn]")
        assert page.locator("html[data-drawn='0']").count() == 1, "plots are drawn on demand"
        for key in ("iops", "again"):
            page.locator(f'.overview a[href="#{key}"]').click()
            page.wait_for_selector(f"#{key} details[open] canvas")
        drawn = page.evaluate(
            "[...document.querySelectorAll('canvas')].filter(c => c.width && c.getContext('2d')"
            ".getImageData(0, 0, c.width, c.height).data.some(v => v)).length"
        )
        assert drawn == 2 * len(section().timeline.plots)
        page.locator(".mark").first.focus()
        assert "why" in page.locator("#detail").inner_text()
        page.keyboard.press("Escape")
        assert page.locator("#detail").is_hidden()
        sideways = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        assert not page.evaluate(sideways)
    assert complaints == []
