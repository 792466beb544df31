"""What a policy's words count for which kind of storage: silence enrols no database.

Defaults, and rules that name no kind, were written with volumes in mind. For a database they only
narrow: they take permission away and never give any. What allows more is said by a rule that names
the kind, or by the database's own tags as far as they may.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from headroom.domain.policy.fields import POLICY_NAMES, plain_value
from headroom.domain.policy.limits import NARROWER, TRADE_OFF_SETTINGS, Limits, TagsMay
from headroom.domain.resources import Kind

SHIPPED = "shipped value"
"""Where a limit is from that the defaults would have widened without naming the kind."""
_TAGS_MAY = tuple(TagsMay)
"""The least permission first."""


def requires_named_kind(kind: Kind) -> bool:
    """Whether only what names this kind may allow anything for it."""
    return kind is not Kind.EBS


def at_most(name: str, before: Any, asked: Any) -> Any:
    """What `asked` may make of field `name` of Limits where the kind was not named.

    Preferences (what relief is worth, how much to spare) allow nothing and count as they are.
    """
    if name in TRADE_OFF_SETTINGS:
        return asked
    if name == "tags_may":
        return min(before, asked, key=_TAGS_MAY.index)
    return NARROWER[name](before, asked)


def defaults_for(kind: Kind, defaults: Limits) -> Limits:
    """What holds for this kind where no rule and no tag says anything."""
    reading = LimitsReader(kind=kind, limits=Limits())
    reading.defaults(defaults)
    return reading.limits


@dataclass(slots=True)
class LimitsReader:
    """Limits of one resource as its policy is read from top to bottom; used once."""

    kind: Kind
    limits: Limits
    origins: dict[str, str] = field(default_factory=dict)
    ignored_settings: dict[str, tuple[str, object]] = field(default_factory=dict)
    """Fields whose last word was not followed as it is: who said it, and what."""

    def defaults(self, limits: Limits) -> None:
        """Begin with the policy's defaults."""
        if requires_named_kind(self.kind):
            self._narrow({f.name: getattr(limits, f.name) for f in fields(Limits)}, "defaults")
            self.origins = dict.fromkeys(self.ignored_settings, SHIPPED)
        else:
            self.limits = limits

    def rule(self, number: int, settings: Iterable[tuple[str, object]], named: Kind | None) -> None:
        """Follow a rule that fits; `named` is the kind that its match names."""
        asked, where = dict(settings), f"rule {number}"
        if requires_named_kind(self.kind) and named is not self.kind:
            self._narrow(asked, where)
            return
        self.limits = replace(self.limits, **asked)  # type: ignore[arg-type]
        self.origins |= dict.fromkeys(asked, where)
        for name in asked:
            self.ignored_settings.pop(name, None)

    def _narrow(self, asked: Mapping[str, object], where: str) -> None:
        for name, value in asked.items():
            before = getattr(self.limits, name)
            after = at_most(name, before, value)
            self.ignored_settings.pop(name, None)
            if after != value:
                self.ignored_settings[name] = (where, value)
            if after != before or after == value:
                self.limits = replace(self.limits, **{name: after})
                self.origins[name] = where

    def notes(self, limits: Limits, by_tag: Iterable[str]) -> tuple[str, ...]:
        """What was said without naming the kind and not followed, a sentence for each place.

        `limits` are those in force in the end, `by_tag` the fields that tags decided.
        """
        decided = set(by_tag)
        said: dict[str, list[str]] = {}
        for name, (where, value) in self.ignored_settings.items():
            held = getattr(limits, name)
            if name not in decided and held != value:
                friendly = POLICY_NAMES[name]
                text = f"{friendly} {_shown(name, value)} (it is {_shown(name, held)})"
                said.setdefault(where, []).append(text)
        return tuple(
            f"{where} {'set' if where == 'defaults' else 'sets'} {', '.join(texts)} without naming "
            f"kind: {self.kind.value}, which allows a database nothing"
            for where, texts in said.items()
        )


def _shown(name: str, value: object) -> str:
    plain = plain_value(POLICY_NAMES[name], value)
    if isinstance(plain, bool):
        return str(plain).lower()
    if isinstance(plain, list):
        return ", ".join(map(str, plain)) or "none"
    return f"{plain:,}" if isinstance(plain, int) else str(plain)
