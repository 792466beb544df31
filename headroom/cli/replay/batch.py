"""Replays many volumes: reads in batches, runs on all cores, yields in order; one failure does not stop the others."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from multiprocessing import get_context

from headroom.adapters.cloudwatch import LONGEST_DAYS, CloudWatchHistory, Past, batches
from headroom.cli.terminal.problems import Problem
from headroom.domain.catalog import PriceTable
from headroom.domain.policy import Policy
from headroom.ports import ReadFailed, StorageView
from headroom.proving.replay import NotReplayed, Replayed, replay_volume, why_not_replayable
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
    """Every volume of `views` in turn, replayed or why not."""
    reasons = ((view, why_not_replayable(view, rules.policy)) for view in views)
    left = [Missed(view=v, why=why, failed=False) for v, why in reasons if why is not None]
    yield from left
    out = {missed.view.volume.ref for missed in left}
    replayable = [view for view in views if view.volume.ref not in out]
    if processes <= 1 or len(replayable) < FEW:
        for view, past in _pasts(replayable, history, rules):
            yield past if isinstance(past, Missed) else _play(view, past, rules)
        return
    yield from _in_processes(replayable, history, rules, processes)


def _in_processes(
    views: Sequence[StorageView], history: CloudWatchHistory, rules: Rules, processes: int
) -> Iterator[Replayed | Missed]:
    # Tables are read-only views, which do not travel between processes; plain ones do.
    databases = tuple(
        replace(one, gib=dict(one.gib), iops=dict(one.iops)) for one in rules.prices.databases
    )
    prices = replace(
        rules.prices, gib=dict(rules.prices.gib), iops=dict(rules.prices.iops), databases=databases
    )
    rules = replace(rules, prices=prices)
    running: deque[Future[Replayed | Missed] | Missed] = deque()
    # Started afresh, not forked: clients hold threads and locks that do not survive a fork.
    fresh = get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=fresh, initializer=begin_worker) as pool:
        try:
            for view, past in _pasts(views, history, rules):
                later = past if isinstance(past, Missed) else pool.submit(_play, view, past, rules)
                running.append(later)
                while len(running) > processes * (1 + AHEAD):
                    yield _done(running.popleft())
            while running:
                yield _done(running.popleft())
        except BrokenProcessPool:
            raise Problem(
                "The system ended a process that replayed a volume, most likely because memory ran "
                "out; `--processes 1` needs the least."
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _done(later: Future[Replayed | Missed] | Missed) -> Replayed | Missed:
    return later if isinstance(later, Missed) else later.result()


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


def _play(view: StorageView, past: Past, rules: Rules) -> Replayed | Missed:
    try:
        return replay_volume(
            view, past, rules.policy, rules.prices, since=rules.since, draw=rules.draw
        )
    except NotReplayed as not_replayed:
        return Missed(view=view, why=str(not_replayed), failed=False)
    except Exception as error:  # one volume's trouble must not hide the others
        return Missed(view=view, why=f"{type(error).__name__}: {error}", failed=True)
