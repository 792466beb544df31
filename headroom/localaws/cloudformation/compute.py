"""Functions with every property that matters here, and what configures their asynchronous calls."""

from __future__ import annotations

import base64
from typing import Any, cast

from moto.awslambda.models import LambdaFunction, Permission
from moto.awslambda.utils import get_backend

from headroom.localaws.cloudformation.model import LocalResource

_WHOLE = ("MemorySize", "Timeout", "ReservedConcurrentExecutions")


class DeployedFunction(LambdaFunction):  # type: ignore[misc]
    """AWS::Lambda::Function; moto drops architectures, logging, tracing, layers and dead letters."""

    logging_config: dict[str, Any] | None = None
    dead_letter_config: dict[str, Any] | None = None

    @classmethod
    def create_from_cloudformation_json(
        cls,
        resource_name: str,
        cloudformation_json: dict[str, Any],
        account_id: str,
        region_name: str,
        **kwargs: Any,
    ) -> Any:
        """Create with everything that CreateFunction takes."""
        properties = _whole_numbers(cloudformation_json["Properties"])
        code = dict(properties["Code"])
        if "ZipFile" in code:
            code["ZipFile"] = base64.b64encode(
                cls._create_zipfile_from_plaintext_code(code["ZipFile"])
            )
        spec = {**properties, "Code": code, "FunctionName": resource_name}
        spec["Tags"] = {tag["Key"]: tag["Value"] for tag in properties.get("Tags") or ()}
        model = get_backend(account_id, region_name).create_function(spec)
        model.__class__ = cls
        model._keep(properties)
        return model

    @classmethod
    def update_from_cloudformation_json(
        cls,
        original_resource: Any,
        new_resource_name: str,
        cloudformation_json: dict[str, Any],
        account_id: str,
        region_name: str,
    ) -> Any:
        """Change configuration and code; the next call starts a new process."""
        properties = _whole_numbers(cloudformation_json["Properties"])
        properties.setdefault("Environment", {"Variables": {}})
        original_resource.update_configuration(properties)
        code = dict(properties["Code"])
        if "ZipFile" in code:
            code["ZipFile"] = base64.b64encode(
                cls._create_zipfile_from_plaintext_code(code["ZipFile"])
            )
        original_resource.update_function_code(code)
        original_resource._keep(properties)
        return original_resource

    def _keep(self, properties: dict[str, Any]) -> None:
        self.logging_config = properties.get("LoggingConfig")
        self.dead_letter_config = properties.get("DeadLetterConfig")
        self.tracing_config = properties.get("TracingConfig") or {"Mode": "PassThrough"}
        self.architectures = properties.get("Architectures") or ["x86_64"]
        self.reserved_concurrency = properties.get("ReservedConcurrentExecutions")
        if self.logging_config and self.logging_config.get("LogGroup"):
            self.logs_group_name = self.logging_config["LogGroup"]

    def get_configuration(self, on_create: bool = False) -> dict[str, Any]:
        """GetFunctionConfiguration's answer."""
        told = cast("dict[str, Any]", super().get_configuration(on_create))
        told["LoggingConfig"] = self.logging_config or {
            "LogFormat": "Text",
            "LogGroup": self.logs_group_name,
        }
        if self.dead_letter_config:
            told["DeadLetterConfig"] = self.dead_letter_config
        return told


class InvokePermission(Permission):  # type: ignore[misc]
    """AWS::Lambda::Permission that can be updated and deleted; it is not enforced."""

    @classmethod
    def update_from_cloudformation_json(
        cls,
        original_resource: Any,
        new_resource_name: str,
        cloudformation_json: Any,
        account_id: str,
        region_name: str,
    ) -> Any:
        """Add the new statement."""
        return cls.create_from_cloudformation_json(
            new_resource_name, cloudformation_json, account_id, region_name
        )

    def delete(self, account_id: str, region_name: str) -> None:
        """Nothing enforces it, so nothing is undone."""


class EventInvokeConfig(LocalResource):
    """AWS::Lambda::EventInvokeConfig: retries and destinations of asynchronous calls."""

    kind = "AWS::Lambda::EventInvokeConfig"

    def make(self) -> None:
        config = {
            name: self.properties[name]
            for name in ("MaximumRetryAttempts", "MaximumEventAgeInSeconds", "DestinationConfig")
            if name in self.properties
        }
        for name in ("MaximumRetryAttempts", "MaximumEventAgeInSeconds"):
            if name in config:
                config[name] = int(config[name])
        backend = get_backend(self.account_region.account, self.account_region.region)
        function = str(self.properties["FunctionName"])
        self.remove_resource()
        backend.put_function_event_invoke_config(function, config)

    def remove_resource(self) -> None:
        backend = get_backend(self.account_region.account, self.account_region.region)
        function = backend.get_function(str(self.properties["FunctionName"]))
        function.event_invoke_config = []


def _whole_numbers(properties: dict[str, Any]) -> dict[str, Any]:
    told = dict(properties)
    for name in _WHOLE:
        if told.get(name) is not None:
            told[name] = int(told[name])
    return told


MODELS = (DeployedFunction, InvokePermission, EventInvokeConfig)
