"""What the bill is made of: how often Headroom reads what, how many resources, and what AWS charges."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from headroom.settings import OFF, DeploymentConfig, Detection

HOURS_PER_MONTH = 730
MINUTES_PER_MONTH = HOURS_PER_MONTH * 60
DAYS_PER_MONTH = Decimal(HOURS_PER_MONTH) / 24
MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitPrice:
    """USD for one `unit`, and where and of when the price is."""

    usd: Decimal
    unit: str
    source: str


_CLOUDWATCH = "CloudWatch price list, us-east-1, 2026-07"
_DASHBOARD = (
    "CloudWatch prices, us-east-1, known 2026-11, not compared with a price list; an account's first "
    "three of up to 50 metrics are free"
)
_DYNAMODB = "DynamoDB on-demand prices, us-east-1, known 2026-11, not compared with a price list"
_LAMBDA = "Lambda prices, us-east-1, arm64, compiled 2026-11"
_PLATFORM = (
    "SQS, EventBridge and KMS prices, us-east-1, known 2026-11, not compared with a price list"
)

PRICES: dict[str, UnitPrice] = {
    name: UnitPrice(usd=Decimal(usd) / per, unit=unit, source=source)
    for name, usd, per, unit, source in (
        ("metric_analysed", "0.10", 1, "metric analysed by a query alarm", _CLOUDWATCH),
        ("metric_read", "0.01", 1_000, "metric read by GetMetricData", _CLOUDWATCH),
        ("alarm", "0.10", 1, "alarm on one metric", _CLOUDWATCH),
        ("custom_metric", "0.30", 1, "custom metric", _CLOUDWATCH),
        ("dashboard", "3.00", 1, "dashboard", _DASHBOARD),
        ("log_gb", "0.50", 1, "GB of logs ingested", _CLOUDWATCH),
        ("log_gb_kept", "0.03", 1, "GB of logs kept", _CLOUDWATCH),
        ("invocation", "0.20", MILLION, "invocation", _LAMBDA),
        ("gb_second", "0.0000133334", 1, "GB-second", _LAMBDA),
        ("write_unit", "0.625", MILLION, "write request unit", _DYNAMODB),
        ("read_unit", "0.125", MILLION, "read request unit", _DYNAMODB),
        ("table_gb", "0.25", 1, "GB stored", _DYNAMODB),
        ("queue_request", "0.40", MILLION, "request", _PLATFORM),
        ("event", "1.00", MILLION, "event of our own", _PLATFORM),
        ("key", "1.00", 1, "KMS key", _PLATFORM),
    )
}
"""AWS's prices without free tiers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """How often Headroom reads what. The default is a deployment with default settings.

    The first block are facts of the code, held by tests; the last two are measured with
    `tools/fleet_week.py`, and estimates.
    """

    detection: Detection = Detection.ADAPTIVE
    alarm_budget_usd: int = DeploymentConfig().alarm_budget_usd
    """What adaptive detection may spend on alarms on single resources."""
    scan_every_minutes: int = 5
    """How often the fleet is listed and, unless adaptive, read."""
    metrics_per_glance: int = 3
    """Metrics that a scan reads of a volume unless adaptive: both checks and the queue."""
    credit_metrics: int = 1
    """The same, besides, where the type has burst credits."""
    check_queries: int = 2
    """Query alarms that analyse every attached volume."""
    credit_queries: int = 1
    """Query alarms that analyse volumes with burst credits."""
    metrics_per_database: int = 7
    """Metrics that a scan reads of a DB instance: reads and writes in operations and bytes, queue,
    free space, and the credits of gp2."""
    database_queries: int = 3
    metrics_per_cluster: int = 8
    """Metrics of one reconciliation of an Aurora cluster: billed reads and writes, by five minutes and by
    the hour, size, commits, and capacity of two serverless members."""
    metrics_per_reconcile: tuple[int, int] = (23, 31)
    """Metrics of one reconciliation: of a gp3 volume alone on an instance that does not burst; of a gp2 volume
    beside a root volume on one that does. Each further volume of the instance adds 4."""
    pressed_every_minutes: tuple[int, int] = (15, 5)
    """How often a volume under pressure is reconciled: by the scan alone, or near a limit."""
    reconciles_per_day: Decimal = Decimal(1) / 7
    """Of every volume that is not switched off, whatever it does; a cluster daily."""
    own_alarms: int = 10
    hub: bool = False
    """Whether every event is copied to a hub, and an alarm watches those that it did not take."""
    own_metrics: tuple[int, int] = (1, 1)
    """Custom metrics that are published all the time: the others cost $0.0004 for an hour of trouble."""
    keys: int = 0
    dashboards: int = 0
    """Counted although an account has three free."""
    dispatcher_gb: Decimal = Decimal("0.5")
    worker_gb: Decimal = Decimal("1.727")
    page: int = 500
    """Volumes read together in a scan."""

    quiet_glances_per_day: Decimal = Decimal(25)
    quiet_metrics_per_day: tuple[Decimal, Decimal] = (Decimal(29), Decimal(31))
    """Of a volume not at risk; from and to, for fleets of different loads."""
    risk_glances_per_day: Decimal = Decimal(180)
    risk_metrics_per_day: tuple[Decimal, Decimal] = (Decimal(215), Decimal(225))
    risk_reconciles_per_day: tuple[Decimal, Decimal] = (Decimal(7), Decimal(10))
    database_metrics_per_glance: tuple[int, int] = (2, 9)
    """An hourly glance at a database: queue and free space; credits and all else where it stirs."""

    sweep_s: tuple[Decimal, Decimal] = (Decimal(1), Decimal(1))
    """A run of the sweep with nothing to do."""
    page_s: tuple[Decimal, Decimal] = (Decimal("0.8"), Decimal("1.6"))
    """A page of a scan."""
    reconcile_s: tuple[Decimal, Decimal] = (Decimal("0.2"), Decimal(1))
    """A reconciliation: many together share the waiting."""
    read_units_per_glance: Decimal = Decimal("0.5")
    """Of every volume at every listing: its last glance."""
    write_units_per_glance: int = 1
    read_units_per_reconcile: int = 20
    """The resource's state, the account's limits and a profile of at most 50 KB."""
    write_units_per_reconcile: int = 2
    profile_write_units: int = 50
    """A profile of at most 50 KB, stored once a day."""
    changes_per_pressed_volume: int = 8
    """Changes a month of a volume that is always under pressure."""
    record_kb: tuple[int, int] = (118, 157)
    """The record of a change."""
    events_per_change: int = 5
    queue_requests_per_minute: int = 15
    """Five pollers of Lambda, each every 20 seconds."""
    log_kb_per_run: int = 2
    log_months_kept: int = 3

    @property
    def fleet_alarms(self) -> bool:
        """Whether query alarms watch the fleet: three queries of volumes, three of databases."""
        return self.detection.has_alarms

    @property
    def adaptive(self) -> bool:
        """Whether each resource has its own time of the next glance."""
        return self.detection is Detection.ADAPTIVE


def rates_of(config: DeploymentConfig) -> Rates:
    """The rates of a deployment with these settings."""
    adaptive = config.detection is Detection.ADAPTIVE
    return Rates(
        detection=config.detection,
        alarm_budget_usd=config.resource_alarms_usd,
        scan_every_minutes=config.scan_minutes,
        reconciles_per_day=Rates().reconciles_per_day if adaptive else Decimal(1),
        keys=(config.topic_key == "on") + (config.seal_records == "on"),
        dashboards=int(config.dashboard == "on"),
        hub=config.hub_bus != OFF,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """How many resources Headroom watches in one account and Region."""

    volumes: int
    """Attached volumes; others publish nothing and are not read."""
    with_credits: int
    """Of these, gp2, st1 and sc1."""
    paid: int = 0
    """Of these, enrolled volumes that cost more than the least of their type: each is reconciled daily."""
    databases: int = 0
    clusters: int = 0
    at_risk_percent: float = 0.0
    """Share of the volumes that are under pressure all month."""

    @property
    def pressed(self) -> Decimal:
        """Volumes under pressure."""
        return self.volumes * Decimal(str(self.at_risk_percent)) / 100
