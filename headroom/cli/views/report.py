"""The report: one self-contained HTML file with plots, decisions and their reasons.

It needs no network: uPlot (MIT) and all data are inside the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from itertools import groupby, pairwise
from pathlib import Path

import headroom
from headroom.cli.terminal.files import save
from headroom.cli.terminal.problems import Problem
from headroom.cli.views.overview import overview
from headroom.cli.views.timeline import Line, Mark, Timeline

UPLOT = Path("node_modules/uplot/dist")
SHIPPED = Path(headroom.__file__).parent / "vendor" / "uplot"
"""Where an installed wheel has it."""
TABLE_ROWS = 24
"""Rows of the table that says in figures what a plot shows."""
AS_SERVED = "="
"""In the data of a page: the offered load of an instant is the served one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRow:
    """One decision as the tables show it; a cell of several lines is a tuple of them."""

    at: str
    resource: str
    kind: str
    observed: str
    considered: tuple[str, ...]
    guardrails: tuple[str, ...]
    change: str
    price_change: str
    result: str
    decision_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One resource: its story in a line, its plots, what was decided about it."""

    key: str
    title: str
    ending: str
    ok: bool | None
    """Whether it ended as expected; None without expectations."""
    facts: tuple[tuple[str, str], ...]
    timeline: Timeline
    marks: tuple[Mark, ...]
    decisions: tuple[DecisionRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The whole page."""

    title: str
    lead: str
    facts: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]
    notes: tuple[str, ...]

    @property
    def thinned(self) -> tuple[str, ...]:
        """What a point of the plots stands for where it is more than a minute."""
        steps = {section.timeline.step_minutes for section in self.sections} - {1}
        each = [f"{step} minutes" for step in sorted(steps)]
        return (f"Each point of a plot is {' or '.join(each)}.",) if each else ()


class ReportAssetsMissing(Problem):
    """uPlot is not installed."""


def write(report: Report, path: Path, *, root: Path | None = None) -> None:
    """Write `report` to `path`; `root` is where node_modules is, the project by default.

    Raises ReportAssetsMissing, BadRequest when the file cannot be written.
    """
    save(render(report, uplot(root)), path)


def uplot(root: Path | None = None) -> tuple[str, str]:
    """The script and the style sheet of uPlot, from the installed package."""
    roots = [root] if root else [Path(headroom.__file__).parents[1], Path.cwd()]
    for folder in (*([] if root else [SHIPPED]), *(base / UPLOT for base in roots)):
        script, style = folder / "uPlot.iife.min.js", folder / "uPlot.min.css"
        if script.is_file() and style.is_file():
            return script.read_text(encoding="utf-8"), style.read_text(encoding="utf-8")
    raise ReportAssetsMissing(
        f"The HTML report needs uPlot, and {roots[0] / UPLOT} is not there: run `make setup`."
    )


def render(report: Report, plotting: tuple[str, str]) -> str:
    """The HTML text of `report` with uPlot's (script, style sheet) inside."""
    return rendered(
        "report", plotting, _data(report.sections), report=report, rows=_table_rows,
        many=len(report.sections) > 1,
        overview=overview([(each.timeline, each.marks) for each in report.sections]),
    )  # fmt: skip


def rendered(
    name: str, plotting: tuple[str, str], data: object, *, styles: Sequence[str] = (),
    **values: object,
) -> str:  # fmt: skip
    """The page of the template `name` with its script, its style sheets and `data` inside."""
    import jinja2  # slow to import, and needed for pages alone
    from markupsafe import Markup

    def code(text: str) -> Markup:
        """The text with what is between backticks as code."""
        parts = enumerate(text.split("`"))
        return Markup("").join(
            Markup("<code>{}</code>").format(part) if place % 2 else part for place, part in parts
        )

    def asset(file: str) -> str:
        return (files("headroom.cli") / "page" / file).read_text(encoding="utf-8")

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["code"] = code
    script, style = plotting
    return environment.from_string(asset(f"{name}.html.j2")).render(
        **values,
        data=Markup(inline(data)),  # noqa: S704 - escaped by inline
        css=Markup(style + "".join(map(asset, ("report.css", *styles)))),  # noqa: S704
        uplot=Markup(script.replace("</script", "<\\/script")),  # noqa: S704
        js=Markup(asset(f"{name}.js")),  # noqa: S704
    )


def inline(value: object) -> str:
    """JSON that may stand inside a script element whatever strings it holds."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    for raw, escaped in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"),
                         ("\u2028", "\\u2028"), ("\u2029", "\\u2029")):  # fmt: skip
        text = text.replace(raw, escaped)
    return text


def _data(sections: Sequence[Section]) -> Mapping[str, object]:
    return {
        section.key: {
            "times": _instants(section.timeline.times),
            "starved": section.timeline.starved,
            "plots": [
                {
                    "unit": plot.unit,
                    "lines": [
                        {"name": line.name, "role": line.role, "values": packed}
                        for line, packed in zip(plot.lines, _lines(plot.lines), strict=True)
                    ],
                }
                for plot in section.timeline.plots
            ],
            "marks": [
                {"at": mark.at.timestamp(), "kind": mark.kind, "label": mark.label,
                 "lines": mark.lines}
                for mark in section.marks
            ],
        }
        for section in sections
    }  # fmt: skip


def _lines(lines: Sequence[Line]) -> Iterator[list[object]]:
    """The values of the lines of a plot; of the offered load only what was not served."""
    served = next((line.values for line in lines if line.role == "served"), ())
    for line in lines:
        values: list[object] = [_figure(value) for value in line.values]
        if line.role == "offered":
            same = map(_figure, served)
            values = [AS_SERVED if v == s else v for v, s in zip(values, same, strict=True)]
        yield _packed(values)


def _packed(values: Iterable[object]) -> list[object]:
    """Values, with `[n]` for the one before n times more."""
    packed: list[object] = []
    for value, alike in groupby(values):
        more = sum(1 for _ in alike) - 1
        packed += [value, [more]] if more else [value]
    return packed


def _instants(times: Sequence[int]) -> list[object]:
    """The first of `times` and the seconds from each to the next, packed."""
    return _packed([*times[:1], *(b - a for a, b in pairwise(times))])


def _figure(value: float | None) -> float | int | None:
    """A value as exactly as a plot shows it: three digits."""
    if value is None:
        return None
    short = float(f"{value:.3g}")
    return int(short) if short == int(short) else short


def _table_rows(section: Section) -> list[list[str]]:
    """Every n-th instant of a section in figures: time, then every line of every plot."""
    line = section.timeline
    skip = max(1, -(-len(line.times) // TABLE_ROWS))
    return [
        [
            datetime.fromtimestamp(line.times[i], UTC).strftime("%m-%d %H:%M"),
            *(_cell(each.values[i]) for plot in line.plots for each in plot.lines),
        ]
        for i in range(0, len(line.times), skip)
    ]


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:,.4g}" if abs(value) < 1_000 else f"{value:,.0f}"
