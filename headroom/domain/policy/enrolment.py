"""Enrolment: which settings of a policy apply to which kind of storage.

Defaults, and rules without a kind, are meant for volumes. For a database they only narrow limits and
never permit anything. Only a rule that names the kind, or the database's own tags, permit more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from headroom.domain.policy.fields import POLICY_NAMES, plain_value
from headroom.domain.policy.limits import NARROWER, TRADE_OFF_SETTINGS, Limits, TagsMay
from headroom.domain.resources import Kind

SHIPPED_LIMITS = Limits()
SHIPPED = "shipped value"
"""Origin of a limit that the defaults may not widen because they name no kind."""
Ceilings = tuple[tuple[str, int], ...]
"""Ceilings of databases: field of Limits and its value."""
_TAGS_MAY = tuple(TagsMay)
"""The least permission first."""


def requires_named_kind(kind: Kind) -> bool:
    """Whether only rules that name this kind may permit anything for it."""
    return kind is not Kind.EBS


def at_most(name: str, before: Any, asked: Any) -> Any:
    """The value of field `name` of Limits where a rule sets `asked` without naming the kind.

    What permits nothing (the value of relief, the spare capacity, a discount) applies as it is.
    """
    if name in TRADE_OFF_SETTINGS:
        return asked
    if name == "tags_may":
        return min(before, asked, key=_TAGS_MAY.index)
    return NARROWER[name](before, asked)


def defaults_for(kind: Kind, defaults: Limits, rds_ceilings: Ceilings) -> Limits:
    """The limits of this kind without any rule or tag."""
    reading = LimitsReader(kind=kind)
    reading.defaults(defaults, rds_ceilings)
    return reading.limits


@dataclass(slots=True)
class LimitsReader:
    """Reads the limits of one resource from a policy, top to bottom; used once."""

    kind: Kind
    limits: Limits = SHIPPED_LIMITS
    origins: dict[str, str] = field(default_factory=dict)
    ignored_settings: dict[str, tuple[str, object]] = field(default_factory=dict)
    """Fields whose last setting was not applied: its place and its value."""

    def defaults(self, limits: Limits, rds_ceilings: Ceilings) -> None:
        """Start with the policy's defaults, of a database with its own ceilings among them."""
        if not requires_named_kind(self.kind):
            self.limits = limits
            return
        ceilings = dict(rds_ceilings)
        self.limits = replace(self.limits, **ceilings)  # type: ignore[arg-type]
        said = {f.name: getattr(limits, f.name) for f in fields(Limits)}
        self._narrow(said | ceilings, "defaults")
        self.origins = dict.fromkeys(self.ignored_settings, SHIPPED)

    def rule(self, number: int, settings: Iterable[tuple[str, object]], named: Kind | None) -> None:
        """Apply a matching rule; `named` is the kind that it names."""
        asked, where = dict(settings), f"rule {number}"
        if requires_named_kind(self.kind) and named is not self.kind:
            self._narrow(asked, where)
            return
        self.limits = replace(self.limits, **asked)  # type: ignore[arg-type]
        self.origins |= dict.fromkeys(asked, where)
        for name in asked:
            self.ignored_settings.pop(name, None)

    def _narrow(self, asked: Mapping[str, object], where: str) -> None:
        applied: dict[str, Any] = {}
        for name, value in asked.items():
            before = getattr(self.limits, name)
            after = at_most(name, before, value)
            self.ignored_settings.pop(name, None)
            if after != value:
                self.ignored_settings[name] = (where, value)
            if after != before or after == value:
                applied[name], self.origins[name] = after, where
        self.limits = replace(self.limits, **applied)

    def notes(self, limits: Limits, by_tag: Iterable[str]) -> tuple[str, ...]:
        """The settings that were ignored because they name no kind, a sentence for each place.

        `limits` are the effective ones, `by_tag` the fields that tags decided.
        """
        decided = set(by_tag)
        said: dict[str, list[str]] = {}
        for name, (where, value) in self.ignored_settings.items():
            held = getattr(limits, name)
            if name not in decided and held != value:
                friendly = POLICY_NAMES[name]
                text = f"{friendly} {_text_of(name, value)} (it is {_text_of(name, held)})"
                said.setdefault(where, []).append(text)
        return tuple(
            f"{where} {'set' if where == 'defaults' else 'sets'} {', '.join(texts)} without naming "
            f"kind: {self.kind.value}, which allows a database nothing"
            for where, texts in said.items()
        )


def _text_of(name: str, value: object) -> str:
    plain = plain_value(POLICY_NAMES[name], value)
    if isinstance(plain, bool):
        return str(plain).lower()
    if isinstance(plain, list):
        return ", ".join(map(str, plain)) or "none"
    return f"{plain:,}" if isinstance(plain, int) else str(plain)
