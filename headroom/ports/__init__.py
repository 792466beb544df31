"""What the application needs from outside, as protocols of one to four methods.

May import the domain.
The door offers every protocol, and the errors that adapters raise."""

from headroom.ports.alarms import AlarmPlans, ExistingAlarms, ResourceAlarms
from headroom.ports.archive import Archive
from headroom.ports.clusters import Clusters
from headroom.ports.file_systems import Extended, FileSystems, NotExtended
from headroom.ports.ledger import IllegalStep, Intent, Ledger, LostLease, NotIntended
from headroom.ports.limits import Prices
from headroom.ports.metrics import ContributorsUnknown, Glance, GlanceRequest, Metrics
from headroom.ports.reporting import Delivery, Notes, NoticeDetail, NotSent, Recorded, Reporting
from headroom.ports.requests import AnswerRejected, Requests, Switches, UnreadableRequest
from headroom.ports.resource_states import Due, DueResources, QueuedResource, Scan, StateStore
from headroom.ports.storage import (
    NotCovered,
    ReadFailed,
    ResourceGone,
    Storage,
    StorageView,
    WriteFailed,
)
from headroom.ports.wired import Ports
from headroom.ports.work import (
    Answered,
    Claim,
    CursorRejected,
    FleetPage,
    FleetReads,
    Glanced,
    ScanPage,
    WorkItem,
    WorkQueue,
)
