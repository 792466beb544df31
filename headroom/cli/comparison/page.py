"""A comparison as one self-contained HTML page with the Pareto chart of every preset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from headroom.cli.comparison import calibration, tables
from headroom.cli.terminal.files import save
from headroom.cli.terminal.output import money
from headroom.cli.views.report import rendered, uplot
from headroom.proving.scoring import CONTROLLER_TEXTS, GROUPS, WORDS

Json = Mapping[str, Any]


def write(results: Json, path: Path, *, root: Path | None = None) -> None:
    """Write the page to `path`; raises ReportAssetsMissing, BadRequest when it cannot be written."""
    save(render(results, uplot(root)), path)


def render(results: Json, plotting: tuple[str, str]) -> str:
    """The HTML text with uPlot's (script, style sheet) inside."""
    return rendered(
        "compare", plotting, _points(results), styles=("compare.css",), page=_page(results)
    )


def _page(results: Json) -> Json:
    presets = results["summary"]["presets"]
    values = results["conditions"]["presets_usd_per_shortfall_minute"]
    traces, cases = len(results["summary"]["traces"]), results["summary"]["cases"]
    return {
        "lead": f"{traces} loads, {cases} runs of every controller at each preset, under "
        "the same prices, delays, modification rules and guardrails.",
        "presets": [
            _preset(name, f"${values[name]:.2f}", found) for name, found in presets.items()
        ],
        "sums": tables.COLUMNS[2:],
        "by_group": tables.BY_GROUP.capitalize(),
        "groups": list(GROUPS),
        "calibration_columns": calibration.COLUMNS,
        "scenarios": [tables.scenario(each) for each in results.get("scenarios", ())],
        "scenario_columns": tables.SCENARIO,
        "definitions": list(WORDS.items()),
        "controllers": list(CONTROLLER_TEXTS.items()),
        "remarks": list(tables.remarks(results)),
    }


def _preset(name: str, value: str, found: Json) -> Json:
    front = ", ".join(found["pareto_front"])
    return {
        "name": name,
        "value": value,
        "about": f"Storage dollars and shortfall of every controller; on the front: {front}.",
        "ranking": [
            {
                "kind": each["kind"],
                "place": tables.place(each),
                "controller": each["controller"],
                "cells": tables.sums(each["totals"]["all"]),
                "front": "" if each["dominated"] or each["kind"] == "reference" else "on it",
            }
            for each in found["controllers"]
        ],
        "oracle": tables.oracle(found),
        "unsavable": tables.unavoidable(found),
        "targets": [tables.target(each) for each in found["targets"]],
        "groups": [
            {"kind": each["kind"], "controller": each["controller"], "cells": tables.by_group(each)}
            for each in found["controllers"]
        ],
        "calibration": _calibration(found),
        "controllers": [each["controller"] for each in found["controllers"]],
        "traces": list(_traces(found)),
    }


def _calibration(found: Json) -> Json | None:
    forecasts = found.get("calibration")
    if not forecasts:
        return None
    return {
        "plot": calibration.plot(forecasts),
        "rows": list(calibration.rows(forecasts)),
        "remark": calibration.remark(forecasts),
    }


def _traces(found: Json) -> Iterator[Json]:
    """Sums of scores by trace and scale; the best and worst controller of each are marked."""
    ranked = [e["controller"] for e in found["controllers"] if e["kind"] != "reference"]
    for by_trace in found["by_trace"]:
        own, trace = by_trace["scores"], f"{by_trace['trace']}, scale {by_trace['scale']}"
        low, high = min(own[name] for name in ranked), max(own[name] for name in ranked)
        cells = []
        for each in found["controllers"]:
            score, mark = own[each["controller"]], ""
            if each["kind"] != "reference" and low < high:
                mark = "best" if score == low else "worst" if score == high else ""
            cells.append({"text": money(score), "mark": mark})
        yield {"trace": trace, "cells": cells}


def _points(results: Json) -> Json:
    return {
        name: [
            {
                "name": each["controller"],
                "kind": each["kind"],
                "usd": each["totals"]["all"]["storage_usd"],
                "missed": each["totals"]["all"]["shortfall_minutes"],
                "front": not each["dominated"] and each["kind"] != "reference",
            }
            for each in found["controllers"]
        ]
        for name, found in results["summary"]["presets"].items()
    }
