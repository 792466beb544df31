"""Settings of a database beside its storage: in force, waiting for a window, or being applied.

Source: RDS User Guide, "Modifying an Amazon RDS DB instance" and "Schedule modifications setting"
(checked 2026-11). What waits is applied in the maintenance window, or with the next change of any
kind that is asked for at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

RESTARTING = ("DBInstanceClass", "DBClusterInstanceClass", "EngineVersion")
"""Settings whose change restarts the database."""
DEFERRED_SETTINGS = (*RESTARTING, "BackupRetentionPeriod", "Port")
"""Settings that wait for the maintenance window unless they are asked for at once."""
MAINTENANCE_WINDOW = "sun:05:00-sun:05:30"
"""PreferredMaintenanceWindow where none is given, UTC."""
NOTICED = timedelta(seconds=30)
"""How long RDS still reports `available` after it accepted a change."""
_TAKES = timedelta(minutes=10)
_RESTART = timedelta(minutes=1)
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """Settings that RDS began to apply at `at`, in force when it is over."""

    at: datetime
    values: Mapping[str, object]

    @property
    def restarts(self) -> bool:
        """Whether the database restarts at the end."""
        return any(name in RESTARTING for name in self.values)

    @property
    def until(self) -> datetime:
        """When it ends; a change without a restart ends at once."""
        return self.at + _TAKES if self.restarts else self.at


class Settings:
    """Every answer depends only on the instant asked, which never goes back."""

    def __init__(self, values: Mapping[str, object], *, window: str = MAINTENANCE_WINDOW) -> None:
        self._values = dict(values)
        self.window = window
        self._waiting: dict[str, object] = {}
        self._applied: list[Applied] = []

    def value(self, name: str, now: datetime) -> object:
        """The value in force; None for one that was never set."""
        found = self._values.get(name)
        for change in self._applied:
            if change.until <= now and name in change.values:
                found = change.values[name]
        return found

    def pending(self, now: datetime) -> dict[str, object]:
        """What waits for a window, and what is being applied."""
        found: dict[str, object] = {}
        for change in self._applied:
            if change.at <= now < change.until:
                found |= change.values
        return found | self._waiting

    def busy(self, now: datetime) -> str | None:
        """`modifying` or `rebooting` while something is applied that takes time."""
        for change in self._applied:
            if change.at + NOTICED <= now < change.until:
                return "rebooting" if now >= change.until - _RESTART else "modifying"
        return None

    def ask(self, wanted: Mapping[str, object], now: datetime) -> None:
        """Queue `wanted`; a value that is in force already is not queued."""
        for name, value in wanted.items():
            if value == self.value(name, now):
                self._waiting.pop(name, None)
            else:
                self._waiting[name] = value

    def withdraw(self, names: tuple[str, ...]) -> None:
        """Cancel what waits."""
        for name in names:
            self._waiting.pop(name, None)

    def flush(self, now: datetime) -> Applied | None:
        """Begin to apply all that waits; None where nothing does."""
        if not self._waiting:
            return None
        change = Applied(at=now, values=dict(self._waiting))
        self._waiting.clear()
        self._applied.append(change)
        return change


def next_maintenance_window(window: str, after: datetime) -> datetime:
    """The next begin of a weekly window like `sun:05:00-sun:05:30`, strictly after; ValueError."""
    begin = window.split("-")[0]
    day, hour, minute = begin.split(":")
    if day not in _DAYS or not (0 <= int(hour) < 24 and 0 <= int(minute) < 60):
        raise ValueError(f"{window!r} is no maintenance window")
    midnight = after.replace(hour=0, minute=0, second=0, microsecond=0)
    ahead = (_DAYS.index(day) - after.weekday()) % 7
    found = midnight + timedelta(days=ahead, hours=int(hour), minutes=int(minute))
    return found if found > after else found + timedelta(days=7)
