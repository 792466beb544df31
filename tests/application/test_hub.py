"""What people of a hub may ask for, and what their requests do to pauses of the account's own people."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from headroom.adapters.ledger import DynamoLedger
from headroom.application import Answer, Caller, HubRoles, Request, Status, Verb, carry_out_for
from headroom.domain.policy import Policy, PolicyError
from headroom.domain.state import INDEFINITE, active_pause
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


def _no_policy() -> Policy:
    raise AssertionError("nothing is published")


def asked(ledger: DynamoLedger, who: str, verb: Verb, hours: float | None = None,
          at: datetime = NOW, roles: HubRoles = ROLES) -> Answer:  # fmt: skip
    request = Request(verb=verb, pause_for=None if hours is None else hours * HOUR)
    return carry_out_for(
        Caller(who=who, at=at), ledger, request, account_id=ACCOUNT, roles=roles, publish=_no_policy
    )


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
        ([(ANN, PAUSE, 4), (ANN, PAUSE, 1)], "done", 1, ANN),
        ([(ANN, PAUSE, 4), (SAM, RESUME, None)], "done", 0, ""),
        ([(ANN, PAUSE, 4), (SAM, PAUSE, 1), (ANN, RESUME, None)], "refused", 1, SAM),
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
    assert pause.until - until < timedelta(minutes=1)


def test_the_hub_closes_no_breaker_of_the_account(ledger: DynamoLedger) -> None:
    """`resume` of the account's own people does; only the hub's own pause ends by the hub's."""
    assert asked(ledger, ANN, Verb.PAUSE, 1).status is Status.DONE
    assert asked(ledger, ANN, Verb.RESUME, at=NOW + HOUR / 2).status is Status.DONE
    assert ledger.stop_state().account.closed_at is None


@pytest.mark.parametrize("refused", [None, "The published policy: it is broad."])
def test_a_published_policy_and_a_refused_one_are_recorded_with_who(
    ledger: DynamoLedger, refused: str | None
) -> None:
    def publish() -> Policy:
        if refused is not None:
            raise PolicyError(refused)
        return replace(Policy(version=""), version="1234")

    answer = carry_out_for(
        Caller(who=EVA, at=NOW), ledger, Request(verb=Verb.PUBLISH_POLICY, reason="quarter"),
        account_id=ACCOUNT, roles=ROLES, publish=publish,
    )  # fmt: skip
    outcome = "policy_published" if refused is None else "policy_refused"
    (record,) = ledger.by_outcome(outcome, since=NOW - HOUR, until=NOW + HOUR)
    assert EVA in record.summary
    assert record.summary.endswith(": quarter")
    assert answer.status is (Status.DONE if refused is None else Status.REFUSED)
    assert refused is None or refused in record.summary
    (notice,) = ledger.notices(5)
    assert notice.text == record.summary


def test_the_accounts_own_people_deploy_their_policy(ledger: DynamoLedger) -> None:
    answer = asked(ledger, SAM, Verb.PUBLISH_POLICY)
    assert answer.status is Status.REFUSED
    assert "Deploy yours" in answer.detail
