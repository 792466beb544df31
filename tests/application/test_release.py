"""What nothing may hold on to: volumes that are gone, refusals, runs without time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from headroom.adapters.tables import CONCURRENCY_ITEM, account_key
from headroom.application import remediate, sweep
from headroom.domain.catalog import catalogue_prices
from headroom.domain.decision import Act
from headroom.domain.resources import Claim, Signal
from headroom.domain.state import EventOutcome, Record, Refusal, Refused, Step, broken_link
from headroom.ports import ReadFailed
from tests.application.harness import Harness, calm, reconcile_now, running_free
from tests.application.test_signals import alarm
from tests.builders import ACCOUNT, NOW, REGION, gp3, policy, ref, volume


@pytest.fixture
def harness() -> Harness:
    return Harness()


def delete(harness: Harness, name: str) -> None:
    del harness.volumes[name], harness.lifecycles[name]


def test_a_volume_deleted_under_an_open_change_ends_its_chain_and_frees_its_money(
    harness: Harness,
) -> None:
    vol = harness.add(volume())
    (decision,) = remediate(harness.ports, alarm(vol), harness.now)
    assert harness.ledger.resource_state(vol, harness.now).account_increase_usd > 0
    delete(harness, "vol-1")
    harness.later(minutes=15)
    sweep(harness.ports, harness.now)
    chain = harness.ledger.chain(decision.decision_id)
    assert chain[-1].step is Step.GONE
    assert broken_link(chain) is None
    assert harness.ledger.resource_state(vol, harness.now).account_increase_usd == 0
    assert harness.ledger.due(harness.now + timedelta(days=400), 10) == ()


def test_a_volume_deleted_after_its_change_landed_frees_its_money_too(harness: Harness) -> None:
    vol = harness.add(volume())
    remediate(harness.ports, alarm(vol), harness.now)
    harness.loads["vol-1"] = running_free()
    for _ in range(40):
        sweep(harness.ports, harness.later(minutes=5))
    assert "relieved" in harness.steps(vol)
    delete(harness, "vol-1")
    remediate(harness.ports, alarm(vol), harness.now)
    assert harness.ledger.resource_state(vol, harness.now).account_increase_usd == 0


def test_volumes_that_are_gone_never_stand_in_the_way_of_the_living(harness: Harness) -> None:
    gone = [harness.add(volume(ref=ref(f"vol-gone-{n}"))) for n in range(200)]
    for each in gone:
        harness.ledger.reconciled(each, at=harness.now, due_at=harness.now - timedelta(hours=1))
        delete(harness, each.resource_id)
    alive = harness.add(volume(ref=ref("vol-alive")))
    harness.ledger.reconciled(alive, at=harness.now, due_at=harness.now)
    for _ in range(2):
        sweep(harness.ports, harness.later(minutes=1), scan_every_s=10**9)
    assert harness.steps(alive) == ["act", "intended", "applied"]


@pytest.mark.parametrize(
    ("refusal", "hours"), [(Refusal.REGION_QUOTA, 1), (Refusal.DENIED, 6), (Refusal.INVALID, 6)]
)
def test_after_a_refusal_aws_is_not_asked_before_its_time_whoever_wants_it(
    harness: Harness, refusal: Refusal, hours: int
) -> None:
    vol = harness.add(volume())
    harness.pressed = {"vol-1"}
    refused = Refused(refusal=refusal, code="X", message="no", retry_at=None)
    harness.answers = [refused] * 100
    remediate(harness.ports, alarm(vol), harness.now)
    for minutes in [hours] * 59 + [hours - 1]:
        harness.later(minutes=minutes)
        sweep(harness.ports, harness.now)
        remediate(harness.ports, alarm(vol), harness.now)
    assert harness.steps(vol).count("refused") == 1
    assert len(harness.messages) == 1


def test_one_contributor_that_cannot_be_read_does_not_hide_the_others(harness: Harness) -> None:
    harness.add(volume(ref=ref("vol-a")))
    good = harness.add(volume(ref=ref("vol-b")))
    harness.pressed = {"vol-a", "vol-b"}
    harness.unreadable = {"vol-a"}
    event = Signal(
        event_id="e", claim=Claim.CHECK_CONTRIBUTORS, ref=None, alarm_name="headroom-iops",
        claimed_at=NOW, muted=False, detail="",
    )  # fmt: skip
    with pytest.raises(ReadFailed, match="vol-a"):
        remediate(harness.ports, event, harness.now)
    assert harness.steps(good) == ["act", "intended", "applied"]


def test_a_signal_there_is_no_time_for_comes_again(harness: Harness) -> None:
    vol = harness.add(volume())
    with pytest.raises(ReadFailed, match="no time left"):
        remediate(harness.ports, alarm(vol), harness.now, time_left=lambda: 5.0)
    assert harness.steps(vol) == []


def test_suspects_a_scan_had_no_time_for_are_taken_by_the_next_runs(harness: Harness) -> None:
    refs = [harness.add(volume(ref=ref(f"vol-{n}"))) for n in range(6)]
    harness.pressed = {r.resource_id for r in refs}
    budget = iter(
        [100.0] * 5 + [10.0] * 1_000
    )  # time for the glances and about three reconciliations
    report = sweep(harness.ports, harness.now, time_left=lambda: next(budget))
    assert report.scan_complete
    assert not report.complete
    assert 0 < report.acted < 6
    sweep(harness.ports, harness.later(minutes=1))
    assert all("applied" in harness.steps(r) for r in refs)


def test_enrolled_suspects_come_before_those_that_are_only_watched(harness: Harness) -> None:
    watched = harness.add(volume(ref=ref("vol-a"), tags=()))
    enrolled = harness.add(volume(ref=ref("vol-b")))
    harness.pressed = {"vol-a", "vol-b"}
    budget = iter([100.0] * 2 + [2.0] * 100)
    sweep(harness.ports, harness.now, time_left=lambda: next(budget))
    assert harness.steps(enrolled) == ["act", "intended", "applied"]
    assert harness.steps(watched) == []


def test_the_owners_own_lowering_is_priced_as_what_it_leads_to(harness: Harness) -> None:
    vol = harness.add(volume(gp3(1000, 10_000, 125)))
    harness.loads["vol-1"] = calm()
    remediate(harness.ports, alarm(vol), harness.now)
    harness.change(vol, gp3(1000, 3000, 125))  # still described as before while it is modifying
    remediate(harness.ports, alarm(vol, Claim.MODIFICATION), harness.now)
    harness.later(hours=1)
    sweep(harness.ports, harness.now)
    assert harness.ledger.resource_state(vol, harness.now).enrolment_usd == 80


def test_a_detached_volume_is_not_reconciled_every_five_minutes(harness: Harness) -> None:
    vol = harness.add(volume(instance_ids=()))
    harness.loads["vol-1"] = calm().__class__(
        **{
            name: getattr(calm(), name).__class__(
                start=calm().read_iops.start, period_s=60, values=(None,) * 180
            )
            for name in calm().__dataclass_fields__
            if getattr(calm(), name) is not None
        }
    )
    (decision,) = remediate(harness.ports, alarm(vol), harness.now)
    assert not isinstance(decision.answer, Act)
    assert harness.ledger.due(harness.now + timedelta(days=400), 10) == ()


def test_an_increase_ends_within_a_day_of_its_volume_without_any_event(harness: Harness) -> None:
    vol = harness.add(volume())
    remediate(harness.ports, alarm(vol), harness.now)
    harness.loads["vol-1"] = calm()
    for _ in range(40):
        sweep(harness.ports, harness.later(minutes=5))
    assert harness.ledger.resource_state(vol, harness.now).account_increase_usd > 0
    delete(harness, "vol-1")
    for _ in range(25):
        sweep(harness.ports, harness.later(hours=1))
    assert harness.ledger.resource_state(vol, harness.now).account_increase_usd == 0


def test_a_refusal_people_must_hear_of_is_sent_even_soon_after_one_they_need_not(
    harness: Harness,
) -> None:
    vol = harness.add(volume())
    harness.answers = [
        Refused(refusal=refusal, code="X", message="no", retry_at=None)
        for refusal in (Refusal.IN_FLIGHT, Refusal.DENIED, Refusal.DENIED, Refusal.REGION_QUOTA)
    ]
    for _ in range(4):
        remediate(harness.ports, alarm(vol), harness.now)
        harness.later(hours=6)
    assert harness.steps(vol).count("refused") == 4
    assert [step for _, step, _ in harness.messages] == [Step.REFUSED, Step.REFUSED]


@pytest.mark.parametrize("arrived", [False, True], ids=["never made", "made"])
def test_a_released_change_counts_only_as_far_as_aws_made_it(
    harness: Harness, arrived: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    vol = harness.add(volume())
    apply = harness.apply

    def dies(*args: Any, **call: Any) -> Any:
        if arrived:
            apply(*args, **call)
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr(harness, "apply", dies)
        with pytest.raises(KeyboardInterrupt):
            remediate(harness.ports, alarm(vol), harness.now)
    chain = harness.ledger.resource_state(vol, harness.now).open_chain
    assert chain is not None
    harness.ledger.release(chain.decision_id, at=harness.later(minutes=21), who="alice")
    harness.rules = policy(give_back=False)
    harness.loads["vol-1"] = calm()
    counted = []
    for _ in range(48):
        sweep(harness.ports, harness.later(hours=1))
        counted.append(harness.ledger.resource_state(vol, harness.now).account_increase_usd)
    assert counted[:23] == [counted[0]] * 23  # for a day it may still show
    added = catalogue_prices(REGION).monthly(harness.view(vol).volume.configuration) - 8
    assert (counted[0] > 0, counted[-1]) == (True, added)
    recorded = len(harness.steps(vol))
    for _ in range(24 * 5):
        sweep(harness.ports, harness.later(hours=1))
    assert len(harness.steps(vol)) == recorded  # the correction is recorded once


def kept(harness: Harness) -> dict[Any, Any]:
    """What a backup of the table State holds now."""
    found = harness.ledger._tables._partitions
    return {key: dict(items) for key, items in found.items() if key[0] in OF_STATE}


OF_STATE = ("state", "due", "waiting")


def test_a_change_that_a_restored_table_shows_as_open_is_ended_by_a_person(
    harness: Harness,
) -> None:
    """The records say that it ended, and stay a whole chain."""
    vol = harness.add(volume())
    (decision,) = remediate(harness.ports, alarm(vol), harness.now)
    backup = kept(harness)
    harness.loads["vol-1"] = running_free()
    for _ in range(40):
        sweep(harness.ports, harness.later(minutes=5))
    assert "relieved" in harness.steps(vol)
    harness.ledger._tables._partitions.update(backup)
    harness.later(hours=12)
    with pytest.raises(ReadFailed, match=f"headroom release {decision.decision_id}"):
        reconcile_now(harness.ports, vol, harness.now, trigger="sweep")
    released = harness.ledger.release(decision.decision_id, at=harness.now, who="dba")
    assert isinstance(released, Record)
    assert broken_link(harness.ledger.chain(decision.decision_id)) is None
    assert not isinstance(
        reconcile_now(harness.ports, vol, harness.later(minutes=1), trigger="sweep"), EventOutcome
    )


def test_a_volume_that_is_gone_frees_its_money_though_its_records_are_lost(
    harness: Harness,
) -> None:
    vol = harness.add(volume())
    remediate(harness.ports, alarm(vol), harness.now)
    partitions = harness.ledger._tables._partitions
    for key in [key for key in partitions if key[0] not in OF_STATE]:
        del partitions[key]
    delete(harness, "vol-1")
    reconcile_now(harness.ports, vol, harness.later(minutes=15), trigger="sweep")
    assert harness.ledger.resource_state(vol, harness.now).account_increase_usd == 0


def test_only_the_change_that_no_record_can_end_is_lost_with_its_volume(harness: Harness) -> None:
    """Another worker may have begun the next one meanwhile."""
    vol = harness.add(volume())
    remediate(harness.ports, alarm(vol), harness.now)
    harness.ledger.forget(vol, at=harness.now, another=True, chain_lost="an earlier one")
    state = harness.ledger.resource_state(vol, harness.now)
    assert state.open_chain is not None
    assert state.account_increase_usd > 0


def test_a_change_is_released_and_others_made_whatever_types_a_newer_release_counted(
    harness: Harness,
) -> None:
    vol, other = harness.add(volume()), harness.add(volume(ref=ref("vol-2")))
    (decision,) = remediate(harness.ports, alarm(vol), harness.now)
    key = {"owner": {"S": account_key(ACCOUNT, REGION)}, "item": {"S": CONCURRENCY_ITEM}}
    tables = harness.ledger._tables
    (item,) = tables.batch_get_item(RequestItems={"state": {"Keys": [key]}})["Responses"]["state"]
    item = dict(item)
    under_way = dict(item["in_flight"]["L"][0]["M"])
    under_way["counts"] = {"L": [{"L": [{"S": "gp4_gib"}, {"N": "100"}]}]}
    item["in_flight"] = {"L": [{"M": under_way}]}
    until = (harness.now + timedelta(hours=1)).isoformat().replace("+00:00", "Z")
    item["quota_full"] = {"L": [{"M": {"volume_type": {"S": "gp4"}, "until": {"S": until}}}]}
    tables.put_item(TableName="state", Item=item)
    (acted,) = remediate(harness.ports, alarm(other), harness.later(minutes=5))
    assert isinstance(acted.answer, Act)
    harness.later(minutes=30)
    assert isinstance(
        harness.ledger.release(decision.decision_id, at=harness.now, who="dba"), Record
    )
