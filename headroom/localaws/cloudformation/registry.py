"""Which resource types are this endpoint's own, beside and instead of moto's."""

from __future__ import annotations

from moto.cloudformation import parsing
from moto.core.common_models import CloudFormationModel


def register(model: type[CloudFormationModel]) -> None:
    """Let CloudFormation make resources of this model's type, in place of moto's if it has one."""
    kind = model.cloudformation_type()
    parsing.get_model_map()[kind] = model
    parsing.get_name_type_map()[kind] = model.cloudformation_name_type()


def register_all() -> None:
    """Register every model of this package."""
    from headroom.localaws.cloudformation import (
        compute,
        databases,
        messaging,
        volumes,
    )
    from headroom.localaws.cloudformation import (
        monitoring as observing,
    )
    from headroom.localaws.cloudformation import (
        storage as storing,
    )

    for module in (compute, databases, messaging, observing, storing, volumes):
        for model in module.MODELS:
            register(model)
