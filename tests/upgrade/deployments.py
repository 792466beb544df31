"""A deployment full of open chains, in the harness: made by the code that is imported, and read back.

`python -m tests.upgrade.deployments FILE NAME` in a clone of a release writes what that release's ledger
holds; NAME is how tests call it. The file replaces `tests/stored/earlier_release.json.gz` when a release is
tagged, and never to make a test pass.
"""

from __future__ import annotations

import base64
import gzip
import json
import sys
from collections.abc import Callable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from headroom.adapters.tables import RECORDS, STATE
from headroom.application import sweep
from headroom.domain.policy import Mode
from headroom.domain.resources import Configuration, ResourceRef
from headroom.domain.state import AlreadyThere, Step, Unknown
from headroom.serialization import from_json, to_json
from tests.application.harness import Harness, reconcile_now, running_free
from tests.application.test_databases import ORDERS as DATABASE
from tests.application.test_databases import Databases, spending
from tests.application.test_reconcile_cluster import ORDERS as CLUSTER
from tests.application.test_reconcile_cluster import Clusters
from tests.builders import NOW, instance, policy, ref, volume

WHO = "arn:aws:iam::123456789012:user/alice"
SET = ("vol-set-1", "vol-set-2")
SET_TAGS = (("headroom", "auto"), ("headroom:group", "data"))
NAMES = (
    "vol-rolled-back", "vol-decided", "vol-intended", "vol-changed", "vol-unknown",
    "vol-unknown-changed", "vol-applied", "vol-already-there", "vol-awaiting", "vol-approved",
)  # fmt: skip
"""Volumes by how far their chain came when the release was replaced; then a set and one that queues."""
QUEUED = "vol-queued"
IN_FLIGHT = 8
"""Changes that may be under way: so many that the last volume waits for a place."""


class Crash(BaseException):
    """The process is gone: nobody catches it."""


@dataclass
class Made:
    """A harness, and each change that was really made in it."""

    harness: Any
    changes: list[tuple[datetime, ResourceRef, Configuration]] = field(default_factory=list)

    def watch(self) -> None:
        """Remember changes from now on."""
        apply = self.harness.apply

        def watched(of: ResourceRef, **call: Any) -> Any:
            outcome = apply(of, **call)
            self.changes.append((self.harness.now, of, call["target"]))
            return outcome

        self.harness.apply = watched


def volumes(*, only_world: bool = False) -> Made:
    """Volumes whose chains are at every step; `only_world` makes the volumes and does nothing to them."""
    harness = Harness(
        rules=replace(policy(mode=Mode.AUTO), max_in_flight=IN_FLIGHT),
        instance=instance(baseline_iops=60_000, baseline_mibps=4_000.0),
    )
    made = Made(harness)
    for name in NAMES:
        mode = "approve" if name in ("vol-awaiting", "vol-approved") else "auto"
        harness.add(volume(ref=ref(name), tags=(("headroom", mode),)))
    for name in SET:
        harness.add(volume(ref=ref(name), tags=SET_TAGS, instance_ids=("i-set",)))
    harness.add(volume(ref=ref(QUEUED)))
    if only_world:
        return made
    made.watch()
    changed = harness.apply

    def go(name: str, **instead: Callable[..., Any]) -> None:
        storage = _replaced(harness, "apply", instead.get("apply"))
        ledger = _replaced(harness.ledger, "intend", instead.get("intend"))
        with storage, ledger, suppress(Crash):
            reconcile_now(harness.ports, ref(name), harness.now, trigger="alarm", must_record=True)

    def crash(*_: Any, **__: Any) -> Any:
        raise Crash

    def change_then(outcome: Any) -> Callable[..., Any]:
        def apply(of: ResourceRef, **call: Any) -> Any:
            changed(of, **call)
            if outcome is None:
                raise Crash
            return outcome

        return apply

    go("vol-rolled-back")
    harness.loads["vol-rolled-back"] = running_free(3_500.0)
    for _ in range(30):
        harness.later(minutes=15)
        with _replaced(harness, "fleet", lambda: iter(())):
            sweep(harness.ports, harness.now)
    (first,) = harness.ledger.by_outcome("relieved", since=NOW, until=harness.now)
    harness.ledger.request_rollback(first.decision_id, at=harness.now, who=WHO)
    unknown = Unknown(detail="the answer was lost")
    go("vol-decided", intend=crash)
    go("vol-intended", apply=crash)
    go("vol-changed", apply=change_then(None))
    go("vol-unknown", apply=lambda *_, **__: unknown)
    go("vol-unknown-changed", apply=change_then(unknown))
    go("vol-applied")
    go("vol-already-there", apply=change_then(AlreadyThere()))
    for name in ("vol-awaiting", "vol-approved"):
        go(name)
    asked = next(
        iter(harness.ledger.by_resource(ref("vol-approved").arn, since=NOW, until=harness.now))
    )
    harness.ledger.answer(asked.decision_id, Step.APPROVED, at=harness.now, who=WHO)
    calls: list[ResourceRef] = []

    def second_crashes(of: ResourceRef, **call: Any) -> Any:
        calls.append(of)
        return crash() if len(calls) == 2 else changed(of, **call)

    go(SET[0], apply=second_crashes)
    go(QUEUED)
    return made


def database(*, only_world: bool = False) -> Made:
    """A database whose change took effect while its answer was lost."""
    harness = Databases.of(spending())
    made = Made(harness)
    if not only_world:
        made.watch()
        harness.service.times_out = True
        harness.reconcile()
    return made


def cluster(*, only_world: bool = False) -> Made:
    """A cluster whose storage mode was changed."""
    harness = Clusters.of()
    made = Made(harness)
    if not only_world:
        made.watch()
        harness.reconcile()
    return made


KINDS: Mapping[str, Callable[..., Made]] = {
    "volumes": volumes, "database": database, "cluster": cluster,
}  # fmt: skip


@contextmanager
def _replaced(thing: Any, name: str, value: Any) -> Any:
    """With another attribute for a while; None changes nothing."""
    before = getattr(thing, name)
    if value is not None:
        setattr(thing, name, value)
    try:
        yield
    finally:
        setattr(thing, name, before)


def items_in(client: Any) -> dict[str, list[dict[str, Any]]]:
    """Everything in the two tables, in the order of their keys."""
    found = {}
    for table in (RECORDS, STATE):
        if table.name in client._partitions:  # as releases before 2026-11-22 15:30 had it
            every = [i for p in client._partitions[table.name].values() for i in p.values()]
        else:
            partitions = [p for (name, *_), p in client._partitions.items() if name == table.name]
            every = [stored.item for p in partitions for stored in p.values()]
        keys = (table.partition.name, table.sort.name)
        found[table.name] = sorted(every, key=lambda i: [json.dumps(i[k]) for k in keys])
    return found


def recorded(name: str) -> dict[str, Any]:
    """What this code's ledger holds of each kind, and what was changed."""
    deployments = {}
    for kind, make in KINDS.items():
        made = make()
        deployments[kind] = {
            "now": made.harness.now.isoformat(),
            "items": items_in(made.harness.ledger._client),
            "changes": [
                [at.isoformat(), of.resource_id, to_json(target)]
                for at, of, target in made.changes
            ],
        }  # fmt: skip
    return {"release": name, "deployments": deployments}


def restored(kind: str, file: Path, items: Mapping[str, Any] | None = None) -> Any:
    """A harness in which `kind` is as the release left it, with its items, or these instead."""
    deployment = read(file)["deployments"][kind]
    harness = KINDS[kind](only_world=True).harness
    for at, name, target in deployment["changes"]:
        harness.now = datetime.fromisoformat(at)
        of = {"volumes": ref(name), "database": DATABASE, "cluster": CLUSTER}[kind]
        _change(harness, of, from_json(target, Configuration))
    harness.now = datetime.fromisoformat(deployment["now"])
    put(harness.ledger._client, deployment["items"] if items is None else items)
    return harness


def _change(harness: Any, of: ResourceRef, target: Configuration) -> None:
    view = harness.view(of)
    started = view.modification.started_at if view.modification else None
    harness.apply(of, expected=view.volume.configuration, seen=started, target=target)


def put(client: Any, items: Mapping[str, Any]) -> None:
    """These items in the tables."""
    for table, every in items.items():
        for item in every:
            client.put_item(TableName=table, Item=item)


def read(file: Path) -> dict[str, Any]:
    """What a release recorded."""
    content: dict[str, Any] = json.loads(gzip.decompress(file.read_bytes()), object_hook=_binary)
    return content


def _binary(plain: dict[str, Any]) -> dict[str, Any]:
    return {"B": base64.b64decode(plain["B"])} if set(plain) == {"B"} else plain


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(type(value).__name__)


if __name__ == "__main__":
    text = json.dumps(recorded(sys.argv[2]), default=_text, sort_keys=True)
    Path(sys.argv[1]).write_bytes(gzip.compress(text.encode(), mtime=0))
