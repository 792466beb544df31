"""Full copies: when all data of a database may be copied, and the value of that.

A copy takes hours beside the load and helps only when it is done, so none starts under pressure.
Its value follows from the minutes that earlier days spent at the limit.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from headroom.domain.workload import LoadHistory

FULL_COPY_TIME = timedelta(hours=6)
"""RDS documents hours for a full copy; this is about what EBS documents for a full TiB."""
DAY = timedelta(days=1)
DAYS_PRESSED = 2
"""Days with time at the limit that make it a recurring load."""


def pressed_minutes_per_day(load_history: LoadHistory) -> float:
    """Mean minutes per measured day at the limits then in force; 0 unless several days had any."""
    found = [
        (
            (load_history.start + timedelta(seconds=p.place * load_history.period_s)).date(),
            p.pressed_minutes,
        )
        for p in load_history.busy
        if p.pressed_minutes > 0
    ]
    if len({day for day, _ in found}) < DAYS_PRESSED:
        return 0.0
    return sum(minutes for _, minutes in found) / max(load_history.days, 1.0)


def calm_during_copy(load_history: LoadHistory, at: datetime) -> bool:
    """Whether no earlier day was at a limit during the hours of a copy that starts at `at`."""
    for period in load_history.busy:
        if period.pressed_minutes <= 0:
            continue
        begins = load_history.start + timedelta(seconds=period.place * load_history.period_s)
        if (begins - at) % DAY < FULL_COPY_TIME:
            return False
    return True
