"""People are asked once, their answer counts once, and what they agreed to is judged again."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from headroom.application import sweep
from headroom.domain.catalog import PriceTable
from headroom.domain.decision import Act, Decision, Hold, Reason
from headroom.domain.policy import Mode, PolicyUnreadable, parse_window
from headroom.domain.resources import PriceUnknown, ResourceRef
from headroom.domain.state import Record, Step
from headroom.ports import AnswerRejected
from tests.application.harness import Stage, calm, reconcile_now
from tests.builders import activity, gp3, policy, volume

WHO = "arn:aws:iam::123456789012:user/alice"


@pytest.fixture
def stage() -> Stage:
    return Stage(rules=policy(mode=Mode.APPROVE))


def asked(stage: Stage) -> tuple[ResourceRef, Decision]:
    """A starving volume, looked at: the request that waits for a person."""
    ref = stage.add(volume(tags=()))
    decision = reconcile_now(stage.ports, ref, stage.now, trigger="alarm", must_record=True)
    assert decision is not None
    assert stage.steps(ref) == ["act", "awaiting"]
    return ref, decision


def minutes(stage: Stage, count: int, *, each: int = 1) -> None:
    for _ in range(count):
        stage.later(minutes=each)
        sweep(stage.ports, stage.now)


def answer(
    stage: Stage, decision: Decision, step: Step, *, who: str = WHO
) -> Record | AnswerRejected:
    return stage.ledger.answer(decision.decision_id, step, at=stage.now, who=who)


def test_what_a_person_approves_lands_within_a_minute_under_the_same_chain(stage: Stage) -> None:
    ref, decision = asked(stage)
    assert isinstance(answer(stage, decision, Step.APPROVED), Record)
    minutes(stage, 1)
    assert stage.steps(ref)[:5] == ["act", "awaiting", "approved", "intended", "applied"]
    assert [r.step.value for r in stage.ledger.chain(decision.decision_id)][1:] == [
        "awaiting", "approved", "intended", "applied",
    ]  # fmt: skip
    assert isinstance(decision.answer, Act)
    assert stage.view(ref).modification.target == decision.answer.plan.target  # type: ignore[union-attr]


def test_nothing_happens_and_nobody_is_asked_again_while_a_request_waits(stage: Stage) -> None:
    ref, _ = asked(stage)
    minutes(stage, 479)
    assert stage.steps(ref) == ["act", "awaiting", "hold"]
    assert [step for _, step, _ in stage.told] == [Step.AWAITING]
    resource_state = stage.ledger.resource_state(ref, stage.now)
    assert (resource_state.open_chain, resource_state.resource_increase_usd) == (None, 0)


def test_the_message_and_the_record_say_why_and_until_when(stage: Stage) -> None:
    _, decision = asked(stage)
    ((_, _, summary),) = stage.told
    assert "3000 IOPS" in summary
    assert (
        "a month; it waits for a person until 2026-01-05 20:00 UTC: the mode is approve" in summary
    )
    record = stage.ledger.chain(decision.decision_id)[-1]
    assert '"expires":"2026-01-05T20:00:00Z"' in record.body
    assert [d.decision_id for d in stage.ledger.waiting(stage.now)] == [decision.decision_id]


def test_a_request_that_nobody_answers_runs_out_at_its_minute_and_changes_nothing(
    stage: Stage,
) -> None:
    ref, decision = asked(stage)
    minutes(stage, 480)
    (expired,) = [r for r in stage.ledger.chain(decision.decision_id) if r.step is Step.EXPIRED]
    assert expired.at == decision.at + timedelta(hours=8)
    assert stage.view(ref).modification is None
    assert [step for _, step, _ in stage.told] == [Step.AWAITING, Step.EXPIRED]
    assert stage.ledger.waiting(stage.now) == ()


def requests(stage: Stage, ref: ResourceRef) -> int:
    return stage.steps(ref).count("awaiting")


def test_after_no_answer_it_is_quiet_as_long_again_then_asked_once_more(stage: Stage) -> None:
    ref, _ = asked(stage)
    minutes(stage, 4 * 15, each=15)
    assert requests(stage, ref) == 1
    minutes(stage, 5, each=15)
    assert requests(stage, ref) == 2


def test_a_no_is_quiet_for_24_hours(stage: Stage) -> None:
    ref, decision = asked(stage)
    stage.later(minutes=3)
    assert isinstance(answer(stage, decision, Step.REJECTED), Record)
    minutes(stage, 1)
    assert stage.steps(ref) == ["act", "awaiting", "rejected", "hold"]
    held = stage.ledger.decision(stage.ledger.resource_state(ref, stage.now).last_decision_id or "")
    assert isinstance(held.answer, Hold)
    assert (held.answer.reason, held.answer.until) == (
        Reason.DECLINED, decision.at + timedelta(hours=24, minutes=3),
    )  # fmt: skip
    minutes(stage, 95, each=15)
    assert (requests(stage, ref), len(stage.told)) == (1, 1)
    minutes(stage, 2, each=15)
    assert requests(stage, ref) == 2


def test_no_volume_is_asked_about_more_than_three_times_a_day_without_an_answer(
    stage: Stage,
) -> None:
    stage.rules = policy(mode=Mode.APPROVE, approval_expires_minutes=1)
    ref, _ = asked(stage)
    minutes(stage, 23 * 60 + 50)
    assert requests(stage, ref) == 3
    minutes(stage, 48 * 60)
    assert requests(stage, ref) <= 9


@pytest.mark.parametrize("step", [Step.APPROVED, Step.REJECTED])
def test_the_first_answer_counts_and_the_second_hears_of_it(stage: Stage, step: Step) -> None:
    _, decision = asked(stage)
    assert isinstance(answer(stage, decision, step), Record)
    for again in (Step.APPROVED, Step.REJECTED):
        second = answer(stage, decision, again, who="bob")
        assert isinstance(second, AnswerRejected)
        assert second.why == step.value
    assert [r.step for r in stage.ledger.chain(decision.decision_id)][2:] == [step]


def test_an_answer_at_the_minute_of_expiry_is_too_late(stage: Stage) -> None:
    ref, decision = asked(stage)
    stage.later(hours=8)
    late = answer(stage, decision, Step.APPROVED)
    assert isinstance(late, AnswerRejected)
    assert (late.why, late.detail) == ("expired", "it expired at 2026-01-05 20:00 UTC")
    minutes(stage, 5)
    assert "intended" not in stage.steps(ref)


def test_an_approval_does_not_outlive_its_request(stage: Stage) -> None:
    """Approved a minute before expiry, while nothing could look: it is too late by then."""
    ref, decision = asked(stage)
    stage.later(hours=7, minutes=59)
    assert isinstance(answer(stage, decision, Step.APPROVED), Record)
    stage.later(minutes=1)
    sweep(stage.ports, stage.now)
    assert [r.step.value for r in stage.ledger.chain(decision.decision_id)][2:] == [
        "approved", "withdrawn",
    ]  # fmt: skip
    assert stage.view(ref).modification is None
    assert stage.told[-1][1] is Step.WITHDRAWN


def test_what_is_no_longer_worth_it_is_withdrawn_with_every_verdict(stage: Stage) -> None:
    ref, decision = asked(stage)
    stage.loads[ref.resource_id] = calm()
    stage.later(hours=2)
    answer(stage, decision, Step.APPROVED)
    minutes(stage, 1)
    last = stage.ledger.chain(decision.decision_id)[-1]
    assert last.step is Step.WITHDRAWN
    assert "blocked by cost_benefit" in last.summary
    assert '"guardrail":"max_iops"' in last.body
    assert stage.view(ref).modification is None


def test_a_volume_that_was_changed_meanwhile_needs_no_answer_any_more(stage: Stage) -> None:
    ref, decision = asked(stage)
    stage.later(hours=1)
    stage.change(ref, gp3(100, 5000, 125))
    minutes(stage, 16)
    last = stage.ledger.chain(decision.decision_id)[-1]
    assert (last.step, last.summary.partition(": ")[2]) == (
        Step.WITHDRAWN,
        "the volume is gp3 100 GiB 5000 IOPS 125 MiB/s now, it was gp3 100 GiB 3000 IOPS 125 MiB/s",
    )
    assert isinstance(answer(stage, decision, Step.APPROVED), AnswerRejected)


@pytest.mark.parametrize("mode", [Mode.OFF, Mode.OBSERVE])
@pytest.mark.parametrize("approved", [False, True])
def test_an_owner_who_takes_the_mode_back_has_the_last_word(
    stage: Stage, mode: Mode, approved: bool
) -> None:
    ref, decision = asked(stage)
    if approved:
        answer(stage, decision, Step.APPROVED)
    stage.rules = policy(mode=mode)
    minutes(stage, 24 * 60 // 15, each=15)
    # Who is off is not scanned: an unanswered request is come across when it runs out.
    unseen = mode is Mode.OFF and not approved
    ended = Step.EXPIRED if unseen else Step.WITHDRAWN
    assert stage.ledger.chain(decision.decision_id)[-1].step is ended
    assert "intended" not in stage.steps(ref)


def test_a_pause_keeps_an_approved_change_waiting_and_it_is_done_when_it_ends(stage: Stage) -> None:
    ref, decision = asked(stage)
    stage.ledger.pause(stage.now + timedelta(hours=2), at=stage.now, who="bob")
    answer(stage, decision, Step.APPROVED)
    minutes(stage, 119)
    assert stage.steps(ref)[:4] == ["act", "awaiting", "approved", "hold"]
    assert stage.steps(ref).count("hold") <= 2
    minutes(stage, 2)
    assert stage.steps(ref)[-2:] == ["intended", "applied"]


@pytest.mark.parametrize("fault", ["policy", "metrics", "prices"])
def test_a_fault_that_passes_does_not_lose_what_a_person_approved(
    stage: Stage, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref, decision = asked(stage)
    answer(stage, decision, Step.APPROVED)
    with monkeypatch.context() as meanwhile:
        if fault == "policy":
            meanwhile.setattr(stage, "rules", PolicyUnreadable(reason="not JSON"))
        elif fault == "metrics":
            meanwhile.setitem(stage.loads, ref.resource_id, activity([None] * 180))
        else:
            meanwhile.setattr(Stage, "table", _no_prices)
        minutes(stage, 3)
        assert "withdrawn" not in stage.steps(ref)
        assert "intended" not in stage.steps(ref)
    minutes(stage, 65)
    assert [s for s in stage.steps(ref) if s in ("intended", "applied")] == ["intended", "applied"]


def _no_prices(_: Stage, region: str) -> PriceTable:
    raise PriceUnknown(f"no prices of {region} just now")


def test_a_pause_that_outlasts_the_request_ends_it(stage: Stage) -> None:
    ref, decision = asked(stage)
    stage.ledger.pause(None, at=stage.now, who="bob")
    answer(stage, decision, Step.APPROVED)
    minutes(stage, 33, each=15)
    assert stage.ledger.chain(decision.decision_id)[-1].step is Step.WITHDRAWN
    assert "intended" not in stage.steps(ref)


def test_a_ceiling_lowered_after_the_request_holds(stage: Stage) -> None:
    ref, decision = asked(stage)
    stage.rules = policy(mode=Mode.APPROVE, max_iops=3500)
    answer(stage, decision, Step.APPROVED)
    minutes(stage, 1)
    last = stage.ledger.chain(decision.decision_id)[-1]
    assert last.step is Step.WITHDRAWN
    assert "max_iops" in last.summary
    assert stage.view(ref).modification is None


def test_a_request_of_a_deleted_volume_ends_with_it(stage: Stage) -> None:
    ref, decision = asked(stage)
    del stage.volumes[ref.resource_id]
    reconcile_now(stage.ports, ref, stage.later(minutes=5), trigger="sweep")
    assert stage.ledger.chain(decision.decision_id)[-1].step is Step.GONE
    assert stage.ledger.resource_state(ref, stage.now).approval_request is None
    assert isinstance(answer(stage, decision, Step.APPROVED), AnswerRejected)


@pytest.mark.parametrize(
    ("above", "asks"),
    [(None, False), (Decimal(1000), False), (Decimal(0), True), (Decimal(5), True)],
)
def test_under_auto_people_are_asked_only_above_the_price_the_policy_names(
    stage: Stage, above: Decimal | None, asks: bool
) -> None:
    stage.rules = policy(mode=Mode.AUTO, approve_above_usd=above)
    ref = stage.add(volume(tags=()))
    decision = reconcile_now(stage.ports, ref, stage.now, trigger="alarm", must_record=True)
    assert decision is not None
    assert isinstance(decision.answer, Act)
    assert decision.answer.plan.price_change_usd > 5
    assert stage.steps(ref)[1] == ("awaiting" if asks else "intended")


def test_a_change_that_needs_nobody_withdraws_the_request_it_makes_pointless(stage: Stage) -> None:
    ref, decision = asked(stage)
    stage.rules = policy(mode=Mode.AUTO)
    minutes(stage, 16)
    assert stage.ledger.chain(decision.decision_id)[-1].step is Step.WITHDRAWN
    assert stage.steps(ref).count("applied") == 1


def test_a_crash_before_the_request_is_on_record_asks_once_all_the_same(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = stage.add(volume(tags=()))
    append = stage.ledger.append

    def crash(*arguments: object, **named: object) -> object:
        raise RuntimeError("killed")

    monkeypatch.setattr(stage.ledger, "append", crash)
    with pytest.raises(RuntimeError):
        reconcile_now(stage.ports, ref, stage.now, trigger="alarm", must_record=True)
    monkeypatch.setattr(stage.ledger, "append", append)
    minutes(stage, 6)
    assert [s for s in stage.steps(ref) if s != "hold"] == ["act", "withdrawn", "act", "awaiting"]


def test_a_crash_after_the_intent_of_an_approved_change_changes_it_once(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref, decision = asked(stage)
    answer(stage, decision, Step.APPROVED)

    def crash(*arguments: object, **named: object) -> object:
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(Stage, "apply", crash)
        stage.later(minutes=1)
        sweep(stage.ports, stage.now)
    assert stage.steps(ref)[-1] == "intended"
    minutes(stage, 40)
    assert stage.steps(ref).count("intended") == stage.steps(ref).count("unknown") == 1
    assert stage.ledger.chain(decision.decision_id)[-1].step is Step.NOT_APPLIED
    # The need is still there: a new request, because the approval was for the one before.
    assert requests(stage, ref) == 2


def due(stage: Stage, ref: ResourceRef) -> datetime | None:
    return next((d.due_at for d in stage.ledger.due(stage.now, 10) if d.ref == ref), None)


def test_an_answer_given_during_a_reconciliation_is_not_lost(stage: Stage) -> None:
    """A look that read the state before the answer must not put off what the answer made due."""
    ref, decision = asked(stage)
    stage.later(minutes=5)
    answer(stage, decision, Step.APPROVED)
    stage.ledger.reconciled(ref, at=stage.now, due_at=stage.now + timedelta(hours=5))
    stage.ledger.reconciled(ref, at=stage.now, due_at=None)
    assert due(stage, ref) == stage.now


EVENING = parse_window("Mon 19:00-21:00 UTC")


@pytest.mark.parametrize(("hours", "early"), [(8, True), (7, False), (1, False)])
def test_people_are_asked_by_day_for_what_is_started_in_the_evening(
    stage: Stage, hours: int, early: bool
) -> None:
    """It is noon and the window opens at seven: ahead of it only if the request still waits then."""
    stage.rules = policy(
        mode=Mode.APPROVE, change_windows=(EVENING,), approval_expires_minutes=hours * 60
    )
    ref = stage.add(volume(tags=()))
    decision = reconcile_now(stage.ports, ref, stage.now, trigger="alarm", must_record=True)
    assert decision is not None
    if not early:
        assert stage.steps(ref) == ["hold"]
        return
    assert stage.steps(ref) == ["act", "awaiting"]
    assert stage.told[0][2].endswith("once approved it is started from 2026-01-05 19:00 UTC on")
    answer(stage, decision, Step.APPROVED)
    minutes(stage, 7 * 60 - 1)
    assert "intended" not in stage.steps(ref)
    minutes(stage, 1)
    assert stage.steps(ref)[-2:] == ["intended", "applied"]


def test_under_auto_nobody_is_asked_ahead_of_what_needs_nobody(stage: Stage) -> None:
    stage.rules = policy(mode=Mode.AUTO, change_windows=(EVENING,))
    ref = stage.add(volume(tags=()))
    reconcile_now(stage.ports, ref, stage.now, trigger="alarm", must_record=True)
    assert stage.steps(ref) == ["hold"]
    minutes(stage, 7 * 4, each=15)
    assert stage.steps(ref)[-1] == "applied"
