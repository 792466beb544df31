"""AWS's modification rules for one EBS volume, by the clock that the caller passes in.

Source: EC2 API reference, ModifyVolume and DescribeVolumesModifications; EBS User Guide,
"Request modifications to your volumes", "Requirements for Elastic Volumes" (checked 2026-10).
The wording of refusals follows messages that users quote; AWS documents only the codes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

from headroom.domain.catalog.ebs import MAX_MODIFICATIONS
from headroom.domain.catalog.rds import full_copy
from headroom.domain.resources import Configuration, Modification, ModificationState
from headroom.proving.awsrules import database_request
from headroom.proving.awsrules.delays import DelayRanges, Delays
from headroom.proving.awsrules.volume_request import ModificationRefused, target_of

MODIFICATION_WINDOW = timedelta(hours=24)
"""AWS counts the modifications of a volume over this rolling window."""


@dataclass(frozen=True, kw_only=True)
class _Change:
    start: datetime
    origin: Configuration
    target: Configuration
    delays: Delays

    @cached_property
    def completed(self) -> Modification:
        """What is reported of it for ever once it has completed."""
        return Modification(
            state=ModificationState.COMPLETED, started_at=self.start,
            ended_at=self.start + self.delays.completed, origin=self.origin, target=self.target,
            progress_percent=100,
        )  # fmt: skip


class VolumeLifecycle:
    """One volume through all its modifications; every answer depends only on the instant asked.

    `history` are starts of modifications from before this lifecycle: they count as slots and
    `modification` reports the latest of them; their effects are no longer visible.
    `copying` is how long a database's full copy takes, `delays` when None.
    """

    def __init__(
        self,
        configuration: Configuration,
        *,
        created_at: datetime,
        delays: Delays | DelayRanges | None = None,
        copying: Delays | None = None,
        volume_id: str = "vol-0123456789abcdef0",
        multi_attach: bool = False,
        root: bool = False,
        on_outpost: bool = False,
        names_instant: bool = True,
        history: Sequence[datetime] = (),
    ) -> None:
        self.created_at = _aware(created_at)
        self._delays = delays or Delays()
        self._copying = copying or self._delays
        self.volume_id = volume_id
        self.multi_attach = multi_attach
        self.root = root
        self.on_outpost = on_outpost
        self.names_instant = names_instant
        self._first = configuration
        self._changes = self._past(configuration, history)
        self._starts = [change.start for change in self._changes]

    def delays_at(self, start: datetime) -> Delays:
        """How long a modification takes that starts at an instant and copies nothing."""
        return self._delays.at(start)

    @property
    def starts(self) -> tuple[datetime, ...]:
        """Starts of all modifications, those of `history` included, oldest first."""
        return tuple(self._starts)

    def modify(
        self,
        now: datetime,
        *,
        volume_type: str | None = None,
        size_gib: int | None = None,
        iops: int | None = None,
        throughput_mibps: int | None = None,
    ) -> Modification:
        """Start one modification with all its parts, or raise ModificationRefused.

        A call that names what the volume already has is a modification too and uses a slot.
        Nothing is changed by a refused call.
        """
        _aware(now)
        if self._starts and now < self._starts[-1]:
            raise ValueError(f"{now} is before the latest modification ({self._starts[-1]}).")
        origin = self.described(now)
        if origin.database is not None:
            target = database_request.target_of(
                origin, volume_type=volume_type, size_gib=size_gib, iops=iops,
                throughput_mibps=throughput_mibps,
            )  # fmt: skip
        else:
            target = target_of(
                origin, volume_type=volume_type, size_gib=size_gib, iops=iops,
                throughput_mibps=throughput_mibps, multi_attach=self.multi_attach, root=self.root,
                on_outpost=self.on_outpost,
            )  # fmt: skip
        self._refuse_while_in_flight(now)
        self._refuse_without_slot(now)
        delays = (self._copying if full_copy(origin, target) else self._delays).at(now)
        self._changes.append(_Change(start=now, origin=origin, target=target, delays=delays))
        self._starts.append(now)
        return self._reported(self._changes[-1], now)

    def change_to(self, now: datetime, target: Configuration) -> Modification:
        """Start a modification to `target`; the call names the size only where it differs."""
        same_size = target.size_gib == self.described(now).size_gib
        return self.modify(
            now,
            volume_type=target.volume_type,
            size_gib=None if same_size else target.size_gib,
            iops=target.iops,
            throughput_mibps=target.throughput_mibps,
        )

    def remember(self, starts: Sequence[datetime]) -> None:
        """Add modifications from before to storage without any; ValueError otherwise."""
        if self._changes:
            raise ValueError("It has modifications already.")
        self._changes = self._past(self._first, starts)
        self._starts = [change.start for change in self._changes]

    def modification(self, now: datetime) -> Modification | None:
        """The latest modification that had started at `now`; None when there was none."""
        change = self._latest(now)
        return None if change is None else self._reported(change, now)

    def next_modification_at(self, now: datetime) -> datetime:
        """The first instant at or after `now` when fewer than four starts are in the window."""
        known = self._starts[: bisect_right(self._starts, now)]
        if len(known) < MAX_MODIFICATIONS:
            return now
        return max(now, known[-MAX_MODIFICATIONS] + MODIFICATION_WINDOW)

    def described(self, now: datetime) -> Configuration:
        """What DescribeVolumes reports: the origin while a modification is `modifying`.

        AWS does not document when it begins to report the target; programs that read back at once
        got the origin (github.com/hashicorp/terraform-provider-aws, issue 29213).
        """
        change = self._latest(now)
        if change is None:
            return self._first
        there = now >= change.start + change.delays.modifying
        return change.target if there else change.origin

    def billed(self, now: datetime) -> Configuration:
        """The billed configuration: the target from the start of a modification."""
        change = self._latest(now)
        return self._first if change is None else change.target

    def effective(self, now: datetime) -> Configuration:
        """The configuration whose performance is in force: the source until `delays.effect`.

        AWS promises anything between source and target meanwhile; for a raise this is the lower
        bound. For the usable size see `usable_size_gib`.
        """
        change = self._latest(now)
        if change is None:
            return self._first
        return change.target if now >= change.start + change.delays.effect else change.origin

    def usable_size_gib(self, now: datetime) -> int:
        """Size the instance sees: the target's once the modification is `optimizing`."""
        return self.described(now).size_gib

    def next_change(self, after: datetime) -> datetime | None:
        """The next instant where state or performance changes by the clock, or None."""
        change = self._latest(after)
        if change is None:
            return None
        delays = change.delays
        ends = (delays.modifying, delays.effect, delays.completed)
        return min((t for d in ends if (t := change.start + d) > after), default=None)

    def _past(self, configuration: Configuration, starts: Sequence[datetime]) -> list[_Change]:
        return [
            _Change(
                start=_aware(start),
                origin=configuration,
                target=configuration,
                delays=self._delays.at(start),
            )
            for start in sorted(starts)
        ]

    def _latest(self, now: datetime) -> _Change | None:
        index = bisect_right(self._starts, now)
        return self._changes[index - 1] if index else None

    def _reported(self, change: _Change, now: datetime) -> Modification:
        age, delays = now - change.start, change.delays
        if age < delays.modifying:
            state, progress = ModificationState.MODIFYING, 0
        elif age < delays.completed:
            done = (age - delays.modifying) / (delays.completed - delays.modifying)
            state, progress = ModificationState.OPTIMIZING, int(99 * done)
        else:
            return change.completed
        return Modification(
            state=state,
            started_at=change.start,
            ended_at=None,
            origin=change.origin,
            target=change.target,
            progress_percent=progress,
        )

    def _refuse_while_in_flight(self, now: datetime) -> None:
        latest = self.modification(now)
        if latest is not None and latest.in_flight and self._first.database is not None:
            raise ModificationRefused(database_request.COMBINATION, database_request.OPTIMIZING)
        if latest is not None and latest.in_flight:
            raise ModificationRefused(
                "IncorrectModificationState",
                f"Volume {self.volume_id} cannot be modified in modification state "
                f"{latest.state.value.upper()}.",
            )

    def _refuse_without_slot(self, now: datetime) -> None:
        free_at = self.next_modification_at(now)
        if free_at <= now:
            return
        if self._first.database is not None:
            raise ModificationRefused(database_request.COMBINATION, database_request.FOUR_USED)
        message = "You've reached the maximum modification rate per volume limit."
        if self.names_instant:
            instant = free_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
            message += f" You can perform your next modification of this volume at {instant}Z."
        else:
            message += f" A volume can be modified {MAX_MODIFICATIONS} times in 24 hours."
        raise ModificationRefused("VolumeModificationRateExceeded", message)


def _aware(instant: datetime) -> datetime:
    if instant.tzinfo is None:
        raise ValueError(f"{instant} has no time zone; pass an aware instant.")
    return instant
