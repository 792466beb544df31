"""Requests of the control API for a load: account and Region, attachment, physics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from headroom.domain.resources import Configuration
from headroom.localaws.metrics import MetricKey
from headroom.localaws.state import AccountRegion, Cloud
from headroom.proving.inputs import BadInput
from headroom.proving.metrics import BALANCE_EVERY_MIN, BALANCES, Datapoint
from headroom.proving.physics import MinuteFacts, VolumePhysics
from headroom.proving.scenarios import parse_attachment, parse_workload
from headroom.proving.workloads import minute_floor

PHYSICS = (
    "account", "region", "workload", "attachment", "burst_balance_percent", "base", "start",
    "idle_outside",
)  # fmt: skip
"""Keys of a load that the physics simulates."""

Request = Mapping[str, Any]
_Loaded = TypeVar("_Loaded")


@dataclass(frozen=True, slots=True)
class LoadedMinute:
    """A minute of a loaded resource; `configuration` is what its service reported at the start."""

    resource_id: str
    configuration: Configuration
    facts: MinuteFacts
    kind: Literal["volume", "database"] = "volume"


class LoadsByName(Generic[_Loaded]):
    """The loaded resources by account and Region and by name."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._loaded: dict[tuple[AccountRegion, str], _Loaded] = {}

    @property
    def names(self) -> list[str]:
        """Everything with a load."""
        return [name for _, name in self._loaded]

    def clear(self) -> None:
        """Remove every load."""
        self._loaded.clear()

    def detach(self, name: str) -> bool:
        """Remove the load; False when there was none."""
        found = [key for key in self._loaded if key[1] == name]
        for key in found:
            del self._loaded[key]
        return bool(found)


def check_request(request: Request, *, known: Sequence[str], needed: Iterable[str]) -> None:
    """Raise BadInput for an unknown or a missing key."""
    unknown = sorted(set(request) - set(known))
    if unknown:
        raise BadInput(f"load: unknown key {unknown[0]!r}; known are {', '.join(known)}")
    for name in needed:
        if name not in request:
            raise BadInput(f"load: {name} is missing")


def place_of(request: Request) -> AccountRegion:
    """The account and Region of a request, or the default ones."""
    return AccountRegion(
        str(request.get("account") or AccountRegion().account),
        str(request.get("region") or AccountRegion().region),
    )


def start_of(request: Request) -> datetime | None:
    """When the load starts; None where the request does not say."""
    start = request.get("start")
    return datetime.fromisoformat(str(start)) if start else None


def physics_of(cloud: Cloud, request: Request, attachment: object) -> VolumePhysics:
    """The physics that play the request's workload; raises BadInput."""
    attachment_settings = parse_attachment(attachment, source="load")
    workload = parse_workload(
        request["workload"], source="load", base=Path(str(request.get("base") or ".")),
        start=start_of(request) or minute_floor(cloud.clock.now()),
    )  # fmt: skip
    return VolumePhysics(
        workload,
        burst_balance_percent=float(request.get("burst_balance_percent", 100)),
        queue_limit=attachment_settings.queue_limit,
        attachment=attachment_settings.attachment,
        idle_outside=bool(request.get("idle_outside", True)),
    )


def put_datapoints(
    cloud: Cloud, account_region: AccountRegion, point: Datapoint, *, ends: datetime
) -> None:
    """Publish a datapoint, readable once the metric delay has passed since its period ended.

    Balances of an instance end with their five minutes, all others at `ends`.
    """
    if point.name in BALANCES:
        ends = max(ends, point.timestamp + timedelta(minutes=BALANCE_EVERY_MIN))
    cloud.store(account_region).put(
        load_key(point), point.timestamp, total=point.sum, samples=point.samples,
        minimum=point.minimum, maximum=point.maximum,
        visible_at=ends + timedelta(minutes=cloud.options.metric_delay_minutes),
    )  # fmt: skip


def load_key(point: Datapoint) -> MetricKey:
    """The metric that a datapoint belongs to."""
    return MetricKey.of(point.namespace, point.name, point.dimensions)


def as_json(minute: LoadedMinute) -> dict[str, Any]:
    """A minute as plain values for plots: every fact but those that are lists."""
    facts, configuration = minute.facts, minute.configuration
    values: dict[str, Any] = {
        name: value
        for name, value in facts._asdict().items()
        if name not in ("latencies", "served_measured")
    }
    values |= {
        "start": facts.start.isoformat(),
        f"{minute.kind}_id": minute.resource_id,
        "unknown": facts.unknown,
        "starved": facts.starved,
        "ebs_iops": facts.ebs_iops,
        "latency_ms_avg": facts.latency_ms_avg,
        "type": configuration.volume_type.value,
        "size_gib": configuration.size_gib,
        "iops": configuration.iops,
        "throughput_mibps": configuration.throughput_mibps,
    }
    return values
