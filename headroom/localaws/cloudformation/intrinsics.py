"""Intrinsic functions: resolves those that moto lacks, refuses unknown ones."""

from __future__ import annotations

from typing import Any

from moto.cloudformation import parsing

KNOWN = frozenset(
    {
        "Fn::Base64", "Fn::FindInMap", "Fn::GetAtt", "Fn::GetAZs", "Fn::If", "Fn::ImportValue",
        "Fn::Join", "Fn::Select", "Fn::Split", "Fn::Sub", "Fn::ToJsonString", "Fn::Transform",
    }
)  # fmt: skip
"""Functions that moto resolves inside properties and outputs."""
STACK_OUTPUT = "Fn::GetStackOutput"


class Unresolvable(ValueError):
    """A function cannot be resolved; the message says which and why."""


def prepared(node: Any, resources: Any, *, account: str, region: str) -> Any:
    """`node` with the outputs of other stacks filled in; raises Unresolvable for an unknown function.

    moto silently drops an unknown attribute; here that is refused as well.
    """
    if isinstance(node, list):
        return [prepared(item, resources, account=account, region=region) for item in node]
    if not isinstance(node, dict):
        return node
    if STACK_OUTPUT in node:
        reference = parsing.clean_json(node[STACK_OUTPUT], resources)
        return _stack_output(reference, account, region)
    for name in node:
        if name.startswith("Fn::") and name not in KNOWN:
            raise Unresolvable(f"The function {name} is not supported by this endpoint")
    if "Fn::If" in node:  # what is not chosen may refer to what is not there
        return prepared(_chosen(node, resources), resources, account=account, region=region)
    if "Fn::GetAtt" in node:
        _refuse_unknown_attribute(node["Fn::GetAtt"], resources)
    return {
        key: _present(key, prepared(value, resources, account=account, region=region))
        for key, value in node.items()
    }


def _present(key: str, value: Any) -> Any:
    """`value`; if it is a list that no function takes, without the elements that are AWS::NoValue."""
    if key.startswith("Fn::") or not isinstance(value, list):
        return value
    return [item for item in value if item != {"Ref": "AWS::NoValue"}]


def _chosen(node: dict[str, Any], resources: Any) -> Any:
    condition, yes, no = node["Fn::If"]
    return yes if resources.lazy_condition_map[condition] else no


def _stack_output(reference: dict[str, Any], account: str, region: str) -> str:
    from moto.cloudformation.models import cloudformation_backends

    name, output = str(reference["StackName"]), str(reference["OutputName"])
    backend = cloudformation_backends[account][str(reference.get("Region") or region)]
    for stack in backend.stacks.values():
        if name in (stack.name, stack.stack_id) and output in stack.output_map:
            return str(stack.output_map[output].value)
    raise Unresolvable(f"Stack {name} has no output {output}")


def _refuse_unknown_attribute(path: Any, resources: Any) -> None:
    if not isinstance(path, list) or not isinstance(path[1], str) or path[0] not in resources:
        return
    resource = resources[path[0]]
    try:
        value = None if resource is None else resource.get_cfn_attribute(path[1])
    except NotImplementedError:
        value = None
    if value is None:
        raise Unresolvable(f"{path[0]} has no attribute {path[1]} at this endpoint")
