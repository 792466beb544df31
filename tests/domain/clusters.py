"""Aurora clusters for tests: what they are, and what fourteen days of them look like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from headroom.domain.aurora import ClusterDecisionInput, configuration_of, empty_activity
from headroom.domain.catalog.aurora import aurora_prices
from headroom.domain.decision import DecisionInput
from headroom.domain.policy import Policy, PolicyUnreadable
from headroom.domain.resources import (
    AuroraActivity,
    AuroraCluster,
    AuroraObservation,
    DatabaseFacts,
    Kind,
    Member,
    Observation,
    ResourceRef,
    Series,
    StorageMode,
    Volume,
)
from headroom.domain.state import ResourceState, new_resource_state
from tests.builders import ACCOUNT, NOW, REGION

PER_DAY = 288
GIB = 1024**3
STANDARD, IO_OPTIMIZED = StorageMode.STANDARD, StorageMode.IO_OPTIMIZED


def cluster(**changes: object) -> AuroraCluster:
    base = AuroraCluster(
        ref=ResourceRef(kind=Kind.AURORA, account_id=ACCOUNT, region=REGION, resource_id="orders"),
        engine="aurora-postgresql",
        engine_version="16.4",
        status="available",
        mode=STANDARD,
        mode_since=None,
        pending_storage_mode=None,
        next_allowed_at=None,
        members=(Member(instance_class="db.r7g.xlarge", count=2),),
        reserved=(),
        parallel_query=None,
        tags=(("headroom", "auto"),),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def grid(values: Sequence[float | None], end: datetime) -> Series:
    return Series(
        start=end - timedelta(minutes=5 * len(values)), period_s=300, values=tuple(values)
    )


def activity(
    ios_a_day: Sequence[float | None],
    *,
    gib: float | None = 100.0,
    acus: float | None = None,
    commit_ms: Sequence[float | None] | float | None = 2.0,
    now: datetime = NOW,
) -> AuroraActivity:
    """One value a whole UTC day, the last of them yesterday's; None is a day nobody measured.

    Two thirds of the operations are reads. What is measured of today goes on like yesterday.
    """
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    rest = int((now - midnight).total_seconds() // 300)
    days = [*ios_a_day, ios_a_day[-1] if ios_a_day else None]
    counts = [PER_DAY] * len(ios_a_day) + [rest]
    commits = (
        [commit_ms] * len(days)
        if commit_ms is None or isinstance(commit_ms, int | float)
        else [*commit_ms, commit_ms[-1]]
    )

    def spread(values: Sequence[float | None]) -> Series:
        flat: list[float | None] = []
        for value, count in zip(values, counts, strict=True):
            flat += [value] * count
        return grid(flat, midnight + timedelta(minutes=5 * rest))

    def part(share: float) -> Series:
        return spread([None if d is None else d * share / PER_DAY for d in days])

    return AuroraActivity(
        read_ios=part(2 / 3),
        write_ios=part(1 / 3),
        bytes_used=spread([None if gib is None else gib * GIB] * len(days)),
        acus=spread([acus] * len(days)) if acus is not None else grid([], now),
        commit_latency_ms=spread(commits),
    )


def seen(
    ios_a_day: Sequence[float | None] | float, of: AuroraCluster | None = None, **changes: object
) -> AuroraObservation:
    days = [ios_a_day] * 15 if isinstance(ios_a_day, int | float) else ios_a_day
    return AuroraObservation(
        at=NOW,
        cluster=of or cluster(),
        activity=activity(days, **changes),  # type: ignore[arg-type]
    )


def cluster_volume(of: AuroraCluster, **changes: object) -> Volume:
    base = Volume(
        ref=of.ref, configuration=configuration_of(of.mode), availability_zone="us-east-1a",
        state="available", created_at=NOW - timedelta(days=90), instance_ids=(),
        multi_attach=False, managed_by=None, on_outpost=False, tags=of.tags,
        facts=DatabaseFacts(
            instance_class="db.r7g.xlarge", status=of.status, members=("orders-1", "orders-2")
        ),
    )  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]


def cluster_input(
    rules: Policy | PolicyUnreadable, seen_: AuroraObservation | None = None, *,
    stand: ResourceState | None = None, trigger: str = "sweep", **changes: object,
) -> ClusterDecisionInput:  # fmt: skip
    """A cluster whose I/O is most of its bill, unless another one is given."""
    found = seen_ or seen(100e6)
    observation = Observation(
        at=found.at, volume=cluster_volume(found.cluster), modification=None,
        activity=empty_activity(found), history=None, instance=None, instance_activity=None,
    )  # fmt: skip
    decision_input = DecisionInput(
        trigger=trigger, observation=observation, resource_state=stand or new_resource_state(),
        policy=rules, prices=None,
    )  # fmt: skip
    base = ClusterDecisionInput(
        decision_input=decision_input, observed=found, prices=aurora_prices(REGION)
    )
    return replace(base, **changes)  # type: ignore[arg-type]
