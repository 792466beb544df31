"""Whether the policy of a resource lets another account in, which AWS asks for beside the caller's own.

Source: IAM User Guide, "Cross-account policy evaluation logic" (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headroom.localaws.iam.policies import ANY, Access, names_principal, statement_of_resource

ORGANIZATION = "o-local000000"
"""The organization that every account of the endpoint is a member of."""


def lets_account(
    statements: Iterable[Mapping[str, Any]], account: str, action: str, resource: str
) -> bool:
    """Whether the statements of a resource's policy allow an action to people of an account."""
    context = {"aws:principalorgid": (ORGANIZATION,), "aws:principalaccount": (account,)}
    access = Access(action, resource)
    whose = f"arn:aws:iam::{account}:root"
    found = [
        one
        for one in map(statement_of_resource, map(_with_principal, statements))
        if names_principal(one, whose, whose) and one.applies(access, context) is not None
    ]
    return bool(found) and all(one.allows for one in found)


def _with_principal(statement: Mapping[str, Any]) -> Mapping[str, Any]:
    """The statement with an account that is named alone as AWS has it in a policy."""
    principal = statement["Principal"]
    if isinstance(principal, str) and principal != ANY:
        return {**statement, "Principal": {"AWS": principal}}
    return statement
