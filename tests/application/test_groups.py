"""Striped sets on the stage: all of them in one minute, or none of them and why."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.application import remediate, sweep
from headroom.domain.decision import Act, Decision, Escalate, Hold
from headroom.domain.guardrails import Guardrail
from headroom.domain.planning.groups import LARGEST
from headroom.domain.policy import Mode, Policy
from headroom.domain.resources import Configuration, ResourceRef
from headroom.domain.state import (
    KnownModification,
    Refusal,
    Refused,
    Stale,
    Step,
    Unknown,
    broken_link,
)
from headroom.serialization import decision_from_json, decision_to_json
from tests.application.harness import Stage, calm, running_free
from tests.application.test_signals import alarm
from tests.builders import activity, gp2, gp3, instance, policy, ref, volume
from tests.domain.filling import free_series

SET = ("vol-1", "vol-2", "vol-3", "vol-4")
TAGS = (("headroom", "auto"), ("headroom:group", "data"))


def member(name: str, **changes: Any) -> Any:
    configuration = changes.pop("configuration", gp3())
    return volume(configuration, **{"ref": ref(name), "tags": TAGS, **changes})


def striped(count: int = 4, **changes: Any) -> Stage:
    stage = Stage(instance=instance(baseline_iops=60_000, baseline_mibps=4_000.0))
    for number in range(1, count + 1):
        stage.add(member(f"vol-{number}", **changes))
    return stage


def reconcile(stage: Stage, name: str = "vol-1") -> Decision:
    (decision,) = remediate(stage.ports, alarm(ref(name)), stage.now)
    return decision


def steps(stage: Stage) -> list[list[str]]:
    return [stage.steps(ref(name)) for name in SET]


def now(stage: Stage, name: str) -> Configuration:
    """What the volume is, or becomes in the next minutes."""
    return stage.lifecycles[name].described(stage.now + timedelta(minutes=10))


def said(decision: Decision) -> str:
    """What the guardrail of sets said about the plan it would have taken."""
    answer = decision.answer
    assert isinstance(answer, Hold | Escalate)
    (judged,) = [j for j in decision.judgements if j.plan == answer.proposed_plan]
    (verdict,) = [v for v in judged.verdicts if v.guardrail is Guardrail.GROUP]
    assert not verdict.allows
    return verdict.detail


def nobody_moved(stage: Stage) -> bool:
    return all(life.starts == () for life in stage.lifecycles.values())


def test_one_starved_volume_raises_its_whole_set_in_one_minute_and_is_reported_once() -> None:
    stage = striped()
    for name in SET[1:]:
        stage.loads[name] = activity([2900.0] * 180)
    decision = reconcile(stage)
    assert isinstance(decision.answer, Act)
    assert steps(stage) == [["act", "intended", "applied"]] * 4
    assert {str(now(stage, name)) for name in SET} == {str(decision.answer.plan.target)}
    assert [(step, len(SET)) for _, step, _ in stage.told] == [(Step.APPLIED, 4)]
    assert "all 4 volumes of the set data (vol-1, vol-2, vol-3, vol-4): gp3" in stage.told[0][2]
    cost = 4 * decision.answer.plan.price_change_usd
    assert f"{cost:+,.2f} USD a month in all" in stage.told[0][2]
    assert decision_from_json(decision_to_json(decision)).group == decision.group


@pytest.mark.parametrize("watched", [False, True])
def test_its_relief_is_verified_for_each_and_reported_once_for_all(watched: bool) -> None:
    """Whether people are notified after each minute, while some have not ended, or at the end."""
    stage = striped()
    reconcile(stage)
    for name in SET:
        stage.loads[name] = running_free()
    for _ in range(40):
        stage.later(minutes=5)
        sweep(stage.ports, stage.now)
        if watched:
            assert len(stage.told) <= 2
    assert all(one[:4] == ["act", "intended", "applied", "relieved"] for one in steps(stage))
    assert [step for _, step, _ in stage.told] == [Step.APPLIED, Step.RELIEVED]
    assert "vol-1, vol-2, vol-3, vol-4: relieved" in stage.told[1][2]
    for name in SET:
        for record in stage.ledger.by_resource(
            ref(name).arn, since=stage.now - timedelta(days=9), until=stage.now
        ):
            assert broken_link(stage.ledger.chain(record.decision_id)) is None


def test_an_alarm_for_each_of_them_changes_each_once() -> None:
    stage = striped()
    for name in SET:
        remediate(stage.ports, alarm(ref(name)), stage.now)
    stage.later(minutes=1)
    for name in SET:
        remediate(stage.ports, alarm(ref(name)), stage.now)
    assert [len(stage.lifecycles[name].starts) for name in SET] == [1, 1, 1, 1]


def test_all_get_what_the_most_demanding_needs_and_each_keeps_its_size() -> None:
    stage = striped()
    stage.loads["vol-3"] = activity(
        [1000.0] * 150 + [2000.0] * 30, io_kib=64, mibps_check=[0.0] * 150 + [1.0] * 30,
        queue=[1.0] * 150 + [1024.0] * 30,
    )  # fmt: skip
    alone = Stage(instance=stage.instance)
    busiest = alone.add(volume(ref=ref("vol-3")), load=stage.loads["vol-3"])
    (needs,) = remediate(alone.ports, alarm(busiest), alone.now)
    decision = reconcile(stage)
    assert isinstance(needs.answer, Act)
    assert isinstance(decision.answer, Act)
    mine, theirs = decision.answer.plan.target, needs.answer.plan.target
    assert (mine.throughput_mibps or 0) >= (theirs.throughput_mibps or 0)
    assert {now(stage, name) for name in SET} == {mine}
    assert mine.size_gib == 100


def no_instance(stage: Stage) -> None:
    stage.volumes["vol-1"] = replace(stage.volumes["vol-1"], instance_ids=())


def in_flight(stage: Stage) -> None:
    stage.change(ref("vol-3"), gp3(100, 3000, 200))


def not_enrolled(stage: Stage) -> None:
    stage.volumes["vol-3"] = member("vol-3", tags=(("headroom:group", "data"),))


def waits_for_approval(stage: Stage) -> None:
    tags = (("headroom", "approve"), ("headroom:group", "data"))
    stage.volumes["vol-3"] = member("vol-3", tags=tags)


def off(stage: Stage) -> None:
    stage.volumes["vol-3"] = member("vol-3", tags=(("headroom", "off"), ("headroom:group", "data")))


def misread(stage: Stage) -> None:
    stage.volumes["vol-3"] = member("vol-3", tags=(*TAGS, ("headroom:max-iops", "many")))


def another_type(stage: Stage) -> None:
    stage.add(member("vol-3", configuration=gp2(100)))


def another_size(stage: Stage) -> None:
    stage.add(member("vol-3", configuration=gp3(200)))


def unmeasured(stage: Stage) -> None:
    stage.unmeasured.add("vol-3")


def shared(stage: Stage) -> None:
    stage.volumes["vol-3"] = member("vol-3", multi_attach=True)


def managed(stage: Stage) -> None:
    stage.volumes["vol-3"] = member("vol-3", managed_by="eks.amazonaws.com")


def too_narrow(stage: Stage) -> None:
    stage.volumes["vol-3"] = member("vol-3", tags=(*TAGS, ("headroom:max-iops", "3000")))


def no_slot_left(stage: Stage) -> None:
    starts = [stage.now - timedelta(hours=hours) for hours in (20, 12, 4)]
    known = [KnownModification(started_at=at, by="other") for at in starts]
    stage.ledger.save_modifications(ref("vol-3"), known, now=stage.now)


def budget_for_three(stage: Stage) -> None:
    rules = stage.rules
    assert isinstance(rules, Policy)
    alone = Stage(instance=stage.instance)
    (one,) = remediate(alone.ports, alarm(alone.add(volume())), alone.now)
    cost = min(j.plan.price_change_usd for j in one.judgements if j.allowed)
    stage.rules = replace(rules, account_increase_usd=Decimal(3) * cost + Decimal("0.01"))


def asked_above_a_price(stage: Stage) -> None:
    """Each alone would cost about 10 USD, all four cost more than 15."""
    stage.rules = policy(approve_above_usd=Decimal(15), largest_step=1.7)
    alone = Stage(instance=stage.instance, rules=stage.rules)
    (one,) = remediate(alone.ports, alarm(alone.add(volume())), alone.now)
    assert isinstance(one.answer, Act)
    assert one.answer.approval is None


def few_places(stage: Stage) -> None:
    rules = stage.rules
    assert isinstance(rules, Policy)
    stage.rules = replace(rules, max_in_flight_per_az=3)


def places_taken(stage: Stage) -> None:
    for number in range(7):
        other = stage.add(volume(ref=ref(f"vol-other-{number}"), instance_ids=("i-9",)))
        remediate(stage.ports, alarm(other), stage.now)
    stage.told.clear()


def small_instance(stage: Stage) -> None:
    stage.instance = instance(baseline_iops=12_000, baseline_mibps=4_000.0)
    for name in SET[1:]:
        stage.loads[name] = activity([100.0] * 180)


def only_one(stage: Stage) -> None:
    for name in SET[1:]:
        stage.volumes[name] = member(name, tags=(("headroom", "auto"),))


def two_names(stage: Stage) -> None:
    stage.volumes["vol-1"] = member("vol-1", tags=(*TAGS, ("Headroom:Group", "logs")))


@pytest.mark.parametrize(
    ("arrange", "why", "passes"),
    [
        (in_flight, "vol-3 has a change in flight", True),
        (not_enrolled, "vol-3 may not (mode)", False),
        (
            waits_for_approval,
            "approval of a whole set is not supported yet (vol-3: the mode is approve)",
            False,
        ),
        (off, "vol-3 is not to be looked at (mode off)", False),
        (misread, "vol-3 may not (policy, mode)", False),
        (another_type, "its volumes are of different types (gp2, gp3)", False),
        (another_size, "its volumes have different sizes (100, 200 GiB)", False),
        (unmeasured, "vol-3 could not be read: metrics of vol-3 did not answer", True),
        (shared, "vol-3 may not (multi_attach)", False),
        (managed, "vol-3 may not (managed_elsewhere)", False),
        (too_narrow, "vol-3 may not (max_iops)", False),
        (no_slot_left, "vol-3 may not (slots)", True),
        (budget_for_three, "may not (price_per_account)", False),
        (small_instance, "their instance sustains 12,000 IOPS for them", False),
        (
            asked_above_a_price,
            "approval of a whole set is not supported yet (vol-1: it costs",
            False,
        ),
        (few_places, "it needs 4 changes at once, max_in_flight_per_az allows 3", False),
        (only_one, "no other volume of the set data is on i-1", False),
        (two_names, "its tags do not name one set", False),
    ],
)
def test_if_one_may_not_nobody_moves_and_the_record_says_who(
    arrange: Any, why: str, passes: bool
) -> None:
    stage = striped()
    arrange(stage)
    before = {name: life.starts for name, life in stage.lifecycles.items()}
    decision = reconcile(stage)
    assert {name: life.starts for name, life in stage.lifecycles.items()} == before
    assert isinstance(decision.answer, Hold if passes else Escalate)
    assert why in said(decision)
    resource_state = stage.ledger.resource_state(ref("vol-1"), stage.now)
    assert resource_state.account_increase_usd == 0
    assert stage.steps(ref("vol-1")) == ["hold" if passes else "escalate"]


@pytest.mark.parametrize(
    ("count", "iops", "mibps", "each"),
    [
        (3, 12_000, 312.5, gp3(100, 4000, 125)),
        (3, 15_000, 312.5, gp3(100, 5000, 125)),
        (2, 7_000, 250.0, gp3(100, 3500, 125)),
    ],
)
def test_a_set_too_large_for_its_instance_gets_the_share_that_the_instance_can_serve(
    count: int, iops: int, mibps: float, each: Configuration
) -> None:
    stage = striped(count)
    stage.instance = instance(baseline_iops=iops, baseline_mibps=mibps)
    assert isinstance(reconcile(stage).answer, Act)
    assert {now(stage, f"vol-{n}") for n in range(1, count + 1)} == {each}


def test_a_set_queues_until_there_are_places_for_all_of_it() -> None:
    stage = striped()
    places_taken(stage)
    decision = reconcile(stage)
    assert isinstance(decision.answer, Hold)
    assert [stage.lifecycles[name].starts for name in SET] == [()] * 4
    assert [one.ref for one in stage.ledger.queue(9)] == [ref("vol-1")]
    for number in range(7):
        stage.loads[f"vol-other-{number}"] = running_free()
    for _ in range(8):
        stage.later(minutes=5)
        sweep(stage.ports, stage.now)
    assert [len(stage.lifecycles[name].starts) for name in SET] == [1, 1, 1, 1]


def test_what_blocks_a_set_permanently_is_reported_once_for_the_set() -> None:
    stage = striped()
    too_narrow(stage)
    for name in SET:
        remediate(stage.ports, alarm(ref(name)), stage.now)
    assert [name for name, _, _ in stage.told if name != "vol-3"] == ["vol-1"]


def test_a_set_does_not_grow_for_free_space_and_its_owner_hears_why() -> None:
    stage = striped()
    stage.rules = policy(mode=Mode.AUTO, grow_space=True)
    for name in SET:
        stage.loads[name] = calm()
    stage.loads["vol-1"] = replace(
        calm(),
        free_gib=free_series(lambda _: 5.0, period_s=60, count=180),
        file_system_gib=free_series(lambda _: 99.0, period_s=60, count=180),
    )
    decision = reconcile(stage)
    assert isinstance(decision.answer, Escalate)
    assert decision.answer.cause == "space_group"
    assert "volumes of a set do not grow for free space" in decision.answer.remedy
    assert nobody_moved(stage)


def test_a_set_that_is_larger_than_one_transaction_is_refused() -> None:
    stage = striped(LARGEST + 1)
    stage.instance = instance(baseline_iops=9_000_000, baseline_mibps=90_000.0)
    assert f"{LARGEST + 1} volumes, and at most {LARGEST}" in said(reconcile(stage))
    assert nobody_moved(stage)


def test_a_set_that_cannot_be_listed_is_reconciled_again() -> None:
    stage = striped()
    stage.unreadable.add("i-1")
    with pytest.raises(Exception, match="i-1 did not answer"):
        reconcile(stage)
    assert nobody_moved(stage)


def test_the_same_tag_on_another_instance_is_another_set() -> None:
    stage = striped()
    stage.volumes["vol-4"] = member("vol-4", instance_ids=("i-2",))
    reconcile(stage)
    assert [len(stage.lifecycles[name].starts) for name in SET] == [1, 1, 1, 0]


REFUSED = Refused(
    refusal=Refusal.OTHER, code="InternalError", message="try again", retry_at=None
)  # fmt: skip


@pytest.mark.parametrize(
    ("outcome", "recorded", "told"),
    [
        (REFUSED, "refused", "AWS refused, InternalError"),
        (Unknown(detail="timed out"), "unknown", "no clear answer: timed out"),
        (Stale(expected=gp3(), found=gp3(200), detail="grew"), "stale", "it moved meanwhile"),
    ],
)  # fmt: skip
def test_if_aws_stops_in_the_middle_the_rest_is_not_sent_and_the_set_is_reported_uneven(
    outcome: Any, recorded: str, told: str
) -> None:
    stage = striped()
    apply, calls = stage.apply, []

    def third_fails(ref: ResourceRef, **call: Any) -> Any:
        calls.append(ref.resource_id)
        return outcome if ref.resource_id == "vol-3" else apply(ref, **call)

    stage.apply = third_fails  # type: ignore[method-assign]
    reconcile(stage)
    assert calls == ["vol-1", "vol-2", "vol-3"]
    assert [one[-1] for one in steps(stage)] == ["applied", "applied", recorded, "stale"]
    ((_, _, message),) = stage.told
    assert message.startswith("the set data is uneven: vol-1, vol-2 changed to gp3")
    assert told in message
    assert "vol-4 not sent" in message
    own = [
        stage.ledger.resource_state(ref(name), stage.now).resource_increase_usd > 0 for name in SET
    ]
    assert own == [True, True, recorded == "unknown", False]


@pytest.mark.parametrize(
    ("refusal", "messages"), [(Refusal.SLOTS, 0), (Refusal.THROTTLED, 0), (Refusal.DENIED, 1)]
)
def test_a_set_of_which_nothing_was_changed_is_reported_as_any_refusal(
    refusal: Refusal, messages: int
) -> None:
    stage = striped()
    stage.answers = [Refused(refusal=refusal, code="No", message="no", retry_at=None)]
    reconcile(stage)
    assert [one[-1] for one in steps(stage)] == ["refused", "stale", "stale", "stale"]
    assert len(stage.told) == messages
    assert all("no volume of the set data was changed" in text for _, _, text in stage.told)


@pytest.mark.parametrize("start", [gp3(), gp2(400)], ids=str)
def test_the_sweep_completes_an_uneven_set_and_never_flaps(start: Configuration) -> None:
    stage = striped(configuration=start)
    if start.iops is None:
        for name in SET:
            stage.loads[name] = activity(
                [1200.0] * 150 + [1200.0] * 30, balance=[0.0] * 180,
                queue=[1.0] * 150 + [900.0 + 3 * i for i in range(30)],
                iops_check=[0.0] * 150 + [1.0] * 30,
            )  # fmt: skip
    apply = stage.apply

    def third_fails(ref: ResourceRef, **call: Any) -> Any:
        return REFUSED if ref.resource_id == "vol-3" else apply(ref, **call)

    stage.apply = third_fails  # type: ignore[method-assign]
    reconcile(stage)
    assert len({now(stage, name) for name in SET}) == 2
    stage.apply = apply  # type: ignore[method-assign]
    for name in SET[:2]:
        stage.loads[name] = calm()
    for _ in range(24 * 12):
        stage.later(minutes=5)
        sweep(stage.ports, stage.now)
        for name in SET[2:]:
            if len(stage.lifecycles[name].starts) == 1:
                stage.loads[name] = calm()
    assert len({now(stage, name) for name in SET}) == 1
    assert [len(stage.lifecycles[name].starts) for name in SET] == [1, 1, 1, 1]
    told = [text for _, step, text in stage.told if step is Step.APPLIED]
    assert [text.partition(":")[0] for text in told] == [
        "AWS accepted the change of vol-3, vol-4, which evens all 4 volumes of the set data"
    ]


def test_two_reconciliations_that_cross_change_nothing_twice_and_leave_nothing_to_do() -> None:
    stage = striped()
    decided = stage.ledger.decided
    crossed: list[str] = []

    def crossing(decision: Decision, **rest: Any) -> bool:
        made = decided(decision, **rest)
        if not crossed:
            crossed.append(decision.decision_id)
            remediate(stage.ports, alarm(ref("vol-2")), stage.now)
        return made

    stage.ledger.decided = crossing  # type: ignore[method-assign]
    reconcile(stage)
    assert all(len(stage.lifecycles[name].starts) <= 1 for name in SET)
    for one in steps(stage):
        assert one.count("act") == one.count("intended") + one.count("withdrawn")


def test_a_pause_in_the_middle_of_deciding_stops_all_of_them() -> None:
    stage = striped()
    decided = stage.ledger.decided

    def paused(decision: Decision, **rest: Any) -> bool:
        stage.ledger.pause(None, at=stage.now, who="alice")
        return decided(decision, **rest)

    stage.ledger.decided = paused  # type: ignore[method-assign]
    reconcile(stage)
    assert steps(stage) == [["act", "withdrawn"]] * 4
    assert nobody_moved(stage)


def test_a_worker_that_vanishes_in_the_middle_is_found_by_the_sweep() -> None:
    stage = striped()
    apply = stage.apply

    def dies(ref: ResourceRef, **call: Any) -> Any:
        if ref.resource_id == "vol-3":
            raise KeyboardInterrupt
        return apply(ref, **call)

    stage.apply = dies  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        reconcile(stage)
    stage.apply = apply  # type: ignore[method-assign]
    assert [one[-1] for one in steps(stage)] == ["applied", "applied", "intended", "intended"]
    for _ in range(12):
        stage.later(minutes=5)
        sweep(stage.ports, stage.now)
    assert [one[1:4] for one in steps(stage)[2:]] == [["intended", "unknown", "not_applied"]] * 2
    assert all(len(stage.lifecycles[name].starts) <= 2 for name in SET)


def test_a_calm_set_is_given_back_together_and_no_further_than_the_busiest_needs() -> None:
    stage = striped(configuration=gp3(400, 12_000, 500))
    for name, iops in zip(SET, (300.0, 300.0, 300.0, 6_000.0), strict=True):
        stage.loads[name] = activity([iops] * 180)
    stage.rules = policy(give_back_after_days=0.0)
    reconcile(stage)
    shapes = {now(stage, name) for name in SET}
    assert len(shapes) == 1
    assert (shapes.pop().iops or 0) >= 6_000


def loads(data: st.DataObject) -> Any:
    """A load of three hours: calm, busy, or at its limit with a queue that grows."""
    iops = data.draw(st.sampled_from([0.0, 300.0, 1500.0, 2950.0, 3000.0]))
    if iops < 3000.0:
        return activity([iops] * 180)
    minutes = data.draw(st.integers(2, 60))
    rest = 180 - minutes
    return activity(
        [1500.0] * rest + [iops] * minutes, iops_check=[0.0] * rest + [1.0] * minutes,
        queue=[1.0] * rest + [500.0 + 3 * i for i in range(minutes)],
    )  # fmt: skip


@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_whatever_the_loads_a_set_is_never_left_uneven_unless_aws_refuses(
    data: st.DataObject,
) -> None:
    budget = data.draw(st.sampled_from([0, 10, 25, 60, 2000]))
    stage = striped(data.draw(st.integers(2, 4)))
    stage.instance = instance(
        baseline_iops=data.draw(st.sampled_from([4_000, 12_000, 20_000, 60_000])),
        baseline_mibps=4_000.0,
    )
    stage.rules = replace(
        policy(give_back_after_days=0.0, max_iops=data.draw(st.sampled_from([3000, 5000, 16000]))),
        account_increase_usd=Decimal(budget),
    )
    names = sorted(stage.volumes)
    for name in names:
        stage.loads[name] = loads(data)
    for _ in range(3):
        for name in data.draw(st.permutations(names)):
            remediate(stage.ports, alarm(ref(name)), stage.now)
        assert len({now(stage, name) for name in names}) == 1
        known = stage.ledger.resource_state(ref(names[0]), stage.now)
        assert known.account_increase_usd <= budget
        stage.later(hours=7)


@pytest.mark.parametrize("arrange", [not_enrolled, no_slot_left, managed, misread])
def test_the_load_of_the_others_is_not_read_where_it_would_change_nothing(arrange: Any) -> None:
    stage = striped()
    arrange(stage)
    stage.unmeasured |= {"vol-2", "vol-3", "vol-4"}
    assert "vol-3 may not" in said(reconcile(stage))
    assert nobody_moved(stage)
