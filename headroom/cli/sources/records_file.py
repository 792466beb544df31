"""Record chains in a file, one record a line, as the demo writes them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from pathlib import Path

from headroom.cli.terminal.names import short
from headroom.cli.terminal.problems import BadRequest
from headroom.domain.state import Record, RecordSummary, Step

DEMO_RECORDS = Path("build/demo/records.jsonl")


def line_of(record: Record) -> str:
    """A record as one line of JSON, byte for byte the same every time."""
    price = record.price_change_usd
    fields = asdict(record) | {"at": record.at.isoformat(), "step": record.step.value}
    fields["price_change_usd"] = None if price is None else str(price)
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def record_of(line: str) -> Record:
    """The record in a line; raises ValueError, KeyError or TypeError on anything else."""
    fields = json.loads(line)
    at = datetime.fromisoformat(fields["at"])
    if at.tzinfo is None:
        raise ValueError("its instant has no time zone")
    price = fields.get("price_change_usd")
    parsed = {"at": at, "step": Step(fields["step"])}
    if price is not None:
        parsed["price_change_usd"] = Decimal(price)
    return Record(**fields | parsed)


class RecordsFile:
    """The chains of a file, queried as the ledger is: newest first."""

    def __init__(self, path: Path) -> None:
        """Read `path`; raises BadRequest when it is not there or not text."""
        try:
            with path.open(encoding="utf-8") as text:  # a line ends with a line feed alone
                lines = [line.removesuffix("\n") for line in text]
        except (OSError, UnicodeDecodeError) as problem:
            why = getattr(problem, "strerror", None) or "it is not UTF-8 text"
            raise BadRequest(f"The records in {path} cannot be read: {why}.") from None
        self._path = path
        self._lines = list(enumerate(lines, start=1))

    def _read(self, about: str = "") -> list[Record]:
        """The records whose lines contain `about`, newest first; raises BadRequest.

        A decision's record is 20 KB, so lines about others are not parsed; one that was cut is.
        """
        found: list[Record] = []
        for number, line in self._lines:
            if about not in line and line.startswith("{") and line.endswith("}"):
                continue
            try:
                found.append(record_of(line))
            except (ValueError, KeyError, TypeError) as problem:
                why = (
                    problem
                    if isinstance(problem, ValueError)
                    else "its fields are not those of a record"
                )
                raise BadRequest(
                    f"Line {number} of {self._path} is not a record ({why}): this is no file "
                    "of records as `headroom demo` writes them, or it was cut or edited."
                ) from None
        return sorted(found, key=lambda r: (r.at, r.decision_id, r.sequence), reverse=True)

    def record_summaries(
        self, *, since: datetime, until: datetime, outcome: str | None = None,
        resource: str | None = None, oldest_first: bool = False, page: int | None = None,
    ) -> Iterator[RecordSummary]:  # fmt: skip
        """Records in [since, until]; `resource` is an ARN or what people call it."""
        found = self._read()
        for record in reversed(found) if oldest_first else found:
            if (
                since <= record.at <= until
                and outcome in (None, record.outcome)
                and resource in (None, record.resource, short(record.resource))
            ):
                yield record.listed

    def records(self, keys: Sequence[tuple[str, int]]) -> tuple[Record, ...]:
        """The whole records of these ids and sequences, in order; missing ones are left out."""
        found = {(record.decision_id, record.sequence): record for record in self._read()}
        return tuple(found[key] for key in keys if key in found)

    def chain(self, decision_id: str) -> tuple[Record, ...]:
        """All records of one decision, oldest first; the start of its id will do.

        Raises BadRequest when more than one decision starts like that.
        """
        records = self._read(decision_id)
        ids = {r.decision_id for r in records if r.decision_id.startswith(decision_id)}
        if len(ids) > 1 and decision_id not in ids:
            raise BadRequest(
                f"{len(ids)} decisions start with {decision_id!r}; give more of the id."
            )
        name = decision_id if decision_id in ids else next(iter(ids), decision_id)
        found = (r for r in records if r.decision_id == name)
        return tuple(sorted(found, key=lambda r: r.sequence))
