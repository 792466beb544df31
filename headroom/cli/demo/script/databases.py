"""The demo's RDS databases: created, loaded, changed by others, and described by RDS."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from headroom.cli.demo.script.actor import Event, StorageActor, instant
from headroom.cli.demo.script.deployment import LocalAccount
from headroom.cli.demo.stories.databases import DatabaseStory, Pending
from headroom.domain.resources import Configuration, VolumeType


class DatabaseActor(StorageActor):
    """The story of a DB instance."""

    __slots__ = ()
    story: DatabaseStory

    def target(self) -> dict[str, object]:
        """The database; its class limits it as well."""
        return {"database_id": self.resource_id}

    def events(self) -> Iterable[Event]:
        """What others do to the database, and when."""
        for pending in self.story.pending:
            yield Event(minute=pending.minute, act=partial(self._request, pending))
            yield Event(minute=pending.withdrawn, act=partial(self._withdraw, pending))

    def _request(self, pending: Pending, where: LocalAccount) -> None:
        where.client("rds").modify_db_instance(
            DBInstanceIdentifier=self.resource_id, ApplyImmediately=False,
            **{pending.setting: pending.value},
        )  # fmt: skip
        self.changed_by_others.append(instant(pending.minute))

    def _withdraw(self, pending: Pending, where: LocalAccount) -> None:
        request = {"database_id": self.resource_id, "withdraw": [pending.setting]}
        where.ask("pending", request)
        self.changed_by_others.append(instant(pending.withdrawn))

    def final(self, where: LocalAccount) -> Configuration:
        """The storage as RDS describes it now."""
        rds = where.client("rds")
        described = rds.describe_db_instances(DBInstanceIdentifier=self.resource_id)
        shape, first = described["DBInstances"][0], self.story.volume
        settable = shape["StorageType"] != "gp2" and first.database is not None
        stripes = 1 if first.database is None else first.database.stripes(shape["AllocatedStorage"])
        striped, gp3 = stripes > 1, shape["StorageType"] == "gp3"
        return Configuration(
            volume_type=VolumeType(shape["StorageType"]),
            size_gib=shape["AllocatedStorage"],
            iops=shape.get("Iops") if settable and (striped or not gp3) else None,
            throughput_mibps=shape.get("StorageThroughput") if gp3 and striped else None,
            database=first.database,
        )


def set_up(where: LocalAccount, stories: Sequence[DatabaseStory]) -> tuple[DatabaseActor, ...]:
    """Create every story's DB instance."""
    return tuple(_create(where, story) for story in stories)


def _create(where: LocalAccount, story: DatabaseStory) -> DatabaseActor:
    storage, database = story.volume, story.volume.database
    assert database is not None
    settings = {"Iops": storage.iops, "StorageThroughput": storage.throughput_mibps}
    created = where.client("rds").create_db_instance(
        DBInstanceIdentifier=story.key, Engine=database.engine.value,
        DBInstanceClass=story.instance_type, StorageType=storage.volume_type.value,
        AllocatedStorage=storage.size_gib, MasterUsername="demo", ManageMasterUserPassword=True,
        Tags=[{"Key": key, "Value": value} for key, value in story.all_tags.items()],
        **{name: value for name, value in settings.items() if value is not None},
    )["DBInstance"]  # fmt: skip
    return DatabaseActor(story=story, resource_id=str(created["DBInstanceIdentifier"]))
