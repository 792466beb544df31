"""What a month of running Headroom costs, item by item, from how often it reads what.

One arithmetic for synth, `headroom cost` and docs/operate/deployment.md.
How often something is read is in `Rates`, what AWS charges in `PRICES`: change them there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal

from headroom.settings import DeploymentConfig, Detection

HOURS_PER_MONTH = 730
MINUTES_PER_MONTH = HOURS_PER_MONTH * 60
DAYS_PER_MONTH = Decimal(HOURS_PER_MONTH) / 24
MILLION = 1_000_000

Range = tuple[Decimal, Decimal]
"""From and to; both the same where nothing is uncertain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitPrice:
    """USD for one `unit`, and where and of when the price is."""

    usd: Decimal
    unit: str
    source: str


_CLOUDWATCH = "CloudWatch price list, us-east-1, 2026-07"
_DYNAMODB = "DynamoDB on-demand price, us-east-1, since 2024-11; not compared with a price list"
_LAMBDA = "Lambda price list, us-east-1, arm64, 2026-09"
_PLATFORM = "AWS price page, us-east-1, 2026-09"

PRICES: dict[str, UnitPrice] = {
    name: UnitPrice(usd=Decimal(usd) / per, unit=unit, source=source)
    for name, usd, per, unit, source in (
        ("metric_analysed", "0.10", 1, "metric analysed by a query alarm", _CLOUDWATCH),
        ("metric_read", "0.01", 1_000, "metric read by GetMetricData", _CLOUDWATCH),
        ("alarm", "0.10", 1, "alarm on one metric", _CLOUDWATCH),
        ("custom_metric", "0.30", 1, "custom metric", _CLOUDWATCH),
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

    The first block are facts of the code, held by tests; the last one are estimates.
    """

    fleet_alarms: bool = True
    """Whether query alarms watch the fleet: three queries of volumes, three of databases."""
    scan_every_minutes: int = 15
    metrics_per_glance: int = 3
    """Metrics that a scan reads of a volume: both checks and the queue."""
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
    reconciles_per_day: int = 1
    """Of every volume and cluster that is not switched off, whatever it does."""
    own_alarms: int = 17
    own_metrics: tuple[int, int] = (12, 16)
    """Custom metrics of the sweep; four more once events arrive."""
    keys: int = 1
    memory_gb: int = 1

    sweep_s: tuple[Decimal, Decimal] = (Decimal(1), Decimal(1))
    """A run of the sweep with nothing to do."""
    glance_s: Decimal = Decimal("0.006")
    """A glance at one volume, within a scan of many."""
    reconcile_s: tuple[Decimal, Decimal] = (Decimal(1), Decimal(2))
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


def rates_of(config: DeploymentConfig) -> Rates:
    """The rates of a deployment with these settings."""
    return Rates(
        fleet_alarms=config.detection is not Detection.SWEEP,
        scan_every_minutes=config.scan_every_minutes,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """How many resources Headroom watches in one account and Region."""

    volumes: int
    """Attached volumes; others publish nothing and are not read."""
    with_credits: int
    """Of these, gp2, st1 and sc1."""
    databases: int = 0
    clusters: int = 0
    at_risk_percent: float = 0.0
    """Share of the volumes that are under pressure all month."""

    @property
    def pressed(self) -> Decimal:
        """Volumes under pressure."""
        return self.volumes * Decimal(str(self.at_risk_percent)) / 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A quantity of a month and its price."""

    what: str
    """What is counted, with the arithmetic, in words."""
    quantity: Range
    price: UnitPrice

    @property
    def usd(self) -> Range:
        """USD a month."""
        low, high = self.quantity
        return low * self.price.usd, high * self.price.usd


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One line of the bill."""

    key: str
    name: str
    parts: tuple[Part, ...]
    fixed: bool = False
    """Whether it does not depend on the fleet."""

    @property
    def usd(self) -> Range:
        """USD a month."""
        return _sum(part.usd for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningCost:
    """The bill of a month, in an order that does not depend on the amounts."""

    items: tuple[Item, ...]

    @property
    def usd(self) -> Range:
        """USD a month for everything."""
        return _sum(item.usd for item in self.items)

    def item(self, key: str) -> Item:
        """The line of that key; raises StopIteration."""
        return next(item for item in self.items if item.key == key)

    @property
    def largest(self) -> Item:
        """What costs most."""
        return max(self.items, key=lambda item: item.usd[1])


def running_cost(fleet: Fleet, rates: Rates) -> RunningCost:
    """The bill of a month of `fleet` at `rates`, without free tiers.

    Not counted: traces, point-in-time recovery of the tables, messages and data transfer.
    """
    pressed = _per_pressed(rates)
    reconciles = tuple(
        DAYS_PER_MONTH * rates.reconciles_per_day * fleet.volumes + fleet.pressed * each
        for each in pressed
    )
    return RunningCost(
        items=(
            alarms(fleet, rates),
            scans(fleet, rates),
            daily(fleet, rates),
            pressure(fleet, rates),
            database_reads(fleet, rates),
            cluster_reads(fleet, rates),
            _functions(fleet, rates, reconciles),
            _tables(fleet, rates, reconciles),
            _queue(rates),
            _logs(rates, reconciles),
            _events(fleet, rates),
            _own_alarms(rates),
            _own_metrics(rates),
            _keys(rates),
        )
    )


def alarms(fleet: Fleet, rates: Rates) -> Item:
    """The query alarms over volumes."""
    metrics = rates.check_queries * fleet.volumes + rates.credit_queries * fleet.with_credits
    said = (
        f"{rates.check_queries} queries x {fleet.volumes:,} volumes, "
        f"{rates.credit_queries} x {fleet.with_credits:,} with credits"
    )
    count = metrics if rates.fleet_alarms else 0
    part = _part(said if count else "no query alarms", count, "metric_analysed")
    return Item(key="alarms", name="Detection alarms", parts=(part,))


def scans(fleet: Fleet, rates: Rates) -> Item:
    """The scans of every volume."""
    often = _scans(rates)
    metrics = (
        rates.metrics_per_glance * fleet.volumes + rates.credit_metrics * fleet.with_credits
    )  # fmt: skip
    said = (
        f"{often:,.0f} scans x ({rates.metrics_per_glance} metrics x {fleet.volumes:,} volumes, "
        f"{rates.credit_metrics} x {fleet.with_credits:,} with credits)"
    )
    return Item(
        key="scans", name="Fleet scans", parts=(_part(said, often * metrics, "metric_read"),)
    )


def daily(fleet: Fleet, rates: Rates) -> Item:
    """The reconciliation of every volume, once a day."""
    often = DAYS_PER_MONTH * rates.reconciles_per_day * fleet.volumes
    low, high = rates.metrics_per_reconcile
    said = f"{often:,.0f} reconciliations x {low}-{high} metrics"
    part = _part(said, (often * low, often * high), "metric_read")
    return Item(key="daily", name="Daily reconciliation", parts=(part,))


def pressure(fleet: Fleet, rates: Rates) -> Item:
    """The reconciliations of volumes under pressure."""
    low, high = (
        fleet.pressed * often * metrics
        for often, metrics in zip(_per_pressed(rates), rates.metrics_per_reconcile, strict=True)
    )
    every, metrics = rates.pressed_every_minutes, rates.metrics_per_reconcile
    said = (
        f"{fleet.pressed:,.0f} volumes, every {every[0]}-{every[1]} minutes x "
        f"{metrics[0]}-{metrics[1]} metrics"
    )
    return Item(
        key="pressure", name="Pressure", parts=(_part(said, (low, high), "metric_read"),)
    )  # fmt: skip


def database_reads(fleet: Fleet, rates: Rates) -> Item:
    """Alarms and scans over databases, at most."""
    often, count = _scans(rates), fleet.databases
    analysed = rates.database_queries * count if rates.fleet_alarms else 0
    return Item(
        key="databases",
        name="Databases",
        parts=(
            _part(f"{rates.database_queries} queries x {count:,} databases" if analysed
                  else "no query alarms", analysed, "metric_analysed"),
            _part(f"{often:,.0f} scans x {rates.metrics_per_database} metrics x {count:,} databases",
                  often * rates.metrics_per_database * count, "metric_read"),
        ),
    )  # fmt: skip


def cluster_reads(fleet: Fleet, rates: Rates) -> Item:
    """The daily reconciliation of Aurora clusters."""
    often = DAYS_PER_MONTH * rates.reconciles_per_day * fleet.clusters
    said = f"{often:,.0f} reconciliations x {rates.metrics_per_cluster} metrics"
    part = _part(said, often * rates.metrics_per_cluster, "metric_read")
    return Item(key="clusters", name="Aurora clusters", parts=(part,))


def _functions(fleet: Fleet, rates: Rates, reconciles: tuple[Decimal, ...]) -> Item:
    glances = _scans(rates) * fleet.volumes * rates.glance_s
    low, high = (
        (MINUTES_PER_MONTH * idle + glances + often * each) * rates.memory_gb
        for idle, often, each in zip(rates.sweep_s, reconciles, rates.reconcile_s, strict=True)
    )
    said = (
        f"{MINUTES_PER_MONTH:,} runs of {rates.sweep_s[0]} s, {rates.glance_s} s a glance, "
        f"{rates.reconcile_s[0]}-{rates.reconcile_s[1]} s a reconciliation (estimates)"
    )
    return Item(
        key="lambda",
        name="Lambda",
        parts=(
            _part(said, (low, high), "gb_second"),
            _part("runs of the sweep", MINUTES_PER_MONTH, "invocation"),
        ),
    )


def _tables(fleet: Fleet, rates: Rates, reconciles: tuple[Decimal, ...]) -> Item:
    profiles = DAYS_PER_MONTH * fleet.volumes * rates.profile_write_units
    changes = fleet.pressed * rates.changes_per_pressed_volume
    writes = tuple(
        often * rates.write_units_per_reconcile + profiles + changes * kb
        for often, kb in zip(reconciles, rates.record_kb, strict=True)
    )
    reads = tuple(
        MINUTES_PER_MONTH + often * rates.read_units_per_reconcile for often in reconciles
    )
    kept = fleet.volumes * Decimal(rates.profile_write_units) / MILLION
    gb = tuple(kept + changes * kb / MILLION for kb in rates.record_kb)
    return Item(
        key="dynamodb",
        name="DynamoDB",
        parts=(
            _part("state, profiles and records (estimate)", (writes[0], writes[1]), "write_unit"),
            _part("what is due, state and profiles (estimate)", (reads[0], reads[1]), "read_unit"),
            _part("profiles and a month of records", (gb[0], gb[1]), "table_gb"),
        ),
    )


def _queue(rates: Rates) -> Item:
    said = f"{rates.queue_requests_per_minute} polls a minute"
    count = rates.queue_requests_per_minute * MINUTES_PER_MONTH
    return Item(key="sqs", name="SQS", parts=(_part(said, count, "queue_request"),), fixed=True)


def _logs(rates: Rates, reconciles: tuple[Decimal, ...]) -> Item:
    low, high = ((MINUTES_PER_MONTH + r) * rates.log_kb_per_run / MILLION for r in reconciles)
    kept = low * rates.log_months_kept, high * rates.log_months_kept
    return Item(
        key="logs",
        name="Logs",
        parts=(
            _part(f"{rates.log_kb_per_run} KB a run (estimate)", (low, high), "log_gb"),
            _part(f"kept {rates.log_months_kept} months", kept, "log_gb_kept"),
        ),
    )


def _events(fleet: Fleet, rates: Rates) -> Item:
    count = fleet.pressed * rates.changes_per_pressed_volume * rates.events_per_change
    said = f"{rates.changes_per_pressed_volume} changes of each volume under pressure (estimate)"
    return Item(key="events", name="EventBridge", parts=(_part(said, count, "event"),))


def _own_alarms(rates: Rates) -> Item:
    part = _part("alarms on Headroom itself", rates.own_alarms, "alarm")
    return Item(key="own_alarms", name="Own alarms", parts=(part,), fixed=True)


def _own_metrics(rates: Rates) -> Item:
    low, high = map(Decimal, rates.own_metrics)
    part = _part("metrics of Headroom itself", (low, high), "custom_metric")
    return Item(key="own_metrics", name="Own metrics", parts=(part,), fixed=True)


def _keys(rates: Rates) -> Item:
    part = _part("key of the topic", rates.keys, "key")
    return Item(key="kms", name="KMS", parts=(part,), fixed=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """A setting that lowers the bill, what it saves at most and what it costs in time."""

    setting: str
    usd: Decimal
    remark: str


def suggestion(fleet: Fleet, rates: Rates) -> Saving | None:
    """The one setting that lowers the bill most; None where none saves a cent."""
    now = running_cost(fleet, rates).usd[1]
    choices = [
        ("-c detection=sweep", replace(rates, fleet_alarms=False),
         f"pressure is then found by the scan, at most {rates.scan_every_minutes} minutes later"),
        ("-c scan_every_minutes=60", replace(rates, scan_every_minutes=60),
         "what no alarm sees is then found within the hour"),
    ]  # fmt: skip
    savings = [
        Saving(setting=setting, usd=now - running_cost(fleet, other).usd[1], remark=remark)
        for setting, other, remark in choices
    ]
    best = max(savings, key=lambda each: each.usd)
    return best if best.usd >= Decimal("0.01") else None


def _scans(rates: Rates) -> Decimal:
    return Decimal(MINUTES_PER_MONTH) / rates.scan_every_minutes


def _per_pressed(rates: Rates) -> tuple[Decimal, ...]:
    return tuple(Decimal(MINUTES_PER_MONTH) / every for every in rates.pressed_every_minutes)


def _part(what: str, quantity: Decimal | int | Range, price: str) -> Part:
    low, high = quantity if isinstance(quantity, tuple) else (Decimal(quantity),) * 2
    return Part(what=what, quantity=(low, high), price=PRICES[price])


def _sum(ranges: Iterable[Range]) -> Range:
    low = high = Decimal(0)
    for one in ranges:
        low, high = low + one[0], high + one[1]
    return low, high
