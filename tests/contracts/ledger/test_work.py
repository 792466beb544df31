"""Claims of due items by dispatchers and of resources by workers, and the progress of a scan."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from headroom.adapters.tables import DUE_SHARDS, due_shard
from headroom.domain.detection import GlanceState, Trouble
from headroom.domain.state import (
    OpenPage,
    ScanProgress,
    page_begun,
    page_listed,
    page_read,
    pages_claimed,
    scan_begun,
)
from headroom.ports import Answered, Claim, Glanced, WorkItem
from tests.builders import NOW, ref
from tests.contracts.decisions import hold

LATER = NOW + timedelta(minutes=5)
MINUTE = timedelta(minutes=1)


def claim(
    ledger: Any, holder: str, now: datetime = NOW, *, since: datetime | None = None,
    apart: timedelta = MINUTE,
) -> Claim | Answered:  # fmt: skip
    item = WorkItem(ref=ref(), trigger="due", since=now if since is None else since)
    found: Claim | Answered = ledger.claim_work(
        item, holder=holder, now=now, until=now + timedelta(minutes=4), not_after=now - apart
    )
    return found


def test_what_is_due_is_found_in_every_partition_longest_overdue_first(ledger: Any) -> None:
    refs = [ref(f"vol-{number}") for number in range(40)]
    for number, one in enumerate(refs):
        ledger.reconciled(one, at=NOW, due_at=NOW + timedelta(seconds=number))
    assert {due_shard(one.arn) for one in refs} == set(DUE_SHARDS)
    assert [due.ref for due in ledger.due(LATER, 100)] == refs
    assert [due.ref for due in ledger.due(LATER, 10)] == refs[:10]


def test_one_dispatcher_claims_what_is_due_and_it_wakes_when_the_claim_expires(ledger: Any) -> None:
    ledger.reconciled(ref(), at=NOW, due_at=NOW)
    (due,) = ledger.due(NOW, 10)
    assert ledger.claim_due(due, LATER)
    assert not ledger.claim_due(due, LATER + MINUTE), "another that read it before"
    assert ledger.due(LATER - MINUTE, 10) == ()
    (again,) = ledger.due(LATER, 10)
    assert (again.due_at, again.wake_at) == (NOW, LATER)
    assert ledger.claim_due(again, LATER + timedelta(minutes=5))


def test_a_reconciliation_ends_the_claim_of_the_dispatcher(ledger: Any) -> None:
    ledger.reconciled(ref(), at=NOW, due_at=NOW)
    (due,) = ledger.due(NOW, 10)
    ledger.claim_due(due, LATER)
    ledger.reconciled(ref(), at=NOW, due_at=NOW + MINUTE)
    assert [each.due_at for each in ledger.due(NOW + MINUTE, 10)] == [NOW + MINUTE]
    ledger.decided(hold("h1"), due_at=NOW + 2 * MINUTE)
    assert ledger.due(NOW + MINUTE, 10) == ()


def test_what_was_decided_meanwhile_is_not_lost_by_a_claim(ledger: Any) -> None:
    ledger.reconciled(ref(), at=NOW, due_at=NOW)
    (due,) = ledger.due(NOW, 10)
    ledger.decided(hold("h1"), due_at=NOW + MINUTE)
    assert not ledger.claim_due(due, LATER)


def test_a_suspect_is_due_with_its_urgency_and_why_and_a_new_one_can_be_decided_on(
    ledger: Any,
) -> None:
    assert ledger.mark_due(ref(), at=NOW, wake_at=NOW, urgency=7, why="sweep")
    (due,) = ledger.due(NOW, 10)
    assert (due.urgency, due.why, due.due_at) == (7, "sweep", NOW)
    assert ledger.resource_state(ref(), NOW).open_chain is None
    assert ledger.decided(hold("h1"), due_at=None)
    assert ledger.due(LATER, 10) == ()


def test_a_suspect_becomes_due_sooner_and_never_later(ledger: Any) -> None:
    ledger.reconciled(ref(), at=NOW, due_at=LATER)
    assert ledger.mark_due(ref(), at=NOW, wake_at=NOW, urgency=1, why="sweep")
    assert not ledger.mark_due(ref(), at=NOW + MINUTE, wake_at=LATER, urgency=1, why="sweep")
    assert [due.wake_at for due in ledger.due(LATER, 10)] == [NOW]


def test_without_an_urgency_a_reconciliation_keeps_the_one_before(ledger: Any) -> None:
    ledger.reconciled(ref(), at=NOW, due_at=NOW, urgency=9)
    ledger.reconciled(ref(), at=NOW, due_at=NOW)
    assert [(due.urgency, due.why) for due in ledger.due(NOW, 10)] == [(9, "due")]


def test_a_resource_is_one_workers_until_it_finishes_or_its_claim_expires(ledger: Any) -> None:
    assert claim(ledger, "one") is Claim.TAKEN
    assert claim(ledger, "one") is Claim.TAKEN, "its own claim, after a lost answer"
    assert claim(ledger, "two", NOW + MINUTE) is Claim.BUSY
    assert claim(ledger, "two", NOW + timedelta(minutes=4)) is Claim.TAKEN, "the first one died"
    ledger.finish_work(ref(), holder="one", began=NOW)  # it was only slow
    assert claim(ledger, "three", NOW + timedelta(minutes=5)) is Claim.BUSY


def test_a_finished_reconciliation_answers_what_was_claimed_before_it_began(ledger: Any) -> None:
    claim(ledger, "one")
    ledger.finish_work(ref(), holder="one", began=NOW)
    after = NOW + timedelta(minutes=10)
    assert claim(ledger, "two", after, since=NOW - MINUTE) == Answered(NOW)
    assert claim(ledger, "two", after, since=NOW) is Claim.TAKEN


def test_two_reconciliations_begin_a_minute_apart(ledger: Any) -> None:
    claim(ledger, "one")
    ledger.finish_work(ref(), holder="one", began=NOW)
    assert claim(ledger, "two", NOW + MINUTE - timedelta(microseconds=1)) is Claim.BUSY
    assert claim(ledger, "two", NOW + MINUTE) is Claim.TAKEN


@pytest.mark.parametrize("began", [None, NOW - MINUTE, NOW - timedelta(seconds=5), NOW])
@pytest.mark.parametrize("since", [NOW - 2 * MINUTE, NOW - timedelta(seconds=10), NOW])
@pytest.mark.parametrize("held", [False, True])
def test_one_read_of_many_says_what_each_claim_would(
    ledger: Any, began: datetime | None, since: datetime, held: bool
) -> None:
    if began is not None:
        claim(ledger, "one", began)
        ledger.finish_work(ref(), holder="one", began=began)
    if held:
        claim(ledger, "other", NOW, apart=-MINUTE)
    items = [WorkItem(ref=ref(), trigger="due", since=since)]
    items += [replace(items[0], ref=ref(f"vol-x{number}")) for number in range(150)]
    found = ledger.not_claimable(items, now=NOW, not_after=NOW - MINUTE)
    expected = claim(ledger, "two", NOW, since=since)
    assert found == ({} if expected is Claim.TAKEN else {ref().arn: expected})


def test_one_that_failed_answers_nothing_and_may_be_tried_at_once(ledger: Any) -> None:
    claim(ledger, "one")
    ledger.finish_work(ref(), holder="one", began=None)
    assert claim(ledger, "two", NOW + timedelta(seconds=1), since=NOW) is Claim.TAKEN


def test_who_was_reconciled_lately_is_reported(ledger: Any) -> None:
    claim(ledger, "one")
    ledger.finish_work(ref(), holder="one", began=NOW)
    refs = [ref(), *(ref(f"vol-x{number}") for number in range(150))]
    assert ledger.reconciled_after(refs, NOW - MINUTE) == {ref().arn}
    assert ledger.reconciled_after(refs, NOW) == frozenset()


def test_a_scan_goes_on_from_its_open_pages(ledger: Any) -> None:
    assert ledger.scan_progress() == ScanProgress()
    begun = ledger.amend_scan(lambda before: scan_begun(before, ("ebs", "rds"), NOW))
    assert [(p.kind, p.number, p.cursor) for p in begun.open] == [("ebs", 0, ""), ("rds", 0, "")]
    ledger.amend_scan(lambda before: pages_claimed(before, NOW, LATER))
    first = ledger.scan_progress().page(NOW, "ebs", 0)
    ledger.amend_scan(lambda before: page_listed(before, NOW, first, "token", LATER))
    ledger.amend_scan(lambda before: page_listed(before, NOW, first, "other", LATER))  # again
    tried = ledger.amend_scan(lambda before: page_begun(before, NOW, first))
    assert tried.page(NOW, "ebs", 0).tries == 1
    assert ledger.scan_progress() == tried
    ledger.amend_scan(lambda before: page_read(before, NOW, first))
    found = ledger.scan_progress()
    assert found.open == (
        OpenPage(kind="rds", number=0, claimed_until=LATER),
        OpenPage(kind="ebs", number=1, cursor="token", claimed_until=LATER),
    )
    assert found.completed is None
    for page in found.open:
        ledger.amend_scan(lambda before, page=page: page_read(before, NOW, page))
    assert ledger.scan_progress().completed == NOW
    assert ledger.scan_progress().age_s(LATER) == 300


@pytest.mark.parametrize("kind", ["ebs", "rds"])
def test_a_page_of_an_older_scan_changes_nothing(ledger: Any, kind: str) -> None:
    ledger.amend_scan(lambda before: scan_begun(before, ("ebs", "rds"), NOW))
    old = ledger.scan_progress().page(NOW, kind, 0)
    ledger.amend_scan(lambda before: scan_begun(before, ("ebs", "rds"), LATER))
    before = ledger.scan_progress()
    ledger.amend_scan(lambda now: page_read(now, NOW, old))
    ledger.amend_scan(lambda now: page_listed(now, NOW, old, "token", LATER))
    ledger.amend_scan(lambda now: page_begun(now, NOW, old))
    assert ledger.scan_progress() == before
    assert before.page(NOW, kind, 0) is None


def test_what_a_glance_found_is_kept_beside_the_claim(ledger: Any) -> None:
    volume = ref("vol-1")
    assert ledger.glanced([volume]) == {}
    state = GlanceState(
        at=NOW, next_at=NOW + timedelta(minutes=5), balance_percent=71.5, level=2.0,
        troubles=(Trouble.CREDITS, Trouble.IOPS), since=NOW, trouble_at=NOW, busy_hours=1 << 13,
        mode="auto",
    )  # fmt: skip
    ledger.save_glance(volume, state)
    assert ledger.glanced([volume, ref("vol-2")]) == {
        volume.arn: Glanced(state=state, reconciled_at=None)
    }
    item = WorkItem(ref=volume, trigger="sweep", since=NOW)
    until = NOW + timedelta(minutes=4)
    asked = {"holder": "a", "now": NOW, "until": until, "not_after": NOW}
    assert ledger.claim_work(item, **asked) is Claim.TAKEN
    ledger.finish_work(volume, holder="a", began=NOW)
    later = replace(state, at=until, next_at=until + timedelta(hours=1), troubles=())
    ledger.save_glance(volume, later)
    assert ledger.glanced([volume]) == {volume.arn: Glanced(state=later, reconciled_at=NOW)}
