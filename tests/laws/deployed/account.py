"""An account in this process that keeps AWS's promises and no others, and remembers what AWS did."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

from headroom.domain.resources import Configuration
from tests.builders import NOW
from tests.laws.deployed.databases import Rds
from tests.laws.deployed.faults import Invocation
from tests.laws.deployed.metrics import metric_data
from tests.laws.deployed.tables import DynamoDb
from tests.laws.deployed.volumes import Ec2
from tests.laws.deployed.wire import Call, Refusal

A_CALL = timedelta(milliseconds=40)
INDEX_LAG = timedelta(seconds=3)
"""The most by which an index of DynamoDB is behind here; its describes have no such promise."""
VISIBLE_AFTER = timedelta(minutes=6)
"""The queue's visibility time-out, as it is deployed."""
MODIFIES = {"ModifyVolume": "VolumeId", "ModifyDBInstance": "DBInstanceIdentifier", "ModifyDBCluster": "DBClusterIdentifier"}  # fmt: skip
Watch = Callable[["Account", Call, str], None]


@dataclass(slots=True, kw_only=True)
class Message:
    """A message on the work queue."""

    body: str
    visible_at: datetime
    receives: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of ours that AWS accepted."""

    at: datetime
    name: str
    until: datetime
    """When AWS is done with it."""
    target: Configuration | str


@dataclass(slots=True, kw_only=True)
class Account:
    """Every service that the functions call; `lags` are the ages of what describes may show."""

    now: datetime = NOW
    policy: str = ""
    tables: DynamoDb = field(default_factory=DynamoDb)
    ec2: Ec2 = field(default_factory=Ec2)
    rds: Rds = field(default_factory=Rds)
    queue: dict[str, Message] = field(default_factory=dict)
    published: list[Mapping[str, Any]] = field(default_factory=list)
    """Messages that SNS took, as machines get them."""
    events: list[Mapping[str, Any]] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    lags: tuple[timedelta, ...] = (timedelta(0),)
    draw: Random = field(default_factory=lambda: Random(1))
    refusals: list[str] = field(default_factory=list)
    """Codes with which AWS refuses the next changes of storage."""
    invocation: Invocation | None = None
    calls: int = 0
    bodies: list[str] = field(default_factory=list)
    """Every message ever put on the queue."""
    before_change: Watch = lambda account, call, name: None
    after_change: Watch = lambda account, call, name: None
    measured_since: datetime = NOW - timedelta(minutes=32)

    def answer(self, call: Call) -> Mapping[str, Any]:
        """One request of whoever runs now."""
        self.now += A_CALL
        self.calls += 1
        if self.invocation is None:
            return self._do(call)
        self.invocation.times.append(self.now)
        return self.invocation.call(call, lambda: self._do(call))

    def put(self, body: Mapping[str, Any] | str, delay_s: float = 0) -> None:
        """A message for the workers."""
        text = body if isinstance(body, str) else json.dumps(body)
        self.bodies.append(text)
        name = f"m{len(self.bodies)}"
        self.queue[name] = Message(body=text, visible_at=self.now + timedelta(seconds=delay_s))

    def _do(self, call: Call) -> Mapping[str, Any]:
        self.tables.now = self.now
        lag = self.draw.choice(self.lags)
        match call.service:
            case "dynamodb":
                self.tables.lag = min(lag, INDEX_LAG)
                return self.tables.answer(call)
            case "ec2" | "rds" if call.operation in MODIFIES:
                return self._change(call)
            case "ec2":
                return self.ec2.answer(call, self.now, lag)
            case "rds":
                return self.rds.answer(call, self.now, lag)
            case "cloudwatch":
                return self._cloudwatch(call)
            case "ssm":
                return {
                    "Parameter": {"Name": call.asked["Name"], "Value": self.policy, "Version": 1}
                }
            case "sns":
                message = json.loads(call.asked["Message"])
                self.published.append(json.loads(message["https"]))
                return {"MessageId": "1"}
            case "sqs":
                return self._sqs(call)
            case "eventbridge":
                self.events += [json.loads(e["Detail"]) for e in call.asked["Entries"]]
                return {
                    "FailedEntryCount": 0,
                    "Entries": [{"EventId": "1"} for _ in call.asked["Entries"]],
                }
        raise NotImplementedError(f"{call.service}.{call.operation}")

    def _change(self, call: Call) -> Mapping[str, Any]:
        """A change of storage: judged before and after, and remembered if AWS took it."""
        name = call.asked[MODIFIES[call.operation]]
        self.before_change(self, call, name)
        if self.refusals:
            code = self.refusals.pop(0)
            raise Refusal(code, "no", 503 if code == "RequestLimitExceeded" else 400)
        target: Configuration | str
        if call.service == "ec2":
            done = self.ec2.answer(call, self.now, timedelta(0))
            life = self.ec2.volumes[name].life
            target, until = life.billed(self.now), self.now + life.delays_at(self.now).completed
        else:
            done = self.rds.answer(call, self.now, timedelta(0))
            target, until = call.asked.get("StorageType", ""), self.now + timedelta(minutes=5)
            if call.operation == "ModifyDBInstance":
                target, until = self.rds.billed(name, self.now), self.now + timedelta(minutes=25)
        self.changes.append(Change(at=self.now, name=name, until=until, target=target))
        self.after_change(self, call, name)
        return done

    def _cloudwatch(self, call: Call) -> Mapping[str, Any]:
        if call.operation == "DescribeAlarms":
            return {"MetricAlarms": [], "CompositeAlarms": []}
        if call.operation == "ListMetrics":
            return {"Metrics": []}
        if call.operation != "GetMetricData":
            raise Refusal("AccessDenied", "no", 403)
        since = self.measured_since

        def measured(dimensions: Mapping[str, str], metric: str, at: datetime) -> float | None:
            if "VolumeId" in dimensions:
                return self.ec2.volumes[dimensions["VolumeId"]].minute(at).get(metric)
            if "InstanceId" in dimensions:
                return 0.0 if metric.startswith("Instance") else None
            return self.rds.measured(dimensions, metric, at)

        return metric_data(call.asked, self.now, since, measured)

    def _sqs(self, call: Call) -> Mapping[str, Any]:
        match call.operation:
            case "SendMessageBatch":
                for each in call.asked["Entries"]:
                    self.put(each["MessageBody"], each["DelaySeconds"])
                entries = [
                    {"Id": e["Id"], "MessageId": "1", "MD5OfMessageBody": ""}
                    for e in call.asked["Entries"]
                ]
                return {"Successful": entries, "Failed": []}
            case "GetQueueAttributes":
                waiting = sum(m.visible_at <= self.now for m in self.queue.values())
                return {"Attributes": {"ApproximateNumberOfMessages": str(waiting)}}
            case "ChangeMessageVisibilityBatch":
                for each in call.asked["Entries"]:
                    message = self.queue.get(each["ReceiptHandle"])
                    if message is not None:
                        hidden = timedelta(seconds=each["VisibilityTimeout"])
                        message.visible_at = self.now + hidden
                return {
                    "Successful": [{"Id": e["Id"]} for e in call.asked["Entries"]],
                    "Failed": [],
                }
        raise NotImplementedError(call.operation)
