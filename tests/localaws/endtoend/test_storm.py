"""A storm of alarms through the deployed queue and functions: few calls, nothing lost, nothing parked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headroom.localaws.daemon import LocalAws
from tests.localaws.conftest import Program
from tests.stacks.conftest import shared_synth
from tools.storm import Play

WORKERS = 3
EVENTS = 360
"""30 for a volume; in the storm of `make bench` there are 100."""


@pytest.fixture
def shared_program() -> Iterator[Program]:
    """An endpoint where several calls of a function run at once."""
    with LocalAws(clock="lockstep", seed=7, workers=WORKERS) as aws:
        yield Program(aws)


def test_a_storm_costs_few_calls_and_every_event_has_its_record(
    program: Program, tmp_path_factory: pytest.TempPathFactory
) -> None:
    templates = shared_synth(tmp_path_factory)().directory
    play = Play(program.aws, templates, volumes=12, after_min=3)
    scheduler = program.client("scheduler")
    (schedule,) = scheduler.list_schedules()["Schedules"]
    scheduler.delete_schedule(Name=schedule["Name"])  # the workers alone
    took = play.storm(EVENTS)
    assert (took.recorded, took.parked, took.waiting) == (EVENTS, 0, 0)
    assert sum(took.led_to.values()) == EVENTS
    assert took.calls_per_event <= 3
    assert len(took.at_once) == 10, "as many as may be under way in a zone"
    assert len(took.queued) == 2
    assert list(took.queued) == sorted(took.queued, reverse=True), "the most starved first"
    assert took.workers == WORKERS
    assert 0 < took.worker_mib < 256
    assert took.denials == 0
