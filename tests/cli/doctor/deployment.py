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
from headroom.adapters.tables import EXPIRES, RECORDS, STATE, create_table
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
    key: str

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
    for schema, name in ((RECORDS, "records"), (STATE, "state")):
        _table(create_table(schema, name))
    client("dynamodb").update_time_to_live(
        TableName="records", TimeToLiveSpecification={"Enabled": True, "AttributeName": EXPIRES}
    )
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
    parked = json.dumps({"deadLetterTargetArn": _arn(dead), "maxReceiveCount": 52})
    client("sqs").set_queue_attributes(QueueUrl=queue, Attributes={"RedrivePolicy": parked})
    for each in (queue, dead):
        let_in = {"Policy": policy_for("events.amazonaws.com", "sqs:SendMessage")}
        client("sqs").set_queue_attributes(QueueUrl=each, Attributes=let_in)
    client("sns").set_topic_attributes(
        TopicArn=topic, AttributeName="Policy",
        AttributeValue=policy_for("cloudwatch.amazonaws.com", "sns:Publish"),
    )  # fmt: skip
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
    target = {"Id": "t", "Arn": _arn(queue), "DeadLetterConfig": {"Arn": _arn(dead)}}
    client("events").put_targets(Rule="alarms", Targets=[target])
    client("logs").create_log_group(logGroupName="lines")
    document = json.dumps({"schemaVersion": "2.2", "mainSteps": []})
    client("ssm").create_document(Name="extend", Content=document, DocumentType="Command")
    key = client("kms").create_key()["KeyMetadata"]["KeyId"]
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
        deployed=_deployed(now, topic, (queue, dead, undelivered), mapping, key), queue=queue,
        key=key, dead_letters=dead, undelivered=undelivered, mapping=mapping, topic=topic,
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


def policy_for(service: str, action: str) -> str:
    """A resource policy that lets an AWS service in, with TLS demanded of everybody."""
    tls = {"Effect": "Deny", "Principal": {"AWS": "*"}, "Action": action.partition(":")[0] + ":*",
           "Resource": "*", "Condition": {"Bool": {"aws:SecureTransport": "false"}}}  # fmt: skip
    may = {"Effect": "Allow", "Principal": {"Service": service}, "Action": action, "Resource": "*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [tls, may]})


def _table(arguments: dict[str, Any]) -> None:
    made = client("dynamodb").create_table(**arguments)["TableDescription"]
    client("dynamodb").update_continuous_backups(
        TableName=made["TableName"],
        PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True},
    )
    client("dynamodb").put_resource_policy(ResourceArn=made["TableArn"], Policy="{}")


def _deployed(
    now: datetime, topic: str, queues: tuple[str, str, str], mapping: str, key: str
) -> Deployed:
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
        "Role": ("role", "AWS::IAM::Role"),
        "Lines": ("lines", "AWS::Logs::LogGroup"),
        "Extend": ("extend", "AWS::SSM::Document"),
        "Key": (key, "AWS::KMS::Key"),
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
