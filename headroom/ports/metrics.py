"""What CloudWatch has published of a volume, its instance and the fleet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from headroom.domain.detection import Glance, Metric
from headroom.domain.resources import InstanceActivity, ResourceRef, VolumeActivity
from headroom.ports.storage import StorageView


@dataclass(frozen=True, slots=True, kw_only=True)
class GlanceRequest:
    """Which metrics to read of one resource, and how far back."""

    view: StorageView
    metrics: frozenset[Metric] | None
    """None for all that a fleet scan reads."""
    back: timedelta


class ContributorsUnknown(RuntimeError):
    """AWS does not say which resources contribute to an alarm, and asking again does not help."""


class Metrics(Protocol):
    """Reads what CloudWatch has published until `now`."""

    def glance(self, views: Sequence[StorageView], now: datetime) -> Mapping[str, Glance]:
        """A Glance for every volume by resource id, in batches of 500 metrics a call."""

    def glances(self, asked: Sequence[GlanceRequest], now: datetime) -> Mapping[str, Glance]:
        """The same with only the metrics asked for; all of one kind.

        Without the few that could not be read; raises ReadFailed where that is more than a tenth.
        """

    def activity(
        self, view: StorageView, now: datetime
    ) -> tuple[VolumeActivity, InstanceActivity | None]:
        """The last 3 hours at one-minute periods, of the volume and of its instance."""

    def history(self, view: StorageView, now: datetime) -> VolumeActivity | None:
        """The last 14 days at five-minute periods; None when nothing was published."""

    def older_history(
        self, view: StorageView, now: datetime, *, since: datetime, until: datetime
    ) -> tuple[VolumeActivity, ...]:
        """Rates, checks and credits that are kept of the time between, oldest first.

        In periods of an hour until 63 days ago, then of five minutes. Raises ReadFailed.
        """

    def contributors(self, alarm_name: str) -> tuple[ResourceRef, ...]:
        """Storage that contributes to this alarm's ALARM state right now.

        Raises ContributorsUnknown, or ReadFailed where asking again may help.
        """
