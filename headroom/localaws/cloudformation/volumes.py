"""AWS::EC2::Volume under the rules of CreateVolume and ModifyVolume.

Source: CloudFormation template reference, AWS::EC2::Volume (checked 2026-10).
"""

from __future__ import annotations

from typing import Any

from moto.ec2 import ec2_backends

from headroom.localaws.cloudformation.model import LocalResource, Properties, typed
from headroom.localaws.ebs import MODIFIED, delete_volume, make_volume, parse_bool, volume_store
from headroom.localaws.state import current_cloud
from headroom.proving.awsrules import ModificationRefused

_MADE_ONCE = (
    "AvailabilityZone", "AvailabilityZoneId", "Encrypted", "KmsKeyId", "SnapshotId",
    "MultiAttachEnabled",
)  # fmt: skip
_WHOLE = ("Size", "Iops", "Throughput")
_HONOURED = frozenset({*MODIFIED, *_MADE_ONCE, "Tags"})


class EbsVolume(LocalResource):
    """AWS::EC2::Volume; an update is a ModifyVolume, a replacement is refused."""

    kind = "AWS::EC2::Volume"
    attributes = ("VolumeId",)

    def make(self) -> None:
        _refuse_unhonoured(self.properties)
        made = make_volume(
            current_cloud(), self.account_region, self.properties, tags=_tags(self.properties)
        )
        self.name = self.values["VolumeId"] = str(made.id)

    def change(self, properties: Properties) -> None:
        _refuse_unhonoured(properties)
        before = self.properties
        for name in _MADE_ONCE:
            if properties.get(name) != before.get(name):
                raise NotImplementedError(
                    f"A new {name} replaces the volume, which is not supported by this endpoint"
                )
        change = {
            name: value for name, value in typed(properties, whole=_WHOLE).items()
            if name in MODIFIED and properties[name] != before.get(name)
        }  # fmt: skip
        if change:
            store, request_id = (
                volume_store(current_cloud(), self.account_region),
                current_cloud().ids.uuid("request"),
            )
            try:
                store.modify(store.volumes()[self.name], request_id, change)
            except ModificationRefused as refused:
                raise RuntimeError(refused.message) from refused
        self._retag(_tags(before), _tags(properties))
        self.properties = properties

    def remove_resource(self) -> None:
        delete_volume(current_cloud(), self.account_region, self.name)

    def snapshot(self) -> None:
        """Create the snapshot of DeletionPolicy Snapshot."""
        backend = self.account_region.backend(ec2_backends)
        backend.create_snapshot(self.name, f"Left by CloudFormation of {self.name}")

    def _retag(self, before: dict[str, str], after: dict[str, str]) -> None:
        backend = self.account_region.backend(ec2_backends)
        gone = {key: None for key in before if key not in after}
        if gone:
            backend.delete_tags([self.name], gone)
        if after:
            backend.create_tags([self.name], after)


def _refuse_unhonoured(properties: Properties) -> None:
    for name, value in properties.items():
        if name not in _HONOURED and not (name == "AutoEnableIO" and not parse_bool(value)):
            raise NotImplementedError(
                f"Property {name} of AWS::EC2::Volume is not supported by this endpoint"
            )


def _tags(properties: Properties) -> dict[str, str]:
    tags: Any = properties.get("Tags") or ()
    return {str(tag["Key"]): str(tag["Value"]) for tag in tags}


MODELS = (EbsVolume,)
