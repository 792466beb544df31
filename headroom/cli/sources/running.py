"""What running Headroom costs in an account, and the increases in force there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal

from headroom.adapters.ebs import EbsStorage
from headroom.adapters.ledger import account_sum, read_budget
from headroom.cli.sources.account import Account, account
from headroom.cli.sources.deployment import Deployment, deployment_in
from headroom.cli.sources.options import DEFAULT_STACK, RecordsOptions
from headroom.cli.sources.storage import clusters_of, databases_of
from headroom.cli.terminal.output import err, say
from headroom.cli.terminal.problems import Problem
from headroom.cli.views.cost import CostView, counted
from headroom.domain.state import KnownModification
from headroom.ports import ReadFailed
from headroom.running_cost import Rates, running_cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Increases:
    """The increases in force in an account and Region."""

    sum_usd: Decimal
    resources: frozenset[str]
    """ARNs of what has one."""
    deployment: Deployment

    def modifications(self, resources: Iterable[str]) -> dict[str, tuple[KnownModification, ...]]:
        """The known modifications of these ARNs; raises ReadFailed."""
        here, now = self.deployment, self.deployment.account.now
        return {
            arn: here.ledger.resource_state(here.ref(arn), now).modifications for arn in resources
        }


def running_now(
    where: RecordsOptions, starved_minutes: float, *, since: datetime, until: datetime
) -> tuple[CostView | None, Increases | None]:
    """A month of running Headroom on the storage there is now, and the increases in force.

    `starved_minutes` of all resources together say how much of the fleet was under pressure. None
    for what cannot be read; what is missing is said on stderr.
    """
    here = account(
        region=where.region, profile=where.profile, endpoint_url=where.endpoint_url,
        local=where.local,
    )  # fmt: skip
    return _cost(here, starved_minutes, until - since), _increases(here, where)


def _cost(here: Account, starved_minutes: float, span: timedelta) -> CostView | None:
    try:
        ebs = EbsStorage(here.ec2, account_id=here.account_id, region=here.region)
        fleet = counted(view.volume for view in ebs.fleet())
        databases, clusters = (
            sum(1 for _ in read(here).fleet()) for read in (databases_of, clusters_of)
        )
    except ReadFailed as problem:
        say(f"The fleet is not counted: {problem}.", err(), style="dim")
        return None
    minutes = fleet.volumes * (span / timedelta(minutes=1))
    share = min(100.0, 100 * starved_minutes / minutes) if minutes else 0.0
    fleet = replace(fleet, databases=databases, clusters=clusters, at_risk_percent=round(share, 4))
    return CostView(
        place=f"{here.region} of {here.account_id}", detection=Rates().detection.value, fleet=fleet,
        cost=running_cost(fleet, Rates()), saving=None,
    )  # fmt: skip


def _increases(here: Account, where: RecordsOptions) -> Increases | None:
    try:
        found = deployment_in(here, where.stack or DEFAULT_STACK)
        table = found.state_table
        client = here.client("dynamodb")
        place = {"account_id": here.account_id, "region": here.region}
        if not account_sum(client, table=table, **place):
            return Increases(sum_usd=Decimal(0), resources=frozenset(), deployment=found)
        budget = read_budget(client, table=table, **place)
    except (Problem, ReadFailed) as problem:
        say(f"The increases in force are not known: {problem}", err(), style="dim")
        return None
    return Increases(
        sum_usd=budget.sum_usd, resources=frozenset(each.ref.arn for each in budget.holdings),
        deployment=found,
    )  # fmt: skip
