"""The archive: the same records by resource, by time and by outcome, newest first."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from headroom.domain.state import Step, broken_link
from tests.builders import NOW, ref
from tests.contracts.decisions import act, append, hold, intended

DAY = timedelta(days=1)
ALL: dict[str, datetime] = {"since": NOW - 9 * DAY, "until": NOW + 9 * DAY}


def ids(records: Any) -> list[str]:
    return [r.decision_id for r in records]


def a_week(ledger: Any) -> None:
    for number in range(6):
        at = NOW + number * timedelta(hours=20)
        ledger.decided(hold(f"h{number}", f"vol-{number % 2}", at=at), due_at=None)


def test_records_of_a_resource_come_newest_first(ledger: Any) -> None:
    a_week(ledger)
    assert ids(ledger.by_resource(ref("vol-0").arn, **ALL)) == ["h4", "h2", "h0"]
    assert ids(ledger.by_resource(ref("vol-9").arn, **ALL)) == []


def test_records_of_all_resources_come_newest_first_over_many_days(ledger: Any) -> None:
    a_week(ledger)
    assert ids(ledger.by_time(**ALL)) == ["h5", "h4", "h3", "h2", "h1", "h0"]


def test_records_come_by_what_they_count_as(ledger: Any) -> None:
    a_week(ledger)
    intended(ledger, act(at=NOW + DAY), lease_until=NOW + 2 * DAY)
    append(ledger, act(), Step.APPLIED, at=NOW + DAY)
    assert ids(ledger.by_outcome("hold", **ALL)) == ["h5", "h4", "h3", "h2", "h1", "h0"]
    assert ids(ledger.by_outcome("act", **ALL)) == ["d1"]
    assert ids(ledger.by_outcome("applied", **ALL)) == ["d1"]
    assert ids(ledger.by_outcome("relieved", **ALL)) == []


def test_both_ends_of_a_span_belong_to_it(ledger: Any) -> None:
    a_week(ledger)
    span = {"since": NOW + timedelta(hours=20), "until": NOW + timedelta(hours=60)}
    assert ids(ledger.by_time(**span)) == ["h3", "h2", "h1"]
    tick = timedelta(microseconds=1)
    inner = {"since": span["since"] + tick, "until": span["until"] - tick}
    assert ids(ledger.by_time(**inner)) == ["h2"]
    assert ids(ledger.by_outcome("hold", **span)) == ["h3", "h2", "h1"]
    assert ids(ledger.by_resource(ref("vol-1").arn, **span)) == ["h3", "h1"]


def test_records_of_one_instant_come_in_the_order_of_their_chain(ledger: Any) -> None:
    intended(ledger, act(), lease_until=NOW + DAY)
    append(ledger, act(), Step.APPLIED)
    records = list(ledger.by_time(since=NOW, until=NOW))
    assert [r.sequence for r in records] == [2, 1, 0]
    assert broken_link(tuple(reversed(records))) is None


def test_what_a_query_gives_is_the_whole_record(ledger: Any) -> None:
    a_week(ledger)
    for record in ledger.by_time(**ALL):
        assert ledger.chain(record.decision_id) == (record,)


def test_more_records_than_one_page_all_come(ledger: Any) -> None:
    for number in range(60):
        at = NOW + timedelta(minutes=number)
        ledger.reject(f"e{number:02}", reason="no shape", excerpt="{}", at=at)
    expected = [f"event#e{number:02}" for number in reversed(range(60))]
    assert ids(ledger.by_time(**ALL)) == expected
    assert ids(ledger.by_outcome("rejected_signal", **ALL)) == expected


def test_the_newest_few_can_be_taken_without_the_rest(ledger: Any) -> None:
    a_week(ledger)
    records = iter(ledger.by_time(**ALL))
    assert next(records).decision_id == "h5"


@pytest.mark.parametrize("query", ["by_time", "by_resource", "by_outcome"])
def test_a_span_without_a_time_zone_is_refused(ledger: Any, query: str) -> None:
    naive = NOW.replace(tzinfo=None)
    wanted = [] if query == "by_time" else ["x"]
    with pytest.raises(ValueError, match="time zone"):
        list(getattr(ledger, query)(*wanted, since=naive, until=NOW))


def test_a_rejected_event_is_recorded_once(ledger: Any) -> None:
    ledger.reject("e1", reason="no detail", excerpt='{"a":1}', at=NOW)
    ledger.reject("e1", reason="again", excerpt="{}", at=NOW + DAY)
    (record,) = ledger.by_outcome("rejected_signal", **ALL)
    assert (record.step, record.at, record.summary) == (Step.REJECTED_SIGNAL, NOW, "no detail")
    assert record.resource == '{"a":1}'
    assert broken_link(ledger.chain(record.decision_id)) is None


@pytest.mark.parametrize(
    ("event_id", "excerpt"),
    [
        ("", ""),
        ("x" * 3000, "é" * 1000),
        ("\ud800", "half a pair \udfff"),
        ("日本" * 600, "日本" * 900),
    ],
)
def test_whatever_an_event_holds_can_be_recorded(ledger: Any, event_id: str, excerpt: str) -> None:
    ledger.reject(event_id, reason="nobody knows", excerpt=excerpt, at=NOW)
    (record,) = ledger.by_time(since=NOW, until=NOW)
    assert broken_link((record,)) is None
