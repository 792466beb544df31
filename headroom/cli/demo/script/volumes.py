"""The demo's EBS volumes: created on instances of their own, loaded, changed by other programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from headroom.cli.demo.script.actor import Event, StorageActor, instant
from headroom.cli.demo.script.deployment import REGION, LocalAccount
from headroom.cli.demo.stories.volumes import OtherChange, Story
from headroom.domain.catalog.ebs import LIMITS
from headroom.domain.resources import Configuration, VolumeType


class VolumeActor(StorageActor):
    """The story of a volume."""

    __slots__ = ()
    story: Story

    def target(self) -> dict[str, object]:
        """The volume on its instance."""
        attachment = {"instance_type": self.story.instance_type}
        return {"volume_id": self.resource_id, "attachment": attachment}

    def events(self) -> Iterable[Event]:
        """What other programs do to the volume, and when."""
        for other in self.story.others:
            if other.minute >= 0:
                yield Event(minute=other.minute, act=partial(self._change, other))

    def _change(self, other: OtherChange, where: LocalAccount) -> None:
        where.client("ec2").modify_volume(
            VolumeId=self.resource_id, Throughput=other.throughput_mibps
        )
        self.changed_by_others.append(instant(other.minute))

    def final(self, where: LocalAccount) -> Configuration:
        """The volume as EC2 describes it now."""
        ec2 = where.client("ec2")
        described = ec2.describe_volumes(VolumeIds=[self.resource_id])["Volumes"][0]
        kind = VolumeType(described["VolumeType"])
        settable = LIMITS[kind]
        return Configuration(
            volume_type=kind,
            size_gib=described["Size"],
            iops=described.get("Iops") if settable.iops else None,
            throughput_mibps=described.get("Throughput") if settable.throughput_mibps else None,
        )


def set_up(where: LocalAccount, stories: Sequence[Story]) -> tuple[VolumeActor, ...]:
    """Create every story's volume two days before the start, and declare its earlier changes.

    The changes before the start count against AWS's four slots; Headroom does not know of them.
    """
    where.set_clock(instant(-2_880))
    actors = tuple(VolumeActor(story=s, resource_id=_create(where, s)) for s in stories)
    for actor in actors:
        past = [instant(other.minute) for other in actor.story.others if other.minute < 0]
        if past:
            starts = [at.isoformat() for at in past]
            where.ask("history", {"volume_id": actor.resource_id, "starts": starts})
            actor.changed_by_others.extend(past)
    return actors


def _create(where: LocalAccount, story: Story) -> str:
    """The story's volume on an instance of its own; returns the volume's id."""
    ec2 = where.client("ec2")
    zone = f"{REGION}a"
    instance = ec2.run_instances(
        ImageId=where.image, InstanceType=story.instance_type, MinCount=1, MaxCount=1,
        Placement={"AvailabilityZone": zone},
    )["Instances"][0]["InstanceId"]  # fmt: skip
    storage = story.volume
    settings = {"Iops": storage.iops, "Throughput": storage.throughput_mibps}
    volume = ec2.create_volume(
        AvailabilityZone=zone, VolumeType=storage.volume_type.value, Size=storage.size_gib,
        TagSpecifications=[{
            "ResourceType": "volume",
            "Tags": [{"Key": k, "Value": v} for k, v in story.all_tags.items()],
        }],
        **{name: value for name, value in settings.items() if value is not None},
    )["VolumeId"]  # fmt: skip
    ec2.attach_volume(VolumeId=volume, InstanceId=instance, Device="/dev/sdf")
    return str(volume)
