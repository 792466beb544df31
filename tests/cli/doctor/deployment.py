"""A whole deployment in a simulated account, made resource by resource, so that a test can break one."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import boto3

from headroom.adapters.ledger import DynamoLedger
from headroom.adapters.prices import CataloguePrices, PriceStore
from headroom.adapters.tables import RECORDS, STATE, create_table
from headroom.cli.doctor.deployed import Deployed, Stack, StackResource
from headroom.cli.sources.account import Account
from headroom.cli.sources.deployment import Deployment
from headroom.policy import canonical_json, parse_policy
from headroom.settings import FunctionSettings
from tests.builders import ACCOUNT, REGION

POLICY = parse_policy({"account": {"max_in_flight": 7}}, source="policy")


@dataclass(frozen=True, kw_only=True)
class Whole:
    """The deployment, and the names of what can be broken."""

    deployed: Deployed
    queue: str
    dead_letters: str
    undelivered: str
    mapping: str
    topic: str

    def again(self) -> Deployed:
        """The deployment as a new run of the command sees it."""
        found = self.deployed
        return Deployed(here=found.here, stacks=found.stacks, is_local=True)


@cache
def client(service: str) -> Any:
    """One for all tests: moto answers it in whichever account a test is."""
    make: Any = boto3.client
    return make(service, region_name=REGION)


def whole() -> Whole:
    """Everything that the stacks make, healthy, with a volume that is enrolled."""
    now = datetime.now(UTC)
    client("dynamodb").create_table(**create_table(RECORDS, "records"))
    client("dynamodb").create_table(**create_table(STATE, "state"))
    client("ssm").put_parameter(
        Name="/headroom/policy", Value=canonical_json(POLICY), Type="String"
    )
    client("ec2").create_volume(
        AvailabilityZone=f"{REGION}a", Size=100, VolumeType="gp3",
        TagSpecifications=[
            {"ResourceType": "volume", "Tags": [{"Key": "headroom", "Value": "auto"}]}
        ],
    )  # fmt: skip
    topic = client("sns").create_topic(Name="people")["TopicArn"]
    queue = client("sqs").create_queue(QueueName="signals")["QueueUrl"]
    dead = client("sqs").create_queue(QueueName="parked")["QueueUrl"]
    undelivered = client("sqs").create_queue(QueueName="undelivered")["QueueUrl"]
    client("sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint=_arn(dead))
    settings = FunctionSettings(
        records_table="records", state_table="state", policy_parameter="/headroom/policy",
        topic_arn=topic, queue_url=queue,
    )  # fmt: skip
    for name in ("signals", "sweep"):
        _function(name, settings)
    mapping = client("lambda").create_event_source_mapping(
        FunctionName="signals", EventSourceArn=_arn(queue)
    )["UUID"]
    client("events").put_rule(Name="alarms", EventPattern=json.dumps({"source": ["aws.ec2"]}))
    client("events").put_targets(Rule="alarms", Targets=[{"Id": "t", "Arn": _arn(queue)}])
    client("scheduler").create_schedule(
        Name="minute", ScheduleExpression="rate(1 minute)", FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:sweep", "RoleArn": ROLE},
    )  # fmt: skip
    client("cloudwatch").put_metric_alarm(
        AlarmName="own", AlarmDescription="Headroom: it stopped", MetricName="m", Namespace="n",
        Statistic="Sum", Period=60, EvaluationPeriods=1, Threshold=1,
        ComparisonOperator="LessThanThreshold", AlarmActions=[topic],
    )  # fmt: skip
    client("cloudwatch").set_alarm_state(
        AlarmName="own", StateValue="OK", StateReason="all is well"
    )
    published("SweepCompleted", now)
    prices = PriceStore(client("dynamodb"), table="state", account_id=ACCOUNT)
    prices.keep(CataloguePrices().table(REGION), now=now)
    return Whole(
        deployed=_deployed(now, topic, (queue, dead, undelivered), mapping), queue=queue,
        dead_letters=dead, undelivered=undelivered, mapping=mapping, topic=topic,
    )  # fmt: skip


def published(metric: str, at: datetime, value: float = 1, *, namespace: str = "Headroom",
              dimension: tuple[str, str] = ("service", "headroom")) -> None:  # fmt: skip
    client("cloudwatch").put_metric_data(
        Namespace=namespace,
        MetricData=[
            {
                "MetricName": metric, "Value": value, "Timestamp": at - timedelta(minutes=1),
                "Dimensions": [{"Name": dimension[0], "Value": dimension[1]}],
            }
        ],
    )  # fmt: skip


ROLE = f"arn:aws:iam::{ACCOUNT}:role/role"


def _deployed(now: datetime, topic: str, queues: tuple[str, str, str], mapping: str) -> Deployed:
    ledger = DynamoLedger(
        client("dynamodb"), records_table="records", state_table="state", account_id=ACCOUNT,
        region=REGION,
    )  # fmt: skip
    account = Account(
        account_id=ACCOUNT, region=REGION, caller="me", now=now, ec2=client("ec2"),
        cloudwatch=client("cloudwatch"), prices=CataloguePrices(), client=client,
    )  # fmt: skip
    parts = {
        "Signals": ("signals", "AWS::Lambda::Function"),
        "Sweep": ("sweep", "AWS::Lambda::Function"),
        "Rule": ("alarms", "AWS::Events::Rule"),
        "Minute": ("minute", "AWS::Scheduler::Schedule"),
        "Mapping": (mapping, "AWS::Lambda::EventSourceMapping"),
        **{
            logical: (url, "AWS::SQS::Queue")
            for logical, url in zip(
                ("Queue", "DeadLetters", "HubEventsDeadLetters"), queues, strict=True
            )
        },
        "Own": ("own", "AWS::CloudWatch::Alarm"),
    }
    state = {"RecordsTable": "records", "StateTable": "state", "TopicArn": topic}
    return Deployed(
        here=Deployment(account=account, ledger=ledger, state_table="state"), is_local=True,
        stacks=(
            Stack(name="HeadroomState", status="CREATE_COMPLETE", outputs=state, resources=()),
            Stack(
                name="HeadroomLoop", status="UPDATE_COMPLETE",
                outputs={
                    "PolicyVersion": POLICY.version,
                    "HubRedelivery": "headroom hub redeliver --queue undelivered",
                },
                resources=tuple(
                    StackResource(logical=logical, physical=physical, kind=kind)
                    for logical, (physical, kind) in parts.items()
                ),
            ),
        ),
    )  # fmt: skip


def _arn(url: str) -> str:
    found = client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    return str(found["Attributes"]["QueueArn"])


def _function(name: str, settings: FunctionSettings) -> None:
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as file:
        info = zipfile.ZipInfo("handler.py", date_time=(2026, 1, 1, 0, 0, 0))
        file.writestr(info, "def handler(event, context): pass")
    client("lambda").create_function(
        FunctionName=name, Runtime="python3.13", Role=ROLE, Handler="handler.handler",
        Code={"ZipFile": zipped.getvalue()},
        Environment={"Variables": settings.to_environment()},
    )  # fmt: skip
