"""The two typed settings objects: what a deployment is told, and what a function is told.

Standard library only; neither reads the environment or a context by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from enum import StrEnum

POLICY_PARAMETER = "/headroom/policy"
"""Name of the SSM parameter that holds the published policy."""
LOG_RETENTION_DAYS = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827)
"""Retentions CloudWatch Logs takes (its longer ones are left out)."""

_KINDS = (("ebs",), ("ebs", "rds"), ("ebs", "rds", "aurora"))
"""What may be looked after together; Aurora's events come with those of RDS."""
_ENVIRONMENT = {
    "records_table": "HEADROOM_RECORDS_TABLE",
    "state_table": "HEADROOM_STATE_TABLE",
    "policy_parameter": "HEADROOM_POLICY_PARAMETER",
    "topic_arn": "HEADROOM_TOPIC_ARN",
    "scan_every_minutes": "HEADROOM_SCAN_EVERY_MINUTES",
    "kinds": "HEADROOM_KINDS",
    "metrics_namespace": "POWERTOOLS_METRICS_NAMESPACE",
    "service": "POWERTOOLS_SERVICE_NAME",
}
"""Field of FunctionSettings and its variable; the last two are read by Powertools as well."""

_Reader = Callable[[object], object]
"""Turns a context value into a setting, or raises SettingsError."""


class SettingsError(ValueError):
    """A setting is missing or makes no sense; the message is one sentence that says which."""


class _Kinds:
    __slots__ = ()
    kinds: str

    @property
    def databases(self) -> bool:
        """Whether the storage of databases is looked after too."""
        return "rds" in self.kinds.split(",")

    @property
    def clusters(self) -> bool:
        """Whether Aurora clusters are looked after too."""
        return "aurora" in self.kinds.split(",")


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSettings(_Kinds):
    """What a deployed function must know about its deployment."""

    records_table: str
    state_table: str
    policy_parameter: str
    """Name of the SSM parameter that holds the policy as canonical JSON."""
    topic_arn: str
    scan_every_minutes: int = 15
    kinds: str = "ebs"
    """Kinds of storage that are looked after: `ebs`, `ebs,rds` or `ebs,rds,aurora`."""
    metrics_namespace: str = "Headroom"
    service: str = "headroom"

    def to_environment(self) -> dict[str, str]:
        """Environment variables of a function; `from_environment` reads them back."""
        return {name: str(getattr(self, field)) for field, name in _ENVIRONMENT.items()}

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> FunctionSettings:
        """The settings in `environment`; raises SettingsError naming the variable at fault."""
        said = {}
        for field, name in _ENVIRONMENT.items():
            value = environment.get(name, "").strip()
            if not value:
                raise SettingsError(f"Environment variable {name} is not set; deploy again.")
            said[field] = value
        minutes = _whole(
            said.pop("scan_every_minutes"), _ENVIRONMENT["scan_every_minutes"], 1, 1_440
        )
        kinds = _kinds_of(said.pop("kinds"), _ENVIRONMENT["kinds"])
        return cls(scan_every_minutes=minutes, kinds=kinds, **said)


class Detection(StrEnum):
    """What wakes Headroom besides its schedule; each has its own price."""

    FLEET = "fleet"
    """Metrics Insights alarms over every volume."""
    TAGGED = "tagged"
    """The same, only over volumes that carry the enrolment tag."""
    SWEEP = "sweep"
    """No alarm at all: the schedule finds everything, only later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentConfig(_Kinds):
    """What the owner may set at deployment, through CDK context (`-c key=value` or cdk.json)."""

    detection: Detection = Detection.FLEET
    kinds: str = "ebs,rds,aurora"
    """Kinds of storage that are looked after: `ebs`, `ebs,rds` for databases too, or
    `ebs,rds,aurora` for Aurora clusters as well."""
    scan_every_minutes: int = 15
    policy_file: str = "policy.yaml"
    account: str | None = None
    """Account to deploy to; with it only what the policy says of it is published."""
    region: str | None = None
    """Region to deploy to, likewise."""
    notify_email: str | None = None
    enrolment_tag_key: str = "headroom"
    """Tag by which `tagged` narrows its alarms."""
    enrolment_tag_value: str = "auto"
    expected_databases: int = 100
    """How many databases the printed price of detection is worked out for, with `kinds` of both."""
    expected_volumes: int = 1_000
    """How many volumes the printed price of detection is worked out for."""
    queue_max_concurrency: int = 4
    """Functions that take from the queue at once (AWS takes no less than 2); paces EC2's API."""
    log_retention_days: int = 90
    burst_balance_alarm_percent: int = 70
    """BurstBalance below which the alarm wakes the engine; it never decides."""
    alarm_datapoints: int = 2
    alarm_periods: int = 3
    """The query alarms need `alarm_datapoints` of `alarm_periods` minutes."""

    @classmethod
    def from_context(cls, context: Mapping[str, object]) -> DeploymentConfig:
        """The configuration in a CDK context; raises SettingsError in one sentence.

        Numbers may come as text, because `cdk -c` passes nothing else. Keys of CDK itself
        (feature flags, lookups) are passed over; any other unknown key is refused.
        """
        known = {field.name for field in fields(cls)}
        said: dict[str, object] = {}
        for key, value in context.items():
            if key in known:
                said[key] = _READERS[key](value)
            elif not _is_cdk_context_key(key):
                close = get_close_matches(key, known, n=1)
                hint = f"did you mean {close[0]}" if close else f"known are {_listed(known)}"
                raise SettingsError(f"Context key {key!r} is unknown; {hint}.")
        config = cls(**said)  # type: ignore[arg-type]
        if config.alarm_datapoints > config.alarm_periods:
            raise SettingsError(
                f"Context key alarm_datapoints is {config.alarm_datapoints}; it must be at most "
                f"alarm_periods, which is {config.alarm_periods}."
            )
        return config


def _is_cdk_context_key(key: str) -> bool:
    return "/" in key or ":" in key or key in {"acknowledged-issue-numbers", "cli-telemetry"}


def _listed(words: set[str]) -> str:
    return ", ".join(sorted(words))


def _whole(value: object, name: str, low: int, high: int) -> int:
    text = value if isinstance(value, str) else None
    if text is not None and re.fullmatch(r"[0-9]{1,9}", text.strip()):
        value = int(text)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise SettingsError(f"{name} is {value!r}; it must be a whole number, {low} to {high}.")
    return value


def _number(name: str, low: int, high: int) -> _Reader:
    return lambda value: _whole(value, f"Context key {name}", low, high)


def _text(name: str, pattern: str, meaning: str) -> _Reader:
    def read(value: object) -> object:
        if not isinstance(value, str) or not re.fullmatch(pattern, value.strip()):
            raise SettingsError(f"Context key {name} is {value!r}; it must be {meaning}.")
        return value.strip()

    return read


def _detection(value: object) -> object:
    try:
        return Detection(value if isinstance(value, str) else "")
    except ValueError:
        raise SettingsError(
            f"Context key detection is {value!r}; it must be fleet, tagged or sweep."
        ) from None


def _kinds_of(value: object, name: str) -> str:
    """The kinds in a fixed order; a text with commas, as `cdk -c` passes it, or a list."""
    parts = value.split(",") if isinstance(value, str) else value
    said = {str(p).strip() for p in parts} if isinstance(parts, list | tuple) else set()
    for known in _KINDS:
        if said == set(known):
            return ",".join(known)
    choices = ", or ".join(",".join(known) for known in _KINDS)
    raise SettingsError(f"{name} is {value!r}; it must be {choices}.")


def _kinds(value: object) -> object:
    return _kinds_of(value, "Context key kinds")


def _email(value: object) -> object:
    if value is None:
        return None
    return _text("notify_email", r"[^@\s]+@[^@\s]+\.[^@\s]+", "an e-mail address")(value)


def _retention(value: object) -> object:
    days = _whole(value, "Context key log_retention_days", 1, max(LOG_RETENTION_DAYS))
    if days not in LOG_RETENTION_DAYS:
        choices = ", ".join(str(d) for d in LOG_RETENTION_DAYS)
        raise SettingsError(
            f"Context key log_retention_days is {days}; it must be one of {choices}."
        )
    return days


_TAG = r"[\w .:/=+\-@]{1,128}"
_TAG_MEANING = "letters, digits, spaces or one of _.:/=+-@, at most 128 in all"

_READERS: Mapping[str, _Reader] = {
    "detection": _detection,
    "kinds": _kinds,
    "expected_databases": _number("expected_databases", 1, 1_000_000),
    "scan_every_minutes": _number("scan_every_minutes", 1, 60),
    "policy_file": _text("policy_file", r"\S(.*\S)?", "the path of a policy file"),
    "account": _text("account", r"[0-9]{12}", "an account's 12 digits"),
    "region": _text("region", r"[a-z]{2,5}(-[a-z]+)+-[0-9]{1,2}", "a Region such as us-east-1"),
    "notify_email": _email,
    "enrolment_tag_key": _text("enrolment_tag_key", _TAG, _TAG_MEANING),
    "enrolment_tag_value": _text("enrolment_tag_value", _TAG, _TAG_MEANING),
    "expected_volumes": _number("expected_volumes", 1, 1_000_000),
    "queue_max_concurrency": _number("queue_max_concurrency", 2, 1_000),
    "log_retention_days": _retention,
    "burst_balance_alarm_percent": _number("burst_balance_alarm_percent", 1, 100),
    "alarm_datapoints": _number("alarm_datapoints", 1, 60),
    "alarm_periods": _number("alarm_periods", 1, 60),
}
