"""Whether policies allow an access: denied unless allowed, and an explicit Deny wins.

Source: IAM User Guide, "Policy evaluation logic", within one account and without organisations, session
policies and grants of resource policies (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from headroom.localaws.iam.policies import (
    Access,
    Context,
    Grant,
    Statement,
    names_principal,
    statements_of,
)

NO_ALLOW = "because no identity-based policy allows the {action} action"
NO_BOUNDARY = "because no permissions boundary allows the {action} action"
DENIED = "with an explicit deny in an identity-based policy"
DENIED_BY_BOUNDARY = "with an explicit deny in a permissions boundary"
DENIED_BY_RESOURCE = "with an explicit deny in a resource-based policy"


@dataclass(frozen=True, slots=True)
class Policies:
    """Policy documents as JSON texts: those of a role, its boundary, and those of the resource."""

    role: str
    """ARN of the role."""
    session: str
    """ARN of the role's session."""
    identity: tuple[str, ...]
    boundary: str | None = None
    of_resource: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ruling:
    """The result: `why` ends AWS's message where it is denied, `by` is what allowed it."""

    allowed: bool
    why: str = ""
    by: Grant | None = None


@lru_cache(maxsize=8192)
def evaluate(policies: Policies, access: Access) -> Ruling:
    """The ruling on one access; raises PolicyNotUnderstood."""
    context = dict(access.context)
    identity = [one for text in policies.identity for one in statements_of(text)]
    boundary = None if policies.boundary is None else statements_of(policies.boundary)
    resource = [
        one
        for text in policies.of_resource
        for one in statements_of(text, of_resource=True)
        if names_principal(one, policies.role, policies.session)
    ]
    for why, statements in (
        (DENIED, identity), (DENIED_BY_BOUNDARY, boundary or ()), (DENIED_BY_RESOURCE, resource),
    ):  # fmt: skip
        if _first(statements, access, context, allows=False) is not None:
            return Ruling(False, why)
    allowed = _first(identity, access, context, allows=True)
    if allowed is None:
        return Ruling(False, NO_ALLOW.format(action=access.action))
    if boundary is not None and _first(boundary, access, context, allows=True) is None:
        return Ruling(False, NO_BOUNDARY.format(action=access.action))
    return Ruling(True, by=allowed)


def _first(
    statements: Iterable[Statement], access: Access, context: Context, *, allows: bool
) -> Grant | None:
    """What the first statement of the effect names that applies."""
    for statement in statements:
        if statement.allows == allows:
            found = statement.applies(access, context)
            if found is not None:
                return found
    return None
