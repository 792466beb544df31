"""Decisions made by the engine, with what a ledger reads set to round numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

from headroom.domain.decision import Act, Decision, Escalate, Hold, Reason, decide
from headroom.domain.guardrails import CONCURRENCY_GUARDRAILS, Guardrail, Verdict
from headroom.domain.state import (
    MAX_FAILURES,
    AlreadyThere,
    Applied,
    Outcome,
    Refusal,
    Refused,
    Step,
)
from headroom.domain.workload import Binding
from headroom.ports import Intent
from tests.builders import NOW, decision_input, ref

ENROLMENT = Decimal(8)


@cache
def _engine() -> Decision:
    return decide(decision_input())


def act(
    decision_id: str = "d1",
    volume_id: str = "vol-1",
    *,
    increase: str | Decimal = "50",
    account_limit: Decimal | None = Decimal(2000),
    resource_limit: Decimal = Decimal(250),
    at: datetime = NOW,
    enrolled: bool = True,
    places: Mapping[Guardrail, int] | None = None,
    zone: str = "us-east-1a",
) -> Decision:
    """An Act whose plan costs `increase` USD a month more than ENROLMENT.

    `places` are limits of the blast radius; those not named do not bind.
    """
    base = _engine()
    answer = base.answer
    assert isinstance(answer, Act)
    plan = replace(answer.plan, monthly_usd=ENROLMENT + Decimal(increase))
    judged = next(j for j in base.judgements if j.plan == answer.plan)
    within = {
        Guardrail.PRICE_PER_ACCOUNT: account_limit,
        **dict.fromkeys(CONCURRENCY_GUARDRAILS, 10_000),
    }
    within |= places or {}
    verdicts = tuple(
        _limited(v, within[v.guardrail]) if v.guardrail in within else v
        for v in judged.verdicts
        if account_limit is not None or v.guardrail is not Guardrail.PRICE_PER_ACCOUNT
    )
    limits = replace(base.effective.limits, price_increase_usd=resource_limit)
    decision = replace(
        base,
        decision_id=decision_id,
        answer=replace(answer, plan=plan),
        judgements=(replace(judged, plan=plan, verdicts=verdicts),),
        effective=replace(base.effective, limits=limits, enrolled=enrolled),
        current_usd=ENROLMENT,
    )
    return about(decision, volume_id, at, zone)


def _limited(verdict: Verdict, limit: Decimal | int | None) -> Verdict:
    return replace(verdict, limit=limit)


def hold(
    decision_id: str = "h1",
    volume_id: str = "vol-1",
    *,
    at: datetime = NOW,
    binding: Binding = Binding.VOLUME_IOPS,
    **changes: Any,
) -> Decision:
    base = act(decision_id, volume_id, at=at)
    answer = Hold(reason=Reason.BLOCKED_TEMPORARILY, until=None, proposed_plan=None)
    diagnosis = replace(base.diagnosis, binding=binding)
    return replace(base, answer=answer, diagnosis=diagnosis, **changes)


def escalate(decision_id: str, cause: str, *, at: datetime = NOW) -> Decision:
    answer = Escalate(
        reason=Reason.BLOCKED_PERMANENTLY, cause=cause, remedy="allow more", proposed_plan=None
    )
    return replace(act(decision_id, at=at), answer=answer)


def about(
    decision: Decision, volume_id: str, at: datetime = NOW, zone: str = "us-east-1a",
    beside: tuple[str, ...] = (),
) -> Decision:  # fmt: skip
    """`decision` about another volume; those `beside` it are on its instance."""
    seen = decision.observation
    volume = replace(seen.volume, ref=ref(volume_id), availability_zone=zone)
    machine = None
    if seen.instance is not None:
        machine = replace(seen.instance, volume_ids=(volume_id, *beside))
    seen = replace(seen, volume=volume, instance=machine, at=at)
    return replace(decision, at=at, observation=seen)


def intended(ledger: Any, decision: Decision, now: datetime = NOW, *, lease_until: datetime) -> Any:
    """Decide and intend; what the ledger answers to the intent."""
    ledger.decided(decision, due_at=None)
    return ledger.intend(decision, lease_until=lease_until, now=now)


OUTCOMES: dict[Step, Outcome] = {
    Step.APPLIED: Applied(started_at=NOW),
    Step.ALREADY_THERE: AlreadyThere(),
}


def append(
    ledger: Any,
    decision: Decision,
    step: Step,
    *,
    at: datetime = NOW,
    intent: Intent | None = None,
    due_at: datetime | None = None,
    body: dict[str, object] | None = None,
) -> Any:
    """Append `step` with a body such as the application gives."""
    default = {"outcome": OUTCOMES[step]} if step in OUTCOMES else {"detail": step.value}
    return ledger.append(
        decision.decision_id, step, ref=decision.observation.volume.ref, at=at,
        summary=f"it is {step.value}", body=body if body is not None else default,
        fencing=None if intent is None else intent.fencing, due_at=due_at,
    )  # fmt: skip


def failed(ledger: Any, decision_id: str, volume_id: str = "vol-1", *, at: datetime = NOW) -> Any:
    """An act that AWS refused for good; the record of that."""
    decision = act(decision_id, volume_id, at=at)
    intent = intended(ledger, decision, at, lease_until=at + timedelta(minutes=20))
    assert isinstance(intent, Intent), intent
    denied = Refused(refusal=Refusal.DENIED, code="UnauthorizedOperation", message="no",
                     retry_at=None)  # fmt: skip
    return append(ledger, decision, Step.REFUSED, at=at, body={"outcome": denied})


def broken(ledger: Any, volume_id: str = "vol-1", *, at: datetime = NOW) -> None:
    """As many failures in a row as open the breaker of a volume, one a minute, the last at `at`."""
    for number in range(MAX_FAILURES):
        ago = timedelta(minutes=MAX_FAILURES - 1 - number)
        failed(ledger, f"{volume_id}-failure-{number}", volume_id, at=at - ago)
