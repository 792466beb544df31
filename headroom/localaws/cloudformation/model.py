"""What a registered resource type has in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from moto.cloudformation.exceptions import UnformattedGetAttTemplateException
from moto.core.common_models import CloudFormationModel

from headroom.localaws.state import AccountRegion

Properties = Mapping[str, Any]


class LocalResource(CloudFormationModel):  # type: ignore[misc]
    """A resource made from its properties by `make`; the subclass names type and attributes.

    An update makes it again under the same physical name unless `change` says otherwise.
    """

    kind: ClassVar[str] = ""
    name_property: ClassVar[str] = ""
    attributes: ClassVar[tuple[str, ...]] = ()

    def __init__(self, name: str, account_region: AccountRegion, properties: Properties) -> None:
        self.name = name
        self.account_region = account_region
        self.properties = properties
        self.values: dict[str, Any] = {}

    def make(self) -> None:
        """Create the thing; fill `values` with its attributes."""
        raise NotImplementedError

    def change(self, properties: Properties) -> None:
        """Change the thing; by default it is made again."""
        self.properties = properties
        self.make()

    def remove_resource(self) -> None:
        """Delete the thing; by default there is nothing to delete."""

    @property
    def physical_resource_id(self) -> str:
        """What Ref gives."""
        return self.name

    @classmethod
    def cloudformation_type(cls) -> str:
        """The resource type."""
        return cls.kind

    @classmethod
    def cloudformation_name_type(cls) -> str:
        """The property that names the resource, empty if none."""
        return cls.name_property

    @classmethod
    def has_cfn_attr(cls, attr: str) -> bool:
        """Whether Fn::GetAtt knows it."""
        return attr in cls.attributes

    def get_cfn_attribute(self, attribute_name: str) -> Any:
        """What Fn::GetAtt gives."""
        if attribute_name not in self.values:
            raise UnformattedGetAttTemplateException
        return self.values[attribute_name]

    def is_created(self) -> bool:
        """Everything is made at once."""
        return True

    @classmethod
    def create_from_cloudformation_json(
        cls,
        resource_name: str,
        cloudformation_json: Mapping[str, Any],
        account_id: str,
        region_name: str,
        **_: Any,
    ) -> LocalResource:
        """Make one."""
        properties = cloudformation_json.get("Properties") or {}
        made = cls(resource_name, AccountRegion(account_id, region_name), properties)
        made.make()
        return made

    @classmethod
    def update_from_cloudformation_json(
        cls,
        original_resource: LocalResource,
        new_resource_name: str,
        cloudformation_json: Mapping[str, Any],
        account_id: str,
        region_name: str,
    ) -> LocalResource:
        """Change one, or replace it when the property that names it changed."""
        properties = cloudformation_json.get("Properties") or {}
        name = properties.get(cls.name_property) if cls.name_property else None
        if name is not None and name != original_resource.name:
            original_resource.remove_resource()
            return cls.create_from_cloudformation_json(
                str(name), cloudformation_json, account_id, region_name
            )
        original_resource.change(properties)
        return original_resource

    def delete(self, account_id: str, region_name: str) -> None:
        """Delete one."""
        self.remove_resource()
