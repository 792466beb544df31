"""Runs the stories on the local deployment in lock-step, and reads what was recorded."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence

from headroom.adapters.ledger import DynamoLedger
from headroom.cli.demo.script import clusters, databases, volumes
from headroom.cli.demo.script.actor import Actor, Facts, StorageActor, instant
from headroom.cli.demo.script.deployment import ACCOUNT, REGION, LocalAccount
from headroom.cli.demo.script.outcome import StoryRun, StoryVerdict
from headroom.cli.demo.script.progress import Display
from headroom.cli.demo.script.settling import OpenStory, Settling, decided
from headroom.cli.demo.stories.program import NUMBERS, Program
from headroom.cli.demo.stories.volumes import END_MINUTE, START
from headroom.cli.sources.records_file import line_of
from headroom.cli.terminal.problems import Problem
from headroom.cli.views.decision import DecisionStory
from headroom.domain.state import Record, Step, broken_link

TICKS = 10
"""Minutes per call of the endpoint; between two of them progress is displayed."""
INBOX = "headroom-demo-inbox"
Chains = tuple[tuple[Record, ...], ...]


def run_stories(
    where: LocalAccount, outputs: Mapping[str, str], program: Program, display: Display,
    judge: Callable[[StoryRun], StoryVerdict],
) -> tuple[Chains, list[StoryRun], int]:  # fmt: skip
    """Create what the stories need and run them.

    Returns every record chain, what is known about each story, and how many minutes were run.
    """
    (where.folder / "loads").mkdir(exist_ok=True)
    # The clock only goes forward, so what happened first is created first.
    of_clusters = clusters.set_up(where, program.clusters)
    storage: tuple[StorageActor, ...] = (
        *volumes.set_up(where, program.volumes), *databases.set_up(where, program.databases)
    )  # fmt: skip
    for actor in storage:
        actor.load(where)
    _start_clock(where, outputs["TopicArn"])
    for cluster in of_clusters:
        cluster.load(where)
    display.phase("Playing", minutes=END_MINUTE)
    actors: tuple[Actor, ...] = (*storage, *of_clusters)
    ledger, published = _ledger(where, outputs), list[str]()

    def open_story(actor: Actor) -> OpenStory:
        def judged(decisions: Sequence[DecisionStory]) -> StoryVerdict:
            return judge(actor.run(where, decisions, published))

        return OpenStory(
            key=actor.story.key, title=actor.story.title, resource=actor.resource_id, judge=judged
        )

    settling = Settling(ledger, [open_story(actor) for actor in actors])

    def on_minute(minute: int) -> bool:
        for actor in actors:
            actor.observe(where, minute)
        published.extend(_messages(where))
        for story, verdict in settling.at(minute):
            display.settled(NUMBERS[story.key], story.title, verdict.line)
        display.minute(minute, settling.decisions)
        return program.whole or bool(settling.stories)

    minutes = _tick(where, {each.resource_id: each.facts for each in storage}, actors, on_minute)
    display.phase("Reading the record")
    found = _chains(ledger)
    published.extend(_messages(where))
    decisions = decided(found)
    return found, [actor.run(where, decisions, published) for actor in actors], minutes


def _start_clock(where: LocalAccount, topic_arn: str) -> None:
    """Subscribe to the topic, and hold the clock at the start."""
    sqs, sns = where.client("sqs"), where.client("sns")
    url = sqs.create_queue(QueueName=INBOX)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]
    sns.subscribe(TopicArn=topic_arn, Protocol="sqs", Endpoint=arn["QueueArn"])
    where.set_clock(START)


def _tick(
    where: LocalAccount, facts: Mapping[str, list[Facts]], actors: Iterable[Actor],
    on_minute: Callable[[int], bool],
) -> int:  # fmt: skip
    """Run the demo's hours; returns how many minutes were run.

    `facts` collects each minute by resource; `on_minute` returns whether to go on.
    """
    events = [event for actor in actors for event in actor.events()]
    stops: list[int] = sorted(
        {*range(0, END_MINUTE, TICKS), *(event.minute for event in events), END_MINUTE}
    )
    for minute, following in itertools.pairwise(stops):
        for event in events:
            if event.minute == minute:
                event.act(where)
        answer = where.ask("tick", {"minutes": following - minute})
        for each in answer["minutes"]:
            facts[each.get("volume_id") or each["database_id"]].append(each)
        if not on_minute(following):
            return following
    return END_MINUTE


def _messages(where: LocalAccount) -> tuple[str, ...]:
    """What was published to people since the last call."""
    sqs = where.client("sqs")
    url = sqs.get_queue_url(QueueName=INBOX)["QueueUrl"]
    found: list[str] = []
    while batch := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        for message in batch:
            body = json.loads(message["Body"])
            found.append(f"{body.get('Subject') or ''}\n{body['Message']}")
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return tuple(found)


def _ledger(where: LocalAccount, tables: Mapping[str, str]) -> DynamoLedger:
    """The deployed ledger, through the adapter the functions use."""
    return DynamoLedger(
        where.client("dynamodb"), records_table=tables["RecordsTable"],
        state_table=tables["StateTable"], account_id=ACCOUNT, region=REGION,
    )  # fmt: skip


def _chains(ledger: DynamoLedger) -> Chains:
    """Every chain of the demo, oldest first; raises Problem when one is broken."""
    span = {"since": instant(-1_440), "until": instant(END_MINUTE + 1)}
    heads = sorted(
        (r for r in ledger.by_time(**span) if r.step in (Step.DECIDED, Step.REJECTED_SIGNAL)),
        key=lambda r: (r.at, r.resource, r.decision_id),
    )
    found = tuple(ledger.chain(head.decision_id) for head in heads)
    for chain in found:
        broken = broken_link(chain)
        if broken is not None:
            raise Problem(f"Chain {broken.decision_id} is broken at record {broken.sequence}.")
    return found


def digest(chains: Iterable[Sequence[Record]]) -> str:
    """One hash over all records: two runs with the same seed have the same."""
    return hashlib.sha256("".join(lines(chains)).encode()).hexdigest()


def lines(chains: Iterable[Sequence[Record]]) -> list[str]:
    """All records as lines of the records file."""
    return [line_of(record) + "\n" for chain in chains for record in chain]
