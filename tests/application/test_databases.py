"""Databases through the same reconciliation, with RDS's own adapter on a small RDS and metrics that are said."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from headroom.adapters.dispatch import StorageByKind
from headroom.adapters.notifications.messages import decision_message
from headroom.adapters.rds import RdsStorage
from headroom.adapters.rds.classes import InstanceClasses
from headroom.application import remediate, sweep
from headroom.application.reconcile import reconcile
from headroom.domain.catalog import PriceTable
from headroom.domain.decision import Act, Decision, Escalate, Hold, Reason
from headroom.domain.guardrails import Guardrail
from headroom.domain.policy import Mode
from headroom.domain.resources import (
    Claim,
    Configuration,
    Database,
    DatabaseFacts,
    Engine,
    Kind,
    ResourceRef,
    Signal,
    Volume,
    VolumeActivity,
    VolumeType,
)
from headroom.domain.state import EventOutcome, LedTo, Outcome, Step
from headroom.domain.workload import Binding
from headroom.ports import StorageView, WriteFailed
from tests.adapters.rds.service import InstanceTypes, RdsService, db, refusal
from tests.application.harness import Harness, reconcile_now
from tests.builders import ACCOUNT, NOW, REGION, activity, database_policy
from tests.domain.databases import rds

ORDERS = ResourceRef(kind=Kind.RDS, account_id=ACCOUNT, region=REGION, resource_id="orders")


def spending(iops: float = 6_000.0, *, left: float = 8.0) -> VolumeActivity:
    """A load above the baseline that spends the credits, `left` percent of them left."""
    balance = [min(100.0, left + (179 - i) * 0.4) for i in range(180)]
    return activity([iops] * 180, queue=12.0, balance=balance, iops_check=None, mibps_check=None)


def at_the_limit(iops: float) -> VolumeActivity:
    return activity(
        [iops / 2] * 120 + [iops] * 60, queue=[1.0] * 120 + [300.0 + 2 * i for i in range(60)],
        iops_check=None, mibps_check=None,
    )  # fmt: skip


class Databases(Harness):
    """The harness with RDS behind its storage."""

    service: RdsService
    rds: RdsStorage

    @classmethod
    def of(cls, load: VolumeActivity, *types: str, **changes: Any) -> Databases:
        made = cls(
            rules=database_policy(
                mode=Mode.AUTO, max_iops=64_000, max_throughput_mibps=4_000, largest_step=16.0
            )
        )
        made.service = RdsService.of(db(**changes))
        made.rds = RdsStorage(
            made.service, InstanceTypes(*types), notes=made.ledger,  # type: ignore[arg-type]
            clock=lambda: made.now, account_id=ACCOUNT, region=REGION,
        )  # fmt: skip
        made.loads["orders"] = load
        return made

    def fleet(self) -> Iterator[StorageView]:
        return self.rds.fleet()

    def view(self, ref: ResourceRef) -> StorageView:
        return self.rds.view(ref)

    def apply(
        self, ref: ResourceRef, *, expected: Configuration, seen: datetime | None,
        target: Configuration, decided_on: Volume | None = None,
    ) -> Outcome:  # fmt: skip
        return self.rds.apply(
            ref, expected=expected, seen=seen, target=target, decided_on=decided_on
        )

    def table(self, region: str) -> PriceTable:
        """As the price list has them: engines with licences too."""
        known = super().table(region)
        oracle = (replace(each, engine=Engine.ORACLE) for each in known.databases)
        return replace(known, databases=(*known.databases, *oracle))

    def reconcile(self) -> Decision:
        decision = reconcile_now(self.ports, ORDERS, self.now, trigger="alarm", must_record=True)
        assert decision is not None
        return decision

    def reconcile_due(self) -> Decision | None:
        return reconcile_now(self.ports, ORDERS, self.now, trigger="due")


def blocking(decision: Decision) -> set[Guardrail]:
    assert isinstance(decision.answer, Hold | Escalate), decision.summary
    return {v.guardrail for judged in decision.judgements for v in judged.blocking}


def test_a_database_that_runs_out_of_credits_gets_gp3_in_one_call_and_is_seen_relieved() -> None:
    harness = Databases.of(spending())
    decision = harness.reconcile()
    assert isinstance(decision.answer, Act), decision.summary
    assert decision.diagnosis.binding is Binding.BURST_CREDITS
    target = decision.answer.plan.target
    assert target == rds(VolumeType.GP3, 500, 12_000, 500)  # what four volumes include
    kinds = {j.plan.target.volume_type for j in decision.judgements}
    assert {VolumeType.GP3, VolumeType.IO1} <= kinds  # priced beside what was not taken
    assert [c["StorageType"] for c in harness.service.changes] == ["gp3"]
    assert harness.steps(ORDERS) == ["act", "intended", "applied"]
    harness.later(minutes=12)
    harness.service.optimizes()
    assert harness.reconcile_due() is None
    harness.service.settles()
    harness.loads["orders"] = activity([6_000.0] * 180, iops_check=None, mibps_check=None)
    for _ in range(4):
        harness.later(minutes=10)
        harness.reconcile_due()
    assert harness.steps(ORDERS)[:4] == ["act", "intended", "applied", "relieved"]
    assert len(harness.service.changes) == 1  # one slot, and nothing counted as somebody else's
    known = harness.ledger.resource_state(ORDERS, harness.now).modifications
    assert [m.by for m in known] == ["headroom"]


def test_a_lost_answer_is_resolved_from_what_rds_shows_and_nothing_is_sent_twice() -> None:
    harness = Databases.of(spending())
    harness.service.times_out = True
    harness.reconcile()
    assert harness.steps(ORDERS) == ["act", "intended", "unknown"]
    harness.later(minutes=3)
    harness.reconcile_due()
    assert harness.steps(ORDERS) == ["act", "intended", "unknown", "applied"]
    harness.later(minutes=10)
    harness.reconcile_due()
    assert len(harness.service.changes) == 1


def test_a_call_that_never_arrived_ends_the_chain_and_may_be_tried_again() -> None:
    harness = Databases.of(spending())
    harness.service.fails_with = TimeoutError("connect timed out")
    harness.reconcile()
    for _ in range(4):
        harness.later(minutes=3)
        harness.reconcile_due()
    assert harness.steps(ORDERS) == ["act", "intended", "unknown"]  # RDS may yet come to show it
    harness.later(minutes=4)
    harness.reconcile_due()
    assert harness.steps(ORDERS)[:4] == ["act", "intended", "unknown", "not_applied"]
    assert len(harness.service.changes) <= 1


def test_a_lost_call_that_rds_is_at_work_on_without_naming_it_is_waited_for() -> None:
    harness = Databases.of(spending())
    harness.service.times_out = True
    harness.reconcile()
    shape = harness.service.instances["orders"]
    wanted, shape["PendingModifiedValues"] = dict(shape["PendingModifiedValues"]), {}
    for _ in range(3):  # `modifying`, and nothing pending that says what
        harness.later(minutes=20)
        harness.reconcile_due()
        assert harness.steps(ORDERS) == ["act", "intended", "unknown"]
    shape["PendingModifiedValues"] = wanted
    harness.service.optimizes()
    harness.later(minutes=5)
    harness.reconcile_due()
    assert harness.steps(ORDERS) == ["act", "intended", "unknown", "applied"]
    assert len(harness.service.changes) == 1
    known = harness.ledger.resource_state(ORDERS, harness.now).modifications
    assert [m.by for m in known] == ["headroom"]  # the owner's price base is not moved by it
    assert harness.ledger.resource_state(ORDERS, harness.now).resource_increase_usd >= 0


def test_a_pending_change_of_somebody_else_holds_everything_and_says_so() -> None:
    harness = Databases.of(spending(), PendingModifiedValues={"DBInstanceClass": "db.m6gd.2xlarge"})
    decision = harness.reconcile()
    assert Guardrail.PENDING_CHANGES in blocking(decision)
    assert isinstance(decision.answer, Escalate)  # the window may be a week away
    ((whom, step, said),) = harness.messages
    assert (whom, step) == ("orders", Step.DECIDED)
    assert "somebody left DBInstanceClass pending" in said
    assert harness.service.changes == []
    harness.reconcile()
    assert len(harness.messages) == 1
    harness.service.settles()
    assert isinstance(harness.reconcile().answer, Act)


def test_below_the_threshold_gp3_has_nothing_to_set_and_a_copy_is_for_a_person() -> None:
    harness = Databases.of(
        at_the_limit(3_000.0), AllocatedStorage=200, StorageType="gp3", Iops=3_000,
        StorageThroughput=125,
    )  # fmt: skip
    decision = harness.reconcile()
    for judged in decision.judgements:
        target = judged.plan.target
        if target.volume_type is VolumeType.GP3 and target.size_gib < 400:
            assert (target.iops, target.throughput_mibps) == (None, None)
        if target.size_gib >= 400:
            assert judged.plan.full_copy
            assert Guardrail.FULL_COPY in {v.guardrail for v in judged.blocking}
    for sent in harness.service.changes:
        assert sent.get("AllocatedStorage", 200) < 400


def test_money_is_not_spent_where_the_class_is_the_limit() -> None:
    harness = Databases.of(
        at_the_limit(12_000.0), StorageType="gp3", Iops=12_000, StorageThroughput=500,
        DBInstanceClass="db.r6g.large",
    )  # fmt: skip
    harness.rds._classes = InstanceClasses(SmallClass())  # type: ignore[arg-type]
    decision = harness.reconcile()
    assert decision.diagnosis.binding is Binding.INSTANCE_IOPS
    assert isinstance(decision.answer, Hold | Escalate)
    assert harness.service.changes == []


def test_what_waits_for_the_window_is_reported_also_after_a_nightly_backup() -> None:
    harness = Databases.of(spending())
    harness.loads["orders"] = activity(
        [300.0] * 180, iops_check=None, mibps_check=None, balance=100.0
    )
    shape = harness.service.instances["orders"]
    shape["PendingModifiedValues"] = {"AllocatedStorage": 600}
    for status in ("available", "backing-up", "available"):
        shape["DBInstanceStatus"] = status
        assert isinstance(harness.reconcile().answer, Hold)
    harness.loads["orders"] = spending()
    assert Guardrail.PENDING_CHANGES in blocking(harness.reconcile())
    ((_, _, said),) = harness.messages
    assert "somebody left AllocatedStorage pending" in said
    assert harness.service.changes == []


def test_a_class_with_unknown_limits_holds_every_plan_that_costs() -> None:
    harness = Databases.of(spending(), DBInstanceClass="db.unheard.of")
    assert Guardrail.INSTANCE_LIMIT in blocking(harness.reconcile())
    assert harness.service.changes == []
    ((_, _, said),) = harness.messages
    assert "AWS does not publish what the class db.unheard.of sustains" in said
    assert "change the database yourself" in said


@pytest.mark.parametrize(
    ("changes", "guardrail"),
    [
        ({"DBInstanceStatus": "storage-optimization"}, Guardrail.IN_FLIGHT),
        ({"StorageOperationStatus": "Optimizing"}, Guardrail.IN_FLIGHT),
        ({"DBInstanceStatus": "backing-up"}, Guardrail.DATABASE_STATE),
        ({"DBInstanceStatus": "storage-full"}, Guardrail.DATABASE_STATE),
        ({"DedicatedLogVolume": True}, Guardrail.DATABASE_STATE),
    ],
)
def test_a_database_that_is_not_at_rest_or_not_plain_is_left_alone(
    changes: dict[str, Any], guardrail: Guardrail
) -> None:
    harness = Databases.of(spending(), **changes)
    assert guardrail in blocking(harness.reconcile())
    assert harness.service.changes == []


def test_with_additional_volumes_no_limit_is_named_and_the_record_says_why() -> None:
    harness = several_volumes(primary=SILENT, second=SILENT)
    decision = reconcile_now(harness.ports, ORDERS, harness.now, trigger="sweep")
    assert decision is not None
    assert decision.diagnosis.binding is Binding.UNKNOWN
    assert isinstance(decision.answer, Hold)
    assert decision.answer.reason is Reason.NOT_ENOUGH_DATA
    (record,) = harness.ledger.chain(decision.decision_id)
    assert (
        "has rdsdbdata2 beside its primary storage, and CloudWatch has no recent metrics of "
        "rdsdbdata alone" in record.summary
    )
    assert harness.service.changes == []


SECOND = replace(ORDERS, resource_id="orders/rdsdbdata2")
SILENT = activity(
    [None] * 180,
    queue=[None] * 180,
    iops_check=None,
    mibps_check=None,  # type: ignore[list-item]
)


def several_volumes(*, primary: VolumeActivity, second: VolumeActivity) -> Databases:
    """An Oracle instance on gp3 with a smaller volume beside it."""
    volume = {
        "VolumeName": "rdsdbdata2", "StorageType": "GP3", "AllocatedStorage": 400, "IOPS": 12_000,
        "StorageThroughput": 500, "StorageVolumeStatus": "ACTIVE",
    }  # fmt: skip
    harness = Databases.of(
        primary, Engine="oracle-ee", StorageType="gp3", AllocatedStorage=500, Iops=12_000,
        StorageThroughput=500, LicenseModel="bring-your-own-license",
        AdditionalStorageVolumes=[volume],
    )  # fmt: skip
    harness.service.valid_volumes = [
        {"VolumeName": "rdsdbdata2", "Storage": [{"StorageType": "gp3"}, {"StorageType": "io2"}]}
    ]
    harness.loads[SECOND.resource_id] = second
    return harness


def test_the_volume_that_is_the_limit_is_changed_alone() -> None:
    calm = activity([200.0] * 180, iops_check=None, mibps_check=None)
    harness = several_volumes(primary=calm, second=at_the_limit(12_000.0))
    assert isinstance(harness.reconcile().answer, Hold)
    decision = reconcile_now(harness.ports, SECOND, harness.now, trigger="alarm", must_record=True)
    assert decision is not None
    assert isinstance(decision.answer, Act), decision.summary
    target = decision.answer.plan.target
    assert (target.size_gib, (target.iops or 0) > 12_000) == (400, True)
    assert harness.service.changes == [
        {
            "DBInstanceIdentifier": "orders", "ApplyImmediately": True,
            "AdditionalStorageVolumes": [
                {"VolumeName": "rdsdbdata2", "AllocatedStorage": 400, "IOPS": target.iops,
                 "StorageThroughput": target.throughput_mibps}
            ],
        }
    ]  # fmt: skip
    harness.loads["orders"] = at_the_limit(12_000.0)
    beside = harness.reconcile()
    assert isinstance(
        beside.answer, Escalate
    )  # what the class has left is what the other does not take
    assert "the instance sustains 8000 IOPS" in beside.summary
    assert len(harness.service.changes) == 1
    harness.service.settles()
    harness.later(minutes=15)
    harness.loads[SECOND.resource_id] = activity([9_000.0] * 180, iops_check=None, mibps_check=None)
    reconcile_now(harness.ports, SECOND, harness.now, trigger="due")
    assert harness.steps(SECOND)[:3] == ["act", "intended", "applied"]
    assert harness.rds.view(SECOND).volume.configuration == target
    assert harness.rds.view(ORDERS).volume.configuration.iops == 12_000


def test_size_has_one_owner() -> None:
    harness = Databases.of(spending(), MaxAllocatedStorage=2_000)
    decision = harness.reconcile()
    grown = [j for j in decision.judgements if j.plan.grows]
    assert all(Guardrail.STORAGE_AUTOSCALING in {v.guardrail for v in j.blocking} for j in grown)
    assert isinstance(decision.answer, Act)  # IOPS are still ours to set
    assert decision.answer.plan.target.size_gib == 500


def test_what_rds_says_it_takes_is_what_is_planned_for() -> None:
    harness = Databases.of(spending())
    harness.service.valid = [{"StorageType": "io1"}, {"StorageType": "gp2"}]
    decision = harness.reconcile()
    assert decision.observation.valid
    assert VolumeType.GP3 not in {j.plan.target.volume_type for j in decision.judgements}


def test_growth_by_rds_itself_counts_as_somebody_elses_change() -> None:
    harness = Databases.of(activity([100.0] * 180, iops_check=None, mibps_check=None, balance=99.0))
    harness.reconcile()
    harness.later(hours=2)
    harness.service.instances["orders"]["AllocatedStorage"] = 550
    for _ in range(3):
        harness.later(minutes=5)
        harness.reconcile()
    known = harness.ledger.resource_state(ORDERS, harness.now).modifications
    assert [m.by for m in known] == ["other"]


def test_a_refusal_that_means_later_is_not_taken_for_a_mistake() -> None:
    harness = Databases.of(spending())
    harness.service.fails_with = refusal(
        "InvalidParameterCombination",
        "You can't currently modify the storage of this DB instance because the previous storage "
        "change is being optimized.",
    )
    harness.reconcile()
    assert harness.steps(ORDERS) == ["act", "intended", "refused"]
    assert Step.REFUSED not in {step for _, step, _ in harness.messages}  # time alone clears it
    assert not harness.ledger.due(harness.later(minutes=14), 9)
    assert harness.ledger.due(harness.later(minutes=2), 9)


def test_a_record_of_a_database_reads_back_as_it_was_written() -> None:
    harness = Databases.of(spending(), MaxAllocatedStorage=2_000)
    decision = harness.reconcile()
    read = harness.ledger.decision(decision.decision_id)
    assert read.observation.volume.facts == decision.observation.volume.facts
    assert read.observation.volume.facts == DatabaseFacts(
        instance_class="db.r6g.2xlarge", status="available", members=("orders",),
        max_allocated_gib=2_000,
    )  # fmt: skip
    assert read.observation.volume.configuration.database == Database(engine=Engine.POSTGRESQL)


class SmallClass(InstanceTypes):
    """A class that sustains less than the storage above it."""

    def describe_instance_types(self, *, InstanceTypes: list[str]) -> Any:
        info = {
            "BaselineThroughputInMBps": 78.75, "BaselineIops": 3_600,
            "MaximumThroughputInMBps": 593.75, "MaximumIops": 20_000,
        }  # fmt: skip
        ebs = {"EbsOptimizedSupport": "default", "EbsOptimizedInfo": info}
        one = {"InstanceType": InstanceTypes[0], "Hypervisor": "nitro", "EbsInfo": ebs}
        return {"InstanceTypes": [one]}


def signal(claim: Claim) -> Signal:
    return Signal(
        event_id="e", claim=claim, ref=ORDERS, alarm_name=None, claimed_at=NOW, muted=False,
        detail="RDS-EVENT-0189",
    )  # fmt: skip


def test_an_event_after_its_alarm_adds_no_act_and_no_second_message() -> None:
    for changes in ({}, {"PendingModifiedValues": {"DBInstanceClass": "db.m6gd.2xlarge"}}):
        harness = Databases.of(spending(), **changes)
        remediate(harness.ports, signal(Claim.PRESSURE), harness.now)
        recorded, messages = harness.steps(ORDERS), list(harness.messages)
        for _ in range(3):
            harness.later(minutes=1)
            remediate(harness.ports, signal(Claim.HINT), harness.now)
        # That the owner was notified already is news, once: it is held from then on.
        assert harness.steps(ORDERS) in (recorded, [*recorded, "hold"])
        assert harness.messages == messages
        assert len(harness.service.changes) <= 1


def test_an_event_alone_is_enough_to_act_on_what_a_reconciliation_finds() -> None:
    harness = Databases.of(spending())
    (decision,) = remediate(harness.ports, signal(Claim.HINT), harness.now)
    assert isinstance(decision.answer, Act)
    assert decision.trigger == "event"


def test_an_event_about_a_database_that_is_gone_or_is_none_of_ours_does_nothing() -> None:
    harness = Databases.of(spending(), Engine="aurora-mysql")
    assert remediate(harness.ports, signal(Claim.HINT), harness.now) == ()
    assert harness.steps(ORDERS) == []


def test_the_sweep_finds_a_database_without_any_alarm() -> None:
    harness = Databases.of(spending())
    harness.volumes["orders"] = harness.view(ORDERS).volume  # for the metrics that are said
    report = sweep(harness.ports, harness.now)
    assert (report.scanned, report.acted) == (1, 1)
    assert len(harness.service.changes) == 1


def test_a_database_that_is_deleted_meanwhile_ends_its_chain() -> None:
    harness = Databases.of(spending())
    harness.reconcile()
    del harness.service.instances["orders"]
    harness.later(minutes=12)
    assert harness.reconcile_due() is None
    assert harness.steps(ORDERS)[-1] == "gone"


def test_what_was_not_sent_is_not_called_a_refusal_of_aws() -> None:
    harness = Databases.of(spending())

    def late(number: int) -> None:
        if number == 3:  # after the decision and the read that is recorded
            harness.service.instances["orders"]["PendingModifiedValues"] = {"MultiAZ": True}

    harness.service.before_read = late
    harness.reconcile()
    assert harness.steps(ORDERS) == ["act", "intended", "refused"]
    ((_, step, said),) = harness.messages
    assert (step, said.startswith("not sent: ApplyImmediately would apply")) == (Step.REFUSED, True)
    message = decision_message(harness.ledger.decision(last_of(harness)), step, said)
    assert message.headline == "orders was not changed"


def last_of(harness: Databases) -> str:
    found = harness.ledger.resource_state(ORDERS, harness.now).last_decision_id
    assert found is not None
    return found


def test_another_database_under_an_old_name_begins_anew_with_the_same_reconciliation() -> None:
    harness = Databases.of(spending())
    harness.reconcile()
    harness.service.settles()
    harness.later(minutes=12)
    harness.reconcile_due()
    dear = harness.ledger.resource_state(ORDERS, harness.now).enrolment_usd
    harness.service.instances["orders"] = db(DbiResourceId="db-2", AllocatedStorage=100)
    harness.loads["orders"] = activity(
        [50.0] * 180, iops_check=None, mibps_check=None, balance=99.0
    )
    decision = harness.reconcile()
    assert harness.steps(ORDERS)[3:] == ["gone", "hold"]
    assert decision.resource_state.modifications == ()
    known = harness.ledger.resource_state(ORDERS, harness.now)
    assert dear is not None
    assert known.enrolment_usd is not None
    assert known.enrolment_usd < dear  # what the old one cost allows the new one nothing
    assert known.account_increase_usd == 0


@pytest.mark.parametrize("written", range(8))
def test_an_approval_is_not_carried_out_on_another_database_whatever_write_fails(
    written: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = Databases.of(spending(), TagList=[])
    harness.rules = database_policy(
        mode=Mode.APPROVE, max_iops=64_000, max_throughput_mibps=4_000, largest_step=16.0
    )
    asked = harness.reconcile()
    harness.ledger.answer(asked.decision_id, Step.APPROVED, at=harness.now, who="alice")
    harness.service.instances["orders"] = db(DbiResourceId="db-2", TagList=[])
    harness.later(minutes=1)
    before: list[str] = []

    def failing(name: str) -> None:
        write = getattr(harness.ledger, name)

        def one(*given: Any, **named: Any) -> Any:
            before.append(name)
            if len(before) == written + 1:
                raise WriteFailed("throttled")
            return write(*given, **named)

        monkeypatch.setattr(harness.ledger, name, one)

    for name in ("append", "forget", "amend", "save_modifications", "reconciled"):
        failing(name)
    with suppress(WriteFailed):
        harness.reconcile()
    monkeypatch.undo()
    harness.later(minutes=1)
    harness.reconcile_due()
    assert harness.service.changes == []
    assert "gone" in harness.steps(ORDERS)
    known = harness.ledger.resource_state(ORDERS, harness.now)
    assert known.approval_request is not None  # asked anew, of the database there is
    assert known.approval_request.approved_at is None


def test_what_its_owner_made_single_az_is_counted_from_its_new_price() -> None:
    calm = activity([50.0] * 180, iops_check=None, mibps_check=None, balance=99.0)
    harness = Databases.of(calm, MultiAZ=True)
    harness.reconcile()
    of_two = harness.ledger.resource_state(ORDERS, harness.now).enrolment_usd
    harness.service.instances["orders"]["MultiAZ"] = False
    harness.later(minutes=15)
    harness.reconcile()
    of_one = harness.ledger.resource_state(ORDERS, harness.now).enrolment_usd
    assert of_two is not None
    assert of_one == of_two / 2  # or half its price would be room for what nobody agreed to
    assert [m.by for m in harness.ledger.resource_state(ORDERS, harness.now).modifications] == [
        "other"
    ]


def test_a_raise_is_verified_and_undone_though_the_database_became_multi_az_meanwhile() -> None:
    harness = Databases.of(
        at_the_limit(12_000.0), StorageType="gp3", Iops=12_000, StorageThroughput=500
    )
    raised = harness.reconcile()
    harness.later(minutes=12)
    harness.service.settles()
    harness.service.instances["orders"]["MultiAZ"] = True
    harness.loads["orders"] = activity([13_000.0] * 180, iops_check=None, mibps_check=None)
    for _ in range(5):
        harness.later(minutes=10)
        harness.reconcile_due()
    assert "relieved" in harness.steps(ORDERS)
    harness.ledger.request_rollback(raised.decision_id, at=harness.now, who="alice", reason="")
    harness.later(hours=7)
    harness.reconcile_due()
    undone = harness.ledger.resource_state(ORDERS, harness.now).last_decision_id
    answer = harness.ledger.decision(undone or "").answer
    assert isinstance(answer, Act)
    assert (answer.plan.target.iops, answer.plan.origin.iops) == (12_000, 20_000)
    assert str(answer.plan.target.database) == "postgres multi-az"


def test_a_lost_answer_is_resolved_though_the_database_became_multi_az_meanwhile() -> None:
    harness = Databases.of(spending())
    harness.service.times_out = True
    harness.reconcile()
    harness.service.settles()
    harness.service.instances["orders"]["MultiAZ"] = True
    harness.later(minutes=3)
    harness.reconcile_due()
    assert harness.steps(ORDERS) == ["act", "intended", "unknown", "applied"]
    assert len(harness.service.changes) == 1


def test_a_request_that_the_deployment_made_void_says_what_changed() -> None:
    harness = Databases.of(
        at_the_limit(12_000.0), StorageType="gp3", Iops=12_000, StorageThroughput=500
    )
    harness.rules = database_policy(
        mode=Mode.AUTO, max_iops=64_000, max_throughput_mibps=4_000, approve_above_usd=Decimal(1)
    )
    harness.reconcile()
    assert harness.steps(ORDERS)[-1] == "awaiting"
    harness.service.instances["orders"]["MultiAZ"] = True
    harness.later(minutes=12)
    harness.reconcile()
    span = {"since": NOW, "until": harness.now + timedelta(hours=1)}
    ended = [r.summary for r in harness.ledger.by_resource(ORDERS.arn, **span)]
    assert any("is postgres multi-az now, it was postgres single-az" in text for text in ended)


def test_a_change_that_rds_works_on_for_days_is_waited_for_and_not_called_in_vain() -> None:
    harness = Databases.of(spending())
    harness.reconcile()
    harness.later(minutes=12)
    harness.service.optimizes()
    harness.loads["orders"] = activity([100.0] * 180, iops_check=None, mibps_check=None)
    for _ in range(5):
        harness.later(hours=14)
        harness.reconcile_due()
    assert harness.steps(ORDERS) == ["act", "intended", "applied"]
    harness.service.settles()
    harness.loads["orders"] = activity([6_000.0] * 180, iops_check=None, mibps_check=None)
    for _ in range(3):
        harness.later(minutes=10)
        harness.reconcile_due()
    assert harness.steps(ORDERS)[:4] == ["act", "intended", "applied", "relieved"]


def test_leaving_databases_out_frees_nothing_that_aws_goes_on_billing() -> None:
    harness = Databases.of(
        at_the_limit(12_000.0), StorageType="gp3", Iops=12_000, StorageThroughput=500
    )
    reconcile_now(harness.ports, ORDERS, harness.now, trigger="alarm")
    before = harness.ledger.resource_state(ORDERS, harness.now)
    assert before.account_increase_usd == 160
    assert before.open_chain is not None
    without = replace(harness.ports, storage=StorageByKind({}))
    for _ in range(3):
        found = reconcile(without, ORDERS, harness.later(hours=24), trigger="due")
        assert isinstance(found, EventOutcome)
        assert found.led_to is LedTo.OFF
        assert "not covered" in found.detail
    after = harness.ledger.resource_state(ORDERS, harness.now)
    assert after.account_increase_usd == 160
    assert after.enrolment_usd == before.enrolment_usd
    assert after.open_chain == before.open_chain
    assert "gone" not in harness.steps(ORDERS)
    again = harness.ledger.due(harness.now + timedelta(days=1), 10)
    assert [due.ref for due in again] == [ORDERS]
