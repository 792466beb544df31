"""The base of the in-memory ledger: chains of records, resource states and the index of records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import RLock
from typing import TypeVar

from headroom.domain.decision import Decision
from headroom.domain.ledger import next_record, withdrawal_text
from headroom.domain.resources import Kind, ResourceRef
from headroom.domain.state import (
    AccountStopState,
    Breaker,
    ConcurrencyState,
    LoadProfile,
    Record,
    Step,
    StoredState,
)
from headroom.serialization import to_json

T = TypeVar("T")
Link = Callable[[Record | None], Record]


def stored_ref(ref: ResourceRef) -> ResourceRef:
    """The key of a resource: Aurora and other clusters share one form of ARN."""
    if ref.kind is not Kind.AURORA:
        return ref
    return replace(ref, kind=Kind.RDS, resource_id=f"cluster:{ref.resource_id}")


@dataclass(slots=True, kw_only=True)
class Chain:
    """A chain: its records, then links that are not written out yet."""

    resource: str
    decision: Decision | None
    steps: list[Step] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    def written(self) -> list[Record]:
        """All its records, oldest first."""
        while len(self.records) < len(self.links):
            last = self.records[-1] if self.records else None
            self.records.append(self.links[len(self.records)](last))
        return self.records


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Entry:
    """The index entry of a record, ordered by instant, place in its chain and id."""

    at: datetime
    sequence: int
    decision_id: str
    resource: str
    outcome: str


class InMemoryChains:
    """Chains, resource states and account state of one account and Region; thread-safe.

    A record is written out and hashed on its first read, in the order of its chain.
    """

    def __init__(self, account_id: str, region: str) -> None:
        self._account = f"account#{account_id}#{region}"
        self._chains: dict[str, Chain] = {}
        self._entries: list[Entry] = []
        self._states: dict[ResourceRef, StoredState] = {}
        self._profiles: dict[ResourceRef, LoadProfile] = {}
        self._account_micro_usd = 0
        self._stops = AccountStopState()
        self._breakers: dict[str, Breaker] = {}
        self._scanned: datetime | None = None
        self._notes: dict[str, str] = {}
        self._traffic = ConcurrencyState()
        self._lock = RLock()

    def chain(self, decision_id: str) -> tuple[Record, ...]:
        """All records of one decision, oldest first; empty when there are none."""
        with self._lock:
            found = self._chains.get(decision_id)
            return () if found is None else tuple(found.written())

    def note(self, name: str) -> str:
        """The text under that name, or an empty one."""
        with self._lock:
            return self._notes.get(name, "")

    def amend(self, name: str, change: Callable[[str], tuple[str, T]]) -> T:
        """Replace the text by what `change` makes of it; returns the second value of `change`."""
        with self._lock:
            self._notes[name], result = change(self._notes.get(name, ""))
            return result

    def _state(self, ref: ResourceRef) -> StoredState:
        return self._states.get(stored_ref(ref)) or StoredState()

    def _move(self, ref: ResourceRef, moved: StoredState) -> None:
        self._account_micro_usd += moved.resource_micro_usd - self._state(ref).resource_micro_usd
        self._states[stored_ref(ref)] = moved

    def _withdraw(self, unstarted_act: str | None, successor: str | None, at: datetime) -> None:
        if unstarted_act is not None:
            summary, body = withdrawal_text(successor)
            self._follow(unstarted_act, Step.WITHDRAWN, at, summary, to_json(body))

    def _follow(self, decision_id: str, step: Step, at: datetime, summary: str, body: str) -> None:
        def link(last: Record | None) -> Record:
            if last is None:
                raise LookupError(f"{decision_id} has no record to follow")
            return next_record(last, step, at=at, summary=summary, body=body)

        self._link(decision_id, step, at, step.value, link)

    def _single(self, record: Record) -> None:
        with self._lock:
            if record.decision_id not in self._chains:
                chain = Chain(resource=record.resource, decision=None)
                self._chains[record.decision_id] = chain
                self._link(
                    record.decision_id, record.step, record.at, record.outcome, lambda _: record
                )

    def _link(self, decision_id: str, step: Step, at: datetime, outcome: str, link: Link) -> None:
        chain = self._chains[decision_id]
        entry = Entry(
            at=at, sequence=len(chain.links), decision_id=decision_id, resource=chain.resource,
            outcome=outcome,
        )  # fmt: skip
        chain.steps.append(step)
        chain.links.append(link)
        self._entries.append(entry)

    def _found(
        self, fits: Callable[[Entry], bool], since: datetime, until: datetime
    ) -> Iterator[Record]:
        if since.tzinfo is None or until.tzinfo is None:
            raise ValueError("since and until need a time zone; pass aware instants.")
        with self._lock:
            found = sorted(e for e in self._entries if since <= e.at <= until and fits(e))
        return (self.chain(entry.decision_id)[entry.sequence] for entry in reversed(found))
