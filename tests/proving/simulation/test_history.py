"""The time before a simulation: as much of it as CloudWatch keeps, at the periods it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headroom.domain.state import ProfileSummary
from headroom.proving.scenarios import parse_scenario
from headroom.proving.simulation import run, simulate
from headroom.proving.simulation.run import _steady_until
from headroom.proving.workloads import TraceWorkload
from headroom.proving.workloads.workload import Segment

START = datetime(2026, 1, 5, tzinfo=UTC)


def profile(kind: str, days: int) -> ProfileSummary:
    """The profile that the first decision used; every week has an hour of more than 3,000 IOPS."""
    week = [{"for": "166h", "iops": 300}, {"for": "1h", "iops": 4_000}, {"for": "1h", "iops": 900}]
    repeats = 24 * days // 168
    steps = [step | {"io_kib": 16} for step in week * repeats]
    rest = 24 * days % 168
    steps += [{"for": f"{rest}h", "iops": 300, "io_kib": 16}] if rest else []
    document = {
        "start": START,
        "resource": {"type": kind, "size_gib": 300, "tags": {"headroom": "auto"}},
        "workload": {"steps": [{"for": "1h", "iops": 3_900, "io_kib": 16}]},
        "history": {"steps": steps},
    }
    result = simulate(parse_scenario(document, source="case", base=Path()))
    found = result.decisions[0].profile
    assert found is not None
    return found


def test_400_days_of_history_are_known_to_the_first_decision() -> None:
    found = profile("gp3", 400)
    assert found.start == START - timedelta(days=400) + timedelta(hours=1)
    assert found.hours == found.measured == 400 * 24 - 1


def test_minutes_that_repeat_are_published_as_if_each_had_been_simulated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    quick = profile("gp2", 23)
    monkeypatch.setattr(run, "_alike", lambda one, other: False)
    assert profile("gp2", 23) == quick


@pytest.mark.parametrize(
    ("interval_s", "until"),
    [(60, timedelta(minutes=9)), (86_400, timedelta(hours=24)), (172_800, timedelta(hours=36))],
    ids=["minutes", "days", "beyond the end"],
)
def test_a_load_stays_as_it_is_until_its_next_row(interval_s: int, until: timedelta) -> None:
    rows = [(float(n % 7), 0.0, 4096.0 * (n % 7), 0.0) for n in range(3 * 1_440)]
    trace = _CountingTrace(rows, interval_s=interval_s, start=START)
    end = START + timedelta(hours=36)
    assert _steady_until(trace, START + timedelta(minutes=10), end) == START + until
    assert trace.read == 0  # or a history of weeks would read hours of rows for each of its minutes


class _CountingTrace(TraceWorkload):
    """A trace that counts the segments it was asked for."""

    read = 0

    def segments(self, start_s: float, end_s: float) -> Sequence[Segment]:
        found = super().segments(start_s, end_s)
        self.read += len(found)
        return found
