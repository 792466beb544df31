"""Databases that fill, simulated: full in time or not, by whom they grow, and what never happens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.decision import Act, Escalate
from headroom.domain.resources import STRIPED_FROM_GIB, Engine
from headroom.proving.inputs import BadInput
from headroom.proving.scenarios import load_scenario, parse_scenario
from headroom.proving.simulation import Result, simulate

SCENARIO = Path(__file__).parents[3] / "docs" / "scenarios" / "rds-fills.yaml"
ONE_WORD = {"steps": [{"for": "12h", "iops": 100, "io_kib": 16}]}


def scenario(
    limits: dict[str, Any] | None = None, days_before: int = 0, **resource: Any
) -> dict[str, Any]:
    document: dict[str, Any] = {
        "resource": {
            "kind": "rds", "engine": "postgres", "storage_type": "gp3",
            "allocated_storage_gib": 200, "free_storage_gib": 60, "fill_gib_per_hour": 1,
            "tags": {"headroom": "auto"}, **resource,
        },
        "workload": ONE_WORD,
        "aws": {"completes_after": "3h"},
        "policy": {
            "rules": [{"match": {"kind": "rds"}, "set": {"grow_space": True, **(limits or {})}}]
        },
    }  # fmt: skip
    if days_before:
        document["history"] = {"steps": [{"for": f"{days_before}d", "iops": 100, "io_kib": 16}]}
    return document


def simulated(document: dict[str, Any], controller: str = "headroom") -> Result:
    made = parse_scenario(document, source="case", base=Path())
    result = simulate(made, "headroom" if controller == "headroom" else "none")
    assert result.violations == ()
    assert all("waited for a person" in note for note in result.notes)
    assert result.space is not None
    return result


def test_the_scenario_of_the_docs_grows_once_a_day_before_its_reserve_is_touched() -> None:
    result = simulate(load_scenario(SCENARIO))
    (change,) = result.changes
    assert (change.origin.size_gib, change.target.size_gib) == (200, 281)
    page = (SCENARIO.parents[1] / "operate" / "free-space.md").read_text(encoding="utf-8")
    assert f"at {change.at:%Y-%m-%d %H:%M}Z, the storage becomes 281" in page
    assert change.reason == "low_free_space"
    assert result.space is not None
    assert result.space.lowest_gib == pytest.approx(31.7, abs=0.1)
    assert result.violations == ()


def test_an_unexpected_load_of_hours_is_outrun() -> None:
    surge = [{"for": "2h", "gib_per_hour": 0}, {"for": "10h", "gib_per_hour": 12}]
    document = scenario(free_storage_gib=80, fill_gib_per_hour=None, fill=surge)
    alone = simulated(document, "none")
    assert alone.space is not None
    assert alone.space.full_minutes > 60
    kept = simulated(document)
    assert kept.space is not None
    assert kept.space.full_minutes == 0
    assert len(kept.changes) == 1


@pytest.mark.parametrize(
    ("free_gib", "fill", "to_gib"),
    [
        (30, [{"for": "55m", "gib_per_hour": 1}, {"for": "5m", "gib_per_hour": 120}], 177),
        (11, [{"for": "10m", "gib_per_hour": 60}, {"for": "50m", "gib_per_hour": 0}], 170),
        (11, [{"for": "10m", "gib_per_hour": 60}, {"for": "50m", "gib_per_hour": -12}], 110),
    ],
    ids=["slow after a jump", "a jump lasts on", "cleaned up after a jump"],
)
def test_rds_autoscaling_goes_by_what_came_in_the_last_hour(
    free_gib: int, fill: list[dict[str, Any]], to_gib: int
) -> None:
    """Seven times the growth of the last hour, whatever the rate of the moment."""
    document = scenario(
        allocated_storage_gib=100, free_storage_gib=free_gib, fill_gib_per_hour=None, fill=fill,
        max_allocated_storage_gib=3_000,
    )  # fmt: skip
    result = simulated(document, "none")
    sizes = {minute.configuration.size_gib for minute in result.minutes}
    assert sorted(sizes)[1] == to_gib


def test_files_that_go_again_grow_nothing() -> None:
    spill = [{"for": "3h", "gib_per_hour": 0}, {"for": "30m", "gib_per_hour": 20},
             {"for": "30m", "gib_per_hour": -20}]  # fmt: skip
    assert simulated(scenario(fill_gib_per_hour=None, fill=spill)).changes == ()


def starving_while_it_fills(hours: int, gib_per_hour: float) -> Result:
    """15,000 IOPS without end on 12,000; a raise takes an approval, which nobody gives, growth mostly none."""
    document = scenario(
        {"approve_above_usd_per_month": 20, "max_size_gib": 2_000},
        instance_class="db.r6g.4xlarge", allocated_storage_gib=500, free_storage_gib=90,
        fill_gib_per_hour=gib_per_hour,
    )  # fmt: skip
    steps = [{"for": "24h", "iops": 3_000, "io_kib": 16}]
    steps.append({"for": f"{hours}h", "iops": 15_000, "io_kib": 16})
    return simulated({**document, "workload": {"steps": steps}})


def test_a_database_grows_while_nobody_answers_whether_its_iops_may_be_raised_too() -> None:
    result = starving_while_it_fills(36, 0.8)
    assert result.space is not None
    assert result.space.full_minutes == 0
    assert {change.target.iops for change in result.changes} == {12_000}
    asked = [d for d in result.decisions if isinstance(d.answer, Act) and d.answer.approval]
    assert asked  # the raise is requested all the same


def test_what_needs_no_approval_is_grown_where_all_that_is_needed_does() -> None:
    """4 GiB an hour need $20 a month more at once; nobody answers."""
    result = starving_while_it_fills(60, 4)
    assert result.space is not None
    assert result.space.full_minutes == 0
    grown = [change.target.size_gib - change.origin.size_gib for change in result.changes]
    assert 170 < max(grown) <= 20 / 0.115  # USD per GiB and month


def loaded_while_it_fills(
    hours: int, loaded_hours: int = 4, limits: dict[str, Any] | None = None
) -> Result:
    """22,000 IOPS from 9 h on, on 12,000: all of the price limit would be spent for it. Full after 33 hours."""
    document = scenario(
        {"mode": "auto", **(limits or {})}, instance_class="db.r6g.8xlarge",
        allocated_storage_gib=600, free_storage_gib=200, fill_gib_per_hour=6,
    )  # fmt: skip
    calm = {"for": "144h", "iops": 2_000, "io_kib": 16}
    day = [(9, 2_000), (loaded_hours, 22_000), (hours - 9 - loaded_hours, 2_000)]
    steps = [{"for": f"{time}h", "iops": iops, "io_kib": 16} for time, iops in day if time]
    return simulated({**document, "history": {"steps": [calm]}, "workload": {"steps": steps}})


def test_one_change_gives_back_what_was_raised_and_grows_where_the_price_is_only_enough_for_one() -> (
    None
):
    result = loaded_while_it_fills(36)
    assert result.space is not None
    assert result.space.full_minutes == 0
    raised, grown = result.changes
    assert (raised.target.iops or 0) > 20_000
    assert grown.target.iops == raised.origin.iops == 12_000
    assert grown.target.size_gib > 2_000
    assert grown.reason == "low_free_space"


def test_the_least_of_a_raise_makes_way_for_growth_within_a_day_of_being_full() -> None:
    """14,500 IOPS but for two hours at either end of a day, at a price limit of $60: giving all of it back is worth nothing."""
    document = scenario(
        {"mode": "auto", "price_increase_usd_per_month": 60}, instance_class="db.r6g.8xlarge",
        allocated_storage_gib=600, free_storage_gib=90, fill_gib_per_hour=0.8,
    )  # fmt: skip
    day = [(2, 2_000), (20, 14_500), (2, 2_000)]
    steps = [{"for": f"{time}h", "iops": iops, "io_kib": 16} for time, iops in day]
    result = simulated({**document, "workload": {"steps": [{"repeat": 4, "steps": steps}]}})
    assert result.space is not None
    assert result.space.full_minutes == 0
    assert result.starved_minutes < 200
    raised, grown = result.changes
    assert 14_500 < (grown.target.iops or 0) < (raised.target.iops or 0)
    assert grown.reason == "low_free_space"


def test_a_raise_leaves_the_price_of_the_growth_that_is_needed_within_a_day() -> None:
    """The load never rests, so nothing could be given back but what it leaves."""
    result = loaded_while_it_fills(36, loaded_hours=27)
    assert result.space is not None
    assert result.space.full_minutes == 0
    raised, grown, *later = result.changes
    assert 22_000 < (raised.target.iops or 0) < 24_500  # which would cost all of the $250
    assert all((change.target.iops or 0) > 22_000 for change in later)
    assert grown.target.size_gib >= 660
    assert grown.target.iops == raised.target.iops


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"grow_space": True}, "gives back what the load no longer needs of it together with the growth"),
        ({"grow_space": False}, "for its load: set it back to"),
        ({"grow_space": True, "min_iops": 14_000}, "for its load: set it back to"),
    ],
    ids=["by itself", "no growth", "a floor"],
)  # fmt: skip
def test_the_owner_is_notified_of_what_a_raise_holds_of_the_price_limit(
    limits: dict[str, Any], said: str
) -> None:
    result = loaded_while_it_fills(28, loaded_hours=19, limits=limits)
    held = 0.02 * ((result.changes[0].target.iops or 0) - 12_000)  # USD per IOPS and month
    remedies = [
        d.answer.remedy
        for d in result.decisions
        if isinstance(d.answer, Escalate) and "price_per_resource" in d.answer.cause
    ]
    about_space = next(one for one in remedies if "it would grow to" in one)
    assert f"${held:.2f} a month of that limit pay for" in about_space
    assert said in about_space
    assert "12000 IOPS" in about_space


def test_rds_grows_what_it_owns_and_headroom_leaves_it_alone() -> None:
    result = simulated(scenario(free_storage_gib=22, max_allocated_storage_gib=400))
    assert result.changes == ()
    assert result.space is not None
    assert len(result.space.grown_by_rds) == 1
    assert result.space.full_minutes == 0


def test_rds_does_not_grow_beyond_its_maximum_and_the_owner_is_notified() -> None:
    result = simulated(scenario(free_storage_gib=16, max_allocated_storage_gib=210))
    assert result.changes == ()
    assert result.space is not None
    assert result.space.grown_by_rds == ()
    escalations = [d for d in result.decisions if type(d.answer).__name__ == "Escalate"]
    assert [getattr(d.answer, "cause", "") for d in escalations] == [
        "space_autoscaling_maximum", "space_autoscaling_maximum_today",
    ]  # fmt: skip


def test_a_database_that_got_full_is_left_to_a_person() -> None:
    late = scenario({"grow_space": False}, free_storage_gib=1)
    result = simulated(late)
    assert result.changes == ()
    causes = [getattr(d.answer, "cause", "") for d in result.decisions]
    assert causes.count("space_growth_today") == 1
    assert causes.count("space_storage_full") == 1


@pytest.mark.parametrize(
    ("resource", "said"),
    [
        ({"free_storage_gib": None}, "without free_storage_gib"),
        ({"free_storage_gib": 201}, "free_storage_gib"),
        ({"max_allocated_storage_gib": 100}, "max_allocated_storage_gib"),
        ({"fill": [{"for": "1h"}]}, "fill"),
        ({"fill": [{"for": "1h", "gib_per_hour": 1}]}, "only one of the two"),
        (
            {"fill_gib_per_hour": None, "fill": [{"for": "1s", "gib_per_hour": 1}]},
            "a minute or more",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(resource: dict[str, Any], said: str) -> None:
    given_ = scenario(**resource)
    given_["resource"] = {k: v for k, v in given_["resource"].items() if v is not None}
    with pytest.raises(BadInput, match=said):
        parse_scenario(given_, source="case", base=Path())


ENGINES = st.sampled_from(["postgres", "mysql", "mariadb"])


@settings(max_examples=6, deadline=None)
@given(
    engine=ENGINES, size=st.integers(100, 380), share=st.floats(0.05, 0.3),
    rate=st.floats(0.0, 3.0), most=st.sampled_from([None, 420, 2_000]),
    ceiling=st.sampled_from([150, 300, 16_384]),
)  # fmt: skip
def test_whatever_fills_no_limit_is_exceeded_and_storage_grows_once(
    engine: str, size: int, share: float, rate: float, most: int | None, ceiling: int
) -> None:
    autoscaling = {"max_allocated_storage_gib": most} if most and most > size else {}
    result = simulated(
        scenario(
            {"max_size_gib": ceiling}, days_before=3, engine=engine, allocated_storage_gib=size,
            free_storage_gib=round(size * share, 1), fill_gib_per_hour=round(rate, 2),
            **autoscaling,
        )
    )  # fmt: skip
    space = result.space
    assert space is not None
    assert len(result.changes) <= 1  # twelve hours are one fill
    assert not (autoscaling and result.changes)
    threshold = STRIPED_FROM_GIB.get(Engine(engine), 10**6)
    for change in result.changes:
        assert change.origin.size_gib < change.target.size_gib <= max(ceiling, size)
        assert (change.origin.size_gib < threshold) == (change.target.size_gib < threshold)
    room = not autoscaling and ceiling > 2 * size and 2 * size < threshold
    if room and size * share > 2 * rate:  # time for a change, which takes minutes
        assert space.full_minutes == 0
