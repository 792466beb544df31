"""Aurora clusters through the same look, with RDS's adapter on a small RDS and days that are said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from headroom.adapters.aurora import AuroraStorage
from headroom.adapters.every_kind import EveryStorage
from headroom.application.look import look
from headroom.domain.cluster_decision import configuration_of
from headroom.domain.decision import Act, Decision, Reason
from headroom.domain.outcome import Outcome
from headroom.domain.records import Step
from headroom.domain.resources import Configuration, Kind, ResourceRef
from headroom.domain.verdicts import Guardrail
from headroom.ports import Glance, Ports, StorageView
from tests.adapters.aurora_service import AuroraService, Days, orders
from tests.application.stage import Stage
from tests.builders import ACCOUNT, NOW, REGION, policy
from tests.domain.clusters import IO_OPTIMIZED

ORDERS = ResourceRef(kind=Kind.AURORA, account_id=ACCOUNT, region=REGION, resource_id="orders")
BUSY, QUIET = [100e6] * 16, [5e6] * 16


class Clusters(Stage):
    """The stage with Aurora behind its storage."""

    service: AuroraService
    days: Days
    aurora: AuroraStorage

    @classmethod
    def of(cls, *, ios: list[float | None] | None = None, **changes: Any) -> Clusters:
        made = cls(rules=policy())
        made.service = AuroraService(cluster=orders(**changes))
        made.days = Days(ios_a_day=list(BUSY if ios is None else ios))
        made.aurora = AuroraStorage(
            made.service, metrics=made.days, prices=made.days, notes=made.ledger,
            clock=lambda: made.now, account_id=ACCOUNT, region=REGION,
        )  # fmt: skip
        return made

    @property
    def ports(self) -> Ports:
        return replace(super().ports, clusters=self.aurora)

    def fleet(self) -> Iterator[StorageView]:
        return self.aurora.fleet()

    def view(self, ref: ResourceRef) -> StorageView:
        return EveryStorage({Kind.AURORA: self.aurora}).view(ref)

    def glance(self, views: Any, now: datetime) -> dict[str, Glance]:
        return {}

    def apply(
        self, ref: ResourceRef, *, expected: Configuration, seen: datetime | None,
        target: Configuration,
    ) -> Outcome:  # fmt: skip
        return self.aurora.apply(ref, expected=expected, seen=seen, target=target)

    def look(self, trigger: str = "due") -> Decision | None:
        return look(self.ports, ORDERS, self.now, trigger=trigger)

    def decided(self) -> Decision:
        decision = self.look()
        assert decision is not None
        return decision


def blocking(decision: Decision) -> set[Guardrail]:
    return {v.guardrail for judged in decision.judgements for v in judged.blocking}


def test_a_cluster_whose_io_is_most_of_its_bill_is_switched_once_and_seen_in_its_new_mode() -> None:
    stage = Clusters.of()
    decision = stage.decided()
    assert isinstance(decision.answer, Act), decision.summary
    assert decision.answer.reason is Reason.CHEAPER
    assert decision.answer.plan.target == configuration_of(IO_OPTIMIZED)
    assert stage.service.changes == [
        {"DBClusterIdentifier": "orders", "StorageType": "aurora-iopt1", "ApplyImmediately": True}
    ]
    assert stage.steps(ORDERS) == ["act", "intended", "applied"]
    stage.later(minutes=11)
    stage.service.lands(IOOptimizedNextAllowedModificationTime=NOW + timedelta(days=30))
    stage.look()
    assert stage.steps(ORDERS)[:4] == ["act", "intended", "applied", "relieved"]
    assert len(stage.service.changes) == 1
    assert [(step, "is in force" in said) for _, step, said in stage.told] == [
        (Step.APPLIED, False), (Step.RELIEVED, True),
    ]  # fmt: skip
    known = stage.ledger.standing(ORDERS, stage.now).modifications
    assert [(m.by, m.target) for m in known] == [("headroom", configuration_of(IO_OPTIMIZED))]
