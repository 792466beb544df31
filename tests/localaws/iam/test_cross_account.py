"""Which other accounts the policy of a resource lets in."""

from __future__ import annotations

from typing import Any

import pytest

from headroom.localaws.iam import ORGANIZATION, lets_account

BUS = "arn:aws:events:us-east-1:999999999999:event-bus/hub"
PUT = "events:PutEvents"
HERE = {"StringEquals": {"aws:PrincipalOrgID": ORGANIZATION}}
ELSEWHERE = {"StringEquals": {"aws:PrincipalOrgID": "o-another0000"}}


def said(principal: Any, effect: str = "Allow", resource: str = BUS, **more: Any) -> dict[str, Any]:
    return {
        "Sid": "s", "Effect": effect, "Principal": principal, "Action": PUT, "Resource": resource,
        **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("statements", "may"),
    [
        ([], False),
        ([said("*")], True),
        ([said({"AWS": "*"}, Condition=HERE)], True),
        ([said({"AWS": "*"}, Condition=ELSEWHERE)], False),
        ([said("111111111111")], True),
        ([said({"AWS": "arn:aws:iam::111111111111:root"})], True),
        ([said("222222222222")], False),
        ([said("*", resource=BUS + "-2")], False),
        ([said("*"), said("111111111111", "Deny")], False),
        ([said("*"), said("222222222222", "Deny")], True),
        ([said({"Service": "events.amazonaws.com"})], False),
    ],
)
def test_an_account_gets_in_only_where_a_statement_lets_it(
    statements: list[dict[str, Any]], may: bool
) -> None:
    assert lets_account(statements, "111111111111", PUT, BUS) is may
