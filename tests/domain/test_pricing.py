from __future__ import annotations

from decimal import Decimal

import pytest

from headroom.domain.pricing import PriceUnknown, catalogue_prices
from headroom.domain.resources import Configuration, VolumeType
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
