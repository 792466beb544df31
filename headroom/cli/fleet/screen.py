"""The first look at a whole fleet: configurations and five metrics each, in few calls.

It finds where nothing can change, so that the engine decides about the rest only. It errs towards
the engine: what is unknown counts as a possible change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from headroom.adapters.cloudwatch import LoadSummary, summaries
from headroom.adapters.ebs import EbsStorage
from headroom.cli.fleet.rows import Change, Depth, PlanRow
from headroom.cli.sources.account import Account
from headroom.cli.terminal.names import short
from headroom.domain.catalog import PriceTable
from headroom.domain.planning import alternatives
from headroom.domain.policy import Mode, Policy, discount_of, events_of, limits_for
from headroom.domain.resources import PriceUnknown, Volume
from headroom.ports import ReadFailed, StorageView
from headroom.proving.replay import why_not_replayable

SUMMARY_DAYS = 14
BATCH = 500
LOW_BALANCE_PERCENT = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened:
    """What the first look says about one resource, and what the engine would begin from."""

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
    reason = why_not_replayable(view, policy)
    price = None if prices is None else prices.after_discount(discount_of(policy, volume))
    if reason is not None:
        off = limits_for(policy, volume).limits.mode is Mode.OFF
        change = Change.NONE if off else Change.HOLD
        return _row(view, policy, price, change=change, why=reason, depth=Depth.CONFIGURATION)
    if not volume.instance_ids:
        why = "it is detached: nothing is published of it"
        return _row(view, policy, price, change=Change.NONE, why=why, depth=Depth.CONFIGURATION)
    if summary is None:
        why = "its metrics could not be read in a batch"
        return _row(view, policy, price, change=Change.RAISE, why=why, depth=Depth.CONFIGURATION)
    if view.modification is not None and view.modification.in_flight:
        why = "a change is under way"
        return _row(view, policy, price, change=Change.RAISE, why=why)
    if events_of(policy, volume):
        why = "the policy announces load for it"
        return _row(view, policy, price, change=Change.RAISE, why=why)
    minutes = summary.exceeded_minutes or 0
    balance = summary.lowest_burst_balance_percent
    if minutes:
        why = f"it touched a limit in {minutes:,} minutes of the days read"
        return _row(view, policy, price, change=Change.RAISE, why=why, minutes=minutes)
    if balance is not None and balance < LOW_BALANCE_PERCENT:
        why = f"its burst credits fell to {balance:.0f} % in the days read"
        return _row(view, policy, price, change=Change.RAISE, why=why)
    if summary.busiest_iops is None or summary.busiest_mibps is None:
        why = "its busiest minutes are not published, only the engine can tell"
        return _row(view, policy, price, change=Change.LOWER, why=why)
    return _cheaper(view, summary.busiest_iops, summary.busiest_mibps, policy, price)


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
