"""What people switch, answer and ask for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from headroom.domain.decision import Decision
from headroom.domain.resources import ResourceRef
from headroom.domain.state import Record, Step, StopState


class Switches(Protocol):
    """What people stop every act with, and what only people turn on again; all of it recorded.

    Whoever intends an act finds the switches in the same transaction: they work at once.
    """

    def pause(self, until: datetime | None, *, at: datetime, who: str, reason: str = "") -> None:
        """Stop every act (until None: without end is datetime.max in UTC)."""

    def resume(self, *, at: datetime, who: str, reason: str = "") -> None:
        """End the pause; an open breaker stays open."""

    def close_breaker(
        self, ref: ResourceRef | None, *, at: datetime, who: str, reason: str = ""
    ) -> bool:
        """Close the breaker of a resource, or of the account (None); False if none was open."""

    def stop_state(self) -> StopState:
        """All that is paused (even if its time is over) or open now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRejected:
    """A person's answer or wish came to nothing, and nothing was recorded.

    `why` of an answer is `unknown`, `not_awaiting`, `expired`, `approved` or `rejected` (it was
    answered so already); of a rollback `unknown`, `not_applied`, `undone` or `asked`.
    """

    why: str
    detail: str


class Requests(Protocol):
    """What people answer and ask for: records with a due time, which the deployed function judges."""

    def answer(
        self, decision_id: str, step: Step, *, at: datetime, who: str, reason: str = ""
    ) -> Record | AnswerRejected:
        """APPROVED or REJECTED for a request that waits, in one transaction with the state.

        Of several answers exactly one is recorded. The resource is due at once.
        """

    def request_rollback(
        self, decision_id: str, *, at: datetime, who: str, reason: str = ""
    ) -> Record | AnswerRejected:
        """Ask for the change of a chain to be undone; the resource is due at once."""

    def waiting(self, now: datetime) -> tuple[Decision, ...]:
        """Decisions that wait for a person at `now`, the first to expire first."""
