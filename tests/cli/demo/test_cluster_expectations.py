"""A cluster's story is judged by the record and by what RDS reported."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from headroom.cli.demo.expectations.verdict import verdict
from headroom.cli.demo.results.section import result_of
from headroom.cli.demo.script.outcome import ClusterRun, ClusterState
from headroom.cli.demo.stories.clusters import CLUSTER_STORIES
from headroom.cli.views import brief
from headroom.cli.views import section as section_view
from headroom.cli.views.decision import DecisionStory, decision_story
from headroom.domain.aurora import (
    ClusterDecisionInput,
    configuration_of,
    decide_cluster,
    empty_activity,
)
from headroom.domain.catalog.aurora import HOURS_PER_MONTH, aurora_prices
from headroom.domain.decision import Decision
from headroom.domain.resources import GATE, AuroraCluster, DatabaseFacts, StorageMode
from headroom.domain.state import Step
from tests.builders import NOW, REGION, decision_input, observation, volume
from tests.cli.sources.chains import chain
from tests.domain.clusters import cluster, seen

BY_KEY = {story.key: story for story in CLUSTER_STORIES}
STANDARD, IO_OPTIMIZED = StorageMode
OPENS = NOW + timedelta(hours=5)
DONE = ((Step.INTENDED, "Intended.", 0), (Step.APPLIED, "Accepted.", 0),
        (Step.RELIEVED, "The mode is in force.", 10))  # fmt: skip


def decided(key: str, of: AuroraCluster | None = None, at: datetime = NOW) -> Decision:
    """A decision of the core itself about the story's load."""
    daily = BY_KEY[key].io_millions * 1e6 * 24 / HOURS_PER_MONTH
    own = of or cluster()
    found = replace(seen(daily, own), at=at)
    as_volume = volume(
        configuration=configuration_of(own.mode), ref=own.ref, tags=own.tags,
        facts=DatabaseFacts(instance_class="db.r7g.xlarge", status="available", members=("a", "b")),
    )  # fmt: skip
    whole = observation(
        empty_activity(found), as_volume, at=at, instance=None, instance_activity=None
    )
    return decide_cluster(
        ClusterDecisionInput(
            decision_input=decision_input(whole), observed=found, prices=aurora_prices(REGION)
        )
    )


def run_of(
    key: str, *stories: DecisionStory, mode: StorageMode = STANDARD, opens: datetime | None = None,
    first_opens: datetime | None = None, messages: int = 0,
) -> ClusterRun:  # fmt: skip
    return ClusterRun(
        story=BY_KEY[key], resource_id="orders", decisions=stories, messages=messages,
        states=(ClusterState(at=NOW, mode=STANDARD, opens=first_opens),
              ClusterState(at=NOW + timedelta(hours=6), mode=mode, opens=opens)),
        billed_ios=tuple((NOW + timedelta(hours=n), 3.75e6) for n in range(7)),
    )  # fmt: skip


def switched() -> DecisionStory:
    return decision_story(chain(decided("aurora-40"), DONE))


def gated() -> tuple[DecisionStory, DecisionStory]:
    """Held on the gate, and done in the minute it opened."""
    shut = decided("aurora-gate", cluster(next_allowed_at=OPENS))
    opened = decided("aurora-gate", cluster(next_allowed_at=OPENS), at=OPENS)
    return decision_story(chain(shut)), decision_story(chain(opened, DONE))


def test_a_switched_cluster_ends_as_expected() -> None:
    end = verdict(run_of("aurora-40", switched(), mode=IO_OPTIMIZED, opens=NOW + GATE))
    assert end.ok, end.unmet
    assert end.line == (
        "Switched to I/O-Optimized at 12:00Z for $293.14 a month less: $1,365.38 a month "
        "in Standard, 40 % of it I/O, $1,072.24 in I/O-Optimized; verified."
    )


def test_what_rds_does_not_show_did_not_happen() -> None:
    end = verdict(run_of("aurora-40", switched(), mode=STANDARD))
    assert set(end.unmet) == {
        "RDS shows I/O-Optimized at the end", "RDS allows no return to I/O-Optimized for 30 days",
    }  # fmt: skip


def test_a_change_that_was_never_verified_is_not_as_expected() -> None:
    unverified = decision_story(chain(decided("aurora-40"), DONE[:2]))
    end = verdict(run_of("aurora-40", unverified, mode=IO_OPTIMIZED, opens=NOW + GATE))
    assert end.unmet == ("the change was verified",)
    assert "not verified" in end.line


def test_a_second_change_is_not_as_expected() -> None:
    end = verdict(run_of("aurora-40", switched(), switched(), mode=IO_OPTIMIZED, opens=NOW + GATE))
    assert end.unmet == ("it was changed once",)


def test_a_cluster_with_little_io_is_left_alone_and_the_record_says_why() -> None:
    quiet = decision_story(chain(decided("aurora-15")))
    end = verdict(run_of("aurora-15", quiet))
    assert end.ok, end.unmet
    assert "15 % of it I/O" in end.line
    assert verdict(run_of("aurora-15", quiet, messages=1)).unmet == ("nobody was notified",)
    moved = run_of("aurora-15", quiet, mode=IO_OPTIMIZED)
    assert verdict(moved).unmet == ("RDS shows Standard throughout",)


def test_a_gated_cluster_is_held_until_the_instant_that_aws_names() -> None:
    shut, opened = gated()
    story = run_of(
        "aurora-gate", shut, opened, mode=IO_OPTIMIZED, opens=OPENS + GATE, first_opens=OPENS
    )
    end = verdict(story)
    assert end.ok, end.unmet
    assert end.line.startswith("Held until 17:00Z, the time that AWS names; switched")


@pytest.mark.parametrize(
    ("late", "held", "unmet"),
    [
        (10, True, "it was changed when the gate opened"),
        (-10, True, "it was changed when the gate opened"),
        (0, False, "the gate held it first, until the time that AWS names"),
    ],
)
def test_a_gate_that_was_not_kept_to_the_minute_is_not_as_expected(
    late: int, held: bool, unmet: str
) -> None:
    shut, opened = gated()
    moved = decided("aurora-gate", cluster(next_allowed_at=OPENS - timedelta(hours=1)), at=OPENS)
    opened = decision_story(chain(moved, [(s, t, m + late) for s, t, m in DONE]))
    stories = (shut, opened) if held else (opened,)
    end = verdict(
        run_of("aurora-gate", *stories, mode=IO_OPTIMIZED, opens=OPENS + timedelta(minutes=late) + GATE,
               first_opens=OPENS)
    )  # fmt: skip
    assert end.unmet == (unmet,)


@pytest.mark.parametrize("key", sorted(BY_KEY))
def test_a_story_in_which_nothing_happened_does_not_end_as_expected(key: str) -> None:
    assert not verdict(run_of(key, first_opens=OPENS)).ok


def test_the_page_draws_the_bill_in_force_beside_the_other_one() -> None:
    result = result_of(run_of("aurora-40", switched(), mode=IO_OPTIMIZED, opens=NOW + GATE))
    io, price = result.section.timeline.plots
    assert io.lines[0].values == (3.75,) * 7
    assert price.lines[0].values == (*[1365.38] * 6, 1072.24)
    assert price.lines[1].values == (*[1072.24] * 6, 1365.38)
    assert (result.changes, round(result.price_change, 2)) == (1, round(result.price_change, 2))
    assert round(float(result.price_change), 2) == -293.14
    assert result.to_json()["cluster"] == "orders"


def test_a_decision_about_a_cluster_is_described_by_its_bills() -> None:
    act = switched()
    row = section_view.row(act)
    assert row.observed == (
        "$1,365.38 a month in Standard, I/O 40.1 % of it, $1,072.24 in I/O-Optimized, by 14 whole "
        "days."
    )
    assert (row.change, row.price_change) == ("aurora -> aurora-iopt1", "-$293.14")
    assert brief.observed(act.decision) == "I/O 40 % of $1,365.38"
    assert brief.change(act.decision) == "aurora -> aurora-iopt1"
    side = act.decision.cluster
    assert side is not None
    unknown = replace(side, bills=None, demand=replace(side.demand, days=()))
    assert brief.observed(replace(act.decision, cluster=unknown)) == "0 of 14 whole days"
