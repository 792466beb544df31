"""What people of a hub may ask for, and what their requests do to pauses of the account's own people."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from headroom.adapters.ledger import DynamoLedger
from headroom.domain.policy import Policy, PolicyError
from headroom.domain.state import INDEFINITE, StopState, active_pause
from headroom.ports import ReadFailed
from headroom.requests import (
    Answer,
    Caller,
    HubRoles,
    Ledger,
    Request,
    Status,
    Verb,
    execute_request_for,
)
from tests.builders import ACCOUNT, NOW
from tests.cli.commands.test_pause import ledger

__all__ = ["ledger"]
HUB = "999999999999"
ASKS, PUBLISHES = f"arn:aws:iam::{HUB}:role/x/operators", f"arn:aws:iam::{HUB}:role/owners"
ROLES = HubRoles(asks=ASKS, publishes=PUBLISHES)
ANN = f"arn:aws:sts::{HUB}:assumed-role/operators/ann"
EVA = f"arn:aws:sts::{HUB}:assumed-role/owners/eva"
SAM = f"arn:aws:sts::{ACCOUNT}:assumed-role/people/sam"
HOUR = timedelta(hours=1)


OWN = HubRoles(asks=ASKS.replace(HUB, ACCOUNT), publishes=PUBLISHES.replace(HUB, ACCOUNT))
"""Roles of a hub in the deployment's own account."""
OWN_ANN, OWN_EVA = ANN.replace(HUB, ACCOUNT), EVA.replace(HUB, ACCOUNT)
TAKEN = replace(Policy(version=""), version="1234")


@dataclass
class Sent:
    """A policy that was sent, why it may not be published, and why it cannot be put."""

    refused: str | None = None
    lost: str | None = None
    when_put: Callable[[], object] = lambda: None

    def check(self) -> Policy:
        if self.refused is not None:
            raise PolicyError(self.refused)
        return TAKEN

    def put(self, policy: Policy) -> None:
        self.when_put()
        if self.lost is not None:
            raise ReadFailed(self.lost)


def asked(ledger: Ledger, who: str, verb: Verb, hours: float | None = None, at: datetime = NOW,
          roles: HubRoles = ROLES, sent: Sent | None = None) -> Answer:  # fmt: skip
    pause_for = None if hours is None else hours * HOUR
    request = Request(verb=verb, pause_for=pause_for, reason="quarter" if sent else "", sha256="ab")
    return execute_request_for(
        Caller(who=who, at=at), ledger, request, account_id=ACCOUNT, roles=roles,
        publication=sent or Sent(refused="nothing is published"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("who", "verb", "may"),
    [
        *((ANN, verb, True) for verb in (Verb.APPROVE, Verb.REJECT, Verb.PAUSE, Verb.RESUME)),
        *((ANN, verb, False) for verb in (Verb.ROLLBACK, Verb.RELEASE, Verb.CLOSE_BREAKER,
                                          Verb.PUBLISH_POLICY)),
        (EVA, Verb.PUBLISH_POLICY, True),
        (EVA, Verb.PAUSE, False),
        (ANN.replace("operators", "operators2"), Verb.PAUSE, False),
        (ANN.replace("operators", "Operators"), Verb.PAUSE, False),
        (ANN.replace(HUB, "333333333333"), Verb.PAUSE, False),
        (f"arn:aws:iam::{HUB}:user/operators", Verb.PAUSE, False),
        (f"arn:aws:sts::{HUB}:assumed-role/x/operators/ann", Verb.PAUSE, False),
        (f"{ANN}/more", Verb.PAUSE, False),
        (f"arn:aws:sts::{HUB}:federated-user/operators/ann", Verb.PAUSE, False),
    ],
)  # fmt: skip
def test_only_the_roles_that_the_deployment_names_may_ask(who: str, verb: Verb, may: bool) -> None:
    assert ROLES.allow(who, verb) is may
    assert not HubRoles(asks="off", publishes="off").allow(who, verb)


def test_accounts_that_sts_may_name_are_those_of_the_roles() -> None:
    assert ROLES.accounts == {HUB}
    assert HubRoles(asks="off", publishes="off").accounts == frozenset()


@pytest.mark.parametrize("verb", [Verb.ROLLBACK, Verb.RELEASE, Verb.CLOSE_BREAKER])
def test_what_the_hub_may_not_ask_is_refused_and_records_nothing(
    ledger: DynamoLedger, verb: Verb
) -> None:
    answer = asked(ledger, ANN, verb)
    assert answer.status is Status.REFUSED
    assert answer.detail == f"{ANN} may not {verb} in account {ACCOUNT}."
    assert ledger.notices_written == 0


Asked = tuple[str, Verb, float | None]
PAUSE, RESUME = Verb.PAUSE, Verb.RESUME


@pytest.mark.parametrize(
    ("asks", "status", "until_hours", "who"),
    [
        ([(ANN, PAUSE, 2)], "done", 2, ANN),
        ([(ANN, PAUSE, None)], "done", None, ANN),
        ([(ANN, PAUSE, 2), (ANN, RESUME, None)], "done", 0, ""),
        ([(ANN, RESUME, None)], "nothing", 0, ""),
        ([(SAM, PAUSE, 2), (ANN, PAUSE, 1)], "nothing", 2, SAM),
        ([(SAM, PAUSE, None), (ANN, PAUSE, None)], "nothing", None, SAM),
        ([(SAM, PAUSE, 2), (ANN, RESUME, None)], "refused", 2, SAM),
        ([(SAM, PAUSE, 1), (ANN, PAUSE, 4)], "done", 4, ANN),
        ([(SAM, PAUSE, 1), (ANN, PAUSE, 4), (ANN, RESUME, None)], "done", 1, ANN),
        ([(SAM, PAUSE, 1), (ANN, PAUSE, 4), (ANN, RESUME, None), (ANN, RESUME, None)], "refused", 1, ANN),
        ([(SAM, PAUSE, 1), (ANN, PAUSE, 4), (ANN, PAUSE, 0.5)], "nothing", 4, ANN),
        ([(ANN, PAUSE, 4), (SAM, RESUME, None)], "done", 0, ""),
        ([(ANN, PAUSE, 4), (SAM, PAUSE, 1)], "done", 4, ANN),
        ([(ANN, PAUSE, 4), (SAM, PAUSE, 1), (ANN, RESUME, None)], "done", 1, ANN),
        ([(ANN, PAUSE, 4), (SAM, PAUSE, 1), (ANN, RESUME, None), (ANN, RESUME, None)], "refused", 1, ANN),
        ([(ANN, PAUSE, 4), (SAM, PAUSE, 1), (ANN, RESUME, None), (SAM, PAUSE, 0.5)], "nothing", 1, ANN),
        ([(ANN, PAUSE, 4), (SAM, PAUSE, 1), (SAM, RESUME, None)], "done", 0, ""),
        ([(ANN, PAUSE, 4), (SAM, PAUSE, None), (ANN, RESUME, None)], "refused", None, SAM),
        ([(SAM, PAUSE, 4), (SAM, PAUSE, 1)], "nothing", 4, SAM),
        ([(SAM, PAUSE, None), (SAM, PAUSE, 1)], "nothing", None, SAM),
        ([(SAM, PAUSE, 1), (SAM, PAUSE, 4)], "done", 4, SAM),
        ([(ANN, PAUSE, 4), (ANN, PAUSE, 1)], "nothing", 4, ANN),
        ([(ANN, PAUSE, 1), (ANN, PAUSE, 4)], "done", 4, ANN),
        ([(ANN, PAUSE, 6), (SAM, PAUSE, 4), (SAM, PAUSE, 1), (ANN, RESUME, None)], "done", 4, ANN),
    ],
)  # fmt: skip
def test_the_hub_ends_no_pause_of_the_accounts_own_people(
    ledger: DynamoLedger, asks: list[Asked], status: str, until_hours: float | None, who: str
) -> None:
    answers = [
        asked(ledger, name, verb, hours, NOW + timedelta(seconds=second))
        for second, (name, verb, hours) in enumerate(asks)
    ]
    assert answers[-1].status == status
    pause = active_pause(ledger.stop_state().account.pause, NOW + timedelta(minutes=1))
    if until_hours == 0:
        assert pause is None
        return
    assert pause is not None
    assert pause.who == who
    until = INDEFINITE if until_hours is None else NOW + until_hours * HOUR
    assert abs(pause.until - until) < timedelta(minutes=1)


def test_the_hub_closes_no_breaker_of_the_account(ledger: DynamoLedger) -> None:
    """`resume` of the account's own people does; only the hub's own pause ends by the hub's."""
    assert asked(ledger, ANN, Verb.PAUSE, 1).status is Status.DONE
    assert asked(ledger, ANN, Verb.RESUME, at=NOW + HOUR / 2).status is Status.DONE
    assert ledger.stop_state().account.closed_at is None


@pytest.mark.parametrize(
    ("asks", "status", "until_hours"),
    [
        ([(SAM, PAUSE, 2), (OWN_ANN, PAUSE, 1)], "nothing", 2),
        ([(SAM, PAUSE, 2), (OWN_ANN, RESUME, None)], "refused", 2),
        ([(SAM, PAUSE, 1), (OWN_ANN, PAUSE, 4), (OWN_ANN, RESUME, None)], "done", 1),
        ([(OWN_ANN, PAUSE, 4), (SAM, PAUSE, 1)], "done", 4),
        ([(OWN_ANN, PAUSE, 4), (OWN_ANN, RESUME, None)], "done", 0),
        ([(ANN, PAUSE, 4), (OWN_ANN, RESUME, None)], "done", 0),
    ],
)
def test_a_role_of_the_hub_is_the_hubs_in_the_hubs_own_account_too(
    ledger: DynamoLedger, asks: list[Asked], status: str, until_hours: float
) -> None:
    """The last: the hub was in another account before."""
    answers = [
        asked(ledger, name, verb, hours, NOW + timedelta(seconds=second), OWN)
        if name is not ANN
        else asked(ledger, name, verb, hours)
        for second, (name, verb, hours) in enumerate(asks)
    ]
    assert answers[-1].status == status
    pause = active_pause(ledger.stop_state().account.pause, NOW + timedelta(minutes=1))
    assert (pause is None) is (until_hours == 0)
    assert pause is None or abs(pause.until - NOW - until_hours * HOUR) < timedelta(minutes=1)


def test_what_the_hub_may_not_ask_it_may_not_in_its_own_account_either(
    ledger: DynamoLedger,
) -> None:
    for who, verb in ((OWN_ANN, Verb.CLOSE_BREAKER), (OWN_ANN, Verb.PUBLISH_POLICY),
                      (OWN_EVA, Verb.PAUSE), (OWN_EVA, Verb.RELEASE)):  # fmt: skip
        assert asked(ledger, who, verb, roles=OWN).status is Status.REFUSED
    assert ledger.notices_written == 0
    assert asked(ledger, OWN_EVA, Verb.PUBLISH_POLICY, roles=OWN, sent=Sent()).status is Status.DONE


class Raced:
    """A ledger in which somebody else is faster, between a read and the write after it."""

    def __init__(self, ledger: DynamoLedger, *faster: Callable[[], object]) -> None:
        self._ledger, self._faster = ledger, list(faster)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def stop_state(self) -> StopState:
        found = self._ledger.stop_state()
        if self._faster:
            self._faster.pop(0)()
        return found


@pytest.mark.parametrize(
    ("before", "faster", "slower", "status", "until_hours"),
    [
        ([], (SAM, PAUSE, 2), (ANN, PAUSE, 1), "nothing", 2),
        ([(ANN, PAUSE, 4)], (SAM, PAUSE, 5), (ANN, RESUME, None), "refused", 5),
        ([(ANN, PAUSE, 4)], (SAM, PAUSE, 1), (ANN, RESUME, None), "done", 1),
        ([(SAM, PAUSE, 1)], (SAM, PAUSE, 3), (ANN, PAUSE, 2), "nothing", 3),
        ([], (ANN, PAUSE, 4), (SAM, PAUSE, 1), "done", 4),
        ([(ANN, PAUSE, 4)], (SAM, RESUME, None), (ANN, RESUME, None), "nothing", 0),
    ],
)
def test_no_pause_is_lost_that_comes_between_read_and_write(
    ledger: DynamoLedger, before: list[Asked], faster: Asked, slower: Asked, status: str,
    until_hours: float,
) -> None:  # fmt: skip
    for who, verb, hours in before:
        asked(ledger, who, verb, hours)

    def first() -> None:
        who, verb, hours = faster
        asked(ledger, who, verb, hours, NOW + timedelta(seconds=1))

    who, verb, hours = slower
    raced: Any = Raced(ledger, first)
    assert asked(raced, who, verb, hours, NOW + timedelta(seconds=2)).status == status
    pause = ledger.stop_state().account.pause
    assert (pause is None) is (until_hours == 0)
    assert pause is None or abs(pause.until - NOW - until_hours * HOUR) < timedelta(minutes=1)


def test_a_pause_of_the_accounts_own_people_waits_for_no_quiet_moment(ledger: DynamoLedger) -> None:
    """The hub gives up where the pause never stays as it was read; they do not."""

    def other(second: int) -> Callable[[], object]:
        return lambda: asked(ledger, ANN, PAUSE, 1, NOW + timedelta(seconds=second))

    busy: Any = Raced(ledger, *map(other, range(1, 12)))
    with pytest.raises(ReadFailed, match="changed during each"):
        asked(busy, ANN, PAUSE, 2, NOW + timedelta(minutes=1))
    assert asked(busy, SAM, PAUSE, 3, NOW + timedelta(minutes=2)).status is Status.DONE
    pause = ledger.stop_state().account.pause
    assert pause is not None
    assert pause.who == SAM


class Unread:
    """A ledger whose switches cannot be read, though they can be written."""

    def __init__(self, ledger: DynamoLedger) -> None:
        self._ledger = ledger

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def stop_state(self) -> StopState:
        raise ReadFailed("the kill switch: throttled")


@pytest.mark.parametrize(
    ("before", "hours", "until_hours", "after_hub_resumed"),
    [
        ([], 1, 1, 1),
        ([(SAM, PAUSE, 4)], 1, 4, 4),
        ([(SAM, PAUSE, 1)], 4, 4, 4),
        ([(ANN, PAUSE, 4)], 1, 4, 1),
        ([(ANN, PAUSE, 1)], 4, 4, 4),
        ([(ANN, PAUSE, 6), (SAM, PAUSE, 4)], 1, 6, 4),
        ([(ANN, PAUSE, 6), (SAM, PAUSE, 1)], 4, 6, 4),
    ],
)
def test_a_pause_whose_predecessor_cannot_be_read_shortens_nothing(
    ledger: DynamoLedger, before: list[Asked], hours: float, until_hours: float,
    after_hub_resumed: float,
) -> None:  # fmt: skip
    for who, verb, span in before:
        asked(ledger, who, verb, span)
    unread: Any = Unread(ledger)
    assert asked(unread, SAM, PAUSE, hours).status is Status.DONE

    def until() -> datetime:
        pause = ledger.stop_state().account.pause
        assert pause is not None
        return pause.until

    assert until() == NOW + until_hours * HOUR
    asked(ledger, ANN, RESUME, at=NOW + HOUR / 2)
    assert until() == NOW + after_hub_resumed * HOUR


def test_what_is_recorded_of_a_shorter_pause_is_the_one_in_force(ledger: DynamoLedger) -> None:
    asked(ledger, ANN, PAUSE, 4)
    later = NOW + timedelta(seconds=1)
    answer = asked(ledger, SAM, PAUSE, 1, later)
    assert answer.detail.startswith("a hub paused until 2026-01-05 16:00 UTC, which stays in force")
    newest, _ = ledger.by_outcome("paused", since=NOW, until=later)
    assert newest.summary == f"paused until {(NOW + 4 * HOUR).isoformat()} by {SAM}"


def _published(ledger: DynamoLedger) -> list[str]:
    """Summaries of what was recorded about policies."""
    outcomes = ("policy_published", "policy_refused")
    found = [ledger.by_outcome(o, since=NOW - HOUR, until=NOW + HOUR) for o in outcomes]
    return [record.summary for records in found for record in records]


@pytest.mark.parametrize("refused", [None, "The published policy: it is broad."])
def test_a_published_policy_and_a_refused_one_are_recorded_with_who(
    ledger: DynamoLedger, refused: str | None
) -> None:
    answer = asked(ledger, EVA, Verb.PUBLISH_POLICY, sent=Sent(refused=refused))
    expected = f"policy 1234 published by {EVA}: quarter"
    if refused is not None:
        expected = f"policy of {EVA} refused: {refused}: quarter"
    assert _published(ledger) == [expected]
    assert answer.status is (Status.DONE if refused is None else Status.REFUSED)
    (notice,) = ledger.notices(5)
    assert notice.text == expected


def test_a_policy_is_recorded_before_it_is_put_and_again_if_that_fails(
    ledger: DynamoLedger,
) -> None:
    seen: list[str] = []
    sent = Sent(lost="no answer", when_put=lambda: seen.extend(_published(ledger)))
    with pytest.raises(ReadFailed, match="no answer"):
        asked(ledger, EVA, Verb.PUBLISH_POLICY, sent=sent)
    first = f"policy 1234 published by {EVA}: quarter"
    why = "it is not known whether 1234 is in force: no answer"
    assert seen == [first]
    assert _published(ledger) == [first, f"policy of {EVA} refused: {why}: quarter"]
    assert len(ledger.notices(5)) == 2
    (record,) = ledger.by_outcome("policy_published", since=NOW, until=NOW)
    assert json.loads(record.body)["sha256"] == "ab"


def test_the_accounts_own_people_deploy_their_policy(ledger: DynamoLedger) -> None:
    answer = asked(ledger, SAM, Verb.PUBLISH_POLICY)
    assert answer.status is Status.REFUSED
    assert "Deploy yours" in answer.detail
