"""`headroom assess`: the past of a whole fleet, replayed where something could change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property, partial

from rich.progress import Progress

from headroom.adapters.cloudwatch import LONGEST_DAYS, CloudWatchHistory, Past
from headroom.adapters.ebs import EbsStorage
from headroom.cli.fleet.assessed import (
    DAYS_PER_MONTH,
    AssessedRow,
    Assessment,
    Json,
    assessed_from_json,
    worst_first,
)
from headroom.cli.fleet.places import Place, Tags, others
from headroom.cli.fleet.pool import portable, worked
from headroom.cli.fleet.resume import Finished
from headroom.cli.fleet.rows import PlanRow
from headroom.cli.fleet.screen import screened, with_instances
from headroom.cli.replay import clusters as replay_clusters
from headroom.cli.replay.batch import TRAINING_DAYS
from headroom.cli.replay.batch import Rules as ReplayRules
from headroom.cli.sources.account import Account
from headroom.cli.sources.storage import clusters_of, databases_of
from headroom.cli.terminal.names import short
from headroom.cli.terminal.output import err, say
from headroom.cli.terminal.problems import BadRequest, Problem
from headroom.cli.views.cost import CostView, counted
from headroom.domain.catalog import PriceTable
from headroom.domain.policy import Policy, limits_for
from headroom.domain.resources import Kind, PriceUnknown
from headroom.ports import ReadFailed, ResourceGone, StorageView
from headroom.proving.replay import NotReplayed, Replayed, by_instance, chunks, replay_together
from headroom.running_cost import Fleet, Rates, running_cost, suggestion

CHUNK = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is assessed."""

    days: int
    tags: Tags
    kinds: frozenset[Kind]
    processes: int

    def work(self, places: Sequence[Place]) -> Json:
        """What finished work is of."""
        return {
            "command": "assess", "days": self.days, "tags": list(self.tags),
            "places": [f"{place.name} {place.policy.version}" for place in places],
            "kinds": sorted(kind.value for kind in self.kinds),
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What every resource of one account and Region is replayed under."""

    policy: Policy
    prices: PriceTable
    until: datetime
    days: int


class Replayer:
    """Reads and replays resources of one account and Region."""

    def __init__(self, rules: Rules, where: Account) -> None:
        self._rules = rules
        self._where = where
        self._history = CloudWatchHistory(where.cloudwatch)

    @cached_property
    def _volumes(self) -> EbsStorage:
        where = self._where
        return EbsStorage(where.ec2, account_id=where.account_id, region=where.region)

    def __call__(self, views: Sequence[StorageView]) -> list[AssessedRow]:
        """A row of each; what cannot be read or replayed says why. Reads the next while one is played."""
        groups = by_instance(self._whole(views))
        with ThreadPoolExecutor(max_workers=1) as reader:
            read = [[(view, reader.submit(self._past, view)) for view in group] for group in groups]
            return [row for group in read for row in self._rows(group)]

    def _past(self, view: StorageView) -> Past:
        days = min(LONGEST_DAYS, self._rules.days + TRAINING_DAYS)
        return self._history.read([view], self._rules.until, days)[view.volume.ref.resource_id]

    def _whole(self, views: Sequence[StorageView]) -> Iterator[StorageView]:
        """The same with instances; those that cannot be read are left as they are."""
        volumes = [view for view in views if view.volume.ref.kind is Kind.EBS]
        try:
            yield from with_instances(self._volumes, volumes)
        except ReadFailed:
            yield from volumes
        storage = databases_of(self._where) if len(volumes) < len(views) else None
        for view in views:
            if storage is not None and view.volume.ref.kind is Kind.RDS:
                try:
                    yield storage.view(view.volume.ref)
                except (ReadFailed, ResourceGone):
                    yield view

    def _rows(self, group: Sequence[tuple[StorageView, Future[Past]]]) -> Iterator[AssessedRow]:
        """The rows of the volumes of one instance, each replayed beside the raises of the others."""
        rules, known = self._rules, list[tuple[StorageView, Past]]()
        since = rules.until.replace(second=0, microsecond=0) - timedelta(days=rules.days)
        for view, past in group:
            try:
                known.append((view, past.result()))
            except ReadFailed as failed:
                yield self._missed(view, f"its metrics could not be read: {failed}", failed=True)
            except Exception as error:  # one resource's trouble must not hide the others
                yield self._missed(view, f"{type(error).__name__}: {error}", failed=True)
        played = replay_together(known, rules.policy, rules.prices, since=since)
        for (view, _), one in zip(known, played, strict=True):
            if isinstance(one, NotReplayed):
                yield self._missed(view, str(one), failed=False)
            elif isinstance(one, Exception):
                yield self._missed(view, f"{type(one).__name__}: {one}", failed=True)
            else:
                yield _replayed_row(one, rules)

    def _missed(self, view: StorageView, why: str, *, failed: bool) -> AssessedRow:
        return bare_row(view, self._rules.policy, self._rules.prices, why=why, failed=failed)


def _replayed_row(found: Replayed, rules: Rules) -> AssessedRow:
    alone, headroom = found.left_alone, found.headroom
    changed = headroom.changes[-1].target if headroom.changes else None
    target = "" if changed in (None, found.view.volume.configuration) else str(changed)
    return bare_row(
        found.view, rules.policy, rules.prices, replayed=True,
        starved_minutes=alone.starved_minutes, starved_minutes_headroom=headroom.starved_minutes,
        usd_change=round(float(found.usd_change) / rules.days * DAYS_PER_MONTH, 4), target=target,
        changes=len(headroom.changes), blocked_by=tuple(name for name, _ in headroom.blocked_by),
    )  # fmt: skip


def bare_row(
    view: StorageView, policy: Policy, prices: PriceTable, *, why: str = "", failed: bool = False,
    replayed: bool = False, starved_minutes: int = 0, starved_minutes_headroom: int = 0,
    usd_change: float = 0.0, target: str = "", changes: int = 0, blocked_by: tuple[str, ...] = (),
) -> AssessedRow:  # fmt: skip
    """The row of a resource with what its policy and price are."""
    volume, effective = view.volume, limits_for(policy, view.volume)
    limits = effective.limits
    try:
        usd = float(prices.after_discount(limits.discount_percent).monthly(volume.configuration))
    except PriceUnknown:
        usd = None
    return AssessedRow(
        resource=short(volume.ref.arn), arn=volume.ref.arn, kind=volume.ref.kind.value,
        name=volume.tag("Name") or "", account_id=volume.ref.account_id, region=volume.ref.region,
        configuration=str(volume.configuration), usd_per_month=usd, mode=limits.mode.value,
        enrolled=effective.enrolled, replayed=replayed, failed=failed, why=why,
        starved_minutes=starved_minutes, starved_minutes_headroom=starved_minutes_headroom,
        usd_change=usd_change, target=target, changes=changes, blocked_by=blocked_by,
        relief_usd_per_minute=limits.relief_value_usd_per_minute,
    )  # fmt: skip


@dataclass(slots=True)
class _Counts:
    """What the bill of running Headroom is counted from."""

    volumes: int = 0
    with_credits: int = 0
    paid: int = 0
    databases: int = 0
    clusters: int = 0
    exceeded_minutes: int = 0

    def add(self, view: StorageView, row: PlanRow) -> None:
        one = counted((view.volume,))
        self.volumes += one.volumes
        self.with_credits += one.with_credits
        self.paid += one.paid
        self.exceeded_minutes += row.exceeded_minutes

    def fleet(self, days: int) -> Fleet:
        """With the share of the volumes that touched a limit, on average over the days."""
        minutes = self.volumes * days * 24 * 60
        return Fleet(
            volumes=self.volumes, with_credits=self.with_credits, paid=self.paid,
            databases=self.databases, clusters=self.clusters,
            at_risk_percent=round(100 * self.exceeded_minutes / minutes, 2) if minutes else 0.0,
        )  # fmt: skip


def assessed(places: Sequence[Place], request: Request, finished: Finished) -> Assessment:
    """Screen everything, then replay what starved or could cost less; raises Problem."""
    rows: list[AssessedRow] = []
    clusters: list[Json] = []
    counts = _Counts()
    for place in places:
        rows += _of_place(place, request, finished, counts)
        clusters += _clusters(place, request, counts)
    fleet, rates = counts.fleet(request.days), Rates()
    return Assessment(
        at=places[0].where.now, days=request.days, places=tuple(place.name for place in places),
        policies=tuple(dict.fromkeys(f"{p.policy_name}, {p.policy.version}" for p in places)),
        rows=tuple(worst_first(rows)), clusters=tuple(clusters),
        cost=CostView(
            place=", ".join(place.name for place in places), detection=rates.detection.value, fleet=fleet,
            cost=running_cost(fleet, rates), saving=suggestion(fleet, rates),
        ),
    )  # fmt: skip


def _of_place(
    place: Place, request: Request, finished: Finished, counts: _Counts
) -> Iterator[AssessedRow]:
    if place.prices is None:
        raise BadRequest(f"An assessment needs prices, and none are known in {place.where.region}.")
    policy, prices, known = place.policy, portable(place.prices), finished.known
    replayable, again = list[StorageView](), list[StorageView]()
    console = err()
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(f"Reading {place.name}", total=None)
        try:
            for view, why in _screened(place, request, counts):
                bar.advance(task)
                if why is not None:
                    yield bare_row(view, policy, prices, why=why)
                else:
                    replayable.append(view)
        except ReadFailed as failed:
            raise Problem(f"The volumes of {place.name} cannot be read: {failed}.") from None
        for group in by_instance(replayable):
            arns = [view.volume.ref.arn for view in group]
            if set(arns) <= known.keys():
                yield from (assessed_from_json(known[arn]) for arn in arns)
            else:  # those of one instance are replayed beside each other
                again += group
        bar.remove_task(task)
        say(f"{place.name}: {len(again):,} resources to replay.", console, style="dim")
        task = bar.add_task(f"Replaying {place.name}", total=len(again))
        rules = Rules(policy=policy, prices=prices, until=place.where.now, days=request.days)
        done = 0
        for some in worked(
            chunks(again, CHUNK), partial(Replayer, rules), place.where, place.options,
            processes=request.processes,
        ):  # fmt: skip
            for row in some:
                finished.add(row.to_json())
            yield from some
            done += len(some)
            bar.update(task, completed=done)
            if not console.is_terminal and done % 100 < len(some):
                say(f"{done:,} of {len(again):,} replayed", console)


def _screened(
    place: Place, request: Request, counts: _Counts
) -> Iterator[tuple[StorageView, str | None]]:
    """Every volume and database, and why it need not be replayed; None where it must be."""
    if Kind.EBS in request.kinds:
        for one in screened(
            place.where, place.policy, place.prices, request.tags, days=request.days
        ):
            counts.add(one.view, one.row)
            yield one.view, None if one.worth_deciding else one.row.why
    for view in others(place, set(request.kinds) & {Kind.RDS}, request.tags):
        counts.databases += 1
        yield view, None


def _clusters(place: Place, request: Request, counts: _Counts) -> list[Json]:
    """Aurora clusters, by days and both bills; few, and read one after another."""
    views = others(place, set(request.kinds) & {Kind.AURORA}, request.tags)
    if not views or place.prices is None:
        return []
    counts.clusters += len(views)
    storage = clusters_of(place.where, price_list=place.where.price_list)
    rules = ReplayRules(
        until=place.where.now, days=request.days, policy=place.policy, prices=place.prices
    )
    whole = []
    for view in views:
        try:
            whole.append(storage.view(view.volume.ref))
        except (ReadFailed, ResourceGone) as problem:
            say(f"{short(view.volume.ref.arn)} cannot be read: {problem}.", err())
    found = replay_clusters.replayed_clusters(whole, place.where, storage, rules)
    return replay_clusters.as_objects(tuple(found))
