"""Intents: one holder per resource, never above a limit, refused without a trace."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from headroom.domain.catalog import catalogue_prices
from headroom.domain.planning import Plan
from headroom.domain.resources import VolumeType
from headroom.domain.state import KnownModification, Step, broken_link
from headroom.ports import IllegalStep, Intent, LostLease, NotIntended
from headroom.serialization import from_plain
from tests.builders import NOW, REGION, ref
from tests.contracts.decisions import ENROLMENT, about, act, append, hold, intended

LEASE = timedelta(minutes=20)
PRICES = catalogue_prices(REGION)
UNTIL = NOW + LEASE
LATER = UNTIL + timedelta(seconds=1)


def test_an_intent_is_recorded_leased_and_reserved_together(ledger: Any) -> None:
    intent = intended(ledger, act(), lease_until=UNTIL)
    assert intent == Intent(decision_id="d1", fencing=1)
    assert [r.step for r in ledger.chain("d1")] == [Step.DECIDED, Step.INTENDED]
    known = ledger.resource_state(ref("vol-1"), NOW)
    assert known.resource_increase_usd == known.account_increase_usd == Decimal(50)
    chain = known.open_chain
    assert (chain.decision_id, chain.phase, chain.since, chain.fencing) == (
        "d1",
        "intended",
        NOW,
        1,
    )


def test_an_intent_nobody_follows_up_is_due_when_its_lease_ends(ledger: Any) -> None:
    intended(ledger, act(), lease_until=UNTIL)
    assert ledger.due(UNTIL - timedelta(seconds=1), 10) == ()
    assert [d.ref for d in ledger.due(UNTIL, 10)] == [ref("vol-1")]


def exists(ledger: Any) -> Any:
    intended(ledger, act(), lease_until=UNTIL)
    return act()


def over(ledger: Any) -> Any:
    intended(ledger, act(), lease_until=UNTIL)
    append(ledger, act(), Step.REFUSED)
    return act()


def leased(ledger: Any) -> Any:
    intended(ledger, act("d0"), lease_until=UNTIL)
    return act()


def overtaken(ledger: Any) -> Any:
    ledger.decided(act(), due_at=None)
    ledger.decided(hold("h1"), due_at=None)
    return act()


def paused(ledger: Any) -> Any:
    ledger.pause(None, at=NOW, who="alice")
    return act()


def paused_a_while(ledger: Any) -> Any:
    ledger.pause(NOW + timedelta(microseconds=1), at=NOW, who="alice")
    return act()


def account_is_full(ledger: Any) -> Any:
    intended(ledger, act("d0", "vol-0", increase="60"), lease_until=UNTIL)
    return act(increase="40.000001", account_limit=Decimal(100))


def resource_limit(ledger: Any) -> Any:
    return act(increase="50", resource_limit=Decimal("49.999999"))


def no_account_limit(ledger: Any) -> Any:
    return act(account_limit=None)


def endless_account_limit(ledger: Any) -> Any:
    return act(account_limit=Decimal("Infinity"))


def never_enrolled(ledger: Any) -> Any:
    return act(enrolled=False)


@pytest.mark.parametrize(
    ("why", "arrange"),
    [
        ("exists", exists), ("exists", over), ("leased", leased), ("exists", overtaken),
        ("paused", paused), ("paused", paused_a_while), ("budget", account_is_full),
        ("budget", resource_limit), ("budget", no_account_limit),
        ("budget", endless_account_limit), ("budget", never_enrolled),
    ],
)  # fmt: skip
def test_a_refused_intent_says_why_and_leaves_no_trace(
    ledger: Any, why: str, arrange: Callable[[Any], Any]
) -> None:
    decision = arrange(ledger)
    ledger.decided(decision, due_at=None)
    before = ledger.resource_state(ref("vol-1"), NOW), ledger.chain("d1"), ledger.due(LATER, 9)
    refused = ledger.intend(decision, lease_until=LATER, now=NOW)
    assert isinstance(refused, NotIntended)
    assert refused.why == why
    assert refused.detail
    assert (
        ledger.resource_state(ref("vol-1"), NOW),
        ledger.chain("d1"),
        ledger.due(LATER, 9),
    ) == before


def test_what_is_not_an_act_cannot_be_intended(ledger: Any) -> None:
    ledger.decided(hold("h1"), due_at=None)
    with pytest.raises(IllegalStep):
        ledger.intend(hold("h1"), lease_until=UNTIL, now=NOW)


def test_a_pause_that_ended_stops_nothing(ledger: Any) -> None:
    ledger.pause(NOW, at=NOW - LEASE, who="alice")
    assert isinstance(intended(ledger, act(), lease_until=UNTIL), Intent)


def test_acts_are_possible_again_after_a_resume(ledger: Any) -> None:
    ledger.pause(None, at=NOW, who="alice")
    ledger.resume(at=NOW, who="alice")
    assert isinstance(intended(ledger, act(), lease_until=UNTIL), Intent)


def test_the_account_limit_may_be_used_to_the_last_micro_dollar(ledger: Any) -> None:
    limit = Decimal(100)
    intended(ledger, act("d0", "vol-0", increase="60", account_limit=limit), lease_until=UNTIL)
    last = act(increase="40", account_limit=limit)
    assert isinstance(intended(ledger, last, lease_until=UNTIL), Intent)
    assert ledger.resource_state(ref("vol-1"), NOW).account_increase_usd == limit


def test_fractions_of_a_micro_dollar_are_reserved_as_whole_ones(ledger: Any) -> None:
    tiny = act(increase="0.0000001", account_limit=Decimal("0.0000019"))
    assert isinstance(intended(ledger, tiny, lease_until=UNTIL), Intent)
    assert ledger.resource_state(ref("vol-1"), NOW).resource_increase_usd == Decimal("0.000001")


def test_who_lost_its_lease_cannot_write_any_more(ledger: Any) -> None:
    first = intended(ledger, act("d0"), lease_until=UNTIL)
    second = intended(ledger, act("d1"), UNTIL, lease_until=UNTIL + LEASE)
    assert second.fencing == first.fencing + 1
    with pytest.raises(LostLease):
        append(ledger, act("d0"), Step.APPLIED, intent=first)
    append(ledger, act("d1"), Step.APPLIED, intent=second)
    assert ledger.resource_state(ref("vol-1"), NOW).open_chain.decision_id == "d1"
    assert broken_link(ledger.chain("d0")) is None


def test_a_made_up_fencing_number_is_no_lease(ledger: Any) -> None:
    intended(ledger, act(), lease_until=UNTIL)
    with pytest.raises(LostLease):
        append(ledger, act(), Step.APPLIED, intent=Intent(decision_id="d1", fencing=2))


def test_the_overtaken_chain_keeps_its_reservation_until_it_ends(ledger: Any) -> None:
    intended(ledger, act("d0", increase="70"), lease_until=UNTIL)
    intended(ledger, act("d1", increase="50"), LATER, lease_until=LATER + LEASE)
    assert ledger.resource_state(ref("vol-1"), NOW).account_increase_usd == Decimal(70)
    append(ledger, act("d0"), Step.UNKNOWN)
    append(ledger, act("d0"), Step.NOT_APPLIED)
    known = ledger.resource_state(ref("vol-1"), NOW)
    assert known.account_increase_usd == Decimal(50)
    assert known.open_chain.decision_id == "d1"


ENDS_WITHOUT = (
    (Step.REFUSED,), (Step.STALE,), (Step.UNKNOWN, Step.NOT_APPLIED), (Step.APPLIED, Step.FAILED),
    (Step.ALREADY_THERE, Step.FAILED),
)  # fmt: skip
ENDS_WITH = (
    (Step.APPLIED, Step.RELIEVED), (Step.APPLIED, Step.INEFFECTIVE), (Step.APPLIED, Step.DIVERGED),
    (Step.ALREADY_THERE, Step.RELIEVED), (Step.ALREADY_THERE, Step.INEFFECTIVE),
    (Step.ALREADY_THERE, Step.DIVERGED),
)  # fmt: skip


def in_force(ledger: Any, increase: str) -> None:
    decision = act("before", increase=increase)
    intended(ledger, decision, lease_until=UNTIL)
    append(ledger, decision, Step.APPLIED)
    append(ledger, decision, Step.RELIEVED)


@pytest.mark.parametrize("ends", ENDS_WITHOUT)
@pytest.mark.parametrize("increase", ["50", "20"])
def test_an_end_without_a_change_leaves_what_was_in_force(
    ledger: Any, ends: tuple[Step, ...], increase: str
) -> None:
    in_force(ledger, "30")
    decision = act(increase=increase)
    intended(ledger, decision, lease_until=UNTIL)
    reserved = ledger.resource_state(ref("vol-1"), NOW)
    assert reserved.resource_increase_usd == max(Decimal(increase), Decimal(30))
    for step in ends:
        append(ledger, decision, step)
    known = ledger.resource_state(ref("vol-1"), NOW)
    assert known.resource_increase_usd == known.account_increase_usd == Decimal(30)
    assert known.open_chain is None
    assert isinstance(intended(ledger, act("d2"), lease_until=UNTIL), Intent)


def test_an_intent_shows_by_itself_what_was_to_be_done(ledger: Any) -> None:
    decision = act()
    intended(ledger, decision, lease_until=UNTIL)
    body = json.loads(ledger.chain("d1")[-1].body)
    assert from_plain(body["plan"], Plan) == decision.answer.plan
    assert from_plain(body["decided_at"], datetime) == decision.at


@pytest.mark.parametrize("ends", ENDS_WITH)
@pytest.mark.parametrize("increase", ["50", "20", "-3"])
def test_an_end_with_a_change_puts_its_increase_in_force(
    ledger: Any, ends: tuple[Step, ...], increase: str
) -> None:
    in_force(ledger, "30")
    decision = act(increase=increase)
    intended(ledger, decision, lease_until=UNTIL)
    append(ledger, decision, ends[0])
    held = ledger.resource_state(ref("vol-1"), NOW)
    assert held.resource_increase_usd == max(Decimal(increase), Decimal(30))
    assert held.open_chain.phase == ends[0].value
    append(ledger, decision, ends[1])
    known = ledger.resource_state(ref("vol-1"), NOW)
    assert (
        known.resource_increase_usd
        == known.account_increase_usd
        == max(Decimal(increase), Decimal(0))
    )
    assert known.open_chain is None


def test_giving_back_is_not_stopped_by_limits_that_were_lowered_since(ledger: Any) -> None:
    in_force(ledger, "100")
    lower = act(increase="60", account_limit=Decimal(10), resource_limit=Decimal(10))
    assert isinstance(intended(ledger, lower, lease_until=UNTIL), Intent)


def test_a_withdrawal_releases_nothing_of_who_holds_the_resource(ledger: Any) -> None:
    intended(ledger, act("d0"), lease_until=UNTIL)
    ledger.decided(act("d1"), due_at=None)
    append(ledger, act("d1"), Step.WITHDRAWN, due_at=NOW + timedelta(hours=1))
    known = ledger.resource_state(ref("vol-1"), NOW)
    assert known.open_chain.decision_id == "d0"
    assert known.account_increase_usd == Decimal(50)
    assert [d.due_at for d in ledger.due(LATER, 10)] == [UNTIL]  # its crash is still watched for


def test_increases_of_resources_add_up(ledger: Any) -> None:
    for number in range(3):
        intended(ledger, act(f"d{number}", f"vol-{number}"), lease_until=UNTIL)
    known = ledger.resource_state(ref("vol-1"), NOW)
    assert (known.resource_increase_usd, known.account_increase_usd) == (Decimal(50), Decimal(150))


def test_an_owners_own_change_ends_our_increase_and_counts_anew(ledger: Any) -> None:
    in_force(ledger, "30")
    ledger.save_modifications(ref("vol-1"), [], now=NOW, owner_price=Decimal("55.5"))
    known = ledger.resource_state(ref("vol-1"), NOW)
    assert known.enrolment_usd == Decimal("55.5")
    assert known.resource_increase_usd == known.account_increase_usd == Decimal(0)


def test_an_owners_change_does_not_free_what_a_call_under_way_may_cost(ledger: Any) -> None:
    intended(ledger, act(increase="50"), lease_until=UNTIL)
    ledger.save_modifications(ref("vol-1"), [], now=NOW, owner_price=Decimal(20))
    assert ledger.resource_state(ref("vol-1"), NOW).account_increase_usd == Decimal(50)
    append(ledger, act(), Step.STALE)
    assert ledger.resource_state(ref("vol-1"), NOW).account_increase_usd == Decimal(0)


def test_the_increase_counts_from_the_first_price_not_the_last(ledger: Any) -> None:
    ledger.decided(act("d0"), due_at=None)
    dearer = replace(about(act("d1", increase="90"), "vol-1"), current_usd=Decimal(58))
    intended(ledger, dearer, lease_until=UNTIL)
    assert ledger.resource_state(ref("vol-1"), NOW).resource_increase_usd == Decimal(90)


def test_an_overtaken_chain_that_lands_late_lowers_nothing(ledger: Any) -> None:
    intended(ledger, act("d0", increase="20"), lease_until=UNTIL)
    intended(ledger, act("d1", increase="90"), LATER, lease_until=LATER + LEASE)
    for decision_id in ("d1", "d0"):
        append(ledger, act(decision_id), Step.APPLIED)
        append(ledger, act(decision_id), Step.RELIEVED)
    assert ledger.resource_state(ref("vol-1"), NOW).account_increase_usd == Decimal(90)


def test_an_owners_growth_frees_nothing_of_what_was_added(ledger: Any) -> None:
    first = about(act("d0"), "vol-1").observation.volume.configuration
    ledger.decided(replace(act("d0"), current_usd=PRICES.monthly(first)), due_at=None)
    iops = (first.iops or 0) + 6_000
    raised = replace(first, iops=iops)
    plan_usd = PRICES.monthly(raised) - ENROLMENT
    in_force(ledger, str(plan_usd))
    counted = ledger.resource_state(ref("vol-1"), NOW).account_increase_usd
    assert counted == PRICES.monthly(raised) - PRICES.monthly(first)
    for gib in (1, 2):
        before, after = (replace(raised, size_gib=first.size_gib + more) for more in (gib - 1, gib))
        change = KnownModification(
            started_at=NOW + timedelta(hours=gib), by="other", origin=before, target=after
        )
        for _ in range(2):  # seen twice, it counts once
            ledger.save_modifications(ref("vol-1"), [change], now=NOW, prices=PRICES)
        known = ledger.resource_state(ref("vol-1"), NOW)
        assert known.enrolment_usd == PRICES.monthly(replace(first, size_gib=after.size_gib))
        assert known.account_increase_usd == known.resource_increase_usd == counted
    other = replace(after, volume_type=VolumeType.IO2, throughput_mibps=None)
    moved = KnownModification(
        started_at=NOW + timedelta(hours=3), by="other", origin=after, target=other
    )
    ledger.save_modifications(ref("vol-1"), [moved], now=NOW, prices=PRICES)
    known = ledger.resource_state(ref("vol-1"), NOW)
    assert known.enrolment_usd == PRICES.monthly(other) - counted
    assert known.account_increase_usd == known.resource_increase_usd == counted


def test_an_owners_growth_counts_what_the_type_that_headroom_chose_costs_more(ledger: Any) -> None:
    first = about(act("d0"), "vol-1").observation.volume.configuration
    ledger.decided(replace(act("d0"), current_usd=PRICES.monthly(first)), due_at=None)
    ours = replace(first, volume_type=VolumeType.IO2, throughput_mibps=None)
    in_force(ledger, str(PRICES.monthly(ours) - ENROLMENT))
    after = replace(ours, size_gib=2 * first.size_gib)
    change = KnownModification(
        started_at=NOW + timedelta(hours=1), by="other", origin=ours, target=after
    )
    ledger.save_modifications(ref("vol-1"), [change], now=NOW, prices=PRICES)
    known = ledger.resource_state(ref("vol-1"), NOW)
    more = PRICES.monthly(after) - PRICES.monthly(replace(first, size_gib=after.size_gib))
    assert known.account_increase_usd == known.resource_increase_usd == more
