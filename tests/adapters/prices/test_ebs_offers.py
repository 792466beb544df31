"""From what the Price List API answers to prices: its units, its tiers and its decoys."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from headroom.adapters.prices.ebs_offers import parse_volume_offers
from headroom.adapters.prices.offers import PriceListUnreadable
from headroom.domain.catalog import catalogue_prices, why_implausible
from headroom.domain.resources import PriceUnknown, VolumeType
from tests.adapters.prices.recorded_offers import Change, changed, costing, products, without
from tests.builders import gp2, gp3, io

TODAY = date(2026, 11, 21)
US = "us-east-1"


def read(texts: list[str], region: str = US) -> Any:
    return parse_volume_offers(texts, region=region, today=TODAY)


@pytest.mark.parametrize("region", [US, "ap-northeast-1"])
def test_the_list_says_what_the_catalogue_says_but_for_source_and_date(region: str) -> None:
    listed, known = read(products(region), region).table, catalogue_prices(region)
    assert (listed.source, listed.as_of) == ("price list", date(2026, 11, 18))
    assert (listed.gib, listed.iops) == (known.gib, known.iops)
    assert (listed.io2_tier2, listed.io2_tier3) == (known.io2_tier2, known.io2_tier3)
    assert listed.gp3_mibps == known.gp3_mibps
    assert read(products(region), region).skipped_offers == ()


def test_a_region_that_the_catalogue_lacks_is_priced_to_the_last_digit() -> None:
    table = read(products("eu-central-1"), "eu-central-1").table
    assert table.monthly(gp3(400, 6_000, 250)) == Decimal("62.03")
    assert table.monthly(io(VolumeType.IO2, 100, 65_000)) == Decimal("4296.32")


def test_throughput_is_listed_by_the_gibps_and_bought_by_the_mibps() -> None:
    assert "GiBps-mo" in "".join(products(US))
    assert read(products(US)).table.gp3_mibps == Decimal("0.04")
    in_mibps = changed(products(US), "VolumeP-Throughput.gp3", _per("MiBps-Mo", "0.04"))
    assert read(in_mibps).table.gp3_mibps == Decimal("0.04")


def _per(unit: str, usd: str) -> Change:
    def change(_: dict[str, Any], dimension: dict[str, Any]) -> None:
        dimension |= {"unit": unit, "pricePerUnit": {"USD": usd}}

    return change


@pytest.mark.parametrize(
    ("usage", "attribute", "value"),
    [
        ("EBS:VolumeUsage.gp3", "locationType", "AWS Local Zone"),
        ("EBS:VolumeUsage.gp3", "locationType", "AWS Wavelength Zone"),
        ("EBS:VolumeUsage.gp3", "locationType", "AWS Outposts"),
        ("EBS:VolumeUsage.gp3", "regionCode", "us-gov-west-1"),
        ("EBS:VolumeUsage.gp3", "usagetype", "USE1-LAX1-EBS:VolumeUsage.gp3"),
        ("EBS:VolumeUsage.gp3", "usagetype", "EBS:VolumeUsage.gp3-Outposts"),
        ("EBS:VolumeP-IOPS.io2.tier2", "usagetype", "EBS:VolumeP-IOPS.io2.tier4"),
        ("EBS:VolumeUsage.gp3", "usagetype", "EBS:SnapshotUsage"),
    ],
)
def test_what_is_sold_elsewhere_under_a_similar_name_changes_nothing(
    usage: str, attribute: str, value: str
) -> None:
    def elsewhere(product: dict[str, Any], dimension: dict[str, Any]) -> None:
        product["product"]["attributes"][attribute] = value
        dimension["pricePerUnit"]["USD"] = "9.99"

    decoys = [t for t in changed(products(US), usage, elsewhere) if "9.99" in t]
    assert decoys
    assert read(decoys + products(US)).table == read(products(US)).table


def test_a_preview_at_no_price_makes_nothing_free() -> None:
    free = changed(products(US), "EBS:VolumeUsage.gp3", costing("0.0000000000"))
    assert read(products(US) + free).table == read(products(US)).table
    assert VolumeType.GP3 not in read(free).table.gib


PARTS = [
    ("EBS:VolumeUsage.gp2", VolumeType.GP2),
    ("EBS:VolumeUsage.gp3", VolumeType.GP3),
    ("EBS:VolumeP-IOPS.gp3", VolumeType.GP3),
    ("EBS:VolumeP-Throughput.gp3", VolumeType.GP3),
    ("EBS:VolumeUsage.piops", VolumeType.IO1),
    ("EBS:VolumeP-IOPS.piops", VolumeType.IO1),
    ("EBS:VolumeUsage.io2", VolumeType.IO2),
    ("EBS:VolumeP-IOPS.io2", VolumeType.IO2),
    ("EBS:VolumeP-IOPS.io2.tier2", VolumeType.IO2),
    ("EBS:VolumeP-IOPS.io2.tier3", VolumeType.IO2),
    ("EBS:VolumeUsage.st1", VolumeType.ST1),
    ("EBS:VolumeUsage.sc1", VolumeType.SC1),
]


@pytest.mark.parametrize(("usage", "kind"), PARTS)
def test_a_type_that_lacks_a_part_has_no_price_and_the_others_keep_theirs(
    usage: str, kind: VolumeType
) -> None:
    table = read(without(products(US), usage)).table
    assert set(catalogue_prices(US).gib) - set(table.gib) == {kind}
    assert kind not in table.iops
    what = {VolumeType.GP2: gp2(), VolumeType.GP3: gp3()}.get(kind, io(kind, 200, 2_000))
    with pytest.raises(PriceUnknown, match=f"no {kind} price for {US}"):
        table.monthly(what)
    assert kind.value in str(why_implausible(table)), "refused: the catalogue has that type"


def _in_yuan(_: dict[str, Any], dimension: dict[str, Any]) -> None:
    dimension["pricePerUnit"] = {"CNY": "0.5312"}


def _per_hour(_: dict[str, Any], dimension: dict[str, Any]) -> None:
    dimension["unit"] = "Hrs"


def _first_thousand(_: dict[str, Any], dimension: dict[str, Any]) -> None:
    dimension["endRange"] = "1000"


def _from_the_thousandth(_: dict[str, Any], dimension: dict[str, Any]) -> None:
    dimension["beginRange"] = "1000"


def _of_next_year(product: dict[str, Any], _: dict[str, Any]) -> None:
    (term,) = product["terms"]["OnDemand"].values()
    term["effectiveDate"] = "2027-01-01T00:00:00Z"


def _reserved_only(product: dict[str, Any], _: dict[str, Any]) -> None:
    product["terms"] = {"Reserved": product["terms"]["OnDemand"]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_in_yuan, "priced in CNY"),
        (_per_hour, "priced per 'Hrs'"),
        (_first_thousand, "priced from 0 to 1000 only"),
        (_from_the_thousandth, "priced from 1000 to Inf only"),
        (_of_next_year, None),
        (_reserved_only, None),
    ],
)
def test_a_price_that_is_not_understood_is_no_price(change: Change, said: str | None) -> None:
    found = read(changed(products(US), "EBS:VolumeUsage.gp2", change))
    assert VolumeType.GP2 not in found.table.gib
    assert [f"EBS:VolumeUsage.gp2: {said}"] * bool(said) == list(found.skipped_offers)


def test_two_prices_for_one_thing_are_none() -> None:
    again = changed(products(US), "EBS:VolumeP-IOPS.io2.tier2", costing("0.0500000000"))
    found = read(products(US) + again)
    assert VolumeType.IO2 not in found.table.gib
    assert found.skipped_offers == ("EBS:VolumeP-IOPS.io2.tier2: several prices, 0.0455, 0.05",)


def test_a_price_announced_for_later_is_not_taken_beside_the_one_in_force() -> None:
    def dearer(product: dict[str, Any], dimension: dict[str, Any]) -> None:
        _of_next_year(product, dimension)
        dimension["pricePerUnit"]["USD"] = "0.2"

    announced = changed(products(US), "EBS:VolumeUsage.gp2", dearer)
    assert read(products(US) + announced).table == read(products(US)).table


def test_the_oldest_publication_dates_the_table() -> None:
    def older(product: dict[str, Any], _: dict[str, Any]) -> None:
        product["publicationDate"] = "2026-10-30T23:00:00Z"

    found = read(changed(products(US), "EBS:VolumeUsage.gp2", older))
    assert found.table.as_of == date(2026, 10, 30)


@pytest.mark.parametrize(
    "text",
    ["", "{", "null", "[]", "{}", '{"product": {}}', '{"product": {"attributes": null}}', '"text"'],
)
def test_an_element_that_is_no_product_spoils_the_whole_answer(text: str) -> None:
    with pytest.raises(PriceListUnreadable):
        read([*products(US), text])


@pytest.mark.parametrize("usd", ["", "free", "0,08"])
def test_a_price_that_is_no_number_spoils_the_whole_answer(usd: str) -> None:
    with pytest.raises(PriceListUnreadable):
        read(changed(products(US), "EBS:VolumeUsage.gp3", costing(usd)))


def test_an_answer_about_another_region_is_no_answer() -> None:
    with pytest.raises(PriceListUnreadable, match="no EBS prices of eu-west-1"):
        read(products(US), "eu-west-1")
    assert json.loads(products(US)[0])["product"]["attributes"]["regionCode"] == US
