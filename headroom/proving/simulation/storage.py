"""What every simulated account has in common: the checks before a change, refusals, descriptions."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from datetime import datetime

from headroom.domain.resources import Claim, Configuration, ResourceRef, Signal, Volume
from headroom.domain.state import AlreadyThere, Outcome, Refusal, Refused, Stale
from headroom.ports import StorageView
from headroom.proving.awsrules import ModificationRefused, VolumeLifecycle, refusal_of

REFUSALS = {
    "VolumeModificationRateExceeded": Refusal.SLOTS,
    "IncorrectModificationState": Refusal.IN_FLIGHT,
    "UnsupportedOperation": Refusal.UNSUPPORTED,
}
"""Codes with a meaning of their own; every other one is a request that AWS calls wrong."""
INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z")


class SimulatedStorage(ABC):
    """The writing half of the Storage port; reading and changing are the subclass's."""

    @abstractmethod
    def view(self, ref: ResourceRef) -> StorageView:
        """One volume with its instance; raises ResourceGone."""

    def apply(
        self,
        ref: ResourceRef,
        *,
        expected: Configuration,
        seen: datetime | None,
        target: Configuration,
    ) -> Outcome:
        """Change the volume if it still is as the decision saw it; looks again first."""
        view = self.view(ref)
        found, change = view.volume.configuration, view.modification
        busy = change is not None and change.in_flight
        if found == target and not busy:
            return AlreadyThere()
        started = None if change is None else change.started_at
        if found != expected or started != seen:
            return Stale(
                expected=expected,
                found=found,
                detail=f"is {found}, last modified {started}; decided on {expected}, {seen}",
            )
        return self._modify(ref, found, target)

    def contributors(self, alarm_name: str) -> tuple[ResourceRef, ...]:
        """None: alarms of a simulation name their volume themselves."""
        return ()

    @abstractmethod
    def _modify(self, ref: ResourceRef, found: Configuration, target: Configuration) -> Outcome:
        """Ask AWS's rules for the change."""


def refused_by_aws(refused: ModificationRefused, *, database: bool = False) -> Refused:
    """AWS's refusal as the Storage port reports it."""
    named = INSTANT.search(refused.message)
    return Refused(
        refusal=refusal_of(refused.message)
        if database
        else REFUSALS.get(refused.code, Refusal.INVALID),
        code=refused.code,
        message=refused.message,
        retry_at=None if named is None else datetime.fromisoformat(named.group()),
    )


def volume_as_described(
    ref: ResourceRef, lifecycle: VolumeLifecycle, now: datetime, *, instance_id: str
) -> Volume:
    """What DescribeVolumes reports at `now`, attached to one instance."""
    return Volume(
        ref=ref,
        configuration=lifecycle.described(now),
        availability_zone=f"{ref.region}a",
        state="in-use",
        created_at=lifecycle.created_at,
        instance_ids=(instance_id,),
        multi_attach=False,
        managed_by=None,
        on_outpost=False,
        tags=(),
    )


def signal(
    ref: ResourceRef, claim: Claim, alarm: str | None, detail: str, *, at: datetime, instant: str
) -> Signal:
    """One event that reaches Headroom; `instant` is how its id spells `at`."""
    return Signal(
        event_id=f"{ref.resource_id}/{alarm or claim.value}/{instant}",
        claim=claim,
        ref=ref,
        alarm_name=alarm,
        claimed_at=at,
        muted=False,
        detail=detail,
    )
