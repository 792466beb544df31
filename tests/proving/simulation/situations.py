"""A resource that Headroom may change, simulated with the default policy, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from headroom.domain.resources import Configuration
from headroom.proving.scenarios import parse_scenario
from headroom.proving.simulation import Result, simulate

START = datetime(2026, 1, 5, tzinfo=UTC)
"""A Monday, when every simulation begins."""
POOL = {"outstanding": 64, "service_ms": 4, "io_kib": 16, "read_fraction": 0.3}
RDS = {"kind": "rds", "engine": "postgres", "instance_class": "db.r6g.4xlarge"}


def step(duration: str, iops: float, io_kib: int = 16) -> dict[str, Any]:
    return {"for": duration, "iops": iops, "io_kib": io_kib, "read_fraction": 0.5}


def simulated(
    resource: dict[str, Any], steps: Sequence[dict[str, Any]], *,
    history: Sequence[dict[str, Any]] = (), controller: str = "headroom", **more: Any,
) -> Result:  # fmt: skip
    """The simulation of a resource that Headroom may change, with the default policy."""
    scenario = {
        "resource": {"kind": "ebs", "tags": {"headroom": "auto"}, **resource},
        "workload": {"steps": list(steps)}, **more,
    }  # fmt: skip
    if history:
        scenario["history"] = {"steps": list(history)}
    return simulate(parse_scenario(scenario, source="test", base=Path()), controller)


def targets(result: Result) -> list[Configuration]:
    return [change.target for change in result.changes]


def hours(result: Result) -> list[float]:
    """Hours from the start until each change."""
    return [(change.at - START) / timedelta(hours=1) for change in result.changes]


def starved_between(result: Result, since: timedelta, until: timedelta) -> int:
    return sum(
        minute.facts.starved
        for minute in result.minutes
        if START + since <= minute.facts.start < START + until
    )
