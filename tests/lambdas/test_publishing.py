"""A policy that a hub publishes replaces one that can be read, and no other."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from headroom.account import Account, ReceivedPolicy
from headroom.domain.policy import HardCaps, PolicyError
from headroom.policy import canonical_json, default_policy, parse_policy
from headroom.ports import ReadFailed
from headroom.settings import FunctionSettings
from tests.builders import ACCOUNT, REGION

NAME = "/headroom/policy"
TEXT = canonical_json(parse_policy({"version": 1, "defaults": {"max_iops": 4_000}}, source="test"))
SETTINGS = FunctionSettings(
    records_table="records", state_table="state", policy_parameter=NAME, topic_arn="topic",
    queue_url="queue", kinds="ebs", hard_caps=HardCaps(),
)  # fmt: skip


@pytest.fixture
def account() -> Iterator[Account]:
    with mock_aws():
        session = boto3.Session("testing", "testing", region_name=REGION)
        yield Account(SETTINGS, region=REGION, account_id=ACCOUNT, session=session)


def sent(account: Account, text: str = TEXT) -> ReceivedPolicy:
    digest = hashlib.sha256(TEXT.encode()).hexdigest()
    return ReceivedPolicy(account=account, text=text, sha256=digest, who="eva")


def store(account: Account, text: str) -> None:
    account.reads("ssm").put_parameter(Name=NAME, Value=text, Type="String", Overwrite=True)


@pytest.mark.parametrize("stored", [None, "{", '{"policy_parts": 2, "sha256": "ab"}'])
def test_a_policy_that_is_missing_or_not_understood_is_not_replaced(
    account: Account, stored: str | None
) -> None:
    """Owners may delete or break it to stop everything."""
    if stored is not None:
        store(account, stored)
    with pytest.raises(PolicyError, match="cannot be read, which stops all changes"):
        sent(account).check()


def test_a_policy_that_is_understood_is_replaced(account: Account) -> None:
    store(account, canonical_json(default_policy()))
    publication = sent(account)
    publication.put(publication.check())
    assert account.reads("ssm").get_parameter(Name=NAME)["Parameter"]["Value"] == TEXT


def test_a_publication_whose_answer_is_lost_is_not_repeated(account: Account) -> None:
    """A second put would look like a change by somebody else, which stops everything."""
    store(account, canonical_json(default_policy()))
    publication = sent(account)
    policy = publication.check()

    def lose(response_dict: dict[str, Any], **_: object) -> None:
        response_dict |= {"status_code": 400, "body": b'{"__type": "RequestTimeoutException"}'}

    account.once("ssm").meta.events.register("before-parse.ssm.PutParameter", lose)
    account.reads("ssm").meta.events.register("before-parse.ssm.PutParameter", lose)
    with pytest.raises(ReadFailed):
        publication.put(policy)
    found = account.reads("ssm").get_parameter(Name=NAME)["Parameter"]
    assert (found["Version"], found["Value"]) == (2, TEXT)


def test_a_policy_whose_hash_was_not_signed_is_refused(account: Account) -> None:
    store(account, canonical_json(default_policy()))
    with pytest.raises(PolicyError, match="not the one of the request"):
        sent(account, canonical_json(default_policy())).check()
