"""The one place that builds functions: runtime, log group, tracing, role, environment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from headroom.cdk.permissions import LOG_ACTIONS, TRACE_ACTIONS, allow, explain_wildcards, role_for
from headroom.settings import DeploymentConfig, FunctionSettings

RUNTIME = lambda_.Runtime.PYTHON_3_14
"""The newest the CDK knows; the wheels are packed for the same one (Makefile)."""

ARCHITECTURE = lambda_.Architecture.ARM_64


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSpec:
    """What differs between the functions."""

    handler: str
    description: str
    timeout: Duration
    memory_mib: int
    statements: Sequence[iam.PolicyStatement]
    name: str | None = None
    """Only where somebody calls it by name."""


class HeadroomFunction(Construct):
    """A function with its log group, its role and nothing it does not need."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        spec: FunctionSpec,
        *,
        code: lambda_.Code,
        settings: FunctionSettings,
        config: DeploymentConfig,
    ) -> None:
        super().__init__(scope, construct_id)
        log_group = logs.LogGroup(
            self,
            "Logs",
            retention=retention(config.log_retention_days),
            removal_policy=RemovalPolicy.DESTROY,
        )
        role = role_for(
            self,
            "Role",
            service="lambda.amazonaws.com",
            description=spec.description,
            path=config.names.role_path,
            statements=[
                *spec.statements,
                allow(LOG_ACTIONS, log_group.log_group_arn, sid="WriteLog"),
                allow(TRACE_ACTIONS, "*", sid="Trace"),
            ],
        )
        explain_wildcards(self, spec.statements, config.names)
        self.function = lambda_.Function(
            self,
            "Function",
            function_name=spec.name,
            description=spec.description,
            code=code,
            handler=spec.handler,
            runtime=RUNTIME,
            architecture=ARCHITECTURE,
            memory_size=spec.memory_mib,
            timeout=spec.timeout,
            role=role,
            environment=settings.to_environment(),
            log_group=log_group,
            logging_format=lambda_.LoggingFormat.JSON,
            application_log_level_v2=lambda_.ApplicationLogLevel.INFO,
            system_log_level_v2=lambda_.SystemLogLevel.WARN,
            tracing=lambda_.Tracing.ACTIVE,
        )


def retention(days: int) -> logs.RetentionDays:
    """The CDK's member for a number of days; settings has refused what AWS does not accept."""
    by_days = {
        1: "ONE_DAY",
        3: "THREE_DAYS",
        5: "FIVE_DAYS",
        7: "ONE_WEEK",
        14: "TWO_WEEKS",
        30: "ONE_MONTH",
        60: "TWO_MONTHS",
        90: "THREE_MONTHS",
        120: "FOUR_MONTHS",
        150: "FIVE_MONTHS",
        180: "SIX_MONTHS",
        365: "ONE_YEAR",
        400: "THIRTEEN_MONTHS",
        545: "EIGHTEEN_MONTHS",
        731: "TWO_YEARS",
        1096: "THREE_YEARS",
        1827: "FIVE_YEARS",
    }
    return logs.RetentionDays[by_days[days]]
