"""Tables with backups, expiry and protection; parameters that keep their version; keys of any use."""

from __future__ import annotations

import json
from typing import Any

from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.table import Table
from moto.kms.models import Key, kms_backends
from moto.ssm.models import Document, Parameter, ssm_backends

from headroom.localaws.cloudformation.model import LocalResource, Properties, ShortSignatures, typed
from headroom.localaws.ebs import parse_bool
from headroom.localaws.state import AccountRegion

_PROTECTION = "DeletionProtectionEnabled"


class ProtectedTable(ShortSignatures, Table):  # type: ignore[misc]
    """AWS::DynamoDB::Table with point-in-time recovery, TTL, its own policy and deletion protection applied."""

    @classmethod
    def made(cls, name: str, properties: Properties, account_region: AccountRegion) -> Any:
        """Create, then apply what CreateTable does not take."""
        given = {"DeletionProtectionEnabled": False, **typed(properties, truths=(_PROTECTION,))}
        table = Table.create_from_cloudformation_json(
            name, {"Properties": given}, account_region.account, account_region.region
        )
        cls._apply(name, given, account_region)
        return table

    @classmethod
    def changed(cls, resource: Any, properties: Properties, account_region: AccountRegion) -> Any:
        """Protection, policy, backups, expiry and one index; a new key is refused as AWS would replace it."""
        if properties.get("KeySchema") != resource.schema:
            raise NotImplementedError("Replacing a table is not supported by this endpoint")
        updates = _index_updates(resource, properties.get("GlobalSecondaryIndexes") or [])
        if len(updates) > 1:
            raise ValueError(
                "Cannot perform more than one GSI creation or deletion in a single update"
            )
        if updates:
            account_region.backend(dynamodb_backends).update_table(
                name=resource.name, attr_definitions=properties["AttributeDefinitions"],
                global_index=updates, throughput={}, billing_mode="", stream_spec={},
                deletion_protection_enabled=None, warm_throughput=None,
            )  # fmt: skip
        resource.deletion_protection_enabled = parse_bool(properties.get(_PROTECTION, False))
        cls._apply(resource.name, properties, account_region)
        return resource

    @staticmethod
    def _apply(name: str, properties: Properties, account_region: AccountRegion) -> None:
        backend = account_region.backend(dynamodb_backends)
        table = backend.tables[name].table_arn
        backend.resource_policies.pop(table, None)
        policy = (properties.get("ResourcePolicy") or {}).get("PolicyDocument")
        if policy is not None:
            backend.put_resource_policy(table, json.dumps(policy), None)
        if properties.get("TimeToLiveSpecification"):
            backend.update_time_to_live(name, properties["TimeToLiveSpecification"])
        recovery = properties.get("PointInTimeRecoverySpecification")
        if recovery:
            backend.update_continuous_backups(name, recovery)


def _index_updates(table: Any, wanted: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The creations and deletions that make the table's indexes the wanted ones."""
    before = {index.name for index in table.global_indexes}
    after = {index["IndexName"]: index for index in wanted}
    gone = [{"Delete": {"IndexName": name}} for name in sorted(before - after.keys())]
    return [*gone, *({"Create": after[name]} for name in sorted(after.keys() - before))]


class UpdatableParameter(ShortSignatures, Parameter):  # type: ignore[misc]
    """AWS::SSM::Parameter; an update is a new version, not a new parameter."""

    @classmethod
    def made(cls, name: str, properties: Properties, account_region: AccountRegion) -> Any:
        """Create under the generated name when the template gives none; moto takes a list of tags."""
        tags = properties.get("Tags")
        if isinstance(tags, dict):
            tags = [{"Key": key, "Value": value} for key, value in tags.items()]
        return Parameter.create_from_cloudformation_json(
            name, {"Properties": {"Name": name, **properties, "Tags": tags}},
            account_region.account, account_region.region,
        )  # fmt: skip

    @classmethod
    def changed(cls, resource: Any, properties: Properties, account_region: AccountRegion) -> Any:
        """PutParameter with Overwrite; SSM turns no Advanced parameter into a Standard one."""
        if resource.tier == "Advanced" and properties.get("Tier", "Standard") == "Standard":
            raise ValueError(
                "This parameter uses the advanced-parameter tier. You can't downgrade a parameter "
                "from the advanced-parameter tier to the standard-parameter tier."
            )
        return account_region.backend(ssm_backends).put_parameter(
            name=resource.name, description=properties.get("Description") or "",
            value=properties["Value"], parameter_type=properties["Type"],
            allowed_pattern=properties.get("AllowedPattern"), keyid=None, overwrite=True, tags=None,
            data_type=properties.get("DataType", "text"), tier=properties.get("Tier"),
            policies=properties.get("Policies"),
        )  # fmt: skip


class CommandDocument(ShortSignatures, Document):  # type: ignore[misc]
    """AWS::SSM::Document whose content is an object; moto takes it as text only."""

    @classmethod
    def made(cls, name: str, properties: Properties, account_region: AccountRegion) -> Any:
        """Create with its content as JSON."""
        return Document.create_from_cloudformation_json(
            name, {"Properties": {**properties, "Content": json.dumps(properties["Content"])}},
            account_region.account, account_region.region,
        )  # fmt: skip

    @classmethod
    def changed(cls, resource: Any, properties: Properties, account_region: AccountRegion) -> Any:
        """The new content as the default version; the endpoint keeps no earlier ones."""
        account_region.backend(ssm_backends).delete_document(
            name=resource.name, document_version="", version_name="", force=True
        )
        return cls.made(resource.name, properties, account_region)


class EncryptionKey(ShortSignatures, Key):  # type: ignore[misc]
    """AWS::KMS::Key; moto makes every key one for encryption."""

    @classmethod
    def made(cls, name: str, properties: Properties, account_region: AccountRegion) -> Any:
        """Create with its usage and its spec."""
        key = account_region.backend(kms_backends).create_key(
            policy=json.dumps(properties["KeyPolicy"]), description=properties.get("Description"),
            key_usage=properties.get("KeyUsage", "ENCRYPT_DECRYPT"),
            key_spec=properties.get("KeySpec", "SYMMETRIC_DEFAULT"),
            tags=properties.get("Tags", []),
        )  # fmt: skip
        return cls.changed(key, properties, account_region)

    @classmethod
    def changed(cls, resource: Any, properties: Properties, account_region: AccountRegion) -> Any:
        """Policy, description and rotation; another usage or spec is refused."""
        if properties.get("KeyUsage", resource.key_usage) != resource.key_usage:
            raise NotImplementedError("Replacing a key is not supported by this endpoint")
        resource.policy = json.dumps(properties["KeyPolicy"])
        resource.description = properties.get("Description")
        resource.key_rotation_status = parse_bool(properties.get("EnableKeyRotation", False))
        resource.enabled = parse_bool(properties.get("Enabled", True))
        return resource


class BucketPolicy(LocalResource):
    """AWS::S3::BucketPolicy, without effect: moto would enforce it and ignore its conditions.

    The one of `cdk bootstrap` denies what is not HTTPS; enforced so, it denies everything.
    """

    kind = "AWS::S3::BucketPolicy"


MODELS = (ProtectedTable, UpdatableParameter, CommandDocument, EncryptionKey, BucketPolicy)
