"""The possible results of verifying a change; assess.py finds out which."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

RECHECK_INTERVAL = timedelta(minutes=5)
VERIFICATION_TIMEOUT = timedelta(hours=30)
"""After this time, a change without proven effect is reported as ineffective or untested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relieved:
    """The change landed and the pressure ended."""

    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Untested:
    """No load was measured since the change that could prove relief, or that there is none."""

    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReductionConfirmed:
    """The change landed, and the load does not reach the lowered limits."""

    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """Not verified yet; the next check is at `next_reconcile_at`."""

    next_reconcile_at: datetime
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ineffective:
    """The change landed and the pressure did not end; `cause` is the likely true limit."""

    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReducedTooFar:
    """The change landed, and the load reaches a lowered limit; `cause` says which."""

    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Diverged:
    """The volume differs from the plan: somebody else changed it since."""

    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedAtAws:
    """AWS reports that the modification failed."""

    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackConfirmed:
    """A rollback landed: the volume has its earlier settings."""

    detail: str


Verification = (
    Relieved
    | Untested
    | ReductionConfirmed
    | Pending
    | Ineffective
    | ReducedTooFar
    | Diverged
    | FailedAtAws
    | RollbackConfirmed
)
