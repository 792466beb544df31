"""The stub fleet answers as the adapters expect, and a run over it loses and repeats nothing."""

from __future__ import annotations

from tools.fleet_bench import run


def test_every_pressed_volume_is_reconciled_once_though_dispatchers_overlap() -> None:
    took = run(60, 0.1, workers=4, latency_ms=1.0, most_s=120)
    assert took.pressed == 6
    assert took.reconciled >= took.pressed
    assert (took.twice, took.failed) == (0, 0)
    assert took.calls["ModifyVolume"] == took.pressed
    assert took.calls["DescribeVolumes"] < 2 * took.reconciled + 5
