"""Screens a whole fleet before the engine: configurations and at most seven metrics each, in few calls.

It finds where nothing can change, so that the engine decides about the rest only. It errs towards
the engine: what is unknown counts as a possible change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise

from headroom.adapters.cloudwatch import DatabaseSummary, LoadSummary, database_summaries, summaries
from headroom.adapters.ebs import EbsStorage
from headroom.cli.fleet.rows import Change, Depth, PlanRow
from headroom.cli.sources.account import Account
from headroom.cli.terminal.names import short
from headroom.domain.catalog import PriceTable
from headroom.domain.catalog.ebs import capability
from headroom.domain.detection import outstanding_at_limit
from headroom.domain.planning import alternatives
from headroom.domain.policy import Mode, Policy, discount_of, events_of, limits_for, owner_prices
from headroom.domain.resources import PriceUnknown, Volume
from headroom.ports import ReadFailed, StorageView
from headroom.proving.replay import why_not_replayable

SUMMARY_DAYS = 14
BATCH = 500
LOW_BALANCE_PERCENT = 90.0
LEAST_DAYS = 7
"""Days on which a database must have published its free space; about a younger one only the engine decides."""
CLEAR_OF_LIMIT = 0.5
"""Share of what a database's storage sustains below which no limit counts as touched: RDS publishes none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened:
    """What the screening says about one resource, and what the engine would begin from."""

    row: PlanRow
    view: StorageView

    @property
    def worth_deciding(self) -> bool:
        """Whether something could change."""
        return self.row.possible


def screened(
    where: Account,
    policy: Policy,
    prices: PriceTable | None,
    tags: Sequence[tuple[str, str]] = (),
    *,
    days: int = SUMMARY_DAYS,
) -> Iterator[Screened]:
    """Every volume that carries all of `tags`, page by page; raises ReadFailed.

    A batch whose metrics cannot be read is left to the engine.
    """
    storage = EbsStorage(where.ec2, account_id=where.account_id, region=where.region)
    views = storage.fleet([{"Name": f"tag:{key}", "Values": [value]} for key, value in tags])
    while batch := list(islice(views, BATCH)):
        watched = [view for view in batch if why_not_replayable(view, policy) is None]
        try:
            found = summaries(where.cloudwatch, watched, where.now, days=days)
        except ReadFailed:
            found = {}
        for view in batch:
            yield screen(view, found.get(view.volume.ref.resource_id), policy, prices)


def screened_databases(
    where: Account, views: Sequence[StorageView], policy: Policy, prices: PriceTable | None, *,
    days: int = SUMMARY_DAYS,
) -> Iterator[Screened]:  # fmt: skip
    """Every one of these databases. Those whose metrics cannot be read are left to the engine."""
    rest = iter(views)
    while batch := list(islice(rest, BATCH)):
        watched = [view for view in batch if why_not_replayable(view, policy) is None]
        try:
            found = database_summaries(where.cloudwatch, watched, where.now, days=days)
        except ReadFailed:
            found = {}
        for view in batch:
            yield screen_database(view, found.get(view.volume.ref.resource_id), policy, prices)


def with_instances(storage: EbsStorage, views: Sequence[StorageView]) -> Iterator[StorageView]:
    """The same with the instance of each that is attached to exactly one; raises ReadFailed."""
    alone = {
        view.volume.ref: view.volume.instance_ids[0]
        for view in views
        if len(view.volume.instance_ids) == 1 and not view.volume.multi_attach
    }
    found = storage.instances(alone.values()) if alone else {}
    for view in views:
        yield replace(view, instance=found.get(alone.get(view.volume.ref, "")))


def screen(
    view: StorageView, summary: LoadSummary | None, policy: Policy, prices: PriceTable | None
) -> Screened:
    """What could change about a volume; without a summary, everything that is not excluded."""
    volume = view.volume
    price = None if prices is None else prices.after_discount(discount_of(policy, volume))
    if (excluded := _excluded(view, policy, price)) is not None:
        return excluded
    if not volume.instance_ids:
        why = "it is detached: nothing is published of it"
        return _row(view, policy, price, change=Change.NONE, why=why, depth=Depth.CONFIGURATION)
    if summary is None:
        why = "its metrics could not be read in a batch"
        return _row(view, policy, price, change=Change.RAISE, why=why, depth=Depth.CONFIGURATION)
    if (expected := _expected(view, policy)) is not None:
        return _row(view, policy, price, change=Change.RAISE, why=expected)
    minutes = summary.exceeded_minutes or 0
    balance = summary.lowest_burst_balance_percent
    if minutes:
        why = f"it touched a limit in {minutes:,} minutes of the days read"
        return _row(view, policy, price, change=Change.RAISE, why=why, minutes=minutes)
    if balance is not None and balance < LOW_BALANCE_PERCENT:
        why = f"its burst credits fell to {balance:.0f} % in the days read"
        return _row(view, policy, price, change=Change.RAISE, why=why)
    if summary.busiest_iops is None or summary.busiest_mibps is None:
        why = "its busiest minutes are not published; only the engine can decide"
        return _row(view, policy, price, change=Change.LOWER, why=why)
    return _cheaper(view, summary.busiest_iops, summary.busiest_mibps, policy, price)


def screen_database(
    view: StorageView, summary: DatabaseSummary | None, policy: Policy, prices: PriceTable | None
) -> Screened:
    """What could change about a database; without a summary, everything that is not excluded."""
    price = owner_prices(policy, view.volume, prices)
    if (excluded := _excluded(view, policy, price)) is not None:
        return excluded
    if summary is None:
        why = "its metrics could not be read in a batch"
        return _row(view, policy, price, change=Change.RAISE, why=why, depth=Depth.CONFIGURATION)
    found = _expected(view, policy) or _trouble(view.volume, summary, policy)
    if found is not None or summary.busiest_iops is None or summary.busiest_mibps is None:
        why = found or "its load is not published"
        return _row(view, policy, price, change=Change.RAISE, why=why)
    return _cheaper(view, summary.busiest_iops, summary.busiest_mibps, policy, price)


def _trouble(volume: Volume, summary: DatabaseSummary, policy: Policy) -> str | None:
    """Why a database may need more, by the days read; None where it is clear of every limit."""
    can, limits = capability(volume.configuration), limits_for(policy, volume).limits
    facts, balance, free = volume.facts, summary.lowest_burst_balance_percent, summary.free_gib
    if facts is None or facts.status != "available" or len(free) < LEAST_DAYS:
        return "its status or its age needs the engine"
    if balance is not None and balance < LOW_BALANCE_PERCENT:
        return f"its burst credits fell to {balance:.0f} % in the days read"
    if (summary.busiest_iops or 0.0) > CLEAR_OF_LIMIT * can.sustained_iops:
        return f"its busiest minutes took up to {summary.busiest_iops:,.0f} IOPS"
    if (summary.busiest_mibps or 0.0) > CLEAR_OF_LIMIT * can.sustained_mibps:
        return f"its busiest minutes took up to {summary.busiest_mibps:,.1f} MiB/s"
    if (summary.longest_queue or 0.0) >= outstanding_at_limit(volume.configuration):
        return f"its queue was {summary.longest_queue:,.1f} long"
    fastest = max(0.0, *(before - after for before, after in pairwise(free)))
    left = free[-1] - fastest * limits.space_horizon_days
    if left < 2 * limits.free_space_percent / 100 * volume.configuration.size_gib:
        return f"it had {free[-1]:,.0f} GiB free and filled up to {fastest:,.1f} GiB a day"
    return None


def _excluded(view: StorageView, policy: Policy, prices: PriceTable | None) -> Screened | None:
    """The row of storage about which nothing is ever decided."""
    reason = why_not_replayable(view, policy)
    if reason is None:
        return None
    off = limits_for(policy, view.volume).limits.mode is Mode.OFF
    change = Change.NONE if off else Change.HOLD
    return _row(view, policy, prices, change=change, why=reason, depth=Depth.CONFIGURATION)


def _expected(view: StorageView, policy: Policy) -> str | None:
    """What is known of its near future."""
    if view.modification is not None and view.modification.in_flight:
        return "a change is under way"
    return "the policy announces load for it" if events_of(policy, view.volume) else None


def _cheaper(
    view: StorageView, iops: float, mibps: float, policy: Policy, prices: PriceTable | None
) -> Screened:
    """Whether a cheaper configuration would have served the busiest minute with the owner's spare."""
    volume = view.volume
    spare = 1 + limits_for(policy, volume).limits.headroom_percent / 100
    offers = alternatives(
        volume.configuration, iops=iops * spare, mibps=mibps * spare, prices=prices
    )
    cheaper = [
        offer for offer in offers
        if offer.target is not None and (offer.price_change_usd or 0) < 0 and not offer.grows
    ]  # fmt: skip
    if not cheaper:
        return _row(
            view, policy, prices, change=Change.NONE, why="nothing cheaper, no limit touched"
        )
    best = cheaper[0]
    moves = best.volume_type is not volume.configuration.volume_type
    why = f"its busiest minute took {iops:,.0f} IOPS and {mibps:,.1f} MiB/s"
    return _row(
        view, policy, prices, change=Change.MOVE if moves else Change.LOWER, why=why,
        target=str(best.target), usd_change=float(best.price_change_usd or 0),
    )  # fmt: skip


def _row(
    view: StorageView, policy: Policy, prices: PriceTable | None, *, change: Change, why: str,
    depth: Depth = Depth.SUMMARY, target: str = "", usd_change: float = 0.0, minutes: int = 0,
) -> Screened:  # fmt: skip
    row = plain_row(
        view.volume, policy, prices, change=change, why=why, depth=depth, target=target,
        usd_change=usd_change, exceeded_minutes=minutes,
    )  # fmt: skip
    return Screened(row=row, view=view)


def plain_row(
    volume: Volume, policy: Policy, prices: PriceTable | None, *, change: Change, why: str,
    depth: Depth, target: str = "", usd_change: float = 0.0, exceeded_minutes: int = 0,
    starved_minutes_per_day: float = 0.0, blocked_by: tuple[str, ...] = (),
) -> PlanRow:  # fmt: skip
    """The row of a volume with what its policy and price are."""
    effective = limits_for(policy, volume)
    return PlanRow(
        resource=short(volume.ref.arn), arn=volume.ref.arn, kind=volume.ref.kind.value,
        name=volume.tag("Name") or "", account_id=volume.ref.account_id, region=volume.ref.region,
        configuration=str(volume.configuration), usd_per_month=_monthly(volume, prices),
        mode=effective.limits.mode.value, enrolled=effective.enrolled, depth=depth, change=change,
        target=target, usd_change=round(usd_change, 4),
        starved_minutes_per_day=round(starved_minutes_per_day, 2),
        exceeded_minutes=exceeded_minutes, blocked_by=blocked_by, why=why,
    )  # fmt: skip


def _monthly(volume: Volume, prices: PriceTable | None) -> float | None:
    try:
        return None if prices is None else round(float(prices.monthly(volume.configuration)), 4)
    except PriceUnknown:
        return None
