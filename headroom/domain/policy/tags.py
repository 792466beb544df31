"""Settings from the tags on a resource: `headroom: auto`, `headroom:max-iops: 8000`.

A tag's text is converted to the value that a policy would have, and read by the same rules. A tag
that is not understood is a problem and blocks all changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches

from headroom.domain.policy.fields import FRIENDLY, POLICY_NAMES, plain_value
from headroom.domain.policy.limits import Limits, TagsMay, narrower
from headroom.domain.policy.readers import GROUP_TAG, PRESETS, PolicyError, refuse

MODE_TAG = "headroom"
"""Tag whose value is a mode; `headroom: auto` enrols a resource."""
PREFIX = "headroom:"
"""Prefix of all other tags: `headroom:max-iops`."""
BY_TAG = tuple(name for name in FRIENDLY if name != "tags_may")
"""Settings that a tag can make: all but what tags may do."""
SOURCE = "The volume's tags"
_LIST = re.compile(r"[\s,/+;]+")
_NUMBER = re.compile(r"[0-9]{1,12}(\.[0-9]{1,12})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class TagSetting:
    """One setting made by a tag: the field of Limits, its value, and the tag as it is written."""

    field: str
    value: object
    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggedLimits:
    """Limits after tags; `origins` are the fields that changed, and by which tag."""

    limits: Limits
    origins: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    """Settings of tags that were not applied, a sentence each."""
    problem: str | None
    """Why the tags cannot be applied; no change happens until they are corrected."""


def key_of(name: str) -> str:
    """The tag's key for a setting, for example `headroom:max-iops`."""
    return PREFIX + name.replace("_", "-")


def mode_tags(tags: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The tags that say the mode."""
    names = MODE_TAG, key_of("mode")
    return tuple((key, text) for key, text in tags if key.strip().lower() in names)


def tag_settings(tags: Iterable[tuple[str, str]]) -> tuple[TagSetting, ...]:
    """Every setting from `tags`, in the order of the policy's settings.

    Keys are understood in any case, with `-` or `_`. Raises PolicyError with one sentence.
    """
    found: dict[str, TagSetting] = {}
    for key, text in tags:
        plain = key.strip().lower()
        if plain == GROUP_TAG or (plain != MODE_TAG and not plain.startswith(PREFIX)):
            continue
        name = "mode" if plain == MODE_TAG else plain.removeprefix(PREFIX).replace("-", "_")
        one = _read(name, key, text)
        other = found.setdefault(one.field, one)
        if other.value != one.value:
            raise refuse(SOURCE, "", f"{other.tag!r} and {key!r} say different things; keep one")
    order = [FRIENDLY[name].name for name in BY_TAG]
    return tuple(sorted(found.values(), key=lambda one: order.index(one.field)))


def _read(name: str, key: str, text: str) -> TagSetting:
    if name == "preset":
        if text.strip().lower() not in PRESETS:
            raise refuse(SOURCE, key, f"is {text!r}; known are {', '.join(PRESETS)}")
        worth = PRESETS[text.strip().lower()]
        return TagSetting(field="relief_value_usd_per_minute", value=worth, tag=key)
    if name not in BY_TAG:
        close = get_close_matches(name, (*BY_TAG, "preset"), n=1)
        hint = f"did you mean {key_of(close[0])}" if close else "docs/policy.md has the known ones"
        raise refuse(SOURCE, "", f"have the unknown key {key!r}; {hint}")
    setting = FRIENDLY[name]
    written = _windows(text) if name == "change_windows" else _as_written(text, setting.schema)
    value = setting.read(written, SOURCE, key)
    return TagSetting(field=setting.name, value=value, tag=key)


def _windows(text: str) -> object:
    """Change windows parted by semicolons; names of time zones keep their case."""
    return [part.strip() for part in text.split(";") if part.strip()] or text


def _as_written(text: str, schema: Mapping[str, object]) -> object:
    """The value that a policy would have for a tag's text; the text itself if it has none."""
    plain = text.strip().lower()
    match schema.get("type"):
        case "integer" | "number" if _NUMBER.fullmatch(plain):
            return float(plain) if "." in plain else int(plain)
        case "boolean" if plain in ("true", "false"):
            return plain == "true"
        case "array":
            return [part for part in _LIST.split(plain) if part]
        case "string":
            return plain
        case None if _NUMBER.fullmatch(plain) and _takes_numbers(schema):
            return float(plain) if "." in plain else int(plain)
        case None:  # a duration, or an amount that may be left out
            return 0 if plain == "0" else plain
        case _:
            return text


def _takes_numbers(schema: Mapping[str, object]) -> bool:
    kinds = schema.get("oneOf")
    return isinstance(kinds, list) and any(kind.get("type") == "number" for kind in kinds)


def apply_tags(limits: Limits, tags: Iterable[tuple[str, str]]) -> TaggedLimits:
    """`limits` as changed by the tags, as far as `limits.tags_may` permits.

    A tag that is not understood, or that leaves no volume type, is a problem.
    """
    try:
        asked = tag_settings(tags)
    except PolicyError as error:
        return TaggedLimits(limits=limits, origins=(), notes=(), problem=str(error).rstrip("."))
    gives_back = limits.give_back and all(o.value for o in asked if o.field == "give_back")
    moved: dict[str, object] = {}
    origins: list[tuple[str, str]] = []
    notes: list[str] = []
    for one in asked:
        before = getattr(limits, one.field)
        after = _allowed(one, before, limits.tags_may, gives_back)
        if one.field == "types" and after == ():
            problem = f"{SOURCE}: {one.tag} leaves none of the types the policy allows"
            return TaggedLimits(limits=limits, origins=(), notes=(), problem=problem)
        if after != one.value:
            notes.append(
                f"tag {one.tag} asks for {_text_of(one.field, one.value)} where the policy allows "
                f"{_text_of(one.field, before)}; tags may {limits.tags_may.value} only, so it is "
                f"{_text_of(one.field, after)}"
            )
        if after != before or after == one.value:
            moved[one.field] = after
            origins.append((one.field, f"tag {one.tag}"))
    return TaggedLimits(
        limits=replace(limits, **moved),  # type: ignore[arg-type]
        origins=tuple(origins),
        notes=tuple(notes),
        problem=None,
    )


def _text_of(field: str, value: object) -> str:
    plain = plain_value(POLICY_NAMES[field], value)
    if isinstance(plain, bool):
        return str(plain).lower()
    if field == "change_windows":
        return "; ".join(map(str, plain)) or "any time" if isinstance(plain, list) else ""
    return ", ".join(map(str, plain)) if isinstance(plain, list) else str(plain)


def _allowed(one: TagSetting, before: object, tags_may: TagsMay, gives_back: bool) -> object:
    free = tags_may is TagsMay.WIDEN or (tags_may is TagsMay.ENROL and one.field == "mode")
    if free:
        return one.value
    least = narrower(one.field, before, one.value, give_back=gives_back)
    same_set = one.field == "types" and set(least) == set(one.value)  # type: ignore[call-overload]
    return one.value if same_set else least
