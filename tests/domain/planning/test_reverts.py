from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import Act, Decision, Escalate, Hold, Reason, decide
from headroom.domain.guardrails import Guardrail
from headroom.domain.ledger import after_decided
from headroom.domain.planning import undone_still
from headroom.domain.planning.reverts import Revert
from headroom.domain.policy import CodeOwned
from headroom.domain.resources import Configuration, Observation, VolumeType
from headroom.domain.state import KnownModification, StoredState
from headroom.serialization import decision_from_json, decision_to_json
from tests.builders import (
    AUTO,
    NOW,
    activity,
    decision_input,
    gp2,
    gp3,
    io,
    observation,
    policy,
    resource_state,
    starved_gp3,
    volume,
)

LOW, MID, HIGH = gp3(100, 3000, 125), gp3(100, 4500, 125), gp3(100, 6000, 250)


def changed(
    by: str, origin: Configuration | None, target: Configuration | None, *, hours: float
) -> KnownModification:
    return KnownModification(
        started_at=NOW - timedelta(hours=hours), by=by, origin=origin, target=target
    )


def reverted(modifications: Sequence[KnownModification]) -> Revert | None:
    return next(undone_still(modifications), None)


BEYOND = gp3(100, 6500, 250)
OURS = changed("headroom", LOW, HIGH, hours=48)


@pytest.mark.parametrize(
    ("after", "undone"),
    [
        ([], False),
        ([changed("other", HIGH, LOW, hours=24)], True),
        ([changed("other", HIGH, MID, hours=24)], True),
        ([changed("other", HIGH, gp3(100, 6000, 125), hours=24)], True),
        ([changed("other", HIGH, gp3(200, 6000, 250), hours=24)], False),
        ([changed("other", HIGH, gp3(100, 9000, 250), hours=24)], False),
        ([changed("other", HIGH, gp2(100), hours=24)], True),
        ([changed("other", HIGH, None, hours=24)], False),
        ([changed("other", HIGH, LOW, hours=24), changed("other", LOW, HIGH, hours=2)], False),
        ([changed("other", HIGH, MID, hours=24), changed("other", MID, LOW, hours=2)], True),
        ([changed("other", HIGH, LOW, hours=24), changed("headroom", LOW, HIGH, hours=2)], False),
        (  # more space is no raise of what was undone
            [
                changed("other", HIGH, LOW, hours=24),
                changed("headroom", LOW, gp3(150, 3000, 125), hours=2),
            ],
            True,
        ),
    ],
)
def test_undone_is_what_goes_back_the_way_we_came(
    after: list[KnownModification], undone: bool
) -> None:
    assert (reverted([OURS, *after]) is not None) is undone


@pytest.mark.parametrize(
    ("after", "hours"),
    [
        ([(HIGH, LOW), (LOW, gp3(110, 3000, 125))], 40),
        ([(HIGH, LOW), (LOW, gp3(110, 3000, 125)), (gp3(110, 3000, 125), gp3(120, 3000, 125))], 40),
        ([(HIGH, LOW), (LOW, None)], 40),
        ([(HIGH, LOW), (LOW, MID)], 40),
        ([(HIGH, MID), (MID, LOW)], 39),
        ([(HIGH, gp3(110, 6000, 250)), (gp3(110, 6000, 250), gp3(110, 3000, 125))], 39),
        ([(HIGH, LOW), (LOW, HIGH)], None),
        ([(HIGH, LOW), (LOW, HIGH), (HIGH, LOW)], 38),
        ([(HIGH, LOW), (LOW, BEYOND), (BEYOND, LOW)], None),
        ([(HIGH, BEYOND), (BEYOND, HIGH)], None),
        ([(HIGH, LOW), (LOW, gp3(100, 9000, 125)), (gp3(100, 9000, 125), LOW)], 38),
    ],
    ids=["grown", "grown twice", "target not known", "some of it again", "lowered further",
         "grown before", "repeated", "repeated and undone again",
         "gone beyond and lowered again", "gone beyond, and back", "beyond it in IOPS alone"],
)  # fmt: skip
def test_only_what_goes_further_back_is_a_new_undoing(
    after: list[tuple[Configuration, Configuration | None]], hours: float | None
) -> None:
    known = [changed("other", *each, hours=40 - place) for place, each in enumerate(after)]
    found = reverted([OURS, *known])
    assert (None if found is None else NOW - found.at) == (
        None if hours is None else timedelta(hours=hours)
    )
    if found is not None:
        assert found.external_configuration == known[int(40 - (hours or 0))].target


TRIMMED = gp3(100, 5000, 200)


@pytest.mark.parametrize(
    ("after", "at"),
    [
        ([("other", TRIMMED, LOW)], 39),
        ([("other", TRIMMED, MID)], 39),
        ([("rollback", TRIMMED, LOW)], 39),
        ([("other", TRIMMED, gp2(100))], 39),
        ([("other", TRIMMED, gp3(150, 5000, 200))], None),
        ([("other", TRIMMED, BEYOND), ("other", BEYOND, LOW)], None),
        ([("headroom", TRIMMED, LOW)], None),
        ([("headroom", TRIMMED, MID), ("other", MID, LOW)], 38),
        # What is given back later, or grown, ends no undoing; what goes beyond it does.
        ([("other", TRIMMED, MID), ("headroom", MID, LOW)], 39),
        ([("other", TRIMMED, MID), ("headroom", MID, LOW), ("headroom", LOW, MID)], 39),
        ([("other", TRIMMED, MID), ("headroom", MID, LOW), ("headroom", LOW, TRIMMED)], None),
        ([("other", TRIMMED, LOW), ("headroom", LOW, gp3(150, 3000, 125))], 39),
        ([("other", TRIMMED, LOW), ("other", LOW, MID), ("headroom", MID, LOW)], 39),
        ([("other", TRIMMED, MID), ("headroom", MID, LOW), ("other", LOW, gp3(150, 3000, 125))], 39),
        ([("other", TRIMMED, MID), ("other", MID, TRIMMED), ("headroom", TRIMMED, MID)], None),
        # Whoever takes back what was given back undoes that.
        ([("other", TRIMMED, MID), ("headroom", MID, LOW), ("other", LOW, HIGH)], 37),
    ],
    ids=["put back", "in part", "rolled back", "another type", "grown", "gone beyond before",
         "by Headroom", "lowered by both", "given back since", "raised again up to that",
         "raised beyond that", "grown since", "some of it again, and given back", "grown by others",
         "repeated by others", "the giving back undone"],
)  # fmt: skip
def test_a_raise_that_was_lowered_in_part_is_undone_as_what_was_left_of_it(
    after: list[tuple[str, Configuration, Configuration]], at: float | None
) -> None:
    trim = changed("headroom", HIGH, TRIMMED, hours=40)
    known = [changed(*each, hours=39 - place) for place, each in enumerate(after)]
    found = reverted([OURS, trim, *known])
    assert (None if found is None else NOW - found.at) == (
        None if at is None else timedelta(hours=at)
    )


def test_a_no_to_a_raise_stands_beside_a_no_to_giving_back() -> None:
    """Code that puts its own values back again and again answers both."""
    known = [
        OURS, changed("other", HIGH, MID, hours=24), changed("headroom", MID, LOW, hours=12),
        changed("other", LOW, MID, hours=6),
    ]  # fmt: skip
    (plan, *_) = [j.plan for j in decide(decision_input()).judgements]
    raised, lowered = (
        replace(plan, origin=MID, target=to, capability=capability(to)) for to in (TRIMMED, LOW)
    )
    found = list(undone_still(known))
    assert [one.lowered for one in found] == [False, True]
    for again in (raised, lowered):
        assert any(one.again(again) for one in found)


def test_a_give_back_that_aws_failed_hides_no_undoing() -> None:
    failed = changed("headroom", HIGH, MID, hours=30)
    found = reverted([OURS, failed, changed("other", HIGH, LOW, hours=24)])
    assert found is not None
    assert (found.our_configuration, found.lowered) == (HIGH, True)


def test_after_a_partial_undoing_storage_comes_back_up_to_what_was_left() -> None:
    known = [OURS, changed("other", HIGH, MID, hours=24), changed("headroom", MID, LOW, hours=12)]
    found = reverted(known)
    assert found is not None
    (plan, *_) = [j.plan for j in decide(decision_input()).judgements]
    back, beyond = (
        replace(plan, origin=LOW, target=to, capability=capability(to)) for to in (MID, TRIMMED)
    )
    assert (found.again(back), found.again(beyond)) == (False, True)


def test_a_reverted_give_back_ends_with_the_next_raise() -> None:
    """What Headroom raises beyond what its owner took back may be lowered again."""
    known = [changed("headroom", HIGH, LOW, hours=48), changed("other", LOW, HIGH, hours=24)]
    assert reverted([*known, changed("headroom", HIGH, BEYOND, hours=2)]) is None


def test_what_was_rolled_back_and_grown_since_was_undone_by_the_rollback() -> None:
    grown = changed("other", LOW, gp3(110, 3000, 125), hours=2)
    found = reverted([OURS, changed("rollback", HIGH, LOW, hours=24), grown])
    assert found is not None
    assert (found.at, found.rolled_back) == (NOW - timedelta(hours=24), True)


@pytest.mark.parametrize(
    ("following", "undone"),
    [
        ((LOW, gp3(110, 3000, 125)), False),
        ((gp3(90, 3000, 125), gp3(110, 3000, 125)), False),
        ((HIGH, gp3(110, 3000, 125)), True),
        ((None, gp3(110, 3000, 125)), True),
        ((MID, gp3(110, 3000, 125)), True),
    ],
    ids=["as before", "as before, grown", "as we made it", "not known", "something else"],
)
def test_a_change_that_aws_failed_was_not_undone_by_the_next_one(
    following: tuple[Configuration | None, Configuration], undone: bool
) -> None:
    """The next change shows what was in force: not ours, if it began with what we began with."""
    grown = changed("other", *following, hours=24)
    assert (reverted([OURS, grown]) is not None) is undone
    again = changed("other", grown.target, gp3(120, 3000, 125), hours=2)
    assert (reverted([OURS, grown, again]) is not None) is undone


def test_what_we_lowered_and_somebody_raised_again_is_undone_too() -> None:
    back = reverted(
        [changed("headroom", HIGH, LOW, hours=48), changed("other", LOW, HIGH, hours=1)]
    )
    assert back is not None
    assert not back.lowered


def test_a_change_of_type_that_was_taken_back_is_undone_though_speed_stays_the_same() -> None:
    io1, same = io(VolumeType.IO1, 400, 6000), gp3(400, 6000, 500)
    found = reverted(
        [changed("headroom", io1, same, hours=48), changed("other", same, io1, hours=9)]
    )
    assert found is not None
    assert found.type_undone
    assert found.lowered is None
    (plan, *_) = [j.plan for j in decide(decision_input()).judgements]
    assert found.again(replace(plan, origin=io1, target=same, capability=capability(same)))
    more = io(VolumeType.IO1, 400, 9000)
    assert not found.again(replace(plan, origin=io1, target=more, capability=capability(more)))


def taken_back(hours: float = 24) -> Any:
    return resource_state(modifications=(OURS, changed("other", HIGH, LOW, hours=hours)))


def test_what_somebody_took_back_is_reported_once_and_not_raised_again() -> None:
    made = decision_input(rules=policy(mode=AUTO), stand=taken_back())
    first = decide(made)
    assert isinstance(first.answer, Escalate)
    assert first.answer.cause.startswith("reverted")
    assert "somebody changed it to gp3 100 GiB 3000 IOPS 125 MiB/s" in first.answer.remedy
    notified = replace(made.resource_state, escalated_causes=(first.answer.cause,))
    again = decide(replace(made, resource_state=notified))
    assert isinstance(again.answer, Hold)


def test_what_headroom_rolled_back_itself_is_not_said_to_be_the_work_of_somebody() -> None:
    known = (OURS, changed("rollback", HIGH, LOW, hours=24))
    stand = resource_state(modifications=known)
    found = decide(decision_input(rules=policy(mode=AUTO), stand=stand))
    nearest = next(j for j in found.judgements if j.plan == found.plan)
    (said,) = [v.detail for v in nearest.blocking if v.guardrail is Guardrail.REVERTED]
    assert "; Headroom rolled it back to gp3 100 GiB 3000 IOPS 125 MiB/s at " in said
    assert "somebody changed" not in said


def starved(minutes: int) -> Observation:
    load = activity(
        [1500.0] * 30 + [3000.0] * minutes, queue=[1.0] * 30 + [900.0 + 3 * i for i in range(minutes)],
        iops_check=[0.0] * 30 + [1.0] * minutes,
    )  # fmt: skip
    return observation(load)


@pytest.mark.parametrize(
    ("hours", "pressed", "reported"),
    [(0.2, 90, False), (0.9, 90, False), (24, 30, False), (24, 90, True)],
)
def test_a_rollback_holds_the_change_and_nobody_is_paged_before_an_hour_of_starvation_since(
    hours: float, pressed: int, reported: bool
) -> None:
    known = (OURS, changed("rollback", HIGH, LOW, hours=hours))
    made = decision_input(
        starved(pressed), rules=policy(mode=AUTO),
        stand=resource_state(modifications=known),
    )  # fmt: skip
    found = decide(made)
    assert any(v.guardrail is Guardrail.REVERTED for j in found.judgements for v in j.blocking)
    if not reported:
        assert isinstance(found.answer, Hold)
        assert found.answer.reason is Reason.BLOCKED_TEMPORARILY
        assert found.answer.until == NOW + timedelta(days=7) - timedelta(hours=hours)
        return
    assert isinstance(found.answer, Escalate)
    assert found.answer.cause.startswith("reverted")
    state = after_decided(StoredState(), found, None)
    calm = decide(decision_input(observation(activity([500.0] * 60)), rules=policy(mode=AUTO)))
    assert after_decided(state, calm, None).escalated_causes == (found.answer.cause,)


def test_it_is_reported_again_only_when_undone_again() -> None:
    made = decision_input(rules=policy(mode=AUTO), stand=taken_back())
    first = decide(made)
    state = after_decided(StoredState(), first, None)
    calm = decide(decision_input(observation(activity([500.0] * 60)), rules=policy(mode=AUTO)))
    assert after_decided(state, calm, None).escalated_causes == state.escalated_causes != ()
    anew = replace(made.resource_state, modifications=(OURS, changed("other", HIGH, LOW, hours=3)),
                   escalated_causes=state.escalated_causes)  # fmt: skip
    assert isinstance(decide(replace(made, resource_state=anew)).answer, Escalate)


@pytest.mark.parametrize(
    ("hours", "limits", "acts"),
    [
        (7 * 24 - 1, {}, False), (7 * 24, {}, True), (24, {"revert_wait_minutes": 0}, True),
        (24, {"revert_wait_minutes": 24 * 60 + 1}, False),
    ],
)  # fmt: skip
def test_after_the_wait_it_is_raised_again(
    hours: float, limits: dict[str, object], acts: bool
) -> None:
    at_first = replace(OURS, started_at=NOW - timedelta(days=10))
    stand = resource_state(modifications=(at_first, changed("other", HIGH, LOW, hours=hours)))
    answer = decide(decision_input(rules=policy(mode=AUTO, **limits), stand=stand)).answer
    assert isinstance(answer, Act) is acts


def owned(handling: CodeOwned) -> Decision:
    tags = (("headroom", "auto"), ("managed-by", "terraform"))
    seen = starved_gp3(vol=volume(tags=tags))
    return decide(decision_input(seen, rules=policy(infrastructure_as_code=handling)))


def test_by_default_what_code_owns_is_changed_and_the_record_says_what_to_write_back() -> None:
    decision = owned(CodeOwned.ACT)
    assert isinstance(decision.answer, Act)
    target = decision.answer.plan.target
    kept = decision_from_json(decision_to_json(decision))
    assert f"iops       = {target.iops}" in kept.write_back[0].text
    assert kept.write_back == decision.write_back


def test_with_notify_nothing_changes_and_the_owner_gets_the_values() -> None:
    decision = owned(CodeOwned.NOTIFY)
    assert isinstance(decision.answer, Escalate)
    assert decision.answer.cause == Guardrail.INFRASTRUCTURE_AS_CODE.value
    assert "owned by Terraform" in decision.answer.remedy
    assert decision.write_back


def test_left_is_neither_changed_nor_reported_nor_handed_over() -> None:
    decision = owned(CodeOwned.LEAVE)
    assert isinstance(decision.answer, Hold)
    assert decision.answer.reason is Reason.BLOCKED_PERMANENTLY
    assert decision.write_back == ()


def test_a_volume_nobody_else_owns_has_nothing_to_write_back() -> None:
    decision = decide(
        decision_input(rules=policy(mode=AUTO, infrastructure_as_code=CodeOwned.LEAVE))
    )
    assert isinstance(decision.answer, Act)
    assert (decision.code_owner, decision.write_back) == (None, ())


def test_what_goes_beyond_a_change_of_the_type_leaves_the_type_undone_that_is_put_back() -> None:
    """Nor does a change that goes beyond a lowering end what is undone of it."""
    old, new, more = gp2(500), gp3(500, 3000, 125), gp3(500, 6000, 125)
    moved = changed("headroom", old, new, hours=48)
    back = [changed("other", new, more, hours=24), changed("other", more, old, hours=2)]
    found = reverted([moved, *back])
    assert found is not None
    assert found.type_undone
    lowered = changed("headroom", HIGH, LOW, hours=48)
    lower, restored = gp3(100, 3000, 125), HIGH
    assert reverted([lowered, changed("other", lower, restored, hours=2)]) is not None
