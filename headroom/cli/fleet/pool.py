"""Work on many resources in several processes, each with clients of its own; memory holds a few chunks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, replace
from datetime import datetime
from multiprocessing import active_children, get_context
from signal import SIG_IGN, SIGINT, signal
from typing import Any, TypeVar

from headroom.cli.sources.account import Account, account
from headroom.cli.sources.options import AccountOptions
from headroom.cli.terminal.problems import Problem
from headroom.domain.catalog import PriceTable
from headroom.ports import StorageView

Row = TypeVar("Row")
Work = Callable[[Sequence[StorageView]], list[Row]]
ENDS_S = 1.0
"""How long to wait for a process that was ended before it is ended again."""
AHEAD = 2
"""Chunks given to each process before its first is done."""


def worked(
    chunks: Sequence[Sequence[StorageView]], make: Callable[[Account], Work[Row]], where: Account,
    options: AccountOptions, *, processes: int,
) -> Iterator[list[Row]]:  # fmt: skip
    """What the work that `make` makes returns for each chunk, in order.

    Each process makes its own; what `make` holds must travel between processes. Raises Problem.
    """
    if processes <= 1 or len(chunks) < 2:
        yield from map(make(where), chunks)
        return
    running: deque[Future[list[Any]]] = deque()
    # Started afresh, not forked: clients hold threads and locks that do not survive a fork.
    with ProcessPoolExecutor(
        processes, mp_context=get_context("spawn"), initializer=_start,
        initargs=(make, options, where.now),
    ) as pool:  # fmt: skip
        try:
            for each in chunks:
                running.append(pool.submit(_do, each))
                while len(running) > processes * (1 + AHEAD):
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        except BrokenProcessPool:
            raise Problem(
                "A worker process ended: most likely memory ran out, or it could not read the account. "
                "`--processes 1` needs the least memory and prints the cause."
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            # They only read, and nobody waits for what they find. One may just be starting.
            while children := active_children():
                for process in children:
                    process.kill()
                    process.join(ENDS_S)
            raise


def portable(prices: PriceTable) -> PriceTable:
    """The same table with plain mappings: read-only views do not travel between processes."""
    databases = tuple(
        replace(one, gib=dict(one.gib), iops=dict(one.iops)) for one in prices.databases
    )
    return replace(prices, gib=dict(prices.gib), iops=dict(prices.iops), databases=databases)


_work: Work[Any]


def _start(make: Callable[[Account], Work[Any]], options: AccountOptions, now: datetime) -> None:
    global _work
    signal(SIGINT, SIG_IGN)  # Ctrl-C is the first process's to answer
    _work = make(replace(account(**asdict(options), databases=False), now=now))


def _do(views: Sequence[StorageView]) -> list[Any]:
    return _work(views)
