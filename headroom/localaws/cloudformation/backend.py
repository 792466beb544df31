"""Stacks and change sets: the state machine that CDK's command line talks to.

Resources are made while the request runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moto.cloudformation import urls
from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.models import ChangeSet, CloudFormationBackend
from moto.cloudformation.utils import generate_changeset_id, generate_stack_id

from headroom.localaws.cloudformation import templates, update_rules
from headroom.localaws.cloudformation.stack import LocalStack
from headroom.localaws.state import AwsError

NO_CHANGES = (
    "The submitted information didn't contain changes. Submit different information to create a "
    "change set."
)


class LocalCloudFormation(CloudFormationBackend):  # type: ignore[misc]
    """CreateStack, UpdateStack, DeleteStack and change sets."""

    _url_module = urls

    def create_stack(
        self,
        name: str,
        template: str,
        parameters: dict[str, Any],
        notification_arns: list[str] | None = None,
        tags: dict[str, str] | None = None,
        role_arn: str | None = None,
        enable_termination_protection: bool | None = False,
        timeout_in_mins: int | None = None,
        stack_policy_body: str | None = None,
    ) -> LocalStack:
        """Create at once; what goes wrong with a resource is in the stack's status."""
        if any(stack.name == name for stack in self.stacks.values()):
            raise AwsError("AlreadyExistsException", f"Stack [{name}] already exists")
        templates.check_parameters(templates.read(template), parameters)
        stack = self._stack(name, parameters, notification_arns, tags, role_arn)
        stack.enable_termination_protection = bool(enable_termination_protection)
        self.stacks[stack.stack_id] = stack
        self._deploy(stack, template, parameters, create=True)
        return stack

    def create_change_set(
        self,
        stack_name: str,
        change_set_name: str,
        template: str,
        parameters: dict[str, str],
        description: str,
        change_set_type: str,
        notification_arns: list[str] | None = None,
        tags: dict[str, str] | None = None,
        role_arn: str | None = None,
    ) -> tuple[str, str]:
        """A change set; FAILED with AWS's message when nothing would change."""
        stack = next((s for s in self.stacks.values() if s.name == stack_name), None)
        if change_set_type == "UPDATE" and stack is None:
            raise ValidationError(stack_name)
        if stack is not None and stack.template:
            update_rules.check_types(stack.template_dict, templates.read(template))
        known = (stack.parameters or {}) if stack is not None else {}
        templates.check_parameters(templates.read(template), parameters, known)
        if stack is None:
            stack = self._stack(stack_name, parameters, notification_arns, tags, role_arn)
            self.stacks[stack.stack_id] = stack
            stack.enter("REVIEW_IN_PROGRESS", "User Initiated")
        change_set_id = generate_changeset_id(change_set_name, self.region_name, self.account_id)
        change_set = ChangeSet(
            change_set_type=change_set_type, change_set_id=change_set_id,
            change_set_name=change_set_name, stack=stack, template=template,
            parameters=parameters, description=description, notification_arns=notification_arns,
            tags=tags, role_arn=role_arn,
        )  # fmt: skip
        unchanged = (
            change_set_type == "UPDATE"
            and stack.template_dict == change_set.template_dict
            and _same_parameters(stack, parameters)
        )
        change_set.status = "FAILED" if unchanged else "CREATE_COMPLETE"
        change_set.execution_status = "UNAVAILABLE" if unchanged else "AVAILABLE"
        change_set.status_reason = NO_CHANGES if unchanged else None
        self.change_sets[change_set_id] = change_set
        return change_set_id, stack.stack_id

    def describe_change_set(self, change_set_name: str) -> ChangeSet:
        """By ARN or name, the latest of that name; ChangeSetNotFound otherwise."""
        found = self._change_set(change_set_name)
        if found is None:
            raise AwsError("ChangeSetNotFound", f"ChangeSet [{change_set_name}] does not exist")
        return found

    def delete_change_set(self, change_set_name: str) -> None:
        """Forget a change set; an unknown one is no error."""
        found = self._change_set(change_set_name)
        if found is not None:
            del self.change_sets[found.change_set_id]

    def execute_change_set(self, change_set_name: str, stack_name: str | None = None) -> None:
        """Deploy what the change set holds."""
        change_set = self.describe_change_set(change_set_name)
        stack = self.stacks[change_set.stack_id]
        create = stack.status == "REVIEW_IN_PROGRESS"
        if change_set.tags:
            stack.tags = change_set.tags
        change_set.execution_status = "EXECUTE_COMPLETE"
        self._deploy(stack, change_set.template, change_set.parameters, create=create)

    def update_stack(
        self,
        name: str,
        template: str,
        role_arn: str | None,
        parameters: list[dict[str, Any]],
        tags: dict[str, str] | None,
    ) -> LocalStack:
        """Update at once."""
        stack: LocalStack = self.get_stack(name)
        document = templates.read(template)
        update_rules.check_types(stack.template_dict, document)
        resolved = self._resolve_update_parameters(instance=stack, incoming_params=parameters)
        templates.check_parameters(document, resolved, stack.parameters or {})
        if document == stack.template_dict and resolved == stack.parameters:
            raise AwsError("ValidationError", "No updates are to be performed.")
        if tags is not None:
            stack.tags = tags
        self._deploy(stack, template, resolved, create=False)
        return stack

    def delete_stack(self, name_or_stack_id: str) -> None:
        """Delete a stack; refuses while another stack imports one of its exports."""
        stack = next(
            (s for s in self.stacks.values() if name_or_stack_id in (s.stack_id, s.name)), None
        )
        if stack is None:
            return
        own, importers = (
            [export.name for export in stack.exports],
            update_rules.importers(self.stacks.values(), stack),
        )
        for name in own:
            if why := update_rules.in_use(name, importers):
                raise AwsError("ValidationError", why)
        stack.delete()
        if stack.status != "DELETE_COMPLETE":
            return
        self.stacks.pop(stack.stack_id)
        self.deleted_stacks[stack.stack_id] = stack
        for name in own:
            self.exports.pop(name, None)

    def _resolve_update_parameters(
        self, instance: Any, incoming_params: list[dict[str, str]]
    ) -> dict[str, str]:
        """As moto's, but "use the previous value" of a parameter that is new means its default."""
        known = [
            p
            for p in incoming_params
            if not p.get("UsePreviousValue") or p["ParameterKey"] in instance.parameters
        ]
        resolved: dict[str, str] = super()._resolve_update_parameters(
            instance=instance, incoming_params=known
        )
        return resolved

    def _stack(
        self,
        name: str,
        parameters: dict[str, Any],
        notification_arns: list[str] | None,
        tags: dict[str, str] | None,
        role_arn: str | None,
    ) -> LocalStack:
        return LocalStack(
            stack_id=generate_stack_id(name, self.region_name, self.account_id), name=name,
            template={}, parameters=parameters, account_id=self.account_id,
            region_name=self.region_name, notification_arns=notification_arns, tags=tags,
            role_arn=role_arn, cross_stack_resources=self.exports,
        )  # fmt: skip

    def _change_set(self, name: str) -> ChangeSet | None:
        if name in self.change_sets:
            return self.change_sets[name]
        named = [c for c in self.change_sets.values() if c.change_set_name == name]
        return named[-1] if named else None

    def _deploy(
        self, stack: LocalStack, template: str, parameters: dict[str, Any], *, create: bool
    ) -> None:
        stack.cross_stack_resources = stack.resource_map.cross_stack_resources = self.exports
        before, stack.importers = (
            [e.name for e in stack.exports],
            update_rules.importers(self.stacks.values(), stack),
        )
        stack.deploy(template, parameters, create=create)
        for name in before:
            self.exports.pop(name, None)
        if stack.status.endswith("COMPLETE") and "ROLLBACK" not in stack.status:
            for export in stack.exports:
                self.exports[export.name] = export


def _same_parameters(stack: LocalStack, given: Mapping[str, Any]) -> bool:
    """Whether every given parameter has that value already, as given or as resolved from SSM."""
    known, resolved = stack.parameters or {}, stack.resource_map.resolved_parameters
    return all(value in (known.get(name), resolved.get(name)) for name, value in given.items())
