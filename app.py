"""The CDK app: context -> DeploymentConfig -> stacks.

Reads nothing else: no environment, credentials, network, git or clock.
"""

from __future__ import annotations

import sys

import aws_cdk as cdk

from headroom.domain.policy import PolicyError
from headroom.settings import DeploymentConfig, SettingsError
from stacks.constructs.asset import WheelsMissing
from stacks.constructs.names import LOOP_STACK, STATE_STACK
from stacks.loop import HeadroomLoop
from stacks.state import HeadroomState


def build(app: cdk.App) -> tuple[HeadroomState, HeadroomLoop]:
    """Both stacks of `app`; raises SettingsError, PolicyError or WheelsMissing."""
    config = DeploymentConfig.from_context(app.node.get_all_context())
    place = cdk.Environment(account=config.account, region=config.region)
    state = HeadroomState(app, STATE_STACK, config=config, env=place)
    return state, HeadroomLoop(app, LOOP_STACK, config=config, state=state, env=place)


if __name__ == "__main__":
    app = cdk.App()
    try:
        build(app)
    except (PolicyError, SettingsError, WheelsMissing) as refusal:
        sys.exit(f"Headroom cannot be synthesised: {refusal}")
    app.synth()
