"""A patch of Terraform code: the arguments of one resource, where they are literal.

A value behind a variable is patched where it is set, if nothing else uses the variable and it is set
in one place. Everything else is refused with the place where the value lives.

Sources: Terraform language, "Input variables" (terraform.tfvars and *.auto.tfvars go before a
default) and "Resource addresses"; Terraform AWS provider, aws_ebs_volume, aws_instance (a change of
an ebs_block_device replaces the instance), aws_db_instance, aws_rds_cluster (2026-11).
"""

from __future__ import annotations

import re

from headroom.cli.writeback.arguments import Setting, edits_of
from headroom.cli.writeback.edits import CannotPatch, Patched
from headroom.cli.writeback.handoff import Handoff
from headroom.cli.writeback.hcl import Block, members
from headroom.cli.writeback.modules import Code, Found, plain
from headroom.cli.writeback.state import Address
from headroom.domain.decision import Settings, settings
from headroom.domain.resources import Configuration, Tool

ARGUMENTS = frozenset(
    {"all", "type", "size", "iops", "throughput", "storage_type", "allocated_storage",
     "storage_throughput"}
)  # fmt: skip
DEVICE_ARGUMENTS = ("volume_type", "volume_size", "iops", "throughput")
_IDENTIFIERS = {"aws_db_instance": "identifier", "aws_rds_cluster": "cluster_identifier"}
_SEVERAL = ("count", "for_each")


def patched(code: Code, handoff: Handoff, address: Address | None) -> Patched:
    """The patch of the resource; raises CannotPatch."""
    found, found_by = _resource(code, handoff, address)
    _refuse_several(found)
    device = "" if address is None else address.device
    if found.block.labels[0] != ("aws_instance" if device else handoff.names.terraform):
        raise CannotPatch(
            f"{found.place} is an {found.block.labels[0]}; use --state to find a device of an instance"
        )
    block = _device(found, device) if device else found.block
    place = Found(found.file, block, found.calls)
    remarks: list[str] = []
    if block.kind == "ebs_block_device":
        if not handoff.made:
            raise CannotPatch(
                f"{place.place}: AWS has not accepted the change yet. A change of an ebs_block_device "
                "that differs from the volume replaces the instance"
            )
        remarks.append("check that terraform plan shows no changes: if an ebs_block_device differs from "
                       "the volume, Terraform replaces the instance")  # fmt: skip
    ignored = _ignored(found, block)
    if ignored:
        remarks.append(f"ignore_changes leaves {', '.join(sorted(ignored))} to Headroom")
    edits = [
        edit
        for setting in _settings(handoff, device)
        if setting.name not in ignored and "all" not in ignored
        for edit in edits_of(code, place, setting)
    ]
    name = ".".join((*found.block.labels, *([device] if device else [])))
    return Patched(
        place=f"{place.place} {name}, found by {found_by}", edits=tuple(edits),
        remarks=tuple(remarks),
    )  # fmt: skip


def _settings(handoff: Handoff, device: str) -> list[Setting]:
    """The arguments to write, by their names in the resource or in an instance's block device."""

    def values(configuration: Configuration) -> Settings:
        return settings(Tool.TERRAFORM, handoff.names, configuration)[1]

    wanted, origin = values(handoff.target), values(handoff.origin)
    names = DEVICE_ARGUMENTS if device else tuple(wanted)
    return [
        Setting(
            name=name, value=wanted[key], origin=origin[key], is_size=key == tuple(wanted)[1],
            beside=names,
        )
        for name, key in zip(names, wanted, strict=True)
    ]  # fmt: skip


def _refuse_several(found: Found) -> None:
    for each in (*found.calls, found):
        several = next((name for name in _SEVERAL if each.block.attribute(name)), None)
        if several is not None:
            raise CannotPatch(
                f"{each.place} creates several resources with {several}: a value there would change all "
                "of them. Change the one value by hand in the collection that it iterates over"
            )


def _resource(code: Code, handoff: Handoff, address: Address | None) -> tuple[Found, str]:
    if address is not None:
        found, by = code.at_address(address.address), address.found_by
        for each in found:
            _refuse_other_name(each, handoff)
        what = address.address
    else:
        found, by = _by_name(code, handoff)
        what = f"{handoff.names.terraform} of {handoff.identifier}"
    if not found:
        raise CannotPatch(
            f"{code.top} has no {what} (searched by {by}). Give the state (terraform show -json) with --state, "
            "or the address with --address. Registry modules are not searched"
        )
    if len(found) > 1:
        places = ", ".join(each.place for each in found)
        raise CannotPatch(
            f"{what} is ambiguous: {places}. Name a narrower --directory, or give --state or --address"
        )
    return found[0], by


def _by_name(code: Code, handoff: Handoff) -> tuple[list[Found], str]:
    """Resources whose literal identifier is the database's, or whose tag Name is the volume's."""
    terraform = handoff.names.terraform
    if terraform == "aws_ebs_volume":
        if not handoff.name:
            return [], "the tag Name, which the volume does not have"
        tagged = [
            each for each in code.resources(terraform) if handoff.name in _name_tags(each)
        ]  # fmt: skip
        return tagged, f"the tag Name = {handoff.name}"
    named = [each for each in code.resources(terraform) if _name(each) == handoff.identifier]
    key = _IDENTIFIERS[terraform]
    return named, f"{key} = {handoff.identifier}"


def _name(found: Found) -> str | None:
    """The literal identifier of a database."""
    attribute = found.block.attribute(_IDENTIFIERS.get(found.block.labels[0], ""))
    return None if attribute is None else plain(found.file.value(attribute))


def _refuse_other_name(found: Found, handoff: Handoff) -> None:
    name = _name(found)
    if name is not None and name.lower() != handoff.identifier:
        raise CannotPatch(
            f"{found.place} is {name}, not {handoff.identifier}: this is another resource"
        )


def _name_tags(found: Found) -> list[str]:
    """The literal tags Name, of tags that are written out: what a call makes of them is not known."""
    tags = found.block.attribute("tags")
    written = None if tags is None else members(found.file.value(tags))
    return [text for key, value in written or () if key == "Name" and (text := plain(value))]


def _device(found: Found, device: str) -> Block:
    if any(each.labels[:1] == ("ebs_block_device",) for each in found.block.of("dynamic")):
        raise CannotPatch(
            f"{found.place} creates its devices in a dynamic block: change them by hand"
        )
    if device == "root_block_device":
        blocks = list(found.block.of(device))
    else:
        blocks = [
            each
            for each in found.block.of("ebs_block_device")
            if (name := each.attribute("device_name")) and plain(found.file.value(name)) == device
        ]
    if len(blocks) != 1:
        raise CannotPatch(f"{found.place} has {len(blocks)} blocks for the device {device}")
    return blocks[0]


def _ignored(found: Found, block: Block) -> frozenset[str]:
    """The arguments of the block that `ignore_changes` names, or `all`."""
    listed = [
        found.file.value(attribute)
        for lifecycle in found.block.of("lifecycle")
        if (attribute := lifecycle.attribute("ignore_changes"))
    ]
    words = frozenset(re.findall(r"[\w-]+", " ".join(listed)))
    if block is not found.block:
        return frozenset({"all"}) if words & {"all", block.kind} else frozenset()
    return words & ARGUMENTS
