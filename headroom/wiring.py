"""Puts the real adapters behind the ports; the one place that knows clients and the clock."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from botocore.session import get_session
from botocore.utils import parse_timestamp

from headroom.adapters.aurora import AuroraClusterStorage
from headroom.adapters.cloudwatch import (
    CloudWatchAuroraMetrics,
    CloudWatchMetrics,
    CloudWatchRdsMetrics,
    glance_window,
)
from headroom.adapters.dispatch import MetricsByKind, StorageByKind
from headroom.adapters.ebs import EbsStorage
from headroom.adapters.events import EventBus
from headroom.adapters.ledger import DynamoLedger
from headroom.adapters.notifications import SnsNotifier
from headroom.adapters.parameters import ManagerCalendars, ParameterPolicies
from headroom.adapters.prices import (
    AuroraPriceBook,
    PriceList,
    PriceStore,
    StoredPriceTable,
    endpoint_region,
)
from headroom.adapters.rds import RdsStorage
from headroom.domain.resources import Kind
from headroom.ports import Clusters, Metrics, Ports, Prices, Reporting, Storage
from headroom.settings import FunctionSettings, SettingsError

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_sns import SNSClient
    from mypy_boto3_ssm import SSMClient

READS = Config(
    connect_timeout=3, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 4}
)
"""For calls that may be repeated: all reads, and writes that carry their own condition."""
ONCE = Config(
    connect_timeout=3, read_timeout=20, retries={"mode": "standard", "total_max_attempts": 1}
)
"""For ModifyVolume: an automatic second try could use a second slot."""
FEW = Config(
    connect_timeout=3, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 2}
)
"""For the Price List API, in another Region: what is not read now is read in an hour."""


def utc_now() -> datetime:
    """The instant now. Nothing in environment, event or policy changes it."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wired:
    """The ports of one function, its notifier (who counts what was not told), and where it runs.

    `prices` are the ports' prices, which a function that may ask AWS for them can refresh.
    """

    ports: Ports
    prices: StoredPriceTable
    book: AuroraPriceBook | None
    """Prices of Aurora, likewise; None where its clusters are not looked after."""
    notifier: SnsNotifier
    settings: FunctionSettings
    account_id: str
    region: str
    telling: Reporting
    """What telling others of the record takes."""


def begin(function_arn: str) -> Wired:
    """What one invocation works with: clients made once per process, the policy read anew.

    The notifier counts from zero. Raises SettingsError when the environment or the ARN does not
    say what is needed.
    """
    made = _made(function_arn)
    policies = ParameterPolicies(made.ssm, parameter=made.settings.policy_parameter)
    notifier = SnsNotifier(
        made.sns,
        topic_arn=made.settings.topic_arn,
        notes=made.ledger,
        policies=policies,
        clock=lambda: utc_now(),
    )
    return Wired(
        ports=replace(made.ports, policies=policies, notifier=notifier),
        prices=made.prices,
        book=made.book,
        notifier=notifier,
        settings=made.settings,
        account_id=made.account_id,
        region=made.region,
        telling=Reporting(
            notes=made.ledger,
            record_summaries=made.ledger,
            ledger=made.ledger,
            state_store=made.ledger,
            switches=made.ledger,
            policies=policies,
            events=EventBus(made.events),
            announcer=notifier,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """What every invocation of a process shares."""

    ports: Ports
    ledger: DynamoLedger
    events: Callable[[], EventBridgeClient]
    """Made when it is first needed: only the sweep publishes."""
    prices: StoredPriceTable
    book: AuroraPriceBook | None
    ssm: SSMClient
    sns: SNSClient
    settings: FunctionSettings
    account_id: str
    region: str


@cache
def _made(function_arn: str) -> _Made:
    settings = FunctionSettings.from_environment(os.environ)
    region, account_id = place_of(function_arn)
    session = session_in(region)
    prices = prices_from(settings, region=region, account_id=account_id, session=session)
    ledger = ledger_from(settings, region=region, account_id=account_id, session=session)
    book = aurora_prices_from(settings, region=region, session=session, ledger=ledger)
    return _Made(
        ports=ports_from(
            settings,
            region=region,
            account_id=account_id,
            session=session,
            prices=prices,
            ledger=ledger,
            book=book,
        ),
        ledger=ledger,
        book=book,
        events=cache(lambda: session.client("events", config=READS)),
        prices=prices,
        ssm=session.client("ssm", config=READS),
        sns=session.client("sns", config=READS),
        settings=settings,
        account_id=account_id,
        region=region,
    )


def session_in(region: str) -> boto3.Session:
    """A session whose answers' timestamps are read fast: a look at a volume reads thousands."""
    core = get_session()
    core.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=timestamp)
    return boto3.Session(botocore_session=core, region_name=region)


def timestamp(value: str | float) -> datetime:
    """An instant in an answer of AWS, in UTC; what is not usual is left to botocore.

    Seconds since 1970 and ISO 8601 are usual.
    """
    try:
        if isinstance(value, str) and "T" in value:
            found = datetime.fromisoformat(value)
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
        return datetime.fromtimestamp(float(value), UTC)
    except (ValueError, OverflowError, OSError):
        return parse_timestamp(str(value)).astimezone(UTC)


def place_of(arn: str) -> tuple[str, str]:
    """Region and account id in an ARN; raises SettingsError when it has none."""
    parts = arn.split(":")
    if len(parts) < 6 or parts[0] != "arn" or not parts[3] or not parts[4]:
        raise SettingsError(f"{arn!r} is no ARN with a Region and an account.")
    return parts[3], parts[4]


def ports_from(
    settings: FunctionSettings,
    *,
    region: str,
    account_id: str,
    session: boto3.Session,
    prices: Prices | None = None,
    ledger: DynamoLedger | None = None,
    book: AuroraPriceBook | None = None,
) -> Ports:
    """The ports over AWS itself, for one account and Region."""
    if ledger is None:
        ledger = ledger_from(settings, region=region, account_id=account_id, session=session)
    policies = ParameterPolicies(
        session.client("ssm", config=READS), parameter=settings.policy_parameter
    )
    storage, metrics, clusters = _metrics_from(
        settings, region=region, account_id=account_id, session=session, ledger=ledger,
        book=book or aurora_prices_from(settings, region=region, session=session, ledger=ledger),
    )  # fmt: skip
    return Ports(
        storage=storage,
        metrics=metrics,
        ledger=ledger,
        state_store=ledger,
        scan=ledger,
        archive=ledger,
        policies=policies,
        prices=prices
        or prices_from(settings, region=region, account_id=account_id, session=session),
        notifier=SnsNotifier(
            session.client("sns", config=READS),
            topic_arn=settings.topic_arn,
            notes=ledger,
            policies=policies,
            clock=lambda: utc_now(),
        ),
        calendars=ManagerCalendars(session.client("ssm", config=READS)),
        clusters=clusters,
    )


def _metrics_from(
    settings: FunctionSettings,
    *,
    region: str,
    account_id: str,
    session: boto3.Session,
    ledger: DynamoLedger,
    book: AuroraPriceBook | None,
) -> tuple[Storage, Metrics, Clusters | None]:
    """Storage and metrics of the kinds that are looked after; what RDS showed is noted in `ledger`.

    With prices of Aurora in `book` its clusters are among them.
    """
    ec2 = session.client("ec2", config=READS)
    cloudwatch = session.client("cloudwatch", config=READS)
    glance = glance_window(timedelta(minutes=settings.scan_every_minutes))
    volumes = EbsStorage(
        ec2,
        modify_client=session.client("ec2", config=ONCE),
        account_id=account_id,
        region=region,
    )
    of_volumes = CloudWatchMetrics(cloudwatch, account_id=account_id, region=region, glance=glance)
    if not settings.databases:
        return volumes, of_volumes, None
    databases = RdsStorage(
        session.client("rds", config=READS),
        ec2,
        modify_client=session.client("rds", config=ONCE),
        notes=ledger,
        clock=lambda: utc_now(),
        account_id=account_id,
        region=region,
    )
    of_databases = CloudWatchRdsMetrics(cloudwatch, glance=glance)
    if book is None:
        return (
            StorageByKind({Kind.EBS: volumes, Kind.RDS: databases}),
            MetricsByKind(of_volumes, {Kind.RDS: of_databases}),
            None,
        )
    of_clusters = CloudWatchAuroraMetrics(cloudwatch)
    clusters = AuroraClusterStorage(
        session.client("rds", config=READS),
        modify_client=session.client("rds", config=ONCE),
        metrics=of_clusters,
        prices=book,
        notes=ledger,
        clock=lambda: utc_now(),
        account_id=account_id,
        region=region,
    )
    return (
        StorageByKind({Kind.EBS: volumes, Kind.RDS: databases, Kind.AURORA: clusters}),
        MetricsByKind(of_volumes, {Kind.RDS: of_databases, Kind.AURORA: of_clusters}),
        clusters,
    )


def kinds_of(settings: FunctionSettings) -> tuple[Kind, ...]:
    """The kinds of storage whose events are understood."""
    return (Kind.EBS, Kind.RDS) if settings.databases else (Kind.EBS,)


def ledger_from(
    settings: FunctionSettings, *, region: str, account_id: str, session: boto3.Session
) -> DynamoLedger:
    """The ledger of one account and Region."""
    return DynamoLedger(
        session.client("dynamodb", config=READS),
        records_table=settings.records_table,
        state_table=settings.state_table,
        account_id=account_id,
        region=region,
    )


def prices_from(
    settings: FunctionSettings, *, region: str, account_id: str, session: boto3.Session
) -> StoredPriceTable:
    """The prices kept in the state table; their list is read only when they are refreshed."""
    return StoredPriceTable(
        PriceStore(
            session.client("dynamodb", config=READS),
            table=settings.state_table,
            account_id=account_id,
        ),
        price_list_from(session, region=region, databases=settings.databases),
        clock=lambda: utc_now(),  # looked up at every call: the local endpoint replaces it
    )


def aurora_prices_from(
    settings: FunctionSettings, *, region: str, session: boto3.Session, ledger: DynamoLedger
) -> AuroraPriceBook | None:
    """The prices of Aurora, kept as a note; None where its clusters are not looked after."""
    if not settings.clusters:
        return None
    return AuroraPriceBook(
        ledger, price_list_from(session, region=region), clock=lambda: utc_now()
    )  # fmt: skip


def price_list_from(
    session: boto3.Session, *, region: str, endpoint_url: str | None = None, databases: bool = False
) -> PriceList | None:
    """The Price List API as seen from `region`; None where no list is in USD.

    With `databases` it is asked for RDS's storage too.
    """
    endpoint = endpoint_region(region, partition=session.get_partition_for_region(region))
    if endpoint is None:
        return None
    return PriceList(
        lambda: session.client(
            "pricing", region_name=endpoint, endpoint_url=endpoint_url, config=FEW
        ),
        databases=databases,
    )
