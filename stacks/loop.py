"""The loop itself, stateless: everything here may be deleted and deployed again."""

from __future__ import annotations

from aws_cdk import Annotations, CfnOutput, Duration, Environment, Stack, Token
from aws_cdk import aws_ssm as ssm
from aws_cdk.region_info import RegionInfo
from constructs import Construct

from headroom.adapters import actions
from headroom.domain.policy import Policy, with_caps
from headroom.policy import (
    canonical_json,
    check,
    first_problem,
    load_policy_file,
    parameter_texts,
    published,
)
from headroom.settings import DeploymentConfig, FunctionSettings
from stacks.constructs.alarms import DetectionAlarms, SelfAlarms
from stacks.constructs.asset import ROOT, runtime_python, stage_function_code
from stacks.constructs.detection import price_note, short_price
from stacks.constructs.functions import FunctionSpec, HeadroomFunction
from stacks.constructs.names import (
    POLICY_PARAMETER,
    PRICED_PARTITION,
    PRICED_REGIONS,
    REQUESTS_FUNCTION,
)
from stacks.constructs.permissions import (
    DEAD_LETTER_ACTIONS,
    QUEUE_ACTIONS,
    allow,
    calendar_statements,
    contributor_statement,
    events_statement,
    ledger_statements,
    loop_statements,
    prices_statement,
)
from stacks.constructs.triggers import SIGNALS_TIMEOUT, SWEEP_TIMEOUT, SignalsQueue, SweepSchedule
from stacks.state import HeadroomState

REQUESTS_TIMEOUT = Duration.seconds(20)
"""A cold start, one call of STS and a few transactions take about two seconds."""


class HeadroomLoop(Stack):
    """Alarms and rules -> queue -> function, a schedule -> function, and alarms on both."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: DeploymentConfig,
        state: HeadroomState,
        env: Environment | None = None,
    ) -> None:
        super().__init__(
            scope, construct_id, env=env, description="Headroom: sees, decides, acts, verifies"
        )
        kept = state.kept
        policy = self._publish_policy(config)
        asked = calendar_statements(policy.calendars)
        signals_queue = SignalsQueue(self, "SignalsQueue", databases=config.databases)
        settings = FunctionSettings(
            records_table=kept.records.table_name,
            state_table=kept.state.table_name,
            policy_parameter=POLICY_PARAMETER,
            topic_arn=kept.topic.topic_arn,
            queue_url=signals_queue.queue.queue_url,
            workers=config.queue_max_concurrency,
            scan_every_minutes=config.scan_minutes,
            detection=config.detection,
            record_retention_days=config.record_retention_days,
            seal_key="off" if kept.seal_key is None else kept.seal_key.key_arn,
            kinds=config.kinds,
            hard_caps=config.hard_caps,
        )
        code = stage_function_code(python=runtime_python())
        here = loop_statements(
            kept, databases=config.databases, clusters=config.clusters,
            resource_tag=config.hard_caps.resource_tag,
        )  # fmt: skip
        schedule = SweepSchedule(self, "SweepSchedule")
        queue_arn = signals_queue.queue.queue_arn
        take = allow((*QUEUE_ACTIONS, *actions.RETRY_ACTIONS), queue_arn, sid="TakeWork")
        put = allow(actions.WORK_ACTIONS, queue_arn, sid="PutWork")
        park = allow(DEAD_LETTER_ACTIONS, schedule.dead_letters.queue_arn, sid="ParkFailures")
        signals = HeadroomFunction(
            self,
            "Signals",
            FunctionSpec(
                handler="lambdas.signals.handler",
                description="Headroom: a worker; reconciles what the queue holds",
                timeout=SIGNALS_TIMEOUT,
                memory_mib=1_769,  # a whole processor: twenty resources are read together
                statements=[*here, *asked, contributor_statement(), take, put],
            ),
            code=code,
            settings=settings,
            config=config,
        ).function
        sweep = HeadroomFunction(
            self,
            "Sweep",
            FunctionSpec(
                handler="lambdas.sweep.handler",
                description="Headroom: the dispatcher; puts what is due on the queue",
                timeout=SWEEP_TIMEOUT,
                memory_mib=512,
                statements=[
                    *here,
                    *asked,
                    prices_statement(),
                    events_statement(),
                    park,
                    put,
                ],
            ),
            code=code,
            settings=settings,
            config=config,
        ).function
        HeadroomFunction(
            self,
            "Requests",
            FunctionSpec(
                handler="lambdas.requests.handler",
                description="Headroom: records what people ask for, with who asked",
                timeout=REQUESTS_TIMEOUT,
                memory_mib=512,
                statements=ledger_statements(kept),
                name=REQUESTS_FUNCTION,
            ),
            code=code,
            settings=settings,
            config=config,
        )
        signals_queue.feed(signals, max_concurrency=config.queue_max_concurrency)
        schedule.start(sweep)
        DetectionAlarms(self, "Detection", config)
        own = SelfAlarms(self, "Own", topic=kept.topic)
        own.on_queues(signals_queue.queue, signals_queue.dead_letters)
        own.on_function("signals", signals)
        own.on_function("sweep", sweep)
        own.on_loop(settings)
        Annotations.of(self).add_info(price_note(config))
        self._warn_about_prices()
        CfnOutput(self, "DetectionPrice", value=short_price(config))
        CfnOutput(self, "PolicyVersion", value=with_caps(policy, config.hard_caps).version)
        CfnOutput(self, "SignalsQueueUrl", value=signals_queue.queue.queue_url)
        CfnOutput(self, "Redrive", value=signals_queue.redrive_command)
        CfnOutput(self, "SignalsDeadLettersUrl", value=signals_queue.dead_letters.queue_url)

    def _warn_about_prices(self) -> None:
        """Say what a Region without a table of its own means, where the Region is known."""
        if Token.is_unresolved(self.region) or self.region in PRICED_REGIONS:
            return
        if RegionInfo.get(self.region).partition == PRICED_PARTITION:
            Annotations.of(self).add_info(
                f"Headroom has no table of EBS prices for {self.region}: it changes something "
                "there once its sweep has read them from AWS's price list, minutes after it starts."
            )
            return
        Annotations.of(self).add_warning_v2(
            "headroom:prices",
            f"There are no EBS prices in US dollars for {self.region}: Headroom will decide and "
            "record there, and change nothing.",
        )

    def _publish_policy(self, config: DeploymentConfig) -> Policy:
        """The policy, checked, as canonical JSON in a parameter, or in parts."""
        whole = load_policy_file(ROOT / config.policy_file)
        first_problem(whole, source=config.policy_file)
        place = [None if Token.is_unresolved(p) else p for p in (self.account, self.region)]
        policy = published(whole, *place)
        for number, text in enumerate(parameter_texts(canonical_json(policy))):
            part = f" {number}" if number else ""
            ssm.StringParameter(
                self,
                f"Policy{number or ''}",
                parameter_name=f"{POLICY_PARAMETER}/{number}" if number else POLICY_PARAMETER,
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
