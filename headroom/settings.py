"""The two typed settings objects: of a deployment, and of a deployed function.

Standard library and the policy's values only; neither reads the environment or a context by itself. A setting is one field:
its type, how it is read, its default and its meaning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

from headroom.domain.policy import HardCaps, PolicyError, hard_caps_of

DEFAULT_PREFIX = "headroom"
LOG_RETENTION_DAYS = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827)
"""Retentions CloudWatch Logs takes (its longer ones are left out)."""
SHORTEST_RECORD_DAYS = 90
"""Days that records are kept at least: a chain may be open for weeks, and be rolled back later."""

MOST_ALARM_BUDGET = 100
"""Dollars a month: a thousand alarms, whose plan fits in one item of DynamoDB."""

OFF = "off"
"""The value of a setting for something that a deployment does not have."""
_KINDS = (("ebs",), ("ebs", "rds"), ("ebs", "rds", "aurora"))
"""What may be enrolled together; Aurora's events come with those of RDS."""

_Reader = Callable[[object, str], object]
"""Turns the value of a setting into its type; raises SettingsError with the given name."""


class SettingsError(ValueError):
    """A setting is missing or invalid; the message is one sentence that names it."""


def _whole(low: int, high: int) -> _Reader:
    def read(value: object, name: str) -> int:
        if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value.strip()):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise SettingsError(f"{name} is {value!r}; it must be a whole number, {low} to {high}.")
        return value

    return read


def _text(pattern: str, meaning: str) -> _Reader:
    def read(value: object, name: str) -> object:
        if not isinstance(value, str) or not re.fullmatch(pattern, value.strip()):
            raise SettingsError(f"{name} is {value!r}; it must be {meaning}.")
        return value.strip()

    return read


def _detection(value: object, name: str) -> object:
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


def _kinds(value: object, name: str) -> str:
    """The kinds in a fixed order; a text with commas, as `cdk -c` passes it, or a list."""
    parts = value.split(",") if isinstance(value, str) else value
    named = {str(p).strip() for p in parts} if isinstance(parts, list | tuple) else set()
    for known in _KINDS:
        if named == set(known):
            return ",".join(known)
    choices = ", or ".join(",".join(known) for known in _KINDS)
    raise SettingsError(f"{name} is {value!r}; it must be {choices}.")


def _email(value: object, name: str) -> object:
    if value is None:
        return None
    return _text(r"[^@\s]+@[^@\s]+\.[^@\s]+", "an e-mail address")(value, name)


def _or_off(pattern: str, meaning: str) -> _Reader:
    read = _text(rf"{OFF}|{pattern}", f"{meaning}, or {OFF}")
    return lambda value, name: OFF if value is None else read(value, name)


def _hard_caps(value: object, name: str) -> HardCaps:
    try:
        return hard_caps_of(value, name)
    except PolicyError as problem:
        raise SettingsError(str(problem)) from None


def _retention(value: object, name: str) -> object:
    days = _whole(1, max(LOG_RETENTION_DAYS))(value, name)
    if days not in LOG_RETENTION_DAYS:
        choices = ", ".join(str(d) for d in LOG_RETENTION_DAYS)
        raise SettingsError(f"{name} is {days}; it must be one of {choices}.")
    return days


def _record_retention(value: object, name: str) -> object:
    if value in (0, "0"):
        return 0
    return _whole(SHORTEST_RECORD_DAYS, 36_500)(value, f"{name}, unless 0 for ever,")


_TAG = _text(
    r"[\w .:/=+\-@]{1,128}", "letters, digits, spaces or one of _.:/=+-@, at most 128 in all"
)
_NAME = _text(r"\S(.*\S)?", "a name")
BUS_ARN = r"arn:aws[a-z-]*:events:[a-z0-9-]+:[0-9]{12}:event-bus/[\w./-]{1,256}"
ROLE_ARN = r"arn:aws[a-z-]*:iam::[0-9]{12}:role/[\w+=,.@/-]{1,576}"
_BUS = _or_off(BUS_ARN, "the ARN of an event bus")
_ROLE = _or_off(ROLE_ARN, "the ARN of a role")


def _setting(read: _Reader, default: Any = MISSING, *, variable: str = "") -> Any:
    """A field: how its value is read, its default, and its variable if not HEADROOM_ and its name."""
    return field(default=default, metadata={"read": read, "variable": variable})


def _variable(setting: Field[Any]) -> str:
    return str(setting.metadata["variable"] or f"HEADROOM_{setting.name.upper()}")


@dataclass(frozen=True, slots=True)
class Names:
    """The names that a deployment fixes; CloudFormation makes up all others.

    Two deployments in one account and Region differ in their prefix.
    """

    prefix: str = DEFAULT_PREFIX

    @property
    def policy_parameter(self) -> str:
        """Name of the SSM parameter that holds the published policy."""
        return f"/{self.prefix}/policy"

    @property
    def requests_function(self) -> str:
        """Name of the function that takes people's requests."""
        return f"{self.prefix}-requests"

    @property
    def extend_document(self) -> str:
        """Name of the SSM document that extends file systems."""
        return f"{self.prefix}-extend-file-system"

    @property
    def detection_alarms(self) -> str:
        """Prefix of alarms that wake the loop: the deployed ones, and any that the owner adds."""
        return f"{self.prefix}-detect-"

    @property
    def resource_alarms(self) -> str:
        """Prefix of alarms on single resources, which the dispatcher makes and removes."""
        return f"{self.detection_alarms}resource-"

    @property
    def own_alarms(self) -> str:
        """Prefix of alarms on Headroom itself, which notify people and never wake the loop."""
        return f"{self.prefix}-own-"

    @property
    def role_path(self) -> str:
        """Path of the deployed roles: only they may write to the tables."""
        return f"/{self.prefix}/"

    def output(self, name: str) -> str:
        """Name of a stack's output: a stack may hold several deployments."""
        return name if self.prefix == DEFAULT_PREFIX else self.stack(name)

    def stack(self, name: str) -> str:
        """Name of a stack of the app, such as `HeadroomState`."""
        return "".join(part.capitalize() for part in self.prefix.split("-")) + name


POLICY_PARAMETER = Names().policy_parameter
REQUESTS_FUNCTION = Names().requests_function


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


class _Kinds:
    __slots__ = ()
    kinds: str

    @property
    def databases(self) -> bool:
        """Whether databases are enrolled too."""
        return "rds" in self.kinds.split(",")

    @property
    def clusters(self) -> bool:
        """Whether Aurora clusters are enrolled too."""
        return "aurora" in self.kinds.split(",")


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSettings(_Kinds):
    """What a deployed function must know about its deployment."""

    records_table: str = _setting(_NAME)
    state_table: str = _setting(_NAME)
    policy_parameter: str = _setting(_NAME)
    """Name of the SSM parameter that holds the policy as canonical JSON."""
    topic_arn: str = _setting(_NAME)
    queue_url: str = _setting(_NAME)
    """The work queue, which events reach as well."""
    workers: int = _setting(_whole(2, 1_000), 8)
    """Functions that take from the queue at once."""
    scan_every_minutes: int = _setting(_whole(1, 1_440), 15)
    detection: Detection = _setting(_detection, Detection.FLEET)  # noqa: RUF009 - a field
    alarm_budget_usd: int = _setting(_whole(0, MOST_ALARM_BUDGET), 0)
    """Dollars a month for alarms on single resources; 0 for none."""
    kinds: str = _setting(_kinds, "ebs")
    """Enrolled kinds of storage: `ebs`, `ebs,rds` or `ebs,rds,aurora`."""
    record_retention_days: int = _setting(_record_retention, 0)
    """Days after which records are deleted; 0 keeps them for ever."""
    seal_key: str = _setting(_NAME, "off")
    """ARN of the KMS key that seals records; `off` without one."""
    hard_caps: HardCaps = _setting(_hard_caps, HardCaps())  # noqa: RUF009 - a field
    """What no policy, tag or approval exceeds, as JSON; `none` without any."""
    extend_document: str = _setting(_NAME, "off")
    """Name of the SSM document that extends file systems; `off` where volumes' free space is not read."""
    hub_role: str = _setting(_ROLE, OFF)
    """ARN of the role of the hub's account whose people may approve, reject, pause and resume here."""
    hub_policy_role: str = _setting(_ROLE, OFF)
    """ARN of the role of the hub's account whose people may publish a policy here."""
    metrics_namespace: str = _setting(_NAME, "Headroom", variable="POWERTOOLS_METRICS_NAMESPACE")
    """Powertools reads this variable and the next one as well."""
    service: str = _setting(_NAME, "headroom", variable="POWERTOOLS_SERVICE_NAME")

    def to_environment(self) -> dict[str, str]:
        """Environment variables of a function; `from_environment` reads them back."""
        return {_variable(one): str(getattr(self, one.name)) for one in fields(self)}

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> FunctionSettings:
        """The settings in `environment`; raises SettingsError naming the variable at fault."""
        values = {}
        for one in fields(cls):
            name = _variable(one)
            value = environment.get(name, "").strip()
            if not value:
                raise SettingsError(f"Environment variable {name} is not set; deploy again.")
            values[one.name] = one.metadata["read"](value, name)
        return cls(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentConfig(_Kinds):
    """What the owner may set at deployment, through CDK context (`-c key=value` or cdk.json)."""

    prefix: str = _setting(
        _text(
            r"(?=.{2,32}$)(?!aws|ssm)(?!.*-(?:detect|own)(?:-|$))[a-z][a-z0-9]*(-[a-z0-9]+)*",
            "2 to 32 lower-case letters, digits and single hyphens, and start with neither aws nor ssm",
        ),
        DEFAULT_PREFIX,
    )
    """First part of every fixed name; deployments in one account and Region need different ones."""
    detection: Detection = _setting(_detection, Detection.ADAPTIVE)  # noqa: RUF009 - a field
    kinds: str = _setting(_kinds, "ebs,rds,aurora")
    """Enrolled kinds of storage: `ebs`, `ebs,rds` or `ebs,rds,aurora`."""
    alarm_budget_usd: int = _setting(_whole(0, MOST_ALARM_BUDGET), 2)
    """Dollars a month that `adaptive` may spend on alarms on single resources, $0.10 each; 0 for none."""
    scan_every_minutes: int = _setting(_whole(0, 60), 0)
    """How often the fleet is listed; 0 for every 5 minutes if `adaptive`, else every 15."""
    policy_file: str = _setting(_text(r"\S(.*\S)?", "the path of a policy file"), "policy.yaml")
    account: str | None = _setting(_text(r"[0-9]{12}", "an account's 12 digits"), None)
    """Account to deploy to; with it only the part of the policy about it is published."""
    region: str | None = _setting(
        _text(r"[a-z]{2,5}(-[a-z]+)+-[0-9]{1,2}", "a Region such as us-east-1"), None
    )
    """Region to deploy to, likewise."""
    notify_email: str | None = _setting(_email, None)
    enrolment_tag_key: str = _setting(_TAG, "headroom")
    """Tag by which `tagged` narrows its alarms."""
    enrolment_tag_value: str = _setting(_TAG, "auto")
    expected_databases: int = _setting(_whole(1, 1_000_000), 100)
    """Number of databases in the printed price of detection, where databases are enrolled."""
    expected_volumes: int = _setting(_whole(1, 1_000_000), 1_000)
    """Number of volumes in the printed price of detection."""
    queue_max_concurrency: int = _setting(_whole(2, 1_000), 8)
    """Functions that take from the queue at once (AWS accepts no less than 2); paces EC2's API."""
    log_retention_days: int = _setting(_retention, 90)
    record_retention_days: int = _setting(_record_retention, 0)
    """Days after which DynamoDB deletes the records of decisions; 0 keeps them for ever."""
    seal_records: str = _setting(_text("on|off", "on or off"), "off")
    """Whether each record is sealed with a key of KMS, which costs $1 a month and requests."""
    ebs_free_space: str = _setting(_text("on|off", "on or off"), "off")
    """Whether free space of volumes is read where the CloudWatch agent publishes it, and their
    file systems are extended through Systems Manager after growth."""
    topic_key: str = _setting(_text("on|off", "on or off"), "off")
    """Whether messages are encrypted at rest with a key of KMS, which costs $1 a month."""
    dashboard: str = _setting(_text("on|off", "on or off"), "off")
    """Whether there is a CloudWatch dashboard: $3 a month, but for the first three of an account."""
    hard_caps: HardCaps = _setting(_hard_caps, HardCaps())  # noqa: RUF009 - a field
    """Ceilings above the policy, written like its settings: {"max_iops": 16000}."""
    hub_bus: str = _setting(_BUS, OFF)
    """ARN of the hub's event bus, which gets a copy of every event of Headroom."""
    hub_role: str = _setting(_ROLE, OFF)
    """ARN of a role of the hub's account: people who have it may approve, reject, pause and resume."""
    hub_policy_role: str = _setting(_ROLE, OFF)
    """ARN of a role of the hub's account: people who have it may publish a policy."""
    burst_balance_alarm_percent: int = _setting(_whole(1, 100), 70)
    """BurstBalance below which the alarm wakes the engine; it never decides."""
    alarm_datapoints: int = _setting(_whole(1, 60), 2)
    alarm_periods: int = _setting(_whole(1, 60), 3)
    """The query alarms need `alarm_datapoints` of `alarm_periods` minutes."""

    @property
    def scan_minutes(self) -> int:
        """How often the fleet is listed, in minutes."""
        return self.scan_every_minutes or (5 if self.detection is Detection.ADAPTIVE else 15)

    @property
    def resource_alarms_usd(self) -> int:
        """Dollars a month for alarms on single resources; 0 unless `adaptive`."""
        return self.alarm_budget_usd if self.detection is Detection.ADAPTIVE else 0

    @property
    def names(self) -> Names:
        """The names that the deployment fixes."""
        return Names(self.prefix)

    @classmethod
    def from_context(
        cls, context: Mapping[str, object], *, called: str = "Context key"
    ) -> DeploymentConfig:
        """The configuration in a CDK context; raises SettingsError in one sentence.

        Numbers may be text, because `cdk -c` passes nothing else. Keys of CDK itself (feature
        flags, lookups) are ignored; any other unknown key is refused. `called` is what a message
        calls a key.
        """
        known = {one.name: one for one in fields(cls)}
        values: dict[str, Any] = {}
        for key, value in context.items():
            if key in known:
                values[key] = known[key].metadata["read"](value, f"{called} {key}")
            elif not _is_cdk_context_key(key):
                close = get_close_matches(key, known, n=1)
                hint = (
                    f"did you mean {close[0]}" if close else f"known are {', '.join(sorted(known))}"
                )
                raise SettingsError(f"{called} {key!r} is unknown; {hint}.")
        config = cls(**values)
        if config.alarm_datapoints > config.alarm_periods:
            raise SettingsError(
                f"{called} alarm_datapoints is {config.alarm_datapoints}; it must be at most "
                f"alarm_periods, which is {config.alarm_periods}."
            )
        return config


def _is_cdk_context_key(key: str) -> bool:
    return "/" in key or ":" in key or key in {"acknowledged-issue-numbers", "cli-telemetry"}
