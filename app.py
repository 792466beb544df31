"""The CDK app: context -> DeploymentConfig -> stacks.

Reads nothing else: no environment, credentials, network, git or clock.
"""

from __future__ import annotations

import sys
from pathlib import Path

import aws_cdk as cdk

from headroom.cdk import WheelsMissing, function_code, read_policy
from headroom.domain.policy import PolicyError
from headroom.settings import DeploymentConfig, SettingsError
from stacks.deployment import HeadroomLoop, HeadroomState

ROOT = Path(__file__).resolve().parent


def build(app: cdk.App) -> tuple[HeadroomState, HeadroomLoop]:
    """Both stacks of `app`; raises SettingsError, PolicyError or WheelsMissing."""
    config = DeploymentConfig.from_context(app.node.get_all_context())
    policy = read_policy(ROOT / config.policy_file)
    place = cdk.Environment(account=config.account, region=config.region)
    state = HeadroomState(app, config=config, env=place)
    loop = HeadroomLoop(
        app, config=config, kept=state.kept, policy=policy, code=function_code(state), env=place
    )
    return state, loop


if __name__ == "__main__":
    app = cdk.App()
    try:
        build(app)
    except (PolicyError, SettingsError, WheelsMissing) as refusal:
        sys.exit(f"Headroom cannot be synthesised: {refusal}")
    app.synth()
