"""One account and Region for every function: its settings, clients, ledger and policy, and who asks there."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from threading import Lock
from typing import Any, Self

import boto3
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.exceptions import BotoCoreError
from botocore.httpsession import URLLib3Session

from headroom.adapters.callers import NotProven, caller_of, sts_url
from headroom.adapters.ledger import DynamoLedger, Sealer
from headroom.adapters.parameters import ParameterPolicies
from headroom.adapters.responses import fast_session
from headroom.domain.policy import Policy, PolicyError, PolicyUnreadable
from headroom.policy import received_policy
from headroom.requests import HubRoles
from headroom.settings import FunctionSettings, SettingsError

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
    """One account and Region through one session; each client is made once, when needed."""

    def __init__(
        self, settings: FunctionSettings, *, region: str, account_id: str, session: boto3.Session
    ) -> None:
        self.settings = settings
        self.region = region
        self.account_id = account_id
        self._session = session
        self._clients: dict[tuple[str, bool], Any] = {}

    @classmethod
    def of(cls, function_arn: str) -> Self:
        """The account of a deployed function, with its environment; raises SettingsError."""
        settings = FunctionSettings.from_environment(os.environ)
        region, account_id = place_of(function_arn)
        return cls(settings, region=region, account_id=account_id, session=session_in(region))

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

    def caller_of(self, request: str, proof: object) -> str:
        """ARN of who signed the request, as this Region's STS says; raises NotProven."""
        partition = self._session.get_partition_for_region(self.region)
        url = os.environ.get("AWS_ENDPOINT_URL") or sts_url(partition, self.region)
        return caller_of(
            request, proof, account_id=self.account_id, region=self.region, url=url, send=_post,
            now=datetime.now(UTC),  # not the simulated clock of a local endpoint: signatures are of real time
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
        """Publish it; raises WriteFailed. One put: a repeated one would look like somebody else's."""
        self.account.policies(self.account.once("ssm")).publish(policy, who=self.who)


@cache
def account_of(function_arn: str) -> Account:
    """The account of a function, made once per process; raises SettingsError."""
    return Account.of(function_arn)


def _post(url: str, headers: Mapping[str, str], body: str) -> tuple[int, str]:
    """The status and text of an answer; raises NotProven where there is none."""
    request = AWSRequest("POST", url, headers=dict(headers), data=body).prepare()
    try:
        answer = URLLib3Session(timeout=5).send(request)
    except BotoCoreError as problem:
        raise NotProven(f"STS does not answer: {type(problem).__name__}.") from None
    return answer.status_code, answer.text


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
