"""One stack: made, changed or taken back resource by resource.

What fails ends in ROLLBACK_COMPLETE or UPDATE_ROLLBACK_COMPLETE with the reason in the stack's
events, never in COMPLETE.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from moto.cloudformation.models import Event, Stack
from moto.cloudformation.parsing import OutputMap

from headroom.localaws.cloudformation import update_rules
from headroom.localaws.cloudformation.intrinsics import Unresolvable, prepared
from headroom.localaws.cloudformation.resource_map import LocalResourceMap, ResourceFailed, describe


class ExportInUse(RuntimeError):
    """An export that another stack imports would be deleted or changed."""


class LocalStack(Stack):  # type: ignore[misc]
    """A stack whose resources are strict; `stack_status_reason` is what DescribeStacks reports."""

    stack_status_reason: str | None = None
    parameters: dict[str, Any]
    template: Any
    template_dict: Any
    importers: Mapping[str, list[str]] = MappingProxyType({})
    """Names of the stacks that import an export, by its name."""
    _deployed: tuple[list[Any], list[dict[str, Any]] | None] = ([], None)

    @property
    def stack_name(self) -> str:
        """StackName; moto's serialiser finds `name` only for a class called Stack."""
        return str(self.name)

    @property
    def stack_status(self) -> str:
        """StackStatus, likewise."""
        return str(self.status)

    def _create_resource_map(self) -> LocalResourceMap:
        resources = LocalResourceMap(
            self.stack_id, self.name, self.parameters, self.tags, account_id=self.account_id,
            region_name=self.region_name, template=self.template_dict,
            cross_stack_resources=self.cross_stack_resources,
        )  # fmt: skip
        resources.report = self._resource_event
        resources.load()
        return resources

    def _create_output_map(self) -> OutputMap:
        template = dict(self.template_dict)
        if template.get("Outputs"):
            template["Outputs"] = prepared(
                template["Outputs"], self.resource_map, account=self.account_id,
                region=self.region_name,
            )  # fmt: skip
        return OutputMap(self.resource_map, template, self.stack_id)

    def _resource_event(
        self, logical_id: str, physical_id: str, kind: str, status: str, why: str | None
    ) -> None:
        event = Event(
            stack_id=self.stack_id, stack_name=self.name, logical_resource_id=logical_id,
            physical_resource_id=physical_id, resource_type=kind, resource_status=status,
            resource_status_reason=why, resource_properties=None,
        )  # fmt: skip
        self.events.append(event)

    def enter(self, status: str, why: str | None = None) -> None:
        """Change the stack's status and say so in its events."""
        self.status, self.stack_status_reason = status, why
        self._add_stack_event(status, resource_status_reason=why)

    def deploy(self, template: str, parameters: dict[str, Any], *, create: bool) -> None:
        """Become `template` or roll back; the outcome is the status."""
        verb, old_template, old_parameters = (
            ("CREATE" if create else "UPDATE"), self.template, dict(self.parameters or {})
        )  # fmt: skip
        self.enter(f"{verb}_IN_PROGRESS", "User Initiated")
        document = self.parse_template(template)
        try:
            self._become(template, document, parameters, create=create)
        except Exception as error:  # whatever it is, the stack must not be left in progress
            known = isinstance(error, ResourceFailed | Unresolvable | ExportInUse)
            failure = str(error) if known else describe(error)
            why = f"The following resource(s) failed to {verb.lower()}: [{failure}]"
            if create:
                self._undo_creation(why)
            else:
                self._undo_update(why, old_template, old_parameters)
            return
        self.enter(f"{verb}_COMPLETE")

    def _become(
        self, template: str, document: dict[str, Any], parameters: dict[str, Any], *, create: bool
    ) -> None:
        resources = self.resource_map
        if create:
            resources.input_parameters = parameters or resources.input_parameters
            resources.make_all(document)
        else:
            for key, kind, why in update_rules.why_refused(
                self.stack_id, self.template_dict, document
            ):
                raise ResourceFailed(key, kind, why)
            self._keep_exports(
                update_rules.lost_exports(document, self._exported(), self.importers)
            )
            resources.change_to(document, parameters)
        self.template, self.template_dict = template, document
        self.description = document.get("Description")
        self.parameters = parameters or self.parameters
        before = self._exported()
        self.output_map = self._create_output_map()
        for export in self.output_map.exports:
            if before.get(export.name, export.value) != export.value:
                self._keep_exports(update_rules.in_use(export.name, self.importers, "updated"))
        self._deployed = (list(self.output_map.exports), super().outputs)

    def _exported(self) -> dict[str, Any]:
        return {export.name: export.value for export in self.exports}

    @staticmethod
    def _keep_exports(why_not: str) -> None:
        if why_not:
            raise ExportInUse(why_not)

    @property
    def exports(self) -> list[Any]:
        """Exports as of the last deployment; moto would read resources that are gone."""
        return self._deployed[0]

    @property
    def outputs(self) -> list[dict[str, Any]] | None:
        """Outputs as of the last deployment."""
        return self._deployed[1]

    def _undo_creation(self, why: str) -> None:
        self.enter("ROLLBACK_IN_PROGRESS", why)
        try:
            self.resource_map.remove_all(just_created=True)
        except ResourceFailed as error:
            self.enter("ROLLBACK_FAILED", f"{why}; {error}")
            return
        self.enter("ROLLBACK_COMPLETE", why)

    def _undo_update(self, why: str, template: Any, parameters: dict[str, Any]) -> None:
        self.enter("UPDATE_ROLLBACK_IN_PROGRESS", why)
        try:
            self.resource_map.change_to(self.parse_template(template), parameters)
        except Exception as error:
            self.enter("UPDATE_ROLLBACK_FAILED", f"{why}; {describe(error)}")
            return
        self.enter("UPDATE_ROLLBACK_COMPLETE", why)

    def delete(self) -> None:
        """Delete everything that is not retained; after DELETE_FAILED the rest remains."""
        self.enter("DELETE_IN_PROGRESS", "User Initiated")
        try:
            self.resource_map.remove_all()
        except ResourceFailed as error:
            self.enter("DELETE_FAILED", str(error))
            return
        self.enter("DELETE_COMPLETE")
