from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import pairwise

import pytest

from headroom.application import remediate, sweep
from headroom.domain.decision import Act, Decision, Hold
from headroom.domain.policy import Mode, PolicyUnreadable, TagsMay
from headroom.domain.resources import (
    Claim,
    Configuration,
    ModificationState,
    ResourceRef,
    Signal,
    VolumeActivity,
    VolumeType,
)
from headroom.domain.state import Refusal, Refused, ResourceState, Step, Unknown, broken_link
from headroom.ports import Glance, ReadFailed, StorageView
from tests.application.harness import Harness, calm, reconcile_now, running_free
from tests.builders import NOW, activity, gp2, gp3, modification, policy, ref, volume


def alarm(of: ResourceRef | None, claim: Claim = Claim.PRESSURE, *, muted: bool = False) -> Signal:
    return Signal(
        event_id="e-1", claim=claim, ref=of, alarm_name="headroom-iops", claimed_at=NOW,
        muted=muted, detail="",
    )  # fmt: skip


@pytest.fixture
def harness() -> Harness:
    return Harness()


def test_an_alarm_on_a_starved_volume_ends_in_one_change_and_proven_relief(
    harness: Harness,
) -> None:
    vol = harness.add(volume())
    (decision,) = remediate(harness.ports, alarm(vol), harness.now)
    assert isinstance(decision.answer, Act)
    assert harness.steps(vol) == ["act", "intended", "applied"]
    harness.loads[vol.resource_id] = running_free()
    for _ in range(40):
        harness.later(minutes=5)
        sweep(harness.ports, harness.now)
    # The last one says that nothing binds any more: the episode is over.
    assert harness.steps(vol) == ["act", "intended", "applied", "relieved", "hold"]
    chain = harness.ledger.chain(decision.decision_id)
    assert broken_link(chain) is None
    assert len(harness.lifecycles["vol-1"].starts) == 1
    assert [step for _, step, _ in harness.messages] == [Step.APPLIED, Step.RELIEVED]


def test_the_same_alarm_twice_makes_one_change(harness: Harness) -> None:
    vol = harness.add(volume())
    remediate(harness.ports, alarm(vol), harness.now)
    remediate(harness.ports, alarm(vol), harness.now)
    harness.later(minutes=1)
    remediate(harness.ports, alarm(vol), harness.now)
    assert len(harness.lifecycles["vol-1"].starts) == 1


def test_a_muted_alarm_wakes_nobody(harness: Harness) -> None:
    vol = harness.add(volume())
    assert remediate(harness.ports, alarm(vol, muted=True), harness.now) == ()
    assert harness.steps(vol) == []


def test_an_alarm_level_event_leads_to_its_contributors(harness: Harness) -> None:
    one, two = harness.add(volume(ref=ref("vol-1"))), harness.add(volume(ref=ref("vol-2")))
    harness.pressed = {"vol-1", "vol-2"}
    decisions = remediate(harness.ports, alarm(None, Claim.CHECK_CONTRIBUTORS), harness.now)
    assert {d.observation.volume.ref for d in decisions} == {one, two}


def test_a_volume_not_enrolled_is_recorded_and_reported_to_nobody(harness: Harness) -> None:
    vol = harness.add(volume(tags=()))
    (decision,) = remediate(harness.ports, alarm(vol), harness.now)
    assert isinstance(decision.answer, Hold)
    assert decision.answer.proposed_plan is not None
    assert harness.steps(vol) == ["hold"]
    assert harness.messages == []


def test_a_volume_that_is_off_is_not_reconciled(harness: Harness) -> None:
    vol = harness.add(volume(tags=(("headroom", "off"),)))
    assert remediate(harness.ports, alarm(vol), harness.now) == ()
    assert harness.steps(vol) == []


def test_an_unreadable_policy_changes_nothing_and_is_on_record(harness: Harness) -> None:
    vol = harness.add(volume())
    harness.rules = PolicyUnreadable(reason="the parameter is gone")
    remediate(harness.ports, alarm(vol), harness.now)
    assert harness.steps(vol) == ["hold"]
    assert harness.lifecycles["vol-1"].starts == ()


def test_a_deleted_volume_is_forgotten_without_a_fuss(harness: Harness) -> None:
    assert remediate(harness.ports, alarm(ref("vol-gone")), harness.now) == ()


def test_a_read_that_fails_is_raised_so_that_the_event_comes_again(harness: Harness) -> None:
    vol = harness.add(volume())
    harness.unreadable.add("vol-1")
    with pytest.raises(ReadFailed):
        remediate(harness.ports, alarm(vol), harness.now)
    assert harness.steps(vol) == []


def test_a_sweeps_decision_is_recorded_only_when_it_is_news(harness: Harness) -> None:
    vol = harness.add(volume(tags=()))
    harness.pressed = {"vol-1"}
    for _ in range(6):
        sweep(harness.ports, harness.now)
        harness.later(minutes=15)
    assert harness.steps(vol) == ["hold"]


def test_without_any_alarm_the_sweep_ends_the_starvation(harness: Harness) -> None:
    vol = harness.add(volume())
    harness.pressed = {"vol-1"}
    report = sweep(harness.ports, harness.now)
    assert report.acted == 1
    assert harness.steps(vol) == ["act", "intended", "applied"]


def test_the_fleet_is_scanned_once_per_period_however_often_the_sweep_runs(
    harness: Harness,
) -> None:
    harness.add(volume())
    scans = 0
    for _ in range(30):
        scans += sweep(harness.ports, harness.now, scan_every_s=900).scan_ran
        harness.later(minutes=1)
    assert scans == 2


def test_one_volumes_trouble_leaves_the_rest_alone(harness: Harness) -> None:
    bad, good = harness.add(volume(ref=ref("vol-bad"))), harness.add(volume(ref=ref("vol-good")))
    harness.ledger.reconciled(bad, at=harness.now, due_at=harness.now)
    harness.ledger.reconciled(good, at=harness.now, due_at=harness.now)
    harness.unreadable.add("vol-bad")
    harness.fleet = lambda: iter(())  # type: ignore[method-assign]
    report = sweep(harness.ports, harness.now)
    assert (report.failed, report.acted) == (1, 1)
    assert "vol-bad" in report.errors[0]
    harness.unreadable.clear()
    harness.later(minutes=5)
    assert sweep(harness.ports, harness.now).acted == 1


def test_a_fleet_that_cannot_be_read_is_reported_and_does_not_stop_what_is_due(
    harness: Harness,
) -> None:
    vol = harness.add(volume())
    harness.ledger.reconciled(vol, at=harness.now, due_at=harness.now)

    def unreadable() -> Iterator[StorageView]:
        raise ReadFailed("DescribeVolumes: RequestLimitExceeded")
        yield

    harness.fleet = unreadable  # type: ignore[method-assign]
    report = sweep(harness.ports, harness.now)
    assert (report.acted, report.failed, report.complete) == (1, 1, False)
    assert "RequestLimitExceeded" in report.errors[0]


def test_the_most_starved_of_a_batch_is_reconciled_first(harness: Harness) -> None:
    for name in ("vol-a", "vol-b"):
        harness.add(volume(ref=ref(name)))
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
    harness.glance = lambda views, now: glances  # type: ignore[method-assign,assignment]
    harness.rules = replace(policy(), max_changes_per_hour=1)
    sweep(harness.ports, harness.now)
    applied = [name for name, step, _ in harness.messages if step is Step.APPLIED]
    assert applied == ["vol-b"]


def test_a_run_out_of_time_stops_between_volumes_and_says_so(harness: Harness) -> None:
    for name in ("vol-a", "vol-b"):
        harness.ledger.reconciled(
            harness.add(volume(ref=ref(name))), at=harness.now, due_at=harness.now
        )
    left = iter([100.0])
    report = sweep(harness.ports, harness.now, time_left=lambda: next(left, 5.0))
    assert (report.reconciled, report.complete, report.scan_complete) == (1, False, False)


@pytest.mark.parametrize("scanned", [False, True])
def test_a_reconciliation_late_in_a_sweep_sees_what_happened_since_the_sweep_began(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, scanned: bool
) -> None:
    """The first reconciliation takes twelve minutes, in which the second volume begins to starve."""
    first, second = (harness.add(volume(ref=ref(name))) for name in ("vol-a", "vol-b"))
    for at, due in enumerate((first, second)):
        if not scanned:
            harness.ledger.reconciled(due, at=NOW, due_at=NOW - timedelta(minutes=9 - at))
            harness.fleet = lambda: iter(())  # type: ignore[method-assign]

    def measured(view: StorageView, now: datetime) -> tuple[VolumeActivity, None]:
        pressed = int((now - NOW) / timedelta(minutes=1))
        if view.volume.ref == first:
            harness.later(minutes=12)
            return activity([1500.0] * 180, end=now), None
        queue = [1.0] * (180 - pressed) + [900.0 + 3 * i for i in range(pressed)]
        return activity(
            [1500.0] * (180 - pressed) + [3000.0] * pressed, queue=queue, end=now,
            iops_check=[float(q > 1) for q in queue],
        ), None  # fmt: skip

    monkeypatch.setattr(harness, "activity", measured)
    report = sweep(harness.ports, NOW, clock=lambda: harness.now)
    assert (report.reconciled, report.acted) == (2, 1)
    (decided, *_) = harness.ledger.by_resource(
        second.arn, since=NOW, until=NOW + timedelta(hours=1)
    )
    assert decided.at == NOW + timedelta(minutes=12)


def test_somebody_elses_four_changes_are_counted_and_waited_out(harness: Harness) -> None:
    vol = harness.add(volume())
    for iops in (3100, 3000, 3100, 3000):
        harness.change(vol, gp3(100, iops, 125))
        remediate(harness.ports, alarm(vol, Claim.MODIFICATION), harness.now)
        harness.later(hours=3)
    remediate(harness.ports, alarm(vol), harness.now)
    assert harness.steps(vol)[-1] == "hold"
    acted_at = None
    while acted_at is None and harness.now < NOW + timedelta(hours=48):
        harness.later(minutes=1)
        if sweep(harness.ports, harness.now, scan_every_s=10**9).acted:
            acted_at = harness.now
    assert acted_at == NOW + timedelta(hours=3 + 24)


def test_changes_from_before_are_learned_from_awss_refusal_and_asked_once_an_hour(
    harness: Harness,
) -> None:
    vol = harness.add(volume())
    for iops in (3100, 3000, 3100, 3000):
        harness.change(vol, gp3(100, iops, 125))
        harness.later(hours=3)
    remediate(harness.ports, alarm(vol), harness.now)
    assert harness.steps(vol) == ["act", "intended", "refused"]
    latest = harness.lifecycles["vol-1"].starts[-1]
    refusals = [harness.now]
    while harness.now < latest + timedelta(hours=25) and "applied" not in harness.steps(vol):
        last = refusals[-1]
        due = last + timedelta(minutes=50) <= harness.now <= last + timedelta(minutes=65)
        soon = harness.now >= latest + timedelta(hours=23, minutes=45)
        harness.later(minutes=1 if due or soon else 10)
        before = harness.steps(vol).count("refused")
        sweep(harness.ports, harness.now)
        remediate(harness.ports, alarm(vol), harness.now)
        if harness.steps(vol).count("refused") > before:
            refusals.append(harness.now)
    assert all(b - a >= timedelta(hours=1) for a, b in pairwise(refusals))
    assert "applied" in harness.steps(vol)
    assert harness.now <= latest + timedelta(hours=24, minutes=1)


def test_no_answer_is_resolved_from_what_aws_shows(harness: Harness) -> None:
    vol = harness.add(volume())
    harness.answers = [Unknown(detail="read time-out")]
    (decision,) = remediate(harness.ports, alarm(vol), harness.now)
    assert isinstance(decision.answer, Act)
    harness.change(vol, decision.answer.plan.target)  # it had arrived after all
    harness.later(minutes=2)
    sweep(harness.ports, harness.now, scan_every_s=10**9)
    assert harness.steps(vol) == ["act", "intended", "unknown", "applied"]
    assert len(harness.lifecycles["vol-1"].starts) == 1


@pytest.mark.parametrize("back", [gp3(), gp2(100)])
def test_a_change_that_somebody_changed_again_before_anybody_looked_was_taken(
    harness: Harness, back: Configuration
) -> None:
    """AWS keeps the latest modification only; that one began from what was asked for."""
    vol = harness.add(volume())
    harness.answers = [Unknown(detail="read time-out")]
    (decision,) = remediate(harness.ports, alarm(vol), harness.now)
    assert isinstance(decision.answer, Act)
    harness.change(vol, decision.answer.plan.target)
    harness.later(hours=25)
    harness.change(vol, back)
    for _ in range(60):
        harness.later(minutes=3)
        sweep(harness.ports, harness.now, scan_every_s=10**9)
    chain = [r.step for r in harness.ledger.chain(decision.decision_id)]
    assert chain == [Step.DECIDED, Step.INTENDED, Step.UNKNOWN, Step.APPLIED, Step.DIVERGED]


def test_a_call_that_never_arrived_is_found_by_what_aws_shows_and_tried_anew(
    harness: Harness,
) -> None:
    vol = harness.add(volume())
    harness.answers = [Unknown(detail="connection reset")]
    remediate(harness.ports, alarm(vol), harness.now)
    for _ in range(15):
        harness.later(minutes=1)
        sweep(harness.ports, harness.now, scan_every_s=10**9)
    steps = harness.steps(vol)
    assert steps[:4] == ["act", "intended", "unknown", "not_applied"]
    assert steps[4:7] == ["act", "intended", "applied"]
    assert len(harness.lifecycles["vol-1"].starts) == 1


def test_a_worker_that_vanished_after_its_intent_is_found_by_the_sweep(harness: Harness) -> None:
    vol = harness.add(volume())

    def crash(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    sound, harness.apply = harness.apply, crash  # type: ignore[method-assign,assignment]
    with pytest.raises(KeyboardInterrupt):
        remediate(harness.ports, alarm(vol), harness.now)
    harness.apply = sound  # type: ignore[method-assign]
    assert harness.steps(vol) == ["act", "intended"]
    decided = harness.ledger.resource_state(vol, harness.now).last_decision_id or ""
    for _ in range(60):
        harness.later(minutes=1)
        sweep(harness.ports, harness.now, scan_every_s=10**9)
    first = [r.step for r in harness.ledger.chain(decided)]
    assert first == [Step.DECIDED, Step.INTENDED, Step.UNKNOWN, Step.NOT_APPLIED]
    assert harness.steps(vol).count("applied") == 1
    assert len(harness.lifecycles["vol-1"].starts) == 1


@pytest.mark.parametrize(
    "refusal", [Refusal.DENIED, Refusal.INVALID, Refusal.REGION_QUOTA, Refusal.UNSUPPORTED]
)
def test_a_refusal_time_does_not_clear_is_reported_to_people(
    harness: Harness, refusal: Refusal
) -> None:
    vol = harness.add(volume())
    harness.answers = [Refused(refusal=refusal, code="X", message="no", retry_at=None)]
    remediate(harness.ports, alarm(vol), harness.now)
    assert [step for _, step, _ in harness.messages] == [Step.REFUSED]


def test_a_refusal_gives_its_money_back(harness: Harness) -> None:
    vol = harness.add(volume())
    harness.answers = [Refused(refusal=Refusal.DENIED, code="X", message="no", retry_at=None)]
    remediate(harness.ports, alarm(vol), harness.now)
    assert harness.ledger.resource_state(vol, harness.now).account_increase_usd == 0


def test_the_increase_in_force_is_what_the_price_list_says(harness: Harness) -> None:
    vol = harness.add(volume())
    (decision,) = remediate(harness.ports, alarm(vol), harness.now)
    assert isinstance(decision.answer, Act)
    resource_state = harness.ledger.resource_state(vol, harness.now)
    assert resource_state.resource_increase_usd == decision.answer.plan.price_change_usd
    assert resource_state.enrolment_usd == Decimal("8.00")


@pytest.mark.parametrize(
    ("size", "iops", "base", "counted"),
    [(101, None, "8.08", None), (100, 4_000, "8.00", 5), (100, 3_000, "8.00", 0)],
    ids=["growth frees nothing", "a reduction frees itself", "all of it taken back"],
)
def test_the_owners_own_change_moves_only_what_they_set(
    harness: Harness, size: int, iops: int | None, base: str, counted: int | None
) -> None:
    vol = harness.add(volume())
    remediate(harness.ports, alarm(vol), harness.now)
    added = harness.ledger.resource_state(vol, harness.now).resource_increase_usd
    assert added > 5
    harness.later(hours=4)
    harness.loads["vol-1"] = calm()
    sweep(harness.ports, harness.now)
    raised = harness.view(vol).volume.configuration
    harness.change(vol, replace(raised, size_gib=size) if iops is None else gp3(size, iops, 125))
    remediate(harness.ports, alarm(vol, Claim.MODIFICATION), harness.now)
    known = harness.ledger.resource_state(vol, harness.now)
    assert known.resource_increase_usd == added, "AWS may still refuse it"
    sweep(harness.ports, harness.later(hours=1))
    known = harness.ledger.resource_state(vol, harness.now)
    assert known.enrolment_usd == Decimal(base)
    expected = added if counted is None else Decimal(counted)
    assert known.resource_increase_usd == known.account_increase_usd == expected


def test_what_the_owner_of_a_volume_that_is_off_undoes_counts_no_longer(harness: Harness) -> None:
    vol = harness.add(volume())
    remediate(harness.ports, alarm(vol), harness.now)
    harness.later(hours=4)
    harness.loads["vol-1"] = calm()
    sweep(harness.ports, harness.now)
    assert harness.ledger.resource_state(vol, harness.now).account_increase_usd > 5
    harness.rules = policy(mode=Mode.OFF, tags_may=TagsMay.NARROW)
    harness.later(hours=4)
    harness.change(vol, gp3())
    sweep(harness.ports, harness.later(hours=25))
    known = harness.ledger.resource_state(vol, harness.now)
    assert known.account_increase_usd == known.resource_increase_usd == 0
    assert vol not in harness.ledger.due(harness.now + timedelta(days=400), 10)


def _shown(view: StorageView, ref: ResourceRef) -> StorageView:
    return view


def test_an_owners_change_that_aws_gives_up_moves_nothing(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    vol = harness.add(volume())
    remediate(harness.ports, alarm(vol), harness.now)
    harness.later(hours=4)
    harness.loads["vol-1"] = calm()
    sweep(harness.ports, harness.now)
    before = harness.ledger.resource_state(vol, harness.now)
    view, io2 = harness.view(vol), replace(gp3(100), volume_type=VolumeType.IO2, iops=20_000)
    theirs = modification(
        replace(io2, throughput_mibps=None), state=ModificationState.MODIFYING,
        started_at=harness.now, origin=view.volume.configuration,
    )  # fmt: skip
    for state in (ModificationState.MODIFYING, ModificationState.FAILED):
        seen = replace(view, modification=replace(theirs, state=state))
        monkeypatch.setattr(harness, "view", partial(_shown, seen))
        remediate(harness.ports, alarm(vol, Claim.MODIFICATION), harness.later(minutes=30))
        after = harness.ledger.resource_state(vol, harness.now)
        assert after.enrolment_usd == before.enrolment_usd == 8
        assert after.resource_increase_usd == before.resource_increase_usd
        assert after.owner_configuration == before.owner_configuration
    latest = after.modifications[-1]
    assert latest.started_at == theirs.started_at, "it used a slot"
    assert latest.target == latest.origin


def test_a_paused_account_changes_nothing(harness: Harness) -> None:
    vol = harness.add(volume())
    harness.ledger.pause(None, at=harness.now, who="somebody")
    remediate(harness.ports, alarm(vol), harness.now)
    assert harness.steps(vol) == ["hold"]
    harness.ledger.resume(at=harness.now, who="somebody")
    harness.later(minutes=5)
    sweep(harness.ports, harness.now)
    assert harness.steps(vol)[-1] == "applied"


def test_an_ineffective_change_is_reported_and_the_next_chain_starts_anew(harness: Harness) -> None:
    vol = harness.add(volume())
    harness.rules = policy(max_iops=6000)
    remediate(harness.ports, alarm(vol), harness.now)
    for _ in range(60):
        harness.later(minutes=5)
        target = harness.lifecycles["vol-1"].described(harness.now)
        limit = float(target.iops or 0)
        harness.loads["vol-1"] = activity([limit] * 180, queue=256.0, iops_check=1, io_kib=4)
        sweep(harness.ports, harness.now)
    steps = harness.steps(vol)
    assert steps[:4] == ["act", "intended", "applied", "ineffective"]
    assert "escalate" in steps
    assert steps.count("escalate") == 1


@pytest.mark.parametrize("left", ["unreadable", "later_step"])
def test_a_change_that_is_not_understood_is_left_alone_until_a_person_releases_it(
    harness: Harness, left: str
) -> None:
    vol = harness.add(volume())
    remediate(harness.ports, alarm(vol), harness.now)
    chain = harness.ledger.resource_state(vol, harness.now).open_chain
    assert chain is not None
    sound = harness.ledger

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

    newer = replace(harness.ports, ledger=Newer(), state_store=Newer())  # type: ignore[arg-type]
    harness.later(minutes=30)
    with pytest.raises(ReadFailed, match=f"headroom release {chain.decision_id}"):
        reconcile_now(newer, vol, harness.now, trigger="due")
    assert harness.steps(vol) == ["act", "intended", "applied"]
    sound.release(chain.decision_id, at=harness.now, who="somebody")
    reconcile_now(harness.ports, vol, harness.now, trigger="due")
    assert harness.steps(vol)[:4] == ["act", "intended", "applied", "released"]
    assert len(harness.steps(vol)) > 4


@pytest.mark.parametrize("tags", [(("headroom", "off"),), (("headroom", "observe"),)])
def test_what_headroom_may_no_longer_change_is_reported_once_as_it_is_left(
    harness: Harness, tags: tuple[tuple[str, str], ...]
) -> None:
    vol = harness.add(volume())
    remediate(harness.ports, alarm(vol), harness.now)
    harness.loads[vol.resource_id] = running_free()
    for _ in range(40):
        harness.later(minutes=5)
        sweep(harness.ports, harness.now)
    raised = harness.view(vol).volume.configuration
    assert (raised.iops or 0) > 3_000
    for _ in range(2):
        harness.volumes["vol-1"] = replace(harness.volumes["vol-1"], tags=tags)
        before = len(harness.messages)
        for _ in range(3):
            harness.later(hours=30)
            sweep(harness.ports, harness.now)
            remediate(harness.ports, alarm(vol), harness.now)
        (said,) = [text for _, _, text in harness.messages[before:] if "left as changed" in text]
        assert f"leaves it as it last changed it: {raised}, where you had gp3 100 GiB 3000" in said
        assert "a month more; set yourself what its load needs" in said
        harness.volumes["vol-1"] = replace(harness.volumes["vol-1"], tags=(("headroom", "auto"),))
        harness.later(hours=30)
        remediate(harness.ports, alarm(vol), harness.now)  # again, so that the next time is news


def test_what_its_owner_changed_last_is_not_reported_as_left_by_headroom(harness: Harness) -> None:
    vol = harness.add(volume())
    remediate(harness.ports, alarm(vol), harness.now)
    harness.loads[vol.resource_id] = running_free()
    for _ in range(40):
        harness.later(minutes=5)
        sweep(harness.ports, harness.now)
    harness.later(hours=8)
    harness.change(vol, gp3(100, 16_000, 500))
    harness.volumes["vol-1"] = replace(harness.volumes["vol-1"], tags=(("headroom", "observe"),))
    for _ in range(3):
        harness.later(hours=30)
        sweep(harness.ports, harness.now)
        remediate(harness.ports, alarm(vol), harness.now)
    assert not [text for _, _, text in harness.messages if "left as changed" in text]


@pytest.mark.parametrize(("minutes_ahead", "ours"), [(3, True), (30, False)])
def test_a_lost_answer_is_found_though_the_functions_clock_is_ahead_of_awss(
    harness: Harness, minutes_ahead: int, ours: bool
) -> None:
    vol = harness.add(volume())
    harness.answers = [Unknown(detail="read time-out")]
    (decision,) = remediate(harness.ports, alarm(vol), harness.now)
    assert isinstance(decision.answer, Act)
    here = harness.now
    harness.now = here - timedelta(minutes=minutes_ahead)
    harness.change(vol, decision.answer.plan.target)
    harness.now = here
    for _ in range(4):
        harness.later(minutes=2)
        sweep(harness.ports, harness.now, scan_every_s=10**9)
    assert ("applied" in harness.steps(vol)) is ours
    found = harness.ledger.resource_state(vol, harness.now)
    assert (found.account_increase_usd > 0) is ours
