"""Runs every minute: what is due, and every scan period the whole fleet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from headroom import wiring
from headroom.application import PublishedRecords, publish_records, send_digest, sweep

logger = Logger()
metrics = Metrics()
FOR_TELLING_S = 30.0
"""Seconds that must be left after a sweep to tell others of the record."""
FOR_THE_DAY_S = 120.0
"""Seconds that must be left to read a day from the record and tell it."""
FOR_PRICES_S = 90.0
"""Seconds that must be left after a sweep to read prices anew: three pages, each tried twice."""


@logger.inject_lambda_context
@metrics.log_metrics
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """One sweep; alarms watch that SweepCompleted and ScanCompleted keep coming."""
    wired = wiring.begin(context.invoked_function_arn)

    def time_left() -> float:
        return context.get_remaining_time_in_millis() / 1_000

    prices, clusters = wired.account.prices, wired.account.aurora_prices
    if not prices.knows(wired.region) or (clusters is not None and not clusters.listed()):
        _refresh_prices(wired)  # a new deployment: better a moment later than without any price
    report = sweep(
        wired.ports,
        wiring.utc_now(),
        scan_every_s=wired.settings.scan_every_minutes * 60,
        time_left=time_left,
        clock=wiring.utc_now,
    )
    told_others = _tell_others(wired, time_left)
    counted = {
        "SweepCompleted": int(report.complete),
        "ScanCompleted": int(report.scan_ran and report.scan_complete),
        "PolicyUnreadable": int(report.policy_unreadable is not None),
        "Acts": report.acted,
        "Holds": report.held,
        "Escalations": report.escalated,
        "FailedLooks": report.failed,
        "Scanned": report.scanned,
        "NotTold": wired.notifier.untold,
        "NotPublished": told_others.refused + told_others.abandoned,
    }
    breakers = _open_breakers(wired)
    if breakers is not None:  # what is not known must not end an alarm
        counted |= {"OpenBreakers": breakers}
    if report.calendars_unread:  # a metric that nobody's policy needs would cost everybody
        counted["CalendarUnreadable"] = len(report.calendars_unread)
    for name, value in counted.items():
        metrics.add_metric(name, MetricUnit.Count, value)
    metrics.add_metric("OldestDueSeconds", MetricUnit.Seconds, report.oldest_due_s)
    if report.policy_unreadable is not None:
        logger.error("nothing is changed: %s", report.policy_unreadable)
    for problem in report.calendars_unread:
        logger.error("nothing is changed: %s", problem)
    for error in report.errors:
        logger.error("a volume could not be looked at", error=error)
    told = {
        "due": report.due,
        "reconciled": report.reconciled,
        "scan_ran": report.scan_ran,
        **counted,
    }
    logger.info("swept", extra=told)
    if time_left() >= FOR_PRICES_S:
        _refresh_prices(wired)
    return told


def _tell_others(wired: wiring.Wired, time_left: Callable[[], float]) -> PublishedRecords:
    """Tell what is new in the record; nothing about telling may stop or undo a sweep."""
    if time_left() < FOR_TELLING_S:
        return PublishedRecords()  # the next minute's sweep does
    try:
        now = wiring.utc_now()
        told = publish_records(wired.reporting, now, time_left=time_left)
    except Exception:
        logger.exception("the record could not be told to others; it is tried again")
        return PublishedRecords(refused=1)
    _tell_day(wired, time_left)
    if told.published or told.announced or told.refused or told.abandoned:
        logger.info("told others", published=told.published, announced=told.announced,
                    refused=told.refused, abandoned=told.abandoned)  # fmt: skip
    return told


def _tell_day(wired: wiring.Wired, time_left: Callable[[], float]) -> None:
    """The one message a day, if it is time for it; what fails is tried again a minute later."""
    if time_left() < FOR_THE_DAY_S:
        return
    try:
        day = send_digest(
            wired.reporting, wiring.utc_now(), account_id=wired.account_id, region=wired.region
        )
    except Exception:
        wired.notifier.untold += 1
        logger.exception("the day could not be told; it is tried again")
        return
    if day is not None:
        logger.info("told the day", since=day.since.isoformat(), until=day.until.isoformat())


def _open_breakers(wired: wiring.Wired) -> int | None:
    """How many breakers are open, the account's included; None where that cannot be read."""
    try:
        stop_state = wired.reporting.switches.stop_state()
    except Exception:
        logger.exception("open breakers could not be read")
        return None
    return len(stop_state.breakers) + (stop_state.account.breaker is not None)


def _refresh_prices(wired: wiring.Wired) -> None:
    """Once a day; nothing about prices may stop or undo a sweep."""
    for prices in (wired.account.prices, wired.account.aurora_prices):
        try:
            problem = None if prices is None else prices.refresh(wired.region)
        except Exception:
            logger.exception("the prices could not be read anew")
            continue
        if problem is not None:
            logger.warning(problem)
