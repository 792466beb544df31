"""Conditions of statements. An operator or a key that is not known here is an error.

Source: IAM User Guide, "IAM JSON policy elements: Condition operators" and "AWS global condition context
keys" (2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headroom.localaws.iam.patterns import arn_matches, text_matches

KEYS = frozenset(
    {
        "aws:principalaccount", "aws:principalarn", "aws:principalorgid", "aws:principaltype", "aws:requestedregion",
        "aws:resourceaccount", "aws:securetransport", "aws:sourceaccount", "aws:sourcearn",
        "aws:tagkeys", "aws:viaawsservice", "dynamodb:leadingkeys", "events:detail-type",
        "events:source", "kms:viaservice",
    }
)  # fmt: skip
"""Condition keys, in lower case, whose values the endpoint knows, or knows to be absent."""
KEY_FAMILIES = (
    "aws:requesttag/",
    "aws:resourcetag/",
    "ec2:resourcetag/",
    "rds:cluster-tag/",
    "rds:db-tag/",
    "ssm:resourcetag/",
)
"""Beginnings of keys that end with the key of a tag."""


class PolicyNotUnderstood(ValueError):
    """A policy has something that this evaluation does not know; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class _Operator:
    """Whether one value of the request agrees with one of the policy, and whether that must not be."""

    agrees: Callable[[str, str], bool]
    negated: bool = False


def _folded(policy: str, request: str) -> bool:
    return policy.casefold() == request.casefold()


def _number(compare: Callable[[float, float], bool]) -> Callable[[str, str], bool]:
    def agrees(policy: str, request: str) -> bool:
        try:
            return compare(float(request), float(policy))
        except ValueError:
            return False

    return agrees


_OPERATORS: Mapping[str, _Operator] = {
    "StringEquals": _Operator(str.__eq__),
    "StringNotEquals": _Operator(str.__eq__, negated=True),
    "StringEqualsIgnoreCase": _Operator(_folded),
    "StringNotEqualsIgnoreCase": _Operator(_folded, negated=True),
    "StringLike": _Operator(text_matches),
    "StringNotLike": _Operator(text_matches, negated=True),
    "ArnEquals": _Operator(arn_matches),
    "ArnLike": _Operator(arn_matches),
    "ArnNotEquals": _Operator(arn_matches, negated=True),
    "ArnNotLike": _Operator(arn_matches, negated=True),
    "Bool": _Operator(_folded),
    "NumericEquals": _Operator(_number(lambda a, b: a == b)),
    "NumericNotEquals": _Operator(_number(lambda a, b: a == b), negated=True),
    "NumericLessThan": _Operator(_number(lambda a, b: a < b)),
    "NumericLessThanEquals": _Operator(_number(lambda a, b: a <= b)),
    "NumericGreaterThan": _Operator(_number(lambda a, b: a > b)),
    "NumericGreaterThanEquals": _Operator(_number(lambda a, b: a >= b)),
}
"""ArnEquals and ArnLike behave alike, says AWS."""
_FORM = re.compile(r"(?:(ForAllValues|ForAnyValue):)?([A-Za-z]+?)(IfExists)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One operator with one key; several values of the policy are alternatives."""

    quantifier: str
    """ForAllValues, ForAnyValue, or empty for a key with one value."""
    operator: str
    if_exists: bool
    key: str
    values: tuple[str, ...]

    def holds(self, context: Mapping[str, tuple[str, ...]]) -> bool:
        """Whether the request meets it."""
        found = context.get(self.key)
        if self.operator == "Null":
            return (not found) == (self.values[0].lower() == "true")
        if not found:
            return self._without_value()
        operator = _OPERATORS[self.operator]
        met = [
            any(operator.agrees(value, one) for value in self.values) != operator.negated
            for one in found
        ]
        return any(met) if self.quantifier == "ForAnyValue" else all(met)

    def _without_value(self) -> bool:
        """The result where the key is absent from the request, or has no value."""
        if self.quantifier == "ForAnyValue":
            return False
        negated = _OPERATORS[self.operator].negated
        return self.quantifier == "ForAllValues" or self.if_exists or negated


def condition_of(form: str, key: str, values: tuple[str, ...]) -> Condition:
    """A condition of a policy; raises PolicyNotUnderstood."""
    parts = _FORM.fullmatch(form)
    quantifier, operator, if_exists = parts.groups() if parts else ("", form, None)
    if operator not in _OPERATORS and not (operator == "Null" and not if_exists):
        raise PolicyNotUnderstood(f"The condition operator {form!r} is not known to this endpoint.")
    name, tag = key.lower(), ""
    if name.startswith(KEY_FAMILIES):  # the key of a tag counts as it is written
        name, tag = name.partition("/")[0] + "/", key.partition("/")[2]
    elif name not in KEYS:
        raise PolicyNotUnderstood(f"The condition key {key!r} is not known to this endpoint.")
    if not values or any("${" in value for value in values):
        raise PolicyNotUnderstood(f"The values of {key} are none, or have variables.")
    return Condition(
        quantifier=quantifier or "", operator=operator, if_exists=bool(if_exists), key=name + tag,
        values=values,
    )  # fmt: skip


def all_hold(conditions: Sequence[Condition], context: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether every condition holds."""
    return all(condition.holds(context) for condition in conditions)
