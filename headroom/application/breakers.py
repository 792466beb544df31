"""People are told when a circuit breaker opens: from then on only they can let it go on."""

from __future__ import annotations

from datetime import datetime

from headroom.domain.decision import Decision
from headroom.domain.resources import Kind
from headroom.domain.state import FAILURE_STEPS, Step
from headroom.ports import Ports


def notify_if_opened(ports: Ports, decision: Decision, step: Step, at: datetime) -> None:
    """Tell of a breaker that `step`, recorded at `at`, opened; say nothing if it opened none."""
    if step not in FAILURE_STEPS:
        return
    ref = decision.observation.volume.ref
    seen = ports.state_store.resource_state(ref, at)
    name = ref.resource_id if ref.kind is Kind.EBS else ref.arn
    if seen.breaker_opened_at == at:
        ports.notifier.tell(
            decision, Step.BREAKER_OPENED,
            f"{seen.failures_in_a_row} changes of {ref.resource_id} in a row failed; it is left "
            "alone until somebody has found out why and runs "
            f"`headroom breaker close {name} --region {ref.region}`",
        )  # fmt: skip
    if seen.account_breaker_opened_at == at:
        ports.notifier.tell(
            decision, Step.BREAKER_OPENED,
            f"one change after another failed in account {ref.account_id}, {ref.region}: nothing "
            "is changed there any more until somebody has found out why and runs "
            f"`headroom breaker close --account --region {ref.region}`",
        )  # fmt: skip
