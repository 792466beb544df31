"""Reads and checks templates before anything is registered; refusals use CloudFormation's messages.

Source: CloudFormation User Guide, "Template anatomy" and "Troubleshooting" (checked 2026-10).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import yaml
from moto.cloudformation import parsing
from moto.cloudformation.models import Stack
from moto.cloudformation.utils import yaml_tag_constructor

from headroom.localaws.state import AwsError

PSEUDO = frozenset(
    f"AWS::{name}"
    for name in (
        "AccountId", "NotificationARNs", "NoValue", "Partition", "Region", "StackId", "StackName",
        "URLSuffix",
    )
)  # fmt: skip
_SUBSTITUTED = re.compile(r"\$\{([^!{}][^{}]*)\}")


def parse_quickly() -> None:
    """Let moto parse templates with libyaml: ten times as fast as in Python alone."""
    if not yaml.__with_libyaml__:
        return
    yaml.add_multi_constructor("", yaml_tag_constructor, yaml.CLoader)
    yaml.Loader = yaml.CLoader  # type: ignore[misc,assignment]


def read(text: Any) -> dict[str, Any]:
    """The template, well formed and closed in itself; raises AwsError (ValidationError)."""
    document = _document(text)
    _check_shape(document)
    _check_references(document)
    return document


def check_parameters(
    document: Mapping[str, Any], given: Mapping[str, Any], known: Collection[str] = ()
) -> None:
    """Raise AwsError unless every parameter without a default is given or known from before, and each
    value that is given is allowed."""
    missing = [
        name
        for name, parameter in (document.get("Parameters") or {}).items()
        if name not in given and name not in known and (parameter or {}).get("Default") is None
    ]
    if missing:
        raise _invalid(f"Parameters: [{', '.join(missing)}] must have values")
    declared = document.get("Parameters") or {}
    unknown = sorted(set(given) - set(declared))
    if unknown:
        raise _invalid(f"Parameters: [{', '.join(unknown)}] do not exist in the template")
    for name, value in given.items():
        why = _refused(declared[name], value)
        if why:
            raise _invalid(f"Parameter '{name}' {why}")


def _refused(declared: Mapping[str, Any], value: Any) -> str:
    """Why a parameter may not have a value, empty if it may; a pattern is matched as a whole."""
    if not isinstance(value, str):
        return ""
    if value not in map(str, declared.get("AllowedValues", [value])):
        return "must be one of AllowedValues"
    pattern = str(declared.get("AllowedPattern", ".*"))
    if not re.fullmatch(pattern, value, re.DOTALL if pattern == ".*" else 0):
        return f"must match pattern {pattern}"
    if not int(declared.get("MinLength", 0)) <= len(value) <= int(declared.get("MaxLength", 4_096)):
        return "has a length that is not allowed"
    return ""


def check_types(document: Mapping[str, Any]) -> None:
    """Raise AwsError if there are resource types that cannot be made here."""
    kinds = {str(resource["Type"]) for resource in document["Resources"].values()}
    known = parsing.get_model_map()
    unknown = sorted(k for k in kinds if k not in known and not k.startswith("Custom::"))
    if unknown:
        raise _format(f"Unrecognized resource types: [{', '.join(unknown)}]")


def _document(text: Any) -> dict[str, Any]:
    if not isinstance(text, str) or not text.strip():
        raise _invalid("Either Template URL or Template Body must be specified.")
    language = "JSON" if text.lstrip().startswith("{") else "YAML"
    try:
        document = Stack.parse_template(text)
    except (yaml.YAMLError, ValueError) as error:
        where = _position(error, language)
        raise _format(f"{language} not well-formed.{where}") from error
    if not isinstance(document, dict):
        raise _format("unsupported structure.")
    return document


def _position(error: BaseException, language: str) -> str:
    if language == "JSON" and isinstance(error, json.JSONDecodeError):
        return f" (line {error.lineno}, column {error.colno})"
    mark = getattr(error, "problem_mark", None) or getattr(error.__context__, "problem_mark", None)
    return f" (line {mark.line + 1}, column {mark.column + 1})" if mark is not None else ""


def _check_shape(document: Mapping[str, Any]) -> None:
    resources = document.get("Resources")
    for section in ("Resources", "Parameters", "Outputs", "Conditions", "Mappings"):
        members = document.get(section)
        if members is not None and not isinstance(members, dict):
            raise _format(f"{section} must be an object.")
        for name, member in (members or {}).items():
            if not isinstance(member, dict) and not isinstance(member, bool):
                raise _format(f"[/{section}/{name}] Any {section} member must be an object.")
    if not resources:
        raise _format("At least one Resources member must be defined.")
    for name, resource in resources.items():
        if not isinstance(resource, dict) or not isinstance(resource.get("Type"), str):
            raise _format(f"[/Resources/{name}] Every Resources object must contain a Type member.")
        if not isinstance(resource.get("Properties") or {}, dict):
            raise _format(f"[/Resources/{name}/Properties] Properties must be an object.")
    for name, parameter in (document.get("Parameters") or {}).items():
        if not isinstance(parameter, dict) or not isinstance(parameter.get("Type"), str):
            raise _format(
                f"[/Parameters/{name}] Every Parameters object must contain a Type member."
            )


def _check_references(document: Mapping[str, Any]) -> None:
    resources, conditions = document["Resources"], document.get("Conditions") or {}
    known = PSEUDO | resources.keys() | (document.get("Parameters") or {}).keys()
    for block in ("Resources", "Outputs"):
        members = document.get(block) or {}
        found = list(_references(members))
        unresolved = [name for how, name in found if how == "Ref" and name not in known]
        unresolved += [
            name for member in members.values() for name in _depends_on(member)
            if name not in resources
        ]  # fmt: skip
        if unresolved:
            names = ", ".join(dict.fromkeys(unresolved))
            raise _format(
                f"Unresolved resource dependencies [{names}] in the {block} block of the template"
            )
        for how, name in found:
            if how == "Fn::GetAtt" and name not in resources:
                raise _invalid(
                    "Template error: instance of Fn::GetAtt references undefined resource " + name
                )
        needed = [name for how, name in found if how == "Fn::If"]
        needed += [str(m["Condition"]) for m in members.values() if "Condition" in m]
        unmet = ", ".join(dict.fromkeys(name for name in needed if name not in conditions))
        if unmet:
            raise _format(
                f"Unresolved condition dependencies [{unmet}] in the {block} block of the template"
            )


def _references(node: Any) -> Iterator[tuple[str, str]]:
    """References in a template, as (function, name)."""
    if isinstance(node, list):
        for item in node:
            yield from _references(item)
    if not isinstance(node, dict):
        return
    if len(node) == 1:
        (how, value), *_ = node.items()
        yield from _named_in(how, value)
    for value in node.values():
        yield from _references(value)


def _named_in(how: str, value: Any) -> Iterator[tuple[str, str]]:
    if how == "Ref" and isinstance(value, str):
        yield how, value
    elif how == "Fn::GetAtt" and value and isinstance(value, list | str):
        yield how, str(value.split(".")[0] if isinstance(value, str) else value[0])
    elif how == "Fn::If" and isinstance(value, list) and value and isinstance(value[0], str):
        yield how, value[0]
    elif how == "Fn::Sub":
        template, given = value if isinstance(value, list) and len(value) == 2 else (value, {})
        for name in _SUBSTITUTED.findall(template) if isinstance(template, str) else ():
            if name.strip() not in given:
                yield "Ref", name.strip().split(".")[0]


def _depends_on(member: Mapping[str, Any]) -> Iterable[str]:
    names = member.get("DependsOn") or []
    return [names] if isinstance(names, str) else names


def _format(sentence: str) -> AwsError:
    return _invalid(f"Template format error: {sentence}")


def _invalid(sentence: str) -> AwsError:
    return AwsError("ValidationError", sentence)
