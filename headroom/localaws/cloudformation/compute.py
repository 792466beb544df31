"""Functions with every property that matters here, their roles, and what configures their asynchronous calls."""

from __future__ import annotations

import base64
import json
from typing import Any, cast

from moto.awslambda.models import LambdaFunction, lambda_backends
from moto.iam.models import ManagedPolicy, Role

from headroom.localaws.cloudformation.model import LocalResource, Properties, ShortSignatures, typed
from headroom.localaws.state import AccountRegion

_WHOLE = ("MemorySize", "Timeout", "ReservedConcurrentExecutions")


class DeployedFunction(ShortSignatures, LambdaFunction):  # type: ignore[misc]
    """AWS::Lambda::Function; moto drops architectures, logging, tracing, layers and dead letters."""

    logging_config: dict[str, Any] | None = None
    dead_letter_config: dict[str, Any] | None = None

    @classmethod
    def made(cls, name: str, properties: Properties, account_region: AccountRegion) -> Any:
        """Create with everything that CreateFunction takes."""
        given = typed(properties, whole=_WHOLE)
        spec = {**given, "Code": cls._code(given), "FunctionName": name}
        spec["Tags"] = {tag["Key"]: tag["Value"] for tag in given.get("Tags") or ()}
        function = account_region.backend(lambda_backends).create_function(spec)
        function.__class__ = cls
        function._keep(given)
        return function

    @classmethod
    def changed(cls, resource: Any, properties: Properties, account_region: AccountRegion) -> Any:
        """Change configuration and code; the next call starts a new process."""
        given = {"Environment": {"Variables": {}}, **typed(properties, whole=_WHOLE)}
        resource.update_configuration(given)
        resource.update_function_code(cls._code(given))
        resource._keep(given)
        return resource

    @classmethod
    def _code(cls, properties: Properties) -> dict[str, Any]:
        code = dict(properties["Code"])
        if "ZipFile" in code:
            archive = cls._create_zipfile_from_plaintext_code(code["ZipFile"])
            code["ZipFile"] = base64.b64encode(archive)
        return code

    def _keep(self, properties: Properties) -> None:
        self.logging_config = properties.get("LoggingConfig")
        self.dead_letter_config = properties.get("DeadLetterConfig")
        self.tracing_config = properties.get("TracingConfig") or {"Mode": "PassThrough"}
        self.architectures = properties.get("Architectures") or ["x86_64"]
        self.reserved_concurrency = properties.get("ReservedConcurrentExecutions")
        if self.logging_config and self.logging_config.get("LogGroup"):
            self.logs_group_name = self.logging_config["LogGroup"]

    def get_configuration(self, on_create: bool = False) -> dict[str, Any]:
        """GetFunctionConfiguration's answer."""
        found = cast("dict[str, Any]", super().get_configuration(on_create))
        found["LoggingConfig"] = self.logging_config or {
            "LogFormat": "Text",
            "LogGroup": self.logs_group_name,
        }
        if self.dead_letter_config:
            found["DeadLetterConfig"] = self.dead_letter_config
        return found


class UpdatableRole(ShortSignatures, Role):  # type: ignore[misc]
    """AWS::IAM::Role; moto's update leaves the policies as they were."""

    @classmethod
    def made(cls, name: str, properties: Properties, account_region: AccountRegion) -> Any:
        """As moto makes it."""
        return Role.create_from_cloudformation_json(
            name, {"Properties": properties}, account_region.account, account_region.region
        )

    @classmethod
    def changed(cls, resource: Any, properties: Properties, account_region: AccountRegion) -> Any:
        """The template's inline policies, trust, boundary and path, and no others."""
        resource.policies = {
            each["PolicyName"]: each["PolicyDocument"] for each in properties.get("Policies") or ()
        }
        resource.assume_role_policy_document = json.dumps(properties["AssumeRolePolicyDocument"])
        resource.permissions_boundary_arn = properties.get("PermissionsBoundary", "")
        resource.path = properties.get("Path", "/")
        resource.description = properties.get("Description", "")
        return resource


class UpdatableManagedPolicy(ShortSignatures, ManagedPolicy):  # type: ignore[misc]
    """AWS::IAM::ManagedPolicy; moto cannot update one."""

    @classmethod
    def made(cls, name: str, properties: Properties, account_region: AccountRegion) -> Any:
        """As moto makes it."""
        return ManagedPolicy.create_from_cloudformation_json(
            name, {"Properties": properties}, account_region.account, account_region.region
        )

    @classmethod
    def changed(cls, resource: Any, properties: Properties, account_region: AccountRegion) -> Any:
        """The new document as the default version; the endpoint keeps no earlier ones."""
        (default,) = [each for each in resource.versions if each.is_default]
        default.document = json.dumps(properties["PolicyDocument"])
        return resource


class InvokePermission(LocalResource):
    """AWS::Lambda::Permission, a statement of the function's policy; it counts for other accounts alone."""

    kind = "AWS::Lambda::Permission"

    def make(self) -> None:
        given = {name: v for name, v in self.properties.items() if name != "FunctionName"}
        self.remove_resource()
        policy = self._function().policy
        policy.add_statement(json.dumps({**given, "StatementId": self.name}))

    def remove_resource(self) -> None:
        function = self._function()
        kept = [one for one in function.policy.statements if one["Sid"] != self.name]
        function.policy.statements = kept

    def _function(self) -> Any:
        backend = self.account_region.backend(lambda_backends)
        return backend.get_function(str(self.properties["FunctionName"]))


class EventInvokeConfig(LocalResource):
    """AWS::Lambda::EventInvokeConfig: retries and destinations of asynchronous calls."""

    kind = "AWS::Lambda::EventInvokeConfig"

    def make(self) -> None:
        names = ("MaximumRetryAttempts", "MaximumEventAgeInSeconds", "DestinationConfig")
        given = {name: self.properties[name] for name in names if name in self.properties}
        self.remove_resource()
        self.account_region.backend(lambda_backends).put_function_event_invoke_config(
            str(self.properties["FunctionName"]), typed(given, whole=names[:2])
        )

    def remove_resource(self) -> None:
        backend = self.account_region.backend(lambda_backends)
        backend.get_function(str(self.properties["FunctionName"])).event_invoke_config = []


MODELS = (
    DeployedFunction, UpdatableRole, UpdatableManagedPolicy, InvokePermission, EventInvokeConfig,
)  # fmt: skip
