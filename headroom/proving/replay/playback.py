"""Simulates a reconstructed load on a volume twice: without changes, and under Headroom.

SSD volumes use the vectorized physics; HDD volumes and databases the exact one, minute by minute.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from headroom.domain.catalog import SECONDS_PER_MONTH, PriceTable
from headroom.domain.catalog.ebs import MIB
from headroom.domain.decision import Act, Decision, Escalate, Hold
from headroom.domain.policy import Policy
from headroom.domain.resources import Configuration, Volume
from headroom.domain.state import InFlight
from headroom.proving.physics import BOUNDLESS, QUEUE_LIMIT, Attachment
from headroom.proving.replay.added import AddedLoad, added_load
from headroom.proving.replay.demand import ReconstructedLoad
from headroom.proving.replay.timeline import (
    PlaybackTimeline,
    timeline_of_result,
    timeline_of_series,
)
from headroom.proving.scenarios import AttachmentSettings, AwsBehaviour, Resource, Scenario
from headroom.proving.simulation import Change, Result, simulate
from headroom.proving.trials import Conditions, TrialChange, run_engine
from headroom.proving.vectorized import VectorizedVolume
from headroom.proving.workloads import Floats, LoadSeries, TraceWorkload

METRIC_DELAY = timedelta(minutes=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedChange:
    """A change that Headroom would have made; the price change is USD per month."""

    at: datetime
    origin: Configuration
    target: Configuration
    usd_change: Decimal
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybackOutcome:
    """The result of one controller; money in USD."""

    starved_minutes: int
    storage_usd: Decimal
    usd_per_month_end: Decimal
    changes: tuple[ReplayedChange, ...] = ()
    acts: int = 0
    holds: int = 0
    escalations: int = 0
    aws_refusals: int = 0
    guardrail_violations: int = 0
    blocked_by: tuple[tuple[str, int], ...] = ()
    """Guardrails that blocked the change that would have been made, and in how many decisions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Playback:
    """A volume left alone, and under Headroom; the timeline only on request."""

    left_alone: PlaybackOutcome
    headroom: PlaybackOutcome
    timeline: PlaybackTimeline | None = None
    added: AddedLoad | None = None
    """What its raises add to the load on its instance; only on request."""


def play_vectorized(
    volume: Volume,
    reconstructed: ReconstructedLoad,
    policy: Policy,
    prices: PriceTable,
    *,
    draw: bool = False,
    with_added: bool = False,
) -> Playback:
    """Simulate an SSD volume with the vectorized physics."""
    load_series, since = reconstructed.load_series, reconstructed.since_minute
    start = volume.configuration
    alone = VectorizedVolume(
        load_series, start, burst_balance_percent=reconstructed.balance_percent
    )
    alone.run(load_series.minutes)
    conditions = Conditions(
        region=volume.ref.region,
        burst_balance_percent=reconstructed.balance_percent,
        metric_delay=(METRIC_DELAY, METRIC_DELAY),
        listed=prices,
    )
    run = run_engine(load_series, start, conditions, policy=policy, since=since, with_records=draw)
    at = [load_series.start + timedelta(minutes=change.minute) for change in run.changes]
    changes = _priced_changes(at, run.changes, prices)
    end = load_series.start + timedelta(minutes=load_series.minutes)
    bill = _Bill(start, reconstructed.known.start, end, prices)
    timeline = None
    if draw:
        timeline = timeline_of_series(
            load_series, start, [(change.minute, change.target) for change in run.changes], prices,
            since=since, balance_percent=reconstructed.balance_percent, records=run.records,
        )  # fmt: skip
    added = None
    if with_added and run.changes:
        faster = VectorizedVolume(
            load_series, start, burst_balance_percent=reconstructed.balance_percent
        )
        for change in run.changes:
            faster.run(change.minute)
            faster.modify(change.target)
        faster.run(load_series.minutes)
        before, after = (
            (one.served_ebs_iops[since:], one.served_mibps[since:]) for one in (alone, faster)
        )
        added = added_load(
            volume.ref, bill.begin, before, after, [(c.at, c.origin, c.target) for c in changes]
        )
    return Playback(
        left_alone=bill.outcome(int(np.sum(alone.starved[since:]))),
        headroom=bill.outcome(
            int(np.sum(run.starved[since:])), changes, run.decisions, run.aws_refusals,
            run.guardrail_violations,
        ),
        timeline=timeline,
        added=added,
    )  # fmt: skip


def play_exact(
    volume: Volume, reconstructed: ReconstructedLoad, policy: Policy, prices: PriceTable, *, draw: bool = False,
    attachment: Attachment | None = None, beside: Attachment | None = None,
    raises: Sequence[InFlight] = (), with_added: bool = False,
) -> Playback:  # fmt: skip
    """Simulate any volume or database storage minute by minute.

    Without an `attachment` the instance never binds. Under Headroom it is `beside`, if that is
    given: with what `raises` of its other volumes add.
    """
    free = Attachment(limits=BOUNDLESS)
    scenario = _scenario(volume, reconstructed, policy, prices, attachment or free)
    bill = _Bill(volume.configuration, scenario.start, scenario.end, prices)
    alone = simulate(scenario, "none")
    if beside is not None:
        scenario = _scenario(volume, reconstructed, policy, prices, beside)
    run = simulate(scenario, "headroom", beside=raises)
    changes = _priced_changes([change.at for change in run.changes], run.changes, prices)
    added = None
    if with_added and changes:
        added = added_load(
            volume.ref, scenario.start, _served(alone), _served(run),
            [(c.at, c.origin, c.target) for c in changes],
        )  # fmt: skip
    return Playback(
        left_alone=bill.outcome(alone.starved_minutes),
        headroom=bill.outcome(
            run.starved_minutes, changes, run.decisions, len(run.refusals), len(run.violations)
        ),
        timeline=timeline_of_result(run) if draw else None,
        added=added,
    )


def _served(result: Result) -> tuple[Floats, Floats]:
    facts = [minute.facts for minute in result.minutes]
    size = [one.served_read_bytes + one.served_write_bytes for one in facts]
    return np.array([one.ebs_iops for one in facts]), np.array(size) / 60 / MIB


class _Bill(NamedTuple):
    """The configuration at the start, the span of the replay and its prices."""

    start: Configuration
    begin: datetime
    end: datetime
    prices: PriceTable

    def outcome(
        self,
        starved_minutes: int,
        changes: tuple[ReplayedChange, ...] = (),
        decisions: Sequence[Decision] = (),
        aws_refusals: int = 0,
        guardrail_violations: int = 0,
    ) -> PlaybackOutcome:
        """The outcome of one controller."""
        answers = Counter(type(decision.answer) for decision in decisions)
        return PlaybackOutcome(
            starved_minutes=starved_minutes,
            storage_usd=self._paid(changes),
            usd_per_month_end=self.prices.monthly(changes[-1].target if changes else self.start),
            changes=changes,
            acts=answers[Act],
            holds=answers[Hold],
            escalations=answers[Escalate],
            aws_refusals=aws_refusals,
            guardrail_violations=guardrail_violations,
            blocked_by=tuple(Counter(_blocking(decisions)).most_common()),
        )

    def _paid(self, changes: Sequence[ReplayedChange]) -> Decimal:
        """USD for storage by the second; a target is billed from the start of its modification."""
        edges = [(self.begin, self.start), *((c.at, c.target) for c in changes)]
        total = Decimal(0)
        for (begin, paid), (end, _) in pairwise([*edges, (self.end, self.start)]):
            seconds = Decimal(str((end - begin).total_seconds()))
            total += self.prices.monthly(paid) * seconds / SECONDS_PER_MONTH
        return total


def _blocking(decisions: Sequence[Decision]) -> Iterator[str]:
    """The guardrails that blocked the proposed plan of each decision that did not act."""
    for decision in decisions:
        answer = decision.answer
        if isinstance(answer, Act) or answer.proposed_plan is None:
            continue
        for judged in decision.judgements:
            if judged.plan == answer.proposed_plan:
                yield from {verdict.guardrail.value for verdict in judged.blocking}


def _priced_changes(
    starts: Sequence[datetime], changes: Sequence[Change | TrialChange], prices: PriceTable
) -> tuple[ReplayedChange, ...]:
    return tuple(
        ReplayedChange(
            at=at,
            origin=change.origin,
            target=change.target,
            usd_change=prices.monthly(change.target) - prices.monthly(change.origin),
            reason=change.reason,
        )
        for at, change in zip(starts, changes, strict=True)
    )


def _scenario(
    volume: Volume,
    reconstructed: ReconstructedLoad,
    policy: Policy,
    prices: PriceTable,
    attachment: Attachment,
) -> Scenario:
    since, load_series = reconstructed.since_minute, reconstructed.load_series
    workload = _workload(load_series, since, load_series.minutes)
    known = np.flatnonzero(load_series.measured())
    first = int(known[0]) * load_series.step_s // 60 if known.size else since
    return Scenario(
        name=volume.ref.resource_id,
        start=workload.start,
        resource=Resource(
            configuration=volume.configuration,
            burst_balance_percent=reconstructed.balance_percent_since,
        ),
        attachment_settings=AttachmentSettings(attachment=attachment, queue_limit=QUEUE_LIMIT),
        workload=workload,
        history=_workload(load_series, first, since) if first < since else None,
        aws=AwsBehaviour(region=volume.ref.region, prices=prices, metric_delay=METRIC_DELAY),
        policy=policy,
    )


def _workload(load_series: LoadSeries, first: int, last: int) -> TraceWorkload:
    """Minutes `first` to `last` of a load series, for the exact physics."""
    step = load_series.step_s
    place = slice(first * 60 // step, last * 60 // step)
    ops, share = load_series.ops[place], load_series.read_share[place]
    read_bytes = load_series.read_bytes[place]
    columns = (ops * share, ops * (1 - share), read_bytes, load_series.bytes[place] - read_bytes)
    rows = zip(*((column * step).tolist() for column in columns), strict=True)
    return TraceWorkload(
        [None if np.isnan(row[0]) else row for row in rows],
        interval_s=step,
        start=load_series.start + timedelta(minutes=first),
    )
