"""Records in passing: what the indexes show, in order, and whole records by key."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from headroom.domain.state import Step, broken_link
from tests.builders import NOW, ref
from tests.contracts.decisions import act, append, hold, intended

DAY = timedelta(days=1)


def filled(ledger: Any) -> None:
    """An act that was applied just before midnight UTC and relieved just after, and two holds."""
    night = NOW.replace(hour=23, minute=50)
    decision = act("d1", at=night)
    intent = intended(ledger, decision, night, lease_until=night + timedelta(minutes=20))
    append(ledger, decision, Step.APPLIED, at=night, intent=intent)
    append(ledger, decision, Step.RELIEVED, at=night + timedelta(minutes=20), intent=intent)
    ledger.decided(hold("h1", "vol-2", at=NOW), due_at=None)
    ledger.decided(hold("h2", "vol-3", at=NOW + DAY), due_at=None)


def listed(ledger: Any, **how: Any) -> list[str]:
    found = ledger.record_summaries(**{"since": NOW - DAY, "until": NOW + 2 * DAY} | how)
    return [f"{g.decision_id}/{g.sequence} {g.step.value}" for g in found]


ALL = ["h1/0 decided", "d1/0 decided", "d1/1 intended", "d1/2 applied", "d1/3 relieved",
       "h2/0 decided"]  # fmt: skip


def test_records_are_listed_oldest_first_or_newest_first_over_midnight(ledger: Any) -> None:
    filled(ledger)
    assert listed(ledger, oldest_first=True) == ALL
    assert listed(ledger) == ALL[::-1]


def test_only_those_of_an_outcome_are_listed_when_it_is_given(ledger: Any) -> None:
    filled(ledger)
    assert listed(ledger, outcome="hold") == ["h2/0 decided", "h1/0 decided"]
    assert listed(ledger, outcome="relieved") == ["d1/3 relieved"]
    assert listed(ledger, outcome="failed") == []


def test_both_ends_of_the_time_belong_to_it(ledger: Any) -> None:
    filled(ledger)
    assert listed(ledger, since=NOW, until=NOW) == ["h1/0 decided"]
    assert listed(ledger, since=NOW + timedelta(microseconds=1), until=NOW + 2 * DAY,
                 oldest_first=True) == ALL[1:]  # fmt: skip


def test_a_glimpse_shows_what_the_record_says(ledger: Any) -> None:
    filled(ledger)
    (seen,) = ledger.record_summaries(since=NOW, until=NOW)
    (record,) = ledger.records([("h1", 0)])
    assert seen == record.listed


def test_all_records_of_a_chain_are_listed_with_the_decisions_reason_and_price(ledger: Any) -> None:
    filled(ledger)
    answer = act("d1").answer
    found = [*ledger.record_summaries(since=NOW, until=NOW + DAY, resource=ref().arn)]
    assert [g.decision_id for g in found] == ["d1"] * 4
    assert {g.reason for g in found} == {answer.reason.value}
    assert {g.price_change_usd for g in found} == {answer.plan.price_change_usd}
    assert broken_link(ledger.chain("d1")) is None


def test_records_of_one_resource_are_listed_also_by_outcome_and_by_page(ledger: Any) -> None:
    filled(ledger)
    mine = {"resource": ref().arn}
    assert listed(ledger, **mine) == ALL[4:0:-1]
    assert listed(ledger, **mine, oldest_first=True, page=1) == ALL[1:5]
    assert listed(ledger, **mine, outcome="applied") == ["d1/2 applied"]
    assert listed(ledger, page=2) == ALL[::-1]


def test_whole_records_come_in_the_order_asked_for_and_what_is_none_is_left_out(
    ledger: Any,
) -> None:
    filled(ledger)
    keys = [("d1", 2), ("nobody", 0), ("d1", 0), ("d1", 9), ("h1", 0)]
    found = ledger.records(keys)
    assert [(r.decision_id, r.sequence) for r in found] == [("d1", 2), ("d1", 0), ("h1", 0)]
    assert found[1] == ledger.chain("d1")[0]
    assert ledger.records([]) == ()


def test_more_records_than_one_read_takes_are_all_found(ledger: Any) -> None:
    for number in range(110):
        ledger.decided(hold(f"h{number}", f"vol-{number}", at=NOW), due_at=None)
    keys = [(f"h{number}", 0) for number in range(110)]
    assert [record.decision_id for record in ledger.records(keys)] == [key[0] for key in keys]
