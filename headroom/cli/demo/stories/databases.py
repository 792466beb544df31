"""The five stories of databases: storage of a DB instance, its load, and changes by others.

Instants are minutes after the demo's start.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headroom.cli.demo.stories.volumes import STORY_TAG, Part, Trace
from headroom.domain.resources import Configuration, Database, Engine, VolumeType


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """From `minute` until `withdrawn` somebody's change waits for the maintenance window."""

    minute: int
    withdrawn: int
    setting: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseStory:
    """One DB instance and what happens to it."""

    key: str
    title: str
    volume: Configuration
    """Its storage, which carries its engine and deployment."""
    load: Trace
    instance_type: str = "db.r6g.4xlarge"
    """Its class."""
    pending: tuple[Pending, ...] = ()
    policy: dict[str, object] = field(default_factory=dict)
    """Settings of the rule that the demo's policy has for this database, found by its tag."""

    @property
    def all_tags(self) -> dict[str, str]:
        """The tags the database is created with: its own one enrols it."""
        return {"Name": self.key, STORY_TAG: self.key, "headroom": "auto"}


def _storage(
    kind: VolumeType, size_gib: int, iops: int | None = None, mibps: int | None = None
) -> Configuration:
    return Configuration(
        volume_type=kind, size_gib=size_gib, iops=iops, throughput_mibps=mibps,
        database=Database(engine=Engine.POSTGRESQL),
    )  # fmt: skip


def _busy(minute: int, iops: float, until: int, *, phase: str = "midday") -> Trace:
    """Quiet, busy from `minute` on, quiet again from `until` on."""
    quiet = min(600, iops / 4)
    return Trace(
        parts=(
            Part(minute=0, phase="morning", iops=quiet),
            Part(minute=minute, phase=phase, iops=iops),
            Part(minute=until, phase="morning", iops=quiet),
        )
    )


DATABASES = (
    DatabaseStory(
        key="db-credits",
        title="An RDS database on 500 GiB of gp2 whose burst credits would run out",
        volume=_storage(VolumeType.GP2, 500),
        load=_busy(120, 4_000, 600),
    ),
    DatabaseStory(
        key="db-below",
        title="An RDS database below the striping threshold",
        volume=_storage(VolumeType.GP3, 300),
        load=_busy(65, 3_600, 300),
        policy={"growth": True, "max_size_gib": 1_000},
    ),
    DatabaseStory(
        key="db-above",
        title="An RDS database above the striping threshold",
        volume=_storage(VolumeType.GP3, 500, 12_000, 500),
        load=_busy(85, 13_500, 420),
    ),
    DatabaseStory(
        key="db-pending",
        title="An RDS database for which somebody's change of its class is pending",
        volume=_storage(VolumeType.GP2, 500),
        load=_busy(95, 4_000, 900),
        pending=(
            Pending(minute=60, withdrawn=420, setting="DBInstanceClass", value="db.r6g.8xlarge"),
        ),
    ),
    DatabaseStory(
        key="db-class",
        title="An RDS database whose instance class is the limit",
        volume=_storage(VolumeType.GP3, 500, 12_000, 500),
        load=_busy(80, 6_000, 360),
        instance_type="db.m6g.large",
    ),
)
