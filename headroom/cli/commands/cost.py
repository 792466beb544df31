"""`headroom cost`: the month of running Headroom, item by item."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated

import typer

from headroom.cli.sources.options import AccountOptions, JsonOption
from headroom.cli.terminal.output import emit, err, out, say
from headroom.cli.terminal.problems import OK, BadRequest, Problem
from headroom.cli.views import cost as cost_view
from headroom.cli.views.cost import CostView
from headroom.ports import ReadFailed
from headroom.running_cost import Fleet, rates_of, running_cost, suggestion
from headroom.settings import MOST_ALARM_BUDGET, DeploymentConfig, Detection

AT_RISK_PERCENT = 5.0


def cost(
    volumes: Annotated[
        int | None,
        typer.Option(min=0, help="Number of volumes. Default: the volumes of the account."),
    ] = None,
    databases: Annotated[
        int | None, typer.Option(min=0, help="Number of databases, with --volumes.")
    ] = None,
    paid: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Of the volumes, with --volumes: enrolled ones that cost more than the least of their type, "
            "which are reconciled daily.",
        ),
    ] = None,
    at_risk: Annotated[
        float, typer.Option(min=0, max=100, help="Percent of the volumes under pressure all month.")
    ] = AT_RISK_PERCENT,
    detection: Annotated[
        Detection, typer.Option(help="The deployment's setting `detection`.")
    ] = Detection.ADAPTIVE,
    scan_every: Annotated[
        int,
        typer.Option(
            min=0,
            max=60,
            help="The deployment's setting `scan_every_minutes`; 0 for every 5 if adaptive, else every 15.",
        ),
    ] = 0,
    hub: Annotated[
        bool, typer.Option("--hub", help="Count what forwarding to a hub costs the deployment.")
    ] = False,
    alarm_budget: Annotated[
        int,
        typer.Option(
            min=0, max=MOST_ALARM_BUDGET, help="The deployment's setting `alarm_budget_usd`."
        ),
    ] = DeploymentConfig().alarm_budget_usd,
    as_json: JsonOption = False,
    *,
    options: AccountOptions,
) -> int:
    """Print what a month of running Headroom costs, item by item.

    Counts the account's volumes, databases and clusters, or prices --volumes of them without an
    account. Prices are those of us-east-1, without free tiers. Changes nothing.
    """
    for name, given in (("databases", databases), ("paid", paid)):
        if volumes is None and given is not None:
            raise BadRequest(
                f"--{name} goes with --volumes; without it, both are counted in the account."
            )
    if volumes is not None and (paid or 0) > volumes:
        raise BadRequest(f"--paid {paid:,} is more than --volumes {volumes:,}.")
    if volumes is None:
        fleet, place = _counted(options, at_risk)
    else:  # all with burst credits: the most that this number can cost
        fleet = Fleet(
            volumes=volumes, with_credits=volumes, paid=paid or 0, databases=databases or 0,
            at_risk_percent=at_risk,
        )  # fmt: skip
        enrolled = f", {paid:,} of them reconciled daily" if paid else ""
        place = f"{volumes:,} volumes, all with burst credits{enrolled}"
    settings = DeploymentConfig(
        detection=detection, scan_every_minutes=scan_every, alarm_budget_usd=alarm_budget
    )
    rates = replace(rates_of(settings), hub=hub)
    view = CostView(
        place=place, detection=detection.value, fleet=fleet, cost=running_cost(fleet, rates),
        saving=suggestion(fleet, rates),
    )  # fmt: skip
    if as_json:
        emit(cost_view.as_object(view))
    else:
        cost_view.show(view, out())
    return OK


def _counted(options: AccountOptions, at_risk: float) -> tuple[Fleet, str]:
    # boto3 is slow to import, and --volumes does without
    from headroom.adapters.ebs import EbsStorage
    from headroom.cli.sources.account import account
    from headroom.cli.sources.storage import clusters_of, databases_of

    where = account(**asdict(options))
    volumes = EbsStorage(where.ec2, account_id=where.account_id, region=where.region)
    counts = [0, 0]
    for number, read in enumerate((databases_of, clusters_of)):
        try:
            counts[number] = sum(1 for _ in read(where).fleet())
        except ReadFailed as failed:
            say(f"Databases or clusters are not counted: {failed}.", err(), style="dim")
    try:
        fleet = replace(
            cost_view.counted(view.volume for view in volumes.fleet()),
            at_risk_percent=at_risk, databases=counts[0], clusters=counts[1],
        )  # fmt: skip
    except ReadFailed as failed:
        raise Problem(f"The volumes cannot be read: {failed}.") from None
    return fleet, f"{where.region} of {where.account_id}"
