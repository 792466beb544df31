"""Domain values as canonical JSON and back: one text for one value, byte for byte.

Keys are sorted, nothing is padded, NaN and infinity are refused, Decimals are strings (exact),
instants ISO 8601 in UTC with a Z, durations ISO 8601 in seconds. A member of a union carries its
class under `is`: `{"is":"already_there"}`. Floats always have a point, so 3000 IOPS and 3000.0
are distinguished.
"""

from __future__ import annotations

import json
import re
from collections import abc
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from cattrs import Converter
from cattrs.errors import StructureHandlerNotFoundError
from cattrs.gen import make_dict_unstructure_fn, override

from headroom.domain.decision import (
    Act,
    Action,
    Decision,
    Diverged,
    Escalate,
    FailedAtAws,
    Hold,
    Ineffective,
    Pending,
    Reason,
    ReducedTooFar,
    ReductionConfirmed,
    Relieved,
    RollbackConfirmed,
    Untested,
    Verification,
)
from headroom.domain.guardrails import Guardrail, Quantity, Relation
from headroom.domain.planning import GroupDetail, Plan
from headroom.domain.policy import (
    EffectiveLimits,
    HardCaps,
    Limits,
    Policy,
    PolicyUnreadable,
    Rule,
    Selector,
    hard_caps_of,
)
from headroom.domain.resources import (
    Configuration,
    Observation,
    Tool,
    Volume,
    VolumeActivity,
    kept_as_text,
)
from headroom.domain.state import (
    AlreadyThere,
    Applied,
    ApprovalRequest,
    ConcurrencyState,
    Declined,
    InFlight,
    Outcome,
    ProfileHour,
    Refused,
    ResourceState,
    Stale,
    Unknown,
)
from headroom.domain.workload import Binding, Diagnosis, LoadShape, SpaceBasis, SpaceForecast
from headroom.serialization.scalars import (
    duration_text,
    hour_in,
    hour_out,
    instant_text,
    quantity_in,
    quantity_out,
    read_boolean,
    read_duration,
    read_float,
    read_instant,
    read_integer,
    read_text,
)

T = TypeVar("T")

TAG = "is"
UNIONS: tuple[tuple[Any, tuple[type, ...]], ...] = (
    (Action, (Act, Hold, Escalate)),
    (Outcome, (Applied, AlreadyThere, Stale, Refused, Unknown)),
    (
        Verification,
        (
            Relieved,
            Untested,
            Untested,
            ReductionConfirmed,
            Pending,
            Ineffective,
            ReducedTooFar,
            Diverged,
            FailedAtAws,
            RollbackConfirmed,
        ),
    ),
    (Policy | PolicyUnreadable, (Policy, PolicyUnreadable)),
)
"""Unions whose members are distinguished by `is`."""
READ_BACK: frozenset[type[StrEnum]] = frozenset(
    (Guardrail, Reason, Binding, LoadShape, SpaceBasis, Tool)
)
"""What a record keeps for people: a name that a newer release wrote there stays as its text."""
TAGGED = frozenset(member for _, members in UNIONS for member in members)
GROWN = frozenset(
    (
        Configuration,
        Volume,
        VolumeActivity,
        Observation,
        Plan,
        Decision,
        ResourceState,
        EffectiveLimits,
        SpaceForecast,
        ApprovalRequest,
        Declined,
        InFlight,
        ConcurrencyState,
        Diagnosis,
        GroupDetail,
    )
)
"""Classes with fields marked `later`, which are left out at their default."""


class Unreadable(ValueError):
    """The text is not JSON, or not JSON of the value that was asked for."""


def to_json(value: object) -> str:
    """Canonical JSON of any domain value, or of mappings and sequences of them.

    Raises ValueError for NaN, infinity and instants without a time zone.
    """
    return plain_to_json(_converter().unstructure(value))


def plain_to_json(plain: object) -> str:
    """Canonical JSON of what consists of JSON's own types; raises ValueError for NaN and infinity."""
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)


def from_json(text: str, kind: type[T] | Any) -> T:
    """The value of type `kind` (a class, union or container) that `text` stands for.

    Raises Unreadable.
    """
    value: T = from_plain(parsed(text), kind)
    return value


def parsed(text: str) -> Any:
    """JSON's own types of `text`; raises Unreadable."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as problem:
        raise Unreadable(f"not JSON: {problem}") from None


def to_plain(value: object) -> Any:
    """The value as JSON's own types, before it is text."""
    return _converter().unstructure(value)


def from_plain(plain: Any, kind: type[T] | Any) -> T:
    """The value of type `kind` from JSON's own types; raises Unreadable."""
    try:
        result: T = _converter().structure(plain, kind)
    except StructureHandlerNotFoundError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, InvalidOperation) as problem:
        name = getattr(kind, "__name__", str(kind))
        raise Unreadable(f"not a {name}: {type(problem).__name__}: {problem}") from None
    return result


def _member(text: object, kind: type[StrEnum]) -> StrEnum:
    """The member, or for what is only read back a name of its own: it is like no member here.

    A relation that this release does not know never allows.
    """
    name = read_text(text)
    try:
        return kind(name)
    except ValueError:
        if kind is Relation:
            return Relation.FAILED
        if kind in READ_BACK:
            return kept_as_text(kind, name)
        raise


def _tag(member: type) -> str:
    return re.sub(r"(?<=.)([A-Z])", r"_\1", member.__name__).lower()


def _by_tag(converter: Converter, members: tuple[type, ...]) -> Callable[[Any, Any], Any]:
    classes = {_tag(member): member for member in members}

    def structure(plain: Any, _: object) -> Any:
        return converter.structure(plain, classes[plain[TAG]])

    return structure


def _tagged(converter: Converter, member: type) -> Callable[[Any], dict[str, Any]]:
    written, tag = _without_later(converter, member), _tag(member)

    def unstructure(value: Any) -> dict[str, Any]:
        return {TAG: tag, **written(value)}

    return unstructure


def _without_later(converter: Converter, kind: type) -> Callable[[Any], dict[str, Any]]:
    """Fields marked `later` are not written at their default: the text of before stays the text."""
    later: dict[str, Any] = {
        field.name: override(omit_if_default=True)
        for field in fields(kind)
        if field.metadata.get("later")
    }
    written: Callable[[Any], dict[str, Any]] = make_dict_unstructure_fn(kind, converter, **later)
    return written


def _rule_out(converter: Converter, rule: Rule) -> dict[str, Any]:
    return {
        "selector": converter.unstructure(rule.selector),
        "settings": [[name, converter.unstructure(value)] for name, value in rule.settings],
    }


def _rule_in(converter: Converter) -> Callable[[Any, Any], Rule]:
    """A rule's settings take the types of the limits that they set."""
    kinds = get_type_hints(Limits)

    def structure(plain: Any, _: object) -> Rule:
        settings = tuple((k, converter.structure(v, kinds[k])) for k, v in plain["settings"])
        return Rule(selector=converter.structure(plain["selector"], Selector), settings=settings)

    return structure


def _is_mapping(kind: Any) -> bool:
    return get_origin(kind) is abc.Mapping


def _mapping(converter: Converter, kind: Any) -> Callable[[Any, Any], Mapping[Any, Any]]:
    key, value = get_args(kind)

    def structure(plain: Any, _: object) -> Mapping[Any, Any]:
        pairs = {
            converter.structure(k, key): converter.structure(v, value) for k, v in plain.items()
        }
        return MappingProxyType(pairs)

    return structure


@cache
def _converter() -> Converter:
    """All hooks, assembled at first use; a class captures those there when it is first used."""
    converter = Converter(detailed_validation=False)
    converter.register_unstructure_hook(datetime, instant_text)
    converter.register_structure_hook(datetime, read_instant)
    converter.register_unstructure_hook(date, date.isoformat)
    converter.register_structure_hook(date, lambda text, _: date.fromisoformat(read_text(text)))
    converter.register_unstructure_hook(timedelta, duration_text)
    converter.register_structure_hook(timedelta, read_duration)
    converter.register_unstructure_hook(Decimal, str)
    converter.register_structure_hook(Decimal, lambda text, _: Decimal(read_text(text)))
    converter.register_unstructure_hook(float, float)
    converter.register_structure_hook(float, read_float)
    converter.register_structure_hook(int, read_integer)
    converter.register_structure_hook(str, read_text)
    # Nearer than str in the order of resolution, or members would stay bare text.
    converter.register_structure_hook(StrEnum, _member)
    converter.register_structure_hook(bool, read_boolean)
    for quantity in (Quantity, Quantity | tuple[str, ...]):
        converter.register_unstructure_hook(quantity, quantity_out)
        converter.register_structure_hook(quantity, quantity_in)
    converter.register_unstructure_hook(ProfileHour, hour_out)
    converter.register_structure_hook(ProfileHour, hour_in)
    converter.register_structure_hook_factory(_is_mapping, lambda kind: _mapping(converter, kind))
    converter.register_unstructure_hook(Rule, lambda rule: _rule_out(converter, rule))
    converter.register_structure_hook(Rule, _rule_in(converter))
    converter.register_unstructure_hook(HardCaps, str)
    converter.register_structure_hook(HardCaps, lambda plain, _: hard_caps_of(plain, "hard_caps"))
    # Factories: a hook is made when its class is first written, and who only reads makes none.
    converter.register_unstructure_hook_factory(
        GROWN.__contains__, lambda kind: _without_later(converter, kind)
    )
    converter.register_unstructure_hook_factory(
        TAGGED.__contains__, lambda kind: _tagged(converter, kind)
    )
    for union, members in UNIONS:
        converter.register_structure_hook(union, _by_tag(converter, members))
    return converter
