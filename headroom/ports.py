"""What the application needs from outside, as Protocols of one to four methods.

Every implementation, fake or real, is held to the same contract tests (tests/contracts).
Instants are timezone-aware UTC; `now` is always an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Protocol, TypeVar

from headroom.domain.day import Day
from headroom.domain.decision import Decision
from headroom.domain.freezes import CalendarSeen, unread
from headroom.domain.observation import InstanceActivity, VolumeActivity
from headroom.domain.outcome import Outcome
from headroom.domain.policy import Policy, PolicyUnreadable
from headroom.domain.pricing import PriceTable
from headroom.domain.rds_catalogue import ValidStorage
from headroom.domain.records import Glimpse, Record, Step
from headroom.domain.resources import Configuration, Instance, Modification, ResourceRef, Volume
from headroom.domain.standing import KnownModification, Signature, Standing
from headroom.domain.stops import Stops
from headroom.domain.traffic import Traffic
from headroom.domain.waiting import Waiting

T = TypeVar("T")


class ResourceGone(LookupError):
    """The resource does not exist (any more)."""


class ReadFailed(RuntimeError):
    """A read did not answer; the decision cannot be made now and is tried again later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageView:
    """A volume, its latest modification and the instance it hangs on, read together.

    `modification` is None for a never-modified volume; `instance` is None when the volume is
    detached, attached to more than one instance, or the instance is not ours to see.
    """

    volume: Volume
    modification: Modification | None
    instance: Instance | None
    valid: tuple[ValidStorage, ...] = ()
    """What AWS says a database's storage may be set to; empty where it was not asked."""


class Storage(Protocol):
    """Reads volumes; `apply` is the only write to storage in the whole project."""

    def fleet(self) -> Iterator[StorageView]:
        """Every volume of the account and Region, page by page (instances may be left None)."""

    def view(self, ref: ResourceRef) -> StorageView:
        """One volume with its instance; raises ResourceGone, ReadFailed."""

    def attached(self, instance_id: str) -> tuple[StorageView, ...]:
        """Every volume attached to one instance, each with its latest modification and instance.

        Empty for an instance there is not. Raises ReadFailed, also where one of the volumes
        cannot be understood: what is not seen may belong to a set that is.
        """

    def apply(
        self,
        ref: ResourceRef,
        *,
        expected: Configuration,
        seen: datetime | None,
        target: Configuration,
    ) -> Outcome:
        """Change the volume to `target` if it is still as the decision saw it.

        `expected` is the configuration and `seen` the start of the latest modification that the
        decision saw. Looks again first: AlreadyThere without a call if the target is in force,
        Stale if anything moved, Unknown on a time-out.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """The few numbers a fleet scan reads per volume, over the last half hour.

    None means nothing was published: never taken for zero.
    """

    iops_exceeded_minutes: int | None
    throughput_exceeded_minutes: int | None
    lowest_burst_balance_percent: float | None
    longest_queue: float | None
    peak_iops: float | None = None
    """Busiest minute's operations/s; read only where AWS publishes no Exceeded check."""
    peak_mibps: float | None = None


class Metrics(Protocol):
    """Reads what CloudWatch has published until `now`."""

    def glance(self, views: Sequence[StorageView], now: datetime) -> Mapping[str, Glance]:
        """A Glance for every volume by resource id, in batches of 500 metrics a call."""

    def activity(
        self, view: StorageView, now: datetime
    ) -> tuple[VolumeActivity, InstanceActivity | None]:
        """The last 3 hours at one-minute periods, of the volume and of its instance."""

    def history(self, view: StorageView, now: datetime) -> VolumeActivity | None:
        """The last 14 days at five-minute periods; None when nothing was published."""

    def contributors(self, alarm_name: str) -> tuple[ResourceRef, ...]:
        """Volumes that contribute to this alarm's ALARM state right now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """Proof that the intent is durable: the fencing number of the lease it holds."""

    decision_id: str
    fencing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NotIntended:
    """The transaction was refused.

    `why` is `exists`, `leased`, `moved`, `budget`, `blast_radius`, `paused`, `breaker` or
    `unapproved`.
    """

    why: str
    detail: str


class Ledger(Protocol):
    """The append-only chains. Chains are ordered by `sequence`, starting at 0."""

    def decided(self, decision: Decision, *, due_at: datetime | None) -> bool:
        """Record a decision and move the resource's state; False if that id is already there.

        Sets last looked at, signature, last decision id, enrolment price (only if none yet and
        the resource is enrolled: the monthly price of the observed configuration, taken from
        `decision.current_usd`) and `due_at`: when the sweep looks at this resource again.
        An Escalate adds its cause to `escalated_causes`; binding NOTHING empties them (the
        episode is over). If the resource's last decision is an act that nobody began (a crash
        between `decided` and `intend`), that one is WITHDRAWN with it: to intend it is refused
        with `exists`.
        """

    def intend(
        self, decision: Decision, *, lease_until: datetime, now: datetime
    ) -> Intent | NotIntended:
        """One transaction: the `intended` record (only if absent), the lease (per resource, with
        expiry and fencing number), the budget reservation of the plan's price, and the place
        among the changes under way, which the chain's end gives back."""

    def intend_together(
        self, decisions: Sequence[Decision], *, lease_until: datetime, now: datetime
    ) -> tuple[Intent, ...] | NotIntended:
        """The same for one decision each of several resources, all in one transaction or none.

        The account's limit holds for the sum of what they add. At most `groups.LARGEST`.
        """

    def append(
        self,
        decision_id: str,
        step: Step,
        *,
        ref: ResourceRef,
        at: datetime,
        summary: str,
        body: Mapping[str, object],
        fencing: int | None,
        due_at: datetime | None,
    ) -> Record:
        """Add a record to a chain and move the resource's state with it in one transaction.

        Steps that end a chain without a change in force release its lease and its reservation;
        steps that end it with one (relieved, ineffective, diverged) release the lease only; gone
        releases both, ends the increase in force and drops the due time. A refused step sets
        `retry_not_before` to `due_at`; applied and already_there clear it. A failure that makes
        enough of them in a row opens the breaker of the resource, of the account or both, each
        with a record of its own, in the same transaction (domain/stops.py).
        A request (awaiting, with an `asked` in its body) waits for its resource alone; answers to
        it are not appended but given (Requests).
        Raises IllegalStep when the step may not follow, LostLease when the fencing number is
        not the one in force.
        """

    def chain(self, decision_id: str) -> tuple[Record, ...]:
        """All records of one decision, oldest first; empty when there are none."""

    def decision(self, decision_id: str) -> Decision:
        """The decision itself, read back from its first record; raises LookupError."""


class IllegalStep(RuntimeError):
    """The record may not follow the last one of its chain."""


class LostLease(RuntimeError):
    """Somebody else holds the resource now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A resource whose time has come, and the instant it was due."""

    ref: ResourceRef
    due_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class InQueue:
    """A resource that waits for a place or an hour, see domain/waiting.py."""

    ref: ResourceRef
    waiting: Waiting


class Queue(Protocol):
    """What is under way in the account and Region, and what waits for its turn."""

    def traffic(self) -> Traffic:
        """The changes under way, read consistently."""

    def queue(self, limit: int) -> tuple[InQueue, ...]:
        """Who waits: the most starved first, then the longest waiting (a sparse index)."""


class Standings(Queue, Protocol):
    """The mutable side of the ledger: one item per resource, one per account."""

    def standing(self, ref: ResourceRef, now: datetime) -> Standing:
        """What is known about a resource; a fresh standing when it was never seen."""

    def due(self, now: datetime, limit: int) -> tuple[Due, ...]:
        """Resources due at or before `now`, longest overdue first (a sparse index)."""

    def looked(
        self,
        ref: ResourceRef,
        *,
        at: datetime,
        due_at: datetime | None,
        waiting: Waiting | None = None,
    ) -> None:
        """Remember a look that was no news, and when the next one is due (None: never).

        The resource leaves the queue unless it is `waiting`.

        A resource with an open chain stays due: None leaves its due time alone, an earlier time
        is taken, a later one only when the chain was due by `at`, that is, from the look that
        took its turn. So a look from elsewhere never puts a verification off.
        """

    def forget(self, ref: ResourceRef, *, at: datetime) -> None:
        """The resource exists no more: its increase ends (the account's sum with it, in one
        transaction), nothing of it is due, and an act that nobody began is withdrawn.

        An open chain is ended with GONE first: until then it keeps what it reserved and stays
        due. Saying it again, or of a resource never seen, writes nothing.
        """

    def saw_modifications(
        self,
        ref: ResourceRef,
        seen: Sequence[KnownModification],
        *,
        now: datetime,
        full_until: datetime | None = None,
        owner_price: Decimal | None = None,
    ) -> None:
        """Add known starts (same start is the same one), what a refusal taught, and the new
        enrolment price after a change by the owner (which ends our increase in force)."""


class Scan(IntEnum):
    """Whether a caller is the one that scans the fleet now; false for all but one."""

    NOT_OURS = 0
    AGAIN = 1
    FIRST = 2
    """Nobody ever scanned this account and Region: every volume is looked at once."""


class FleetScan(Protocol):
    """When the whole fleet was last scanned, account-wide."""

    def claim_scan(self, now: datetime, every_s: int) -> Scan:
        """AGAIN or FIRST for exactly one caller per period; that one scans.

        After a resume or a closed breaker the next call is a new period, whatever the time.
        """


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

    def stops(self) -> Stops:
        """All that is paused (even if its time is over) or open now."""


class Notes(Protocol):
    """Small texts of the account and Region, by name, that outlive every function."""

    def note(self, name: str) -> str:
        """The text under that name; empty when there is none."""

    def amend(self, name: str, change: Callable[[str], tuple[str, T]]) -> T:
        """Put what `change` makes of the text in its place, atomically; what else it gave.

        `change` may be asked more than once and does nothing but answer.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class NotAnswered:
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
    ) -> Record | NotAnswered:
        """APPROVED or REJECTED for a request that waits, in one transaction with the state.

        Of several answers exactly one is recorded. The resource is due at once.
        """

    def ask_rollback(
        self, decision_id: str, *, at: datetime, who: str, reason: str = ""
    ) -> Record | NotAnswered:
        """Ask for the change of a chain to be undone; the resource is due at once."""

    def waiting(self, now: datetime) -> tuple[Decision, ...]:
        """Decisions that wait for a person at `now`, the first to expire first."""


class Archive(Protocol):
    """Queries over all chains, newest first, for audit and explain."""

    def by_resource(self, arn: str, *, since: datetime, until: datetime) -> Iterable[Record]:
        """Records of one resource."""

    def by_time(self, *, since: datetime, until: datetime) -> Iterable[Record]:
        """Records of all resources."""

    def by_outcome(self, outcome: str, *, since: datetime, until: datetime) -> Iterable[Record]:
        """Records whose `outcome` is this one (act, hold, escalate, applied, relieved, ...)."""

    def reject(self, event_id: str, *, reason: str, excerpt: str, at: datetime) -> None:
        """Record an event nobody understood, once per event id."""


class Glimpses(Protocol):
    """The record in passing: what its indexes show, and whole records by key."""

    def glimpses(
        self, *, since: datetime, until: datetime, outcome: str | None = None,
        oldest_first: bool = False,
    ) -> Iterable[Glimpse]:  # fmt: skip
        """Records in [since, until], of one outcome if it is given, newest first unless told.

        Read from an index that is a moment late.
        """

    def records(self, keys: Sequence[tuple[str, int]]) -> tuple[Record, ...]:
        """The whole records of these ids and sequences, in order; what is none is left out."""


class Policies(Protocol):
    """Where the policy is."""

    def current(self) -> Policy | PolicyUnreadable:
        """The policy in force, or why it cannot be used."""


class Calendars(Protocol):
    """Where the Change Calendars are that a policy names."""

    def seen(self, names: Sequence[str], now: datetime) -> tuple[CalendarSeen, ...]:
        """What each of them says at `now`; never raises: one that cannot be read is closed."""


class NoCalendars:
    """Reads none: every calendar that a policy names counts as closed."""

    def seen(self, names: Sequence[str], now: datetime) -> tuple[CalendarSeen, ...]:
        """All of them unread."""
        return unread(names, "no calendars can be read here")


class Prices(Protocol):
    """Where prices come from."""

    def table(self, region: str) -> PriceTable:
        """Unit prices of a Region; raises PriceUnknown."""


class Notifier(Protocol):
    """Tells people."""

    def tell(self, decision: Decision, step: Step, summary: str) -> None:
        """Send one message a person can act on; never raises."""


class Announcer(Protocol):
    """Tells people what the record says that no decision of ours did."""

    def announce(self, record: Record) -> None:
        """Tell what a person switched: a pause, its end, a breaker closed; never raises."""

    def report(self, day: Day) -> None:
        """Send the one message a day, outside the rate; raises when it could not be sent."""


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
class Telling:
    """What telling others takes, wired."""

    notes: Notes
    glimpses: Glimpses
    ledger: Ledger
    standings: Standings
    switches: Switches
    policies: Policies
    events: Events
    announcer: Announcer


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """All of them, wired. The ledger's four faces are usually one object."""

    storage: Storage
    metrics: Metrics
    ledger: Ledger
    standings: Standings
    scan: FleetScan
    archive: Archive
    policies: Policies
    prices: Prices
    notifier: Notifier
    calendars: Calendars = NoCalendars()  # noqa: RUF009 - without state


__all__ = [
    "Announcer", "Archive", "Calendars", "Delivery", "Due", "Events", "FleetScan", "Glance",
    "Glimpses", "IllegalStep", "InQueue", "Intent", "Ledger", "LostLease", "Metrics", "NoCalendars",
    "NotAnswered", "NotIntended", "Notes", "Notifier", "Policies", "Ports", "Prices", "Queue",
    "ReadFailed", "Recorded", "Requests", "ResourceGone", "Scan", "Signature", "Standings",
    "Storage", "StorageView", "Switches", "Telling",
]  # fmt: skip
