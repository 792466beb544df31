"""One VectorizedVolume behind the ports: what EC2 and CloudWatch report, and when events come.

Equals World without passing through every minute: while the volume does not change, the minute of
the next alarm is known in advance.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import numpy as np

from headroom.domain.resources import Configuration, Modification, ResourceRef, Signal
from headroom.proving.metrics import BREACHING_MIN, CHECKS, EVALUATED_MIN, LOW_BALANCE_PERCENT
from headroom.proving.physics import BOUNDLESS, Attachment
from headroom.proving.simulation import AccountVolume, SimulatedStorage
from headroom.proving.vectorized.published import VectorizedMetrics
from headroom.proving.vectorized.volume import VectorizedVolume
from headroom.proving.workloads import Bools

ALARMS = ("burst_balance", *CHECKS)
ALARM_HORIZON_MIN = 1_440
"""How far ahead alarms are predicted at once."""


class VectorizedWorld(SimulatedStorage[AccountVolume]):
    """Storage and Metrics of an account that has one volume, `now` being the volume's."""

    def __init__(
        self, volume: VectorizedVolume, ref: ResourceRef, *, metric_delay: timedelta
    ) -> None:
        self.volume = volume
        self._account_volume = AccountVolume(
            ref=ref,
            lifecycle=volume.lifecycle,
            attachment=Attachment(limits=BOUNDLESS),
            published=VectorizedMetrics(volume, delay=metric_delay),
        )
        super().__init__([self._account_volume])
        self._late = -int(-metric_delay.total_seconds() // 60)
        self._rises: list[Bools] = [np.zeros(0, dtype=np.bool_)] * len(ALARMS)
        self._predicted_from = self._predicted_until = 0

    @property
    def now(self) -> datetime:
        """The end of the last minute that has passed."""
        return self.volume.now

    def next_event(self, until: int) -> int:
        """The first minute after the present one, at most `until`, at which an event comes."""
        minute = self.volume.minute
        change = min((m for m in self._modification_minutes() if m > minute), default=until)
        until = min(until, change)
        if until > self._predicted_until or minute + 1 < self._predicted_from:
            self._predict_alarms(until)
        place = slice(minute + 1 - self._predicted_from, until - self._predicted_from)
        rising = np.flatnonzero(np.logical_or.reduce([rises[place] for rises in self._rises]))
        return minute + 1 + int(rising[0]) if rising.size else until

    def signals(self) -> Iterator[Signal]:
        """The events that reach Headroom at the present minute."""
        event = self._account_volume.modification_event(self.now)
        if event is not None:
            yield event
        minute = self.volume.minute
        if not self._predicted_from <= minute < self._predicted_until:
            self._predict_alarms(minute + 1)
        place = minute - self._predicted_from
        raised = [name for name, r in zip(ALARMS, self._rises, strict=True) if r[place]]
        for name in raised:
            yield self._account_volume.alarm_event(name, self.now)

    def _modify(
        self, volume: AccountVolume, found: Configuration, target: Configuration
    ) -> Modification:
        change = self.volume.modify(target)
        self._predicted_until = self._predicted_from = 0
        return change

    def _modification_minutes(self) -> Iterator[int]:
        """Minutes at which the state of the latest modification may change."""
        change = self.volume.lifecycle.modification(self.now)
        if change is None:
            return
        delays = self.volume.lifecycle.delays_at(change.started_at)
        start = (change.started_at - self.volume.load_series.start).total_seconds()
        yield int(start // 60) + 1
        for delay in (delays.modifying, delays.completed):
            yield -int(-(start + delay.total_seconds()) // 60)

    def _predict_alarms(self, until: int) -> None:
        """Find the minutes from the present one on at which each alarm goes to ALARM."""
        minute = self.volume.minute
        last = min(self.volume.load_series.minutes + 1, max(until, minute + ALARM_HORIZON_MIN))
        self.volume.run_ahead(max(minute, last - self._late))
        published = self.volume.published_series()
        first_value = minute - self._late - EVALUATED_MIN - 1
        values = slice(max(0, first_value), max(0, last - self._late))
        ahead = max(0, -first_value)
        self._rises = []
        for breaching in (
            published[5][values] < LOW_BALANCE_PERCENT,
            published[6][values] >= 1,
            published[7][values] >= 1,
        ):
            count = last - minute
            padded = np.zeros(count + EVALUATED_MIN + 1)
            padded[ahead : ahead + len(breaching)] = breaching
            window = np.ones(EVALUATED_MIN)
            sums = np.convolve(padded, window, mode="valid") >= BREACHING_MIN
            self._rises.append(sums[1 : count + 1] & ~sums[:count])
        self._predicted_from, self._predicted_until = minute, last
