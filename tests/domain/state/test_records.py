from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.state import (
    GENESIS,
    NEXT,
    RECORD_FORMAT,
    Record,
    Step,
    broken_link,
    link_problem,
    seal,
)
from tests.builders import NOW


def chain(*steps: Step) -> tuple[Record, ...]:
    made: list[Record] = []
    for number, step in enumerate(steps):
        made.append(
            seal(
                decision_id="d", sequence=number, step=step, resource="arn", summary=step.value,
                at=NOW + timedelta(minutes=number), outcome="act", body="{}",
                previous_hash=made[-1].hash if made else GENESIS,
            )
        )  # fmt: skip
    return tuple(made)


WHOLE = chain(Step.DECIDED, Step.INTENDED, Step.UNKNOWN, Step.APPLIED, Step.RELIEVED)


def test_a_chain_as_it_was_written_is_whole() -> None:
    assert broken_link(WHOLE) is None
    assert broken_link(()) is None


@given(
    at=st.integers(0, len(WHOLE) - 1),
    field=st.sampled_from(["summary", "body", "outcome", "resource", "decision_id"]),
    text=st.text(min_size=1),
)
def test_any_word_changed_afterwards_breaks_the_chain(at: int, field: str, text: str) -> None:
    if getattr(WHOLE[at], field) == text:
        return
    forged = (*WHOLE[:at], replace(WHOLE[at], **{field: text}), *WHOLE[at + 1 :])
    assert broken_link(forged) is not None


def test_the_hash_covers_the_format() -> None:
    forged = (replace(WHOLE[0], format=0), *WHOLE[1:])
    assert broken_link(forged) == forged[0]
    assert "changed" in link_problem(forged[0])


def test_a_record_in_a_newer_format_is_not_taken_for_verified() -> None:
    last = WHOLE[-1]
    newer = seal(
        format=RECORD_FORMAT + 1, decision_id="d", sequence=last.sequence, step=last.step,
        resource=last.resource, at=last.at, outcome=last.outcome, summary=last.summary,
        body=last.body, previous_hash=last.previous_hash,
    )  # fmt: skip
    assert broken_link((*WHOLE[:-1], newer)) == newer
    assert "upgrade" in link_problem(newer)


@pytest.mark.parametrize("missing", range(len(WHOLE) - 1))
def test_a_record_taken_out_breaks_the_chain(missing: int) -> None:
    assert broken_link(WHOLE[:missing] + WHOLE[missing + 1 :]) is not None


@pytest.mark.parametrize(
    "steps",
    [
        (Step.INTENDED,),
        (Step.DECIDED, Step.APPLIED),
        (Step.DECIDED, Step.INTENDED, Step.RELIEVED),
        (Step.DECIDED, Step.INTENDED, Step.REFUSED, Step.APPLIED),
        (Step.DECIDED, Step.INTENDED, Step.UNKNOWN, Step.RELIEVED),
        (Step.DECIDED, Step.APPROVED),
        (Step.DECIDED, Step.REJECTED),
        (Step.DECIDED, Step.AWAITING, Step.INTENDED),
        (Step.DECIDED, Step.AWAITING, Step.REJECTED, Step.APPROVED),
        (Step.DECIDED, Step.AWAITING, Step.EXPIRED, Step.APPROVED),
        (Step.DECIDED, Step.AWAITING, Step.EXPIRED, Step.INTENDED),
        (Step.DECIDED, Step.AWAITING, Step.APPROVED, Step.APPLIED),
        (Step.DECIDED, Step.AWAITING, Step.APPROVED, Step.WITHDRAWN, Step.INTENDED),
        (Step.DECIDED, Step.INTENDED, Step.AWAITING),
        (Step.DECIDED, Step.INTENDED, Step.ROLLED_BACK),
        (Step.AWAITING,),
    ],
)
def test_an_illegal_order_breaks_the_chain(steps: tuple[Step, ...]) -> None:
    assert broken_link(chain(*steps)) is not None


@pytest.mark.parametrize(
    "steps",
    [
        (Step.REJECTED,),
        (Step.EXPIRED,),
        (Step.AWAITING, Step.AWAITING, Step.APPROVED, Step.INTENDED),
        (Step.WITHDRAWN,),
        (Step.GONE,),
        (Step.APPROVED, Step.WITHDRAWN),
        (Step.APPROVED, Step.REJECTED),
        (Step.APPROVED, Step.INTENDED, Step.STALE, Step.REJECTED),
        (Step.APPROVED, Step.GONE),
        (Step.APPROVED, Step.INTENDED, Step.APPLIED, Step.RELIEVED),
        (Step.APPROVED, Step.INTENDED, Step.UNKNOWN, Step.APPLIED, Step.ROLLED_BACK),
    ],
)
def test_a_request_may_go_any_of_the_legal_ways(steps: tuple[Step, ...]) -> None:
    assert broken_link(chain(Step.DECIDED, Step.AWAITING, *steps)) is None


def test_steps_that_end_a_chain_have_no_successor() -> None:
    ends = {Step.WITHDRAWN, Step.REFUSED, Step.STALE, Step.NOT_APPLIED, Step.FAILED,
            Step.RELIEVED, Step.INEFFECTIVE, Step.DIVERGED, Step.REJECTED, Step.EXPIRED,
            Step.ROLLED_BACK, Step.ROLLBACK_REQUESTED, Step.RELEASED}  # fmt: skip
    assert not ends & set(NEXT)
