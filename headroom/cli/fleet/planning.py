"""`headroom plan --all`: every resource screened in batches, then decided where something could change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from rich.progress import Progress

from headroom.adapters.compute_optimizer import Recommendation
from headroom.cli.fleet.engine import Rules, decided
from headroom.cli.fleet.places import Place, Tags, others
from headroom.cli.fleet.resume import Finished
from headroom.cli.fleet.rows import (
    Change,
    Depth,
    Json,
    PlanRow,
    biggest_first,
    opinion_totals,
    row_from_json,
    totals,
)
from headroom.cli.fleet.screen import (
    SUMMARY_DAYS,
    Screened,
    plain_row,
    screened,
    screened_databases,
)
from headroom.cli.second_opinion.opinion import both_keep, keeps
from headroom.cli.second_opinion.reading import Recommended, recommended
from headroom.cli.terminal.output import err, say
from headroom.cli.terminal.problems import Problem
from headroom.domain.policy import owner_prices
from headroom.domain.resources import Kind
from headroom.ports import ReadFailed, StorageView
from headroom.proving.replay import by_instance

NONE = Recommended()
USD_PER_MINUTE = 0.10
"""What a starved minute counts when rows are ordered: the balanced preset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is planned for, and how deep."""

    tags: Tags
    kinds: frozenset[Kind]
    as_if_auto: bool
    deep: int | None
    """The most resources that the engine decides about, biggest first; None for all that could change."""
    processes: int
    second_opinion: bool = False
    """Whether Compute Optimizer is asked too."""

    def work(self, places: Sequence[Place]) -> Json:
        """What finished work is of."""
        return {
            "command": "plan --all",
            "places": [f"{place.name} {place.policy.version}" for place in places],
            "tags": list(self.tags), "kinds": sorted(kind.value for kind in self.kinds),
            "as_if_auto": self.as_if_auto, "second_opinion": self.second_opinion,
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
    recommended: int | None = None
    """Resources that Compute Optimizer has a recommendation for; None if it was not asked."""
    not_recommended: tuple[str, ...] = ()
    """Why recommendations are missing."""

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
            **({} if (found := opinion_totals(self.rows, self.recommended)) is None
               else {"second_opinion": found}),
        }  # fmt: skip

    def notes(self) -> list[str]:
        """What people must know to read it."""
        depth = self.totals["by_depth"]
        return [
            f"Read how deep: {depth['engine']:,} decided by the deployed engine (3 hours by the minute, "
            f"14 days by five minutes, the past as far as it is kept); {depth['summary']:,} by five metrics "
            f"(databases: seven) of {SUMMARY_DAYS} days, one datapoint a day; {depth['configuration']:,} by their "
            "configuration alone.",
            "The volumes of one instance are planned one after another, the most starved first, so that "
            "together they get no more than it gives. Apart from that each resource is planned as if it were "
            "the only one: budgets, limits on changes at once and approvals may spread the changes over days.",
            *(["Every resource counts as enrolled (mode auto) unless it is off; the column Mode says "
               "what it really is."] if self.as_if_auto else []),
            *([] if self.deployed else ["Headroom is not deployed here: earlier changes, budgets and "
                                        "requests are unknown."]),
            *(f"{note}." for note in self.not_recommended),
        ]  # fmt: skip


def planned(places: Sequence[Place], request: Request, finished: Finished) -> FleetPlan:
    """Screen everything, then decide about what could change, the biggest first."""
    rows: list[PlanRow] = []
    known_advice, missing = 0, list[str]()
    console = err()
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        for place in places:
            task = bar.add_task(f"Reading {place.name}", total=None)
            candidates = []
            advice = recommended(place.where, request.kinds) if request.second_opinion else NONE
            missing += advice.notes
            for row, view in _screened(place, request, advice.by_arn):
                bar.advance(task)
                known_advice += row.arn in advice.by_arn
                if view is None:
                    rows.append(row)
                else:
                    candidates.append((row, view))
            candidates.sort(key=lambda each: _worth(each[0]), reverse=True)
            deep = len(candidates) if request.deep is None else request.deep
            rows += [row for row, _ in candidates[deep:]]
            chosen = {row.arn: view for row, view in candidates[:deep]}
            groups = by_instance(chosen.values())
            # What was decided about part of an instance is decided again, beside the rest of it.
            known = {
                arn: finished.known[arn] for group in groups for arn in _whole(group, finished)
            }
            again = [view for arn, view in chosen.items() if arn not in known]
            rows += [row_from_json(row) for row in known.values()]
            bar.remove_task(task)
            if not console.is_terminal:
                say(f"{place.name}: {len(again):,} resources to decide about.", console)
            task = bar.add_task(f"Deciding in {place.name}", total=len(again))
            done = 0
            for some in decided(
                again, _rules(place, request, advice.by_arn), place.where, processes=request.processes
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
        recommended=known_advice if request.second_opinion else None,
        not_recommended=tuple(dict.fromkeys(missing)),
    )  # fmt: skip


def _whole(group: Sequence[StorageView], finished: Finished) -> list[str]:
    """The ARNs of a group about which all is decided."""
    arns = [view.volume.ref.arn for view in group]
    return arns if set(arns) <= finished.known.keys() else []


def _rules(place: Place, request: Request, advice: Mapping[str, Recommendation]) -> Rules:
    stack = None if place.deployment is None else place.deployment.stack
    return Rules(
        options=place.options, policy=place.policy, prices=place.prices,
        as_if_auto=request.as_if_auto, now=place.where.now, stack=stack, recommended=advice,
    )  # fmt: skip


def _screened(
    place: Place, request: Request, advice: Mapping[str, Recommendation]
) -> Iterator[tuple[PlanRow, StorageView | None]]:
    """The row of each resource, with its view where the engine should decide.

    It also decides where Compute Optimizer recommends a change that the screening does not see.
    """
    if Kind.EBS in request.kinds:
        try:
            for one in screened(place.where, place.policy, place.prices, request.tags):
                yield _with_opinion(one, advice.get(one.row.arn))
        except ReadFailed as failed:
            raise Problem(f"The volumes of {place.name} cannot be read: {failed}.") from None
    views = others(place, set(request.kinds), request.tags)
    databases = [view for view in views if view.volume.ref.kind is Kind.RDS]
    for one in screened_databases(place.where, databases, place.policy, place.prices):
        yield _with_opinion(one, advice.get(one.row.arn))
    for view in views:
        if view.volume.ref.kind is Kind.RDS:
            continue
        prices = owner_prices(place.policy, view.volume, place.prices)
        row = plain_row(
            view.volume, place.policy, prices, change=Change.RAISE, depth=Depth.CONFIGURATION,
            why="not read yet",
        )  # fmt: skip
        yield row, view


def _with_opinion(
    one: Screened, advice: Recommendation | None
) -> tuple[PlanRow, StorageView | None]:
    row, current = one.row, one.view.volume.configuration
    if one.worth_deciding:
        return row, one.view
    if advice is None or row.depth is Depth.CONFIGURATION:
        return row, None
    if not keeps(advice, current):
        return row, one.view
    return replace(row, opinion=both_keep(advice, current, row.usd_per_month)), None


def _worth(row: PlanRow) -> tuple[float, float]:
    return row.exceeded_minutes * USD_PER_MINUTE + abs(row.usd_change), row.usd_per_month or 0.0
