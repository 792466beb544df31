"""What the application needs from outside, as small Protocols, one file for each face.

Every implementation, fake or real, is held to the same contract tests (tests/contracts).
Instants are timezone-aware UTC; `now` is always an argument.
"""

from __future__ import annotations

from headroom.domain.standing import Signature
from headroom.ports.archive import Archive, RecordIndex
from headroom.ports.clusters import Clusters
from headroom.ports.ledger import IllegalStep, Intent, Ledger, LostLease, NotIntended
from headroom.ports.metrics import Glance, Metrics
from headroom.ports.owners import Calendars, NoCalendars, Policies, Prices
from headroom.ports.people import AnswerRejected, Requests, Switches
from headroom.ports.standings import Due, FleetScan, Queue, QueuedResource, Scan, StateStore
from headroom.ports.storage import ReadFailed, ResourceGone, Storage, StorageView
from headroom.ports.telling import Announcer, Delivery, Events, Notes, Notifier, Recorded, Reporting
from headroom.ports.wired import Ports

__all__ = [
    "Announcer",
    "AnswerRejected",
    "Archive",
    "Calendars",
    "Clusters",
    "Delivery",
    "Due",
    "Events",
    "FleetScan",
    "Glance",
    "IllegalStep",
    "Intent",
    "Ledger",
    "LostLease",
    "Metrics",
    "NoCalendars",
    "NotIntended",
    "Notes",
    "Notifier",
    "Policies",
    "Ports",
    "Prices",
    "Queue",
    "QueuedResource",
    "ReadFailed",
    "RecordIndex",
    "Recorded",
    "Reporting",
    "Requests",
    "ResourceGone",
    "Scan",
    "Signature",
    "StateStore",
    "Storage",
    "StorageView",
    "Switches",
]  # fmt: skip
