"""Headroom as one construct for anybody's CDK app."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from aws_cdk import Annotations, Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from headroom.cdk.asset import runtime_python, stage_function_code
from headroom.cdk.loop import Loop
from headroom.cdk.state import State
from headroom.domain.policy import Policy
from headroom.policy import default_policy, first_problem, load_policy_file, parse_policy
from headroom.settings import DeploymentConfig, Detection, SettingsError

NO_BYTECODE = (
    "No Python 3.14 was found, so the functions' package has no bytecode: a cold start takes about "
    "three times the CPU time. Put python3.14 on the PATH, for example with `uv python install 3.14`."
)


class Settings(TypedDict, total=False):
    """What may be set of a deployment: the fields of DeploymentConfig, which documents them."""

    prefix: str
    detection: Detection | Literal["adaptive", "fleet", "tagged", "sweep"]
    alarm_budget_usd: int
    kinds: str | Sequence[str]
    scan_every_minutes: int
    notify_email: str | None
    enrolment_tag_key: str
    enrolment_tag_value: str
    expected_databases: int
    expected_volumes: int
    queue_max_concurrency: int
    log_retention_days: int
    record_retention_days: int
    seal_records: bool | Literal["on", "off"]
    ebs_free_space: bool | Literal["on", "off"]
    topic_key: bool | Literal["on", "off"]
    dashboard: bool | Literal["on", "off"]
    hub_bus: str
    hub_role: str
    hub_policy_role: str
    burst_balance_alarm_percent: int
    alarm_datapoints: int
    alarm_periods: int


class Headroom(Construct):
    """A whole deployment: tables, topic, functions, triggers and alarms, in the stack of `scope`.

    Several fit into one account and Region, also into one stack, if each has a `prefix` of its own
    and their policies enrol different resources.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        policy: Policy | Mapping[str, Any] | Path | str | None = None,
        caps: Mapping[str, object] | None = None,
        code: lambda_.Code | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """`policy` is a policy file or its content, by default the default policy. `caps` are the hard caps, ceilings
        above every policy, such as {"max_iops": 16000}.

        `code` replaces the functions' package that is made from this installation. Raises
        SettingsError, PolicyError or WheelsMissing with one sentence.
        """
        super().__init__(scope, construct_id)
        if caps is not None and "hard_caps" in settings:
            raise SettingsError("Give the hard caps once, as caps=.")
        given = settings if caps is None else {**settings, "hard_caps": caps}
        config = DeploymentConfig.from_context(given, called="Setting")
        self.prefix = config.prefix
        self._check_other_deployments()
        self.state = State(self, "State", config=config)
        self.loop = Loop(
            self, "Loop", config=config, kept=self.state.kept, policy=read_policy(policy),
            code=function_code(self) if code is None else code,
        )  # fmt: skip
        self.topic = self.state.kept.topic

    def _check_other_deployments(self) -> None:
        """Refuse a second deployment of this name in one place; warn of any other there."""
        here = Stack.of(self)
        for other in self.node.root.node.find_all():
            if other is self or not isinstance(other, Headroom):
                continue
            there = Stack.of(other)
            if (there.account, there.region) != (here.account, here.region):
                continue
            if other.prefix == self.prefix:
                raise SettingsError(
                    f"{self.node.path} and {other.node.path} have the same prefix, {self.prefix}, "
                    "in one account and Region; give one of them another prefix."
                )
            Annotations.of(self).add_warning_v2(
                "headroom:several",
                f"{other.node.path} is in the same account and Region: see that their policies "
                "enrol different resources, because each would change what it enrols.",
            )


def read_policy(given: Policy | Mapping[str, Any] | Path | str | None) -> Policy:
    """The policy, checked; raises PolicyError with one sentence."""
    if given is None or isinstance(given, Policy):
        return given or default_policy()
    if isinstance(given, Mapping):
        whole, source = parse_policy(given, source="policy"), "policy"
    else:
        whole, source = load_policy_file(given), str(given)
    first_problem(whole, source=source)
    return whole


def function_code(scope: Construct) -> lambda_.Code:
    """The functions' package, made from this clone or installation without Docker or network.

    `scope` gets a note where the package has no bytecode.
    """
    python = runtime_python()
    if python is None:
        Annotations.of(scope).add_info(NO_BYTECODE)
    return lambda_.Code.from_asset(str(stage_function_code(python=python)))
