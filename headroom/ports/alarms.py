"""Alarms on single resources, and the plan that says which there should be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from headroom.domain.detection import AlarmPlan, ResourceAlarm


class ResourceAlarms(Protocol):
    """Those that this deployment made; no others."""

    def name(self, alarm: ResourceAlarm) -> str:
        """The name of a resource's alarm, whatever its metric."""

    def existing(self) -> Mapping[str, ResourceAlarm | None]:
        """By name; None for one that is none that this release makes so. Raises ReadFailed."""

    def put(self, alarm: ResourceAlarm) -> None:
        """Make an alarm, or change the one of that name; raises ReadFailed."""

    def remove(self, names: Sequence[str]) -> None:
        """Remove alarms; one that is not there is no error. Raises ReadFailed."""


class AlarmPlans(Protocol):
    """The plan, of which there is one."""

    def alarm_plan(self) -> AlarmPlan:
        """As it is, read consistently. Raises ReadFailed."""

    def amend_alarm_plan(self, change: Callable[[AlarmPlan], AlarmPlan]) -> AlarmPlan:
        """Replace it by the result of `change`, atomically; `change` has no side effects."""
