"""Plays the stories in lock-step and brings back what happened to each."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from headroom.adapters.ledger import DynamoLedger
from headroom.cli.demo.script.deployment import ACCOUNT, REGION, Stage, create
from headroom.cli.demo.script.outcome import Played
from headroom.cli.demo.stories.databases import DatabaseStory
from headroom.cli.demo.stories.loads import workload
from headroom.cli.demo.stories.volumes import END_MINUTE, START, STORIES, OtherChange, Story
from headroom.cli.sources.records_file import line_of
from headroom.cli.terminal.problems import Problem
from headroom.cli.views.decision import DecisionStory, told
from headroom.cli.views.timeline import Minute, loaded_minute
from headroom.domain.catalog import catalogue_prices
from headroom.domain.catalog.ebs import LIMITS
from headroom.domain.resources import Configuration, Database, VolumeType
from headroom.domain.state import Record, Step, broken_link

TICKS = 10
"""Minutes per call of the endpoint; between two of them progress is shown."""
INBOX = "headroom-demo-inbox"


S = TypeVar("S", Story, DatabaseStory)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member(Generic[S]):
    """A story, its volume or database, and the endpoint's facts about each of its minutes."""

    story: S
    resource_id: str
    facts: list[Mapping[str, Any]] = field(default_factory=list)
    changed_by_others: list[datetime] = field(default_factory=list)


Cast = tuple[Member[S], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """What somebody else does at a minute, knowing nothing of Headroom."""

    minute: int
    act: Callable[[Stage], None]


def instant(minute: int) -> datetime:
    """The instant of a minute of the demo."""
    return START + timedelta(minutes=minute)


def set_up(where: Stage, stories: Sequence[Story] = STORIES) -> Cast[Story]:
    """Create every story's volume two days before the start, and tell AWS what was before it.

    The changes before the start count against AWS's four slots; nobody told Headroom of them.
    """
    where.set_clock(instant(-2_880))
    cast = tuple(Member(story=s, resource_id=create(where, s)) for s in stories)
    for member in cast:
        past = [instant(other.minute) for other in member.story.others if other.minute < 0]
        if past:
            starts = [at.isoformat() for at in past]
            where.ask("history", {"volume_id": member.resource_id, "starts": starts})
            member.changed_by_others.extend(past)
    return cast


def cues(cast: Cast[Story]) -> Iterable[Cue]:
    """What other programs do to the volumes, and when."""
    for member in cast:
        for other in member.story.others:
            if other.minute >= 0:
                yield Cue(minute=other.minute, act=_changing(member, other))


def _changing(member: Member[Story], other: OtherChange) -> Callable[[Stage], None]:
    def change(where: Stage) -> None:
        where.client("ec2").modify_volume(
            VolumeId=member.resource_id, Throughput=other.throughput_mibps
        )
        member.changed_by_others.append(instant(other.minute))

    return change


def put_loads(where: Stage, cast: Cast[Story]) -> None:
    """Give every volume its load."""
    for member in cast:
        block = workload(member.story, where.folder / "loads", START, END_MINUTE)
        request = {
            "volume_id": member.resource_id,
            "workload": block,
            "attachment": {"instance_type": member.story.instance_type},
            "start": START.isoformat(),
        }
        where.ask("load", request)


def raise_curtain(where: Stage, topic_arn: str) -> None:
    """Listen to the topic, and stand the clock at the start."""
    sqs, sns = where.client("sqs"), where.client("sns")
    url = sqs.create_queue(QueueName=INBOX)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]
    sns.subscribe(TopicArn=topic_arn, Protocol="sqs", Endpoint=arn["QueueArn"])
    where.set_clock(START)


def play(
    where: Stage, facts: Mapping[str, list[Mapping[str, Any]]], others: Sequence[Cue],
    on_minute: Callable[[int], bool],
) -> int:  # fmt: skip
    """Run the demo's hours; tells how many minutes were played.

    `facts` takes each minute by resource; `on_minute` hears how far it is, and whether to go on is
    its answer.
    """
    stops: list[int] = sorted(
        {*range(0, END_MINUTE, TICKS), *(cue.minute for cue in others), END_MINUTE}
    )
    for minute, following in itertools.pairwise(stops):
        for cue in others:
            if cue.minute == minute:
                cue.act(where)
        answer = where.ask("tick", {"minutes": following - minute})
        for minute_facts in answer["minutes"]:
            named = minute_facts.get("volume_id") or minute_facts["database_id"]
            facts[named].append(minute_facts)
        if not on_minute(following):
            return following
    return END_MINUTE


def messages(where: Stage) -> tuple[str, ...]:
    """What was published to people since this was last asked."""
    sqs = where.client("sqs")
    url = sqs.get_queue_url(QueueName=INBOX)["QueueUrl"]
    found: list[str] = []
    while batch := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        for message in batch:
            body = json.loads(message["Body"])
            found.append(f"{body.get('Subject') or ''}\n{body['Message']}")
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return tuple(found)


def ledger(where: Stage, tables: Mapping[str, str]) -> DynamoLedger:
    """The deployed ledger, through the adapter the functions use."""
    return DynamoLedger(
        where.client("dynamodb"), records_table=tables["RecordsTable"],
        state_table=tables["StateTable"], account_id=ACCOUNT, region=REGION,
    )  # fmt: skip


def chains(book: DynamoLedger) -> tuple[tuple[Record, ...], ...]:
    """Every chain of the demo, oldest first; raises Problem when one is broken."""
    span = {"since": instant(-1_440), "until": instant(END_MINUTE + 1)}
    heads = sorted(
        (r for r in book.by_time(**span) if r.step in (Step.DECIDED, Step.REJECTED_SIGNAL)),
        key=lambda r: (r.at, r.resource, r.decision_id),
    )
    found = tuple(book.chain(head.decision_id) for head in heads)
    for chain in found:
        broken = broken_link(chain)
        if broken is not None:
            raise Problem(f"Chain {broken.decision_id} is broken at record {broken.sequence}.")
    return found


def ended(
    member: Member[S], final: Configuration, *, every: Sequence[DecisionStory], said: Sequence[str]
) -> Played:
    """What is known about a story at the end; `said` is all that was told people."""
    name = member.resource_id
    return Played(
        story=member.story,
        resource_id=name,
        final=final,
        told=tuple(
            t for t in every if t.decision.observation.volume.ref.resource_id == name
        ),
        minutes=tuple(minute_of(facts, member.story.volume.database) for facts in member.facts),
        messages=sum(name in text for text in said),
        changed_by_others=tuple(member.changed_by_others),
    )  # fmt: skip


def decided(every: Sequence[Sequence[Record]]) -> tuple[DecisionStory, ...]:
    """The decisions of all chains."""
    return tuple(told(chain) for chain in every if chain[0].step is Step.DECIDED)


def final(where: Stage, member: Member[Story]) -> Configuration:
    """The volume as EC2 describes it at the end."""
    described = where.client("ec2").describe_volumes(VolumeIds=[member.resource_id])["Volumes"][0]
    kind = VolumeType(described["VolumeType"])
    settable = LIMITS[kind]
    return Configuration(
        volume_type=kind,
        size_gib=described["Size"],
        iops=described.get("Iops") if settable.iops else None,
        throughput_mibps=described.get("Throughput") if settable.throughput_mibps else None,
    )


def digest(every: Sequence[Sequence[Record]]) -> str:
    """One hash over all records: two runs with the same seed have the same."""
    total = hashlib.sha256()
    for line in lines(every):
        total.update(line.encode())
    return total.hexdigest()


def lines(every: Iterable[Sequence[Record]]) -> list[str]:
    """All records as lines of the records file."""
    return [line_of(record) + "\n" for chain in every for record in chain]


def minute_of(facts: Mapping[str, Any], database: Database | None = None) -> Minute:
    """A minute as the endpoint's control API tells it, in the shape the plots want."""
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
