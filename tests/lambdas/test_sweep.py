"""The function behind the schedule: it finds by itself what no event reported."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from headroom import wiring
from headroom.adapters.cloudwatch import CloudWatchMetrics
from headroom.adapters.prices import PriceList
from headroom.adapters.prices import table as prices
from headroom.domain.catalog import PriceTable
from headroom.domain.detection import Trouble
from headroom.domain.resources import PriceUnknown
from headroom.ports import ReadFailed
from tests.builders import NOW, ref
from tests.lambdas.conftest import ARN, Context, Deployment, emitted

Sweep = Callable[..., dict[str, Any]]
Capture = pytest.CaptureFixture[str]


def test_without_any_event_a_starving_volume_is_relieved(
    deployment: Deployment, sweep: Sweep, capsys: Capture
) -> None:
    volume = deployment.volume()
    deployment.starve(volume)
    sweep()
    assert deployment.iops_of(volume) > 3000
    assert deployment.steps() == ["applied", "decided", "intended"]
    metrics = emitted(capsys.readouterr().out)
    assert metrics == {"SweepCompleted": 1}, (
        "a metric costs by the hour: the others only in trouble"
    )


def test_a_quiet_account_is_swept_without_a_record(
    deployment: Deployment, sweep: Sweep, capsys: Capture
) -> None:
    deployment.volume()
    sweep()
    assert deployment.steps() == []
    assert emitted(capsys.readouterr().out)["SweepCompleted"] == 1


def test_the_fleet_is_scanned_once_per_period(deployment: Deployment, sweep: Sweep) -> None:
    assert sweep()["scan_began"]
    assert not sweep()["scan_began"]
    deployment.set_clock(NOW + timedelta(minutes=14))
    assert not sweep()["scan_began"]
    deployment.set_clock(NOW + timedelta(minutes=15))
    assert sweep()["scan_began"]


def test_with_adaptive_detection_a_starving_volume_is_relieved_and_its_glance_is_planned(
    deployment: Deployment, sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADROOM_DETECTION", "adaptive")
    context = Context(invoked_function_arn=f"{ARN}-adaptive")
    starving, calm = deployment.volume(), deployment.volume()
    deployment.starve(starving)
    sweep(context)
    assert deployment.iops_of(starving) > 3000
    assert deployment.iops_of(calm) == 3000
    work = wiring.begin(context.invoked_function_arn).ports.work
    refs = [ref(starving), ref(calm)]
    first, second = (work.glanced(refs)[one.arn].state for one in refs)
    assert first is not None
    assert second is not None
    assert (first.troubles, second.troubles) == ((Trouble.IOPS, Trouble.QUEUE), ())
    assert first.next_at == NOW + timedelta(minutes=5)
    assert second.silent == 1, "nothing is published of it"


def test_an_unreadable_policy_is_counted_and_changes_nothing(
    deployment: Deployment, sweep: Sweep, capsys: Capture
) -> None:
    volume = deployment.volume()
    deployment.starve(volume)
    deployment.publish_policy("{")
    sweep()
    assert deployment.iops_of(volume) == 3000
    assert emitted(capsys.readouterr().out)["ChangesStopped"] == 1


def test_the_age_of_the_last_complete_scan_is_published_when_it_is_too_old(
    deployment: Deployment, sweep: Sweep, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ReadFailed("GetMetricData: Throttling")

    monkeypatch.setattr(CloudWatchMetrics, "glance", fail)
    deployment.volume()
    published = []
    for minute in (0, 15, 45, 46):
        deployment.set_clock(NOW + timedelta(minutes=minute))
        sweep()
        found = emitted(capsys.readouterr().out)
        published.append((found.get("ScanAgeSeconds"), found.get("FallingBehind")))
    assert published == [(None, None), (None, None), (None, None), (2_760, 1)]


def test_a_scan_that_could_not_read_the_fleet_grows_old_and_goes_on_when_it_can(
    deployment: Deployment, sweep: Sweep, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = deployment.volume()
    deployment.starve(volume)

    def fail(*_: object) -> None:
        raise ReadFailed("GetMetricData: Throttling")

    with monkeypatch.context() as broken:
        broken.setattr(CloudWatchMetrics, "glance", fail)
        assert sweep()["scan_began"]
    assert emitted(capsys.readouterr().out)["FailedReconciliations"] == 1
    deployment.set_clock(NOW + timedelta(minutes=4))
    assert sweep()["pages"] == 0, "somebody may still be reading it"
    capsys.readouterr()
    deployment.set_clock(NOW + timedelta(minutes=6))
    assert not (swept := sweep())["scan_began"]
    assert swept["pages"] == 1
    assert deployment.iops_of(volume) > 3000


def test_a_message_that_could_not_be_sent_is_counted_and_the_change_is_made(
    deployment: Deployment, sweep: Sweep, capsys: Capture
) -> None:
    volume = deployment.volume()
    deployment.starve(volume)
    deployment.client("sns").delete_topic(TopicArn=deployment.settings.topic_arn)
    sweep()
    assert deployment.iops_of(volume) > 3000
    assert emitted(capsys.readouterr().out)["FailedNotifications"] == 1


def test_the_sweep_reads_the_price_list_and_what_is_decided_then_says_so(
    deployment: Deployment, sweep: Sweep
) -> None:
    context = Context(invoked_function_arn=f"{ARN}-prices")
    sweep(context)
    assert deployment.listed.calls, "asked once everything else was done"
    volume = deployment.volume()
    deployment.starve(volume)
    deployment.set_clock(NOW + timedelta(minutes=15))
    sweep(context)
    assert len(deployment.listed.calls) == 4, "and not again on the same day"
    ports = wiring.begin(context.invoked_function_arn).ports
    (record, *_) = ports.archive.by_time(since=NOW, until=NOW + timedelta(hours=1))
    decision = ports.ledger.decision(record.decision_id)
    assert decision.price_source == "price list, 2026-11-18"


@pytest.mark.parametrize("fault", ["AccessDeniedException", None])
def test_a_price_list_that_fails_is_reported_in_the_log_and_undoes_nothing(
    deployment: Deployment,
    sweep: Sweep,
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
    sweep(context)
    assert deployment.iops_of(volume) > 3000
    metrics = emitted(capsys.readouterr().out)
    assert metrics == {"SweepCompleted": 1}
    (logged,) = [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]
    assert (fault or "ZeroDivisionError") in f"{logged.getMessage()} {logged.exc_info}"


def test_without_time_left_for_it_prices_wait(
    deployment: Deployment, sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Context, "get_remaining_time_in_millis", lambda _: 60_000)
    sweep(Context(invoked_function_arn=f"{ARN}-late"))
    assert deployment.listed.calls == []


def test_where_no_price_is_known_the_list_is_read_before_anything_is_decided(
    deployment: Deployment, sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(region: str) -> PriceTable:
        raise PriceUnknown(region)

    monkeypatch.setattr(prices, "catalogue_prices", unknown)
    volume = deployment.volume()
    deployment.starve(volume)
    sweep(Context(invoked_function_arn=f"{ARN}-elsewhere"))
    assert deployment.iops_of(volume) > 3000
