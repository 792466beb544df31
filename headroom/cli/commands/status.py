"""`headroom status`: what is in force, stopped, spent, under way and waiting."""

from __future__ import annotations

from datetime import datetime

from headroom.adapters.ledger import account_sum
from headroom.adapters.parameters import ManagerCalendars, ParameterPolicies
from headroom.cli.sources.deployment import (
    Deployment,
    deployment,
    say,
    stops_of,
)
from headroom.cli.sources.options import DeploymentOptions, JsonOption
from headroom.cli.terminal.output import emit, money
from headroom.cli.terminal.problems import OK, Problem
from headroom.cli.views import concurrency as traffic_told
from headroom.cli.views.breakers import as_object, lines
from headroom.domain.policy import Policy, PolicyUnreadable
from headroom.domain.state import usd
from headroom.ports import ReadFailed
from headroom.settings import POLICY_PARAMETER


def status(
    as_json: JsonOption = False,
    *,
    where: DeploymentOptions,
) -> int:
    """Say which policy is in force, what is stopped, spent, under way, closed, and who waits."""
    here = deployment(where)
    now = here.account.now
    stop_state = stops_of(here)
    policies = ParameterPolicies(here.account.client("ssm"), parameter=POLICY_PARAMETER)
    policy = policies.current()
    unreadable = policy.reason if isinstance(policy, PolicyUnreadable) else None
    taken, asked = usd(_increase(here)), _asked(here, now)
    concurrency = None if isinstance(policy, PolicyUnreadable) else _traffic(here, policy, now)
    if as_json:
        version = None if isinstance(policy, PolicyUnreadable) else policy.version
        emit({"account": here.account.account_id, "region": here.account.region,
              "policy_version": version, "policy_unreadable": unreadable,
              "increase_usd": float(taken), "awaiting_approval": asked,
              "concurrency": None if concurrency is None else traffic_told.as_object(concurrency),
              **as_object(stop_state, now)})  # fmt: skip
        return OK
    if isinstance(policy, PolicyUnreadable):
        say(f"Policy: cannot be read, so nothing is changed: {policy.reason}")
    else:
        say(f"Policy: version {policy.version}, mode {policy.defaults.mode.value} where nothing "
              f"else is said, {len(policy.rules)} rules.")  # fmt: skip
        say(f"Budget: {money(taken)} of {money(policy.account_increase_usd)} a month taken up; "
              "`headroom budget` shows by what.")  # fmt: skip
    for line in lines(stop_state, now):
        say(line)
    if not list(lines(stop_state, now)):
        say(f"Nothing is paused in {here.place}, and no breaker is open.")
    if asked:
        say(f"Waiting for a person's approval: {asked}; `headroom approvals` lists them.")
    for line in () if concurrency is None else traffic_told.lines(concurrency):
        say(line)
    return OK


def _asked(here: Deployment, now: datetime) -> int:
    """How many changes wait for a person."""
    try:
        return len(here.ledger.waiting(now))
    except ReadFailed as problem:
        raise Problem(f"What waits for approval cannot be read: {problem}") from None


def _traffic(here: Deployment, policy: Policy, now: datetime) -> traffic_told.ConcurrencyView:
    calendars = ManagerCalendars(here.account.client("ssm"))
    try:
        return traffic_told.ConcurrencyView(
            policy=policy, concurrency=here.ledger.concurrency(),
            queue=here.ledger.queue(traffic_told.QUEUE_READ),
            calendars=calendars.seen(policy.calendars, now), now=now,
        )  # fmt: skip
    except ReadFailed as problem:
        raise Problem(f"The changes under way cannot be read: {problem}") from None


def _increase(here: Deployment) -> int:
    try:
        return account_sum(
            here.account.client("dynamodb"), table=here.state_table,
            account_id=here.account.account_id, region=here.account.region,
        )  # fmt: skip
    except ReadFailed as problem:
        raise Problem(f"The budget cannot be read: {problem}") from None
