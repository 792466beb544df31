"""Tells people through an SNS topic, in words they can act on."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, assert_never

from headroom.domain.decision import Act, Decision, Escalate, Hold
from headroom.domain.plans import Plan
from headroom.domain.records import Step

if TYPE_CHECKING:
    from mypy_boto3_sns import SNSClient

SUBJECT = 100
"""Characters of a subject; ASCII, no line breaks. Source: SNS API reference, Publish (2026-09)."""
_HEADLINES = {
    Step.APPLIED: "changing {volume} to {target}",
    Step.RELIEVED: "{volume} is free of pressure",
    Step.INEFFECTIVE: "{volume} is not free of pressure",
    Step.DIVERGED: "{volume} was changed by somebody else",
    Step.FAILED: "AWS failed to change {volume}",
    Step.REFUSED: "AWS refused to change {volume}",
    Step.BREAKER_OPENED: "stopped after repeated failures, the last of {volume}",
    Step.UNKNOWN: "no clear answer from AWS on {volume}",
}
_log = logging.getLogger(__name__)


class TopicNotifier:
    """Publishes to one topic; `untold` counts the messages that could not be sent."""

    def __init__(self, client: SNSClient, *, topic_arn: str) -> None:
        self._client = client
        self._topic_arn = topic_arn
        self.untold = 0

    def tell(self, decision: Decision, step: Step, summary: str) -> None:
        """Send one message; never raises (a failure is counted), and says nothing of a Hold."""
        if isinstance(decision.answer, Hold):
            return
        try:
            self._client.publish(
                TopicArn=self._topic_arn,
                Subject=subject(decision, step),
                Message=message(decision, summary),
            )
        except Exception as error:  # the record is what counts; telling must not undo the doing
            self.untold += 1
            _log.warning("could not tell of decision %s: %s", decision.decision_id, error)


def subject(decision: Decision, step: Step) -> str:
    """One line of at most 100 ASCII characters: what happened to which volume."""
    volume = decision.observation.volume.ref.resource_id
    plan = _plan(decision)
    headline = _HEADLINES.get(step, "{volume} needs you")
    if isinstance(decision.answer, Escalate):
        headline = "{volume} needs you"
    line = headline.format(volume=volume, target="" if plan is None else plan.target)
    text = f"Headroom: {line}".encode("ascii", "replace").decode()
    return "".join(c if c.isprintable() else " " for c in text)[:SUBJECT]


def message(decision: Decision, summary: str) -> str:
    """What happened, why, what it costs, what the owner can do, and where the proof is."""
    ref = decision.observation.volume.ref
    lines = [summary, "", f"Volume: {ref.resource_id} ({ref.region}, account {ref.account_id})"]
    name = decision.observation.volume.tag("Name")
    if name:
        lines.append(f"Name: {name}")
    if decision.summary != summary:
        lines.append(f"Why: {decision.summary}")
    lines.append(f"Limit that binds: {decision.diagnosis.explanation}")
    plan = _plan(decision)
    if plan is not None:
        taken = "Change" if isinstance(decision.answer, Act) else "Change it would have taken"
        lines.append(f"{taken}: {plan.origin} -> {plan.target}")
        lines.append(
            f"Price: {plan.price_change_usd:+,.2f} USD a month, {plan.monthly_usd:,.2f} in all"
        )
    if isinstance(decision.answer, Escalate):
        lines += [f"Cause: {decision.answer.cause}", f"What to do: {decision.answer.remedy}"]
    lines += ["", f"Decision: {decision.decision_id}"]
    lines.append(f"Proof: headroom explain {decision.decision_id}")
    return "\n".join(lines)


def _plan(decision: Decision) -> Plan | None:
    match decision.answer:
        case Act(plan=plan):
            return plan
        case Hold(would_take=plan) | Escalate(would_take=plan):
            return plan
        case _:
            assert_never(decision.answer)
