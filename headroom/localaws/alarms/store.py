"""The alarms of an account and Region: evaluated each minute; transitions send events and act."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from headroom.localaws.alarms import events
from headroom.localaws.alarms.alarm import (
    INITIAL_REASON,
    Alarm,
    AlarmState,
    Contributor,
    check,
    contributor_id,
)
from headroom.localaws.alarms.evaluation import Evaluation, Rule, State, evaluate
from headroom.localaws.events import Undeliverable, publish_to_topic, put_event, send_to_target
from headroom.localaws.metrics import BadExpression, QuerySet, Result, TagsOf
from headroom.localaws.rds import database_store
from headroom.localaws.state import AccountRegion, Cloud

MOST_TRACKED = 100
"""Contributors in ALARM that CloudWatch keeps track of."""
_ACTIONS = {
    State.ALARM: "AlarmActions",
    State.OK: "OKActions",
    State.INSUFFICIENT_DATA: "InsufficientDataActions",
}


class UnknownAlarm(LookupError):
    """No alarm has that name."""


class AlarmStore:
    """PutMetricAlarm, DescribeAlarms, SetAlarmState and the evaluation of every alarm."""

    def __init__(self, cloud: Cloud, account_region: AccountRegion) -> None:
        self._cloud = cloud
        self._account_region = account_region
        self._alarms: dict[str, Alarm] = {}
        self._lock = threading.RLock()

    def put(self, request: Mapping[str, Any]) -> Alarm:
        """Create an alarm, or replace its configuration and keep its state."""
        check(request)
        now, name = self._cloud.clock.now(), str(request["AlarmName"])
        with self._lock:
            present = self._alarms.get(name)
            if present is not None:
                present.request, present.configured_at = dict(request), now
                self._remember(present, "ConfigurationUpdate", f'Alarm "{name}" updated', now)
                return present
            state = AlarmState(State.INSUFFICIENT_DATA, INITIAL_REASON, None, now)
            there = self._account_region
            arn = f"arn:aws:cloudwatch:{there.region}:{there.account}:alarm:{name}"
            alarm = self._alarms[name] = Alarm(dict(request), arn, state, now, now)
            self._remember(alarm, "ConfigurationUpdate", f'Alarm "{name}" created', now)
            return alarm

    def delete(self, names: Iterable[str]) -> None:
        """Forget alarms; unknown names are no error."""
        with self._lock:
            for name in names:
                self._alarms.pop(name, None)

    def get(self, name: str) -> Alarm:
        """One alarm; raises UnknownAlarm."""
        try:
            return self._alarms[name]
        except KeyError:
            raise UnknownAlarm(name) from None

    def all(self) -> Sequence[Alarm]:
        """Every alarm by name."""
        with self._lock:
            return sorted(self._alarms.values(), key=lambda alarm: alarm.name)

    def set_state(self, name: str, value: State, why: str, data: str | None) -> None:
        """Set the state until the next evaluation, with its event and its actions."""
        alarm = self.get(name)
        self._transition(alarm, AlarmState(value, why, data, self._cloud.clock.now()))

    def evaluate_all(self) -> None:
        """Evaluate every alarm at the present instant."""
        for alarm in self.all():
            if alarm.grouped:
                self._evaluate_group(alarm)
            else:
                self._evaluate_one(alarm)

    def _results(self, alarm: Alarm) -> tuple[list[Result], int, Rule]:
        """Series over the evaluation range, and the start of its last period."""
        rule, now = alarm.rule, self._cloud.clock.now().timestamp()
        last = int(now // rule.period) * rule.period - rule.period
        queries = QuerySet(
            self._cloud.store(self._account_region), alarm.queries,
            last - (rule.range_periods - 1) * rule.period, last + rule.period, now,
            tags_of(self._cloud, self._account_region),
        )  # fmt: skip
        return queries.results(alarm.watched), last, rule

    def _evaluate_one(self, alarm: Alarm) -> None:
        try:
            results, last, rule = self._results(alarm)
        except BadExpression as error:
            self._move(alarm, State.INSUFFICIENT_DATA, str(error), None, "EVALUATION_ERROR")
            return
        points = results[0].points if results else {}
        done = evaluate(rule, points, last, alarm.state.value)
        if done.state is alarm.state.value:  # no reason is reported for staying
            self._move(alarm, done.state, "", None)
            return
        data = events.reason_data(alarm, done, self._cloud.clock.now())
        self._move(alarm, done.state, events.reason(rule, done), data)

    def _evaluate_group(self, alarm: Alarm) -> None:
        results, last, rule = self._results(alarm)
        now, before = self._cloud.clock.now(), dict(alarm.contributors)
        breaching: dict[str, tuple[Result, Evaluation]] = {}
        calm: dict[str, Evaluation] = {}
        for result in results:
            key = contributor_id(result.attributes)
            held = State.ALARM if key in before else State.OK
            done = evaluate(rule, result.points, last, held)
            if done.state is State.ALARM and len(breaching) < MOST_TRACKED:
                breaching[key] = (result, done)
            elif done.state is not State.ALARM:
                calm[key] = done
        over = sum(1 for _ in results) > 0 and (
            results[0].partial or len(breaching) + len(calm) < len(results)
        )
        self._contributors(alarm, rule, breaching, calm, now)
        if not results:
            self._move(alarm, State.INSUFFICIENT_DATA, "No data was returned by the query", None)
            return
        count, partial = len(breaching), "PARTIAL_DATA" if over else None
        value = State.ALARM if count else State.OK
        sentence = f"{count or len(results)} out of {len(results)} time series evaluated to {value}"
        self._move(alarm, value, sentence, None, partial)

    def _contributors(
        self,
        alarm: Alarm,
        rule: Rule,
        breaching: Mapping[str, tuple[Result, Evaluation]],
        calm: Mapping[str, Evaluation],
        now: datetime,
    ) -> None:
        for key in [key for key in alarm.contributors if key not in breaching]:
            gone = alarm.contributors.pop(key)
            why = "No data was returned for this contributor"
            if key in calm:
                why = events.reason(rule, calm[key])
            self._report_contributor(alarm, gone, State.OK, why, now)
        for key, (result, done) in breaching.items():
            if key in alarm.contributors:
                continue
            contributor = Contributor(
                id=key, attributes=result.attributes, reason=events.reason(rule, done), since=now
            )
            alarm.contributors[key] = contributor
            self._report_contributor(alarm, contributor, State.ALARM, contributor.reason, now)

    def _report_contributor(
        self, alarm: Alarm, contributor: Contributor, value: State, why: str, at: datetime
    ) -> None:
        detail = events.contributor_detail(alarm, contributor, value, why, at)
        self._emit(events.CONTRIBUTOR_CHANGED, alarm.arn, detail)

    def _move(
        self,
        alarm: Alarm,
        value: State,
        why: str,
        data: str | None,
        evaluation_state: str | None = None,
    ) -> None:
        if alarm.state.value is not value:
            self._transition(
                alarm, AlarmState(value, why, data, self._cloud.clock.now(), evaluation_state)
            )
            return
        # No transition: the reason stays that of the last one, only completeness is refreshed.
        alarm.state = replace(alarm.state, evaluation_state=evaluation_state)

    def _transition(self, alarm: Alarm, state: AlarmState) -> None:
        before, alarm.state = alarm.state, state
        alarm.transitioned_at = state.at
        if before.value is state.value:
            return
        summary = f"Alarm updated from {before.value} to {state.value}"
        self._remember(alarm, "StateUpdate", summary, state.at)
        self._emit(events.ALARM_CHANGED, alarm.arn, events.alarm_detail(alarm, before))
        if not alarm.actions_enabled:
            return
        for action in alarm.request.get(_ACTIONS[state.value]) or ():
            who = [dict(c.attributes) for c in alarm.contributors.values()]
            there = self._account_region
            message = events.sns_message(
                alarm, before.value, account=there.account, region=there.region, attributes=who
            )
            self._act(action, f'{state.value}: "{alarm.name}" in {there.region}', message)
            self._remember(alarm, "Action", f"Successfully executed action {action}", state.at)

    def _remember(self, alarm: Alarm, kind: str, summary: str, at: datetime) -> None:
        alarm.history.append(
            {
                "AlarmName": alarm.name,
                "AlarmType": "MetricAlarm",
                "Timestamp": at,
                "HistoryItemType": kind,
                "HistorySummary": summary,
            }
        )

    def _emit(self, detail_type: str, arn: str, detail: Mapping[str, object]) -> None:
        put_event(
            self._cloud, self._account_region, source="aws.cloudwatch", detail_type=detail_type,
            resources=[arn], detail=detail,
        )  # fmt: skip

    def _act(self, arn: str, subject: str, message: str) -> None:
        """Publish to a topic or call a function; other actions do nothing here."""
        there, service = self._account_region, arn.split(":")[2]
        with suppress(Undeliverable):
            if service == "sns":
                publish_to_topic(arn, message, subject)
            elif service == "lambda":
                body = json.dumps({"alarmData": json.loads(message)})
                send_to_target(self._cloud, there, arn, body, {})


def alarm_store(cloud: Cloud, account_region: AccountRegion) -> AlarmStore:
    """The alarms of an account and Region."""
    return cloud.part(AlarmStore, account_region, lambda: AlarmStore(cloud, account_region))


def tags_of(cloud: Cloud, account_region: AccountRegion) -> TagsOf:
    """Resource tags for Metrics Insights: a volume's before an instance's, a database's."""
    from moto.ec2 import ec2_backends

    def tags(namespace: str, dimensions: Mapping[str, str]) -> Mapping[str, str]:
        of_database = database_store(cloud, account_region).tags(dimensions)
        if of_database is not None:
            return of_database
        for name in ("VolumeId", "InstanceId"):
            if name in dimensions:
                known = account_region.backend(ec2_backends).tags
                return dict(known.get(dimensions[name], {}))
        return {}

    return tags
