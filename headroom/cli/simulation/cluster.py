"""`headroom simulate` of an Aurora cluster: the bill in both modes, and what Headroom did."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from headroom.cli.terminal.output import emit, money, number, out, say, table, utc
from headroom.cli.views.bills import NAMES, rows
from headroom.domain.catalog.aurora import Bill
from headroom.proving.inputs import BadInput
from headroom.proving.scenarios import load_aurora_scenario
from headroom.proving.simulation import AuroraResult, simulate_aurora


def simulate(path: Path, controller: str, *, as_json: bool, html: Path | None) -> None:
    """Simulate the scenario and print the result."""
    if html is not None:
        raise BadInput("--html draws the minutes of a volume; a cluster has none. Leave it out.")
    result = simulate_aurora(load_aurora_scenario(path), controller)
    if as_json:
        emit(result.to_json())
    else:
        _print(result, out())


def _print(result: AuroraResult, console: Console) -> None:
    first, scenario = result.first, result.scenario
    console.print(table(f"{scenario.name}, USD a month", ("", *NAMES.values()), rows(first)))
    console.print(_share(first.standard, first.break_even_ios), soft_wrap=True)
    if scenario.reserved:
        before, after = first.covered_percent
        console.print(
            f"Reservations cover {before:.0f} % of the instances in Standard, {after:.0f} % in "
            "I/O-Optimized.", soft_wrap=True,
        )  # fmt: skip
    for change in result.changes:
        say(
            f"{utc(change.at)} {NAMES[change.origin]} -> {NAMES[change.target]} "
            f"({change.reason.replace('_', ' ')}), "
            f"{money(change.price_change_usd, signed=True)} a month",
            console,
        )
    for decision in result.news:
        say(f"{utc(decision.at)} {decision.summary}", console)
    console.print(
        f"{scenario.days} days, controller {result.controller}: paid {money(result.paid_usd)}; "
        f"always Standard {money(result.paid_in_standard_usd)}, "
        f"always I/O-Optimized {money(result.paid_in_optimized_usd)}.", soft_wrap=True,
    )  # fmt: skip


def _share(standard: Bill, break_even: float) -> str:
    return (
        f"I/O is {100 * standard.io_share:.1f} % of the bill in Standard; both are equal at "
        f"{number(break_even / 1e6)} million I/O a month."
    )
