"""RDS's refusals in the proving ground, and that what Headroom sends is never one of them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.catalog import cheapest
from headroom.domain.catalog.rds import parameters
from headroom.domain.resources import Configuration, Engine, VolumeType
from headroom.domain.state import Refusal
from headroom.proving.awsrules import ModificationRefused, VolumeLifecycle, refusal_of
from headroom.proving.awsrules.database_request import target_of
from tests.builders import NOW
from tests.domain.catalog.rds.test_reachable import TYPES, origins
from tests.domain.databases import rds

GP2, GP3, IO1, IO2 = VolumeType.GP2, VolumeType.GP3, VolumeType.IO1, VolumeType.IO2


def called(
    origin: Configuration,
    kind: str | None = None,
    size: int | None = None,
    iops: int | None = None,
    mibps: int | None = None,
) -> Configuration:
    return target_of(origin, volume_type=kind, size_gib=size, iops=iops, throughput_mibps=mibps)


@pytest.mark.parametrize(
    ("origin", "call", "fragment"),
    [
        (rds(GP3, 300), (None, 300, 4_000), "can't specify IOPS or storage throughput for engine "
         "postgres and a storage size less than 400"),
        (rds(GP2, 300), ("gp3", None, 3_000, 125), "storage size less than 400"),
        (rds(GP3, 300), (None, 400), "requires iops"),
        (rds(GP3, 300), (None, 400, 3_000), "12000 to 64000"),
        (rds(IO1, 400, 5_000), (None, 500), "specify both the storage size and iops"),
        (rds(IO1, 400, 5_000), (None, None, 6_000), "specify both the storage size and iops"),
        (rds(IO1, 400, 5_000), (None, 400, 20_001), "0.5 to 50 per GiB"),
        (rds(GP2, 400), (None, 399), "smaller than the allocated"),
        (rds(GP2, 400), ("gp9",), "Invalid storage type: gp9"),
        (rds(GP2, 400), (None, None, 3_000), "for storage type gp2"),
        (rds(GP2, 400), ("io2", 400), "requires iops"),
    ],
)  # fmt: skip
def test_rds_refuses_in_its_own_words(
    origin: Configuration, call: tuple[object, ...], fragment: str
) -> None:
    with pytest.raises(ModificationRefused, match=fragment):
        called(origin, *call)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("origin", "call", "target"),
    [
        # What grows by less than a tenth is rounded up.
        (rds(GP2, 500), (None, 510), rds(GP2, 550)),
        (rds(GP2, 500, engine=Engine.SQL_SERVER), (None, 510),
         rds(GP2, 510, engine=Engine.SQL_SERVER)),
        (rds(IO1, 400, 5_000), (None, 400, 5_100), rds(IO1, 400, 5_500)),
        (rds(IO1, 400, 5_000), (None, 400, 4_900), rds(IO1, 400, 4_900)),
        # Throughput that is left out is kept, or the least there is.
        (rds(GP2, 500), ("gp3", 500, 12_000), rds(GP3, 500, 12_000, 500)),
        (rds(GP3, 500, 12_000, 700), (None, 500, 14_000), rds(GP3, 500, 14_000, 700)),
        (rds(GP2, 500, engine=Engine.MYSQL), ("gp3", 500, 40_000),
         rds(GP3, 500, 40_000, 625, engine=Engine.MYSQL)),
        (rds(GP3, 300), ("gp2",), rds(GP2, 300)),
    ],
)  # fmt: skip
def test_rds_rounds_and_fills_in_what_is_left_out(
    origin: Configuration, call: tuple[object, ...], target: Configuration
) -> None:
    assert called(origin, *call) == target  # type: ignore[arg-type]


@settings(max_examples=200, deadline=None)
@given(
    engine=st.sampled_from(list(Engine)),
    data=st.data(),
    kind=st.sampled_from(TYPES),
    iops=st.floats(0, 100_000),
    mibps=st.floats(0, 2_000),
)
def test_what_headroom_sends_leads_to_its_target_and_is_rounded_nowhere(
    engine: Engine, data: st.DataObject, kind: VolumeType, iops: float, mibps: float
) -> None:
    origin = data.draw(st.sampled_from(origins(engine)))
    target = cheapest(origin, kind, iops=iops, mibps=mibps)
    if target is None or target == origin:
        return
    sent = parameters("orders", origin, target)
    found = target_of(
        origin,
        volume_type=str(sent["StorageType"]) if "StorageType" in sent else None,
        size_gib=int(sent["AllocatedStorage"]) if "AllocatedStorage" in sent else None,
        iops=int(sent["Iops"]) if "Iops" in sent else None,
        throughput_mibps=int(sent["StorageThroughput"]) if "StorageThroughput" in sent else None,
    )
    assert found == target


def test_too_soon_and_too_often_share_the_code_of_an_invalid_request_and_not_the_message() -> None:
    lifecycle = VolumeLifecycle(rds(IO1, 400, 5_000), created_at=NOW - timedelta(days=9))
    lifecycle.modify(NOW, size_gib=400, iops=6_000)
    with pytest.raises(ModificationRefused) as early:
        lifecycle.modify(NOW + timedelta(hours=1), size_gib=400, iops=7_000)
    assert early.value.code == "InvalidParameterCombination"
    assert refusal_of(early.value.message) is Refusal.IN_FLIGHT
    for hour in (3, 6, 9):
        lifecycle.modify(NOW + timedelta(hours=hour), size_gib=400, iops=6_000 + 700 * hour)
    with pytest.raises(ModificationRefused) as often:
        lifecycle.modify(NOW + timedelta(hours=12), size_gib=400, iops=20_000)
    assert often.value.code == "InvalidParameterCombination"
    assert refusal_of(often.value.message) is Refusal.SLOTS
    with pytest.raises(ModificationRefused) as wrong:
        lifecycle.modify(NOW + timedelta(hours=30), size_gib=400, iops=90_000)
    assert refusal_of(wrong.value.message) is Refusal.INVALID
