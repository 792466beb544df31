"""Notifying people, and publishing records to other programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol, TypeVar

from headroom.domain.decision import Decision
from headroom.domain.state import Notice, Record
from headroom.ports.archive import RecordIndex
from headroom.ports.ledger import Ledger
from headroom.ports.limits import Policies
from headroom.ports.requests import Switches
from headroom.ports.resource_states import StateStore

if TYPE_CHECKING:  # people's requests start without reports
    from headroom.domain.reports import DailyDigest

T = TypeVar("T")


class Notes(Protocol):
    """Small texts of the account and Region, by name, that outlive every function."""

    def note(self, name: str) -> str:
        """The text under that name; empty when there is none."""

    def amend(self, name: str, change: Callable[[str], tuple[str, T]]) -> T:
        """Replace the text by the first result of `change`, atomically; returns the second.

        `change` may be called more than once and must have no side effects.
        """


class Outbox(Protocol):
    """What people must hear of and have not heard yet."""

    def notices(self, most: int) -> Sequence[Notice]:
        """The oldest of them, read consistently; raises ReadFailed."""

    def notified(self, notices: Iterable[Notice]) -> None:
        """Delete these: people were notified."""


class NotSent(RuntimeError):
    """A message was refused, so nobody got it; after any other error it may have been sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeDetail:
    """A notice, and the decision that the message describes, None where there is none."""

    notice: Notice
    decision: Decision | None


class Announcer(Protocol):
    """Sends messages to people; raises NotSent, or what else the sending raises."""

    def notify(self, detail: NoticeDetail) -> None:
        """Send one message a person can act on."""

    def summarize(self, notices: Sequence[Notice]) -> None:
        """Send one message about several notices, most important first."""

    def report(self, day: DailyDigest) -> None:
        """Send the daily digest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A record to publish, and the decision that its chain began with.

    `decision` is None for the first record of a chain: its body has it, or there is none.
    """

    record: Record
    decision: Decision | None


class Delivery(Enum):
    """What became of an event."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    """Only this event was rejected."""
    UNSENT = "unsent"
    """Nothing was accepted, or the result is unknown."""


class Events(Protocol):
    """The bus on which every record is published."""

    def publish(self, recorded: Sequence[Recorded]) -> tuple[Delivery, ...]:
        """Put one event for each; returns their deliveries in order. Never raises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporting:
    """What reporting needs, wired."""

    notes: Notes
    record_summaries: RecordIndex
    ledger: Ledger
    state_store: StateStore
    switches: Switches
    policies: Policies
    events: Events
    announcer: Announcer
    outbox: Outbox
