"""The bill of a month, item by item, from rates and prices; and the setting that lowers it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from headroom.running_cost.items import Item, RunningCost, part_of
from headroom.running_cost.rates import (
    DAYS_PER_MONTH,
    MILLION,
    MINUTES_PER_MONTH,
    PRICES,
    Fleet,
    Rates,
)


def running_cost(fleet: Fleet, rates: Rates) -> RunningCost:
    """The bill of a month of `fleet` at `rates`, without free tiers.

    Not counted: traces, point-in-time recovery of the tables, messages and data transfer.
    """
    pressed = _per_pressed(rates)
    routine = DAYS_PER_MONTH * rates.reconciles_per_day * _routine(fleet, rates)
    reconciles = tuple(routine + fleet.pressed * each for each in pressed)
    return RunningCost(
        items=(
            alarms(fleet, rates),
            _resource_alarms(fleet, rates),
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
            _dashboards(rates),
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
    part = part_of(said if count else "no query alarms", count, "metric_analysed")
    return Item(key="alarms", name="Detection alarms", parts=(part,))


def _resource_alarms(fleet: Fleet, rates: Rates) -> Item:
    """Alarms on single resources: one for each that is enrolled, up to the budget."""
    budget = Decimal(rates.alarm_budget_usd) if rates.adaptive else Decimal(0)
    most = min(budget // PRICES["alarm"].usd, Decimal(fleet.volumes + fleet.databases))
    said = f"of enrolled resources, at most ${budget} a month"
    part = part_of(said if most else "no alarms on single resources", (Decimal(0), most), "alarm")
    return Item(key="resource_alarms", name="Resource alarms", parts=(part,))


def scans(fleet: Fleet, rates: Rates) -> Item:
    """The scans of every volume, or the glances at those whose time has come."""
    if rates.adaptive:
        return _glances(fleet, rates)
    often = _scans(rates)
    metrics = (
        rates.metrics_per_glance * fleet.volumes + rates.credit_metrics * fleet.with_credits
    )  # fmt: skip
    said = (
        f"{often:,.0f} scans x ({rates.metrics_per_glance} metrics x {fleet.volumes:,} volumes, "
        f"{rates.credit_metrics} x {fleet.with_credits:,} with credits)"
    )
    return Item(
        key="scans", name="Fleet scans", parts=(part_of(said, often * metrics, "metric_read"),)
    )


def _glances(fleet: Fleet, rates: Rates) -> Item:
    parts = [
        part_of(
            f"{count:,.0f} volumes {what}, {low}-{high} metrics a day each (measured)",
            (DAYS_PER_MONTH * count * low, DAYS_PER_MONTH * count * high), "metric_read",
        )
        for what, count, (low, high) in (
            ("not at risk", fleet.volumes - fleet.pressed, rates.quiet_metrics_per_day),
            ("at risk", fleet.pressed, rates.risk_metrics_per_day),
        )
    ]  # fmt: skip
    return Item(key="scans", name="Glances", parts=tuple(parts))


def daily(fleet: Fleet, rates: Rates) -> Item:
    """The reconciliation of every volume whatever it does: weekly if adaptive and nothing can be given back, else daily."""
    often = DAYS_PER_MONTH * rates.reconciles_per_day * _routine(fleet, rates)
    low, high = rates.metrics_per_reconcile
    said = f"{often:,.0f} reconciliations x {low}-{high} metrics"
    part = part_of(said, (often * low, often * high), "metric_read")
    return Item(key="daily", name="Routine reconciliation", parts=(part,))


def pressure(fleet: Fleet, rates: Rates) -> Item:
    """The reconciliations of volumes at risk or under pressure."""
    low, high = (
        fleet.pressed * often * metrics
        for often, metrics in zip(_per_pressed(rates), rates.metrics_per_reconcile, strict=True)
    )
    metrics = rates.metrics_per_reconcile
    least, most = rates.pressed_every_minutes
    often = f"every {least}-{most} minutes"
    if rates.adaptive:
        often = "{}-{} a day (measured)".format(*rates.risk_reconciles_per_day)
    said = f"{fleet.pressed:,.0f} volumes, {often} x {metrics[0]}-{metrics[1]} metrics"
    return Item(
        key="pressure", name="Pressure", parts=(part_of(said, (low, high), "metric_read"),)
    )  # fmt: skip


def database_reads(fleet: Fleet, rates: Rates) -> Item:
    """Alarms and scans over databases, at most; or hourly glances at them."""
    count = fleet.databases
    if rates.adaptive:
        low, high = rates.database_metrics_per_glance
        hours = DAYS_PER_MONTH * 24
        said = f"{count:,} databases, {low}-{high} metrics an hour"
        part = part_of(said, (hours * count * low, hours * count * high), "metric_read")
        return Item(key="databases", name="Databases", parts=(part,))
    often = _scans(rates)
    analysed = rates.database_queries * count if rates.fleet_alarms else 0
    return Item(
        key="databases",
        name="Databases",
        parts=(
            part_of(f"{rates.database_queries} queries x {count:,} databases" if analysed
                  else "no query alarms", analysed, "metric_analysed"),
            part_of(f"{often:,.0f} scans x {rates.metrics_per_database} metrics x {count:,} databases",
                  often * rates.metrics_per_database * count, "metric_read"),
        ),
    )  # fmt: skip


def cluster_reads(fleet: Fleet, rates: Rates) -> Item:
    """The daily reconciliation of Aurora clusters."""
    often = DAYS_PER_MONTH * fleet.clusters
    said = f"{often:,.0f} reconciliations x {rates.metrics_per_cluster} metrics"
    part = part_of(said, often * rates.metrics_per_cluster, "metric_read")
    return Item(key="clusters", name="Aurora clusters", parts=(part,))


def _functions(fleet: Fleet, rates: Rates, reconciles: tuple[Decimal, ...]) -> Item:
    pages = _scans(rates) * -(-fleet.volumes // rates.page)
    low, high = (
        MINUTES_PER_MONTH * idle * rates.dispatcher_gb
        + (pages * page + often * each) * rates.worker_gb
        for idle, page, often, each in zip(
            rates.sweep_s, rates.page_s, reconciles, rates.reconcile_s, strict=True
        )
    )
    said = (
        f"{MINUTES_PER_MONTH:,} runs of {rates.sweep_s[0]} s, {pages:,.0f} pages of "
        f"{rates.page_s[0]}-{rates.page_s[1]} s, {rates.reconcile_s[0]}-{rates.reconcile_s[1]} s "
        "a reconciliation (estimates)"
    )
    return Item(
        key="lambda",
        name="Lambda",
        parts=(
            part_of(said, (low, high), "gb_second"),
            part_of("runs of the sweep, and pages", MINUTES_PER_MONTH + pages, "invocation"),
        ),
    )


def _tables(fleet: Fleet, rates: Rates, reconciles: tuple[Decimal, ...]) -> Item:
    kept_daily = DAYS_PER_MONTH * (_routine(fleet, rates) * rates.reconciles_per_day
                                   + (fleet.pressed if rates.adaptive else 0))  # fmt: skip
    changes = fleet.pressed * rates.changes_per_pressed_volume
    glances = DAYS_PER_MONTH * (
        (fleet.volumes - fleet.pressed) * rates.quiet_glances_per_day
        + fleet.pressed * rates.risk_glances_per_day
    )
    states = _scans(rates) * fleet.volumes * rates.read_units_per_glance
    writes = tuple(
        often * rates.write_units_per_reconcile
        + kept_daily * rates.profile_write_units
        + changes * kb
        for often, kb in zip(reconciles, rates.record_kb, strict=True)
    )
    reads = tuple(
        MINUTES_PER_MONTH + often * rates.read_units_per_reconcile for often in reconciles
    )
    kept = fleet.volumes * Decimal(rates.profile_write_units) / MILLION
    gb = tuple(kept + changes * kb / MILLION for kb in rates.record_kb)
    each_glance = (
        part_of("what glances found", glances * rates.write_units_per_glance, "write_unit"),
        part_of("the last glance of every volume, at every listing", states, "read_unit"),
    )  # fmt: skip
    return Item(
        key="dynamodb",
        name="DynamoDB",
        parts=(
            *(each_glance if rates.adaptive else ()),
            part_of("state, profiles and records (estimate)", (writes[0], writes[1]), "write_unit"),
            part_of(
                "what is due, state and profiles (estimate)", (reads[0], reads[1]), "read_unit"
            ),
            part_of("profiles and a month of records", (gb[0], gb[1]), "table_gb"),
        ),
    )


def _queue(rates: Rates) -> Item:
    said = f"{rates.queue_requests_per_minute} polls a minute"
    count = rates.queue_requests_per_minute * MINUTES_PER_MONTH
    return Item(key="sqs", name="SQS", parts=(part_of(said, count, "queue_request"),), fixed=True)


def _logs(rates: Rates, reconciles: tuple[Decimal, ...]) -> Item:
    low, high = ((MINUTES_PER_MONTH + r) * rates.log_kb_per_run / MILLION for r in reconciles)
    kept = low * rates.log_months_kept, high * rates.log_months_kept
    return Item(
        key="logs",
        name="Logs",
        parts=(
            part_of(f"{rates.log_kb_per_run} KB a run (estimate)", (low, high), "log_gb"),
            part_of(f"kept {rates.log_months_kept} months", kept, "log_gb_kept"),
        ),
    )


def _events(fleet: Fleet, rates: Rates) -> Item:
    count = fleet.pressed * rates.changes_per_pressed_volume * rates.events_per_change
    said = f"{rates.changes_per_pressed_volume} changes of each volume under pressure (estimate)"
    if rates.hub:
        count, said = 2 * count, f"{said}; each event once more for the hub"
    return Item(key="events", name="EventBridge", parts=(part_of(said, count, "event"),))


def _own_alarms(rates: Rates) -> Item:
    said = "alarms on Headroom itself" + (", one on events for the hub" if rates.hub else "")
    part = part_of(said, rates.own_alarms + rates.hub, "alarm")
    return Item(key="own_alarms", name="Own alarms", parts=(part,), fixed=True)


def _own_metrics(rates: Rates) -> Item:
    low, high = map(Decimal, rates.own_metrics)
    part = part_of("metrics of Headroom itself", (low, high), "custom_metric")
    return Item(key="own_metrics", name="Own metrics", parts=(part,), fixed=True)


def _keys(rates: Rates) -> Item:
    part = part_of("keys that the owner asked for", rates.keys, "key")
    return Item(key="kms", name="KMS", parts=(part,), fixed=True)


def _dashboards(rates: Rates) -> Item:
    part = part_of("asked for; three of an account are free", rates.dashboards, "dashboard")
    return Item(key="dashboard", name="Dashboard", parts=(part,), fixed=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """A setting that lowers the bill, what it saves at most and what it costs in time."""

    setting: str
    usd: Decimal
    remark: str


def suggestion(fleet: Fleet, rates: Rates) -> Saving | None:
    """The one setting that lowers the bill most; None where none saves a cent."""
    now = running_cost(fleet, rates).usd[1]
    adaptive = Rates(keys=rates.keys, dashboards=rates.dashboards)
    choices = [
        ("-c detection=adaptive", adaptive,
         "pressure of what was not at risk is then found within the hour"),
        ("-c scan_every_minutes=60", replace(rates, scan_every_minutes=60),
         "what no alarm sees is then found within the hour"),
    ] if not rates.adaptive else []  # fmt: skip
    savings = [
        Saving(setting=setting, usd=now - running_cost(fleet, other).usd[1], remark=remark)
        for setting, other, remark in choices
    ]
    best = max(savings, key=lambda each: each.usd, default=None)
    return best if best is not None and best.usd >= Decimal("0.01") else None


def _scans(rates: Rates) -> Decimal:
    return Decimal(MINUTES_PER_MONTH) / rates.scan_every_minutes


def _per_pressed(rates: Rates) -> tuple[Decimal, ...]:
    if rates.adaptive:
        return tuple(DAYS_PER_MONTH * often for often in rates.risk_reconciles_per_day)
    return tuple(Decimal(MINUTES_PER_MONTH) / every for every in rates.pressed_every_minutes)


def _routine(fleet: Fleet, rates: Rates) -> Decimal:
    """Volumes that are reconciled whatever they do: if adaptive, those at risk are counted apart.

    One that is reconciled daily counts as often as it is reconciled while the others are once.
    """
    calm = 1 - Decimal(str(fleet.at_risk_percent)) / 100 if rates.adaptive else Decimal(1)
    return calm * (fleet.volumes + fleet.paid * (1 / rates.reconciles_per_day - 1))
