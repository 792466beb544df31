"""A patch of CloudFormation templates, YAML or JSON: the properties of one resource, where literal.

Offsets come from PyYAML's nodes, so that everything else of the file stays as it is. A property
behind an intrinsic function, an alias or a merge key is refused with the place where it lives.

Sources: CloudFormation template reference, AWS::EC2::Volume, AWS::RDS::DBInstance and
AWS::RDS::DBCluster; AWS CDK, the metadata `aws:cdk:path` (2026-11).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from headroom.cli.writeback.edits import (
    CannotPatch,
    Edit,
    Patched,
    files,
    line_of,
    read,
    refuse_other,
)
from headroom.cli.writeback.handoff import Handoff
from headroom.cli.writeback.nodes import get, is_literal, key_of, text_of
from headroom.domain.decision import settings
from headroom.domain.resources import Tool

SUFFIXES = (".yaml", ".yml", ".json", ".template")
SOURCES = (".py", ".ts", ".js", ".java", ".cs", ".go")
_BETWEEN = re.compile(r"\s*:\s*")


@dataclass(frozen=True, slots=True)
class Template:
    """A template's text, its nodes, and a resource in it."""

    path: Path
    text: str
    root: yaml.MappingNode
    resource: yaml.MappingNode

    def at(self, node: yaml.Node) -> str:
        """`template.yaml:12`."""
        return f"{self.path}:{node.start_mark.line + 1}"


def patched(folder: Path, handoff: Handoff, logical_id: str, found_by: str) -> Patched:
    """The patch of the resource with that logical id; raises CannotPatch."""
    kind, wanted = settings(Tool.CLOUDFORMATION, handoff.names, handoff.target)
    origin = settings(Tool.CLOUDFORMATION, handoff.names, handoff.origin)[1]
    found = [
        each for each in templates(folder, logical_id) if text_of(each.resource, "Type") == kind
    ]
    if not found:
        raise CannotPatch(_not_found(folder, kind, logical_id))
    if len(found) > 1:
        places = ", ".join(each.at(each.resource) for each in found)
        raise CannotPatch(
            f"{logical_id} is in several templates: {places}. Name one with --directory"
        )
    template = found[0]
    properties = get(template.resource, "Properties")
    if not isinstance(properties, yaml.MappingNode):
        raise CannotPatch(f"{template.at(template.resource)}: {logical_id} has no properties")
    if any(key_of(key) in ("<<", "Fn::Transform") for key, _ in properties.value):
        raise CannotPatch(
            f"{template.at(properties)}: the properties are merged in with << or Fn::Transform: change them by hand"
        )
    _refuse_other_name(template, properties, handoff)
    size = handoff.names.properties[1]
    edits: list[Edit] = []
    for name, value in wanted.items():
        as_text = handoff.names.size_is_text and name == size
        setting = _Setting(name, value, origin[name], name == size, as_text, tuple(wanted))
        edits += _edits(template, properties, setting)
    return Patched(
        place=f"{template.at(template.resource)} {logical_id}, found by {found_by}",
        edits=tuple(edits),
    )


def _refuse_other_name(template: Template, properties: yaml.MappingNode, handoff: Handoff) -> None:
    """Raise CannotPatch for a database that the template gives another name."""
    key = f"{handoff.names.cloudformation.rpartition(':')[2]}Identifier"
    node = get(properties, key)
    literal = node is not None and is_literal(template.text, node)
    if literal and node.value.lower() != handoff.identifier:
        raise CannotPatch(
            f"{template.at(node)}: {key} is {node.value}, not {handoff.identifier}: this is another resource"
        )


def templates(folder: Path, logical_id: str) -> Iterator[Template]:
    """The templates in a folder that have such a resource; a file that is none is left out."""
    for path in files(folder, *SUFFIXES):
        try:
            text = read(path)
            if "Resources" not in text or logical_id not in text:
                continue
            # A tab is no indentation in YAML but is in JSON; offsets stay the same.
            root = yaml.compose(
                text.replace("\t", " ") if text.lstrip().startswith("{") else text,
                Loader=yaml.SafeLoader,
            )
        except (CannotPatch, yaml.YAMLError, OSError):
            continue
        resource = get(get(root, "Resources"), logical_id)
        if isinstance(root, yaml.MappingNode) and isinstance(resource, yaml.MappingNode):
            yield Template(path, text, root, resource)


@dataclass(frozen=True, slots=True)
class _Setting:
    name: str
    value: str | int | None
    origin: str | int | None
    is_size: bool
    as_text: bool
    beside: tuple[str, ...]


def _edits(template: Template, properties: yaml.MappingNode, setting: _Setting) -> Iterator[Edit]:
    pair = next((each for each in properties.value if key_of(each[0]) == setting.name), None)
    unchanged = setting.value == setting.origin
    if pair is None:
        if setting.value is not None and not unchanged:
            yield _inserted(template, properties, setting)
        return
    key, node = pair
    if is_literal(template.text, node):
        refuse_other(template.at(key), setting.name, node.value, setting.origin, setting.value)
    if unchanged and (setting.is_size or setting.value is None):
        return
    _refuse_computed(template, setting.name, key, node)
    if setting.value is None:
        yield _removed(template, properties, pair)
        return
    if node.value == str(setting.value):
        return
    quote = node.style or ""
    yield Edit(path=template.path, start=node.start_mark.index, end=node.end_mark.index,
               text=f"{quote}{setting.value}{quote}")  # fmt: skip


def _refuse_computed(template: Template, name: str, key: yaml.Node, node: yaml.Node) -> None:
    """Raise CannotPatch for everything but a literal, with the place where the value lives."""
    here = f"{template.at(key)}: {name}"
    between = template.text[key.end_mark.index : node.start_mark.index]
    if is_literal(template.text, node) and _BETWEEN.fullmatch(between):
        return
    function, argument = _function(node)
    if function not in ("!Ref", "Ref"):
        raise CannotPatch(f"{here} is {function or 'an alias or anchor'}: change it by hand")
    parameter = get(get(template.root, "Parameters"), argument)
    if parameter is None:
        raise CannotPatch(f"{here} refers to {argument}: change it by hand")
    default = text_of(parameter, "Default")
    raise CannotPatch(
        f"{here} is the stack's parameter {argument} ({template.at(parameter)}, default "
        f"{default or 'none'}): change the value that your deployment passes, because an existing stack "
        "ignores the default"
    )


def _function(node: yaml.Node) -> tuple[str, str]:
    """The name and the argument of an intrinsic function; empty for none."""
    if node.tag.startswith("!"):
        return node.tag, node.value if isinstance(node, yaml.ScalarNode) else ""
    if isinstance(node, yaml.MappingNode) and len(node.value) == 1:
        key, value = node.value[0]
        return key_of(key), value.value if isinstance(value, yaml.ScalarNode) else ""
    return "", ""


def _inserted(template: Template, properties: yaml.MappingNode, setting: _Setting) -> Edit:
    """Behind the last of the settings that is there, in the style of the properties."""
    there = [
        (key, node)
        for key, node in properties.value
        if key_of(key) in setting.beside
        and isinstance(node, yaml.ScalarNode)
        and node.start_mark.index > key.end_mark.index  # no alias
    ]
    if not there:
        raise CannotPatch(f"{template.at(properties)}: add {setting.name}: {setting.value} by hand")
    key, node = there[-1]
    text, value = template.text, setting.value
    first = text.rfind("\n", 0, key.start_mark.index) + 1
    before = text[first : key.start_mark.index]
    literal = json.dumps(str(value) if setting.as_text else value)
    if properties.flow_style:
        quote = text[key.start_mark.index] if text[key.start_mark.index] in "\"'" else ""
        begin = f",\n{before}" if first and not before.strip() else ", "
        at, line = node.end_mark.index, f"{begin}{quote}{setting.name}{quote}: {literal}"
    else:
        if before.strip():
            raise CannotPatch(f"{template.at(key)}: add {setting.name}: {literal} by hand")
        value_text = literal if setting.as_text else value
        at = text.find("\n", node.end_mark.index) + 1
        line = f"{before}{setting.name}: {value_text}\n"
        if at == 0:
            at, line = len(text), "\n" + line.rstrip("\n")
    return Edit(path=template.path, start=at, end=at,
                text=line.replace("\n", "\r\n") if "\r\n" in text else line)  # fmt: skip


def _removed(
    template: Template, properties: yaml.MappingNode, pair: tuple[yaml.Node, yaml.Node]
) -> Edit:
    """Without a property that the new type does not have."""
    key, node = pair
    text, place = template.text, properties.value.index(pair)
    if properties.flow_style:
        if place:
            start, end = properties.value[place - 1][1].end_mark.index, node.end_mark.index
        else:
            start = key.start_mark.index
            following = properties.value[1:2]
            end = following[0][0].start_mark.index if following else node.end_mark.index
        return Edit(path=template.path, start=start, end=end, text="")
    start = text.rfind("\n", 0, key.start_mark.index) + 1
    end = text.find("\n", node.end_mark.index) + 1 or len(text)
    rest = text[start : key.start_mark.index] + text[node.end_mark.index : end]
    if rest.strip():
        raise CannotPatch(
            f"{template.at(key)}: remove {key_of(key)} by hand: the new type does not have it"
        )
    return Edit(path=template.path, start=start, end=end, text="")


def _not_found(folder: Path, kind: str, logical_id: str) -> str:
    """That there is no such template, and what a CDK app says about the resource."""
    missing = f"no template in {folder} has the {kind} {logical_id}"
    top = folder if folder.is_dir() else folder.parent
    if not list(files(top, "cdk.json")):
        return missing
    construct = next(_construct_paths(top, logical_id), "")
    if not construct:
        return (
            f"{missing}. It is a CDK app (cdk.json): run `cdk synth`, so that cdk.out says which construct "
            "makes the resource. Code is not patched"
        )
    name = next(
        (part for part in reversed(construct.split("/")) if part not in ("Resource", "Default")), ""
    )
    quoted = re.compile(rf"""["'`]{re.escape(name)}["'`]""")
    lines = [
        f"{path}:{line_of(text, found.start())}"
        for path in files(top, *SOURCES)
        for text in [path.read_text(encoding="utf-8", errors="replace")]
        for found in quoted.finditer(text)
    ]
    named = f", named in {', '.join(lines)}" if lines else ""
    return (
        f"{missing} outside cdk.out: the construct {construct} of a CDK app makes it{named}. Code is "
        "not patched; give the construct the values above"
    )


def _construct_paths(top: Path, logical_id: str) -> Iterator[str]:
    """The `aws:cdk:path` of the resource in every assembly below a folder."""
    for app in files(top, "cdk.json"):
        for path in sorted((app.parent / "cdk.out").rglob("*.template.json")):
            try:
                resource = json.loads(path.read_text(encoding="utf-8"))["Resources"][logical_id]
                yield str(resource["Metadata"]["aws:cdk:path"])
            except (OSError, ValueError, KeyError, TypeError):
                continue
