"""Aurora's rules for the storage mode of one cluster, by the clock that the caller passes in.

Source: RDS API 2014-10-31, ModifyDBCluster and StorageTypeNotAvailableFault; Aurora User Guide,
"Storage configurations for Amazon Aurora DB clusters" (checked 2026-11).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from headroom.domain.resources import GATE, StorageMode
from headroom.proving.awsrules.settings import NOTICED, Settings, next_maintenance_window
from headroom.proving.awsrules.volume_request import ModificationRefused

TOO_SOON = (
    "The aurora-iopt1 storage type isn't available, because you modified the DB cluster to use this "
    "storage type less than one month ago."
)
TAKES = timedelta(minutes=5)
"""How long a cluster is `modifying`; then the new mode is in force."""


class AuroraRules:
    """The mode of one cluster; the instants asked never go back.

    `switched_at` is when it last went to I/O-Optimized: the next time is refused for 30 days.
    """

    def __init__(
        self, mode: StorageMode, *, settings: Settings, switched_at: datetime | None = None
    ) -> None:
        self.settings = settings
        self._mode = mode
        self._switched_at = switched_at
        self._changes: list[tuple[datetime, StorageMode]] = []
        self._waiting: StorageMode | None = None
        self._waiting_since: datetime | None = None

    def modify(
        self, now: datetime, *, mode: StorageMode | None, others: Mapping[str, object],
        at_once: bool,
    ) -> bool:  # fmt: skip
        """One call; whether a change of mode began. Raises ModificationRefused, changing nothing."""
        self.apply_due_changes(now)
        if self.status(now) != "available":
            raise ModificationRefused(
                "InvalidDBClusterStateFault",
                f"DB cluster is not in available state, but {self.status(now)}.",
            )
        self._refuse_too_soon(now, mode)
        self.settings.ask(others, now)
        if mode is not None:
            self._waiting = None if mode is self.mode(now) else mode
        if not at_once:
            self._waiting_since = self._waiting_since or now
            return False
        return self._flush(now)

    def mode(self, now: datetime) -> StorageMode:
        """The mode in force."""
        done = [mode for at, mode in self._changes if at + TAKES <= now]
        return done[-1] if done else self._mode

    def pending_storage_mode(self, now: datetime) -> StorageMode | None:
        """The target mode of a change in progress, or the one that waits for a window."""
        under_way = [mode for at, mode in self._changes if at <= now < at + TAKES]
        return under_way[-1] if under_way else self._waiting

    def status(self, now: datetime) -> str:
        """Status of the cluster."""
        if any(at + NOTICED <= now < at + TAKES for at, _ in self._changes):
            return "modifying"
        return self.settings.busy(now) or "available"

    def next_allowed_at(self) -> datetime | None:
        """IOOptimizedNextAllowedModificationTime; None where it never went to I/O-Optimized."""
        return None if self._switched_at is None else self._switched_at + GATE

    def restarts(self, now: datetime) -> bool:
        """Whether members with a cache on NVMe restart: in the last minute of a change of mode."""
        last = TAKES - timedelta(minutes=1)
        return any(at + last <= now < at + TAKES for at, _ in self._changes)

    def record_past_switch(self, at: datetime) -> None:
        """Set when the cluster last went to I/O-Optimized, before the simulation."""
        self._switched_at = at

    def apply_due_changes(self, now: datetime) -> None:
        """Apply what waits where its maintenance window has begun."""
        since = self._waiting_since
        if since is None or next_maintenance_window(self.settings.window, since) > now:
            return
        self._waiting_since = None
        if self.status(now) == "available":
            self._flush(now)

    def _refuse_too_soon(self, now: datetime, mode: StorageMode | None) -> None:
        opens = self.next_allowed_at()
        forward = mode is StorageMode.IO_OPTIMIZED and mode is not self.mode(now)
        if forward and opens is not None and now < opens:
            raise ModificationRefused("StorageTypeNotAvailableFault", TOO_SOON)

    def _flush(self, now: datetime) -> bool:
        self.settings.flush(now)
        wanted, self._waiting, self._waiting_since = self._waiting, None, None
        if wanted is None:
            return False
        self._changes.append((now, wanted))
        if wanted is StorageMode.IO_OPTIMIZED:
            self._switched_at = now
        return True
