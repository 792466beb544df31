"""The `steps` of a workload: repeats, periods and pools."""

from __future__ import annotations

from pathlib import Path

import pytest

from headroom.proving.inputs import BadInput
from headroom.proving.scenarios.load_blocks import parse_workload

POOL = {"outstanding": 64, "service_ms": 4, "think_ms": 10, "io_kib": 16}


def parsed(*steps: object) -> list[tuple[float, float, float]]:
    """Start, end and rate without limits of every stretch."""
    workload = parse_workload({"steps": list(steps)}, source="case", base=Path())
    found = []
    for segment in workload.segments(0, workload.duration_s):
        assert segment.load is not None
        rate = segment.load.free_rate or segment.load.ops_per_s
        found.append((segment.start_s, segment.end_s, round(rate, 3)))
    return found


def test_nights_are_one_line() -> None:
    night = {"every": "24h", "repeat": 21, "after": "2h", "for": "10m", "iops": 9_000,
             "else_iops": 200, "io_kib": 16}  # fmt: skip
    found = parsed(night)
    busy = [(begin, end) for begin, end, rate in found if rate == 9_000]
    assert busy == [(day * 86_400 + 7_200, day * 86_400 + 7_800) for day in range(21)]
    assert found[-1] == (20 * 86_400 + 7_800, 21 * 86_400, 200)


def test_bursts_inside_a_minute_repeat() -> None:
    steps = [{"for": "15s", "iops": 9_000, "io_kib": 16}, {"for": "45s", "iops": 0, "io_kib": 16}]
    nested = {"repeat": 2, "steps": [{"repeat": 3, "steps": steps}]}
    found = parsed(nested)
    assert [begin for begin, _, rate in found if rate] == [0, 60, 120, 180, 240, 300]


def test_a_pool_alternates_with_open_load() -> None:
    found = parsed({"for": "1h", "iops": 600, "io_kib": 16}, {"for": "8h", **POOL})
    assert found == [(0, 3_600, 600), (3_600, 32_400, round(64 / 0.014, 3))]


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ({"for": "1h", "iops": 1, **POOL}, "steps[1].outstanding is given beside iops"),
        ({"for": "1h", "iops": 1, "io_kib": 4, "think_ms": 1}, "think_ms is given without outst"),
        ({"for": "1h", "iops": 1, "io_kib": 4, "else_iops": 1}, "else_iops is given without every"),
        ({"every": "1h", "after": "30m", "for": "31m", "iops": 1, "io_kib": 4}, "every is 3600 s"),
        ({"repeat": 2, "for": "1h", "steps": []}, "steps[1].for is given beside steps"),
        ({"repeat": 2, "steps": []}, "steps[1].steps is empty"),
        ({"repeat": 0, "for": "1h", "iops": 1, "io_kib": 4}, "repeat is 0"),
        ({"repeat": 1_000, "steps": [{"repeat": 9_000, "for": "1s", "iops": 1, "io_kib": 4}]},
         "makes more than 1,000,000 stretches"),
        ({"for": "1h", **POOL, "service_ms": 0}, "service_ms is 0; it must be above 0"),
    ],
)  # fmt: skip
def test_nonsense_is_refused_in_one_sentence(step: object, words: str) -> None:
    with pytest.raises(BadInput) as caught:
        parsed(step)
    assert words in str(caught.value)
