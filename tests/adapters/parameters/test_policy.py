"""The policy in force, or why there is none: then nothing may be done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from headroom.adapters.parameters import ParameterPolicies
from headroom.domain.policy import PolicyUnreadable
from headroom.policy import canonical_json, default_policy

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

NAME = "/headroom/policy"


@pytest.fixture
def ssm() -> Iterator[SSMClient]:
    with mock_aws():
        yield boto3.client(
            "ssm",
            region_name="us-east-1",
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
        )


def publish(ssm: SSMClient, text: str) -> None:
    ssm.put_parameter(Name=NAME, Value=text, Type="String", Overwrite=True)


def test_the_published_policy_is_the_policy(ssm: SSMClient) -> None:
    publish(ssm, canonical_json(default_policy()))
    assert ParameterPolicies(ssm, parameter=NAME).current() == default_policy()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is not JSON"),
        ('{"defaults": {"max_iops": -1}}', "defaults.max_iops is -1"),
        ('{"defaults": {"ceiling": 1}}', "unknown key 'ceiling'"),
        ("null", "is empty"),
    ],
)
def test_a_policy_that_is_not_understood_is_unreadable(
    ssm: SSMClient, text: str, says: str
) -> None:
    publish(ssm, text)
    found = ParameterPolicies(ssm, parameter=NAME).current()
    assert isinstance(found, PolicyUnreadable)
    assert says in found.reason
    assert NAME in found.reason


def test_a_missing_policy_is_unreadable(ssm: SSMClient) -> None:
    found = ParameterPolicies(ssm, parameter=NAME).current()
    assert isinstance(found, PolicyUnreadable)
    assert "ParameterNotFound" in found.reason


@pytest.mark.parametrize("code", ["AccessDeniedException", "ThrottlingException", "InternalError"])
def test_a_policy_that_cannot_be_read_is_unreadable(ssm: SSMClient, code: str) -> None:
    with Stubber(ssm) as stub:
        stub.add_client_error("get_parameter", code, "no", 400)
        found = ParameterPolicies(ssm, parameter=NAME).current()
    assert isinstance(found, PolicyUnreadable)
    assert code in found.reason


def test_one_object_gives_one_answer_and_a_new_one_reads_anew(ssm: SSMClient) -> None:
    policies = ParameterPolicies(ssm, parameter=NAME)
    assert isinstance(policies.current(), PolicyUnreadable)
    publish(ssm, canonical_json(default_policy()))
    assert isinstance(policies.current(), PolicyUnreadable)
    assert ParameterPolicies(ssm, parameter=NAME).current() == default_policy()
