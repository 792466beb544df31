"""A law for clusters: no change of mode is sent that its owner, AWS or somebody's pending change forbids.

Random weeks: loads, tags, policies, pauses, people who switch by hand or leave changes pending, answers
that are lost, refusals and reads that fail. What may be sent is derived anew from the world, not from the
decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from headroom.domain.policy import Mode, Rule, Selector
from headroom.domain.resources import GATE, Kind
from headroom.domain.state import broken_link
from headroom.ports import ReadFailed
from tests.adapters.aurora.service import GATE_SHUT, AuroraService, orders
from tests.adapters.rds.service import refusal
from tests.application.test_reconcile_cluster import BUSY, ORDERS, QUIET, Clusters
from tests.builders import policy

TAGS: tuple[list[dict[str, str]], ...] = (
    [{"Key": "headroom", "Value": "auto"}],
    [{"Key": "headroom", "Value": "observe"}],
    [],
)
RULES = (
    policy(),
    policy(mode=Mode.AUTO),
    replace(
        policy(),
        rules=(Rule(selector=Selector(kind=Kind.AURORA), settings=(("mode", Mode.AUTO),)),),
    ),
    policy(mode=Mode.OFF),
)


@dataclass
class Ruled(AuroraService):
    """RDS that keeps the gate, and a note of every call with why it should not have come."""

    harness: Any = None
    switched_at: datetime | None = None
    wrong: tuple[str, ...] = ()

    def modify_db_cluster(self, **sent: Any) -> Mapping[str, Any]:
        now, there = self.harness.now, self.cluster.get("StorageType", "aurora")
        others = dict(self.cluster.get("PendingModifiedValues") or {})
        enrolled = self.harness.rules is RULES[2] or self.cluster["TagList"] == TAGS[0]
        for amiss, what in (
            (not enrolled, "nobody enrolled it"),
            (self.harness.rules is RULES[3] and self.cluster["TagList"] != TAGS[0], "off"),
            (self.harness.paused, "paused"),
            (bool(others), f"{others} pending"),
            (self.cluster["Status"] != "available", self.cluster["Status"]),
            (sent["StorageType"] == there, "it is there"),
            (set(sent) != {"DBClusterIdentifier", "StorageType", "ApplyImmediately"}, str(sent)),
        ):
            if amiss:
                self.wrong += (what,)
        gate = self.switched_at
        if sent["StorageType"] == "aurora-iopt1" and gate is not None and now < gate + GATE:
            raise refusal("StorageTypeNotAvailableFault", GATE_SHUT)
        answer = super().modify_db_cluster(**sent)
        self.settle()
        return answer

    def settle(self) -> None:
        """The mode changes at once; AWS remembers when it became I/O-Optimized."""
        if "StorageType" in (self.cluster.get("PendingModifiedValues") or {}):
            self.lands()
            self.remember()

    def remember(self) -> None:
        if self.cluster.get("StorageType") == "aurora-iopt1":
            self.switched_at = self.harness.now
            self.cluster["IOOptimizedNextAllowedModificationTime"] = self.harness.now + GATE


class World(Clusters):
    """The harness with such an RDS."""

    paused = False

    @classmethod
    def begun(cls) -> World:
        made = cls.of()
        made.service = Ruled(cluster=orders(), harness=made)
        made.aurora._rds = made.aurora._modify = made.service  # type: ignore[assignment]
        made.aurora._beside._rds = made.service  # type: ignore[assignment]
        return made

    def step(self, what: str, value: int) -> None:
        service = self.service
        assert isinstance(service, Ruled)
        match what:
            case "load":
                self.days.ios_a_day = [list(BUSY), list(QUIET), [None] * 16][value % 3]
            case "tags":
                service.cluster["TagList"] = TAGS[value % 3]
            case "rules":
                self.rules = RULES[value % 4]
            case "pause":
                self.paused = value % 2 == 0
                if self.paused:
                    self.ledger.pause(self.now + timedelta(days=90), at=self.now, who="alice")
                else:
                    self.ledger.resume(at=self.now, who="alice")
            case "pending":
                pending = [{}, {"EngineVersion": "16.6"}, {"StorageType": "aurora-iopt1"}][
                    value % 3
                ]
                service.cluster["PendingModifiedValues"] = pending
            case "status":
                service.cluster["Status"] = ["available", "backing-up"][value % 2]
            case "by hand":
                to = ["aurora", "aurora-iopt1"][value % 2]
                shut = service.switched_at is not None and self.now < service.switched_at + GATE
                if service.cluster.get("StorageType", "aurora") != to and not (
                    to == "aurora-iopt1" and shut
                ):
                    service.cluster["StorageType"] = to
                    service.remember()
            case "lost answer":
                service.times_out = True
            case "refusal":
                service.fails_with = refusal(["Throttling", "AccessDenied"][value % 2])
            case "silence":
                service.fails_with = TimeoutError("connect timed out")
            case _:
                self.later(hours=[1, 6, 24, 72][value % 4])

    def try_reconcile(self) -> None:
        with suppress(ReadFailed):
            self.reconcile()


STEPS = st.tuples(
    st.sampled_from(
        ["load", "load", "tags", "rules", "pause", "pending", "status", "by hand", "lost answer",
         "refusal", "silence", "time", "time", "time", "time", "time"]
    ),
    st.integers(0, 11),
)  # fmt: skip


@example([("tags", 1), ("load", 0), ("time", 0)], True)
@example([("pause", 0), ("load", 0), ("time", 0)], True)
@example([("pending", 1), ("load", 0), ("time", 0)], True)
@example([("status", 1), ("load", 0), ("time", 0)], True)
@example([("by hand", 1), ("by hand", 0), ("load", 0), ("time", 2)], True)
@given(st.lists(STEPS, min_size=5, max_size=40), st.booleans())
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_nothing_is_sent_that_anybody_forbids_and_nothing_stays_open(
    script: list[tuple[str, int]], quiet: bool
) -> None:
    world = World.begun()
    if quiet:  # enrolled before there is anything to do
        world.days.ios_a_day = list(QUIET)
        world.try_reconcile()
    service = world.service
    assert isinstance(service, Ruled)
    for what, value in script:
        world.step(what, value)
        world.try_reconcile()
        service.settle()
        assert service.wrong == ()
    forward = [c for c in service.changes if c["StorageType"] == "aurora-iopt1"]
    days = (world.now - ORDERS_BEGAN).days
    assert len(forward) <= 1 + days // GATE.days
    service.fails_with, service.times_out = None, False
    service.cluster.update(PendingModifiedValues={}, Status="available")
    for _ in range(12):
        world.later(minutes=20)
        world.try_reconcile()
    assert service.wrong == ()
    resource_state = world.ledger.resource_state(ORDERS, world.now)
    assert resource_state.open_chain is None
    assert resource_state.resource_increase_usd == resource_state.account_increase_usd
    for record in world.ledger.by_resource(
        ORDERS.arn, since=ORDERS_BEGAN - timedelta(days=1), until=world.now + timedelta(days=1)
    ):
        assert broken_link(world.ledger.chain(record.decision_id)) is None


ORDERS_BEGAN = World.begun().now
