"""What a deployment has where its owner names a hub: forwarded events, and people who may ask from there."""

from __future__ import annotations

from aws_cdk import Acknowledgment, Aws, Duration, Validations
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from headroom.adapters import actions
from headroom.cdk.permissions import allow, role_for
from headroom.cdk.triggers import queue
from headroom.settings import OFF, DeploymentConfig

RETRIED = {"MaximumEventAgeInSeconds": 86_400, "MaximumRetryAttempts": 185}
"""The most that EventBridge does: a day."""


class Forwarding(Construct):
    """A rule that copies every event of Headroom to the hub's bus; what fails for a day is kept.

    EventBridge does it after the functions are done: a hub that is gone slows nothing.
    """

    def __init__(self, scope: Construct, construct_id: str, *, bus: str) -> None:
        super().__init__(scope, construct_id)
        self._bus = bus
        self.dead_letters = queue(self, "DeadLetters", retention=Duration.days(14))
        Validations.of(self.dead_letters).acknowledge(
            Acknowledgment(
                id="AwsSolutions-SQS3",
                reason="It is itself the dead-letter queue of the rule that forwards events, which "
                "the rule does not see.",
            )
        )
        role = role_for(
            self,
            "Role",
            service="events.amazonaws.com",
            description="Lets EventBridge put Headroom's events on the hub's bus",
            statements=[allow(actions.FORWARD_ACTIONS, bus, sid="ForwardEvents")],
            source_account=Aws.ACCOUNT_ID,
        )
        hub = events.EventBus.from_event_bus_arn(self, "Bus", bus)
        rule = events.Rule(
            self,
            "Events",
            description="Copies Headroom's events to the hub",
            event_pattern=events.EventPattern(source=[actions.EVENT_SOURCE]),
            targets=[targets.EventBus(hub, dead_letter_queue=self.dead_letters, role=role)],
        )
        made = rule.node.default_child
        assert isinstance(made, events.CfnRule)
        made.add_property_override("Targets.0.RetryPolicy", RETRIED)

    @property
    def redelivery_command(self) -> str:
        """The command that puts what the hub did not take on its bus again."""
        return (
            f"headroom hub redeliver --queue {self.dead_letters.queue_url} --bus {self._bus} "
            f"--region {Aws.REGION}"
        )


def let_hub_ask(scope: Construct, config: DeploymentConfig, function: lambda_.IFunction) -> None:
    """Let the accounts of the hub's roles invoke the function, which lets these roles ask alone."""
    for name, role in (("HubAsks", config.hub_role), ("HubPublishes", config.hub_policy_role)):
        if role != OFF:
            lambda_.CfnPermission(
                scope,
                name,
                action="lambda:InvokeFunction",
                function_name=function.function_arn,
                principal=role.split(":")[4],
            )
