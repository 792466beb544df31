"""Alarms on single resources, and the plan that says which there should be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from headroom.domain.detection import AlarmPlan, ResourceAlarm


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingAlarms:
    """The alarms whose names begin as those of this deployment, by whom they belong to."""

    made: Mapping[str, ResourceAlarm | None]
    """By name, those that this deployment made; None for one that somebody changed."""
    others: frozenset[str] = frozenset()
    """Names of alarms that somebody else made or took over: they are never changed and never removed."""


class ResourceAlarms(Protocol):
    """Alarms on single resources of one deployment."""

    def name(self, alarm: ResourceAlarm) -> str:
        """The name of a resource's alarm, whatever its metric."""

    def existing(self) -> ExistingAlarms:
        """Those that there are. Raises ReadFailed."""

    def put(self, alarm: ResourceAlarm) -> None:
        """Make an alarm, or replace the one of that name, whoever made it; raises ReadFailed."""

    def remove(self, names: Sequence[str]) -> None:
        """Remove alarms, whoever made them; one that is not there is no error. Raises ReadFailed."""


class AlarmPlans(Protocol):
    """The plan, of which there is one."""

    def alarm_plan(self) -> AlarmPlan:
        """As it is, read consistently. Raises ReadFailed."""

    def amend_alarm_plan(self, change: Callable[[AlarmPlan], AlarmPlan]) -> AlarmPlan:
        """Replace it by the result of `change`, atomically; `change` has no side effects."""
