"""A database that runs out of space, from the scan to the proof, through RDS's own API."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from headroom.application import sweep
from headroom.application.space import may_run_out_of_space
from headroom.domain.decision import Act, Hold, Reason, space_check
from headroom.domain.policy import Mode
from headroom.domain.resources import VolumeActivity
from headroom.domain.state import Step
from headroom.ports import Glance, StorageView
from tests.adapters.rds.service import refusal
from tests.application.test_databases import ORDERS, Databases, spending
from tests.builders import NOW, activity, database_policy
from tests.domain.filling import Free, filling, free_series, steadily


def calm(free: Free) -> VolumeActivity:
    """A quiet database, free GiB by hours before now."""
    quiet = activity([500.0] * 180, iops_check=None, mibps_check=None, balance=100.0)
    return replace(quiet, free_gib=free_series(free, period_s=60, count=180))


class Filling(Databases):
    """The harness, with the days before beside the last hours."""

    free: Free

    @classmethod
    def at(cls, free: Free, **changes: object) -> Filling:
        made = cls.of(calm(free), **changes)
        made.free = free
        made.rules = database_policy(mode=Mode.AUTO, grow_space=True)
        return made

    def history(self, view: StorageView, now: object) -> VolumeActivity | None:
        past = activity([500.0] * 2880, iops_check=None, mibps_check=None, period_s=300)
        end = self.now
        return replace(past, free_gib=free_series(self.free, period_s=300, count=2880, at=end))


def test_storage_grows_once_before_it_is_full_and_is_seen_to_have() -> None:
    harness = Filling.at(steadily(51.0, 5.0))
    decision = harness.reconcile()
    assert isinstance(decision.answer, Act), decision.summary
    assert decision.answer.reason is Reason.LOW_FREE_SPACE
    (sent,) = harness.service.changes
    assert sent == {
        "DBInstanceIdentifier": "orders", "ApplyImmediately": True, "AllocatedStorage": 577,
    }  # fmt: skip
    harness.later(minutes=12)
    harness.service.optimizes()
    harness.reconcile_due()
    assert harness.steps(ORDERS) == ["act", "intended", "applied"]
    harness.free = lambda hours: 51.0 if hours > 0.1 else 128.0
    harness.loads["orders"] = calm(harness.free)
    harness.later(minutes=5)
    harness.reconcile_due()
    assert harness.steps(ORDERS)[:4] == ["act", "intended", "applied", "relieved"]
    harness.service.settles()
    for _ in range(3):
        harness.later(hours=2)
        harness.reconcile_due()
    assert len(harness.service.changes) == 1


def test_growth_that_brings_no_space_is_reported_and_not_tried_again() -> None:
    harness = Filling.at(steadily(51.0, 5.0))
    harness.reconcile()
    harness.service.settles()
    for _ in range(6):
        harness.later(minutes=15)
        harness.reconcile_due()
    assert harness.steps(ORDERS)[:4] == ["act", "intended", "applied", "ineffective"]
    assert Step.INEFFECTIVE in {step for _, step, _ in harness.messages}
    assert len(harness.service.changes) == 1


def test_a_scan_reconciles_a_database_that_fills_and_at_no_other() -> None:
    view = StorageView(volume=filling().volume, modification=None, instance=None)

    def glanced(free: float | None, filled: float | None = 0.0) -> bool:
        glance = Glance(
            iops_exceeded_minutes=None, throughput_exceeded_minutes=None,
            lowest_burst_balance_percent=None, longest_queue=None, lowest_free_gib=free,
            filled_gib=filled,
        )  # fmt: skip
        return may_run_out_of_space(view, glance)

    assert glanced(90.0, 2.0)  # full within a day
    assert not glanced(100.0, 2.0)
    assert glanced(20.0, 0.1)  # a tenth is free: full within a week
    assert not glanced(20.0, 0.05)
    assert not glanced(20.0)
    assert glanced(2.0)
    assert not glanced(None, None)
    assert not may_run_out_of_space(view, None)


def test_the_next_reconciliation_is_when_space_gets_short_if_that_is_within_a_day() -> None:
    harness = Filling.at(steadily(57.0, 5.0))
    decision = harness.reconcile()
    assert isinstance(decision.answer, Hold)
    at = space_check(decision)
    assert at is not None
    assert timedelta(hours=6) < at - NOW < timedelta(hours=12)
    assert space_check(Filling.at(steadily(90.0, 5.0)).reconcile()) is None


@pytest.mark.parametrize(
    ("free", "limits", "minutes"),
    [
        (lambda h: 300.0 - max(0.0, (0.25 - h) * 900), {}, 10),  # it may be filling: soon
        (steadily(3.0, 5.0), {"max_size_gib": 510}, 15),  # full within a day and blocked
        (lambda _: 20.0, {"max_size_gib": 510}, 360),  # low for good: nobody is in a hurry
        (lambda h: None if h < 2 else 20.0, {}, 360),
        (lambda _: 20.0, {"grow_space": False}, None),
    ],
)
def test_reconciliations_are_as_near_as_the_end_of_space(
    free: Free, limits: dict[str, object], minutes: int | None
) -> None:
    harness = Filling.at(free)
    harness.rules = database_policy(**{"mode": Mode.AUTO, "grow_space": True, **limits})
    at = space_check(harness.reconcile())
    assert at == (None if minutes is None else NOW + timedelta(minutes=minutes))


def test_without_permission_the_owner_is_notified_and_nothing_is_sent() -> None:
    harness = Filling.at(steadily(10.0, 5.0))
    harness.rules = database_policy(mode=Mode.AUTO)
    harness.reconcile()
    assert harness.service.changes == []
    ((whom, step, said),) = harness.messages
    assert (whom, step) == ("orders", Step.DECIDED)
    assert "grow_space" in said
    for _ in range(4):
        sweep(harness.ports, harness.later(minutes=16))
    assert len(harness.messages) == 1


def test_a_lost_answer_to_growth_is_resolved_and_nothing_grows_twice() -> None:
    harness = Filling.at(steadily(51.0, 5.0))
    harness.service.times_out = True
    harness.reconcile()
    assert harness.steps(ORDERS) == ["act", "intended", "unknown"]
    for _ in range(3):
        harness.later(minutes=4)
        harness.reconcile_due()
    harness.service.optimizes()
    harness.free = lambda hours: 51.0 if hours > 0.1 else 128.0
    harness.loads["orders"] = calm(harness.free)
    for _ in range(4):
        harness.later(minutes=15)
        harness.reconcile_due()
    assert harness.steps(ORDERS)[:5] == ["act", "intended", "unknown", "applied", "relieved"]
    assert len(harness.service.changes) == 1


def test_growth_that_comes_too_early_for_rds_is_tried_again_and_nobody_is_notified() -> None:
    harness = Filling.at(steadily(51.0, 5.0))
    harness.service.fails_with = refusal(
        "InvalidParameterCombination",
        "You can't currently modify the storage of this DB instance because the previous storage "
        "change is being optimized.",
    )
    harness.reconcile()
    assert harness.steps(ORDERS) == ["act", "intended", "refused"]
    harness.service.fails_with = None
    harness.later(minutes=16)
    harness.reconcile_due()
    assert len(harness.service.changes) == 1
    assert [step for _, step, _ in harness.messages] == [Step.APPLIED]


def test_what_fills_on_while_rds_works_on_the_growth_is_reported_when_that_is_too_late() -> None:
    harness = Filling.at(steadily(51.0, 5.0))
    harness.reconcile()
    harness.later(minutes=5)
    harness.service.optimizes()
    harness.free = lambda hours: 51.0 if hours > 0.2 else 128.0
    harness.loads["orders"] = calm(harness.free)
    harness.later(minutes=5)
    harness.reconcile_due()
    assert harness.steps(ORDERS)[:4] == ["act", "intended", "applied", "relieved"]
    harness.free = lambda hours: 20.0 + 30.0 * min(hours, 3.5) if hours < 3.5 else 51.0
    harness.loads["orders"] = calm(harness.free)
    harness.later(hours=4)
    harness.reconcile_due()
    assert len(harness.service.changes) == 1  # RDS takes no other now
    (said,) = [text for _, step, text in harness.messages if step is Step.DECIDED]
    assert "in flight too late today" in said


def test_a_database_that_fills_while_our_change_is_open_is_reported_once_and_left_alone() -> None:
    harness = Filling.at(lambda _: 200.0)
    harness.loads["orders"] = replace(spending(), free_gib=calm(harness.free).free_gib)
    harness.reconcile()
    assert harness.steps(ORDERS) == ["act", "intended", "applied"]
    harness.later(minutes=12)
    harness.service.optimizes()
    harness.free = lambda hours: 40.0 + 40.0 * hours
    harness.loads["orders"] = replace(spending(), free_gib=calm(harness.free).free_gib)
    for _ in range(4):
        harness.later(minutes=5)
        assert harness.reconcile_due() is None
    assert len(harness.service.changes) == 1
    assert harness.ledger.resource_state(ORDERS, harness.now).open_chain is not None
    (said,) = [text for _, step, text in harness.messages if step is Step.DECIDED]
    assert "full by" in said


def test_the_last_day_is_news_though_nothing_else_about_it_changed() -> None:
    harness = Filling.at(steadily(6.0, 4.0), MaxAllocatedStorage=510)
    harness.reconcile_due()
    harness.free = steadily(3.0, 4.0)
    harness.loads["orders"] = calm(harness.free)
    harness.later(hours=6)
    harness.reconcile_due()
    assert ["today" in text for _, _, text in harness.messages] == [False, True]
