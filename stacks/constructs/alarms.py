"""Alarms: the ones that find starving volumes, and the ones that watch Headroom itself."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as cloudwatch_actions
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from headroom.settings import DeploymentConfig, FunctionSettings
from stacks.constructs.detection import FleetQuery, database_queries, fleet_queries, where_tagged
from stacks.constructs.names import DETECTION_ALARM_PREFIX, OWN_ALARM_PREFIX

Operator = cloudwatch.ComparisonOperator
Missing = cloudwatch.TreatMissingData

SHORTEST_RHYTHM_MIN = 15
"""Minutes of a scan's rhythm that alarms reckon with at least: one scan may run so long."""
OVERDUE_S = 1_800


class DetectionAlarms(Construct):
    """One Metrics Insights alarm per query; every volume in ALARM is a contributor of its own.

    They have no actions: their events reach the loop through EventBridge, and what people hear
    is what the loop decided.
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
            alarm_name=f"{DETECTION_ALARM_PREFIX}{query.name}",
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
    """Alarms on Headroom itself; each tells the topic when it starts and when it ends."""

    def __init__(self, scope: Construct, construct_id: str, *, topic: sns.ITopic) -> None:
        super().__init__(scope, construct_id)
        self._topic = topic

    def on_queues(self, signals: sqs.IQueue, *dead_letters: tuple[str, sqs.IQueue]) -> None:
        """Anything parked, and a queue that is not emptied."""
        for name, queue in dead_letters:
            self._alarm(
                f"{name}-dead-letters",
                "something could not be handled and is parked; look at it and redrive it",
                queue.metric_approximate_number_of_messages_visible(
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

    def on_function(self, name: str, function: lambda_.IFunction) -> None:
        """Errors and throttles of one function."""
        minute = Duration.minutes(1)
        self._alarm(
            f"{name}-errors",
            f"the {name} function failed; its log says why",
            function.metric_errors(period=minute, statistic="Sum"),
        )
        self._alarm(
            f"{name}-throttled",
            f"the {name} function is throttled; the account's concurrency is used up",
            function.metric_throttles(period=minute, statistic="Sum"),
        )

    def on_loop(self, settings: FunctionSettings) -> None:
        """What runs or reads no more, what fails or falls behind, and what nobody was told."""

        def said(metric: str, *, minutes: int = 5, statistic: str = "Sum") -> cloudwatch.Metric:
            return cloudwatch.Metric(
                namespace=settings.metrics_namespace,
                metric_name=metric,
                dimensions_map={"service": settings.service},
                period=Duration.minutes(minutes),
                statistic=statistic,
            )

        rhythm = max(SHORTEST_RHYTHM_MIN, settings.scan_every_minutes)

        self._alarm(
            "sweep-not-running",
            "no sweep has completed for 10 minutes: nothing is looked at",
            said("SweepCompleted"),
            operator=Operator.LESS_THAN_THRESHOLD,
            periods=2,
            missing=Missing.BREACHING,
        )
        self._alarm(
            "scan-not-completing",
            f"the whole fleet was not scanned for {2 * rhythm} minutes; the sweep's log names what "
            "could not be read, of which only alarms find pressure (kinds=ebs leaves databases out)",
            said("ScanCompleted", minutes=2 * rhythm),
            operator=Operator.LESS_THAN_THRESHOLD,
            missing=Missing.BREACHING,
        )
        self._alarm(
            "due-overdue",
            "what was due waits for more than half an hour: the sweep does not keep up",
            said("OldestDueSeconds", statistic="Maximum"),
            threshold=OVERDUE_S,
            operator=Operator.GREATER_THAN_THRESHOLD,
            periods=3,
        )
        self._alarm(
            "policy-unreadable",
            "the policy cannot be read: nothing is changed until it can",
            said("PolicyUnreadable"),
        )
        self._alarm(
            # Also where the policy names none yet: one may be written into it by hand.
            "calendar-unreadable",
            "a Change Calendar that the policy names cannot be read: nothing is changed",
            said("CalendarUnreadable"),
        )
        self._alarm(
            "looks-failing",
            "volumes could not be looked at in two of the last three scans; the sweep's log says "
            "why",
            # A scan fails once per scan: the period is its rhythm, and one of three may shift.
            said("FailedLooks", minutes=rhythm),
            periods=3,
            datapoints=2,
        )
        self._alarm(
            "not-told",
            "a message to people could not be sent; the functions' logs say which",
            said("NotTold"),
        )
        self._alarm(
            "breaker-open",
            "repeated failures stopped changes of a volume or of the account until a person closes "
            "the breaker",
            said("OpenBreakers", statistic="Maximum"),
        )
        self._alarm(
            "events-not-published",
            "events of records could not be put on the bus; they are tried again",
            said("NotPublished"),
            periods=3,
            datapoints=2,
        )
        self._alarm(
            "signals-rejected",
            "an event of an unknown shape came; it is on record and was not acted on",
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
            alarm_name=f"{OWN_ALARM_PREFIX}{name}",
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
