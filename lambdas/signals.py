"""Takes events from the queue: each is handled, or rejected with a record."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from headroom import wiring
from headroom.adapters.events import signals as events
from headroom.application import remediate
from headroom.domain.decision import Decision
from headroom.domain.resources import RejectedSignal

logger = Logger()
metrics = Metrics()
RESERVE_S = 30.0
"""Below this time left, no further event is begun: a reconciliation with a change takes a few seconds,
and a function stopped during a change leaves its outcome unknown."""
COUNTED = {"Act": "Acts", "Hold": "Holds", "Escalate": "Escalations"}


@logger.inject_lambda_context
@metrics.log_metrics
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Handle a batch from the queue; failed items are reported, so only they are delivered again.

    Source: Lambda Developer Guide, "Handling errors for an SQS event source" (checked 2026-11).
    """
    wired = wiring.begin(context.invoked_function_arn)

    def time_left() -> float:
        return context.get_remaining_time_in_millis() / 1_000

    again = [
        {"itemIdentifier": message["messageId"]}
        for message in event["Records"]
        if not _handled(wired, message["body"], time_left)
    ]
    if wired.notifier.unsent:
        metrics.add_metric("FailedNotifications", MetricUnit.Count, wired.notifier.unsent)
    return {"batchItemFailures": again}


def _handled(wired: wiring.Wired, body: str, time_left: Callable[[], float]) -> bool:
    """Whether the event was handled; if not, the queue delivers it again."""
    if time_left() < RESERVE_S:
        metrics.add_metric("PostponedSignals", MetricUnit.Count, 1)
        return False
    try:
        _follow(wired, body, time_left)
    except Exception:
        metrics.add_metric("FailedSignals", MetricUnit.Count, 1)
        logger.exception("an event could not be handled; the queue delivers it again")
        return False
    return True


def _follow(wired: wiring.Wired, body: str, time_left: Callable[[], float]) -> None:
    now = wiring.utc_now()
    parsed = events.parse(
        _event(body),
        account_id=wired.account_id,
        region=wired.region,
        kinds=wiring.kinds_of(wired.settings),
    )
    metrics.add_metric("Signals", MetricUnit.Count, 1)
    if isinstance(parsed, RejectedSignal):
        metrics.add_metric("RejectedSignals", MetricUnit.Count, 1)
        logger.warning("signal rejected", event_id=parsed.event_id, reason=parsed.reason)
        wired.ports.archive.reject(
            parsed.event_id, reason=parsed.reason, excerpt=parsed.excerpt, at=now
        )
        return
    for signal in parsed:
        for decision in remediate(wired.ports, signal, now, time_left=time_left):
            _emit(decision)


def _event(body: str) -> object:
    """The event in a message; a body that is not JSON stays text."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body


def _emit(decision: Decision) -> None:
    answer = type(decision.answer).__name__
    metrics.add_metric(COUNTED[answer], MetricUnit.Count, 1)
    logger.info(
        decision.summary,
        decision_id=decision.decision_id,
        resource=decision.observation.volume.ref.arn,
        answer=answer,
        reason=decision.answer.reason.value,
    )
