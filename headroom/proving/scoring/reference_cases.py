"""The reference cases: published measurements and bills, and the same figures computed here.

A: AWS Database Blog, "How to use CloudWatch metrics to decide between General Purpose or
Provisioned IOPS for your RDS database" (2018; RDS then laid storage on one volume, at EBS's
prices). B: DevelopersIO on the Exceeded checks, fio on gp3 of 50 GB at a c7i.2xlarge. C: Coincheck
Advent Calendar 2024, Aurora I/O-Optimized, and AWS's pricing page. D: Smart Style TECH BLOG,
provisioned IOPS on RDS MySQL. E: nakarana-life, HammerDB on RDS and Aurora.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product
from pathlib import Path

from headroom.domain.catalog import catalogue_prices, cheapest
from headroom.domain.catalog.aurora import Usage, aurora_prices, bills
from headroom.domain.catalog.ebs import capability
from headroom.domain.catalog.rds import band_of
from headroom.domain.planning import TARGETS
from headroom.domain.resources import (
    Configuration,
    Database,
    Deployment,
    Engine,
    Member,
    VolumeType,
)
from headroom.proving.scenarios import parse_scenario
from headroom.proving.simulation import Result, served_rates, simulate

TITLES: Mapping[str, str] = {
    "A": "gp2 against io1 for 250 writers (AWS Database Blog, 2018)",
    "B": "gp3 at its limits under fio (DevelopersIO)",
    "C": "Aurora Standard against I/O-Optimized (Coincheck, 2024)",
    "D": "15,000 IOPS for RDS MySQL (Smart Style TECH BLOG)",
    "E": "RDS against Aurora under TPC-C (nakarana-life)",
}
WITHIN = 0.05
"""How far a measurement may be off; a bill may not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceFigure:
    """One published figure and ours. `within` is the share it may be off."""

    case: str
    what: str
    unit: str
    published: float
    ours: float
    within: float = 0.0
    note: str = ""

    @property
    def off(self) -> float:
        """Relative difference of our figure from the published one."""
        if self.published == 0:
            return 0.0 if self.ours == 0 else float("inf")
        return self.ours / self.published - 1

    @property
    def holds(self) -> bool:
        """Whether our figure is within its tolerance."""
        return abs(self.off) <= self.within + 1e-9


def reference_figures(case: str) -> tuple[ReferenceFigure, ...]:
    """All figures of one case; raises KeyError for a case there is not."""
    return tuple(_CASES[case]())


def _simulated(
    resource: Mapping[str, object], loop: Mapping[str, object], **more: object
) -> Result:
    document = {"resource": resource, "workload": {"closed_loop": loop}, **more}
    return simulate(parse_scenario(document, source="case", base=Path()), "none")


_WRITERS = {
    "outstanding": 250, "io_kib": 16, "read_fraction": 0, "service_ms": 100, "duration": "2h",
}  # fmt: skip


def _case_a() -> Iterator[ReferenceFigure]:
    gp2 = [m.facts for m in _simulated({"type": "gp2", "size_gib": 400}, _WRITERS).minutes]
    io1 = [
        m.facts
        for m in _simulated({"type": "io1", "size_gib": 400, "iops": 5_000}, _WRITERS).minutes
    ]
    drained = next(n for n, minute in enumerate(gp2) if minute.burst_balance_percent == 0)
    settled = gp2[drained + 1 :]
    yield ReferenceFigure(
        case="A", what="io1 of 5,000 IOPS serves at its peak", unit="IOPS", published=2_500,
        ours=max(minute.ebs_iops for minute in io1), within=WITHIN, note="just under 2,500",
    )  # fmt: skip
    yield ReferenceFigure(
        case="A", what="gp2 of 400 GiB serves while it has credits", unit="IOPS", published=2_500,
        ours=gp2[0].ebs_iops, within=WITHIN, note="as much as io1",
    )  # fmt: skip
    yield ReferenceFigure(
        case="A", what="gp2 serves once its credits are gone", unit="IOPS", published=1_200,
        ours=sum(minute.ebs_iops for minute in settled) / len(settled), within=WITHIN,
    )  # fmt: skip
    yield from _bills_a()


def _bills_a() -> Iterator[ReferenceFigure]:
    prices = catalogue_prices("us-west-2")
    for what, configuration, usd in (
        ("gp2 400 GiB", _plain(VolumeType.GP2, 400), "40.00"),
        ("io1 400 GiB, 5,000 IOPS", _plain(VolumeType.IO1, 400, 5_000), "375.00"),
        ("io1 400 GiB, 2,500 IOPS", _plain(VolumeType.IO1, 400, 2_500), "212.50"),
        ('gp2 of 900 GiB, "about $90"', _plain(VolumeType.GP2, 900), "90.00"),
    ):
        yield ReferenceFigure(
            case="A", what=f"{what}, a month", unit="USD", published=float(usd),
            ours=float(prices.monthly(configuration)),
        )  # fmt: skip
    yield ReferenceFigure(
        case="A", what="gp2 of 3.34 TiB sustains", unit="IOPS", published=10_000,
        ours=capability(_plain(VolumeType.GP2, 3_334)).sustained_iops, within=0.001,
    )  # fmt: skip


def _plain(kind: VolumeType, size: int, iops: int | None = None) -> Configuration:
    return Configuration(volume_type=kind, size_gib=size, iops=iops, throughput_mibps=None)


def _case_b() -> Iterator[ReferenceFigure]:
    random = {"outstanding": 256, "io_kib": 4, "read_fraction": 0.7, "duration": "180s"}
    sequential = {
        "outstanding": 64, "io_kib": 1_024, "read_fraction": 1, "sequential": True,
        "duration": "180s",
    }  # fmt: skip
    for iops, mibps, total, wait, moved, slow in (
        (3_000, 125, 3_016, 84.9, 125.8, 508.7),
        (6_000, 250, 6_033, 42.4, 251.5, 254.4),
    ):
        resource = {"type": "gp3", "size_gib": 50, "iops": iops, "throughput_mibps": mibps}
        attachment_settings = {"attachment": {"instance_type": "c7i.2xlarge"}}
        name = f"gp3 {iops:,}/{mibps}"
        for loop, unit, ops, latency, ms in (
            (random, "IOPS", total, wait, "4 KiB random"),
            (sequential, "MiB/s", moved, slow, "1 MiB sequential"),
        ):
            result = _simulated(resource, loop, **attachment_settings)
            served = served_rates([minute.facts for minute in result.minutes])
            both = served["read_iops"] + served["write_iops"]
            ours = served["mib_per_s"] if unit == "MiB/s" else both
            yield ReferenceFigure(
                case="B", what=f"{name}, {ms}", unit=unit, published=ops, ours=ours, within=WITHIN
            )
            yield ReferenceFigure(
                case="B", what=f"{name}, {ms}, mean latency", unit="ms", published=latency,
                ours=result.latencies.mean_ms or 0.0, within=WITHIN,
            )  # fmt: skip


def _case_c() -> Iterator[ReferenceFigure]:
    """The share of I/O in the bill from which I/O-Optimized is cheaper, by share of storage."""
    prices, members = aurora_prices("us-east-1"), (Member(instance_class="db.r7g.xlarge", count=2),)
    for gib, of_bill in ((0, "without storage"), (280, "with 280 GiB"), (1_000, "with 1,000 GiB")):
        usage = Usage(members=members, storage_gib=gib, ios=0.0)
        even = bills(usage, prices).break_even_ios
        both = bills(Usage(members=members, storage_gib=gib, ios=even), prices)
        yield ReferenceFigure(
            case="C", what=f"I/O-Optimized pays from, two db.r7g.xlarge {of_bill}",
            unit="% of the bill", published=25.0, ours=100 * both.standard.io_share, within=0.2,
            note='"about 25 %": storage decides',
        )  # fmt: skip
    usage = Usage(members=members, reserved=members, storage_gib=0, ios=0.0)
    yield ReferenceFigure(
        case="C", what="reservations for all of them cover, in I/O-Optimized", unit="%",
        published=100 / 1.3, ours=bills(usage, prices).covered_percent[1], within=0.001, note="1/1.3",
    )  # fmt: skip
    pair = prices.hour["db.r7g.xlarge"]
    yield ReferenceFigure(
        case="C", what="dearer in I/O-Optimized: instances", unit="%", published=30,
        ours=float(100 * (pair[1] / pair[0] - 1)), within=0.01,
    )  # fmt: skip
    yield ReferenceFigure(
        case="C", what="dearer in I/O-Optimized: storage", unit="%", published=125,
        ours=float(100 * (prices.gib[1] / prices.gib[0] - 1)), within=0.001,
    )  # fmt: skip


def _case_d() -> Iterator[ReferenceFigure]:
    database = Database(engine=Engine.MYSQL)
    origin = Configuration(
        volume_type=VolumeType.GP2, size_gib=100, iops=None, throughput_mibps=None,
        database=database,
    )  # fmt: skip
    found = cheapest(origin, VolumeType.IO1, iops=15_000, mibps=100)
    size = 0 if found is None else found.size_gib
    yield ReferenceFigure(
        case="D", what="least io1 for 15,000 IOPS (50 per GiB)", unit="GiB", published=300,
        ours=size,
    )  # fmt: skip
    prices = catalogue_prices("ap-northeast-1")
    usd = Decimal(0) if found is None else prices.monthly(found)
    yield ReferenceFigure(
        case="D", what="its storage in ap-northeast-1, a month", unit="USD", published=1_845,
        ours=float(usd),
    )  # fmt: skip


def _case_e() -> Iterator[ReferenceFigure]:
    """No plan leads to another engine or deployment: which database it is, is never ours to say."""
    changed = 0
    for engine, deployment, kind, size in product(Engine, Deployment, TARGETS, (300, 1_000)):
        origin = _least(Database(engine=engine, deployment=deployment), kind, size)
        if origin is None:
            continue
        targets = (cheapest(origin, to, iops=20_000, mibps=400) for to in TARGETS)
        changed += sum(t is not None and t.database != origin.database for t in targets)
    yield ReferenceFigure(
        case="E", what="plans for 20,000 IOPS that change the engine or deployment", unit="",
        published=0, ours=changed, note="the lesson: say what binds, never recommend an engine",
    )  # fmt: skip


def _least(database: Database, kind: VolumeType, size: int) -> Configuration | None:
    """Storage of that type and size with the least settable rates; None if RDS does not offer it."""
    plain = Configuration(
        volume_type=kind, size_gib=size, iops=None, throughput_mibps=None, database=database
    )
    band = band_of(plain)
    if band is None:
        return None
    return replace(
        plain,
        iops=band.iops[0].low if band.iops else None,
        throughput_mibps=band.mibps[0].low if band.mibps else None,
    )


_CASES: Mapping[str, Callable[[], Iterator[ReferenceFigure]]] = {
    "A": _case_a, "B": _case_b, "C": _case_c, "D": _case_d, "E": _case_e,
}  # fmt: skip
CASES = tuple(_CASES)
