"""The schedule and concurrency settings of a policy's account section."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from types import MappingProxyType

from headroom.domain.catalog import BY_NAME, MOST_IOPS, MOST_TIB
from headroom.domain.policy.freezes import (
    LONGEST_REASON,
    MOST_CALENDARS,
    MOST_FREEZES,
    Freeze,
    freeze_between,
)
from headroom.domain.policy.readers import Reader, refuse, value_text
from headroom.domain.policy.windows import WindowError
from headroom.domain.state import MOST_IN_FLIGHT, MOST_PER_HOUR

RADIUS: Mapping[str, tuple[int, str]] = MappingProxyType(
    {
        "max_in_flight": (MOST_IN_FLIGHT, "The most changes that are under way at once."),
        "max_changes_per_hour": (MOST_PER_HOUR, "The most changes begun in any 60 minutes."),
        "max_in_flight_per_az": (
            MOST_IN_FLIGHT, "The most changes that are under way at once in one Availability Zone.",
        ),
    }
)  # fmt: skip
"""Fields of BlastRadius, the most each may be, and what it means; the least is 1."""
_CALENDAR = r"(arn:aws[a-z-]*:ssm:[a-z0-9-]+:[0-9]{12}:document/)?[A-Za-z0-9_.-]{3,128}"
_WHEN = r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?(Z|[+-][0-9]{2}:[0-9]{2})?)?"
FREEZE_KEYS = ("from", "until", "reason", "time_zone")


def _radius(name: str, value: object, source: str, path: str) -> object:
    high = RADIUS[name][0]
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= high:
        problem = f"is {value_text(value)}; it must be a whole number from 1 to {high:,}"
        if value == 0 and not isinstance(value, bool):
            problem += "; to change nothing, set mode to observe"
        raise refuse(source, path, problem)
    return value


def _listed(value: object, what: str, most: int, source: str, path: str) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise refuse(source, path, f"is {value_text(value)}; it must be a list of {what}")
    if len(value) > most:
        raise refuse(source, path, f"has {len(value)} {what}; {most} is the most")
    return value


def _freezes(value: object, source: str, path: str) -> tuple[Freeze, ...]:
    listed = _listed(value, "freezes", MOST_FREEZES, source, path)
    found = {_freeze(one, source, f"{path}[{i}]") for i, one in enumerate(listed, 1)}
    return tuple(sorted(found, key=lambda f: (f.begins, f.until, f.reason)))


def _freeze(value: object, source: str, path: str) -> Freeze:
    if not isinstance(value, Mapping):
        raise refuse(
            source, path, f"is {value_text(value)}; it must be a mapping of from and until"
        )
    for key in value:
        if key not in FREEZE_KEYS:
            known = ", ".join(FREEZE_KEYS)
            raise refuse(source, path, f"has the unknown key {value_text(key)}; known are {known}")
    for key in ("from", "until"):
        if key not in value:
            raise refuse(source, path, f"has no {key}; a freeze needs both from and until")
    reason, zone = value.get("reason", ""), value.get("time_zone", "UTC")
    if not isinstance(reason, str) or len(reason) > LONGEST_REASON:
        wanted = f"a text of at most {LONGEST_REASON} characters"
        raise refuse(source, f"{path}.reason", f"is {value_text(reason)}; it must be {wanted}")
    if not isinstance(zone, str):
        raise refuse(
            source, f"{path}.time_zone", f"is {value_text(zone)}; one is like Europe/Berlin"
        )
    first, last = (_when(value[key], source, f"{path}.{key}") for key in ("from", "until"))
    try:
        freeze = freeze_between(first, last, zone, " ".join(reason.split()))
    except WindowError as problem:
        raise refuse(
            source, f"{path}.time_zone", f"is {value_text(zone)}, which {problem}"
        ) from None
    except OverflowError:
        raise refuse(source, path, "is too far away in time") from None
    if freeze.until <= freeze.begins:
        raise refuse(source, path, "ends before it begins")
    return freeze


def _when(value: object, source: str, path: str) -> date | datetime:
    """A date, or an instant to the second; YAML makes either of what is not in quotes."""
    if isinstance(value, datetime):
        return value.replace(microsecond=0)
    if isinstance(value, date):
        return value
    if isinstance(value, str) and re.fullmatch(_WHEN, value):
        try:
            return datetime.fromisoformat(value) if len(value) > 10 else date.fromisoformat(value)
        except ValueError:
            pass
    wanted = "a date such as 2026-12-20 or an instant such as 2026-12-20T18:00"
    raise refuse(source, path, f"is {value_text(value)}; it must be {wanted}")


def _calendars(value: object, source: str, path: str) -> tuple[str, ...]:
    found = []
    for one in _listed(value, "calendars", MOST_CALENDARS, source, path):
        if not isinstance(one, str) or not re.fullmatch(_CALENDAR, one):
            wanted = "the name or ARN of a Change Calendar of AWS Systems Manager"
            raise refuse(source, path, f"names {value_text(one)}; it must be {wanted}")
        found.append(one)
    return tuple(sorted(set(found)))


def _quotas(value: object, source: str, path: str) -> tuple[tuple[str, int], ...]:
    if not isinstance(value, Mapping):
        raise refuse(source, path, f"is {value_text(value)}; it must map quotas to numbers")
    for name, number in value.items():
        if name not in BY_NAME:
            known = ", ".join(BY_NAME)
            raise refuse(source, path, f"has the unknown key {value_text(name)}; known are {known}")
        most = MOST_TIB if BY_NAME[name].unit == "TiB" else MOST_IOPS
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= most:
            wanted = f"a whole number of {BY_NAME[name].unit} from 1 to {most:,}"
            raise refuse(source, f"{path}.{name}", f"is {value_text(number)}; it must be {wanted}")
    return tuple(sorted(value.items()))


def _written(freeze: Freeze) -> dict[str, object]:
    first, last = (
        at.astimezone(UTC).isoformat().replace("+00:00", "Z")
        for at in (freeze.begins, freeze.until)
    )
    reason = {"reason": freeze.reason} if freeze.reason else {}
    return {"from": first, "until": last, **reason}


def _written_freezes(value: object) -> object:
    return [_written(one) for one in value] if isinstance(value, tuple) else []


def _written_list(value: object) -> object:
    return list(value) if isinstance(value, tuple) else []


def _written_quotas(value: object) -> object:
    return dict(value) if isinstance(value, tuple) else {}


def unchanged(value: object) -> object:
    """A value that is written as it is."""
    return value


_INSTANT = {"type": "string", "pattern": f"^{_WHEN}$"}
_FREEZE = {
    "type": "object", "additionalProperties": False, "required": ["from", "until"],
    "properties": {
        "from": {**_INSTANT, "description": "First day, or instant, of the freeze."},
        "until": {**_INSTANT, "description": "Last day, to its end; or the instant it ends."},
        "reason": {"type": "string", "maxLength": LONGEST_REASON},
        "time_zone": {"type": "string", "default": "UTC"},
    },
}  # fmt: skip
_QUOTAS = {
    name: {"type": "integer", "minimum": 1,
           "maximum": MOST_TIB if quota.unit == "TiB" else MOST_IOPS}
    for name, quota in BY_NAME.items()
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountSetting:
    """One setting: the field of Policy it is, how it is read and written, and what it means."""

    name: str
    read: Reader
    write: Callable[[object], object]
    """The JSON value that `read` makes the field's value of."""
    schema: Mapping[str, object]
    """The JSON Schema of its value."""
    meaning: str


SCHEDULE_AND_CONCURRENCY: Mapping[str, AccountSetting] = MappingProxyType(
    {
        **{
            name: AccountSetting(
                name=name, read=partial(_radius, name), write=unchanged,
                schema={"type": "integer", "minimum": 1, "maximum": high}, meaning=meaning,
            )
            for name, (high, meaning) in RADIUS.items()
        },
        "freezes": AccountSetting(
            name="freezes", read=_freezes, write=_written_freezes,
            schema={"type": "array", "maxItems": MOST_FREEZES, "items": _FREEZE},
            meaning="Times in which nothing is changed.",
        ),
        "calendars": AccountSetting(
            name="calendars", read=_calendars, write=_written_list,
            schema={
                "type": "array", "maxItems": MOST_CALENDARS,
                "items": {"type": "string", "pattern": f"^{_CALENDAR}$"},
            },
            meaning="Change Calendars of AWS Systems Manager: nothing is changed while one of "
            "them is closed, or cannot be read.",
        ),
        "regional_quotas": AccountSetting(
            name="quotas", read=_quotas, write=_written_quotas,
            schema={"type": "object", "additionalProperties": False, "properties": _QUOTAS},
            meaning="Your account's quotas for concurrent modifications, where AWS raised them; "
            "TiB and IOPS.",
        ),
    }
)  # fmt: skip
"""Every one of them by the name it has in a policy's account section."""
