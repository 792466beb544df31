"""Hard caps: what the deployment fixes above every policy, tag and approval.

A cap is written like the policy's setting of that name and can only narrow it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from difflib import get_close_matches

from headroom.domain.policy.fields import FRIENDLY, POLICY_NAMES, plain_value
from headroom.domain.policy.limits import NARROWER, Limits, Mode
from headroom.domain.policy.readers import ACCOUNT_PRICE, money, refuse, value_text, written_money

HARD_CAP = "hard cap"
"""Origin of a limit that the deployment narrowed."""
CAPPABLE = (
    "mode", "types", "max_iops", "max_throughput_mibps", "max_size_gib", ACCOUNT_PRICE,
    "approve_above_usd_per_month", "discount_percent", "growth", "grow_space", "full_copy", "one_way",
    "give_back", "aurora_restart",
)  # fmt: skip
"""Settings that may be capped, by their name in a policy: each says what may happen, none when."""
IN_DOLLARS = frozenset({"price_increase_usd", "approve_above_usd"})
"""Capped fields of Limits that a discount would stretch."""
ACCOUNT_CAP = f"account_{ACCOUNT_PRICE}"
RESOURCE_TAG_CAP = "resource_tag"
NO_CAPS = "none"
"""The text of no caps at all."""
Tag = tuple[str, str | None]
"""A tag's key, and the value that it must have; None for any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HardCaps:
    """What one deployment never exceeds; empty without any cap."""

    settings: tuple[tuple[str, object], ...] = ()
    """Field of Limits and its cap, sorted by field."""
    account_increase_usd: Decimal | None = None
    """Most the increases in force may sum up to, in USD a month."""
    resource_tag: Tag | None = None
    """The tag that a resource must have to be changed."""

    def __str__(self) -> str:
        """The one text of these caps; `hard_caps_of` reads it back."""
        if self == HardCaps():
            return NO_CAPS
        document: dict[str, object] = {
            POLICY_NAMES[field]: plain_value(POLICY_NAMES[field], cap)
            for field, cap in self.settings
        }
        if self.account_increase_usd is not None:
            document[ACCOUNT_CAP] = written_money(self.account_increase_usd)
        if self.resource_tag is not None:
            document[RESOURCE_TAG_CAP] = tag_text(self.resource_tag)
        return json.dumps(document, sort_keys=True, separators=(",", ":"))

    @property
    def limits(self) -> Mapping[str, object]:
        """Field of Limits and its cap; caps in dollars allow no discount unless they say which."""
        said = dict(self.settings)
        if self.account_increase_usd is not None or not IN_DOLLARS.isdisjoint(said):
            said.setdefault("discount_percent", 0.0)
        return said

    def allows_tags(self, tags: Iterable[tuple[str, str]]) -> bool:
        """Whether a resource with these tags may be changed at all."""
        if self.resource_tag is None:
            return True
        key, wanted = self.resource_tag
        return any(k == key and (wanted is None or v == wanted) for k, v in tags)

    def caps_type(self, volume_type: object) -> bool:
        """Whether no volume may be changed to this type."""
        types = dict(self.settings).get("types")
        return isinstance(types, tuple) and volume_type not in types


def tag_text(tag: Tag) -> str:
    """KEY=VALUE, or KEY alone for any value."""
    key, value = tag
    return key if value is None else f"{key}={value}"


def tag_of(text: object, source: str, path: str) -> Tag:
    """The tag in `KEY` or `KEY=VALUE`; raises PolicyError."""
    key, equals, value = text.partition("=") if isinstance(text, str) else ("", "", "")
    if not key.strip() or key.lower().startswith("aws:") or len(key) > 128 or len(value) > 256:
        wanted = "the tag KEY or KEY=VALUE that a resource needs to be changed"
        raise refuse(source, path, f"is {value_text(text)}; it must be {wanted}")
    return key.strip(), value.strip() if equals else None


def hard_caps_of(value: object, source: str) -> HardCaps:
    """The caps in a mapping or its JSON text; `none` is no cap. Raises PolicyError in one sentence."""
    if isinstance(value, str):
        value = _parsed(value.strip(), source)
    if not isinstance(value, Mapping):
        raise refuse(source, "", f"is {value_text(value)}; it must be a mapping of caps")
    known = (*CAPPABLE, ACCOUNT_CAP, RESOURCE_TAG_CAP)
    found: dict[str, object] = {}
    account, tag = None, None
    for name, said in value.items():
        if name not in known:
            close = get_close_matches(str(name), known, n=1)
            hint = f"did you mean {close[0]}" if close else f"known are {', '.join(known)}"
            raise refuse(source, "", f"has the unknown cap {value_text(name)}; {hint}")
        if name == ACCOUNT_CAP:
            account = money(said, source, name)
        elif name == RESOURCE_TAG_CAP:
            tag = tag_of(said, source, name)
        else:
            found[FRIENDLY[name].name] = FRIENDLY[name].read(said, source, name)
    return HardCaps(
        settings=tuple(sorted(found.items())), account_increase_usd=account, resource_tag=tag
    )


def _parsed(text: str, source: str) -> object:
    if text == NO_CAPS:
        return {}
    try:
        return json.loads(text, object_pairs_hook=_each_once)
    except (ValueError, RecursionError):
        raise refuse(
            source, "", f"is {value_text(text)}; it must be JSON such as "
            '{"max_iops": 16000, "types": ["gp3"]}, with each cap once, or none'
        ) from None  # fmt: skip


def _each_once(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """A mapping without repeated names, of which the last would count; raises ValueError."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is repeated")
    return found


def capped_limits(
    caps: HardCaps, limits: Limits, tags: Iterable[tuple[str, str]]
) -> tuple[Limits, dict[str, str], tuple[str, ...]]:
    """`limits` within the caps, the origin of each field that they narrowed, and notes."""
    narrowed: dict[str, object] = {}
    for name, cap in caps.limits.items():
        before = getattr(limits, name)
        after = NARROWER[name](before, cap)
        if after != before:
            narrowed[name] = after
    limits = replace(limits, **narrowed)  # type: ignore[arg-type]
    notes: tuple[str, ...] = ()
    if caps.resource_tag is not None and not caps.allows_tags(tags):
        mode = NARROWER["mode"](limits.mode, Mode.OBSERVE)
        if mode != limits.mode:
            limits, narrowed["mode"] = replace(limits, mode=mode), mode
            notes = (f"the deployment changes only what has the tag {tag_text(caps.resource_tag)}",)
    return limits, dict.fromkeys(narrowed, HARD_CAP), notes
