"""What each choice of detection asks CloudWatch, and what it costs (headroom/running_cost)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from headroom import running_cost
from headroom.running_cost import MINUTES_PER_MONTH, Fleet, Range, Rates, RunningCost, rates_of
from headroom.settings import DeploymentConfig, Detection

_RATES = Rates()
METRICS_PER_GLANCE = _RATES.metrics_per_glance + _RATES.credit_metrics
METRICS_PER_DATABASE = _RATES.metrics_per_database
METRICS_PER_CLUSTER = _RATES.metrics_per_cluster
METRICS_PER_RECONCILE = _RATES.metrics_per_reconcile
RECONCILE_EVERY_MINUTES = _RATES.pressed_every_minutes
AT_RISK_PERCENT = 5.0
CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetQuery:
    """A Metrics Insights query over every volume or database, one contributor each, worst first."""

    name: str
    metric: str
    dimensions: tuple[str, ...]
    """The metric's exact dimension set: SCHEMA finds no other."""
    function: str
    """MAX, worst is highest; or MIN, worst is lowest."""
    threshold: float
    says: str
    namespace: str = "AWS/EBS"
    label: str = "VolumeId"
    """What identifies a contributor."""
    period_s: int = 60

    def text(self, where: str | None) -> str:
        """The query, narrowed by `where` when there is one."""
        schema = ", ".join((f'"{self.namespace}"', *self.dimensions))
        worst_first = "DESC" if self.function == "MAX" else "ASC"
        parts = (
            f'SELECT {self.function}("{self.metric}") FROM SCHEMA({schema})',  # noqa: S608
            f"WHERE {where}" if where else "",
            f"GROUP BY {self.label} ORDER BY {self.function}() {worst_first}",
        )
        return " ".join(part for part in parts if part)


def fleet_queries(config: DeploymentConfig) -> tuple[FleetQuery, ...]:
    """The queries behind the deployed alarms; none when the sweep detects alone.

    The two checks exist only under the pair of dimensions (source: EBS user guide, CloudWatch
    metrics, 2026-09); BurstBalance under the volume alone.
    """
    if not config.detection.has_alarms:
        return ()
    return (
        FleetQuery(
            name="burst-balance",
            metric="BurstBalance",
            dimensions=("VolumeId",),
            function="MIN",
            threshold=config.burst_balance_alarm_percent,
            says="a volume is spending its burst credits",
        ),
        FleetQuery(
            name="iops-exceeded",
            metric="VolumeIOPSExceededCheck",
            dimensions=("InstanceId", "VolumeId"),
            function="MAX",
            threshold=1,
            says="a volume is asked for more IOPS than it has",
        ),
        FleetQuery(
            name="throughput-exceeded",
            metric="VolumeThroughputExceededCheck",
            dimensions=("InstanceId", "VolumeId"),
            function="MAX",
            threshold=1,
            says="a volume is asked for more throughput than it has",
        ),
    )


def database_queries(config: DeploymentConfig) -> tuple[FleetQuery, ...]:
    """The queries over databases; none without them, nor when the sweep detects alone.

    RDS publishes no check of a limit, only what runs out: gp2's credits every minute, the balances
    of classes that burst every five (source: RDS user guide, CloudWatch metrics, 2026-10).
    """
    if not (config.databases and config.detection.has_alarms):
        return ()
    return tuple(
        FleetQuery(
            name=f"rds-{name}",
            metric=metric,
            dimensions=("DBInstanceIdentifier",),
            function="MIN",
            threshold=config.burst_balance_alarm_percent,
            says=says,
            namespace="AWS/RDS",
            label="DBInstanceIdentifier",
            period_s=period_s,
        )
        for name, metric, period_s, says in (
            ("burst-balance", "BurstBalance", 60, "a database is spending its gp2 credits"),
            ("io-balance", "EBSIOBalance%", 300, "a database's class is spending its IOPS balance"),
            (
                "byte-balance",
                "EBSByteBalance%",
                300,
                "a database's class is spending its throughput balance",
            ),
        )
    )


def databases_usd(config: DeploymentConfig, databases: int) -> Decimal:
    """Dollars per month at most for alarms and scans over `databases` instances; 0 without them."""
    fleet = Fleet(volumes=0, with_credits=0, databases=databases if config.databases else 0)
    return running_cost.database_reads(fleet, rates_of(config)).usd[1]


def _databases_note(config: DeploymentConfig) -> str:
    if not config.databases:
        return ""
    count = config.expected_databases
    asked = f"{len(database_queries(config))} queries, {METRICS_PER_DATABASE} metrics per scan"
    if config.detection is Detection.ADAPTIVE:
        asked = "{}-{} metrics an hour".format(*_RATES.database_metrics_per_glance)
    return f" {count:,} databases add up to ${databases_usd(config, count):,.2f} ({asked})."


def cluster_usd() -> Decimal:
    """Dollars per month for one reconciliation a day of an Aurora cluster with a few serverless members."""
    return running_cost.cluster_reads(Fleet(volumes=0, with_credits=0, clusters=1), _RATES).usd[1]


def _clusters_note(config: DeploymentConfig) -> str:
    if not config.clusters:
        return ""
    return f" Each Aurora cluster adds ${cluster_usd():,.4f}, one reconciliation a day."


def where_tagged(config: DeploymentConfig) -> str | None:
    """The condition that narrows the queries to enrolled volumes; None unless `tagged`."""
    if config.detection is not Detection.TAGGED:
        return None
    key = config.enrolment_tag_key
    quoted = key if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key) else f'"{key}"'
    return f"tag.{quoted}='{config.enrolment_tag_value}'"


def alarms_usd(config: DeploymentConfig, volumes: int) -> Decimal:
    """Dollars per month for the alarms over `volumes` volumes that publish every metric."""
    return running_cost.alarms(_with_credits(volumes), rates_of(config)).usd[1]


def scan_usd(config: DeploymentConfig, volumes: int) -> Decimal:
    """Dollars per month for the sweep's fleet scans over `volumes` volumes."""
    return running_cost.scans(_with_credits(volumes), rates_of(config)).usd[1]


def reconcile_usd(config: DeploymentConfig) -> tuple[Decimal, Decimal]:
    """Dollars per month for the reconciliations of one volume that stays under pressure, from and to."""
    one = Fleet(volumes=1, with_credits=1, at_risk_percent=100)
    return running_cost.pressure(one, rates_of(config)).usd


def daily_usd(config: DeploymentConfig, volumes: int) -> tuple[Decimal, Decimal]:
    """Dollars per month for the regular reconciliations of `volumes` volumes, from and to."""
    return running_cost.daily(_with_credits(volumes), rates_of(config)).usd


def bill(config: DeploymentConfig, volumes: int) -> RunningCost:
    """The month of `volumes` volumes, 5 % of them at risk."""
    fleet = Fleet(volumes=volumes, with_credits=volumes, at_risk_percent=AT_RISK_PERCENT)
    return running_cost.running_cost(fleet, rates_of(config))


def _with_credits(volumes: int) -> Fleet:
    """Volumes that publish every metric: the most that this number can cost."""
    return Fleet(volumes=volumes, with_credits=volumes)


def price_note(config: DeploymentConfig) -> str:
    """One paragraph: what the choice costs per 1,000 volumes and month, with its arithmetic."""
    note = (
        _adaptive_note(config) if config.detection is Detection.ADAPTIVE else _alarms_note(config)
    )
    expected = config.expected_volumes
    note += _databases_note(config) + _clusters_note(config)
    if expected == 1_000:
        return note
    if config.detection is Detection.ADAPTIVE:
        return f"{note} For {expected:,} volumes: {_range(bill(config, expected).usd)}."
    here = alarms_usd(config, expected) + scan_usd(config, expected)
    return f"{note} For {expected:,} volumes: ${here:,.2f}."


def _adaptive_note(config: DeploymentConfig) -> str:
    month = bill(config, 1_000)
    items = ", ".join(
        f"{item.name} {_range(item.usd)}" for item in month.items if item.usd[1] >= CENT
    )
    idle = running_cost.running_cost(Fleet(volumes=0, with_credits=0), rates_of(config))
    return (
        f"Detection adaptive costs {_range(month.usd)} per 1,000 volumes and month in total, "
        f"{AT_RISK_PERCENT:g} % of them at risk ({items}); of that {_range(idle.usd)} before use."
    )


def _range(usd: Range) -> str:
    low, high = (f"${each:,.2f}" for each in usd)
    return low if low == high else f"{low}-{high}"


def _alarms_note(config: DeploymentConfig) -> str:
    low, high = reconcile_usd(config)
    least, most = daily_usd(config, 1_000)
    queries, alarms = len(fleet_queries(config)), alarms_usd(config, 1_000)
    scan, total = scan_usd(config, 1_000), alarms_usd(config, 1_000) + scan_usd(config, 1_000)
    scans = round(MINUTES_PER_MONTH / config.scan_minutes)
    over = "1,000 enrolled volumes" if config.detection is Detection.TAGGED else "1,000 volumes"
    return (
        f"Detection {config.detection.value} costs ${total:,.2f} per 1,000 volumes and month: "
        f"alarms ${alarms:,.2f} ({queries} queries x {over} x $0.10 per metric analysed) "
        f"and fleet scans ${scan:,.2f} ({scans:,} scans x {METRICS_PER_GLANCE} metrics x 1,000 "
        f"volumes x $0.01 per 1,000 metrics read). One reconciliation a day of each volume, which finds "
        f"what can be given back, adds ${least:,.2f}-${most:,.2f}. Each volume under pressure adds ${low:,.2f}-"
        f"${high:,.2f} a month while it is ({METRICS_PER_RECONCILE[0]}-{METRICS_PER_RECONCILE[1]} metrics "
        f"per reconciliation, every {RECONCILE_EVERY_MINUTES[0]} to {RECONCILE_EVERY_MINUTES[1]} minutes)."
    )


def short_price(config: DeploymentConfig) -> str:
    """The dollars alone, for a stack output."""
    if config.detection is Detection.ADAPTIVE:
        return (
            f"adaptive: {_range(bill(config, 1_000).usd)} per 1,000 volumes and month in total, "
            f"{AT_RISK_PERCENT:g} % of them at risk.{_databases_note(config)}"
        )
    total = alarms_usd(config, 1_000) + scan_usd(config, 1_000)
    low, high = reconcile_usd(config)
    return (
        f"{config.detection.value}: ${total:,.2f} per 1,000 volumes and month, and "
        f"${low:,.2f}-${high:,.2f} for each while it is under pressure.{_databases_note(config)}"
    )
