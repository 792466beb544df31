"""What a rollback sets back, and which guardrails have a say in it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.decision import (
    Act,
    Decision,
    DecisionInput,
    Escalate,
    Hold,
    Reason,
    decide,
    decide_rollback,
    reversal,
)
from headroom.domain.decision.rollback import EXEMPT_GUARDRAILS
from headroom.domain.guardrails import GUARDRAILS, Guardrail
from headroom.domain.planning import Plan
from headroom.domain.policy import Mode, hard_caps_of, with_caps
from headroom.domain.resources import (
    Configuration,
    Deployment,
    Modification,
    ModificationState,
    VolumeType,
)
from headroom.domain.state import (
    QUIET_AFTER_ROLLBACK,
    KnownModification,
    RollbackRequest,
    RolledBack,
)
from tests.builders import (
    NOW,
    activity,
    decision_input,
    gp2,
    gp3,
    io,
    observation,
    policy,
    resource_state,
)
from tests.builders import volume as vol
from tests.domain.databases import database, rds

PLAIN, MADE = gp3(), gp3(100, 6000, 250)
CALM = activity([500.0] * 60)


def change(origin: Configuration, target: Configuration) -> Plan:
    answer = decide(decision_input()).answer
    assert isinstance(answer, Act)
    return replace(answer.plan, origin=origin, target=target)


def asked(**changes: Any) -> RollbackRequest:
    base = RollbackRequest(
        decision_id="d0", requested_at=NOW, expires=NOW + timedelta(hours=24), who="alice"
    )
    return replace(base, **changes)


def rolled(
    origin: Configuration = PLAIN, made: Configuration = MADE, *, now: Configuration | None = None,
    wish: RollbackRequest | None = None, stand: dict[str, Any] | None = None,
    seen: dict[str, Any] | None = None, **limits: Any,
) -> Decision:  # fmt: skip
    """What is decided about the wish to undo `origin` -> `made` on a volume that is `now`."""
    account = limits.pop("account_increase_usd", Decimal(2000))
    caps = hard_caps_of(limits.pop("caps", {}), "here")
    rules = with_caps(
        replace(policy(**{"mode": Mode.AUTO, **limits}), account_increase_usd=account), caps
    )
    observed = replace(observation(CALM, vol(now or made, tags=())), **(seen or {}))
    known = {"enrolment_usd": Decimal(8), **(stand or {})}
    inputs: DecisionInput = decision_input(observed, rules=rules, stand=resource_state(**known))
    return decide_rollback(inputs, wish or asked(), change(origin, made))


@pytest.mark.parametrize(
    ("origin", "made", "now", "back"),
    [
        (gp3(), MADE, MADE, gp3()),
        (gp3(), MADE, gp3(300, 6000, 250), gp3(300)),
        (gp2(100), gp3(), gp3(), gp2(100)),
        (gp2(100), gp3(), gp3(500), gp2(500)),
        (MADE, gp3(), gp3(), MADE),
        (io(), io(iops=9000), io(size=800, iops=9000), io(size=800)),
    ],
)
def test_iops_throughput_and_type_go_back_and_the_size_stays(
    origin: Configuration, made: Configuration, now: Configuration, back: Configuration
) -> None:
    assert reversal(change(origin, made), now) == back


@pytest.mark.parametrize(
    ("origin", "made", "now", "why"),
    [
        (gp3(), MADE, gp3(100, 7000, 250), "changed since"),
        (gp3(), MADE, gp3(), "changed since"),
        (gp3(), MADE, io(), "changed since"),
        (gp2(100), gp2(400), gp2(400), "raised only the size"),
    ],
)
def test_what_is_not_what_the_change_made_of_it_stays(
    origin: Configuration, made: Configuration, now: Configuration, why: str
) -> None:
    assert why in str(reversal(change(origin, made), now))
    answer = rolled(origin, made, now=now).answer
    assert isinstance(answer, Escalate)
    assert why in answer.remedy


def test_a_database_whose_deployment_was_changed_since_gets_its_storage_back() -> None:
    before, made = rds(size=500, iops=12_000, mibps=500), rds(size=500, iops=20_000, mibps=500)
    now = replace(made, size_gib=600, database=database(deployment=Deployment.MULTI_AZ))
    assert reversal(change(before, made), now, "database") == replace(
        before, size_gib=600, database=now.database
    )


@given(st.integers(1, 16_384), st.integers(1, 16_384))
def test_a_rollback_never_changes_the_size(before: int, after: int) -> None:
    origin, made = gp3(before), gp3(before, 6000, 250)
    back = reversal(change(origin, made), replace(made, size_gib=max(before, after)))
    assert isinstance(back, Configuration)
    assert back.size_gib == max(before, after)


def flying() -> Modification:
    return Modification(
        state=ModificationState.OPTIMIZING, started_at=NOW - timedelta(hours=1), ended_at=None,
        origin=gp3(), target=MADE, progress_percent=3,
    )  # fmt: skip


def starts(count: int) -> tuple[KnownModification, ...]:
    return tuple(
        KnownModification(started_at=NOW - timedelta(hours=1 + n), by="other") for n in range(count)
    )


@pytest.mark.parametrize(
    ("case", "guardrail", "kind"),
    [
        ({"stand": {"paused_until": NOW + timedelta(hours=1)}}, Guardrail.PAUSE, Hold),
        ({"stand": {"account_breaker_opened_at": NOW}}, Guardrail.BREAKER, Hold),
        ({"stand": {"failures_in_a_row": 5}}, Guardrail.FAILURES, Escalate),
        ({"mode": Mode.OBSERVE}, Guardrail.MODE, Escalate),
        ({"seen": {"modification": flying()}}, Guardrail.IN_FLIGHT, Hold),
        ({"stand": {"modifications": starts(4)}}, Guardrail.SLOTS, Hold),
        ({"origin": gp3(100, 20_000, 500), "max_iops": 16_000, "largest_step": 9.0},
         Guardrail.MAX_IOPS, Escalate),
        ({"origin": gp3(100, 16_000, 1000), "price_increase_usd": Decimal(1)},
         Guardrail.PRICE_PER_RESOURCE, Escalate),
        ({"origin": gp3(100, 16_000, 1000), "account_increase_usd": Decimal(1)},
         Guardrail.PRICE_PER_ACCOUNT, Escalate),
        ({"origin": gp3(), "made": io(size=100)}, Guardrail.DURABILITY, Escalate),
        ({"min_iops": 5_000}, Guardrail.GIVE_BACK_FLOOR, Escalate),
        ({"origin": gp2(100), "made": gp3(), "now": gp3(20_000)}, Guardrail.VALID, Escalate),
    ],
)  # fmt: skip
def test_what_judges_any_change_judges_a_rollback(
    case: dict[str, Any], guardrail: Guardrail, kind: type
) -> None:
    decision = rolled(**case)
    assert isinstance(decision.answer, kind), decision.summary
    (judgement,) = decision.judgements
    assert guardrail in {v.guardrail for v in judgement.blocking}


@pytest.mark.parametrize(
    "case",
    [
        {},
        {"give_back": False},
        {"types": (gp2().volume_type,)},
        {"stand": {"modifications": starts(3)}},
        {"stand": {"last_act_at": NOW}, "cooldown_minutes": 600},
        {"stand": {"rolled_back": RolledBack(decision_id="d", at=NOW,
                                             until=NOW + QUIET_AFTER_ROLLBACK)}},
        {"origin": gp3(100, 15_000, 500), "made": gp3(), "largest_step": 1.5},
        {"seen": {"activity": activity([None] * 60)}},
        {"mode": Mode.APPROVE},
    ],
)  # fmt: skip
def test_what_keeps_headroom_from_changing_its_mind_does_not_keep_people(
    case: dict[str, Any],
) -> None:
    decision = rolled(**case)
    assert isinstance(decision.answer, Act), decision.summary
    assert (decision.answer.reason, decision.answer.approval) == (Reason.ROLLED_BACK, None)
    assert decision.rollback_of == "d0"


def test_the_policy_by_itself_neither_uses_the_peoples_slots_nor_goes_without_approval() -> None:
    mine = asked(by_person=False)
    assert isinstance(rolled(wish=mine, stand={"modifications": starts(3)}).answer, Hold)
    waits = rolled(wish=mine, mode=Mode.APPROVE).answer
    assert isinstance(waits, Act)
    assert waits.approval == "the mode is approve"


def test_a_wish_that_is_still_blocked_when_it_expires_is_given_up() -> None:
    late = asked(expires=NOW)
    answer = rolled(wish=late, stand={"paused_until": NOW + timedelta(hours=1)}).answer
    assert isinstance(answer, Escalate)
    assert "still blocked by pause when it expired" in answer.remedy


def test_all_guardrails_speak_and_those_without_a_say_say_so() -> None:
    (judgement,) = rolled().judgements
    assert [v.guardrail for v in judgement.verdicts] == [name for name, _ in GUARDRAILS]
    assert {v.guardrail for v in judgement.verdicts if v.value == "a rollback"} == EXEMPT_GUARDRAILS


@pytest.mark.parametrize(("types", "allowed"), [(["gp3"], False), (["gp3", "io1"], True)])
def test_a_rollback_never_returns_to_a_type_above_the_hard_cap(
    types: list[str], allowed: bool
) -> None:
    before, made = io(VolumeType.IO1, 400, 5_000), gp3(400, 6_000, 250)
    (judgement,) = rolled(before, made, types=(VolumeType.GP3,), caps={"types": types}).judgements
    blocked = {v.guardrail for v in judgement.blocking}
    assert (Guardrail.TYPES not in blocked) is allowed


@pytest.mark.parametrize(
    ("owners", "caps", "allowed"),
    [
        (io(size=1_000, iops=40_000), {}, True),
        (io(size=1_000, iops=30_000), {}, False),
        (None, {}, False),
        (io(size=1_000, iops=40_000), {"max_iops": 16_000}, False),
    ],
    ids=["the owner's", "more than the owner's", "nobody knows whose", "above the hard cap"],
)
def test_a_ceiling_does_not_keep_from_the_owner_what_headroom_took(
    owners: Configuration | None, caps: dict[str, Any], allowed: bool
) -> None:
    before, made = io(size=1_000, iops=40_000), io(size=1_000, iops=4_000)
    stand = {"owner_configuration": owners, "enrolment_usd": Decimal(3_000)}
    (judgement,) = rolled(before, made, stand=stand, max_iops=16_000, caps=caps).judgements
    assert judgement.allowed is allowed
    assert (Guardrail.MAX_IOPS in {v.guardrail for v in judgement.blocking}) is not allowed


def test_the_same_request_on_the_same_input_is_the_same_decision() -> None:
    assert rolled() == rolled()
    assert rolled().decision_id != rolled(wish=asked(decision_id="d9")).decision_id
