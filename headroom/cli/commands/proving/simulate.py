"""`headroom simulate`: one resource under one load, with AWS's physics and rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track

from headroom.cli.simulation import cluster as cluster_simulation
from headroom.cli.simulation import page as simulation_page
from headroom.cli.sources.options import JsonOption
from headroom.cli.terminal.output import emit, err, money, number, out, say, table, utc
from headroom.cli.views import report
from headroom.domain.decision import Act, Decision, Reason
from headroom.proving.inputs import load_yaml
from headroom.proving.physics import MinuteFacts
from headroom.proving.scenarios import Scenario, is_aurora, load_scenario
from headroom.proving.simulation import Result
from headroom.proving.simulation import simulate as run_scenario


class Controller(StrEnum):
    """Who may change the volume in a simulation."""

    HEADROOM = "headroom"
    NONE = "none"


def simulate(
    scenario: Annotated[Path, typer.Argument(help="Scenario file (docs/scenario-format.md).")],
    controller: Annotated[
        Controller, typer.Option(help="Who may change the volume.")
    ] = Controller.HEADROOM,
    as_json: JsonOption = False,
    html: Annotated[Path | None, typer.Option(help="Write a report to this file.")] = None,
) -> None:
    """Simulate one resource under one load, and score the result."""
    if html is not None:
        report.uplot()  # fail before the work, not after
    if is_aurora(load_yaml(scenario)):
        cluster_simulation.simulate(scenario, controller.value, as_json=as_json, html=html)
        return
    loaded = load_scenario(scenario)
    result = _run(loaded, controller)
    if html is not None:
        report.write(simulation_page.page(loaded, result), html)
        err().print(f"Report: {html}", style="dim", soft_wrap=True)
    if as_json:
        emit(result.to_json())
    else:
        _print(result, out())


def _run(scenario: Scenario, controller: Controller) -> Result:
    minutes = -(-int((scenario.end - scenario.start).total_seconds()) // 60)
    steps = iter(
        track(range(minutes + 2), description=scenario.name, console=err(), transient=True,
              disable=not err().is_terminal)
    )  # fmt: skip

    def minute(_: MinuteFacts) -> None:
        next(steps, None)

    result = run_scenario(scenario, controller.value, on_minute=minute)
    for _ in steps:  # the bar goes when it is through
        pass
    return result


def _print(result: Result, console: Console) -> None:
    facts: dict[str, Any] = result.to_json()
    latency, served = facts["latency_ms"], facts["served"]
    rows = [
        ("simulated", f"{facts['simulated_minutes']:,} minutes, {facts['unknown_minutes']} unknown"),
        ("starved", f"{facts['starved_minutes']:,} minutes"),
        ("shortfall", f"{facts['shortfall_minutes']:,.1f} minutes' worth of load"),
        ("onset to relief", _minutes(facts["onset_to_relief_minutes"])),
        ("operations", f"{facts['offered_ops']:,.0f} offered, {facts['served_ops']:,.0f} served"),
        ("served", f"{_figure(served['read_iops'])} read and {_figure(served['write_iops'])} write "
                   f"IOPS, {_figure(served['mib_per_s'])} MiB/s"),
        ("latency", f"{_figure(latency['avg'])} ms average, {_figure(latency['p50'])} median, "
                    f"{_figure(latency['p99'])} p99"),
        ("lowest BurstBalance", "-" if facts["burst_balance_min"] is None
         else f"{facts['burst_balance_min']:.0f} %"),
        ("price", f"{money(facts['usd_per_month_start'])} a month at the start, "
                  f"{money(facts['usd_per_month_end'])} at the end"),
        ("paid", f"{money(facts['storage_usd'])} for storage"),
        ("decisions", ", ".join(f"{n} {kind}" for kind, n in facts["decisions"].items())),
        ("AWS refused", f"{facts['aws_refusals']} times"),
        ("outside the limits", f"{facts['guardrail_violations']} changes"),
    ]  # fmt: skip
    if result.space is not None:
        rows.insert(-3, ("free storage", f"{result.space.lowest_gib:.1f} GiB at least, "
                         f"{result.space.end_gib:.1f} at the end; full for "
                         f"{result.space.full_minutes:,} minutes"))  # fmt: skip
    title = f"{facts['scenario']}, controller {facts['controller']}"
    console.print(table(title, ("", "what"), rows))
    for change in result.changes:
        at = f"{change.at:%Y-%m-%d %H:%M}Z"
        why = f"({change.reason}, decision {change.decision_id})"
        say(f"{at} {change.origin} -> {change.target} {why}", console)
    for sentence in _why_not(result.decisions):
        say(sentence, console)
    for note in (*facts["violations"], *facts["notes"]):
        say(f"Note: {note}", console)


def _why_not(decisions: Sequence[Decision]) -> Iterator[str]:
    """The newest decision of each kind and reason that changed nothing although something was wrong."""
    found: dict[tuple[type, Reason], list[Decision]] = {}
    for each in decisions:
        answer = each.answer
        if not isinstance(answer, Act) and answer.reason is not Reason.NO_PRESSURE:
            found.setdefault((type(answer), answer.reason), []).append(each)
    for (kind, _), alike in found.items():
        count = f", last of {len(alike)}" if len(alike) > 1 else ""
        yield f"{utc(alike[-1].at)} {kind.__name__.lower()}{count}: {alike[-1].summary}"


def _figure(value: float | None) -> str:
    return "-" if value is None else number(value)


def _minutes(value: int | None) -> str:
    return "never starved" if value is None else f"{value:,} minutes"
