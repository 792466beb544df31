"""Whether IAM lets the deployed roles do what the functions do: IAM's own policy simulation, asked.

Source: IAM API 2010-05-08, SimulatePrincipalPolicy (checked 2026-11): it evaluates the role's policies, its
permissions boundary and the organization's service control policies, and no policies of resources.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from headroom.adapters import actions
from headroom.adapters.tables import LEDGER_ACTIONS
from headroom.cli.doctor.deployed import Deployed
from headroom.cli.doctor.findings import Fact, Finding, denied
from headroom.cli.doctor.loop import RESTORE
from headroom.settings import OFF, FunctionSettings, Names, SettingsError

WORKER, DISPATCHER, REQUESTS = (
    f"lambdas.{name}.handler" for name in ("signals", "sweep", "requests")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Whether a role may do these actions on one resource, with these condition keys."""

    actions: tuple[str, ...]
    resource: str = "*"
    context: tuple[tuple[str, str], ...] = ()


def permissions(deployed: Deployed) -> Iterator[Finding | Fact]:
    """The functions' roles may do what the functions do, by IAM's simulation where it may be asked."""
    if deployed.is_local:
        yield Fact(text="a local endpoint has no policy simulator")
        return
    asked = 0
    for function in deployed.functions:
        try:
            settings = FunctionSettings.from_environment(
                function.get("Environment", {}).get("Variables", {})
            )
        except SettingsError:
            continue
        for question in questions(str(function.get("Handler")), settings, function["FunctionArn"]):
            try:
                results = _simulated(deployed.client("iam"), function["Role"], question)
            except ClientError as problem:
                if not denied(problem):
                    raise
                yield Fact(
                    text="not simulated: iam:SimulatePrincipalPolicy is denied to the caller"
                )
                return
            asked += len(question.actions)
            for result in results:
                if result["EvalDecision"] != "allowed":
                    yield _finding(function["FunctionName"], result, question)
    yield Fact(text=f"{asked} permissions simulated")


def _simulated(client: Any, role: str, question: Question) -> list[Mapping[str, Any]]:
    entries = [
        {"ContextKeyName": key, "ContextKeyValues": [value], "ContextKeyType": "string"}
        for key, value in question.context
    ]
    answer = client.simulate_principal_policy(
        PolicySourceArn=role, ActionNames=list(question.actions),
        ResourceArns=[question.resource], ContextEntries=entries,
    )  # fmt: skip
    return list(answer["EvaluationResults"])


def _finding(name: str, result: Mapping[str, Any], question: Question) -> Finding:
    if not result.get("OrganizationsDecisionDetail", {}).get("AllowedByOrganizations", True):
        why, fix = "a service control policy of the organization", "change that policy to allow it"
    elif not result.get("PermissionsBoundaryDecisionDetail", {}).get(
        "AllowedByPermissionsBoundary", True
    ):
        why, fix = "the role's permissions boundary", "change the boundary to allow it"
    elif result["EvalDecision"] == "explicitDeny":
        why, fix = "a policy of the role denies it", "remove that statement"
    else:
        why, fix = "no policy allows it", RESTORE
    return Finding(
        problem=f"the role of {name} is denied {result['EvalActionName']} on {question.resource}: {why}",
        fix=fix,
    )


def questions(handler: str, settings: FunctionSettings, function_arn: str) -> Iterator[Question]:
    """What the function with this handler does, on the deployment's own resources."""
    if handler not in (WORKER, DISPATCHER, REQUESTS):
        return
    _, partition, _, region, account, *_ = function_arn.split(":")

    def arn(service: str, rest: str) -> str:
        return f"arn:{partition}:{service}:{region}:{account}:{rest}"

    for kind, table in (("records", settings.records_table), ("state", settings.state_table)):
        yield Question(actions=LEDGER_ACTIONS[kind], resource=arn("dynamodb", f"table/{table}"))
    if settings.seal_key != "off":
        yield Question(actions=actions.SEAL_ACTIONS, resource=settings.seal_key)
    parameter = arn("ssm", f"parameter{settings.policy_parameter}")
    if handler == REQUESTS:
        if settings.hub_policy_role != OFF:
            publishing = actions.POLICY_READ_ACTIONS + actions.POLICY_WRITE_ACTIONS
            yield Question(actions=publishing, resource=parameter)
        return
    queue = arn("sqs", settings.queue_url.rpartition("/")[2])
    yield Question(actions=actions.POLICY_READ_ACTIONS, resource=parameter)
    yield Question(actions=actions.NOTIFIER_ACTIONS, resource=settings.topic_arn)
    yield Question(actions=actions.WORK_ACTIONS, resource=queue)
    if handler == DISPATCHER:
        yield Question(actions=actions.PRICES_ACTIONS)
        yield Question(
            actions=actions.EVENTS_OUT_ACTIONS, resource=arn("events", "event-bus/default"),
            context=(("events:source", actions.EVENT_SOURCE),),
        )  # fmt: skip
        yield Question(actions=actions.ALARM_LIST_ACTIONS, resource="*")
        yield Question(
            actions=actions.ALARM_REMOVE_ACTIONS
            + (actions.ALARM_MAKE_ACTIONS if settings.alarm_budget_usd else ()),
            resource=arn("cloudwatch", f"alarm:{Names(settings.service).resource_alarms}example"),
        )
        return
    yield Question(actions=actions.RETRY_ACTIONS, resource=queue)
    yield Question(actions=actions.METRICS_READ_ACTIONS + actions.EBS_READ_ACTIONS)
    tag = settings.hard_caps.resource_tag
    tagged = () if tag is None else ((f"aws:ResourceTag/{tag[0]}", tag[1] or "any"),)
    changes = [(actions.EBS_WRITE_ACTIONS, arn("ec2", "volume/vol-0123456789abcdef0"))]
    if settings.databases:
        yield Question(actions=actions.RDS_READ_ACTIONS)
        changes.append((actions.RDS_INSTANCE_WRITE_ACTIONS, arn("rds", "db:example")))
        changes.append((actions.RDS_CLUSTER_WRITE_ACTIONS, arn("rds", "cluster:example")))
    if settings.clusters:
        yield Question(actions=actions.AURORA_READ_ACTIONS)
    for granted, resource in changes:
        yield Question(actions=granted, resource=resource, context=tagged)
