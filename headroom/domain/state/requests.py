"""Approval and rollback requests of a resource, as the ledger stores them.

A stored state outlives the release that wrote it: every field added here needs a default.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from headroom.domain.resources import LATER, Configuration

DAY = timedelta(hours=24)
QUIET_AFTER_REJECTION = DAY
"""How long nothing similar to a rejected plan is requested."""
QUIET_AFTER_ROLLBACK = DAY
"""How long a volume is not changed after a rollback."""
ROLLBACK_TTL = DAY
"""How long a temporarily blocked rollback waits."""
AUTO_ROLLBACK_INTERVAL = timedelta(days=14)
"""Least time between two automatic rollbacks, against a loop of raise and rollback."""
LONGEST_REQUEST = timedelta(days=9)
"""No request waits longer before it ends or is renewed: a day ahead, 7 days of `approval_expires` or of an event, and an hour."""
MAX_UNANSWERED = 3
"""Rejected or expired requests in 24 h after which no more are made; of what is urgent, only rejected ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """A pending request, or an approved one that is not executed yet.

    `price_change_usd` (USD per month) is what the request names: no more is ever spent on it.
    """

    decision_id: str
    requested_at: datetime
    expires: datetime
    origin: Configuration
    target: Configuration
    price_change_usd: Decimal
    why: str = ""
    """Why approval is needed."""
    ahead: bool = field(default=False, metadata=LATER)
    """For load that is not there yet."""
    notified: tuple[datetime, ...] = field(default=(), metadata=LATER)
    """The last two messages about it, or about similar requests that expired before it."""
    approved_at: datetime | None = None
    approved_by: str = ""
    """ARN of the approver."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declined:
    """A rejected or expired request: nothing similar is requested until `until`."""

    decision_id: str
    at: datetime
    until: datetime
    target: Configuration
    price_change_usd: Decimal
    rejected: bool
    """By a person; False if it expired."""
    notified: tuple[datetime, ...] = field(default=(), metadata=LATER)
    """The last two messages about it."""
    origin: Configuration | None = field(default=None, metadata=LATER)
    """None in what a release before this one stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRequest:
    """A request to undo the change of `decision_id`; open until done, refused or expired."""

    decision_id: str
    requested_at: datetime
    expires: datetime
    who: str
    reason: str = ""
    by_person: bool = True
    """False if the policy requests it (`roll_back_ineffective`)."""
    attempted_by: str | None = None
    """The chain that last attempted it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolledBack:
    """The last rollback that AWS accepted; the volume is not changed before `until`."""

    decision_id: str
    """The chain whose change was undone."""
    at: datetime
    until: datetime
