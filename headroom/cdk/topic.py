"""The topic through which people hear of what needs them."""

from __future__ import annotations

from aws_cdk import Aws, CrossStackReferences, ReferenceStrength, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from constructs import Construct

from headroom.settings import Names


class NotificationTopic(Construct):
    """A topic that the functions and Headroom's own alarms publish to over TLS, encrypted at rest if asked.

    The key is then our own, because CloudWatch alarms cannot publish to a topic under AWS's `aws/sns`
    key (source: SNS developer guide, key management, 2026-09), and SNS has no key that costs nothing else.
    """

    def __init__(
        self, scope: Construct, construct_id: str, names: Names, *, encrypted: bool
    ) -> None:
        super().__init__(scope, construct_id)
        self.key = _key(self) if encrypted else None
        self.topic = sns.Topic(
            self, "Topic", display_name="Headroom", master_key=self.key, enforce_ssl=True
        )
        own = f"arn:{Aws.PARTITION}:cloudwatch:{Aws.REGION}:{Aws.ACCOUNT_ID}:alarm:"
        # A topic policy of our own replaces the default one, which let this account's alarms in.
        publish = _alarms("PublishOwnAlarms", ("sns:Publish",), self.topic.topic_arn)
        publish.add_condition("ArnLike", {"aws:SourceArn": f"{own}{names.own_alarms}*"})
        self.topic.add_to_resource_policy(publish)


def _key(scope: Construct) -> kms.Key:
    key = kms.Key(
        scope,
        "Key",
        description="Encrypts what Headroom tells people",
        enable_key_rotation=True,
        removal_policy=RemovalPolicy.DESTROY,
    )
    # CloudFormation would refuse to turn it off while the loop imports an export of the key.
    CrossStackReferences.of(key).produce(ReferenceStrength.WEAK)
    key.add_to_resource_policy(
        _alarms("EncryptAlarms", ("kms:Decrypt", "kms:GenerateDataKey*"), "*")
    )
    return key


def _alarms(sid: str, actions: tuple[str, ...], resource: str) -> iam.PolicyStatement:
    """CloudWatch, on behalf of this account's alarms only."""
    return iam.PolicyStatement(
        sid=sid,
        principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
        actions=list(actions),
        resources=[resource],
        conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}},
    )
