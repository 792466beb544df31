"""Loads on volumes, simulated by the proving ground's physics, and their metrics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from headroom.localaws.ebs import VolumeStore, volume_store
from headroom.localaws.loads.requests import (
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
from headroom.localaws.metrics import MetricKey
from headroom.localaws.state import AccountRegion
from headroom.proving.inputs import BadInput
from headroom.proving.metrics import Datapoint, datapoints, instance_datapoints
from headroom.proving.physics import VolumePhysics, instance_limits, share_instance

KNOWN = ("volume_id", *PHYSICS)


@dataclass(slots=True)
class _Loaded:
    """A volume with a load on it."""

    account_region: AccountRegion
    volume_id: str
    physics: VolumePhysics


class VolumeLoads(LoadsByName[_Loaded]):
    """Loads on volumes, and their instances."""

    def attach(self, request: Request) -> None:
        """Add or replace the load on a volume; raises BadInput."""
        check_request(request, known=KNOWN, needed=("volume_id", "workload"))
        account_region, volume_id = place_of(request), str(request["volume_id"])
        if volume_id not in volume_store(self._cloud, account_region).volumes():
            raise BadInput(f"load: no volume {volume_id} in {account_region.region}")
        physics = physics_of(self._cloud, request, self._attachment(account_region, request))
        self._loaded[(account_region, volume_id)] = _Loaded(account_region, volume_id, physics)

    def run(self, start: datetime) -> list[LoadedMinute]:
        """Play the minute that begins at `start` on every loaded volume."""
        for key, loaded in list(self._loaded.items()):
            if loaded.volume_id not in self._store(loaded).volumes():
                del self._loaded[key]
        self._share_instances(start)
        played = []
        for loaded in self._loaded.values():
            lifecycle = self._store(loaded).lifecycle(loaded.volume_id)
            facts = loaded.physics.minute(start, lifecycle)
            played.append(LoadedMinute(loaded.volume_id, lifecycle.described(start), facts))
        return played

    def publish(self, played: Iterable[LoadedMinute], end: datetime) -> None:
        """Put what CloudWatch would publish into the metrics, readable after the metric delay."""
        by_id = {loaded.volume_id: loaded for loaded in self._loaded.values()}
        instances: dict[tuple[AccountRegion, MetricKey], Datapoint] = {}
        for minute in played:
            loaded = by_id.get(minute.resource_id)
            if loaded is None or minute.kind != "volume":
                continue
            volume = volume_store(self._cloud, loaded.account_region).volumes()[minute.resource_id]
            instance = volume.attachment.instance.id if volume.attachment else None
            attachment = loaded.physics.attachment
            points = datapoints(
                minute.facts, volume_id=minute.resource_id, instance_id=instance,
                configuration=minute.configuration,
                nitro=attachment.limits.nitro if attachment else True,
                multi_attach=bool(volume.multi_attach_enabled),
            )  # fmt: skip
            for point in points:
                put_datapoints(self._cloud, loaded.account_region, point, ends=end)
            if instance is not None and attachment is not None:
                for point in instance_datapoints(
                    minute.facts, instance_id=instance, limits=attachment.limits
                ):
                    key = (loaded.account_region, load_key(point))
                    best = min if point.name.endswith("%") else max
                    instances[key] = best(instances.get(key, point), point, key=_value)
        for (account_region, _), point in instances.items():
            put_datapoints(self._cloud, account_region, point, ends=end)

    def _store(self, loaded: _Loaded) -> VolumeStore:
        return volume_store(self._cloud, loaded.account_region)

    def _share_instances(self, start: datetime) -> None:
        """Let the loaded volumes of each instance share it in the minute that begins at `start`."""
        together: dict[tuple[object, ...], list[_Loaded]] = {}
        for key, loaded in self._loaded.items():
            attached = self._store(loaded).volumes()[loaded.volume_id].attachment
            own = loaded.physics.attachment
            place: tuple[object, ...] = key
            if attached is not None and own is not None and not own.has_other_load:
                place = (loaded.account_region, attached.instance.id, own.limits)
            together.setdefault(place, []).append(loaded)
        for found in together.values():
            share_instance(
                [(one.physics, self._store(one).lifecycle(one.volume_id)) for one in found], start
            )

    def _attachment(self, account_region: AccountRegion, request: Request) -> object:
        """The requested attachment; else the type of the attached instance, when it is known."""
        if request.get("attachment") is not None:
            return request["attachment"]
        attachment_settings = (
            volume_store(self._cloud, account_region)
            .volumes()[str(request["volume_id"])]
            .attachment
        )
        if attachment_settings is None:
            return None
        try:
            return {
                "instance_type": instance_limits(
                    attachment_settings.instance.instance_type
                ).instance_type
            }
        except BadInput:
            return None


def _value(point: Datapoint) -> float:
    return point.maximum
