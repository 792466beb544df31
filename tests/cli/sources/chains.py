"""Record chains for tests, made by the decision core itself."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from headroom.cli.sources.records_file import line_of
from headroom.domain.decision import Decision, decide
from headroom.domain.state import GENESIS, Record, Step, seal
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
    body = decision_to_json(decision)
    every = [(Step.DECIDED, decision.summary, 0, body), *((s, t, m, "{}") for s, t, m in steps)]
    found: list[Record] = []
    for sequence, (step, summary, minutes, text) in enumerate(every):
        kind = type(decision.answer).__name__.lower()
        found.append(
            seal(
                decision_id=decision.decision_id,
                sequence=sequence,
                step=step,
                resource=decision.observation.volume.ref.arn,
                at=decision.at + timedelta(minutes=minutes),
                outcome=kind if step is Step.DECIDED else step.value,
                summary=summary,
                body=text,
                previous_hash=found[-1].hash if found else GENESIS,
            )
        )
    return tuple(found)


def written(path: Path, *chains: Chain) -> Path:
    """`path`, holding these chains."""
    lines = (line_of(record) + "\n" for each in chains for record in each)
    path.write_text("".join(lines), encoding="utf-8")
    return path
