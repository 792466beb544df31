"""Loads played on volumes of the endpoint by the proving ground's physics, and what is published."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any

from headroom.domain.resources import Configuration
from headroom.localaws.cloud import Cloud, Place
from headroom.localaws.metrics.store import MetricKey, minutes
from headroom.proving.errors import BadInput
from headroom.proving.facts import MinuteFacts
from headroom.proving.instances import instance_limits
from headroom.proving.physics import VolumePhysics
from headroom.proving.publish import Datapoint, datapoints, instance_datapoints
from headroom.proving.scenario import parse_attachment, parse_workload
from headroom.proving.workload import minute_floor

KNOWN = (
    "volume_id", "account", "region", "workload", "attachment", "burst_balance_percent", "base",
    "start", "idle_outside",
)  # fmt: skip


@dataclass(slots=True)
class Loaded:
    """A volume with a load on it."""

    place: Place
    volume_id: str
    physics: VolumePhysics


@dataclass(frozen=True, slots=True)
class LoadedMinute:
    """A minute of a loaded volume; `configuration` is what DescribeVolumes told at its start."""

    volume_id: str
    configuration: Configuration
    facts: MinuteFacts


class Loads:
    """Everything that drives volumes here."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._loaded: dict[tuple[Place, str], Loaded] = {}
        self._lock = threading.RLock()

    @property
    def volume_ids(self) -> list[str]:
        """Volumes with a load."""
        return [loaded.volume_id for loaded in self._loaded.values()]

    def attach(self, request: Mapping[str, Any]) -> None:
        """Put a load on a volume, in place of any other; raises BadInput."""
        unknown = sorted(set(request) - set(KNOWN))
        if unknown:
            raise BadInput(f"load: unknown key {unknown[0]!r}; known are {', '.join(KNOWN)}")
        for name in ("volume_id", "workload"):
            if name not in request:
                raise BadInput(f"load: {name} is missing")
        place = Place(
            str(request.get("account") or Place().account),
            str(request.get("region") or Place().region),
        )
        volume_id = str(request["volume_id"])
        if volume_id not in self._cloud.volume_book(place).volumes():
            raise BadInput(f"load: no volume {volume_id} in {place.region}")
        with self._lock:
            self._loaded[(place, volume_id)] = Loaded(
                place, volume_id, self._physics(request, self._attachment(place, request))
            )

    def detach(self, volume_id: str) -> bool:
        """Take the load off a volume; False when it had none."""
        with self._lock:
            found = [key for key in self._loaded if key[1] == volume_id]
            for key in found:
                del self._loaded[key]
            return bool(found)

    def run(self, start: datetime) -> list[LoadedMinute]:
        """Play the minute that begins at `start` on every loaded volume."""
        played = []
        with self._lock:
            for key, loaded in list(self._loaded.items()):
                book = self._cloud.volume_book(loaded.place)
                if loaded.volume_id not in book.volumes():
                    del self._loaded[key]
                    continue
                lifecycle = book.lifecycle(loaded.volume_id)
                facts = loaded.physics.minute(start, lifecycle)
                played.append(LoadedMinute(loaded.volume_id, lifecycle.described(start), facts))
        return played

    def publish(self, played: Iterable[LoadedMinute], end: datetime) -> None:
        """Put what CloudWatch would publish into the metrics, readable after the metric delay."""
        visible = end + minutes(self._cloud.options.metric_delay_minutes)
        by_id = {loaded.volume_id: loaded for loaded in self._loaded.values()}
        instances: dict[tuple[Place, MetricKey], Datapoint] = {}
        for minute in played:
            loaded = by_id[minute.volume_id]
            volume = self._cloud.volume_book(loaded.place).volumes()[minute.volume_id]
            instance = volume.attachment.instance.id if volume.attachment else None
            attachment = loaded.physics.attachment
            points = datapoints(
                minute.facts, volume_id=minute.volume_id, instance_id=instance,
                configuration=minute.configuration,
                nitro=attachment.limits.nitro if attachment else True,
                multi_attach=bool(volume.multi_attach_enabled),
            )  # fmt: skip
            for point in points:
                self._put(loaded.place, point, visible)
            if instance is not None and attachment is not None:
                for point in instance_datapoints(
                    minute.facts, instance_id=instance, limits=attachment.limits
                ):
                    key = (loaded.place, _key(point))
                    if key not in instances or instances[key].maximum < point.maximum:
                        instances[key] = point
        for (place, _), point in instances.items():
            self._put(place, point, visible)

    def _put(self, place: Place, point: Datapoint, visible: datetime) -> None:
        self._cloud.store(place).put(
            _key(point), point.timestamp, total=point.sum, samples=point.samples,
            minimum=point.minimum, maximum=point.maximum, visible_at=visible,
        )  # fmt: skip

    def _attachment(self, place: Place, request: Mapping[str, Any]) -> object:
        """The attachment asked for; else the type of the instance it hangs on, when it is known."""
        if request.get("attachment") is not None:
            return request["attachment"]
        hung = self._cloud.volume_book(place).volumes()[str(request["volume_id"])].attachment
        if hung is None:
            return None
        try:
            return {"instance_type": instance_limits(hung.instance.instance_type).instance_type}
        except BadInput:
            return None

    def _physics(self, request: Mapping[str, Any], attachment: object) -> VolumePhysics:
        start = request.get("start")
        hung = parse_attachment(attachment, source="load")
        workload = parse_workload(
            request["workload"], source="load", base=Path(str(request.get("base") or ".")),
            start=datetime.fromisoformat(start) if start else minute_floor(self._cloud.clock.now()),
        )  # fmt: skip
        return VolumePhysics(
            workload,
            burst_balance_percent=float(request.get("burst_balance_percent", 100)),
            queue_limit=hung.queue_limit,
            attachment=hung.attachment,
            idle_outside=bool(request.get("idle_outside", True)),
        )


def as_json(minute: LoadedMinute) -> dict[str, Any]:
    """A minute as plain values for plots: every fact but the latencies one by one."""
    facts, configuration = minute.facts, minute.configuration
    told: dict[str, Any] = {
        f.name: getattr(facts, f.name) for f in fields(facts) if f.name != "latencies"
    }
    told |= {
        "start": facts.start.isoformat(),
        "volume_id": minute.volume_id,
        "unknown": facts.unknown,
        "starved": facts.starved,
        "ebs_iops": facts.ebs_iops,
        "latency_ms_avg": facts.latency_ms_avg,
        "type": configuration.volume_type.value,
        "size_gib": configuration.size_gib,
        "iops": configuration.iops,
        "throughput_mibps": configuration.throughput_mibps,
    }
    return told


def _key(point: Datapoint) -> MetricKey:
    return MetricKey.of(point.namespace, point.name, point.dimensions)
