"""Policies decide as AWS says they do; tables of cases, and laws over made-up policies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.localaws.iam.conditions import PolicyNotUnderstood
from headroom.localaws.iam.evaluation import Policies, Ruling, evaluate
from headroom.localaws.iam.policies import Access

ACCOUNT = "123456789012"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/worker"
SESSION = f"arn:aws:sts::{ACCOUNT}:assumed-role/worker/one"
TABLE = f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/records"
VOLUME = f"arn:aws:ec2:us-east-1:{ACCOUNT}:volume/vol-1"
Statement = Mapping[str, Any]


def document(*statements: Statement) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def allow(action: Any = "*", resource: Any = "*", **more: Any) -> Statement:
    return {"Effect": "Allow", "Action": action, "Resource": resource, **more}


def deny(action: Any = "*", resource: Any = "*", **more: Any) -> Statement:
    return {"Effect": "Deny", "Action": action, "Resource": resource, **more}


def rule(
    *identity: Statement, action: str = "dynamodb:PutItem", resource: str = TABLE,
    boundary: Sequence[Statement] | None = None, of_resource: Sequence[Statement] = (),
    context: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> Ruling:  # fmt: skip
    policies = Policies(
        ROLE, SESSION, (document(*identity),), None if boundary is None else document(*boundary),
        tuple(document(one) for one in of_resource),
    )  # fmt: skip
    return evaluate(policies, Access(action, resource, tuple(sorted(context.items()))))


@pytest.mark.parametrize(
    ("statement", "allowed"),
    [
        (allow("dynamodb:PutItem", TABLE), True),
        (allow("DynamoDB:putitem", TABLE), True),
        (allow("dynamodb:Put*", TABLE), True),
        (allow(["s3:GetObject", "dynamodb:P?tItem"], TABLE), True),
        (allow("dynamodb:PutItems", TABLE), False),
        (allow("dynamodb:PutItem", f"{TABLE}/index/*"), False),
        (allow("dynamodb:PutItem", TABLE.upper()), False),
        (allow("dynamodb:PutItem", f"arn:aws:dynamodb:*:{ACCOUNT}:table/rec*"), True),
        (allow("dynamodb:PutItem", "arn:aws:dynamodb:us-*:table/records"), False),  # spans parts
        (allow("dynamodb:PutItem", "arn:aws:dynamodb:*"), False),
        ({"Effect": "Allow", "NotAction": "dynamodb:Delete*", "Resource": "*"}, True),
        ({"Effect": "Allow", "NotAction": "dynamodb:*", "Resource": "*"}, False),
        ({"Effect": "Allow", "Action": "*", "NotResource": TABLE}, False),
        ({"Effect": "Allow", "Action": "*", "NotResource": VOLUME}, True),
    ],
)
def test_an_action_needs_a_statement_that_names_it_and_its_resource(
    statement: Statement, allowed: bool
) -> None:
    assert rule(statement).allowed is allowed


def test_nothing_is_allowed_by_default_and_a_denial_says_why() -> None:
    assert rule().why == "because no identity-based policy allows the dynamodb:PutItem action"
    denied = rule(allow(), deny("dynamodb:PutItem"))
    assert denied.why == "with an explicit deny in an identity-based policy"


def test_what_knows_no_resource_is_allowed_by_a_star_alone_and_denied_by_any() -> None:
    see, everything = "ec2:DescribeVolumes", allow("ec2:*")
    assert rule(everything, action=see, resource="*").allowed
    assert not rule(allow("ec2:*", VOLUME), action=see, resource="*").allowed
    assert not rule(everything, deny("ec2:*", VOLUME), action=see, resource="*").allowed


def test_a_boundary_must_allow_too_and_gives_nothing() -> None:
    assert rule(allow(), boundary=[allow("dynamodb:*")]).allowed
    assert not rule(allow(), boundary=[allow("ec2:*")]).allowed
    assert not rule(boundary=[allow()]).allowed
    assert not rule(allow(), boundary=[allow(), deny("dynamodb:PutItem")]).allowed


@pytest.mark.parametrize(
    ("principal", "allowed"),
    [
        ("*", False), ({"AWS": "*"}, False), ({"AWS": ROLE}, False), ({"AWS": SESSION}, False),
        ({"AWS": f"arn:aws:iam::{ACCOUNT}:root"}, False), ({"AWS": [ACCOUNT]}, False),
        ({"AWS": f"arn:aws:iam::{ACCOUNT}:role/other"}, True),
        ({"Service": "lambda.amazonaws.com"}, True),
    ],
)  # fmt: skip
def test_a_resources_policy_denies_whom_it_names(principal: Any, allowed: bool) -> None:
    assert rule(allow(), of_resource=[deny(Principal=principal)]).allowed is allowed


def test_a_resources_policy_that_refuses_all_but_the_deployed_roles() -> None:
    others = {"ArnNotLike": {"aws:PrincipalArn": f"arn:aws:iam::{ACCOUNT}:role/HeadroomLoop-*"}}
    policy = [deny("dynamodb:PutItem", Principal="*", Condition=others)]
    loop = {"aws:principalarn": (f"arn:aws:iam::{ACCOUNT}:role/HeadroomLoop-Sweep",)}
    assert rule(allow(), of_resource=policy, context=loop).allowed
    assert not rule(allow(), of_resource=policy, context={"aws:principalarn": (ROLE,)}).allowed
    assert not rule(allow(), of_resource=policy).allowed, "who is not known is not a deployed role"


TAG = "aws:ResourceTag/team"


@pytest.mark.parametrize(
    ("condition", "values", "holds"),
    [
        ({"StringEquals": {TAG: "db"}}, ("db",), True),
        ({"StringEquals": {TAG: ["x", "db"]}}, ("db",), True),
        ({"StringEquals": {TAG: "DB"}}, ("db",), False),
        ({"StringEqualsIgnoreCase": {TAG: "DB"}}, ("db",), True),
        ({"StringEquals": {TAG: "db"}}, (), False),
        ({"StringEqualsIfExists": {TAG: "db"}}, (), True),
        ({"StringEqualsIfExists": {TAG: "db"}}, ("x",), False),
        ({"StringNotEquals": {TAG: "db"}}, (), True),
        ({"StringNotEquals": {TAG: ["db", "x"]}}, ("db",), False),
        ({"StringLike": {TAG: "d*"}}, ("db",), True),
        ({"StringNotLike": {TAG: "d*"}}, ("db",), False),
        ({"Null": {TAG: "true"}}, (), True),
        ({"Null": {TAG: "false"}}, (), False),
        ({"Null": {TAG: False}}, ("db",), True),
        ({"Bool": {TAG: "true"}}, ("True",), True),
        ({"NumericLessThanEquals": {TAG: "5"}}, ("5",), True),
        ({"NumericLessThan": {TAG: 5}}, ("five",), False),
        ({"ArnEquals": {TAG: "arn:aws:iam::*:role/w*"}}, (ROLE,), True),
        ({"ArnLike": {TAG: "arn:aws:*:role/worker"}}, (ROLE,), False),
        ({"ForAllValues:StringEquals": {TAG: ["a", "b"]}}, ("a", "b"), True),
        ({"ForAllValues:StringEquals": {TAG: ["a"]}}, ("a", "b"), False),
        ({"ForAllValues:StringEquals": {TAG: ["a"]}}, (), True),
        ({"ForAnyValue:StringEquals": {TAG: ["a"]}}, ("a", "b"), True),
        ({"ForAnyValue:StringEquals": {TAG: ["a"]}}, (), False),
        ({"ForAnyValue:StringNotEquals": {TAG: ["a"]}}, ("a",), False),
        ({"StringEquals": {TAG: "db"}, "Bool": {"aws:SecureTransport": "true"}}, ("db",), False),
    ],
)
def test_conditions_hold_as_aws_says(
    condition: Mapping[str, Any], values: tuple[str, ...], holds: bool
) -> None:
    context = {"aws:resourcetag/team": values} if values else {}
    assert rule(allow(Condition=condition), context=context).allowed is holds


@pytest.mark.parametrize(
    "statement",
    [
        allow(Condition={"DateGreaterThan": {"aws:PrincipalArn": "2026-01-01T00:00:00Z"}}),
        allow(Condition={"StringEquals": {"ec2:VolumeSize": "1"}}),
        allow(Condition={"NullIfExists": {"aws:PrincipalArn": "true"}}),
        allow(Condition={"StringEquals": {"aws:PrincipalArn": "${aws:username}"}}),
        allow(resource="arn:aws:s3:::${aws:username}"),
        allow(Principal="*"),
        allow(Effects="Allow"),
        {"Effect": "Allow", "Action": "*"},
        {"Effect": "allow", "Action": "*", "Resource": "*"},
        {"Effect": "Allow", "Action": [], "Resource": "*"},
    ],
)
def test_what_is_not_understood_is_an_error_and_never_allowed(statement: Statement) -> None:
    with pytest.raises(PolicyNotUnderstood):
        rule(allow(), statement)


ACTIONS = ("dynamodb:PutItem", "dynamodb:Query", "ec2:ModifyVolume")
RESOURCES = (TABLE, f"{TABLE}/index/day", VOLUME, "*")
PATTERNS = (*RESOURCES, "arn:aws:dynamodb:*:*:table/*", "arn:aws:ec2:*:*:*/vol-?")
CONDITIONS: tuple[Mapping[str, Any], ...] = (
    {}, {"StringEquals": {TAG: "db"}}, {"StringNotEquals": {TAG: "db"}},
    {"ForAllValues:StringLike": {TAG: "d*"}}, {"Null": {TAG: "true"}},
)  # fmt: skip
statements = st.builds(
    lambda effect, action, negated, resource, condition: {
        "Effect": effect, "NotAction" if negated else "Action": action, "Resource": resource,
        **({"Condition": condition} if condition else {}),
    },
    st.sampled_from(["Allow", "Deny"]), st.sampled_from([*ACTIONS, "dynamodb:*", "*"]),
    st.booleans(), st.sampled_from(PATTERNS), st.sampled_from(CONDITIONS),
)  # fmt: skip
policies = st.lists(statements, max_size=6)
accesses = st.builds(
    lambda action, resource, tag: Access(
        action, resource, (("aws:resourcetag/team", (tag,)),) if tag else ()
    ),
    st.sampled_from(ACTIONS), st.sampled_from(RESOURCES), st.sampled_from(["", "db", "web"]),
)  # fmt: skip


def allowed(held: Sequence[Statement], access: Access) -> bool:
    return evaluate(Policies(ROLE, SESSION, (document(*held),)), access).allowed


@given(held=policies, more=statements, access=accesses)
def test_a_further_deny_never_allows_more(
    held: list[Statement], more: Statement, access: Access
) -> None:
    if allowed([*held, {**more, "Effect": "Deny"}], access):
        assert allowed(held, access)


@given(held=policies.filter(bool), access=accesses, data=st.data())
def test_without_one_of_its_allows_a_policy_never_allows_more(
    held: list[Statement], access: Access, data: st.DataObject
) -> None:
    kept = list(held)
    if kept.pop(data.draw(st.integers(0, len(held) - 1)))["Effect"] == "Allow":
        assert allowed(held, access) or not allowed(kept, access)


@given(held=policies, access=accesses)
def test_order_and_division_into_policies_change_nothing(
    held: list[Statement], access: Access
) -> None:
    apart = Policies(ROLE, SESSION, tuple(document(one) for one in reversed(held)))
    assert evaluate(apart, access).allowed == allowed(held, access)


@given(held=policies, access=accesses)
def test_what_is_allowed_is_named_by_an_allow(held: list[Statement], access: Access) -> None:
    ruling = evaluate(Policies(ROLE, SESSION, (document(*held),)), access)
    assert ruling.allowed == (ruling.by is not None)
    assert ruling.allowed == (ruling.why == "")
