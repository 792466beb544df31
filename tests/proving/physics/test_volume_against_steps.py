"""The exact model against a plain simulation in small time steps, written from AWS's pages alone."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from headroom.domain.resources import Configuration
from headroom.proving.physics import Attachment
from tests.proving.build import configuration, gp2, gp3, instance, play, steps

STEP = 0.05
MINUTES = 12
Parts = list[tuple[float, float, float]]


@dataclass
class Pot:
    """Credits: earned at `base` per second, at most `most`."""

    base: float
    peak: float
    most: float
    level: float

    def room(self) -> float:
        """What may be used in one step."""
        return (
            min(self.peak * STEP, self.level + self.base * STEP) if self.most else self.base * STEP
        )

    def use(self, amount: float) -> None:
        self.level = min(self.most, max(0.0, self.level + self.base * STEP - amount))


def pots(
    what: Configuration, attachment_settings: Attachment | None, percent: float
) -> list[tuple[str, Pot]]:
    size, kind = what.size_gib, what.volume_type.value
    found: list[tuple[str, Pot]] = []
    if kind == "gp2":
        base = max(100.0, 3.0 * size)
        found.append(("ops", Pot(base, 3_000, 5.4e6, 54_000 * percent)))
        most = 250.0 if size > 170 else 128.0
        found.append(("mib", Pot(most, most, 0, 0)))
    elif kind == "st1":
        tib = size / 1024
        found.append(
            ("hdd", Pot(40 * tib, 250 * tib, tib * 1024**2, tib * 1024**2 * percent / 100))
        )
    else:
        found.append(("ops", Pot(what.iops or 0, 0, 0, 0)))
        found.append(("mib", Pot(what.throughput_mibps or 1e9, 0, 0, 0)))
    if attachment_settings is not None:
        at = attachment_settings.limits
        spare = 1_800.0 * (at.maximum_iops - at.baseline_iops)
        found.append(("own ops", Pot(at.baseline_iops, at.maximum_iops, spare, spare)))
        spare = 1_800.0 * (at.maximum_mibps - at.baseline_mibps)
        found.append(("own mib", Pot(at.baseline_mibps, at.maximum_mibps, spare, spare)))
    return found


def cost(kind: str, kib: float) -> float:
    if kind.endswith("mib"):
        return kib / 1024
    return max(1.0, kib / (1024 if kind == "hdd" else 256))


def stepwise(parts: Parts, limits: list[tuple[str, Pot]], kib: float) -> list[list[float]]:
    """Served operations and backlog at the end, minute by minute."""
    edges, total = [], 0.0
    for seconds, iops, _ in parts:
        total += seconds
        edges.append((total, iops))
    backlog, minutes = 0.0, []
    for minute in range(MINUTES):
        done = 0.0
        for n in range(int(60 / STEP)):
            now = minute * 60 + n * STEP
            backlog += STEP * next((iops for edge, iops in edges if now < edge), 0.0)
            ops = min([backlog, *(pot.room() / cost(kind, kib) for kind, pot in limits)])
            for kind, pot in limits:
                pot.use(ops * cost(kind, kib))
            backlog -= ops
            done += ops
        minutes.append([done, backlog])
    return minutes


@pytest.mark.parametrize(
    "attachment_settings", [None, instance(1_500, 90, most_iops=4_000, most_mibps=300)]
)
@pytest.mark.parametrize(
    ("what", "percent", "kib"),
    [
        (gp2(100), 4.0, 16.0), (gp2(250), 2.0, 256.0), (gp2(400), 100.0, 64.0), (gp3(), 100.0, 16.0),
        (gp3(), 100.0, 128.0), (configuration("st1", 2_000), 0.5, 1_024.0),
        (configuration("st1", 500), 10.0, 64.0),
    ],
)  # fmt: skip
def test_small_steps_come_to_the_same(
    what: Configuration, percent: float, kib: float, attachment_settings: Attachment | None
) -> None:
    shape = [(70.0, 400.0), (100.0, 3_800.0), (45.0, 0.0), (200.0, 900.0), (120.0, 2_500.0)]
    parts = [(seconds, iops, kib) for seconds, iops in shape]
    exact = play(
        steps(*parts, (9_999, 0, kib)), what, MINUTES, attachment=attachment_settings,
        burst_balance_percent=percent,
    )  # fmt: skip
    plain = stepwise(parts, pots(what, attachment_settings, percent), kib)
    for fact, (done, backlog) in zip(exact, plain, strict=True):
        assert fact.served_ops == pytest.approx(done, rel=0.005, abs=400)
        assert fact.backlog_end == pytest.approx(backlog, rel=0.005, abs=400)


@pytest.mark.parametrize("most_iops", [1_500, 4_000])
def test_starvation_is_what_removing_the_volumes_limit_would_avoid(most_iops: int) -> None:
    attachment_settings = instance(1_500, 900, most_iops=most_iops)
    parts = [(90.0, 500.0, 16.0), (150.0, 3_900.0, 16.0), (200.0, 300.0, 16.0)]
    what = gp3(100, 3_000, 500)
    facts = play(steps(*parts, (9_999, 0, 16)), what, MINUTES, attachment=attachment_settings)
    real = stepwise(parts, pots(what, attachment_settings, 100), 16)
    free = stepwise(parts, pots(gp3(100, 80_000, 2_000), attachment_settings, 100), 16)
    behind = [a[1] > b[1] + 200 for a, b in zip(real, free, strict=True)]
    for fact, late in zip(facts, behind, strict=True):
        assert fact.starved or not late
    assert any(f.starved for f in facts) is (most_iops > 3_000)
