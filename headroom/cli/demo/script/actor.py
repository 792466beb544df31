"""A story on its resource: how the demo creates, loads, changes and reads it, whatever its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from headroom.cli.demo.script.deployment import REGION, LocalAccount
from headroom.cli.demo.script.outcome import StorageRun, StoryRun
from headroom.cli.demo.stories.databases import DatabaseStory
from headroom.cli.demo.stories.loads import workload
from headroom.cli.demo.stories.program import AnyStory
from headroom.cli.demo.stories.volumes import END_MINUTE, START, Story
from headroom.cli.views.decision import DecisionStory
from headroom.cli.views.timeline import Minute, loaded_minute
from headroom.domain.catalog import catalogue_prices
from headroom.domain.resources import Configuration, Database, VolumeType

Facts = Mapping[str, Any]
"""One minute of a resource, as the endpoint's control API reports it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What somebody other than Headroom does at a minute."""

    minute: int
    act: Callable[[LocalAccount], None]


def instant(minute: int) -> datetime:
    """The instant of a minute of the demo."""
    return START + timedelta(minutes=minute)


class Actor(Protocol):
    """One story on its resource."""

    @property
    def story(self) -> AnyStory:
        """The story."""

    @property
    def resource_id(self) -> str:
        """What records call the resource."""

    def load(self, where: LocalAccount) -> None:
        """Declare the resource's load."""

    def events(self) -> Iterable[Event]:
        """What others do to it, and when."""

    def observe(self, where: LocalAccount, minute: int) -> None:
        """Note what AWS reports at `minute`."""

    def run(
        self, where: LocalAccount, decisions: Sequence[DecisionStory], published: Sequence[str]
    ) -> StoryRun:
        """What is known so far; `published` are all messages to people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageActor:
    """What volumes and databases have in common."""

    story: Story | DatabaseStory
    resource_id: str
    facts: list[Facts] = field(default_factory=list)
    changed_by_others: list[datetime] = field(default_factory=list)

    def target(self) -> dict[str, object]:
        """How the control API names the resource."""
        raise NotImplementedError

    def events(self) -> Iterable[Event]:
        """What others do to it, and when."""
        raise NotImplementedError

    def final(self, where: LocalAccount) -> Configuration:
        """The storage as AWS describes it now."""
        raise NotImplementedError

    def load(self, where: LocalAccount) -> None:
        """Declare the resource's load."""
        block = workload(self.story, where.folder / "loads", START, END_MINUTE)
        where.ask("load", {**self.target(), "workload": block, "start": START.isoformat()})

    def observe(self, where: LocalAccount, minute: int) -> None:
        """Nothing: the endpoint reports every minute by itself."""

    def run(
        self, where: LocalAccount, decisions: Sequence[DecisionStory], published: Sequence[str]
    ) -> StorageRun:
        """What is known so far."""
        return StorageRun(
            story=self.story,
            resource_id=self.resource_id,
            final=self.final(where),
            decisions=of_resource(decisions, self.resource_id),
            minutes=tuple(minute_of(each, self.story.volume.database) for each in self.facts),
            messages=sum(self.resource_id in text for text in published),
            changed_by_others=tuple(self.changed_by_others),
        )


def of_resource(decisions: Sequence[DecisionStory], resource_id: str) -> tuple[DecisionStory, ...]:
    """The decisions about one resource."""
    return tuple(
        each for each in decisions
        if each.decision.observation.volume.ref.resource_id == resource_id
    )  # fmt: skip


def minute_of(facts: Facts, database: Database | None = None) -> Minute:
    """A minute of the endpoint in the shape that plots need."""
    billed = Configuration(
        volume_type=VolumeType(facts["type"]), size_gib=facts["size_gib"], iops=facts["iops"],
        throughput_mibps=facts["throughput_mibps"], database=database,
    )  # fmt: skip
    return loaded_minute(
        at=datetime.fromisoformat(facts["start"]),
        known=not facts["unknown"],
        offered_ops=facts["offered_ops"],
        served_ops=facts["served_ops"],
        served_bytes=facts["served_read_bytes"] + facts["served_write_bytes"],
        ebs_iops=facts["ebs_iops"],
        limits=(facts["limit_iops"], facts["limit_mibps"]),
        credits_percent=facts["burst_balance_percent"],
        queue=facts["queue_seen_avg"],
        latency_ms=facts["latency_ms_avg"],
        usd_per_month=float(catalogue_prices(REGION).monthly(billed)),
        starved=facts["starved"],
    )
