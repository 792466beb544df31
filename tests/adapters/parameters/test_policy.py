"""The policy in force, or why there is none: then nothing may be done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws
from moto.core import DEFAULT_ACCOUNT_ID
from moto.ssm.models import ssm_backends

from headroom.adapters.parameters import ParameterPolicies
from headroom.domain.policy import HardCaps, Policy, PolicyUnreadable
from headroom.policy import canonical_json, default_policy, parameter_texts, policy_from_json
from headroom.ports import ReadFailed

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
    assert ParameterPolicies(ssm, parameter=NAME, caps=HardCaps()).current() == default_policy()


def long_policy(iops: int) -> str:
    rules = [
        {"match": {"tags": {"team": f"number-{n}"}}, "set": {"max_iops": iops}} for n in range(100)
    ]
    policy = policy_from_json(json.dumps({"version": 1, "rules": rules}), source="here")
    return canonical_json(policy)


def publish_parts(ssm: SSMClient, text: str, *, but: int | None = None) -> None:
    """Write all parameters of a policy, but one of them."""
    for number, part in enumerate(parameter_texts(text)):
        if number != but:
            name = f"{NAME}/{number}" if number else NAME
            ssm.put_parameter(Name=name, Value=part, Type="String", Overwrite=True)


def test_a_long_policy_is_read_from_its_parts(ssm: SSMClient) -> None:
    publish_parts(ssm, long_policy(4_000))
    policy = ParameterPolicies(ssm, parameter=NAME, caps=HardCaps()).current()
    assert isinstance(policy, Policy)
    assert canonical_json(policy) == long_policy(4_000)


@pytest.mark.parametrize("late", range(len(parameter_texts(long_policy(4_000)))))
def test_parts_of_two_policies_are_not_read_as_one(ssm: SSMClient, late: int) -> None:
    publish_parts(ssm, long_policy(4_000))
    publish_parts(ssm, long_policy(5_000), but=late)
    policy = ParameterPolicies(ssm, parameter=NAME, caps=HardCaps()).current()
    assert isinstance(policy, PolicyUnreadable)
    assert "not of one policy" in policy.reason


def test_a_missing_part_makes_the_policy_unreadable(ssm: SSMClient) -> None:
    publish_parts(ssm, long_policy(4_000), but=2)
    policy = ParameterPolicies(ssm, parameter=NAME, caps=HardCaps()).current()
    assert isinstance(policy, PolicyUnreadable)
    assert f"{NAME}/2" in policy.reason


def test_a_policy_that_shrinks_is_read_though_old_parts_are_left(ssm: SSMClient) -> None:
    publish_parts(ssm, long_policy(4_000))
    publish(ssm, canonical_json(default_policy()))
    assert ParameterPolicies(ssm, parameter=NAME, caps=HardCaps()).current() == default_policy()


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
    found = ParameterPolicies(ssm, parameter=NAME, caps=HardCaps()).current()
    assert isinstance(found, PolicyUnreadable)
    assert says in found.reason
    assert NAME in found.reason


def test_a_missing_policy_is_unreadable(ssm: SSMClient) -> None:
    found = ParameterPolicies(ssm, parameter=NAME, caps=HardCaps()).current()
    assert isinstance(found, PolicyUnreadable)
    assert "ParameterNotFound" in found.reason


@pytest.mark.parametrize("code", ["AccessDeniedException", "ThrottlingException", "InternalError"])
def test_a_policy_that_cannot_be_read_is_unreadable(ssm: SSMClient, code: str) -> None:
    with Stubber(ssm) as stub:
        stub.add_client_error("get_parameter", code, "no", 400)
        found = ParameterPolicies(ssm, parameter=NAME, caps=HardCaps()).current()
    assert isinstance(found, PolicyUnreadable)
    assert code in found.reason


def test_a_policy_is_published_in_the_tier_of_the_deployment(ssm: SSMClient) -> None:
    """A parameter of the advanced tier cannot be lowered: the next deployment would fail."""
    publish(ssm, canonical_json(default_policy()))
    ssm_backends[DEFAULT_ACCOUNT_ID]["us-east-1"].default_parameter_tier = "Advanced"
    policy = policy_from_json('{"version": 1, "defaults": {"max_iops": 4000}}', source="here")
    policies = ParameterPolicies(ssm, parameter=NAME, caps=HardCaps())
    policies.publish(policy, who="eva")
    (found,) = ssm.describe_parameters()["Parameters"]
    assert found["Tier"] == "Standard"
    assert policies.current() == policy


@pytest.mark.parametrize("before", [None, "{"])
def test_a_policy_is_published_in_the_place_of_a_policy_only(
    ssm: SSMClient, before: str | None
) -> None:
    if before is not None:
        publish(ssm, before)
    policies = ParameterPolicies(ssm, parameter=NAME, caps=HardCaps())
    with pytest.raises(ReadFailed, match="no policy to replace any more"):
        policies.publish(default_policy(), who="eva")
    assert isinstance(policies.fresh(), PolicyUnreadable)


@pytest.mark.parametrize("meanwhile", ["it is deleted", "{", canonical_json(default_policy())])
def test_whoever_changes_the_policy_during_a_publication_stops_everything(
    ssm: SSMClient, meanwhile: str
) -> None:
    publish(ssm, canonical_json(default_policy()))

    def somebody(**_: object) -> None:
        ssm.meta.events.unregister("before-call.ssm.PutParameter", somebody)
        if meanwhile == "it is deleted":
            ssm.delete_parameter(Name=NAME)
        else:
            publish(ssm, meanwhile)

    ssm.meta.events.register("before-call.ssm.PutParameter", somebody)
    policies = ParameterPolicies(ssm, parameter=NAME, caps=HardCaps())
    with pytest.raises(ReadFailed, match="all changes are stopped until a policy is deployed"):
        policies.publish(default_policy(), who="eva")
    assert isinstance(policies.fresh(), PolicyUnreadable)


def test_one_object_gives_one_answer_and_a_new_one_reads_anew(ssm: SSMClient) -> None:
    policies = ParameterPolicies(ssm, parameter=NAME, caps=HardCaps())
    assert isinstance(policies.current(), PolicyUnreadable)
    publish(ssm, canonical_json(default_policy()))
    assert isinstance(policies.current(), PolicyUnreadable)
    assert ParameterPolicies(ssm, parameter=NAME, caps=HardCaps()).current() == default_policy()


def test_hard_caps_narrow_what_is_published_and_no_parameter_says_more(ssm: SSMClient) -> None:
    publish(ssm, canonical_json(default_policy()))
    caps = HardCaps(settings=(("max_iops", 5_000),), account_increase_usd=Decimal(7))
    found = ParameterPolicies(ssm, parameter=NAME, caps=caps).current()
    assert isinstance(found, Policy)
    assert (found.caps, found.account_increase_usd) == (caps, Decimal(7))
    assert found.version != default_policy().version
