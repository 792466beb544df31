"""The one clock of a local AWS, and where a function process reads it."""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

FOLLOWS_SYSTEM_TIME = "system"
"""Content of the clock file while the clock follows system time; an ISO instant otherwise. Blanks follow."""
WIDTH = 40


class ClockMode(StrEnum):
    """Who moves the clock."""

    REAL = "real"
    """System time, always."""
    LOCKSTEP = "lockstep"
    """System time until it is first set; from then on only requests move it."""


class ClockRefused(ValueError):
    """The clock cannot be moved that way; the message says why."""


class Clock:
    """One instant for everything the endpoint stamps; `file` mirrors it for other processes."""

    def __init__(self, mode: ClockMode = ClockMode.REAL, *, file: Path | None = None) -> None:
        self.mode = mode
        self._file = file
        self._held: datetime | None = None
        self._lock = threading.Lock()
        self._written: int | None = None
        self._mirror()

    @property
    def held(self) -> bool:
        """Whether simulated time is in force."""
        return self._held is not None

    def now(self) -> datetime:
        """The instant in force, in UTC."""
        return self._held or datetime.now(UTC)

    def set(self, instant: datetime) -> None:
        """Hold the clock at `instant`; raises ClockRefused in real mode or without a zone."""
        if self.mode is ClockMode.REAL:
            raise ClockRefused("The clock is real; start the endpoint with a lockstep clock.")
        if instant.tzinfo is None:
            raise ClockRefused(f"{instant} has no time zone.")
        with self._lock:
            self._held = instant.astimezone(UTC)
        self._mirror()

    def release(self) -> None:
        """Follow system time again."""
        with self._lock:
            self._held = None
        self._mirror()

    def require_manual_clock(self) -> None:
        """Raise ClockRefused unless simulated time is in force."""
        if self._held is None:
            raise ClockRefused("The clock follows system time; set it before advancing it.")

    def _mirror(self) -> None:
        if self._file is None:
            return
        text = FOLLOWS_SYSTEM_TIME if self._held is None else self._held.isoformat()
        # One write in place: replacing the file makes the file system write it to the disk at once.
        if self._written is None:
            self._written = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.pwrite(self._written, text.ljust(WIDTH).encode(), 0)
