"""The two typed settings objects: of a deployment, and of a deployed function.

Standard library and the policy's values only; neither reads the environment or a context by itself. A setting is one field:
its type, how it is read, its default and its meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from difflib import get_close_matches
from typing import Any

from headroom.domain.policy import HardCaps
from headroom.settings.names import DEFAULT_PREFIX, Names
from headroom.settings.readers import (
    BUS,
    NAME,
    OFF,
    ROLE,
    TAG,
    Detection,
    Reader,
    SettingsError,
    on_off,
    read_detection,
    read_email,
    read_hard_caps,
    read_kinds,
    read_log_retention,
    read_record_retention,
    text,
    whole,
)

MOST_ALARM_BUDGET = 100
"""Dollars a month: a thousand alarms, whose plan fits in one item of DynamoDB."""


def _setting(read: Reader, default: Any = MISSING, *, variable: str = "") -> Any:
    """A field: how its value is read, its default, and its variable if not HEADROOM_ and its name."""
    return field(default=default, metadata={"read": read, "variable": variable})


def _variable(setting: Field[Any]) -> str:
    return str(setting.metadata["variable"] or f"HEADROOM_{setting.name.upper()}")


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

    records_table: str = _setting(NAME)
    state_table: str = _setting(NAME)
    policy_parameter: str = _setting(NAME)
    """Name of the SSM parameter that holds the policy as canonical JSON."""
    topic_arn: str = _setting(NAME)
    queue_url: str = _setting(NAME)
    """The work queue, which events reach as well."""
    workers: int = _setting(whole(2, 1_000), 8)
    """Functions that take from the queue at once."""
    scan_every_minutes: int = _setting(whole(1, 1_440), 15)
    detection: Detection = _setting(read_detection, Detection.FLEET)  # noqa: RUF009 - a field
    alarm_budget_usd: int = _setting(whole(0, MOST_ALARM_BUDGET), 0)
    """Dollars a month for alarms on single resources; 0 for none."""
    kinds: str = _setting(read_kinds, "ebs")
    """Enrolled kinds of storage: `ebs`, `ebs,rds` or `ebs,rds,aurora`."""
    record_retention_days: int = _setting(read_record_retention, 0)
    """Days after which records are deleted; 0 keeps them for ever."""
    seal_key: str = _setting(NAME, "off")
    """ARN of the KMS key that seals records; `off` without one."""
    hard_caps: HardCaps = _setting(read_hard_caps, HardCaps())  # noqa: RUF009 - a field
    """What no policy, tag or approval exceeds, as JSON; `none` without any."""
    extend_document: str = _setting(NAME, "off")
    """Name of the SSM document that extends file systems; `off` where volumes' free space is not read."""
    hub_role: str = _setting(ROLE, OFF)
    """ARN of the role of the hub's account whose people may approve, reject, pause and resume here."""
    hub_policy_role: str = _setting(ROLE, OFF)
    """ARN of the role of the hub's account whose people may publish a policy here."""
    metrics_namespace: str = _setting(NAME, "Headroom", variable="POWERTOOLS_METRICS_NAMESPACE")
    """Powertools reads this variable and the next one as well."""
    service: str = _setting(NAME, "headroom", variable="POWERTOOLS_SERVICE_NAME")

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
        text(
            r"(?=.{2,32}$)(?!aws|ssm)(?!.*-(?:detect|own)(?:-|$))[a-z][a-z0-9]*(-[a-z][a-z0-9]*)*",
            "2 to 32 lower-case letters, digits and single hyphens, each before a letter, and start with neither aws nor ssm",
        ),
        DEFAULT_PREFIX,
    )
    """First part of every fixed name; deployments in one account and Region need different ones."""
    detection: Detection = _setting(read_detection, Detection.ADAPTIVE)  # noqa: RUF009 - a field
    kinds: str = _setting(read_kinds, "ebs,rds,aurora")
    """Enrolled kinds of storage: `ebs`, `ebs,rds` or `ebs,rds,aurora`."""
    alarm_budget_usd: int = _setting(whole(0, MOST_ALARM_BUDGET), 2)
    """Dollars a month that `adaptive` may spend on alarms on single resources, $0.10 each; 0 for none."""
    scan_every_minutes: int = _setting(whole(0, 60), 0)
    """How often the fleet is listed; 0 for every 5 minutes if `adaptive`, else every 15."""
    policy_file: str = _setting(text(r"\S(.*\S)?", "the path of a policy file"), "policy.yaml")
    account: str | None = _setting(text(r"[0-9]{12}", "an account's 12 digits"), None)
    """Account to deploy to; with it only the part of the policy about it is published."""
    region: str | None = _setting(
        text(r"[a-z]{2,5}(-[a-z]+)+-[0-9]{1,2}", "a Region such as us-east-1"), None
    )
    """Region to deploy to, likewise."""
    notify_email: str | None = _setting(read_email, None)
    enrolment_tag_key: str = _setting(TAG, "headroom")
    """Tag by which `tagged` narrows its alarms."""
    enrolment_tag_value: str = _setting(TAG, "auto")
    expected_databases: int = _setting(whole(1, 1_000_000), 100)
    """Number of databases in the printed price of detection, where databases are enrolled."""
    expected_volumes: int = _setting(whole(1, 1_000_000), 1_000)
    """Number of volumes in the printed price of detection."""
    queue_max_concurrency: int = _setting(whole(2, 1_000), 8)
    """Functions that take from the queue at once (AWS accepts no less than 2); paces EC2's API."""
    log_retention_days: int = _setting(read_log_retention, 90)
    record_retention_days: int = _setting(read_record_retention, 0)
    """Days after which DynamoDB deletes the records of decisions; 0 keeps them for ever."""
    seal_records: str = _setting(on_off, "off")
    """Whether each record is sealed with a key of KMS, which costs $1 a month and requests."""
    ebs_free_space: str = _setting(on_off, "off")
    """Whether free space of volumes is read where the CloudWatch agent publishes it, and their
    file systems are extended through Systems Manager after growth."""
    topic_key: str = _setting(on_off, "off")
    """Whether messages are encrypted at rest with a key of KMS, which costs $1 a month."""
    dashboard: str = _setting(on_off, "off")
    """Whether there is a CloudWatch dashboard: $3 a month, but for the first three of an account."""
    hard_caps: HardCaps = _setting(read_hard_caps, HardCaps())  # noqa: RUF009 - a field
    """Ceilings above the policy, written like its settings: {"max_iops": 16000}."""
    hub_bus: str = _setting(BUS, OFF)
    """ARN of the hub's event bus, which gets a copy of every event of Headroom."""
    hub_role: str = _setting(ROLE, OFF)
    """ARN of a role of the hub's account: people who have it may approve, reject, pause and resume."""
    hub_policy_role: str = _setting(ROLE, OFF)
    """ARN of a role of the hub's account: people who have it may publish a policy."""
    burst_balance_alarm_percent: int = _setting(whole(1, 100), 70)
    """BurstBalance below which the alarm wakes the engine; it never decides."""
    alarm_datapoints: int = _setting(whole(1, 60), 2)
    alarm_periods: int = _setting(whole(1, 60), 3)
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
