"""The cheapest storage one change of a database leads to, against everything there is to choose."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from functools import cache
from math import ceil

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from headroom.domain.catalog import cheapest, highest_settings, why_invalid
from headroom.domain.catalog.ebs import capability
from headroom.domain.catalog.rds import RdsPrices, bands, why_refused
from headroom.domain.resources import (
    Configuration,
    Deployment,
    Engine,
    Span,
    ValidStorage,
    VolumeType,
)
from tests.domain.databases import database, rds

GP2, GP3, IO1, IO2 = VolumeType.GP2, VolumeType.GP3, VolumeType.IO1, VolumeType.IO2
TYPES = (GP3, GP2, IO1, IO2)
SIZES = (20, 60, 100, 150, 180, 200, 300, 360, 399, 400, 500, 683, 900, 1_300, 3_000, 5_000)
IOPS_STEP, MIBPS_STEP = 1_000, 125


def prices(engine: Engine) -> RdsPrices:
    """One table for every engine: what is cheapest must not depend on who has a price list."""
    return RdsPrices(
        engine=engine, deployment=Deployment.SINGLE_AZ, as_of=date(2026, 7, 28),
        gib={GP2: Decimal("0.115"), GP3: Decimal("0.115"), IO1: Decimal("0.125"),
             IO2: Decimal("0.125")},
        iops={GP3: Decimal("0.02"), IO1: Decimal("0.10"), IO2: Decimal("0.10")},
        gp3_mibps=Decimal("0.08"),
    )  # fmt: skip


def price(configuration: Configuration) -> Decimal:
    assert configuration.database is not None
    usd = prices(configuration.database.engine).monthly(configuration)
    assert usd is not None
    return usd


def sizes(origin: Configuration, iops: int, mibps: int) -> set[int]:
    """Sizes that may matter: the present one, where a band or a tenth begins, where ratios bind."""
    size = origin.size_gib
    corners = {20, 100, 200, 400, 334, 1_336, ceil(iops / 3), ceil(iops / 50), ceil(iops / 500)}
    corners |= {ceil(iops / 1_000), ceil(mibps * 4 / 500), ceil(mibps * 4 / 50)}
    corners |= {ceil(mibps * 64 / 50), ceil(mibps / 0.256 / 1_000), *SIZES}
    corners |= {ceil(1.1 * (origin.iops or 0) / 50), ceil(1.1 * (origin.iops or 0) / 500)}
    return {size, -(-11 * size // 10), size + 1, *(n for n in corners if n > size)}


def settings_of(
    kind: VolumeType, origin: Configuration, size: int, iops: int, mibps: int
) -> Iterator[Configuration]:
    """Every setting of a grid that holds the corners of the coupling rules."""
    engine = origin.database.engine if origin.database else Engine.MYSQL
    if kind is GP2:
        yield rds(kind, size, engine=engine)
        return
    counts = {
        1_000,
        3_000,
        12_000,
        iops,
        4 * mibps,
        ceil(mibps / 0.256),
        64 * mibps,
        32_001,
        128_001,
        4 * 500,
        4 * 125,
        ceil(size / 2),
        size,
        ceil(1.1 * (origin.iops or 0)),
    }
    counts |= {origin.iops or 1_000, *range(1_000, 20_001, 2_000), *range(20_000, 256_001, 16_000)}
    if kind is not GP3:
        yield from (rds(kind, size, n, engine=engine) for n in counts)
        return
    yield rds(kind, size, engine=engine)
    for n in counts:
        for tput in {125, 500, mibps, ceil(n / 64), n // 4, 625, 1_000, 2_000, 4_000}:
            yield rds(kind, size, n, tput, engine=engine)


def enough(configuration: Configuration, iops: float, mibps: float) -> bool:
    can = capability(configuration)
    return can.sustained_iops >= iops and can.sustained_mibps >= mibps


@cache
def origins(engine: Engine) -> tuple[Configuration, ...]:
    found = []
    for size in SIZES:
        found += [rds(GP2, size, engine=engine), rds(GP3, size, engine=engine)]
        found += [
            rds(GP3, size, n, t, engine=engine)
            for n, t in ((3_000, 125), (12_000, 500), (14_000, 700), (40_000, 1_000))
        ]
        found += [
            rds(k, size, n, engine=engine) for k in (IO1, IO2) for n in (1_000, 5_000, 15_000)
        ]
    return tuple(c for c in found if why_invalid(c) is None)


@pytest.mark.parametrize("engine", list(Engine))
@settings(max_examples=40, deadline=None)
@given(
    data=st.data(),
    kind=st.sampled_from(TYPES),
    iops=st.one_of(st.integers(0, 20), st.integers(0, 260)).map(lambda n: n * IOPS_STEP),
    mibps=st.one_of(st.integers(0, 9), st.integers(0, 130)).map(lambda n: n * MIBPS_STEP),
)
def test_nothing_on_the_grid_that_one_change_reaches_and_is_enough_is_cheaper(
    engine: Engine, data: st.DataObject, kind: VolumeType, iops: int, mibps: int
) -> None:
    origin = data.draw(st.sampled_from(origins(engine)))
    found = cheapest(origin, kind, iops=iops, mibps=mibps)
    rivals = [
        c
        for size in sizes(origin, iops, mibps)
        for c in settings_of(kind, origin, size, iops, mibps)
        if enough(c, iops, mibps) and why_refused(origin, c) is None
    ]
    least = min(rivals, key=price, default=None)
    if found is None:
        assert least is None, str(least)
        return
    assert why_refused(origin, found) is None
    assert enough(found, iops, mibps)
    assert least is None or price(found) <= price(least), f"{found} against {least}"


def smaller(found: Configuration) -> Iterator[Configuration]:
    """The configuration with one GiB, IOPS or MiB/s less, or a MiB/s and its IOPS less."""
    engine = found.database.engine if found.database else Engine.MYSQL
    size, iops, mibps = found.size_gib, found.iops, found.throughput_mibps
    yield rds(found.volume_type, size - 1, iops, mibps, engine=engine)
    if iops is not None:
        yield rds(found.volume_type, size, iops - 1, mibps, engine=engine)
    if iops is not None and mibps is not None:
        yield rds(found.volume_type, size, iops, mibps - 1, engine=engine)
        yield rds(found.volume_type, size, iops - 4, mibps - 1, engine=engine)


@pytest.mark.parametrize("engine", list(Engine))
@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    kind=st.sampled_from(TYPES),
    iops=st.one_of(st.floats(0, 20_000), st.floats(0, 270_000)),
    mibps=st.one_of(st.floats(0, 1_100), st.floats(0, 17_000)),
)
def test_one_unit_less_of_anything_is_not_enough_or_refused(
    engine: Engine, data: st.DataObject, kind: VolumeType, iops: float, mibps: float
) -> None:
    origin = data.draw(st.sampled_from(origins(engine)))
    found = cheapest(origin, kind, iops=iops, mibps=mibps)
    assume(found is not None)
    assert found is not None
    assert why_refused(origin, found) is None
    assert enough(found, iops, mibps)
    assert found.database == origin.database
    for less in smaller(found):
        refused = why_refused(origin, less) is not None or not enough(less, iops, mibps)
        assert refused, f"{less} from {origin}"


@pytest.mark.parametrize(
    ("origin", "kind", "iops", "mibps", "target"),
    [
        # gp3 below the threshold has 3,000 and 125 and no more: the next is four volumes.
        (rds(GP2, 300), GP3, 3_000, 125, rds(GP3, 300)),
        (rds(GP3, 300), GP3, 3_001, 125, rds(GP3, 400, 12_000, 500)),
        (rds(GP3, 390), GP3, 3_001, 125, rds(GP3, 429, 12_000, 500)),
        (rds(GP3, 180, engine=Engine.ORACLE), GP3, 3_001, 125,
         rds(GP3, 200, 12_000, 500, engine=Engine.ORACLE)),
        (rds(GP3, 300, 3_000, 125, engine=Engine.SQL_SERVER), GP3, 3_001, 125,
         rds(GP3, 300, 3_001, 125, engine=Engine.SQL_SERVER)),
        (rds(GP2, 500), GP3, 2_000, 512, rds(GP3, 500, 12_000, 512)),
        # A raise is a tenth at least.
        (rds(GP3, 500, 12_000, 500), GP3, 12_500, 500, rds(GP3, 500, 13_200, 500)),
        (rds(GP2, 800), GP2, 2_500, 0, rds(GP2, 880)),
        # MySQL's throughput follows its IOPS.
        (rds(GP3, 500, 12_000, 500, engine=Engine.MYSQL), GP3, 40_000, 500,
         rds(GP3, 500, 40_000, 625, engine=Engine.MYSQL)),
        # Case D: 15,000 IOPS of io1 need 300 GiB.
        (rds(GP2, 200, engine=Engine.MYSQL), IO1, 15_000, 0,
         rds(IO1, 300, 15_000, engine=Engine.MYSQL)),
        (rds(GP2, 50), IO2, 5_000, 0, rds(IO2, 100, 5_000)),
        (rds(GP2, 500, engine=Engine.ORACLE), IO1, 0, 0,
         rds(IO1, 500, 1_000, engine=Engine.ORACLE)),
        (rds(GP3, 300), GP3, 70_000, 500, None),
        (rds(GP3, 500, 12_000, 500, engine=Engine.DB2), GP2, 100, 0, None),
    ],
)  # fmt: skip
def test_the_cheapest_is_known_for_cases_worked_out_by_hand(
    origin: Configuration, kind: VolumeType, iops: float, mibps: float, target: Configuration | None
) -> None:
    assert cheapest(origin, kind, iops=iops, mibps=mibps) == target


@settings(max_examples=150, deadline=None)
@given(
    engine=st.sampled_from(list(Engine)),
    data=st.data(),
    kind=st.sampled_from(TYPES),
    step=st.sampled_from([1, 7, 100, 1_000]),
    grow=st.sampled_from([1.0, 1.1, 1.5]),
    high=st.sampled_from([5_000, 15_000, 30_000]),
    iops=st.floats(0, 40_000),
    mibps=st.floats(0, 1_200),
)
def test_no_plan_is_outside_what_aws_reports_as_valid(
    engine: Engine, data: st.DataObject, kind: VolumeType, step: int, grow: float, high: int,
    iops: float, mibps: float,
) -> None:  # fmt: skip
    origin = data.draw(st.sampled_from(origins(engine)))
    size = origin.size_gib
    valid = (
        ValidStorage(
            volume_type=kind,
            size_gib=(Span(low=size, high=size), Span(low=ceil(size * grow), high=20_000)),
            iops=(Span(low=1_000, high=high, step=step),),
            mibps=(Span(low=125, high=900),),
        ),
    )
    found = cheapest(origin, kind, iops=iops, mibps=mibps, valid=valid)
    if found is not None:
        assert why_refused(origin, found, valid) is None
        assert enough(found, iops, mibps)
        assert (found.iops is None) or (found.iops - 1_000) % step == 0
        assert (found.iops or 0) <= high
    other = next(k for k in TYPES if k is not kind)
    assert cheapest(origin, other, iops=0, mibps=0, valid=valid) is None


@settings(max_examples=100, deadline=None)
@given(engine=st.sampled_from(list(Engine)), data=st.data(), kind=st.sampled_from(TYPES))
def test_all_that_a_type_has_is_more_than_any_setting_at_that_size(
    engine: Engine, data: st.DataObject, kind: VolumeType
) -> None:
    origin = data.draw(st.sampled_from(origins(engine)))
    found = highest_settings(origin, kind, iops=1e9, mibps=1e9)
    if found is None:
        return
    assert why_refused(origin, found) is None
    assert (found.iops or 0) > 0
    above = rds(kind, found.size_gib, (found.iops or 0) + 1, found.throughput_mibps, engine=engine)
    assert why_refused(origin, above) is not None


def test_no_engine_has_a_type_without_bands_and_none_is_missing() -> None:
    for engine in Engine:
        there = {kind for kind in VolumeType if bands(database(engine), kind)}
        expected = {GP3, GP2, IO1, IO2, VolumeType.STANDARD}
        assert there == expected - ({GP2} if engine is Engine.DB2 else set())
