from __future__ import annotations

from pathlib import Path

import pytest

from headroom.cli.demo.expectations import blocked, volumes
from headroom.cli.demo.stories.loads import ROW_SECONDS, rows_of, workload
from headroom.cli.demo.stories.program import demo_policy
from headroom.cli.demo.stories.volumes import END_MINUTE, START, STORIES, Loop, Story, Trace
from headroom.domain.catalog import why_invalid
from headroom.domain.policy import Limits, limits_for
from headroom.domain.resources import VolumeType
from headroom.policy import parse_policy
from headroom.proving.scenarios import parse_workload
from tests.builders import volume

BY_KEY = {story.key: story for story in STORIES}


def test_there_are_nine_stories_and_each_has_a_check() -> None:
    assert len(BY_KEY) == len(STORIES) == 9
    assert {*volumes.CHECKS, *blocked.CHECKS} == set(BY_KEY)


@pytest.mark.parametrize("story", STORIES, ids=lambda s: s.key)
def test_every_volume_is_one_that_aws_would_create(story: Story) -> None:
    assert why_invalid(story.volume) is None


def limits(story: Story) -> Limits:
    policy = parse_policy(demo_policy(), source="demo")
    tagged = volume(story.volume, tags=tuple(story.all_tags.items()))
    return limits_for(policy, tagged).limits


def test_only_the_stories_that_need_it_have_limits_of_their_own() -> None:
    assert limits(BY_KEY["chase"]).max_iops == 8_000
    assert limits(BY_KEY["growth"]).types == (VolumeType.GP2,)
    assert limits(BY_KEY["growth"]).growth
    assert limits(BY_KEY["iops"]).max_iops == Limits().max_iops


def test_only_the_one_that_is_watched_is_not_enrolled() -> None:
    modes = {key: limits(story).mode.value for key, story in BY_KEY.items()}
    assert modes.pop("watched") == "observe"
    assert set(modes.values()) == {"auto"}


@pytest.mark.parametrize(
    "story", [s for s in STORIES if isinstance(s.load, Trace)], ids=lambda s: s.key
)
def test_a_load_has_the_declared_means(story: Story) -> None:
    assert isinstance(story.load, Trace)
    part = story.load.parts[-1]
    rows = [*rows_of(story.load, START, END_MINUTE)][part.minute * 60 // ROW_SECONDS :]
    seconds = len(rows) * ROW_SECONDS
    ops, size = sum(r[1] + r[2] for r in rows), sum(r[3] + r[4] for r in rows)
    assert seconds == (END_MINUTE - part.minute) * 60
    assert ops / seconds == pytest.approx(part.iops, rel=0.03)
    assert size / ops / 1024 == pytest.approx(part.io_kib, rel=0.03)


@pytest.mark.parametrize("story", STORIES, ids=lambda s: s.key)
def test_every_load_is_one_that_the_proving_ground_reads(story: Story, tmp_path: Path) -> None:
    minutes = max(120, *(part.minute + 1 for part in story.load.parts)) if isinstance(
        story.load, Trace
    ) else 120  # fmt: skip
    block = workload(story, tmp_path, START, minutes)
    read = parse_workload(block, source="test", base=tmp_path, start=START)
    expected = story.load.minutes if isinstance(story.load, Loop) else minutes
    assert read.duration_s == expected * 60
