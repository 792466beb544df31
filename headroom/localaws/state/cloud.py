"""The shared state of a running endpoint; one per process, like moto's backends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from headroom.localaws.metrics import MetricStore
from headroom.localaws.state.clock import Clock
from headroom.localaws.state.identifiers import Identifiers, new_access_key
from headroom.proving.awsrules import Delays

DEFAULT_ACCOUNT = "123456789012"
DEFAULT_REGION = "us-east-1"
_Part = TypeVar("_Part")


@dataclass(frozen=True, slots=True, order=True)
class AccountRegion:
    """An account and a Region."""

    account: str = DEFAULT_ACCOUNT
    region: str = DEFAULT_REGION

    @classmethod
    def of_arn(cls, arn: str) -> AccountRegion:
        """The account and Region in an ARN."""
        _, _, _, region, account, *_ = arn.split(":")
        return cls(account, region)

    def backend(self, backends: Any) -> Any:
        """moto's backend of a service there."""
        return backends[self.account][self.region]


@dataclass(slots=True, kw_only=True)
class Options:
    """Options of an endpoint at its start."""

    state_dir: Path
    metric_delay_minutes: float = 2.0
    """How long after its minute a published EBS datapoint becomes readable."""
    delays: Delays | None = None
    """How long volume modifications take; the proving ground's default when None."""
    names_instant: bool = True
    """Whether the refusal of a fifth modification names the instant of the next."""
    cloudtrail: bool = True
    """Whether a trail delivers ModifyVolume calls to EventBridge."""
    seed: int | None = None
    evaluate_iam: bool = True
    """Whether requests of deployed roles need the permissions that their policies give."""
    quotas: bool = False
    """Whether requests of EC2 and CloudWatch are throttled as AWS throttles them."""
    workers: int = 1
    """How many calls of one function run at once, each in a process of its own."""
    access_key: str = field(default_factory=new_access_key)
    """Requests must carry it, or one that the endpoint's STS issued; new at each start."""


class FunctionInvoker(Protocol):
    """The functions of the endpoint, for senders."""

    def knows(self, arn: str) -> bool:
        """Whether such a function is deployed."""

    def invoke_later(self, arn: str, payload: bytes) -> None:
        """Queue an asynchronous call."""


@dataclass(slots=True, kw_only=True)
class Cloud:
    """The clock, the identifiers and, for each account and Region, the state of each service."""

    options: Options
    clock: Clock
    ids: Identifiers
    url: str = ""
    functions: FunctionInvoker | None = None
    tags_of_database: Callable[[str], Mapping[str, str]] = lambda _: {}
    """By ARN; what IAM evaluates asks, and cannot import what keeps databases."""
    _parts: dict[type, dict[AccountRegion, Any]] = field(default_factory=dict)

    def part(
        self, kind: type[_Part], account_region: AccountRegion, make: Callable[[], _Part]
    ) -> _Part:
        """The one `kind` of an account and Region, made on first use."""
        parts: dict[AccountRegion, _Part] = self._parts.setdefault(kind, {})
        present = parts.get(account_region)
        if present is None:
            present = parts[account_region] = make()
        return present

    def parts(self, kind: type[_Part]) -> list[tuple[AccountRegion, _Part]]:
        """Every `kind` that exists, with its account and Region, in order of creation."""
        return list(self._parts.get(kind, {}).items())

    def forget(self) -> None:
        """Drop every part, and follow system time again."""
        self._parts.clear()
        self.clock.release()
        self.ids.seed(self.options.seed)

    def store(self, account_region: AccountRegion) -> MetricStore:
        """The metrics of an account and Region."""
        return self.part(MetricStore, account_region, MetricStore)


_current: list[Cloud] = []


def install_cloud(cloud: Cloud) -> None:
    """Make `cloud` the one of this process."""
    _current[:] = [cloud]


def current_cloud() -> Cloud:
    """The one of this process; raises RuntimeError before a server was made."""
    if not _current:
        raise RuntimeError("No local AWS runs in this process.")
    return _current[0]
