"""The standard conditions under which controllers are compared, and the guardrails for all of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from random import Random
from types import MappingProxyType

from headroom.domain.catalog import PriceTable, catalogue_prices, why_invalid
from headroom.domain.catalog.ebs import LIMITS, capability, max_iops
from headroom.domain.policy import PRESETS, OneWay, Policy
from headroom.domain.resources import Configuration, VolumeType
from headroom.policy import parse_policy
from headroom.proving.awsrules import DelayRanges, Delays, Range, drawn

SIZE_GIB = 400
REGION = "us-east-1"
SHARES = 10_001
"""Steps in which a target is cut until its price fits, plus one."""
MOST = 10**9


DRAWN_DELAYS = DelayRanges(
    effect=(timedelta(minutes=4), timedelta(minutes=25)),
    completed=(timedelta(minutes=60), timedelta(hours=4)),
)
DRAWN_METRIC_DELAY = timedelta(minutes=1), timedelta(minutes=4)
"""What comparisons draw from; no controller knows it."""


def _start(kind: VolumeType, iops: int | None, mibps: int | None) -> Configuration:
    return Configuration(volume_type=kind, size_gib=SIZE_GIB, iops=iops, throughput_mibps=mibps)


STARTS: Mapping[str, Configuration] = MappingProxyType(
    {
        "gp2": _start(VolumeType.GP2, None, None),
        "gp3": _start(VolumeType.GP3, 3_000, 125),
        "io1": _start(VolumeType.IO1, 16_000, None),
    }
)
"""The start configurations of runs, by type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """The same for every controller: prices, AWS's delays and the owner's policy.

    Delays in ranges are drawn by the name of the load, for the clock hour in which a change starts.

    `preset` sets the value of a starved minute; the policy is the default one with mode auto.
    Raises KeyError for a preset that does not exist.
    """

    preset: str = "balanced"
    region: str = REGION
    delays: Delays | DelayRanges = field(default_factory=Delays)
    metric_delay: Range = (timedelta(minutes=2), timedelta(minutes=2))
    """The least and the most; a run has one, drawn from its load's name."""
    burst_balance_percent: float = 100.0
    listed: PriceTable | None = None
    """Prices that replace the catalogue's."""
    prices: PriceTable = field(init=False)
    policy: Policy = field(init=False)

    def __post_init__(self) -> None:
        PRESETS[self.preset]
        put = object.__setattr__
        put(self, "prices", self.listed or catalogue_prices(self.region))
        document = {"defaults": {"mode": "auto", "preset": self.preset}}
        put(self, "policy", parse_policy(document, source="standard conditions"))

    @property
    def value_usd(self) -> float:
        """Value of a starved minute in USD."""
        return PRESETS[self.preset]

    @property
    def slots(self) -> int:
        """Modifications a controller may start in 24 hours; the rest of AWS's four is in reserve."""
        return 4 - self.policy.defaults.slots_reserve

    def metric_delay_of(self, name: str) -> timedelta:
        """How late metrics are in runs on the load of that name."""
        return drawn(Random(f"{name}/metrics"), self.metric_delay)  # noqa: S311

    def monthly(self, configuration: Configuration) -> float:
        """USD per month of `configuration`."""
        return float(self.prices.monthly(configuration))


def within(
    conditions: Conditions,
    origin: Configuration,
    start_usd: float,
    target: Configuration,
    *,
    may_grow: bool = False,
    at_once: bool = True,
) -> Configuration | None:
    """`target` cut to the owner's limits for one change from `origin`; None if no change remains.

    The price increase counts from `start_usd`, the monthly price at the start. First each rate is cut
    to its limit, then both in proportion until the price fits. Without `at_once` the largest step does
    not apply: any number of changes may lead to the target.
    """
    limits = conditions.policy.defaults
    size = target.size_gib if may_grow else origin.size_gib
    size = min(max(size, origin.size_gib), max(limits.max_size_gib, origin.size_gib))
    kind = target.volume_type
    if kind not in limits.types and kind is not origin.volume_type:
        return None
    if kind is VolumeType.IO2 is not origin.volume_type and limits.one_way is not OneWay.ALLOW:
        return None  # for good, and nobody can be asked
    most = Decimal(str(start_usd)) + min(
        limits.price_increase_usd, conditions.policy.account_increase_usd
    )
    most = max(most, conditions.prices.monthly(origin))
    cut = _cut(conditions, origin if at_once else None, replace(target, size_gib=size))
    if why_invalid(cut) is not None:
        return None
    share = bisect_left(
        range(SHARES), True, key=lambda s: conditions.prices.monthly(_less(cut, s)) <= most
    )
    found = _less(cut, share)
    if share == SHARES or found == origin or why_invalid(found) is not None:
        return None
    return found


def ceiling(conditions: Conditions, start: Configuration) -> Configuration:
    """The most that the owner's limits allow from `start` on, by any number of changes."""
    limits, start_usd = conditions.policy.defaults, conditions.monthly(start)
    reached = start
    for kind in limits.types:
        most = min(limits.max_iops, max_iops(kind, start.size_gib))
        mibps = limits.max_throughput_mibps if kind is VolumeType.GP3 else None
        desired = Configuration(
            volume_type=kind,
            size_gib=start.size_gib,
            iops=most,
            throughput_mibps=None if mibps is None else min(mibps, most // 4),
        )
        found = start
        while (more := within(conditions, found, start_usd, desired)) is not None:
            if _no_less(found, more):  # cut to fit the price, a step may be smaller
                break
            found = more
        if _no_less(found, reached):
            reached = found
    return reached


def _no_less(one: Configuration, other: Configuration) -> bool:
    a, b = capability(one), capability(other)
    return a.sustained_iops >= b.sustained_iops and a.sustained_mibps >= b.sustained_mibps


def _cut(
    conditions: Conditions, origin: Configuration | None, target: Configuration
) -> Configuration:
    """`target` with IOPS and MiB/s within the ceilings and the largest step from `origin`."""
    limits = conditions.policy.defaults
    now = None if origin is None else capability(origin)
    ranges, iops, mibps = LIMITS[target.volume_type], target.iops, target.throughput_mibps
    if ranges.iops is not None and iops is not None:
        least = ranges.iops[0]
        step = MOST if now is None else int(limits.largest_step * max(now.burst_iops, least))
        iops = max(least, min(iops, limits.max_iops, step))
    if ranges.throughput_mibps is not None and mibps is not None:
        least = ranges.throughput_mibps[0]
        step = MOST if now is None else int(limits.largest_step * max(now.burst_mibps, least))
        mibps = max(least, min(mibps, limits.max_throughput_mibps, step, (iops or 0) // 4))
    return replace(target, iops=iops, throughput_mibps=mibps)


def _less(target: Configuration, share: int) -> Configuration:
    """`target` less `share` / (SHARES - 1) of what it has above the least of its type."""
    ranges = LIMITS[target.volume_type]
    if ranges.iops is None or target.iops is None:
        return target
    kept = SHARES - 1 - share
    iops = ranges.iops[0] + (target.iops - ranges.iops[0]) * kept // (SHARES - 1)
    mibps = target.throughput_mibps
    if mibps is not None and ranges.throughput_mibps is not None:
        least = ranges.throughput_mibps[0]
        mibps = min(least + (mibps - least) * kept // (SHARES - 1), iops // 4)
    return replace(target, iops=iops, throughput_mibps=mibps)
