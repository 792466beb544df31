"""Several processes work on a fleet; they end when the command ends."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from multiprocessing import active_children, get_context
from signal import SIGINT, default_int_handler, signal
from threading import Timer
from typing import Any

import pytest

from headroom.cli.fleet import pool
from headroom.cli.sources.options import AccountOptions
from tests.cli.fleet.account import FakeAws

LONG_S, SOON_S = 40, 20


def sleeper(_: Any) -> Callable[[Sequence[Any]], list[Any]]:
    return lambda _: time.sleep(LONG_S) or []


def test_an_interrupt_ends_the_processes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    where = FakeAws().account()
    monkeypatch.setattr(
        pool, "get_context", lambda _: get_context("fork")
    )  # a spawned one costs a second
    monkeypatch.setattr(pool, "account", lambda **_: where)
    chunks: list[Any] = [[1], [2], [3], [4]]
    # A shell that starts the tests in the background lets them ignore it.
    before = signal(SIGINT, default_int_handler)
    Timer(1, os.kill, (os.getpid(), SIGINT)).start()
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            list(pool.worked(chunks, sleeper, where, AccountOptions(), processes=2))
    finally:
        signal(SIGINT, before)
    assert time.monotonic() - began < SOON_S
    assert active_children() == []
