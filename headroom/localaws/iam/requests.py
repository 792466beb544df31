"""What a request asks IAM for: actions, resources and condition keys, from its operation and parameters.

Source: Service Authorization Reference, the pages of each service (as of 2026-05-10). A request that is not
listed here needs its action on every resource; one whose action is not known is denied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headroom.localaws.iam.policies import ANY, Access
from headroom.localaws.iam.reference import known_actions

Values = Mapping[str, tuple[str, ...]]


class UnknownRequest(LookupError):
    """It is not known here what IAM asks for in this request; the message is one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request of a service by its prefix in policies."""

    service: str
    operation: str
    parameters: Mapping[str, Any]
    region: str
    account: str
    partition: str = "aws"

    def arn(self, resource: str, service: str = "") -> str:
        """An ARN of this account and Region."""
        return f"arn:{self.partition}:{service or self.service}:{self.region}:{self.account}:{resource}"

    def one(self, name: str) -> str:
        """A parameter that the request must have; raises UnknownRequest."""
        found = self.parameters.get(name)
        if not isinstance(found, str) or not found:
            raise UnknownRequest(f"{self.service}:{self.operation} needs the parameter {name}.")
        return found

    def listed(self, name: str) -> list[Any]:
        """A parameter that is a list; empty where it is none."""
        found = self.parameters.get(name)
        return found if isinstance(found, list) else []


Ask = Callable[[Call], Iterable[tuple[str, str, Values]]]
"""Actions without their service, resources, and values of condition keys in lower case."""


def accesses_of(call: Call) -> list[Access]:
    """Everything that must be allowed for the request; raises UnknownRequest."""
    found = _REQUESTS.get((call.service, call.operation))
    if found is None and f"{call.service}:{call.operation}" in known_actions():
        return [Access(f"{call.service}:{call.operation}", ANY)]
    if found is None:
        raise UnknownRequest(
            f"It is not known here what IAM asks for in {call.service}:{call.operation}."
        )
    return [access(call, *each) for each in found(call)]


def access(call: Call, action: str, resource: str, values: Values) -> Access:
    """One access with its own condition keys."""
    name = action if ":" in action else f"{call.service}:{action}"
    return Access(name, resource, tuple(sorted(values.items())))


def _same(resource: Callable[[Call], str]) -> Ask:
    """The action of the operation's own name, on one resource."""
    return lambda call: [(call.operation, resource(call), {})]


def _anything(_: Call) -> str:
    return ANY


def _named(parameter: str, before: str = "") -> Callable[[Call], str]:
    """A resource whose name, or whole ARN, is a parameter."""

    def resource(call: Call) -> str:
        name = call.one(parameter)
        return name if name.startswith("arn:") else call.arn(before + name)

    return resource


def _named_or_all(parameter: str, before: str) -> Callable[[Call], str]:
    """As `_named`; a list of all asks for all of them."""
    return lambda call: (
        _named(parameter, before)(call)
        if call.parameters.get(parameter)
        else call.arn(before + ANY)
    )


def _queue(call: Call) -> str:
    return call.arn(call.one("QueueUrl").rsplit("/", 1)[-1])


def _table(call: Call, name: str) -> str:
    return name if name.startswith("arn:") else call.arn(f"table/{name}")


def _of_table(call: Call) -> Iterable[tuple[str, str, Values]]:
    table = _table(call, call.one("TableName"))
    index = call.parameters.get("IndexName")
    yield call.operation, f"{table}/index/{index}" if index else table, {}


def _batch(call: Call) -> Iterable[tuple[str, str, Values]]:
    for name in call.parameters.get("RequestItems") or {}:
        yield call.operation, _table(call, name), {}


_PARTS = {
    "ConditionCheck": "ConditionCheckItem", "Delete": "DeleteItem", "Get": "GetItem",
    "Put": "PutItem", "Update": "UpdateItem",
}  # fmt: skip
"""A transaction is allowed by the actions of its parts."""


def _transaction(call: Call) -> Iterable[tuple[str, str, Values]]:
    for item in call.listed("TransactItems"):
        for part, request in item.items():
            yield _PARTS[part], _table(call, request["TableName"]), {}


def _put_events(call: Call) -> Iterable[tuple[str, str, Values]]:
    for entry in call.listed("Entries"):
        bus = entry.get("EventBusName") or "default"
        keys = {"events:source": "Source", "events:detail-type": "DetailType"}
        values = {key: (str(entry[name]),) for key, name in keys.items() if entry.get(name)}
        arn = bus if bus.startswith("arn:") else call.arn(f"event-bus/{bus}")
        yield call.operation, arn, values


def _get_calendar_state(call: Call) -> Iterable[tuple[str, str, Values]]:
    for name in call.listed("CalendarNames"):
        arn = name if name.startswith("arn:") else call.arn(f"document/{name}")
        yield call.operation, arn, {}


def _describe_alarms(call: Call) -> Iterable[tuple[str, str, Values]]:
    if "CompositeAlarm" in call.listed("AlarmTypes"):
        yield call.operation, ANY, {}
    for name in call.listed("AlarmNames") or [ANY]:
        yield call.operation, call.arn(f"alarm:{name}"), {}


def _put_metric_alarm(call: Call) -> Iterable[tuple[str, str, Values]]:
    arn = call.arn(f"alarm:{call.one('AlarmName')}")
    yield call.operation, arn, {}
    if call.listed("Tags"):
        yield "TagResource", arn, {}


def _delete_alarms(call: Call) -> Iterable[tuple[str, str, Values]]:
    for name in call.listed("AlarmNames"):
        yield call.operation, call.arn(f"alarm:{name}"), {}


def _parameter(call: Call) -> str:
    return call.arn(f"parameter/{call.one('Name').removeprefix('/')}")


def _modify_instance(call: Call) -> Iterable[tuple[str, str, Values]]:
    """The instance, and every group that the request names."""
    yield call.operation, call.arn(f"db:{call.one('DBInstanceIdentifier')}"), {}
    for parameter, kind in (("OptionGroupName", "og"), ("DBParameterGroupName", "pg"),
                            ("DBSubnetGroupName", "subgrp")):  # fmt: skip
        if call.parameters.get(parameter):
            yield call.operation, call.arn(f"{kind}:{call.one(parameter)}"), {}


def _modify_cluster(call: Call) -> Iterable[tuple[str, str, Values]]:
    yield call.operation, call.arn(f"cluster:{call.one('DBClusterIdentifier')}"), {}
    for parameter, kind in (("OptionGroupName", "og"), ("DBInstanceParameterGroupName", "pg"),
                            ("DBClusterParameterGroupName", "cluster-pg")):  # fmt: skip
        if call.parameters.get(parameter):
            yield call.operation, call.arn(f"{kind}:{call.one(parameter)}"), {}


def _invoke(call: Call) -> Iterable[tuple[str, str, Values]]:
    yield "InvokeFunction", _named("FunctionName", "function:")(call), {}


_REQUESTS: Mapping[tuple[str, str], Ask] = {
    **{
        ("ec2", name): _same(_anything)
        for name in (
            "DescribeInstances",
            "DescribeInstanceTypes",
            "DescribeVolumes",
            "DescribeVolumesModifications",
        )
    },
    ("ec2", "ModifyVolume"): _same(_named("VolumeId", "volume/")),
    ("cloudwatch", "GetMetricData"): _same(_anything),
    ("cloudwatch", "DescribeAlarms"): _describe_alarms,
    ("cloudwatch", "DeleteAlarms"): _delete_alarms,
    ("cloudwatch", "PutMetricAlarm"): _put_metric_alarm,
    ("cloudwatch", "DescribeAlarmContributors"): _same(_named("AlarmName", "alarm:")),
    ("pricing", "GetProducts"): _same(_anything),
    ("ssm", "GetParameter"): _same(_parameter),
    ("ssm", "PutParameter"): _same(_parameter),
    ("ssm", "GetCalendarState"): _get_calendar_state,
    ("kms", "GenerateMac"): _same(_named("KeyId", "key/")),
    ("kms", "VerifyMac"): _same(_named("KeyId", "key/")),
    ("sns", "Publish"): _same(_named("TopicArn")),
    **{
        ("sqs", name): _same(_queue)
        for name in (
            "ChangeMessageVisibility",
            "DeleteMessage",
            "GetQueueAttributes",
            "ReceiveMessage",
            "SendMessage",
        )
    },
    # Batches have no action of their own.
    ("sqs", "ChangeMessageVisibilityBatch"): lambda c: [("ChangeMessageVisibility", _queue(c), {})],
    ("sqs", "DeleteMessageBatch"): lambda c: [("DeleteMessage", _queue(c), {})],
    ("sqs", "SendMessageBatch"): lambda c: [("SendMessage", _queue(c), {})],
    ("events", "PutEvents"): _put_events,
    ("lambda", "Invoke"): _invoke,
    **{
        ("dynamodb", name): _of_table
        for name in ("DeleteItem", "GetItem", "PutItem", "Query", "Scan", "UpdateItem")
    },
    ("dynamodb", "BatchGetItem"): _batch,
    ("dynamodb", "BatchWriteItem"): _batch,
    ("dynamodb", "TransactGetItems"): _transaction,
    ("dynamodb", "TransactWriteItems"): _transaction,
    ("rds", "DescribeDBInstances"): _same(_named_or_all("DBInstanceIdentifier", "db:")),
    ("rds", "DescribeDBClusters"): _same(_named_or_all("DBClusterIdentifier", "cluster:")),
    ("rds", "DescribeValidDBInstanceModifications"): _same(_named("DBInstanceIdentifier", "db:")),
    ("rds", "DescribeReservedDBInstances"): _same(_named_or_all("ReservedDBInstanceId", "ri:")),
    ("rds", "DescribeDBClusterParameters"): _same(
        _named("DBClusterParameterGroupName", "cluster-pg:")
    ),
    ("rds", "ListTagsForResource"): _same(_named("ResourceName")),
    ("rds", "ModifyDBInstance"): _modify_instance,
    ("rds", "ModifyDBCluster"): _modify_cluster,
}
"""What each operation asks for, by the service's prefix in policies."""
