"""What CloudFormation refuses of an update although each resource alone could be made.

Source: CloudFormation User Guide, "Update behaviors of stack resources", "Troubleshooting" and
"Exporting stack output values" (checked 2026-11).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from headroom.localaws.state import AwsError

Template = Mapping[str, Any]

NAMES: Mapping[str, str] = {
    "AWS::CloudWatch::Alarm": "AlarmName",
    "AWS::CloudWatch::Dashboard": "DashboardName",
    "AWS::DynamoDB::Table": "TableName",
    "AWS::Events::Rule": "Name",
    "AWS::IAM::Role": "RoleName",
    "AWS::Lambda::Function": "FunctionName",
    "AWS::Logs::LogGroup": "LogGroupName",
    "AWS::SNS::Topic": "TopicName",
    "AWS::SQS::Queue": "QueueName",
    "AWS::SSM::Parameter": "Name",
    "AWS::Scheduler::Schedule": "Name",
}
"""The property that names a resource of a type, if the template gives it one."""
CREATE_ONLY: Mapping[str, tuple[str, ...]] = {
    "AWS::DynamoDB::Table": ("KeySchema",),
    "AWS::Events::Rule": ("EventBusName",),
    "AWS::IAM::Role": ("Path",),
    "AWS::Lambda::Function": ("PackageType",),
    "AWS::SNS::Topic": ("FifoTopic",),
    "AWS::SQS::Queue": ("FifoQueue",),
    "AWS::Scheduler::Schedule": ("GroupName",),
}
"""Properties, beside its name, of which a change replaces the resource."""


def check_types(old: Template, new: Template) -> None:
    """Raise AwsError where a logical id would change its type."""
    before, after = _resources(old), _resources(new)
    moved = [k for k in before if k in after and before[k]["Type"] != after[k]["Type"]]
    if moved:
        raise AwsError(
            "ValidationError",
            "Update of resource type is not permitted. The new template modifies resource type of "
            f"the following resources: [{', '.join(moved)}]",
        )


def why_refused(stack_id: str, old: Template, new: Template) -> Iterator[tuple[str, str, str]]:
    """The resources that fail before anything of the update is done: logical id, type and why.

    CloudFormation makes what is new before it deletes what is gone, and replaces likewise.
    """
    before, after = _resources(old), _resources(new)
    taken = {name: key for key, definition in before.items() if (name := _name(definition))}
    for key, definition in after.items():
        name = _name(definition)
        if name is None:
            continue
        kind, named = str(definition["Type"]), name[1]
        owner = taken.get(name)
        if key not in before and owner is not None:
            yield key, kind, f"{named} already exists in stack {stack_id}"
        if owner == key and _replaces(kind, before[key], definition):
            yield key, kind, (
                "CloudFormation cannot update a stack when a custom-named resource requires "
                f"replacing. Rename {named} and update the stack again."
            )  # fmt: skip


def lost_exports(new: Template, exports: Iterable[str], importers: Mapping[str, list[str]]) -> str:
    """Why an export that another stack imports cannot go; empty where none does."""
    outputs = (new.get("Outputs") or {}).values()
    left = {str(name) for o in outputs if (name := (o.get("Export") or {}).get("Name"))}
    return next((in_use(name, importers) for name in exports if name not in left), "")


def in_use(name: str, importers: Mapping[str, list[str]], what: str = "deleted") -> str:
    """CloudFormation's words where the export is imported; empty where it is not."""
    users = importers.get(name)
    return (
        f"Export {name} cannot be {what} as it is in use by {' and '.join(users)}" if users else ""
    )


def importers(stacks: Iterable[Any], stack: Any) -> dict[str, list[str]]:
    """Names of the other stacks that import an export, by its name."""
    found: dict[str, list[str]] = {}
    for other in stacks:
        if other is not stack and other.template:
            for name in dict.fromkeys(imported(other.template_dict)):
                found.setdefault(name, []).append(other.name)
    return found


def imported(node: Any) -> Iterator[str]:
    """The names of the exports that a template imports, where they are written out."""
    if isinstance(node, list):
        for item in node:
            yield from imported(item)
    elif isinstance(node, dict):
        name = node.get("Fn::ImportValue")
        if isinstance(name, str):
            yield name
        for value in node.values():
            yield from imported(value)


def _resources(template: Template) -> Mapping[str, Any]:
    return template.get("Resources") or {}


def _name(definition: Template) -> tuple[str, str] | None:
    """Type and given name of a resource; None without a name of its own, or one that is derived."""
    kind = str(definition["Type"])
    name = (definition.get("Properties") or {}).get(NAMES.get(kind, ""))
    return (kind, name) if isinstance(name, str) else None


def _replaces(kind: str, old: Template, new: Template) -> bool:
    before, after = old.get("Properties") or {}, new.get("Properties") or {}
    return any(before.get(one) != after.get(one) for one in CREATE_ONLY.get(kind, ()))
