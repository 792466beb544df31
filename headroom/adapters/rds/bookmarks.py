"""What was last observed of each database or cluster, kept in a note: RDS keeps no history."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from headroom.adapters.errors import reading
from headroom.domain.resources import ResourceRef
from headroom.ports import Notes, ResourceGone
from headroom.serialization import Unreadable, from_json, to_json

_log = logging.getLogger(__name__)


class Identified(Protocol):
    """What distinguishes a resource from another one of the same name."""

    @property
    def identity(self) -> str: ...


T = TypeVar("T", bound=Identified)


class Bookmarks(Generic[T]):
    """What an earlier observation remembered of each resource, in one folder of the bookmarks."""

    def __init__(self, notes: Notes, kind: type[T], *, folder: str, about: str) -> None:
        self._notes, self._kind, self._folder, self._about = notes, kind, folder, about

    def seen(self, ref: ResourceRef) -> T | None:
        """The bookmark; None where there is none. Raises ReadFailed."""
        with reading(f"the note of {ref.resource_id}"):
            return self._understood(self._notes.note(f"{self._folder}/{ref.resource_id}"))

    def amend(self, ref: ResourceRef, change: Callable[[T | None], T | None]) -> T | None:
        """The bookmark after `change`, which gets None where there was none; raises ReadFailed."""

        def moved(text: str) -> tuple[str, T | None]:
            after = change(self._understood(text))
            return (text if after is None else to_json(after)), after

        with reading(f"the note of {ref.resource_id}"):
            return self._notes.amend(f"{self._folder}/{ref.resource_id}", moved)

    def with_context(
        self, ref: ResourceRef, seen: Identified, remember: Callable[[T | None], T], *, name: str
    ) -> T | None:
        """The bookmark once `seen` is in it; raises ResourceGone, ReadFailed.

        Another resource under the name of one that was known is reported as gone, and not
        remembered until nothing of the old one is in force for it: its price at enrolment, a chain,
        an approval. So a worker that dies in between hides nothing from the next one.
        """
        another = False

        def change(before: T | None) -> T | None:
            nonlocal another
            another = before is not None and before.identity != seen.identity
            return before if another else remember(before)

        amended = self.amend(ref, change)
        if another:
            raise ResourceGone(
                f"{name} is another {self._about} of that name now",
                another=lambda: self.amend(ref, remember),
            )
        return amended

    def _understood(self, text: str) -> T | None:
        """The note in `text`; one that nobody understands is none, and the resource is seen anew."""
        if not text:
            return None
        try:
            found: T = from_json(text, self._kind)
        except Unreadable as problem:
            _log.warning("a note about a %s is not understood: %s", self._about, problem)
            return None
        return found
