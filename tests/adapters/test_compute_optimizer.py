"""Compute Optimizer's recommendations are read as documented, page by page, and fail in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from headroom.adapters.compute_optimizer import (
    ACTIONS,
    ComputeOptimizer,
    NotEnrolled,
    Recommendation,
    RecommendedStorage,
)
from headroom.ports import ReadFailed
from tests.adapters.optimizer import (
    DATABASES,
    GP3,
    VOLUMES,
    answering,
    database,
    saving,
    storage,
    volume,
)
from tests.builders import ACCOUNT, NOW, REGION, ref

GP2 = storage("gp2", 100, 300, 128)


@contextmanager
def optimizer(*answers: Any) -> Iterator[ComputeOptimizer]:
    with answering(*answers) as client:
        yield ComputeOptimizer(client)


def page(*shapes: dict[str, Any], **more: Any) -> tuple[str, dict[str, Any]]:
    return VOLUMES, {"volumeRecommendations": list(shapes), **more}


def of_databases(*shapes: dict[str, Any], **more: Any) -> tuple[str, dict[str, Any]]:
    return DATABASES, {"rdsDBRecommendations": list(shapes), **more}


def test_a_volume_is_read_with_its_best_option_and_the_saving_after_discounts() -> None:
    shape = volume("vol-1", GP3, storage("gp3", 100, 4_000, 125), now=GP2)
    shape["volumeRecommendationOptions"].reverse()  # the rank counts, not the place
    with optimizer(page(shape)) as found:
        assert found.volumes().by_arn == {
            ref().arn: Recommendation(
                finding="NotOptimized",
                made_for=RecommendedStorage(
                    volume_type="gp2", size_gib=100, iops=300, throughput_mibps=128
                ),
                target=RecommendedStorage(
                    volume_type="gp3", size_gib=100, iops=3_000, throughput_mibps=125
                ),
                risk=1.0, saving_usd=Decimal("3.2"), after_discounts=True, lookback_days=14.0,
                refreshed_at=NOW - timedelta(hours=20),
            )
        }  # fmt: skip


def test_a_database_is_read_by_its_storage_and_a_member_stands_for_its_cluster() -> None:
    gp3 = {"storageType": "gp3", "allocatedStorage": 500, "iops": 12_000, "storageThroughput": 500}
    shapes = (
        database("db:orders", {"storageType": "gp2", "allocatedStorage": 500}, gp3),
        database("db:member-1", {"storageType": "aurora"}, {"storageType": "aurora-iopt1"},
                 dbClusterIdentifier="shop"),
        database("db:member-2", {"storageType": "aurora"}, dbClusterIdentifier="shop"),
        {"resourceArn": "arn:aws:rds:us-east-1:1:db:classes", "instanceFinding": "Optimized"},
    )  # fmt: skip
    with optimizer(of_databases(*shapes)) as found:
        known = found.databases().by_arn
    place = f"arn:aws:rds:{REGION}:{ACCOUNT}"
    assert known.keys() == {f"{place}:db:orders", f"{place}:cluster:shop"}
    orders, shop = known[f"{place}:db:orders"], known[f"{place}:cluster:shop"]
    assert orders.target == RecommendedStorage(
        volume_type="gp3", size_gib=500, iops=12_000, throughput_mibps=500
    )
    assert (orders.saving_usd, orders.after_discounts) == (Decimal("4.0"), False)
    assert shop.target == RecommendedStorage(volume_type="aurora-iopt1")


def test_every_page_is_read_once() -> None:
    pages = (
        page(volume("vol-1"), nextToken="a"), page(volume("vol-2"), nextToken="b"),
        page(volume("vol-3"), nextToken="b"),
    )  # fmt: skip
    with optimizer(*pages) as found:
        assert len(found.volumes().by_arn) == 3


@pytest.mark.parametrize("method", ["volumes", "databases"])
def test_one_resource_is_asked_for_by_its_arn_and_may_be_unknown(method: str) -> None:
    call = {"volumes": VOLUMES, "databases": DATABASES}[method]
    with optimizer((call, "ResourceNotFoundException")) as found:
        assert getattr(found, method)(ref().arn).by_arn == {}
    with optimizer(
        (call, {"errors": [{"identifier": ref().arn, "message": "too young"}]})
    ) as found:
        assert getattr(found, method)(ref().arn).missing == {ref().arn: "too young"}


@pytest.mark.parametrize(
    ("code", "error"),
    [("OptInRequiredException", NotEnrolled), ("AccessDeniedException", ReadFailed),
     ("ThrottlingException", ReadFailed), ("ResourceNotFoundException", ReadFailed)],
)  # fmt: skip
def test_what_cannot_be_read_says_why(code: str, error: type[Exception]) -> None:
    with optimizer((VOLUMES, code)) as found, pytest.raises(error):
        found.volumes()


def test_what_is_not_as_documented_hides_nothing_else() -> None:
    strange = volume("vol-odd", now={"volumeSize": 5})
    with optimizer(page(strange, volume("vol-1"))) as found:
        known = found.volumes()
    assert ref().arn in known.by_arn
    assert "not as documented" in known.missing[ref("vol-odd").arn]


def test_arns_of_other_partitions_are_those_that_headroom_writes() -> None:
    shape = volume("vol-1") | {"volumeArn": ref().arn.replace("aws", "aws-us-gov", 1)}
    with optimizer(page(shape)) as found:
        assert found.volumes().by_arn.keys() == {ref().arn}


def test_a_saving_in_another_currency_is_left_out() -> None:
    shape = volume("vol-1", GP3)
    option = shape["volumeRecommendationOptions"][0]
    option |= {"savingsOpportunityAfterDiscounts": saving(20.0, "CNY")}
    option |= {"savingsOpportunity": saving(25.0, "CNY")}
    with optimizer(page(shape)) as found:
        assert found.volumes().by_arn[ref().arn].saving_usd is None


def test_it_calls_what_it_names() -> None:
    called: list[str] = []

    def note(model: Any, **_: object) -> None:
        called.append(f"{model.service_model.service_name}:{model.name}")

    with answering(page(), of_databases()) as client:
        client.meta.events.register_first("before-parameter-build", note)
        one = ComputeOptimizer(client)
        one.volumes()
        one.databases()
        client.meta.events.unregister("before-parameter-build", note)
    assert called == [*ACTIONS]
