"""Volumes that share an instance: what one was raised for is not bought again by another."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from headroom.application import sweep
from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import Act, Decision, Hold
from headroom.domain.policy import Mode
from headroom.domain.resources import Configuration, Volume
from headroom.domain.state import Step
from tests.application.harness import Harness, reconcile_now
from tests.builders import gp3, instance, policy, ref, volume

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
