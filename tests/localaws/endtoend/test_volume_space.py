"""A volume whose file system fills at the endpoint, from the agent's metrics to the extended file system."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from headroom.adapters.cloudwatch import CloudWatchMetrics
from headroom.adapters.ebs import EbsStorage
from headroom.adapters.instances import ManagedFileSystems
from headroom.domain.catalog import catalogue_prices
from headroom.domain.decision import Act, Decision, Reason
from headroom.domain.policy import Mode
from headroom.domain.resources import Kind, ResourceRef
from headroom.localaws.state.cloud import DEFAULT_ACCOUNT
from headroom.ports import Ports
from headroom.proving.memory import InMemoryLedger, OpenCalendars
from headroom.proving.memory.ports import FixedPolicy, FixedPrices
from tests.application.harness import reconcile_now
from tests.builders import REGION, policy
from tests.localaws.conftest import Program

GIB = 1024**3


class Instance:
    """An instance with one XFS on a volume: its agent publishes, and it runs the document.

    It stands in for Systems Manager, which the endpoint does not have.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.volume_id = program.volume(attached=True, Size=200)
        (attachment,) = self.described()["Attachments"]
        self.instance_id = attachment["InstanceId"]
        self.size, self.used = 199.0, 181.0
        self.states: list[str] = []
        self.refuses = ""
        self.says = ""

    def described(self) -> dict[str, Any]:
        found = self.program.client("ec2").describe_volumes(VolumeIds=[self.volume_id])
        (volume,) = found["Volumes"]
        return dict(volume)

    def now(self) -> datetime:
        return datetime.fromisoformat(self.program.aws.control("state")["now"])

    def publish(self, minutes: int) -> None:
        """The last minutes as they are now."""
        labels = {
            "InstanceId": self.instance_id, "VolumeId": self.volume_id, "path": "/data",
            "device": "nvme1n1", "fstype": "xfs",
        }  # fmt: skip
        dimensions = [{"Name": name, "Value": value} for name, value in labels.items()]
        times = [self.now() - timedelta(minutes=i) for i in range(1, minutes + 1)]
        for name, value in (
            ("disk_used_percent", 100 * self.used / self.size), ("disk_total", self.size * GIB),
        ):  # fmt: skip
            self.program.client("cloudwatch").put_metric_data(
                Namespace="CWAgent",
                MetricData=[
                    {"MetricName": name, "Dimensions": dimensions, "Timestamp": at, "Value": value}
                    for at in times
                ],
            )

    def pass_by(self, minutes: int) -> None:
        self.program.tick(minutes)
        self.publish(minutes)

    def send_command(self, **asked: Any) -> dict[str, Any]:
        assert asked["InstanceIds"] == [self.instance_id]
        assert asked["Parameters"]["VolumeId"] == [self.volume_id]
        assert asked["Parameters"]["SizeGib"] == [str(self.described()["Size"])]
        changes = self.program.client("ec2").describe_volumes_modifications(
            Filters=[{"Name": "volume-id", "Values": [self.volume_id]}]
        )
        found = changes["VolumesModifications"]
        self.states.append(found[0]["ModificationState"] if found else "none")
        if self.refuses:
            self.says = f"headroom: refused {self.refuses}"
            return {"Command": {"CommandId": "c-1"}}
        before, self.size = self.size, self.described()["Size"] - 1.0
        sizes = f"{int(before * GIB)} {int(self.size * GIB)}"
        word = "extended" if self.size > before else "already"
        self.says = f"headroom: {word} xfs /dev/nvme1n1 /data {sizes}"
        return {"Command": {"CommandId": "c-1"}}

    def get_command_invocation(self, **asked: Any) -> dict[str, Any]:
        return {"Status": "Success", "StandardOutputContent": self.says}


class Deployed:
    """Reconciliation as it is wired, over the endpoint's EC2 and CloudWatch."""

    def __init__(self, program: Program, instance: Instance, *, extends: bool) -> None:
        self.instance = instance
        self.ref = ResourceRef(
            kind=Kind.EBS, account_id=DEFAULT_ACCOUNT, region=REGION,
            resource_id=instance.volume_id,
        )  # fmt: skip
        self.ledger = InMemoryLedger(account_id=DEFAULT_ACCOUNT, region=REGION)
        manager: Any = instance
        metrics = CloudWatchMetrics(
            program.client("cloudwatch"), account_id=DEFAULT_ACCOUNT, region=REGION, disks=True
        )
        self.ports = Ports(
            storage=EbsStorage(program.client("ec2"), account_id=DEFAULT_ACCOUNT, region=REGION),
            metrics=metrics, ledger=self.ledger, state_store=self.ledger, scan=self.ledger,
            work=self.ledger, archive=self.ledger,
            policies=FixedPolicy(policy=policy(mode=Mode.AUTO, grow_space=True)),
            prices=FixedPrices(prices=catalogue_prices(REGION)), calendars=OpenCalendars(),
            file_systems=ManagedFileSystems(manager, document="d", wait=lambda _: None)
            if extends
            else None,
        )  # fmt: skip

    def reconcile(self) -> Decision | None:
        return reconcile_now(self.ports, self.ref, self.instance.now(), trigger="due")

    def records(self) -> list[tuple[str, str]]:
        found = self.ledger.by_resource(
            self.ref.arn, since=self.instance.now() - timedelta(days=9), until=self.instance.now()
        )
        return [(record.step.value, record.summary) for record in found]


def grown(program: Program, *, extends: bool) -> Deployed:
    """A volume that had too little free for an hour, was grown, and reconciled for an hour."""
    instance = Instance(program)
    deployed = Deployed(program, instance, extends=extends)
    instance.pass_by(75)
    decision = deployed.reconcile()
    assert decision is not None
    assert isinstance(decision.answer, Act), decision.summary
    assert decision.answer.reason is Reason.LOW_FREE_SPACE
    assert decision.answer.plan.only_for_space
    for _ in range(12):
        instance.pass_by(10)
        deployed.reconcile()
    assert instance.described()["Size"] == decision.answer.plan.target.size_gib > 200
    return deployed


def test_a_volume_that_fills_is_grown_once_and_its_file_system_extended_once(
    program: Program,
) -> None:
    deployed = grown(program, extends=True)
    steps = dict(deployed.records())
    assert "file system extended: xfs /dev/nvme1n1 /data, 199.0 -> " in steps["relieved"]
    assert [step for step, _ in deployed.records()].count("applied") == 1
    assert not any("space file system" in summary for _, summary in deployed.records())
    before, *after = deployed.instance.states
    assert before == "none"  # it is asked first whether the file system can follow
    assert [state in ("optimizing", "completed") for state in after] == [True]


def test_a_volume_whose_file_system_cannot_follow_is_not_grown_and_its_owner_is_notified_once(
    program: Program,
) -> None:
    instance = Instance(program)
    instance.refuses = "/dev/nvme1n1 is encrypted on the instance (LUKS)"
    deployed = Deployed(program, instance, extends=True)
    instance.pass_by(75)
    for _ in range(3):
        deployed.reconcile()
        instance.pass_by(60)
    assert instance.described()["Size"] == 200
    assert set(instance.states) == {"none"}
    found = deployed.records()
    (refused, *_) = [summary for step, summary in found if step == "refused"]
    assert "its file system could not follow: /dev/nvme1n1 is encrypted" in refused
    assert not [step for step, _ in found if step == "applied"]


def test_without_systems_manager_the_owner_is_notified_and_it_is_not_grown_again(
    program: Program,
) -> None:
    deployed = grown(program, extends=False)
    steps = [step for step, _ in deployed.records()]
    assert steps.count("applied") == 1
    assert deployed.instance.states == []
    for _ in range(20):
        deployed.instance.pass_by(60)
        deployed.reconcile()
    found = deployed.records()
    assert [step for step, _ in found].count("applied") == 1
    assert "extend the partition and the file system" in dict(found)["ineffective"]
    (message,) = [summary for _, summary in found if "space file system:" in summary]
    assert "its file system has 199.0 of 220 GiB" in message
