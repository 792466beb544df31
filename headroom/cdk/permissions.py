"""What a function may do: statements built from the adapters' own lists of actions.

The only other actions are the platform's (PLATFORM_ACTIONS): what Lambda needs to run a function
as configured. A test compares the template's set of actions with these lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import Acknowledgment, Aws, Validations
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from constructs import Construct

from headroom.adapters import actions
from headroom.adapters.tables import LEDGER_ACTIONS
from headroom.settings import OFF, DeploymentConfig, Names

LOG_ACTIONS = ("logs:CreateLogStream", "logs:PutLogEvents")
TRACE_ACTIONS = ("xray:PutTelemetryRecords", "xray:PutTraceSegments")
QUEUE_ACTIONS = ("sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage")
DEAD_LETTER_ACTIONS = ("sqs:SendMessage",)
TOPIC_KEY_ACTIONS = ("kms:Decrypt", "kms:GenerateDataKey")
SCHEDULE_ACTIONS = ("lambda:InvokeFunction",)
ANY_CALENDAR = "*"
"""In place of a calendar's name: any, where the policy may name others without a deployment."""
EVERY_CALENDAR = f"arn:{Aws.PARTITION}:ssm:*:*:document/*"

PLATFORM_ACTIONS = (
    LOG_ACTIONS
    + TRACE_ACTIONS
    + QUEUE_ACTIONS
    + DEAD_LETTER_ACTIONS
    + TOPIC_KEY_ACTIONS
    + SCHEDULE_ACTIONS
)
"""Writing its log group, tracing, taking from its queue, parking what failed, publishing to an
encrypted topic, and the schedule's own right to invoke."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The stateful resources the loop works with."""

    records: dynamodb.ITable
    records_indexes: tuple[str, ...]
    state: dynamodb.ITable
    state_indexes: tuple[str, ...]
    topic: sns.ITopic
    topic_key: kms.IKey | None
    """Encrypts the topic; None where the owner did not ask for it."""
    seal_key: kms.IKey | None = None
    """Seals records; None where the owner did not turn seals on."""


def allow(actions: Sequence[str], *resources: str, sid: str) -> iam.PolicyStatement:
    """An Allow statement, its actions in a fixed order."""
    return iam.PolicyStatement(sid=sid, actions=sorted(actions), resources=list(resources))


def change(
    actions: Sequence[str], *resources: str, sid: str, tag: tuple[str, str | None] | None
) -> iam.PolicyStatement:
    """An Allow statement to change storage, only with this tag (any value for None) if one is given.

    `ec2:ModifyVolume` requires a volume, `rds:ModifyDBInstance` a db and `rds:ModifyDBCluster` a cluster;
    all three resource types have the key `aws:ResourceTag/${TagKey}`.
    Source: Service Authorization Reference, EC2 and RDS (as of 2026-05-10).
    """
    statement = allow(actions, *resources, sid=sid)
    if tag is not None:
        key, value = tag
        name = f"aws:ResourceTag/{key}"
        condition = ("Null", {name: "false"}) if value is None else ("StringEquals", {name: value})
        statement.add_conditions(dict([condition]))
    return statement


def deny(
    sid: str, actions: Sequence[str], conditions: Mapping[str, object] | None = None
) -> iam.PolicyStatement:
    """A statement of a resource's own policy that refuses everyone, administrators included."""
    return iam.PolicyStatement(
        sid=sid,
        effect=iam.Effect.DENY,
        principals=[iam.AnyPrincipal()],
        actions=sorted(actions),
        resources=["*"],
        conditions=conditions,
    )


def deny_others(sid: str, actions: Sequence[str], names: Names) -> iam.PolicyStatement:
    """A statement of a resource's own policy that refuses everyone but the deployed roles."""
    deployed = f"arn:{Aws.PARTITION}:iam::{Aws.ACCOUNT_ID}:role{names.role_path}*"
    return deny(sid, actions, {"ArnNotLike": {"aws:PrincipalArn": deployed}})


def loop_statements(
    kept: Kept, names: Names, *, databases: bool = False, clusters: bool = False,
    resource_tag: tuple[str, str | None] | None = None,
) -> list[iam.PolicyStatement]:  # fmt: skip
    """What observing, deciding, acting and recording takes, and nothing else.

    With `databases` the storage of databases too, with `clusters` that of Aurora. With `resource_tag` (key, and value unless any) only storage that has this tag can be changed.
    """
    here = f"{Aws.REGION}:{Aws.ACCOUNT_ID}"
    return [
        allow(actions.EBS_READ_ACTIONS, "*", sid="SeeVolumesAndInstances"),
        change(
            actions.EBS_WRITE_ACTIONS,
            f"arn:{Aws.PARTITION}:ec2:{here}:volume/*",
            sid="ChangeVolumesHere",
            tag=resource_tag,
        ),
        *(_database_statements(here, resource_tag) if databases else ()),
        *((allow(actions.AURORA_READ_ACTIONS, "*", sid="SeeClusters"),) if clusters else ()),
        allow(actions.METRICS_READ_ACTIONS, "*", sid="ReadMetrics"),
        allow(actions.LIST_METRICS_ACTIONS, "*", sid="FindMetrics"),
        *dispatch_statements(kept, names),
    ]


def dispatch_statements(kept: Kept, names: Names) -> list[iam.PolicyStatement]:
    """Reading the policy, recording and notifying: the dispatcher has no access to storage."""
    here = f"{Aws.REGION}:{Aws.ACCOUNT_ID}"
    parameter = f"arn:{Aws.PARTITION}:ssm:{here}:parameter{names.policy_parameter}"
    return [
        allow(actions.POLICY_READ_ACTIONS, parameter, f"{parameter}/*", sid="ReadPolicy"),
        allow(actions.NOTIFIER_ACTIONS, kept.topic.topic_arn, sid="TellPeople"),
        *([] if kept.topic_key is None else [_through_sns(kept.topic_key)]),
        *ledger_statements(kept),
    ]


def ledger_statements(kept: Kept) -> list[iam.PolicyStatement]:
    """Reading and writing the two tables: all that taking people's requests takes."""
    key = kept.seal_key
    return [
        *([] if key is None else [allow(actions.SEAL_ACTIONS, key.key_arn, sid="SealRecords")]),
        *_table("Records", LEDGER_ACTIONS["records"], kept.records, kept.records_indexes),
        *_table("State", LEDGER_ACTIONS["state"], kept.state, kept.state_indexes),
    ]


def _database_statements(
    here: str, tag: tuple[str, str | None] | None
) -> list[iam.PolicyStatement]:
    """Seeing databases and changing them; IAM knows no narrower right than that to modify one."""
    rds = f"arn:{Aws.PARTITION}:rds:{here}"
    return [
        allow(actions.RDS_READ_ACTIONS, "*", sid="SeeDatabases"),
        change(
            actions.RDS_INSTANCE_WRITE_ACTIONS, f"{rds}:db:*", sid="ChangeDatabasesHere", tag=tag
        ),
        change(
            actions.RDS_CLUSTER_WRITE_ACTIONS, f"{rds}:cluster:*", sid="ChangeClustersHere", tag=tag
        ),
    ]


def _databases(rds: str) -> tuple[str, ...]:
    return f"{rds}:cluster:*", f"{rds}:db:*"


def contributor_statement(names: Names) -> iam.PolicyStatement:
    """Asking a detection alarm which volumes contribute; only events name alarms."""
    here = f"{Aws.REGION}:{Aws.ACCOUNT_ID}"
    alarms = f"arn:{Aws.PARTITION}:cloudwatch:{here}:alarm:{names.detection_alarms}*"
    return allow(actions.ALARM_READ_ACTIONS, alarms, sid="AskAlarmsForContributors")


def resource_alarm_statements(config: DeploymentConfig) -> list[iam.PolicyStatement]:
    """Listing alarms, removing those on single resources and, with a budget for them, making them.

    What was made with a budget must go without one.
    """
    alarms = f"arn:{Aws.PARTITION}:cloudwatch:{Aws.REGION}:{Aws.ACCOUNT_ID}:alarm:"
    ours = f"{alarms}{config.names.resource_alarms}*"
    make = allow(actions.ALARM_MAKE_ACTIONS, ours, sid="MakeResourceAlarms")
    return [
        allow(actions.ALARM_LIST_ACTIONS, "*", sid="ListAlarms"),
        allow(actions.ALARM_REMOVE_ACTIONS, ours, sid="RemoveResourceAlarms"),
        *([make] if config.resource_alarms_usd else []),
    ]


def calendar_statements(calendars: Sequence[str]) -> list[iam.PolicyStatement]:
    """Asking the Change Calendars that the policy names, by name or ARN; nothing without any.

    ANY_CALENDAR includes those that other accounts and Regions share.
    """
    here = f"arn:{Aws.PARTITION}:ssm:{Aws.REGION}:{Aws.ACCOUNT_ID}:document/"
    named = (
        EVERY_CALENDAR if one == ANY_CALENDAR else one if one.startswith("arn:") else f"{here}{one}"
        for one in calendars
    )  # fmt: skip
    if not calendars:
        return []
    return [allow(actions.CALENDAR_READ_ACTIONS, *named, sid="AskChangeCalendars")]


def publishing_statements(config: DeploymentConfig) -> list[iam.PolicyStatement]:
    """Reading the policy and putting another, where the owner lets a hub publish one."""
    if config.hub_policy_role == OFF:
        return []
    here = f"{Aws.REGION}:{Aws.ACCOUNT_ID}"
    parameter = f"arn:{Aws.PARTITION}:ssm:{here}:parameter{config.names.policy_parameter}"
    return [
        allow(actions.POLICY_READ_ACTIONS, parameter, f"{parameter}/*", sid="ReadPolicy"),
        allow(actions.POLICY_WRITE_ACTIONS, parameter, sid="PublishPolicy"),
    ]


def prices_statement() -> iam.PolicyStatement:
    """Asking the Price List API, which is public and knows no resource; the sweep alone does."""
    return allow(actions.PRICES_ACTIONS, "*", sid="ReadPrices")


def events_statement() -> iam.PolicyStatement:
    """Putting Headroom's own events on the default bus, and no others; the sweep alone does."""
    bus = f"arn:{Aws.PARTITION}:events:{Aws.REGION}:{Aws.ACCOUNT_ID}:event-bus/default"
    statement = allow(actions.EVENTS_OUT_ACTIONS, bus, sid="PublishEvents")
    statement.add_condition("StringEquals", {"events:source": actions.EVENT_SOURCE})
    return statement


def _table(
    name: str, actions: Sequence[str], table: dynamodb.ITable, indexes: Sequence[str]
) -> list[iam.PolicyStatement]:
    """The table with the actions given, and its indexes, by name, with queries only."""
    statements = [allow(actions, table.table_arn, sid=f"Use{name}")]
    if indexes:
        arns = [f"{table.table_arn}/index/{index}" for index in indexes]
        statements.append(allow(("dynamodb:Query",), *arns, sid=f"Query{name}Indexes"))
    return statements


def _through_sns(key: kms.IKey) -> iam.PolicyStatement:
    """The topic's key, used by SNS on the publisher's behalf only."""
    statement = allow(TOPIC_KEY_ACTIONS, key.key_arn, sid="EncryptForTopic")
    statement.add_condition(
        "StringEquals", {"kms:ViaService": f"sns.{Aws.REGION}.{Aws.URL_SUFFIX}"}
    )
    return statement


def role_for(
    scope: Construct,
    construct_id: str,
    *,
    service: str,
    description: str,
    statements: Sequence[iam.PolicyStatement],
    source_account: str | None = None,
    path: str | None = None,
) -> iam.IRole:
    """A role that `service` takes on, with these statements; nothing can be added to it later.

    With `source_account` the service may do so on behalf of that account alone. Tables let roles
    of the deployment's `path` write.
    """
    trusted: iam.PrincipalBase = iam.ServicePrincipal(service)
    if source_account is not None:
        trusted = trusted.with_conditions({"StringEquals": {"aws:SourceAccount": source_account}})
    policy = iam.PolicyDocument(statements=list(statements))
    role = iam.Role(
        scope,
        construct_id,
        assumed_by=trusted,
        description=description,
        path=path,
        inline_policies={"Headroom": policy},
    )
    return role.without_policy_updates()


def explain_wildcards(
    scope: Construct, statements: Sequence[iam.PolicyStatement], names: Names
) -> None:
    """Say to cdk-nag why each wildcard is there; every other one is still a finding."""
    here = "<AWS::Region>:<AWS::AccountId>"
    volumes = f"arn:<AWS::Partition>:ec2:{here}:volume/*"
    alarms = f"arn:<AWS::Partition>:cloudwatch:{here}:alarm:{names.detection_alarms}*"
    reasons = {
        "*": "ec2:Describe*, cloudwatch:GetMetricData and ListMetrics, pricing:GetProducts and xray:Put* know no "
        "resource-level permissions; each action is named and none of them changes storage.",
        volumes: "Which volumes may change is the policy's and the tags' to say, judged and "
        "recorded by the guardrails; IAM holds it to volumes of this account and Region.",
    }
    granted = {action for statement in statements for action in statement.actions}
    if granted >= set(actions.RDS_WRITE_ACTIONS):
        reasons["*"] = reasons["*"].replace("cloudwatch:", "rds:Describe*, cloudwatch:", 1)
        for one in _databases(f"arn:<AWS::Partition>:rds:{here}"):
            reasons[one] = reasons[volumes].replace("volumes", "databases")
    if granted >= set(actions.EXTEND_ACTIONS):
        reasons["*"] = reasons["*"].replace(" and xray", ", ssm:GetCommandInvocation and xray", 1)
        reasons[f"arn:<AWS::Partition>:ec2:{here}:instance/*"] = (
            "Only Headroom's own document may be run, and only on instances that carry the "
            "enrolment tag, by the statement's condition."
        )
    if granted >= set(actions.ALARM_READ_ACTIONS):
        reasons[alarms] = (
            "The detection alarms are found by their common name prefix, so that alarms the "
            "owner adds under it are heard as well; the action only reads."
        )
    if granted >= set(actions.ALARM_REMOVE_ACTIONS):
        every = f"arn:<AWS::Partition>:cloudwatch:{here}:alarm:"
        reasons["*"] += " cloudwatch:DescribeAlarms returns composite alarms only with it."
        reasons[f"{every}{names.resource_alarms}*"] = (
            "Headroom makes and removes alarms on single resources under a name prefix of its own; their "
            "names end with the ids of resources. It leaves alarms that it did not make alone."
        )
    if granted >= set(actions.POLICY_READ_ACTIONS):
        reasons[f"arn:<AWS::Partition>:ssm:{here}:parameter{names.policy_parameter}/*"] = (
            "A long policy is published in numbered parts under one name; the action only reads."
        )
    if any(EVERY_CALENDAR in statement.resources for statement in statements):
        reasons["arn:<AWS::Partition>:ssm:*:*:document/*"] = (
            "A policy may name any Change Calendar, also one that another account shares, and may come "
            "without a deployment; the action only reads whether it is open."
        )
    for resource, reason in reasons.items():
        Validations.of(scope).acknowledge(
            Acknowledgment(id=f"AwsSolutions-IAM5[Resource::{resource}]", reason=reason)
        )
