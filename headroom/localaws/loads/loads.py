"""Every load of the endpoint: on volumes, on storage of databases, on Aurora clusters."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from datetime import datetime

from headroom.localaws.loads.aurora import AuroraLoads
from headroom.localaws.loads.databases import DatabaseLoads
from headroom.localaws.loads.requests import LoadedMinute, Request
from headroom.localaws.loads.volumes import VolumeLoads
from headroom.localaws.state import Cloud
from headroom.proving.inputs import BadInput

NAMES = ("volume_id", "database_id", "cluster_id")
"""A request names its target by exactly one of these keys."""


class Loads:
    """All loads of the endpoint."""

    def __init__(self, cloud: Cloud) -> None:
        self._volumes = VolumeLoads(cloud)
        self._databases = DatabaseLoads(cloud)
        self._clusters = AuroraLoads(cloud)
        self._by_key: Mapping[str, VolumeLoads | DatabaseLoads | AuroraLoads] = {
            "volume_id": self._volumes,
            "database_id": self._databases,
            "cluster_id": self._clusters,
        }
        self._lock = threading.RLock()

    @property
    def names(self) -> list[str]:
        """Volumes, databases and Aurora clusters with a load."""
        return [name for kind in self._by_key.values() for name in kind.names]

    def attach(self, request: Request) -> None:
        """Add or replace the load on the request's target; raises BadInput."""
        key = _named(request)
        with self._lock:
            self._by_key[key].attach(request)

    def detach(self, request: Request) -> bool:
        """Remove the load from the request's target; False when it had none. Raises BadInput."""
        key = _named(request)
        with self._lock:
            return self._by_key[key].detach(str(request[key]))

    def clear(self) -> None:
        """Remove every load."""
        with self._lock:
            for kind in self._by_key.values():
                kind.clear()

    def run(self, start: datetime) -> list[LoadedMinute]:
        """Simulate the minute that begins at `start` on everything with a load."""
        with self._lock:
            return self._volumes.run(start) + self._databases.run(start)

    def publish(self, played: Sequence[LoadedMinute], end: datetime) -> None:
        """Put what CloudWatch would publish by `end` into the metrics, readable after the delay."""
        with self._lock:
            self._volumes.publish(played, end)
            self._databases.publish(played, end)
            self._clusters.publish(end)


def _named(request: Request) -> str:
    """The one key by which the request names something; raises BadInput."""
    given = [name for name in NAMES if name in request]
    if len(given) == 1:
        return given[0]
    if given:
        raise BadInput(f"load: {' and '.join(given)} are given; it is on one thing at a time")
    raise BadInput(f"load: {NAMES[0]} is missing (or {' or '.join(NAMES[1:])})")
