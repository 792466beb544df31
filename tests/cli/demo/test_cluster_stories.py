"""The stories of clusters are what their titles say, by the dated prices and AWS's gate."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headroom.cli.demo.expectations.clusters import CHECKS
from headroom.cli.demo.script.actor import instant
from headroom.cli.demo.stories.clusters import CLUSTER_STORIES, MADE_MINUTE, ClusterStory
from headroom.cli.demo.stories.volumes import END_MINUTE
from headroom.domain.catalog.aurora import Bills, Usage, aurora_prices, bills
from headroom.domain.resources import GATE, Member

BY_KEY = {story.key: story for story in CLUSTER_STORIES}


def month(story: ClusterStory) -> Bills:
    members = (Member(instance_class=story.instance_class, count=story.members),)
    usage = Usage(
        members=members, reserved=(), acus=0, storage_gib=story.storage_gib,
        ios=story.io_millions * 1e6,
    )  # fmt: skip
    return bills(usage, aurora_prices("us-east-1"))


def test_there_are_three_and_each_has_a_check() -> None:
    assert set(CHECKS) == set(BY_KEY)
    assert len(BY_KEY) == len(CLUSTER_STORIES) == 3


@pytest.mark.parametrize(
    ("key", "share", "saves"), [("aurora-40", 40, True), ("aurora-15", 15, False)]
)
def test_the_bill_has_the_share_that_the_title_names(key: str, share: int, saves: bool) -> None:
    both = month(BY_KEY[key])
    assert round(100 * both.standard.io_share) == share
    assert f"{share} %" in BY_KEY[key].title
    assert (both.io_optimized.total_usd < both.standard.total_usd) is saves


def test_the_gate_opens_within_the_demo_and_a_fortnight_of_standard_lies_before_it() -> None:
    switched = BY_KEY["aurora-gate"].switched
    assert switched is not None
    opens = instant(switched.there_minute) + GATE
    assert instant(0) < opens < instant(END_MINUTE) - timedelta(hours=1)
    assert instant(switched.back_minute) < instant(0) - timedelta(days=16)
    assert MADE_MINUTE < switched.there_minute < switched.back_minute
