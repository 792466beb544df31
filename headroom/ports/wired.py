"""All ports together, as the wiring hands them to the application."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from headroom.ports.archive import Archive
from headroom.ports.clusters import Clusters
from headroom.ports.file_systems import FileSystems
from headroom.ports.ledger import Ledger
from headroom.ports.limits import Calendars, NoCalendars, Policies, Prices
from headroom.ports.metrics import Metrics
from headroom.ports.resource_states import FleetScan, StateStore
from headroom.ports.storage import Storage
from headroom.ports.work import FleetReads, WorkClaims


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """All of them, wired. The ledger's four faces are usually one object."""

    storage: Storage
    metrics: Metrics
    ledger: Ledger
    state_store: StateStore
    scan: FleetScan
    work: WorkClaims
    archive: Archive
    policies: Policies
    prices: Prices
    calendars: Calendars = NoCalendars()  # noqa: RUF009 - without state
    clusters: Clusters | None = None
    """None where Aurora clusters are not enrolled."""
    clock: Callable[[], datetime] | None = None
    """The instant now, where time passes while a resource is reconciled; None where it stands still."""
    fleet: FleetReads | None = None
    """None where only single reads are known: of a simulated account."""
    file_systems: FileSystems | None = None
    """None where the file systems of volumes are left to their owners."""
