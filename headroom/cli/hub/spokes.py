"""The deployments that a hub's people ask, and asking one of them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from botocore.exceptions import BotoCoreError, ClientError

from headroom.account import ONCE
from headroom.adapters.errors import code_of, message_of
from headroom.cli.sources.account import NO_CREDENTIALS, opened, signed
from headroom.cli.sources.options import EndpointOption, LocalOption, ProfileOption
from headroom.cli.terminal.output import counted, emit, out, table
from headroom.cli.terminal.problems import FAILED, OK, BadRequest, Problem
from headroom.policy import ACCOUNT_ID, REGION
from headroom.requests import Answer, Status, Verb
from headroom.settings import DEFAULT_PREFIX, Names

AT_ONCE = 8
"""Deployments that are asked at the same time."""
UNANSWERED = "unanswered"
"""The status of a deployment of which it is not known what it did."""
INTERRUPTED = "interrupted before it was asked"


@dataclass(frozen=True, slots=True)
class Spoke:
    """One deployment in the organization."""

    account_id: str
    region: str
    prefix: str = DEFAULT_PREFIX

    def __str__(self) -> str:
        place = f"{self.account_id}/{self.region}"
        return place if self.prefix == DEFAULT_PREFIX else f"{place}/{self.prefix}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HubOptions:
    """With which credentials deployments are asked."""

    profile: ProfileOption = None
    endpoint_url: EndpointOption = None
    local: LocalOption = False


SPOKE_HELP = "Deployment that gets the request, as ACCOUNT/REGION or ACCOUNT/REGION/PREFIX"
SpokeOption = Annotated[str, typer.Option("--spoke", help=f"{SPOKE_HELP}.")]
SpokeOptions = Annotated[
    list[str] | None, typer.Option("--spoke", help=f"{SPOKE_HELP}; may be repeated.")
]
SpokesOption = Annotated[
    Path | None, typer.Option("--spokes", help="File with one deployment per line.")
]


def spoke_of(text: str) -> Spoke:
    """The deployment in ACCOUNT/REGION or ACCOUNT/REGION/PREFIX; raises BadRequest."""
    account_id, _, rest = text.strip().partition("/")
    region, _, prefix = rest.partition("/")
    if not re.fullmatch(ACCOUNT_ID, account_id) or not re.fullmatch(REGION, region):
        raise BadRequest(
            f"{text!r} is not a deployment. Write ACCOUNT/REGION, such as 111122223333/us-east-1."
        )
    return Spoke(account_id, region, prefix or DEFAULT_PREFIX)


def spokes_of(named: Sequence[str] | None, file: Path | None) -> tuple[Spoke, ...]:
    """Those named and those of the file, each once; lines may be empty or begin with #."""
    try:
        listed = [] if file is None else file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        why = getattr(problem, "strerror", None) or "it is not UTF-8 text"
        raise BadRequest(f"{file} cannot be read: {why}.") from None
    lines = (line.strip() for line in listed)
    wanted = [*(named or ()), *(line for line in lines if line and not line.startswith("#"))]
    if not wanted and file is not None:
        raise BadRequest(f"{file} names no deployment: write ACCOUNT/REGION in it, one a line.")
    if not wanted:
        raise BadRequest("Name deployments with --spoke ACCOUNT/REGION or --spokes FILE.")
    return tuple(dict.fromkeys(spoke_of(one) for one in wanted))


class Hub:
    """Asks deployments as the caller; each of them verifies with STS who that is."""

    def __init__(self, options: HubOptions, spokes: Sequence[Spoke]) -> None:
        """Clients are made here: boto3 makes them in one thread only."""
        self.spokes = spokes
        self._session, endpoint, _ = opened(
            region=None, profile=options.profile, endpoint_url=options.endpoint_url,
            local=options.local,
        )  # fmt: skip
        if self._session.get_credentials() is None:
            raise Problem(NO_CREDENTIALS)
        regions = {spoke.region for spoke in spokes}
        self._lambdas = {
            r: self._session.client("lambda", region_name=r, endpoint_url=endpoint, config=ONCE)
            for r in regions
        }
        self._sts = {
            r: str(
                self._session.client("sts", region_name=r, endpoint_url=endpoint).meta.endpoint_url
            )
            for r in regions
        }

    def ask(
        self, spoke: Spoke, verb: Verb, reason: str, *, policy: str | None = None, **fields: object
    ) -> Answer | str:
        """What the deployment answers; or, in words, why it is not known what it did."""
        content = {"verb": verb, "prefix": spoke.prefix, "reason": reason, **fields}
        request = json.dumps(content, sort_keys=True)
        try:
            payload: dict[str, Any] = {"request": request, "proof": self._proof(spoke, request)}
            if policy is not None:
                payload["policy"] = policy
            partition = self._session.get_partition_for_region(spoke.region)
            function = (
                f"arn:{partition}:lambda:{spoke.region}:{spoke.account_id}:function:"
                f"{Names(spoke.prefix).requests_function}"
            )
            sent = self._lambdas[spoke.region].invoke(
                FunctionName=function, Payload=json.dumps(payload).encode()
            )
            answer = json.loads(sent["Payload"].read())
        except ClientError as problem:
            return f"{code_of(problem)}: {message_of(problem)}"
        except (BotoCoreError, ValueError, Problem) as problem:
            return str(problem)
        if not isinstance(answer, dict) or answer.get("status") not in set(Status):
            return f"{function} returned {answer}"
        return Answer(status=Status(answer["status"]), detail=str(answer["detail"]))

    def _proof(self, spoke: Spoke, request: str) -> dict[str, str]:
        """Good for this request in this account and Region alone."""
        return signed(
            self._session, request, account_id=spoke.account_id, region=spoke.region,
            sts=self._sts[spoke.region],
        )  # fmt: skip


def ask_each(
    hub: Hub, verb: Verb, reason: str, *, as_json: bool, policy: str | None = None,
    **fields: object,
) -> int:  # fmt: skip
    """Ask every deployment and print what each answers; FAILED unless all did it, or had.

    Nobody is asked any more after an interrupt, and it is raised again once the answers are printed.
    """
    interrupted: KeyboardInterrupt | None = None
    with ThreadPoolExecutor(AT_ONCE) as pool:
        asked = [pool.submit(hub.ask, s, verb, reason, policy=policy, **fields) for s in hub.spokes]
        try:
            wait(asked)
        except KeyboardInterrupt as stopped:
            interrupted = stopped
            for one in asked:
                one.cancel()
    answers = [INTERRUPTED if one.cancelled() else one.result() for one in asked]
    rows = [
        (str(spoke), UNANSWERED if isinstance(one, str) else one.status.value,
         one if isinstance(one, str) else one.detail)
        for spoke, one in zip(hub.spokes, answers, strict=True)
    ]  # fmt: skip
    if as_json:
        emit([{"spoke": spoke, "status": status, "detail": why} for spoke, status, why in rows])
    else:
        out().print(
            table(
                f"{verb} in {counted(len(rows), 'deployment')}", ("Spoke", "Status", "Detail"), rows
            )
        )
    if interrupted is not None:
        raise interrupted
    good = (Status.DONE, Status.NOTHING)
    return OK if all(isinstance(a, Answer) and a.status in good for a in answers) else FAILED
