"""What people are asked and what they ask for, as the ledger keeps it beside a resource.

A stored state outlives the release that wrote it: every field added here needs a default.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from headroom.domain.resources import Configuration

DAY = timedelta(hours=24)
QUIET_AFTER_REJECTION = DAY
"""How long nothing like a rejected plan is asked for again."""
QUIET_AFTER_ROLLBACK = DAY
"""How long a volume is left as it is after a rollback."""
ROLLBACK_TTL = DAY
"""How long a rollback that is blocked for now waits for its turn."""
AUTO_ROLLBACK_INTERVAL = timedelta(days=14)
"""No rollback happens by itself that soon after another one: no loop of raise and return."""
MAX_UNANSWERED = 3
"""Requests that may be rejected or run out in 24 h before nothing more is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """A request that waits for a person, or was approved and is not carried out yet.

    `price_change_usd` (USD per month) is what a person was asked for: no more is ever spent on it.
    """

    decision_id: str
    requested_at: datetime
    expires: datetime
    origin: Configuration
    target: Configuration
    price_change_usd: Decimal
    why: str = ""
    """Why a person must agree."""
    approved_at: datetime | None = None
    approved_by: str = ""
    """ARN of who agreed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declined:
    """A request that was rejected or that nobody answered: nothing alike is asked until `until`."""

    decision_id: str
    at: datetime
    until: datetime
    target: Configuration
    price_change_usd: Decimal
    rejected: bool
    """By a person; False when its time ran out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRequest:
    """Somebody wants the change of `decision_id` undone; open until done, refused or expired."""

    decision_id: str
    requested_at: datetime
    expires: datetime
    who: str
    reason: str = ""
    by_person: bool = True
    """False when the policy wants it (`roll_back_ineffective`)."""
    attempted_by: str | None = None
    """The chain that last set out to do it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolledBack:
    """The last rollback that AWS accepted; the volume is left as it is until `until`."""

    decision_id: str
    """The chain whose change was undone."""
    at: datetime
    until: datetime
