"""The deployment that a command is about: its account, its ledger, and asking it for something."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace

from botocore.exceptions import BotoCoreError, ClientError

from headroom.account import ONCE
from headroom.adapters.ledger import DynamoLedger
from headroom.cli.sources.account import Account, account
from headroom.cli.sources.options import DEFAULT_STACK, DeploymentOptions
from headroom.cli.sources.outputs import not_found, outputs_of, stack_of
from headroom.cli.terminal.names import named
from headroom.cli.terminal.problems import BadRequest, Problem
from headroom.domain.resources import ResourceRef
from headroom.domain.state import StopState
from headroom.ports import ReadFailed, WriteFailed
from headroom.requests import LONGEST_REASON, Answer, Status, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """An account and Region with Headroom in it, and its ledger."""

    account: Account
    ledger: DynamoLedger
    state_table: str
    stack: str = DEFAULT_STACK

    @property
    def place(self) -> str:
        """Which it is, in words."""
        return f"account {self.account.account_id}, {self.account.region}"

    def ref(self, resource: str) -> ResourceRef:
        """The storage of that name here; raises BadRequest for anything else."""
        here = self.account
        return named(resource, account_id=here.account_id, region=here.region)

    def ask(self, verb: Verb, reason: str, **fields: object) -> Answer:
        """Have the deployment record a request of this caller; raises Problem.

        The deployed function writes, with the caller that STS names: nothing here says who asks.
        """
        content = {"verb": verb, "state_table": self.state_table, "reason": reason, **fields}
        request = json.dumps(content, sort_keys=True)
        if self.account.proof is None:
            raise Problem(f"Nobody can be asked in {self.place}.")
        function = self.account.names.requests_function
        payload = {"request": request, "proof": self.account.proof(request)}
        try:
            sent = self.account.client("lambda", ONCE).invoke(
                FunctionName=function, Payload=json.dumps(payload).encode()
            )
            answer = json.loads(sent["Payload"].read())
        except (ClientError, BotoCoreError, ValueError) as problem:
            raise Problem(f"The request failed or its result is unknown: {problem}") from None
        status = answer.get("status") if isinstance(answer, dict) else None
        if status not in set(Status):
            raise Problem(f"The request failed or its result is unknown: {function} says {answer}")
        return Answer(status=Status(status), detail=str(answer["detail"]))


def deployment(options: DeploymentOptions) -> Deployment:
    """The deployment that the options name; raises BadRequest, Problem."""
    return deployment_in(account(**asdict(options.account), databases=True), options.stack)


def deployment_in(where: Account, stack: str) -> Deployment:
    """The deployment whose tables `stack` has there, as STACK or STACK/PREFIX.

    Raises NoSuchStack, Problem.
    """
    try:
        formation = where.client("cloudformation")
        found = formation.describe_stacks(StackName=stack_of(stack))["Stacks"]
    except (ClientError, BotoCoreError) as problem:
        raise not_found(problem, stack, where.region) from None
    listed = {o["OutputKey"]: str(o["OutputValue"]) for o in found[0].get("Outputs", [])}
    outputs = outputs_of(listed, stack)
    tables, where = outputs.values, replace(where, names=outputs.names)
    ledger = DynamoLedger(
        where.client("dynamodb"), records_table=tables["RecordsTable"],
        state_table=tables["StateTable"], account_id=where.account_id, region=where.region,
    )  # fmt: skip
    return Deployment(account=where, ledger=ledger, state_table=tables["StateTable"], stack=stack)


def normalized_reason(text: str) -> str:
    """A reason as it is recorded: one line of text."""
    plain = " ".join(text.encode("utf-8", "replace").decode("utf-8").split())
    if len(plain) > LONGEST_REASON:
        raise BadRequest(f"--reason has {len(plain)} characters; {LONGEST_REASON} is the most.")
    return plain


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Raise Problem where `what` cannot be read, or changed."""
    try:
        yield
    except WriteFailed as problem:
        raise Problem(f"{what} cannot be changed: {problem}") from None
    except ReadFailed as problem:
        raise Problem(f"{what} cannot be read: {problem}") from None


def stops_of(here: Deployment) -> StopState:
    with reading("Pauses and breakers"):
        return here.ledger.stop_state()
