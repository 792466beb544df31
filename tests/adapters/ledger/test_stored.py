"""What an earlier release stored stays readable: a chain may outlive the release that began it.

`tests/stored` holds texts as they were written once. Never write one anew to make a test pass once
it was released: give the field that is missing in it a default.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from headroom.adapters.ledger.items import item_of, record_of, state_of
from headroom.domain.aurora import ClusterMemory
from headroom.domain.decision import Act, Reason
from headroom.domain.resources import VolumeType
from headroom.domain.state import (
    DECISION_FORMAT,
    GENESIS,
    STATE_FORMAT,
    ConcurrencyState,
    OpenChain,
    QueueEntry,
    Reserved,
    Step,
    StoredState,
    WrongFormat,
    broken_link,
    seal,
    step_of,
)
from headroom.serialization import Unreadable, decision_from_json, decision_to_json, from_json
from tests import ROOT
from tests.builders import NOW, ref

STORED = ROOT / "tests" / "stored"


@pytest.fixture(scope="module", params=["decision.json", "decision_2.json", "decision_3.json"])
def text(request: pytest.FixtureRequest) -> str:
    """One decision in each format so far."""
    return (STORED / request.param).read_text()


def test_a_stored_decision_still_shows_what_its_chain_needs(text: str) -> None:
    decision = decision_from_json(text)
    assert isinstance(decision.answer, Act)
    plan = decision.answer.plan
    assert (plan.origin.volume_type, plan.origin.iops) == (VolumeType.GP3, 3000)
    assert plan.target.volume_type is VolumeType.GP3
    assert plan.target.iops is not None
    assert plan.target.iops > 3000
    assert decision.at == NOW
    assert decision.observation.volume.ref == ref()
    assert decision.decision_id == json.loads(text)["decision_id"]
    assert decision.signature.answer == "act"


def test_a_stored_change_of_a_clusters_mode_still_shows_what_its_proof_and_undoing_need() -> None:
    decision = decision_from_json((STORED / "cluster.json").read_text())
    assert isinstance(decision.answer, Act)
    plan, side = decision.answer.plan, decision.cluster
    assert (plan.origin.volume_type, plan.target.volume_type) == (
        VolumeType.AURORA, VolumeType.AURORA_IOPT1,
    )  # fmt: skip
    assert decision.observation.volume.ref.arn.endswith(":cluster:orders")
    assert side is not None
    assert side.bills is not None
    assert plan.monthly_usd == round(side.bills.io_optimized.total_usd, 2)
    assert len(side.demand.days) == 14
    checked = decision_from_json((STORED / "cluster_checked.json").read_text()).cluster
    assert checked is not None
    assert checked.check is not None
    assert checked.check.switch.decision_id == decision.decision_id


def test_what_was_remembered_of_a_cluster_stays_known() -> None:
    memory: ClusterMemory = from_json((STORED / "cluster_memory.json").read_text(), ClusterMemory)
    assert memory.last_change is not None
    assert memory.switch is not None
    assert memory.switch.checked
    assert len(memory.days) > 14


def test_a_stored_growth_still_shows_what_its_proof_needs() -> None:
    decision = decision_from_json((STORED / "growth.json").read_text())
    assert isinstance(decision.answer, Act)
    plan = decision.answer.plan
    assert plan.growth is not None
    assert (plan.growth.alone, plan.growth.free_gib, plan.target.size_gib) == (True, 20.504, 231)
    assert decision.space is not None
    assert decision.space.short
    assert decision.observation.activity.free_gib is not None


@pytest.mark.parametrize("found", [None, 0, True, "1", DECISION_FORMAT + 1])
def test_a_decision_in_no_known_format_is_refused(text: str, found: object) -> None:
    plain = json.loads(text) | {"format": found}
    with pytest.raises(Unreadable, match="format"):
        decision_from_json(json.dumps(plain))


def test_a_decision_in_a_newer_format_can_be_displayed() -> None:
    text = (STORED / "decision_2.json").read_text()
    newer = json.dumps(json.loads(text) | {"format": DECISION_FORMAT + 1})
    assert decision_from_json(newer, for_display=True) == decision_from_json(text)


def test_a_decision_is_stored_with_its_format(text: str) -> None:
    again = decision_to_json(decision_from_json(text))
    assert json.loads(again)["format"] == DECISION_FORMAT
    assert again == (STORED / f"decision_{DECISION_FORMAT}.json").read_text().strip()


@pytest.mark.parametrize("found", [{}, {"format": {"N": str(STATE_FORMAT + 1)}}])
def test_a_state_in_no_known_format_is_refused(found: Any) -> None:
    item = json.loads((STORED / "state.json").read_text())
    del item["format"]
    with pytest.raises(WrongFormat, match="the item resource_state has"):
        state_of(item | found)


def with_more(plain: Any) -> Any:
    """The same with a field nobody knows in every object that has fields of its own."""
    if isinstance(plain, list):
        return [with_more(part) for part in plain]
    if not isinstance(plain, dict):
        return plain
    more = {name: with_more(value) for name, value in plain.items()}
    return more if {"decimal"} == set(plain) else more | {"of_another_release": {"is": "new"}}


def test_fields_of_another_release_are_passed_over(text: str) -> None:
    plain = json.loads(text)
    tags = plain["observation"]["volume"].pop("tags")  # a mapping: every member of it counts
    more = with_more(plain)
    more["observation"]["volume"]["tags"] = tags
    assert decision_from_json(json.dumps(more)) == decision_from_json(text)


def test_names_of_a_newer_release_stay_as_their_text() -> None:
    text = (STORED / "decision_2.json").read_text()
    plain = json.loads(text)
    first = plain["judgements"][0]["verdicts"]
    first[0] |= {"guardrail": "moon_phase"}
    first[1] |= {"guardrail": "tides", "relation": "in_tune_with", "value": 1, "limit": 1}
    plain["answer"]["reason"] = "foresight"
    plain["diagnosis"]["binding"] = "cosmic_rays"
    decision = decision_from_json(json.dumps(plain))
    assert isinstance(decision.answer, Act)
    assert decision.answer.plan == decision_from_json(text).plan
    verdicts = decision.judgements[0].verdicts
    assert [verdicts[0].guardrail, verdicts[1].guardrail] == ["moon_phase", "tides"]
    assert decision.judgements[0].blocking == (verdicts[1],)  # an unknown relation never allows
    assert (decision.answer.reason, decision.diagnosis.binding) == ("foresight", "cosmic_rays")
    assert decision.answer.reason not in set(Reason)
    again = json.loads(decision_to_json(decision))
    assert again["judgements"][0]["verdicts"][0]["guardrail"] == "moon_phase"


@pytest.mark.parametrize(
    "place", [("answer", "plan", "target", "volume_type"), ("answer", "is"),
              ("observation", "volume", "ref", "kind")], ids=".".join,
)  # fmt: skip
def test_what_is_acted_on_must_be_understood(place: tuple[str, ...]) -> None:
    plain = json.loads((STORED / "decision_2.json").read_text())
    part = plain
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = "gp9"
    with pytest.raises(Unreadable):
        decision_from_json(json.dumps(plain))


def test_a_step_of_a_newer_release_is_displayed_and_follows_nothing() -> None:
    record = seal(
        decision_id="d1", sequence=0, step=step_of("postponed"), resource=ref().arn, at=NOW,
        outcome="postponed", summary="later", body="{}", previous_hash=GENESIS,
    )  # fmt: skip
    again = record_of(item_of(record, "somebody"))
    assert again == record
    assert again.step.value == "postponed"
    assert again.step not in set(Step)
    assert broken_link((again,)) == again  # its place in a chain cannot be verified here


def test_a_field_with_a_default_may_be_missing(text: str) -> None:
    plain = json.loads(text)
    del plain["resource_state"]["retry_not_before"]
    assert decision_from_json(json.dumps(plain)).resource_state.retry_not_before is None


def test_a_field_without_a_default_may_not(text: str) -> None:
    plain = json.loads(text)
    del plain["answer"]["plan"]["target"]
    with pytest.raises(Unreadable):
        decision_from_json(json.dumps(plain))


def test_a_stored_state_still_shows_all_it_showed() -> None:
    state, version = state_of(json.loads((STORED / "state.json").read_text()))
    name, minute = "72de8a3a5eaf78166490", timedelta(minutes=1)
    assert version == 7
    assert state.chain == OpenChain(decision_id=name, phase="applied", since=NOW, fencing=3)
    assert state.reserved == (Reserved(decision_id=name, micro_usd=50_000_001),)
    assert (state.fencing, state.lease_until) == (3, NOW + 20 * minute)
    assert state.enrolment_usd == Decimal("8.00")
    assert state.resource_micro_usd == 50_000_001
    assert state.due_at == NOW + 10 * minute
    assert [m.by for m in state.modifications] == ["other", "headroom"]


@pytest.mark.parametrize("without", [(), ("chain", "reserved"), ("enrolment_usd", "modifications")])
def test_a_state_is_read_the_same_beside_what_was_read_before(without: tuple[str, ...]) -> None:
    """What another item has as well is taken from its state: in place of that item, more, less and other values."""
    item = json.loads((STORED / "state.json").read_text())
    fewer = {name: value for name, value in item.items() if name not in without}
    other = fewer | {"fencing": {"N": "9"}, "urgency": {"N": "5"}}
    for before, now in ((item, other), (other, item), (other, fewer), (fewer, other)):
        alone = state_of(now)
        assert state_of(now, (before, state_of(before)[0])) == alone
    assert state_of(None, (item, state_of(item)[0])) == (StoredState(), 0)


def test_every_field_of_a_state_may_be_missing() -> None:
    required = [f.name for f in fields(StoredState) if f.default is MISSING]
    assert required == []


def test_stored_traffic_still_shows_who_has_a_place() -> None:
    concurrency: ConcurrencyState = from_json(
        (STORED / "traffic.json").read_text(), ConcurrencyState
    )
    (mine,) = concurrency.in_flight
    assert (mine.resource, mine.decision_id, mine.since) == (ref().arn, "d1", NOW)
    assert mine.counts == (("gp3_gib", 100),)
    assert concurrency.started_last_hour(NOW) == (NOW - timedelta(minutes=30), NOW)
    assert concurrency.quota_in_use("gp3_gib", "", NOW) == 400
    assert concurrency.refused_until([VolumeType.IO2], NOW) == NOW + timedelta(hours=1)


def test_every_field_of_traffic_and_of_a_place_in_the_queue_may_be_missing() -> None:
    assert from_json("{}", ConcurrencyState) == ConcurrencyState()
    required = [f.name for f in fields(QueueEntry) if f.default is MISSING]
    assert required == ["since"]
