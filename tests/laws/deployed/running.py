"""Runs the deployed functions as Lambda and SQS do: at least once, in any order, until all is quiet."""

from __future__ import annotations

import importlib
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from os import devnull, environ
from types import ModuleType
from typing import Any, ClassVar

import boto3
from botocore.retries.adaptive import ClientRateLimiter
from botocore.retries.quota import RetryQuota

from headroom import clock, wiring
from headroom.account import session_in
from headroom.adapters.ledger.transactions import Transactions
from headroom.adapters.tables import DUE_SHARDS, RECORDS, STATE
from headroom.settings import Detection, FunctionSettings
from tests.builders import ACCOUNT, REGION
from tests.laws.deployed.account import VISIBLE_AFTER, Account
from tests.laws.deployed.faults import NO_FAULT, Crash, Fault, Invocation
from tests.laws.deployed.wire import connect

ARN = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:headroom"
SETTINGS = FunctionSettings(
    records_table=RECORDS.name, state_table=STATE.name, policy_parameter="/headroom/policy",
    topic_arn=f"arn:aws:sns:{REGION}:{ACCOUNT}:headroom", scan_every_minutes=1_440,
    queue_url=f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/work", kinds="ebs,rds,aurora",
    detection=Detection.FLEET,
)  # fmt: skip
ADAPTIVE = replace(SETTINGS, detection=Detection.ADAPTIVE, scan_every_minutes=5)
"""As deployed by default: no alarms are needed."""
BATCH = 10
MOST_RECEIVES = 200
"""Far more than any message needs here."""
MINUTE = timedelta(minutes=1)
PUBLISHED_WITHIN = timedelta(minutes=11)
"""A dispatcher that has nothing else to do is not run every minute here, only so soon after a record."""
NOWHERE = open(devnull, "w")  # noqa: SIM115 - loggers that are made meanwhile keep it
_accounts: list[Account] = []
"""The account that answers now."""


class Context:
    """What Lambda hands to a handler."""

    invoked_function_arn, function_name, memory_limit_in_mb = ARN, "headroom", 512
    aws_request_id = "r"

    def get_remaining_time_in_millis(self) -> int:
        return 300_000


@cache
def _session() -> boto3.Session:
    session = session_in(REGION, aws_access_key_id="testing", aws_secret_access_key="testing")
    connect(session, lambda call: _accounts[-1].answer(call))
    return session


@cache
def _clients() -> dict[tuple[str, bool], Any]:
    """Clients by service, made once: making them is slower than any history."""
    return {}


def _cold_start(settings: FunctionSettings) -> wiring.FleetAccount:
    """What a new process works with: nothing is remembered but the clients."""
    started = wiring.FleetAccount(settings, region=REGION, account_id=ACCOUNT, session=_session())
    started._clients = _clients()
    return started


@contextmanager
def deployed(account: Account, settings: FunctionSettings = SETTINGS) -> Iterator[Functions]:
    """Within it, the functions run against this account, by its clock."""
    patches: list[tuple[Any, str, Any]] = [
        (clock, "utc_now", lambda: account.now),
        (wiring, "price_list_from", lambda *_, **__: None),
        (Transactions, "wait", lambda self, attempt: None),
        (time, "sleep", lambda s: None),
        # Clients outlive a history: what they remember of one must not slow down the next.
        (ClientRateLimiter, "on_sending_request", lambda self, request, **_: None),
        (ClientRateLimiter, "on_receiving_response", lambda self, **_: None),
        (RetryQuota, "acquire", lambda self, capacity_amount: True),
    ]
    before = [(where, name, getattr(where, name)) for where, name, _ in patches]
    environment = dict(environ)
    environ.update(settings.to_environment() | {"POWERTOOLS_METRICS_DISABLED": "true"})
    functions = Functions(account=account, settings=settings, process=_cold_start(settings))
    patches.append((wiring, "_account", lambda arn: functions.process))
    before.append((wiring, "_account", wiring._account))
    logging.disable(logging.CRITICAL)
    _accounts.append(account)
    try:
        for where, name, value in patches:
            setattr(where, name, value)
        with redirect_stdout(NOWHERE):
            yield functions
    finally:
        _accounts.pop()
        logging.disable(logging.NOTSET)
        for where, name, value in before:
            setattr(where, name, value)
        environ.clear()
        environ.update(environment)


@dataclass(slots=True, kw_only=True)
class Functions:
    """The deployed functions of an account."""

    account: Account
    settings: FunctionSettings
    process: wiring.FleetAccount
    invocations: list[Invocation] = field(default_factory=list)
    crashes: int = 0
    plan: dict[int, Fault] = field(default_factory=dict)
    """What befalls an invocation, by its number from 0."""
    meanwhile: Callable[[], None] = lambda: None
    _published: int = 0
    """Records there were when the dispatcher ran last."""
    _before: int = 0
    """The same for the run before that one."""
    _publish_by: datetime | None = None
    _dispatched_at: datetime | None = None
    _loaded: ClassVar[dict[str, ModuleType]] = {}

    @property
    def scan_every(self) -> timedelta:
        """The time from one scan of the fleet to the next."""
        return timedelta(minutes=self.settings.scan_every_minutes)

    def function(self, name: str) -> ModuleType:
        """A module of `lambdas` with one thread, so that a history is the same each time."""
        if name not in self._loaded:
            module = importlib.import_module(f"lambdas.{name}")
            module.THREADS = 1  # type: ignore[attr-defined]
            self._loaded[name] = module
        return self._loaded[name]

    def dispatch(self) -> None:
        """The dispatcher's run of a minute."""
        number = len(self.invocations)
        self._dispatched_at = self.account.now
        self._run(lambda: self.function("sweep").handler({}, Context()))
        if self.invocations[number].struck:
            self._publish_by = self.account.now + MINUTE
            return
        self._before, self._publish_by = self._published, None
        self._published = len(self.account.tables.items(RECORDS.name))

    def deliver(self) -> bool:
        """Hand a worker what is visible on the queue, if anything; whether there was."""
        account = self.account
        taken = [n for n, m in account.queue.items() if m.visible_at <= account.now][:BATCH]
        if not taken:
            return False
        records = []
        for name in taken:
            message = account.queue[name]
            message.receives += 1
            if message.receives > MOST_RECEIVES:
                raise RuntimeError(f"received {MOST_RECEIVES} times: {message.body}")
            message.visible_at = account.now + VISIBLE_AFTER
            times = {"ApproximateReceiveCount": str(message.receives)}
            records.append(
                {
                    "messageId": name,
                    "receiptHandle": name,
                    "body": message.body,
                    "attributes": times,
                }
            )
        done = self._run(lambda: self.function("signals").handler({"Records": records}, Context()))
        if done is not None:
            failed = {each["itemIdentifier"] for each in done["batchItemFailures"]}
            for name in set(taken) - failed:
                account.queue.pop(name, None)
        return True

    def until(self, end: datetime, quiet: Callable[[], bool] = lambda: False) -> None:
        """Let time pass: workers take what is visible, the dispatcher runs where it has work.

        Ends early once it is `quiet` and nothing is on the queue.
        """
        account = self.account
        while account.now < end:
            if not account.queue and quiet():
                return
            if self.deliver():
                continue
            at = self._next()
            if at is None or at > end:
                account.now = end
                return
            account.now = max(account.now, at)
            if any(m.visible_at <= account.now for m in account.queue.values()):
                continue
            account.now = max(account.now, _minute(account.now))
            self.dispatch()
            account.now += timedelta(seconds=1)

    def published(self) -> bool:
        """Whether nothing was recorded since the dispatcher ran last, and a run before saw it."""
        return len(self.account.tables.items(RECORDS.name)) == self._published == self._before

    def _next(self) -> datetime | None:
        """When anything has to be done next; None when all is quiet."""
        account = self.account
        times = [m.visible_at for m in account.queue.values()]
        if len(account.tables.items(RECORDS.name)) != self._published:
            self._publish_by = self._publish_by or account.now + PUBLISHED_WITHIN
            times.append(self._publish_by)
        for shard in DUE_SHARDS:
            found = account.tables.partition("due", shard)
            times += [datetime.fromisoformat(stored["wake_at"]) for stored in found]
        if self.settings.detection is Detection.ADAPTIVE:
            times.append((self._dispatched_at or account.now) + self.scan_every)
        if any(n["item"].startswith("notice#") for n in self._of_account()):
            times.append(account.now + MINUTE)
        return min(times, default=None)

    def _of_account(self) -> list[Any]:
        return self.account.tables.partition(STATE.name, f"account#{ACCOUNT}#{REGION}")

    def _run(self, work: Callable[[], Any]) -> Any:
        """One invocation; None if its process died. What it raises is Lambda's to log."""
        account, outer = self.account, self.account.invocation
        fault = self.plan.get(len(self.invocations), NO_FAULT)
        account.invocation = Invocation(fault=fault, meanwhile=self.meanwhile)
        self.invocations.append(account.invocation)
        try:
            return work()
        except Crash:
            self.crashes += 1
            self.process = _cold_start(self.settings)
            return None
        except Exception as error:
            account.invocation.log.append(f"raised {error!r}")
            return None
        finally:
            account.invocation = outer


def _minute(at: datetime) -> datetime:
    whole = at.replace(second=0, microsecond=0)
    return whole if whole == at else whole + MINUTE
