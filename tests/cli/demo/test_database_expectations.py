"""How stories of databases ended is judged by what is on record and by what RDS shows."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from headroom.cli.demo.expectations.databases import ending
from headroom.cli.demo.script.outcome import Played
from headroom.cli.demo.stories.databases import DATABASES
from headroom.cli.views.decision import DecisionStory, told
from headroom.domain.resources import Configuration, DatabaseFacts, Observation, VolumeType
from headroom.domain.state import Step
from tests.builders import NOW
from tests.cli.demo.test_volume_expectations import minutes
from tests.cli.sources.chains import chain
from tests.domain.databases import rds
from tests.domain.decision.test_rds_planning import decided, starved

BY_KEY = {story.key: story for story in DATABASES}
DONE = [(Step.INTENDED, "", 0), (Step.APPLIED, "", 0), (Step.RELIEVED, "", 30)]
GP2, GP3 = rds(VolumeType.GP2, 500), rds(VolumeType.GP3, 500, 12_000, 500)
USUAL = {"types": (VolumeType.GP3, VolumeType.IO2), "price_increase_usd": 250, "max_iops": 16_000}


def played(
    key: str, *stories: DecisionStory, final: Configuration, starved: tuple[int, ...] = (),
    others: tuple[datetime, ...] = (),
) -> Played:  # fmt: skip
    return Played(
        story=BY_KEY[key], resource_id=key, final=final, told=stories,
        minutes=minutes(*starved), messages=1, changed_by_others=others,
    )  # fmt: skip


def acted(seen: Observation, **limits: object) -> tuple[DecisionStory, Configuration]:
    decision = decided(seen, **{**USUAL, **limits})
    done = told(chain(decision, DONE))
    return done, done.decision.answer.plan.target  # type: ignore[union-attr]


def asked(seen: Observation, **limits: object) -> DecisionStory:
    return told(chain(decided(seen, **{**USUAL, **limits})))


def pending(seen: Observation, *names: str) -> Observation:
    facts = DatabaseFacts(
        instance_class="db.r6g.4xlarge", status="available", members=("orders",), pending=names
    )
    return replace(seen, volume=replace(seen.volume, facts=facts))


@pytest.mark.parametrize("key", BY_KEY)
def test_a_story_in_which_nothing_happened_did_not_end_as_told(key: str) -> None:
    assert not ending(played(key, final=BY_KEY[key].volume)).ok


def test_credits_end_in_gp3_with_what_it_was_chosen_over_priced() -> None:
    story, final = acted(starved(GP2, 1_500))
    end = ending(played("db-credits", story, final=final))
    assert end.ok, end.amiss
    assert "(beside it stood growing gp2 for $" in end.line
    assert "io1 for $" in end.line
    assert "no minute starved" in ending(
        played("db-credits", story, final=final, starved=(3,))
    ).amiss  # fmt: skip
    grown = ending(played("db-credits", story, final=rds(VolumeType.GP2, 1_500)))
    assert "it went to gp3 of the same size" in grown.amiss


def test_below_the_threshold_it_is_left_alone_and_told_once() -> None:
    story = asked(starved(rds(VolumeType.GP3, 300), 3_000), growth=True)
    end = ending(played("db-below", story, final=BY_KEY["db-below"].volume))
    assert end.ok, end.amiss
    assert "a full copy, which a person begins" in end.line
    twice = played("db-below", story, story, final=BY_KEY["db-below"].volume)
    assert ending(twice).amiss == ("the owner was told once",)
    copied = played("db-below", story, final=GP3)
    assert ending(copied).amiss == ("the storage was not changed",)


def test_above_the_threshold_iops_are_raised_in_place_and_rds_must_show_it() -> None:
    story, final = acted(starved(GP3, 12_000))
    assert ending(played("db-above", story, final=final)).ok
    assert "RDS shows what was planned" in ending(
        played("db-above", story, final=replace(final, iops=12_000))
    ).amiss  # fmt: skip


def test_a_pending_change_holds_until_it_is_gone_and_no_longer() -> None:
    held = asked(pending(starved(GP2, 1_500), "DBInstanceClass"))
    story, final = acted(starved(GP2, 1_500))
    theirs = (NOW - timedelta(hours=3), NOW - timedelta(minutes=10))
    end = ending(played("db-pending", held, story, final=final, others=theirs))
    assert end.ok, end.amiss
    flushed = (theirs[0], NOW + timedelta(minutes=5))
    assert "nothing was changed before it was gone" in ending(
        played("db-pending", held, story, final=final, others=flushed)
    ).amiss  # fmt: skip
    late = (theirs[0], NOW - timedelta(hours=2))
    assert "it was changed soon after" in ending(
        played("db-pending", held, story, final=final, others=late)
    ).amiss  # fmt: skip


def test_a_class_that_is_the_limit_is_told_once_and_nothing_is_bought() -> None:
    story = asked(starved(rds(VolumeType.GP3, 500, 40_000, 1_000), 39_000))
    untouched = BY_KEY["db-class"].volume
    end = ending(played("db-class", story, final=untouched))
    assert end.ok, end.amiss
    assert "a faster storage would change nothing" in end.line
    bought = ending(played("db-class", story, final=GP2))
    assert bought.amiss == ("the storage was not changed",)
    twice = ending(played("db-class", story, story, final=untouched))
    assert twice.amiss == ("the owner was told once",)
    other = asked(starved(GP3, 12_000), price_increase_usd=0)
    assert not ending(played("db-class", other, final=untouched)).ok
