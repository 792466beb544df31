"""When a volume is reconciled again, and that every volume of a fleet has its turn."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from headroom.application import remediate, sweep
from headroom.domain.decision import (
    CLOSE_TO_LIMIT,
    DAILY,
    Act,
    Decision,
    Hold,
    Reason,
    decide,
    next_reconcile_at,
)
from headroom.domain.decision.next_reconcile import UNREPORTED
from headroom.domain.resources import Claim, InstanceActivity, Signal, Volume, VolumeActivity
from headroom.domain.state import HOUR, LoadProfile, ProfileHour, Step, hour_of
from headroom.policy import parse_policy
from headroom.ports import StorageView
from tests.application.harness import Harness, calm, starving
from tests.builders import (
    NOW,
    USD,
    activity,
    decision_input,
    gp3,
    observation,
    ref,
    resource_state,
    volume,
)
from tests.domain.earlier import history

HIGH, LOW = gp3(400, 12_000, 500), gp3(400, 3_000, 125)


def quiet(vol: Volume | None = None, **state_store: object) -> Decision:
    """Nothing binds, and nothing is known of earlier days."""
    seen = observation(vol=vol or volume(LOW))
    return decide(decision_input(seen, stand=resource_state(**state_store), trigger="sweep"))


# --- when the best schedule of the day changes something


@pytest.mark.parametrize(
    ("ahead", "due_in"),
    [
        (timedelta(hours=5), timedelta(hours=5)),
        (timedelta(minutes=60), timedelta(minutes=60)),
        (timedelta(minutes=2), CLOSE_TO_LIMIT),
    ],
)
def test_a_volume_is_reconciled_when_its_best_schedule_changes_something(
    ahead: timedelta, due_in: timedelta
) -> None:
    decision = replace(quiet(), next_change_at=NOW + ahead)
    assert isinstance(decision.answer, Hold)
    assert decision.answer.reason is Reason.NO_PRESSURE
    assert next_reconcile_at(decision) == NOW + due_in


def hours(load: float, count: int = 24) -> list[ProfileHour | None]:
    touched = 20 if load >= 3_000 else 0
    return [
        ProfileHour(load, 1.0, load, 1.0, 60, touched, 3_000.0 if touched else 0.0, 0.0)
    ] * count


@pytest.mark.parametrize(
    ("past", "silent_hours", "again"),
    [
        ([*hours(3_000), *hours(200)], 5, UNREPORTED),
        ([*hours(3_000), *hours(200)], 72, None),  # stopped
        (hours(200), 5, None),
    ],
    ids=["load came before", "stopped for days", "no load ever"],
)
def test_a_volume_that_fell_silent_is_reconciled_each_hour_where_its_load_may_be_due(
    past: list[ProfileHour | None], silent_hours: int, again: timedelta | None
) -> None:
    start = hour_of(NOW) - (len(past) + silent_hours) * HOUR
    profile = LoadProfile(start=start, hours=tuple(past))
    seen = observation(activity([None] * 60), volume(LOW))
    decision = decide(decision_input(seen, stand=resource_state(profile=profile), trigger="due"))
    assert isinstance(decision.answer, Hold)
    assert decision.answer.reason is Reason.NOT_ENOUGH_DATA
    assert next_reconcile_at(decision) == (again and NOW + again)


def test_without_such_a_change_a_quiet_volume_waits_for_the_scans_of_the_fleet() -> None:
    assert next_reconcile_at(quiet()) is None


def test_a_volume_that_may_not_be_changed_is_not_reconciled_for_what_it_might_have_done() -> None:
    watched = replace(quiet(volume(LOW, tags=())), next_change_at=NOW + timedelta(hours=5))
    assert next_reconcile_at(watched) is None


def test_the_earlier_of_two_reasons_to_reconcile_again_counts() -> None:
    dearer = replace(quiet(resource_increase_usd=USD(5)), next_change_at=NOW + timedelta(hours=30))
    assert next_reconcile_at(dearer) == NOW + DAILY
    assert next_reconcile_at(
        replace(dearer, next_change_at=NOW + timedelta(hours=2))
    ) == NOW + timedelta(hours=2)


# --- a give-back from decision to proof, in the harness


class Remembering(Harness):
    """A harness that has metrics of earlier days as well."""

    earlier: VolumeActivity | None = None

    def history(self, view: StorageView, now: datetime) -> VolumeActivity | None:
        return self.earlier


def idle_harness() -> Remembering:
    harness = Remembering()
    harness.add(volume(HIGH), load=activity([300.0] * 180))
    harness.earlier = history(lambda _: 300.0, days=5.2)
    return harness


def test_a_volume_with_too_much_is_found_without_any_alarm_and_lowered_once() -> None:
    harness = idle_harness()
    vol = harness.volumes["vol-1"].ref
    for _ in range(24):
        sweep(harness.ports, harness.now)
        harness.later(minutes=15)
    # The last one says that nothing is left to be done.
    assert harness.steps(vol) == ["act", "intended", "applied", "relieved", "hold"]
    assert harness.lifecycles["vol-1"].described(harness.now) == LOW
    (chain,) = [
        harness.ledger.chain(r.decision_id)
        for r in harness.ledger.by_resource(vol.arn, since=NOW, until=NOW + timedelta(days=1))
        if r.step is Step.RELIEVED
    ]
    assert chain[-1].summary.startswith("in effect, and nothing that was given back is needed: ")


def test_what_was_given_back_too_much_is_raised_again_as_soon_as_aws_lets() -> None:
    harness = idle_harness()
    vol = harness.volumes["vol-1"].ref
    sweep(harness.ports, harness.now)
    assert harness.steps(vol) == ["act", "intended", "applied"]
    harness.loads["vol-1"] = starving()
    while len(harness.lifecycles["vol-1"].starts) < 2 and harness.now < NOW + timedelta(days=1):
        harness.later(minutes=1)
        sweep(harness.ports, harness.now)
    began, raised = harness.lifecycles["vol-1"].starts
    change = harness.lifecycles["vol-1"].modification(harness.now)
    assert change is not None
    assert (change.target.iops or 0) > 3_000
    steps = harness.steps(vol)
    assert steps[3] == "ineffective"
    assert steps[-3:] == ["act", "intended", "applied"]
    summaries = [summary for _, step, summary in harness.messages if step is Step.INEFFECTIVE]
    assert summaries == [summaries[0]]
    assert summaries[0].startswith("gave back too much: ")
    assert "minutes at the limit of 3000 IOPS, lowered from 12000" in summaries[0]
    # AWS takes no other change before the first is completed; five minutes later it is made.
    completed = harness.lifecycles["vol-1"].delays_at(began).completed
    assert raised - began <= completed + CLOSE_TO_LIMIT + timedelta(minutes=1)


def test_pressure_during_a_give_back_is_on_record_before_aws_is_done_with_it() -> None:
    harness = idle_harness()
    vol = harness.volumes["vol-1"].ref
    sweep(harness.ports, harness.now)
    harness.loads["vol-1"] = starving()
    harness.later(minutes=15)
    pressed = Signal(
        event_id="e-1", claim=Claim.PRESSURE, ref=vol, alarm_name="headroom-iops",
        claimed_at=harness.now, muted=False, detail="",
    )  # fmt: skip
    (decision,) = remediate(harness.ports, pressed, harness.now)
    assert harness.steps(vol)[3] == "ineffective"
    assert isinstance(decision.answer, Hold)
    assert decision.answer.reason is Reason.BLOCKED_TEMPORARILY
    assert next_reconcile_at(decision) == harness.now + CLOSE_TO_LIMIT


# --- every volume has its turn


class Counting(Harness):
    """A harness that counts reads of activity: every reconciliation reads it once."""

    def __init__(self) -> None:
        super().__init__()
        self.read: Counter[str] = Counter()

    def activity(
        self, view: StorageView, now: datetime
    ) -> tuple[VolumeActivity, InstanceActivity | None]:
        self.read[view.volume.ref.resource_id] += 1
        return super().activity(view, now)


@pytest.mark.parametrize("every_s", [900, 300, 3_600])
def test_every_volume_is_reconciled_once_a_day_whatever_it_does(every_s: int) -> None:
    harness = Counting()
    for n in range(30):
        harness.add(volume(LOW, ref=ref(f"vol-{n}"), tags=()), load=calm())
    sweep(harness.ports, harness.now, scan_every_s=every_s)  # the first scan reads all of them
    harness.read.clear()
    per_scan = []
    for _ in range(86_400 // every_s):
        harness.later(seconds=every_s)
        per_scan.append(sweep(harness.ports, harness.now, scan_every_s=every_s).reconciled)
    assert harness.read == Counter({f"vol-{n}": 1 for n in range(30)})
    assert max(per_scan) < 10  # spread over the day, not all at midnight


def test_the_first_scan_reconciles_every_volume() -> None:
    harness = Harness()
    for n in range(7):
        harness.add(volume(LOW, ref=ref(f"vol-{n}")), load=calm())
    assert sweep(harness.ports, harness.now).reconciled == 7
    harness.later(minutes=15)
    assert sweep(harness.ports, harness.now).reconciled <= 2


def test_an_act_is_reconciled_again_though_its_outcome_is_lost() -> None:
    decision = decide(decision_input())
    assert isinstance(decision.answer, Act)
    assert next_reconcile_at(decision) == NOW + CLOSE_TO_LIMIT


WAKES = timedelta(hours=22)


@pytest.mark.parametrize(
    ("starts_in", "due_in"),
    [(timedelta(days=40), timedelta(days=40) - WAKES), (timedelta(hours=20), None)],
    ids=["weeks ahead", "in sight already"],
)
def test_a_quiet_volume_is_reconciled_when_a_known_event_comes_within_sight(
    starts_in: timedelta, due_in: timedelta | None
) -> None:
    start = NOW + starts_in
    event = {
        "name": "launch",
        "when": f"once {start:%Y-%m-%d %H:%M} UTC",
        "for": "2h",
        "iops": 2_900,
    }
    known = parse_policy(
        {"version": 1, "known_events": [event], "defaults": {"mode": "auto"}}, source="test"
    )
    decision = decide(decision_input(quiet().observation, rules=known))
    assert next_reconcile_at(decision) == (due_in and NOW + due_in)
    watched = parse_policy({"version": 1, "known_events": [event]}, source="test")
    assert (
        next_reconcile_at(
            decide(decision_input(observation(vol=volume(LOW, tags=())), rules=watched))
        )
        is None
    )


@pytest.mark.parametrize(("days_ago", "daily"), [(6, True), (34, True), (36, False)])
def test_load_that_was_met_in_time_is_looked_for_daily_while_it_may_come_again(
    days_ago: int, daily: bool
) -> None:
    """No limit was touched, so no glance shows trouble: the profile remembers the load."""
    met: list[ProfileHour | None] = [ProfileHour(6_000.0, 90.0, 6_000.0, 90.0, 60, 0, 0.0, 0.0)] * 3
    past = [*met, *hours(200, days_ago * 24)]
    profile = LoadProfile(start=hour_of(NOW) - len(past) * HOUR, hours=tuple(past))
    seen = quiet().observation
    decision = decide(decision_input(seen, stand=resource_state(profile=profile), trigger="due"))
    at = next_reconcile_at(decision)
    assert (at is not None and at <= NOW + timedelta(days=1)) == daily
