"""A release full of open chains is replaced by this one, and this one by the earlier release again.

`tests/stored/earlier_release.json.gz` holds the tables as an earlier release left them, recorded by its own
code (`tests/upgrade/deployments.py`). Upwards every chain goes on and ends. Downwards the earlier release
is this code, before tables in which a newer release wrote: names that it does not know, or newer formats.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import cache
from typing import Any

import pytest

from headroom.adapters.ledger import unwire, wire
from headroom.adapters.ledger.items import item_of, record_of
from headroom.adapters.tables import BUDGET, CONCURRENCY_ITEM, STATE_ITEM
from headroom.application import WorkReport, dispatch, work
from headroom.domain.resources import ResourceRef
from headroom.domain.state import (
    DECISION_FORMAT,
    GENESIS,
    NEXT,
    RECORD_FORMAT,
    STATE_FORMAT,
    Record,
    Step,
    broken_link,
    seal,
    step_of,
)
from headroom.ports import ReadFailed
from headroom.serialization import decision_from_json, to_json
from tests import ROOT
from tests.application.harness import reconcile_now, running_free, starving
from tests.application.test_databases import ORDERS as DATABASE
from tests.application.test_reconcile_cluster import ORDERS as CLUSTER
from tests.application.test_work import Queue
from tests.builders import NOW, activity, ref
from tests.upgrade import deployments as d

FILE = ROOT / "tests" / "stored" / "earlier_release.json.gz"
Items = dict[str, list[dict[str, Any]]]
VOLUMES = (*d.NAMES, *d.SET, d.QUEUED)
OPEN_AT = {
    "vol-rolled-back": ["act", "intended", "applied", "relieved", "hold", "rollback_requested"],
    "vol-decided": ["act"], "vol-intended": ["act", "intended"], "vol-changed": ["act", "intended"],
    "vol-unknown": ["act", "intended", "unknown"],
    "vol-unknown-changed": ["act", "intended", "unknown"],
    "vol-applied": ["act", "intended", "applied"],
    "vol-already-there": ["act", "intended", "already_there"],
    "vol-awaiting": ["act", "awaiting"], "vol-approved": ["act", "awaiting", "approved"],
    "vol-set-1": ["act", "intended", "applied"], "vol-set-2": ["act", "intended"],
    "vol-queued": ["hold"],
}  # fmt: skip
"""What the earlier release had recorded of each volume."""


@cache
def deployment(kind: str = "volumes") -> dict[str, Any]:
    found: dict[str, Any] = d.read(FILE)["deployments"][kind]
    return found


def minute(harness: Any, **delta: float) -> WorkReport:
    """The dispatcher and one worker, once."""
    harness.later(**(delta or {"minutes": 1}))
    queue = Queue()
    dispatch(harness.ports, queue, harness.now, scan_every_s=10**9)
    return work(harness.ports, queue.taken(), lambda: harness.now)


def through_a_day(harness: Any) -> set[str]:
    """An hour in steps of five minutes, then 30 hours; what failed."""
    said: set[str] = set()
    for minutes in [5] * 12 + [60] * 30:
        said |= set(minute(harness, minutes=minutes).errors)
    return said


def chains(harness: Any) -> dict[str, list[Record]]:
    """Every chain by its decision, oldest record first."""
    found: dict[str, list[Record]] = {}
    for items in d.items_in(harness.ledger._client)["records"]:
        if "step" in items:
            record = record_of(items)
            found.setdefault(record.decision_id, []).append(record)
    return {name: sorted(chain, key=lambda r: r.sequence) for name, chain in found.items()}


def unfinished(harness: Any) -> dict[str, str]:
    """Resources of chains that could go on, with their last step."""
    last = [chain[-1] for chain in chains(harness).values()]
    return {
        r.resource.rpartition("/")[2].rpartition(":")[2]: r.step.value
        for r in last
        if r.step in NEXT and r.outcome not in ("hold", "escalate")
    }


def test_the_earlier_release_left_a_chain_at_every_step() -> None:
    harness = d.restored("volumes", FILE)
    assert {name: harness.steps(ref(name)) for name in VOLUMES} == OPEN_AT
    steps = {step for name in VOLUMES for step in harness.steps(ref(name))}
    assert {s.value for s in NEXT if s is not None} - steps == {"decided"}  # "act" is that


def test_after_an_upgrade_every_chain_ends_and_nothing_stays_blocked() -> None:
    harness = d.restored("volumes", FILE)
    for name in VOLUMES[:-1]:
        harness.loads[name] = running_free()
    assert through_a_day(harness) == set()
    assert unfinished(harness) == {}
    assert all(broken_link(chain) is None for chain in chains(harness).values())
    assert "rolled_back" in harness.steps(ref("vol-rolled-back"))
    assert "applied" in harness.steps(ref(d.QUEUED)), "it starved on, and its turn came"
    states = [harness.ledger.resource_state(ref(name), harness.now) for name in VOLUMES]
    assert [s.open_chain for s in states] == [None] * len(states)
    assert states[0].concurrency.in_flight == ()
    harness.loads["vol-unknown"] = starving()
    reconcile_now(harness.ports, ref("vol-unknown"), harness.now, trigger="alarm", must_record=True)
    assert harness.steps(ref("vol-unknown"))[-1] == "applied", "a new starvation is ended"


@pytest.mark.parametrize(
    ("kind", "who", "steps"),
    [
        ("database", DATABASE, ["act", "intended", "unknown", "applied"]),
        ("cluster", CLUSTER, ["act", "intended", "applied"]),
    ],
)
def test_after_an_upgrade_databases_and_clusters_go_on(
    kind: str, who: ResourceRef, steps: list[str]
) -> None:
    harness = d.restored(kind, FILE)
    if kind == "database":
        harness.service.settles()
        harness.loads["orders"] = activity([6_000.0] * 180, iops_check=None, mibps_check=None)
    else:
        harness.service.lands(IOOptimizedNextAllowedModificationTime=NOW + timedelta(days=30))
    for _ in range(30):
        minute(harness, minutes=10)
    assert harness.steps(who)[: len(steps) + 1] == [*steps, "relieved"]
    assert unfinished(harness) == {}


# --- downwards: a newer release wrote


def rewritten(items: Items, name: str, change: Callable[[Record], Record]) -> Items:
    """The items with the records of a resource's open chain changed, and sealed anew."""
    mine = [
        i for i in items["records"] if "step" in i and unwire(i["resource"]).endswith(f"/{name}")
    ]
    others = [i for i in items["records"] if i not in mine]
    previous, made = GENESIS, []
    for item in sorted(mine, key=lambda i: int(unwire(i["sequence"]))):
        new = change(record_of(item))
        record = seal(
            decision_id=new.decision_id, sequence=new.sequence, step=new.step, body=new.body,
            resource=new.resource, at=new.at, outcome=new.outcome, summary=new.summary,
            previous_hash=previous, reason=new.reason, price_change_usd=new.price_change_usd,
            format=new.format,
        )  # fmt: skip
        previous = record.hash
        made.append(item_of(record, str(unwire(item["written_by"])), None))
    return {**items, "records": [*others, *made]}


def newer_guardrail(record: Record) -> Record:
    plain = json.loads(record.body)
    if "judgements" not in plain:
        return record
    text = record.body.replace('"cooldown"', '"lunar_phase"')
    assert text != record.body
    return replace(record, body=text)


def newer_step(record: Record) -> Record:
    if record.step is not Step.APPLIED:
        return record
    return replace(record, step=step_of("polished"), outcome="polished")


def newer_record(record: Record) -> Record:
    return replace(record, format=RECORD_FORMAT + 1)


def newer_decision(record: Record) -> Record:
    plain = json.loads(record.body)
    if record.step is not Step.DECIDED:
        return record
    return replace(record, body=json.dumps(plain | {"format": DECISION_FORMAT + 1}))


def newer_state(items: Items, item: str, name: str = "") -> Items:
    """The items with a newer format of one item of the state table."""
    found = [
        i | {"format": wire(STATE_FORMAT + 1)}
        if unwire(i["item"]) == item and unwire(i["owner"]).endswith(name)
        else i
        for i in items["state"]
    ]
    assert found != items["state"]
    return {**items, "state": found}


def test_a_guardrail_that_only_a_newer_release_knows_stops_no_chain() -> None:
    harness = d.restored(
        "volumes", FILE, rewritten(deployment()["items"], "vol-applied", newer_guardrail)
    )
    harness.loads["vol-applied"] = running_free()
    assert through_a_day(harness) == set()
    assert harness.steps(ref("vol-applied"))[:4] == ["act", "intended", "applied", "relieved"]


PARKED: Mapping[str, tuple[Callable[[Items], Items], str]] = {
    "a step": (lambda i: rewritten(i, "vol-applied", newer_step), "headroom release"),
    "records": (lambda i: rewritten(i, "vol-applied", newer_record), "upgrade Headroom"),
    "a decision": (lambda i: rewritten(i, "vol-applied", newer_decision), "headroom release"),
    "the state": (lambda i: newer_state(i, STATE_ITEM, "/vol-applied"), "upgrade Headroom"),
}
"""What a newer release may have left of a volume, and what the sentence says then."""


@pytest.mark.parametrize("left", PARKED)
def test_what_a_newer_release_left_is_parked_with_a_sentence_until_a_person_ends_it(
    left: str,
) -> None:
    change, sentence = PARKED[left]
    harness = d.restored("volumes", FILE, change(deployment()["items"]))
    for name in VOLUMES:
        harness.loads[name] = running_free()
    arn, before = ref("vol-applied").arn, harness.steps(ref("vol-applied"))
    said = through_a_day(harness)
    assert said
    assert all("vol-applied" in text and sentence in text for text in said), said
    assert harness.steps(ref("vol-applied")) == before, "nothing follows what is not understood"
    assert set(unfinished(harness)) <= {"vol-applied"}
    assert "relieved" in harness.steps(ref("vol-already-there"))
    mine = next(name for name, chain in chains(harness).items() if chain[0].resource == arn)
    if left == "the state":
        with pytest.raises(ReadFailed, match="upgrade Headroom"):
            harness.ledger.release(mine, at=harness.now, who=d.WHO)
        return
    assert harness.ledger.release(mine, at=harness.now, who=d.WHO).step is Step.RELEASED
    assert through_a_day(harness) == set()
    assert unfinished(harness) == {}


@pytest.mark.parametrize("item", [BUDGET, CONCURRENCY_ITEM])
def test_an_account_that_a_newer_release_wrote_is_parked_and_goes_on_after_the_next_upgrade(
    item: str,
) -> None:
    items = deployment()["items"]
    harness = d.restored("volumes", FILE, newer_state(items, item))
    for name in VOLUMES:
        harness.loads[name] = running_free()
    said = through_a_day(harness)
    assert said
    assert all("upgrade Headroom" in text for text in said), said
    assert {name: harness.steps(ref(name)) for name in VOLUMES} == OPEN_AT, "nothing is done"
    (kept,) = [i for i in items["state"] if unwire(i["item"]) == item]
    d.put(harness.ledger._client, {"state": [kept]})
    assert through_a_day(harness) == set()
    assert unfinished(harness) == {}


def whole(body: Any) -> Any:
    """A body; a decision as this release reads it, because the earlier one wrote it in another format.

    While both write one format, the bodies themselves are compared: replace this by `body` then.
    """
    text = unwire(body)
    return wire(to_json(decision_from_json(text))) if '"judgements"' in text else body


def test_the_earlier_release_wrote_decisions_in_another_format() -> None:
    bodies = [unwire(i["body"]) for i in deployment()["items"]["records"] if "body" in i]
    formats = {json.loads(text)["format"] for text in bodies if '"judgements"' in text}
    assert formats == {DECISION_FORMAT - 1}


def shapes(items: Items) -> dict[str, set[str]]:
    """Paths and types of everything in the items of each kind: by step, or by name in the state table."""
    found: dict[str, set[str]] = {}
    for item in (*items["records"], *items["state"]):
        item = item | {"body": whole(item["body"])} if "body" in item else item
        named = item.get("step") or item.get("item")
        if named is not None:
            kind = f"{str(unwire(named)).split('#')[0]} {unwire(item.get('outcome', {'S': ''}))}"
            body = json.loads(unwire(item["body"])) if "body" in item else None
            plain = {name: unwire(value) for name, value in item.items() if name != "body"}
            found.setdefault(kind, set()).update(paths(plain), paths(body, "body"))
    return found


def paths(value: Any, place: str = "") -> set[str]:
    if isinstance(value, Mapping):
        return {p for name, each in value.items() for p in paths(each, f"{place}.{name}")}
    if isinstance(value, list | tuple):
        return {p for each in value for p in paths(each, f"{place}[]")}
    kinds = {"text": str, "number": int | float | Decimal}
    kind = next((name for name, of in kinds.items() if isinstance(value, of)), repr(type(value)))
    return {f"{place} {kind}"}


@cache
def written(kind: str) -> dict[str, set[str]]:
    return shapes(d.items_in(d.KINDS[kind]().harness.ledger._client))


@pytest.mark.parametrize("kind", d.KINDS)
def test_the_earlier_release_finds_all_that_it_reads_in_what_this_release_writes(kind: str) -> None:
    """Of what is stored in one format, and of decisions, nothing is left out, renamed or of another type.

    The account's budget is one item for all kinds, and a change that costs nothing leaves it out.
    """
    before = shapes(deployment(kind)["items"])
    after = written("volumes") | written(kind)
    lost = {name: each - after.get(name, set()) for name, each in before.items()}
    assert {name: each for name, each in lost.items() if each} == {}
