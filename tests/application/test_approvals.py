"""People are asked once, their answer counts once, and what they agreed to is judged again."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from headroom.adapters.dispatch import StorageByKind
from headroom.adapters.notifications.messages import decision_message
from headroom.adapters.notifications.text import text_of_message
from headroom.application import sweep
from headroom.domain.catalog import PriceTable, catalogue_prices
from headroom.domain.decision import Act, Decision, Hold, Reason
from headroom.domain.policy import Mode, PolicyUnreadable, parse_window
from headroom.domain.resources import PriceUnknown, ResourceRef, VolumeActivity
from headroom.domain.state import (
    Outcome,
    Record,
    Refusal,
    Refused,
    Stale,
    Step,
    Unknown,
    broken_link,
)
from headroom.ports import AnswerRejected, ReadFailed, StorageView, WorkItem
from headroom.proving.awsrules import ModificationRefused
from tests.application.harness import Harness, calm, moved, reconcile_now, starving
from tests.builders import NOW, activity, gp2, gp3, policy, volume

WHO = "arn:aws:iam::123456789012:user/alice"


@pytest.fixture
def harness() -> Harness:
    return Harness(rules=policy(mode=Mode.APPROVE))


def asked(harness: Harness) -> tuple[ResourceRef, Decision]:
    """A starving volume, reconciled: the request that waits for a person."""
    ref = harness.add(volume(tags=()))
    decision = reconcile_now(harness.ports, ref, harness.now, trigger="alarm", must_record=True)
    assert decision is not None
    assert harness.steps(ref) == ["act", "awaiting"]
    return ref, decision


def minutes(harness: Harness, count: int, *, each: int = 1) -> None:
    for _ in range(count):
        harness.later(minutes=each)
        sweep(harness.ports, harness.now)


def answer(
    harness: Harness, decision: Decision, step: Step, *, who: str = WHO
) -> Record | AnswerRejected:
    return harness.ledger.answer(decision.decision_id, step, at=harness.now, who=who)


def test_what_a_person_approves_lands_within_a_minute_under_the_same_chain(
    harness: Harness,
) -> None:
    ref, decision = asked(harness)
    assert isinstance(answer(harness, decision, Step.APPROVED), Record)
    minutes(harness, 1)
    assert harness.steps(ref)[:5] == ["act", "awaiting", "approved", "intended", "applied"]
    assert [r.step.value for r in harness.ledger.chain(decision.decision_id)][1:] == [
        "awaiting", "approved", "intended", "applied",
    ]  # fmt: skip
    assert isinstance(decision.answer, Act)
    assert harness.view(ref).modification.target == decision.answer.plan.target  # type: ignore[union-attr]


def test_nothing_happens_and_nobody_is_asked_again_while_a_request_waits(harness: Harness) -> None:
    ref, _ = asked(harness)
    minutes(harness, 479)
    assert harness.steps(ref) == ["act", "awaiting", "hold"]
    assert [step for _, step, _ in harness.messages] == [Step.AWAITING]
    resource_state = harness.ledger.resource_state(ref, harness.now)
    assert (resource_state.open_chain, resource_state.resource_increase_usd) == (None, 0)


def test_the_message_and_the_record_say_why_and_until_when(harness: Harness) -> None:
    _, decision = asked(harness)
    ((_, _, summary),) = harness.messages
    assert "3000 IOPS" in summary
    assert (
        "a month; it waits for a person until 2026-01-05 20:00 UTC: the mode is approve" in summary
    )
    record = harness.ledger.chain(decision.decision_id)[-1]
    assert '"expires":"2026-01-05T20:00:00Z"' in record.body
    assert [d.decision_id for d in harness.ledger.waiting(harness.now)] == [decision.decision_id]


def test_a_request_that_nobody_answers_runs_out_at_its_minute_once_its_load_is_over(
    harness: Harness,
) -> None:
    ref, decision = asked(harness)
    harness.loads[ref.resource_id] = calm()
    minutes(harness, 480)
    (expired,) = [r for r in harness.ledger.chain(decision.decision_id) if r.step is Step.EXPIRED]
    assert expired.at == decision.at + timedelta(hours=8)
    assert harness.view(ref).modification is None
    assert [step for _, step, _ in harness.messages] == [Step.AWAITING, Step.EXPIRED]
    assert harness.ledger.waiting(harness.now) == ()


def requests(harness: Harness, ref: ResourceRef) -> int:
    return harness.steps(ref).count("awaiting")


@pytest.mark.parametrize("expires", [30, 480])
def test_one_request_stays_open_while_its_load_lasts_and_people_hear_of_it_ever_less(
    harness: Harness, expires: int
) -> None:
    harness.rules = policy(mode=Mode.APPROVE, approval_expires_minutes=expires)
    ref, decision = asked(harness)
    heard: list[float] = []
    for _ in range(60 * 6):
        before = len(harness.messages)
        minutes(harness, 1, each=10)
        assert [d.decision_id for d in harness.ledger.waiting(harness.now)] == [
            decision.decision_id
        ]
        heard += [(harness.now - decision.at) / timedelta(hours=1)] * (
            len(harness.messages) - before
        )
    assert heard == [8, 32, 56]
    assert {step for _, step, _ in harness.messages} == {Step.AWAITING}
    assert "$48.28 a month more; it still waits for a person until" in harness.messages[-1][2]
    assert isinstance(answer(harness, decision, Step.APPROVED), Record)
    minutes(harness, 1)
    assert harness.steps(ref)[-2:] == ["intended", "applied"]


def test_a_renewed_request_is_listed_with_the_time_until_which_it_waits(harness: Harness) -> None:
    _, decision = asked(harness)
    minutes(harness, 49, each=10)
    (listed,) = harness.ledger.waiting(harness.now)
    assert isinstance(listed.answer, Act)
    assert listed.answer.expires == decision.at + timedelta(hours=16)


def test_a_cheaper_change_replaces_what_nobody_answered_and_the_old_answer_counts_for_it(
    harness: Harness,
) -> None:
    ref, decision = asked(harness)
    harness.loads[ref.resource_id] = activity(
        [1_500.0] * 150 + [3_000.0] * 30, queue=[1.0] * 150 + [8.0] * 30,
        iops_check=[0.0] * 150 + [1.0] * 30,
    )  # fmt: skip
    minutes(harness, 49, each=10)
    (now,) = harness.ledger.waiting(harness.now)
    assert isinstance(now.answer, Act)
    assert isinstance(decision.answer, Act)
    assert now.decision_id != decision.decision_id
    assert now.answer.plan.price_change_usd < decision.answer.plan.price_change_usd
    assert isinstance(answer(harness, decision, Step.APPROVED), Record)
    minutes(harness, 1)
    assert harness.steps(ref)[-2:] == ["intended", "applied"]
    assert harness.view(ref).modification.target == now.answer.plan.target  # type: ignore[union-attr]


def test_a_load_that_comes_and_goes_is_requested_each_time_and_heard_of_seldom(
    harness: Harness,
) -> None:
    harness.rules = policy(mode=Mode.APPROVE, approval_expires_minutes=30)
    ref, _ = asked(harness)
    for number in range(12):
        harness.loads[ref.resource_id] = starving() if number % 2 else calm()
        harness.pressed = {ref.resource_id} if number % 2 else set()
        minutes(harness, 6, each=10)
        assert bool(harness.ledger.waiting(harness.now)) is bool(number % 2)
    assert requests(harness, ref) > 6
    heard = [step for _, step, _ in harness.messages]
    assert heard.count(Step.AWAITING) == 2
    assert heard.count(Step.EXPIRED) <= 2


class Calm(Harness):
    """With two weeks of history in which little was needed."""

    def history(self, view: StorageView, now: datetime) -> VolumeActivity:
        return moved(activity([1_500.0] * (12 * 24 * 14), period_s=300, end=now), now)


def test_three_savings_without_an_answer_do_not_silence_a_request_for_load() -> None:
    harness = Calm(rules=policy(mode=Mode.APPROVE, approval_expires_minutes=30))
    ref = harness.add(volume(gp2(1000), tags=()), load=calm())
    while harness.steps(ref).count("expired") < 3:
        harness.later(minutes=10)
        reconcile_now(harness.ports, ref, harness.now, trigger="due")
    harness.loads[ref.resource_id] = starving()
    decision = reconcile_now(
        harness.ports, ref, harness.later(minutes=30), trigger="alarm", must_record=True
    )
    assert decision is not None
    assert isinstance(decision.answer, Act), decision.summary
    assert [d.decision_id for d in harness.ledger.waiting(harness.now)] == [decision.decision_id]


def test_a_no_is_quiet_for_24_hours(harness: Harness) -> None:
    ref, decision = asked(harness)
    harness.later(minutes=3)
    assert isinstance(answer(harness, decision, Step.REJECTED), Record)
    minutes(harness, 1)
    assert harness.steps(ref) == ["act", "awaiting", "rejected", "hold"]
    held = harness.ledger.decision(
        harness.ledger.resource_state(ref, harness.now).last_decision_id or ""
    )
    assert isinstance(held.answer, Hold)
    assert (held.answer.reason, held.answer.until) == (
        Reason.DECLINED, decision.at + timedelta(hours=24, minutes=3),
    )  # fmt: skip
    minutes(harness, 95, each=15)
    assert (requests(harness, ref), len(harness.messages)) == (1, 1)
    minutes(harness, 2, each=15)
    assert requests(harness, ref) == 2


@pytest.mark.parametrize("step", [Step.APPROVED, Step.REJECTED])
def test_the_first_answer_counts_and_the_second_hears_of_it(harness: Harness, step: Step) -> None:
    _, decision = asked(harness)
    assert isinstance(answer(harness, decision, step), Record)
    for again in (Step.APPROVED, Step.REJECTED) if step is Step.REJECTED else (Step.APPROVED,):
        second = answer(harness, decision, again, who="bob")
        assert isinstance(second, AnswerRejected)
        assert second.why == step.value
    assert [r.step for r in harness.ledger.chain(decision.decision_id)][2:] == [step]


def test_an_answer_at_the_minute_of_expiry_is_too_late(harness: Harness) -> None:
    ref, decision = asked(harness)
    harness.later(hours=8)
    late = answer(harness, decision, Step.APPROVED)
    assert isinstance(late, AnswerRejected)
    assert (late.why, late.detail) == ("expired", "it expired at 2026-01-05 20:00 UTC")
    minutes(harness, 5)
    assert "intended" not in harness.steps(ref)


def test_an_approval_does_not_outlive_its_request(harness: Harness) -> None:
    """Approved a minute before expiry, while nothing could reconcile: it is too late by then."""
    ref, decision = asked(harness)
    harness.later(hours=7, minutes=59)
    assert isinstance(answer(harness, decision, Step.APPROVED), Record)
    harness.later(minutes=1)
    sweep(harness.ports, harness.now)
    assert [r.step.value for r in harness.ledger.chain(decision.decision_id)][2:] == [
        "approved", "withdrawn",
    ]  # fmt: skip
    assert harness.view(ref).modification is None
    assert harness.messages[-1][1] is Step.WITHDRAWN


def test_what_is_no_longer_worth_it_is_withdrawn_with_every_verdict(harness: Harness) -> None:
    ref, decision = asked(harness)
    harness.loads[ref.resource_id] = calm()
    harness.later(hours=2)
    answer(harness, decision, Step.APPROVED)
    minutes(harness, 1)
    last = harness.ledger.chain(decision.decision_id)[-1]
    assert last.step is Step.WITHDRAWN
    assert "no longer worth its price (cost_benefit)" in last.summary
    assert '"guardrail":"max_iops"' in last.body
    assert harness.view(ref).modification is None


def test_what_a_lower_limit_forbids_is_withdrawn_with_what_would_allow_it(harness: Harness) -> None:
    ref, decision = asked(harness)
    harness.rules = replace(policy(mode=Mode.APPROVE), account_increase_usd=Decimal(20))
    answer(harness, decision, Step.APPROVED)
    minutes(harness, 1)
    last = harness.ledger.chain(decision.decision_id)[-1]
    assert last.step is Step.WITHDRAWN
    assert "it is blocked by price_per_account; to allow it, change" in last.summary
    assert "account.price_increase_usd_per_month from 20 to 48.28 or more" in last.summary
    assert harness.view(ref).modification is None


def test_a_volume_that_was_changed_meanwhile_needs_no_answer_any_more(harness: Harness) -> None:
    ref, decision = asked(harness)
    harness.later(hours=1)
    harness.change(ref, gp3(100, 5000, 125))
    minutes(harness, 16)
    last = harness.ledger.chain(decision.decision_id)[-1]
    assert (last.step, last.summary.partition(": ")[2]) == (
        Step.WITHDRAWN,
        "the volume is gp3 100 GiB 5000 IOPS 125 MiB/s now, it was gp3 100 GiB 3000 IOPS 125 MiB/s",
    )
    assert isinstance(answer(harness, decision, Step.APPROVED), AnswerRejected)


@pytest.mark.parametrize("mode", [Mode.OFF, Mode.OBSERVE])
@pytest.mark.parametrize("approved", [False, True])
def test_an_owner_who_takes_the_mode_back_has_the_last_word(
    harness: Harness, mode: Mode, approved: bool
) -> None:
    ref, decision = asked(harness)
    if approved:
        answer(harness, decision, Step.APPROVED)
    harness.rules = policy(mode=mode)
    minutes(harness, 24 * 60 // 15, each=15)
    # Who is off is not scanned: an unanswered request is come across when it runs out.
    unseen = mode is Mode.OFF and not approved
    ended = Step.EXPIRED if unseen else Step.WITHDRAWN
    assert harness.ledger.chain(decision.decision_id)[-1].step is ended
    assert "intended" not in harness.steps(ref)


def test_a_pause_keeps_an_approved_change_waiting_and_it_is_done_when_it_ends(
    harness: Harness,
) -> None:
    ref, decision = asked(harness)
    harness.ledger.pause(harness.now + timedelta(hours=2), at=harness.now, who="bob")
    answer(harness, decision, Step.APPROVED)
    minutes(harness, 119)
    assert harness.steps(ref)[:4] == ["act", "awaiting", "approved", "hold"]
    assert harness.steps(ref).count("hold") <= 2
    minutes(harness, 2)
    assert harness.steps(ref)[-2:] == ["intended", "applied"]


@pytest.mark.parametrize("fault", ["policy", "metrics", "prices"])
def test_a_fault_that_passes_does_not_lose_what_a_person_approved(
    harness: Harness, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref, decision = asked(harness)
    answer(harness, decision, Step.APPROVED)
    with monkeypatch.context() as meanwhile:
        if fault == "policy":
            meanwhile.setattr(harness, "rules", PolicyUnreadable(reason="not JSON"))
        elif fault == "metrics":
            meanwhile.setitem(harness.loads, ref.resource_id, activity([None] * 180))
        else:
            meanwhile.setattr(Harness, "table", _no_prices)
        minutes(harness, 3)
        assert "withdrawn" not in harness.steps(ref)
        assert "intended" not in harness.steps(ref)
    minutes(harness, 65)
    assert [s for s in harness.steps(ref) if s in ("intended", "applied")] == [
        "intended",
        "applied",
    ]


def _no_prices(_: Harness, region: str) -> PriceTable:
    raise PriceUnknown(f"no prices of {region} just now")


def test_a_pause_that_outlasts_the_request_ends_it(harness: Harness) -> None:
    ref, decision = asked(harness)
    harness.ledger.pause(None, at=harness.now, who="bob")
    answer(harness, decision, Step.APPROVED)
    minutes(harness, 33, each=15)
    assert harness.ledger.chain(decision.decision_id)[-1].step is Step.WITHDRAWN
    assert "intended" not in harness.steps(ref)


def test_a_ceiling_lowered_after_the_request_holds(harness: Harness) -> None:
    ref, decision = asked(harness)
    harness.rules = policy(mode=Mode.APPROVE, max_iops=3500)
    answer(harness, decision, Step.APPROVED)
    minutes(harness, 1)
    last = harness.ledger.chain(decision.decision_id)[-1]
    assert last.step is Step.WITHDRAWN
    assert "max_iops" in last.summary
    assert harness.view(ref).modification is None


def test_a_request_of_a_deleted_volume_ends_with_it(harness: Harness) -> None:
    ref, decision = asked(harness)
    del harness.volumes[ref.resource_id]
    reconcile_now(harness.ports, ref, harness.later(minutes=5), trigger="sweep")
    assert harness.ledger.chain(decision.decision_id)[-1].step is Step.GONE
    assert harness.ledger.resource_state(ref, harness.now).approval_request is None
    assert isinstance(answer(harness, decision, Step.APPROVED), AnswerRejected)


def test_who_approved_a_change_of_a_volume_that_was_deleted_meanwhile_hears_of_it(
    harness: Harness,
) -> None:
    ref, decision = asked(harness)
    answer(harness, decision, Step.APPROVED)
    del harness.volumes[ref.resource_id]
    minutes(harness, 1)
    assert harness.ledger.chain(decision.decision_id)[-1].step is Step.GONE
    assert f"approved by {WHO}, and not done: the volume is gone" in harness.messages[-1][-1]


@pytest.mark.parametrize(
    ("above", "asks"),
    [(None, False), (Decimal(1000), False), (Decimal(0), True), (Decimal(5), True)],
)
def test_under_auto_people_are_asked_only_above_the_price_the_policy_names(
    harness: Harness, above: Decimal | None, asks: bool
) -> None:
    harness.rules = policy(mode=Mode.AUTO, approve_above_usd=above)
    ref = harness.add(volume(tags=()))
    decision = reconcile_now(harness.ports, ref, harness.now, trigger="alarm", must_record=True)
    assert decision is not None
    assert isinstance(decision.answer, Act)
    assert decision.answer.plan.price_change_usd > 5
    assert harness.steps(ref)[1] == ("awaiting" if asks else "intended")


def test_a_change_that_needs_nobody_withdraws_the_request_it_makes_pointless(
    harness: Harness,
) -> None:
    ref, decision = asked(harness)
    harness.rules = policy(mode=Mode.AUTO)
    minutes(harness, 16)
    assert harness.ledger.chain(decision.decision_id)[-1].step is Step.WITHDRAWN
    assert harness.steps(ref).count("applied") == 1


def test_a_part_made_without_an_answer_names_the_request_it_replaces_whose_id_answers_the_rest(
    harness: Harness,
) -> None:
    harness.rules = policy(mode=Mode.AUTO, approve_above_usd=Decimal(20))
    ref, decision = asked(harness)
    text = text_of_message(decision_message(decision, Step.AWAITING, decision.summary))
    assert (
        "without an answer by 13:00 UTC, the part that needs no approval is made, and the rest is "
        "requested again"
    ) in text
    minutes(harness, 62)
    part = harness.ledger.chain(decision.decision_id)[-1].summary.split()[3]
    made = harness.ledger.decision(part)
    assert [r.step for r in harness.ledger.chain(part)][-1] is Step.APPLIED
    said = text_of_message(decision_message(made, Step.APPLIED, "AWS accepted the change"))
    assert f"Replaces: the request {decision.decision_id} (gp3 100 GiB 3000 IOPS" in said
    early = answer(harness, decision, Step.APPROVED)
    assert isinstance(early, AnswerRejected)
    assert f"{part} is done instead" in early.detail
    minutes(harness, 150)
    again = harness.ledger.resource_state(ref, harness.now).approval_request
    assert again is not None
    record = answer(harness, decision, Step.APPROVED)
    assert isinstance(record, Record)
    assert record.decision_id == again.decision_id


def test_a_crash_before_the_request_is_on_record_asks_once_all_the_same(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = harness.add(volume(tags=()))
    append = harness.ledger.append

    def crash(*arguments: object, **named: object) -> object:
        raise RuntimeError("killed")

    monkeypatch.setattr(harness.ledger, "append", crash)
    with pytest.raises(RuntimeError):
        reconcile_now(harness.ports, ref, harness.now, trigger="alarm", must_record=True)
    monkeypatch.setattr(harness.ledger, "append", append)
    minutes(harness, 6)
    assert [s for s in harness.steps(ref) if s != "hold"] == ["act", "withdrawn", "act", "awaiting"]


def test_a_crash_after_the_intent_of_an_approved_change_changes_it_once(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref, decision = asked(harness)
    answer(harness, decision, Step.APPROVED)

    def crash(*arguments: object, **named: object) -> object:
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(Harness, "apply", crash)
        harness.later(minutes=1)
        sweep(harness.ports, harness.now)
    assert harness.steps(ref)[-1] == "intended"
    minutes(harness, 40)
    assert harness.steps(ref).count("intended") == harness.steps(ref).count("unknown") == 1
    assert harness.ledger.chain(decision.decision_id)[-1].step is Step.NOT_APPLIED
    # The need is still there: a new request, because the approval was for the one before.
    assert requests(harness, ref) == 2


@pytest.mark.parametrize(
    ("refusal", "step"),
    [(Refusal.THROTTLED, "refused"), (Refusal.IN_FLIGHT, "refused"), (Refusal.SLOTS, "refused"),
     (None, "stale")],
)  # fmt: skip
def test_an_approval_survives_what_clears_with_time_and_its_approver_hears_of_it_once(
    harness: Harness, refusal: Refusal | None, step: str
) -> None:
    ref, decision = asked(harness)
    outcome: Outcome = Stale(expected=gp3(), found=gp3(), detail="the policy was changed meanwhile")
    if refusal is not None:
        outcome = Refused(refusal=refusal, code="No", message="later", retry_at=None)
    harness.answers = [outcome, outcome]
    answer(harness, decision, Step.APPROVED)
    minutes(harness, 49, each=10)
    steps = [r.step.value for r in harness.ledger.chain(decision.decision_id)]
    heard = [text for _, s, text in harness.messages if s.value == step]
    assert len(heard) == 1
    assert "the approval stands until it expires" in heard[0]
    if refusal is Refusal.SLOTS:  # no slot frees before the approval expires
        assert steps[2:] == ["approved", "intended", step, "withdrawn"]
        return
    assert steps[2:] == ["approved", "intended", step, "intended", step, "intended", "applied",
                         *steps[9:]]  # fmt: skip
    assert harness.ledger.resource_state(ref, harness.now).approval_request is None
    assert broken_link(harness.ledger.chain(decision.decision_id)) is None


def test_a_request_whose_decision_cannot_be_read_is_replaced_while_its_load_lasts(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref, decision = asked(harness)
    real = harness.ledger.decision

    def unreadable(decision_id: str) -> Decision:
        if decision_id == decision.decision_id:
            raise ReadFailed("of a newer release")
        return real(decision_id)

    monkeypatch.setattr(harness.ledger, "decision", unreadable)
    minutes(harness, 49, each=10)
    assert harness.ledger.chain(decision.decision_id)[-1].step is Step.EXPIRED
    pending = harness.ledger.resource_state(ref, harness.now).approval_request
    assert pending is not None
    assert pending.decision_id != decision.decision_id


@pytest.mark.parametrize(("factor", "done"), [("1.0001", True), ("1.01", False)])
def test_a_price_that_rose_by_what_nobody_was_shown_voids_no_approval(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, factor: str, done: bool
) -> None:
    ref, decision = asked(harness)

    def risen(_: Harness, region: str) -> PriceTable:
        listed = catalogue_prices(region)
        return replace(listed, iops={k: v * Decimal(factor) for k, v in listed.iops.items()})

    monkeypatch.setattr(Harness, "table", risen)
    answer(harness, decision, Step.APPROVED)
    minutes(harness, 1)
    assert (harness.view(ref).modification is not None) is done
    if not done:
        assert (
            "blocked by approval: its price rose: it is $48.73 a month more now, and $48.28 a month more was approved"
            in harness.messages[-1][2]
        )


@pytest.mark.parametrize("first", ["waits for a window", "was refused"])
def test_an_approval_can_be_taken_back_until_its_change_is_intended(
    harness: Harness, first: str
) -> None:
    if first == "waits for a window":
        harness.rules = policy(mode=Mode.APPROVE, change_windows=(EVENING,))
    else:
        throttled = Refused(refusal=Refusal.IN_FLIGHT, code="No", message="later", retry_at=None)
        harness.answers = [throttled] * 100
    ref, decision = asked(harness)
    answer(harness, decision, Step.APPROVED)
    minutes(harness, 5)
    harness.answers = []
    assert isinstance(answer(harness, decision, Step.REJECTED, who="owner"), Record)
    minutes(harness, 9 * 6, each=10)
    chain = harness.ledger.chain(decision.decision_id)
    assert chain[-1].summary == "rejected by owner"
    assert [r.step for r in chain].count(Step.APPROVED) == 1
    assert broken_link(chain) is None
    assert harness.view(ref).modification is None
    assert requests(harness, ref) == 1


def test_what_is_intended_cannot_be_rejected_any_more(harness: Harness) -> None:
    ref, decision = asked(harness)
    answer(harness, decision, Step.APPROVED)
    minutes(harness, 1)
    assert harness.steps(ref)[-1] == "applied"
    late = answer(harness, decision, Step.REJECTED)
    assert isinstance(late, AnswerRejected)
    assert "its last step is applied" in late.detail


@pytest.mark.parametrize("problem", [LookupError("no decision"), ReadFailed("of a newer release")])
@pytest.mark.parametrize("approved", [False, True])
def test_a_request_whose_decision_cannot_be_read_ends_all_the_same(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, problem: Exception, approved: bool
) -> None:
    ref, decision = asked(harness)
    harness.loads[ref.resource_id] = calm()
    if approved:
        answer(harness, decision, Step.APPROVED)

    def unreadable(_: str) -> Decision:
        raise problem

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(harness.ledger, "decision", unreadable)
        minutes(harness, 3)
        pending = harness.ledger.resource_state(ref, harness.now).approval_request
        assert (pending is None) is (approved and isinstance(problem, LookupError))
        minutes(harness, 49, each=10)
    assert harness.ledger.resource_state(ref, harness.now).approval_request is None
    last = harness.ledger.chain(decision.decision_id)[-1]
    assert last.step is (Step.WITHDRAWN if approved else Step.EXPIRED)
    assert harness.messages[-1][1] is last.step


def test_an_approver_hears_that_the_outcome_was_never_known_and_nothing_changed(
    harness: Harness,
) -> None:
    _, decision = asked(harness)
    harness.answers = [Unknown(detail="timed out")]
    answer(harness, decision, Step.APPROVED)
    minutes(harness, 15)
    assert harness.ledger.chain(decision.decision_id)[-1].step is Step.NOT_APPLIED
    texts = [text for _, step, text in harness.messages if step is Step.NOT_APPLIED]
    assert texts == ["approved, and not done: AWS shows no such change: it was not accepted"]


def test_what_somebody_else_tried_before_the_approval_is_not_the_change_without_an_answer(
    harness: Harness,
) -> None:
    ref, decision = asked(harness)
    assert isinstance(decision.answer, Act)
    for target in (decision.answer.plan.target, decision.answer.plan.origin):
        while True:
            harness.later(minutes=10)
            with suppress(ModificationRefused):
                harness.change(ref, target)
                break
    view = harness.view(ref)
    while view.modification is not None and view.modification.in_flight:
        harness.later(minutes=10)
        view = harness.view(ref)
    answer(harness, decision, Step.APPROVED)
    harness.answers = [Unknown(detail="timed out")]
    reconcile_now(harness.ports, ref, harness.now, trigger="due")
    for _ in range(3):
        reconcile_now(harness.ports, ref, harness.later(minutes=5), trigger="due")
    steps = [record.step for record in harness.ledger.chain(decision.decision_id)]
    assert steps[-2:] == [Step.UNKNOWN, Step.NOT_APPLIED]


def test_an_approved_change_that_was_refused_ends_with_its_volume(harness: Harness) -> None:
    ref, decision = asked(harness)
    harness.answers = [Unknown(detail="timed out")]
    answer(harness, decision, Step.APPROVED)
    minutes(harness, 1)
    del harness.volumes[ref.resource_id]
    reconcile_now(harness.ports, ref, harness.later(minutes=5), trigger="sweep")
    assert harness.ledger.chain(decision.decision_id)[-1].step is Step.GONE
    assert harness.ledger.resource_state(ref, harness.now).approval_request is None


def due(harness: Harness, ref: ResourceRef) -> datetime | None:
    return next((d.due_at for d in harness.ledger.due(harness.now, 10) if d.ref == ref), None)


def test_an_answer_given_during_a_reconciliation_is_not_lost(harness: Harness) -> None:
    """A reconciliation that read the state before the answer must not put off what the answer made due."""
    ref, decision = asked(harness)
    harness.later(minutes=5)
    answer(harness, decision, Step.APPROVED)
    harness.ledger.reconciled(ref, at=harness.now, due_at=harness.now + timedelta(hours=5))
    harness.ledger.reconciled(ref, at=harness.now, due_at=None)
    assert due(harness, ref) == harness.now


EVENING = parse_window("Mon 19:00-21:00 UTC")


@pytest.mark.parametrize(("hours", "early"), [(8, True), (7, False), (1, False)])
def test_people_are_asked_by_day_for_what_is_started_in_the_evening(
    harness: Harness, hours: int, early: bool
) -> None:
    """It is noon and the window opens at seven: ahead of it only if the request still waits then."""
    harness.rules = policy(
        mode=Mode.APPROVE, change_windows=(EVENING,), approval_expires_minutes=hours * 60
    )
    ref = harness.add(volume(tags=()))
    decision = reconcile_now(harness.ports, ref, harness.now, trigger="alarm", must_record=True)
    assert decision is not None
    if not early:
        assert harness.steps(ref) == ["hold"]
        return
    assert harness.steps(ref) == ["act", "awaiting"]
    assert harness.messages[0][2].endswith(
        "once approved it is started from 2026-01-05 19:00 UTC on"
    )
    answer(harness, decision, Step.APPROVED)
    minutes(harness, 7 * 60 - 1)
    assert "intended" not in harness.steps(ref)
    minutes(harness, 1)
    assert harness.steps(ref)[-2:] == ["intended", "applied"]


def test_under_auto_nobody_is_asked_ahead_of_what_needs_nobody(harness: Harness) -> None:
    harness.rules = policy(mode=Mode.AUTO, change_windows=(EVENING,))
    ref = harness.add(volume(tags=()))
    reconcile_now(harness.ports, ref, harness.now, trigger="alarm", must_record=True)
    assert harness.steps(ref) == ["hold"]
    minutes(harness, 7 * 4, each=15)
    assert harness.steps(ref)[-1] == "applied"


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("scanned_before", [False, True])
def test_a_resource_that_is_switched_off_has_no_request_any_more_and_is_left_alone(
    harness: Harness, adaptive: bool, scanned_before: bool
) -> None:
    harness.rules = policy(mode=Mode.OBSERVE)
    ref = harness.add(volume(tags=(("headroom", "approve"),)))
    if scanned_before:
        harness.pressed = {ref.resource_id}
        sweep(harness.ports, harness.now, adaptive=adaptive)
    else:
        reconcile_now(harness.ports, ref, harness.now, trigger="alarm", must_record=True)
        harness.ledger.claim_work(
            WorkItem(ref=ref, trigger="alarm", since=harness.now), holder="w", now=harness.now,
            until=harness.now + timedelta(minutes=1), not_after=harness.now,
        )  # fmt: skip
        harness.ledger.finish_work(ref, holder="w", began=harness.now)
    assert harness.steps(ref) == ["act", "awaiting"]
    harness.later(minutes=2)
    harness.volumes[ref.resource_id] = volume(tags=(("headroom", "off"),))
    reconciled = 0
    for _ in range(60):
        harness.later(minutes=10)
        reconciled += sweep(harness.ports, harness.now, adaptive=adaptive).reconciled
        if harness.now - timedelta(minutes=20) > NOW:
            assert harness.ledger.waiting(harness.now) == ()
    assert harness.steps(ref) == ["act", "awaiting", "withdrawn", "hold"]
    assert harness.view(ref).modification is None
    assert [step for _, step, _ in harness.messages] == [Step.AWAITING, Step.WITHDRAWN]
    assert "the mode is off now" in harness.messages[-1][2]
    assert reconciled <= 3, "it is not woken at each scan"


@pytest.mark.parametrize("approved", [False, True])
def test_a_request_about_a_kind_that_is_left_out_ends(harness: Harness, approved: bool) -> None:
    """Who approved it hears that it is not done; nobody is asked on and on about what nothing reads."""
    ref, decision = asked(harness)
    if approved:
        answer(harness, decision, Step.APPROVED)
    without = replace(harness.ports, storage=StorageByKind({}))
    for _ in range(3):
        reconcile_now(without, ref, harness.later(hours=24), trigger="due")
    chain = harness.ledger.chain(decision.decision_id)
    assert [record.step for record in chain].count(Step.WITHDRAWN) == 1
    assert harness.ledger.resource_state(ref, harness.now).approval_request is None
    assert harness.ledger.due(harness.now + timedelta(days=9), 10) == ()
    texts = [text for _, step, text in harness.messages if step is Step.WITHDRAWN]
    assert len(texts) == approved
    assert all("not covered here" in text for text in texts)
