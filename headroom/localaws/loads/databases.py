"""Loads on databases, simulated by the proving ground's physics, and their metrics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from headroom.domain.resources import InstanceLimits
from headroom.localaws.loads.metric_names import members_of
from headroom.localaws.loads.requests import (
    PHYSICS,
    LoadedMinute,
    LoadsByName,
    Request,
    check_request,
    physics_of,
    place_of,
    put_datapoints,
)
from headroom.localaws.rds import database_store, put_database_event
from headroom.localaws.state import AccountRegion
from headroom.proving.inputs import BadInput
from headroom.proving.metrics import Datapoint, added_up, database_datapoints
from headroom.proving.physics import BOUNDLESS, Attachment, Filling, VolumePhysics, instance_limits

FILLING = ("free_storage_gib", "fill_gib_per_hour")
KNOWN = ("database_id", *PHYSICS, *FILLING)
CREDITS_LOW_PERCENT = 10.0
"""Balance below which RDS sends its event 0189; AWS does not say which it is."""


@dataclass(slots=True)
class _Loaded:
    """A database with a load on it; `instance_class` is the one whose limits hold now."""

    account_region: AccountRegion
    name: str
    physics: VolumePhysics
    filling: Filling | None
    instance_class: str
    follows_class: bool
    """False where the request has an attachment."""
    free_gib: float | None = None
    credits_low: bool = False


class DatabaseLoads(LoadsByName[_Loaded]):
    """Loads on DB instances and Multi-AZ DB clusters (`cluster:NAME`)."""

    def attach(self, request: Request) -> None:
        """Add or replace the load on a database's storage; raises BadInput."""
        check_request(request, known=KNOWN, needed=("database_id", "workload"))
        account_region, name = place_of(request), str(request["database_id"])
        store = database_store(self._cloud, account_region)
        if name not in store.names():
            raise BadInput(f"load: no database {name} in {account_region.region}")
        own, held = request.get("attachment"), store.instance_class(name)
        known = limits_of(held) is not BOUNDLESS
        usual = {"instance_type": held.removeprefix("db.")} if known else None
        self._loaded[(account_region, name)] = _Loaded(
            account_region=account_region,
            name=name,
            physics=physics_of(self._cloud, request, usual if own is None else own),
            filling=self._filling(account_region, name, request),
            instance_class=held,
            follows_class=own is None,
        )

    def run(self, start: datetime) -> list[LoadedMinute]:
        """Play the minute that begins at `start` on the storage of every loaded database."""
        played = []
        for key, loaded in list(self._loaded.items()):
            store = database_store(self._cloud, loaded.account_region)
            if loaded.name not in store.names():
                del self._loaded[key]
                continue
            self._follow_class(loaded, store.instance_class(loaded.name))
            lifecycle = store.storage_rules(loaded.name).lifecycle
            facts = loaded.physics.minute(start, lifecycle)
            configuration = lifecycle.described(start)
            if loaded.filling is not None:
                loaded.free_gib = loaded.filling.minute(lifecycle.usable_size_gib(start))
            played.append(LoadedMinute(loaded.name, configuration, facts, kind="database"))
        return played

    def publish(self, played: Iterable[LoadedMinute], end: datetime) -> None:
        """Put what CloudWatch would publish into the metrics, readable after the metric delay."""
        by_name = {loaded.name: loaded for loaded in self._loaded.values()}
        of_volumes: dict[tuple[AccountRegion, str], list[Datapoint]] = {}
        for minute in played:
            loaded = by_name.get(minute.resource_id)
            if loaded is None or minute.kind != "database":
                continue
            store = database_store(self._cloud, loaded.account_region)
            if loaded.filling is not None and loaded.free_gib is not None:
                store.free_space(loaded.name, loaded.free_gib, loaded.filling.grown_gib)
            self._report_credits(loaded, minute.facts.burst_balance_percent)
            attachment = loaded.physics.attachment
            members = members_of(store, loaded.name)
            points = database_datapoints(
                minute.facts,
                members=members,
                configuration=minute.configuration,
                limits=BOUNDLESS if attachment is None else attachment.limits,
                free_gib=loaded.free_gib,
            )
            if members[0].volume_name:
                key = loaded.account_region, members[0].identifier
                of_volumes.setdefault(key, []).extend(points)
                points = [p for p in points if not p.name.startswith("EBS")]
            for point in points:
                put_datapoints(self._cloud, loaded.account_region, point, ends=end)
        for (place, name), points in of_volumes.items():
            member = replace(
                members_of(database_store(self._cloud, place), name)[0], volume_name=""
            )
            for point in added_up(points, member):
                put_datapoints(self._cloud, place, point, ends=end)

    def _report_credits(self, loaded: _Loaded, percent: float | None) -> None:
        """Send one event of RDS when gp2's credits become low."""
        low = percent is not None and percent < CREDITS_LOW_PERCENT
        if low and not loaded.credits_low:
            store = database_store(self._cloud, loaded.account_region)
            put_database_event(store, store.database(loaded.name), "RDS-EVENT-0189")
        loaded.credits_low = low

    def _follow_class(self, loaded: _Loaded, held: str) -> None:
        """A changed class has its own limits, and full balances."""
        if held != loaded.instance_class and loaded.follows_class:
            loaded.physics.attach_to(Attachment(limits=limits_of(held)))
        loaded.instance_class = held

    def _filling(
        self, account_region: AccountRegion, name: str, request: Request
    ) -> Filling | None:
        """The used part of the storage; None where the request has none."""
        if request.get("free_storage_gib") is None:
            if request.get("fill_gib_per_hour") is not None:
                raise BadInput("load: fill_gib_per_hour is given without free_storage_gib")
            return None
        lifecycle = database_store(self._cloud, account_region).storage_rules(name).lifecycle
        size = lifecycle.usable_size_gib(self._cloud.clock.now())
        free, rate = (_number(request, key) for key in FILLING)
        if not 0 <= free <= size:
            raise BadInput(f"load: free_storage_gib is {free:g}; {name} has {size} GiB")
        return Filling(used_gib=size - free, gib_per_hour=rate)


def limits_of(instance_class: str) -> InstanceLimits:
    """EBS limits of a class, those of its EC2 type; BOUNDLESS where they are not known."""
    try:
        return instance_limits(instance_class.removeprefix("db."))
    except BadInput:
        return BOUNDLESS


def _number(request: Request, key: str) -> float:
    try:
        return float(request.get(key) or 0)
    except (TypeError, ValueError):
        raise BadInput(f"load: {key} is {request[key]!r}; it must be a number") from None
