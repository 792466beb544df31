"""Puts the real adapters behind the ports, for the functions that read and change a fleet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache, cached_property

import boto3
from botocore.config import Config

from headroom import clock
from headroom.account import Account
from headroom.adapters.cloudwatch import CloudWatchResourceAlarms, glance_window
from headroom.adapters.events import EventBus
from headroom.adapters.instances import ManagedFileSystems
from headroom.adapters.kinds import Environment, adapters_of
from headroom.adapters.notifications import SnsNotifier
from headroom.adapters.parameters import ManagerCalendars
from headroom.adapters.prices import (
    AuroraPriceBook,
    PriceList,
    PriceStore,
    StoredPriceTable,
    endpoint_region,
)
from headroom.adapters.work import SqsWorkQueue
from headroom.domain.resources import Kind
from headroom.ports import FileSystems, Ports, Reporting
from headroom.settings import FunctionSettings, Names

FEW = Config(
    connect_timeout=3, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 2}
)
"""For the Price List API, which is in another Region; a failed read is repeated after an hour."""


class FleetAccount(Account):
    """An account whose fleet is read and changed; each adapter is made once, when needed."""

    @cached_property
    def prices(self) -> StoredPriceTable:
        """The prices kept in the state table; `refresh` reads the price list."""
        store = PriceStore(
            self.reads("dynamodb"), table=self.settings.state_table, account_id=self.account_id
        )
        listed = price_list_from(
            self._session, region=self.region, databases=self.settings.databases
        )
        return StoredPriceTable(store, listed, clock=_clock)

    @cached_property
    def aurora_prices(self) -> AuroraPriceBook | None:
        """The prices of Aurora, kept as a note; None where its clusters are not enrolled."""
        if not self.settings.clusters:
            return None
        return AuroraPriceBook(
            self.ledger, price_list_from(self._session, region=self.region), clock=_clock
        )

    @cached_property
    def resource_alarms(self) -> CloudWatchResourceAlarms:
        """The alarms on single resources that this deployment makes."""
        deployment = self.settings.service
        return CloudWatchResourceAlarms(
            self.reads("cloudwatch"), prefix=Names(deployment).resource_alarms,
            deployment=deployment,
        )  # fmt: skip

    def _file_systems(self) -> FileSystems | None:
        document = self.settings.extend_document
        return (
            None if document == "off" else ManagedFileSystems(self.reads("ssm"), document=document)
        )

    @cached_property
    def ports(self) -> Ports:
        made = adapters_of(
            [Kind(name) for name in self.settings.kinds.split(",")],
            Environment(
                clients=self, account_id=self.account_id, region=self.region, notes=self.ledger,
                clock=_clock, aurora_prices=self.aurora_prices,
                glance=glance_window(timedelta(minutes=self.settings.scan_every_minutes)),
                disks=self.settings.extend_document != "off",
            ),
        )  # fmt: skip
        policies, ledger = self.policies(), self.ledger
        return Ports(
            storage=made.storage, metrics=made.metrics, fleet=made.fleet, ledger=ledger, state_store=ledger, scan=ledger, work=ledger,
            archive=ledger, policies=policies, prices=self.prices,
            calendars=ManagerCalendars(self.reads("ssm")),
            clusters=made.clusters, clock=_clock, file_systems=self._file_systems(),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Wired:
    """The ports of one invocation, what it needs to report, and its account."""

    account: FleetAccount
    ports: Ports
    queue: SqsWorkQueue
    reporting: Reporting

    @property
    def settings(self) -> FunctionSettings:
        return self.account.settings

    @property
    def account_id(self) -> str:
        return self.account.account_id

    @property
    def region(self) -> str:
        return self.account.region


def begin(function_arn: str) -> Wired:
    """What one invocation works with: clients made once per process, the policy read anew.

    Raises SettingsError when the environment or the ARN lacks something.
    """
    account = _account(function_arn)
    ledger, policies = account.ledger, account.policies()
    return Wired(
        account=account,
        ports=replace(account.ports, policies=policies),
        queue=SqsWorkQueue(
            lambda: account.reads("sqs"), url=account.settings.queue_url, workers=account.settings.workers
        ),
        reporting=Reporting(
            notes=ledger, record_summaries=ledger, ledger=ledger, state_store=ledger,
            switches=ledger, policies=policies, events=EventBus(lambda: account.reads("events")),
            announcer=SnsNotifier(account.reads("sns"), topic_arn=account.settings.topic_arn),
            outbox=ledger,
        ),
    )  # fmt: skip


@cache
def _account(function_arn: str) -> FleetAccount:
    return FleetAccount.of(function_arn)


def _clock() -> datetime:
    """`utc_now`, looked up at every call: the local endpoint replaces it."""
    return clock.utc_now()


def kinds_of(settings: FunctionSettings) -> tuple[Kind, ...]:
    """The kinds of storage whose events are understood; Aurora's come as events of RDS."""
    return (Kind.EBS, Kind.RDS) if settings.databases else (Kind.EBS,)


def price_list_from(
    session: boto3.Session, *, region: str, endpoint_url: str | None = None, databases: bool = False
) -> PriceList | None:
    """The Price List API for `region`, with `databases` also RDS storage; None where no list is in USD."""
    endpoint = endpoint_region(region, partition=session.get_partition_for_region(region))
    if endpoint is None:
        return None
    return PriceList(
        lambda: session.client(
            "pricing", region_name=endpoint, endpoint_url=endpoint_url, config=FEW
        ),
        databases=databases,
    )
