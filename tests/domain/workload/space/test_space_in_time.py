"""Over days, a database that is reconciled now and then is grown seldom and is never full."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise

import pytest

from headroom.domain.policy import Limits
from headroom.domain.state import KnownModification
from headroom.domain.workload import space_forecast
from tests.builders import NOW
from tests.domain.databases import rds
from tests.domain.filling import GP3, filling

SHOWS_H, RESTS_H = 0.25, 6.0
"""Growth is there after a quarter of an hour, and RDS takes no other for six hours."""


def noise(hour: float) -> float:
    return 0.6 * math.sin(hour * 12.9898) + 0.3 * math.sin(hour * 78.233)


@pytest.mark.parametrize(
    ("name", "used", "first", "last", "every", "sizes"),
    [
        ("ten a day", lambda t: 400 + 10 * t / 24, 96, 250, 6, [550, 695]),
        ("a nightly batch that stays", lambda t: 380 + 15 * (t // 24 + min(1, max(0, (t % 24 - 2) / 2))),
         96, 220, 6, [557, 781]),
        ("a load of 20 hours", lambda t: 250 + 30 * min(20, max(0, t - 72)), 70, 110, 0.5, [733, 970]),
        ("a database being filled for the first time", lambda t: 200 + 20 * min(24, t), 2, 40, 1, [911]),
        ("a temporary file of 90 GiB", lambda t: 340 + 90 * (72.0 < t < 72.7), 70, 80, 0.5, []),
        ("one load", lambda t: 330 + 60 * min(1, max(0, (t - 74) / 3)), 70, 90, 1, []),
    ],
)  # fmt: skip
def test_it_is_grown_seldom_and_is_never_full(
    name: str, used: Callable[[float], float], first: float, last: float, every: float,
    sizes: list[int],
) -> None:  # fmt: skip
    steps = [(0.0, 500)]
    now = first

    def size(hour: float) -> int:
        return [gib for begun, gib in steps if begun + (SHOWS_H if begun else 0) <= hour][-1]

    while now < last:
        left = size(now) - used(now)
        assert left > 0, f"{name}: full after {now} hours"
        if now - steps[-1][0] >= RESTS_H or len(steps) == 1:

            def free(hours: float, now: float = now) -> float | None:
                hour = now - hours
                return None if hour < 0 else max(0.0, size(hour) - used(hour) - noise(hour))

            grown = tuple(
                KnownModification(
                    started_at=NOW - timedelta(hours=now - begun), by="headroom",
                    origin=rds(GP3, before, 12_000, 500), target=rds(GP3, after, 12_000, 500),
                )
                for (_, before), (begun, after) in pairwise(steps)
            )  # fmt: skip
            seen = filling(rds(GP3, steps[-1][1], 12_000, 500), free, days=min(14, now / 24))
            found = space_forecast(seen, grown, Limits(grow_space=True))
            assert found is not None
            if found.short:
                steps.append((now, max(found.needed_gib, -(-11 * steps[-1][1] // 10))))
        now += every
    assert [gib for _, gib in steps[1:]] == pytest.approx(sizes, rel=0.03)
