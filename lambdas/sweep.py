"""Runs every minute: puts what is due and pages of the fleet on the work queue; publishes records."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from headroom import clock, wiring
from headroom.adapters.events import log_fields
from headroom.application import (
    DispatchReport,
    PublishedRecords,
    apply_alarm_plan,
    dispatch,
    notify_people,
    publish_records,
    send_digest,
)
from headroom.ports import Recorded

logger = Logger()
metrics = Metrics()
gc.freeze()
THREADS = 16
"""Claims written at once."""
OVERDUE_S = 1_800
"""A reconciliation that is due for longer shows that the workers do not keep up."""
SCANS_LATE, SHORTEST_SCAN_MIN = 3, 15
"""Scan periods after which a scan should have been followed by another one."""
FOR_PUBLISHING_S = 30.0
"""Seconds that must be left after a sweep to publish records."""
FOR_DIGEST_S = 120.0
"""Seconds that must be left to read a day of records and send the digest."""
FOR_ALARMS_S = 120.0
"""Seconds that must be left to make and remove alarms, also where AWS throttles them."""
FOR_PRICES_S = 90.0
"""Seconds that must be left after a sweep to refresh prices: three pages, two attempts each."""


@logger.inject_lambda_context
@metrics.log_metrics
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """One run. SweepCompleted is published always, all else only in trouble: a metric costs by the hour."""
    wired = wiring.begin(context.invoked_function_arn)

    def time_left() -> float:
        return context.get_remaining_time_in_millis() / 1_000

    prices, clusters = wired.account.prices, wired.account.aurora_prices
    if not prices.knows(wired.region) or (clusters is not None and not clusters.listed()):
        _refresh_prices(wired)  # a new deployment: rather start a moment later than without prices
    report = dispatch(
        wired.ports,
        wired.queue,
        clock.utc_now(),
        scan_every_s=wired.settings.scan_every_minutes * 60,
        threads=THREADS,
    )
    published = _publish(wired, time_left)
    breakers = _open_breakers(wired)
    unsent = _notify(wired, time_left) + _send_digest(wired, time_left)
    not_published = published.refused + published.abandoned
    late = _late(report, wired.settings.scan_every_minutes)
    troubles = {
        "ChangesStopped": (report.policy_unreadable is not None) + len(report.calendars_unread) + breakers,
        "FailedNotifications": unsent,
        "NotPublished": not_published,
        "FallingBehind": len(late) + bool(not_published),
    }  # fmt: skip
    counted = {
        "SweepCompleted": int(report.complete),
        **{name: value for name, value in troubles.items() if value},
    }
    for name, value in counted.items():
        metrics.add_metric(name, MetricUnit.Count, value)
    for name, seconds in late.items():
        metrics.add_metric(name, MetricUnit.Seconds, seconds)
        logger.error("the workers do not keep up", metric=name, seconds=seconds)
    if report.policy_unreadable is not None:
        logger.error("nothing is changed: %s", report.policy_unreadable)
    for problem in report.calendars_unread:
        logger.error("nothing is changed: %s", problem)
    for error in report.errors:
        logger.error("work could not be dispatched", error=error)
    swept = {
        "due": report.due,
        "dispatched": report.dispatched,
        "pages": report.pages,
        "scan_began": report.scan_began,
        **counted,
    }
    ages = {"oldest_due_s": report.oldest_due_s, "scan_age_s": report.scan_age_s}
    logger.info("dispatched", extra={**swept, **ages})
    if time_left() >= FOR_ALARMS_S:
        _apply_alarm_plan(wired)
    if time_left() >= FOR_PRICES_S:
        _refresh_prices(wired)
    return swept


def _late(report: DispatchReport, scan_every_minutes: int) -> dict[str, float]:
    """The ages in seconds that are too high, by the name of their metric."""
    allowed_s = SCANS_LATE * max(SHORTEST_SCAN_MIN, scan_every_minutes) * 60
    ages = {
        "OldestDueSeconds": (report.oldest_due_s, OVERDUE_S),
        "ScanAgeSeconds": (report.scan_age_s or 0.0, allowed_s),
    }
    return {name: age for name, (age, allowed) in ages.items() if age > allowed}


def _publish(wired: wiring.Wired, time_left: Callable[[], float]) -> PublishedRecords:
    """Publish new records; a failure here never stops or undoes a sweep."""
    if time_left() < FOR_PUBLISHING_S:
        return PublishedRecords()  # the next minute's sweep does
    try:
        now = clock.utc_now()
        published = publish_records(wired.reporting, now, time_left=time_left, log=_log_record)
    except Exception:
        logger.exception("the records could not be published; the next sweep retries")
        return PublishedRecords(refused=1)
    if published.published or published.refused or published.abandoned:
        logger.info("published records", published=published.published, refused=published.refused,
                    abandoned=published.abandoned)  # fmt: skip
    return published


def _log_record(recorded: Recorded) -> None:
    """One line for each record, which the dashboard counts."""
    logger.info("recorded", **log_fields(recorded))


def _notify(wired: wiring.Wired, time_left: Callable[[], float]) -> int:
    """Notify people of what they have not heard yet; how many messages failed, to be sent later."""
    try:
        report = notify_people(wired.reporting, clock.utc_now(), time_left=time_left)
    except Exception:
        logger.exception("people could not be notified; the next run does it")
        return 1
    if report.sent or report.failed or report.waiting:
        logger.info("notified", sent=report.sent, failed=report.failed, waiting=report.waiting)
    return report.failed


def _send_digest(wired: wiring.Wired, time_left: Callable[[], float]) -> int:
    """Send the daily digest when it is due; 1 for a failure, which is retried a minute later."""
    if time_left() < FOR_DIGEST_S:
        return 0
    try:
        day = send_digest(
            wired.reporting, clock.utc_now(), account_id=wired.account_id, region=wired.region
        )
    except Exception:
        logger.exception("the daily digest could not be sent; the next sweep retries")
        return 1
    if day is not None:
        logger.info(
            "sent the daily digest", since=day.since.isoformat(), until=day.until.isoformat()
        )
    return 0


def _apply_alarm_plan(wired: wiring.Wired) -> None:
    """Make and remove alarms on single resources; a failure here never stops or undoes a sweep."""
    try:
        report = apply_alarm_plan(
            wired.ports.work, wired.account.resource_alarms, clock.utc_now(),
            budget_usd=wired.settings.alarm_budget_usd,
        )  # fmt: skip
    except Exception:
        logger.exception("alarms on single resources could not be compared; the next run does it")
        return
    for said, names in (("made an alarm", report.made), ("removed an alarm", report.removed)):
        for name in names:
            logger.info(said, alarm=name)
    for name in report.taken:
        logger.warning("an alarm of this name is somebody else's and is left alone", alarm=name)
    if report.error is not None:
        logger.error("alarms on single resources are not as planned", error=report.error)


def _open_breakers(wired: wiring.Wired) -> int:
    """How many breakers are open, the account's included; one where that cannot be read: it must not
    end an alarm, and nothing can be changed then."""
    try:
        stop_state = wired.reporting.switches.stop_state()
    except Exception:
        logger.exception("open breakers could not be read")
        return 1
    return len(stop_state.breakers) + (stop_state.account.breaker is not None)


def _refresh_prices(wired: wiring.Wired) -> None:
    """Refresh prices once a day; a failure here never stops or undoes a sweep."""
    for prices in (wired.account.prices, wired.account.aurora_prices):
        try:
            problem = None if prices is None else prices.refresh(wired.region)
        except Exception:
            logger.exception("the prices could not be refreshed")
            continue
        if problem is not None:
            logger.warning(problem)
