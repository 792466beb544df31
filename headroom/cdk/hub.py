"""A hub: one place of an organization that keeps and shows what every deployment records.

It decides nothing and holds no permission in any other account. Deployments work the same without it.
"""

from __future__ import annotations

import re

from aws_cdk import Acknowledgment, Aws, Duration, RemovalPolicy, Stack, Validations
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kinesisfirehose as firehose
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from headroom.adapters.actions import EVENT_SOURCE
from headroom.cdk.alarms import SelfAlarms
from headroom.cdk.dashboards import HubDashboard, HubTable
from headroom.cdk.functions import retention
from headroom.cdk.permissions import allow, role_for
from headroom.cdk.spoke import RETRIED
from headroom.cdk.state import add_outputs
from headroom.cdk.topic import NotificationTopic
from headroom.cdk.triggers import queue
from headroom.settings import DEFAULT_PREFIX, DeploymentConfig, Names, SettingsError

RECORDS = "records/"
ERRORS = "errors/"
BUFFERED_S = 300
"""How long Firehose collects records for one object."""
BUCKET_ACTIONS = (
    "s3:AbortMultipartUpload", "s3:GetBucketLocation", "s3:ListBucket",
    "s3:ListBucketMultipartUploads", "s3:PutObject",
)  # fmt: skip
"""What Firehose needs to write to a bucket. Source: Firehose Developer Guide, "Controlling access" (2026-11)."""
STREAM_ACTIONS = ("firehose:PutRecord", "firehose:PutRecordBatch")


class Hub(Construct):
    """A bus that the organization's deployments forward to, a bucket with tables, and a dashboard.

    People approve and pause from its account with a role that has `operators`, a managed policy, and
    that the deployments name.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        organization_id: str,
        prefix: str = "headroom-hub",
        deployments: str = DEFAULT_PREFIX,
        record_retention_days: int = 400,
        log_retention_days: int = 30,
        dashboard: bool = True,
        topic: sns.ITopic | None = None,
    ) -> None:
        """`organization_id` is the one whose accounts may forward, such as o-a1b2c3d4e5.

        `deployments` is the prefix of the deployments that people ask from here. The alarm on events that were
        not kept notifies `topic`, by default one of the hub's own. Raises SettingsError.
        """
        super().__init__(scope, construct_id)
        if not re.fullmatch(r"o-[a-z0-9]{10,32}", organization_id):
            raise SettingsError(
                f"organization_id is {organization_id!r}; it must look like o-a1b2c3d4e5."
            )
        DeploymentConfig.from_context({"prefix": prefix}, called="Setting")
        if record_retention_days < 1:
            raise SettingsError("record_retention_days must be 1 or more.")
        self.prefix = prefix
        self.bus = self._bus(organization_id)
        self.bucket = self._bucket(record_retention_days)
        self.stream = self._stream()
        self._log = logs.LogGroup(
            self,
            "Log",
            log_group_name=f"/aws/events/{prefix}",
            retention=retention(log_retention_days),
            removal_policy=RemovalPolicy.DESTROY,
        )
        dead_letters = self._keep_and_log()
        self.topic = (
            topic or NotificationTopic(self, "People", Names(prefix), encrypted=False).topic
        )
        SelfAlarms(self, "Alarms", topic=self.topic, names=Names(prefix)).on_hub_itself(
            dead_letters
        )
        HubTable(self, "Table", prefix=prefix, bucket=self.bucket, location=RECORDS)
        if dashboard:
            HubDashboard(
                self, "Dashboard", prefix=prefix, log=self._log.log_group_name,
                stream=self.stream.ref,
            )  # fmt: skip
        self.operators = self._operators(organization_id, deployments)
        add_outputs(
            self, Names(prefix),
            {"BusArn": self.bus.event_bus_arn, "Bucket": self.bucket.bucket_name,
             "OperatorsPolicyArn": self.operators.managed_policy_arn,
             "TopicArn": self.topic.topic_arn,
             "Redelivery": f"headroom hub redeliver --queue {dead_letters.queue_url} "
             f"--stream {self.prefix} --region {Aws.REGION}"},
        )  # fmt: skip

    def _bus(self, organization_id: str) -> events.EventBus:
        bus = events.EventBus(self, "Bus", event_bus_name=self.prefix)
        bus.add_to_resource_policy(
            iam.PolicyStatement(
                sid="OrganizationForwards",
                principals=[iam.AnyPrincipal()],
                actions=["events:PutEvents"],
                resources=[bus.event_bus_arn],
                conditions={"StringEquals": {"aws:PrincipalOrgID": organization_id}},
            )
        )
        return bus

    def _bucket(self, days: int) -> s3.Bucket:
        """Private, encrypted, over TLS only, kept when the stack goes."""
        bucket = s3.Bucket(
            self,
            "Records",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            removal_policy=RemovalPolicy.RETAIN,
            lifecycle_rules=[
                s3.LifecycleRule(
                    expiration=Duration.days(days),
                    abort_incomplete_multipart_upload_after=Duration.days(1),
                )
            ],
        )
        Validations.of(bucket).acknowledge(
            Acknowledgment(
                id="AwsSolutions-S1",
                reason="The bucket holds copies of records whose originals are in each account; "
                "CloudTrail data events log access where an owner wants that.",
            )
        )
        return bucket

    def _stream(self) -> firehose.CfnDeliveryStream:
        """JSON lines, compressed, by the day on which they arrived."""
        arn = self.bucket.bucket_arn
        role = role_for(
            self,
            "StreamRole",
            service="firehose.amazonaws.com",
            description="Lets Firehose write records to the bucket",
            statements=[allow(BUCKET_ACTIONS, arn, f"{arn}/*", sid="WriteRecords")],
            source_account=Aws.ACCOUNT_ID,
        )
        name = Stack.of(self).resolve(arn)["Fn::GetAtt"][0]
        Validations.of(self).acknowledge(
            Acknowledgment(
                id=f"AwsSolutions-IAM5[Resource::<{name}.Arn>/*]",
                reason="Objects of the hub's own bucket; Firehose names them by time and at random.",
            )
        )
        kind = firehose.CfnDeliveryStream
        lines = kind.ProcessorProperty(
            type="AppendDelimiterToRecord",
            parameters=[
                kind.ProcessorParameterProperty(
                    parameter_name="Delimiter", parameter_value="\\n"
                )
            ],
        )  # fmt: skip
        return kind(
            self,
            "Stream",
            delivery_stream_name=self.prefix,
            delivery_stream_type="DirectPut",
            delivery_stream_encryption_configuration_input={"keyType": "AWS_OWNED_CMK"},
            extended_s3_destination_configuration=kind.ExtendedS3DestinationConfigurationProperty(
                bucket_arn=arn,
                role_arn=role.role_arn,
                prefix=f"{RECORDS}day=!{{timestamp:yyyy-MM-dd}}/",
                error_output_prefix=f"{ERRORS}!{{firehose:error-output-type}}/",
                buffering_hints=kind.BufferingHintsProperty(
                    interval_in_seconds=BUFFERED_S, size_in_m_bs=64
                ),
                compression_format="GZIP",
                processing_configuration=kind.ProcessingConfigurationProperty(
                    enabled=True, processors=[lines]
                ),
            ),
        )

    def _keep_and_log(self) -> sqs.Queue:
        """One rule with two targets; what either does not take for a day is kept for 14 more in a queue."""
        dead_letters = queue(self, "DeadLetters", retention=Duration.days(14))
        Validations.of(dead_letters).acknowledge(
            Acknowledgment(
                id="AwsSolutions-SQS3",
                reason="It is itself the dead-letter queue of the bus's rule.",
            )
        )
        role = role_for(
            self,
            "RuleRole",
            service="events.amazonaws.com",
            description="Lets EventBridge put records on the stream",
            statements=[allow(STREAM_ACTIONS, self.stream.attr_arn, sid="PutRecords")],
            source_account=Aws.ACCOUNT_ID,
        )
        common = {"deadLetterConfig": {"arn": dead_letters.queue_arn}, "retryPolicy": {
            "maximumEventAgeInSeconds": RETRIED["MaximumEventAgeInSeconds"],
            "maximumRetryAttempts": RETRIED["MaximumRetryAttempts"],
        }}  # fmt: skip
        log = f"arn:{Aws.PARTITION}:logs:{Aws.REGION}:{Aws.ACCOUNT_ID}:log-group:{self._log.log_group_name}"
        rule = events.CfnRule(
            self,
            "Keep",
            name=self.prefix,
            description="Stores the organization's Headroom records",
            event_bus_name=self.bus.event_bus_name,
            event_pattern={"source": [EVENT_SOURCE]},
            targets=[
                {"id": "Keep", "arn": self.stream.attr_arn, "roleArn": role.role_arn, **common},
                {"id": "Log", "arn": log, **common},
            ],
        )
        dead_letters.add_to_resource_policy(
            iam.PolicyStatement(
                sid="EventsPark",
                principals=[iam.ServicePrincipal("events.amazonaws.com")],
                actions=["sqs:SendMessage"],
                resources=[dead_letters.queue_arn],
                conditions={"ArnEquals": {"aws:SourceArn": rule.attr_arn}},
            )
        )
        logs.ResourcePolicy(
            self,
            "LogPolicy",
            resource_policy_name=self.prefix,
            policy_statements=[
                iam.PolicyStatement(
                    principals=[
                        iam.ServicePrincipal("events.amazonaws.com"),
                        iam.ServicePrincipal("delivery.logs.amazonaws.com"),
                    ],
                    actions=["logs:CreateLogStream", "logs:PutLogEvents"],
                    resources=[f"{log}:*"],
                )
            ],
        )
        return dead_letters

    def _operators(self, organization_id: str, deployments: str) -> iam.ManagedPolicy:
        """The right to send requests to deployments; each of them decides whose it takes."""
        function = f"arn:{Aws.PARTITION}:lambda:*:*:function:{Names(deployments).requests_function}"
        statement = allow(("lambda:InvokeFunction",), function, sid="AskDeployments")
        statement.add_condition("StringEquals", {"aws:ResourceOrgID": organization_id})
        policy = iam.ManagedPolicy(
            self,
            "Operators",
            description="Allows requests to the organization's Headroom deployments",
            statements=[statement],
        )
        Validations.of(policy).acknowledge(
            Acknowledgment(
                id=f"AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:lambda:*:*:function:{Names(deployments).requests_function}]",
                reason="The function of this name in every account and Region of the organization; "
                "each takes requests of the roles alone that its owner named.",
            )
        )
        return policy
