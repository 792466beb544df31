"""Runs one scenario minute by minute: the physics, what is published, and the controller."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from random import Random
from typing import Literal

from headroom.domain.catalog import SECONDS_PER_MONTH
from headroom.domain.policy import discount_of
from headroom.domain.resources import Kind, Modification, ResourceRef
from headroom.domain.state import InFlight, Step
from headroom.proving.awsrules import FULL_COPY_DELAYS, VolumeLifecycle
from headroom.proving.metrics import SLOW_MIN, PublishedVolume, minute_number
from headroom.proving.physics import (
    BOUNDLESS,
    Disk,
    LatencyHistogram,
    MinuteFacts,
    VolumePhysics,
    free_space_history,
)
from headroom.proving.scenarios import Scenario
from headroom.proving.simulation.audit import violations
from headroom.proving.simulation.controller import ControllerLog, SimulationController
from headroom.proving.simulation.result import Change, Result, SimulatedMinute
from headroom.proving.simulation.storage import described_volume
from headroom.proving.simulation.world import MINUTE, SimulatedVolume, World, publish
from headroom.proving.workloads import Workload, minute_floor

ACCOUNT = "123456789012"
VOLUME_ID = "vol-0123456789abcdef0"
DATABASE_ID = "database-1"
AGE = timedelta(days=365)
"""How long before its start the volume was created, unless its history began earlier."""
KEPT = timedelta(days=455)
MINUTES_KEPT = timedelta(days=15)
"""How long CloudWatch keeps metrics, and those of minutes."""

Controller = Literal["headroom", "none"]


def simulate(
    scenario: Scenario,
    controller: Controller = "headroom",
    *,
    on_minute: Callable[[MinuteFacts], None] | None = None,
    beside: Sequence[InFlight] = (),
) -> Result:
    """Run `scenario` under `controller`; `on_minute` is called after every minute.

    Headroom knows of the raises `beside`, of other volumes of the instance, as of its own.
    """
    start = minute_floor(scenario.start)
    name = DATABASE_ID if scenario.kind is Kind.RDS else VOLUME_ID
    ref = ResourceRef(
        kind=scenario.kind, account_id=ACCOUNT, region=scenario.aws.region, resource_id=name
    )
    scenario = _with_owner_prices(scenario, ref)
    volume = _volume(scenario, ref, start)
    world = World([volume], now=start)
    engine = _controller(controller, scenario, world, ref, beside)
    minutes: list[SimulatedMinute] = []
    latencies = LatencyHistogram()
    prices, billed = scenario.aws.prices, volume.lifecycle.billed(start)
    price = prices.monthly(billed)
    end = scenario.end
    now = world.now
    while now < end:
        if (configuration := volume.lifecycle.billed(now)) is not billed:
            billed, price = configuration, prices.monthly(configuration)
        facts = world.advance()[name]
        latencies.add(facts.latencies)
        minutes.append(SimulatedMinute(facts=facts, configuration=billed, usd_per_month=price))
        now = world.now
        engine.minute(now, world.signals())
        if on_minute is not None:
            on_minute(facts)
    log = engine.log()
    changes = tuple(_changes(world.applied, log))
    ours = {change.at for change in changes}
    starts = volume.lifecycle.starts
    return Result(
        scenario=scenario.name,
        controller=controller,
        minutes=tuple(minutes),
        latencies=latencies,
        storage_usd=_paid(volume.lifecycle, scenario),
        usd_per_month_end=prices.monthly(volume.lifecycle.billed(world.now)),
        changes=changes,
        external_changes=tuple(at for at in starts if at >= scenario.start and at not in ours),
        decisions=log.decisions,
        records=log.records,
        refusals=tuple(world.refusals),
        violations=violations(
            changes, starts, since=scenario.start, resource=scenario.resource,
            aws=scenario.aws, policy=scenario.policy,
        ),
        notes=(
            *scenario.notes, *scenario.workload.notes, *_without_effect(scenario, world.now),
            *world.notes, *log.notes,
        ),
        space=None if volume.disk is None else volume.disk.result(),
    )  # fmt: skip


def _without_effect(scenario: Scenario, end: datetime) -> Iterator[str]:
    """Sentences on what the scenario gives and nothing in it depends on."""
    later = sum(at >= end for at in scenario.aws.modified_at)
    if later:
        yield f"aws.modified_at: {later} instant(s) after the end have no effect."
    attachment = scenario.attachment_settings.attachment
    if attachment.has_other_load and attachment.limits == BOUNDLESS:
        yield "attachment.other_load has no effect: the instance is never the limit."


def _with_owner_prices(scenario: Scenario, ref: ResourceRef) -> Scenario:
    """The scenario with the owner's discount in its prices, for controllers, bill and audit."""
    resource, aws = scenario.resource, scenario.aws
    seen = described_volume(
        ref, resource.configuration, created_at=scenario.start, tags=resource.tags
    )
    prices = aws.prices.after_discount(discount_of(scenario.policy, seen))
    return replace(scenario, aws=replace(aws, prices=prices))


def _volume(scenario: Scenario, ref: ResourceRef, start: datetime) -> SimulatedVolume:
    aws, attachment = scenario.aws, scenario.attachment_settings.attachment
    history, percent = scenario.history, scenario.resource.burst_balance_percent
    created_at = start - AGE if history is None else min(start - AGE, history.start)
    lifecycle = VolumeLifecycle(
        scenario.resource.configuration,
        created_at=created_at,
        delays=aws.delays,
        copying=FULL_COPY_DELAYS,
        volume_id=ref.resource_id,
        names_instant=aws.refusal_names_instant,
        history=[at for at in aws.modified_at if at < scenario.start],
    )
    published = PublishedVolume(
        delay=aws.metric_delay,
        other_iops=attachment.other_iops,
        other_mibps=attachment.other_mibps,
        database=ref.kind is Kind.RDS,
        others=attachment.others,
    )
    change = lifecycle.modification(start)
    volume = SimulatedVolume(
        ref=ref,
        lifecycle=lifecycle,
        physics=VolumePhysics(
            scenario.workload if history is None else history,
            burst_balance_percent=100.0 if history or percent is None else percent,
            queue_limit=scenario.attachment_settings.queue_limit,
            attachment=attachment,
        ),
        attachment=attachment,
        tags=scenario.resource.tags,
        published=published,
        others=tuple(at for at in aws.modified_at if at >= scenario.start),
        reported=None if change is None else (change.started_at, change.state),
        disk=None
        if scenario.contents is None
        else Disk.of(scenario.contents, scenario.resource.configuration.size_gib, start),
        instance_class=scenario.instance_class,
    )
    if aws.queue_noise_percent:
        volume.queue_noise = queue_noise(scenario.name, aws.queue_noise_percent / 100)
    _publish_history(scenario, volume, start)
    return volume


def queue_noise(name: str, deviation: float) -> Callable[[int], float]:
    """Normal noise of a standard deviation, the same in every run of a scenario of this name."""
    return lambda minute: Random(f"{name}/queue/{minute}").gauss(0.0, deviation)  # noqa: S311


def _publish_history(scenario: Scenario, volume: SimulatedVolume, start: datetime) -> None:
    """Publish the metrics of the unchanged volume under the load before the start.

    What waits then, and the balances, go on into the scenario.
    """
    if scenario.history is None:
        return
    physics = volume.physics
    configuration = scenario.resource.configuration
    still = VolumeLifecycle(configuration, created_at=start - AGE)
    now = max(minute_floor(scenario.history.start), start - KEPT)
    minutes_from = max(now, start - MINUTES_KEPT)
    if scenario.contents is not None:
        count = int((start - minutes_from) / MINUTE)
        free = free_space_history(scenario.contents, configuration.size_gib, count)
        for place, gib in enumerate(free):
            volume.published.put_free(minute_number(minutes_from) + place, gib)
    noisy = scenario.aws.queue_noise_percent  # no two minutes of the queue are alike
    end = now if volume.attachment.others else minutes_from if noisy else start
    before: MinuteFacts | None = None
    alike = 0
    while now < start:
        facts = physics.minute(now, still)
        publish(volume, configuration, facts)
        now += MINUTE
        alike = alike + 1 if before is not None and _alike(before, facts) else 0
        if alike >= SLOW_MIN and (until := _steady_until(scenario.history, now, end)) > now:
            volume.published.repeat(minute_number(now), minute_number(until))
            now = until
        before = facts
    physics.go_on_with(scenario.workload, scenario.resource.burst_balance_percent)
    volume.published.forget_minutes(minute_number(minutes_from))


def _alike(one: MinuteFacts, other: MinuteFacts) -> bool:
    same = one.backlog_end == other.backlog_end and one.served_ops == other.served_ops
    return same and one._replace(start=other.start) == other


def _steady_until(workload: Workload, now: datetime, end: datetime) -> datetime:
    """Until when, at most `end`, the load of the two minutes before `now` stays as it is."""
    edge = workload.next_edge((now - workload.start).total_seconds() - 120)
    most = (end - workload.start).total_seconds()
    return end if edge >= most else minute_floor(workload.start + timedelta(seconds=edge))


def _controller(
    name: Controller, scenario: Scenario, world: World, ref: ResourceRef,
    beside: Sequence[InFlight],
) -> SimulationController:  # fmt: skip
    if name == "none":
        return SimulationController()
    from headroom.proving.simulation.engine import EngineController  # loads the application

    return EngineController(scenario, world, ref, beside)


def _changes(made: Sequence[Modification], log: ControllerLog) -> Iterator[Change]:
    decisions = {decision.decision_id: decision for decision in log.decisions}
    applied = {r.at: r.decision_id for r in log.records if r.step is Step.APPLIED}
    for change in made:
        decision_id = applied.get(change.started_at, "")
        decision = decisions.get(decision_id)
        yield Change(
            at=change.started_at,
            origin=change.origin,
            target=change.target,
            decision_id=decision_id,
            reason="" if decision is None else decision.answer.reason.value,
        )


def _paid(lifecycle: VolumeLifecycle, scenario: Scenario) -> Decimal:
    """USD for the volume over the workload, by the second."""
    inside = [at for at in lifecycle.starts if scenario.start < at < scenario.end]
    edges = [scenario.start, *inside, scenario.end]
    total = Decimal(0)
    for begin, end in pairwise(edges):
        monthly = scenario.aws.prices.monthly(lifecycle.billed(begin))
        total += monthly * Decimal(str((end - begin).total_seconds())) / SECONDS_PER_MONTH
    return total
