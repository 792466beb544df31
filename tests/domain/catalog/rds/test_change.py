from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.catalog import cheapest
from headroom.domain.catalog.rds import flushed, parameters
from headroom.domain.catalog.rds.change import request
from headroom.domain.resources import Configuration, Deployment, Engine, VolumeType
from tests.builders import gp3
from tests.domain.catalog.rds.test_reachable import TYPES, origins
from tests.domain.databases import rds

GP2, GP3, IO1, IO2 = VolumeType.GP2, VolumeType.GP3, VolumeType.IO1, VolumeType.IO2
SQL, CLUSTER = Engine.SQL_SERVER, Deployment.CLUSTER


@pytest.mark.parametrize(
    ("origin", "target", "sent"),
    [
        # Below the threshold nothing may be set, not even by its own name.
        (rds(GP2, 300), rds(GP3, 300), {"StorageType": "gp3"}),
        (rds(GP3, 300), rds(GP3, 330), {"AllocatedStorage": 330}),
        # Above it everything goes along.
        (rds(GP2, 500), rds(GP3, 500, 12_000, 500),
         {"StorageType": "gp3", "AllocatedStorage": 500, "Iops": 12_000,
          "StorageThroughput": 500}),
        (rds(GP3, 500, 12_000, 500), rds(GP3, 500, 12_000, 700),
         {"AllocatedStorage": 500, "Iops": 12_000, "StorageThroughput": 700}),
        (rds(GP3, 300), rds(GP3, 400, 12_000, 500),
         {"AllocatedStorage": 400, "Iops": 12_000, "StorageThroughput": 500}),
        (rds(IO1, 400, 5_000), rds(IO1, 440, 5_000), {"AllocatedStorage": 440, "Iops": 5_000}),
        (rds(IO1, 400, 5_000), rds(GP2, 400), {"StorageType": "gp2"}),
        (rds(GP3, 100, 3_000, 125, engine=SQL), rds(GP3, 100, 6_000, 250, engine=SQL),
         {"AllocatedStorage": 100, "Iops": 6_000, "StorageThroughput": 250}),
    ],
)  # fmt: skip
def test_a_change_is_sent_with_all_it_must_and_nothing_it_must_not_have(
    origin: Configuration, target: Configuration, sent: dict[str, object]
) -> None:
    assert dict(parameters("orders", origin, target)) == {
        "DBInstanceIdentifier": "orders", "ApplyImmediately": True, **sent,
    }  # fmt: skip
    assert request("orders", origin, target)[0] == "ModifyDBInstance"


def test_a_cluster_is_changed_as_a_cluster_and_its_throughput_follows() -> None:
    origin = rds(GP3, 500, 12_000, deployment=CLUSTER)
    target = rds(GP3, 500, 16_000, deployment=CLUSTER)
    assert dict(parameters("orders", origin, target)) == {
        "DBClusterIdentifier": "orders", "ApplyImmediately": True,
        "AllocatedStorage": 500, "Iops": 16_000,
    }  # fmt: skip
    assert request("orders", origin, target)[0] == "ModifyDBCluster"


@pytest.mark.parametrize(
    ("origin", "target", "why"),
    [
        (rds(GP3, 300), rds(GP3, 300), "is what it has"),
        (rds(GP3, 300), rds(GP3, 310), "grows to 330 GiB"),
        (rds(GP3, 300), rds(GP3, 300, 4_000, 125), "takes no IOPS setting"),
        (gp3(300), gp3(300, 4_000), "not storage of a database"),
    ],
)
def test_what_rds_would_refuse_or_round_is_never_sent(
    origin: Configuration, target: Configuration, why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        parameters("orders", origin, target)


@settings(max_examples=200, deadline=None)
@given(
    engine=st.sampled_from(list(Engine)),
    data=st.data(),
    kind=st.sampled_from(TYPES),
    iops=st.floats(0, 100_000),
    mibps=st.floats(0, 2_000),
)
def test_what_is_sent_says_all_that_the_target_is(
    engine: Engine, data: st.DataObject, kind: VolumeType, iops: float, mibps: float
) -> None:
    """Read over what was there before, the call gives the target and nothing else."""
    origin = data.draw(st.sampled_from(origins(engine)))
    target = cheapest(origin, kind, iops=iops, mibps=mibps)
    if target is None or target == origin:
        return
    sent = parameters("orders", origin, target)
    assert VolumeType(str(sent.get("StorageType", origin.volume_type))) is target.volume_type
    assert sent.get("AllocatedStorage", origin.size_gib) == target.size_gib
    assert (sent.get("Iops"), sent.get("StorageThroughput")) == (
        target.iops, target.throughput_mibps,
    )  # fmt: skip
    assert ("Iops" in sent) <= ("AllocatedStorage" in sent)


def test_pending_changes_of_others_are_named_before_they_are_flushed() -> None:
    assert flushed({}) == ()
    assert flushed({"DBInstanceClass": "db.r6g.4xlarge", "EngineVersion": None, "Tags": []}) == (
        "DBInstanceClass",
    )
