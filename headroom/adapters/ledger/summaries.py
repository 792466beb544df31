"""Summaries of records from the indexes; bodies are read only on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from headroom.adapters.errors import reading
from headroom.adapters.ledger.items import Item, price_change_of, record_of, unwire, wire
from headroom.adapters.ledger.reads import BODIES_PER_BATCH, days
from headroom.adapters.ledger.tables import Tables
from headroom.adapters.tables import BY_DAY, BY_OUTCOME, BY_RESOURCE, RECORDS
from headroom.domain.state import Record, RecordSummary, step_of


class RecordIndex(Tables):
    """Reads of indexes alone: a page of 1 MB holds thousands of records."""

    def record_summaries(
        self, *, since: datetime, until: datetime, outcome: str | None = None,
        resource: str | None = None, oldest_first: bool = False, page: int | None = None,
    ) -> Iterator[RecordSummary]:  # fmt: skip
        """Records in [since, until], of one outcome or resource if given, newest first unless `oldest_first`.

        Read as many at once as fit in an answer of 1 MB, or `page`.
        """
        index, partitions = BY_RESOURCE, [resource or ""]
        if resource is None:
            index = BY_DAY if outcome is None else BY_OUTCOME
            prefix = "" if outcome is None else f"{outcome}#"
            partitions = [f"{prefix}{day}" for day in days(since, until)]
        for partition in reversed(partitions) if oldest_first else partitions:
            for item in self._records.entries(
                RECORDS.index(index), partition, since, until, newest_first=not oldest_first,
                page=page,
            ):  # fmt: skip
                if outcome is None or unwire(item["outcome"]) == outcome:
                    with reading("the summary of a record"):
                        yield _summary(item)

    def records(self, keys: Sequence[tuple[str, int]]) -> tuple[Record, ...]:
        """The whole records of these ids and sequences, in their order; missing ones are left out."""
        found: dict[tuple[str, int], Record] = {}
        for start in range(0, len(keys), BODIES_PER_BATCH):
            wanted = [
                {"decision_id": wire(decision_id), "sequence": wire(sequence)}
                for decision_id, sequence in keys[start : start + BODIES_PER_BATCH]
            ]
            for item in self._reads.items(self._table, wanted):
                with reading("a record"):
                    record = record_of(item)
                    found[record.decision_id, record.sequence] = record
        return tuple(found[key] for key in keys if key in found)


def _summary(item: Item) -> RecordSummary:
    return RecordSummary(
        decision_id=unwire(item["decision_id"]),
        sequence=unwire(item["sequence"]),
        step=step_of(unwire(item["step"])),
        resource=unwire(item["resource"]),
        at=datetime.fromisoformat(unwire(item["at"])).astimezone(UTC),
        outcome=unwire(item["outcome"]),
        summary=unwire(item["summary"]),
        reason=unwire(item["reason"]) if "reason" in item else "",
        price_change_usd=price_change_of(item),
    )
