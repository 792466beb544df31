"""One line of an assessment, and the whole of it in figures, as plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from headroom.cli.terminal.output import counted
from headroom.cli.views.cost import CostView
from headroom.cli.views.cost import as_object as cost_object

Json = dict[str, Any]
DAYS_PER_MONTH = 730 / 24
MOST_LISTED = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessedRow:
    """What the days of one resource come to. Prices in USD per month."""

    resource: str
    arn: str
    kind: str
    name: str
    account_id: str
    region: str
    configuration: str
    usd_per_month: float | None
    mode: str
    """The mode that the policy and its tags really give it."""
    enrolled: bool
    replayed: bool
    failed: bool
    """Whether it should have been replayed, and could not be."""
    why: str
    """Why it was not replayed."""
    starved_minutes: int
    starved_minutes_headroom: int
    usd_change: float
    """How much more a month storage would have cost, on average over the days."""
    target: str
    """The configuration it would have ended with; empty if it were the same."""
    changes: int
    blocked_by: tuple[str, ...]
    """Guardrails that blocked changes, the most frequent first."""
    relief_usd_per_minute: float

    @property
    def ended_minutes(self) -> int:
        """Starved minutes that Headroom would have ended."""
        return self.starved_minutes - self.starved_minutes_headroom

    @property
    def stays_blocked(self) -> bool:
        """Whether it would still starve, or cost more than it needs, and a guardrail is why."""
        return bool(self.blocked_by) and (self.starved_minutes_headroom > 0 or not self.changes)

    def to_json(self) -> Json:
        """Plain values."""
        return asdict(self) | {
            "ended_minutes": self.ended_minutes, "stays_blocked": self.stays_blocked,
        }  # fmt: skip


def assessed_from_json(fields: Mapping[str, Any]) -> AssessedRow:
    """What `to_json` made; raises KeyError or TypeError for anything else."""
    plain = {name: fields[name] for name in AssessedRow.__slots__}
    return AssessedRow(**plain | {"blocked_by": tuple(plain["blocked_by"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """What a fleet's past says about running Headroom on it."""

    at: datetime
    days: int
    places: tuple[str, ...]
    policies: tuple[str, ...]
    rows: tuple[AssessedRow, ...]
    clusters: tuple[Json, ...]
    cost: CostView

    @property
    def since(self) -> datetime:
        """Where the days begin."""
        return self.at - timedelta(days=self.days)

    @property
    def starved(self) -> list[AssessedRow]:
        """Resources that starved, the most first."""
        found = (row for row in self.rows if row.starved_minutes)
        return sorted(found, key=lambda row: (-row.starved_minutes, row.arn))

    @property
    def savings(self) -> list[AssessedRow]:
        """Resources that would cost less, the biggest saving first."""
        found = (row for row in self.rows if row.usd_change < -0.005)
        return sorted(found, key=lambda row: (row.usd_change, row.arn))

    @property
    def blocked(self) -> list[AssessedRow]:
        """Resources that guardrails keep from what they need, the most starved first."""
        found = (row for row in self.rows if row.stays_blocked)
        return sorted(found, key=lambda row: (-row.starved_minutes_headroom, row.arn))

    @property
    def totals(self) -> Json:
        """All of it in figures; USD per month."""
        rows = self.rows
        low, high = (float(each) for each in self.cost.cost.usd)
        up = sum(max(0.0, row.usd_change) for row in rows)
        down = sum(min(0.0, row.usd_change) for row in rows)
        a_month = DAYS_PER_MONTH / self.days
        ended = sum(row.ended_minutes for row in rows)
        return {
            "resources": len(rows),
            "enrolled": sum(row.enrolled for row in rows),
            "replayed": sum(row.replayed for row in rows),
            "failed": sum(row.failed for row in rows),
            "usd_per_month": round(sum(row.usd_per_month or 0.0 for row in rows), 2),
            "starved_resources": sum(row.starved_minutes > 0 for row in rows),
            "starved_minutes": sum(row.starved_minutes for row in rows),
            "starved_minutes_headroom": sum(row.starved_minutes_headroom for row in rows),
            "ended_minutes": ended,
            "ended_minutes_per_month": round(ended * a_month),
            "relief_usd_per_month": round(
                sum(row.ended_minutes * row.relief_usd_per_minute for row in rows) * a_month, 2
            ),
            "changes": sum(row.changes for row in rows),
            "usd_up": round(up, 2),
            "usd_down": round(down, 2),
            "running_usd": {"from": round(low, 2), "to": round(high, 2)},
            "net_usd": {"from": round(up + down + low, 2), "to": round(up + down + high, 2)},
            "stay_blocked": len(self.blocked),
            "blocked_by": dict(
                Counter(name for row in self.blocked for name in row.blocked_by).most_common()
            ),
        }

    def to_json(self) -> Json:
        """The object that `headroom assess --json` prints."""
        return {
            "at": self.at.isoformat(), "from": self.since.isoformat(), "days": self.days,
            "places": list(self.places), "policies": list(self.policies), "totals": self.totals,
            "resources": [row.to_json() for row in self.rows], "clusters": list(self.clusters),
            "running_cost": cost_object(self.cost), "notes": self.notes(),
        }  # fmt: skip

    def notes(self) -> list[str]:
        """What people must know to read it."""
        total = self.totals
        reasons = Counter(row.why for row in self.rows if not (row.replayed or row.failed))
        others = "; ".join(f"{why} ({count:,})" for why, count in reasons.most_common())
        return [
            f"{total['replayed']:,} of {total['resources']:,} resources were replayed minute by minute with "
            f"the deployed engine, as if all were enrolled (mode auto); {total['enrolled']:,} really are."
            + (f" The others were not: {others}." if others else ""),
            "Starved minutes are a lower bound: load that a limit held back is rebuilt from what was "
            "served. Volumes of one instance are played beside each other's raises, anything else by itself; "
            "limits of the account (budget, changes at once) are not played, and approvals count as given.",
            f"Dollars of storage are the average of {counted(self.days, 'day')}, a month; dollars for running "
            f"Headroom are those of detection {self.cost.detection} in us-east-1, without free tiers.",
        ]


def worst_first(rows: Sequence[AssessedRow]) -> list[AssessedRow]:
    """The most minutes ended first, then the biggest savings."""
    return sorted(rows, key=lambda row: (-row.ended_minutes, row.usd_change, row.arn))
