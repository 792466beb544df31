"""Tables with backups, expiry and protection; parameters that keep their version on update."""

from __future__ import annotations

from typing import Any

from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.table import Table
from moto.ssm.models import Parameter, ssm_backends

from headroom.localaws.cloudformation.model import LocalResource


class ProtectedTable(Table):  # type: ignore[misc]
    """AWS::DynamoDB::Table with point-in-time recovery, TTL and deletion protection applied."""

    @classmethod
    def create_from_cloudformation_json(
        cls,
        resource_name: str,
        cloudformation_json: dict[str, Any],
        account_id: str,
        region_name: str,
        **kwargs: Any,
    ) -> Any:
        """Create, then apply what CreateTable does not take."""
        properties = dict(cloudformation_json["Properties"])
        properties["DeletionProtectionEnabled"] = _truth(
            properties.get("DeletionProtectionEnabled", False)
        )
        table = Table.create_from_cloudformation_json(
            resource_name, {"Properties": properties}, account_id, region_name, **kwargs
        )
        cls._apply(resource_name, properties, account_id, region_name)
        return table

    @classmethod
    def update_from_cloudformation_json(
        cls,
        original_resource: Any,
        new_resource_name: str,
        cloudformation_json: dict[str, Any],
        account_id: str,
        region_name: str,
    ) -> Any:
        """Protection, backups, expiry and indexes; a new key is refused as AWS would replace it."""
        properties = cloudformation_json["Properties"]
        if properties.get("KeySchema") != original_resource.schema:
            raise NotImplementedError("Replacing a table is not supported by this endpoint")
        original_resource.deletion_protection_enabled = _truth(
            properties.get("DeletionProtectionEnabled", False)
        )
        cls._apply(original_resource.name, properties, account_id, region_name)
        return original_resource

    @staticmethod
    def _apply(name: str, properties: dict[str, Any], account_id: str, region_name: str) -> None:
        backend = dynamodb_backends[account_id][region_name]
        if properties.get("TimeToLiveSpecification"):
            backend.update_time_to_live(name, properties["TimeToLiveSpecification"])
        recovery = properties.get("PointInTimeRecoverySpecification")
        if recovery:
            backend.update_continuous_backups(name, recovery)


class UpdatableParameter(Parameter):  # type: ignore[misc]
    """AWS::SSM::Parameter; an update is a new version, not a new parameter."""

    @classmethod
    def create_from_cloudformation_json(
        cls,
        resource_name: str,
        cloudformation_json: Any,
        account_id: str,
        region_name: str,
        **kwargs: Any,
    ) -> Any:
        """Create under the generated name when the template gives none."""
        properties = {**cloudformation_json["Properties"]}
        properties.setdefault("Name", resource_name)
        properties["Tags"] = _tag_list(properties.get("Tags"))
        return Parameter.create_from_cloudformation_json(
            resource_name, {"Properties": properties}, account_id, region_name, **kwargs
        )

    @classmethod
    def update_from_cloudformation_json(
        cls,
        original_resource: Any,
        new_resource_name: str,
        cloudformation_json: Any,
        account_id: str,
        region_name: str,
    ) -> Any:
        """PutParameter with Overwrite."""
        properties = cloudformation_json["Properties"]
        return ssm_backends[account_id][region_name].put_parameter(
            name=original_resource.name,
            description=properties.get("Description") or "",
            value=properties["Value"],
            parameter_type=properties["Type"],
            allowed_pattern=properties.get("AllowedPattern"),
            keyid=None,
            overwrite=True,
            tags=None,
            data_type=properties.get("DataType", "text"),
            tier=properties.get("Tier"),
            policies=properties.get("Policies"),
        )


class BucketPolicy(LocalResource):
    """AWS::S3::BucketPolicy, without effect: moto would enforce it and ignore its conditions.

    The one of `cdk bootstrap` denies what is not HTTPS; enforced so, it denies everything.
    """

    kind = "AWS::S3::BucketPolicy"

    def make(self) -> None:
        self.values = {}


def _tag_list(tags: Any) -> Any:
    """AWS::SSM::Parameter takes tags as an object, moto as a list."""
    if isinstance(tags, dict):
        return [{"Key": key, "Value": value} for key, value in tags.items()]
    return tags


def _truth(value: Any) -> bool:
    return value.lower() == "true" if isinstance(value, str) else bool(value)


MODELS = (ProtectedTable, UpdatableParameter, BucketPolicy)
