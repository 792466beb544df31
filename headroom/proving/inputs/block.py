"""Reads nested documents key by key; an error is one sentence with its place."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from math import isfinite
from pathlib import Path

import yaml

from headroom.proving.inputs.errors import BadInput

YEARS = (1970, 2200)
"""Instants outside these years are mistakes, and calendars end."""
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?[smhd])+")


class Block:
    """A mapping inside a document with its place; unknown keys are refused."""

    def __init__(self, value: object, *, source: str, path: str, known: Sequence[str]) -> None:
        self.source = source
        self.path = path
        if not isinstance(value, Mapping):
            raise self.wrong(
                "", f"is {as_quoted(value)}; it must be a mapping of {', '.join(known)}"
            )
        for key in value:
            if key not in known:
                like = get_close_matches(str(key), known, n=1)
                hint = f" (did you mean {like[0]}?)" if like else ""
                raise self.wrong(
                    str(key), f"is not a known key{hint}; known here are {', '.join(known)}"
                )
        self._values: Mapping[str, object] = value

    def wrong(self, key: str, what: str) -> BadInput:
        """The error about `key`."""
        place = ".".join(part for part in (self.path, key) if part)
        return BadInput(f"{self.source}: {place} {what}." if place else f"{self.source} {what}.")

    def has(self, key: str) -> bool:
        """Whether the key is there and not null."""
        return self._values.get(key) is not None

    def raw(self, key: str) -> object:
        """The value as the document has it, None when absent."""
        return self._values.get(key)

    def required(self, *keys: str) -> None:
        """Raise unless all of the keys are there."""
        for key in keys:
            if not self.has(key):
                raise self.wrong(key, "is missing; it must be given")

    def block(self, key: str, known: Sequence[str]) -> Block:
        """The mapping under `key`; an absent one is empty."""
        value = self._values.get(key)
        path = f"{self.path}.{key}" if self.path else key
        return Block({} if value is None else value, source=self.source, path=path, known=known)

    def items(self, key: str) -> list[object]:
        """The list under `key`; an absent one is empty."""
        value = self._values.get(key)
        if value is None:
            return []
        if isinstance(value, str | Mapping) or not isinstance(value, Sequence):
            raise self.wrong(key, f"is {as_quoted(value)}; it must be a list")
        return list(value)

    def text(self, key: str, default: str | None = None) -> str:
        """The text under `key`."""
        value = self._given(key, default)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(key, f"is {as_quoted(value)}; it must be text")
        return value

    def choice(self, key: str, allowed: Sequence[str], default: str | None = None) -> str:
        """One of some words."""
        value = self._given(key, default)
        if value not in allowed:
            raise self.wrong(key, f"is {as_quoted(value)}; it must be one of {', '.join(allowed)}")
        return str(value)

    def flag(self, key: str, default: bool) -> bool:
        """True or false; strings such as "false" are refused."""
        value = self._given(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, f"is {as_quoted(value)}; it must be true or false")
        return value

    def number(
        self, key: str, default: float | None = None, *, low: float, high: float = 1e12
    ) -> float:
        """A finite number in a range, both ends included."""
        value = self._given(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise self.wrong(key, f"is {as_quoted(value)}; it must be a number")
        if not low <= value <= high:
            raise self.wrong(key, f"is {as_quoted(value)}; it must be from {low:g} to {high:g}")
        return float(value)

    def positive(self, key: str, default: float | None = None) -> float:
        """A number above zero."""
        value = self.number(key, default, low=0)
        if value <= 0:
            raise self.wrong(key, f"is {value:g}; it must be above 0")
        return value

    def whole(self, key: str, default: int | None = None, *, low: int, high: int) -> int:
        """A whole number in a range, both ends included."""
        value = self.number(key, default, low=low, high=high)
        if value != int(value):
            raise self.wrong(key, f"is {as_quoted(value)}; it must be a whole number")
        return int(value)

    def setting(self, key: str, default: int | None) -> int | None:
        """A rate of a volume from 1 to 1,000,000; `default` when absent."""
        return self.whole(key, low=1, high=1_000_000) if self.has(key) else default

    def duration(self, key: str, default: str | None = None) -> timedelta:
        """A duration such as 30m, 2h, 180s or 1h30m; a plain number is refused."""
        value = self._given(key, default)
        if not isinstance(value, str) or not _DURATION.fullmatch(value.replace(" ", "")):
            raise self.wrong(
                key, f"is {as_quoted(value)}; it must be a duration such as 180s, 30m, 2h or 1h30m"
            )
        parts = re.findall(r"(\d+(?:\.\d+)?)([smhd])", value)
        seconds = sum(float(amount) * _UNITS[unit] for amount, unit in parts)
        if seconds > 10 * 366 * 86_400:
            raise self.wrong(key, f"is {as_quoted(value)}; that is more than ten years")
        return timedelta(seconds=seconds)

    def durations(self, key: str, default: str) -> tuple[timedelta, timedelta]:
        """A duration, or a range of them such as 5m..40m, as its least and its most."""
        value = self._given(key, default)
        if not isinstance(value, str) or ".." not in value:
            only = self.duration(key, default)
            return only, only
        ends = [
            Block({key: end}, source=self.source, path=self.path, known=(key,)).duration(key)
            for end in value.split("..", 1)
        ]
        if ends[0] > ends[1]:
            raise self.wrong(key, f"is {as_quoted(value)}; a range goes from the least to the most")
        return ends[0], ends[1]

    def instant(self, key: str) -> datetime | None:
        """An instant with its zone, in UTC; None when absent."""
        value = self._values.get(key)
        return None if value is None else self.as_instant(key, value)

    def as_instant(self, key: str, value: object) -> datetime:
        """`value` as an instant in UTC."""
        try:
            instant = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        except ValueError:
            raise self.wrong(
                key, f"is {as_quoted(value)}; it must be an instant like 2026-01-05T00:00:00Z"
            ) from None
        if instant.tzinfo is None:
            raise self.wrong(
                key, f"is {as_quoted(value)}, which has no time zone; append Z for UTC"
            )
        if not YEARS[0] <= instant.year <= YEARS[1]:
            raise self.wrong(
                key, f"is {as_quoted(value)}; it must be from {YEARS[0]} to {YEARS[1]}"
            )
        return instant.astimezone(UTC)

    def _given(self, key: str, default: object) -> object:
        value = self._values.get(key)
        if value is None:
            if default is None:
                raise self.wrong(key, "is missing; it must be given")
            return default
        return value


def as_quoted(value: object) -> str:
    """A value in a message: short, and so that text differs from a number."""
    if value is None:
        return "empty"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def load_yaml(path: Path) -> object:
    """The content of a YAML or JSON file; words like `off` and `2026-01-05` stay text."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not text in UTF-8.") from None
    try:
        return yaml.load(text, _PlainLoader)  # noqa: S506 - derived from SafeLoader
    except BadInput as error:
        raise BadInput(f"{path.name}: {error}") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or "it cannot be parsed"
        raise BadInput(f"{path.name} is not valid YAML{where}: {problem}.") from None


class _PlainLoader(yaml.SafeLoader):
    """YAML of the core schema: no `off` for False, no dates, no sexagesimal; no key twice."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
        names: set[str] = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in names:
                raise BadInput(f"key {name!r} is given twice (line {key.start_mark.line + 1}).")
            names.add(name)
        return dict(super().construct_mapping(node, deep=deep))

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        digits = node.value.lstrip("-+")
        if digits.startswith("0") and int(digits) > 7:
            raise BadInput(
                f"{node.value} (line {node.start_mark.line + 1}) begins with 0; write the number without it, or a "
                "name in quotes."
            )
        return int(node.value)


_PlainLoader.add_constructor("tag:yaml.org,2002:int", _PlainLoader.construct_yaml_int)
for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", "~nN"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", "-+."),
):
    _PlainLoader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}",
        re.compile(rf"^(?:{_pattern})$"),
        [*_first, ""] if _tag == "null" else list(_first),
    )
