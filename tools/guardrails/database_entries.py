"""Entries of the guardrails that only databases and Aurora clusters have."""

from __future__ import annotations

from collections.abc import Mapping

from headroom.domain.guardrails import Guardrail
from tools.guardrails import examples as eg
from tools.guardrails.entry import Base, Entry

DATABASES: Mapping[Guardrail, Entry] = {
    Guardrail.DATABASE_STATE: Entry(
        clears="when RDS reports `available`; an unusual storage layout stays blocked",
        do="Fix the database if its status asks for it (a full one needs storage now).",
        example="The database is being backed up.", blocked=eg.database(status="backing-up"),
    ),
    Guardrail.PENDING_CHANGES: Entry(
        do="Apply the pending changes when it suits the database, or withdraw them. Headroom's "
        "call takes effect at once, and RDS would apply them with it.",
        example="Someone left another instance class for the maintenance window.",
        blocked=eg.database(pending=("DBInstanceClass",)),
    ),
    Guardrail.STORAGE_AUTOSCALING: Entry(
        do="Choose one owner of size: turn RDS storage autoscaling off, or leave growth to it.",
        example="A target of 440 GiB for a database that RDS grows by itself up to 1,000 GiB.",
        blocked=lambda case: eg.target(size_gib=440)(eg.database(max_allocated_gib=1_000)(case)),
    ),
    Guardrail.FREE_SPACE: Entry(
        clears="when enough space is free again, or the plan adds space",
        do="Allow growth, free up space, or grow the storage yourself: see "
        "[free space](operate/free-space.md). Of a database, a change that only saves money needs a "
        "quarter of the storage free, and twice the most that it ever filled in a day. A volume whose "
        "free space is not read is never blocked.",
        example="4 of 400 GiB are free, and the storage would be full in two hours.",
        blocked=eg.nearly_full,
    ),
    Guardrail.FULL_COPY: Entry(
        settings=("full_copy", "growth"),
        do="Start it yourself at a quiet hour. Or set `full_copy: true` (and `growth: true`): "
        "Headroom then starts it when the load is calm.",
        example="A PostgreSQL database would grow from 300 to 400 GiB.",
        blocked=eg.across_the_threshold,
    ),
}  # fmt: skip

CLUSTERS: Mapping[Guardrail, Entry] = {
    Guardrail.USAGE_HISTORY: Entry(
        base=Base.CLUSTER, clears="when fourteen of the last sixteen UTC days are measured",
        do="Wait. Days with fewer than 95 % of their five-minute counts do not count.",
        example="Nine whole days were measured.", blocked=eg.fewer_days,
    ),
    Guardrail.BILLED_IO: Entry(
        base=Base.CLUSTER,
        do="Compare the bill with the days recorded before the change, and switch yourself. AWS "
        "does not say whether it publishes billed I/O under I/O-Optimized.",
        example="VolumeReadIOPs and VolumeWriteIOPs have no data points.", blocked=eg.unpublished,
    ),
    Guardrail.MODE_CHANGE_INTERVAL: Entry(
        base=Base.CLUSTER, clears="30 days after the cluster last became I/O-Optimized",
        do="Wait: AWS refuses the change until then, whoever asks.",
        example="AWS allows I/O-Optimized again in twelve days.", blocked=eg.gate_shut,
    ),
    Guardrail.MODE_REVERSIBLE: Entry(
        base=Base.CLUSTER, clears="when AWS would accept I/O-Optimized again",
        do="Switch to Standard yourself if you are sure: AWS accepts that at any time.",
        example="The cluster would leave I/O-Optimized and could not return for twelve days.",
        blocked=eg.no_return,
    ),
    Guardrail.ENGINE_VERSION: Entry(
        base=Base.CLUSTER, do="Upgrade the engine to a version that supports I/O-Optimized.",
        example="Aurora PostgreSQL 13.9.", blocked=eg.cluster(engine_version="13.9"),
    ),
    Guardrail.RESTART: Entry(
        base=Base.CLUSTER, settings=("aurora_restart",),
        do="Allow it with `aurora_restart`, best together with `change_windows`.",
        example="The members are of class db.r6gd.xlarge.", blocked=eg.with_nvme,
    ),
    Guardrail.PARALLEL_QUERY: Entry(
        base=Base.CLUSTER,
        do="Turn parallel query off, or leave the cluster in Standard: it may not be available in "
        "I/O-Optimized. Allow `rds:DescribeDBClusterParameters` so that it can be read.",
        example="Parallel query is on.", blocked=eg.cluster(parallel_query=True),
    ),
    Guardrail.RESERVATIONS: Entry(
        base=Base.CLUSTER, do="Allow `rds:DescribeReservedDBInstances` so that they can be read.",
        example="The reservations could not be read.", blocked=eg.cluster(reserved=None),
    ),
    Guardrail.MARGIN: Entry(
        base=Base.CLUSTER, settings=("aurora_margin_percent", "aurora_goal"),
        do="Lower `aurora_margin_percent` if a smaller saving justifies using up the 30 days.",
        example="`aurora_margin_percent: 60`", blocked=eg.limits(aurora_margin_percent=60.0),
    ),
    Guardrail.STEADY: Entry(
        base=Base.CLUSTER, do="Wait until the load is typical on most days, or switch yourself.",
        example="Twelve of the days had next to no I/O.", blocked=eg.two_busy_days,
    ),
    Guardrail.RHYTHM: Entry(
        base=Base.CLUSTER, settings=("aurora_margin_percent", "aurora_goal"),
        do="Nothing, the present mode costs less over whole months; or switch yourself.",
        example="Five busy days at the end of a month that was quiet.", blocked=eg.month_end,
    ),
    Guardrail.SLOW_COMMITS: Entry(
        base=Base.CLUSTER, settings=("aurora_slow_commit_ms", "aurora_goal"),
        clears="when commits are slow for an hour on three of the days",
        do="Nothing, commits are fast enough; or lower `aurora_slow_commit_ms`.",
        example="A change for speed (`aurora_goal: performance`), and commits were never slow.",
        blocked=eg.for_speed,
    ),
}  # fmt: skip
