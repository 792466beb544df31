"""Why Compute Optimizer and Headroom disagree: a case for each reason, and laws for all."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.adapters.compute_optimizer import Recommendation, RecommendedStorage
from headroom.cli.second_opinion.comparison import configured
from headroom.cli.second_opinion.opinion import (
    SecondOpinion,
    both_keep,
    keeps,
    opinion_from_json,
    second_opinion,
)
from headroom.domain.aurora import decide_cluster
from headroom.domain.catalog import catalogue_prices
from headroom.domain.decision import Decision, decide
from headroom.domain.policy import Policy
from headroom.domain.resources import Configuration, Observation, VolumeType
from headroom.domain.state import KnownModification, LoadProfile, ProfileHour, ResourceState
from tests.builders import (
    NOW,
    REGION,
    activity,
    database_policy,
    decision_input,
    gp2,
    gp3,
    io,
    observation,
    policy,
    resource_state,
    starved_gp3,
    volume,
)
from tests.domain import clusters
from tests.domain.databases import rds

LISTED = catalogue_prices(REGION)
TALL = gp3(100, 6_000, 250)
QUIET, QUIET_TALL = (observation(activity([100.0] * 180), volume(of)) for of in (gp3(), TALL))
QUIET_GP2 = observation(activity([100.0] * 180), volume(gp2(400)))
RAISED = gp3(100, 12_000, 207)
"""What Headroom makes of a gp3 volume that starves at its 3,000 IOPS."""


def said(configuration: Configuration | str | None) -> RecommendedStorage | None:
    if configuration is None or isinstance(configuration, str):
        return None if configuration is None else RecommendedStorage(volume_type=configuration)
    return RecommendedStorage(
        volume_type=configuration.volume_type.value, size_gib=configuration.size_gib,
        iops=configuration.iops, throughput_mibps=configuration.throughput_mibps,
    )  # fmt: skip


def advice(
    target: Configuration | str | None, made_for: Configuration | None = None, **changes: Any
) -> Recommendation:
    base = Recommendation(
        finding="NotOptimized", made_for=said(made_for), target=said(target), risk=1.0,
        saving_usd=Decimal("3.20"), after_discounts=True, lookback_days=14.0,
        refreshed_at=NOW - timedelta(hours=20),
    )  # fmt: skip
    return replace(base, **changes)


def past(days: int, *busy_after_days: float) -> ResourceState:
    """Quiet hours, and an hour of 4,200 IOPS after each of these days."""
    quiet = ProfileHour(50.0, 1.0, 30.0, 1.0, 0, 0, 0.0, 0.0)
    busy = ProfileHour(4_200.0, 60.0, 2_000.0, 30.0, 30, 0, 0.0, 0.0)
    places = {round(24 * day) for day in busy_after_days}
    hours = tuple(busy if place in places else quiet for place in range(days * 24))
    return resource_state(profile=LoadProfile(start=NOW - timedelta(days=days), hours=hours))


def changed(hours_ago: float) -> ResourceState:
    at = NOW - timedelta(hours=hours_ago)
    change = KnownModification(started_at=at, by="a person", origin=gp2(100), target=gp3())
    return resource_state(modifications=(change,))


def decided(seen: Observation, rules: Policy, state: ResourceState | None = None) -> Decision:
    return decide(decision_input(seen, rules=rules, stand=state))


@dataclass(frozen=True)
class Case:
    advice: Recommendation
    sentence: str
    seen: Observation = QUIET
    rules: Policy = field(default_factory=policy)
    state: ResourceState | None = None
    agrees: bool = False


CASES = {
    "neither changes anything": Case(advice(None, gp3()), "Both keep it as it is.", agrees=True),
    "the same target": Case(
        advice(RAISED, gp3()), "Both recommend the same change.", starved_gp3(), agrees=True
    ),
    "the same target, blocked": Case(
        advice(RAISED, gp3()),
        "Both recommend the same change, which is blocked by mode.",
        starved_gp3(vol=volume(tags=(("headroom", "observe"),))), agrees=True,
    ),
    "it was followed": Case(
        advice(gp3(), gp2(100)), "Its recommendation is already in place.", agrees=True
    ),
    "a type that nobody knows": Case(
        advice("gp9"),
        "It recommends gp9, which Headroom cannot compare with gp3 100 GiB 3000 IOPS 125 MiB/s.",
    ),
    "before the last change": Case(
        advice(TALL, gp3()),
        "Its recommendation of 2026-01-04 16:00Z is older than the last change, of 2026-01-05 10:00Z.",
        state=changed(hours_ago=2),
    ),
    "for another configuration": Case(
        advice(TALL, gp2(100)),
        "Its recommendation of 2026-01-04 16:00Z is for gp2 100 GiB, which is not the current configuration.",
    ),
    "a type that the policy does not allow": Case(
        advice(io(VolumeType.IO1, 100), gp3()),
        "The policy does not allow its type io1 here, only gp3, io2.",
    ),
    "an older generation": Case(
        advice(gp2(100), gp3()), "It recommends gp2, an older generation than gp3.",
        rules=policy(types=(VolumeType.GP3, VolumeType.GP2)),
    ),
    "a smaller size": Case(
        advice(gp3(50), gp3()),
        "It recommends 50 GiB, less than the current 100 GiB, and storage cannot shrink.",
    ),
    "what AWS refuses": Case(
        advice(gp3(100, 90_000, 125), gp3()),
        "AWS would not accept it as one change: gp3 of 100 GiB takes 3000 to 50000 IOPS, not 90000.",
    ),
    "less than a recent hour took": Case(
        advice(gp3(), TALL),
        "It recommends 3,000 IOPS, less than the 4,200 IOPS used in the hour of 2026-01-04 17:00Z.",
        QUIET_TALL, state=past(20, 19 + 5 / 24),
    ),
    "less than a load that comes more seldom than it looks back": Case(
        advice(gp3(), TALL),
        "It recommends 3,000 IOPS: its look-back of 14 days does not include the 4,200 IOPS used in the "
        "hour of 2025-10-07 12:00Z, a load that recurs every 30 days.",
        QUIET_TALL, state=past(100, 10, 40, 70),
    ),
    "more than the load took": Case(
        advice(gp3(100, 4_000), gp3()),
        "It recommends more than the load's peak of 100 IOPS and 1.56 MiB/s, for "
        "$5.00 more a month than gp3 100 GiB 3000 IOPS 125 MiB/s.",
    ),
    "a guardrail": Case(
        advice(gp3(), TALL),
        "Its recommendation is blocked by give_back_data: 0 is less than 1 measured days; clears at "
        "2026-01-06 12:00Z, and by cost_benefit.",
        QUIET_TALL,
    ),
    "the owner's largest step": Case(
        advice(gp3(100, 16_000, 1_000), gp3()),
        "Its recommendation is blocked by largest_step: 8 is more than 4 x.", starved_gp3(),
    ),
    "a lower value": Case(
        advice(gp3(100, 3_100), gp3()),
        "Headroom values its own plan at +$1.32 a day, this one at +$0.02.", starved_gp3(),
    ),
    "it sees no starvation": Case(
        advice(None, gp3()),
        "It keeps the current configuration, but Headroom found: 3000 IOPS served at a limit of 3000.",
        starved_gp3(),
    ),
    "it sees no saving": Case(
        advice(None, gp2(400)),
        "It keeps more than the load's peak of 100 IOPS and 1.56 MiB/s, for $3.00 "
        "more a month than gp3 400 GiB 3000 IOPS 250 MiB/s.",
        QUIET_GP2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_each_disagreement_has_its_reason(case: Case) -> None:
    decision = decided(case.seen, case.rules, case.state)
    opinion = second_opinion(decision, case.advice, case.rules, LISTED)
    assert (opinion.explanation, opinion.agrees) == (case.sentence, case.agrees)


@pytest.mark.parametrize(
    ("ios_a_day", "target", "sentence"),
    [
        (100e6, "aurora-iopt1", "Both recommend the same change."),
        (1e6, None, "Both keep it as it is."),
        (1e6, "aurora-iopt1", "By the bill of the days that Headroom read, aurora-iopt1 costs "
                              "$1,072.24 a month and aurora $823.46."),
        (1e6, "gp3", "It recommends gp3, which Headroom cannot compare with aurora."),
    ],
)  # fmt: skip
def test_the_mode_of_a_cluster_is_compared_by_both_bills(
    ios_a_day: float, target: str | None, sentence: str
) -> None:
    decision = decide_cluster(clusters.cluster_input(policy(), clusters.seen(ios_a_day)))
    opinion = second_opinion(decision, advice(target), policy(), None)
    assert opinion.explanation == sentence
    assert opinion.usd_per_month == {"aurora-iopt1": 1072.24, None: 823.4633}.get(target)


def test_both_are_priced_after_the_owners_discount() -> None:
    """4,000 IOPS of gp3 100 GiB list at $13; the owner pays half. Its own saving is as it says."""
    rules = policy(discount_percent=50.0)
    seen = QUIET
    opinion = second_opinion(
        decide(replace(decision_input(seen, rules=rules), prices=LISTED.after_discount(50.0))),
        advice(gp3(100, 4_000), gp3()), rules, LISTED,
    )  # fmt: skip
    assert (opinion.usd_per_month, opinion.usd_change) == (6.5, 2.5)
    assert opinion.headroom_usd_per_month == 4.0
    assert opinion.own_saving == "$3.20 after discounts"


def test_without_a_price_there_is_still_a_reason() -> None:
    decision = decide(replace(decision_input(QUIET), prices=None))
    opinion = second_opinion(decision, advice(gp3(100, 4_000), gp3()), policy(), None)
    assert opinion.usd_per_month is None
    assert opinion.explanation == (
        "Headroom has no price for this storage, so it cannot value a change."
    )


@pytest.mark.parametrize(
    ("spelled", "current", "meant"),
    [
        # EBS: what the type derives is named too, and is no setting
        (RecommendedStorage(volume_type="gp2", size_gib=100, iops=300, throughput_mibps=128),
         gp3(), gp2(100)),
        (RecommendedStorage(volume_type="gp3", size_gib=100), gp2(100), gp3()),
        (RecommendedStorage(volume_type="io2 Block Express", size_gib=100, iops=5_000,
                            throughput_mibps=1_000), gp3(), io(VolumeType.IO2, 100, 5_000)),
        (RecommendedStorage(volume_type="io2", size_gib=100), gp3(), None),
        (RecommendedStorage(volume_type="aurora-iopt1"), gp3(), None),
        # a database: below the threshold gp3 has nothing to set; above it stripes add up
        (RecommendedStorage(volume_type="gp3", size_gib=100, iops=3_000, throughput_mibps=125),
         rds(VolumeType.GP2, 100), rds(VolumeType.GP3, 100)),
        (RecommendedStorage(volume_type="gp3", size_gib=500), rds(VolumeType.GP2, 500),
         rds(VolumeType.GP3, 500, 12_000, 500)),
    ],
)  # fmt: skip
def test_what_it_names_is_read_as_what_can_be_set(
    spelled: RecommendedStorage, current: Configuration, meant: Configuration | None
) -> None:
    assert configured(spelled, current) == meant


_NUMBER = st.none() | st.integers(0, 300_000)
_SETTINGS = st.builds(
    RecommendedStorage,
    volume_type=st.sampled_from([*(kind.value for kind in VolumeType), "io2 Block Express", "", "?"]),
    size_gib=_NUMBER, iops=_NUMBER, throughput_mibps=_NUMBER,
)  # fmt: skip
_ADVICE = st.builds(
    Recommendation,
    finding=st.sampled_from(["", "Optimized", "NotOptimized", "Underprovisioned"]),
    made_for=st.none() | _SETTINGS, target=st.none() | _SETTINGS,
    risk=st.none() | st.floats(0, 4), saving_usd=st.none() | st.decimals(-9999, 9999, places=2),
    after_discounts=st.booleans(),
    lookback_days=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    refreshed_at=st.none() | st.sampled_from([NOW, NOW - timedelta(days=30)]),
)  # fmt: skip
_DATABASE = observation(
    activity([100.0] * 60, iops_check=None, mibps_check=None),
    volume(rds(VolumeType.GP2, 500)), instance=None,
)  # fmt: skip
DECISIONS = (
    *((decided(case.seen, case.rules, case.state), case.rules) for case in CASES.values()),
    (decided(observation(activity([None] * 60)), policy()), policy()),
    (decided(_DATABASE, database_policy()), database_policy()),
    (decide_cluster(clusters.cluster_input(policy(), clusters.seen(100e6))), policy()),
    (decide_cluster(clusters.cluster_input(policy(), clusters.seen([]))), policy()),
)


@given(st.sampled_from(DECISIONS), _ADVICE)
def test_whatever_is_recommended_is_explained_in_one_sentence(
    decided_under: tuple[Decision, Policy], recommended: Recommendation
) -> None:
    decision, rules = decided_under
    opinion = second_opinion(decision, recommended, rules, LISTED)
    text = opinion.explanation
    assert text.endswith(".")
    assert ". " not in text
    assert "\n" not in text
    assert text.count("..") == 0
    assert opinion.agrees == (opinion.target == opinion.headroom)
    assert opinion_from_json(opinion.to_json()) == opinion
    assert keeps(recommended, decision.observation.volume.configuration) == (
        opinion.target == str(decision.observation.volume.configuration)
    )


def test_the_short_way_says_the_same_where_both_keep_it() -> None:
    recommended = replace(advice(None, gp3()), saving_usd=None)
    long: SecondOpinion = second_opinion(decided(QUIET, policy()), recommended, policy(), LISTED)
    assert both_keep(recommended, gp3(), 8.0) == replace(long, after_discounts=False)


def test_the_page_shows_sentences_that_are_said() -> None:
    page = (Path(__file__).parents[3] / "docs" / "operate" / "plan.md").read_text()
    section = page.partition("## A second opinion")[2].partition("\n## ")[0]
    documented = re.findall(r'\| "(.+)" \|', section)
    assert len(documented) > 10
    assert set(documented) <= {case.sentence for case in CASES.values()}
