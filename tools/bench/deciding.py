"""The pure core on inputs of deployed size: CPU seconds of each decision."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import numpy as np

from headroom.application import decide_dry_run
from headroom.domain.decision import DecisionInput, decide
from headroom.domain.resources import Kind, ResourceRef
from headroom.domain.state import HOUR, MOST_HOURS, LoadProfile
from headroom.proving.memory import InMemoryLedger, ports_in_memory
from headroom.proving.simulation import ACCOUNT, VOLUME_ID
from headroom.proving.trials import STARTS, Conditions
from headroom.proving.vectorized import VectorizedVolume, VectorizedWorld
from headroom.proving.workloads import sample_load_series
from headroom.serialization import decision_to_json

WEEKS = 4
"""How long a made-up load of a week is repeated."""
HISTORY_MIN, WEEK_HOURS = 14 * 1_440, 7 * 24
METRIC_DELAY = timedelta(minutes=2)


def deciding_s(name: str, times: int) -> Iterator[tuple[float, float, float]]:
    """CPU seconds of each decision on a made-up load, after 14 days of it and at even distances.

    Second, the same with its record, which computes the id and the verdicts on all plans. Third, a
    decision with the longest profile that the ledger keeps.

    The inputs are read as a deployed function reads them: three hours by the minute, 14 days by five
    minutes, and the profile of the past, to which nothing that an earlier decision computed is attached.
    """
    week, conditions = sample_load_series(name), Conditions()
    columns = ("ops", "ebs_ops", "bytes", "read_share", "read_bytes")
    load_series = replace(
        week, **{column: np.tile(getattr(week, column), WEEKS) for column in columns}
    )
    volume = VectorizedVolume(load_series, STARTS["gp3"])
    ref = ResourceRef(
        kind=Kind.EBS, account_id=ACCOUNT, region=conditions.region, resource_id=VOLUME_ID
    )
    world = VectorizedWorld(volume, ref, metric_delay=METRIC_DELAY)
    ledger = InMemoryLedger(ACCOUNT, conditions.region)
    ports = ports_in_memory(world, ledger, policy=conditions.policy, prices=conditions.prices)
    for minute in np.linspace(HISTORY_MIN, load_series.minutes, times, dtype=int).tolist():
        volume.run(minute)
        seen = decide_dry_run(ports, ref, volume.now).decision
        profile = seen.resource_state.profile
        assert profile is not None
        given, long = (
            DecisionInput(
                trigger=seen.trigger, observation=seen.observation, policy=conditions.policy,
                resource_state=replace(seen.resource_state, profile=each), prices=conditions.prices,
            )
            for each in (replace(profile), longest(profile))
        )  # fmt: skip
        began = time.process_time()
        decision = decide(given)
        decided = time.process_time()
        decision_to_json(decision)
        recorded = time.process_time()
        decide(long)
        yield decided - began, recorded - began, time.process_time() - recorded


def longest(profile: LoadProfile) -> LoadProfile:
    """The profile with its whole weeks repeated back, as far as the ledger keeps one."""
    weeks = profile.hours[-(len(profile.hours) // WEEK_HOURS) * WEEK_HOURS :]
    hours = weeks * (MOST_HOURS // len(weeks))
    return LoadProfile(start=profile.end - len(hours) * HOUR, hours=hours)
