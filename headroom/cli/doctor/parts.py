"""Checks of what a deployment consists of and somebody may have changed since: tables, keys, roles, logs, policies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from botocore.exceptions import ClientError

from headroom.adapters.errors import code_of
from headroom.adapters.tables import RECORDS, STATE, Table
from headroom.cli.doctor.deployed import Deployed, DeployedStacks, StackResource
from headroom.cli.doctor.findings import Fact, Finding
from headroom.cli.doctor.loop import RESTORE, rule_place

GONE = (
    "ResourceNotFoundException", "NoSuchEntity", "InvalidDocument", "NotFoundException",
    "NotFound", "PolicyNotFoundException", "404",
)  # fmt: skip
"""What services say of something that is not there."""
EVERY_MINUTE = "rate(1 minute)"
Found = Iterator[Finding | Fact]


def tables(deployed: Deployed) -> Found:
    """Both tables are there with their indexes, backups, expiry and the policy that protects them."""
    for output, schema in (("RecordsTable", RECORDS), ("StateTable", STATE)):
        name = deployed.output(output)
        if name is not None:
            yield from _table(deployed.client("dynamodb"), name, schema)


def _table(dynamodb: Any, name: str, schema: Table) -> Found:
    table = there(lambda: dynamodb.describe_table(TableName=name)["Table"])
    if table is None:
        yield Finding(
            problem=f"the table {name} was deleted: nothing is decided or recorded",
            fix="restore it under the same name from the backup that DynamoDB keeps for 35 days (aws dynamodb "
            f"list-backups --backup-type ALL --table-name {name}), and before any `cdk deploy --revert-drift`: that "
            "may make an empty one",
        )
        return
    if table["TableStatus"] not in ("ACTIVE", "UPDATING"):
        yield Finding(
            problem=f"the table {name} is {table['TableStatus']}",
            fix="read the table's page in the DynamoDB console for the reason",
        )
    indexes = {
        one["IndexName"]: one["IndexStatus"] for one in table.get("GlobalSecondaryIndexes", ())
    }
    for index in schema.indexes:
        if indexes.get(index.name) == "CREATING":
            yield Finding(
                problem=f"the index {index.name} of the table {name} is being made: what reads it fails",
                fix="wait until it is there",
            )
        elif index.name not in indexes:
            yield Finding(problem=f"the table {name} has no index {index.name}", fix=RESTORE)
    backups = dynamodb.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    if backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] != "ENABLED":
        yield Finding(problem=f"point-in-time recovery of the table {name} is off", fix=RESTORE)
    expiry = dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    if schema.expires and expiry["TimeToLiveStatus"] not in ("ENABLED", "ENABLING"):
        yield Finding(problem=f"the table {name} does not delete expired records", fix=RESTORE)
    if there(lambda: dynamodb.get_resource_policy(ResourceArn=table["TableArn"])) is None:
        yield Finding(
            problem=f"the table {name} has no resource policy: principals other than the deployed roles may write to it",
            fix=RESTORE,
        )
    yield Fact(text=f"{name}: {table['TableStatus']}, {len(indexes)} indexes")


def parts(deployed: DeployedStacks) -> Found:
    """Roles, log groups, documents and the sweep's failure handling exist; keys are enabled."""
    count = 0
    for kind, (service, read, what, effect) in _READS.items():
        for one in deployed.of(kind):
            client, name = deployed.client(service), one.physical
            count += 1
            if there(lambda: read(client, name)) is None:  # noqa: B023 - called at once
                yield Finding(problem=f"the {what} {name} was deleted: {effect}", fix=RESTORE)
    for key in deployed.of("AWS::KMS::Key"):
        state = deployed.client("kms").describe_key(KeyId=key.physical)["KeyMetadata"]["KeyState"]
        count += 1
        if state != "Enabled":
            cancel = f"aws kms cancel-key-deletion --key-id {key.physical}, then "
            yield Finding(
                problem=f"the key {key.physical} is {state}: everything that uses it fails",
                fix=(cancel if state == "PendingDeletion" else "")
                + f"aws kms enable-key --key-id {key.physical}",
            )
    yield Fact(text=f"{count} roles, log groups, documents and keys")


def _log_group(client: Any, name: str) -> object:
    groups = client.describe_log_groups(logGroupNamePrefix=name)["logGroups"]
    return next((one for one in groups if one["logGroupName"] == name), None)


_READS: Mapping[str, tuple[str, Callable[[Any, str], object], str, str]] = {
    "AWS::IAM::Role": (
        "iam", lambda client, name: client.get_role(RoleName=name),
        "role", "whatever assumes it can do nothing",
    ),
    "AWS::Logs::LogGroup": ("logs", _log_group, "log group", "the function's logs are lost"),
    "AWS::SSM::Document": (
        "ssm", lambda client, name: client.describe_document(Name=name),
        "document", "no file system is extended",
    ),
}  # fmt: skip
"""By type: how one is read, what it is called, and what its absence means."""


def deliveries(deployed: DeployedStacks) -> Found:
    """Rules and schedule deliver to this deployment, and the queues let them."""
    queues = {_name(one.physical): one for one in deployed.of("AWS::SQS::Queue")}
    refused = dict.fromkeys(_refused(deployed, queues))
    yield from (Finding(problem=each, fix=RESTORE) for each in refused)
    for mapping in deployed.of("AWS::Lambda::EventSourceMapping"):
        found = there(lambda: _mapping(deployed, mapping))  # noqa: B023 - called at once
        queue = None if found is None else queues.get(_name(found["EventSourceArn"]))
        if queue is not None and "RedrivePolicy" not in _attributes(deployed, queue):
            yield Finding(
                problem=f"messages that fail in {_name(queue.physical)} reach no dead-letter queue: it has no redrive policy",
                fix=RESTORE,
            )
    functions = {one.physical for one in deployed.of("AWS::Lambda::Function")}
    for schedule in deployed.of("AWS::Scheduler::Schedule"):
        yield from _schedule(deployed, schedule, functions)


def _mapping(deployed: DeployedStacks, mapping: StackResource) -> Any:
    return deployed.client("lambda").get_event_source_mapping(UUID=mapping.physical)


def _refused(deployed: DeployedStacks, queues: Mapping[str, StackResource]) -> Iterator[str]:
    """What the rules send to somewhere else, or to a queue that refuses it."""
    events = deployed.client("events")
    for rule in deployed.of("AWS::Events::Rule"):
        place, name = rule_place(deployed, rule)
        found = there(lambda: events.list_targets_by_rule(Rule=name, **place)["Targets"])  # noqa: B023
        for target in found or ():
            for arn in (target["Arn"], target.get("DeadLetterConfig", {}).get("Arn", "")):
                if ":sqs:" not in arn:
                    continue
                queue = queues.get(_name(arn))
                if queue is None:
                    yield f"the rule {name} sends to {arn}, which is not part of this deployment"
                    continue
                attributes = _attributes(deployed, queue)
                policy = attributes.get("Policy", "")
                if attributes and not lets_in(policy, "events.amazonaws.com", "sqs:SendMessage"):
                    yield f"the policy of the queue {_name(arn)} refuses EventBridge: events are lost"


def _schedule(deployed: DeployedStacks, schedule: StackResource, functions: set[str]) -> Found:
    group, _, name = schedule.physical.rpartition("|")
    scheduler = deployed.client("scheduler")
    place = {"GroupName": group} if group else {}
    found = there(lambda: scheduler.get_schedule(Name=name, **place))
    if found is None:
        return  # the check of the triggers says so
    if found["ScheduleExpression"] != EVERY_MINUTE:
        yield Finding(
            problem=f"the schedule {name} runs at {found['ScheduleExpression']} instead of {EVERY_MINUTE}",
            fix=RESTORE,
        )
    if _name(found["Target"]["Arn"]) not in functions:
        yield Finding(
            problem=f"the schedule {name} invokes {found['Target']['Arn']}, which is not part of this deployment",
            fix=RESTORE,
        )


def _attributes(deployed: DeployedStacks, queue: StackResource) -> Mapping[str, str]:
    """The attributes of a queue; none if it was deleted, which the check of the queues says."""
    sqs = deployed.client("sqs")
    try:
        found = sqs.get_queue_attributes(QueueUrl=queue.physical, AttributeNames=["All"])
    except sqs.exceptions.QueueDoesNotExist:
        return {}
    return dict(found["Attributes"])


def _name(place: str) -> str:
    """The name at the end of an ARN or a queue's URL."""
    return place.replace("/", ":").rsplit(":", 1)[-1]


def there(read: Callable[[], Any]) -> Any:
    """What `read` finds, or None where the service says that there is nothing."""
    try:
        return read()
    except ClientError as problem:
        if code_of(problem) not in GONE:
            raise
        return None


def lets_in(policy: str, service: str, action: str) -> bool:
    """Whether a policy of a resource allows an AWS service an action, and no statement denies it to all."""
    document = json.loads(policy or "{}")
    about = [one for one in _listed(document.get("Statement")) if _covers(one, action)]
    denied = any(
        one["Effect"] == "Deny"
        and "Condition" not in one
        and _listed(one.get("Principal")) == ["*"]
        for one in about
    )
    return not denied and any(
        one["Effect"] == "Allow" and service in _services(one.get("Principal")) for one in about
    )


def _covers(statement: Mapping[str, Any], action: str) -> bool:
    named = {str(one).casefold() for one in _listed(statement.get("Action"))}
    return bool(named & {action.casefold(), "*", action.partition(":")[0] + ":*"})


def _services(principal: object) -> list[Any]:
    return _listed(principal.get("Service")) if isinstance(principal, Mapping) else []


def _listed(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]
