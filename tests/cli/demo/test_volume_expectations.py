"""A story is judged by what is on record."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from headroom.cli.demo.expectations.verdict import verdict
from headroom.cli.demo.script.outcome import StorageRun
from headroom.cli.demo.stories.volumes import START, STORIES
from headroom.cli.views.decision import DecisionStory, decision_story
from headroom.cli.views.timeline import Minute
from headroom.domain.decision import decide
from headroom.domain.policy import Mode
from headroom.domain.state import Step
from tests.builders import NOW, decision_input, gp3, policy, starved_gp3, volume
from tests.cli.sources.chains import acted, chain

BY_KEY = {story.key: story for story in STORIES}


def minutes(*starved: int) -> tuple[Minute, ...]:
    return tuple(
        Minute(
            at=START + timedelta(minutes=n), offered_iops=1, served_iops=1, limit_iops=1,
            offered_mibps=1, served_mibps=1, limit_mibps=1, credits_percent=None, queue=0,
            latency_ms=1, usd_per_month=8 if n < 30 else 26.00, starved=n in starved,
        )
        for n in range(60)
    )  # fmt: skip


def run_of(
    key: str, *stories: DecisionStory, starved: tuple[int, ...] = (), messages: int = 0
) -> StorageRun:
    return StorageRun(
        story=BY_KEY[key], resource_id="vol-1", final=gp3(), decisions=stories,
        minutes=minutes(*starved), messages=messages, changed_by_others=(),
    )  # fmt: skip


def watched() -> DecisionStory:
    seen = starved_gp3(vol=volume(tags=()))
    return decision_story(chain(decide(decision_input(seen, rules=policy(mode=Mode.OBSERVE)))))


def test_a_story_in_which_nothing_happened_does_not_end_as_expected() -> None:
    for key in set(BY_KEY) - {"instance", "watched"}:
        assert not verdict(run_of(key)).ok


def test_a_raised_and_relieved_volume_ends_as_expected() -> None:
    end = verdict(run_of("iops", decision_story(acted()), starved=(10, 11, 12)))
    assert end.ok
    assert end.line == (
        "Raised from 3,000 to 12,000 IOPS at 12:00Z for $18.00 a month more; 3 starved minutes "
        "from 00:10Z, then none."
    )


def test_a_change_that_was_never_verified_is_not_as_expected() -> None:
    unverified = replace(decision_story(acted()), chain=acted()[:-1])
    assert verdict(run_of("iops", unverified)).unmet == ("the pressure ended",)


def test_a_volume_that_still_starves_at_the_end_is_not_relieved() -> None:
    end = verdict(run_of("iops", decision_story(acted()), starved=(59,)))
    assert "it no longer starved at the end" in end.unmet


def test_a_watched_volume_is_held_with_its_plan_and_without_a_message() -> None:
    end = verdict(run_of("watched", watched()))
    assert end.ok
    assert (
        "it would have been changed to gp3 100 GiB 12000 IOPS 207 MiB/s (+$48.28 a month)"
        in end.line
    )
    assert verdict(run_of("watched", watched(), messages=1)).unmet == ("nobody was notified",)


def test_credits_that_ran_out_first_are_not_as_expected() -> None:
    late = run_of("credits", decision_story(acted()), starved=(5,))
    assert "no minute starved" in verdict(late).unmet
    assert "Headroom acted before the first starved minute" in verdict(late).unmet


def test_asking_aws_twice_within_the_hour_is_noticed() -> None:
    decision = acted()
    refusals = [
        decision_story(
            tuple(
                replace(record, at=NOW + timedelta(minutes=minute))
                for record in chain(
                    decide(decision_input()), [(Step.INTENDED, "", 0), (Step.REFUSED, "", 0)]
                )
            )
        )
        for minute in (-70, -30)
    ]
    story = run_of("slots-before", *refusals, decision_story(decision))
    end = verdict(replace(story, changed_by_others=(NOW - timedelta(hours=24),)))
    assert "AWS was asked no more than once an hour" in end.unmet
