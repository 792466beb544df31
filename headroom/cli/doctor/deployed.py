"""What a deployment consists of, by CloudFormation's own list: no name is guessed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from botocore.exceptions import ClientError

from headroom.adapters.parameters import ParameterPolicies
from headroom.cli.sources.account import Account
from headroom.cli.sources.deployment import Deployment
from headroom.cli.sources.outputs import stack_of
from headroom.domain.policy import HardCaps, Policy, PolicyUnreadable
from headroom.ports import ReadFailed, StorageView
from headroom.settings import FunctionSettings, SettingsError

_RECORDS = "StateRecordsTable"
"""Part of the logical id of the table of records, behind that of the construct."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StackResource:
    """One resource of a stack."""

    logical: str
    physical: str
    kind: str
    """For example `AWS::Lambda::Function`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """A stack as CloudFormation has it; `status` is empty where there is none of that name."""

    name: str
    status: str
    outputs: Mapping[str, str]
    resources: tuple[StackResource, ...]
    since: datetime | None = None
    """When it was created or updated."""


SETTLES = timedelta(minutes=15)
"""How long after a deployment its first runs, metrics and prices may take."""


@dataclass(frozen=True, kw_only=True)
class DeployedStacks:
    """The stacks of a deployment or a hub; what it reads more than once is kept."""

    stacks: tuple[Stack, ...]
    _clients: dict[str, Any] = field(default_factory=dict)

    @property
    def account(self) -> Account:
        """Where they are."""
        raise NotImplementedError

    @property
    def now(self) -> datetime:
        """The instant it is there."""
        return self.account.now

    @property
    def settled_at(self) -> datetime | None:
        """When it will have run for long enough to be judged; None if it has."""
        latest = max((s.since for s in self.stacks if s.since is not None), default=None)
        if latest is None or not timedelta(0) <= self.now - latest < SETTLES:
            return None
        return latest + SETTLES

    def client(self, service: str) -> Any:
        """A client there, made once."""
        if service not in self._clients:
            self._clients[service] = self.account.client(service)
        return self._clients[service]

    def of(self, kind: str) -> list[StackResource]:
        """The resources of a kind, of all stacks."""
        return [one for stack in self.stacks for one in stack.resources if one.kind == kind]

    def output(self, name: str) -> str | None:
        """An output of any stack."""
        key = self.account.names.output(name)
        return next((s.outputs[key] for s in self.stacks if key in s.outputs), None)

    def metric(
        self, namespace: str, name: str, dimensions: Mapping[str, str], *, statistic: str,
        over: timedelta,
    ) -> list[tuple[datetime, float]]:  # fmt: skip
        """The minutes of a metric until now, newest first."""
        answer = self.client("cloudwatch").get_metric_data(
            MetricDataQueries=[
                {
                    "Id": "m",
                    "MetricStat": {
                        "Metric": {
                            "Namespace": namespace, "MetricName": name,
                            "Dimensions": [
                                {"Name": key, "Value": value} for key, value in dimensions.items()
                            ],
                        },
                        "Period": 60, "Stat": statistic,
                    },
                }
            ],
            StartTime=self.now - over, EndTime=self.now + timedelta(minutes=1),
            ScanBy="TimestampDescending",
        )["MetricDataResults"][0]  # fmt: skip
        return list(zip(answer["Timestamps"], answer["Values"], strict=True))


@dataclass(frozen=True, kw_only=True)
class HubStack(DeployedStacks):
    """A hub's stack."""

    place: Account

    @property
    def account(self) -> Account:
        """The hub's account and Region, with the names of its prefix."""
        return self.place


@dataclass(frozen=True, kw_only=True)
class Deployed(DeployedStacks):
    """A deployment and its stacks."""

    here: Deployment
    is_local: bool
    """Whether it is an endpoint that lacks services of AWS."""
    storage: dict[str, tuple[StorageView, ...] | ReadFailed] = field(default_factory=dict)
    """By kind, once `fleet.storage` has read it."""

    @property
    def account(self) -> Account:
        """The deployment's account and Region."""
        return self.here.account

    @cached_property
    def policy(self) -> Policy | PolicyUnreadable:
        """The policy that the functions read."""
        settings = next(iter(self.settings), None)
        caps = HardCaps() if settings is None else settings.hard_caps
        return ParameterPolicies(self.client("ssm"), parameter=self.parameter, caps=caps).current()

    @property
    def parameter(self) -> str:
        """Name of the parameter with the policy."""
        settings = next(iter(self.settings), None)
        names = self.here.account.names
        return names.policy_parameter if settings is None else settings.policy_parameter

    @cached_property
    def functions(self) -> tuple[Mapping[str, Any], ...]:
        """The configuration of every function that exists."""
        client, found = self.client("lambda"), []
        for one in self.of("AWS::Lambda::Function"):
            try:
                found.append(client.get_function_configuration(FunctionName=one.physical))
            except client.exceptions.ResourceNotFoundException:
                continue
        return tuple(found)

    @cached_property
    def settings(self) -> tuple[FunctionSettings, ...]:
        """The settings of every function that has valid ones."""
        found = []
        for function in self.functions:
            try:
                variables = function.get("Environment", {}).get("Variables", {})
                found.append(FunctionSettings.from_environment(variables))
            except SettingsError:
                continue
        return tuple(found)


def deployed(here: Deployment, loop: str | None, *, is_local: bool) -> Deployed:
    """The deployment whose tables `here` names and whose functions are in the stack `loop`.

    Without `loop` it is the app's second stack, or the one stack of a construct or StackSet.
    """
    client = here.account.client("cloudformation")
    stack, names = stack_of(here.stack), here.account.names
    if loop is None:
        loop = names.stack("Loop") if stack == names.stack("State") else stack
    both = dict.fromkeys((stack, loop))
    found = [stack_named(client, name) for name in both]
    key = names.output("RecordsTable")
    table = next((each.outputs[key] for each in found if key in each.outputs), "")
    return Deployed(
        here=here, stacks=tuple(of_deployment(each, table) for each in found), is_local=is_local
    )


def of_deployment(stack: Stack, records_table: str) -> Stack:
    """The stack with the resources of the deployment alone that has this table of records.

    A construct's logical ids begin with its place in the app: of several in one stack, and of what else the owner
    has in it, only those of the table's construct are left. A stack without the table is left whole.
    """
    tables = {
        one.physical: one.logical.partition(_RECORDS)[0]
        for one in stack.resources if one.kind == "AWS::DynamoDB::Table" and _RECORDS in one.logical
    }  # fmt: skip
    if records_table not in tables:
        return stack
    roots = sorted(set(tables.values()), key=len, reverse=True)

    def own(one: StackResource) -> bool:
        root = next((each for each in roots if one.logical.startswith(each)), None)
        return root == tables[records_table]

    return replace(stack, resources=tuple(filter(own, stack.resources)))


def stack_named(client: Any, name: str) -> Stack:
    """A stack with its resources; one without status where there is none."""
    try:
        found = client.describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as problem:
        if "does not exist" not in str(problem):
            raise
        return Stack(name=name, status="", outputs={}, resources=())
    pages = client.get_paginator("list_stack_resources").paginate(StackName=name)
    return Stack(
        name=name, status=found["StackStatus"],
        since=found.get("LastUpdatedTime") or found.get("CreationTime"),
        outputs={o["OutputKey"]: str(o["OutputValue"]) for o in found.get("Outputs", [])},
        resources=tuple(
            StackResource(
                logical=one["LogicalResourceId"], physical=one.get("PhysicalResourceId", ""),
                kind=one["ResourceType"],
            )
            for page in pages for one in page["StackResourceSummaries"]
        ),
    )  # fmt: skip
