"""Record chains for tests, made by the decision core itself."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from headroom.cli.sources.records_file import line_of
from headroom.domain.decision import Decision, decide
from headroom.domain.ledger import first_record, next_record
from headroom.domain.state import Record, Step
from headroom.serialization import decision_to_json
from tests.builders import decision_input

Chain = tuple[Record, ...]


def acted() -> Chain:
    """A starved gp3 volume that was raised and relieved."""
    return chain(
        decide(decision_input()),
        [
            (Step.INTENDED, "Intended.", 0),
            (Step.APPLIED, "AWS accepted the change.", 0),
            (Step.RELIEVED, "No pressure for 10 minutes.", 25),
        ],
    )


def chain(decision: Decision, steps: Sequence[tuple[Step, str, int]] = ()) -> Chain:
    """The records of a decision and of `steps`: (step, summary, minutes after the decision)."""
    found = [first_record(decision, decision_to_json(decision))]
    for step, summary, minutes in steps:
        at = decision.at + timedelta(minutes=minutes)
        found.append(next_record(found[-1], step, at=at, summary=summary, body="{}"))
    return tuple(found)


def written(path: Path, *chains: Chain) -> Path:
    """`path`, holding these chains."""
    lines = (line_of(record) + "\n" for each in chains for record in each)
    path.write_text("".join(lines), encoding="utf-8")
    return path
