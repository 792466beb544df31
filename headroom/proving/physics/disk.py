"""Data on a simulated database's storage: how it fills, and what RDS's own autoscaling does about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from headroom.domain.resources import Configuration, DatabaseFacts
from headroom.proving.awsrules import (
    FreeSpace,
    ModificationRefused,
    VolumeLifecycle,
    autoscaled_iops,
    autoscaled_size,
)
from headroom.proving.inputs import Block
from headroom.proving.physics.filling import Filling

CONTENTS_KEYS = ("free_storage_gib", "fill_gib_per_hour", "fill", "max_allocated_storage_gib")
STRETCH = ("for", "gib_per_hour")
MINUTE = timedelta(minutes=1)
HOUR_MIN = 60
MOST_GIB = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The data of a scenario: free space at the start, and how it fills from then on.

    `stretches` are (length, GiB per hour), over and over; negative where data is deleted.
    """

    free_gib: float
    stretches: tuple[tuple[timedelta, float], ...]
    max_allocated_gib: int | None

    def rate(self, since_start: timedelta) -> float:
        """GiB per hour at an instant, also before the start."""
        whole = sum((length for length, _ in self.stretches), timedelta(0))
        left = since_start % whole
        for length, rate in self.stretches:
            if left < length:
                return rate
            left -= length
        raise AssertionError("what is left of a whole is less than the whole")


def parse_contents(block: Block, configuration: Configuration) -> Contents | None:
    """The data that the block describes; None without free space."""
    for key in CONTENTS_KEYS[1:]:
        if block.has(key) and not block.has("free_storage_gib"):
            raise block.wrong(
                key, "is given without free_storage_gib, which says what it starts from"
            )
    if not block.has("free_storage_gib"):
        return None
    size = configuration.size_gib
    if block.has("fill") and block.has("fill_gib_per_hour"):
        raise block.wrong("fill", "is given beside fill_gib_per_hour; only one of the two may be")
    stretches = tuple(_stretches(block))
    if not block.has("fill"):
        rate = block.number("fill_gib_per_hour", 0, low=-MOST_GIB, high=MOST_GIB)
        stretches = ((timedelta(hours=1), rate),)
    return Contents(
        free_gib=block.number("free_storage_gib", low=0, high=size),
        stretches=stretches,
        max_allocated_gib=block.whole("max_allocated_storage_gib", low=size, high=MOST_GIB)
        if block.has("max_allocated_storage_gib")
        else None,
    )


def _stretches(block: Block) -> Iterator[tuple[timedelta, float]]:
    for number, value in enumerate(block.items("fill")):
        one = Block(value, source=block.source, path=f"{block.path}.fill[{number}]", known=STRETCH)
        one.required(*STRETCH)
        length = one.duration("for")
        if length < MINUTE:
            raise one.wrong("for", "must be a minute or more")
        yield length, one.number("gib_per_hour", low=-MOST_GIB, high=MOST_GIB)


def free_space_history(contents: Contents, size_gib: int, minutes: int) -> Sequence[float]:
    """Free GiB of the minutes before the start, oldest first, computed backwards from the start."""
    used, found = size_gib - contents.free_gib, []
    for minute in range(1, minutes + 1):
        found.append(size_gib - used)
        used -= contents.rate(-minute * MINUTE) / HOUR_MIN
        used = min(float(size_gib), max(0.0, used))
    return found[::-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceResult:
    """A database's free space over a simulation."""

    lowest_gib: float
    end_gib: float
    full_minutes: int
    """Minutes that ended without free space: RDS would have stopped the database."""
    grown_by_rds: tuple[datetime, ...]

    def to_json(self) -> dict[str, object]:
        """The object `free_storage` of `headroom simulate --json`."""
        return {
            "lowest_gib": round(self.lowest_gib, 3),
            "end_gib": round(self.end_gib, 3),
            "full_minutes": self.full_minutes,
            "grown_by_rds": [
                at.astimezone(UTC).isoformat().replace("+00:00", "Z") for at in self.grown_by_rds
            ],
        }


@dataclass(slots=True, kw_only=True)
class Disk:
    """The data on one database's storage from `start` on; moves by `minute` only."""

    contents: Contents
    start: datetime
    filling: Filling
    free_gib: float
    full_minutes: int = 0
    lowest_gib: float = float("inf")
    autoscaled: list[datetime] = field(default_factory=list)
    space: FreeSpace = field(default_factory=FreeSpace)

    @classmethod
    def of(cls, contents: Contents, size_gib: int, start: datetime) -> Disk:
        """The data as it is at the start."""
        filling = Filling(used_gib=size_gib - contents.free_gib)
        free = free_space_history(contents, size_gib, HOUR_MIN + 1)
        filling.earlier_gib.extend(size_gib - gib for gib in free[:-1])
        return cls(
            contents=contents, start=start, free_gib=contents.free_gib, filling=filling,
        )  # fmt: skip

    def minute(self, start: datetime, lifecycle: VolumeLifecycle) -> float:
        """Let the minute from `start` on pass; the GiB that are free at its end."""
        self.filling.gib_per_hour = self.contents.rate(start - self.start)
        size = lifecycle.usable_size_gib(start)
        self.free_gib = self.filling.minute(size)
        self.lowest_gib = min(self.lowest_gib, self.free_gib)
        self.full_minutes += self.free_gib <= 0
        self.space.see(start + MINUTE, self.free_gib, size)
        return self.free_gib

    def autoscale(self, now: datetime, lifecycle: VolumeLifecycle) -> None:
        """Grow as RDS storage autoscaling would, within its maximum and AWS's rules."""
        most, found = self.contents.max_allocated_gib, lifecycle.described(now)
        if most is None or most <= found.size_gib or not self.space.needs_autoscaling(now):
            return
        grown = self.filling.grown_gib
        size = autoscaled_size(found.size_gib, most_gib=most, gib_per_hour=grown)
        if size is None:
            return
        try:
            change = lifecycle.modify(now, size_gib=size, iops=autoscaled_iops(found, size))
        except ModificationRefused:  # RDS waits as well until it may
            return
        self.autoscaled.append(change.started_at)

    def result(self) -> SpaceResult:
        """The result so far."""
        return SpaceResult(
            lowest_gib=min(self.lowest_gib, self.free_gib), end_gib=self.free_gib,
            full_minutes=self.full_minutes, grown_by_rds=tuple(self.autoscaled),
        )  # fmt: skip

    def facts(self, name: str, instance_class: str, size_gib: int) -> DatabaseFacts:
        """What RDS reports about the storage of the database."""
        most = self.contents.max_allocated_gib
        return DatabaseFacts(
            instance_class=instance_class,
            status="storage-full" if self.space.full else "available",
            members=(name,),
            max_allocated_gib=most if most is not None and most > size_gib else None,
        )
