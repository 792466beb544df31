"""The deployment that a command is about: its account and its ledger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from headroom.adapters.ledger import DynamoLedger
from headroom.cli.sources.account import Account, account
from headroom.cli.sources.options import DeploymentOptions
from headroom.cli.terminal.names import named
from headroom.cli.terminal.output import out
from headroom.cli.terminal.problems import BadRequest, Problem
from headroom.domain.resources import ResourceRef
from headroom.domain.state import StopState
from headroom.ports import ReadFailed

T = TypeVar("T")
LONGEST_REASON = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """An account and Region with Headroom in it, and its ledger."""

    account: Account
    ledger: DynamoLedger
    state_table: str

    @property
    def place(self) -> str:
        """Which it is, in words."""
        return f"account {self.account.account_id}, {self.account.region}"

    def ref(self, resource: str) -> ResourceRef:
        """The storage of that name here; raises BadRequest for anything else."""
        here = self.account
        return named(resource, account_id=here.account_id, region=here.region)


def deployment(options: DeploymentOptions) -> Deployment:
    """The deployment that the options name; raises BadRequest, Problem."""
    where, stack = account(**asdict(options.account), databases=True), options.stack
    try:
        stacks = where.client("cloudformation").describe_stacks(StackName=stack)["Stacks"]
    except (ClientError, BotoCoreError) as problem:
        raise Problem(f"Headroom's tables cannot be found in {where.region}: {problem}") from None
    tables = {o["OutputKey"]: o["OutputValue"] for o in stacks[0].get("Outputs", [])}
    if not {"RecordsTable", "StateTable"} <= tables.keys():
        raise Problem(
            f"Stack {stack} in {where.region} has no outputs that name Headroom's tables."
        )
    return Deployment(
        account=where,
        ledger=DynamoLedger(
            where.client("dynamodb"), records_table=tables["RecordsTable"],
            state_table=tables["StateTable"], account_id=where.account_id, region=where.region,
        ),
        state_table=tables["StateTable"],
    )  # fmt: skip


def normalized_reason(text: str) -> str:
    """A reason as it is recorded: one line of text."""
    plain = " ".join(text.encode("utf-8", "replace").decode("utf-8").split())
    if len(plain) > LONGEST_REASON:
        raise BadRequest(f"--reason has {len(plain)} characters; {LONGEST_REASON} is the most.")
    return plain


def written(write: Callable[[], T]) -> T:
    try:
        return write()
    except ReadFailed as problem:
        raise Problem(f"The write failed or its result is unknown: {problem}") from None


def say(text: str) -> None:
    out().print(text, markup=False, soft_wrap=True)


def stops_of(here: Deployment) -> StopState:
    try:
        return here.ledger.stop_state()
    except ReadFailed as problem:
        raise Problem(f"Pauses and breakers cannot be read: {problem}") from None
