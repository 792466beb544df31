"""Reads of storage, and the only write to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from headroom.domain.resources import (
    AuroraCluster,
    Configuration,
    Instance,
    Modification,
    ResourceRef,
    ValidStorage,
    Volume,
)
from headroom.domain.state import Outcome


class ResourceGone(LookupError):
    """The resource does not exist (any more).

    `instead` is what has its storage, where that is known: of a member its cluster. `another` is
    there where something else has its name by now: called once nothing of the old one is in force,
    it begins anew with the other one. Until then each read raises this; it raises ReadFailed.
    """

    def __init__(
        self,
        message: str,
        *,
        instead: ResourceRef | None = None,
        another: Callable[[], object] | None = None,
    ) -> None:
        super().__init__(message)
        self.instead = instead
        self.another = another


class NotCovered(ResourceGone):
    """The deployment leaves its kind of storage out; the resource may exist as before."""


class ReadFailed(RuntimeError):
    """A read failed; the decision is retried later."""


class WriteFailed(ReadFailed):
    """A write failed, or did not say whether it took effect; whoever retries a failed read retries it too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageView:
    """A volume, its latest modification and the instance it is attached to, read together.

    `modification` is None for a never-modified volume; `instance` is None when the volume is
    detached, attached to more than one instance, or the instance cannot be read.
    """

    volume: Volume
    modification: Modification | None
    instance: Instance | None
    valid: tuple[ValidStorage, ...] = ()
    """The storage settings that AWS accepts for a database; empty where they were not read."""
    cluster: AuroraCluster | None = None
    """Of an Aurora cluster: what decides its storage mode; None for all else, and in a fleet."""


class Storage(Protocol):
    """Reads volumes; `apply` is the only write to storage in the whole project."""

    def fleet(self) -> Iterator[StorageView]:
        """Every volume of the account and Region, page by page (instances may be left None)."""

    def view(self, ref: ResourceRef) -> StorageView:
        """One volume with its instance; raises ResourceGone, ReadFailed."""

    def attached(self, instance_id: str) -> tuple[StorageView, ...]:
        """Every volume attached to one instance, each with its latest modification and instance.

        Empty for an instance there is not. Raises ReadFailed, also where one of the volumes
        cannot be understood: what is not seen may belong to a set that is.
        """

    def apply(
        self,
        ref: ResourceRef,
        *,
        expected: Configuration,
        seen: datetime | None,
        target: Configuration,
        decided_on: Volume | None = None,
    ) -> Outcome:
        """Change the volume to `target` if it is still as the decision saw it.

        `expected` is the configuration and `seen` the start of the latest modification that the
        decision saw, `decided_on` the whole volume, where it is known. Reads it again first: AlreadyThere without a call if the target is in force,
        Stale if anything changed, Unknown on a time-out.
        """
