"""What happens at the wrong moment, or is seen late, is not forgotten and costs nobody money."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal

import pytest

from headroom.application import sweep
from headroom.domain.catalog import PriceTable
from headroom.domain.policy import Mode, PolicyUnreadable, owner_prices
from headroom.domain.resources import Configuration, PriceUnknown, ResourceRef
from headroom.domain.state import Step
from tests.application.harness import Harness, calm, reconcile_now, starving
from tests.application.test_databases import ORDERS, Databases, at_the_limit
from tests.builders import REGION, activity, gp3, policy, volume


class Crash(BaseException):
    """The process is gone."""


def test_a_rollback_asked_for_meanwhile_is_taken_up_minutes_after_a_crash(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harness = Harness()
    vol = harness.add(volume())
    decision = reconcile_now(harness.ports, vol, harness.now, trigger="alarm", must_record=True)
    assert decision is not None
    harness.loads["vol-1"] = calm()
    harness.ledger.request_rollback(decision.decision_id, at=harness.now, who="alice")
    append = harness.ledger.append

    def and_crash(decision_id: str, step: Step, **named: object) -> object:
        append(decision_id, step, **named)  # type: ignore[arg-type]
        raise Crash

    harness.later(hours=3)
    monkeypatch.setattr(harness.ledger, "append", and_crash)
    with pytest.raises(Crash):
        sweep(harness.ports, harness.now)
    monkeypatch.undo()
    assert harness.ledger.resource_state(vol, harness.now).open_chain is None
    for _ in range(7):  # the claim of the worker that died expires first
        sweep(harness.ports, harness.later(minutes=1))
    assert "rolled" in harness.messages[-1][2] or harness.steps(vol)[-1] == "applied"
    assert harness.ledger.resource_state(vol, harness.now + timedelta(minutes=1)).rollback is None


@pytest.mark.parametrize("hours", [3, 30, 24 * 9, 24 * 16, 24 * 400])
def test_a_change_by_its_owner_counts_anew_however_late_it_is_seen(hours: int) -> None:
    """Events lost, scans down: what it cost before the owner made it cheaper counts no more."""
    harness = Harness()
    vol = harness.add(volume(gp3(400, 12_000, 500)), load=calm())
    reconcile_now(harness.ports, vol, harness.now, trigger="alarm", must_record=True)
    dear = harness.ledger.resource_state(vol, harness.now).enrolment_usd
    harness.later(hours=2)
    harness.change(vol, gp3(400, 3_000, 125))
    reconcile_now(harness.ports, vol, harness.later(hours=hours), trigger="due")
    cheap = harness.ledger.resource_state(vol, harness.now).enrolment_usd
    assert dear is not None
    assert cheap == Decimal(32)
    assert cheap < dear


@pytest.mark.parametrize("days", [2, 30])
def test_what_the_owner_changed_while_headroom_was_off_is_theirs(days: int) -> None:
    harness = Harness(rules=policy(mode=Mode.AUTO))
    vol = harness.add(volume(gp3(400, 3_000, 125), tags=()), load=calm())
    reconcile_now(harness.ports, vol, harness.now, trigger="alarm", must_record=True)
    harness.rules = policy(mode=Mode.OFF)
    harness.later(hours=2)
    harness.change(vol, gp3(400, 9_000, 125))
    harness.later(days=1)
    harness.change(vol, gp3(400, 9_000, 250))
    for _ in range(days):
        reconcile_now(harness.ports, vol, harness.later(days=1), trigger="due")
    harness.rules = policy(mode=Mode.AUTO)
    reconcile_now(harness.ports, vol, harness.later(hours=1), trigger="due")
    known = harness.ledger.resource_state(vol, harness.now)
    assert (known.owner_configuration, known.resource_increase_usd) == (gp3(400, 9_000, 250), 0)
    assert known.enrolment_usd == 67
    again = harness.ledger.resource_state(vol, harness.later(days=1))
    reconcile_now(harness.ports, vol, harness.now, trigger="due")
    assert harness.ledger.resource_state(vol, harness.now).enrolment_usd == again.enrolment_usd


@pytest.mark.parametrize(
    "forgotten", [False, True], ids=["known", "forgotten by an earlier release"]
)
def test_headrooms_own_change_of_long_ago_is_never_the_owners(forgotten: bool) -> None:
    harness = Harness()
    vol = harness.add(volume(gp3(400, 3_000, 125)))
    reconcile_now(harness.ports, vol, harness.now, trigger="alarm", must_record=True)
    harness.loads["vol-1"] = calm()
    for _ in range(8):
        sweep(harness.ports, harness.later(minutes=30))
    before = harness.ledger.resource_state(vol, harness.now)
    assert (before.resource_increase_usd > 0, before.open_chain) == (True, None)
    harness.later(days=20)
    reconcile_now(harness.ports, vol, harness.now, trigger="due")
    after = harness.ledger.resource_state(vol, harness.now)
    assert after.owner_configuration == gp3(400, 3_000, 125)
    assert after.resource_increase_usd == before.resource_increase_usd


def test_a_change_by_its_owner_that_no_price_is_known_for_yet_counts_anew_once_one_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harness = Harness()
    vol = harness.add(volume(gp3(400, 12_000, 500)), load=calm())
    reconcile_now(harness.ports, vol, harness.now, trigger="alarm", must_record=True)
    harness.later(hours=2)
    harness.change(vol, gp3(400, 3_000, 125))
    with monkeypatch.context() as without:
        without.setattr(harness, "table", _unknown)
        reconcile_now(harness.ports, vol, harness.later(minutes=5), trigger="due")
    reconcile_now(harness.ports, vol, harness.later(hours=3), trigger="due")
    assert harness.ledger.resource_state(vol, harness.now).enrolment_usd == Decimal(32)


def test_an_increase_that_its_owner_took_back_ends_once_its_price_is_known_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The list had no prices of databases for an hour; those of volumes were there."""
    harness = Databases.of(
        at_the_limit(12_000.0), StorageType="gp3", Iops=12_000, StorageThroughput=500,
        AllocatedStorage=500,
    )  # fmt: skip
    harness.reconcile()
    harness.service.settles()
    harness.loads["orders"] = activity([14_000.0] * 180, iops_check=None, mibps_check=None)
    for _ in range(6):
        harness.reconcile_due()
        harness.later(minutes=10)
    raised = harness.ledger.resource_state(ORDERS, harness.now)
    assert raised.account_increase_usd == raised.resource_increase_usd > 0
    harness.service.instances["orders"].update(Iops=12_000)
    with monkeypatch.context() as without:
        listed = harness.table
        without.setattr(harness, "table", lambda region: replace(listed(region), databases=()))
        harness.reconcile_due()
    harness.later(hours=1)
    harness.reconcile_due()
    after = harness.ledger.resource_state(ORDERS, harness.now)
    assert (after.resource_increase_usd, after.account_increase_usd) == (0, 0)


def test_a_change_by_its_owner_counts_once_the_policy_says_their_discount() -> None:
    rules, harness = policy(discount_percent=50.0), Harness()
    harness.rules = rules
    vol = harness.add(volume(gp3(400, 12_000, 500)), load=calm())
    reconcile_now(harness.ports, vol, harness.now, trigger="alarm", must_record=True)
    before = harness.ledger.resource_state(vol, harness.now)
    harness.later(hours=2)
    harness.change(vol, gp3(400, 3_000, 125))
    harness.rules = PolicyUnreadable(reason="ThrottlingException")
    reconcile_now(harness.ports, vol, harness.later(minutes=5), trigger="due")
    meanwhile = harness.ledger.resource_state(vol, harness.now)
    assert (meanwhile.enrolment_usd, meanwhile.modifications) == (before.enrolment_usd, ())
    harness.rules = rules
    reconcile_now(harness.ports, vol, harness.later(hours=3), trigger="due")
    assert harness.ledger.resource_state(vol, harness.now).enrolment_usd == Decimal(16)


@dataclass
class Repriced(Harness):
    """AWS's list prices are `factor` times those of the catalogue."""

    factor: Decimal = Decimal(1)

    def table(self, region: str) -> PriceTable:
        listed, by = super().table(region), self.factor
        return replace(
            listed, gib={kind: usd * by for kind, usd in listed.gib.items()},
            iops={kind: usd * by for kind, usd in listed.iops.items()},
            gp3_mibps=listed.gp3_mibps * by,
        )  # fmt: skip

    def added(self, vol: ResourceRef, owner: Configuration) -> Decimal:
        """What Headroom added, at the prices that the owner pays now."""
        paid = owner_prices(self.rules, self.volumes["vol-1"], self.table(REGION))
        assert paid is not None
        return paid.monthly(self.view(vol).volume.configuration) - paid.monthly(owner)


@pytest.mark.parametrize(
    ("factor", "discount"), [("1", 0), ("1.1", 0), ("0.9", 0), ("1", 20), ("3", 75)]
)
def test_a_price_or_discount_that_changes_moves_no_limit(factor: str, discount: int) -> None:
    own, limits = gp3(4_000, 3_000, 125), {"price_increase_usd": Decimal(20), "max_iops": 80_000}
    harness = Repriced(rules=policy(**limits))
    vol = harness.add(volume(own), load=calm())
    reconcile_now(harness.ports, vol, harness.now, trigger="due", must_record=True)
    harness.factor = Decimal(factor)
    harness.rules = policy(**limits, discount_percent=float(discount))
    harness.loads["vol-1"] = starving()
    harness.later(hours=20)
    reconcile_now(harness.ports, vol, harness.now, trigger="alarm", must_record=True)
    harness.later(hours=1)
    assert Decimal(19) < harness.added(vol, own) <= 20
    known = harness.ledger.resource_state(vol, harness.now)
    assert abs(known.resource_increase_usd - harness.added(vol, own)) < Decimal("0.001")
    assert known.account_increase_usd == known.resource_increase_usd


@pytest.mark.parametrize("factor", ["0.5", "0.9", "1.1", "2"])
def test_no_drift_of_prices_keeps_a_raise_from_being_given_back(factor: str) -> None:
    harness = Repriced(rules=replace(policy(), account_increase_usd=Decimal("48.28")))
    vol = harness.add(volume())
    reconcile_now(harness.ports, vol, harness.now, trigger="alarm", must_record=True)
    assert harness.ledger.resource_state(vol, harness.now).account_increase_usd == Decimal("48.28")
    harness.loads["vol-1"] = calm()
    harness.rules = replace(
        policy(
            price_increase_usd=Decimal(1), give_back_after_days=0.0,
            relief_value_usd_per_minute=0.00001,
        ),
        account_increase_usd=Decimal(1),
    )  # fmt: skip
    harness.factor = Decimal(factor)
    for _ in range(60):
        sweep(harness.ports, harness.later(minutes=30))
        known = harness.ledger.resource_state(vol, harness.now)
        assert 0 <= known.account_increase_usd == known.resource_increase_usd <= Decimal("48.28")
    assert (harness.view(vol).volume.configuration.iops or 0) < 12_000
    assert known.account_increase_usd == harness.added(vol, gp3())


def _unknown(_: str) -> object:
    raise PriceUnknown("the list did not answer")
