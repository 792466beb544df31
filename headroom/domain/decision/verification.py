"""Whether a change landed, and what pressure followed. Values; see assess.py."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Relieved:
    """The change landed and the pressure ended."""

    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReductionConfirmed:
    """The change landed, and the load does not touch the limits that it lowered."""

    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """Too early to say; look again at `next_reconcile_at`."""

    next_reconcile_at: datetime
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ineffective:
    """The change landed and the pressure did not end; `cause` is the likely true limit."""

    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReducedTooFar:
    """The change landed, and the load touches a limit that it lowered; `cause` says which."""

    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Diverged:
    """The volume is not what the change made of it: somebody else changed it since."""

    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedAtAws:
    """AWS reports that the modification failed."""

    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackConfirmed:
    """A rollback landed: the volume has what it had before; no relief was expected of it."""

    detail: str


Verification = (
    Relieved
    | ReductionConfirmed
    | Pending
    | Ineffective
    | ReducedTooFar
    | Diverged
    | FailedAtAws
    | RollbackConfirmed
)
