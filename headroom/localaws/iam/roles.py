"""Roles and their sessions as moto has them: who signs a request, and which policies count."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from headroom.localaws.iam.evaluation import Policies
from headroom.localaws.iam.resources import policies_of_resource
from headroom.localaws.state import AccountRegion

SESSION_S = 12 * 3_600
"""Seconds; expiry is not enforced."""
_TEXTS: dict[int, tuple[Any, str]] = {}
"""Texts of policies by the object's identity, which is kept so that it stays its own."""


@dataclass(frozen=True, slots=True)
class Session:
    """A session of a role: both ARNs."""

    role: str
    arn: str

    @property
    def account(self) -> str:
        """The account of the role."""
        return self.role.split(":")[4]


def session_of(access_key: str) -> Session | None:
    """The session of a deployed role whose key it is; None for the owner and for people's roles.

    People's roles are those that other principals than services may assume, such as the ones of
    `cdk bootstrap`, and those that do not exist: moto lets anybody assume them.
    """
    from moto.sts.models import sts_backends

    for partitions in sts_backends.values():
        for backend in partitions.values():
            for given in backend.assumed_roles:
                if given.access_key_id == access_key:
                    return Session(given.role_arn, given.arn) if _is_deployed(given) else None
    return None


def _is_deployed(given: Any) -> bool:
    """Whether a session is of a deployed role; asked once, for it stays so when the role goes."""
    if not hasattr(given, "is_deployed"):
        role = _role(given.role_arn)
        given.is_deployed = role is not None and _is_for_services(role)
    return bool(given.is_deployed)


def service_session(role_arn: str, name: str) -> Session | None:
    """What a service calls itself that acts with a role; None where no such role exists."""
    if _role(role_arn) is None:
        return None
    return Session(role_arn, _session_arn(role_arn, name))


def credentials_of(role_arn: str, name: str) -> dict[str, str]:
    """Environment variables with new credentials of a role, as Lambda gives them to a function."""
    from moto.sts.models import sts_backends

    _, partition, _, _, account, _ = role_arn.split(":", 5)
    made = sts_backends[account][partition].assume_role(
        region_name=AccountRegion().region, role_session_name=name, role_arn=role_arn, policy="",
        duration=SESSION_S, external_id="",
    )  # fmt: skip
    _is_deployed(made)
    return {
        "AWS_ACCESS_KEY_ID": made.access_key_id,
        "AWS_SECRET_ACCESS_KEY": made.secret_access_key,
        "AWS_SESSION_TOKEN": made.session_token,
    }


def policies_for(session: Session, resource: str) -> Policies:
    """Everything that counts when the session uses the resource."""
    role = _role(session.role)
    if role is None:  # deleted: it may do nothing any more
        return Policies(session.role, session.arn, ())
    return Policies(
        session.role, session.arn, identity_of(role), _boundary(role),
        tuple(_text(each) for each in policies_of_resource(resource)),
    )  # fmt: skip


def identity_of(role: Any) -> tuple[str, ...]:
    """The documents of a role's policies, inline and managed."""
    managed = map(_document, role.managed_policies.values())
    return tuple(_text(each) for each in (*role.policies.values(), *managed))


def deployed_roles() -> Iterator[Any]:
    """moto's roles that only services may assume."""
    from moto.iam.models import iam_backends

    for _, _, backend in iam_backends.iter_backends():
        yield from (role for role in backend.get_roles() if _is_for_services(role))


def _role(arn: str) -> Any:
    from moto.iam.models import iam_backends

    parts = arn.split(":", 5)
    if len(parts) < 6 or not parts[5].startswith("role/"):
        return None
    found = iam_backends[parts[4]][parts[1]].roles.values()
    return next((role for role in found if role.arn == arn), None)


def _boundary(role: Any) -> str | None:
    from moto.iam.models import iam_backends

    arn = role.permissions_boundary_arn
    if not arn:
        return None
    found = iam_backends[role.account_id][role.partition].managed_policies.get(arn)
    return '{"Statement": []}' if found is None else _document(found)


def _document(managed: Any) -> str:
    """The version in force of a managed policy."""
    return next(
        str(v.document) for v in managed.versions if v.version_id == managed.default_version_id
    )


def _is_for_services(role: Any) -> bool:
    return not _trusts_others(_text(role.assume_role_policy_document))


@lru_cache(maxsize=128)
def _trusts_others(document: str) -> bool:
    """Whether other principals than services may assume a role."""
    statements = json.loads(document or "{}").get("Statement") or []
    listed = statements if isinstance(statements, list) else [statements]
    principals = (one.get("Principal") for one in listed)
    return any(not isinstance(p, dict) or set(p) != {"Service"} for p in principals)


def _session_arn(role_arn: str, name: str) -> str:
    _, partition, _, _, account, role = role_arn.split(":", 5)
    return f"arn:{partition}:sts::{account}:assumed-role/{role.rsplit('/', 1)[-1]}/{name}"


def _text(document: Any) -> str:
    """A policy as JSON; moto keeps those of a template as objects, and puts others in their place."""
    if isinstance(document, str):
        return document
    known = _TEXTS.get(id(document))
    if known is None or known[0] is not document:
        known = _TEXTS[id(document)] = document, json.dumps(document, default=str)
    return known[1]
