from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.catalog import included, why_invalid
from headroom.domain.catalog.ebs import capability
from headroom.domain.catalog.ebs.limits import GP2_CREDITS
from headroom.domain.catalog.rds import bands, full_copy, why_refused
from headroom.domain.resources import (
    Configuration,
    Deployment,
    Engine,
    Kind,
    ResourceRef,
    Span,
    ValidStorage,
    VolumeType,
)
from tests.builders import gp3
from tests.domain.databases import STRIPED, database, rds

GP2, GP3, IO1, IO2 = VolumeType.GP2, VolumeType.GP3, VolumeType.IO1, VolumeType.IO2
ORACLE, SQL, MYSQL = Engine.ORACLE, Engine.SQL_SERVER, Engine.MYSQL
DB2, POSTGRES = Engine.DB2, Engine.POSTGRESQL


@pytest.mark.parametrize(
    ("configuration", "fragment"),
    [
        # gp3: nothing to set below the threshold, nothing less than four volumes' worth above.
        (rds(GP3, 20), None),
        (rds(GP3, 399), None),
        (rds(GP3, 399, 12_000, 500), "takes no IOPS setting"),
        (rds(GP3, 19), "20 to 399, 400 to 65536 GiB, not 19"),
        (rds(GP3, 400), "needs its IOPS set"),
        (rds(GP3, 400, 3_000, 125), "12000 to 64000 IOPS"),
        (rds(GP3, 400, 12_000, 499), "500 to 4000 MiB/s"),
        (rds(GP3, 400, 12_000, 500), None),
        (rds(GP3, 400, 12_000, 3_000), None),
        (rds(GP3, 400, 12_000, 3_001), "500 to 4000 MiB/s"),
        (rds(GP3, 400, 64_000, 4_000), None),
        (rds(GP3, 400, 64_001, 4_000), "12000 to 64000"),
        (rds(GP3, 65_537, 12_000, 500), "not 65537"),
        (rds(GP3, 199, engine=ORACLE), None),
        (rds(GP3, 200, engine=ORACLE), "needs its IOPS set"),
        (rds(GP3, 200, 12_000, 500, engine=ORACLE), None),
        # 16 KiB/s for every IOPS where the engine moves pages of that size.
        (rds(GP3, 400, 40_000, 624, engine=MYSQL), "625 to 10000 of them"),
        (rds(GP3, 400, 40_000, 625, engine=MYSQL), None),
        (rds(GP3, 400, 32_000, 500, engine=Engine.MARIADB), None),
        (rds(GP3, 400, 40_000, 500, engine=POSTGRES), None),
        # SQL Server: one volume at any size.
        (rds(GP3, 20, 3_000, 125, engine=SQL), None),
        (rds(GP3, 20, engine=SQL), "needs its IOPS set"),
        (rds(GP3, 500, 3_000, 125, engine=SQL), None),
        (rds(GP3, 20, 10_001, 125, engine=SQL), "0.5 to 500 per GiB"),
        (rds(GP3, 160, 80_000, 2_000, engine=SQL), None),
        (rds(GP3, 6_002, 3_000, 125, engine=SQL), "0.5 to 500 per GiB"),
        # io1 and io2
        (rds(IO1, 300, 15_000, engine=MYSQL), None),
        (rds(IO1, 299, 15_000, engine=MYSQL), "0.5 to 50 per GiB, not 15000"),
        (rds(IO1, 399, 19_950), None),
        (rds(IO1, 199, 9_950, engine=ORACLE), None),
        (rds(IO1, 199, 9_951, engine=ORACLE), "50 per GiB"),
        (rds(IO1, 99, 1_000), "100 to 399"),
        (rds(IO1, 100, 999), "1000 to 256000"),
        (rds(IO1, 6_000, 2_999), "0.5 to 50"),
        (rds(IO1, 16_384, 16_383, engine=SQL), "1 to 50"),
        (rds(IO1, 16_385, 64_000, engine=SQL), "20 to 16384"),
        (rds(IO2, 100, 100_000), None),
        (rds(IO2, 199, 199_000, engine=ORACLE), None),
        (rds(IO2, 199, 199_001, engine=ORACLE), "1000 per GiB"),
        (rds(IO2, 400, 256_001), "1000 to 256000"),
        # gp2
        (rds(GP2, 5), None),
        (rds(GP2, 5, 100), "takes no IOPS setting"),
        (rds(GP2, 19, engine=ORACLE), "20 to 199"),
        (rds(GP2, 400, engine=DB2), "db2 single-az has no gp2 storage"),
        (rds(GP2, 16_385, engine=SQL), "20 to 16384"),
        # Multi-AZ DB clusters: three engineless types less, and throughput follows by itself.
        (rds(GP3, 400, 12_000, deployment=Deployment.CLUSTER), None),
        (rds(GP3, 400, 12_000, 500, deployment=Deployment.CLUSTER), "no throughput setting"),
        (rds(GP3, 400, 20_001, deployment=Deployment.CLUSTER), "0.5 to 50 per GiB"),
        (rds(IO2, 400, 20_001, deployment=Deployment.CLUSTER), "0.5 to 50 per GiB"),
        (rds(GP2, 400, deployment=Deployment.CLUSTER), "has no gp2"),
        (rds(IO1, 400, 1_000, engine=ORACLE, deployment=Deployment.CLUSTER), "has no io1"),
        (rds(VolumeType.ST1, 500), "has no st1"),
    ],
)  # fmt: skip
def test_what_rds_would_refuse_is_reported_with_its_numbers(
    configuration: Configuration, fragment: str | None
) -> None:
    problem = why_invalid(configuration)
    assert (problem is None) if fragment is None else (problem and fragment in problem), problem


@pytest.mark.parametrize(
    ("configuration", "sustained", "burst"),
    [
        # RDS User Guide, the table of General Purpose SSD (gp2) storage
        (rds(GP2, 5), (100, 128), (3_000, 128)),
        (rds(GP2, 399), (1_197, 250), (3_000, 250)),
        (rds(GP2, 400), (1_200, 512), (12_000, 512)),
        (rds(GP2, 681), (2_043, 512), (12_000, 1_000)),
        (rds(GP2, 1_335), (4_005, 512), (12_000, 1_000)),
        (rds(GP2, 1_336), (4_008, 1_000), (12_000, 1_000)),
        (rds(GP2, 3_999), (11_997, 1_000), (12_000, 1_000)),
        (rds(GP2, 4_000), (12_000, 1_000), (12_000, 1_000)),
        (rds(GP2, 65_536), (64_000, 1_000), (64_000, 1_000)),
        (rds(GP2, 200, engine=ORACLE), (600, 512), (12_000, 512)),
        (rds(GP2, 400, engine=SQL), (1_200, 250), (3_000, 250)),
        (rds(GP2, 16_384, engine=SQL), (16_000, 250), (16_000, 250)),
        # gp3: 3,000 and 125 for each volume
        (rds(GP3, 399), (3_000, 125), (3_000, 125)),
        (rds(GP3, 400, 12_000, 500), (12_000, 500), (12_000, 500)),
        (rds(GP3, 400, 64_000, 4_000), (64_000, 4_000), (64_000, 4_000)),
        (rds(GP3, 400, 3_000, 125, engine=SQL), (3_000, 125), (3_000, 125)),
        (rds(GP3, 400, 16_000, deployment=Deployment.CLUSTER), (16_000, 500), (16_000, 500)),
        # io1 and io2
        (rds(IO1, 399, 19_950), (19_950, 500), (19_950, 500)),
        (rds(IO1, 5_120, 256_000), (256_000, 4_000), (256_000, 4_000)),
        (rds(IO1, 1_280, 64_000, engine=SQL), (64_000, 1_000), (64_000, 1_000)),
        (rds(IO1, 400, 8_000), (8_000, 2_000), (8_000, 2_000)),
        (rds(IO2, 400, 62_500), (62_500, 16_000), (62_500, 16_000)),
        (rds(IO2, 400, 100_000, engine=SQL), (100_000, 4_000), (100_000, 4_000)),
        (rds(IO2, 199, 100_000, engine=ORACLE), (100_000, 4_000), (100_000, 4_000)),
    ],
)  # fmt: skip
def test_striped_storage_does_what_its_volumes_do_together(
    configuration: Configuration, sustained: tuple[float, float], burst: tuple[float, float]
) -> None:
    can = capability(configuration)
    assert (can.sustained_iops, can.sustained_mibps) == pytest.approx(sustained)
    assert (can.burst_iops, can.burst_mibps) == pytest.approx(burst)


def test_four_gp2_volumes_have_four_buckets_and_from_4000_gib_none() -> None:
    assert capability(rds(GP2, 399)).iops_credits == GP2_CREDITS
    assert capability(rds(GP2, 400)).iops_credits == 4 * GP2_CREDITS
    assert capability(rds(GP2, 3_999)).iops_credits == 4 * GP2_CREDITS
    assert capability(rds(GP2, 4_000)).iops_credits == 0


@pytest.mark.parametrize(
    ("configuration", "free"),
    [
        (rds(GP3, 399), (3_000, 125)),
        (rds(GP3, 400), (12_000, 500)),
        (rds(GP3, 400, engine=SQL), (3_000, 125)),
        (rds(GP2, 400), (12_000, 1_000)),
        (rds(IO2, 400), (1_000, 125)),
        (gp3(400), (3_000, 125)),
    ],
)
def test_what_a_type_has_at_its_smallest_follows_the_stripes(
    configuration: Configuration, free: tuple[float, float]
) -> None:
    assert included(configuration) == free


@pytest.mark.parametrize(
    ("origin", "target", "copied"),
    [
        (rds(GP3, 399), rds(GP3, 439, 12_000, 500), True),
        (rds(GP2, 300), rds(GP3, 300), False),
        (rds(GP2, 400), rds(GP3, 400, 12_000, 500), False),
        (rds(GP3, 199, engine=ORACLE), rds(GP3, 219, 12_000, 500, engine=ORACLE), True),
        (rds(GP3, 399, 3_000, 125, engine=SQL), rds(GP3, 400, 3_000, 125, engine=SQL), False),
        (rds(VolumeType.STANDARD, 100), rds(GP3, 100), True),
        (gp3(300), gp3(500), False),
    ],
)
def test_all_data_is_copied_across_the_threshold_and_away_from_magnetic(
    origin: Configuration, target: Configuration, copied: bool
) -> None:
    assert full_copy(origin, target) is copied


@pytest.mark.parametrize(
    ("origin", "target", "fragment"),
    [
        (rds(GP2, 500), rds(GP2, 550), None),
        (rds(GP2, 500), rds(GP2, 549), "grows to 550 GiB or more"),
        (rds(GP2, 505), rds(GP2, 555), "556 GiB"),
        (rds(GP2, 500, engine=SQL), rds(GP2, 501, engine=SQL), None),
        (rds(GP2, 500), rds(GP2, 499), "never shrinks"),
        (rds(IO1, 500, 5_000), rds(IO1, 500, 5_499), "from 5000 IOPS the next are 5500 or more"),
        (rds(IO1, 500, 5_000), rds(IO1, 500, 5_500), None),
        (rds(IO1, 500, 5_000), rds(IO1, 500, 4_999), None),
        (rds(IO1, 500, 5_000, engine=SQL), rds(IO1, 500, 5_001, engine=SQL), None),
        (rds(IO1, 500, 5_000, engine=DB2), rds(IO1, 500, 5_001, engine=DB2), None),
        (rds(GP3, 300), rds(GP3, 300, engine=MYSQL), "neither the engine nor the deployment"),
        (gp3(300), rds(GP3, 300), "neither the engine"),
    ],
)
def test_a_raise_by_less_than_a_tenth_is_not_left_to_rds_to_round_up(
    origin: Configuration, target: Configuration, fragment: str | None
) -> None:
    problem = why_refused(origin, target)
    assert (problem is None) if fragment is None else (problem and fragment in problem), problem


def valid_storage(
    kind: VolumeType,
    *,
    size: tuple[Span, ...] = (),
    iops: tuple[Span, ...] = (),
    mibps: tuple[Span, ...] = (),
) -> ValidStorage:
    return ValidStorage(volume_type=kind, size_gib=size, iops=iops, mibps=mibps)


def test_what_aws_says_of_the_very_instance_replaces_the_table() -> None:
    narrow = valid_storage(
        GP3,
        size=(Span(low=400, high=400), Span(low=440, high=16_384)),
        iops=(Span(low=12_000, high=16_000, step=1_000),),
        mibps=(Span(low=500, high=1_000),),
    )
    wide = valid_storage(GP3, iops=(Span(low=12_000, high=80_000),))
    assert why_invalid_of(rds(GP3, 400, 20_000, 500), narrow) is not None
    assert why_invalid_of(rds(GP3, 400, 15_000, 500), narrow) is None
    assert why_invalid_of(rds(GP3, 400, 15_500, 500), narrow) is not None
    assert why_invalid_of(rds(GP3, 420, 12_000, 500), narrow) is not None
    assert why_invalid_of(rds(GP3, 400, 80_000, 4_000), wide) is None
    assert why_invalid_of(rds(IO2, 400, 12_000), wide) == ("postgres single-az has no io2 storage")


def why_invalid_of(configuration: Configuration, *valid: ValidStorage) -> str | None:
    from headroom.domain.catalog.rds import why_invalid as of_rds

    return of_rds(configuration, valid)


def test_valid_ranges_of_aws_add_no_parameter_below_the_threshold() -> None:
    every = valid_storage(
        GP3, size=(Span(low=20, high=65_536),), iops=(Span(low=3_000, high=64_000),),
        mibps=(Span(low=125, high=4_000),),
    )  # fmt: skip
    small, large = bands(database(), GP3, (every,))
    assert (small.size_gib[0].high, small.iops, small.mibps) == (399, (), ())
    assert (large.size_gib[0].low, large.stripes) == (400, 4)


def test_striped_gp3_is_never_set_below_what_its_four_volumes_include() -> None:
    of_all_sizes = ValidStorage(
        volume_type=GP3, size_gib=(Span(low=20, high=65_536),),
        iops=(Span(low=3_000, high=64_000, step=1_000),), mibps=(Span(low=125, high=4_000),),
    )  # fmt: skip
    assert why_invalid_of(rds(GP3, 500, 11_000, 500), of_all_sizes) is not None
    assert why_invalid_of(rds(GP3, 500, 12_000, 499), of_all_sizes) is not None
    assert why_invalid_of(rds(GP3, 500, 12_000, 500), of_all_sizes) is None
    little = replace(of_all_sizes, iops=(Span(low=3_000, high=5_000),))
    assert why_invalid_of(rds(GP3, 500, 12_000, 500), little) is not None  # and not the table's
    of_sql = why_invalid_of(rds(GP3, 500, 4_000, 200, engine=SQL), of_all_sizes)
    assert of_sql is None


def test_the_present_size_stays_valid_whatever_aws_offers_to_grow_to() -> None:
    grow = valid_storage(GP3, size=(Span(low=550, high=65_536),))
    origin = rds(GP3, 500, 12_000, 500)
    assert why_refused(origin, rds(GP3, 500, 13_200, 500), (grow,)) is None
    assert why_refused(origin, rds(GP3, 549, 12_000, 500), (grow,)) is not None


@given(
    low=st.integers(1, 100), count=st.integers(0, 50), step=st.integers(1, 7),
    wanted=st.floats(-10, 600),
)  # fmt: skip
def test_a_span_gives_its_nearest_members(low: int, count: int, step: int, wanted: float) -> None:
    span = Span(low=low, high=low + count * step + (step - 1), step=step)
    members = [n for n in range(1, 700) if n in span]
    assert span.least(wanted) == min((n for n in members if n >= wanted), default=None)
    assert span.most(wanted) == max((n for n in members if n <= wanted), default=None)


@pytest.mark.parametrize("engine", STRIPED)
def test_engines_that_stripe_do_so_from_400_gib(engine: Engine) -> None:
    assert [database(engine).stripes(size) for size in (399, 400)] == [1, 4]
    assert [database(ORACLE).stripes(size) for size in (199, 200)] == [1, 4]
    assert database(SQL).stripes(16_384) == 1


def test_databases_and_clusters_have_arns_of_rds() -> None:
    def arn(kind: Kind, name: str) -> str:
        return ResourceRef(kind=kind, account_id="1", region="r", resource_id=name).arn

    assert arn(Kind.EBS, "vol-1") == "arn:aws:ec2:r:1:volume/vol-1"
    assert arn(Kind.RDS, "orders") == "arn:aws:rds:r:1:db:orders"
    assert arn(Kind.RDS, "cluster:orders") == "arn:aws:rds:r:1:cluster:orders"
    assert arn(Kind.AURORA, "orders") == "arn:aws:rds:r:1:cluster:orders"
