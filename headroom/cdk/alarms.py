"""Alarms: the ones that find starving volumes, and the ones that watch Headroom itself."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as cloudwatch_actions
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from headroom.cdk.detection import FleetQuery, database_queries, fleet_queries, where_tagged
from headroom.settings import DeploymentConfig, FunctionSettings, Names

Operator = cloudwatch.ComparisonOperator
Missing = cloudwatch.TreatMissingData

SHORTEST_PERIOD_MIN = 15
"""The shortest scan period that alarms assume: one scan may take this long."""


class DetectionAlarms(Construct):
    """One Metrics Insights alarm per query; every volume in ALARM is a contributor of its own.

    They have no actions: their events reach the loop through EventBridge, and the loop notifies
    people of its decisions.
    """

    def __init__(self, scope: Construct, construct_id: str, config: DeploymentConfig) -> None:
        super().__init__(scope, construct_id)
        for query in (*fleet_queries(config), *database_queries(config)):
            self._alarm(query, config)

    def _alarm(self, query: FleetQuery, config: DeploymentConfig) -> None:
        lowest = query.function == "MIN"
        cloudwatch.CfnAlarm(
            self,
            "".join(word.capitalize() for word in query.name.split("-")),
            alarm_name=f"{config.names.detection_alarms}{query.name}",
            alarm_description=f"Headroom: {query.says}",
            metrics=[
                {
                    "id": "worst",
                    "expression": query.text(where_tagged(config)),
                    "period": query.period_s,
                    "returnData": True,
                }
            ],
            comparison_operator=(
                "LessThanThreshold" if lowest else "GreaterThanOrEqualToThreshold"
            ),
            threshold=query.threshold,
            evaluation_periods=config.alarm_periods,
            datapoints_to_alarm=config.alarm_datapoints,
            treat_missing_data="notBreaching",
        )


class SelfAlarms(Construct):
    """Alarms on Headroom itself; each notifies the topic when it starts and when it ends."""

    def __init__(
        self, scope: Construct, construct_id: str, *, topic: sns.ITopic, names: Names
    ) -> None:
        super().__init__(scope, construct_id)
        self._topic = topic
        self._names = names
        self.alarms: list[cloudwatch.Alarm] = []

    def on_queues(self, signals: sqs.IQueue, dead_letters: sqs.IQueue) -> None:
        """Anything parked, and a queue that is not emptied. The schedule's own parked runs need nobody."""
        self._alarm(
            "signals-dead-letters",
            "an event could not be handled for a day, or not be delivered, and is parked; fix the "
            "cause, then redrive it",
            dead_letters.metric_approximate_number_of_messages_visible(
                period=Duration.minutes(1), statistic="Maximum"
            ),
        )
        self._alarm(
            "signals-waiting",
            "events have been waiting for 10 minutes",
            signals.metric_approximate_age_of_oldest_message(
                period=Duration.minutes(1), statistic="Maximum"
            ),
            threshold=600,
        )

    def on_hub(self, undelivered: sqs.IQueue) -> None:
        """Events that the hub's bus did not take: they stay until a person sends them again."""
        self._alarm(
            "hub-events-waiting",
            "the hub's bus did not take events of this deployment; they wait for at most 14 days: remove "
            "the cause, then run the command of the output HubRedelivery",
            undelivered.metric_approximate_age_of_oldest_message(
                period=Duration.minutes(5), statistic="Maximum"
            ),
            threshold=600,
        )

    def on_hub_itself(self, dead_letters: sqs.IQueue) -> None:
        """Events that arrived at a hub and were not stored: they stay until a person sends them again."""
        self._alarm(
            "records-not-kept",
            "the hub's stream or log group did not take events for a day; they wait for at most 14 more: "
            "remove the cause, then run the command of the output Redelivery",
            dead_letters.metric_approximate_number_of_messages_visible(
                period=Duration.minutes(5), statistic="Maximum"
            ),
        )

    def on_function(self, name: str, function: lambda_.IFunction) -> None:
        """Errors of one function. One that is throttled stops completing, or lets events wait."""
        minute = Duration.minutes(1)
        self._alarm(
            f"{name}-errors",
            f"the {name} function failed; its log says why",
            function.metric_errors(period=minute, statistic="Sum"),
        )

    def on_loop(self, settings: FunctionSettings) -> None:
        """A loop that stopped, cannot read, fails, falls behind or cannot notify."""

        def said(metric: str, *, minutes: int = 5, statistic: str = "Sum") -> cloudwatch.Metric:
            return cloudwatch.Metric(
                namespace=settings.metrics_namespace,
                metric_name=metric,
                dimensions_map={"service": settings.service},
                period=Duration.minutes(minutes),
                statistic=statistic,
            )

        scan_period = max(SHORTEST_PERIOD_MIN, settings.scan_every_minutes)

        self._alarm(
            "sweep-not-running",
            "the dispatcher has not completed for 10 minutes: nothing that is due is reconciled, or not all of it",
            said("SweepCompleted"),
            operator=Operator.LESS_THAN_THRESHOLD,
            periods=2,
            missing=Missing.BREACHING,
        )
        self._alarm(
            "falling-behind",
            f"for 15 minutes, work was due for more than half an hour, the last complete scan began more than "
            f"{3 * scan_period} minutes ago, or records were not published on the event bus: the Sweep log says which",
            said("FallingBehind"),
            periods=3,
        )
        self._alarm(
            "changes-stopped",
            "the policy or a Change Calendar of it cannot be read, or repeated failures opened a circuit "
            "breaker: the Sweep log and `headroom doctor` say which",
            said("ChangesStopped"),
        )
        self._alarm(
            "reconciliations-failing",
            "resources could not be reconciled in two of the last three scan periods; the workers' "
            "log says why",
            # A scan fails once per scan: the alarm uses its period, and one of three may shift.
            said("FailedReconciliations", minutes=scan_period),
            periods=3,
            datapoints=2,
        )
        self._alarm(
            "notifications-failing",
            "a message to people could not be sent; the functions' logs say which",
            said("FailedNotifications"),
        )
        self._alarm(
            "signals-rejected",
            "an event had an unknown shape; it was recorded and ignored",
            said("RejectedSignals"),
        )

    def _alarm(
        self,
        name: str,
        says: str,
        metric: cloudwatch.IMetric,
        *,
        threshold: float = 1,
        operator: Operator = Operator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        periods: int = 1,
        datapoints: int | None = None,
        missing: Missing = Missing.NOT_BREACHING,
    ) -> None:
        alarm = cloudwatch.Alarm(
            self,
            "".join(word.capitalize() for word in name.split("-")),
            alarm_name=f"{self._names.own_alarms}{name}",
            alarm_description=f"Headroom: {says}",
            metric=metric,
            threshold=threshold,
            comparison_operator=operator,
            evaluation_periods=periods,
            datapoints_to_alarm=datapoints,
            treat_missing_data=missing,
        )
        action = cloudwatch_actions.SnsAction(self._topic)
        alarm.add_alarm_action(action)
        alarm.add_ok_action(action)
        self.alarms.append(alarm)
