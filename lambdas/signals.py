"""A worker: takes events, resources and pages of the fleet from the queue and reconciles together."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from headroom import clock, wiring
from headroom.adapters.events import signals as events
from headroom.adapters.retries import HIDDEN_S, retry_delay_s
from headroom.adapters.work import read_message
from headroom.application import APART, WorkReport, items_of_event, notify_people, read_page, work
from headroom.domain.decision import Decision
from headroom.domain.resources import RejectedSignal
from headroom.ports import ScanPage, WorkItem
from headroom.settings import Detection

logger = Logger()
metrics = Metrics()
gc.freeze()
THREADS = 16
"""Resources read and decided at once: nearly all of the time is waiting for AWS."""
PAGE_S = 60.0
"""Seconds that must be left to read a page of the fleet."""
MANY = 20
"""An alarm with more contributors than this is spread over other workers."""


@dataclass(slots=True)
class Batch:
    """What the messages of one invocation ask for, and which of them are to be delivered again."""

    items: dict[str, list[WorkItem]] = field(default_factory=dict)
    """Items by the id of their message."""
    pages: list[ScanPage] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)
    received: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Receipt handle by the id of a message, and how often it was received."""


@logger.inject_lambda_context
@metrics.log_metrics
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Handle a batch from the queue; failed messages are reported, so only they are delivered again."""
    wired = wiring.begin(context.invoked_function_arn)
    noticed = wired.account.ledger.notices_written

    def time_left() -> float:
        return context.get_remaining_time_in_millis() / 1_000

    batch = Batch()
    for record in event["Records"]:
        times = int(record.get("attributes", {}).get("ApproximateReceiveCount", 1))
        batch.received[record["messageId"]] = (record["receiptHandle"], times)
        try:
            _read(wired, batch, record)
        except Exception:
            batch.failed.add(record["messageId"])
            logger.exception("a message could not be read; the queue delivers it again")
    _wait_longer(wired, [r for r in batch.received.values() if retry_delay_s(r[1]) > HIDDEN_S])
    report = WorkReport()
    for page in batch.pages:  # first: each puts the page after it on the queue for another worker
        _page(wired, page, report, time_left)
    work(
        wired.ports, [item for items in batch.items.values() for item in items], clock.utc_now,
        time_left=time_left, threads=THREADS, report=report,
    )  # fmt: skip
    _hand_back(wired, batch, report)
    _wait_longer(wired, [batch.received[one] for one in sorted(batch.failed)])
    heard = wired.account.ledger.notices_written == noticed
    _emit(report, len(batch.failed), unsent=0 if heard else _notify(wired, time_left))
    return {"batchItemFailures": [{"itemIdentifier": one} for one in sorted(batch.failed)]}


def _read(wired: wiring.Wired, batch: Batch, record: Mapping[str, Any]) -> None:
    """Add what a message asks for; an alarm with many contributors becomes work for others."""
    body = _parsed(record["body"])
    asked = read_message(body)
    if asked is not None:
        for item in asked.items:
            if (item.ref.account_id, item.ref.region) != (wired.account_id, wired.region):
                raise ValueError(
                    f"work about {item.ref.arn}, which is of another account or Region"
                )
        batch.items[record["messageId"]] = list(asked.items)
        batch.pages += [] if asked.page is None else [asked.page]
        return
    parsed = events.parse(
        body,
        account_id=wired.account_id,
        region=wired.region,
        kinds=wiring.kinds_of(wired.settings),
    )
    if isinstance(parsed, RejectedSignal):
        _reject(wired, parsed)
        return
    items = items_of_event(wired.ports, parsed, clock.utc_now())
    if len(items) > MANY:
        wired.queue.put(items)
    else:
        batch.items[record["messageId"]] = list(items)


def _reject(wired: wiring.Wired, parsed: RejectedSignal) -> None:
    metrics.add_metric("RejectedSignals", MetricUnit.Count, 1)
    logger.warning("signal rejected", event_id=parsed.event_id, reason=parsed.reason)
    wired.ports.archive.reject(
        parsed.event_id, reason=parsed.reason, excerpt=parsed.excerpt, at=clock.utc_now()
    )


def _parsed(body: str) -> object:
    """The event in a message; a body that is not JSON stays text."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body


def _hand_back(wired: wiring.Wired, batch: Batch, report: WorkReport) -> None:
    """What is not done: later, at once, or by delivering its message again.

    A failed item of a message with several goes back alone, so that it does not repeat the others; also where
    another message asked for it alone, because it holds the events of both.
    """
    others = []
    for item in report.unanswered:
        mine = [m for m, items in batch.items.items() if _asks_for(items, item)]
        single = [m for m in mine if len(batch.items[m]) == 1]
        batch.failed |= set(single)
        others += [] if mine and single == mine else [item]
    apart_s = int(APART.total_seconds())
    for items, delay_s in (
        (report.busy, apart_s), (report.postponed, 0), *(([item], 0) for item in others),
    ):  # fmt: skip
        try:
            wired.queue.put(items, delay_s=delay_s)
        except Exception:
            logger.exception("work could not be put back; the queue delivers its messages again")
            batch.failed |= {
                m for m, mine in batch.items.items() if any(_asks_for(mine, i) for i in items)
            }


def _wait_longer(wired: wiring.Wired, received: Sequence[tuple[str, int]]) -> None:
    """Delay the next delivery of messages, longer each time: of failed ones, and at first of any that failed often.

    A worker that dies has delayed the latter already, so that a day goes by until they are parked.
    """
    if not received:
        return
    try:
        wired.queue.retry_later(dict(received))
    except Exception:  # they come again after the queue's visibility time-out
        logger.exception("the retry of failed messages could not be delayed")


def _asks_for(items: Sequence[WorkItem], item: WorkItem) -> bool:
    return any(each.ref == item.ref for each in items)


def _page(
    wired: wiring.Wired, page: ScanPage, report: WorkReport, time_left: Callable[[], float]
) -> None:
    """Read a page of the fleet; one that fails is put on the queue again when its claim expires."""
    try:
        if time_left() < PAGE_S:
            wired.queue.put_pages([page])
            return
        every = timedelta(minutes=wired.settings.scan_every_minutes)
        found = read_page(
            wired.ports, wired.queue, page, clock.utc_now, every_s=int(every.total_seconds()),
            threads=THREADS, adaptive=wired.settings.detection is Detection.ADAPTIVE,
            alarm_budget_usd=wired.settings.alarm_budget_usd,
        )  # fmt: skip
        logger.info(
            "read a page of the fleet", kind=page.kind, number=page.number, scanned=found.scanned,
            suspects=len(found.put), left=found.left,
        )  # fmt: skip
    except Exception as error:
        report.fail(f"page {page.number} of the fleet ({page.kind})", error)


def _notify(wired: wiring.Wired, time_left: Callable[[], float]) -> int:
    """Notify people at once of what was recorded here; the dispatcher does what is left."""
    try:
        return notify_people(wired.reporting, clock.utc_now(), time_left=time_left).failed
    except Exception:
        logger.exception("people could not be notified; the dispatcher does it")
        return 1


def _emit(report: WorkReport, messages_failed: int, *, unsent: int) -> None:
    for decision in report.decisions:
        _log_decision(decision)
    for error in report.errors:
        logger.error("a resource could not be reconciled", error=error)
    counted = {"FailedReconciliations": report.failed, "FailedNotifications": unsent}
    for name, value in counted.items():
        if value:  # a metric costs by the hour: published where it says something
            metrics.add_metric(name, MetricUnit.Count, value)
    logger.info(
        "worked", reconciled=report.reconciled, coalesced=report.coalesced, busy=len(report.busy),
        postponed=len(report.postponed), failed=report.failed, messages_failed=messages_failed,
    )  # fmt: skip


def _log_decision(decision: Decision) -> None:
    answer = type(decision.answer).__name__
    logger.info(
        decision.summary,
        decision_id=decision.decision_id,
        resource=decision.observation.volume.ref.arn,
        answer=answer,
        reason=decision.answer.reason.value,
        binding=decision.diagnosis.binding.value,
        starved_minutes=decision.demand.pressed_minutes,
    )
