"""What people are notified of about striped sets: once, of the whole set, with what they can do."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from headroom.adapters.notifications.messages import Message, decision_message
from headroom.application import remediate, sweep
from headroom.domain.decision import Act, Escalate
from headroom.domain.policy import Freeze, Mode, Policy
from headroom.domain.resources import ResourceRef, VolumeActivity
from headroom.domain.state import Outcome, Refusal, Refused, Step
from headroom.ports import NoticeDetail, StorageView
from tests.application.harness import Harness, running_free
from tests.application.test_groups import (
    REFUSED,
    SET,
    TAGS,
    another_size,
    another_type,
    few_places,
    managed,
    member,
    misread,
    nobody_moved,
    not_enrolled,
    now,
    off,
    only_one,
    reconcile,
    small_instance,
    striped,
    too_narrow,
    two_names,
    waits_for_approval,
)
from tests.application.test_signals import alarm
from tests.builders import activity, gp3, instance, io, policy, ref
from tests.domain.earlier import history


def heard(harness: Harness) -> list[Message]:
    """The messages of a harness, as people read them, filled while it notifies."""
    found: list[Message] = []
    notify = harness.notify

    def kept(detail: NoticeDetail) -> None:
        notify(detail)
        assert detail.decision is not None
        found.append(decision_message(detail.decision, detail.notice.step, detail.notice.text))

    harness.notify = kept  # type: ignore[method-assign]
    return found


def facts(message: Message) -> dict[str, str]:
    return dict(message.facts)


def alarms(harness: Harness) -> None:
    for name in sorted(harness.volumes):
        remediate(harness.ports, alarm(ref(name)), harness.now)


def later(harness: Harness, hours: float = 1.0) -> None:
    for _ in range(int(hours * 6)):
        sweep(harness.ports, harness.later(minutes=10))
    assert harness.messages is not None


def rules_of(harness: Harness) -> Policy:
    assert isinstance(harness.rules, Policy)
    return harness.rules


def test_a_message_about_a_set_names_the_set_and_its_price_and_offers_no_rollback() -> None:
    harness = striped()
    messages = heard(harness)
    decision = reconcile(harness)
    assert isinstance(decision.answer, Act)
    for name in SET:
        harness.loads[name] = running_free()
    later(harness)
    assert [m.kind for m in messages] == ["applied", "relieved"]
    assert [m.headline for m in messages] == [
        f"changing the set data (4 volumes) to {decision.group.shared if decision.group else ''}",
        "the set data (4 volumes) is free of pressure",
    ]
    cost = 4 * decision.answer.plan.price_change_usd
    for message in messages:
        labels = [label for label, _ in message.facts]
        assert labels[:2] == ["Set", "Price of the set"]
        assert "Price" not in labels
        assert facts(message)["Set"].startswith("data: vol-1, vol-2, vol-3, vol-4 (us-east-1")
        assert facts(message)["Price of the set"].startswith(f"{cost:+,.2f} USD a month")
        assert message.commands == ()
        assert "change all of its volumes back yourself" in facts(message)["Undo"]


def test_what_the_message_says_about_undoing_a_set_is_true() -> None:
    harness = striped()
    reconcile(harness)
    later(harness, 7)
    for name in SET:
        harness.change(ref(name), gp3(100, 3000, 125))
    later(harness, 7)
    alarms(harness)
    later(harness, 24)
    assert {now(harness, name) for name in SET} == {gp3(100, 3000, 125)}


def test_a_rollback_of_a_set_is_answered_with_what_a_person_can_do() -> None:
    harness = striped()
    decision = reconcile(harness)
    for name in SET:
        harness.loads[name] = running_free()
    later(harness, 3)
    messages = heard(harness)
    harness.ledger.request_rollback(
        decision.decision_id, at=harness.now, who="alice", reason="costs"
    )
    later(harness)
    (message,) = [m for m in messages if facts(m).get("Cause") == "rollback_blocked"]
    assert "change all volumes of the set back yourself" in facts(message)["What to do"]
    assert "change the policy" not in facts(message)["What to do"]


def test_a_confirmed_give_back_of_a_set_is_titled_as_one() -> None:
    harness = striped(configuration=gp3(400, 12_000, 500))
    for name in SET:
        harness.loads[name] = activity([300.0] * 180)

    def past(view: StorageView, now: datetime) -> VolumeActivity:
        return history(lambda _: 300.0, days=5.2, end=now)

    harness.history = past  # type: ignore[method-assign]
    harness.rules = policy(give_back_after_days=1.0, relief_value_usd_per_minute=0.00001)
    messages = heard(harness)
    reconcile(harness)
    for name in SET:
        harness.loads[name] = running_free()
    later(harness, 12)
    assert [m.headline for m in messages][1:] == [
        "the set data (4 volumes) does not need what it gave back"
    ]


def test_an_uneven_set_is_titled_as_one() -> None:
    harness = striped()
    messages, apply = heard(harness), harness.apply
    harness.apply = (  # type: ignore[method-assign]
        lambda ref, **call: REFUSED if ref.resource_id == "vol-3" else apply(ref, **call)
    )
    reconcile(harness)
    assert harness.messages
    assert [m.headline for m in messages] == ["the set data (4 volumes) is uneven"]


def all_approve(harness: Harness) -> None:
    for name in harness.volumes:
        harness.volumes[name] = member(
            name, tags=(("headroom", "approve"), ("headroom:group", "data"))
        )


def each_above_a_price(harness: Harness) -> None:
    harness.rules = policy(approve_above_usd=Decimal(15))


def all_two_names(harness: Harness) -> None:
    for name in harness.volumes:
        harness.volumes[name] = member(name, tags=(*TAGS, ("Headroom:Group", "logs")))


@pytest.mark.parametrize(
    "arrange", [all_approve, each_above_a_price, all_two_names, two_names, waits_for_approval]
)
def test_a_block_that_each_volume_meets_is_notified_once_for_the_set(arrange: Any) -> None:
    harness = striped(6)
    harness.instance = instance(baseline_iops=260_000, baseline_mibps=9_000.0)
    arrange(harness)
    harness.rules = replace(rules_of(harness), max_in_flight_per_az=16)
    alarms(harness)
    later(harness, 2)
    assert len(harness.messages) == 1
    assert nobody_moved(harness)


def test_a_wait_that_each_volume_has_is_notified_once_for_the_set_with_its_reason() -> None:
    harness = striped()
    harness.unmeasured = {"vol-3"}
    harness.loads = {name: activity([3000.0] * 180, iops_check=1.0, queue=900.0) for name in SET}
    for name in ("vol-1", "vol-2", "vol-4"):
        remediate(harness.ports, alarm(ref(name)), harness.now)
    ((_, _, message),) = harness.messages
    assert "group (waiting)" in message
    assert "vol-3 could not be read" in message


def test_a_freeze_that_each_volume_waits_for_is_notified_once_for_the_set() -> None:
    harness = striped()
    harness.loads = {name: activity([3000.0] * 180, iops_check=1.0, queue=900.0) for name in SET}
    until = harness.now + timedelta(days=2)
    freeze = Freeze(begins=harness.now - timedelta(days=1), until=until)
    harness.rules = replace(rules_of(harness), freezes=(freeze,))
    alarms(harness)
    ((_, _, message),) = harness.messages
    assert "group (waiting)" in message
    assert f"freeze blocks a change until {until:%Y-%m-%d %H:%M} UTC" in message


def test_a_set_that_lacks_budget_hears_what_the_whole_set_needs_and_once() -> None:
    """Also where not even one volume's share is left."""
    harness = striped()
    harness.rules = replace(rules_of(harness), account_increase_usd=Decimal(1))
    alarms(harness)
    ((_, _, message),) = harness.messages
    assert "group (vol-1, vol-2, vol-3, vol-4: price per account)+price per account" in message
    assert "for each volume" in message


def test_a_set_is_not_changed_without_a_volume_whose_tags_name_two() -> None:
    harness = striped()
    two_names(harness)
    messages = heard(harness)
    assert isinstance(reconcile(harness, "vol-2").answer, Escalate)
    assert nobody_moved(harness)
    assert harness.messages
    assert "the tags of vol-1 do not name one set (they name data, logs)" in facts(messages[0])[
        "What to do"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arrange", "cause", "remedy"),
    [
        (not_enrolled, "vol-3: mode", "enrol vol-3 as well, with the mode auto"),
        (off, "off: vol-3", "enrol vol-3 as well, with the mode auto"),
        (misread, "vol-3: policy, mode", "vol-3: fix the tag on the volume"),
        (another_type, "types", "give all of them one type yourself"),
        (another_size, "sizes", "grow the smaller ones yourself to 200 GiB"),
        (managed, "vol-3: managed_elsewhere", "change the volumes of the set yourself"),
        (
            too_narrow,
            "vol-3: max_iops",
            "change the tag headroom:max-iops from 3,000 to 12,000 or more",
        ),
        (waits_for_approval, "approval", "or set the mode of all of them to auto"),
        (small_instance, "instance IOPS", "use a larger instance"),
        (few_places, "max_in_flight_per_az 3", "raise account.max_in_flight_per_az from 3 to 4"),
        (only_one, "one volume", "put the tag of the set on its other volumes as well"),
        (two_names, "tags: vol-1", "write the name of one set in the tag of each"),
    ],
)
def test_an_escalation_names_the_problem_as_its_cause_and_what_to_do(
    arrange: Any, cause: str, remedy: str
) -> None:
    harness = striped()
    arrange(harness)
    answer = reconcile(harness).answer
    assert isinstance(answer, Escalate)
    assert answer.cause == f"group ({cause})"
    assert remedy in answer.remedy
    assert "set :" not in answer.remedy


def test_a_set_beyond_a_quota_of_aws_is_told_so_and_does_not_wait_for_ever() -> None:
    """Each of the four has 3,000 IOPS, and AWS changes 12,500 at once."""
    harness = striped(configuration=io(size=400, iops=3_000))
    harness.instance = instance(baseline_iops=400_000, baseline_mibps=50_000.0)
    harness.rules = replace(
        policy(mode=Mode.AUTO, price_increase_usd=Decimal(5_000)),
        account_increase_usd=Decimal(50_000), quotas=(("io2_iops", 12_500),),
    )  # fmt: skip
    answer = reconcile(harness).answer
    assert isinstance(answer, Escalate)
    assert answer.cause == "group (quota io2_iops)"
    assert "IOPS of the quota" in answer.remedy
    assert "have AWS raise that quota and say so in account.regional_quotas" in answer.remedy


def test_an_escalation_about_a_set_is_titled_with_its_name() -> None:
    harness = striped()
    messages = heard(harness)
    not_enrolled(harness)
    reconcile(harness)
    assert [step for _, step, _ in harness.messages] == [Step.DECIDED]
    assert messages[0].headline == "the set data needs you"
    assert "Price of vol-1 alone" in facts(messages[0])


def test_every_limit_that_is_smaller_than_a_set_is_named_and_the_next_problem_is_notified() -> None:
    harness = striped(24)
    harness.instance = instance(baseline_iops=260_000, baseline_mibps=9_000.0)
    harness.rules = replace(rules_of(harness), account_increase_usd=Decimal(20_000))
    answer = reconcile(harness).answer
    assert isinstance(answer, Escalate)
    assert answer.cause == (
        "group (max_in_flight 20, max_in_flight_per_az 10, max_changes_per_hour 20)"
    )
    assert "24 changes at once, max_in_flight allows 20, max_in_flight_per_az allows 10" in (
        answer.remedy
    )
    assert "raise all of account.max_in_flight from 20 to 24" in answer.remedy
    harness.rules = replace(rules_of(harness), max_in_flight=24)
    harness.now += timedelta(hours=1)
    again = reconcile(harness).answer
    assert isinstance(again, Escalate)
    assert again.cause == "group (max_in_flight_per_az 10, max_changes_per_hour 20)"
    harness.rules = replace(rules_of(harness), max_in_flight_per_az=24, max_changes_per_hour=24)
    harness.now += timedelta(hours=1)
    assert isinstance(reconcile(harness).answer, Act)


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (0, "a change of ours that has not ended"),
        (30, "the set is uneven, and group, retry_backoff, slots keeps its other volumes from gp3 12000"),
    ],
    ids=["pressed for an hour at once", "pressed for an hour once the changes have ended"],
)  # fmt: skip
def test_nobody_is_asked_for_a_further_raise_of_a_set_that_waits_to_be_even(
    first: int, said: str
) -> None:
    """The third volume has no slot: the set is even once it has one, whatever the others would take."""
    harness, sent = striped(), [0]
    apply = harness.apply

    def without_a_slot(of: ResourceRef, **call: Any) -> Outcome:
        sent[0] += 1
        if sent[0] == 3:
            return Refused(
                refusal=Refusal.SLOTS, code="VolumeModificationRateExceeded", message="no slot",
                retry_at=None,
            )  # fmt: skip
        return apply(of, **call)

    harness.apply = without_a_slot  # type: ignore[method-assign]
    reconcile(harness)
    for _ in range(first):
        sweep(harness.ports, harness.later(minutes=5))
    harness.pressed = set(SET)
    for name in SET:
        limit = float(now(harness, name).iops or 0)
        harness.loads[name] = activity(
            [limit / 2] * 60 + [limit] * 120, queue=[1.0] * 60 + [900.0] * 120,
            iops_check=[0.0] * 60 + [1.0] * 120,
        )  # fmt: skip
    for _ in range(36 - first):
        sweep(harness.ports, harness.later(minutes=5))
    assert now(harness, "vol-1").iops == 12_000
    assert now(harness, "vol-3").iops == 3_000
    texts = [text for _, _, text in harness.messages]
    assert not any("largest_step from" in text for text in texts)
    (told,) = [text for text in texts if "group (waiting)" in text]
    assert said in told
    for _ in range(30):
        sweep(harness.ports, harness.later(hours=1))
    (shared,) = {now(harness, name).iops for name in SET}
    assert (shared or 0) >= 12_000
