"""Second opinions on a fleet: the totals in a line, and a row for each resource that they differ on."""

from __future__ import annotations

from headroom.cli.fleet.planning import FleetPlan
from headroom.cli.fleet.rows import Json, PlanRow, opinion_totals
from headroom.cli.second_opinion.opinion import SecondOpinion
from headroom.cli.terminal.output import money

TITLE = "Where Compute Optimizer recommends something else"
COLUMNS = (
    "Resource", "Headroom", "Compute Optimizer", "Difference a month", "Its own saving",
    "Why they differ",
)  # fmt: skip
CSV_COLUMNS = ("finding", "target", "usd_per_month", "usd_change", "saving_usd", "after_discounts",
               "refreshed_at", "agrees", "explanation")  # fmt: skip
PREFIX = "optimizer_"
"""What the names of these columns begin with in CSV files."""


def summary(plan: FleetPlan) -> list[str]:
    """How far the two agree, in a sentence; nothing if Compute Optimizer was not or cannot be read."""
    total = opinion_totals(plan.rows, plan.recommended)
    if total is None or (plan.not_recommended and not total["recommendations"]):
        return []
    left = total["recommendations"] - total["compared"]
    undecided = f"; {left:,} are not compared: the engine did not decide about them" if left else ""
    return [
        f"Compute Optimizer has a recommendation for {total['recommendations']:,} of "
        f"{len(plan.rows):,} resources: {total['agree']:,} agree with Headroom, "
        f"{total['disagree']:,} differ{undecided}."
    ]


def differing(plan: FleetPlan) -> list[tuple[PlanRow, SecondOpinion]]:
    """The resources that they differ on, the largest difference of price first."""
    found = [(row, row.opinion) for row in plan.rows if row.opinion and not row.opinion.agrees]
    return sorted(found, key=lambda each: -abs(each[1].usd_difference or 0.0))


def cells(row: PlanRow, opinion: SecondOpinion) -> tuple[str, ...]:
    """What both would make of it, with the price of each a month."""
    return (
        row.resource + (f" ({row.name})" if row.name else ""),
        f"{opinion.headroom}, {_usd(opinion.headroom_usd_per_month)}",
        f"{opinion.target}, {_usd(opinion.usd_per_month)}",
        "-" if (usd := opinion.usd_difference) is None else money(usd, signed=True),
        opinion.own_saving,
        opinion.explanation,
    )


def section(plan: FleetPlan, most: int) -> list[Json]:
    """The section of a page; none if Compute Optimizer was not asked."""
    if plan.recommended is None:
        return []
    rows = [
        {"kind": "differs", "cells": cells(row, opinion),
         "sort": [row.resource, opinion.headroom_usd_per_month or 0.0, opinion.usd_per_month or 0.0,
                  opinion.usd_difference or 0.0, opinion.saving_usd or 0.0, opinion.explanation]}
        for row, opinion in differing(plan)[:most]
    ]  # fmt: skip
    return [{"title": TITLE, "columns": COLUMNS, "rows": rows}]


def csv_cells(opinion: SecondOpinion | None) -> list[object]:
    """The values of the columns in CSV files; empty where there is no opinion."""
    fields = {} if opinion is None else opinion.to_json()
    return [fields.get(name) for name in CSV_COLUMNS]


def _usd(amount: float | None) -> str:
    return "price unknown" if amount is None else money(amount)
