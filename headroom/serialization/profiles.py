"""The profile of a resource's past as few bytes and back.

A byte with the format, then zlib over a header, the limits that occur, and one column after the
other. Rates are numbers of their scale: the mean's as the distance to the peak's, that of MiB/s to
that of IOPS, which compresses best. 400 days take 1 KB of even load and 50 KB of a very noisy one.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache

from headroom.domain.state import (
    IOPS_LEVELS,
    MIBPS_LEVELS,
    MOST_HOURS,
    PROFILE_FORMAT,
    LoadProfile,
    ProfileHour,
    level_of,
)

HEADER = struct.Struct("<IHH")
"""Start in hours since the epoch, hours, different pairs of limits."""
LIMITS = struct.Struct("<dd")
COARSE = 128
LARGEST = HEADER.size + MOST_HOURS * (LIMITS.size + 12)


class UnreadableProfile(ValueError):
    """The bytes are no profile that this release can read."""


def profile_to_bytes(profile: LoadProfile) -> bytes:
    """The profile in the present format; a rate between two of the scale becomes the nearer one."""
    known = [hour for hour in profile.hours if hour is not None]
    limits = [*dict.fromkeys((hour.limit_iops, hour.limit_mibps) for hour in known)]
    places = {pair: place for place, pair in enumerate(limits)}
    peaks = [level_of(hour.peak_iops, IOPS_LEVELS) for hour in known]
    means = [level_of(hour.mean_iops, IOPS_LEVELS) for hour in known]
    peak_mibps = (level_of(hour.peak_mibps, MIBPS_LEVELS) for hour in known)
    mean_mibps = (level_of(hour.mean_mibps, MIBPS_LEVELS) for hour in known)
    body = b"".join(
        (
            HEADER.pack(int(profile.start.timestamp()) // 3600, len(profile.hours), len(limits)),
            *(LIMITS.pack(*pair) for pair in limits),
            bytes(
                0 if hour is None else 1 + hour.busy_minutes + COARSE * hour.coarse
                for hour in profile.hours
            ),
            bytes(hour.touched_minutes for hour in known),
            _column(places[hour.limit_iops, hour.limit_mibps] for hour in known),
            _column(peaks),
            _column(_minus(peaks, means)),
            _column(_minus(peak_mibps, peaks)),
            _column(_minus(mean_mibps, means)),
        )
    )
    return bytes([PROFILE_FORMAT]) + zlib.compress(body, 9)


@lru_cache(maxsize=16)
def profile_from_bytes(data: bytes) -> LoadProfile:
    """The profile; raises UnreadableProfile, also for a format of a newer release.

    The same bytes are unpacked once: several reconciliations of a volume read the same profile.
    """
    if data[:1] != bytes([PROFILE_FORMAT]):
        raise UnreadableProfile(f"format {data[:1].hex() or 'none'}, not {PROFILE_FORMAT}")
    try:
        inflated = zlib.decompressobj()
        body = inflated.decompress(data[1:], LARGEST)
        if not inflated.eof:
            raise ValueError("ends early, or is too long")
        return _profile(body)
    except (zlib.error, struct.error, ValueError, LookupError, OverflowError) as problem:
        raise UnreadableProfile(f"{type(problem).__name__}: {problem}") from None


def _profile(body: bytes) -> LoadProfile:
    start, count, pairs = HEADER.unpack_from(body)
    limits = [LIMITS.unpack_from(body, HEADER.size + place * LIMITS.size) for place in range(pairs)]
    rest = _Rest(body[HEADER.size + pairs * LIMITS.size :])
    marks = rest.take(count)
    known = count - marks.count(0)
    touched = rest.take(known)
    limit_of, peaks, means, peak_mibps, mean_mibps = (rest.column(known) for _ in range(5))
    means = _minus(peaks, means)
    peak_mibps, mean_mibps = _plus(peak_mibps, peaks), _plus(mean_mibps, means)
    measured = iter(
        zip(touched, limit_of, peaks, peak_mibps, means, mean_mibps, strict=True)
    )  # fmt: skip
    hours: list[ProfileHour | None] = []
    for mark in marks:
        if not mark:
            hours.append(None)
            continue
        minutes, pair, iops, mibps, mean, mean_mib = next(measured)
        limit_iops, limit_mibps = limits[pair]
        hours.append(
            ProfileHour(
                IOPS_LEVELS[iops], MIBPS_LEVELS[mibps], IOPS_LEVELS[mean], MIBPS_LEVELS[mean_mib],
                mark % COARSE - 1, minutes, limit_iops, limit_mibps, mark >= COARSE,
            )
        )  # fmt: skip
    return LoadProfile(start=datetime.fromtimestamp(start * 3600, UTC), hours=tuple(hours))


class _Rest:
    """Bytes that are read from the front."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        found = self._data[self._at : self._at + count]
        if len(found) < count:
            raise ValueError(f"ends {count - len(found)} bytes early")
        self._at += count
        return found

    def column(self, count: int) -> list[int]:
        low, high = self.take(count), self.take(count)
        return [one + 256 * other for one, other in zip(low, high, strict=True)]


def _column(numbers: Iterable[int]) -> bytes:
    """Two bytes each: all low ones, then all high ones, which are much the same."""
    found = [*numbers]
    data = struct.pack(f"<{len(found)}H", *found)
    return data[::2] + data[1::2]


def _minus(numbers: Iterable[int], others: Sequence[int]) -> list[int]:
    return [(one - other) % 65_536 for one, other in zip(numbers, others, strict=True)]


def _plus(numbers: Iterable[int], others: Sequence[int]) -> list[int]:
    return [(one + other) % 65_536 for one, other in zip(numbers, others, strict=True)]
