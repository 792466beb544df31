"""The IAM actions each adapter needs, and nothing else: stacks build their statements from these.

Standard library only. A test compares them with the calls the adapters really make.
Source: Service Authorization Reference for EC2, CloudWatch, Systems Manager, SNS, EventBridge and
Price List (2026-11).
"""

from __future__ import annotations

EBS_READ_ACTIONS = (
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeInstances",
    "ec2:DescribeVolumes",
    "ec2:DescribeVolumesModifications",
)
"""Adapter ebs. EC2's Describe actions know no resource: they take `*` only."""

EBS_WRITE_ACTIONS = ("ec2:ModifyVolume",)
"""Adapter ebs, `apply` alone. Takes volume ARNs: `arn:aws:ec2:REGION:ACCOUNT:volume/*`."""

RDS_READ_ACTIONS = (
    "rds:DescribeDBClusters",
    "rds:DescribeDBInstances",
    "rds:DescribeValidDBInstanceModifications",
    "rds:ListTagsForResource",
)
"""Adapter rds, which asks EC2 for instance types too. Takes databases' ARNs; lists take `*`."""

RDS_INSTANCE_WRITE_ACTIONS = ("rds:ModifyDBInstance",)
"""Adapter rds, `apply` alone. Takes `arn:aws:rds:REGION:ACCOUNT:db:*`."""
RDS_CLUSTER_WRITE_ACTIONS = ("rds:ModifyDBCluster",)
"""The same for clusters, of adapter aurora too. Takes `arn:aws:rds:REGION:ACCOUNT:cluster:*`."""
RDS_WRITE_ACTIONS = RDS_CLUSTER_WRITE_ACTIONS + RDS_INSTANCE_WRITE_ACTIONS

AURORA_READ_ACTIONS = ("rds:DescribeDBClusterParameters", "rds:DescribeReservedDBInstances")
"""Adapter aurora, beside what adapter rds reads: parallel query, and what reservations cover."""

RDS_EVENTS = (
    *("0007", "0017", "0018", "0089", "0189", "0217", "0218", "0219", "0220", "0221"),
    *("0222", "0223", "0224", "0225"),
)
"""Events of RDS that say something of storage; adapter events_rds says what."""

METRICS_READ_ACTIONS = ("cloudwatch:GetMetricData",)
"""Adapter cloudwatch. Knows no resource: takes `*` only."""

LIST_METRICS_ACTIONS = ("cloudwatch:ListMetrics",)
"""Adapter cloudwatch: of volumes that moved between instances, where free space of volumes is read, and of databases
that may have additional storage volumes. Knows no resource: takes `*` only."""

EXTEND_ACTIONS = ("ssm:SendCommand",)
"""Adapter instances, only where free space of volumes is read. Takes the one document's ARN, and those of
instances, with the condition key `ssm:resourceTag`."""
EXTEND_READ_ACTIONS = ("ssm:GetCommandInvocation",)
"""Adapter instances. Knows no resource: takes `*` only."""

ALARM_READ_ACTIONS = ("cloudwatch:DescribeAlarmContributors", "cloudwatch:DescribeAlarms")
"""Adapter cloudwatch, `contributors`. Takes alarm ARNs. Only the first is called, but no published list
of IAM's actions has it: it may be authorised as the second (checked 2026-11)."""

ALARM_LIST_ACTIONS = ("cloudwatch:DescribeAlarms",)
"""Adapter cloudwatch, which lists alarms by a prefix. For composite alarms, which could have the name of one on
a single resource, that takes `*` (API reference, 2026-11)."""
ALARM_REMOVE_ACTIONS = ("cloudwatch:DeleteAlarms",)
"""Adapter cloudwatch, for alarms on single resources. Takes alarm ARNs."""
ALARM_MAKE_ACTIONS = ("cloudwatch:PutMetricAlarm", "cloudwatch:TagResource")
"""The same; tags given to a new alarm need the second."""

POLICY_READ_ACTIONS = ("ssm:GetParameter",)
"""Adapter policies. Takes the one parameter's ARN."""

CALENDAR_READ_ACTIONS = ("ssm:GetCalendarState",)
"""Adapter calendars. Takes the ARNs of the calendars' documents; only where a policy names some."""

SEAL_ACTIONS = ("kms:GenerateMac",)
"""Adapter ledger, where records are sealed. Takes the one key's ARN."""

NOTIFIER_ACTIONS = ("sns:Publish",)
"""Adapter notifier. Takes the one topic's ARN."""

EVENTS_OUT_ACTIONS = ("events:PutEvents",)
"""Adapter events_out. Takes the bus's ARN: `arn:aws:events:REGION:ACCOUNT:event-bus/default`; the
condition key `events:source` holds it to Headroom's own source. Source: EventBridge User Guide,
"Using IAM policy conditions" (2026-09)."""
EVENT_SOURCE = "headroom"
"""The source of every event Headroom publishes."""

WORK_ACTIONS = ("sqs:GetQueueAttributes", "sqs:SendMessage")
"""Adapter work, which puts items on the queue. Takes the one queue's ARN."""

RETRY_ACTIONS = ("sqs:ChangeMessageVisibility",)
"""Adapter work, which delays what failed. Takes the one queue's ARN."""

PRICES_ACTIONS = ("pricing:GetProducts",)
"""Adapter price_list. Knows no resource: takes `*` only; in one of its three Regions."""

POLICY_WRITE_ACTIONS = ("ssm:PutParameter",)
"""Adapter policies, where a hub may publish one. Takes the one parameter's ARN."""

FORWARD_ACTIONS = ("events:PutEvents",)
"""Of the role with which EventBridge forwards events to a hub. Takes the ARN of the hub's bus."""
