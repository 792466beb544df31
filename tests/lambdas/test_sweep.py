"""The function behind the schedule: it finds by itself what no event told of."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from types import ModuleType
from typing import Any

import pytest

from headroom import application, wiring
from headroom.adapters.cloudwatch import CloudWatchMetrics
from headroom.adapters.prices import PriceList
from headroom.adapters.prices import table as prices
from headroom.domain.catalog import PriceTable
from headroom.domain.resources import PriceUnknown
from headroom.ports import Ports, ReadFailed
from tests.builders import NOW
from tests.lambdas.conftest import ARN, Context, Deployment, emitted

Function = Callable[[str], ModuleType]
Capture = pytest.CaptureFixture[str]


def test_without_any_event_a_starving_volume_is_relieved(
    deployment: Deployment, function: Function, capsys: Capture
) -> None:
    volume = deployment.volume()
    deployment.starve(volume)
    function("sweep").handler({}, Context())
    assert deployment.iops_of(volume) > 3000
    assert deployment.steps() == ["applied", "decided", "intended"]
    told = emitted(capsys.readouterr().out)
    assert told["SweepCompleted"] == 1
    assert told["PolicyUnreadable"] == 0
    assert told["Acts"] == 1
    assert told["FailedReconciliations"] == 0
    assert told["FailedNotifications"] == 0


def test_what_a_sweep_decides_late_is_dated_by_the_clock_of_then(
    deployment: Deployment, function: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployment.starve(deployment.volume())
    clock = [NOW]
    monkeypatch.setattr(wiring, "utc_now", lambda: clock[-1])
    swept, late = application.sweep, NOW + timedelta(seconds=50)

    def slow(ports: Ports, now: datetime, **how: Any) -> application.SweepReport:
        clock.append(late)
        return swept(ports, now, **how)

    monkeypatch.setattr(application, "sweep", slow)
    function("sweep").handler({}, Context())
    archive = wiring.begin(ARN).ports.archive
    records = archive.by_time(since=NOW - timedelta(hours=1), until=NOW + timedelta(hours=1))
    assert {r.at for r in records if r.sequence == 0} == {late}


def test_a_quiet_account_is_swept_without_a_record(
    deployment: Deployment, function: Function, capsys: Capture
) -> None:
    deployment.volume()
    function("sweep").handler({}, Context())
    assert deployment.steps() == []
    assert emitted(capsys.readouterr().out)["SweepCompleted"] == 1


def test_the_fleet_is_scanned_once_per_period(deployment: Deployment, function: Function) -> None:
    handler = function("sweep").handler
    assert handler({}, Context())["scan_ran"]
    assert not handler({}, Context())["scan_ran"]
    deployment.set_clock(NOW + timedelta(minutes=14))
    assert not handler({}, Context())["scan_ran"]
    deployment.set_clock(NOW + timedelta(minutes=15))
    assert handler({}, Context())["scan_ran"]


def test_an_unreadable_policy_is_counted_and_changes_nothing(
    deployment: Deployment, function: Function, capsys: Capture
) -> None:
    volume = deployment.volume()
    deployment.starve(volume)
    deployment.publish_policy("{")
    function("sweep").handler({}, Context())
    assert deployment.iops_of(volume) == 3000
    assert emitted(capsys.readouterr().out)["PolicyUnreadable"] == 1


def test_a_scan_that_reached_every_volume_is_counted_and_a_minute_without_one_is_not(
    deployment: Deployment, function: Function, capsys: Capture
) -> None:
    handler = function("sweep").handler
    told = []
    for minute in (0, 1, 15):
        deployment.set_clock(NOW + timedelta(minutes=minute))
        handler({}, Context())
        told.append(emitted(capsys.readouterr().out)["ScanCompleted"])
    assert told == [1, 0, 1]


def test_a_scan_that_could_not_read_the_fleet_is_not_counted_as_complete(
    deployment: Deployment,
    function: Function,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deployment.volume()

    def fail(*_: object) -> None:
        raise ReadFailed("GetMetricData: Throttling")

    monkeypatch.setattr(CloudWatchMetrics, "glance", fail)
    assert function("sweep").handler({}, Context())["scan_ran"]
    told = emitted(capsys.readouterr().out)
    assert (told["ScanCompleted"], told["FailedReconciliations"]) == (0, 1)


def test_what_nobody_could_be_told_is_counted_and_the_change_is_made_all_the_same(
    deployment: Deployment, function: Function, capsys: Capture
) -> None:
    volume = deployment.volume()
    deployment.starve(volume)
    deployment.client("sns").delete_topic(TopicArn=deployment.settings.topic_arn)
    function("sweep").handler({}, Context())
    assert deployment.iops_of(volume) > 3000
    assert emitted(capsys.readouterr().out)["FailedNotifications"] == 1


def test_a_sweep_without_time_left_says_that_it_did_not_complete(
    deployment: Deployment, function: Function, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = deployment.volume()
    deployment.starve(volume)
    monkeypatch.setattr(Context, "get_remaining_time_in_millis", lambda _: 1_000)
    function("sweep").handler({}, Context())
    assert deployment.iops_of(volume) == 3000
    assert emitted(capsys.readouterr().out)["SweepCompleted"] == 0


def test_the_sweep_reads_the_price_list_and_what_is_decided_then_says_so(
    deployment: Deployment, function: Function
) -> None:
    context = Context(invoked_function_arn=f"{ARN}-prices")
    handler = function("sweep").handler
    handler({}, context)
    assert deployment.listed.calls, "asked once everything else was done"
    volume = deployment.volume()
    deployment.starve(volume)
    deployment.set_clock(NOW + timedelta(minutes=15))
    handler({}, context)
    assert len(deployment.listed.calls) == 4, "and not again on the same day"
    ports = wiring.begin(context.invoked_function_arn).ports
    (record, *_) = ports.archive.by_time(since=NOW, until=NOW + timedelta(hours=1))
    decision = ports.ledger.decision(record.decision_id)
    assert decision.price_source == "price list, 2026-11-18"


@pytest.mark.parametrize("fault", ["AccessDeniedException", None])
def test_a_price_list_that_fails_is_told_in_the_log_and_undoes_nothing(
    deployment: Deployment,
    function: Function,
    capsys: Capture,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    fault: str | None,
) -> None:
    volume = deployment.volume()
    deployment.starve(volume)
    deployment.listed.fails = fault
    if fault is None:  # what nobody thought of
        monkeypatch.setattr(PriceList, "read", lambda *_: 1 / 0)
    context = Context(invoked_function_arn=f"{ARN}-no-prices-{fault}")
    assert function("sweep").handler({}, context)["Acts"] == 1
    assert deployment.iops_of(volume) > 3000
    assert emitted(capsys.readouterr().out)["SweepCompleted"] == 1
    (told,) = [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]
    assert (fault or "ZeroDivisionError") in f"{told.getMessage()} {told.exc_info}"


def test_without_time_left_for_it_prices_wait(
    deployment: Deployment, function: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Context, "get_remaining_time_in_millis", lambda _: 60_000)
    function("sweep").handler({}, Context(invoked_function_arn=f"{ARN}-late"))
    assert deployment.listed.calls == []


def test_where_no_price_is_known_the_list_is_read_before_anything_is_decided(
    deployment: Deployment, function: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(region: str) -> PriceTable:
        raise PriceUnknown(region)

    monkeypatch.setattr(prices, "catalogue_prices", unknown)
    volume = deployment.volume()
    deployment.starve(volume)
    function("sweep").handler({}, Context(invoked_function_arn=f"{ARN}-elsewhere"))
    assert deployment.iops_of(volume) > 3000
