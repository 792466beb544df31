"""Several kinds of storage behind one port: each asked about its own, none hiding another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from headroom.adapters.dispatch import MetricsByKind, StorageByKind
from headroom.application import sweep
from headroom.domain.resources import Kind, ResourceRef
from headroom.domain.state import Applied, Refused
from headroom.ports import Glance, ReadFailed, ResourceGone, StorageView
from tests.application.harness import Harness
from tests.builders import ACCOUNT, NOW, REGION, gp3, volume


def ref(kind: Kind, name: str) -> ResourceRef:
    return ResourceRef(kind=kind, account_id=ACCOUNT, region=REGION, resource_id=name)


class One:
    """Storage and metrics of one kind, that fail on request."""

    def __init__(
        self, kind: Kind, *names: str, fails: bool = False, blind: bool = False,
        error: type[Exception] = ReadFailed,
    ) -> None:  # fmt: skip
        self.kind, self.names, self.fails, self.blind = kind, names, fails, blind
        self.error = error
        self.glanced: list[str] = []

    def fleet(self) -> Iterator[StorageView]:
        for name in self.names:
            yield self.view(ref(self.kind, name))
        if self.fails:
            raise self.error(f"{self.kind.value} did not answer")

    def view(self, ref: ResourceRef) -> StorageView:
        return StorageView(volume=volume(ref=ref), modification=None, instance=None)

    def attached(self, instance_id: str) -> tuple[StorageView, ...]:
        return tuple(self.fleet())

    def apply(self, ref: ResourceRef, **_: Any) -> Applied:
        return Applied(started_at=NOW)

    def glance(self, views: Sequence[StorageView], now: datetime) -> Mapping[str, Glance]:
        if self.blind:
            raise self.error("no metrics")
        self.glanced += [view.volume.ref.resource_id for view in views]
        return {}

    def activity(self, view: StorageView, now: datetime) -> Any:
        return self.kind

    def history(self, view: StorageView, now: datetime) -> Any:
        return self.kind

    def older_history(self, view: StorageView, now: datetime, **_: datetime) -> Any:
        return (self.kind,)

    def contributors(self, alarm_name: str) -> tuple[ResourceRef, ...]:
        return (ref(Kind.EBS, "vol-1"), ref(Kind.RDS, "orders"), ref(Kind.AURORA, "ledger"))


def test_each_is_asked_about_its_own_kind() -> None:
    ebs, rds = One(Kind.EBS, "vol-1"), One(Kind.RDS, "orders")
    storage = StorageByKind({Kind.EBS: ebs, Kind.RDS: rds})
    metrics = MetricsByKind(ebs, {Kind.RDS: rds})
    assert [v.volume.ref.resource_id for v in storage.fleet()] == ["vol-1", "orders"]
    assert [v.volume.ref.resource_id for v in storage.attached("i-1")] == ["vol-1"]
    for kind in (Kind.EBS, Kind.RDS):
        view = storage.view(ref(kind, "same-name"))
        assert view.volume.ref.kind is kind
        assert metrics.activity(view, NOW) == metrics.history(view, NOW) == kind  # type: ignore[comparison-overlap]
    assert [r.kind for r in metrics.contributors("a")] == [Kind.EBS, Kind.RDS]


def test_a_kind_that_is_not_covered_is_gone_and_never_changed() -> None:
    storage = StorageByKind({Kind.EBS: One(Kind.EBS)})
    with pytest.raises(ResourceGone):
        storage.view(ref(Kind.RDS, "vol-1"))
    outcome = storage.apply(ref(Kind.RDS, "vol-1"), expected=gp3(), seen=None, target=gp3())
    assert isinstance(outcome, Refused)
    assert outcome.code == "NotSent"


def test_a_glance_at_two_kinds_at_once_is_refused_since_names_may_be_the_same() -> None:
    ebs, rds = One(Kind.EBS, "x"), One(Kind.RDS, "x")
    metrics = MetricsByKind(ebs, {Kind.RDS: rds})
    assert metrics.glance([], NOW) == {}
    with pytest.raises(ValueError, match="one kind"):
        metrics.glance([*ebs.fleet(), *rds.fleet()], NOW)


@pytest.mark.parametrize("error", [ReadFailed, ValueError])
@pytest.mark.parametrize("broken", [{"fails": True}, {"blind": True}])
def test_a_kind_that_does_not_answer_never_hides_the_others(
    broken: dict[str, bool], error: type[Exception]
) -> None:
    ebs, rds = One(Kind.EBS, "vol-1", error=error, **broken), One(Kind.RDS, "orders")
    harness = Harness()
    ports = replace(
        harness.ports,
        storage=StorageByKind({Kind.EBS: ebs, Kind.RDS: rds}),
        metrics=MetricsByKind(ebs, {Kind.RDS: rds}),
    )
    report = sweep(ports, NOW)
    assert rds.glanced == ["orders"]
    assert report.failed >= 1
    assert report.scan_ran
    assert not report.scan_complete


def test_a_fault_in_reads_of_databases_keeps_no_starving_volume_from_being_reconciled() -> None:
    harness = Harness()
    one = harness.add(volume())
    harness.pressed.add(one.resource_id)
    rds = One(Kind.RDS, "orders", fails=True, blind=True, error=ZeroDivisionError)
    ports = replace(
        harness.ports,
        storage=StorageByKind({Kind.EBS: harness, Kind.RDS: rds}),
        metrics=MetricsByKind(harness, {Kind.RDS: rds}),
    )
    report = sweep(ports, NOW)
    assert (report.reconciled, report.scan_complete) == (1, False)


def test_what_was_read_before_the_last_kind_failed_is_glanced_at() -> None:
    ebs, rds = One(Kind.EBS, "vol-1"), One(Kind.RDS, "orders", fails=True)
    harness = Harness()
    ports = replace(
        harness.ports,
        storage=StorageByKind({Kind.EBS: ebs, Kind.RDS: rds}),
        metrics=MetricsByKind(ebs, {Kind.RDS: rds}),
    )
    assert not sweep(ports, NOW).scan_complete
    assert (ebs.glanced, rds.glanced) == (["vol-1"], ["orders"])
