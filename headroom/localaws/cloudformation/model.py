"""The base classes of resource types."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from moto.cloudformation.exceptions import UnformattedGetAttTemplateException
from moto.core.common_models import CloudFormationModel

from headroom.localaws.ebs import parse_bool
from headroom.localaws.state import AccountRegion

Properties = Mapping[str, Any]


class ShortSignatures:
    """Turns moto's calls on a resource's class into `made` and `changed`."""

    @classmethod
    def made(cls, name: str, properties: Properties, account_region: AccountRegion) -> Any:
        """Create a resource."""
        raise NotImplementedError

    @classmethod
    def changed(cls, resource: Any, properties: Properties, account_region: AccountRegion) -> Any:
        """Change a resource; returns it, or what replaced it."""
        raise NotImplementedError

    @classmethod
    def create_from_cloudformation_json(
        cls,
        resource_name: str,
        cloudformation_json: Mapping[str, Any],
        account_id: str,
        region_name: str,
        **_: Any,
    ) -> Any:
        """As moto calls it."""
        properties = cloudformation_json.get("Properties") or {}
        return cls.made(resource_name, properties, AccountRegion(account_id, region_name))

    @classmethod
    def update_from_cloudformation_json(
        cls,
        original_resource: Any,
        new_resource_name: str,
        cloudformation_json: Mapping[str, Any],
        account_id: str,
        region_name: str,
    ) -> Any:
        """As moto calls it."""
        properties = cloudformation_json.get("Properties") or {}
        return cls.changed(original_resource, properties, AccountRegion(account_id, region_name))


def typed(
    properties: Properties, *, whole: Collection[str] = (), truths: Collection[str] = ()
) -> dict[str, Any]:
    """Properties with their whole numbers and booleans, which may be text in a template."""

    def value(name: str, given: Any) -> Any:
        if name in whole and given is not None:
            return int(given)
        return parse_bool(given) if name in truths else given

    return {name: value(name, given) for name, given in properties.items()}


class LocalResource(ShortSignatures, CloudFormationModel):  # type: ignore[misc]
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
        """Create the thing; fill `values` with its attributes. By default it has no effect."""

    def change(self, properties: Properties) -> None:
        """Change the thing; by default it is made again."""
        self.properties = properties
        self.make()

    def remove_resource(self) -> None:
        """Delete the thing; by default there is nothing to delete."""

    @property
    def physical_resource_id(self) -> str:
        """The value of Ref."""
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
        """The value of Fn::GetAtt."""
        if attribute_name not in self.values:
            raise UnformattedGetAttTemplateException
        return self.values[attribute_name]

    def is_created(self) -> bool:
        """Everything is made at once."""
        return True

    @classmethod
    def made(cls, name: str, properties: Properties, account_region: AccountRegion) -> Any:
        resource = cls(name, account_region, properties)
        resource.make()
        return resource

    @classmethod
    def changed(cls, resource: Any, properties: Properties, account_region: AccountRegion) -> Any:
        """Replaced where the property that names it changed."""
        name = properties.get(cls.name_property) if cls.name_property else None
        if name is not None and name != resource.name:
            resource.remove_resource()
            return cls.made(str(name), properties, account_region)
        resource.change(properties)
        return resource

    def delete(self, account_id: str, region_name: str) -> None:
        """Delete one."""
        self.remove_resource()
