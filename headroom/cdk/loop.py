"""The loop itself, stateless: everything here may be deleted and deployed again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from aws_cdk import Annotations, Duration, Stack, Token
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_ssm as ssm
from aws_cdk.region_info import RegionInfo
from constructs import Construct

from headroom.adapters import actions
from headroom.cdk.alarms import DetectionAlarms, SelfAlarms
from headroom.cdk.dashboards import Dashboard, Part
from headroom.cdk.detection import price_note, short_price
from headroom.cdk.extend import ExtendDocument, extend_statements
from headroom.cdk.functions import FunctionSpec, HeadroomFunction
from headroom.cdk.permissions import (
    ANY_CALENDAR,
    DEAD_LETTER_ACTIONS,
    QUEUE_ACTIONS,
    Kept,
    allow,
    calendar_statements,
    contributor_statement,
    dispatch_statements,
    events_statement,
    ledger_statements,
    loop_statements,
    prices_statement,
    publishing_statements,
    resource_alarm_statements,
)
from headroom.cdk.spoke import Forwarding, let_hub_ask
from headroom.cdk.state import add_outputs
from headroom.cdk.triggers import SIGNALS_TIMEOUT, SWEEP_TIMEOUT, SignalsQueue, SweepSchedule
from headroom.domain.catalog import CATALOGUE_PRICES
from headroom.domain.policy import Policy, with_caps
from headroom.policy import canonical_json, check, parameter_texts, published
from headroom.settings import OFF, DeploymentConfig, FunctionSettings, Names

PRICED_REGIONS = tuple(sorted(CATALOGUE_PRICES))
"""Regions whose EBS prices the catalogue has, whether or not AWS's price list can be read."""
PRICED_PARTITION = "aws"
"""Where AWS's price list is in US dollars and its API open to everyone; elsewhere nothing is ever changed."""
REQUESTS_TIMEOUT = Duration.seconds(20)
"""A cold start, one call of STS and a few transactions take about two seconds."""


class Loop(Construct):
    """Alarms and rules -> queue -> function, a schedule -> function, and alarms on both."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: DeploymentConfig,
        kept: Kept,
        policy: Policy,
        code: lambda_.Code,
        calendars: Sequence[str] | None = None,
    ) -> None:
        """`calendars` are those that the functions may ask; by default the policy's, or any where a hub may publish one."""
        super().__init__(scope, construct_id)
        names = config.names
        policy = self._publish_policy(names, policy)
        if calendars is None:
            calendars = policy.calendars if config.hub_policy_role == OFF else (ANY_CALENDAR,)
        asked = calendar_statements(calendars)
        signals_queue = SignalsQueue(self, "SignalsQueue", names, databases=config.databases)
        settings = _settings(config, kept, signals_queue)
        schedule = SweepSchedule(self, "SweepSchedule")
        queue_arn = signals_queue.queue.queue_arn
        take = allow((*QUEUE_ACTIONS, *actions.RETRY_ACTIONS), queue_arn, sid="TakeWork")
        put = allow(actions.WORK_ACTIONS, queue_arn, sid="PutWork")
        park = allow(DEAD_LETTER_ACTIONS, schedule.dead_letters.queue_arn, sid="ParkFailures")
        function = partial(HeadroomFunction, self, code=code, settings=settings, config=config)
        signals = function("Signals", FunctionSpec(
            handler="lambdas.signals.handler",
            description="Headroom: a worker; reconciles what the queue holds",
            timeout=SIGNALS_TIMEOUT,
            memory_mib=1_769,  # a whole processor: twenty resources are read together
            statements=[
                *_storage_statements(config, kept), *asked, *extend_statements(config),
                contributor_statement(names), take, put,
            ],
        )).function  # fmt: skip
        sweep = function("Sweep", FunctionSpec(
            handler="lambdas.sweep.handler",
            description="Headroom: the dispatcher; puts what is due on the queue",
            timeout=SWEEP_TIMEOUT, memory_mib=512,
            statements=[
                *dispatch_statements(kept, names), *asked, prices_statement(), events_statement(),
                *resource_alarm_statements(config), park, put,
            ],
        )).function  # fmt: skip
        requests = function("Requests", FunctionSpec(
            handler="lambdas.requests.handler",
            description="Headroom: records what people ask for, with who asked",
            timeout=REQUESTS_TIMEOUT, memory_mib=512, name=names.requests_function,
            statements=[*ledger_statements(kept), *publishing_statements(config)],
        )).function  # fmt: skip
        if config.ebs_free_space == "on":
            ExtendDocument(self, "ExtendFileSystems", names)
        let_hub_ask(self, config, requests)
        signals_queue.feed(signals, max_concurrency=config.queue_max_concurrency)
        schedule.start(sweep)
        DetectionAlarms(self, "Detection", config)
        own = SelfAlarms(self, "Own", topic=kept.topic, names=names)
        own.on_queues(signals_queue.queue, signals_queue.dead_letters)
        own.on_function("signals", signals)
        own.on_function("sweep", sweep)
        own.on_loop(settings)
        parts = {
            Part.SERVICE: settings.service,
            Part.SIGNALS: signals.function_name,
            Part.SWEEP: sweep.function_name,
            Part.REQUESTS: requests.function_name,
            Part.QUEUE: signals_queue.queue.queue_name,
            Part.DEAD_LETTERS: signals_queue.dead_letters.queue_name,
            Part.LOST_RUNS: schedule.dead_letters.queue_name,
            Part.RECORDS: kept.records.table_name,
            Part.STATE: kept.state.table_name,
            Part.SIGNALS_LOG: signals.log_group.log_group_name,
            Part.SWEEP_LOG: sweep.log_group.log_group_name,
        }
        if config.hub_bus != OFF:
            forwarding = Forwarding(self, "HubEvents", bus=config.hub_bus)
            own.on_hub(forwarding.dead_letters)
            add_outputs(self, names, {"HubRedelivery": forwarding.redelivery_command})
            parts[Part.HUB_DEAD_LETTERS] = forwarding.dead_letters.queue_name
        if config.dashboard == "on":
            Dashboard(self, "Dashboard", names=names, parts=parts, alarms=own.alarms)
        Annotations.of(self).add_info(price_note(config))
        self._warn_about_prices()
        add_outputs(self, names, {
            "DetectionPrice": short_price(config),
            "PolicyVersion": with_caps(policy, config.hard_caps).version,
            "SignalsQueueUrl": signals_queue.queue.queue_url,
            "Redrive": signals_queue.redrive_command,
            "SignalsDeadLettersUrl": signals_queue.dead_letters.queue_url,
        })  # fmt: skip

    def _warn_about_prices(self) -> None:
        """Say what a Region without a table of its own means, where the Region is known."""
        region = Stack.of(self).region
        if Token.is_unresolved(region) or region in PRICED_REGIONS:
            return
        if RegionInfo.get(region).partition == PRICED_PARTITION:
            Annotations.of(self).add_info(
                f"Headroom has no table of EBS prices for {region}: it changes something "
                "there once its sweep has read them from AWS's price list, minutes after it starts."
            )
            return
        Annotations.of(self).add_warning_v2(
            "headroom:prices",
            f"There are no EBS prices in US dollars for {region}: Headroom will decide and "
            "record there, and change nothing.",
        )

    def _publish_policy(self, names: Names, whole: Policy) -> Policy:
        """What of the policy counts here, as canonical JSON in a parameter, or in parts."""
        stack, name = Stack.of(self), names.policy_parameter
        place = [None if Token.is_unresolved(p) else p for p in (stack.account, stack.region)]
        policy = published(whole, *place)
        for number, text in enumerate(parameter_texts(canonical_json(policy))):
            part = f" {number}" if number else ""
            ssm.StringParameter(
                self,
                f"Policy{number or ''}",
                parameter_name=f"{name}/{number}" if number else name,
                description=f"Headroom's policy, version {policy.version}{part and ', part'}{part}",
                string_value=text,
                tier=ssm.ParameterTier.STANDARD,  # CloudFormation cannot leave the Advanced tier
            )
        for remark in check(whole).remarks:
            Annotations.of(self).add_warning_v2("headroom:policy", remark)
        if any(rule.selector.accounts or rule.selector.regions for rule in policy.rules):
            Annotations.of(self).add_info(
                "The policy has rules for single accounts or Regions, and this stack is not bound "
                "to one: all of it is published, and what is for elsewhere is passed over there. "
                "-c account=... -c region=... publishes only what counts in the place."
            )
        return policy


def _settings(
    config: DeploymentConfig, kept: Kept, signals_queue: SignalsQueue
) -> FunctionSettings:
    return FunctionSettings(
        records_table=kept.records.table_name,
        state_table=kept.state.table_name,
        policy_parameter=config.names.policy_parameter,
        topic_arn=kept.topic.topic_arn,
        queue_url=signals_queue.queue.queue_url,
        workers=config.queue_max_concurrency,
        scan_every_minutes=config.scan_minutes,
        detection=config.detection,
        alarm_budget_usd=config.resource_alarms_usd,
        record_retention_days=config.record_retention_days,
        seal_key="off" if kept.seal_key is None else kept.seal_key.key_arn,
        kinds=config.kinds,
        service=config.prefix,
        hard_caps=config.hard_caps,
        extend_document=config.names.extend_document if config.ebs_free_space == "on" else "off",
        hub_role=config.hub_role,
        hub_policy_role=config.hub_policy_role,
    )


def _storage_statements(config: DeploymentConfig, kept: Kept) -> list[iam.PolicyStatement]:
    return loop_statements(
        kept, config.names, databases=config.databases, clusters=config.clusters,
        resource_tag=config.hard_caps.resource_tag,
    )  # fmt: skip
