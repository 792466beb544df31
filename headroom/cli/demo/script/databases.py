"""Databases on the demo's stage: made, loaded, changed by others, and shown as RDS shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headroom.cli.demo.script.deployment import Stage
from headroom.cli.demo.script.script import Cast, Cue, Member, instant
from headroom.cli.demo.stories.databases import DATABASES, DatabaseStory, Pending
from headroom.cli.demo.stories.loads import workload
from headroom.cli.demo.stories.volumes import END_MINUTE, START
from headroom.domain.resources import Configuration, VolumeType

SETTLED = 2_880
"""Minutes before the start at which the databases are made."""


def set_up(
    where: Stage, stories: Sequence[DatabaseStory] = DATABASES
) -> tuple[Member[DatabaseStory], ...]:
    """Create every story's DB instance."""
    return tuple(_made(where, story) for story in stories)


def _made(where: Stage, story: DatabaseStory) -> Member[DatabaseStory]:
    wanted, database = story.volume, story.volume.database
    assert database is not None
    settings = {"Iops": wanted.iops, "StorageThroughput": wanted.throughput_mibps}
    told = where.client("rds").create_db_instance(
        DBInstanceIdentifier=story.key, Engine=database.engine.value,
        DBInstanceClass=story.instance_type, StorageType=wanted.volume_type.value,
        AllocatedStorage=wanted.size_gib, MasterUsername="demo", ManageMasterUserPassword=True,
        Tags=[{"Key": key, "Value": value} for key, value in story.all_tags.items()],
        **{name: value for name, value in settings.items() if value is not None},
    )["DBInstance"]  # fmt: skip
    return Member(story=story, resource_id=str(told["DBInstanceIdentifier"]))


def put_loads(where: Stage, cast: Cast[DatabaseStory]) -> None:
    """Give every database its load; its class is what limits it beside its storage."""
    for member in cast:
        block = workload(member.story, where.folder / "loads", START, END_MINUTE)
        where.ask(
            "load",
            {"database_id": member.resource_id, "workload": block, "start": START.isoformat()},
        )


def cues(cast: Cast[DatabaseStory]) -> Iterable[Cue]:
    """What others do to the databases, and when."""
    for member in cast:
        for pending in member.story.pending:
            yield Cue(minute=pending.minute, act=_asking(member, pending))
            yield Cue(minute=pending.withdrawn, act=_withdrawing(member, pending))


def _asking(member: Member[DatabaseStory], pending: Pending) -> Any:
    def ask(where: Stage) -> None:
        where.client("rds").modify_db_instance(
            DBInstanceIdentifier=member.resource_id, ApplyImmediately=False,
            **{pending.setting: pending.value},
        )  # fmt: skip
        member.changed_by_others.append(instant(pending.minute))

    return ask


def _withdrawing(member: Member[DatabaseStory], pending: Pending) -> Any:
    def withdraw(where: Stage) -> None:
        request = {"database_id": member.resource_id, "withdraw": [pending.setting]}
        where.ask("pending", request)
        member.changed_by_others.append(instant(pending.withdrawn))

    return withdraw


def final(where: Stage, member: Member[DatabaseStory]) -> Configuration:
    """The storage as RDS shows it at the end."""
    told = where.client("rds").describe_db_instances(DBInstanceIdentifier=member.resource_id)
    shape, first = told["DBInstances"][0], member.story.volume
    settable = shape["StorageType"] != "gp2" and first.database is not None
    striped = first.database is not None and first.database.stripes(shape["AllocatedStorage"]) > 1
    gp3 = shape["StorageType"] == "gp3"
    return Configuration(
        volume_type=VolumeType(shape["StorageType"]),
        size_gib=shape["AllocatedStorage"],
        iops=shape.get("Iops") if settable and (striped or not gp3) else None,
        throughput_mibps=shape.get("StorageThroughput") if gp3 and striped else None,
        database=first.database,
    )
