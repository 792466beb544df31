"""CloudWatch over HTTP: moto reads and writes the wire, this module answers."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from moto.cloudwatch.exceptions import InvalidParameterCombination, InvalidParameterValue
from moto.cloudwatch.responses import CloudWatchResponse
from moto.core.responses import ActionResult, EmptyResult

from headroom.localaws.alarms import (
    AlarmInvalid,
    AlarmStore,
    State,
    UnknownAlarm,
    alarm_store,
    tags_of,
)
from headroom.localaws.cloudwatch.shapes import (
    alarm_shape,
    contributor_shape,
    datapoint_shapes,
    dimensions_of,
    statistic_sets,
)
from headroom.localaws.metrics import (
    BadExpression,
    MetricKey,
    MetricStore,
    QuerySet,
    Result,
    UnknownStatistic,
    epoch,
    instant,
    is_insights_query,
)
from headroom.localaws.state import AccountRegion, AwsError, current_cloud

MOST_QUERIES = 500
MOST_DATAPOINTS = 100_800
MOST_STATISTICS_POINTS = 1_440
LIST_PAGE = 500


class CloudWatchApi(CloudWatchResponse):  # type: ignore[misc]
    """Operations that moto lacks or approximates; dashboards and tags stay moto's."""

    @property
    def _account_region(self) -> AccountRegion:
        return AccountRegion(self.current_account, self.region)

    @property
    def _metrics(self) -> MetricStore:
        return current_cloud().store(self._account_region)

    @property
    def _alarms(self) -> AlarmStore:
        return alarm_store(current_cloud(), self._account_region)

    # -- metrics ---------------------------------------------------------------------------

    def put_metric_data(self) -> ActionResult:
        """Datapoints become readable at once; AWS/ namespaces are allowed, which AWS refuses."""
        now, namespace = current_cloud().clock.now(), self._get_param("Namespace")
        for datum in self._get_param("MetricData", []):
            values, counts = datum.get("Values") or (), datum.get("Counts")
            if counts is not None and len(counts) != len(values):
                raise InvalidParameterValue(
                    "The parameters MetricData.Values and MetricData.Counts must be of the same "
                    "size."
                )
            key = MetricKey.of(namespace, datum["MetricName"], dimensions_of(datum))
            at = datum.get("Timestamp") or now
            for numbers in statistic_sets(datum):
                self._metrics.put(key, instant(epoch(at)), unit=datum.get("Unit"), **numbers)
        return EmptyResult()

    def get_metric_data(self) -> ActionResult:
        """All queries together, a page of MaxDatapoints at a time."""
        params = self._get_params()
        queries = params.get("MetricDataQueries") or []
        if not 1 <= len(queries) <= MOST_QUERIES:
            raise InvalidParameterValue(f"Between 1 and {MOST_QUERIES} queries are allowed.")
        _check_queries(queries)
        newest_first = (params.get("ScanBy") or "TimestampDescending") == "TimestampDescending"
        series = self._series(queries, params["StartTime"], params["EndTime"])
        most = min(int(params.get("MaxDatapoints") or MOST_DATAPOINTS), MOST_DATAPOINTS)
        skip = _offset(params.get("NextToken"))
        page, more = _page(series, newest_first, skip, most)
        token = _token(skip + most) if more else None
        return ActionResult({"MetricDataResults": page, "Messages": [], "NextToken": token})

    def _series(
        self, queries: Sequence[Mapping[str, Any]], start: datetime, end: datetime
    ) -> list[Result]:
        if epoch(start) >= epoch(end):
            raise InvalidParameterValue("The parameter StartTime must be less than EndTime.")
        now = current_cloud().clock.now().timestamp()
        asked = QuerySet(
            self._metrics, queries, int(epoch(start)), int(epoch(end)), now,
            tags_of(current_cloud(), self._account_region),
        )  # fmt: skip
        try:
            return [
                result
                for query in queries
                if query.get("ReturnData", True)
                for result in asked.results(query)
            ]
        except (BadExpression, UnknownStatistic) as error:
            raise AwsError("ValidationError", str(error)) from error

    def get_metric_statistics(self) -> ActionResult:
        """One metric; the periods start at StartTime, rounded down to a minute."""
        period = self._get_int_param("Period")
        names = self._get_param("Statistics", [])
        percentiles = self._get_param("ExtendedStatistics", [])
        if not names and not percentiles:
            raise InvalidParameterCombination(
                "Must specify either Statistics or ExtendedStatistics"
            )
        start = int(epoch(self._get_param("StartTime"))) // 60 * 60
        end = int(epoch(self._get_param("EndTime")))
        if (end - start) / period > MOST_STATISTICS_POINTS:
            raise InvalidParameterCombination(
                f"You have requested up to {int((end - start) / period):,} datapoints, which exceeds "
                f"the limit of {MOST_STATISTICS_POINTS:,}."
            )
        key = MetricKey.of(
            self._get_param("Namespace"),
            self._get_param("MetricName"),
            dimensions_of({"Dimensions": self._get_param("Dimensions", [])}),
        )
        now = current_cloud().clock.now().timestamp()
        found = self._metrics.series(key)
        try:
            shapes = datapoint_shapes(found, start, end, period, now, [*names, *percentiles])
        except UnknownStatistic as error:
            raise InvalidParameterValue(str(error)) from error
        return ActionResult({"Label": key.name, "Datapoints": shapes})

    def list_metrics(self) -> ActionResult:
        """Metrics that have been reported, 500 a page."""
        namespace, name = self._get_param("Namespace"), self._get_param("MetricName")
        required = [(d["Name"], d.get("Value")) for d in self._get_params().get("Dimensions") or ()]
        found = [
            series.key
            for series in self._metrics.all()
            if namespace in (None, series.key.namespace)
            and name in (None, series.key.name)
            and all(
                any(k == n and v in (None, value) for n, value in series.key.dimensions)
                for k, v in required
            )
        ]
        page, token = self._page_of(found, LIST_PAGE)
        shapes = [
            {
                "Namespace": key.namespace,
                "MetricName": key.name,
                "Dimensions": [{"Name": n, "Value": v} for n, v in key.dimensions],
            }
            for key in page
        ]
        return ActionResult({"Metrics": shapes, "NextToken": token})

    # -- alarms ----------------------------------------------------------------------------

    def put_metric_alarm(self) -> ActionResult:
        """Metric, metric-math and Metrics Insights alarms."""
        try:
            alarm = self._alarms.put(dict(self._get_params()))
        except AlarmInvalid as error:
            raise AwsError("ValidationError", str(error)) from error
        tags = self._get_param("Tags", [])
        if tags:
            self.cloudwatch_backend.tagger.tag_resource(alarm.arn, tags)
        return EmptyResult()

    def put_composite_alarm(self) -> ActionResult:
        """Composite alarms are not part of this endpoint."""
        raise AwsError("ValidationError", "Composite alarms are not supported here.")

    def describe_alarms(self) -> ActionResult:
        """Alarms by name, at most MaxRecords (100) a page."""
        names, prefix = self._get_param("AlarmNames", []), self._get_param("AlarmNamePrefix")
        state, action = self._get_param("StateValue"), self._get_param("ActionPrefix")
        found = [
            alarm
            for alarm in self._alarms.all()
            if (not names or alarm.name in names)
            and (not prefix or alarm.name.startswith(prefix))
            and (not state or alarm.state.value == state)
            and (
                not action
                or any(a.startswith(action) for a in alarm.request.get("AlarmActions") or ())
            )
        ]
        page, token = self._page_of(found, int(self._get_param("MaxRecords") or 100))
        shapes = [alarm_shape(alarm) for alarm in page]
        return ActionResult({"MetricAlarms": shapes, "CompositeAlarms": [], "NextToken": token})

    def describe_alarms_for_metric(self) -> ActionResult:
        """Single-metric alarms on exactly this metric."""
        metric = (
            self._get_param("Namespace"),
            self._get_param("MetricName"),
            sorted(dimensions_of({"Dimensions": self._get_param("Dimensions", [])})),
        )
        found = [
            alarm_shape(alarm)
            for alarm in self._alarms.all()
            if (
                alarm.request.get("Namespace"),
                alarm.request.get("MetricName"),
                sorted(dimensions_of(alarm.request)),
            )
            == metric
        ]
        return ActionResult({"MetricAlarms": found})

    def describe_alarm_contributors(self) -> ActionResult:
        """Contributors in ALARM only."""
        try:
            alarm = self._alarms.get(self._get_param("AlarmName"))
        except UnknownAlarm as error:
            raise AwsError("ResourceNotFoundException", "Unknown alarm.") from error
        contributors = sorted(alarm.contributors.values(), key=lambda c: (c.since, c.id))
        return ActionResult({"AlarmContributors": [contributor_shape(c) for c in contributors]})

    def describe_alarm_history(self) -> ActionResult:
        """State and configuration changes and actions, newest first, 100 a page."""
        name, kind = self._get_param("AlarmName"), self._get_param("HistoryItemType")
        items = [
            item
            for alarm in self._alarms.all()
            if name in (None, alarm.name)
            for item in alarm.history
            if kind in (None, item["HistoryItemType"])
        ]
        if self._get_param("ScanBy") != "TimestampAscending":
            items.reverse()
        page, token = self._page_of(items, int(self._get_param("MaxRecords") or 100))
        return ActionResult({"AlarmHistoryItems": page, "NextToken": token})

    def delete_alarms(self) -> ActionResult:
        """Unknown names are no error."""
        self._alarms.delete(self._get_param("AlarmNames", []))
        return EmptyResult()

    def set_alarm_state(self) -> ActionResult:
        """Until the next evaluation; sends the event and executes the actions."""
        name = self._get_param("AlarmName")
        try:
            self._alarms.set_state(
                name,
                State(self._get_param("StateValue")),
                self._get_param("StateReason"),
                self._get_param("StateReasonData"),
            )
        except UnknownAlarm as error:
            raise AwsError("ResourceNotFound", f"Alarm {name} does not exist") from error
        return EmptyResult()

    def enable_alarm_actions(self) -> ActionResult:
        """Actions are executed from the next transition on."""
        return self._switch_actions(True)

    def disable_alarm_actions(self) -> ActionResult:
        """Actions are not executed; events are still sent."""
        return self._switch_actions(False)

    def _page_of(self, found: Sequence[Any], most: int) -> tuple[Sequence[Any], str | None]:
        """The page that NextToken asks for, and the token of the next."""
        skip = _offset(self._get_param("NextToken"))
        token = _token(skip + most) if len(found) > skip + most else None
        return found[skip : skip + most], token

    def _switch_actions(self, enabled: bool) -> ActionResult:
        for name in self._get_param("AlarmNames", []):
            try:
                alarm = self._alarms.get(name)
            except UnknownAlarm:
                continue
            alarm.request = {**alarm.request, "ActionsEnabled": enabled}
        return EmptyResult()


def _check_queries(queries: Sequence[Mapping[str, Any]]) -> None:
    ids = [str(query["Id"]) for query in queries]
    repeated = sorted({name for name in ids if ids.count(name) > 1})
    if repeated:
        raise AwsError(
            "ValidationError", f"The values for parameter id in MetricDataQueries are not unique: "
            f"{', '.join(repeated)}.",
        )  # fmt: skip
    selects = [q for q in queries if q.get("Expression") and is_insights_query(q["Expression"])]
    if len(selects) > 1:
        raise AwsError("ValidationError", "A request can have only one Metrics Insights query.")


def _page(
    series: Sequence[Result], newest_first: bool, skip: int, most: int
) -> tuple[list[dict[str, Any]], bool]:
    """Datapoints `skip` to `skip + most` of all series laid end to end, and whether more follow."""
    shapes, at = [], 0
    for result in series:
        ordered = sorted(result.points.items(), reverse=newest_first)
        part = ordered[max(0, skip - at) : max(0, skip + most - at)]
        at += len(ordered)
        complete = at <= skip + most
        if part or (not ordered and skip == 0):
            shapes.append(
                {
                    "Id": result.id,
                    "Label": result.label,
                    "Timestamps": [instant(start) for start, _ in part],
                    "Values": [value for _, value in part],
                    "StatusCode": "Complete" if complete else "PartialData",
                }
            )
    return shapes, at > skip + most


def _token(offset: int) -> str:
    return base64.urlsafe_b64encode(json.dumps({"o": offset}).encode()).decode()


def _offset(token: str | None) -> int:
    if not token:
        return 0
    try:
        return int(json.loads(base64.urlsafe_b64decode(token))["o"])
    except (ValueError, KeyError, TypeError) as error:
        raise AwsError("InvalidNextToken", "The NextToken is not valid.") from error
