"""Policy documents as statements, and the statements that apply to a request.

Whatever is not understood raises PolicyNotUnderstood: it is never allowed. Source: IAM User Guide, "IAM
JSON policy elements reference" (2026-11).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from headroom.localaws.iam.conditions import Condition, PolicyNotUnderstood, all_hold, condition_of
from headroom.localaws.iam.patterns import arn_matches, text_matches

_ELEMENTS = frozenset(
    {
        "Sid", "Effect", "Action", "NotAction", "Resource", "NotResource", "Principal",
        "NotPrincipal", "Condition",
    }
)  # fmt: skip
ANY = "*"
Context = Mapping[str, tuple[str, ...]]
"""Values of condition keys; a key that is absent from the request is absent here."""


@dataclass(frozen=True, slots=True)
class Access:
    """One action on one resource; `*` where the action knows none, or it is not known here which."""

    action: str
    resource: str
    context: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Grant:
    """The part of a statement that applied: one action and one resource as the policy has them."""

    sid: str
    action: str
    resource: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement; `negated_*` says whether it is the Not form."""

    sid: str
    allows: bool
    actions: tuple[str, ...]
    negated_actions: bool
    resources: tuple[str, ...]
    negated_resources: bool
    conditions: tuple[Condition, ...]
    principals: tuple[str, ...] | None
    """None in a policy of an identity."""

    def grants(self) -> list[Grant]:
        """Every pair of action and resource that it names."""
        return [Grant(self.sid, a, r) for a in self.actions for r in self.resources]

    def applies(self, access: Access, context: Context) -> Grant | None:
        """The action and the resource that match the access; None where the statement says nothing."""
        action = _match(self.actions, access.action, _action_matches, self.negated_actions)
        if action is None:
            return None
        resource = self._resource(access.resource)
        if resource is None or not all_hold(self.conditions, context):
            return None
        return Grant(self.sid, action, resource)

    def _resource(self, wanted: str) -> str | None:
        """The resource that matches; `*` is allowed by `*` alone, and denied by any."""
        if wanted != ANY:
            return _match(self.resources, wanted, arn_matches, self.negated_resources)
        everything = ANY in self.resources and not self.negated_resources
        return ANY if everything or not self.allows else None


def _action_matches(pattern: str, action: str) -> bool:
    """Upper and lower case are the same in actions."""
    return text_matches(pattern.lower(), action.lower())


def _match(patterns: Sequence[str], value: str, matches: Any, negated: bool) -> str | None:
    found = next((pattern for pattern in patterns if matches(pattern, value)), None)
    if negated:
        return f"not {', '.join(patterns)}" if found is None else None
    return found


@lru_cache(maxsize=512)
def statements_of(document: str, *, of_resource: bool = False) -> tuple[Statement, ...]:
    """The statements of a policy document; raises PolicyNotUnderstood.

    Of a resource's policy only what denies: what it allows is not used, and services may write it.
    """
    try:
        found = json.loads(document)["Statement"]
    except (ValueError, KeyError, TypeError) as error:
        raise PolicyNotUnderstood(f"A policy is no JSON with statements: {error}.") from error
    return tuple(
        _statement(one, of_resource)
        for one in _listed(found)
        if not of_resource or not isinstance(one, Mapping) or one.get("Effect") != "Allow"
    )


def statement_of_resource(given: Mapping[str, Any]) -> Statement:
    """One statement of a resource's policy; raises PolicyNotUnderstood."""
    return _statement(given, True)


def _statement(given: Any, of_resource: bool) -> Statement:
    if not isinstance(given, Mapping) or not _ELEMENTS.issuperset(given):
        raise PolicyNotUnderstood(f"A statement has elements that are not known: {sorted(given)}.")
    sid = str(given.get("Sid", ""))
    if given.get("Effect") not in ("Allow", "Deny") or "NotPrincipal" in given:
        raise PolicyNotUnderstood(
            f"The Effect or Principal of statement {sid!r} is not understood."
        )
    if of_resource != ("Principal" in given):
        raise PolicyNotUnderstood(f"Statement {sid!r} has or lacks a Principal.")
    actions, negated_actions = _either(given, "Action", sid)
    resources, negated_resources = _either(given, "Resource", sid)
    return Statement(
        sid=sid, allows=given["Effect"] == "Allow", actions=actions,
        negated_actions=negated_actions, resources=resources, negated_resources=negated_resources,
        conditions=tuple(
            condition_of(operator, key, tuple(map(_text, _listed(values))))
            for operator, keys in (given.get("Condition") or {}).items()
            for key, values in keys.items()
        ),
        principals=_principals(given["Principal"]) if of_resource else None,
    )  # fmt: skip


def _either(given: Mapping[str, Any], name: str, sid: str) -> tuple[tuple[str, ...], bool]:
    """The values of an element or of its Not form; exactly one of them is there."""
    if (name in given) == (f"Not{name}" in given):
        raise PolicyNotUnderstood(f"Statement {sid!r} needs {name} or Not{name}.")
    negated = name not in given
    values = tuple(_listed(given[f"Not{name}" if negated else name]))
    if not values or not all(isinstance(value, str) and "${" not in value for value in values):
        raise PolicyNotUnderstood(f"{name} of statement {sid!r} is empty or has variables.")
    return values, negated


def _principals(given: Any) -> tuple[str, ...]:
    """`*`, ARNs and accounts as they are, services by their name."""
    if given == "*":
        return ("*",)
    if not isinstance(given, Mapping) or not {"AWS", "Service"}.issuperset(given):
        raise PolicyNotUnderstood(f"The Principal {given!r} is not understood.")
    return tuple(str(one) for values in given.values() for one in _listed(values))


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def names_principal(statement: Statement, role: str, session: str) -> bool:
    """Whether the statement of a resource's policy is about this role and its session."""
    account = role.split(":")[4]
    ours = {"*", role, session, account, re.sub(r":role/.*", ":root", role)}
    return bool(ours.intersection(statement.principals or ()))
