"""One FastVolume behind the ports: what EC2 and CloudWatch say of it, and when they speak up.

The same semantics as world.py, without passing through every minute: it is known beforehand
when the next alarm goes off, as long as nobody changes the volume.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

import numpy as np

from headroom.domain.resources import (
    Claim,
    Configuration,
    Instance,
    InstanceActivity,
    ModificationState,
    ResourceRef,
    Signal,
    Volume,
    VolumeActivity,
)
from headroom.domain.state import Applied, Outcome
from headroom.ports import Glance, ResourceGone, StorageView
from headroom.proving.awsrules import ModificationRefused
from headroom.proving.metrics import BREACHING_MIN, CHECKS, EVALUATED_MIN, LOW_BALANCE_PERCENT
from headroom.proving.physics import BOUNDLESS
from headroom.proving.simulation import (
    SimulatedStorage,
    refused_by_aws,
    signal,
    volume_as_described,
)
from headroom.proving.vectorized.published import VectorizedMetrics
from headroom.proving.vectorized.volume import VectorizedVolume
from headroom.proving.workloads import Bools

INSTANCE_ID = "i-0a1b2c3d4e5f60718"
ALARMS = ("burst_balance", *CHECKS)
ALARM_HORIZON_MIN = 1_440
"""How far ahead alarms are looked for at once."""


class VectorizedWorld(SimulatedStorage):
    """Storage and Metrics of an account that has one volume, `now` being the volume's."""

    def __init__(
        self, volume: VectorizedVolume, ref: ResourceRef, *, metric_delay: timedelta
    ) -> None:
        self.volume = volume
        self.refusals = 0
        self.applied: list[tuple[int, Configuration, Configuration]] = []
        """Minute, origin and target of every change that AWS accepted."""
        self._ref = ref
        self._published = VectorizedMetrics(volume, delay=metric_delay)
        self._late = -int(-metric_delay.total_seconds() // 60)
        self._told: tuple[datetime, ModificationState] | None = None
        self._rises: list[Bools] = [np.zeros(0, dtype=np.bool_)] * len(ALARMS)
        self._predicted_from = self._predicted_until = 0

    @property
    def now(self) -> datetime:
        """The end of the last minute that has passed."""
        return self.volume.now

    def next_event(self, until: int) -> int:
        """The first minute after the present one, at most `until`, at which an event comes."""
        minute = self.volume.minute
        news = min((m for m in self._news() if m > minute), default=until)
        until = min(until, news)
        if until > self._predicted_until or minute + 1 < self._predicted_from:
            self._predict_alarms(until)
        place = slice(minute + 1 - self._predicted_from, until - self._predicted_from)
        rising = np.flatnonzero(np.logical_or.reduce([rises[place] for rises in self._rises]))
        return minute + 1 + int(rising[0]) if rising.size else until

    def signals(self) -> Iterator[Signal]:
        """The events that reach Headroom at the present minute."""
        change, minute = self.volume.lifecycle.modification(self.now), self.volume.minute
        news = None if change is None else (change.started_at, change.state)
        if news is not None and news != self._told:
            self._told = news
            yield self._signal(Claim.MODIFICATION, None, f"modifyVolume {news[1]}")
        if not self._predicted_from <= minute < self._predicted_until:
            self._predict_alarms(minute + 1)
        raised = [
            n for n, r in zip(ALARMS, self._rises, strict=True) if r[minute - self._predicted_from]
        ]
        for name in raised:
            yield self._signal(Claim.PRESSURE, f"headroom-{name}", "OK to ALARM")

    def fleet(self) -> Iterator[StorageView]:
        """The volume, its instance left out."""
        yield StorageView(
            volume=self._described(),
            modification=self.volume.lifecycle.modification(self.now),
            instance=None,
        )

    def view(self, ref: ResourceRef) -> StorageView:
        """The volume with its instance; raises ResourceGone for any other."""
        if ref != self._ref:
            raise ResourceGone(f"{ref.resource_id} does not exist")
        return StorageView(
            volume=self._described(),
            modification=self.volume.lifecycle.modification(self.now),
            instance=Instance(
                instance_id=INSTANCE_ID, limits=BOUNDLESS, volume_ids=(ref.resource_id,)
            ),
        )

    def attached(self, instance_id: str) -> tuple[StorageView, ...]:
        """The volume, if it is on that instance."""
        return (self.view(self._ref),) if instance_id == INSTANCE_ID else ()

    def glance(self, views: Sequence[StorageView], now: datetime) -> Mapping[str, Glance]:
        """A Glance for every volume by its id."""
        return {view.volume.ref.resource_id: self._published.glance(now) for view in views}

    def activity(
        self, view: StorageView, now: datetime
    ) -> tuple[VolumeActivity, InstanceActivity | None]:
        """The last 3 hours at one-minute periods, of the volume and of its instance."""
        self._published.publish_until()
        volume, instance = self._published.activity(now)
        return volume, None if view.instance is None else instance

    def history(self, view: StorageView, now: datetime) -> VolumeActivity | None:
        """The last 14 days at five-minute periods; None when nothing was published."""
        self._published.publish_until()
        return self._published.history(now)

    def _modify(self, ref: ResourceRef, found: Configuration, target: Configuration) -> Outcome:
        try:
            change = self.volume.modify(target)
        except ModificationRefused as refused:
            self.refusals += 1
            return refused_by_aws(refused)
        self.applied.append((self.volume.minute, found, change.target))
        self._predicted_until = self._predicted_from = 0
        return Applied(started_at=change.started_at)

    def _news(self) -> Iterator[int]:
        """Minutes at which the latest modification may have moved on."""
        change = self.volume.lifecycle.modification(self.now)
        if change is None:
            return
        delays = self.volume.lifecycle.delays
        start = (change.started_at - self.volume.load_series.start).total_seconds()
        yield int(start // 60) + 1
        for delay in (delays.modifying, delays.completed):
            yield -int(-(start + delay.total_seconds()) // 60)

    def _predict_alarms(self, until: int) -> None:
        """Find the minutes from the present one on at which each alarm goes to ALARM."""
        minute = self.volume.minute
        last = min(self.volume.load_series.minutes + 1, max(until, minute + ALARM_HORIZON_MIN))
        self.volume.decide_dry_run(max(minute, last - self._late))
        told = self.volume.published_series()
        first_value = minute - self._late - EVALUATED_MIN - 1
        values = slice(max(0, first_value), max(0, last - self._late))
        ahead = max(0, -first_value)
        self._rises = []
        for breaching in (
            told[5][values] < LOW_BALANCE_PERCENT,
            told[6][values] >= 1,
            told[7][values] >= 1,
        ):
            count = last - minute
            padded = np.zeros(count + EVALUATED_MIN + 1)
            padded[ahead : ahead + len(breaching)] = breaching
            window = np.ones(EVALUATED_MIN)
            sums = np.convolve(padded, window, mode="valid") >= BREACHING_MIN
            self._rises.append(sums[1 : count + 1] & ~sums[:count])
        self._predicted_from, self._predicted_until = minute, last

    def _described(self) -> Volume:
        return volume_as_described(
            self._ref, self.volume.lifecycle, self.now, instance_id=INSTANCE_ID
        )

    def _signal(self, claim: Claim, alarm: str | None, detail: str) -> Signal:
        return signal(self._ref, claim, alarm, detail, at=self.now, instant=self.now.isoformat())
