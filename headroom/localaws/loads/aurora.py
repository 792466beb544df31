"""Declared loads of Aurora clusters: no physics, only what CloudWatch would publish."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from headroom.domain.resources import GATE, StorageMode
from headroom.localaws.loads.metric_names import aurora_members
from headroom.localaws.loads.requests import (
    LoadsByName,
    Request,
    check_request,
    place_of,
    put_datapoints,
    start_of,
)
from headroom.localaws.rds import database_store
from headroom.localaws.state import AccountRegion, Cloud
from headroom.proving.inputs import BadInput, Block
from headroom.proving.metrics import aurora_datapoints
from headroom.proving.workloads import PERIOD, READ_SHARE, AuroraLoad, read_trace, steady_billed_ios

KNOWN = (
    "cluster_id", "account", "region", "io_millions_per_month", "trace", "storage_gib", "acus",
    "commit_latency_ms", "read_fraction", "days_before", "io_published_when_optimized", "base",
    "start",
)  # fmt: skip
TRACE = ("file", "scale", "repeat")
DAYS_BEFORE = 16
"""Days before now that are published at once by default: as many as Headroom reads."""
MOST_DAYS = 63


@dataclass(slots=True)
class _Loaded:
    """A cluster with a load on it, published up to `until`."""

    account_region: AccountRegion
    name: str
    load: AuroraLoad
    published_when_optimized: bool


class AuroraLoads(LoadsByName[_Loaded]):
    """Loads on Aurora clusters; each period is published once."""

    def __init__(self, cloud: Cloud) -> None:
        super().__init__(cloud)
        self._until: dict[tuple[AccountRegion, str], datetime] = {}

    def attach(self, request: Request) -> None:
        """Declare or replace a cluster's load, with the days before now; raises BadInput."""
        check_request(request, known=KNOWN, needed=("cluster_id", "storage_gib"))
        block = Block(dict(request), source="load", path="", known=KNOWN)
        account_region, name = place_of(request), block.text("cluster_id")
        if name not in database_store(self._cloud, account_region).aurora_names():
            raise BadInput(f"load: no Aurora cluster {name} in {account_region.region}")
        loaded = _Loaded(
            account_region,
            name,
            _load(block, request),
            block.flag("io_published_when_optimized", True),
        )
        days = block.whole("days_before", DAYS_BEFORE, low=0, high=MOST_DAYS)
        now = self._cloud.clock.now()
        key = (account_region, name)
        self._loaded[key] = loaded
        self._until[key] = max(
            _period(now - timedelta(days=days)), self._until.get(key, _period(EPOCH))
        )
        database_store(self._cloud, account_region).existed_since(name, self._until[key])
        self._publish(loaded, now)

    def clear(self) -> None:
        """Remove every load, and the record of published periods."""
        super().clear()
        self._until.clear()

    def publish(self, end: datetime) -> None:
        """Publish every five minutes that have ended by `end`, and only once."""
        for key, loaded in list(self._loaded.items()):
            if loaded.name in database_store(self._cloud, loaded.account_region).aurora_names():
                self._publish(loaded, end)
            else:
                del self._loaded[key]

    def _publish(self, loaded: _Loaded, end: datetime) -> None:
        key = (loaded.account_region, loaded.name)
        store = database_store(self._cloud, loaded.account_region)
        cluster = store.clusters[loaded.name]
        assert cluster.aurora is not None
        named, mode = aurora_members(store, cluster), cluster.aurora.mode(self._cloud.clock.now())
        opens = cluster.aurora.next_allowed_at()
        since = None if opens is None else opens - GATE
        at = self._until[key]
        while at + PERIOD <= end:
            optimized = mode is StorageMode.IO_OPTIMIZED and (since is None or since <= at)
            points = aurora_datapoints(
                loaded.load, at, named,
                io_published=loaded.published_when_optimized or not optimized,
            )  # fmt: skip
            for point in points:
                put_datapoints(self._cloud, loaded.account_region, point, ends=at + PERIOD)
            at += PERIOD
        self._until[key] = at


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _load(block: Block, request: Request) -> AuroraLoad:
    """The declared load; raises BadInput."""
    if block.has("trace") == block.has("io_millions_per_month"):
        raise block.wrong("", "needs exactly one of io_millions_per_month and trace")
    trace = None
    if block.has("trace"):
        inner = block.block("trace", TRACE)
        trace = read_trace(
            Path(str(request.get("base") or ".")) / inner.text("file"),
            start=start_of(request),
            scale=inner.positive("scale", 1),
            io_kib=16,
            repeat=inner.whole("repeat", 1, low=1, high=1_000),
        )
    millions = block.number("io_millions_per_month", 0, low=0, high=1e7)
    slow = block.positive("commit_latency_ms") if block.has("commit_latency_ms") else None
    return AuroraLoad(
        storage_gib=block.number("storage_gib", low=0, high=262_144),
        acus=block.number("acus", 0, low=0, high=100_000),
        commit_latency_ms=slow,
        steady_ios=steady_billed_ios(millions) if trace is None else None,
        trace=trace,
        read_share=block.number("read_fraction", READ_SHARE, low=0, high=1),
    )


def _period(instant: datetime) -> datetime:
    """The start of the five minutes that `instant` lies in."""
    return instant - (instant - EPOCH) % PERIOD
