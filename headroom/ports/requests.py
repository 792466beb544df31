"""Switches, approvals and rollback requests of people."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from headroom.domain.decision import Decision
from headroom.domain.resources import ResourceRef
from headroom.domain.state import Pause, Record, Step, StopState


class Switches(Protocol):
    """The pause and the circuit breakers; every switch is recorded.

    An intent checks them in its own transaction, so they take effect at once.
    """

    def pause(self, until: datetime | None, *, at: datetime, who: str, reason: str = "") -> None:
        """Stop every act (until None: without end is datetime.max in UTC) without reading what is in force.

        A longer pause goes on, and nobody of a hub ends it before this one is over.
        """

    def resume(self, *, at: datetime, who: str, reason: str = "") -> None:
        """End the pause; an open breaker stays open."""

    def switch(
        self, pause: Pause | None, *, over: Pause | None, at: datetime, who: str, reason: str = ""
    ) -> bool:
        """As `pause` and, None, `resume`, only while the stored pause is `over`; whether it was."""

    def close_breaker(
        self, ref: ResourceRef | None, *, at: datetime, who: str, reason: str = ""
    ) -> bool:
        """Close the breaker of a resource, or of the account (None); False if none was open."""

    def record_policy(
        self, version: str, refused: str | None, *, sha256: str, at: datetime, who: str,
        reason: str = "",
    ) -> None:  # fmt: skip
        """Record that somebody published a policy, or why it was refused.

        `sha256` is the hash of the whole text that was sent, in hex.
        """

    def stop_state(self) -> StopState:
        """All that is paused (even if its time is over) or open now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRejected:
    """An approval, rejection or rollback request was refused, and nothing was recorded.

    `why` of an answer is `unknown`, `not_awaiting`, `expired`, `approved` or `rejected` (it was
    answered so already); of a rollback `unknown`, `not_applied`, `undone` or `asked`; of a release
    `unknown` or `not_open`.
    """

    why: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableRequest:
    """A request that waits for a person, whose decision is not on record or cannot be read."""

    decision_id: str
    resource: str
    """The ARN."""
    expires: datetime
    problem: str


class Requests(Protocol):
    """Approvals and rollback requests: records with a due time, which the deployed function handles."""

    def answer(
        self, decision_id: str, step: Step, *, at: datetime, who: str, reason: str = ""
    ) -> Record | AnswerRejected:
        """Record APPROVED or REJECTED for a waiting request, in one transaction with the state.

        Of several answers the first is recorded; a rejection may follow an approval. The resource is due at once.
        """

    def request_rollback(
        self, decision_id: str, *, at: datetime, who: str, reason: str = ""
    ) -> Record | AnswerRejected:
        """Request a rollback of the change of a chain; the resource is due at once."""

    def release(
        self, decision_id: str, *, at: datetime, who: str, reason: str = ""
    ) -> Record | AnswerRejected:
        """End an open chain by hand, whatever this release understands of it.

        Its lease, reservation and place end; what it may have added counts as in force, since
        AWS may have made the change. The resource is due at once.
        """

    def waiting(self, now: datetime) -> tuple[Decision | UnreadableRequest, ...]:
        """Decisions that wait for a person at `now`, the first to expire first.

        One that cannot be read hides no other. Raises ReadFailed where AWS does not answer.
        """
