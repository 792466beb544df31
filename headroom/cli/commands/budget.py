"""`headroom budget`: what uses the account's budget, and whether its total is right."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from headroom.adapters.ebs import volumes_by_id
from headroom.adapters.ledger import read_budget
from headroom.cli.sources.account import Account
from headroom.cli.sources.deployment import Deployment, deployment, reading
from headroom.cli.sources.options import DeploymentOptions, JsonOption
from headroom.cli.sources.published import published_policy
from headroom.cli.sources.storage import databases_of
from headroom.cli.terminal.output import emit, err, money, out, say, table, utc
from headroom.cli.terminal.problems import FAILED, OK
from headroom.domain.catalog import PriceTable
from headroom.domain.ledger import Budget, Holding
from headroom.domain.policy import Policy, PolicyUnreadable, limits_for, owner_prices
from headroom.domain.resources import Kind, PriceUnknown, Volume
from headroom.domain.state import micro_usd
from headroom.ports import ReadFailed

COLUMNS = (
    "storage", "counts", "in force", "reserved", "limit", "at enrolment", "now", "since", "decision",
)  # fmt: skip
ENDED = "gone"
"""Said instead of a price of what EC2 or RDS does not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetView:
    """A budget with what the policy, EC2, RDS and the price list say of it."""

    place: Deployment
    budget: Budget
    policy: Policy | PolicyUnreadable
    volumes: Mapping[Kind, Mapping[str, Volume]]
    """By kind and id; a kind that could not be asked about is missing."""
    prices: PriceTable | None

    @property
    def limit_usd(self) -> Decimal | None:
        """The account's limit; None while the policy cannot be read: then nothing is bought."""
        policy = self.policy
        return None if isinstance(policy, PolicyUnreadable) else policy.account_increase_usd

    def now_usd(self, holding: Holding) -> Decimal | str | None:
        """The monthly price of the storage as it is, `gone`, or None where that is not known."""
        known = self.volumes.get(holding.ref.kind)
        if known is None:
            return None
        volume = known.get(holding.ref.resource_id)
        if volume is None:
            return ENDED
        try:
            prices = owner_prices(self.policy, volume, self.prices)
            return None if prices is None else prices.monthly(volume.configuration)
        except PriceUnknown:
            return None

    def resource_limit_usd(self, holding: Holding) -> Decimal | None:
        """What the policy and the volume's tags allow it; None where they are not known."""
        volume = self.volumes.get(holding.ref.kind, {}).get(holding.ref.resource_id)
        if volume is None or isinstance(self.policy, PolicyUnreadable):
            return None
        return limits_for(self.policy, volume).limits.price_increase_usd


def budget(as_json: JsonOption = False, *, where: DeploymentOptions) -> int:
    """Show which volumes use the account's budget for price increases, most expensive first.

    Reads the whole state table and checks that the account's total equals the sum of its volumes.
    Exit code 1 if it does not.
    """
    view = _read(deployment(where))
    if as_json:
        emit(as_object(view))
    else:
        _print(view)
    return FAILED if view.budget.drift_usd else OK


def _read(here: Deployment) -> BudgetView:
    where = here.account
    with reading("The budget"):
        found = read_budget(
            where.client("dynamodb"), table=here.state_table, account_id=where.account_id,
            region=where.region,
        )  # fmt: skip
    volumes = {}
    for kind, ask in ((Kind.EBS, _volumes), (Kind.RDS, _databases)):
        ids = {h.ref.resource_id for h in found.holdings if h.ref.kind is kind}
        try:
            volumes[kind] = ask(where, ids) if ids else {}
        except ReadFailed as problem:
            err().print(f"Current prices are missing: {problem}", markup=False, style="dim")
    try:
        prices = where.prices.table(where.region)
    except PriceUnknown:
        prices = None
    return BudgetView(
        place=here, budget=found, policy=published_policy(where), volumes=volumes, prices=prices
    )


def _volumes(where: Account, ids: Set[str]) -> Mapping[str, Volume]:
    return volumes_by_id(where.ec2, ids, account_id=where.account_id, region=where.region)


def _databases(where: Account, ids: Set[str]) -> Mapping[str, Volume]:
    """Databases by id; RDS lists several at once only by listing all."""
    everything = (view.volume for view in databases_of(where).fleet())
    return {each.ref.resource_id: each for each in everything if each.ref.resource_id in ids}


def as_object(view: BudgetView) -> dict[str, Any]:
    """One JSON object; money in USD a month."""
    found, limit = view.budget, view.limit_usd
    return {
        "account": view.place.account.account_id,
        "region": view.place.account.region,
        "at": view.place.account.now,
        "limit_usd": limit,
        "increase_usd": found.sum_usd,
        "left_usd": None if limit is None else max(limit - found.sum_usd, Decimal(0)),
        "sum_of_volumes_usd": found.parts_usd,
        "drift_usd": found.drift_usd,
        "enrolled_without_increase": found.free,
        "volumes": [_holding(view, each) for each in found.holdings],
    }


def _holding(view: BudgetView, holding: Holding) -> dict[str, Any]:
    now = view.now_usd(holding)
    return {
        "resource": holding.ref.arn,
        "enrolment_usd": holding.enrolment_usd,
        "now_usd": None if isinstance(now, str) else now,
        "exists": None if holding.ref.kind not in view.volumes else not isinstance(now, str),
        "counted_usd": holding.counted_usd,
        "in_force_usd": holding.in_force_usd,
        "reserved_usd": holding.reserved_usd,
        "limit_usd": view.resource_limit_usd(holding),
        "since": holding.since,
        "decision_id": holding.decision_id,
    }


def _print(view: BudgetView) -> None:
    found, limit = view.budget, view.limit_usd
    if found.holdings:
        rows = [_row(view, each) for each in found.holdings]
        out().print(table("Increases, in USD a month", COLUMNS, rows))
    total = money(found.sum_usd)
    if limit is None:
        line = f"{total} a month used; the policy is unreadable, so Headroom changes nothing"
    elif found.sum_usd > limit:
        line = (
            f"{total} of {money(limit)} a month used: {money(found.sum_usd - limit)} above the "
            "limit, so no change may cost more until enough is given back"
        )
    else:
        left = money(limit - found.sum_usd)
        line = f"{total} of {money(limit)} a month used, {left} left"
    say(f"{line} ({view.place.place}).")
    volumes = "volume uses" if found.free == 1 else "volumes use"
    say(f"{found.free} more enrolled {volumes} none of it.")
    if found.drift_usd:
        say(sum_drift(view))


def sum_drift(view: BudgetView) -> str:
    """What a wrong total means, and how to correct it."""
    found = view.budget
    more = "more" if found.drift_usd > 0 else "less"
    effect = (
        "less than the limit is used"
        if found.drift_usd > 0
        else "as much may be spent above the limit"
    )
    return (
        f"WRONG: the account's total is ${abs(found.drift_usd):f} a month {more} than its volumes "
        f"use, so {effect}. Headroom writes both in one transaction, so somebody edited the "
        "table or restored a part of it. Run `headroom pause`, check again, and set "
        f"`account_increase_micro_usd` of the item `budget` to {micro_usd(found.parts_usd)}."
    )


def _row(view: BudgetView, holding: Holding) -> tuple[str, ...]:
    now, limit = view.now_usd(holding), view.resource_limit_usd(holding)
    return (
        holding.ref.resource_id,
        money(holding.counted_usd),
        money(holding.in_force_usd),
        money(holding.reserved_usd),
        "?" if limit is None else money(limit),
        "?" if holding.enrolment_usd is None else money(holding.enrolment_usd),
        now if isinstance(now, str) else "?" if now is None else money(now),
        "?" if holding.since is None else utc(holding.since),
        holding.decision_id or "?",
    )
