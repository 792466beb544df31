"""Whatever RDS, its owners and the network do, no call ever breaks what an owner or RDS asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headroom.adapters.rds.shapes import ReportedInstance, instance
from headroom.domain.catalog import catalogue_prices
from headroom.domain.catalog.rds import full_copy
from headroom.domain.policy import Mode
from headroom.domain.resources import Configuration, VolumeActivity
from headroom.ports import ReadFailed
from tests.adapters.rds.service import STORAGE, RdsService, db, refusal
from tests.application.test_databases import ORDERS, Databases, at_the_limit, spending
from tests.builders import ACCOUNT, REGION, activity, database_policy

CLASS = {"DBInstanceClass": "db.r6g.4xlarge"}
OFF, AUTO = ([{"Key": "headroom", "Value": mode}] for mode in ("off", "auto"))
MOST_USD = Decimal(250)


@dataclass
class Watched(RdsService):
    """RDS that checks every call as its owner would, before it takes it."""

    sent: list[tuple[str, datetime]] = field(default_factory=list)
    """Which database was changed, and when."""
    broken: list[str] = field(default_factory=list)
    """What a call broke: raised there, it would be taken for an answer of RDS."""
    harness: Databases | None = None
    after_reconcile: Callable[[int], None] = lambda _: None
    """What somebody else does once such a read was answered."""

    def describe_db_instances(self, **asked: Any) -> Mapping[str, Any]:
        answer = deepcopy(super().describe_db_instances(**asked))
        self.after_reconcile(self.reads)
        return answer

    def modify_db_instance(self, **sent: Any) -> Mapping[str, Any]:
        shape = self.instances[sent["DBInstanceIdentifier"]]
        before = reported(shape).seen.configuration
        self.hold(shape["DBInstanceStatus"] == "available", "it was not available")
        self.hold(shape.get("StorageOperationStatus") is None, "RDS was at work on it")
        self.hold(not shape["PendingModifiedValues"], "somebody's change is applied with ours")
        self.hold(shape["TagList"] == AUTO, "its owner took it out")
        size = sent.get("AllocatedStorage", before.size_gib)
        self.hold(size >= before.size_gib, "it shrinks")
        try:
            return super().modify_db_instance(**sent)
        finally:
            if self.changes and self.changes[-1] is sent:
                self._judge(shape, before)

    def hold(self, true: bool, otherwise: str) -> None:
        if not true:
            self.broken.append(otherwise)

    def _judge(self, shape: dict[str, Any], before: Configuration) -> None:
        assert self.harness is not None
        ledger, now = self.harness.ledger, self.harness.now
        target = reported(shape).seen.target
        if target is None:
            self.broken.append("it used a slot and changed nothing")
            return
        self.hold(not full_copy(before, target), "RDS copies all data")
        prices, base = catalogue_prices(REGION), ledger.resource_state(ORDERS, now).enrolment_usd
        most = prices.monthly(before) if base is None else base + MOST_USD
        self.hold(prices.monthly(target) <= max(most, prices.monthly(before)), "too dear")
        name = shape["DbiResourceId"]
        self.sent.append((name, now))
        day = [at for one, at in self.sent if one == name and at > now - timedelta(hours=24)]
        self.hold(len(day) <= 3, "of four changes a day one is kept for people")
        intended = self.harness.steps(ORDERS).count("intended")
        self.hold(intended >= len(self.sent), "it was not intended on the record first")


def reported(shape: dict[str, Any]) -> ReportedInstance:
    return instance(shape, account_id=ACCOUNT, region=REGION)


def at_work(shape: dict[str, Any]) -> bool:
    return bool(shape["DBInstanceStatus"] != "available" or shape.get("StorageOperationStatus"))


def lands(harness: Databases) -> None:
    shape = harness.service.instances["orders"]
    if shape["DBInstanceStatus"] == "modifying" and set(shape["PendingModifiedValues"]) <= {
        *STORAGE
    }:
        harness.service.optimizes()


def rests(harness: Databases) -> None:
    shape = harness.service.instances["orders"]
    if at_work(shape):
        harness.service.settles()


def grows_by_itself(harness: Databases) -> None:
    shape = harness.service.instances["orders"]
    if not at_work(shape):
        shape["AllocatedStorage"] = -(-11 * shape["AllocatedStorage"] // 10)
        shape["DBInstanceStatus"] = "storage-optimization"


def somebody_raises(harness: Databases) -> None:
    shape = harness.service.instances["orders"]
    if not at_work(shape) and shape["StorageType"] == "gp3":
        shape.update(DBInstanceStatus="modifying")
        shape["PendingModifiedValues"] = {
            **shape["PendingModifiedValues"], "Iops": shape["Iops"] * 11 // 10 + 1,
        }  # fmt: skip


def leaves_pending(harness: Databases) -> None:
    shape = harness.service.instances["orders"]
    if not at_work(shape):
        shape["PendingModifiedValues"] = dict(CLASS)


def window_opens(harness: Databases) -> None:
    shape = harness.service.instances["orders"]
    if not at_work(shape):
        shape["PendingModifiedValues"] = {}


def made_anew(harness: Databases) -> None:
    number = int(harness.service.instances["orders"]["DbiResourceId"].rsplit("-", 1)[-1]) + 1
    harness.service.instances["orders"] = db(DbiResourceId=f"db-{number}", TagList=AUTO)


def tagged(tags: list[dict[str, str]]) -> Callable[[Databases], None]:
    return lambda harness: harness.service.instances["orders"].update(TagList=tags)


def answers(error: Exception | None, *, lost: bool = False) -> Callable[[Databases], None]:
    def say(harness: Databases) -> None:
        harness.service.fails_with, harness.service.times_out = error, lost

    return say


def loaded(load: Callable[[], VolumeActivity]) -> Callable[[Databases], None]:
    return lambda harness: harness.loads.update(orders=load())


def after_read(change: Callable[[Databases], None], nth: int) -> Callable[[Databases], None]:
    """Somebody does that between two reads of ours, perhaps between deciding and acting.

    The first read decides, the second is the one before the call is recorded; nobody can know what
    comes after the third, just before the call.
    """

    def plan(harness: Databases) -> None:
        wanted = harness.service.reads + nth

        def after(number: int) -> None:
            if number == wanted:
                change(harness)

        assert isinstance(harness.service, Watched)
        harness.service.after_reconcile = after

    return plan


EARLY = refusal(
    "InvalidParameterCombination",
    "You can't currently modify the storage of this DB instance because the previous storage "
    "change is being optimized.",
)
RACES = tuple(
    after_read(change, nth)
    for change in (leaves_pending, grows_by_itself, somebody_raises, tagged(OFF), made_anew)
    for nth in (1, 2)
)
MOVES: tuple[Callable[[Databases], None], ...] = (
    lands, lands, rests, rests, grows_by_itself, somebody_raises, leaves_pending, window_opens,
    made_anew, tagged(OFF), tagged(AUTO), tagged(AUTO),
    answers(None, lost=True), answers(TimeoutError("connect")), answers(EARLY),
    answers(refusal("Throttling")), answers(refusal("InternalFailure", status=500)),
    loaded(spending), loaded(lambda: at_the_limit(12_000.0)),
    loaded(lambda: at_the_limit(20_000.0)),
    loaded(lambda: activity([200.0] * 180, iops_check=None, mibps_check=None, balance=99.0)),
    *RACES,
)  # fmt: skip
SEQUENCES = st.lists(
    st.tuples(st.sampled_from(MOVES), st.sampled_from([1, 4, 11, 16, 65, 400, 1_500])),
    min_size=4,
    max_size=24,
)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(RACES), SEQUENCES)
def test_no_call_breaks_what_the_owner_or_rds_asked_for(
    first: Callable[[Databases], None], sequence: list[tuple[Callable[[Databases], None], int]]
) -> None:
    harness = Databases.of(spending())
    harness.rules = database_policy(
        mode=Mode.OBSERVE, max_iops=64_000, max_throughput_mibps=4_000, largest_step=16.0
    )
    watched = Watched(instances={"orders": db(DbiResourceId="db-1", TagList=AUTO)})
    watched.harness = harness
    harness.service = watched
    for name in ("_rds", "_modify"):
        setattr(harness.rds, name, watched)
    harness.rds._reads._rds = watched
    for move, minutes in [(first, 1), *sequence]:
        move(harness)
        harness.later(minutes=minutes)
        with suppress(ReadFailed):  # RDS moved between two reads: it is read again
            harness.reconcile_due()
        assert watched.broken == []
