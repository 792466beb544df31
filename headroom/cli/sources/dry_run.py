"""What a dry run reads: the ports of the deployed functions, without a way to write."""

from __future__ import annotations

from headroom.adapters.ledger import DynamoLedger
from headroom.adapters.parameters import ManagerCalendars
from headroom.adapters.prices import PriceStore, StoredPriceTable
from headroom.cli.sources.account import Account
from headroom.cli.sources.deployment import Deployment, deployment_in
from headroom.cli.sources.options import DEFAULT_STACK
from headroom.cli.sources.outputs import NoSuchStack
from headroom.cli.sources.storage import clusters_of, metrics_of, storage_of
from headroom.cli.terminal.problems import BadRequest
from headroom.domain.policy import Policy
from headroom.ports import Ports
from headroom.proving.memory import InMemoryLedger


def deployment_or_none(where: Account, stack: str) -> Deployment | None:
    """The deployment there; None where there is no such stack. Raises BadRequest, Problem."""
    try:
        return deployment_in(where, stack)
    except NoSuchStack:
        if stack != DEFAULT_STACK:  # somebody named it: that it is not there is no answer
            raise BadRequest(f"There is no stack {stack} in {where.region}.") from None
        return None


def dry_run_ports(
    where: Account, rules: Policy, here: Deployment | None, *, cluster: bool
) -> Ports:
    """The ports of the deployed functions there; without a deployment the ledger is empty, in memory."""
    ledger: DynamoLedger
    if here is None:
        ledger, prices = InMemoryLedger(where.account_id, where.region), where.prices
    else:
        ledger = here.ledger
        client = where.client("dynamodb")
        kept = PriceStore(client, table=here.state_table, account_id=where.account_id)
        prices = StoredPriceTable(kept, None, clock=lambda: where.now)
    notes = None if here is None else ledger
    listed = None if notes is not None or not cluster else where.price_list
    clusters = clusters_of(where, notes=notes, price_list=listed)
    return Ports(
        storage=storage_of(where, notes=notes, clusters=clusters),
        clusters=clusters,
        metrics=metrics_of(where),
        ledger=ledger,
        state_store=ledger,
        scan=ledger,
        work=ledger,
        archive=ledger,
        policies=FixedPolicy(rules),
        prices=prices,
        calendars=ManagerCalendars(where.client("ssm")),
    )


class FixedPolicy:
    """One policy, whatever is published."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def current(self) -> Policy:
        """The policy."""
        return self._policy

    fresh = current
