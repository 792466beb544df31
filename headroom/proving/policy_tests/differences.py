"""What a test of a policy expects, and how a decision differs from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from headroom.domain.decision import Act, Decision
from headroom.domain.planning import Plan
from headroom.domain.policy import FRIENDLY, EffectiveLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The expectation; None or empty allows anything. Rates are from-to, both included."""

    answer: str | None = None
    reason: str | None = None
    to_type: str | None = None
    to_rates: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    blocked_by: tuple[str, ...] = ()
    limits: Mapping[str, object] = field(default_factory=dict)
    """Settings by the names a policy has for them, already of their fields' types."""
    price_change_at_most: Decimal | None = None
    approval: bool | None = None
    """Whether the act waits for a person."""


def differences(
    expected: Expected, effective: EffectiveLimits, decision: Decision | None
) -> Iterator[str]:
    """A sentence for each thing that is not as expected."""
    for name, value in expected.limits.items():
        found = getattr(effective.limits, FRIENDLY[name].name)
        if found != value:
            where = dict(effective.origins).get(FRIENDLY[name].name, "defaults")
            yield f"{name} is {_said(found)} (from {where}), expected {_said(value)}"
    if decision is None:
        return
    answer, kind = decision.answer, type(decision.answer).__name__.lower()
    if expected.answer not in (None, kind):
        yield f"answer is {kind} ({answer.reason.value}), expected {expected.answer}"
    if expected.reason not in (None, answer.reason.value):
        yield f"reason is {answer.reason.value}, expected {expected.reason}"
    asks = isinstance(answer, Act) and answer.approval is not None
    if expected.approval not in (None, asks):
        waits, wanted = ("waits", "that it does not") if asks else ("does not wait", "that it does")
        yield f"it {waits} for a person's approval, expected {wanted}"
    plan = chosen(decision)
    yield from _of_plan(expected, plan)
    missing = sorted(set(expected.blocked_by) - set(blocking_guardrails(decision)))
    if missing:
        found = ", ".join(blocking_guardrails(decision)) or "nothing"
        yield f"blocked by {found}, expected {', '.join(missing)} as well"


def _of_plan(expected: Expected, plan: Plan | None) -> Iterator[str]:
    wanted = expected.to_type is not None or expected.to_rates
    if plan is None:
        if wanted or expected.price_change_at_most is not None:
            yield "there is no change it would make, expected one"
        return
    target = plan.target
    if expected.to_type not in (None, target.volume_type.value):
        yield f"changes to {target}, expected {expected.to_type}"
    rates = {"size": target.size_gib, "iops": target.iops, "throughput": target.throughput_mibps}
    for key, (low, high) in expected.to_rates.items():
        rate = rates[key]
        if rate is None or not low <= rate <= high:
            span = f"{low:,}" if low == high else f"{low:,} to {high:,}"
            yield f"changes to {target}, expected {key} of {span}"
    most = expected.price_change_at_most
    if most is not None and plan.price_change_usd > most:
        yield f"costs ${plan.price_change_usd:,.2f} a month more, expected at most ${most:,.2f}"


def chosen(decision: Decision) -> Plan | None:
    """The plan that is made, or would be but for a guardrail."""
    answer = decision.answer
    return answer.plan if isinstance(answer, Act) else answer.proposed_plan


def blocking_guardrails(decision: Decision) -> tuple[str, ...]:
    """Guardrails that block its plan, or else the best plan."""
    plan = chosen(decision)
    judged = next((j for j in decision.judgements if plan in (None, j.plan)), None)
    return () if judged is None else tuple(v.guardrail.value for v in judged.blocking)


def _said(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
