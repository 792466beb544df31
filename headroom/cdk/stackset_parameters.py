"""The parameters of the StackSets template, with their defaults."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headroom import __version__
from headroom.domain.policy import NO_CAPS, RESOURCE_TAG_CAP
from headroom.policy import TEMPLATE_PARTS, canonical_json, default_policy
from headroom.settings import BUS_ARN, OFF, ROLE_ARN, DeploymentConfig, Detection

Template = dict[str, Any]

PARAMETERS: Template = {
    "CodeBucket": {
        "Type": "String",
        "AllowedPattern": "[a-z0-9][a-z0-9.-]{1,45}",
        "Description": "Beginning of the buckets' names: CODEBUCKET-REGION holds the code there",
    },
    "CodeKey": {
        "Type": "String",
        "Default": f"headroom-function-{__version__}.zip",
        "Description": "Key of the functions' code; another key updates the functions",
    },
    "Detection": {
        "Type": "String",
        "Default": DeploymentConfig().detection.value,
        "AllowedValues": [choice.value for choice in Detection],
        "Description": "How pressure is found",
    },
    "NotifyEmail": {
        "Type": "String",
        "Default": "",
        "AllowedPattern": r"(\S+@\S+)?",
        "Description": "An address to notify; empty for none",
    },
    "HardCaps": {
        "Type": "String",
        "Default": NO_CAPS,
        "AllowedPattern": rf'(?!.*{RESOURCE_TAG_CAP})({NO_CAPS}|\{{\s*"[^{{}}]*\}})',
        "Description": "Ceilings above every policy, as JSON; none for none",
    },
    "HubBus": {
        "Type": "String",
        "Default": OFF,
        "AllowedPattern": f"{OFF}|{BUS_ARN}",
        "Description": "ARN of the hub's event bus, or off",
    },
    "HubRole": {
        "Type": "String",
        "Default": OFF,
        "AllowedPattern": f"{OFF}|{ROLE_ARN}",
        "Description": "ARN of the hub role whose users may approve and pause, or off",
    },
    "HubPolicyRole": {
        "Type": "String",
        "Default": OFF,
        "AllowedPattern": f"{OFF}|{ROLE_ARN}",
        "Description": "ARN of the hub role whose users may publish policies, or off",
    },
    "Policy": {
        "Type": "String",
        "Default": canonical_json(default_policy()),
        "Description": "The policy, as `headroom policy parameters` prints it",
    },
    **{
        f"Policy{number}": {
            "Type": "String",
            "Default": "",
            "Description": "A part of a policy that is too long for one parameter",
        }
        for number in range(1, TEMPLATE_PARTS + 1)
    },
}


def parameters(config: DeploymentConfig) -> Template:
    """The parameters, with what the settings fix as their defaults: a forgotten value is never a wider one."""
    fixed = {
        "Detection": config.detection.value,
        "NotifyEmail": config.notify_email or "",
        "HardCaps": str(replace(config.hard_caps, resource_tag=None)),
        "HubBus": config.hub_bus,
        "HubRole": config.hub_role,
        "HubPolicyRole": config.hub_policy_role,
    }
    return PARAMETERS | {name: {**PARAMETERS[name], "Default": fixed[name]} for name in fixed}
