"""A stack's resources: made in order of dependency, each with its events, undone on failure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from moto.cloudformation import parsing
from moto.cloudformation.parsing import ResourceMap

from headroom.localaws.cloudformation.intrinsics import prepared

ReportEvent = Callable[[str, str, str, str, str | None], None]
"""Adds a stack event: logical id, physical id, type, status, reason."""


class ResourceFailed(RuntimeError):
    """One resource could not be made, changed or deleted; the message names it and its type."""

    def __init__(self, logical_id: str, kind: str, why: str) -> None:
        super().__init__(f"{logical_id} ({kind}): {why}")
        self.logical_id = logical_id
        self.kind = kind
        self.why = why


class LocalResourceMap(ResourceMap):  # type: ignore[misc]
    """moto's lazy map made strict: if one resource fails, all do."""

    report: ReportEvent
    input_parameters: dict[str, Any]
    _making = False
    """Only while a template is being deployed does a reference make what it refers to."""

    def __getitem__(self, key: str) -> Any:
        if key in self._parsed_resources:
            return self._parsed_resources[key]
        definition = self._resource_json_map.get(key)
        if not definition or not self._making:
            raise KeyError(key)
        if not self._wanted(definition):
            return None
        with self._step(key, definition, "CREATE"):
            _refuse_unknown(str(definition["Type"]))
            resource = parsing.parse_and_create_resource(
                key, self._prepared(definition), self, self._account_id, self._region_name
            )
            if resource is None:
                raise RuntimeError("nothing was created")
            self._parsed_resources[key] = resource
        return resource

    @contextmanager
    def _step(self, key: str, definition: dict[str, Any], verb: str) -> Iterator[None]:
        """The events around one step; a failure becomes ResourceFailed."""
        kind, resource = str(definition["Type"]), self._parsed_resources.get(key)
        self.report(key, physical_id(resource), kind, f"{verb}_IN_PROGRESS", None)
        try:
            yield
        except ResourceFailed:
            raise
        except Exception as error:
            self.report(key, physical_id(resource), kind, f"{verb}_FAILED", describe(error))
            raise ResourceFailed(key, kind, describe(error)) from error
        resource = self._parsed_resources.get(key, resource)
        self.report(key, physical_id(resource), kind, f"{verb}_COMPLETE", None)

    def __iter__(self) -> Iterator[str]:
        return iter(self.created())

    def _prepared(self, definition: dict[str, Any]) -> dict[str, Any]:
        properties = prepared(
            definition.get("Properties") or {}, self, account=self._account_id,
            region=self._region_name,
        )  # fmt: skip
        return {**definition, "Properties": properties}

    def parse_ssm_parameter(self, value: str, value_type: str) -> Any:
        """moto resolves defaults twice; a resolved value stays as it is."""
        try:
            return super().parse_ssm_parameter(value, value_type)
        except AttributeError:
            return value

    def created(self) -> list[str]:
        """Logical ids of what exists, in order of creation."""
        return [key for key in self._parsed_resources if key in self._resource_json_map]

    def make_all(self, template: dict[str, Any]) -> None:
        """Create every resource of the template that does not exist yet."""
        self._template, self._resource_json_map = template, template["Resources"]
        self._reload()
        self._making = True
        try:
            for key in _dependency_order(self._resource_json_map):
                _ = self[key]
        finally:
            self._making = False

    def change_to(self, template: dict[str, Any], parameters: dict[str, Any]) -> None:
        """Become `template`: additions and changes first, then removals; raises ResourceFailed."""
        old, existing = self._resource_json_map, set(self.created())
        before = {key: _resolved(self, old[key]) for key in existing}
        self._template, self._resource_json_map = template, template["Resources"]
        self.input_parameters = parameters or self.input_parameters
        self._reload()
        new = {k: body for k, body in self._resource_json_map.items() if self._wanted(body)}
        gone = [
            key for key in reversed(list(self._parsed_resources)) if key in existing - new.keys()
        ]
        self._making = True
        try:
            for key in _dependency_order(new):
                if key not in existing:
                    _ = self[key]
                elif new[key] != old[key] or _resolved(self, new[key]) != before[key]:
                    self._change(key)
        finally:
            self._making = False
        for key in gone:
            self.remove(key, old[key])

    def _wanted(self, definition: dict[str, Any]) -> bool:
        """Whether the condition of a resource holds, if it has one."""
        condition = definition.get("Condition")
        return not condition or bool(self.lazy_condition_map[condition])

    def remove(self, key: str, definition: dict[str, Any], *, just_created: bool = False) -> None:
        """Delete one resource unless it is retained; raises ResourceFailed."""
        resource = self._parsed_resources[key]
        retained = ("Retain",) if just_created else ("Retain", "RetainExceptOnCreate")
        if definition.get("DeletionPolicy") in retained:
            kind = str(definition["Type"])
            self.report(key, physical_id(resource), kind, "DELETE_SKIPPED", None)
            self._parsed_resources.pop(key)
            return
        with self._step(key, definition, "DELETE"):
            if definition.get("DeletionPolicy") == "Snapshot":
                resource.snapshot()
            self._delete_resource(resource, parsing.clean_json(self._prepared(definition), self))
            self._parsed_resources.pop(key)

    def remove_all(self, *, just_created: bool = False) -> None:
        """Delete what exists, the latest first; raises ResourceFailed."""
        for key in reversed(self.created()):
            self.remove(key, self._resource_json_map[key], just_created=just_created)

    def _change(self, key: str) -> None:
        definition = self._resource_json_map[key]
        with self._step(key, definition, "UPDATE"):
            changed = parsing.parse_and_update_resource(
                key, self._prepared(definition), self, account_id=self._account_id,
                region_name=self._region_name,
            )  # fmt: skip
            if changed is None:
                raise RuntimeError("this endpoint cannot update that type")
            self._parsed_resources[key] = changed

    def _reload(self) -> None:
        self.load_mapping()
        self.load_parameters()
        self.load_conditions()


def physical_id(resource: Any) -> str:
    """PhysicalResourceId, empty when there is none."""
    return str(getattr(resource, "physical_resource_id", "") or "")


def describe(error: Exception) -> str:
    """An exception as one line; moto's have a `message`."""
    if isinstance(error, KeyError):
        return f"The value {error} is required and missing"
    message = getattr(error, "message", None) or str(error)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _refuse_unknown(kind: str) -> None:
    if kind.startswith("Custom::") or kind == "AWS::CloudFormation::CustomResource":
        raise NotImplementedError(f"Custom resources ({kind}) are not run by this endpoint")
    if kind not in parsing.get_model_map():
        raise NotImplementedError(f"Resource type {kind} is not supported by this endpoint")


def _resolved(resources: LocalResourceMap, definition: dict[str, Any]) -> Any:
    """Properties with references resolved to what exists; None while they cannot be."""
    try:
        return parsing.clean_json(resources._prepared(definition)["Properties"], resources)
    except Exception:
        return None


def _dependency_order(definitions: dict[str, Any]) -> Iterable[str]:
    """Logical ids, those named in DependsOn first."""
    ordered: dict[str, None] = {}

    def visit(key: str, above: tuple[str, ...]) -> None:
        if key in ordered or key in above or key not in definitions:
            return
        names = definitions[key].get("DependsOn") or []
        for other in [names] if isinstance(names, str) else names:
            visit(other, (*above, key))
        ordered[key] = None

    for key in definitions:
        visit(key, ())
    return list(ordered)
