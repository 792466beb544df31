"""Volumes that share an instance: what one was raised for is not bought again by another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import pytest

from headroom.application import sweep
from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import Act, Decision, Hold
from headroom.domain.policy import Mode
from headroom.domain.resources import Configuration, InstanceActivity, Volume, VolumeActivity
from headroom.domain.state import Step
from headroom.ports import StorageView
from tests.application.harness import Harness, reconcile_now
from tests.builders import activity, gp3, instance, policy, ref, volume

WHO = "arn:aws:iam::123456789012:user/alice"
SET = (("headroom", "auto"), ("headroom:group", "raid"))


class Shared(Harness):
    """All volumes are on one instance."""

    def _set_of(self, vol: Volume) -> tuple[str, ...]:
        return tuple(self.volumes)

    def reconcile(self, name: str) -> Decision:
        decision = reconcile_now(self.ports, ref(name), self.now, trigger="alarm", must_record=True)
        assert decision is not None
        return decision

    def bought(self, name: str) -> Configuration:
        """What the volume is, or becomes once AWS has done what it was asked."""
        starts = self.lifecycles[name].starts
        return self.lifecycles[name].billed(self.now) if starts else gp3()

    def sold(self) -> float:
        return sum(capability(self.bought(name)).sustained_iops for name in self.volumes)


def starving(names: Sequence[str], sustains: int, **rules: object) -> Shared:
    """Volumes that each take all of their 3,000 IOPS and want more."""
    harness = Shared(
        rules=policy(**rules),
        instance=instance(baseline_iops=sustains, baseline_mibps=2_000.0, maximum_iops=sustains),
    )
    for name in names:
        harness.add(volume(ref=ref(name), tags=SET if name.startswith("vol-s") else ()))
    return harness


@pytest.mark.parametrize("minutes", [3, 70, 300])
def test_an_instance_is_sold_once_however_long_aws_takes(minutes: int) -> None:
    """The metrics show nothing new meanwhile: each still takes its 3,000."""
    harness = starving(("vol-1", "vol-2", "vol-3"), 21_000, mode=Mode.AUTO)
    assert isinstance(harness.reconcile("vol-1").answer, Act)
    harness.later(minutes=minutes)
    assert isinstance(harness.reconcile("vol-2").answer, Act)
    assert (harness.bought("vol-1").iops, harness.bought("vol-2").iops) == (12_000, 6_000)
    harness.later(minutes=minutes)
    assert isinstance(harness.reconcile("vol-3").answer, Hold)
    assert harness.sold() == 21_000


def test_a_set_gets_what_the_raise_of_another_volume_leaves() -> None:
    harness = starving(("vol-1", "vol-s1", "vol-s2", "vol-s3", "vol-s4"), 40_000, mode=Mode.AUTO)
    assert isinstance(harness.reconcile("vol-1").answer, Act)
    harness.later(minutes=10)
    assert isinstance(harness.reconcile("vol-s1").answer, Act)
    assert [harness.bought(f"vol-s{n}").iops for n in (1, 2, 3, 4)] == [7_000] * 4
    assert harness.sold() == 40_000


def test_a_set_without_room_waits_for_the_raise_of_another_volume() -> None:
    harness = starving(("vol-1", "vol-s1", "vol-s2", "vol-s3", "vol-s4"), 24_400, mode=Mode.AUTO)
    assert isinstance(harness.reconcile("vol-1").answer, Act)
    harness.later(minutes=10)
    held = harness.reconcile("vol-s1").answer
    assert isinstance(held, Hold)
    assert held.reason.value == "blocked_temporarily"
    assert harness.sold() == 24_000


class Reported(Shared):
    """What the metrics of the instance's volumes add up to, not what the instance serves."""

    extra, late = 0.0, 0

    def activity(
        self, view: StorageView, now: datetime
    ) -> tuple[VolumeActivity, InstanceActivity | None]:
        """More than was taken here, or some minutes late."""
        own, together = super().activity(view, now)
        assert together is not None
        known = [None if v is None else v + self.extra for v in together.iops.values]
        values = (*known[: len(known) - self.late], *[None] * self.late)
        return own, replace(together, iops=replace(together.iops, values=values))


@pytest.mark.parametrize(
    ("names", "most"), [(("vol-1", "vol-2"), 19_000), (("vol-s1", "vol-s2"), 16_000)]
)
def test_beside_a_volume_that_several_instances_share_no_more_is_bought_than_the_instance_sustains(
    names: tuple[str, ...], most: int
) -> None:
    """What the others take is unknown there; one volume's raise still counts for the next."""
    harness = Reported(
        rules=policy(mode=Mode.AUTO),
        instance=instance(baseline_iops=16_000, baseline_mibps=2_000.0, maximum_iops=16_000),
    )
    harness.extra = 15_000.0
    for name in names:
        harness.add(volume(ref=ref(name), tags=SET if name.startswith("vol-s") else ()))
    for _ in range(4):
        sweep(harness.ports, harness.now)
        harness.later(minutes=5)
    assert harness.sold() == most


@pytest.mark.parametrize("late", [0, 3, 12])
def test_a_set_is_sized_by_the_same_minutes_as_what_is_beside_it(late: int) -> None:
    """The metrics of one volume may be later than those of another."""
    harness = Reported(
        rules=policy(mode=Mode.AUTO),
        instance=instance(baseline_iops=20_000, baseline_mibps=2_000.0, maximum_iops=20_000),
    )
    harness.late = late
    for name in ("vol-s1", "vol-s2"):
        harness.add(
            volume(ref=ref(name), tags=SET),
            load=activity(
                [300.0] * 165 + [3_000.0] * 15, queue=[1.0] * 165 + [1_024.0] * 15,
                iops_check=[0.0] * 165 + [1.0] * 15,
            ),
        )  # fmt: skip
    harness.add(volume(gp3(500, 16_000, 500), ref=ref("vol-x")), load=activity([9_000.0] * 180))
    assert isinstance(harness.reconcile("vol-s1").answer, Act)
    assert [harness.bought(name).iops for name in ("vol-s1", "vol-s2")] == [5_500, 5_500]


def test_what_was_approved_is_withdrawn_where_a_smaller_instance_cannot_carry_it() -> None:
    """Also where the volumes' metrics add up to more than the instance can give."""
    harness = Reported(
        rules=policy(mode=Mode.APPROVE),
        instance=instance(baseline_iops=80_000, maximum_iops=80_000),
    )
    for name in ("vol-1", "vol-2"):
        harness.add(volume(ref=ref(name), tags=()))
    asked = harness.reconcile("vol-1")
    assert asked.plan is not None
    assert asked.plan.target.iops == 12_000
    harness.ledger.answer(asked.decision_id, Step.APPROVED, at=harness.now, who=WHO)
    harness.instance = instance(baseline_iops=3_500, maximum_iops=3_500)
    harness.extra = 9_000.0
    for _ in range(4):
        harness.later(minutes=5)
        sweep(harness.ports, harness.now)
    assert harness.bought("vol-1") == gp3()
    said = [text for _, step, text in harness.messages if step is Step.WITHDRAWN]
    assert ["the instance leaves it 3,500 IOPS" in text for text in said] == [True]


def test_what_was_approved_before_another_raise_is_asked_again_as_far_as_it_serves() -> None:
    harness = starving(("vol-1", "vol-2"), 18_000, mode=Mode.APPROVE)
    asked = [harness.reconcile(name) for name in ("vol-1", "vol-2")]
    for decision in asked:
        harness.ledger.answer(decision.decision_id, Step.APPROVED, at=harness.now, who=WHO)
    for _ in range(8):
        harness.later(minutes=1)
        sweep(harness.ports, harness.now)
    iops = sorted((harness.bought(name).iops or 0, name) for name in ("vol-1", "vol-2"))
    (_, second), (most, _) = iops
    assert (most, harness.sold()) == (12_000, 15_000)
    (waiting,) = harness.ledger.waiting(harness.now)
    assert waiting.observation.volume.ref == ref(second)
    assert waiting.plan is not None
    assert waiting.plan.target.iops == 6_000
    said = [text for name, step, text in harness.messages if step is Step.WITHDRAWN]
    assert ["leaves it 6,000 IOPS" in text for text in said] == [True]
