"""`headroom plan`: what Headroom would do about one resource now, and why; it only reads."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from headroom.application import DryRunResult, decide_dry_run
from headroom.cli.fleet.options import FleetOptions
from headroom.cli.loading import imported
from headroom.cli.policy.show import in_force
from headroom.cli.second_opinion import one_resource as opinions
from headroom.cli.sources.account import account
from headroom.cli.sources.deployment import reading
from headroom.cli.sources.dry_run import deployment_or_none, dry_run_ports
from headroom.cli.sources.options import DeploymentOptions, JsonOption
from headroom.cli.terminal.names import named, short
from headroom.cli.terminal.output import emit, out
from headroom.cli.terminal.problems import OK, BadRequest, Problem
from headroom.cli.views import plan as planned
from headroom.domain.catalog import PriceTable
from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import Decision
from headroom.domain.planning import alternatives
from headroom.domain.resources import PriceUnknown, ResourceRef
from headroom.ports import Ports, ResourceGone

MOST = 1_000_000
NOT_DEPLOYED = "Headroom is not deployed here: earlier changes, budgets and requests are unknown"


def plan(
    resource: Annotated[
        str | None, typer.Argument(help="vol-ID, db:NAME, cluster:NAME, or its ARN.")
    ] = None,
    policy: Annotated[
        Path | None, typer.Option(help="Policy file. Default: the published policy.")
    ] = None,
    iops: Annotated[
        int | None,
        typer.Option(min=1, max=MOST, help="Price every volume type for this many IOPS."),
    ] = None,
    mibps: Annotated[
        int | None,
        typer.Option(min=1, max=MOST, help="Price every volume type for this many MiB/s."),
    ] = None,
    as_json: JsonOption = False,
    second_opinion: Annotated[
        bool,
        typer.Option("--second-opinion", help="Compare with Compute Optimizer's recommendations."),
    ] = False,
    *,
    options: DeploymentOptions,
    fleet: FleetOptions,
) -> int:
    """Show what Headroom would do about one volume or database, or about all, and why. Changes nothing.

    Reads the same data as the deployed functions, and decides as they do. Without a deployment,
    one resource needs --policy, and --all falls back to the default policy; what only the tables
    record is then unknown.

    With --all it plans for the whole fleet, biggest change first. --region and --profile may then
    name several, with commas. Exit code 2 when changes are due, 0 when not, 1 after an error.
    """
    if fleet.all:
        if resource is not None or iops is not None or mibps is not None:
            raise BadRequest(
                "--all plans for every resource: leave the name, --iops and --mibps out."
            )
        plan_all = imported("headroom.cli.fleet.command:plan_all")
        return int(plan_all(options, fleet, policy, as_json=as_json, second_opinion=second_opinion))
    if resource is None:
        raise BadRequest("Name a resource, such as vol-0123456789abcdef0, or give --all.")
    if fleet != FleetOptions():
        raise BadRequest("--tag, --kind, --as-if, --deep, --csv, --html and --resume need --all.")
    where = account(**asdict(options.account), databases=True)
    ref = named(resource, account_id=where.account_id, region=where.region)
    rules, name = in_force(where, policy)
    here = deployment_or_none(where, options.stack)
    ports = dry_run_ports(where, rules, here, cluster=ref.resource_id.startswith("cluster:"))
    found = _foreseen(ports, ref, where.now)
    decision = found.decision
    remarks = found.remarks if here is not None else (NOT_DEPLOYED, *found.remarks)
    prices = _table(ports, where.region)
    opinion = opinions.opinion_on(where, decision, rules, prices) if second_opinion else None
    remarks = (*remarks, opinion) if isinstance(opinion, str) else remarks
    view = planned.PlanView(
        decision=decision, policy=name, remarks=remarks, need=(need := _need(decision, iops, mibps)),
        alternatives=()
        if decision.cluster is not None
        else alternatives(
            decision.observation.volume.configuration, iops=need[0], mibps=need[1], prices=prices,
            valid=decision.observation.valid,
        ),
    )  # fmt: skip
    if as_json:
        emit(planned.as_object(view) | (opinions.as_object(opinion) if second_opinion else {}))
    else:
        planned.show(view, out())
        if isinstance(opinion, opinions.SecondOpinion):
            opinions.show(opinion, out())
    return OK


def _foreseen(ports: Ports, ref: ResourceRef, now: datetime) -> DryRunResult:
    try:
        with reading(short(ref.arn)):
            return decide_dry_run(ports, ref, now)
    except ResourceGone as gone:
        raise BadRequest(f"Cannot plan for {short(ref.arn)}: {gone}.") from None
    except LookupError as problem:
        raise Problem(f"The waiting rollback cannot be understood: {problem}") from None


def _table(ports: Ports, region: str) -> PriceTable | None:
    try:
        return ports.prices.table(region)
    except PriceUnknown:
        return None


def _need(decision: Decision, iops: int | None, mibps: int | None) -> tuple[float, float]:
    """What every type is priced for: what was asked for, or what the load wants with its spare."""
    demand, limits = decision.demand, decision.effective.limits
    spare = 1 + limits.headroom_percent / 100
    if iops is not None or mibps is not None:
        return float(iops or 0), float(mibps or 0)
    if not demand.known_minutes:  # nothing is known of it: as much as it sustains today
        can = capability(decision.observation.volume.configuration)
        return can.sustained_iops, can.sustained_mibps
    return demand.iops.likely * spare, demand.mibps.likely * spare
