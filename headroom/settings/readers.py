"""How the value of a setting is read; each reader refuses what makes no sense in one sentence."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum

from headroom.domain.policy import HardCaps, PolicyError, hard_caps_of

LOG_RETENTION_DAYS = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827)
"""Retentions CloudWatch Logs takes (its longer ones are left out)."""
SHORTEST_RECORD_DAYS = 90
"""Days that records are kept at least: a chain may be open for weeks, and be rolled back later."""

OFF = "off"
"""The value of a setting for something that a deployment does not have."""
KINDS = (("ebs",), ("ebs", "rds"), ("ebs", "rds", "aurora"))
"""What may be enrolled together; Aurora's events come with those of RDS."""

Reader = Callable[[object, str], object]
"""Turns the value of a setting into its type; raises SettingsError with the given name."""


class SettingsError(ValueError):
    """A setting is missing or invalid; the message is one sentence that names it."""


def whole(low: int, high: int) -> Reader:
    """A whole number, also as text: `cdk -c` passes nothing else."""

    def read(value: object, name: str) -> int:
        if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value.strip()):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise SettingsError(f"{name} is {value!r}; it must be a whole number, {low} to {high}.")
        return value

    return read


def text(pattern: str, meaning: str) -> Reader:
    """Text that matches; `meaning` says what it must be."""

    def read(value: object, name: str) -> object:
        if not isinstance(value, str) or not re.fullmatch(pattern, value.strip()):
            raise SettingsError(f"{name} is {value!r}; it must be {meaning}.")
        return value.strip()

    return read


def on_off(value: object, name: str) -> object:
    """`on` or `off`; in Python or JSON also a truth value."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return text("on|off", "on or off")(value, name)


def read_detection(value: object, name: str) -> object:
    """How pressure is found."""
    if value == "otel":
        raise SettingsError(
            f"{name} is 'otel', which is not offered: AWS does not say what a PromQL alarm costs and how it "
            "reports volumes; use adaptive, and add an alarm of your own as the deployment page shows."
        )
    try:
        return Detection(value if isinstance(value, str) else "")
    except ValueError:
        raise SettingsError(
            f"{name} is {value!r}; it must be adaptive, fleet, tagged or sweep."
        ) from None


def read_kinds(value: object, name: str) -> str:
    """The kinds in a fixed order; a text with commas, as `cdk -c` passes it, or a list."""
    parts = value.split(",") if isinstance(value, str) else value
    named = {str(p).strip() for p in parts} if isinstance(parts, list | tuple) else set()
    for known in KINDS:
        if named == set(known):
            return ",".join(known)
    choices = ", or ".join(",".join(known) for known in KINDS)
    raise SettingsError(f"{name} is {value!r}; it must be {choices}.")


def read_email(value: object, name: str) -> object:
    """An address, or none."""
    if value is None:
        return None
    return text(r"[^@\s]+@[^@\s]+\.[^@\s]+", "an e-mail address")(value, name)


def or_off(pattern: str, meaning: str) -> Reader:
    """Text that matches, or `off`."""
    read = text(rf"{OFF}|{pattern}", f"{meaning}, or {OFF}")
    return lambda value, name: OFF if value is None else read(value, name)


def read_hard_caps(value: object, name: str) -> HardCaps:
    """Ceilings above the policy."""
    try:
        return hard_caps_of(value, name)
    except PolicyError as problem:
        raise SettingsError(str(problem)) from None


def read_log_retention(value: object, name: str) -> object:
    """Days that CloudWatch Logs takes."""
    days = whole(1, max(LOG_RETENTION_DAYS))(value, name)
    if days not in LOG_RETENTION_DAYS:
        choices = ", ".join(str(d) for d in LOG_RETENTION_DAYS)
        raise SettingsError(f"{name} is {days}; it must be one of {choices}.")
    return days


def read_record_retention(value: object, name: str) -> object:
    """Days that records are kept; 0 for ever."""
    if value in (0, "0"):
        return 0
    return whole(SHORTEST_RECORD_DAYS, 36_500)(value, f"{name}, unless 0 for ever,")


TAG = text(
    r"[\w .:/=+\-@]{1,128}", "letters, digits, spaces or one of _.:/=+-@, at most 128 in all"
)
NAME = text(r"\S(.*\S)?", "a name")
BUS_ARN = r"arn:aws[a-z-]*:events:[a-z0-9-]+:[0-9]{12}:event-bus/[\w./-]{1,256}"
ROLE_ARN = r"arn:aws[a-z-]*:iam::[0-9]{12}:role/[\w+=,.@/-]{1,576}"
BUS = or_off(BUS_ARN, "the ARN of an event bus")
ROLE = or_off(ROLE_ARN, "the ARN of a role")


class Detection(StrEnum):
    """How pressure is found; each has its own price."""

    ADAPTIVE = "adaptive"
    """No alarm: every resource is glanced at every 5 to 60 minutes, by its risk and its value."""
    FLEET = "fleet"
    """Metrics Insights alarms over every volume."""
    TAGGED = "tagged"
    """The same, only over volumes that carry the enrolment tag."""
    SWEEP = "sweep"
    """No alarm at all: scans of everything find it, only later."""

    @property
    def has_alarms(self) -> bool:
        """Whether query alarms watch the fleet."""
        return self in (Detection.FLEET, Detection.TAGGED)
