"""Checks of the alarms and of who receives what they and Headroom send."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from headroom.cli.doctor.deployed import SETTLES, DeployedStacks
from headroom.cli.doctor.findings import Fact, Finding, just_deployed
from headroom.cli.doctor.loop import REDEPLOY, RESTORE
from headroom.cli.doctor.parts import lets_in
from headroom.cli.terminal.output import utc

LONG_WITHOUT_DATA = timedelta(hours=3)
Found = Iterator[Finding | Fact]


def alarms(deployed: DeployedStacks) -> Found:
    """Every alarm of the stacks exists, has data, may act, and those on Headroom itself are quiet."""
    names = [one.physical for one in deployed.of("AWS::CloudWatch::Alarm")]
    found: dict[str, Mapping[str, Any]] = {}
    for start in range(0, len(names), 100):
        answer = deployed.client("cloudwatch").describe_alarms(
            AlarmNames=names[start : start + 100]
        )
        found |= {alarm["AlarmName"]: alarm for alarm in answer["MetricAlarms"]}
    for name in names:
        if name not in found:
            yield Finding(problem=f"the alarm {name} was deleted", fix=RESTORE)
    for name, alarm in found.items():
        yield from _alarm(deployed, name, alarm)
    if not names:
        yield Finding(
            problem="the stacks have no alarm: nobody hears when Headroom stops", fix=REDEPLOY
        )
    detecting = [a for name, a in found.items() if _detects(deployed, name)]
    yield Fact(
        text=f"{len(found)} alarms, {len(detecting)} of them find pressure, "
        f"{sum(a['StateValue'] == 'ALARM' for a in detecting)} of these are in ALARM"
    )


def _detects(deployed: DeployedStacks, name: str) -> bool:
    """Whether an alarm wakes the loop by its event; all others notify the topic."""
    return name.startswith(deployed.account.names.detection_alarms)


def _alarm(deployed: DeployedStacks, name: str, alarm: Mapping[str, Any]) -> Found:
    state, since = alarm["StateValue"], alarm["StateUpdatedTimestamp"]
    notifies, topic = not _detects(deployed, name), deployed.output("TopicArn")
    if notifies and topic is not None and topic not in alarm.get("AlarmActions", ()):
        yield Finding(problem=f"the alarm {name} does not notify the topic", fix=RESTORE)
    elif notifies and not alarm.get("ActionsEnabled", True):
        yield Finding(
            problem=f"the actions of the alarm {name} are disabled: it notifies nobody",
            fix=f"aws cloudwatch enable-alarm-actions --alarm-names {name}",
        )
    if state == "INSUFFICIENT_DATA" and deployed.now - since > LONG_WITHOUT_DATA:
        yield Finding(
            problem=f"the alarm {name} has had no data since {utc(since)}: {alarm['StateReason']}",
            fix="check that its metric is published and that its query names existing metrics and tags",
        )
    settled_at = deployed.settled_at
    if state == "ALARM" and notifies and settled_at is not None and since > settled_at - SETTLES:
        yield just_deployed(f"the alarm {name} is in ALARM", settled_at)
    elif state == "ALARM" and notifies:
        yield Finding(
            problem=f"the alarm {name} has been in ALARM since {utc(since)}: "
            f"{alarm.get('AlarmDescription', '').removeprefix('Headroom: ')}",
            fix="docs/operate/runbook.md has an entry for this alarm",
        )


def people(deployed: DeployedStacks) -> Found:
    """Somebody receives what Headroom sends."""
    topic = deployed.output("TopicArn")
    if topic is None:
        return
    sns = deployed.client("sns")
    try:
        found = sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]
    except sns.exceptions.NotFoundException:
        yield Finding(problem=f"the topic {topic} was deleted: nobody is notified", fix=RESTORE)
        return
    policy = str(sns.get_topic_attributes(TopicArn=topic)["Attributes"].get("Policy", ""))
    if not lets_in(policy, "cloudwatch.amazonaws.com", "sns:Publish"):
        yield Finding(
            problem="the topic's policy refuses CloudWatch: alarms on Headroom itself notify nobody",
            fix=RESTORE,
        )
    confirmed = [one for one in found if one["SubscriptionArn"].startswith("arn:")]
    for one in found:
        if one not in confirmed:
            yield Finding(
                problem=f"the subscription of {one['Endpoint']} is not confirmed",
                fix="confirm it with the link in the message from AWS, or subscribe again",
            )
    if not confirmed:
        yield Finding(
            problem="nobody receives notifications: the topic has no confirmed subscription",
            fix=f"aws sns subscribe --topic-arn {topic} --protocol email --notification-endpoint YOU",
        )
    yield Fact(text=f"{len(confirmed)} confirmed subscriptions")
