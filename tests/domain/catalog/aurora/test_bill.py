from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.catalog.aurora import Usage, aurora_prices, bills
from headroom.domain.resources import SERVERLESS, Member, PriceUnknown, StorageMode, units

US, TOKYO = aurora_prices("us-east-1"), aurora_prices("ap-northeast-1")
MILLION = 1_000_000


def members(*pairs: tuple[str, int]) -> tuple[Member, ...]:
    return tuple(Member(instance_class=name, count=count) for name, count in pairs)


def usage(ios: float = 0.0, **changes: object) -> Usage:
    base: dict[str, object] = {
        "members": members(("db.r7g.xlarge", 2)), "storage_gib": 100.0, "ios": ios,
    }  # fmt: skip
    return Usage(**(base | changes))  # type: ignore[arg-type]


def test_the_bill_on_both_sides_is_exact_to_the_cent() -> None:
    found = bills(usage(ios=1_000 * MILLION), US)
    standard, optimized = found.standard, found.io_optimized
    # 2 x 0.553 x 730, 100 x 0.10, 1,000 x 0.20
    assert (standard.instances_usd, standard.storage_usd) == (Decimal("807.38"), Decimal("10"))
    assert (standard.io_usd, standard.total_usd) == (Decimal("200"), Decimal("1017.38"))
    # 2 x 0.719 x 730, 100 x 0.225, no I/O
    assert (optimized.instances_usd, optimized.storage_usd) == (Decimal("1049.74"), Decimal("22.5"))
    assert (optimized.io_usd, optimized.total_usd) == (Decimal("0"), Decimal("1072.24"))
    assert found.saving_usd(StorageMode.STANDARD) == Decimal("-54.86")
    # 242.36 for instances and 12.50 for storage more, at 0.20 a million
    assert found.break_even_ios == pytest.approx(1_274.3 * MILLION)


@pytest.mark.parametrize("region", ["us-east-1", "ap-northeast-1"])
@pytest.mark.parametrize(("count", "gib"), [(1, 10), (2, 50), (2, 100), (3, 200), (6, 400)])
def test_io_optimized_pays_from_about_a_quarter_of_the_bill(
    region: str, count: int, gib: float
) -> None:
    """Coincheck Advent Calendar 2024, and AWS: from about 25 % of the Aurora bill on."""
    prices = aurora_prices(region)
    name = next(iter(prices.hour))
    plain = usage(members=members((name, count)), storage_gib=gib)
    even = bills(plain, prices).break_even_ios
    share = bills(
        usage(members=members((name, count)), storage_gib=gib, ios=even), prices
    ).standard.io_share
    assert 0.23 <= share <= 0.28
    assert round(share, 1) in (0.2, 0.3)


def test_the_rule_of_a_quarter_is_exact_where_storage_is_a_38th_of_the_bill() -> None:
    """I/O > 0.30 x instances + 1.25 x storage, all in Standard: 25 % at 2.63 % of storage."""
    instances, storage = Decimal("0.26") * 730, Decimal("0.0263157894736842")
    gib = float(storage * instances / (Decimal("0.75") - storage) / Decimal("0.10"))
    plain = usage(members=members(("db.r6g.large", 1)), storage_gib=gib)
    even = bills(plain, US).break_even_ios
    at_even = bills(usage(members=plain.members, storage_gib=gib, ios=even), US)
    assert at_even.standard.io_share == pytest.approx(0.25, abs=1e-6)


@given(
    count=st.integers(1, 10), gib=st.floats(0, 20_000), acus=st.floats(0, 128),
    table=st.sampled_from([US, TOKYO]), off=st.floats(0.001, 0.9),
)  # fmt: skip
def test_below_the_break_even_standard_is_cheaper_and_above_it_the_other(
    count: int, gib: float, acus: float, table: object, off: float
) -> None:
    used = {"members": members(("db.r6g.large", count), (SERVERLESS, 1)), "acus": acus,
            "storage_gib": gib}  # fmt: skip
    prices = US if table is US else TOKYO
    even = bills(usage(**used), prices).break_even_ios
    at = [bills(usage(ios=even * f, **used), prices) for f in (1 - off, 1, 1 + off)]
    below, equal, above = (b.saving_usd(StorageMode.STANDARD) for b in at)
    assert below < 0 < above
    assert abs(equal) < Decimal("0.000001")


def test_serverless_has_its_own_uplift_of_a_third() -> None:
    used = usage(members=members((SERVERLESS, 2)), acus=10.0, storage_gib=0.0)
    found = bills(used, US)
    assert found.standard.serverless_usd == Decimal("876")
    assert found.io_optimized.serverless_usd == Decimal("1168")
    assert found.standard.instances_usd == 0


def test_the_uplift_of_each_class_is_read_and_never_assumed() -> None:
    with pytest.raises(PriceUnknown, match=r"no price of db\.r5\.24xlarge for us-east-1"):
        bills(usage(members=members(("db.r5.24xlarge", 1))), US)
    with pytest.raises(PriceUnknown, match="mars-1"):
        aurora_prices("mars-1")


def test_reservations_cover_1_over_1_3_as_much_in_io_optimized() -> None:
    """What is not covered any more is paid, so that the price of changing stays what it was."""
    two = members(("db.r7g.xlarge", 2))
    free, held = bills(usage(), US), bills(usage(reserved=two), US)
    assert held.standard.instances_usd == 0
    before, after = held.covered_percent
    assert before == 100
    assert after == pytest.approx(100 / 1.3, abs=0.05)
    assert held.saving_usd(StorageMode.STANDARD) == pytest.approx(
        free.saving_usd(StorageMode.STANDARD)
    )


def test_reservations_cover_by_units_within_a_family_and_no_other() -> None:
    used = usage(members=members(("db.r6g.large", 4)))
    half = bills(usage(members=used.members, reserved=members(("db.r6g.xlarge", 1))), US)
    assert half.standard.instances_usd == bills(used, US).standard.instances_usd / 2
    other = bills(usage(members=used.members, reserved=members(("db.r7g.xlarge", 9))), US)
    assert other.standard.instances_usd == bills(used, US).standard.instances_usd


def test_reservations_to_spare_make_the_change_cheaper_and_never_a_gain() -> None:
    found = bills(usage(reserved=members(("db.r7g.xlarge", 4))), US)
    assert found.io_optimized.instances_usd == 0
    assert found.standard.instances_usd == 0
    assert found.covered_percent == (100, 100)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("db.r6g.large", 4), ("db.r6g.xlarge", 8), ("db.r5.24xlarge", 192), ("db.t4g.medium", 2)],
)
def test_sizes_have_the_units_in_which_reservations_cover(name: str, expected: float) -> None:
    assert units(name) == expected


@pytest.mark.parametrize("name", ["db.serverless", "db.r6g.huge", "db.r6g.metal"])
def test_a_size_without_units_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="units"):
        units(name)


@given(ios=st.integers(0, 10**13), more_ios=st.integers(1, 10**6), gib=st.floats(0, 1e5))
def test_more_io_never_makes_standard_cheaper(ios: int, more_ios: int, gib: float) -> None:
    less, more = (bills(usage(ios=n, storage_gib=gib), US) for n in (ios, ios + more_ios))
    assert less.standard.total_usd < more.standard.total_usd
    assert less.io_optimized == more.io_optimized
