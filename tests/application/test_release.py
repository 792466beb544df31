"""What nothing may hold on to: volumes that are gone, refusals, runs without time."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headroom.application import remediate, sweep
from headroom.domain.decision import Act
from headroom.domain.resources import Claim, Signal
from headroom.domain.state import Refusal, Refused, Step, broken_link
from headroom.ports import ReadFailed
from tests.application.harness import Stage, calm, running_free
from tests.application.test_signals import alarm
from tests.builders import NOW, gp3, ref, volume


@pytest.fixture
def stage() -> Stage:
    return Stage()


def delete(stage: Stage, name: str) -> None:
    del stage.volumes[name], stage.lifecycles[name]


def test_a_volume_deleted_under_an_open_change_ends_its_chain_and_frees_its_money(
    stage: Stage,
) -> None:
    vol = stage.add(volume())
    (decision,) = remediate(stage.ports, alarm(vol), stage.now)
    assert stage.ledger.resource_state(vol, stage.now).account_increase_usd > 0
    delete(stage, "vol-1")
    stage.later(minutes=15)
    sweep(stage.ports, stage.now)
    chain = stage.ledger.chain(decision.decision_id)
    assert chain[-1].step is Step.GONE
    assert broken_link(chain) is None
    assert stage.ledger.resource_state(vol, stage.now).account_increase_usd == 0
    assert stage.ledger.due(stage.now + timedelta(days=400), 10) == ()


def test_a_volume_deleted_after_its_change_landed_frees_its_money_too(stage: Stage) -> None:
    vol = stage.add(volume())
    remediate(stage.ports, alarm(vol), stage.now)
    stage.loads["vol-1"] = running_free()
    for _ in range(40):
        sweep(stage.ports, stage.later(minutes=5))
    assert "relieved" in stage.steps(vol)
    delete(stage, "vol-1")
    remediate(stage.ports, alarm(vol), stage.now)
    assert stage.ledger.resource_state(vol, stage.now).account_increase_usd == 0


def test_volumes_that_are_gone_never_stand_in_the_way_of_the_living(stage: Stage) -> None:
    gone = [stage.add(volume(ref=ref(f"vol-gone-{n}"))) for n in range(200)]
    for each in gone:
        stage.ledger.reconciled(each, at=stage.now, due_at=stage.now - timedelta(hours=1))
        delete(stage, each.resource_id)
    alive = stage.add(volume(ref=ref("vol-alive")))
    stage.ledger.reconciled(alive, at=stage.now, due_at=stage.now)
    for _ in range(2):
        sweep(stage.ports, stage.later(minutes=1), scan_every_s=10**9)
    assert stage.steps(alive) == ["act", "intended", "applied"]


@pytest.mark.parametrize(
    ("refusal", "hours"), [(Refusal.REGION_QUOTA, 1), (Refusal.DENIED, 6), (Refusal.INVALID, 6)]
)
def test_after_a_refusal_aws_is_not_asked_before_its_time_whoever_wants_it(
    stage: Stage, refusal: Refusal, hours: int
) -> None:
    vol = stage.add(volume())
    stage.pressed = {"vol-1"}
    refused = Refused(refusal=refusal, code="X", message="no", retry_at=None)
    stage.answers = [refused] * 100
    remediate(stage.ports, alarm(vol), stage.now)
    for minutes in [hours] * 59 + [hours - 1]:
        stage.later(minutes=minutes)
        sweep(stage.ports, stage.now)
        remediate(stage.ports, alarm(vol), stage.now)
    assert stage.steps(vol).count("refused") == 1
    assert len(stage.told) == 1


def test_one_contributor_that_cannot_be_read_does_not_hide_the_others(stage: Stage) -> None:
    stage.add(volume(ref=ref("vol-a")))
    good = stage.add(volume(ref=ref("vol-b")))
    stage.pressed = {"vol-a", "vol-b"}
    stage.unreadable = {"vol-a"}
    event = Signal(
        event_id="e", claim=Claim.CHECK_CONTRIBUTORS, ref=None, alarm_name="headroom-iops",
        claimed_at=NOW, muted=False, detail="",
    )  # fmt: skip
    with pytest.raises(ReadFailed, match="vol-a"):
        remediate(stage.ports, event, stage.now)
    assert stage.steps(good) == ["act", "intended", "applied"]


def test_a_signal_there_is_no_time_for_comes_again(stage: Stage) -> None:
    vol = stage.add(volume())
    with pytest.raises(ReadFailed, match="no time left"):
        remediate(stage.ports, alarm(vol), stage.now, time_left=lambda: 5.0)
    assert stage.steps(vol) == []


def test_suspects_a_scan_had_no_time_for_are_taken_by_the_next_runs(stage: Stage) -> None:
    refs = [stage.add(volume(ref=ref(f"vol-{n}"))) for n in range(6)]
    stage.pressed = {r.resource_id for r in refs}
    budget = iter([100.0] * 5 + [10.0] * 1_000)  # time for the glances and about three looks
    report = sweep(stage.ports, stage.now, time_left=lambda: next(budget))
    assert report.scan_complete
    assert not report.complete
    assert 0 < report.acted < 6
    sweep(stage.ports, stage.later(minutes=1))
    assert all("applied" in stage.steps(r) for r in refs)


def test_enrolled_suspects_come_before_those_that_are_only_watched(stage: Stage) -> None:
    watched = stage.add(volume(ref=ref("vol-a"), tags=()))
    enrolled = stage.add(volume(ref=ref("vol-b")))
    stage.pressed = {"vol-a", "vol-b"}
    budget = iter([100.0] * 2 + [2.0] * 100)
    sweep(stage.ports, stage.now, time_left=lambda: next(budget))
    assert stage.steps(enrolled) == ["act", "intended", "applied"]
    assert stage.steps(watched) == []


def test_the_owners_own_lowering_is_priced_as_what_it_leads_to(stage: Stage) -> None:
    vol = stage.add(volume(gp3(1000, 10_000, 125)))
    stage.loads["vol-1"] = calm()
    remediate(stage.ports, alarm(vol), stage.now)
    stage.change(vol, gp3(1000, 3000, 125))  # still described as before while it is modifying
    remediate(stage.ports, alarm(vol, Claim.MODIFICATION), stage.now)
    assert stage.ledger.resource_state(vol, stage.now).enrolment_usd == 80


def test_a_detached_volume_is_not_reconciled_every_five_minutes(stage: Stage) -> None:
    vol = stage.add(volume(instance_ids=()))
    stage.loads["vol-1"] = calm().__class__(
        **{
            name: getattr(calm(), name).__class__(
                start=calm().read_iops.start, period_s=60, values=(None,) * 180
            )
            for name in calm().__dataclass_fields__
            if getattr(calm(), name) is not None
        }
    )
    (decision,) = remediate(stage.ports, alarm(vol), stage.now)
    assert not isinstance(decision.answer, Act)
    assert stage.ledger.due(stage.now + timedelta(days=400), 10) == ()


def test_an_increase_ends_within_a_day_of_its_volume_without_any_event(stage: Stage) -> None:
    vol = stage.add(volume())
    remediate(stage.ports, alarm(vol), stage.now)
    stage.loads["vol-1"] = calm()
    for _ in range(40):
        sweep(stage.ports, stage.later(minutes=5))
    assert stage.ledger.resource_state(vol, stage.now).account_increase_usd > 0
    delete(stage, "vol-1")
    for _ in range(25):
        sweep(stage.ports, stage.later(hours=1))
    assert stage.ledger.resource_state(vol, stage.now).account_increase_usd == 0


def test_a_refusal_people_must_hear_of_is_sent_even_soon_after_one_they_need_not(
    stage: Stage,
) -> None:
    vol = stage.add(volume())
    stage.answers = [
        Refused(refusal=refusal, code="X", message="no", retry_at=None)
        for refusal in (Refusal.IN_FLIGHT, Refusal.DENIED, Refusal.DENIED, Refusal.REGION_QUOTA)
    ]
    for _ in range(4):
        remediate(stage.ports, alarm(vol), stage.now)
        stage.later(hours=6)
    assert stage.steps(vol).count("refused") == 4
    assert [step for _, step, _ in stage.told] == [Step.REFUSED, Step.REFUSED]
