"""What outlives every deployment: the two tables and the topic people listen to."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import CfnOutput, CrossStackReferences, ReferenceStrength, RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from headroom.adapters.actions import SEAL_ACTIONS
from headroom.adapters.tables import RECORDS, STATE
from headroom.cdk.permissions import Kept, deny_others
from headroom.cdk.tables import LedgerTable
from headroom.cdk.topic import NotificationTopic
from headroom.settings import DeploymentConfig, Names


class State(Construct):
    """Tables that a deletion of the stack leaves in place, and a topic."""

    def __init__(self, scope: Construct, construct_id: str, *, config: DeploymentConfig) -> None:
        super().__init__(scope, construct_id)
        names = config.names
        records = LedgerTable(self, "Records", RECORDS, names, append_only=True)
        state = LedgerTable(self, "State", STATE, names, append_only=False)
        people = NotificationTopic(self, "People", names, encrypted=config.topic_key == "on")
        if config.notify_email is not None:
            people.topic.add_subscription(subscriptions.EmailSubscription(config.notify_email))
        seal_key = _seal_key(self, names) if config.seal_records == "on" else None
        self.kept = Kept(
            records=records.table,
            records_indexes=records.indexes,
            state=state.table,
            state_indexes=state.indexes,
            topic=people.topic,
            topic_key=people.key,
            seal_key=seal_key,
        )
        outputs = {
            "RecordsTable": records.table.table_name,
            "StateTable": state.table.table_name,
            "TopicArn": people.topic.topic_arn,
            "RequestsFunction": names.requests_function,
            "PolicyParameter": names.policy_parameter,
            **({} if seal_key is None else {"SealKeyArn": seal_key.key_arn}),
        }
        add_outputs(self, names, outputs)


def add_outputs(scope: Construct, names: Names, values: Mapping[str, str]) -> None:
    """Outputs of the stack, by names that the command line finds wherever the construct is."""
    for name, value in values.items():
        CfnOutput(scope, name, value=value).override_logical_id(names.output(name))


def _seal_key(scope: Construct, names: Names) -> kms.Key:
    """A key that stays when the stack goes, and with which only the deployed roles make seals."""
    key = kms.Key(
        scope,
        "SealKey",
        description="Headroom: seals the records of decisions",
        key_spec=kms.KeySpec.HMAC_256,
        key_usage=kms.KeyUsage.GENERATE_VERIFY_MAC,
        removal_policy=RemovalPolicy.RETAIN,
    )
    key.add_to_resource_policy(deny_others("DeployedRolesSeal", SEAL_ACTIONS, names))
    # CloudFormation would refuse to turn seals off while the loop imports an export of the key.
    CrossStackReferences.of(key).produce(ReferenceStrength.WEAK)
    return key
