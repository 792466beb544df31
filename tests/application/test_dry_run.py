"""A dry run decides what a reconciliation would decide, and leaves nothing behind."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any, NoReturn

import pytest

from headroom.adapters.aurora import AuroraClusterStorage
from headroom.adapters.rds import RdsStorage
from headroom.application import decide_dry_run
from headroom.application.dry_run import ReadOnlyViolation, _dry
from headroom.cli.sources.storage import WithoutBookmarks
from headroom.domain.decision import Act, Hold
from headroom.domain.policy import Mode, TagsMay
from headroom.domain.resources import Kind, VolumeType
from headroom.domain.state import KnownModification, Step
from tests.adapters.rds.service import InstanceTypes
from tests.application.harness import Harness, calm, reconcile_now
from tests.application.test_databases import ORDERS, Databases, spending
from tests.application.test_reconcile_cluster import ORDERS as CLUSTER
from tests.application.test_reconcile_cluster import Clusters
from tests.builders import ACCOUNT, REGION, gp3, policy, volume


class Tripwire(Harness):
    """The harness, whose storage is never to be changed."""

    def apply(self, *_: Any, **__: Any) -> NoReturn:
        raise AssertionError("storage was changed")


class DryDatabases(Databases):
    """Databases that are never to be changed, and of which nothing is to be stored."""

    def apply(self, *_: Any, **__: Any) -> NoReturn:
        raise AssertionError("storage was changed")

    def keep_nothing(self) -> DryDatabases:
        self.rds = RdsStorage(
            self.service, InstanceTypes(), notes=WithoutBookmarks(self.ledger),  # type: ignore[arg-type]
            clock=lambda: self.now, account_id=ACCOUNT, region=REGION,
        )  # fmt: skip
        return self


def kept(harness: Harness) -> Any:
    """All that the ledger holds."""
    partitions = harness.ledger._client._partitions
    return deepcopy(
        {at: {key: one.item for key, one in held.items()} for at, held in partitions.items()}
    )


def starved(**limits: Any) -> Tripwire:
    return Tripwire(rules=policy(**({"mode": Mode.AUTO} | limits)))


def test_a_dry_run_of_a_volume_decides_as_the_reconciliation_does_and_writes_nothing() -> None:
    harness = starved()
    ref = harness.add(volume(gp3(400)))
    before = kept(harness)
    found = decide_dry_run(harness.ports, ref, harness.now)
    assert kept(harness) == before
    assert harness.messages == []
    real = Harness(rules=harness.rules)
    real.add(volume(gp3(400)))
    done = reconcile_now(real.ports, ref, real.now, trigger="alarm", must_record=True)
    assert done is not None
    assert isinstance(done.answer, Act)
    assert (found.decision.answer, found.decision.judgements) == (done.answer, done.judgements)
    assert found.remarks == ()


def test_a_dry_run_of_a_database_decides_as_the_reconciliation_does_and_stores_nothing() -> None:
    harness = DryDatabases.of(spending())
    assert isinstance(harness, DryDatabases)
    harness.keep_nothing()
    before = kept(harness)
    decision = decide_dry_run(harness.ports, ORDERS, harness.now).decision
    assert kept(harness) == before
    assert harness.service.changes == []
    assert decision.answer == Databases.of(spending()).reconcile().answer
    kinds = {judged.plan.target.volume_type for judged in decision.judgements}
    assert {VolumeType.GP3, VolumeType.IO1} <= kinds


def test_what_somebody_else_just_changed_is_counted_though_it_is_not_written_down() -> None:
    """Four changes of others that no reconciliation saw would be four slots: a dry run knows the latest."""
    harness = starved()
    ref = harness.add(volume(gp3(400)))
    for hours in (5, 9, 13):
        harness.ledger.save_modifications(
            ref, [KnownModification(started_at=harness.now - timedelta(hours=hours), by="other")],
            now=harness.now,
        )  # fmt: skip
    harness.lifecycles[ref.resource_id].modify(
        harness.now - timedelta(hours=3), volume_type=VolumeType.GP3, size_gib=400, iops=3_100,
        throughput_mibps=125,
    )  # fmt: skip
    before = kept(harness)
    decision = decide_dry_run(harness.ports, ref, harness.now).decision
    assert kept(harness) == before
    assert len(decision.resource_state.modifications) == 4
    assert isinstance(decision.answer, Hold)


def test_the_owners_own_change_is_the_price_to_compare_with_in_a_dry_run_too() -> None:
    harness = starved()
    ref = harness.add(volume(gp3(400)), load=calm())
    reconcile_now(harness.ports, ref, harness.now, trigger="alarm", must_record=True)
    harness.later(hours=2)
    Harness.change(harness, ref, gp3(400, 6_000))
    harness.later(hours=2)
    decision = decide_dry_run(harness.ports, ref, harness.now).decision
    assert decision.resource_state.enrolment_usd == Decimal("47.00")
    assert harness.ledger.resource_state(ref, harness.now).enrolment_usd == Decimal("32.00")


def test_a_change_of_ours_that_is_not_over_is_said() -> None:
    real = Harness(rules=policy(mode=Mode.AUTO))
    ref = real.add(volume(gp3(400)))
    done = reconcile_now(real.ports, ref, real.now, trigger="alarm", must_record=True)
    assert done is not None
    found = decide_dry_run(real.ports, ref, real.later(minutes=1))
    (said,) = found.remarks
    assert said.startswith(f"a change of ours is not over ({done.decision_id}, applied)")
    assert not isinstance(found.decision.answer, Act)


def test_what_is_not_reconciled_is_said() -> None:
    harness = starved(mode=Mode.OFF, tags_may=TagsMay.NARROW)
    ref = harness.add(volume(gp3(400)))
    assert reconcile_now(harness.ports, ref, harness.now, trigger="sweep") is None
    found = decide_dry_run(harness.ports, ref, harness.now)
    assert found.remarks[0].startswith("its mode is off: it is not reconciled")
    assert not isinstance(found.decision.answer, Act)


def test_every_way_to_write_is_shut() -> None:
    harness = starved()
    ref = harness.add(volume(gp3(400)))
    decision = decide_dry_run(harness.ports, ref, harness.now).decision
    ports, now = _dry(harness.ports), harness.now
    shut: tuple[Any, ...] = (
        lambda: ports.storage.apply(ref, expected=gp3(), seen=None, target=gp3()),
        lambda: ports.ledger.decided(decision, due_at=None),
        lambda: ports.ledger.intend(decision, lease_until=now, now=now),
        lambda: ports.ledger.intend_together([decision], lease_until=now, now=now),
        lambda: ports.ledger.append("d", Step.GONE, ref=ref, at=now, summary="", body={},
                                    fencing=None, due_at=None),
        lambda: ports.state_store.reconciled(ref, at=now, due_at=None),
        lambda: ports.state_store.forget(ref, at=now),
        lambda: ports.scan.claim_scan(now, 900),
        lambda: ports.archive.reject("e", reason="", excerpt="", at=now),
    )  # fmt: skip
    for write in shut:
        with pytest.raises(ReadOnlyViolation):
            write()


def test_calendars_are_asked_as_the_reconciliation_asks_them() -> None:
    harness = starved()
    harness.rules = replace(policy(mode=Mode.AUTO), calendars=("freeze",))
    ref = harness.add(volume(gp3(400)))
    decision = decide_dry_run(harness.ports, ref, harness.now).decision
    assert [calendar.name for calendar in decision.resource_state.calendars] == ["freeze"]


class DryClusters(Clusters):
    """Aurora clusters that are never to be changed, and of which nothing is to be stored."""

    def apply(self, *_: Any, **__: Any) -> NoReturn:
        raise AssertionError("storage was changed")

    def keep_nothing(self) -> DryClusters:
        self.aurora = AuroraClusterStorage(
            self.service, metrics=self.days, prices=self.days, notes=WithoutBookmarks(self.ledger),
            clock=lambda: self.now, account_id=ACCOUNT, region=REGION,
        )  # fmt: skip
        return self


@pytest.mark.parametrize("kind", [Kind.AURORA, Kind.RDS])
def test_a_dry_run_of_an_aurora_cluster_decides_as_the_reconciliation_does_and_stores_nothing(
    kind: Kind,
) -> None:
    """Also where it was asked for as `cluster:NAME`, which may be either."""
    harness = DryClusters.of()
    assert isinstance(harness, DryClusters)
    harness.keep_nothing()
    before = kept(harness)
    name = "orders" if kind is Kind.AURORA else "cluster:orders"
    decision = decide_dry_run(
        harness.ports, replace(CLUSTER, kind=kind, resource_id=name), harness.now
    ).decision
    assert kept(harness) == before
    assert harness.service.changes == []
    real = Clusters.of().decided()
    assert (decision.answer, decision.judgements) == (real.answer, real.judgements)
    assert decision.cluster == real.cluster
    assert isinstance(decision.answer, Act)
