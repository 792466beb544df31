"""The nine stories of volumes: configuration, load, and changes by others.

Instants are minutes after the demo's start. This is data only: `script` runs it and `expectations`
checks the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType

from headroom.domain.resources import Configuration, VolumeType

START = datetime(2026, 1, 5, tzinfo=UTC)
"""When the demo begins, on its own clock: a Monday, midnight."""
END_MINUTE = 1_620
"""27 hours: the last story waits for a slot that clears after 26."""
STORY_TAG = "headroom-story"

PHASES: Mapping[str, tuple[tuple[int, int], ...]] = MappingProxyType(
    {"morning": ((240, 355),), "midday": ((360, 445),), "day": ((240, 445), (540, 660))}
)
"""Spans of the recorded trace in seconds: a pgbench day in half an hour, phase by phase.

None lasts a whole number of minutes, so that repeated minutes differ as recorded ones do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """From `minute` on, a phase of the recorded trace is played again and again.

    It keeps its shape second by second and is scaled to a mean of `iops` operations/s of
    `io_kib` KiB.
    """

    minute: int
    phase: str
    iops: float
    io_kib: float = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The recorded trace, in parts."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """A benchmark: a fixed number of outstanding operations, from the start, for `minutes`."""

    outstanding: int
    io_kib: float
    read_fraction: float
    minutes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherChange:
    """Another program changes the volume's throughput at `minute`.

    Of a change before the start (`minute` < 0) only the instant is known.
    """

    minute: int
    throughput_mibps: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One volume and what happens to it."""

    key: str
    title: str
    volume: Configuration
    load: Trace | Loop
    instance_type: str = "m6i.8xlarge"
    enrolled: bool = True
    tags: tuple[tuple[str, str], ...] = ()
    others: tuple[OtherChange, ...] = ()
    policy: dict[str, object] = field(default_factory=dict)
    """Settings of the rule that the demo's policy has for this volume, found by its tag."""

    @property
    def all_tags(self) -> dict[str, str]:
        """The tags the volume is created with."""
        mode = {"headroom": "auto"} if self.enrolled else {}
        return {"Name": self.key, STORY_TAG: self.key} | mode | dict(self.tags)


def _gp3(size_gib: int = 100, iops: int = 3_000, mibps: int = 125) -> Configuration:
    return Configuration(
        volume_type=VolumeType.GP3, size_gib=size_gib, iops=iops, throughput_mibps=mibps
    )


def _gp2(size_gib: int) -> Configuration:
    return Configuration(
        volume_type=VolumeType.GP2, size_gib=size_gib, iops=None, throughput_mibps=None
    )


def _busy_from(minute: int, iops: float, *, io_kib: float = 16, phase: str = "midday") -> Trace:
    quiet = Part(minute=0, phase="morning", iops=min(600, iops / 4), io_kib=io_kib)
    return Trace(parts=(quiet, Part(minute=minute, phase=phase, iops=iops, io_kib=io_kib)))


STORIES = (
    Story(
        key="credits",
        title="A 400 GiB gp2 volume whose burst credits would run out",
        volume=_gp2(400),
        load=_busy_from(120, 2_000),
    ),
    Story(
        key="iops",
        title="A gp3 volume over its IOPS limit",
        volume=_gp3(),
        load=_busy_from(60, 3_600, phase="day"),
    ),
    Story(
        key="throughput",
        title="A gp3 volume over its throughput limit only",
        volume=_gp3(),
        load=_busy_from(75, 720, io_kib=240),  # four times its throughput needs no more IOPS
    ),
    Story(
        key="instance",
        title="A volume whose instance is the limit",
        volume=_gp3(100, 10_000, 250),
        load=_busy_from(90, 7_000, io_kib=4),
        instance_type="m6g.medium",
    ),
    Story(
        key="watched",
        title="A volume that is not enrolled",
        volume=_gp3(),
        load=_busy_from(105, 3_600, phase="day"),
        enrolled=False,
    ),
    Story(
        key="chase",
        title="A benchmark that takes whatever it gets, under a ceiling and a price limit",
        volume=_gp3(50),
        load=Loop(outstanding=256, io_kib=4, read_fraction=0.7, minutes=360),
        policy={"max_iops": 8_000, "price_increase_usd_per_month": 20},
    ),
    Story(
        key="slots-seen",
        title="A volume that another program changed four times while Headroom watched",
        volume=_gp3(),
        load=_busy_from(1_500, 3_600, phase="day"),
        others=(
            OtherChange(minute=10, throughput_mibps=130),
            OtherChange(minute=135, throughput_mibps=135),
            OtherChange(minute=260, throughput_mibps=140),
            OtherChange(minute=385, throughput_mibps=145),
        ),
    ),
    Story(
        key="slots-before",
        title="A volume changed four times before Headroom was deployed",
        volume=_gp3(),
        load=_busy_from(45, 3_600, phase="day"),
        others=(
            OtherChange(minute=-1_260),
            OtherChange(minute=-1_080),
            OtherChange(minute=-900),
            OtherChange(minute=-720),
        ),
    ),
    Story(
        key="growth",
        title="A gp2 volume that may grow, and may be nothing but gp2",
        volume=_gp2(200),
        load=_busy_from(150, 1_500),
        policy={"types": ["gp2"], "growth": True, "max_size_gib": 1_000},
    ),
)
