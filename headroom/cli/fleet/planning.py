"""`headroom plan --all`: every resource screened in batches, then decided where something could change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.progress import Progress

from headroom.cli.fleet.engine import Rules, decided
from headroom.cli.fleet.places import Place, Tags, others
from headroom.cli.fleet.resume import Finished
from headroom.cli.fleet.rows import (
    Change,
    Depth,
    Json,
    PlanRow,
    biggest_first,
    row_from_json,
    totals,
)
from headroom.cli.fleet.screen import SUMMARY_DAYS, plain_row, screened
from headroom.cli.terminal.output import err, say
from headroom.cli.terminal.problems import Problem
from headroom.domain.policy import owner_prices
from headroom.domain.resources import Kind
from headroom.ports import ReadFailed, StorageView

USD_PER_MINUTE = 0.10
"""What a starved minute counts when rows are ordered: the balanced preset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is planned for, and how deep."""

    tags: Tags
    kinds: frozenset[Kind]
    as_if_auto: bool
    deep: int | None
    """At most so many resources go to the engine, the biggest first; None for all that could change."""
    processes: int

    def work(self, places: Sequence[Place]) -> Json:
        """What finished work is of."""
        return {
            "command": "plan --all",
            "places": [f"{place.name} {place.policy.version}" for place in places],
            "tags": list(self.tags), "kinds": sorted(kind.value for kind in self.kinds),
            "as_if_auto": self.as_if_auto,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPlan:
    """The plan of a whole fleet, biggest first."""

    at: datetime
    places: tuple[str, ...]
    policies: tuple[str, ...]
    as_if_auto: bool
    deployed: bool
    rows: tuple[PlanRow, ...]

    @property
    def totals(self) -> Json:
        """The fleet in figures."""
        return totals(self.rows)

    def to_json(self) -> Json:
        """The object that `headroom plan --all --json` prints."""
        return {
            "at": self.at.isoformat(), "places": list(self.places), "policies": list(self.policies),
            "as_if": "auto" if self.as_if_auto else None, "deployed": self.deployed,
            "totals": self.totals, "resources": [row.to_json() for row in self.rows],
            "notes": self.notes(),
        }  # fmt: skip

    def notes(self) -> list[str]:
        """What people must know to read it."""
        depth = self.totals["by_depth"]
        return [
            f"Read how deep: {depth['engine']:,} decided by the deployed engine (3 hours by the minute, "
            f"14 days by five minutes, the past as far as it is kept); {depth['summary']:,} by five "
            f"metrics of {SUMMARY_DAYS} days, one datapoint a day; {depth['configuration']:,} by their "
            "configuration alone.",
            "Each resource is decided about by itself, as if it were the only one: budgets, limits on "
            "changes at once and approvals may spread the changes over days.",
            *(["Every resource counts as enrolled (mode auto) unless it is off; the column Mode says "
               "what it really is."] if self.as_if_auto else []),
            *([] if self.deployed else ["Headroom is not deployed here: earlier changes, budgets and "
                                        "requests are unknown."]),
        ]  # fmt: skip


def planned(places: Sequence[Place], request: Request, finished: Finished) -> FleetPlan:
    """Screen everything, then decide about what could change, the biggest first."""
    rows: list[PlanRow] = []
    console = err()
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        for place in places:
            task = bar.add_task(f"Reading {place.name}", total=None)
            candidates = []
            for row, view in _first_look(place, request):
                bar.advance(task)
                if view is None:
                    rows.append(row)
                else:
                    candidates.append((row, view))
            candidates.sort(key=lambda each: _worth(each[0]), reverse=True)
            deep = len(candidates) if request.deep is None else request.deep
            rows += [row for row, _ in candidates[deep:]]
            known = finished.known
            again = [(row, view) for row, view in candidates[:deep] if row.arn not in known]
            rows += [row_from_json(known[r.arn]) for r, _ in candidates[:deep] if r.arn in known]
            bar.remove_task(task)
            if not console.is_terminal:
                say(f"{place.name}: {len(again):,} resources to decide about.", console)
            task = bar.add_task(f"Deciding in {place.name}", total=len(again))
            done = 0
            for some in decided(
                [view for _, view in again], _rules(place, request), place.where,
                processes=request.processes,
            ):  # fmt: skip
                for row in some:
                    finished.add(row.to_json())
                rows += some
                done += len(some)
                bar.update(task, completed=done)
                if not console.is_terminal and done % 200 < len(some):
                    say(f"{done:,} of {len(again):,} decided", console)
    return FleetPlan(
        at=places[0].where.now, places=tuple(place.name for place in places),
        policies=tuple(dict.fromkeys(f"{p.policy_name}, {p.policy.version}" for p in places)),
        as_if_auto=request.as_if_auto,
        deployed=all(place.deployment is not None for place in places),
        rows=tuple(biggest_first(rows, USD_PER_MINUTE)),
    )  # fmt: skip


def _rules(place: Place, request: Request) -> Rules:
    stack = None if place.deployment is None else place.deployment.stack
    return Rules(
        options=place.options, policy=place.policy, prices=place.prices,
        as_if_auto=request.as_if_auto, now=place.where.now, stack=stack,
    )  # fmt: skip


def _first_look(place: Place, request: Request) -> Iterator[tuple[PlanRow, StorageView | None]]:
    """The row of each resource, with its view where the engine should decide."""
    if Kind.EBS in request.kinds:
        try:
            for one in screened(place.where, place.policy, place.prices, request.tags):
                yield one.row, one.view if one.worth_deciding else None
        except ReadFailed as failed:
            raise Problem(f"The volumes of {place.name} cannot be read: {failed}.") from None
    for view in others(place, set(request.kinds), request.tags):
        prices = owner_prices(place.policy, view.volume, place.prices)
        row = plain_row(
            view.volume, place.policy, prices, change=Change.RAISE, depth=Depth.CONFIGURATION,
            why="not read yet",
        )  # fmt: skip
        yield row, view


def _worth(row: PlanRow) -> tuple[float, float]:
    return row.exceeded_minutes * USD_PER_MINUTE + abs(row.usd_change), row.usd_per_month or 0.0
