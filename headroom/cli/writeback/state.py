"""Where Terraform's state or a list of a stack's resources has a resource, by its id.

Sources: Terraform, "JSON output format" (format version 1); CloudFormation API, DescribeStackResources
and ListStackResources (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headroom.cli.writeback.edits import CannotPatch
from headroom.cli.writeback.handoff import Handoff


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where Terraform's state has a resource; a device of an instance by its block."""

    address: str
    device: str = ""
    """`root_block_device`, or the device name of an `ebs_block_device`."""
    found_by: str = "the address"


def logical_id(stack: Mapping[str, object], handoff: Handoff) -> str:
    """The logical id in what `aws cloudformation describe-stack-resources` prints; raises CannotPatch."""
    listed = stack.get("StackResources") or stack.get("StackResourceSummaries")
    found = [
        str(each.get("LogicalResourceId"))
        for each in (listed if isinstance(listed, list) else ())
        if isinstance(each, Mapping)
        and each.get("PhysicalResourceId") == handoff.identifier
        and each.get("ResourceType") == handoff.names.cloudformation
    ]
    if len(found) != 1:
        raise CannotPatch(f"the stack has {len(found)} resources with the id {handoff.identifier}")
    return found[0]


def address_in_state(state: Mapping[str, object], handoff: Handoff) -> Address:
    """Where `terraform show -json` has the resource; raises CannotPatch."""
    values = state.get("values") or _nested(state, "prior_state", "values")
    whole: list[Address] = []
    devices: list[Address] = []
    for resource in _resources(_nested(values, "root_module")):
        kind, has = resource.get("type"), resource.get("values")
        if not isinstance(has, Mapping) or resource.get("mode") != "managed":
            continue
        address = str(resource.get("address"))
        if kind == handoff.names.terraform and _is_it(has, handoff):
            whole.append(Address(address=address, found_by="its id in the state"))
        if kind == "aws_instance" and handoff.names.terraform == "aws_ebs_volume":
            devices += _devices(address, has, handoff.identifier)
    found = whole or devices  # a volume of its own is listed under its instance too
    if len(found) != 1:
        many = ", ".join(each.address for each in found)
        raise CannotPatch(
            f"the state has {handoff.identifier} in several places: {many}"
            if found
            else f"the state does not have {handoff.identifier}: another configuration may own it"
        )
    return found[0]


def _is_it(values: Mapping[str, object], handoff: Handoff) -> bool:
    arn = values.get("arn")
    if handoff.names.terraform == "aws_ebs_volume":
        return values.get("id") == handoff.identifier
    key = "cluster_identifier" if handoff.names.terraform == "aws_rds_cluster" else "identifier"
    return values.get(key) == handoff.identifier and arn in (None, handoff.ref.arn)


def _devices(address: str, values: Mapping[str, object], volume_id: str) -> Iterator[Address]:
    for block in ("root_block_device", "ebs_block_device"):
        listed = values.get(block)
        for each in listed if isinstance(listed, list) else ():
            if isinstance(each, Mapping) and each.get("volume_id") == volume_id:
                device = block if block == "root_block_device" else str(each.get("device_name"))
                yield Address(address=address, device=device, found_by="its id in the state")


def _resources(module: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    for key, inner in (("resources", False), ("child_modules", True)):
        listed = module.get(key)
        for each in listed if isinstance(listed, list) else ():
            if isinstance(each, Mapping):
                if inner:
                    yield from _resources(each)
                else:
                    yield each


def _nested(plain: object, *names: str) -> Mapping[str, object]:
    for name in names:
        plain = plain.get(name) if isinstance(plain, Mapping) else None
    return plain if isinstance(plain, Mapping) else {}
