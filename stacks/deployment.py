"""The two stacks of the app in this repository; other apps use the construct `headroom.cdk.Headroom`."""

from __future__ import annotations

from aws_cdk import Environment, Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from headroom.cdk import Kept, Loop, State
from headroom.domain.policy import Policy
from headroom.settings import DeploymentConfig


class HeadroomState(Stack):
    """What outlives every deployment: the tables, and the topic people listen to."""

    def __init__(
        self, scope: Construct, *, config: DeploymentConfig, env: Environment | None = None
    ) -> None:
        says = "Headroom: the record of every decision, and what is known now"
        super().__init__(scope, config.names.stack("State"), env=env, description=says)
        # "Default" leaves no trace in logical ids.
        self.kept = State(self, "Default", config=config).kept


class HeadroomLoop(Stack):
    """The loop itself, stateless: everything here may be deleted and deployed again."""

    def __init__(
        self,
        scope: Construct,
        *,
        config: DeploymentConfig,
        kept: Kept,
        policy: Policy,
        code: lambda_.Code,
        env: Environment | None = None,
    ) -> None:
        says = "Headroom: sees, decides, acts, verifies"
        super().__init__(scope, config.names.stack("Loop"), env=env, description=says)
        Loop(self, "Default", config=config, kept=kept, policy=policy, code=code)
