"""`headroom pause`, `resume`, `breaker` and `status`: stopping every act, and letting it go on.

They write to the deployment's own tables with the rights of whoever asks, and never touch storage.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, TypeVar

import typer
from botocore.exceptions import BotoCoreError, ClientError

from headroom.adapters.calendars import ManagerCalendars
from headroom.adapters.ledger import DynamoLedger
from headroom.adapters.ledger_budget import account_sum
from headroom.adapters.policies import ParameterPolicies
from headroom.cli import source, traffic_told
from headroom.cli.account import Account, account
from headroom.cli.naming import named, short
from headroom.cli.output import emit, money, out, utc
from headroom.cli.problems import FAILED, OK, BadRequest, Problem
from headroom.cli.source import DEFAULT_STACK
from headroom.domain.policy import Policy, PolicyUnreadable
from headroom.domain.resource_state import usd
from headroom.domain.resources import ResourceRef
from headroom.domain.stops import ENDLESS, Breaker, Pause, Stops, in_force
from headroom.ports import ReadFailed
from headroom.settings import POLICY_PARAMETER

T = TypeVar("T")
LONGEST = timedelta(days=90)
LONGEST_REASON = 500
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}

app = typer.Typer(
    help="See and close the circuit breakers that repeated failures open.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
RegionOption = Annotated[str | None, typer.Option("--region", help="AWS Region it is about.")]
StackOption = Annotated[
    str, typer.Option("--stack", help="CloudFormation stack that holds the tables.")
]
LocalOption = Annotated[
    bool, typer.Option("--local", help="Ask the endpoint `headroom local up` started.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
ReasonOption = Annotated[str, typer.Option(help="Why, for the record.")]


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


def deployment(
    region: str | None, profile: str | None, endpoint_url: str | None, stack: str, local: bool
) -> Deployment:
    """The deployment that the options name; raises BadRequest, Problem."""
    where = account(
        region=region, profile=profile, endpoint_url=endpoint_url, local=local, databases=True
    )
    try:
        stacks = where.client("cloudformation").describe_stacks(StackName=stack)["Stacks"]
    except (ClientError, BotoCoreError) as problem:
        raise Problem(f"Headroom's tables cannot be found in {where.region}: {problem}") from None
    tables = {o["OutputKey"]: o["OutputValue"] for o in stacks[0].get("Outputs", [])}
    if not {"RecordsTable", "StateTable"} <= tables.keys():
        raise Problem(f"Stack {stack} in {where.region} does not say where Headroom's tables are.")
    return Deployment(
        account=where,
        ledger=DynamoLedger(
            where.client("dynamodb"), records_table=tables["RecordsTable"],
            state_table=tables["StateTable"], account_id=where.account_id, region=where.region,
        ),
        state_table=tables["StateTable"],
    )  # fmt: skip


def pause(
    duration: Annotated[
        str | None, typer.Option("--for", help="How long (30m, 2h, 7d); without end otherwise.")
    ] = None,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
    region: RegionOption = None,
    profile: source.ProfileOption = None,
    endpoint_url: source.EndpointOption = None,
    stack: StackOption = DEFAULT_STACK,
    local: LocalOption = False,
) -> int:
    """Stop every change in an account and Region, from this instant on.

    What AWS is doing already goes on and is verified; looks and records go on.
    """
    span, reason = None if duration is None else _span(duration), plain_reason(reason)
    here = deployment(region, profile, endpoint_url, stack, local)
    now = here.account.now
    until = None if span is None else now + span
    written(lambda: here.ledger.pause(until, at=now, who=here.account.caller, reason=reason))
    stops = _stops(here)
    if as_json:
        emit(as_object(stops, now))
    else:
        out().print(
            f"Paused: nothing is changed in {here.place} {_until(until or ENDLESS)}.",
            markup=False, soft_wrap=True,
        )  # fmt: skip
    return OK


def resume(
    reason: ReasonOption = "",
    as_json: JsonOption = False,
    region: RegionOption = None,
    profile: source.ProfileOption = None,
    endpoint_url: source.EndpointOption = None,
    stack: StackOption = DEFAULT_STACK,
    local: LocalOption = False,
) -> int:
    """End a pause, and close the account's breaker if it is open; breakers of volumes stay open.

    The fleet is scanned with the next sweep, within a minute.
    """
    reason = plain_reason(reason)
    here = deployment(region, profile, endpoint_url, stack, local)
    now, who = here.account.now, here.account.caller
    before = _stops(here)
    was_paused = in_force(before.account.pause, now) is not None
    if before.account.pause is not None:
        written(lambda: here.ledger.resume(at=now, who=who, reason=reason))
    if before.account.breaker is not None:
        written(lambda: here.ledger.close_breaker(None, at=now, who=who, reason=reason))
    stops = _stops(here)
    if as_json:
        emit(as_object(stops, now))
        return OK
    stopped = was_paused or before.account.breaker is not None
    told = "Resumed: changes go on" if stopped else "Nothing was stopped: changes go on"
    say(f"{told} in {here.place}.")
    for breaker in stops.breakers:
        say(f"Still left alone: {_broken(breaker)}")
    return OK


@app.command("list")
def breakers(
    as_json: JsonOption = False,
    region: RegionOption = None,
    profile: source.ProfileOption = None,
    endpoint_url: source.EndpointOption = None,
    stack: StackOption = DEFAULT_STACK,
    local: LocalOption = False,
) -> int:
    """List what repeated failures stopped, the oldest first; exit code 1 when there is any."""
    here = deployment(region, profile, endpoint_url, stack, local)
    stops = _stops(here)
    found = [b for b in (stops.account.breaker, *stops.breakers) if b is not None]
    if as_json:
        emit([_breaker_object(breaker) for breaker in found])
    else:
        for breaker in found:
            say(_broken(breaker))
        if not found:
            say(f"No breaker is open in {here.place}.")
    return FAILED if found else OK


@app.command()
def close(
    volume: Annotated[
        str | None,
        typer.Argument(metavar="RESOURCE", help="Whose breaker is open: vol-ID, db:NAME."),
    ] = None,
    whole_account: Annotated[
        bool, typer.Option("--account", help="Close the breaker of the whole account.")
    ] = False,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
    region: RegionOption = None,
    profile: source.ProfileOption = None,
    endpoint_url: source.EndpointOption = None,
    stack: StackOption = DEFAULT_STACK,
    local: LocalOption = False,
) -> int:
    """Let Headroom change a volume, a database or the whole account again after failures."""
    if (volume is None) != whole_account:
        raise BadRequest(
            "Name a volume or database, or say --account for the breaker of the whole account."
        )
    reason = plain_reason(reason)
    here = deployment(region, profile, endpoint_url, stack, local)
    ref = None if volume is None else here.ref(volume)
    now, who = here.account.now, here.account.caller
    closed = written(lambda: here.ledger.close_breaker(ref, at=now, who=who, reason=reason))
    name = here.place if ref is None else short(ref.arn)
    if as_json:
        emit({"closed": closed, "resource": name})
    elif closed:
        say(f"Closed: {name} is changed again when it needs it.")
    else:
        say(f"The breaker of {name} was not open.")
    return OK


def status(
    as_json: JsonOption = False,
    region: RegionOption = None,
    profile: source.ProfileOption = None,
    endpoint_url: source.EndpointOption = None,
    stack: StackOption = DEFAULT_STACK,
    local: LocalOption = False,
) -> int:
    """Say which policy is in force, what is stopped, spent, under way, closed, and who waits."""
    here = deployment(region, profile, endpoint_url, stack, local)
    now = here.account.now
    stops = _stops(here)
    policies = ParameterPolicies(here.account.client("ssm"), parameter=POLICY_PARAMETER)
    policy = policies.current()
    unreadable = policy.reason if isinstance(policy, PolicyUnreadable) else None
    taken, asked = usd(_increase(here)), _asked(here, now)
    traffic = None if isinstance(policy, PolicyUnreadable) else _traffic(here, policy, now)
    if as_json:
        version = None if isinstance(policy, PolicyUnreadable) else policy.version
        emit({"account": here.account.account_id, "region": here.account.region,
              "policy_version": version, "policy_unreadable": unreadable,
              "increase_usd": float(taken), "awaiting_approval": asked,
              "traffic": None if traffic is None else traffic_told.as_object(traffic),
              **as_object(stops, now)})  # fmt: skip
        return OK
    if isinstance(policy, PolicyUnreadable):
        say(f"Policy: cannot be read, so nothing is changed: {policy.reason}")
    else:
        say(f"Policy: version {policy.version}, mode {policy.defaults.mode.value} where nothing "
              f"else is said, {len(policy.rules)} rules.")  # fmt: skip
        say(f"Budget: {money(taken)} of {money(policy.account_increase_usd)} a month taken up; "
              "`headroom budget` shows by what.")  # fmt: skip
    for line in lines(stops, now):
        say(line)
    if not list(lines(stops, now)):
        say(f"Nothing is paused in {here.place}, and no breaker is open.")
    if asked:
        say(f"Waiting for a person's approval: {asked}; `headroom approvals` lists them.")
    for line in () if traffic is None else traffic_told.lines(traffic):
        say(line)
    return OK


def _asked(here: Deployment, now: datetime) -> int:
    """How many changes wait for a person."""
    try:
        return len(here.ledger.waiting(now))
    except ReadFailed as problem:
        raise Problem(f"What waits for approval cannot be read: {problem}") from None


def _traffic(here: Deployment, policy: Policy, now: datetime) -> traffic_told.Seen:
    calendars = ManagerCalendars(here.account.client("ssm"))
    try:
        return traffic_told.Seen(
            policy=policy, traffic=here.ledger.traffic(),
            queue=here.ledger.queue(traffic_told.QUEUE_READ),
            calendars=calendars.seen(policy.calendars, now), now=now,
        )  # fmt: skip
    except ReadFailed as problem:
        raise Problem(f"The changes under way cannot be read: {problem}") from None


def lines(stops: Stops, now: datetime) -> list[str]:
    """What is stopped, a line each; none when nothing is."""
    found = []
    paused = in_force(stops.account.pause, now)
    if paused is not None:
        found.append(_paused(paused))
    if stops.account.breaker is not None:
        found.append(f"Stopped: {_broken(stops.account.breaker)}")
    return [*found, *(f"Left alone: {_broken(breaker)}" for breaker in stops.breakers)]


def as_object(stops: Stops, now: datetime) -> dict[str, object]:
    """What is stopped, for JSON."""
    paused = in_force(stops.account.pause, now)
    breaker = stops.account.breaker
    return {
        "paused": None
        if paused is None
        else {
            "until": None if paused.until >= ENDLESS else paused.until.isoformat(),
            "since": paused.since.isoformat(),
            "who": paused.who,
            "reason": paused.reason,
        },
        "account_breaker": None if breaker is None else _breaker_object(breaker),
        "breakers": [_breaker_object(one) for one in stops.breakers],
    }


def _breaker_object(breaker: Breaker) -> dict[str, object]:
    return {"resource": breaker.resource, "opened_at": breaker.opened_at.isoformat(),
            "failures": breaker.failures, "why": breaker.why}  # fmt: skip


def _paused(paused: Pause) -> str:
    line = f"Paused {_until(paused.until)}, since {utc(paused.since)} by {paused.who}"
    return f"{line}: {paused.reason}" if paused.reason else line


def _until(until: datetime) -> str:
    return "until somebody resumes" if until >= ENDLESS else f"until {utc(until)}"


def _broken(breaker: Breaker) -> str:
    name = short(breaker.resource)
    close = f"`headroom breaker close {name}`"
    if name.startswith("account#"):
        name, close = "the whole account", "`headroom breaker close --account`"
    return (
        f"{name}, since {utc(breaker.opened_at)}, after {breaker.failures} failures in a row "
        f"({breaker.why}); {close}"
    )


def _span(text: str) -> timedelta:
    found = re.fullmatch(r"(\d{1,6})([mhd])", text)
    span = timedelta(**{_UNITS[found[2]]: int(found[1])}) if found else timedelta(0)
    if not timedelta(0) < span <= LONGEST:
        raise BadRequest(f"--for {text!r} is no time to pause; write 30m, 2h or 7d, at most 90d.")
    return span


def plain_reason(text: str) -> str:
    """A reason as it is recorded: one line of text."""
    plain = " ".join(text.encode("utf-8", "replace").decode("utf-8").split())
    if len(plain) > LONGEST_REASON:
        raise BadRequest(f"--reason has {len(plain)} characters; {LONGEST_REASON} is the most.")
    return plain


def _stops(here: Deployment) -> Stops:
    try:
        return here.ledger.stops()
    except ReadFailed as problem:
        raise Problem(f"What is stopped cannot be read: {problem}") from None


def _increase(here: Deployment) -> int:
    try:
        return account_sum(
            here.account.client("dynamodb"), table=here.state_table,
            account_id=here.account.account_id, region=here.account.region,
        )  # fmt: skip
    except ReadFailed as problem:
        raise Problem(f"The budget cannot be read: {problem}") from None


def written(write: Callable[[], T]) -> T:
    try:
        return write()
    except ReadFailed as problem:
        raise Problem(f"Nothing was changed, or that is not known: {problem}") from None


def say(text: str) -> None:
    out().print(text, markup=False, soft_wrap=True)
