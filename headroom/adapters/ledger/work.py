"""Claims of resources by workers, and the progress of the fleet scan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import TypeVar

from headroom.adapters.errors import reading
from headroom.adapters.ledger.bookmarks import Notes
from headroom.adapters.ledger.breakers import instant
from headroom.adapters.ledger.items import Item, moment, readable, unwire, wire
from headroom.adapters.tables import WORK
from headroom.domain.detection import AlarmPlan, GlanceState
from headroom.domain.resources import ResourceRef
from headroom.domain.state import ScanProgress
from headroom.ports import Answered, Claim, Glanced, WorkItem
from headroom.serialization import from_json, to_json

T = TypeVar("T")
KEYS_AT_ONCE = 100
"""Source: DynamoDB API reference, BatchGetItem (2026-11)."""
SCAN_NOTE, ALARMS_NOTE = "fleet scan", "resource alarms"


class WorkLedger(Notes):
    """One item per resource says who reconciles it; notes, how far the scan of the fleet is and which alarms
    there should be."""

    def claim_work(
        self, item: WorkItem, *, holder: str, now: datetime, until: datetime, not_after: datetime
    ) -> Claim | Answered:
        """Claim a resource for `holder`; a repeated call after a lost answer finds its own claim."""
        update = {
            "TableName": self._state_name,
            "Key": self._work_key(item.ref),
            "UpdateExpression": "SET #by = :by, #until = :until, #began = :now",
            "ConditionExpression": "#by = :by OR ("
            "(attribute_not_exists(#until) OR #until <= :now) AND "
            "(attribute_not_exists(#done) OR (#done <= :since AND #done <= :latest)))",
            "ExpressionAttributeNames": {
                "#by": "by", "#until": "until", "#began": "began", "#done": "done",
            },
            "ExpressionAttributeValues": {
                ":by": wire(holder), ":until": wire(moment(until)), ":now": wire(moment(now)),
                ":since": wire(moment(item.since)), ":latest": wire(moment(not_after)),
            },
        }  # fmt: skip
        if self._written_if(update):
            return Claim.TAKEN
        found = self._reads.items(self._state_name, [self._work_key(item.ref)])
        with reading(f"who works on {item.ref.arn}"):
            done = _done(readable(found[0])) if found else None
        return _refusal(item, done)

    def not_claimable(
        self, items: Sequence[WorkItem], *, now: datetime, not_after: datetime
    ) -> Mapping[str, Claim | Answered]:
        """By ARN, what `claim_work` would say of the items that it would not claim, in one read."""
        found: dict[str, Claim | Answered] = {}
        for first in range(0, len(items), KEYS_AT_ONCE):
            some = {item.ref.arn: item for item in items[first : first + KEYS_AT_ONCE]}
            keys = [self._work_key(item.ref) for item in some.values()]
            for held in self._reads.items(self._state_name, keys):
                with reading("who works on what"):
                    item, done = some[str(unwire(held["owner"]))], _done(readable(held))
                    until = instant(unwire(held["until"])) if "until" in held else None
                taken = until is not None and until > now
                if taken or (done is not None and done > min(item.since, not_after)):
                    found[item.ref.arn] = _refusal(item, done)
        return found

    def finish_work(self, ref: ResourceRef, *, holder: str, began: datetime | None) -> None:
        """End the claim, if it is still `holder`'s; `began` is None where nothing was finished."""
        values = {":by": wire(holder)}
        names = {"#by": "by", "#until": "until", "#began": "began"}
        sets = ""
        if began is not None:
            names["#done"], values[":began"], sets = (
                "done", wire(moment(began)), "SET #done = :began ",
            )  # fmt: skip
        update = {
            "TableName": self._state_name,
            "Key": self._work_key(ref),
            "UpdateExpression": f"{sets}REMOVE #by, #until, #began",
            "ConditionExpression": "#by = :by",
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
        }
        self._written_if(update)

    def reconciled_after(self, refs: Sequence[ResourceRef], since: datetime) -> frozenset[str]:
        """ARNs of those whose last finished reconciliation began after `since`."""
        found: list[Item] = []
        for first in range(0, len(refs), KEYS_AT_ONCE):
            keys = [self._work_key(ref) for ref in refs[first : first + KEYS_AT_ONCE]]
            found += self._reads.items(self._state_name, keys)
        with reading("who was reconciled"):
            return frozenset(
                str(unwire(item["owner"]))
                for item in found
                if "done" in item and instant(unwire(item["done"])) > since
            )

    def glanced(self, refs: Sequence[ResourceRef]) -> Mapping[str, Glanced]:
        """What glances found and when the last reconciliation began, by ARN; maybe seconds old."""
        found: dict[str, Glanced] = {}
        for first in range(0, len(refs), KEYS_AT_ONCE):
            keys = [self._work_key(ref) for ref in refs[first : first + KEYS_AT_ONCE]]
            for item in self._reads.items(self._state_name, keys, consistent=False):
                found[str(unwire(item["owner"]))] = _glanced(item)
        return found

    def save_glance(self, ref: ResourceRef, state: GlanceState) -> None:
        """Keep what a glance found, beside the claim, which it leaves alone."""
        self._written_if({
            "TableName": self._state_name,
            "Key": self._work_key(ref),
            "UpdateExpression": "SET #glance = :glance",
            "ExpressionAttributeNames": {"#glance": "glance"},
            "ExpressionAttributeValues": {":glance": wire(to_json(state))},
        })  # fmt: skip

    def scan_progress(self) -> ScanProgress:
        """How far the scan of the fleet is, read consistently."""
        return _progress(self.note(SCAN_NOTE))

    def amend_scan(self, change: Callable[[ScanProgress], ScanProgress]) -> ScanProgress:
        """Replace the progress by the result of `change`, atomically."""
        return self._amend_note(SCAN_NOTE, _progress, change)

    def alarm_plan(self) -> AlarmPlan:
        """The alarms that there should be on single resources."""
        return _alarm_plan(self.note(ALARMS_NOTE))

    def amend_alarm_plan(self, change: Callable[[AlarmPlan], AlarmPlan]) -> AlarmPlan:
        """Replace it by the result of `change`, atomically."""
        return self._amend_note(ALARMS_NOTE, _alarm_plan, change)

    def _amend_note(self, name: str, read: Callable[[str], T], change: Callable[[T], T]) -> T:
        def changed(text: str) -> tuple[str, T]:
            before = read(text)
            after = change(before)
            return (text if after is before else to_json(after)), after

        return self.amend(name, changed)

    def _work_key(self, ref: ResourceRef) -> Item:
        return {"owner": wire(ref.arn), "item": wire(WORK)}


def _done(held: Item) -> datetime | None:
    """When the last finished reconciliation began."""
    return instant(unwire(held["done"])) if "done" in held else None


def _refusal(item: WorkItem, done: datetime | None) -> Claim | Answered:
    return Answered(done) if done is not None and done > item.since else Claim.BUSY


def _glanced(item: Item) -> Glanced:
    """What cannot be read is as if it were not there: the resource is glanced at the sooner."""
    with reading("who was reconciled"):
        done = _done(item)
    try:
        state = from_json(unwire(item["glance"]), GlanceState) if "glance" in item else None
    except (KeyError, TypeError, ValueError):
        state = None
    return Glanced(state=state, reconciled_at=done)


@lru_cache(maxsize=16)
def _progress(text: str) -> ScanProgress:
    """The progress in a note, which each step of a scan reads again."""
    if not text:
        return ScanProgress()
    with reading("the progress of the fleet scan"):
        return from_json(text, ScanProgress)


def _alarm_plan(text: str) -> AlarmPlan:
    """One that cannot be read is as if there were none: the next scans plan it anew."""
    if not text:
        return AlarmPlan()
    try:
        return from_json(text, AlarmPlan)
    except (KeyError, TypeError, ValueError):
        return AlarmPlan()
