"""Replays many volumes: reads in batches, runs on all cores, yields by instance; one failure does not stop the others."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from multiprocessing import get_context

from headroom.adapters.cloudwatch import LONGEST_DAYS, CloudWatchHistory, Past, batches
from headroom.cli.terminal.problems import Problem
from headroom.domain.catalog import PriceTable
from headroom.domain.policy import Policy
from headroom.ports import ReadFailed, StorageView
from headroom.proving.replay import (
    NotReplayed,
    Replayed,
    by_instance,
    replay_together,
    why_not_replayable,
)
from headroom.proving.worker_process import begin_worker

FEW = 3
"""Fewer volumes than this are played in this process: starting others takes longer."""
TRAINING_DAYS = 14
"""Earlier days that the deployed engine reads too."""
AHEAD = 2
"""Volumes read ahead of those that are played, for each process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """A volume that was not replayed; `failed` if it should have been."""

    view: StorageView
    why: str
    failed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What all volumes are replayed under, and over which time."""

    until: datetime
    days: int
    policy: Policy
    prices: PriceTable
    draw: bool = False
    """Whether volumes come with the chart of what would have happened."""

    @property
    def since(self) -> datetime:
        """The minute at which the replay begins."""
        return self.until.replace(second=0, microsecond=0) - timedelta(days=self.days)

    @property
    def days_read(self) -> int:
        """Days that are read: earlier ones are what the engine would have known."""
        return min(LONGEST_DAYS, self.days + TRAINING_DAYS)


def replays(
    views: Sequence[StorageView], history: CloudWatchHistory, rules: Rules, *, processes: int
) -> Iterator[Replayed | Missed]:
    """Every volume of `views`, replayed or why not; those of one instance one after another."""
    reasons = ((view, why_not_replayable(view, rules.policy)) for view in views)
    left = [Missed(view=v, why=why, failed=False) for v, why in reasons if why is not None]
    yield from left
    out = {missed.view.volume.ref for missed in left}
    replayable = [view for view in views if view.volume.ref not in out]
    groups = by_instance(replayable)
    if processes <= 1 or len(replayable) < FEW:
        for group in _pasts_together(groups, history, rules):
            yield from _play(group, rules)
        return
    yield from _in_processes(groups, history, rules, processes)


def _in_processes(
    groups: Sequence[Sequence[StorageView]],
    history: CloudWatchHistory,
    rules: Rules,
    processes: int,
) -> Iterator[Replayed | Missed]:
    # Tables are read-only views, which do not travel between processes; plain ones do.
    databases = tuple(
        replace(one, gib=dict(one.gib), iops=dict(one.iops)) for one in rules.prices.databases
    )
    prices = replace(
        rules.prices, gib=dict(rules.prices.gib), iops=dict(rules.prices.iops), databases=databases
    )
    rules = replace(rules, prices=prices)
    running: deque[Future[list[Replayed | Missed]]] = deque()
    # Started afresh, not forked: clients hold threads and locks that do not survive a fork.
    fresh = get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=fresh, initializer=begin_worker) as pool:
        try:
            for group in _pasts_together(groups, history, rules):
                running.append(pool.submit(_play, group, rules))
                while len(running) > processes * (1 + AHEAD):
                    yield from running.popleft().result()
            while running:
                yield from running.popleft().result()
        except BrokenProcessPool:
            raise Problem(
                "The system ended a process that replayed a volume, most likely because memory ran "
                "out; `--processes 1` needs the least."
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _pasts_together(
    groups: Sequence[Sequence[StorageView]], history: CloudWatchHistory, rules: Rules
) -> Iterator[list[tuple[StorageView, Past | Missed]]]:
    """The pasts of the volumes of each instance; they are read beyond its bounds."""
    pasts = _pasts([view for group in groups for view in group], history, rules)
    for group in groups:
        yield list(islice(pasts, len(group)))


def _pasts(
    views: Sequence[StorageView], history: CloudWatchHistory, rules: Rules
) -> Iterator[tuple[StorageView, Past | Missed]]:
    """The past of every volume; one that cannot be read does not hide the others."""
    for group in batches(views, rules.until, rules.days_read):
        try:
            found = history.read(group, rules.until, rules.days_read)
        except ReadFailed:
            for view in group:
                yield view, _alone(view, history, rules)
            continue
        for view in group:
            yield view, found[view.volume.ref.resource_id]


def _alone(view: StorageView, history: CloudWatchHistory, rules: Rules) -> Past | Missed:
    try:
        found = history.read([view], rules.until, rules.days_read)
    except ReadFailed as failed:
        return Missed(view=view, why=f"its metrics could not be read: {failed}", failed=True)
    return found[view.volume.ref.resource_id]


def _play(
    group: Sequence[tuple[StorageView, Past | Missed]], rules: Rules
) -> list[Replayed | Missed]:
    """The volumes of one instance, those that could not be read last."""
    known = [(view, past) for view, past in group if not isinstance(past, Missed)]
    found = replay_together(known, rules.policy, rules.prices, since=rules.since, draw=rules.draw)
    played = [_played(view, one) for (view, _), one in zip(known, found, strict=True)]
    return [*played, *(past for _, past in group if isinstance(past, Missed))]


def _played(view: StorageView, one: Replayed | Exception) -> Replayed | Missed:
    """One volume's trouble must not hide the others."""
    if isinstance(one, NotReplayed):
        return Missed(view=view, why=str(one), failed=False)
    if isinstance(one, Exception):
        return Missed(view=view, why=f"{type(one).__name__}: {one}", failed=True)
    return replace(one, added=None)
