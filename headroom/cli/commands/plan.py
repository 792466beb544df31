"""`headroom plan`: what Headroom would do about one resource now, and why; it only reads."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from headroom.adapters.ledger import DynamoLedger
from headroom.adapters.parameters import ManagerCalendars
from headroom.adapters.prices import PriceStore, StoredPriceTable
from headroom.application import DryRunResult, decide_dry_run
from headroom.cli.policy.show import in_force
from headroom.cli.sources.account import Account, account
from headroom.cli.sources.deployment import Deployment, NoSuchStack, deployment_in, reading
from headroom.cli.sources.options import DEFAULT_STACK, DeploymentOptions, JsonOption
from headroom.cli.sources.storage import clusters_of, metrics_of, storage_of
from headroom.cli.terminal.names import named, short
from headroom.cli.terminal.output import emit, out
from headroom.cli.terminal.problems import OK, BadRequest, Problem
from headroom.cli.views import plan as planned
from headroom.domain.catalog import PriceTable
from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import Decision
from headroom.domain.planning import alternatives
from headroom.domain.policy import Policy
from headroom.domain.resources import PriceUnknown, ResourceRef
from headroom.domain.state import Step
from headroom.ports import Ports, ResourceGone
from headroom.proving.memory import InMemoryLedger

MOST = 1_000_000
NOT_DEPLOYED = "Headroom is not deployed here: earlier changes, budgets and requests are unknown"


def plan(
    resource: Annotated[str, typer.Argument(help="vol-ID, db:NAME, cluster:NAME, or its ARN.")],
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
    *,
    options: DeploymentOptions,
) -> int:
    """Show what Headroom would do about one volume or database now, and why. Changes nothing.

    Reads the same data as the deployed functions, and decides as they do. Without a deployment it
    needs --policy, and treats what only the tables record as unknown.
    """
    where = account(**asdict(options.account), databases=True)
    ref = named(resource, account_id=where.account_id, region=where.region)
    rules, name = in_force(where, policy)
    here = _deployment(where, options.stack)
    ports = _ports(where, rules, here, cluster=ref.resource_id.startswith("cluster:"))
    found = _foreseen(ports, ref, where.now)
    decision = found.decision
    remarks = found.remarks if here is not None else (NOT_DEPLOYED, *found.remarks)
    prices = _table(ports, where.region)
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
        emit(planned.as_object(view))
    else:
        planned.show(view, out())
    return OK


def _deployment(where: Account, stack: str) -> Deployment | None:
    """The deployment there; None where there is no such stack. Raises BadRequest, Problem."""
    try:
        return deployment_in(where, stack)
    except NoSuchStack:
        if stack != DEFAULT_STACK:  # somebody named it: that it is not there is no answer
            raise BadRequest(f"There is no stack {stack} in {where.region}.") from None
        return None


def _ports(where: Account, rules: Policy, here: Deployment | None, *, cluster: bool) -> Ports:
    ledger: DynamoLedger
    if here is None:
        ledger, prices = InMemoryLedger(where.account_id, where.region), where.prices
    else:
        ledger = here.ledger
        client = where.client("dynamodb")
        kept = PriceStore(client, table=here.state_table, account_id=where.account_id)
        prices = StoredPriceTable(kept, None, clock=lambda: where.now)
    noted = None if here is None else ledger
    listed = None if noted is not None or not cluster else where.price_list
    clusters = clusters_of(where, noted=noted, price_list=listed)
    return Ports(
        storage=storage_of(where, noted=noted, clusters=clusters),
        clusters=clusters,
        metrics=metrics_of(where),
        ledger=ledger,
        state_store=ledger,
        scan=ledger,
        archive=ledger,
        policies=_Policy(rules),
        prices=prices,
        notifier=_Nobody(),
        calendars=ManagerCalendars(where.client("ssm")),
    )


class _Policy:
    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def current(self) -> Policy:
        return self._policy


class _Nobody:
    def tell(self, decision: Decision, step: Step, summary: str) -> None:
        """A dry run notifies nobody."""


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
