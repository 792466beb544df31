from __future__ import annotations

import re
from dataclasses import fields, replace
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.aurora import decide_cluster
from headroom.domain.catalog.aurora import AuroraPrices, aurora_prices, supports_io_optimized
from headroom.domain.decision import Act, Decision, Escalate, Hold, Reason
from headroom.domain.guardrails import Guardrail
from headroom.domain.policy import Limits, Mode, Rule, Selector, TagsMay
from headroom.domain.resources import (
    SERVERLESS,
    AuroraActivity,
    AuroraCluster,
    AuroraObservation,
    Goal,
    Kind,
    Member,
    Series,
    configuration_of,
)
from headroom.domain.workload import cluster_demand
from headroom.serialization import decision_from_json, decision_to_json
from tests.builders import NOW, policy
from tests.domain.clusters import (
    IO_OPTIMIZED,
    STANDARD,
    activity,
    cluster,
    cluster_input,
    grid,
    seen,
)

PRICES = aurora_prices("us-east-1")
AUTO = Limits(mode=Mode.AUTO)
# 2 db.r7g.xlarge and 100 GiB: equal at 1,274 million I/O a month, 41.9 million a day.
EVEN = 41_894_794.5
FORTY = 90_000_000.0
"""I/O a day that makes 40 % of the bill in Standard."""
FIFTEEN = 23_700_000.0


def decided(
    observation: AuroraObservation, limits: Limits = AUTO, *, prices: AuroraPrices | None = PRICES
) -> Decision:
    limits = replace(limits, tags_may=TagsMay.NARROW)
    settings = tuple((each.name, getattr(limits, each.name)) for each in fields(Limits))
    rule = Rule(selector=Selector(kind=Kind.AURORA), settings=settings)
    rules = replace(policy(), rules=(rule,))
    return decide_cluster(cluster_input(rules, observation, prices=prices))


def blocking(decision: Decision) -> set[Guardrail]:
    return {v.guardrail for judged in decision.judgements for v in judged.blocking}


def optimized(**changes: object) -> AuroraCluster:
    """A cluster that went to I/O-Optimized forty days ago; AWS allows it again."""
    base: dict[str, object] = {
        "mode": IO_OPTIMIZED, "mode_since": NOW - timedelta(days=40),
        "next_allowed_at": NOW - timedelta(days=10),
    }  # fmt: skip
    return cluster(**(base | changes))


def test_io_at_40_percent_of_the_bill_changes_the_mode_and_the_record_has_both_bills() -> None:
    decision = decided(seen(FORTY))
    assert isinstance(decision.answer, Act)
    assert decision.answer.reason is Reason.CHEAPER
    assert decision.answer.plan.target == configuration_of(IO_OPTIMIZED)
    assert decision.cluster is not None
    assert decision.cluster.bills is not None
    assert decision.cluster.bills.standard.io_share == pytest.approx(0.40, abs=0.002)
    assert round(decision.cluster.bills.standard.total_usd, 2) == Decimal("1364.88")
    assert round(decision.cluster.bills.io_optimized.total_usd, 2) == Decimal("1072.24")
    assert round(decision.answer.plan.price_change_usd, 2) == Decimal("-292.64")
    assert decision.summary == (
        "orders: $1,364.88 a month in Standard, I/O 40.1 % of it, $1,072.24 in I/O-Optimized, by 14 "
        "whole days; aurora -> aurora-iopt1 (cheaper), -$292.64 a month"
    )
    assert [day.ios for day in decision.cluster.demand.days] == pytest.approx([FORTY] * 14)


def test_io_at_15_percent_of_the_bill_stays_in_standard() -> None:
    decision = decided(seen(FIFTEEN))
    assert decision.cluster is not None
    assert decision.cluster.bills is not None
    assert decision.cluster.bills.standard.io_share == pytest.approx(0.15, abs=0.002)
    assert isinstance(decision.answer, Hold)
    assert decision.answer.reason is Reason.ALREADY_CHEAPEST
    assert decision.answer.proposed_plan is None


@pytest.mark.parametrize(
    ("times", "reason"),
    [(0.99, Reason.ALREADY_CHEAPEST), (1.05, Reason.NOT_COST_EFFECTIVE),
     (1.46, Reason.NOT_COST_EFFECTIVE), (1.48, Reason.CHEAPER)],
)  # fmt: skip
def test_a_change_must_save_a_margin_because_it_is_allowed_once_in_30_days(
    times: float, reason: Reason
) -> None:
    decision = decided(seen(EVEN * times))
    assert decision.answer.reason is reason
    why = "but it saves .* % of the bill, and 10 % are required"
    assert bool(re.search(why, decision.summary)) is (reason is Reason.NOT_COST_EFFECTIVE)


def test_near_the_break_even_neither_mode_is_changed() -> None:
    for times in (0.95, 1.0, 1.05):
        assert not isinstance(decided(seen(EVEN * times)).answer, Act)
        assert not isinstance(decided(seen(EVEN * times, optimized())).answer, Act)


def test_two_days_of_a_migration_are_no_reason_to_change() -> None:
    days = [FIFTEEN] * 13 + [700_000_000.0] * 2
    decision = decided(seen(days))
    assert blocking(decision) == {Guardrail.STEADY}
    assert decision.answer.reason is Reason.NOT_COST_EFFECTIVE
    assert "but it would not save anything without the busiest 2 days" in decision.summary


def test_thirteen_whole_days_are_too_few_and_a_gap_is_not_a_quiet_day() -> None:
    assert decided(seen([FORTY] * 13)).answer.reason is Reason.NOT_ENOUGH_DATA
    holed = [None, FORTY, None, *[FORTY] * 12]
    assert decided(seen(holed)).answer.reason is Reason.NOT_ENOUGH_DATA
    patched = [FORTY, *[FORTY] * 6, None, *[FORTY] * 7]
    found = cluster_demand(seen(patched), slow_ms=10)
    assert len(found.days) == 14
    assert found.ios_a_month() == pytest.approx(FORTY * 730 / 24)


@pytest.mark.parametrize(("known_days", "noted"), [(29, False), (31, True)])
def test_a_cluster_that_is_stopped_every_weekend_is_not_left_without_a_word(
    known_days: int, noted: bool
) -> None:
    """Sixteen days never have fourteen workdays, whatever is waited for."""
    workdays = [
        None if (NOW - timedelta(days=ago)).weekday() >= 5 else FORTY for ago in range(16, 0, -1)
    ]
    observation = seen(workdays)
    start = NOW - timedelta(days=known_days)
    hours = Series(start=start, period_s=3600, values=(1e6,) * (known_days * 24))
    activity = replace(observation.activity, hourly_ios=hours)
    decision = decided(replace(observation, activity=activity))
    assert decision.answer.reason is Reason.NOT_ENOUGH_DATA
    assert decision.cluster is not None
    assert bool(decision.cluster.owner_note) is noted
    assert ("a cluster that is stopped or scaled every few days" in decision.summary) is noted


def test_today_does_not_count_and_a_day_with_a_few_gaps_is_extrapolated() -> None:
    observation = seen([FORTY] * 14)
    reads = list(observation.activity.read_ios.values)
    reads[3] = reads[100] = None  # the first day has 286 of its 288 periods
    few = replace(observation.activity, read_ios=replace(observation.activity.read_ios,
                                                         values=tuple(reads)))  # fmt: skip
    found = cluster_demand(replace(observation, activity=few), slow_ms=10)
    assert [d.ios for d in found.days] == pytest.approx([FORTY] * 14)
    reads[100:120] = [None] * 20
    many = replace(few, read_ios=replace(few.read_ios, values=tuple(reads)))
    assert len(cluster_demand(replace(observation, activity=many), slow_ms=10).days) == 13


def test_an_unpublished_size_or_acu_is_not_zero() -> None:
    assert decided(seen(FORTY, gib=None)).answer.reason is Reason.NOT_ENOUGH_DATA
    serverless = cluster(members=(Member(instance_class=SERVERLESS, count=2),))
    assert decided(seen(FORTY, serverless)).answer.reason is Reason.NOT_ENOUGH_DATA
    known = decided(seen(FORTY, serverless, acus=8.0))
    assert known.cluster is not None
    assert known.cluster.bills is not None
    assert known.cluster.bills.standard.serverless_usd == Decimal("700.8")


def test_a_class_without_a_known_price_is_escalated() -> None:
    dear = cluster(members=(Member(instance_class="db.r5.24xlarge"),))
    answer = decided(seen(FORTY, dear)).answer
    assert isinstance(answer, Escalate)
    assert "no price of db.r5.24xlarge" in answer.remedy
    assert isinstance(decided(seen(FORTY), prices=None).answer, Escalate)


def test_within_thirty_days_of_a_change_it_holds_until_they_are_over() -> None:
    opens = NOW + timedelta(days=9)
    answer = decided(seen(FORTY, cluster(next_allowed_at=opens))).answer
    assert answer == Hold(
        reason=Reason.BLOCKED_TEMPORARILY, until=opens,
        proposed_plan=answer.proposed_plan if isinstance(answer, Hold) else None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "guardrail"),
    [
        ({"reserved": None}, Guardrail.RESERVATIONS),
        ({"parallel_query": True}, Guardrail.PARALLEL_QUERY),
        (
            {"engine": "aurora-mysql", "engine_version": "8.0.mysql_aurora.3.08.0"},
            Guardrail.PARALLEL_QUERY,
        ),
        ({"engine_version": "13.9"}, Guardrail.ENGINE_VERSION),
    ],
)
def test_what_only_the_owner_can_change_is_escalated(
    changes: dict[str, object], guardrail: Guardrail
) -> None:
    answer = decided(seen(FORTY, cluster(**changes))).answer
    assert isinstance(answer, Escalate)
    assert answer.cause == guardrail.value


def test_a_restart_needs_the_owners_permission() -> None:
    prices = replace(PRICES, hour={"db.r6gd.xlarge": (Decimal("0.6"), Decimal("0.78"))})
    nvme = seen(FORTY, cluster(members=(Member(instance_class="db.r6gd.xlarge", count=2),)))
    held = decided(nvme, prices=prices).answer
    assert isinstance(held, Escalate)
    assert held.cause == "restart"
    assert held.proposed_plan is not None
    allowed = decided(nvme, replace(AUTO, aurora_restart=True), prices=prices).answer
    assert isinstance(allowed, Act)


@pytest.mark.parametrize("changes", [{"status": "modifying"}, {"status": "creating"}])
def test_a_cluster_that_aws_is_modifying_waits(changes: dict[str, object]) -> None:
    answer = decided(seen(FORTY, cluster(**changes))).answer
    assert isinstance(answer, Hold)
    assert answer.reason is Reason.BLOCKED_TEMPORARILY


def test_without_auto_it_only_observes() -> None:
    answer = decided(seen(FORTY), Limits()).answer
    assert isinstance(answer, Hold)
    assert answer.reason is Reason.OBSERVE_ONLY
    assert answer.proposed_plan is not None


# --- back to Standard


def test_it_returns_to_standard_after_fourteen_days_measured_under_io_optimized() -> None:
    answer = decided(seen(5_000_000.0, optimized())).answer
    assert isinstance(answer, Act)
    assert answer.plan.target == configuration_of(STANDARD)
    assert not answer.plan.reversible


@pytest.mark.parametrize("since", [None, 5, 14])
def test_days_from_before_the_change_or_of_unknown_mode_do_not_count(since: int | None) -> None:
    at = None if since is None else NOW - timedelta(days=since)
    decision = decided(seen(5_000_000.0, optimized(mode_since=at)))
    assert isinstance(decision.answer, Hold)
    assert decision.cluster is not None
    assert len(decision.cluster.demand.days) < 14
    assert decision.cluster.bills is None


def test_the_owner_hears_that_no_billed_io_is_published_under_io_optimized() -> None:
    silent = activity([5_000_000.0] * 15)
    none = replace(silent, read_ios=_blank(silent), write_ios=_blank(silent))
    decision = decided(AuroraObservation(at=NOW, cluster=optimized(), activity=none))
    answer = decision.answer
    assert isinstance(answer, Hold)
    assert answer.reason is Reason.NO_BILLED_IO
    assert decision.cluster is not None
    assert "nothing is published" in decision.cluster.owner_note
    in_standard = decided(AuroraObservation(at=NOW, cluster=cluster(), activity=none))
    assert isinstance(in_standard.answer, Hold)
    assert in_standard.cluster is not None
    assert in_standard.cluster.owner_note == ""


def _blank(source: AuroraActivity) -> Series:
    return replace(source.read_ios, values=(None,) * len(source.read_ios.values))


def test_it_does_not_return_to_standard_while_io_optimized_is_not_allowed_again() -> None:
    opens = NOW + timedelta(days=3)
    shut = optimized(mode_since=NOW - timedelta(days=27), next_allowed_at=opens)
    answer = decided(seen(5_000_000.0, shut)).answer
    assert isinstance(answer, Hold)
    assert (answer.reason, answer.until) == (Reason.BLOCKED_TEMPORARILY, opens)


def test_a_quiet_week_after_a_busy_one_is_no_reason_to_return() -> None:
    days = [*[70_000_000.0] * 7, *[5_000_000.0] * 8]
    decision = decided(seen(days, optimized()))
    assert not isinstance(decision.answer, Act)


# --- for speed

FAST = Limits(
    mode=Mode.AUTO, aurora_goal=Goal.PERFORMANCE, aurora_slow_commit_ms=8,
    price_increase_usd=Decimal(200),
)  # fmt: skip


def test_slow_commits_change_the_mode_for_the_goal_performance_within_the_price_limit() -> None:
    slow = seen(FIFTEEN, commit_ms=[20.0 if day % 3 == 0 else 3.0 for day in range(15)])
    decision = decided(slow, FAST)
    assert isinstance(decision.answer, Act)
    assert decision.answer.reason is Reason.SLOW_COMMITS
    assert decision.answer.plan.price_change_usd > 0
    assert decided(slow).answer.reason is Reason.ALREADY_CHEAPEST
    dear = decided(slow, replace(FAST, price_increase_usd=Decimal(50))).answer
    assert isinstance(dear, Escalate)
    assert dear.cause == "price_per_resource"


def test_fast_commits_or_two_slow_days_change_nothing() -> None:
    assert decided(seen(FIFTEEN), FAST).answer.reason is Reason.FAST_ENOUGH
    twice = seen(FIFTEEN, commit_ms=[*[3.0] * 13, 30.0, 30.0])
    assert decided(twice, FAST).answer.reason is Reason.FAST_ENOUGH
    unknown = seen(FIFTEEN, commit_ms=None)
    assert decided(unknown, FAST).answer.reason is Reason.FAST_ENOUGH


def test_with_the_goal_performance_io_optimized_stays() -> None:
    answer = decided(seen(5_000_000.0, optimized()), FAST).answer
    assert answer.reason is Reason.KEPT_FOR_PERFORMANCE


def test_with_the_goal_performance_a_cheaper_mode_is_still_taken() -> None:
    assert decided(seen(FORTY), FAST).answer.reason is Reason.CHEAPER


# --- laws


@settings(max_examples=60, deadline=None)
@given(
    days=st.lists(st.one_of(st.none(), st.floats(0, 2e8)), min_size=15, max_size=15),
    mode=st.sampled_from([STANDARD, IO_OPTIMIZED]),
    opens=st.sampled_from([None, -5, 5]),
    auto=st.booleans(),
)
def test_nothing_is_done_that_any_guardrail_forbids_and_deciding_twice_is_deciding_once(
    days: list[float | None], mode: object, opens: int | None, auto: bool
) -> None:
    one = cluster(
        mode=mode, mode_since=NOW - timedelta(days=40),
        next_allowed_at=None if opens is None else NOW + timedelta(days=opens),
    )  # fmt: skip
    observation = seen(days, one)
    decision = decided(observation, Limits(mode=Mode.AUTO if auto else Mode.OBSERVE))
    assert decision == decided(observation, Limits(mode=Mode.AUTO if auto else Mode.OBSERVE))
    if isinstance(decision.answer, Act):
        assert auto
        assert blocking(decision) == set()
        assert sum(day is not None for day in days) >= 14
        assert decision.answer.plan.price_change_usd < 0
        assert opens != 5


def test_a_guardrail_that_fails_blocks() -> None:
    strange = cluster(reserved=(Member(instance_class="db.r7g.huge"),))
    decision = decided(seen(FORTY, strange))
    assert isinstance(decision.answer, Escalate)
    assert "db.r7g.huge has no size" in decision.answer.remedy


def test_a_decision_is_the_same_there_and_back_and_is_kept_without_its_series() -> None:
    for observation in (seen(FORTY), seen(FIFTEEN), seen(5e6, optimized()), seen([None] * 15)):
        decision = decided(observation)
        text = decision_to_json(decision)
        assert decision_from_json(text) == decision
        assert len(text) < 20_000


@pytest.mark.parametrize(
    ("engine", "version", "known"),
    [
        ("aurora-postgresql", "13.10", True), ("aurora-postgresql", "13.9", False),
        ("aurora-postgresql", "14.7", True), ("aurora-postgresql", "15.1", False),
        ("aurora-postgresql", "17.4", True), ("aurora-postgresql", "17.3", False),
        ("aurora-postgresql", "18.1", True), ("aurora-postgresql", "12.22", False),
        ("aurora-mysql", "8.0.mysql_aurora.3.03.1", True),
        ("aurora-mysql", "8.0.mysql_aurora.3.03.0", False),
        ("aurora-mysql", "8.0.mysql_aurora.3.10.0", True),
        ("aurora-mysql", "8.4.mysql_aurora.8.4.7", True),
        ("aurora-mysql", "8.4.mysql_aurora.8.4.6", False),
        ("aurora-mysql", "5.7.mysql_aurora.2.11.1", False),
        ("aurora-mysql", "newest", False), ("docdb", "5.0.0", False),
    ],
)  # fmt: skip
def test_which_versions_support_io_optimized(engine: str, version: str, known: bool) -> None:
    assert supports_io_optimized(engine, version) is known


def test_a_grid_that_does_not_begin_at_midnight_is_cut_into_utc_days() -> None:
    found = cluster_demand(seen([FORTY] * 14), slow_ms=10)
    assert {day.start.hour for day in found.days} == {0}
    assert found.days[-1].start.date() == (NOW - timedelta(days=1)).date()
    assert grid([1.0], NOW).end == NOW


def test_right_after_a_change_missing_metrics_mean_nothing_yet() -> None:
    silent = activity([5_000_000.0] * 15)
    none = replace(silent, read_ios=_blank(silent), write_ios=_blank(silent))
    young = optimized(mode_since=NOW - timedelta(days=1), next_allowed_at=NOW + timedelta(days=29))
    decision = decided(AuroraObservation(at=NOW, cluster=young, activity=none))
    assert decision.answer.reason is Reason.NOT_ENOUGH_DATA


def test_io_optimized_of_unknown_age_has_not_enough_data() -> None:
    decision = decided(seen(5_000_000.0, optimized(mode_since=None)))
    assert decision.answer.reason is Reason.NOT_ENOUGH_DATA


def test_a_repeated_decision_is_no_news_and_another_guardrail_is() -> None:
    first, again = decided(seen(FORTY)), decided(seen(FORTY * 1.01))
    assert first.signature == again.signature
    held = decided(seen(FORTY, cluster(next_allowed_at=NOW + timedelta(days=2))))
    assert held.signature != first.signature
    assert held.signature.blocking == ("mode_change_interval",)


def test_a_change_that_saves_too_little_may_still_be_made_for_slow_commits() -> None:
    near = seen(45e6, commit_ms=30.0)  # saves a few percent
    for_money = decided(near, AUTO)
    assert for_money.answer.reason is Reason.NOT_COST_EFFECTIVE
    wants_speed = Limits(mode=Mode.AUTO, aurora_goal=Goal.PERFORMANCE)
    for_speed = decided(near, wants_speed)
    assert for_speed.answer.reason is Reason.SLOW_COMMITS
    fast = decided(seen(45e6), wants_speed)
    assert fast.answer.reason is Reason.FAST_ENOUGH
    much = decided(seen(100e6), wants_speed)
    assert much.answer.reason is Reason.CHEAPER  # enough for money, whatever commits do


def test_days_of_a_cluster_that_had_the_name_before_decide_nothing() -> None:
    fresh = cluster(metrics_from=NOW - timedelta(days=3))
    decision = decided(seen(100e6, fresh))
    assert decision.answer.reason is Reason.NOT_ENOUGH_DATA
    assert decision.cluster is not None
    assert len(decision.cluster.demand.days) == 2
    today = cluster_demand(seen(100e6, cluster(metrics_from=NOW - timedelta(hours=1))), slow_ms=10)
    assert today.storage_gib is None  # the size that was published is the other one's
    old = decided(seen(100e6, cluster(metrics_from=NOW - timedelta(days=90))))
    assert isinstance(old.answer, Act)


@pytest.mark.parametrize(("days", "goes"), [(20, False), (31, True)])
def test_without_an_instant_from_aws_thirty_days_count_from_the_change(
    days: int, goes: bool
) -> None:
    unnamed = optimized(mode_since=NOW - timedelta(days=days), next_allowed_at=None)
    answer = decided(seen(1e6, unnamed)).answer
    assert isinstance(answer, Act if goes else Hold), answer
    if isinstance(answer, Hold):
        assert answer.until == NOW + timedelta(days=30 - days)


def with_past(observation: AuroraObservation, *ios_a_day: float) -> AuroraObservation:
    """The same after these earlier days, oldest first; the last fifteen stay."""
    midnight = NOW.replace(hour=0, minute=0, second=0, microsecond=0)
    hours = tuple(ios / 24 for ios in ios_a_day for _ in range(24))
    start = midnight - timedelta(days=14 + len(ios_a_day))
    past = Series(start=start, period_s=3600, values=hours)
    return replace(observation, activity=replace(observation.activity, hourly_ios=past))


@pytest.mark.parametrize(
    ("earlier", "said"),
    [
        ((), None),
        ((FORTY,) * 15, None),
        ((EVEN * 1.2,) * 16, "; by the last 30 days -$"),
        ((EVEN * 1.2,) * 50, "; by the last 60 days -$"),
        ((0.0,) * 50, None),
        ((2 * FORTY,) * 50, None),
    ],
    ids=["nothing longer", "29 days", "a month", "two months", "a new level", "it saved more"],
)
def test_a_saving_is_also_named_by_whole_months_where_they_show_less(
    earlier: tuple[float, ...], said: str | None
) -> None:
    plain = decided(seen(FORTY))
    decision = decided(with_past(seen(FORTY), *earlier))
    assert isinstance(plain.answer, Act)
    assert decision.cluster is not None
    found = decision.cluster.by_longer_past(plain.answer.plan.price_change_usd)
    assert (found is None) is (said is None)
    assert "by the last" not in plain.summary
    if isinstance(decision.answer, Act):
        assert decision.answer.plan == plain.answer.plan, "what it is decided by stays"
        assert ("by the last" in decision.summary) is (said is not None)
        assert (said or "") in decision.summary
    if found is not None:
        assert plain.answer.plan.price_change_usd < found[1] < 0


def test_a_saving_by_whole_months_is_the_difference_of_both_bills_at_their_io() -> None:
    decision = decided(with_past(seen(FORTY), *[EVEN * 1.2] * 16))
    assert decision.cluster is not None
    mean_of_all = (15 * FORTY + 15 * EVEN * 1.2) / 30
    usual = decided(seen(mean_of_all))
    assert usual.cluster is not None
    assert usual.cluster.bills is not None
    saving = usual.cluster.bills.saving_usd(STANDARD)
    found = decision.cluster.by_longer_past(Decimal("-292.64"))
    assert found == (30, -round(saving, 2))
    back = replace(decision.cluster, cluster=optimized())
    assert back.by_longer_past(Decimal("292.64")) == (30, round(saving, 2)), "its rollback"
