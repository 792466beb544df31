"""When a person must agree, what is alike, how long a no lasts, and which answers count."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.decision import (
    Act,
    Decision,
    Hold,
    InvalidAnswer,
    Reason,
    after_answer,
    after_rejection,
    decide,
    unapproved,
    why_approval,
)
from headroom.domain.decision.approval import (
    answered_request,
    growth_refused_until,
    message_due,
    quiet_until,
    similar,
)
from headroom.domain.guardrails import Guardrail
from headroom.domain.planning import Plan
from headroom.domain.policy import Limits, Mode, OneWay
from headroom.domain.resources import Configuration, VolumeType
from headroom.domain.state import (
    DAY,
    MAX_UNANSWERED,
    TRIED_AGAIN,
    ApprovalRequest,
    Declined,
    Step,
    StoredState,
    successors,
)
from tests.builders import NOW, decision_input, gp3, io, policy, resource_state, starved_gp3, volume
from tests.domain.databases import rds

HOURS = st.floats(0, 48).map(lambda h: timedelta(hours=h))
MONEY = st.decimals(-100, 100, places=2)


def raised() -> Plan:
    answer = decide(decision_input()).answer
    assert isinstance(answer, Act)
    return answer.plan


PLAN = raised()


def costing(usd: str | Decimal, **changes: object) -> Plan:
    return replace(PLAN, price_change_usd=Decimal(usd), **changes)  # type: ignore[arg-type]


def declined(usd: str | Decimal = "20", at: datetime = NOW, **changes: object) -> Declined:
    base = Declined(
        decision_id="d0", at=at, until=at + DAY, target=gp3(100, 9000, 125),
        price_change_usd=Decimal(usd), rejected=True,
    )  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mode", "above", "usd", "asks"),
    [
        (Mode.APPROVE, None, "10", True),
        (Mode.APPROVE, None, "-10", True),
        (Mode.AUTO, None, "1000", False),
        (Mode.AUTO, "10", "10", False),
        (Mode.AUTO, "10", "10.01", True),
        (Mode.AUTO, "0", "0", False),
        (Mode.AUTO, "0", "-5", False),
        (Mode.AUTO, "0", "0.01", True),
    ],
)
def test_who_is_asked_for_what(mode: Mode, above: str | None, usd: str, asks: bool) -> None:
    limits = Limits(mode=mode, approve_above_usd=None if above is None else Decimal(above))
    assert (why_approval(limits, costing(usd)) is not None) is asks


@pytest.mark.parametrize("one_way", list(OneWay))
@pytest.mark.parametrize("types", [(VolumeType.GP3, VolumeType.IO2), (VolumeType.IO2,)])
def test_what_can_never_be_undone_is_asked_whatever_it_costs_unless_the_owner_allows_it(
    one_way: OneWay, types: tuple[VolumeType, ...]
) -> None:
    limits = Limits(mode=Mode.AUTO, one_way=one_way, types=types)
    to_io2 = costing("-5", target=io(VolumeType.IO2))
    assert (why_approval(limits, to_io2) is not None) is (one_way is not OneWay.ALLOW)
    back_and_forth = replace(to_io2, origin=io(VolumeType.IO2, 200))
    assert why_approval(limits, back_and_forth) is None
    assert why_approval(limits, costing("5", target=io(VolumeType.IO1))) is None


WORTH_IT = {"relief_value_usd_per_minute": 10.0, "price_increase_usd": Decimal(500)}
"""Half an hour of pressure is then worth more than a week of io2."""


def small_volume(one_way: OneWay, **limits: object) -> Decision:
    """gp3 of 6 GiB at its 3,000 IOPS, which only io2 could exceed without growing."""
    rules = policy(one_way=one_way, **(WORTH_IT | limits))
    return decide(decision_input(starved_gp3(vol=volume(gp3(6))), rules=rules))


@pytest.mark.parametrize("one_way", list(OneWay))
@pytest.mark.parametrize(
    "limits", [{"relief_value_usd_per_minute": 0.1}, {"price_increase_usd": Decimal(250)}]
)
def test_what_can_never_be_undone_is_not_bought_for_one_episode_nor_cut_down_to_a_price_limit(
    one_way: OneWay, limits: dict[str, object]
) -> None:
    decision = small_volume(one_way, **limits)
    assert not isinstance(decision.answer, Act)
    one_ways = [j.plan for j in decision.judgements if j.plan.target.volume_type is VolumeType.IO2]
    assert all(plan.capped_from is None for plan in one_ways)


def test_a_starved_small_volume_becomes_io2_by_itself_only_where_the_owner_allows_it() -> None:
    allowed, asked, never = map(small_volume, (OneWay.ALLOW, OneWay.APPROVE, OneWay.NEVER))
    assert isinstance(allowed.answer, Act)
    assert allowed.answer.approval is None
    assert allowed.answer.plan.target.volume_type is VolumeType.IO2
    assert isinstance(asked.answer, Act)
    assert "Headroom never undoes a change to io2" in (asked.answer.approval or "")
    assert not isinstance(never.answer, Act)
    blocking = {v.guardrail for j in never.judgements for v in j.blocking}
    assert Guardrail.ONE_WAY in blocking


@given(MONEY, st.decimals(0, 100, places=2), st.decimals(0, 100, places=2))
def test_a_lower_price_limit_never_asks_less(usd: Decimal, one: Decimal, other: Decimal) -> None:
    less, more = sorted((one, other))

    def asks(above: Decimal) -> bool:
        return (
            why_approval(Limits(mode=Mode.AUTO, approve_above_usd=above), costing(usd)) is not None
        )

    assert asks(less) or not asks(more)


@pytest.mark.parametrize(
    ("plan", "like"),
    [
        (costing("20", target=gp3(100, 8000, 125)), True),
        (costing("39", target=gp3(100, 12000, 125)), True),
        (costing("40", target=gp3(100, 12500, 125)), False),
        (costing("10.01", target=gp3(100, 5000, 125)), True),
        (costing("10", target=gp3(100, 5000, 125)), False),
        (costing("-20", target=gp3(100, 3000, 125)), False),
        (costing("20", target=io()), False),
        (costing("99", target=gp3(100, 9000, 125)), True),
    ],
)
def test_alike_is_the_same_type_and_direction_at_about_the_price(plan: Plan, like: bool) -> None:
    assert similar(plan, declined("20")) is like


def test_cents_are_all_alike() -> None:
    assert similar(costing("0.30", target=gp3(100, 3100, 125)), declined("0.05"))


AGO = tuple(NOW - timedelta(hours=h) for h in (20, 10, 1))


@pytest.mark.parametrize(
    ("urgent", "rejected", "usd", "hours"),
    [
        (False, True, "20", 4),
        (False, False, "20", 4),
        (True, True, "20", 4),
        (True, False, "20", 0),
        (True, True, "-20", 0),
        (True, False, "-20", 0),
    ],
)
def test_a_fourth_request_a_day_waits_but_what_is_urgent_waits_only_for_a_no_to_its_kind(
    urgent: bool, rejected: bool, usd: str, hours: int
) -> None:
    other = costing("90", target=gp3(100, 16000, 500))
    made = [
        declined(
            usd, at=at, until=at + DAY, rejected=rejected,
            target=gp3(100, 9000, 125) if usd == "20" else PLAN.origin,
        )
        for at in AGO
    ]  # fmt: skip
    assert quiet_until(made[:2], other, NOW, urgent=urgent) is None
    until = quiet_until(made, other, NOW, urgent=urgent)
    assert until == (NOW + timedelta(hours=hours) if hours else None)
    assert quiet_until(made, other, NOW + timedelta(hours=4), urgent=urgent) is None
    assert len(made) == MAX_UNANSWERED


@pytest.mark.parametrize("rejected", [True, False])
@pytest.mark.parametrize("urgent", [True, False])
def test_silence_suppresses_nothing_that_is_urgent(urgent: bool, rejected: bool) -> None:
    before = [declined("20", target=PLAN.target, rejected=rejected)]
    found = quiet_until(before, PLAN, NOW, urgent=urgent)
    assert (found is not None) is (rejected or not urgent)


@pytest.mark.parametrize(
    ("hours_ago", "expires", "due"),
    [
        ((), 8, True),
        ((0,), 8, False),
        ((1,), 8, True),
        ((8, 0), 8, False),
        ((24, 16), 8, False),
        ((32, 24), 8, True),
        ((0,), 24 * 7, True),
        ((2,), 0.5, False),
        ((7.6,), 0.5, True),
    ],
)
def test_people_hear_of_a_request_at_first_after_8_hours_and_then_daily(
    hours_ago: tuple[float, ...], expires: float, due: bool
) -> None:
    """Before it expires, so that a request that is renewed seldom is no exception."""
    notified = [NOW - timedelta(hours=h) for h in hours_ago]
    assert message_due(notified, NOW + timedelta(hours=expires)) is due


@given(st.lists(st.tuples(HOURS, HOURS), max_size=8), HOURS)
def test_a_quiet_time_ends_and_is_then_over(
    spans: list[tuple[timedelta, timedelta]], later: timedelta
) -> None:
    made = [declined(at=NOW - ago, until=NOW - ago + min(span, DAY)) for ago, span in spans]
    until = quiet_until(made, PLAN, NOW + later)
    assert until is None or NOW + later < until <= NOW + later + DAY
    if until is not None:
        assert quiet_until(made, PLAN, max(until, NOW + 2 * DAY)) is None


def waiting(**changes: object) -> StoredState:
    asked = ApprovalRequest(
        decision_id="d1", requested_at=NOW, expires=NOW + timedelta(hours=8), origin=PLAN.origin,
        target=PLAN.target, price_change_usd=PLAN.price_change_usd,
    )  # fmt: skip
    return StoredState(approval_request=replace(asked, **changes), due_at=NOW + timedelta(hours=8))  # type: ignore[arg-type]


def give(state: StoredState, step: Step, at: datetime, last: Step | None = Step.AWAITING) -> object:
    return after_answer(state, "d1", step, last=last, at=at, who="alice")


@pytest.mark.parametrize("step", [Step.APPROVED, Step.REJECTED])
def test_an_answer_makes_the_volume_due_at_once(step: Step) -> None:
    moved = give(waiting(), step, NOW + timedelta(minutes=3))
    assert isinstance(moved, StoredState)
    assert moved.due_at == moved.last_request_at == NOW + timedelta(minutes=3)
    assert (moved.approval_request is None) is (step is Step.REJECTED)


@pytest.mark.parametrize("last", [None, *Step])
@pytest.mark.parametrize("step", [Step.APPROVED, Step.REJECTED])
def test_only_a_request_that_waits_can_be_answered_and_an_approval_taken_back(
    last: Step | None, step: Step
) -> None:
    moved = give(waiting(), step, NOW, last)
    taken_back = step is Step.REJECTED and last in (Step.APPROVED, *TRIED_AGAIN)
    assert isinstance(moved, StoredState) is (last is Step.AWAITING or taken_back)
    if last is not None and isinstance(moved, StoredState):
        assert step in successors(last)
    if last is None:
        assert isinstance(moved, InvalidAnswer)
        assert moved.why == "unknown"


@given(HOURS)
def test_an_answer_counts_only_before_the_request_expires(after: timedelta) -> None:
    moved = give(waiting(), Step.APPROVED, NOW + after)
    assert isinstance(moved, StoredState) is (after < timedelta(hours=8))


@pytest.mark.parametrize(("step", "hours"), [(Step.EXPIRED, 0), (Step.REJECTED, 24)])
def test_after_silence_about_a_load_to_come_the_next_one_is_asked_for_at_once(
    step: Step, hours: int
) -> None:
    """A no counts for a day all the same."""
    expires = NOW + timedelta(hours=20)
    (mine,) = after_rejection(waiting(expires=expires), step, expires).declined
    assert mine.until == expires + timedelta(hours=hours)


def test_silence_never_makes_a_no_forgotten() -> None:
    state = replace(waiting(), declined=(declined("20"),))
    for number in range(20):
        asked = waiting(target=gp3(100, 3100 + number, 125))
        state = after_rejection(
            replace(asked, declined=state.declined), Step.EXPIRED, NOW + timedelta(hours=number)
        )
    assert [d.decision_id for d in state.declined if d.rejected] == ["d0"]
    assert len(state.declined) == 2 * MAX_UNANSWERED


@pytest.mark.parametrize(
    ("target", "usd", "rejected", "answered"),
    [
        (PLAN.target, "0", False, True),
        (gp3(100, 3500, 125), "-1", False, True),
        (PLAN.target, "0.004", False, True),
        (PLAN.target, "0.01", False, False),
        (gp3(101, 3500, 125), "-1", False, False),
        (io(), "-1", False, False),
        (PLAN.target, "0", True, False),
    ],
)
def test_an_answer_to_an_expired_request_counts_for_what_replaced_it_if_that_is_no_more(
    target: Configuration, usd: str, rejected: bool, answered: bool
) -> None:
    price = PLAN.price_change_usd
    old = declined(
        price, decision_id="old", origin=PLAN.origin, target=PLAN.target, rejected=rejected
    )
    state = waiting(target=target, price_change_usd=price + Decimal(usd))
    found = answered_request(replace(state, declined=(old,)), "old")
    assert found == ("d1" if answered else "old")
    assert answered_request(state, "old") == "old"
    if not rejected:  # the same of one that a change without approval made pointless
        found = answered_request(state, "old", PLAN)
        assert found == ("d1" if answered else "old")


@pytest.mark.parametrize(
    ("origin", "target", "answered"),
    [
        (gp3(100, 9000, 500), gp3(100, 6000, 250), True),
        (gp3(100, 9000, 500), gp3(100, 8000, 250), True),
        (gp3(100, 9000, 500), gp3(100, 5000, 250), False),
        (gp3(100, 9000, 500), gp3(100, 6000, 125), False),
        (gp3(110, 9000, 500), gp3(110, 6000, 250), True),  # grown for space meanwhile
        (gp3(100, 9000, 500), gp3(110, 6000, 250), False),
        (gp3(100, 16000, 500), gp3(100, 6000, 250), False),
        (gp3(100, 3000, 125), gp3(100, 6000, 250), False),
    ],
)
def test_an_answer_to_an_old_request_never_takes_more_than_it_did(
    origin: Configuration, target: Configuration, answered: bool
) -> None:
    of = {"origin": gp3(100, 9000, 500), "target": gp3(100, 6000, 250)}
    old = declined("-15", decision_id="old", rejected=False, **of)
    state = replace(
        waiting(origin=origin, target=target, price_change_usd=Decimal(-20)), declined=(old,)
    )
    assert answered_request(state, "old") == ("d1" if answered else "old")
    moved = replace(old, origin=rds(VolumeType.GP3, 100, 9000, 500))  # of another deployment
    assert answered_request(replace(state, declined=(moved,)), "old") == "old"
    unknown = replace(state, declined=(replace(old, origin=None),))
    assert answered_request(unknown, "old") == "old"


def test_a_no_to_a_saving_that_lasts_for_weeks_counts_for_load_and_growth_for_a_day() -> None:
    no = declined("-20", target=gp3(200, 9000, 125), until=NOW + timedelta(days=14))
    like = costing("-20", target=no.target)
    for hours, counts in ((23, True), (24, False)):
        later = NOW + timedelta(hours=hours)
        assert (quiet_until([no], like, later, urgent=True) is not None) is counts
        assert (growth_refused_until([no], 100, later) is not None) is counts
        assert quiet_until([no], like, later) == no.until


@given(st.integers(1, 7 * 24 * 60))
def test_quiet_after_a_saving_without_an_answer_is_as_long_as_it_waited_and_a_day_at_most(
    minutes: int,
) -> None:
    expires = NOW + timedelta(minutes=minutes)
    asked = waiting(expires=expires, price_change_usd=Decimal(-20))
    moved = after_rejection(asked, Step.EXPIRED, expires)
    (made,) = moved.declined
    assert made.until == expires + min(DAY, timedelta(minutes=minutes))
    assert not made.rejected
    assert moved.approval_request is None


@pytest.mark.parametrize(
    ("step", "usd", "hours"),
    [
        (Step.EXPIRED, Decimal(-20), [8, 16, 32, 64, 128, 256, 336, 336]),
        (Step.REJECTED, Decimal(-20), [24, 48, 96, 192, 336, 336]),
        (Step.EXPIRED, Decimal(20), [0, 0, 0]),
        (Step.REJECTED, Decimal(20), [24, 24, 24]),
    ],
    ids=["silence on a saving", "a no to a saving", "silence on a raise", "a no to a raise"],
)
def test_a_saving_that_is_declined_is_requested_ever_more_rarely(
    step: Step, usd: Decimal, hours: list[int]
) -> None:
    state, at, quiet = StoredState(), NOW, []
    for number, _ in enumerate(hours):
        expires = at + timedelta(hours=8)
        asked = waiting(requested_at=at, expires=expires, price_change_usd=usd)
        state = after_rejection(replace(asked, declined=state.declined), step, expires)
        quiet.append((state.declined[-1].until - expires) / timedelta(hours=1))
        at = state.declined[-1].until + timedelta(hours=number)
    assert quiet == hours


@pytest.mark.parametrize(
    ("plan", "at", "problem"),
    [
        (PLAN, timedelta(0), None),
        (costing(PLAN.price_change_usd - 1), timedelta(0), None),
        (costing(PLAN.price_change_usd + Decimal("0.004")), timedelta(0), None),
        (
            costing("48.29"),
            timedelta(0),
            "it is $48.29 a month more now, and $48.28 a month more was approved",
        ),
        (replace(PLAN, target=gp3(100, 16000, 1000)), timedelta(0), "not the change"),
        (replace(PLAN, origin=gp3(100, 3500, 125)), timedelta(0), "not the change"),
        (PLAN, timedelta(hours=8), "expired"),
    ],
)
def test_the_ledger_takes_what_was_approved_and_nothing_else(
    plan: Plan, at: timedelta, problem: str | None
) -> None:
    state = waiting(approved_at=NOW, approved_by="alice")
    said = unapproved(state, plan, "d1", NOW + at)
    assert (said is None) if problem is None else (problem in (said or ""))
    assert unapproved(waiting(), plan, "d1", NOW) == "nobody approved it"
    assert unapproved(state, plan, "d2", NOW) == "nobody approved it"


@pytest.mark.parametrize(
    ("was", "rejected", "hours", "done"),
    [
        ("0.8", True, 0, False),
        ("0.8", True, 23, False),
        ("0.8", True, 24, True),
        ("0.8", False, 0, True),  # nobody said no: it would have been done without asking
        ("2.5", True, 0, True),  # clearly something else
        ("-1", True, 0, True),
    ],
)
def test_a_no_holds_for_what_is_like_it_and_just_cheap_enough_to_be_done_unasked(
    was: str, rejected: bool, hours: int, done: bool
) -> None:
    """`was` is the price that was rejected, as a multiple of this one."""
    said = declined(
        Decimal(was) * PLAN.price_change_usd, at=NOW - timedelta(hours=hours), rejected=rejected
    )
    rules = policy(mode=Mode.AUTO, approve_above_usd=PLAN.price_change_usd)
    answer = decide(decision_input(rules=rules, stand=resource_state(declined=(said,)))).answer
    assert isinstance(answer, Act) is done
    if isinstance(answer, Hold):
        assert (answer.reason, answer.until) == (Reason.DECLINED, said.until)
