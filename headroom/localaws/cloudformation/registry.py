"""Registers the resource types of this endpoint with CloudFormation, in addition to moto's."""

from __future__ import annotations

from moto.cloudformation import parsing

from headroom.localaws.cloudformation import (
    analytics,
    compute,
    databases,
    messaging,
    monitoring,
    storage,
    volumes,
)


def register_all() -> None:
    """Let CloudFormation make resources by the models of this package."""
    for module in (analytics, compute, databases, messaging, monitoring, storage, volumes):
        for model in module.MODELS:
            kind = model.cloudformation_type()
            parsing.get_model_map()[kind] = model
            parsing.get_name_type_map()[kind] = model.cloudformation_name_type()
