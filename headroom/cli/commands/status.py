"""`headroom status`: the policy in force, pauses, the budget, changes in progress and requests."""

from __future__ import annotations

from datetime import datetime

from headroom.adapters.ledger import account_sum
from headroom.adapters.parameters import ManagerCalendars
from headroom.cli.sources.deployment import Deployment, deployment, reading, stops_of
from headroom.cli.sources.options import DeploymentOptions, JsonOption
from headroom.cli.sources.published import published_policy
from headroom.cli.terminal.output import emit, money, say
from headroom.cli.terminal.problems import OK
from headroom.cli.views import concurrency as concurrency_view
from headroom.cli.views.breakers import as_object, lines
from headroom.domain.policy import Policy, PolicyUnreadable
from headroom.domain.state import usd


def status(as_json: JsonOption = False, *, where: DeploymentOptions) -> int:
    """Show the policy, the budget, pauses and breakers, changes in progress, freezes and requests."""
    here = deployment(where)
    now = here.account.now
    stop_state = stops_of(here)
    policy = published_policy(here.account)
    unreadable = policy.reason if isinstance(policy, PolicyUnreadable) else None
    taken, asked = usd(_increase(here)), _asked(here, now)
    concurrency = None if isinstance(policy, PolicyUnreadable) else _concurrency(here, policy, now)
    if as_json:
        version = None if isinstance(policy, PolicyUnreadable) else policy.version
        emit({"account": here.account.account_id, "region": here.account.region,
              "policy_version": version, "policy_unreadable": unreadable,
              "increase_usd": taken, "awaiting_approval": asked,
              "concurrency": None if concurrency is None else concurrency_view.as_object(concurrency),
              **as_object(stop_state, now)})  # fmt: skip
        return OK
    if isinstance(policy, PolicyUnreadable):
        say(f"Policy: unreadable, so Headroom changes nothing: {policy.reason}")
    else:
        say(f"Policy: version {policy.version}, default mode {policy.defaults.mode.value}, "
              f"{len(policy.rules)} rules.")  # fmt: skip
        say(f"Budget: {money(taken)} of {money(policy.account_increase_usd)} a month used; "
              "`headroom budget` lists the volumes.")  # fmt: skip
    for line in lines(stop_state, now):
        say(line)
    if not list(lines(stop_state, now)):
        say(f"Nothing is paused in {here.place}, and no breaker is open.")
    if asked:
        say(f"Waiting for approval: {asked}; `headroom approvals` lists them.")
    for line in () if concurrency is None else concurrency_view.lines(concurrency):
        say(line)
    return OK


def _asked(here: Deployment, now: datetime) -> int:
    """How many changes wait for approval."""
    with reading("The approval requests"):
        return len(here.ledger.waiting(now))


def _concurrency(
    here: Deployment, policy: Policy, now: datetime
) -> concurrency_view.ConcurrencyView:
    calendars = ManagerCalendars(here.account.client("ssm"))
    with reading("The changes in progress"):
        return concurrency_view.ConcurrencyView(
            policy=policy, concurrency=here.ledger.concurrency(),
            queue=here.ledger.queue(concurrency_view.QUEUE_READ),
            calendars=calendars.seen(policy.calendars, now), now=now,
        )  # fmt: skip


def _increase(here: Deployment) -> int:
    with reading("The budget"):
        return account_sum(
            here.account.client("dynamodb"), table=here.state_table,
            account_id=here.account.account_id, region=here.account.region,
        )  # fmt: skip
