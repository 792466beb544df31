"""A change is undone when a person wants it, under the guardrails, once, and is then left undone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from headroom.application import sweep
from headroom.domain.decision import Act, Decision, Escalate
from headroom.domain.policy import Mode, OneWay
from headroom.domain.resources import Configuration, ResourceRef, VolumeActivity, VolumeType
from headroom.domain.state import Outcome, Record, Refusal, Refused, Step, Unknown
from headroom.ports import AnswerRejected
from tests.application.harness import Harness, moved, reconcile_now, running_free, starving
from tests.builders import activity, gp2, gp3, policy, volume
from tests.domain.decision.test_latency import slow_for_days

WHO = "arn:aws:iam::123456789012:user/alice"


@pytest.fixture
def harness() -> Harness:
    return Harness(rules=policy(mode=Mode.AUTO))


def minutes(harness: Harness, count: int, *, each: int = 1) -> None:
    for _ in range(count):
        harness.later(minutes=each)
        sweep(harness.ports, harness.now)


def changed(
    harness: Harness, origin: Configuration | None = None, load: VolumeActivity | None = None
) -> tuple[ResourceRef, Decision]:
    """A volume that was starved, raised and relieved by Headroom; the change is completed."""
    ref = harness.add(volume(origin or gp3(), tags=()), load=load or starving())
    decision = reconcile_now(harness.ports, ref, harness.now, trigger="alarm", must_record=True)
    assert decision is not None
    assert harness.steps(ref)[-1] == "applied", harness.steps(ref)
    harness.loads[ref.resource_id] = running_free(3_500.0 if load is None else 450.0)
    minutes(harness, 30, each=15)
    assert not in_flight(harness, ref)
    assert harness.ledger.chain(decision.decision_id)[-1].step is Step.RELIEVED
    harness.messages.clear()
    return ref, decision


def drained() -> VolumeActivity:
    """A gp2 volume that used up its credits and is at its baseline since."""
    return activity(
        [300.0] * 180, queue=[1.0] * 150 + [900.0 + 3 * i for i in range(30)], balance=0.0,
        iops_check=[0.0] * 150 + [1.0] * 30,
    )  # fmt: skip


def in_flight(harness: Harness, ref: ResourceRef) -> bool:
    change = harness.view(ref).modification
    return change is not None and change.in_flight


def ask(harness: Harness, decision: Decision, *, reason: str = "") -> Record | AnswerRejected:
    return harness.ledger.request_rollback(
        decision.decision_id, at=harness.now, who=WHO, reason=reason
    )


def last(harness: Harness, ref: ResourceRef) -> Decision:
    found = harness.ledger.resource_state(ref, harness.now).last_decision_id
    return harness.ledger.decision(found or "")


def now_is(harness: Harness, ref: ResourceRef) -> Configuration:
    return harness.view(ref).volume.configuration


def test_a_person_has_a_raise_undone_within_a_minute_and_its_chain_names_the_old_one(
    harness: Harness,
) -> None:
    ref, decision = changed(harness)
    assert isinstance(ask(harness, decision, reason="slower"), Record)
    minutes(harness, 1)
    undone = last(harness, ref)
    assert undone.rollback_of == decision.decision_id
    assert [r.step for r in harness.ledger.chain(undone.decision_id)] == [
        Step.DECIDED, Step.INTENDED, Step.APPLIED,
    ]  # fmt: skip
    assert undone.summary.startswith(
        f"vol-1: rollback of {decision.decision_id}, asked for by {WHO} (slower): "
    )
    assert undone.summary.endswith("a month, one of AWS's four changes in 24 h")
    minutes(harness, 30, each=15)
    assert now_is(harness, ref) == gp3()
    assert harness.ledger.chain(undone.decision_id)[-1].step is Step.ROLLED_BACK
    assert [step for _, step, _ in harness.messages] == [Step.APPLIED, Step.ROLLED_BACK]


def test_what_a_rollback_frees_is_free(harness: Harness) -> None:
    ref, decision = changed(harness)
    assert harness.ledger.resource_state(ref, harness.now).account_increase_usd > 0
    ask(harness, decision)
    minutes(harness, 30, each=15)
    assert harness.ledger.resource_state(ref, harness.now).account_increase_usd == 0


@pytest.mark.parametrize("automatic_rollback", [False, True])
def test_after_a_rollback_the_volume_is_left_as_it_is_for_a_day_whatever_it_suffers(
    harness: Harness, automatic_rollback: bool
) -> None:
    ref, decision = changed(harness)
    ask(harness, decision)
    minutes(harness, 1)
    if automatic_rollback:
        harness.rules = policy(mode=Mode.AUTO, revert_wait_minutes=0)
    harness.loads[ref.resource_id] = starving()
    harness.pressed = {ref.resource_id}
    minutes(harness, 23, each=60)
    assert now_is(harness, ref) == gp3()
    assert {v.guardrail.value for j in last(harness, ref).judgements for v in j.blocking} >= {
        "rolled_back"
    }
    assert harness.steps(ref).count("intended") == 2
    minutes(harness, 3, each=60)
    assert (
        harness.steps(ref).count("intended") == 3
    ) is automatic_rollback  # else `revert_wait` goes on


def test_the_size_stays_as_it_is(harness: Harness) -> None:
    ref, decision = changed(harness)
    assert isinstance(decision.answer, Act)
    harness.change(ref, replace(decision.answer.plan.target, size_gib=200))
    minutes(harness, 40, each=15)
    ask(harness, decision)
    minutes(harness, 30, each=15)
    assert now_is(harness, ref) == gp3(200)


def test_the_type_goes_back_though_the_policy_would_not_choose_it(harness: Harness) -> None:
    ref, decision = changed(harness, gp2(100), drained())
    assert now_is(harness, ref).volume_type is VolumeType.GP3
    ask(harness, decision)
    minutes(harness, 30, each=15)
    assert now_is(harness, ref) == gp2(100)


def test_less_durability_ends_a_rollback_and_people_hear_why(harness: Harness) -> None:
    harness.rules = policy(
        mode=Mode.AUTO, types=(VolumeType.IO2,), one_way=OneWay.ALLOW,
        relief_value_usd_per_minute=10.0,
    )  # fmt: skip
    ref, decision = changed(harness, gp2(100), drained())
    assert now_is(harness, ref).volume_type is VolumeType.IO2
    ask(harness, decision)
    minutes(harness, 30, each=15)
    undone = next(d for d in decisions(harness, ref) if d.rollback_of)
    assert isinstance(undone.answer, Escalate)
    ((_, _, summary),) = [t for t in harness.messages if t[1] is Step.DECIDED]
    assert "nothing was rolled back: not allowed by durability" in summary
    assert harness.ledger.resource_state(ref, harness.now).rollback is None


def decisions(harness: Harness, ref: ResourceRef) -> list[Decision]:
    records = harness.ledger.by_resource(
        ref.arn, since=harness.now - timedelta(days=30), until=harness.now
    )
    return [harness.ledger.decision(r.decision_id) for r in records if r.step is Step.DECIDED]


def test_a_pause_keeps_it_waiting_and_it_is_done_when_the_pause_ends(harness: Harness) -> None:
    ref, decision = changed(harness)
    harness.ledger.pause(harness.now + timedelta(hours=3), at=harness.now, who="bob")
    ask(harness, decision)
    minutes(harness, 179)
    assert harness.steps(ref).count("intended") == 1
    held = [d for d in decisions(harness, ref) if d.rollback_of]
    assert len(held) == 1, "one record says what it waits for"
    minutes(harness, 2)
    assert harness.steps(ref)[-1] == "applied"


def test_what_is_blocked_for_a_day_is_given_up_and_reported(harness: Harness) -> None:
    ref, decision = changed(harness)
    harness.ledger.pause(None, at=harness.now, who="bob")
    ask(harness, decision)
    minutes(harness, 97, each=15)
    assert harness.ledger.resource_state(ref, harness.now).rollback is None
    assert [step for _, step, _ in harness.messages] == [Step.DECIDED]
    assert "still blocked by pause when it expired" in harness.messages[0][2]
    harness.ledger.resume(at=harness.now, who="bob")
    minutes(harness, 8, each=15)
    assert harness.steps(ref).count("intended") == 1


@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.OFF])
def test_where_the_mode_allows_no_change_nothing_is_rolled_back(
    harness: Harness, mode: Mode
) -> None:
    ref, decision = changed(harness)
    harness.rules = policy(mode=mode)
    ask(harness, decision)
    minutes(harness, 2)
    assert harness.steps(ref).count("intended") == 1
    assert "not allowed by mode" in harness.messages[0][2]


def test_under_approve_a_persons_wish_is_the_approval(harness: Harness) -> None:
    ref, decision = changed(harness)
    harness.rules = policy(mode=Mode.APPROVE)
    ask(harness, decision)
    minutes(harness, 1)
    assert harness.steps(ref)[-1] == "applied"


def test_people_may_use_the_slots_that_are_kept_for_people(harness: Harness) -> None:
    harness.rules = policy(mode=Mode.AUTO, slots_reserve=3)
    ref, decision = changed(harness)
    ask(harness, decision)
    minutes(harness, 1)
    assert harness.steps(ref)[-1] == "applied"


def test_a_volume_that_somebody_changed_since_is_left_alone(harness: Harness) -> None:
    ref, decision = changed(harness)
    ask(harness, decision)
    harness.change(ref, gp3(100, 9000, 500))
    minutes(harness, 2)
    assert harness.steps(ref).count("intended") == 1
    assert "the volume was changed since" in harness.messages[0][2]


def test_a_wish_whose_decision_expired_ends_and_the_volume_goes_on(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`record_retention_days` deleted it while the wish waited."""
    ref, decision = changed(harness)
    harness.ledger.pause(harness.now + timedelta(hours=3), at=harness.now, who="bob")
    ask(harness, decision)
    minutes(harness, 2)
    kept = harness.ledger.decision

    def expired(decision_id: str) -> Decision:
        if decision_id == decision.decision_id:
            raise LookupError(f"no decision {decision_id}")
        return kept(decision_id)

    monkeypatch.setattr(harness.ledger, "decision", expired)
    minutes(harness, 190)
    assert harness.ledger.resource_state(ref, harness.now).rollback is None
    assert "its decision is no longer on record" in harness.messages[0][2]
    assert reconcile_now(harness.ports, ref, harness.now, trigger="sweep", must_record=True)


def test_it_can_be_asked_once_and_only_of_a_change_that_was_made(harness: Harness) -> None:
    ref, decision = changed(harness)
    held = next(d for d in decisions(harness, ref) if not isinstance(d.answer, Act))
    refused = [harness.ledger.request_rollback(n, at=harness.now, who=WHO) for n in
               ("nothing", held.decision_id)]  # fmt: skip
    assert [r.why for r in refused if isinstance(r, AnswerRejected)] == ["unknown", "not_applied"]
    assert isinstance(ask(harness, decision), Record)
    again = ask(harness, decision)
    assert isinstance(again, AnswerRejected)
    assert again.why == "asked"
    minutes(harness, 30, each=15)
    undone = ask(harness, decision)
    assert isinstance(undone, AnswerRejected)
    assert undone.why == "undone"


def test_a_rollback_can_be_rolled_back_by_a_person(harness: Harness) -> None:
    ref, decision = changed(harness)
    ask(harness, decision)
    minutes(harness, 60, each=15)
    (undone,) = [d for d in decisions(harness, ref) if d.rollback_of and isinstance(d.answer, Act)]
    assert isinstance(ask(harness, undone), Record)
    minutes(harness, 60, each=15)
    assert isinstance(decision.answer, Act)
    assert now_is(harness, ref) == decision.answer.plan.target


def test_it_waits_for_the_end_of_the_change_it_undoes(harness: Harness) -> None:
    ref = harness.add(volume(tags=()))
    decision = reconcile_now(harness.ports, ref, harness.now, trigger="alarm", must_record=True)
    assert decision is not None
    harness.later(minutes=2)
    assert isinstance(ask(harness, decision), Record)
    minutes(harness, 5)
    assert harness.steps(ref).count("intended") == 1
    minutes(harness, 60, each=15)
    assert harness.steps(ref).count("intended") == 2
    assert now_is(harness, ref) == gp3()


DENIED = Refused(refusal=Refusal.DENIED, code="UnauthorizedOperation", message="no", retry_at=None)


@pytest.mark.parametrize("first", [DENIED, Unknown(detail="timed out")])
def test_what_aws_did_not_do_is_tried_again_while_the_wish_lasts_and_done_once(
    harness: Harness, first: Outcome
) -> None:
    ref, decision = changed(harness)
    harness.answers = [first]
    ask(harness, decision)
    minutes(harness, 80, each=15)
    assert now_is(harness, ref) == gp3()
    assert harness.steps(ref).count("applied") == 2


def test_a_crash_between_decision_and_intent_undoes_it_once_all_the_same(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref, decision = changed(harness)
    ask(harness, decision)

    def crash(*arguments: object, **named: object) -> object:
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(harness.ledger, "intend", crash)
        minutes(harness, 1)
    minutes(harness, 30)
    assert harness.steps(ref).count("intended") == harness.steps(ref).count("applied") == 2


def starved_ever_after(harness: Harness) -> ResourceRef:
    """A volume whose pressure no raise ends."""
    ref = harness.add(volume(tags=()))
    reconcile_now(harness.ports, ref, harness.now, trigger="alarm", must_record=True)
    harness.loads[ref.resource_id] = insatiable()
    return ref


def insatiable() -> VolumeActivity:
    """Bursts that reach any limit for a part of each minute."""
    return activity([2_900.0] * 180, queue=900.0, iops_check=1.0)


def test_a_raise_that_the_load_uses_up_is_not_taken_away_though_it_did_not_help(
    harness: Harness,
) -> None:
    harness.rules = policy(mode=Mode.AUTO, roll_back_ineffective=True, max_iops=6_000)
    ref = starved_ever_after(harness)
    harness.loads[ref.resource_id] = activity([5_900.0] * 180, queue=900.0, iops_check=1.0)
    minutes(harness, 60, each=15)
    assert "ineffective" in harness.steps(ref)
    assert now_is(harness, ref).iops == 6_000
    assert not any(d.rollback_of for d in decisions(harness, ref))


def test_a_raise_whose_instance_is_stopped_before_anything_was_measured_is_not_undone(
    harness: Harness,
) -> None:
    harness.rules = policy(mode=Mode.AUTO, roll_back_ineffective=True)
    ref = starved_ever_after(harness)
    harness.loads[ref.resource_id] = activity([None] * 180)
    minutes(harness, 32, each=60)
    assert "untested" in harness.steps(ref)
    assert any("nothing was measured in the last 3 h" in text for _, _, text in harness.messages)
    assert now_is(harness, ref) != gp3()
    assert not any(d.rollback_of for d in decisions(harness, ref))


def test_a_load_that_grew_while_the_policys_wish_waited_ends_the_wish_and_people_hear_why(
    harness: Harness,
) -> None:
    harness.rules = policy(mode=Mode.AUTO, roll_back_ineffective=True, max_iops=6_000)
    ref = starved_ever_after(harness)
    while "ineffective" not in harness.steps(ref):
        harness.ledger.pause(None, at=harness.now, who="bob")
        minutes(harness, 1, each=15)
    assert harness.ledger.resource_state(ref, harness.now).rollback is not None
    harness.loads[ref.resource_id] = activity([5_900.0] * 180, queue=900.0, iops_check=1.0)
    harness.ledger.resume(at=harness.now, who="bob")
    minutes(harness, 100, each=15)
    assert now_is(harness, ref).iops == 6_000
    assert any("the load takes up to 5,900 IOPS" in summary for _, _, summary in harness.messages)


def test_a_request_older_than_a_day_is_not_granted_however_late_it_is_seen(
    harness: Harness,
) -> None:
    ref, decision = changed(harness)
    before = now_is(harness, ref)
    ask(harness, decision)
    harness.later(hours=25)  # as if nothing ran meanwhile
    minutes(harness, 3)
    assert now_is(harness, ref) == before
    assert harness.ledger.resource_state(ref, harness.now).rollback is None
    assert "nothing was rolled back: it expired before it could be done" in harness.messages[0][2]


def test_a_raise_that_did_not_help_is_undone_where_the_policy_says_so_and_once(
    harness: Harness,
) -> None:
    harness.rules = policy(mode=Mode.AUTO, roll_back_ineffective=True, max_iops=6_000)
    ref = starved_ever_after(harness)
    minutes(harness, 60, each=15)
    assert "ineffective" in harness.steps(ref)
    assert now_is(harness, ref) == gp3()
    (undone,) = [d for d in decisions(harness, ref) if d.rollback_of and isinstance(d.answer, Act)]
    assert "asked for by the policy (roll_back_ineffective) (it did not help)" in undone.summary
    minutes(harness, 10 * 12, each=120)
    assert sum(d.rollback_of is not None for d in decisions(harness, ref)) == 1
    assert harness.steps(ref).count("intended") <= 3, "no loop of raise and return"


def test_a_raise_that_did_not_help_stays_where_the_policy_says_nothing(harness: Harness) -> None:
    harness.rules = policy(mode=Mode.AUTO, max_iops=6_000)
    ref = starved_ever_after(harness)
    minutes(harness, 60, each=15)
    assert "ineffective" in harness.steps(ref)
    assert now_is(harness, ref) != gp3()


def test_under_approve_a_rollback_by_itself_waits_for_a_person(harness: Harness) -> None:
    harness.rules = policy(mode=Mode.AUTO, roll_back_ineffective=True, max_iops=6_000)
    ref = starved_ever_after(harness)
    harness.rules = policy(mode=Mode.APPROVE, roll_back_ineffective=True, max_iops=6_000)
    while not harness.ledger.waiting(harness.now):
        minutes(harness, 1, each=15)
    (waiting,) = harness.ledger.waiting(harness.now)
    assert waiting.rollback_of is not None
    harness.ledger.answer(waiting.decision_id, Step.APPROVED, at=harness.now, who=WHO)
    minutes(harness, 30, each=15)
    assert now_is(harness, ref) == gp3()
    assert harness.ledger.chain(waiting.decision_id)[-1].step is Step.ROLLED_BACK


@pytest.mark.parametrize("when", ["at rest", "while it is verified"])
def test_who_asked_for_a_rollback_hears_that_the_volume_is_gone(
    harness: Harness, when: str
) -> None:
    if when == "while it is verified":
        ref = harness.add(volume(gp3(), tags=()), load=starving())
        decision = reconcile_now(harness.ports, ref, harness.now, trigger="alarm", must_record=True)
        assert decision is not None
    else:
        ref, decision = changed(harness)
    assert isinstance(ask(harness, decision), Record)
    harness.messages.clear()
    del harness.volumes[ref.resource_id]
    minutes(harness, 10, each=30)
    ((_, _, said),) = harness.messages
    assert f"rollback asked for by {WHO}, and not done: the volume is gone" in said


def test_who_approved_a_change_hears_that_a_rollback_is_made_instead(harness: Harness) -> None:
    harness.rules = policy(mode=Mode.AUTO, max_iops=5_000)
    ref, decision = changed(harness)
    harness.rules = policy(mode=Mode.APPROVE)
    harness.loads[ref.resource_id] = activity(
        [5_000.0] * 180, queue=[1.0] * 150 + [900.0 + 3 * n for n in range(30)],
        iops_check=[0.0] * 150 + [1.0] * 30,
    )  # fmt: skip
    while not harness.ledger.waiting(harness.now):
        minutes(harness, 1, each=30)
    (waiting,) = harness.ledger.waiting(harness.now)
    assert isinstance(waiting, Decision)
    harness.ledger.answer(waiting.decision_id, Step.APPROVED, at=harness.now, who="alice")
    assert isinstance(ask(harness, decision), Record)
    harness.messages.clear()
    minutes(harness, 5)
    assert harness.ledger.chain(waiting.decision_id)[-1].step is Step.WITHDRAWN
    said = [text for _, step, text in harness.messages if step is Step.WITHDRAWN]
    assert said == ["approved by alice, and not done: a rollback is wanted instead"]


def test_nothing_that_cannot_be_undone_is_promised_to_be_rolled_back() -> None:
    harness, seen = Harness(), slow_for_days()
    assert seen.history is not None
    harness.rules = policy(
        mode=Mode.AUTO, latency_objective_ms=5.0, price_increase_usd=Decimal(1_000),
        roll_back_ineffective=True, one_way=OneWay.ALLOW,
    )  # fmt: skip
    of = harness.add(volume(gp3(400)), load=seen.activity)
    earlier = seen.history
    harness.history = lambda view, now: moved(earlier, now)  # type: ignore[method-assign]
    for _ in range(12):
        reconcile_now(harness.ports, of, harness.now, trigger="sweep")
        harness.later(hours=1)
    assert "ineffective" in harness.steps(of)
    assert not any("roll" in text for _, _, text in harness.messages)
    assert harness.view(of).volume.configuration.volume_type is VolumeType.IO2
