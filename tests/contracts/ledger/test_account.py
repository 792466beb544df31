"""What is the account's as a whole: one scan per period, and the kill switch."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from headroom.domain.state import INDEFINITE, AccountStopState, Pause, Step, StopState, broken_link
from headroom.ports import Scan
from tests.builders import NOW, ref
from tests.contracts.decisions import act, intended


def test_one_caller_a_period_scans(ledger: Any) -> None:
    quarter = timedelta(minutes=15)
    calls = [NOW, NOW + quarter / 2, NOW + quarter - timedelta(seconds=1), NOW + quarter]
    assert [ledger.claim_scan(at, 900) for at in calls] == [
        Scan.FIRST, Scan.NOT_OURS, Scan.NOT_OURS, Scan.AGAIN,
    ]  # fmt: skip


def test_a_scan_that_came_late_does_not_put_off_the_next(ledger: Any) -> None:
    assert ledger.claim_scan(NOW + timedelta(seconds=59), 900)
    assert ledger.claim_scan(NOW + timedelta(minutes=15, seconds=1), 900)


def test_a_shorter_period_takes_effect_at_once(ledger: Any) -> None:
    assert ledger.claim_scan(NOW, 900)
    assert ledger.claim_scan(NOW + timedelta(minutes=5), 300)
    assert not ledger.claim_scan(NOW + timedelta(minutes=9), 300)


def test_a_clock_that_went_back_claims_nothing(ledger: Any) -> None:
    assert ledger.claim_scan(NOW, 900)
    assert not ledger.claim_scan(NOW - timedelta(hours=1), 900)


@pytest.mark.parametrize(("until", "stored"), [(NOW, NOW), (None, INDEFINITE)])
def test_the_kill_switch_is_on_until_somebody_resumes(
    ledger: Any, until: datetime | None, stored: datetime
) -> None:
    assert ledger.stop_state() == StopState(account=AccountStopState(), breakers=())
    ledger.pause(until, at=NOW, who="alice", reason="load test")
    assert ledger.stop_state().account.pause == Pause(
        until=stored, since=NOW, who="alice", reason="load test"
    )
    ledger.resume(at=NOW + timedelta(minutes=1), who="bob")
    assert ledger.stop_state().account.pause is None


def test_the_fleet_is_scanned_anew_as_soon_as_somebody_resumes(ledger: Any) -> None:
    ledger.resume(at=NOW, who="bob")  # before there was any scan: the first is still the first
    assert ledger.claim_scan(NOW, 900) is Scan.FIRST
    ledger.pause(None, at=NOW, who="alice")
    assert ledger.claim_scan(NOW + timedelta(minutes=1), 900) is Scan.NOT_OURS
    ledger.resume(at=NOW + timedelta(minutes=1), who="bob")
    assert ledger.claim_scan(NOW + timedelta(minutes=2), 900) is Scan.AGAIN
    assert ledger.claim_scan(NOW + timedelta(minutes=2), 900) is Scan.NOT_OURS


def test_every_turn_of_the_kill_switch_is_recorded(ledger: Any) -> None:
    ledger.pause(None, at=NOW, who="alice")
    ledger.pause(
        NOW + timedelta(hours=2), at=NOW + timedelta(minutes=1), who="carol", reason="load test"
    )
    ledger.resume(at=NOW + timedelta(hours=1), who="bob", reason="it is over")
    records = list(ledger.by_time(since=NOW, until=NOW + timedelta(hours=1)))
    assert [(r.step, r.summary) for r in records] == [
        (Step.RESUMED, "resumed by bob: it is over"),
        (Step.PAUSED, "paused until 2026-01-05T14:00:00+00:00 by carol: load test"),
        (Step.PAUSED, "paused without end by alice"),
    ]
    for record in records:
        assert broken_link(ledger.chain(record.decision_id)) is None
    assert len(list(ledger.by_outcome("paused", since=NOW, until=NOW + timedelta(hours=1)))) == 2


def test_a_pause_requested_twice_is_one_record_and_one_pause(ledger: Any) -> None:
    ledger.pause(None, at=NOW, who="alice")
    ledger.resume(at=NOW, who="bob")
    ledger.pause(None, at=NOW, who="alice")
    assert ledger.stop_state().account.pause.until == INDEFINITE
    assert len(list(ledger.by_outcome("paused", since=NOW, until=NOW))) == 1


def test_the_sum_never_falls_below_zero(ledger: Any) -> None:
    """A second return of what was given back already is refused, whatever the states say."""
    intended(ledger, act(increase="50"), lease_until=NOW + timedelta(minutes=20))
    back = ledger._state.add(-50_000_000)
    write = ledger._transactions.write
    assert write([back], token="once", landed=lambda: False) is None
    refused = write([back], token="twice", landed=lambda: False)
    assert list(refused.failed) == [0]
    assert ledger.resource_state(ref("vol-1"), NOW).account_increase_usd == 0
