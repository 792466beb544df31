"""Canonical JSON: one text for one value, and the same value back."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headroom.domain.catalog import PriceTable, catalogue_prices
from headroom.domain.decision import Act, Action, Decision, Hold, Verification, decide
from headroom.domain.guardrails import Guardrail, PlanJudgement, Relation, Verdict
from headroom.domain.policy import HardCaps, Limits, Mode, Policy, Rule, Selector
from headroom.domain.resources import (
    InstanceActivity,
    Kind,
    Observation,
    Series,
    Signal,
    Volume,
    VolumeType,
)
from headroom.domain.state import (
    HOUR,
    AlreadyThere,
    Applied,
    ConcurrencyState,
    InFlight,
    LoadProfile,
    Outcome,
    ProfileHour,
    Record,
    Refusal,
    Refused,
    ResourceState,
    StoredState,
    hour_of,
)
from headroom.serialization import (
    LARGEST_BODY,
    DecisionTooLarge,
    Unreadable,
    body_to_json,
    decision_from_json,
    decision_to_json,
    from_json,
    stored,
    to_json,
)
from tests.builders import NOW, activity, decision_input, observation, resource_state

FINITE = st.floats(allow_nan=False, allow_infinity=False)
HOURS = st.builds(
    ProfileHour, FINITE, FINITE, FINITE, FINITE, st.integers(0, 60), st.integers(0, 60), FINITE, FINITE,
    st.booleans(),
)  # fmt: skip
AWARE = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=9))]),
                     min_value=datetime(1970, 1, 2), max_value=datetime(9000, 1, 1))  # fmt: skip  # noqa: DTZ001
MONEY = st.decimals(allow_nan=False, allow_infinity=False)
SERIES = st.builds(
    Series,
    start=AWARE,
    period_s=st.integers(1, 3600),
    values=st.lists(st.none() | FINITE, max_size=4).map(tuple),
)
PROFILES = st.builds(
    LoadProfile, start=AWARE.map(hour_of), hours=st.lists(st.none() | HOURS, max_size=3).map(tuple)
)


@pytest.fixture(autouse=True, scope="module")
def strategies() -> None:
    for kind, strategy in (
        (float, FINITE), (ProfileHour, HOURS), (datetime, AWARE), (Decimal, MONEY), (Series, SERIES),
        (str, st.text(max_size=8)), (LoadProfile, PROFILES),
    ):  # fmt: skip
        st.register_type_strategy(kind, strategy)  # type: ignore[arg-type]


WHOLE = (
    Decision, Observation, Volume, ResourceState, Verdict, PlanJudgement, Record, Signal, StoredState,
    Limits, Applied, AlreadyThere, Refused, Act, Hold,
)  # fmt: skip


@pytest.mark.parametrize("kind", WHOLE, ids=lambda kind: kind.__name__)
def test_there_and_back_is_the_same(kind: type) -> None:
    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def law(data: st.DataObject) -> None:
        value = data.draw(st.from_type(kind))
        text = to_json(value)
        again: Any = from_json(text, kind)
        assert again == value
        assert to_json(again) == text

    law()


@pytest.mark.parametrize("union", [Action, Outcome, Verification])
def test_members_of_a_union_come_back_as_themselves(union: Any) -> None:
    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def law(data: st.DataObject) -> None:
        value = data.draw(st.one_of(*(st.from_type(member) for member in get_args(union))))
        again: Any = from_json(to_json(value), union)
        assert type(again) is type(value)
        assert again == value

    law()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (AlreadyThere(), '{"is":"already_there"}'),
        (Applied(started_at=NOW), '{"is":"applied","started_at":"2026-01-05T12:00:00Z"}'),
        (datetime(2026, 1, 5, 21, 0, 0, 5, timezone(timedelta(hours=9))),
         '"2026-01-05T12:00:00.000005Z"'),
        (timedelta(minutes=30), '"PT1800S"'),
        (timedelta(seconds=-1, microseconds=-5), '"-PT1.000005S"'),
        (date(2026, 1, 5), '"2026-01-05"'),
        (Decimal("1.50"), '"1.50"'),
        (3000.0, "3000.0"),
        ({"b": Kind.EBS, "a": (1, None, True)}, '{"a":[1,null,true],"b":"ebs"}'),
    ],
)  # fmt: skip
def test_a_value_has_one_text(value: object, text: str) -> None:
    assert to_json(value) == text


def test_a_whole_number_in_a_rate_is_written_as_a_rate() -> None:
    whole = Series(start=NOW, period_s=60, values=(3000, None))
    assert '"values":[3000.0,null]' in to_json(whole)
    assert to_json(whole) == to_json(replace(whole, values=(3000.0, None)))


def test_enumerations_come_back_as_members() -> None:
    answer: Any = from_json(to_json(decide(decision_input()).answer), Action)
    assert answer.plan.target.volume_type is VolumeType.GP3


@pytest.mark.parametrize(
    "amount", [Decimal("12.50"), "12.50", 12.5, 12, True, None, ("gp3", "io2")]
)
def test_a_limit_comes_back_as_what_it_was(amount: Any) -> None:
    verdict = next(
        v
        for j in decide(decision_input()).judgements
        for v in j.verdicts
        if v.relation is Relation.IS
    )
    again: Any = from_json(to_json(replace(verdict, limit=amount)), Verdict)
    assert type(again.limit) is type(amount)
    assert again.limit == amount


def test_a_price_table_comes_back_and_cannot_be_written_to() -> None:
    table = catalogue_prices("us-east-1")
    again: Any = from_json(to_json(table), PriceTable)
    assert again == table
    with pytest.raises(TypeError):
        again.gib[VolumeType.GP3] = Decimal(0)


def test_the_settings_of_a_rule_come_back_as_their_own_types() -> None:
    settings_ = (
        ("mode", Mode.AUTO), ("types", (VolumeType.GP2,)), ("price_increase_usd", Decimal("9.5")),
        ("largest_step", 2.0), ("max_iops", 4000), ("growth", True),
    )  # fmt: skip
    caps = HardCaps(settings=(("max_iops", 9_000), ("types", (VolumeType.GP3,))))
    policy = Policy(version="v", rules=(Rule(selector=Selector(), settings=settings_),), caps=caps)
    again: Any = from_json(to_json(policy), Policy)
    assert again == policy
    assert [type(v) for _, v in again.rules[0].settings] == [type(v) for _, v in settings_]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), NOW.replace(tzinfo=None)])
def test_what_has_no_canonical_text_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"not JSON compliant|time zone"):
        to_json({"value": value})


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("{", Outcome), ("[]", Outcome), ('{"is":"nothing"}', Outcome), ('{"is":"stale"}', Outcome),
        ("3", Outcome), ('"2026-01-05T12:00:00"', datetime), ('"tomorrow"', datetime),
        ('"1h"', timedelta), ('"lots"', Decimal), ("1.5", Decimal), ('"gp9"', VolumeType),
        ("true", int), ("1.5", int), ('"1"', int), ("1", str), ("1", bool), ('"x"', float),
        ("{}", Decision), ("null", ResourceState),
    ],
)  # fmt: skip
def test_what_is_not_the_value_is_unreadable(text: str, kind: Any) -> None:
    with pytest.raises(Unreadable):
        from_json(text, kind)


def test_a_refusal_reads_as_json_of_any_program() -> None:
    refused = Refused(refusal=Refusal.SLOTS, code="C", message="no: é", retry_at=None)
    assert json.loads(to_json({"outcome": refused}))["outcome"] == {
        "is": "refused", "refusal": "slots", "code": "C", "message": "no: é", "retry_at": None,
    }  # fmt: skip


def fortnight() -> Decision:
    load = activity([2999.0 / 7] * 120 + [3000.0] * 60, queue=900.1, iops_check=1)
    history = activity([1234.5 / 7] * 4032, period_s=300, balance=99.1)
    return decide(decision_input(observation(load, history=history)))


def same_json(one: object, other: object) -> bool:
    """Whether they are one text: 1 and 1.0 are two."""
    return to_json(one) == to_json(other)


def test_what_is_stored_is_read_as_it_is_stored() -> None:
    decision = fortnight()
    text = decision_to_json(decision)
    again = decision_from_json(text)
    assert again == stored(decision) == stored(again)
    assert same_json(again, stored(decision))
    assert decision_to_json(again) == text


def test_a_stored_decision_leaves_out_history_digits_and_verdicts_that_did_not_matter() -> None:
    decision = fortnight()
    again = decision_from_json(decision_to_json(decision))
    assert again.observation.history is None
    assert again.left_out == ()
    assert again.signature == decision.signature
    assert again.answer == decision.answer
    assert sorted(map(repr, again.considered)) == sorted(map(repr, decision.considered))
    assert {*again.judgements} < {*decision.judgements}
    seen = decision.observation
    measured = zip(seen.activity.read_iops.values, again.observation.activity.read_iops.values,
                   strict=True)  # fmt: skip
    assert all(b == pytest.approx(a, rel=0.005) for a, b in measured)
    same = replace(
        again, judgements=decision.judgements, other_plans=(),
        observation=replace(
            again.observation, history=seen.history, activity=seen.activity,
            instance_activity=seen.instance_activity,
        ),
    )  # fmt: skip
    assert same == decision


def test_the_chosen_next_best_cheapest_and_better_blocked_plans_keep_their_verdicts() -> None:
    decision = fortnight()
    plan = decision.plan
    chosen = next(n for n, j in enumerate(decision.judgements) if j.plan == plan)
    allowed = [j for j in decision.judgements if j.allowed and j.plan != plan]
    better = [j for j in decision.judgements[:chosen] if j.blocking]
    cheapest = min(decision.judgements, key=lambda j: j.plan.monthly_usd)
    kept = decision_from_json(decision_to_json(decision)).judgements
    assert {decision.judgements[chosen], cheapest, *allowed[:1], *better[:2]} == {*kept}


def test_a_stored_decision_is_readable_without_us() -> None:
    plain = json.loads(decision_to_json(fortnight()))
    first, *others = plain["judgements"]
    names = [verdict["guardrail"] for verdict in first["verdicts"]]
    assert len(names) == len({*names}) > 40
    assert others
    assert all({d["guardrail"] for d in other["differs"]} < {*names} for other in others)
    assert [j["plan"] for j in plain["judgements"]].count("answer") == 1
    (grid,) = plain["observation"]["activity"]
    lists = [values for values in grid["values"].values() if isinstance(values, list)]
    assert {sum(v[1] if isinstance(v, list) else 1 for v in each) for each in lists} == {
        grid["count"]
    }
    assert {"target", "monthly_usd", "blocked_by"} < plain["other_plans"][0].keys()


def test_what_is_written_as_a_difference_is_found_without_us() -> None:
    decision = stored(fortnight())
    plain, judged = json.loads(decision_to_json(decision)), json.loads(to_json(decision.judgements))
    answer, first = plain["answer"]["plan"], plain["judgements"][0]["verdicts"]
    for entry, judgement in zip(plain["judgements"], judged, strict=True):
        changed = {} if entry["plan"] == "answer" else entry["plan"]
        target = answer["target"] | changed.get("target", {})
        assert target == judgement["plan"]["target"]
        values = {v["guardrail"]: v["value"] for v in first}
        values |= {v["guardrail"]: v["value"] for v in entry.get("differs", ()) if "value" in v}
        assert values == {v["guardrail"]: v["value"] for v in judgement["verdicts"]}
    line: dict[str, Any] = {"target": {}}
    for entry, summary in zip(plain["other_plans"], decision.other_plans, strict=True):
        line |= entry | {"target": line["target"] | entry.get("target", {})}
        assert line == json.loads(to_json(summary))


def test_a_stored_decision_is_small() -> None:
    assert len(to_json(fortnight())) > 400_000  # what it would be with its history
    assert len(decision_to_json(fortnight())) < 14_000


def test_a_stored_decision_about_a_load_that_never_repeats_is_small() -> None:
    """With a full set of plans, and of the volume and its instance no two minutes alike."""
    decision = fortnight()
    seen = decision.observation
    measured = range(len(seen.activity.read_iops.values))
    restless = [replace(seen.activity.read_iops, values=tuple(
        2_000 + 997.3 * (n * step % 17) / 17 + 1.37 * n for n in measured)) for step in range(1, 9)]  # fmt: skip
    names = (
        "read_iops", "write_iops", "read_mibps", "write_mibps", "queue_length", "latency_ms",
    )  # fmt: skip
    checked = seen.activity.iops_exceeded
    volume = replace(seen.activity, **dict(zip(names, restless, strict=False)))
    machine = InstanceActivity(
        iops=restless[6], mibps=restless[7], iops_exceeded=checked, throughput_exceeded=checked,
        io_balance_percent=restless[0], byte_balance_percent=restless[1],
    )  # fmt: skip
    seen = replace(seen, activity=volume, instance_activity=machine)
    restless_decision = replace(decision, observation=seen)
    assert len(decision.judgements) > len(stored(restless_decision).judgements) >= 3
    assert len(decision_to_json(restless_decision)) < 20_000


def test_a_value_that_is_not_the_same_number_stays_apart_from_its_limit() -> None:
    decision = fortnight()
    verdict = Verdict(
        guardrail=Guardrail.VALID, relation=Relation.IS, value=1, limit=True, unit="", detail="",
        clears_at=None, temporary=False,
    )  # fmt: skip
    for limit in (True, 1.0, 1, Decimal(1)):
        judged = replace(decision.judgements[0], verdicts=(replace(verdict, limit=limit),))
        kept = replace(decision, judgements=(judged,))
        assert same_json(decision_from_json(decision_to_json(kept)), stored(kept))


def test_a_record_keeps_the_summary_of_a_profile_and_not_its_hours() -> None:
    hours = tuple(ProfileHour(*[float(n)] * 4, 5, 0, 0.0, 0.0) for n in range(9_600))
    profile = LoadProfile(start=hour_of(NOW) - 9_600 * HOUR, hours=hours)
    without = decide(decision_input())
    decision = decide(decision_input(stand=resource_state(profile=profile)))
    again = decision_from_json(text := decision_to_json(decision))
    assert again.resource_state.profile is None
    assert again.profile == profile.summary
    assert again.profile.hours == 9_600
    assert len(text) < len(decision_to_json(replace(decision, profile=None))) + 300
    assert again.decision_id == decision.decision_id != without.decision_id
    assert again == stored(decision)


def test_without_a_profile_a_record_has_no_word_of_one() -> None:
    assert "profile" not in json.loads(decision_to_json(decide(decision_input())))["resource_state"]


def test_a_decision_with_endless_plans_still_fits_and_keeps_the_chosen_one() -> None:
    decision = fortnight()
    plan = (
        decision.answer.plan if isinstance(decision.answer, Act) else decision.answer.proposed_plan
    )
    chosen = next(j for j in decision.judgements if j.plan == plan)
    others = tuple(j for j in decision.judgements if j.plan != plan)
    crowded = replace(decision, judgements=(*(others * 300), chosen))
    text = decision_to_json(crowded)
    assert len(text) <= LARGEST_BODY
    again = decision_from_json(text)
    assert len(again.other_plans) == 20
    assert any("plans beyond" in what for what in again.left_out)
    assert chosen in again.judgements
    assert again.decision_id == decision.decision_id
    assert again.signature == decision.signature


def crowd(count: int) -> ConcurrencyState:
    changes = (
        InFlight(resource=f"{n:090}", decision_id=f"d{n}", since=NOW, zone="") for n in range(count)
    )
    return ConcurrencyState(in_flight=tuple(changes))


TAGS = tuple((f"{n:0128}", "\N{SNOWMAN}" * 256) for n in range(50))
"""As many and as long as EC2 takes; in JSON each character of a value has six bytes."""


@pytest.mark.parametrize(
    ("tags", "others", "missing"),
    [
        ((), 0, ()),
        ((), 500, ("before the last", "verdicts on all", "in flight")),
        (TAGS, 0, ("before the last", "verdicts on all", "in flight", "tags")),
        (TAGS, 3_000, ("before the last", "verdicts on all", "in flight", "tags")),
    ],
)
def test_a_record_is_never_too_large_and_says_what_is_missing(
    tags: tuple[tuple[str, str], ...], others: int, missing: tuple[str, ...]
) -> None:
    decision = fortnight()
    seen, state = decision.observation, decision.resource_state
    large = replace(
        decision, observation=replace(seen, volume=replace(seen.volume, tags=tags)),
        resource_state=replace(state, concurrency=crowd(others)),
    )  # fmt: skip
    text = decision_to_json(large)
    again = decision_from_json(text)
    assert len(text) <= LARGEST_BODY
    said = [word for word in missing if any(word in what for what in again.left_out)]
    assert said == [*missing]
    assert bool(again.left_out) == bool(missing)
    assert (again.decision_id, again.answer) == (decision.decision_id, decision.answer)
    assert again.signature == decision.signature
    assert any(j.plan == decision.plan for j in again.judgements)


def test_what_cannot_be_recorded_is_refused() -> None:
    endless = replace(fortnight(), summary="x" * (LARGEST_BODY + 1))
    with pytest.raises(DecisionTooLarge, match="at most 64000"):
        decision_to_json(endless)


def test_long_texts_of_other_records_are_clipped_only_where_they_do_not_fit() -> None:
    fits, endless = {"reason": "x" * 60_000}, {"a": [{"reason": "y" * 70_000, "who": "me"}]}
    assert json.loads(body_to_json(fits)) == fits
    (clipped,) = json.loads(body_to_json(endless))["a"]
    assert (len(clipped["reason"]), clipped["who"]) == (2_003, "me")
