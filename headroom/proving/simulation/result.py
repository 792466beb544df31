"""The public result of `headroom simulate`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from headroom.domain.catalog.ebs import MIB
from headroom.domain.decision import Decision
from headroom.domain.resources import Configuration
from headroom.domain.state import Record
from headroom.proving.physics import LatencyHistogram, MinuteFacts, SpaceResult
from headroom.proving.simulation.storage import AwsRefusal

Json = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedMinute:
    """One minute with the configuration that was billed in it."""

    facts: MinuteFacts
    configuration: Configuration
    usd_per_month: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A modification that Headroom made."""

    at: datetime
    origin: Configuration
    target: Configuration
    decision_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One controller on one scenario. Times in ms, money in USD."""

    scenario: str
    controller: str
    minutes: tuple[SimulatedMinute, ...]
    latencies: LatencyHistogram
    storage_usd: Decimal
    usd_per_month_end: Decimal
    changes: tuple[Change, ...]
    external_changes: tuple[datetime, ...]
    decisions: tuple[Decision, ...]
    records: tuple[Record, ...]
    refusals: tuple[AwsRefusal, ...]
    violations: tuple[str, ...]
    notes: tuple[str, ...]
    space: SpaceResult | None = None
    """Free space over the simulation; None if it was not simulated."""

    @property
    def starved_minutes(self) -> int:
        """Minutes in which over 1 % of the operations due waited because of the volume."""
        return sum(minute.facts.starved for minute in self.minutes)

    @property
    def shortfall_minutes(self) -> float:
        """Sum over the minutes of the share of their load that the volume did not serve in time."""
        return sum(minute.facts.shortfall for minute in self.minutes)

    def onset_to_relief_minutes(self) -> int | None:
        """Length of the first episode of starvation, None when there was none.

        Unmeasured minutes neither end an episode nor count in it.
        """
        length = 0
        for minute in self.minutes:
            if minute.facts.starved:
                length += 1
            elif length and not minute.facts.unknown:
                break
        return length or None

    def to_json(self) -> Json:
        """The object that `headroom simulate --json` prints."""
        facts = [minute.facts for minute in self.minutes]
        counts = {"act": 0, "hold": 0, "escalate": 0}
        for decision in self.decisions:
            counts[type(decision.answer).__name__.lower()] += 1
        lowest = [f.lowest_burst_balance_percent for f in facts]
        return {
            "scenario": self.scenario,
            "controller": self.controller,
            "simulated_minutes": len(facts),
            "unknown_minutes": sum(f.unknown for f in facts),
            "offered_ops": round(sum(f.offered_ops for f in facts), 3),
            "served_ops": round(sum(f.served_ops for f in facts), 3),
            "starved_minutes": self.starved_minutes,
            "shortfall_minutes": _rounded(self.shortfall_minutes),
            "latency_ms": {
                "avg": _rounded(self.latencies.mean_ms),
                "p50": _rounded(self.latencies.percentile_ms(50)),
                "p99": _rounded(self.latencies.percentile_ms(99)),
            },
            "served": served_rates(facts),
            "burst_balance_min": _rounded(min((v for v in lowest if v is not None), default=None)),
            "storage_usd": _money(self.storage_usd),
            "usd_per_month_start": _money(self.minutes[0].usd_per_month),
            "usd_per_month_end": _money(self.usd_per_month_end),
            "modifications": [_change(change) for change in self.changes],
            "other_modifications": [_instant(at) for at in self.external_changes],
            "decisions": counts,
            "aws_refusals": len(self.refusals),
            "aws_refusal_codes": [refusal.code for refusal in self.refusals],
            "guardrail_violations": len(self.violations),
            "violations": list(self.violations),
            "onset_to_relief_minutes": self.onset_to_relief_minutes(),
            "backlog_end_ops": round(facts[-1].backlog_end, 3),
            "notes": list(self.notes),
            **({} if self.space is None else {"free_storage": self.space.to_json()}),
        }


def served_rates(facts: Sequence[MinuteFacts]) -> dict[str, float]:
    """Mean rates over the measured time, of what was served in it."""
    seconds = sum(f.measured_s for f in facts)
    served = [f.served_measured for f in facts]
    totals = {
        "read_iops": sum(one.read_ops for one in served),
        "write_iops": sum(one.write_ops for one in served),
        "mib_per_s": sum(one.read_bytes + one.write_bytes for one in served) / MIB,
    }
    return {name: round(total / seconds, 4) if seconds else 0.0 for name, total in totals.items()}


def _change(change: Change) -> Json:
    return {
        "at": _instant(change.at),
        "from": _configuration(change.origin),
        "to": _configuration(change.target),
        "decision_id": change.decision_id,
        "reason": change.reason,
    }


def _configuration(configuration: Configuration) -> Json:
    return {
        "type": configuration.volume_type.value,
        "size_gib": configuration.size_gib,
        "iops": configuration.iops,
        "throughput_mibps": configuration.throughput_mibps,
    }


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _money(value: Decimal) -> float:
    return float(round(value, 6))
