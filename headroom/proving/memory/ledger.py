"""The deployed ledger over tables in memory."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from headroom.adapters.ledger import DynamoLedger
from headroom.adapters.tables import DUE, DUE_SHARDS, RECORDS, STATE
from headroom.domain.decision import Decision
from headroom.domain.state import Notify, ScanProgress
from headroom.ports import DueResources
from headroom.proving.memory.dynamodb import DynamoDbInMemory
from headroom.serialization import decision_to_json, stored

LAST = datetime.max.replace(tzinfo=UTC)
"""An instant that never comes."""


class InMemoryLedger(DynamoLedger):
    """Ledger, StateStore, FleetScan, Switches, Requests and Archive of one account and Region."""

    def __init__(self, account_id: str, region: str) -> None:
        self._tables = DynamoDbInMemory()
        client: Any = self._tables
        super().__init__(
            client, records_table=RECORDS.name, state_table=STATE.name, account_id=account_id,
            region=region,
        )  # fmt: skip
        self._kept: dict[str, Decision] = {}

    def decided(
        self, decision: Decision, *, due_at: datetime | None, notify: Notify | None = None
    ) -> bool:
        """As deployed; the decision is kept as it is stored, to be read without its JSON."""
        kept = stored(decision)
        new = self._decided(decision, decision_to_json(decision, kept), due_at, notify)
        if new:
            self._kept[decision.decision_id] = kept
        return new

    def _decision(self, decision_id: str) -> Decision:
        return self._kept.get(decision_id) or super()._decision(decision_id)

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """Every decision as it is stored, in the order they were recorded."""
        return tuple(self._kept.values())

    def next_due(self) -> datetime | None:
        """The earliest instant at which a dispatcher takes anything; None when nothing is due."""
        entries = (entry for shard in DUE_SHARDS for entry in self._tables.entries(DUE, shard))
        first = min((entry["wake_at"] for entry in entries), default=None)
        return None if first is None else datetime.fromisoformat(first)


class TrialLedger(InMemoryLedger):
    """The same for trials and simulations, which scan thousands of times: a scan's progress has no text."""

    def __init__(self, account_id: str, region: str) -> None:
        super().__init__(account_id, region)
        self._scan, self._scanning = ScanProgress(), Lock()

    def due(self, now: datetime, limit: int) -> DueResources:
        """As deployed; no shard is queried before anything is due."""
        first = self.next_due()
        return super().due(now, limit) if first is not None and first <= now else DueResources()

    def scan_progress(self) -> ScanProgress:
        """How far the scan of the fleet is."""
        return self._scan

    def amend_scan(self, change: Callable[[ScanProgress], ScanProgress]) -> ScanProgress:
        """Replace the progress by the result of `change`, atomically."""
        with self._scanning:
            self._scan = change(self._scan)
            return self._scan
