"""Alarms on single resources: planned by scans, made and removed by any number of dispatchers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from headroom.application import apply_alarm_plan
from headroom.application.alarms import AlarmsReport, plan_alarms
from headroom.domain.detection import AlarmPlan, Metric, ResourceAlarm
from headroom.domain.resources import Kind
from headroom.ports import ExistingAlarms, ReadFailed
from headroom.proving.memory import InMemoryLedger
from tests.builders import ACCOUNT, NOW, REGION
from tests.domain.detection.test_resource_alarms import candidate

HOUR = timedelta(hours=1)


@dataclass
class Alarms:
    """Those of an account, in memory; `fails` names those that cannot be made."""

    held: dict[str, ResourceAlarm | None] = field(default_factory=dict)
    others: frozenset[str] = frozenset()
    fails: frozenset[str] = frozenset()
    stuck: bool = False
    """Whether none can be removed."""
    listed: int = 0

    def name(self, alarm: ResourceAlarm) -> str:
        return f"x-{alarm.resource_id}"

    def existing(self) -> ExistingAlarms:
        self.listed += 1
        return ExistingAlarms(made=dict(self.held), others=self.others)

    def put(self, alarm: ResourceAlarm) -> None:
        if self.name(alarm) in self.fails:
            raise ReadFailed("PutMetricAlarm: LimitExceeded")
        self.held[self.name(alarm)] = alarm

    def remove(self, names: Sequence[str]) -> None:
        if self.stuck:
            raise ReadFailed("DeleteAlarms: AccessDenied")
        for name in names:
            self.held.pop(name, None)


@pytest.fixture
def ledger() -> InMemoryLedger:
    return InMemoryLedger(account_id=ACCOUNT, region=REGION)


def plan(ledger: InMemoryLedger, *scores: float, budget_usd: float = 9.0) -> AlarmPlan:
    seen = [candidate(f"vol-{number:02}", score) for number, score in enumerate(scores)]
    return plan_alarms(ledger, seen, NOW, budget_usd=budget_usd, scanned=None)


def test_planned_alarms_are_made_at_once_and_kept_without_reading_anything(
    ledger: InMemoryLedger,
) -> None:
    alarms = Alarms()
    plan(ledger, 1.0, 0.0)
    report = apply_alarm_plan(ledger, alarms, NOW, budget_usd=9)
    assert (report.made, report.removed, report.error) == (["x-vol-00"], [], None)
    assert set(alarms.held) == {"x-vol-00"}
    for minute in range(1, 60):
        apply_alarm_plan(ledger, alarms, NOW + timedelta(minutes=minute), budget_usd=9)
    assert alarms.listed == 1


def test_an_alarm_of_what_calmed_and_one_that_is_in_no_plan_are_removed(
    ledger: InMemoryLedger,
) -> None:
    alarms = Alarms(held={"x-vol-gone": None})
    plan(ledger, 1.0, 1.0)
    assert apply_alarm_plan(ledger, alarms, NOW, budget_usd=9).removed == ["x-vol-gone"]
    plan(ledger, 0.0, 1.0)
    report = apply_alarm_plan(ledger, alarms, NOW, budget_usd=9)
    assert (report.made, report.removed) == ([], ["x-vol-00"])
    assert set(alarms.held) == {"x-vol-01"}


def test_what_somebody_removed_or_changed_is_as_planned_within_the_hour(
    ledger: InMemoryLedger,
) -> None:
    alarms = Alarms()
    planned = plan(ledger, 1.0, 1.0)
    apply_alarm_plan(ledger, alarms, NOW, budget_usd=9)
    first, second = (one.alarm for one in planned.watched)
    alarms.held = {"x-vol-00": replace(first, threshold=7.0), "x-orphan": None}
    report = apply_alarm_plan(ledger, alarms, NOW + HOUR, budget_usd=9)
    assert report.made == ["x-vol-00", "x-vol-01"]
    assert alarms.held == {"x-vol-00": first, "x-vol-01": second}


def test_many_are_made_over_several_runs(ledger: InMemoryLedger) -> None:
    alarms = Alarms()
    plan(ledger, *[1.0] * 7)
    reports = [apply_alarm_plan(ledger, alarms, NOW, budget_usd=9) for _ in range(4)]
    assert [len(report.made) for report in reports] == [3, 3, 1, 0]
    assert [report.left for report in reports] == [4, 1, 0, 0]


def test_a_name_that_is_taken_is_left_alone_reported_and_not_tried_every_minute(
    ledger: InMemoryLedger,
) -> None:
    alarms = Alarms(others=frozenset({"x-vol-00", "x-vol-99"}))
    plan(ledger, 1.0, 1.0)
    report = apply_alarm_plan(ledger, alarms, NOW, budget_usd=9)
    assert (report.taken, report.made, report.error) == (["x-vol-00"], ["x-vol-01"], None)
    apply_alarm_plan(ledger, alarms, NOW + timedelta(minutes=59), budget_usd=9)
    assert alarms.listed == 1
    assert apply_alarm_plan(ledger, alarms, NOW + HOUR, budget_usd=9).taken == ["x-vol-00"]
    apply_alarm_plan(ledger, alarms, NOW, budget_usd=0)
    assert alarms.held == {}


def test_what_cannot_be_made_stops_no_other_and_is_tried_again_after_ten_minutes(
    ledger: InMemoryLedger,
) -> None:
    alarms = Alarms(fails=frozenset({"x-vol-01"}))
    plan(ledger, 1.0, 1.0, 1.0)
    report = apply_alarm_plan(ledger, alarms, NOW, budget_usd=9)
    assert (report.made, report.error) == (
        ["x-vol-00", "x-vol-02"],
        "PutMetricAlarm: LimitExceeded",
    )
    alarms.fails = frozenset()
    for minute in range(10):
        later = NOW + timedelta(minutes=minute)
        assert apply_alarm_plan(ledger, alarms, later, budget_usd=9) == AlarmsReport()
    assert alarms.listed == 1
    later = NOW + timedelta(minutes=10)
    assert apply_alarm_plan(ledger, alarms, later, budget_usd=9).made == ["x-vol-01"]
    assert apply_alarm_plan(ledger, alarms, later + timedelta(minutes=59), budget_usd=9).made == []
    assert alarms.listed == 2, "all is as planned"


def test_nothing_is_made_beside_what_cannot_be_removed(ledger: InMemoryLedger) -> None:
    """Else the alarms would cost more than their budget."""
    alarms = Alarms(held={"x-vol-gone": None}, stuck=True)
    plan(ledger, 1.0)
    report = apply_alarm_plan(ledger, alarms, NOW, budget_usd=9)
    assert (report.made, report.removed) == ([], [])
    assert report.error == "DeleteAlarms: AccessDenied"
    assert set(alarms.held) == {"x-vol-gone"}


def test_a_dispatcher_that_read_an_older_plan_is_put_right_by_the_next(
    ledger: InMemoryLedger,
) -> None:
    """One reads the plan and stalls; another applies a newer one; then the first goes on."""
    alarms = Alarms()
    plan(ledger, 1.0)

    class Stalls(Alarms):
        def existing(self) -> ExistingAlarms:
            before = alarms.existing()
            plan(ledger, 0.0, 1.0)
            assert apply_alarm_plan(ledger, alarms, NOW, budget_usd=9).made == ["x-vol-01"]
            return before

        def put(self, alarm: ResourceAlarm) -> None:
            alarms.put(alarm)

    apply_alarm_plan(ledger, Stalls(), NOW, budget_usd=9)
    assert set(alarms.held) == {"x-vol-00", "x-vol-01"}, "one too many"
    apply_alarm_plan(ledger, alarms, NOW + HOUR, budget_usd=9)
    assert set(alarms.held) == {"x-vol-01"}


def test_without_a_budget_all_are_removed(ledger: InMemoryLedger) -> None:
    alarms = Alarms()
    plan(ledger, 1.0, 1.0)
    apply_alarm_plan(ledger, alarms, NOW, budget_usd=9)
    apply_alarm_plan(ledger, alarms, NOW, budget_usd=0)
    assert alarms.held == {}
    assert ledger.alarm_plan().watched == ()


def test_the_plan_is_kept_as_it_was_written(ledger: InMemoryLedger) -> None:
    written = plan(ledger, 1.0)
    assert ledger.alarm_plan() == written
    assert written.watched[0].alarm == ResourceAlarm(
        kind=Kind.EBS, resource_id="vol-00", metric=Metric.IOPS_CHECK, threshold=1.0,
        instance_id="i-1",
    )  # fmt: skip
    ledger.amend("resource alarms", lambda _: ('{"watched": [7]}', None))
    assert ledger.alarm_plan() == AlarmPlan(), "the next scans plan anew"
