"""A proof names its signer for one request in one place, and for nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.credentials import Credentials

from headroom.adapters.callers import NotProven, caller_of, prove, sts_url
from tests.builders import ACCOUNT, REGION
from tests.cli.deployed import Sts

URL = sts_url("aws", REGION)
ALICE = f"arn:aws:sts::{ACCOUNT}:assumed-role/people/alice"
REQUEST = '{"verb": "pause"}'


def proof(request: str = REQUEST, *, token: str | None = None, **other: Any) -> dict[str, str]:
    place = {"account_id": ACCOUNT, "region": REGION, "url": URL} | other
    return prove(request, Credentials("FOOBARKEY", "FOOBARSECRET", token), **place).as_object()


def signed_at(given: object) -> datetime:
    """When a proof was made: parameters of tests are made long before they run."""
    date = given.get("date") if isinstance(given, dict) else None
    try:
        return datetime.strptime(str(date), "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return datetime.now(UTC)


def named(
    given: object, request: str = REQUEST, sts: Any = None, later: timedelta = timedelta(0)
) -> str:
    return caller_of(
        request, given, account_id=ACCOUNT, region=REGION, url=URL, send=sts or Sts(), now=signed_at(given) + later
    )  # fmt: skip


@pytest.mark.parametrize("token", [None, "a/session+token=="])
def test_the_signer_is_named(token: str | None) -> None:
    assert named(proof(token=token)) == ALICE


@pytest.mark.parametrize(
    "given",
    [
        proof('{"verb": "resume"}'),
        proof(account_id="999999999999"),
        proof(url=sts_url("aws", "eu-west-1")),
        proof(url="https://other.example/"),
    ],
    ids=["another request", "another account", "another Region's STS", "another host"],
)  # fmt: skip
def test_what_was_signed_for_anything_else_is_refused_by_sts(given: dict[str, str]) -> None:
    with pytest.raises(NotProven, match="SignatureDoesNotMatch"):
        named(given)


def test_another_time_is_refused_by_sts() -> None:
    other = datetime.now(UTC) - timedelta(minutes=2)
    with pytest.raises(NotProven, match="SignatureDoesNotMatch"):
        named({**proof(), "date": f"{other:%Y%m%dT%H%M%SZ}"})


@pytest.mark.parametrize("minutes", [-6, 6, 14, 60 * 24 * 365])
def test_a_proof_is_good_for_five_minutes_whatever_sts_takes(minutes: int) -> None:
    def send(*_: object) -> tuple[int, str]:
        raise AssertionError("it was sent to STS")

    with pytest.raises(NotProven, match="5 minutes before or after now"):
        named(proof(), sts=send, later=timedelta(minutes=minutes))


@pytest.mark.parametrize(
    "given",
    [
        None, [], "proof", {}, {**proof(), "who": "boss"}, {**proof(), "date": 1},
        {**proof(), "date": "today"}, {**proof(), "date": "20269999T000000Z"}, {**proof(token="a"), "token": "a\r\nHost: elsewhere"},
        {**proof(token="a"), "token": "x" * 8_193}, {**proof(), "token": "a"}, proof(region="eu-west-1"),
        {**proof(), "authorization": proof()["authorization"].replace(";x-headroom-request", "")},
        {**proof(), "authorization": proof()["authorization"] + "\r\nHost: elsewhere"},
        {**proof(), "authorization": proof()["authorization"].replace("/sts/", "/ec2/")},
    ],
)  # fmt: skip
def test_what_is_no_proof_for_this_is_sent_nowhere(given: object) -> None:
    def send(*_: object) -> tuple[int, str]:
        raise AssertionError("it was sent to STS")

    with pytest.raises(NotProven):
        named(given, sts=send)


def test_a_caller_of_another_account_is_refused() -> None:
    with pytest.raises(NotProven, match="not of account"):
        named(proof(), sts=Sts(account_id="999999999999"))


def test_a_caller_of_a_hub_that_the_deployment_names_is_named() -> None:
    hub = "999999999999"
    found = caller_of(
        REQUEST, proof(), account_id=ACCOUNT, region=REGION, url=URL, send=Sts(account_id=hub),
        now=datetime.now(UTC), hubs={hub},
    )  # fmt: skip
    assert found == f"arn:aws:sts::{hub}:assumed-role/people/alice"


@pytest.mark.parametrize("answer", ["", "<Arn></Arn>", "<Arn>x</Arn>", "{}"])
def test_an_answer_without_a_name_names_nobody(answer: str) -> None:
    with pytest.raises(NotProven, match="names no caller"):
        named(proof(), sts=lambda *_: (200, answer))


def test_a_proof_shows_nothing_of_itself() -> None:
    credentials = Credentials("FOOBARKEY", "FOOBARSECRET", "token")
    made = prove(REQUEST, credentials, account_id=ACCOUNT, region=REGION, url=URL)
    assert repr(made) == "Proof()"


@pytest.mark.parametrize(
    ("partition", "region", "host"),
    [
        ("aws", "eu-west-1", "sts.eu-west-1.amazonaws.com"),
        ("aws-cn", "cn-north-1", "sts.cn-north-1.amazonaws.com.cn"),
        ("aws-us-gov", "us-gov-west-1", "sts.us-gov-west-1.amazonaws.com"),
    ],
)
def test_sts_is_that_of_the_region(partition: str, region: str, host: str) -> None:
    assert sts_url(partition, region) == f"https://{host}/"
