"""`headroom compare`: Headroom beside the rules of others, on the same loads, under the same rules."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from headroom.cli.comparison import markdown as comparison_markdown
from headroom.cli.comparison import page as comparison_page
from headroom.cli.comparison import tables
from headroom.cli.sources.options import JsonOption
from headroom.cli.terminal.files import refuse_unwritable, save
from headroom.cli.terminal.output import emit, err, out, say
from headroom.cli.views import report
from headroom.domain.policy import PRESETS
from headroom.proving.inputs import BadInput
from headroom.proving.scoring import (
    SCALES,
    ComparisonRow,
    Job,
    comparison_jobs,
    conditions_json,
    earlier_rows,
    load_series_in,
    run_scenario_file,
    sample_load_series_list,
    scenario_files,
    shape_jobs,
    summary,
    usable_cores,
)
from headroom.proving.scoring import compare as run_jobs

DAY_MIN = 1_440


class Scale(StrEnum):
    """What the loads are multiplied by."""

    ONE = "1"
    AUTO = "auto"
    BOTH = "both"


class Preset(StrEnum):
    """What a minute of shortfall is worth."""

    PERFORMANCE = "performance"
    BALANCED = "balanced"
    THRIFT = "thrift"
    ALL = "all"


class Suite(StrEnum):
    """Which loads are compared on."""

    TRACES = "traces"
    SHAPES = "shapes"


def compare(
    traces: Annotated[
        Path | None,
        typer.Option(help="Directory of load traces (*.csv). Without: six synthetic loads."),
    ] = None,
    suite: Annotated[
        Suite,
        typer.Option(
            help="The traces, or synthetic loads of known shapes (nightly, weekly, bursts, pools ...), "
            "unscaled, each from one volume."
        ),
    ] = Suite.TRACES,
    scenarios: Annotated[
        Path | None, typer.Option(help="Scenario file, or YAML list of such files, to run as well.")
    ] = None,
    scale: Annotated[
        Scale,
        typer.Option(help="Loads unscaled (1), scaled to twice gp3's baseline (auto), or both."),
    ] = Scale.BOTH,
    preset: Annotated[
        Preset,
        typer.Option(
            help="What a minute of shortfall is worth: performance ($1.00), balanced ($0.10), "
            "thrift ($0.01), or all three in turn."
        ),
    ] = Preset.BALANCED,
    as_json: JsonOption = False,
    html: Annotated[Path | None, typer.Option(help="Write a page to this file.")] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write the tables as Markdown to this file.")
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(help="Write conditions and summary, without the runs, as JSON to this file."),
    ] = None,
    reuse: Annotated[
        Path | None,
        typer.Option(help="Earlier --json result: reuse its rows and run only Headroom again."),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=0, help="Number of processes; 0 means one per core.")
    ] = 0,
) -> None:
    """Compare Headroom with other tools' rules, fixed configurations and the oracle."""
    if html is not None:
        report.uplot()  # fail before the work, not after
    for path in (html, markdown, figures):
        if path is not None:
            refuse_unwritable(path)
    began = time.perf_counter()
    presets = tuple(PRESETS) if preset is Preset.ALL else (preset.value,)
    if suite is Suite.SHAPES and traces is not None:
        raise BadInput("--suite shapes has loads of its own. Leave out --traces, or the suite.")
    scenario_list = [] if scenarios is None else scenario_files(scenarios)
    count = workers or usable_cores()
    work = shape_jobs(presets) if suite is Suite.SHAPES else _jobs(traces, scale, presets, count)
    conditions = conditions_json(work)
    if reuse is not None:
        earlier = earlier_rows(reuse, conditions)
        work = [replace(job, earlier=earlier) for job in work]
    rows = _run(work, count)
    results: dict[str, object] = {"conditions": conditions, "summary": summary(rows)}
    if scenario_list:
        results["scenarios"] = [
            line for story in scenario_list for line in run_scenario_file(story)
        ]
    results["seconds"] = round(time.perf_counter() - began, 1)
    results["made_up"] = traces is None
    results["suite"] = suite.value
    _write(results, html=html, markdown=markdown, figures=figures)
    if as_json:
        runs = {"rows": [r.to_json() for r in rows], "details": [r.details() for r in rows]}
        emit({**runs, **results})
    else:
        tables.show(results, out())


def _jobs(traces: Path | None, scale: Scale, presets: tuple[str, ...], workers: int) -> list[Job]:
    return comparison_jobs(
        sample_load_series_list() if traces is None else load_series_in(traces),
        scales=SCALES if scale is Scale.BOTH else (scale.value,),
        presets=presets,
        workers=workers,
    )


def _write(
    results: Mapping[str, object], *, html: Path | None, markdown: Path | None, figures: Path | None
) -> None:
    if html is not None:
        comparison_page.write(results, html)
        err().print(f"Page: {html}", style="dim", soft_wrap=True)
    if markdown is not None:
        comparison_markdown.write(results, markdown)
        err().print(f"Markdown: {markdown}", style="dim", soft_wrap=True)
    if figures is not None:
        save(json.dumps(results, indent=1, ensure_ascii=False) + "\n", figures)
        err().print(f"Figures: {figures}", style="dim", soft_wrap=True)


def _run(work: list[Job], workers: int) -> list[ComparisonRow]:
    """The rows of all jobs, with a bar on a terminal and a line per load anywhere else."""
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
    )  # fmt: skip
    console, total = err(), sum(job.weight for job in work) // DAY_MIN
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task("volume-days", total=total)
        done = 0

        def advance(job: Job) -> None:
            nonlocal done
            done += job.weight
            progress.update(task, completed=done // DAY_MIN, description=job.load_series.name)
            if not console.is_terminal:
                say(f"{done // DAY_MIN:,} of {total:,} volume-days: {job.label}", console)

        return run_jobs(work, workers=workers, on_done=advance)
