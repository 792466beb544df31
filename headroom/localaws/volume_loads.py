"""Loads played on volumes of the endpoint by the proving ground's physics, and what is published."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from headroom.localaws.cloud import Place
from headroom.localaws.load_requests import (
    PHYSICS,
    LoadedMinute,
    LoadsByName,
    Request,
    check_request,
    load_key,
    physics_of,
    place_of,
    put_datapoints,
)
from headroom.localaws.metrics.store import MetricKey
from headroom.localaws.volumes import volume_book
from headroom.proving.errors import BadInput
from headroom.proving.instances import instance_limits
from headroom.proving.physics import VolumePhysics
from headroom.proving.publish import Datapoint, datapoints, instance_datapoints

KNOWN = ("volume_id", *PHYSICS)


@dataclass(slots=True)
class _Loaded:
    """A volume with a load on it."""

    place: Place
    volume_id: str
    physics: VolumePhysics


class VolumeLoads(LoadsByName[_Loaded]):
    """Loads on volumes, and their instances."""

    def attach(self, request: Request) -> None:
        """Put a load on a volume, in place of any other; raises BadInput."""
        check_request(request, known=KNOWN, needed=("volume_id", "workload"))
        place, volume_id = place_of(request), str(request["volume_id"])
        if volume_id not in volume_book(self._cloud, place).volumes():
            raise BadInput(f"load: no volume {volume_id} in {place.region}")
        physics = physics_of(self._cloud, request, self._attachment(place, request))
        self._loaded[(place, volume_id)] = _Loaded(place, volume_id, physics)

    def run(self, start: datetime) -> list[LoadedMinute]:
        """Play the minute that begins at `start` on every loaded volume."""
        played = []
        for key, loaded in list(self._loaded.items()):
            book = volume_book(self._cloud, loaded.place)
            if loaded.volume_id not in book.volumes():
                del self._loaded[key]
                continue
            lifecycle = book.lifecycle(loaded.volume_id)
            facts = loaded.physics.minute(start, lifecycle)
            played.append(LoadedMinute(loaded.volume_id, lifecycle.described(start), facts))
        return played

    def publish(self, played: Iterable[LoadedMinute], end: datetime) -> None:
        """Put what CloudWatch would publish into the metrics, readable after the metric delay."""
        by_id = {loaded.volume_id: loaded for loaded in self._loaded.values()}
        instances: dict[tuple[Place, MetricKey], Datapoint] = {}
        for minute in played:
            loaded = by_id.get(minute.resource_id)
            if loaded is None or minute.kind != "volume":
                continue
            volume = volume_book(self._cloud, loaded.place).volumes()[minute.resource_id]
            instance = volume.attachment.instance.id if volume.attachment else None
            attachment = loaded.physics.attachment
            points = datapoints(
                minute.facts, volume_id=minute.resource_id, instance_id=instance,
                configuration=minute.configuration,
                nitro=attachment.limits.nitro if attachment else True,
                multi_attach=bool(volume.multi_attach_enabled),
            )  # fmt: skip
            for point in points:
                put_datapoints(self._cloud, loaded.place, point, ends=end)
            if instance is not None and attachment is not None:
                for point in instance_datapoints(
                    minute.facts, instance_id=instance, limits=attachment.limits
                ):
                    key = (loaded.place, load_key(point))
                    if key not in instances or instances[key].maximum < point.maximum:
                        instances[key] = point
        for (place, _), point in instances.items():
            put_datapoints(self._cloud, place, point, ends=end)

    def _attachment(self, place: Place, request: Request) -> object:
        """The attachment asked for; else the type of the instance it hangs on, when it is known."""
        if request.get("attachment") is not None:
            return request["attachment"]
        hung = volume_book(self._cloud, place).volumes()[str(request["volume_id"])].attachment
        if hung is None:
            return None
        try:
            return {"instance_type": instance_limits(hung.instance.instance_type).instance_type}
        except BadInput:
            return None
