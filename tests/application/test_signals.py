from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise

import pytest

from headroom.application import remediate, sweep
from headroom.domain.decision import Act, Decision, Hold
from headroom.domain.policy import PolicyUnreadable
from headroom.domain.resources import Claim, ResourceRef, Signal, VolumeActivity
from headroom.domain.state import Refusal, Refused, ResourceState, Step, Unknown, broken_link
from headroom.ports import Glance, ReadFailed, StorageView
from tests.application.harness import Stage, calm, reconcile_now, running_free
from tests.builders import NOW, activity, gp3, policy, ref, volume


def alarm(of: ResourceRef | None, claim: Claim = Claim.PRESSURE, *, muted: bool = False) -> Signal:
    return Signal(
        event_id="e-1", claim=claim, ref=of, alarm_name="headroom-iops", claimed_at=NOW,
        muted=muted, detail="",
    )  # fmt: skip


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_an_alarm_on_a_starved_volume_ends_in_one_change_and_proven_relief(stage: Stage) -> None:
    vol = stage.add(volume())
    (decision,) = remediate(stage.ports, alarm(vol), stage.now)
    assert isinstance(decision.answer, Act)
    assert stage.steps(vol) == ["act", "intended", "applied"]
    stage.loads[vol.resource_id] = running_free()
    for _ in range(40):
        stage.later(minutes=5)
        sweep(stage.ports, stage.now)
    # The last one says that nothing binds any more: the episode is over.
    assert stage.steps(vol) == ["act", "intended", "applied", "relieved", "hold"]
    chain = stage.ledger.chain(decision.decision_id)
    assert broken_link(chain) is None
    assert len(stage.lifecycles["vol-1"].starts) == 1
    assert [step for _, step, _ in stage.told] == [Step.APPLIED, Step.RELIEVED]


def test_the_same_alarm_twice_makes_one_change(stage: Stage) -> None:
    vol = stage.add(volume())
    remediate(stage.ports, alarm(vol), stage.now)
    remediate(stage.ports, alarm(vol), stage.now)
    stage.later(minutes=1)
    remediate(stage.ports, alarm(vol), stage.now)
    assert len(stage.lifecycles["vol-1"].starts) == 1


def test_a_muted_alarm_wakes_nobody(stage: Stage) -> None:
    vol = stage.add(volume())
    assert remediate(stage.ports, alarm(vol, muted=True), stage.now) == ()
    assert stage.steps(vol) == []


def test_an_alarm_level_event_leads_to_its_contributors(stage: Stage) -> None:
    one, two = stage.add(volume(ref=ref("vol-1"))), stage.add(volume(ref=ref("vol-2")))
    stage.pressed = {"vol-1", "vol-2"}
    decisions = remediate(stage.ports, alarm(None, Claim.CHECK_CONTRIBUTORS), stage.now)
    assert {d.observation.volume.ref for d in decisions} == {one, two}


def test_a_volume_not_enrolled_is_recorded_and_reported_to_nobody(stage: Stage) -> None:
    vol = stage.add(volume(tags=()))
    (decision,) = remediate(stage.ports, alarm(vol), stage.now)
    assert isinstance(decision.answer, Hold)
    assert decision.answer.proposed_plan is not None
    assert stage.steps(vol) == ["hold"]
    assert stage.told == []


def test_a_volume_that_is_off_is_not_reconciled(stage: Stage) -> None:
    vol = stage.add(volume(tags=(("headroom", "off"),)))
    assert remediate(stage.ports, alarm(vol), stage.now) == ()
    assert stage.steps(vol) == []


def test_an_unreadable_policy_changes_nothing_and_is_on_record(stage: Stage) -> None:
    vol = stage.add(volume())
    stage.rules = PolicyUnreadable(reason="the parameter is gone")
    remediate(stage.ports, alarm(vol), stage.now)
    assert stage.steps(vol) == ["hold"]
    assert stage.lifecycles["vol-1"].starts == ()


def test_a_deleted_volume_is_forgotten_without_a_fuss(stage: Stage) -> None:
    assert remediate(stage.ports, alarm(ref("vol-gone")), stage.now) == ()


def test_a_read_that_fails_is_raised_so_that_the_event_comes_again(stage: Stage) -> None:
    vol = stage.add(volume())
    stage.unreadable.add("vol-1")
    with pytest.raises(ReadFailed):
        remediate(stage.ports, alarm(vol), stage.now)
    assert stage.steps(vol) == []


def test_a_sweeps_decision_is_recorded_only_when_it_is_news(stage: Stage) -> None:
    vol = stage.add(volume(tags=()))
    stage.pressed = {"vol-1"}
    for _ in range(6):
        sweep(stage.ports, stage.now)
        stage.later(minutes=15)
    assert stage.steps(vol) == ["hold"]


def test_without_any_alarm_the_sweep_ends_the_starvation(stage: Stage) -> None:
    vol = stage.add(volume())
    stage.pressed = {"vol-1"}
    report = sweep(stage.ports, stage.now)
    assert report.acted == 1
    assert stage.steps(vol) == ["act", "intended", "applied"]


def test_the_fleet_is_scanned_once_per_period_however_often_the_sweep_runs(stage: Stage) -> None:
    stage.add(volume())
    scans = 0
    for _ in range(30):
        scans += sweep(stage.ports, stage.now, scan_every_s=900).scan_ran
        stage.later(minutes=1)
    assert scans == 2


def test_one_volumes_trouble_leaves_the_rest_alone(stage: Stage) -> None:
    bad, good = stage.add(volume(ref=ref("vol-bad"))), stage.add(volume(ref=ref("vol-good")))
    stage.ledger.reconciled(bad, at=stage.now, due_at=stage.now)
    stage.ledger.reconciled(good, at=stage.now, due_at=stage.now)
    stage.unreadable.add("vol-bad")
    stage.fleet = lambda: iter(())  # type: ignore[method-assign]
    report = sweep(stage.ports, stage.now)
    assert (report.failed, report.acted) == (1, 1)
    assert "vol-bad" in report.errors[0]
    stage.unreadable.clear()
    stage.later(minutes=5)
    assert sweep(stage.ports, stage.now).acted == 1


def test_a_fleet_that_cannot_be_read_is_reported_and_does_not_stop_what_is_due(
    stage: Stage,
) -> None:
    vol = stage.add(volume())
    stage.ledger.reconciled(vol, at=stage.now, due_at=stage.now)

    def unreadable() -> Iterator[StorageView]:
        raise ReadFailed("DescribeVolumes: RequestLimitExceeded")
        yield

    stage.fleet = unreadable  # type: ignore[method-assign]
    report = sweep(stage.ports, stage.now)
    assert (report.acted, report.failed, report.complete) == (1, 1, False)
    assert "RequestLimitExceeded" in report.errors[0]


def test_the_most_starved_of_a_batch_is_reconciled_first(stage: Stage) -> None:
    for name in ("vol-a", "vol-b"):
        stage.add(volume(ref=ref(name)))
    glances = {
        "vol-a": Glance(
            iops_exceeded_minutes=1, throughput_exceeded_minutes=0,
            lowest_burst_balance_percent=None, longest_queue=None,
        ),
        "vol-b": Glance(
            iops_exceeded_minutes=29, throughput_exceeded_minutes=0,
            lowest_burst_balance_percent=None, longest_queue=None,
        ),
    }  # fmt: skip
    stage.glance = lambda views, now: glances  # type: ignore[method-assign,assignment]
    sweep(stage.ports, stage.now)
    applied = [name for name, step, _ in stage.told if step is Step.APPLIED]
    assert applied == ["vol-b", "vol-a"]


def test_a_run_out_of_time_stops_between_volumes_and_says_so(stage: Stage) -> None:
    for name in ("vol-a", "vol-b"):
        stage.ledger.reconciled(stage.add(volume(ref=ref(name))), at=stage.now, due_at=stage.now)
    left = iter([100.0])
    report = sweep(stage.ports, stage.now, time_left=lambda: next(left, 5.0))
    assert (report.reconciled, report.complete, report.scan_complete) == (1, False, False)


@pytest.mark.parametrize("scanned", [False, True])
def test_a_reconciliation_late_in_a_sweep_sees_what_happened_since_the_sweep_began(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, scanned: bool
) -> None:
    """The first look takes twelve minutes, in which the second volume begins to starve."""
    first, second = (stage.add(volume(ref=ref(name))) for name in ("vol-a", "vol-b"))
    for at, due in enumerate((first, second)):
        if not scanned:
            stage.ledger.reconciled(due, at=NOW, due_at=NOW - timedelta(minutes=9 - at))
            stage.fleet = lambda: iter(())  # type: ignore[method-assign]

    def measured(view: StorageView, now: datetime) -> tuple[VolumeActivity, None]:
        pressed = int((now - NOW) / timedelta(minutes=1))
        if view.volume.ref == first:
            stage.later(minutes=12)
            return activity([1500.0] * 180, end=now), None
        queue = [1.0] * (180 - pressed) + [900.0 + 3 * i for i in range(pressed)]
        return activity(
            [1500.0] * (180 - pressed) + [3000.0] * pressed, queue=queue, end=now,
            iops_check=[float(q > 1) for q in queue],
        ), None  # fmt: skip

    monkeypatch.setattr(stage, "activity", measured)
    report = sweep(stage.ports, NOW, clock=lambda: stage.now)
    assert (report.reconciled, report.acted) == (2, 1)
    (decided, *_) = stage.ledger.by_resource(second.arn, since=NOW, until=NOW + timedelta(hours=1))
    assert decided.at == NOW + timedelta(minutes=12)


def test_somebody_elses_four_changes_are_counted_and_waited_out(stage: Stage) -> None:
    vol = stage.add(volume())
    for iops in (3100, 3000, 3100, 3000):
        stage.change(vol, gp3(100, iops, 125))
        remediate(stage.ports, alarm(vol, Claim.MODIFICATION), stage.now)
        stage.later(hours=3)
    remediate(stage.ports, alarm(vol), stage.now)
    assert stage.steps(vol)[-1] == "hold"
    acted_at = None
    while acted_at is None and stage.now < NOW + timedelta(hours=48):
        stage.later(minutes=1)
        if sweep(stage.ports, stage.now, scan_every_s=10**9).acted:
            acted_at = stage.now
    assert acted_at == NOW + timedelta(hours=3 + 24)


def test_changes_from_before_are_learned_from_awss_refusal_and_asked_once_an_hour(
    stage: Stage,
) -> None:
    vol = stage.add(volume())
    for iops in (3100, 3000, 3100, 3000):
        stage.change(vol, gp3(100, iops, 125))
        stage.later(hours=3)
    remediate(stage.ports, alarm(vol), stage.now)
    assert stage.steps(vol) == ["act", "intended", "refused"]
    latest = stage.lifecycles["vol-1"].starts[-1]
    refusals = [stage.now]
    while stage.now < latest + timedelta(hours=25) and "applied" not in stage.steps(vol):
        last = refusals[-1]
        due = last + timedelta(minutes=50) <= stage.now <= last + timedelta(minutes=65)
        soon = stage.now >= latest + timedelta(hours=23, minutes=45)
        stage.later(minutes=1 if due or soon else 10)
        before = stage.steps(vol).count("refused")
        sweep(stage.ports, stage.now)
        remediate(stage.ports, alarm(vol), stage.now)
        if stage.steps(vol).count("refused") > before:
            refusals.append(stage.now)
    assert all(b - a >= timedelta(hours=1) for a, b in pairwise(refusals))
    assert "applied" in stage.steps(vol)
    assert stage.now <= latest + timedelta(hours=24, minutes=1)


def test_no_answer_is_resolved_from_what_aws_shows(stage: Stage) -> None:
    vol = stage.add(volume())
    stage.answers = [Unknown(detail="read time-out")]
    (decision,) = remediate(stage.ports, alarm(vol), stage.now)
    assert isinstance(decision.answer, Act)
    stage.change(vol, decision.answer.plan.target)  # it had arrived after all
    stage.later(minutes=2)
    sweep(stage.ports, stage.now, scan_every_s=10**9)
    assert stage.steps(vol) == ["act", "intended", "unknown", "applied"]
    assert len(stage.lifecycles["vol-1"].starts) == 1


def test_a_call_that_never_arrived_is_found_by_what_aws_shows_and_tried_anew(stage: Stage) -> None:
    vol = stage.add(volume())
    stage.answers = [Unknown(detail="connection reset")]
    remediate(stage.ports, alarm(vol), stage.now)
    for _ in range(15):
        stage.later(minutes=1)
        sweep(stage.ports, stage.now, scan_every_s=10**9)
    steps = stage.steps(vol)
    assert steps[:4] == ["act", "intended", "unknown", "not_applied"]
    assert steps[4:7] == ["act", "intended", "applied"]
    assert len(stage.lifecycles["vol-1"].starts) == 1


def test_a_worker_that_vanished_after_its_intent_is_found_by_the_sweep(stage: Stage) -> None:
    vol = stage.add(volume())

    def crash(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    sound, stage.apply = stage.apply, crash  # type: ignore[method-assign,assignment]
    with pytest.raises(KeyboardInterrupt):
        remediate(stage.ports, alarm(vol), stage.now)
    stage.apply = sound  # type: ignore[method-assign]
    assert stage.steps(vol) == ["act", "intended"]
    decided = stage.ledger.resource_state(vol, stage.now).last_decision_id or ""
    for _ in range(60):
        stage.later(minutes=1)
        sweep(stage.ports, stage.now, scan_every_s=10**9)
    first = [r.step for r in stage.ledger.chain(decided)]
    assert first == [Step.DECIDED, Step.INTENDED, Step.UNKNOWN, Step.NOT_APPLIED]
    assert stage.steps(vol).count("applied") == 1
    assert len(stage.lifecycles["vol-1"].starts) == 1


@pytest.mark.parametrize(
    "refusal", [Refusal.DENIED, Refusal.INVALID, Refusal.REGION_QUOTA, Refusal.UNSUPPORTED]
)
def test_a_refusal_time_does_not_clear_is_reported_to_people(
    stage: Stage, refusal: Refusal
) -> None:
    vol = stage.add(volume())
    stage.answers = [Refused(refusal=refusal, code="X", message="no", retry_at=None)]
    remediate(stage.ports, alarm(vol), stage.now)
    assert [step for _, step, _ in stage.told] == [Step.REFUSED]


def test_a_refusal_gives_its_money_back(stage: Stage) -> None:
    vol = stage.add(volume())
    stage.answers = [Refused(refusal=Refusal.DENIED, code="X", message="no", retry_at=None)]
    remediate(stage.ports, alarm(vol), stage.now)
    assert stage.ledger.resource_state(vol, stage.now).account_increase_usd == 0


def test_the_increase_in_force_is_what_the_price_list_says(stage: Stage) -> None:
    vol = stage.add(volume())
    (decision,) = remediate(stage.ports, alarm(vol), stage.now)
    assert isinstance(decision.answer, Act)
    resource_state = stage.ledger.resource_state(vol, stage.now)
    assert resource_state.resource_increase_usd == decision.answer.plan.price_change_usd
    assert resource_state.enrolment_usd == Decimal("8.00")


@pytest.mark.parametrize(
    ("size", "iops", "base", "counted"),
    [(101, None, "8.08", None), (100, 4_000, "8.00", 5), (100, 3_000, "8.00", 0)],
    ids=["growth frees nothing", "a reduction frees itself", "all of it taken back"],
)
def test_the_owners_own_change_moves_only_what_they_set(
    stage: Stage, size: int, iops: int | None, base: str, counted: int | None
) -> None:
    vol = stage.add(volume())
    remediate(stage.ports, alarm(vol), stage.now)
    added = stage.ledger.resource_state(vol, stage.now).resource_increase_usd
    assert added > 5
    stage.later(hours=4)
    stage.loads["vol-1"] = calm()
    sweep(stage.ports, stage.now)
    raised = stage.view(vol).volume.configuration
    stage.change(vol, replace(raised, size_gib=size) if iops is None else gp3(size, iops, 125))
    remediate(stage.ports, alarm(vol, Claim.MODIFICATION), stage.now)
    known = stage.ledger.resource_state(vol, stage.now)
    assert known.enrolment_usd == Decimal(base)
    expected = added if counted is None else Decimal(counted)
    assert known.resource_increase_usd == known.account_increase_usd == expected


def test_a_paused_account_changes_nothing(stage: Stage) -> None:
    vol = stage.add(volume())
    stage.ledger.pause(None, at=stage.now, who="somebody")
    remediate(stage.ports, alarm(vol), stage.now)
    assert stage.steps(vol) == ["hold"]
    stage.ledger.resume(at=stage.now, who="somebody")
    stage.later(minutes=5)
    sweep(stage.ports, stage.now)
    assert stage.steps(vol)[-1] == "applied"


def test_an_ineffective_change_is_reported_and_the_next_chain_starts_anew(stage: Stage) -> None:
    vol = stage.add(volume())
    stage.rules = policy(max_iops=6000)
    remediate(stage.ports, alarm(vol), stage.now)
    for _ in range(60):
        stage.later(minutes=5)
        target = stage.lifecycles["vol-1"].described(stage.now)
        limit = float(target.iops or 0)
        stage.loads["vol-1"] = activity([limit] * 180, queue=256.0, iops_check=1, io_kib=4)
        sweep(stage.ports, stage.now)
    steps = stage.steps(vol)
    assert steps[:4] == ["act", "intended", "applied", "ineffective"]
    assert "escalate" in steps
    assert steps.count("escalate") == 1


@pytest.mark.parametrize("left", ["unreadable", "later_step"])
def test_a_change_that_is_not_understood_is_left_alone_until_a_person_releases_it(
    stage: Stage, left: str
) -> None:
    vol = stage.add(volume())
    remediate(stage.ports, alarm(vol), stage.now)
    chain = stage.ledger.resource_state(vol, stage.now).open_chain
    assert chain is not None
    sound = stage.ledger

    class Newer:
        """A ledger in which a newer release left the chain."""

        def __getattr__(self, name: str) -> object:
            return getattr(sound, name)

        def decision(self, decision_id: str) -> Decision:
            raise ReadFailed(f"decision {decision_id}: not a Decision")

        def resource_state(self, ref: ResourceRef, now: datetime) -> ResourceState:
            known = sound.resource_state(ref, now)
            phase = "postponed" if left == "later_step" else chain.phase
            return replace(known, open_chain=replace(chain, phase=phase))

    newer = replace(stage.ports, ledger=Newer(), state_store=Newer())  # type: ignore[arg-type]
    stage.later(minutes=30)
    with pytest.raises(ReadFailed, match=f"headroom release {chain.decision_id}"):
        reconcile_now(newer, vol, stage.now, trigger="due")
    assert stage.steps(vol) == ["act", "intended", "applied"]
    sound.release(chain.decision_id, at=stage.now, who="somebody")
    reconcile_now(stage.ports, vol, stage.now, trigger="due")
    assert stage.steps(vol)[:4] == ["act", "intended", "applied", "released"]
    assert len(stage.steps(vol)) > 4
