"""Compute Optimizer's recommendations for EBS volumes and for storage of databases, read only.

The command line alone reads them: the deployed functions need no permission for it.
Shapes: Compute Optimizer API 2019-11-01 (botocore 1.44).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from botocore.exceptions import ClientError

from headroom.adapters.errors import code_of, reading
from headroom.ports import ReadFailed

ACTIONS = (
    "compute-optimizer:GetEBSVolumeRecommendations",
    "compute-optimizer:GetRDSDatabaseRecommendations",
)
PAGE = 1_000
"""Most recommendations that one call returns."""
MALFORMED = (KeyError, ValueError, TypeError, AttributeError, InvalidOperation)

Shape = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendedStorage:
    """A configuration as Compute Optimizer names it; None for what it does not name.

    Size in GiB, throughput in MiB/s. IOPS and throughput include what the type derives.
    """

    volume_type: str
    size_gib: int | None = None
    iops: int | None = None
    throughput_mibps: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """What Compute Optimizer recommends for one resource: its first option."""

    finding: str
    """`Optimized`, `NotOptimized`, `Overprovisioned` or `Underprovisioned`; empty if not given."""
    made_for: RecommendedStorage | None
    """The configuration that was analyzed."""
    target: RecommendedStorage | None
    """None where it names no option."""
    risk: float | None = None
    """Performance risk of the target, 0 (none) to 4; None for databases."""
    saving_usd: Decimal | None = None
    """Its own estimate of what the target saves a month; None if it gives none in USD."""
    after_discounts: bool = False
    """Whether `saving_usd` counts the account's discounts."""
    lookback_days: float | None = None
    refreshed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendations:
    """The recommendations of one account and Region, by ARN as Headroom writes it."""

    by_arn: Mapping[str, Recommendation] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    """Why a resource has none, in Compute Optimizer's own words."""


class NotEnrolled(RuntimeError):
    """The account does not use Compute Optimizer."""


class ComputeOptimizer:
    """The recommendations of the account and Region of `client`.

    With an ARN they are those of one resource. Reads raise NotEnrolled, ReadFailed.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def volumes(self, arn: str | None = None) -> Recommendations:
        """Those for EBS volumes."""
        call = self._client.get_ebs_volume_recommendations
        pages = _pages(call, self._only("volumeArns", arn))
        return _collected(pages, "volumeRecommendations", _of_volume)

    def databases(self, arn: str | None = None) -> Recommendations:
        """Those for storage of DB instances and clusters, Aurora included."""
        call = self._client.get_rds_database_recommendations
        pages = _pages(call, self._only("resourceArns", arn))
        return _collected(pages, "rdsDBRecommendations", _of_database)

    def _only(self, name: str, arn: str | None) -> Mapping[str, list[str]]:
        if arn is None:
            return {}
        return {name: [arn.replace("arn:aws:", f"arn:{self._client.meta.partition}:", 1)]}


def _pages(call: Callable[..., Shape], only: Mapping[str, list[str]]) -> Iterator[Shape]:
    """Every page; none where the one resource is unknown to Compute Optimizer."""
    token: Mapping[str, str] = {}
    while True:
        try:
            with reading("Compute Optimizer"):
                page = call(maxResults=PAGE, **only, **token)
        except ReadFailed as failed:
            cause = failed.__cause__
            code = code_of(cause) if isinstance(cause, ClientError) else ""
            if code == "OptInRequiredException":
                raise NotEnrolled from failed
            if only and code == "ResourceNotFoundException":
                return
            raise
        yield page
        following = page.get("nextToken")
        if not following or following == token.get("nextToken"):
            return
        token = {"nextToken": following}


def _collected(
    pages: Iterator[Shape], name: str, read: Callable[[Shape], Iterator[tuple[str, Recommendation]]]
) -> Recommendations:
    """What the pages say; what is not as documented is missing, and the rest goes on."""
    found: dict[str, Recommendation] = {}
    missing: dict[str, str] = {}
    for page in pages:
        for shape in page.get(name) or ():
            try:
                for arn, recommendation in read(shape):
                    if arn not in found or recommendation.target is not None:
                        found[arn] = recommendation
            except MALFORMED as problem:
                about = str(shape.get("volumeArn") or shape.get("resourceArn") or "")
                missing[_arn(about)] = f"it is not as documented ({type(problem).__name__})"
        for each in page.get("errors") or ():
            words = each.get("message") or each.get("code") or "no reason is given"
            missing[_arn(str(each.get("identifier") or ""))] = str(words)
    return Recommendations(by_arn=found, missing=missing)


def _of_volume(shape: Shape) -> Iterator[tuple[str, Recommendation]]:
    first = _first(shape.get("volumeRecommendationOptions"))
    yield _arn(shape["volumeArn"]), Recommendation(
        finding=str(shape.get("finding", "")),
        made_for=_volume(shape.get("currentConfiguration")),
        target=_volume(first.get("configuration")),
        risk=first.get("performanceRisk"),
        lookback_days=shape.get("lookBackPeriodInDays"),
        refreshed_at=_instant(shape.get("lastRefreshTimestamp")),
        **_saving(first),
    )  # fmt: skip


def _of_database(shape: Shape) -> Iterator[tuple[str, Recommendation]]:
    """Storage of an instance or a cluster; that of a member of a cluster is its cluster's."""
    first = _first(shape.get("storageRecommendationOptions"))
    now = _database(shape.get("currentStorageConfiguration"))
    if now is None and not first and "storageFinding" not in shape:
        return  # it is about the instance class alone
    arn, cluster = _arn(shape["resourceArn"]), shape.get("dbClusterIdentifier")
    if cluster:
        arn = f"{':'.join(arn.split(':')[:5])}:cluster:{cluster}"
    yield arn, Recommendation(
        finding=str(shape.get("storageFinding", "")),
        made_for=now,
        target=_database(first.get("storageConfiguration")),
        lookback_days=shape.get("lookbackPeriodInDays"),
        refreshed_at=_instant(shape.get("lastRefreshTimestamp")),
        **_saving(first),
    )  # fmt: skip


def _first(options: Sequence[Shape] | None) -> Shape:
    """The option of the lowest rank; empty if there is none."""
    return min(options or ({},), key=lambda option: option.get("rank", PAGE))


def _volume(shape: Shape | None) -> RecommendedStorage | None:
    return None if not shape else RecommendedStorage(
        volume_type=str(shape["volumeType"]), size_gib=shape.get("volumeSize"),
        iops=shape.get("volumeBaselineIOPS"),
        throughput_mibps=shape.get("volumeBaselineThroughput"),
    )  # fmt: skip


def _database(shape: Shape | None) -> RecommendedStorage | None:
    return None if not shape else RecommendedStorage(
        volume_type=str(shape["storageType"]), size_gib=shape.get("allocatedStorage"),
        iops=shape.get("iops"), throughput_mibps=shape.get("storageThroughput"),
    )  # fmt: skip


def _saving(option: Shape) -> dict[str, Any]:
    """The saving after discounts if it is given, else the one before them; USD only."""
    for name, after in (
        ("savingsOpportunityAfterDiscounts", True), ("savingsOpportunity", False),
    ):  # fmt: skip
        money = (option.get(name) or {}).get("estimatedMonthlySavings") or {}
        if money.get("currency") == "USD" and money.get("value") is not None:
            usd = Decimal(str(money["value"]))
            return {"saving_usd": usd, "after_discounts": after}
    return {}


def _instant(value: datetime | None) -> datetime | None:
    return None if value is None else value.astimezone(UTC)


def _arn(arn: str) -> str:
    """The ARN as `ResourceRef.arn` writes it, whatever the partition."""
    head, _, rest = arn.partition(":")[2].partition(":")
    return f"arn:aws:{rest}" if head else arn
