"""A comparison as one self-contained HTML page with the Pareto chart of every preset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from headroom.cli.comparison import tables as compared
from headroom.cli.terminal.files import save
from headroom.cli.terminal.output import money
from headroom.cli.views.report import rendered, uplot
from headroom.proving.scoring import CONTROLLERS_SAID, GROUPS, WORDS

Json = Mapping[str, Any]


def write(said: Json, path: Path, *, root: Path | None = None) -> None:
    """Write the page to `path`; raises ReportAssetsMissing, BadRequest when it cannot be written."""
    save(render(said, uplot(root)), path)


def render(said: Json, plotting: tuple[str, str]) -> str:
    """The HTML text with uPlot's (script, style sheet) inside."""
    return rendered("compare", plotting, _points(said), styles=("compare.css",), page=_page(said))


def _page(said: Json) -> Json:
    presets = said["summary"]["presets"]
    values = said["conditions"]["presets_usd_per_starved_minute"]
    traces, cases = len(said["summary"]["traces"]), said["summary"]["cases"]
    return {
        "lead": f"{traces} loads, {cases} runs of every controller at each preset, under "
        "the same prices, delays, modification rules and guardrails.",
        "presets": [
            _preset(name, f"${values[name]:.2f}", found) for name, found in presets.items()
        ],
        "sums": compared.COLUMNS[2:],
        "by_group": compared.BY_GROUP.capitalize(),
        "groups": list(GROUPS),
        "scenarios": [compared.scenario(each) for each in said.get("scenarios", ())],
        "scenario_columns": compared.SCENARIO,
        "definitions": list(WORDS.items()),
        "controllers": list(CONTROLLERS_SAID.items()),
        "remarks": list(compared.remarks(said)),
    }


def _preset(name: str, value: str, found: Json) -> Json:
    front = ", ".join(found["pareto_front"])
    return {
        "name": name,
        "value": value,
        "about": f"Storage dollars and starved minutes of every controller; on the front: {front}.",
        "ranking": [
            {
                "kind": each["kind"],
                "place": compared.place(each),
                "controller": each["controller"],
                "cells": compared.sums(each["totals"]["all"]),
                "front": "" if each["dominated"] or each["kind"] == "reference" else "on it",
            }
            for each in found["controllers"]
        ],
        "oracle": compared.oracle(found),
        "unsavable": compared.unavoidable(found),
        "targets": [compared.target(each) for each in found["targets"]],
        "groups": [
            {
                "kind": each["kind"],
                "controller": each["controller"],
                "cells": compared.by_group(each),
            }
            for each in found["controllers"]
        ],
        "controllers": [each["controller"] for each in found["controllers"]],
        "traces": list(_traces(found)),
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


def _points(said: Json) -> Json:
    return {
        name: [
            {
                "name": each["controller"],
                "kind": each["kind"],
                "usd": each["totals"]["all"]["storage_usd"],
                "starved": each["totals"]["all"]["starved_minutes"],
                "front": not each["dominated"] and each["kind"] != "reference",
            }
            for each in found["controllers"]
        ]
        for name, found in said["summary"]["presets"].items()
    }
