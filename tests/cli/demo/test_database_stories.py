from __future__ import annotations

from pathlib import Path

import pytest

from headroom.cli.demo.expectations.databases import CHECKS
from headroom.cli.demo.stories.databases import DATABASES, DatabaseStory
from headroom.cli.demo.stories.loads import workload
from headroom.cli.demo.stories.program import EVERY, KINDS, demo_policy
from headroom.cli.demo.stories.volumes import END_MINUTE, START, STORIES
from headroom.domain.catalog.rds import why_invalid
from headroom.domain.policy import Mode, limits_for
from headroom.domain.resources import DatabaseFacts, Kind, ResourceRef
from headroom.policy import parse_policy
from headroom.proving.physics import instance_limits
from headroom.proving.scenarios import parse_workload
from tests.builders import ACCOUNT, REGION, volume

BY_KEY = {story.key: story for story in DATABASES}
STORY = pytest.mark.parametrize("story", DATABASES, ids=lambda s: s.key)


def test_every_database_has_a_check_and_a_key_of_its_own() -> None:
    assert set(CHECKS) == set(BY_KEY)
    assert len({story.key for story in EVERY}) == len(EVERY) >= len(STORIES) + len(DATABASES)
    assert "rds" in KINDS.split(",")


@STORY
def test_every_database_is_one_that_rds_would_create(story: DatabaseStory) -> None:
    assert why_invalid(story.volume) is None
    assert instance_limits(story.instance_type.removeprefix("db.")) is not None


def test_one_lies_below_the_striping_threshold_and_one_above() -> None:
    stripes = {}
    for key in ("db-below", "db-above"):
        storage = BY_KEY[key].volume
        assert storage.database is not None
        stripes[key] = storage.database.stripes(storage.size_gib)
    assert stripes == {"db-below": 1, "db-above": 4}


@STORY
def test_every_database_is_enrolled_by_its_own_tag(story: DatabaseStory) -> None:
    facts = DatabaseFacts(instance_class=story.instance_type, status="available", members=())
    ref = ResourceRef(kind=Kind.RDS, account_id=ACCOUNT, region=REGION, resource_id=story.key)
    tagged = volume(story.volume, ref=ref, facts=facts, tags=tuple(story.all_tags.items()))
    limits = limits_for(parse_policy(demo_policy(), source="demo"), tagged).limits
    assert limits.mode is Mode.AUTO
    assert limits.growth == bool(story.policy.get("growth"))


@STORY
def test_every_load_is_one_that_the_proving_ground_reads(
    story: DatabaseStory, tmp_path: Path
) -> None:
    block = workload(story, tmp_path, START, END_MINUTE)
    read = parse_workload(block, source="test", base=tmp_path, start=START)
    assert read.duration_s == END_MINUTE * 60
