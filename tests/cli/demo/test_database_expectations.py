"""A database's story is judged by the record and by what RDS reports."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from headroom.cli.demo.expectations.verdict import verdict
from headroom.cli.demo.script.outcome import StorageRun
from headroom.cli.demo.stories.databases import DATABASES
from headroom.cli.views.decision import DecisionStory, decision_story
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


def run_of(
    key: str, *stories: DecisionStory, final: Configuration, starved: tuple[int, ...] = (),
    others: tuple[datetime, ...] = (),
) -> StorageRun:  # fmt: skip
    return StorageRun(
        story=BY_KEY[key], resource_id=key, final=final, decisions=stories,
        minutes=minutes(*starved), messages=1, changed_by_others=others,
    )  # fmt: skip


def acted(seen: Observation, **limits: object) -> tuple[DecisionStory, Configuration]:
    decision = decided(seen, **{**USUAL, **limits})
    done = decision_story(chain(decision, DONE))
    return done, done.decision.answer.plan.target  # type: ignore[union-attr]


def asked(seen: Observation, **limits: object) -> DecisionStory:
    return decision_story(chain(decided(seen, **{**USUAL, **limits})))


def pending(seen: Observation, *names: str) -> Observation:
    facts = DatabaseFacts(
        instance_class="db.r6g.4xlarge", status="available", members=("orders",), pending=names
    )
    return replace(seen, volume=replace(seen.volume, facts=facts))


@pytest.mark.parametrize("key", BY_KEY)
def test_a_story_in_which_nothing_happened_does_not_end_as_expected(key: str) -> None:
    assert not verdict(run_of(key, final=BY_KEY[key].volume)).ok


def test_credits_end_in_gp3_with_what_it_was_chosen_over_priced() -> None:
    story, final = acted(starved(GP2, 1_500))
    end = verdict(run_of("db-credits", story, final=final))
    assert end.ok, end.unmet
    assert "(alternatives: growing gp2 for $" in end.line
    assert "io1 for $" in end.line
    assert "no minute starved" in verdict(
        run_of("db-credits", story, final=final, starved=(3,))
    ).unmet  # fmt: skip
    grown = verdict(run_of("db-credits", story, final=rds(VolumeType.GP2, 1_500)))
    assert "it went to gp3 of the same size" in grown.unmet


def test_below_the_threshold_it_is_left_alone_and_reported_once() -> None:
    story = asked(starved(rds(VolumeType.GP3, 300), 3_000), growth=True)
    end = verdict(run_of("db-below", story, final=BY_KEY["db-below"].volume))
    assert end.ok, end.unmet
    assert "a full copy, which only a person may start" in end.line
    twice = run_of("db-below", story, story, final=BY_KEY["db-below"].volume)
    assert verdict(twice).unmet == ("the owner was notified once",)
    copied = run_of("db-below", story, final=GP3)
    assert verdict(copied).unmet == ("the storage was not changed",)


def test_above_the_threshold_iops_are_raised_in_place_and_rds_must_show_it() -> None:
    story, final = acted(starved(GP3, 12_000))
    assert verdict(run_of("db-above", story, final=final)).ok
    assert "RDS shows what was planned" in verdict(
        run_of("db-above", story, final=replace(final, iops=12_000))
    ).unmet  # fmt: skip


def test_a_pending_change_holds_until_it_is_gone_and_no_longer() -> None:
    held = asked(pending(starved(GP2, 1_500), "DBInstanceClass"))
    story, final = acted(starved(GP2, 1_500))
    others = (NOW - timedelta(hours=3), NOW - timedelta(minutes=10))
    end = verdict(run_of("db-pending", held, story, final=final, others=others))
    assert end.ok, end.unmet
    flushed = (others[0], NOW + timedelta(minutes=5))
    assert "nothing was changed before it was withdrawn" in verdict(
        run_of("db-pending", held, story, final=final, others=flushed)
    ).unmet  # fmt: skip
    late = (others[0], NOW - timedelta(hours=2))
    assert "it was changed soon after" in verdict(
        run_of("db-pending", held, story, final=final, others=late)
    ).unmet  # fmt: skip


def test_a_class_that_is_the_limit_is_reported_once_and_nothing_is_bought() -> None:
    story = asked(starved(rds(VolumeType.GP3, 500, 40_000, 1_000), 39_000))
    untouched = BY_KEY["db-class"].volume
    end = verdict(run_of("db-class", story, final=untouched))
    assert end.ok, end.unmet
    assert "faster storage would not help" in end.line
    bought = verdict(run_of("db-class", story, final=GP2))
    assert bought.unmet == ("the storage was not changed",)
    twice = verdict(run_of("db-class", story, story, final=untouched))
    assert twice.unmet == ("the owner was notified once",)
    other = asked(starved(GP3, 12_000), price_increase_usd=0)
    assert not verdict(run_of("db-class", other, final=untouched)).ok
