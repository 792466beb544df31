"""The ledger's tables, built from the same schema that the adapter and its tests use."""

from __future__ import annotations

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from constructs import Construct

from headroom.adapters.tables import Key, Table
from headroom.cdk.permissions import deny, deny_others
from headroom.settings import Names

REWRITING_ACTIONS = (
    "dynamodb:BatchWriteItem",
    "dynamodb:DeleteItem",
    "dynamodb:PartiQLDelete",
    "dynamodb:PartiQLUpdate",
    "dynamodb:UpdateItem",
)
"""What would change or remove a record; what is left writes by conditional put alone."""
WRITING_ACTIONS = (*REWRITING_ACTIONS, "dynamodb:PartiQLInsert", "dynamodb:PutItem")
"""Everything that writes an item. Source: Service Authorization Reference for DynamoDB (2026-11)."""


class LedgerTable(Construct):
    """One table, on demand, recoverable to any second of 35 days, kept when the stack goes.

    Without deletion protection: a first deployment that rolls back could not take it away again.
    A table that somebody deletes leaves a backup for 35 days.
    """

    def __init__(
        self, scope: Construct, construct_id: str, schema: Table, names: Names, *, append_only: bool
    ) -> None:
        super().__init__(scope, construct_id)
        self.table = dynamodb.Table(
            self,
            "Table",
            partition_key=_attribute(schema.partition),
            sort_key=_attribute(schema.sort),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
            resource_policy=_policy(names, append_only=append_only),
            time_to_live_attribute=schema.expires,
        )
        for index in schema.indexes:
            self.table.add_global_secondary_index(
                index_name=index.name,
                partition_key=_attribute(index.partition),
                sort_key=_attribute(index.sort),
                projection_type=(
                    dynamodb.ProjectionType.INCLUDE
                    if index.carries
                    else dynamodb.ProjectionType.KEYS_ONLY
                ),
                non_key_attributes=list(index.carries) or None,
            )
        self.indexes = tuple(index.name for index in schema.indexes)


def _attribute(key: Key) -> dynamodb.Attribute:
    kinds = {"S": dynamodb.AttributeType.STRING, "N": dynamodb.AttributeType.NUMBER}
    return dynamodb.Attribute(name=key.name, type=kinds[key.kind])


def _policy(names: Names, *, append_only: bool) -> iam.PolicyDocument:
    """Refuses items from everyone but the deployed roles, and rewriting from everyone.

    Only writing of items is refused: whoever may administer the table may still delete or restore it,
    or replace this policy. Its own ARN cannot stand in its own policy, so the resource is the table it
    hangs on.
    """
    statements = [deny_others("DeployedRolesWrite", WRITING_ACTIONS, names)]
    if append_only:
        statements.append(deny("AppendOnly", REWRITING_ACTIONS))
    return iam.PolicyDocument(statements=statements)
