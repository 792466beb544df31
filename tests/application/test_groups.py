"""Striped sets in the harness: all of them in one minute, or none of them and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.application import remediate, sweep
from headroom.domain.decision import Act, Decision, Escalate, Hold
from headroom.domain.guardrails import Guardrail
from headroom.domain.planning.groups import LARGEST
from headroom.domain.policy import Freeze, Mode, Policy, Rule, Selector
from headroom.domain.resources import Configuration, Kind, ResourceRef, VolumeActivity
from headroom.domain.state import (
    KnownModification,
    Outcome,
    Refusal,
    Refused,
    Stale,
    Step,
    Unknown,
    broken_link,
)
from headroom.ports import Ports, ReadFailed, StorageView
from headroom.serialization import decision_from_json, decision_to_json
from tests.application.harness import Harness, calm, running_free
from tests.application.test_signals import alarm
from tests.builders import NOW, activity, gp2, gp3, instance, policy, ref, volume
from tests.domain.earlier import history
from tests.domain.filling import free_series

SET = ("vol-1", "vol-2", "vol-3", "vol-4")
TAGS = (("headroom", "auto"), ("headroom:group", "data"))


def member(name: str, **changes: Any) -> Any:
    configuration = changes.pop("configuration", gp3())
    return volume(configuration, **{"ref": ref(name), "tags": TAGS, **changes})


def striped(count: int = 4, **changes: Any) -> Harness:
    harness = Harness(instance=instance(baseline_iops=60_000, baseline_mibps=4_000.0))
    for number in range(1, count + 1):
        harness.add(member(f"vol-{number}", **changes))
    return harness


def reconcile(harness: Harness, name: str = "vol-1") -> Decision:
    (decision,) = remediate(harness.ports, alarm(ref(name)), harness.now)
    return decision


def steps(harness: Harness) -> list[list[str]]:
    return [harness.steps(ref(name)) for name in SET]


def now(harness: Harness, name: str) -> Configuration:
    """What the volume is, or becomes in the next minutes."""
    return harness.lifecycles[name].described(harness.now + timedelta(minutes=10))


def said(decision: Decision) -> str:
    """What the guardrail of sets said about the plan it would have taken."""
    answer = decision.answer
    assert isinstance(answer, Hold | Escalate)
    (judged,) = [j for j in decision.judgements if j.plan == answer.proposed_plan]
    (verdict,) = [v for v in judged.verdicts if v.guardrail is Guardrail.GROUP]
    assert not verdict.allows
    return verdict.detail


def nobody_moved(harness: Harness) -> bool:
    return all(life.starts == () for life in harness.lifecycles.values())


def test_one_starved_volume_raises_its_whole_set_in_one_minute_and_is_reported_once() -> None:
    harness = striped()
    for name in SET[1:]:
        harness.loads[name] = activity([2900.0] * 180)
    decision = reconcile(harness)
    assert isinstance(decision.answer, Act)
    assert steps(harness) == [["act", "intended", "applied"]] * 4
    assert {str(now(harness, name)) for name in SET} == {str(decision.answer.plan.target)}
    assert [(step, len(SET)) for _, step, _ in harness.messages] == [(Step.APPLIED, 4)]
    assert (
        "all 4 volumes of the set data (vol-1, vol-2, vol-3, vol-4): gp3" in harness.messages[0][2]
    )
    cost = 4 * decision.answer.plan.price_change_usd
    assert f"{cost:+,.2f} USD a month in all" in harness.messages[0][2]
    assert decision_from_json(decision_to_json(decision)).group == decision.group


@pytest.mark.parametrize("watched", [False, True])
def test_its_relief_is_verified_for_each_and_reported_once_for_all(watched: bool) -> None:
    """Whether people are notified after each minute, while some have not ended, or at the end."""
    harness = striped()
    reconcile(harness)
    for name in SET:
        harness.loads[name] = running_free()
    for _ in range(40):
        harness.later(minutes=5)
        sweep(harness.ports, harness.now)
        if watched:
            assert len(harness.messages) <= 2
    assert all(one[:4] == ["act", "intended", "applied", "relieved"] for one in steps(harness))
    assert [step for _, step, _ in harness.messages] == [Step.APPLIED, Step.RELIEVED]
    assert "vol-1, vol-2, vol-3, vol-4: relieved" in harness.messages[1][2]
    for name in SET:
        for record in harness.ledger.by_resource(
            ref(name).arn, since=harness.now - timedelta(days=9), until=harness.now
        ):
            assert broken_link(harness.ledger.chain(record.decision_id)) is None


def test_an_alarm_for_each_of_them_changes_each_once() -> None:
    harness = striped()
    for name in SET:
        remediate(harness.ports, alarm(ref(name)), harness.now)
    harness.later(minutes=1)
    for name in SET:
        remediate(harness.ports, alarm(ref(name)), harness.now)
    assert [len(harness.lifecycles[name].starts) for name in SET] == [1, 1, 1, 1]


def test_all_get_what_the_most_demanding_needs_and_each_keeps_its_size() -> None:
    harness = striped()
    harness.loads["vol-3"] = activity(
        [1000.0] * 150 + [2000.0] * 30, io_kib=64, mibps_check=[0.0] * 150 + [1.0] * 30,
        queue=[1.0] * 150 + [1024.0] * 30,
    )  # fmt: skip
    alone = Harness(instance=harness.instance)
    busiest = alone.add(volume(ref=ref("vol-3")), load=harness.loads["vol-3"])
    (needs,) = remediate(alone.ports, alarm(busiest), alone.now)
    decision = reconcile(harness)
    assert isinstance(needs.answer, Act)
    assert isinstance(decision.answer, Act)
    mine, other = decision.answer.plan.target, needs.answer.plan.target
    assert (mine.throughput_mibps or 0) >= (other.throughput_mibps or 0)
    assert {now(harness, name) for name in SET} == {mine}
    assert mine.size_gib == 100


def no_instance(harness: Harness) -> None:
    harness.volumes["vol-1"] = replace(harness.volumes["vol-1"], instance_ids=())


def in_flight(harness: Harness) -> None:
    harness.change(ref("vol-3"), gp3(100, 3000, 200))


def not_enrolled(harness: Harness) -> None:
    harness.volumes["vol-3"] = member("vol-3", tags=(("headroom:group", "data"),))


def waits_for_approval(harness: Harness) -> None:
    tags = (("headroom", "approve"), ("headroom:group", "data"))
    harness.volumes["vol-3"] = member("vol-3", tags=tags)


def off(harness: Harness) -> None:
    harness.volumes["vol-3"] = member(
        "vol-3", tags=(("headroom", "off"), ("headroom:group", "data"))
    )


def misread(harness: Harness) -> None:
    harness.volumes["vol-3"] = member("vol-3", tags=(*TAGS, ("headroom:max-iops", "many")))


def another_type(harness: Harness) -> None:
    harness.add(member("vol-3", configuration=gp2(100)))


def another_size(harness: Harness) -> None:
    harness.add(member("vol-3", configuration=gp3(200)))


def unmeasured(harness: Harness) -> None:
    harness.unmeasured.add("vol-3")


def shared(harness: Harness) -> None:
    harness.volumes["vol-3"] = member("vol-3", multi_attach=True)


def managed(harness: Harness) -> None:
    harness.volumes["vol-3"] = member("vol-3", managed_by="eks.amazonaws.com")


def too_narrow(harness: Harness) -> None:
    harness.volumes["vol-3"] = member("vol-3", tags=(*TAGS, ("headroom:max-iops", "3000")))


def no_slot_left(harness: Harness) -> None:
    starts = [harness.now - timedelta(hours=hours) for hours in (20, 12, 4)]
    known = [KnownModification(started_at=at, by="other") for at in starts]
    harness.ledger.save_modifications(ref("vol-3"), known, now=harness.now)


def budget_for_three(harness: Harness) -> None:
    rules = harness.rules
    assert isinstance(rules, Policy)
    alone = Harness(instance=harness.instance)
    (one,) = remediate(alone.ports, alarm(alone.add(volume())), alone.now)
    cost = min(j.plan.price_change_usd for j in one.judgements if j.allowed)
    harness.rules = replace(rules, account_increase_usd=Decimal(3) * cost + Decimal("0.01"))


def asked_above_a_price(harness: Harness) -> None:
    """Each alone would cost about 10 USD, all four cost more than 15."""
    harness.rules = policy(approve_above_usd=Decimal(15), largest_step=1.7)
    alone = Harness(instance=harness.instance, rules=harness.rules)
    (one,) = remediate(alone.ports, alarm(alone.add(volume())), alone.now)
    assert isinstance(one.answer, Act)
    assert one.answer.approval is None


def few_places(harness: Harness) -> None:
    rules = harness.rules
    assert isinstance(rules, Policy)
    harness.rules = replace(rules, max_in_flight_per_az=3)


def places_taken(harness: Harness) -> None:
    for number in range(7):
        other = harness.add(volume(ref=ref(f"vol-other-{number}"), instance_ids=("i-9",)))
        remediate(harness.ports, alarm(other), harness.now)
    harness.messages.clear()


def small_instance(harness: Harness) -> None:
    harness.instance = instance(baseline_iops=12_000, baseline_mibps=4_000.0)
    for name in SET[1:]:
        harness.loads[name] = activity([100.0] * 180)


def only_one(harness: Harness) -> None:
    for name in SET[1:]:
        harness.volumes[name] = member(name, tags=(("headroom", "auto"),))


def two_names(harness: Harness) -> None:
    harness.volumes["vol-1"] = member("vol-1", tags=(*TAGS, ("Headroom:Group", "logs")))


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
            "approval of a whole set is not supported yet (vol-1: it adds more than",
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
    harness = striped()
    arrange(harness)
    before = {name: life.starts for name, life in harness.lifecycles.items()}
    decision = reconcile(harness)
    assert {name: life.starts for name, life in harness.lifecycles.items()} == before
    assert isinstance(decision.answer, Hold if passes else Escalate)
    assert why in said(decision)
    resource_state = harness.ledger.resource_state(ref("vol-1"), harness.now)
    assert resource_state.account_increase_usd == 0
    assert harness.steps(ref("vol-1")) == ["hold" if passes else "escalate"]


@pytest.mark.parametrize(("above", "raises"), [(25, 1), (60, 2)])
def test_a_set_is_not_raised_again_and_again_beyond_what_needs_approval(
    above: int, raises: int
) -> None:
    harness = striped()
    harness.rules = policy(approve_above_usd=Decimal(above), largest_step=1.3, headroom_percent=0)
    harness.instance = instance(baseline_iops=100_000, baseline_mibps=4_000.0)
    for _ in range(3):
        reconcile(harness)
        for _ in range(18):
            sweep(harness.ports, harness.later(minutes=20))
        for name in SET:
            top = float(now(harness, name).iops or 0)
            harness.loads[name] = activity([top] * 180, queue=1024.0, iops_check=1.0)
    known = harness.ledger.resource_state(ref("vol-1"), harness.now)
    assert known.account_increase_usd <= above
    changed = [r for r in harness.steps(ref("vol-1")) if r == "applied"]
    assert len(changed) == raises
    assert "with $" in said(reconcile(harness))


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
    harness = striped(count)
    harness.instance = instance(baseline_iops=iops, baseline_mibps=mibps)
    assert isinstance(reconcile(harness).answer, Act)
    assert {now(harness, f"vol-{n}") for n in range(1, count + 1)} == {each}


def test_a_set_queues_until_there_are_places_for_all_of_it() -> None:
    harness = striped()
    places_taken(harness)
    decision = reconcile(harness)
    assert isinstance(decision.answer, Hold)
    assert [harness.lifecycles[name].starts for name in SET] == [()] * 4
    assert [one.ref for one in harness.ledger.queue(9)] == [ref("vol-1")]
    for number in range(7):
        harness.loads[f"vol-other-{number}"] = running_free()
    for _ in range(8):
        harness.later(minutes=5)
        sweep(harness.ports, harness.now)
    assert [len(harness.lifecycles[name].starts) for name in SET] == [1, 1, 1, 1]


def test_what_blocks_a_set_permanently_is_reported_once_for_the_set() -> None:
    harness = striped()
    too_narrow(harness)
    for name in SET:
        remediate(harness.ports, alarm(ref(name)), harness.now)
    assert [name for name, _, _ in harness.messages if name != "vol-3"] == ["vol-1"]


def test_a_set_does_not_grow_for_free_space_and_its_owner_hears_why() -> None:
    harness = striped()
    harness.rules = policy(mode=Mode.AUTO, grow_space=True)
    for name in SET:
        harness.loads[name] = calm()
    harness.loads["vol-1"] = replace(
        calm(),
        free_gib=free_series(lambda _: 5.0, period_s=60, count=180),
        file_system_gib=free_series(lambda _: 99.0, period_s=60, count=180),
    )
    decision = reconcile(harness)
    assert isinstance(decision.answer, Escalate)
    assert decision.answer.cause == "space_group"
    assert "volumes of a set do not grow for free space" in decision.answer.remedy
    assert nobody_moved(harness)


def test_a_set_that_is_larger_than_one_transaction_is_refused() -> None:
    harness = striped(LARGEST + 1)
    harness.instance = instance(baseline_iops=9_000_000, baseline_mibps=90_000.0)
    assert f"{LARGEST + 1} volumes, and at most {LARGEST}" in said(reconcile(harness))
    assert nobody_moved(harness)


def test_a_set_that_cannot_be_listed_is_reconciled_again() -> None:
    harness = striped()
    harness.unreadable.add("i-1")
    with pytest.raises(Exception, match="i-1 did not answer"):
        reconcile(harness)
    assert nobody_moved(harness)


def test_the_same_tag_on_another_instance_is_another_set() -> None:
    harness = striped()
    harness.volumes["vol-4"] = member("vol-4", instance_ids=("i-2",))
    reconcile(harness)
    assert [len(harness.lifecycles[name].starts) for name in SET] == [1, 1, 1, 0]


REFUSED = Refused(
    refusal=Refusal.OTHER, code="InternalError", message="try again", retry_at=None
)  # fmt: skip


@pytest.mark.parametrize(
    ("outcome", "recorded", "text"),
    [
        (REFUSED, "refused", "AWS refused, InternalError"),
        (Unknown(detail="timed out"), "unknown", "no clear answer: timed out"),
        (Stale(expected=gp3(), found=gp3(200), detail="grew"), "stale", "it moved meanwhile"),
    ],
)  # fmt: skip
def test_if_aws_stops_in_the_middle_the_rest_is_not_sent_and_the_set_is_reported_uneven(
    outcome: Any, recorded: str, text: str
) -> None:
    harness = striped()
    apply, calls = harness.apply, []

    def third_fails(ref: ResourceRef, **call: Any) -> Any:
        calls.append(ref.resource_id)
        return outcome if ref.resource_id == "vol-3" else apply(ref, **call)

    harness.apply = third_fails  # type: ignore[method-assign]
    reconcile(harness)
    assert calls == ["vol-1", "vol-2", "vol-3"]
    assert [one[-1] for one in steps(harness)] == ["applied", "applied", recorded, "stale"]
    ((_, _, message),) = harness.messages
    assert message.startswith("the set data is uneven: vol-1, vol-2 changed to gp3")
    assert text in message
    assert "vol-4 not sent" in message
    own = [
        harness.ledger.resource_state(ref(name), harness.now).resource_increase_usd > 0
        for name in SET
    ]
    assert own == [True, True, recorded == "unknown", False]


@pytest.mark.parametrize(
    ("refusal", "messages"), [(Refusal.SLOTS, 0), (Refusal.THROTTLED, 0), (Refusal.DENIED, 1)]
)
def test_a_set_of_which_nothing_was_changed_is_reported_as_any_refusal(
    refusal: Refusal, messages: int
) -> None:
    harness = striped()
    harness.answers = [Refused(refusal=refusal, code="No", message="no", retry_at=None)]
    reconcile(harness)
    assert [one[-1] for one in steps(harness)] == ["refused", "stale", "stale", "stale"]
    assert len(harness.messages) == messages
    assert all("no volume of the set data was changed" in text for _, _, text in harness.messages)


@pytest.mark.parametrize("start", [gp3(), gp2(400)], ids=str)
def test_the_sweep_completes_an_uneven_set_and_never_flaps(start: Configuration) -> None:
    harness = striped(configuration=start)
    if start.iops is None:
        for name in SET:
            harness.loads[name] = activity(
                [1200.0] * 150 + [1200.0] * 30, balance=[0.0] * 180,
                queue=[1.0] * 150 + [900.0 + 3 * i for i in range(30)],
                iops_check=[0.0] * 150 + [1.0] * 30,
            )  # fmt: skip
    apply = harness.apply

    def third_fails(ref: ResourceRef, **call: Any) -> Any:
        return REFUSED if ref.resource_id == "vol-3" else apply(ref, **call)

    harness.apply = third_fails  # type: ignore[method-assign]
    reconcile(harness)
    assert len({now(harness, name) for name in SET}) == 2
    harness.apply = apply  # type: ignore[method-assign]
    for name in SET[:2]:
        harness.loads[name] = calm()
    for _ in range(24 * 12):
        harness.later(minutes=5)
        sweep(harness.ports, harness.now)
        for name in SET[2:]:
            if len(harness.lifecycles[name].starts) == 1:
                harness.loads[name] = calm()
    assert len({now(harness, name) for name in SET}) == 1
    assert [len(harness.lifecycles[name].starts) for name in SET] == [1, 1, 1, 1]
    summaries = [text for _, step, text in harness.messages if step is Step.APPLIED]
    assert [text.partition(":")[0] for text in summaries] == [
        "AWS accepted the change of vol-3, vol-4, which evens all 4 volumes of the set data"
    ]


def test_two_reconciliations_that_cross_change_nothing_twice_and_leave_nothing_to_do() -> None:
    harness = striped()
    decided = harness.ledger.decided
    crossed: list[str] = []

    def crossing(decision: Decision, **rest: Any) -> bool:
        made = decided(decision, **rest)
        if not crossed:
            crossed.append(decision.decision_id)
            remediate(harness.ports, alarm(ref("vol-2")), harness.now)
        return made

    harness.ledger.decided = crossing  # type: ignore[method-assign]
    reconcile(harness)
    assert all(len(harness.lifecycles[name].starts) <= 1 for name in SET)
    for one in steps(harness):
        assert one.count("act") == one.count("intended") + one.count("withdrawn")


def test_a_pause_in_the_middle_of_deciding_stops_all_of_them() -> None:
    harness = striped()
    decided = harness.ledger.decided

    def paused(decision: Decision, **rest: Any) -> bool:
        harness.ledger.pause(None, at=harness.now, who="alice")
        return decided(decision, **rest)

    harness.ledger.decided = paused  # type: ignore[method-assign]
    reconcile(harness)
    assert steps(harness) == [["act", "withdrawn"]] * 4
    assert nobody_moved(harness)


def test_a_worker_that_vanishes_in_the_middle_is_found_by_the_sweep() -> None:
    harness = striped()
    apply = harness.apply

    def dies(ref: ResourceRef, **call: Any) -> Any:
        if ref.resource_id == "vol-3":
            raise KeyboardInterrupt
        return apply(ref, **call)

    harness.apply = dies  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        reconcile(harness)
    harness.apply = apply  # type: ignore[method-assign]
    assert [one[-1] for one in steps(harness)] == ["applied", "applied", "intended", "intended"]
    for _ in range(12):
        harness.later(minutes=5)
        sweep(harness.ports, harness.now)
    assert [one[1:4] for one in steps(harness)[2:]] == [["intended", "unknown", "not_applied"]] * 2
    assert all(len(harness.lifecycles[name].starts) <= 2 for name in SET)


def test_a_calm_set_is_given_back_together_and_no_further_than_the_busiest_needs() -> None:
    harness = striped(configuration=gp3(400, 12_000, 500))
    for name, iops in zip(SET, (300.0, 300.0, 300.0, 6_000.0), strict=True):
        harness.loads[name] = activity([iops] * 180)
    harness.rules = policy(give_back_after_days=0.0)
    reconcile(harness)
    shapes = {now(harness, name) for name in SET}
    assert len(shapes) == 1
    assert (shapes.pop().iops or 0) >= 6_000


@pytest.mark.parametrize(("busiest", "lowered"), [(300.0, True), (8_000.0, False)])
def test_no_price_takes_from_a_set_what_one_of_its_volumes_uses(
    busiest: float, lowered: bool
) -> None:
    """A minute that is worth next to nothing: the quiet ones alone would all be lowered."""
    harness = striped(configuration=gp3(400, 12_000, 500))
    used = dict(zip(SET, (300.0, 300.0, 300.0, busiest), strict=True))
    for name, iops in used.items():
        harness.loads[name] = activity([iops] * 180)

    def past(view: StorageView, now: datetime) -> VolumeActivity:
        return history(lambda _: used[view.volume.ref.resource_id], days=5.2, end=now)

    harness.history = past  # type: ignore[method-assign]
    harness.rules = policy(give_back_after_days=1.0, relief_value_usd_per_minute=0.00001)
    reconcile(harness)
    shapes = {now(harness, name) for name in SET}
    assert len(shapes) == 1
    found = shapes.pop().iops or 0
    assert found == 3_000 if lowered else found >= busiest


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
    harness = striped(data.draw(st.integers(2, 4)))
    harness.instance = instance(
        baseline_iops=data.draw(st.sampled_from([4_000, 12_000, 20_000, 60_000])),
        baseline_mibps=4_000.0,
    )
    harness.rules = replace(
        policy(give_back_after_days=0.0, max_iops=data.draw(st.sampled_from([3000, 5000, 16000]))),
        account_increase_usd=Decimal(budget),
    )
    names = sorted(harness.volumes)
    for name in names:
        harness.loads[name] = loads(data)
    for _ in range(3):
        for name in data.draw(st.permutations(names)):
            remediate(harness.ports, alarm(ref(name)), harness.now)
        assert len({now(harness, name) for name in names}) == 1
        known = harness.ledger.resource_state(ref(names[0]), harness.now)
        assert known.account_increase_usd <= budget
        harness.later(hours=7)


@pytest.mark.parametrize("arrange", [not_enrolled, no_slot_left, managed, misread])
def test_the_load_of_the_others_is_not_read_where_it_would_change_nothing(arrange: Any) -> None:
    harness = striped()
    arrange(harness)
    harness.unmeasured |= {"vol-2", "vol-3", "vol-4"}
    assert "vol-3 may not" in said(reconcile(harness))
    assert nobody_moved(harness)


def test_volumes_that_the_rest_of_an_uneven_set_holds_back_are_not_called_relieved() -> None:
    """vol-3 is refused: vol-1 and vol-2 have more, and get no more load than the others let through."""
    harness = striped()
    apply = harness.apply

    def refuses(ref: ResourceRef, **call: Any) -> Any:
        if ref.resource_id == "vol-3":
            return Refused(refusal=Refusal.DENIED, code="C", message="no", retry_at=None)
        return apply(ref, **call)

    harness.apply = refuses  # type: ignore[method-assign]
    reconcile(harness)
    for name in SET[:2]:
        harness.loads[name] = activity([3_000.0] * 180)
    for _ in range(3):
        sweep(harness.ports, harness.later(minutes=10))
    assert all("untested" in one and "relieved" not in one for one in steps(harness)[:2])
    assert any("uneven because vol-3, vol-4 did not change" in m[2] for m in harness.messages)


def test_a_set_is_not_called_uneven_while_the_answer_for_one_of_its_volumes_is_not_known() -> None:
    """AWS changed vol-4, but its answer was lost, and vol-4 cannot be read for half an hour."""
    harness = striped()
    apply, view = harness.apply, harness.view

    def no_answer(ref: ResourceRef, **call: Any) -> Any:
        outcome = apply(ref, **call)
        return Unknown(detail="read timeout") if ref.resource_id == "vol-4" else outcome

    def unreadable(ref: ResourceRef) -> StorageView:
        if ref.resource_id == "vol-4":
            raise ReadFailed("DescribeVolumes: read timeout")
        return view(ref)

    harness.apply = no_answer  # type: ignore[method-assign]
    reconcile(harness)
    harness.apply, harness.view = apply, unreadable  # type: ignore[method-assign]
    for name in SET:
        harness.loads[name] = activity([6_000.0] * 180)
    for _ in range(3):
        sweep(harness.ports, harness.later(minutes=10))
    assert all("relieved" in one for one in steps(harness)[:3])
    harness.view = view  # type: ignore[method-assign]
    for _ in range(3):
        sweep(harness.ports, harness.later(minutes=10))
    assert not any("uneven because" in message[2] for message in harness.messages)


def test_a_worker_that_vanishes_with_a_set_stops_no_change_of_others() -> None:
    """Ten volumes, as many as the account's breaker takes failures. None of their calls was sent."""
    harness = striped(10)
    harness.instance = instance(baseline_iops=900_000, baseline_mibps=90_000.0)
    harness.rules = replace(harness.rules, max_in_flight=20, max_in_flight_per_az=10)
    with pytest.MonkeyPatch.context() as dying:
        dying.setattr(harness, "apply", _vanishes)
        with pytest.raises(KeyboardInterrupt):
            remediate(harness.ports, alarm(ref("vol-1")), harness.now)
    for _ in range(12):
        sweep(harness.ports, harness.later(minutes=5))
    assert (
        harness.ledger.resource_state(ref("vol-1"), harness.now).account_breaker_opened_at is None
    )
    assert all(lifecycle.starts for lifecycle in harness.lifecycles.values())


def _vanishes(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "tags",
    [
        (("headroom", "observe"), ("headroom:group", "data")),
        (("headroom", "approve"), ("headroom:group", "data")),
        (("headroom", "auto"), ("headroom:group", "data"), ("headroom:max-iops", "4000")),
    ],
)
def test_a_set_is_not_changed_by_what_a_volume_was_before_its_set_was_read(
    tags: tuple[tuple[str, str], ...],
) -> None:
    harness = striped()
    attached = harness.attached

    def tagged_meanwhile(instance_id: str) -> tuple[StorageView, ...]:
        harness.volumes["vol-1"] = replace(harness.volumes["vol-1"], tags=tags)
        return attached(instance_id)

    harness.attached = tagged_meanwhile  # type: ignore[method-assign]
    decision = reconcile(harness)
    assert nobody_moved(harness)
    assert "vol-1 changed while its set was read" in said(decision)


def test_a_freeze_that_begins_between_two_volumes_of_a_set_leaves_it_even() -> None:
    harness = striped()
    begins = harness.now + timedelta(seconds=20)
    freeze = Freeze(begins=begins, until=begins + timedelta(days=9), reason="sale")
    harness.rules = replace(harness.rules, freezes=(freeze,))
    begun, sent = harness.now, [0]
    apply = harness.apply

    def slow(of: ResourceRef, **call: Any) -> Outcome:
        sent[0] += 1
        return apply(of, **call)

    harness.apply = slow  # type: ignore[method-assign]
    ports = replace(harness.ports, clock=lambda: begun + timedelta(seconds=12 * sent[0]))
    remediate(ports, alarm(ref("vol-1")), harness.now)
    assert [each[:3] for each in steps(harness)] == [["act", "intended", "applied"]] * 4


def slowly(harness: Harness, seconds: int, then: Callable[[int], None] = lambda _: None) -> Ports:
    """Ports with a clock that each call to AWS moves on by so many seconds; `then` hears how many there were."""
    begun, sent, apply = harness.now, [0], harness.apply

    def slow(of: ResourceRef, **call: Any) -> Outcome:
        outcome = apply(of, **call)
        sent[0] += 1
        then(sent[0])
        return outcome

    harness.apply = slow  # type: ignore[method-assign]
    return replace(
        harness.ports, clock=lambda: begun + timedelta(seconds=seconds * sent[0]), storage=harness
    )


def test_a_set_that_takes_longer_than_a_minute_to_change_is_changed_as_a_whole() -> None:
    harness = striped()
    remediate(slowly(harness, 200), alarm(ref("vol-1")), harness.now)
    assert [each[:3] for each in steps(harness)] == [["act", "intended", "applied"]] * 4
    chains = [
        harness.ledger.resource_state(ref(f"vol-{n}"), harness.now).open_chain for n in range(1, 5)
    ]
    since = [chain.since - harness.now for chain in chains if chain is not None]
    # Reads are eventually consistent: each is judged from its own call on.
    assert since == [timedelta(seconds=200 * n) for n in range(1, 5)]


OF_ACCOUNT = ("account_increase_usd", "freezes")


@pytest.mark.parametrize(
    ("limits", "sent"),
    [
        ({}, 4), ({"largest_step": 3.0}, 2), ({"max_iops": 3_000}, 2),
        ({"account_increase_usd": Decimal(0)}, 2),
        ({"freezes": (Freeze(begins=NOW, until=NOW + timedelta(days=9), reason="stop"),)}, 2),
    ],
    ids=["the same", "another step", "another ceiling", "another budget", "a freeze"],
)  # fmt: skip
def test_a_set_that_has_begun_is_finished_unless_another_policy_says_something_else_of_it(
    limits: dict[str, Any], sent: int
) -> None:
    harness = striped()

    def published(calls: int) -> None:
        if calls == 2:
            rules, account = harness.rules, {k: v for k, v in limits.items() if k in OF_ACCOUNT}
            own = {name: value for name, value in limits.items() if name not in account}
            defaults = replace(rules.defaults, **own)
            another = Rule(selector=Selector(kind=Kind.RDS), settings=(("max_iops", 1_000),))
            rules = replace(
                rules, rules=(another, *rules.rules)
            )  # about others: only numbers change
            harness.rules = replace(rules, version="later", defaults=defaults, **account)

    remediate(slowly(harness, 1, published), alarm(ref("vol-1")), harness.now)
    done = [each[:3] for each in steps(harness)]
    assert done[:sent] == [["act", "intended", "applied"]] * sent
    assert not any("applied" in each for each in done[sent:])
