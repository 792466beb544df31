"""How people and other programs are told, and what that takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeVar

from headroom.domain.decision import Decision
from headroom.domain.reports import DailyDigest
from headroom.domain.state import Record, Step
from headroom.ports.archive import RecordIndex
from headroom.ports.ledger import Ledger
from headroom.ports.limits import Policies
from headroom.ports.requests import Switches
from headroom.ports.resource_states import StateStore

T = TypeVar("T")


class Notes(Protocol):
    """Small texts of the account and Region, by name, that outlive every function."""

    def note(self, name: str) -> str:
        """The text under that name; empty when there is none."""

    def amend(self, name: str, change: Callable[[str], tuple[str, T]]) -> T:
        """Put what `change` makes of the text in its place, atomically; what else it gave.

        `change` may be asked more than once and does nothing but answer.
        """


class Notifier(Protocol):
    """Tells people."""

    def tell(self, decision: Decision, step: Step, summary: str) -> None:
        """Send one message a person can act on; never raises."""


class Announcer(Protocol):
    """Tells people what the record says that no decision of ours did."""

    def announce(self, record: Record) -> None:
        """Notify of a pause, its end, or a breaker that a person closed; never raises."""

    def report(self, day: DailyDigest) -> None:
        """Send the daily digest, which the hourly limit does not count; raises when it could not be sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A record to be told to others, and the decision its chain began with.

    `decision` is None for the first record of a chain, which has it in its body or is of none.
    """

    record: Record
    decision: Decision | None


class Delivery(Enum):
    """What became of an event."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    """Only this one was not taken."""
    UNSENT = "unsent"
    """Nothing was taken, or nobody knows."""


class Events(Protocol):
    """The bus on which others hear of every record."""

    def publish(self, recorded: Sequence[Recorded]) -> tuple[Delivery, ...]:
        """Put one event for each; what became of them, in their order. Never raises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporting:
    """What telling others takes, wired."""

    notes: Notes
    record_summaries: RecordIndex
    ledger: Ledger
    state_store: StateStore
    switches: Switches
    policies: Policies
    events: Events
    announcer: Announcer
