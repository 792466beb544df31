"""A full copy: only where its owner allows it, from calm, in hours that are calm on other days too."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.decision import (
    Act,
    Decision,
    Escalate,
    Pending,
    Reason,
    Untested,
    assess,
    decide,
)
from headroom.domain.decision.assess import FULL_COPY_TIMEOUT
from headroom.domain.guardrails import Guardrail
from headroom.domain.planning import Plan
from headroom.domain.planning.full_copy import (
    FULL_COPY_TIME,
    calm_during_copy,
    pressed_minutes_per_day,
)
from headroom.domain.policy import Mode
from headroom.domain.resources import (
    Configuration,
    Modification,
    ModificationState,
    Observation,
    VolumeType,
)
from tests.builders import NOW, activity, database_policy, decision_input
from tests.domain.databases import rds
from tests.domain.decision.test_rds_planning import starved
from tests.domain.earlier import history, past_seen

GP2, GP3, IO1, IO2 = VolumeType.GP2, VolumeType.GP3, VolumeType.IO1, VolumeType.IO2
SMALL = rds(GP3, 300)
ALLOWED = {"growth": True, "full_copy": True, "types": (GP3,), "mode": Mode.AUTO}


def at_the_limit_from(hour: int, *, hours: int = 3, days: float = 5) -> Observation:
    """Calm now (12:00), and at the limit for some hours of each of the days before."""

    def load(at: datetime) -> float:
        return 3_000.0 if (at.hour - hour) % 24 < hours else 400.0

    calm = activity([400.0] * 180, iops_check=None, mibps_check=None)
    seen = starved(SMALL, 3_000)
    return replace(seen, activity=calm, history=history(load, days=days, check=None))


def decided(seen: Observation, **limits: object) -> Decision:
    return decide(decision_input(seen, rules=database_policy(**(ALLOWED | limits))))


def held_by(decision: Decision) -> set[Guardrail]:
    copies = [j for j in decision.judgements if j.plan.full_copy]
    return {v.guardrail for j in copies for v in j.blocking}


def test_in_calm_hours_what_comes_back_every_day_is_worth_a_copy() -> None:
    decision = decided(at_the_limit_from(2))
    assert isinstance(decision.answer, Act), decision.summary
    plan = decision.answer.plan
    assert plan.target == rds(GP3, 400, 12_000, 500)
    assert (plan.full_copy, plan.reversible, plan.time_to_effect) == (True, False, FULL_COPY_TIME)
    assert plan.relieved_minutes_per_day == pytest.approx(180, abs=10)
    assert decision.summary.endswith(
        "a month; RDS copies all data, which takes hours and cannot be undone"
    )


@pytest.mark.parametrize(
    ("hour", "why"), [(13, "the copy would run into it"), (16, "likewise, hours later")]
)
def test_no_copy_begins_where_the_load_of_other_days_would_meet_it(hour: int, why: str) -> None:
    decision = decided(at_the_limit_from(hour))
    assert not isinstance(decision.answer, Act), why


@pytest.mark.parametrize("limits", [{"growth": False}, {"full_copy": False}])
def test_both_settings_must_allow_it(limits: dict[str, object]) -> None:
    assert not isinstance(decided(at_the_limit_from(2), **limits).answer, Act)


def test_one_day_at_the_limit_is_no_load_that_comes_back() -> None:
    assert not isinstance(decided(at_the_limit_from(2, days=0.9)).answer, Act)


def test_under_pressure_it_waits_and_its_owner_is_notified_that_it_does() -> None:
    answer = decided(starved(SMALL, 3_000)).answer
    assert isinstance(answer, Escalate)
    assert (answer.reason, answer.cause) == (Reason.BLOCKED_PERMANENTLY, "full_copy")
    assert answer.remedy.startswith(
        "a person may change it to gp3 400 GiB 12000 IOPS 500 MiB/s ($11.50"
    )
    assert "it begins by itself once the load rests" in answer.remedy


def test_from_gp2_it_never_begins_since_the_copy_would_use_up_the_credits() -> None:
    decision = decided(starved(rds(GP2, 300), 900), types=(GP3, GP2))
    assert Guardrail.FULL_COPY in held_by(decision)
    assert isinstance(decision.answer, Act)  # more IOPS for the same money needs no history
    assert decision.answer.plan.target == rds(GP3, 300)  # which takes no copy
    assert decision.answer.plan.price_change_usd == 0


@given(
    origin=st.sampled_from([SMALL, rds(GP2, 300), rds(IO1, 300, 3_000), rds(IO2, 300, 3_000)]),
    growth=st.booleans(), full_copy=st.booleans(), calm=st.booleans(),
)  # fmt: skip
def test_no_copy_is_ever_allowed_outside_its_terms(
    origin: Configuration, growth: bool, full_copy: bool, calm: bool
) -> None:
    seen = replace(at_the_limit_from(2), volume=starved(origin, 900).volume)
    seen = seen if calm else starved(origin, 900 if origin.volume_type is GP2 else 3_000)
    decision = decided(seen, growth=growth, full_copy=full_copy, types=(GP3, IO1, IO2))
    allowed = [j for j in decision.judgements if j.allowed and j.plan.full_copy]
    assert not allowed or (growth and full_copy and calm and origin.volume_type is not GP2)
    if allowed:
        assert all(j.plan.relieved_minutes_per_day > 0 for j in allowed)


def test_days_are_distinguished_and_hours_go_round_midnight() -> None:
    seen = at_the_limit_from(23, hours=2)
    known = past_seen(seen)
    assert pressed_minutes_per_day(known) == pytest.approx(120, abs=10)
    assert calm_during_copy(known, NOW)
    assert not calm_during_copy(known, NOW.replace(hour=18))
    assert not calm_during_copy(known, NOW.replace(hour=23))
    assert calm_during_copy(known, NOW.replace(hour=1, minute=30))


def test_a_copy_that_takes_a_weekend_is_waited_for_and_is_no_failure() -> None:
    plan = decided(at_the_limit_from(2)).answer
    assert isinstance(plan, Act)
    for after, expected in ((timedelta(hours=60), Pending), (FULL_COPY_TIMEOUT, Pending),
                            (FULL_COPY_TIMEOUT + timedelta(hours=1), Untested)):  # fmt: skip
        verification = assess(_copying(plan.plan, after), plan.plan, NOW)
        assert isinstance(verification, expected)
    waits = assess(_copying(plan.plan, timedelta(hours=1)), plan.plan, NOW)
    assert isinstance(waits, Pending)
    assert waits.next_reconcile_at == NOW + timedelta(hours=1, minutes=30)


def _copying(plan: Plan, after: timedelta) -> Observation:
    change = Modification(
        state=ModificationState.MODIFYING, started_at=NOW, ended_at=None, origin=plan.origin,
        target=plan.target, progress_percent=0,
    )  # fmt: skip
    return replace(at_the_limit_from(2), at=NOW + after, modification=change)
