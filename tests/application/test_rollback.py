"""A change is undone when a person wants it, under the guardrails, once, and is then left undone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from headroom.application import sweep
from headroom.domain.decision import Act, Decision, Escalate
from headroom.domain.policy import Mode, OneWay
from headroom.domain.resources import Configuration, ResourceRef, VolumeActivity, VolumeType
from headroom.domain.state import Outcome, Record, Refusal, Refused, Step, Unknown
from headroom.ports import AnswerRejected
from tests.application.harness import Stage, reconcile_now, running_free, starving
from tests.builders import activity, gp2, gp3, policy, volume

WHO = "arn:aws:iam::123456789012:user/alice"


@pytest.fixture
def stage() -> Stage:
    return Stage(rules=policy(mode=Mode.AUTO))


def minutes(stage: Stage, count: int, *, each: int = 1) -> None:
    for _ in range(count):
        stage.later(minutes=each)
        sweep(stage.ports, stage.now)


def changed(
    stage: Stage, origin: Configuration | None = None, load: VolumeActivity | None = None
) -> tuple[ResourceRef, Decision]:
    """A volume that was starved, raised and relieved by Headroom; the change is completed."""
    ref = stage.add(volume(origin or gp3(), tags=()), load=load or starving())
    decision = reconcile_now(stage.ports, ref, stage.now, trigger="alarm", must_record=True)
    assert decision is not None
    assert stage.steps(ref)[-1] == "applied", stage.steps(ref)
    stage.loads[ref.resource_id] = running_free(3_500.0 if load is None else 450.0)
    minutes(stage, 30, each=15)
    assert not in_flight(stage, ref)
    assert stage.ledger.chain(decision.decision_id)[-1].step is Step.RELIEVED
    stage.told.clear()
    return ref, decision


def drained() -> VolumeActivity:
    """A gp2 volume that used up its credits and is at its baseline since."""
    return activity(
        [300.0] * 180, queue=[1.0] * 150 + [900.0 + 3 * i for i in range(30)], balance=0.0,
        iops_check=[0.0] * 150 + [1.0] * 30,
    )  # fmt: skip


def in_flight(stage: Stage, ref: ResourceRef) -> bool:
    change = stage.view(ref).modification
    return change is not None and change.in_flight


def ask(stage: Stage, decision: Decision, *, reason: str = "") -> Record | AnswerRejected:
    return stage.ledger.request_rollback(decision.decision_id, at=stage.now, who=WHO, reason=reason)


def last(stage: Stage, ref: ResourceRef) -> Decision:
    found = stage.ledger.resource_state(ref, stage.now).last_decision_id
    return stage.ledger.decision(found or "")


def now_is(stage: Stage, ref: ResourceRef) -> Configuration:
    return stage.view(ref).volume.configuration


def test_a_person_has_a_raise_undone_within_a_minute_and_its_chain_names_the_old_one(
    stage: Stage,
) -> None:
    ref, decision = changed(stage)
    assert isinstance(ask(stage, decision, reason="slower"), Record)
    minutes(stage, 1)
    undone = last(stage, ref)
    assert undone.rollback_of == decision.decision_id
    assert [r.step for r in stage.ledger.chain(undone.decision_id)] == [
        Step.DECIDED, Step.INTENDED, Step.APPLIED,
    ]  # fmt: skip
    assert undone.summary.startswith(
        f"vol-1: rollback of {decision.decision_id}, asked for by {WHO} (slower): "
    )
    assert undone.summary.endswith("a month, one of AWS's four changes in 24 h")
    minutes(stage, 30, each=15)
    assert now_is(stage, ref) == gp3()
    assert stage.ledger.chain(undone.decision_id)[-1].step is Step.ROLLED_BACK
    assert [step for _, step, _ in stage.told] == [Step.APPLIED, Step.ROLLED_BACK]


def test_what_a_rollback_frees_is_free(stage: Stage) -> None:
    ref, decision = changed(stage)
    assert stage.ledger.resource_state(ref, stage.now).account_increase_usd > 0
    ask(stage, decision)
    minutes(stage, 30, each=15)
    assert stage.ledger.resource_state(ref, stage.now).account_increase_usd == 0


@pytest.mark.parametrize("automatic_rollback", [False, True])
def test_after_a_rollback_the_volume_is_left_as_it_is_for_a_day_whatever_it_suffers(
    stage: Stage, automatic_rollback: bool
) -> None:
    ref, decision = changed(stage)
    ask(stage, decision)
    minutes(stage, 1)
    if automatic_rollback:
        stage.rules = policy(mode=Mode.AUTO, revert_wait_minutes=0)
    stage.loads[ref.resource_id] = starving()
    stage.pressed = {ref.resource_id}
    minutes(stage, 23, each=60)
    assert now_is(stage, ref) == gp3()
    assert {v.guardrail.value for j in last(stage, ref).judgements for v in j.blocking} >= {
        "rolled_back"
    }
    assert stage.steps(ref).count("intended") == 2
    minutes(stage, 3, each=60)
    assert (
        stage.steps(ref).count("intended") == 3
    ) is automatic_rollback  # else `revert_wait` goes on


def test_the_size_stays_as_it_is(stage: Stage) -> None:
    ref, decision = changed(stage)
    assert isinstance(decision.answer, Act)
    stage.change(ref, replace(decision.answer.plan.target, size_gib=200))
    minutes(stage, 40, each=15)
    ask(stage, decision)
    minutes(stage, 30, each=15)
    assert now_is(stage, ref) == gp3(200)


def test_the_type_goes_back_though_the_policy_would_not_choose_it(stage: Stage) -> None:
    ref, decision = changed(stage, gp2(100), drained())
    assert now_is(stage, ref).volume_type is VolumeType.GP3
    ask(stage, decision)
    minutes(stage, 30, each=15)
    assert now_is(stage, ref) == gp2(100)


def test_less_durability_ends_a_rollback_and_people_hear_why(stage: Stage) -> None:
    stage.rules = policy(
        mode=Mode.AUTO, types=(VolumeType.IO2,), one_way=OneWay.ALLOW,
        relief_value_usd_per_minute=10.0,
    )  # fmt: skip
    ref, decision = changed(stage, gp2(100), drained())
    assert now_is(stage, ref).volume_type is VolumeType.IO2
    ask(stage, decision)
    minutes(stage, 30, each=15)
    undone = next(d for d in decisions(stage, ref) if d.rollback_of)
    assert isinstance(undone.answer, Escalate)
    ((_, _, summary),) = [t for t in stage.told if t[1] is Step.DECIDED]
    assert "nothing was rolled back: not allowed by durability" in summary
    assert stage.ledger.resource_state(ref, stage.now).rollback is None


def decisions(stage: Stage, ref: ResourceRef) -> list[Decision]:
    records = stage.ledger.by_resource(
        ref.arn, since=stage.now - timedelta(days=30), until=stage.now
    )
    return [stage.ledger.decision(r.decision_id) for r in records if r.step is Step.DECIDED]


def test_a_pause_keeps_it_waiting_and_it_is_done_when_the_pause_ends(stage: Stage) -> None:
    ref, decision = changed(stage)
    stage.ledger.pause(stage.now + timedelta(hours=3), at=stage.now, who="bob")
    ask(stage, decision)
    minutes(stage, 179)
    assert stage.steps(ref).count("intended") == 1
    held = [d for d in decisions(stage, ref) if d.rollback_of]
    assert len(held) == 1, "one record says what it waits for"
    minutes(stage, 2)
    assert stage.steps(ref)[-1] == "applied"


def test_what_is_blocked_for_a_day_is_given_up_and_reported(stage: Stage) -> None:
    ref, decision = changed(stage)
    stage.ledger.pause(None, at=stage.now, who="bob")
    ask(stage, decision)
    minutes(stage, 97, each=15)
    assert stage.ledger.resource_state(ref, stage.now).rollback is None
    assert [step for _, step, _ in stage.told] == [Step.DECIDED]
    assert "still blocked by pause when it expired" in stage.told[0][2]
    stage.ledger.resume(at=stage.now, who="bob")
    minutes(stage, 8, each=15)
    assert stage.steps(ref).count("intended") == 1


@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.OFF])
def test_where_the_mode_allows_no_change_nothing_is_rolled_back(stage: Stage, mode: Mode) -> None:
    ref, decision = changed(stage)
    stage.rules = policy(mode=mode)
    ask(stage, decision)
    minutes(stage, 2)
    assert stage.steps(ref).count("intended") == 1
    assert "not allowed by mode" in stage.told[0][2]


def test_under_approve_a_persons_wish_is_the_approval(stage: Stage) -> None:
    ref, decision = changed(stage)
    stage.rules = policy(mode=Mode.APPROVE)
    ask(stage, decision)
    minutes(stage, 1)
    assert stage.steps(ref)[-1] == "applied"


def test_people_may_use_the_slots_that_are_kept_for_people(stage: Stage) -> None:
    stage.rules = policy(mode=Mode.AUTO, slots_reserve=3)
    ref, decision = changed(stage)
    ask(stage, decision)
    minutes(stage, 1)
    assert stage.steps(ref)[-1] == "applied"


def test_a_volume_that_somebody_changed_since_is_left_alone(stage: Stage) -> None:
    ref, decision = changed(stage)
    ask(stage, decision)
    stage.change(ref, gp3(100, 9000, 500))
    minutes(stage, 2)
    assert stage.steps(ref).count("intended") == 1
    assert "the volume was changed since" in stage.told[0][2]


def test_it_can_be_asked_once_and_only_of_a_change_that_was_made(stage: Stage) -> None:
    ref, decision = changed(stage)
    held = next(d for d in decisions(stage, ref) if not isinstance(d.answer, Act))
    refused = [stage.ledger.request_rollback(n, at=stage.now, who=WHO) for n in
               ("nothing", held.decision_id)]  # fmt: skip
    assert [r.why for r in refused if isinstance(r, AnswerRejected)] == ["unknown", "not_applied"]
    assert isinstance(ask(stage, decision), Record)
    again = ask(stage, decision)
    assert isinstance(again, AnswerRejected)
    assert again.why == "asked"
    minutes(stage, 30, each=15)
    undone = ask(stage, decision)
    assert isinstance(undone, AnswerRejected)
    assert undone.why == "undone"


def test_a_rollback_can_be_rolled_back_by_a_person(stage: Stage) -> None:
    ref, decision = changed(stage)
    ask(stage, decision)
    minutes(stage, 60, each=15)
    (undone,) = [d for d in decisions(stage, ref) if d.rollback_of and isinstance(d.answer, Act)]
    assert isinstance(ask(stage, undone), Record)
    minutes(stage, 60, each=15)
    assert isinstance(decision.answer, Act)
    assert now_is(stage, ref) == decision.answer.plan.target


def test_it_waits_for_the_end_of_the_change_it_undoes(stage: Stage) -> None:
    ref = stage.add(volume(tags=()))
    decision = reconcile_now(stage.ports, ref, stage.now, trigger="alarm", must_record=True)
    assert decision is not None
    stage.later(minutes=2)
    assert isinstance(ask(stage, decision), Record)
    minutes(stage, 5)
    assert stage.steps(ref).count("intended") == 1
    minutes(stage, 60, each=15)
    assert stage.steps(ref).count("intended") == 2
    assert now_is(stage, ref) == gp3()


DENIED = Refused(refusal=Refusal.DENIED, code="UnauthorizedOperation", message="no", retry_at=None)


@pytest.mark.parametrize("first", [DENIED, Unknown(detail="timed out")])
def test_what_aws_did_not_do_is_tried_again_while_the_wish_lasts_and_done_once(
    stage: Stage, first: Outcome
) -> None:
    ref, decision = changed(stage)
    stage.answers = [first]
    ask(stage, decision)
    minutes(stage, 80, each=15)
    assert now_is(stage, ref) == gp3()
    assert stage.steps(ref).count("applied") == 2


def test_a_crash_between_decision_and_intent_undoes_it_once_all_the_same(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref, decision = changed(stage)
    ask(stage, decision)

    def crash(*arguments: object, **named: object) -> object:
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(stage.ledger, "intend", crash)
        minutes(stage, 1)
    minutes(stage, 30)
    assert stage.steps(ref).count("intended") == stage.steps(ref).count("applied") == 2


def starved_ever_after(stage: Stage) -> ResourceRef:
    """A volume whose pressure no raise ends."""
    ref = stage.add(volume(tags=()))
    reconcile_now(stage.ports, ref, stage.now, trigger="alarm", must_record=True)
    stage.loads[ref.resource_id] = insatiable()
    return ref


def insatiable() -> VolumeActivity:
    """Bursts that reach any limit for a part of each minute."""
    return activity([2_900.0] * 180, queue=900.0, iops_check=1.0)


def test_a_raise_that_the_load_uses_up_is_not_taken_away_though_it_did_not_help(
    stage: Stage,
) -> None:
    stage.rules = policy(mode=Mode.AUTO, roll_back_ineffective=True, max_iops=6_000)
    ref = starved_ever_after(stage)
    stage.loads[ref.resource_id] = activity([5_900.0] * 180, queue=900.0, iops_check=1.0)
    minutes(stage, 60, each=15)
    assert "ineffective" in stage.steps(ref)
    assert now_is(stage, ref).iops == 6_000
    assert not any(d.rollback_of for d in decisions(stage, ref))


def test_a_load_that_grew_while_the_policys_wish_waited_ends_the_wish_and_people_hear_why(
    stage: Stage,
) -> None:
    stage.rules = policy(mode=Mode.AUTO, roll_back_ineffective=True, max_iops=6_000)
    ref = starved_ever_after(stage)
    while "ineffective" not in stage.steps(ref):
        stage.ledger.pause(None, at=stage.now, who="bob")
        minutes(stage, 1, each=15)
    assert stage.ledger.resource_state(ref, stage.now).rollback is not None
    stage.loads[ref.resource_id] = activity([5_900.0] * 180, queue=900.0, iops_check=1.0)
    stage.ledger.resume(at=stage.now, who="bob")
    minutes(stage, 100, each=15)
    assert now_is(stage, ref).iops == 6_000
    assert any("the load takes up to 5,900 IOPS" in summary for _, _, summary in stage.told)


def test_a_request_older_than_a_day_is_not_granted_however_late_it_is_seen(stage: Stage) -> None:
    ref, decision = changed(stage)
    before = now_is(stage, ref)
    ask(stage, decision)
    stage.later(hours=25)  # as if nothing ran meanwhile
    minutes(stage, 3)
    assert now_is(stage, ref) == before
    assert stage.ledger.resource_state(ref, stage.now).rollback is None
    assert "nothing was rolled back: it expired before it could be done" in stage.told[0][2]


def test_a_raise_that_did_not_help_is_undone_where_the_policy_says_so_and_once(
    stage: Stage,
) -> None:
    stage.rules = policy(mode=Mode.AUTO, roll_back_ineffective=True, max_iops=6_000)
    ref = starved_ever_after(stage)
    minutes(stage, 60, each=15)
    assert "ineffective" in stage.steps(ref)
    assert now_is(stage, ref) == gp3()
    (undone,) = [d for d in decisions(stage, ref) if d.rollback_of and isinstance(d.answer, Act)]
    assert "asked for by the policy (roll_back_ineffective) (it did not help)" in undone.summary
    minutes(stage, 10 * 12, each=120)
    assert sum(d.rollback_of is not None for d in decisions(stage, ref)) == 1
    assert stage.steps(ref).count("intended") <= 3, "no loop of raise and return"


def test_a_raise_that_did_not_help_stays_where_the_policy_says_nothing(stage: Stage) -> None:
    stage.rules = policy(mode=Mode.AUTO, max_iops=6_000)
    ref = starved_ever_after(stage)
    minutes(stage, 60, each=15)
    assert "ineffective" in stage.steps(ref)
    assert now_is(stage, ref) != gp3()


def test_under_approve_a_rollback_by_itself_waits_for_a_person(stage: Stage) -> None:
    stage.rules = policy(mode=Mode.AUTO, roll_back_ineffective=True, max_iops=6_000)
    ref = starved_ever_after(stage)
    stage.rules = policy(mode=Mode.APPROVE, roll_back_ineffective=True, max_iops=6_000)
    while not stage.ledger.waiting(stage.now):
        minutes(stage, 1, each=15)
    (waiting,) = stage.ledger.waiting(stage.now)
    assert waiting.rollback_of is not None
    stage.ledger.answer(waiting.decision_id, Step.APPROVED, at=stage.now, who=WHO)
    minutes(stage, 30, each=15)
    assert now_is(stage, ref) == gp3()
    assert stage.ledger.chain(waiting.decision_id)[-1].step is Step.ROLLED_BACK
