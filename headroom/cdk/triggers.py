"""What wakes the functions: rules into a queue for events, a schedule for the sweep."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Acknowledgment, Aws, Duration, Validations
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from headroom.adapters import actions
from headroom.adapters.retries import HIDDEN_S, tries_before_parking
from headroom.cdk.permissions import DEAD_LETTER_ACTIONS, SCHEDULE_ACTIONS, allow, role_for
from headroom.settings import Names

SIGNALS_TIMEOUT = Duration.minutes(3)
"""Shorter than a worker's claim of a resource, so that only a dead worker's claim expires."""
SWEEP_TIMEOUT = Duration.minutes(5)
"""Long enough to publish records and send the digest; dispatching takes seconds."""
BATCH_SIZE = 10
"""Messages one invocation takes, of at most ten resources each: about a minute of work."""

PATTERNS: Mapping[str, events.EventPattern] = {
    "VolumeModifications": events.EventPattern(
        source=["aws.ec2"],
        detail_type=["EBS Volume Notification"],
        detail={"event": ["modifyVolume"]},
    ),
    "ModifyVolumeCalls": events.EventPattern(
        source=["aws.ec2"],
        detail_type=["AWS API Call via CloudTrail"],
        detail={"eventSource": ["ec2.amazonaws.com"], "eventName": ["ModifyVolume"]},
    ),
}
"""Rules about volumes by their id; an EBS notification's result is not matched on, because unknown ones
mean "go and ask" too."""


DATABASE_PATTERNS: Mapping[str, events.EventPattern] = {
    "DatabaseEvents": events.EventPattern(
        source=["aws.rds"],
        detail_type=["RDS DB Instance Event", "RDS DB Cluster Event"],
        # By id: the categories are too coarse ("availability" holds a full storage and a restart).
        detail={"EventID": [f"RDS-EVENT-{number}" for number in actions.RDS_EVENTS]},
    ),
    "ModifyDatabaseCalls": events.EventPattern(
        source=["aws.rds"],
        detail_type=["AWS API Call via CloudTrail"],
        detail={
            "eventSource": ["rds.amazonaws.com"],
            "eventName": ["ModifyDBInstance", "ModifyDBCluster"],
        },
    ),
}
"""Rules about databases, where the deployment covers them."""


def alarms_pattern(names: Names) -> events.EventPattern:
    """The state changes of detection alarms."""
    return events.EventPattern(
        source=["aws.cloudwatch"],
        detail_type=["CloudWatch Alarm State Change", "CloudWatch Alarm Contributor State Change"],
        detail={"alarmName": [{"prefix": names.detection_alarms}]},
    )


def queue(
    scope: Construct,
    construct_id: str,
    *,
    retention: Duration,
    visibility: Duration | None = None,
    parks_in: sqs.IQueue | None = None,
) -> sqs.Queue:
    """A queue encrypted by SQS that takes TLS only; what fails for a day goes to `parks_in`."""
    dead_letters = (
        sqs.DeadLetterQueue(queue=parks_in, max_receive_count=tries_before_parking())
        if parks_in
        else None
    )
    return sqs.Queue(
        scope,
        construct_id,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=True,
        retention_period=retention,
        visibility_timeout=visibility,
        dead_letter_queue=dead_letters,
    )


class SignalsQueue(Construct):
    """Rules -> queue -> function, with one dead-letter queue that can be redriven.

    Both what EventBridge could not deliver and what the function could not digest is the original
    event, so the dead letters may be moved back to the queue as they are.
    """

    def __init__(
        self, scope: Construct, construct_id: str, names: Names, *, databases: bool
    ) -> None:
        super().__init__(scope, construct_id)
        self.dead_letters = queue(self, "DeadLetters", retention=Duration.days(14))
        self.queue = queue(
            self,
            "Queue",
            retention=Duration.days(4),
            # Twice the function's time-out: nothing is worked on twice at once, and what a dead
            # worker held comes back within minutes. What failed is delayed by workers. Lambda's guide advises six times to leave room
            # for throttled invocations; the mapping's maximum concurrency keeps those away.
            visibility=Duration.seconds(HIDDEN_S),
            parks_in=self.dead_letters,
        )
        patterns = {
            "Alarms": alarms_pattern(names),
            **PATTERNS,
            **(DATABASE_PATTERNS if databases else {}),
        }
        for name, pattern in patterns.items():
            target = targets.SqsQueue(
                self.queue,
                dead_letter_queue=self.dead_letters,
                max_event_age=Duration.hours(24),
                retry_attempts=185,
            )
            events.Rule(self, name, event_pattern=pattern, targets=[target])

    @property
    def redrive_command(self) -> str:
        """The command that moves every dead letter back to the queue."""
        return (
            f"aws sqs start-message-move-task --source-arn {self.dead_letters.queue_arn} "
            f"--destination-arn {self.queue.queue_arn}"
        )

    def feed(self, function: lambda_.IFunction, *, max_concurrency: int) -> None:
        """Let `function` take from the queue; a failed record alone goes back to it."""
        lambda_.EventSourceMapping(
            self,
            "Mapping",
            target=function,
            event_source_arn=self.queue.queue_arn,
            batch_size=BATCH_SIZE,
            max_concurrency=max_concurrency,
            report_batch_item_failures=True,
        )


class SweepSchedule(Construct):
    """Every minute: Scheduler -> function; the next run catches up on one that failed."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        # One day: a missed minute is worth an alarm, not a redrive, and the alarm should end.
        self.dead_letters = queue(self, "DeadLetters", retention=Duration.days(1))
        Validations.of(self.dead_letters).acknowledge(
            Acknowledgment(
                id="AwsSolutions-SQS3",
                reason="It is itself the dead-letter queue of the schedule and of the function's "
                "asynchronous invocations, which the rule does not see.",
            )
        )

    def start(self, function: lambda_.IFunction) -> None:
        """Invoke `function` every minute and park what fails."""
        lambda_.CfnEventInvokeConfig(
            self,
            "Failures",
            function_name=function.function_name,
            qualifier="$LATEST",
            maximum_event_age_in_seconds=60,
            maximum_retry_attempts=0,
            destination_config={"onFailure": {"destination": self.dead_letters.queue_arn}},
        )
        role = role_for(
            self,
            "Role",
            service="scheduler.amazonaws.com",
            description="Lets the schedule invoke the sweep and park what it could not",
            statements=[
                allow(SCHEDULE_ACTIONS, function.function_arn, sid="InvokeSweep"),
                allow(DEAD_LETTER_ACTIONS, self.dead_letters.queue_arn, sid="ParkFailures"),
            ],
            source_account=Aws.ACCOUNT_ID,
        )
        scheduler.CfnSchedule(
            self,
            "EveryMinute",
            description="Headroom's dispatcher: puts what is due on the work queue",
            schedule_expression="rate(1 minute)",
            flexible_time_window={"mode": "OFF"},
            target={
                "arn": function.function_arn,
                "roleArn": role.role_arn,
                "input": '{"source":"headroom.schedule"}',
                "deadLetterConfig": {"arn": self.dead_letters.queue_arn},
                "retryPolicy": {"maximumEventAgeInSeconds": 60, "maximumRetryAttempts": 2},
            },
        )
