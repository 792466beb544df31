from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from headroom.domain.catalog import CATALOGUE_PRICES, PriceTable, catalogue_prices, why_implausible
from headroom.domain.resources import Configuration, PriceUnknown, VolumeType
from tests.builders import gp2, gp3, io


@pytest.mark.parametrize(
    ("region", "configuration", "usd"),
    [
        # AWS Database Blog, 2018: gp2 against io1, us-west-2
        ("us-west-2", gp2(400), "40.00"),
        ("us-west-2", io(VolumeType.IO1, 400, 5000), "375.00"),
        ("us-west-2", io(VolumeType.IO1, 400, 2500), "212.50"),
        ("us-west-2", gp2(834), "83.40"),
        # EBS price list
        ("us-east-1", gp3(400, 3000, 125), "32.00"),
        ("us-east-1", gp3(400, 6000, 250), "52.00"),
        ("us-east-1", io(VolumeType.IO2, 100, 32_000), "2092.50"),
        ("us-east-1", io(VolumeType.IO2, 100, 64_000), "3548.50"),
        ("us-east-1", io(VolumeType.IO2, 100, 65_000), "3580.35"),
        ("ap-northeast-1", gp3(100, 4000, 225), "20.40"),
    ],
)
def test_a_configuration_costs_what_the_price_list_says(
    region: str, configuration: Configuration, usd: str
) -> None:
    assert catalogue_prices(region).monthly(configuration) == Decimal(usd)


def test_an_unknown_region_has_no_price_rather_than_a_guess() -> None:
    with pytest.raises(PriceUnknown, match="mars-1"):
        catalogue_prices("mars-1")


def test_a_type_without_a_price_is_not_free() -> None:
    magnetic = Configuration(
        volume_type=VolumeType.STANDARD, size_gib=10, iops=None, throughput_mibps=None
    )
    with pytest.raises(PriceUnknown):
        catalogue_prices("us-east-1").monthly(magnetic)


def scaled(factor: str, region: str = "us-east-1") -> PriceTable:
    """Prices as of `region`, all the same factor off the catalogue's of us-east-1."""
    by, known = Decimal(factor), catalogue_prices("us-east-1")
    return replace(
        known,
        region=region,
        gib={kind: usd * by for kind, usd in known.gib.items()},
        iops={kind: usd * by for kind, usd in known.iops.items()},
        io2_tier2=known.io2_tier2 * by,
        io2_tier3=known.io2_tier3 * by,
        gp3_mibps=known.gp3_mibps * by,
    )


@pytest.mark.parametrize("region", sorted(CATALOGUE_PRICES))
def test_the_catalogue_believes_itself(region: str) -> None:
    assert why_implausible(catalogue_prices(region)) is None


KNOWN, ELSEWHERE = "us-east-1", "sa-east-1"


@pytest.mark.parametrize(
    ("region", "factor", "believed"),
    [
        (KNOWN, "0.35", False), (KNOWN, "0.66", False), (KNOWN, "0.67", True), (KNOWN, "1", True),
        (KNOWN, "1.5", True), (KNOWN, "1.51", False),
        (ELSEWHERE, "0.2", False), (ELSEWHERE, "0.34", True), (ELSEWHERE, "1", True),
        (ELSEWHERE, "1.9", True), (ELSEWHERE, "3", True), (ELSEWHERE, "3.01", False),
    ],
)  # fmt: skip
def test_prices_are_believed_as_far_as_the_catalogue_knows_the_region(
    region: str, factor: str, believed: bool
) -> None:
    problem = why_implausible(scaled(factor, region))
    assert (problem is None) == believed, problem


SINGLE = [
    *[("gib", kind) for kind in catalogue_prices("us-east-1").gib],
    *[("iops", kind) for kind in catalogue_prices("us-east-1").iops],
    ("io2_tier2", None), ("io2_tier3", None), ("gp3_mibps", None),
]  # fmt: skip


@pytest.mark.parametrize(("part", "kind"), SINGLE)
@pytest.mark.parametrize("usd", ["1024", "-0.04", "0", "Infinity", "NaN"])
def test_one_price_that_cannot_be_right_discredits_the_whole_table(
    part: str, kind: VolumeType | None, usd: str
) -> None:
    table = catalogue_prices("us-east-1")
    wrong: object = Decimal(usd)
    if kind is not None:
        wrong = getattr(table, part) | {kind: wrong}
    problem = why_implausible(replace(table, **{part: wrong}))  # type: ignore[arg-type]
    assert problem is not None
    assert usd.lstrip("-").lower() in problem.lower()


def test_a_type_that_only_the_catalogue_has_is_missed_and_elsewhere_only_gp3_is() -> None:
    def lacking(kind: VolumeType, region: str) -> str | None:
        table = catalogue_prices("us-east-1")
        gib = {k: usd for k, usd in table.gib.items() if k is not kind}
        return why_implausible(replace(table, region=region, gib=gib))

    assert lacking(VolumeType.SC1, "us-east-1") == "it has no price of sc1"
    assert lacking(VolumeType.SC1, "eu-west-9") is None
    assert lacking(VolumeType.GP3, "eu-west-9") == "it has no price of gp3"


def test_io2_tiers_that_become_dearer_are_not_believed() -> None:
    table = catalogue_prices("us-east-1")
    assert "tier to tier" in str(
        why_implausible(replace(table, io2_tier3=table.io2_tier2 * Decimal("1.02")))
    )
