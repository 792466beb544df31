"""A described volume and load as the decision input that the engine would have.

The load runs through the volume's own physics, so checks, queue, credits and latency are what
CloudWatch would publish.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np

from headroom.domain.catalog import PriceTable, catalogue_prices
from headroom.domain.catalog.ebs import MIB, capability
from headroom.domain.decision import DecisionInput
from headroom.domain.policy import Policy, discount_of
from headroom.domain.resources import Configuration, Observation, PriceUnknown, ResourceRef, Volume
from headroom.domain.state import KnownModification, new_resource_state
from headroom.proving import simulation
from headroom.proving.memory import OpenCalendars
from headroom.proving.vectorized import SSD, VectorizedVolume, VectorizedWorld
from headroom.proving.workloads import IO_KIB, LoadSeries

AT = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
"""The instant of every situation, so that decisions never change with time."""
METRIC_DELAY = timedelta(minutes=2)
DAY_MIN = 1_440
USUAL_REGION = "us-east-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class SituationLoad:
    """The load of the last `minutes`, after `days` of a lower load.

    `iops` are application operations/s of `io_kib` KiB each, half of them reads; `before_iops`
    is the earlier load.
    """

    iops: float
    io_kib: float = IO_KIB
    minutes: int = 30
    before_iops: float = 0.0
    days: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerFacts:
    """The ledger's facts: changes (how long ago), increases in USD per month, pause and failures."""

    changed_ago: tuple[timedelta, ...] = ()
    resource_increase_usd: Decimal = Decimal(0)
    account_increase_usd: Decimal = Decimal(0)
    acted_ago: timedelta | None = None
    paused: bool = False
    failures: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A volume, its load and the ledger's facts about it."""

    volume: Volume
    load: SituationLoad
    ledger_facts: LedgerFacts


def load_named(word: str, volume: Volume) -> SituationLoad:
    """The load of a name: idle, busy or starved, relative to what the volume sustains.

    Raises KeyError for any other word.
    """
    can = capability(volume.configuration).sustained_iops
    share, before = {"idle": (0.05, 0.05), "busy": (0.6, 0.6), "starved": (2.0, 0.5)}[word]
    return SituationLoad(iops=can * share, before_iops=can * before)


def decision_input(situation: Situation, policy: Policy) -> DecisionInput:
    """The decision input of the situation at `AT`; raises ValueError for HDD types."""
    volume, known = situation.volume, situation.ledger_facts
    if volume.configuration.volume_type not in SSD:
        raise ValueError(f"the load of a {volume.configuration.volume_type} cannot be simulated")
    prices = prices_of(volume.ref.region).after_discount(discount_of(policy, volume))
    now_usd = prices.monthly(volume.configuration)
    resource_state = replace(
        new_resource_state(),
        enrolment_usd=now_usd - known.resource_increase_usd,
        resource_increase_usd=known.resource_increase_usd,
        account_increase_usd=max(known.account_increase_usd, known.resource_increase_usd),
        modifications=tuple(
            KnownModification(started_at=AT - ago, by="other")
            for ago in sorted(known.changed_ago, reverse=True)
        ),
        last_act_at=None if known.acted_ago is None else AT - known.acted_ago,
        paused_until=datetime.max.replace(tzinfo=UTC) if known.paused else None,
        failures_in_a_row=known.failures,
        last_refusal_at=AT if known.failures else None,
        calendars=OpenCalendars().seen(policy.calendars, AT),
    )
    return DecisionInput(
        trigger="alarm",
        observation=_observed(situation),
        resource_state=resource_state,
        policy=policy,
        prices=prices,
    )


def prices_of(region: str) -> PriceTable:
    """The catalogue's prices of the Region, or us-east-1's where it has none."""
    try:
        return catalogue_prices(region)
    except PriceUnknown:
        return catalogue_prices(USUAL_REGION)


def _observed(situation: Situation) -> Observation:
    volume, load = situation.volume, situation.load
    late = int(METRIC_DELAY.total_seconds() // 60)
    length = load.days * DAY_MIN + load.minutes + late
    ops = np.full(length, load.before_iops)
    ops[length - load.minutes - late :] = load.iops
    load_series = LoadSeries(
        name="situation",
        start=AT - timedelta(minutes=length),
        step_s=60,
        ops=ops,
        ebs_ops=ops * max(1.0, load.io_kib / 256),
        bytes=ops * load.io_kib * MIB / 1024,
        read_share=np.full(length, 0.5),
    )
    simulated = VectorizedVolume(load_series, volume.configuration)
    simulated.run(length)
    world = VectorizedWorld(simulated, volume.ref, metric_delay=METRIC_DELAY)
    view = world.view(volume.ref)
    activity, instance_activity = world.activity(view, AT)
    return Observation(
        at=AT,
        volume=volume,
        modification=None,
        activity=activity,
        history=world.history(view, AT),
        instance=view.instance,
        instance_activity=instance_activity,
    )


def described_volume(
    ref: ResourceRef, configuration: Configuration, tags: Mapping[str, str]
) -> Volume:
    """A volume as EC2 would describe it at `AT`, made a year before."""
    return simulation.described_volume(
        ref, configuration, created_at=AT - timedelta(days=365), tags=tuple(sorted(tags.items()))
    )
