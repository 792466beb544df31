"""How far the scan of the fleet is: which pages of the listing are open, and when it was complete.

Pages of a kind of storage are listed one after the other, because each names the next; they are
read side by side. A page is open from when it is listed until its storage was read, so that a scan
is continued where it stopped, whoever stopped. Pages that cannot be read hold up no other: where only such
are left, the next scan begins on time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

from headroom.domain.resources import LATER

FAILED = 2
"""After so many failures to read a page, the next scan does not wait for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPage:
    """A page of the fleet that is to be read; `cursor` is where its listing goes on."""

    kind: str
    number: int
    cursor: str = ""
    claimed_until: datetime | None = None
    """Until then it is on the work queue or being read."""
    tries: int = 0
    """How often somebody began to read it."""

    @property
    def stuck(self) -> bool:
        """Whether it could not be read twice: not one that waits its turn in a busy queue."""
        return self.tries > FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanProgress:
    """The scan under way and the last complete one. A stored one outlives the release that wrote it."""

    started_at: datetime | None = None
    """When the scan under way began, or else the last one."""
    open: tuple[OpenPage, ...] = ()
    last: tuple[tuple[str, int], ...] = ()
    """The last page known of each kind."""
    completed: datetime | None = None
    """When the last scan began that was complete."""
    first_try: datetime | None = None
    """When the first scan after that began."""
    before_at: datetime | None = field(default=None, metadata=LATER)
    """When the scan before the one under way began, complete or not."""

    @property
    def first(self) -> bool:
        """Whether it is the first scan of all, complete or not."""
        return self.completed is None and self.first_try in (None, self.started_at)

    @property
    def may_begin(self) -> bool:
        """Whether nothing is left of the scan under way but pages that cannot be read."""
        return all(page.stuck for page in self.open)

    def page(self, scan: datetime, kind: str, number: int) -> OpenPage | None:
        """An open page of the scan that began at `scan`."""
        mine = (p for p in self.open if (p.kind, p.number) == (kind, number))
        return next(mine, None) if self.started_at == scan else None

    def age_s(self, now: datetime) -> float | None:
        """Seconds since everything was known to be read; None before the first scan."""
        since = self.completed or self.first_try or self.started_at
        return None if since is None else (now - since).total_seconds()


def scan_begun(before: ScanProgress, kinds: tuple[str, ...], now: datetime) -> ScanProgress:
    """A new scan with the first page of every kind; one that is stuck is not waited for again."""
    stuck = {page.kind for page in before.open if page.number == 0 and page.stuck}
    return replace(
        before, started_at=now, before_at=before.started_at, last=tuple((kind, 0) for kind in kinds), first_try=before.first_try or now,
        open=tuple(OpenPage(kind=kind, number=0, tries=FAILED * (kind in stuck)) for kind in kinds),
    )  # fmt: skip


def page_begun(before: ScanProgress, scan: datetime, page: OpenPage) -> ScanProgress:
    """The same with one more try at the page."""
    if before.page(scan, page.kind, page.number) is None:
        return before
    key = page.kind, page.number
    tried = (replace(p, tries=p.tries + 1) if (p.kind, p.number) == key else p for p in before.open)
    return replace(before, open=tuple(tried))


def pages_claimed(before: ScanProgress, now: datetime, until: datetime) -> ScanProgress:
    """The same with every page claimed that nobody reads."""
    free = tuple(
        p if p.claimed_until is not None and p.claimed_until > now else replace(p, claimed_until=until)
        for p in before.open
    )  # fmt: skip
    return before if free == before.open else replace(before, open=free)


def page_listed(
    before: ScanProgress, scan: datetime, page: OpenPage, cursor: str, until: datetime
) -> ScanProgress:
    """The same with the page after `page`, claimed; as it was if that is known already."""
    last = dict(before.last)
    if before.started_at != scan or last.get(page.kind, -1) > page.number:
        return before
    last[page.kind] = page.number + 1
    after = OpenPage(kind=page.kind, number=page.number + 1, cursor=cursor, claimed_until=until)
    return replace(before, open=(*before.open, after), last=tuple(sorted(last.items())))


def page_rejected(before: ScanProgress, scan: datetime, page: OpenPage) -> ScanProgress:
    """The same with a page that AWS cannot list any more: stuck, so that the next scan begins on time, but not complete."""
    if before.page(scan, page.kind, page.number) is None:
        return before
    key = page.kind, page.number
    return replace(before, open=tuple(
        replace(p, tries=FAILED + 1) if (p.kind, p.number) == key else p for p in before.open
    ))  # fmt: skip


def page_read(before: ScanProgress, scan: datetime, page: OpenPage) -> ScanProgress:
    """The same without the page; the scan is complete with its last one."""
    if before.page(scan, page.kind, page.number) is None:
        return before
    rest = tuple(p for p in before.open if (p.kind, p.number) != (page.kind, page.number))
    if rest:
        return replace(before, open=rest)
    return replace(before, open=rest, completed=scan, first_try=None)
