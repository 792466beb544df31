"""What people must hear of is written with its record, and stays until they heard of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from headroom.domain.state import Notify, Step
from headroom.ports import IllegalStep
from tests.builders import NOW, ref
from tests.contracts.decisions import act, append, broken, escalate, hold, intended

MINUTE = timedelta(minutes=1)
HEAR = Notify(text="it is so")


def steps(ledger: Any) -> list[Step]:
    return [notice.step for notice in ledger.notices(100)]


def test_a_decision_is_notified_only_if_that_was_asked(ledger: Any) -> None:
    ledger.decided(hold("h", "vol-h"), due_at=None)
    assert ledger.notices(100) == ()
    assert ledger.decided(escalate("e", "max_iops"), due_at=None, notify=HEAR)
    (notice,) = ledger.notices(100)
    assert (notice.decision_id, notice.sequence, notice.about) == ("e", 0, "e")
    assert (notice.step, notice.text) == (Step.DECIDED, "it is so")
    assert notice.resource == ref("vol-1").arn


def test_a_decision_that_was_recorded_before_is_not_announced_again(ledger: Any) -> None:
    ledger.decided(escalate("e", "max_iops"), due_at=None, notify=HEAR)
    ledger.notified(ledger.notices(100))
    assert not ledger.decided(escalate("e", "max_iops"), due_at=None, notify=HEAR)
    assert ledger.notices(100) == ()


def test_a_step_carries_its_own_words_and_may_be_called_otherwise(ledger: Any) -> None:
    decision = act("d", "vol-1")
    intent = intended(ledger, decision, lease_until=NOW + 20 * MINUTE)
    notify = Notify(text="the set is uneven", step=Step.REFUSED, ends_set=True)
    ledger.append(
        "d", Step.STALE, ref=ref("vol-1"), at=NOW, summary="not sent", body={},
        fencing=intent.fencing, due_at=NOW, notify=notify,
    )  # fmt: skip
    (notice,) = ledger.notices(100)
    assert (notice.decision_id, notice.sequence) == ("d", 2)
    assert (notice.step, notice.text, notice.ends_set) == (Step.REFUSED, notify.text, True)


def test_a_record_that_is_refused_leaves_no_notice(ledger: Any) -> None:
    ledger.decided(hold("h", "vol-1"), due_at=None)
    with pytest.raises(IllegalStep):
        ledger.append(
            "h", Step.RELIEVED, ref=ref("vol-1"), at=NOW, summary="", body={}, fencing=None,
            due_at=None, notify=HEAR,
        )  # fmt: skip
    assert ledger.notices(100) == ()


def test_pauses_and_their_end_are_reported(ledger: Any) -> None:
    ledger.pause(None, at=NOW, who="ann", reason="migration")
    ledger.resume(at=NOW + MINUTE, who="bob")
    assert steps(ledger) == [Step.PAUSED, Step.RESUMED]
    assert "migration" in ledger.notices(1)[0].text


def test_breakers_are_reported_when_they_open_and_when_they_are_closed(ledger: Any) -> None:
    broken(ledger, "vol-1", at=NOW)
    (notice,) = ledger.notices(100)
    assert (notice.step, notice.resource) == (Step.BREAKER_OPENED, ref("vol-1").arn)
    assert "headroom breaker close vol-1 --region us-east-1" in notice.text
    assert ledger.decision(notice.about).decision_id == notice.about
    ledger.close_breaker(ref("vol-1"), at=NOW + MINUTE, who="ann", reason="mended")
    assert steps(ledger) == [Step.BREAKER_OPENED, Step.BREAKER_CLOSED]


def test_the_oldest_come_first_and_what_was_heard_is_gone(ledger: Any) -> None:
    for minute in (3, 1, 2):
        at = NOW + minute * MINUTE
        ledger.decided(escalate(f"e{minute}", "max_iops", at=at), due_at=None, notify=HEAR)
    assert [n.decision_id for n in ledger.notices(2)] == ["e1", "e2"]
    ledger.notified(ledger.notices(1))
    assert [n.decision_id for n in ledger.notices(9)] == ["e2", "e3"]
    ledger.notified(ledger.notices(9))
    ledger.notified([])
    assert ledger.notices(9) == ()


def test_what_was_heard_already_may_be_said_to_be_heard_again(ledger: Any) -> None:
    ledger.decided(escalate("e", "max_iops"), due_at=None, notify=HEAR)
    found = ledger.notices(9)
    ledger.notified(found)
    ledger.notified(found)
    assert ledger.notices(9) == ()


def test_a_change_without_anything_to_hear_leaves_nothing(ledger: Any) -> None:
    decision = act("d", "vol-1")
    intent = intended(ledger, decision, lease_until=NOW + 20 * MINUTE)
    append(ledger, decision, Step.APPLIED, at=NOW, intent=intent)
    assert ledger.notices(9) == ()


def test_text_that_cannot_be_encoded_or_is_long_is_kept_readable(ledger: Any) -> None:
    text = "\ud800" + "x" * 9_000
    ledger.decided(escalate("e", "max_iops"), due_at=None, notify=Notify(text=text))
    (notice,) = ledger.notices(9)
    assert notice.text.startswith("?xxx")
    assert len(notice.text) == 2_000
