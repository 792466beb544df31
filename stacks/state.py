"""What outlives every deployment: the two tables and the topic people listen to."""

from __future__ import annotations

from aws_cdk import (
    CfnOutput,
    CrossStackReferences,
    Environment,
    ReferenceStrength,
    RemovalPolicy,
    Stack,
)
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from headroom.adapters.actions import SEAL_ACTIONS
from headroom.adapters.tables import RECORDS, STATE
from headroom.settings import DeploymentConfig
from stacks.constructs.permissions import Kept, deny_others
from stacks.constructs.tables import LedgerTable
from stacks.constructs.topic import NotificationTopic


class HeadroomState(Stack):
    """Tables that a deletion of the stack leaves in place, and a topic."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: DeploymentConfig,
        env: Environment | None = None,
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            env=env,
            description="Headroom: the record of every decision, and what is known now",
        )
        records = LedgerTable(self, "Records", RECORDS, append_only=True)
        state = LedgerTable(self, "State", STATE, append_only=False)
        people = NotificationTopic(self, "People", encrypted=config.topic_key == "on")
        if config.notify_email is not None:
            people.topic.add_subscription(subscriptions.EmailSubscription(config.notify_email))
        seal_key = _seal_key(self) if config.seal_records == "on" else None
        self.kept = Kept(
            records=records.table,
            records_indexes=records.indexes,
            state=state.table,
            state_indexes=state.indexes,
            topic=people.topic,
            topic_key=people.key,
            seal_key=seal_key,
        )
        CfnOutput(self, "RecordsTable", value=records.table.table_name)
        CfnOutput(self, "StateTable", value=state.table.table_name)
        CfnOutput(self, "TopicArn", value=people.topic.topic_arn)
        if seal_key is not None:
            CfnOutput(self, "SealKeyArn", value=seal_key.key_arn)


def _seal_key(scope: Construct) -> kms.Key:
    """A key that stays when the stack goes, and with which only the deployed roles make seals."""
    key = kms.Key(
        scope,
        "SealKey",
        description="Headroom: seals the records of decisions",
        key_spec=kms.KeySpec.HMAC_256,
        key_usage=kms.KeyUsage.GENERATE_VERIFY_MAC,
        removal_policy=RemovalPolicy.RETAIN,
    )
    key.add_to_resource_policy(deny_others("DeployedRolesSeal", SEAL_ACTIONS))
    # CloudFormation would refuse to turn seals off while the loop imports an export of the key.
    CrossStackReferences.of(key).produce(ReferenceStrength.WEAK)
    return key
