from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError
from moto import mock_aws

from headroom.adapters.prices import PriceList, PriceStore, StoredPriceTable
from headroom.adapters.prices.offers import PriceListUnreadable
from headroom.adapters.prices.rds_offers import ReadDatabases, parse_database_offers
from headroom.adapters.tables import STATE, create_table
from headroom.domain.catalog import catalogue_prices, why_implausible, with_databases
from headroom.domain.catalog.rds import RdsPrices
from headroom.domain.resources import Deployment, Engine, PriceUnknown, VolumeType
from tests.adapters.prices.recorded_offers import RecordedPriceList
from tests.builders import ACCOUNT
from tests.domain.databases import rds

TODAY = date(2026, 11, 21)
GP2, GP3, IO1, IO2 = VolumeType.GP2, VolumeType.GP3, VolumeType.IO1, VolumeType.IO2
OPTION = {"": "Single-AZ", "Multi-AZ-": "Multi-AZ",
          "Multi-AZCluster-": "Multi-AZ (readable standbys)"}  # fmt: skip
FAMILY = {"Storage": "Database Storage", "PIOPS": "Provisioned IOPS",
          "Throughput": "Provisioned Throughput"}  # fmt: skip
UNIT = {"Storage": "GB-Mo", "PIOPS": "IOPS-Mo", "Throughput": "MBPS-Mo"}


def product(
    usage: str, usd: str, *, engine: str = "PostgreSQL", option: str | None = None,
    unit: str | None = None, family: str | None = None, region: str = "us-east-1",
    place: str = "AWS Region", prefix: str = "", begin: str = "0",
    effective: str = "2026-07-01T00:00:00Z",
) -> str:  # fmt: skip
    """One product as GetProducts gives it: a JSON text."""
    deployed = max((p for p in OPTION if usage.startswith(p)), key=len)
    last = usage.rsplit("-", 1)[-1]
    sku = f"{engine}{usage}{usd}".upper().replace("-", "").replace(" ", "")[:16]
    shape = {
        "product": {
            "sku": sku,
            "productFamily": family or FAMILY.get(last, "Database Storage"),
            "attributes": {
                "servicecode": "AmazonRDS", "servicename": "Amazon Relational Database Service",
                "location": "US East (N. Virginia)", "locationType": place, "regionCode": region,
                "usagetype": f"{prefix}RDS:{usage}", "operation": "",
                "databaseEngine": engine, "deploymentOption": option or OPTION[deployed],
            },
        },
        "serviceCode": "AmazonRDS", "version": "20260728000000",
        "publicationDate": "2026-07-28T00:00:00Z",
        "terms": {"OnDemand": {f"{sku}.JRTCKXETXF": {
            "sku": sku, "offerTermCode": "JRTCKXETXF", "effectiveDate": effective,
            "priceDimensions": {f"{sku}.JRTCKXETXF.6YS6EN2CT7": {
                "unit": unit or UNIT.get(last, "GB-Mo"), "beginRange": begin, "endRange": "Inf",
                "description": f"${usd} of {usage}", "rateCode": f"{sku}.JRTCKXETXF.6YS6EN2CT7",
                "appliesTo": [], "pricePerUnit": {"USD": f"{usd}0000000"},
            }},
        }}},
    }  # fmt: skip
    return json.dumps(shape)


SINGLE = [
    product("GP2-Storage", "0.115"), product("GP3-Storage", "0.115"),
    product("GP3-PIOPS", "0.02"), product("GP3-Throughput", "0.08"),
    product("PIOPS-Storage", "0.125"), product("PIOPS", "0.10"),
    product("IO2-PIOPS-Storage", "0.125"), product("IO2-PIOPS", "0.10"),
]  # fmt: skip
STANDBY = [
    product("Multi-AZ-GP2-Storage", "0.23"), product("Multi-AZ-GP3-Storage", "0.23"),
    product("Multi-AZ-GP3-PIOPS", "0.04"), product("Multi-AZ-GP3-Throughput", "0.16"),
    product("Multi-AZ-PIOPS-Storage", "0.25"), product("Multi-AZ-PIOPS", "0.20"),
    product("Multi-AZ-IO2-PIOPS-Storage", "0.25"), product("Multi-AZ-IO2-PIOPS", "0.20"),
]  # fmt: skip


def read(*products: str, region: str = "us-east-1") -> ReadDatabases:
    return parse_database_offers(products, region=region, today=TODAY)


def of(found: ReadDatabases, engine: Engine, deployment: Deployment) -> RdsPrices:
    (one,) = (p for p in found.prices if (p.engine, p.deployment) == (engine, deployment))
    return one


@pytest.mark.parametrize("deployment", [Deployment.SINGLE_AZ, Deployment.MULTI_AZ])
def test_the_list_says_what_the_catalogue_says(deployment: Deployment) -> None:
    found = read(*SINGLE, *STANDBY)
    mine = next(
        p
        for p in catalogue_prices("us-east-1").databases
        if (p.engine, p.deployment) == (Engine.POSTGRESQL, deployment)
    )
    listed = replace(mine, source="price list", read_on=TODAY)
    assert of(found, Engine.POSTGRESQL, deployment) == listed
    assert found.skipped_offers == ()
    assert len(found.prices) == 2


def test_each_engine_has_its_own_price_and_any_stands_in_where_it_has_none() -> None:
    found = read(
        product("GP3-Storage", "0.115", engine="MySQL"),
        product("GP3-Storage", "0.131", engine="Oracle"),
        product("GP3-PIOPS", "0.02", engine="Any"),
        product("GP2-Storage", "0.12", engine="Any"),
    )
    assert of(found, Engine.MYSQL, Deployment.SINGLE_AZ).gib[GP3] == Decimal("0.115")
    oracle = of(found, Engine.ORACLE, Deployment.SINGLE_AZ)
    assert oracle.gib == {GP3: Decimal("0.131"), GP2: Decimal("0.12")}
    assert oracle.iops == {GP3: Decimal("0.02")}
    assert oracle.gp3_mibps is None


DECOYS = {
    "Aurora's storage": product("GP3-Storage", "0.9", engine="Aurora MySQL"),
    "a Local Zone": product("GP3-Storage", "0.9", place="AWS Local Zone"),
    "another Region": product("GP3-Storage", "0.9", region="us-west-2", prefix="USW2-"),
    "a preview": product("GP3-Storage", "0.0"),
    "a longer name": product("GP3-Storage-Preview", "0.9"),
    "a mirror": product("Mirror-GP3-Storage", "0.9", option="Multi-AZ (SQL Server Mirror)"),
    "another deployment": product("GP3-Storage", "0.9", option="Multi-AZ"),
    "another family": product("GP3-Storage", "0.9", family="Storage Snapshot"),
    "a price of the future": product("GP3-Storage", "0.9", effective="2027-01-01T00:00:00Z"),
}


@pytest.mark.parametrize("decoy", DECOYS)
def test_what_only_looks_like_it_changes_nothing(decoy: str) -> None:
    assert read(*SINGLE, DECOYS[decoy]) == read(*SINGLE)


@pytest.mark.parametrize(
    ("strange", "said"),
    [
        (product("GP3-Throughput", "81.92", unit="GiBps-mo"), "priced per 'GiBps-mo'"),
        (product("GP3-Throughput", "0.08", begin="125"), "priced from 125 to Inf only"),
    ],
)
def test_an_unknown_unit_leaves_the_price_unknown(strange: str, said: str) -> None:
    others = [p for p in SINGLE if "GP3-Throughput" not in p]
    found = read(*others, strange)
    assert of(found, Engine.POSTGRESQL, Deployment.SINGLE_AZ).gp3_mibps is None
    assert found.skipped_offers == (f"GP3-Throughput of postgres single-az: {said}",)


def test_two_prices_for_one_thing_are_none() -> None:
    found = read(
        *SINGLE, product("GP3-Storage", "0.2"), product("GP3-Storage", "0.3", engine="Any")
    )
    assert GP3 not in of(found, Engine.POSTGRESQL, Deployment.SINGLE_AZ).gib
    assert found.skipped_offers == (
        "GP3-Storage of postgres single-az: several prices, 0.115, 0.2",
    )


def test_io1_without_a_price_of_its_iops_is_not_sold() -> None:
    found = read(product("PIOPS-Storage", "0.125"), product("GP3-Storage", "0.115"))
    assert of(found, Engine.POSTGRESQL, Deployment.SINGLE_AZ).gib == {GP3: Decimal("0.115")}


def test_a_regions_prefix_and_a_cluster_are_understood() -> None:
    found = read(
        product("Multi-AZCluster-GP3-Storage", "0.414", prefix="APN1-", region="ap-northeast-1"),
        product("Multi-AZCluster-GP3-PIOPS", "0.072", prefix="APN1-", region="ap-northeast-1"),
        region="ap-northeast-1",
    )
    cluster = of(found, Engine.POSTGRESQL, Deployment.CLUSTER)
    assert (cluster.gib, cluster.iops) == ({GP3: Decimal("0.414")}, {GP3: Decimal("0.072")})


@pytest.mark.parametrize("text", ["{}", "not json", '{"product": {"attributes": 7}}'])
def test_what_is_no_product_is_no_list(text: str) -> None:
    with pytest.raises(PriceListUnreadable):
        read(*SINGLE, text)


def test_a_list_without_storage_is_not_believed() -> None:
    with pytest.raises(PriceListUnreadable, match="no prices of RDS storage"):
        read(DECOYS["Aurora's storage"])


def test_a_price_in_the_wrong_unit_costs_its_engine_its_prices_and_nobody_else() -> None:
    wrong = product("GP3-Storage", "117.76", engine="MySQL")
    found = read(*SINGLE, wrong)
    assert [p.engine for p in found.prices] == [Engine.POSTGRESQL]
    assert found.skipped_offers == (
        "mysql single-az: GiB of gp3 costs 117.76 USD, more than 3 times off the 0.115 it should "
        "be about",
    )


class Listed(RecordedPriceList):
    """The EBS list as it was recorded, and these products of RDS."""

    def __init__(self, *databases: str, broken: bool = False) -> None:
        super().__init__()
        self.databases, self.broken = databases, broken

    def get_products(self, **request: Any) -> dict[str, Any]:
        if request["ServiceCode"] != "AmazonRDS":
            return super().get_products(**request)
        if self.broken:
            raise EndpointConnectionError(endpoint_url="https://api.pricing.us-east-1")
        wanted = {f["Field"]: f["Value"] for f in request["Filters"]}
        return {
            "PriceList": [
                text
                for text in self.databases
                if json.loads(text)["product"]["productFamily"] == wanted["productFamily"]
            ]
        }


def test_the_list_is_asked_for_databases_where_they_are_covered_and_nowhere_else() -> None:
    client = Listed(*SINGLE)
    plain = PriceList(lambda: client).read("us-east-1", TODAY)
    assert plain.table.databases == ()
    both = PriceList(lambda: client, databases=True).read("us-east-1", TODAY)
    assert replace(both.table, databases=()) == plain.table
    assert [p.engine for p in both.table.databases] == [Engine.POSTGRESQL]
    assert both.table.source_of(rds(GP3, 300)) == ("price list", date(2026, 7, 28))


@pytest.mark.parametrize("client", [Listed(broken=True), Listed(), Listed("{}")])
def test_a_list_of_databases_that_cannot_be_read_hides_no_price_of_a_volume(client: Listed) -> None:
    read = PriceList(lambda: client, databases=True).read("us-east-1", TODAY)
    assert read.table.databases == ()
    assert read.databases_unread
    assert why_implausible(read.table) is None
    served = with_databases(read.table)
    assert served.source_of(rds(GP3, 300))[0] == "catalogue"
    assert served.monthly(rds(GP3, 300)) == Decimal("34.5")


ENGINES = (
    *SINGLE,
    *(product(part, "0.127", engine="MySQL") for part in ("GP3-Storage", "GP2-Storage")),
)


@dataclass
class Kept:
    """A state table with the prices of Region us-east-1, and the function that reads the list anew."""

    store: PriceStore
    listed: Listed
    now: datetime = datetime(2026, 11, 21, 12, tzinfo=UTC)

    def refresh(self) -> str | None:
        price_list = PriceList(lambda: self.listed, databases=True)
        return StoredPriceTable(self.store, price_list, clock=lambda: self.now).refresh("us-east-1")

    def usd(self, engine: Engine = Engine.MYSQL) -> Decimal:
        """Price of a GiB of gp3 that any function would use now."""
        table = StoredPriceTable(self.store, None, clock=lambda: self.now).table("us-east-1")
        return table.monthly(rds(GP3, 100, engine=engine)) / 100


@pytest.fixture
def kept() -> Iterator[Kept]:
    with mock_aws():
        client = boto3.client(
            "dynamodb",
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )
        client.create_table(**create_table(STATE, "state"))
        yield Kept(PriceStore(client, table="state", account_id=ACCOUNT), Listed(*ENGINES))


@pytest.mark.parametrize(
    ("then", "said"),
    [
        (Listed(broken=True), "GetProducts"),
        (Listed(), "no prices of RDS storage"),
        (Listed(*SINGLE), "not every price of mysql single-az"),
        (Listed(*SINGLE, product("GP2-Storage", "0.127", engine="MySQL")), "of mysql single-az"),
        (
            Listed(*SINGLE, product("GP3-Storage", "130.05", engine="MySQL")),
            "of mysql single-az (passed over: mysql single-az: GiB of gp3 costs 130.05 USD",
        ),
    ],
)
def test_what_a_list_lacks_of_databases_stays_as_it_was_read_last_and_is_asked_for_again(
    kept: Kept, then: Listed, said: str
) -> None:
    assert kept.refresh() is None
    good, kept.listed = kept.listed, then
    kept.now += timedelta(days=1)
    problem = kept.refresh()
    assert problem is not None
    assert problem.startswith("Not all prices of us-east-1 were read anew: ")
    assert said in problem
    assert kept.usd() == Decimal("0.127")
    assert kept.refresh() is None, "asked a moment ago"
    kept.now += timedelta(hours=3)
    assert kept.refresh() == problem
    kept.listed = good
    kept.now += timedelta(hours=3)
    assert kept.refresh() is None
    kept.listed = Listed(broken=True)
    kept.now += timedelta(hours=3)
    assert kept.refresh() is None, "all were read within the day"


def test_prices_of_databases_that_were_not_read_for_thirty_days_are_given_up(kept: Kept) -> None:
    kept.refresh()
    kept.listed = Listed(*SINGLE)
    for _ in range(30):
        kept.now += timedelta(days=1)
        kept.refresh()
        assert kept.usd() == Decimal("0.127")
    kept.now += timedelta(days=1)
    assert kept.refresh() is None
    with pytest.raises(PriceUnknown):
        kept.usd()
    assert kept.usd(Engine.POSTGRESQL) == Decimal("0.115")


def test_a_first_list_without_databases_is_asked_again_within_hours(kept: Kept) -> None:
    good, kept.listed = kept.listed, Listed(broken=True)
    assert kept.refresh()
    kept.listed = good
    kept.now += timedelta(hours=3)
    assert kept.refresh() is None
    assert kept.usd() == Decimal("0.127")


def test_what_an_earlier_release_believed_of_databases_does_not_spoil_a_good_list(
    kept: Kept,
) -> None:
    kept.refresh()
    table = StoredPriceTable(kept.store, None, clock=lambda: kept.now).table("us-east-1")
    dear = [
        replace(each, gib={GP3: Decimal("0.31")}) if each.engine is Engine.MYSQL else each
        for each in table.databases
    ]
    kept.store.keep(replace(table, databases=tuple(dear)), now=kept.now)
    kept.listed = Listed(*SINGLE)
    kept.now += timedelta(days=1)
    assert "mysql" in str(kept.refresh())
    assert kept.usd(Engine.POSTGRESQL) == Decimal("0.115")
    served = StoredPriceTable(kept.store, None, clock=lambda: kept.now).table("us-east-1")
    assert served.source == "price list"


def test_a_price_that_is_no_longer_listed_takes_no_other_with_it(kept: Kept) -> None:
    """gp3 of MySQL is not listed any more, gp2 is; on the 31st day nothing of databases can be read."""
    kept.refresh()
    kept.listed = Listed(*SINGLE, product("GP2-Storage", "0.127", engine="MySQL"))
    for _ in range(30):
        kept.now += timedelta(days=1)
        kept.refresh()
    kept.listed = Listed(broken=True)
    kept.now += timedelta(days=1)
    assert kept.refresh()
    table = StoredPriceTable(kept.store, None, clock=lambda: kept.now).table("us-east-1")
    assert table.monthly(rds(GP2, 100, engine=Engine.MYSQL)) == Decimal("12.7")
    with pytest.raises(PriceUnknown):
        kept.usd()
