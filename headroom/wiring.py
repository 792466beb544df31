"""Puts the real adapters behind the ports; the one place that knows clients and the clock."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from threading import Lock
from typing import Any

import boto3
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.exceptions import BotoCoreError
from botocore.httpsession import URLLib3Session

from headroom.adapters.callers import NotProven, caller_of, sts_url
from headroom.adapters.cloudwatch import CloudWatchResourceAlarms, glance_window
from headroom.adapters.events import EventBus
from headroom.adapters.instances import ManagedFileSystems
from headroom.adapters.kinds import Environment, adapters_of
from headroom.adapters.ledger import DynamoLedger, Sealer
from headroom.adapters.notifications import SnsNotifier
from headroom.adapters.parameters import ManagerCalendars, ParameterPolicies
from headroom.adapters.prices import (
    AuroraPriceBook,
    PriceList,
    PriceStore,
    StoredPriceTable,
    endpoint_region,
)
from headroom.adapters.responses import fast_session
from headroom.adapters.work import SqsWorkQueue
from headroom.application import HubRoles
from headroom.domain.policy import Policy, PolicyError, PolicyUnreadable
from headroom.domain.resources import Kind
from headroom.policy import received_policy
from headroom.ports import FileSystems, Ports, Reporting
from headroom.settings import FunctionSettings, Names, SettingsError

CONNECTIONS = 32
"""Of one client: more than threads that use it at once."""
READS = Config(
    connect_timeout=3, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 4},
    max_pool_connections=CONNECTIONS,
)  # fmt: skip
"""For calls that may be repeated: all reads, and writes with a condition of their own."""
PACED = READS.merge(Config(retries={"mode": "adaptive", "total_max_attempts": 4}))
"""The same of services whose quotas a fleet can use up: a client that is throttled slows down."""
PACED_SERVICES = ("ec2", "cloudwatch", "rds")
ONCE = Config(
    connect_timeout=3, read_timeout=20, retries={"mode": "standard", "total_max_attempts": 1}
)
"""For a change of storage: an automatic second attempt could use a second slot."""
FEW = Config(
    connect_timeout=3, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 2}
)
"""For the Price List API, which is in another Region; a failed read is repeated after an hour."""


def utc_now() -> datetime:
    """The instant now. Nothing in environment, event or policy changes it."""
    return datetime.now(UTC)


class LaterClient:
    """A client that is made when it is first used: most invocations use half of them."""

    _LOCK = Lock()
    """Of all: a session makes clients from one thread at a time."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> Any:
        if name == "_made":
            with self._LOCK:
                if "_made" not in self.__dict__:
                    self.__dict__["_made"] = self._make()
            return self.__dict__["_made"]
        return getattr(self._made, name)


class Account:
    """One account and Region through one session; each client and adapter is made once, when needed."""

    def __init__(
        self, settings: FunctionSettings, *, region: str, account_id: str, session: boto3.Session
    ) -> None:
        self.settings = settings
        self.region = region
        self.account_id = account_id
        self._session = session
        self._clients: dict[tuple[str, bool], Any] = {}

    def reads(self, service: str) -> Any:
        """A client for calls that may be repeated."""
        return self._client(service, PACED if service in PACED_SERVICES else READS)

    def once(self, service: str) -> Any:
        """A client for what is never repeated: a change of storage, a published policy."""
        return self._client(service, ONCE)

    def _client(self, service: str, config: Config) -> Any:
        key = service, config is ONCE
        if key not in self._clients:
            self._clients[key] = LaterClient(
                lambda: self._session.client(service, config=config)  # type: ignore[call-overload]
            )
        return self._clients[key]

    @cached_property
    def ledger(self) -> DynamoLedger:
        return DynamoLedger(
            self.reads("dynamodb"), records_table=self.settings.records_table,
            state_table=self.settings.state_table, account_id=self.account_id,
            region=self.region, keep_days=self.settings.record_retention_days,
            sealer=self._sealer(),
        )  # fmt: skip

    def _sealer(self) -> Sealer | None:
        key = self.settings.seal_key
        return None if key == "off" else Sealer(self.reads("kms"), key)

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

    def caller_of(self, request: str, proof: object) -> str:
        """ARN of who signed the request, as this Region's STS says; raises NotProven."""
        partition = self._session.get_partition_for_region(self.region)
        url = os.environ.get("AWS_ENDPOINT_URL") or sts_url(partition, self.region)
        return caller_of(
            request, proof, account_id=self.account_id, region=self.region, url=url, send=_post,
            hubs=self.hub_roles.accounts,
        )  # fmt: skip

    @property
    def hub_roles(self) -> HubRoles:
        """Roles of another account whose people may ask."""
        return HubRoles(asks=self.settings.hub_role, publishes=self.settings.hub_policy_role)

    def policies(self, client: Any = None) -> ParameterPolicies:
        """The published policy, read anew by every invocation."""
        settings = self.settings
        return ParameterPolicies(
            client or self.reads("ssm"),
            parameter=settings.policy_parameter,
            caps=settings.hard_caps,
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
class ReceivedPolicy:
    """The policy that somebody sent to an account, as text whose hash was signed."""

    account: Account
    text: object
    sha256: str
    who: str

    def check(self) -> Policy:
        """What of it counts here; raises PolicyError, also where none could be replaced.

        Owners may delete or break the policy to stop everything; that must not end by a publication.
        """
        text, account = self.text, self.account
        if not isinstance(text, str) or hashlib.sha256(text.encode()).hexdigest() != self.sha256:
            raise PolicyError("The published policy is not the one of the request.")
        caps = account.settings.hard_caps
        policy = received_policy(text, caps, account.account_id, account.region)
        held = account.policies().current()
        if isinstance(held, PolicyUnreadable):
            raise PolicyError(
                "The policy here cannot be read, which stops all changes; deploy one to go on: "
                f"{held.reason}"
            )
        return policy

    def put(self, policy: Policy) -> None:
        """Publish it; raises ReadFailed. One put: a repeated one would look like somebody else's."""
        self.account.policies(self.account.once("ssm")).publish(policy, who=self.who)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wired:
    """The ports of one invocation, what it needs to report, and its account."""

    account: Account
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


def account_of(function_arn: str) -> Account:
    """The account of a function, made once per process; raises SettingsError."""
    return _account(function_arn)


@cache
def _account(function_arn: str) -> Account:
    settings = FunctionSettings.from_environment(os.environ)
    region, account_id = place_of(function_arn)
    return Account(settings, region=region, account_id=account_id, session=session_in(region))


def _post(url: str, headers: Mapping[str, str], body: str) -> tuple[int, str]:
    """The status and text of an answer; raises NotProven where there is none."""
    request = AWSRequest("POST", url, headers=dict(headers), data=body).prepare()
    try:
        answer = URLLib3Session(timeout=5).send(request)
    except BotoCoreError as problem:
        raise NotProven(f"STS does not answer: {type(problem).__name__}.") from None
    return answer.status_code, answer.text


def _clock() -> datetime:
    """`utc_now`, looked up at every call: the local endpoint replaces it."""
    return utc_now()


def session_in(region: str | None, **named: str | None) -> boto3.Session:
    """A session that parses answers fast: one reconciliation of a volume reads thousands of datapoints.

    `named` is what boto3.Session takes besides: a profile, or keys. Without `region` it is that of AWS_REGION, as
    for the AWS CLI, else botocore's own: AWS_DEFAULT_REGION or the profile's.
    """
    region = region or os.environ.get("AWS_REGION") or None
    return boto3.Session(botocore_session=fast_session(), region_name=region, **named)


def place_of(arn: str) -> tuple[str, str]:
    """Region and account id in an ARN; raises SettingsError when it has none."""
    parts = arn.split(":")
    if len(parts) < 6 or parts[0] != "arn" or not parts[3] or not parts[4]:
        raise SettingsError(f"{arn!r} is no ARN with a Region and an account.")
    return parts[3], parts[4]


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
