"""The sums of a month: episodes, dollars for the hours in force, and what is still open."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from headroom.domain.aurora import decide_cluster
from headroom.domain.decision import Act, Decision, Reason, decide
from headroom.domain.policy import Mode
from headroom.domain.reports import ResourceMonth, add_decisions, add_ledger, month_of
from headroom.domain.resources import Configuration, Series
from headroom.domain.state import KnownModification, RecordSummary, Step
from tests.builders import NOW, decision_input, observation, policy, ref, starved_gp3, volume
from tests.contracts.decisions import act
from tests.domain.clusters import IO_OPTIMIZED, cluster_input, seen

SINCE = datetime(2026, 10, 1, tzinfo=UTC)
UNTIL = SINCE + timedelta(hours=730)
"""As long as the month of AWS's prices."""
ARN = ref("vol-1").arn
LATE = timedelta(hours=365)


def record(
    step: Step, hours: float = 0, *, outcome: str = "", reason: str = "starved",
    usd: str | None = None, decision: str = "d1", resource: str = ARN,
) -> RecordSummary:  # fmt: skip
    return RecordSummary(
        decision_id=decision, sequence=0, step=step, resource=resource,
        at=SINCE + timedelta(hours=hours), outcome=outcome or step.value, summary=step.value,
        reason=reason, price_change_usd=None if usd is None else Decimal(usd),
    )  # fmt: skip


def decided(outcome: str, reason: Reason, hours: float = 0, usd: str | None = None,
            decision: str = "d1") -> RecordSummary:  # fmt: skip
    return record(Step.DECIDED, hours, outcome=outcome, reason=reason, usd=usd, decision=decision)


def month(*records: RecordSummary) -> ResourceMonth:
    return month_of(records, since=SINCE, until=UNTIL).resources[ARN]


ACT = decided("act", Reason.STARVED, 365, "20")
APPLIED = record(Step.APPLIED, 365, usd="20")
RELIEVED = record(Step.RELIEVED, 366, usd="20")
CALM = decided("hold", Reason.NO_PRESSURE, 366, decision="d2")


def episodes(found: ResourceMonth) -> tuple[int, int, int, bool]:
    return found.found, found.ended, found.passed, found.starved_since is not None


@pytest.mark.parametrize(
    ("records", "usd"),
    [
        ((record(Step.DECIDED), record(Step.APPLIED, 365, usd="20")), "20"),
        ((record(Step.APPLIED, 365, usd="20"),), "10"),
        ((record(Step.DECIDED), record(Step.APPLIED, 365, usd="-3")), "0"),
        (
            (
                record(Step.DECIDED), record(Step.APPLIED, 10, usd="20"),
                record(Step.APPLIED, 20, usd="-20", decision="d2"),
                record(Step.APPLIED, 30, usd="15", decision="d3"),
            ),
            "20",
        ),
        (
            (
                record(Step.DECIDED), record(Step.APPLIED, 10, usd="20"),
                record(Step.DIVERGED, 20), record(Step.APPLIED, 30, usd="15", decision="d2"),
            ),
            "20",
        ),
    ],
    ids=["raised", "from its first record on", "lowered", "there and back", "diverged"],
)  # fmt: skip
def test_a_fixed_configuration_is_the_most_expensive_one_throughout(
    records: tuple[RecordSummary, ...], usd: str
) -> None:
    assert month(*records).fixed_usd(UNTIL) == Decimal(usd)


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ((ACT,), (1, 0, 0, True)),
        ((ACT, APPLIED, RELIEVED), (1, 1, 0, False)),
        ((ACT, APPLIED, CALM, RELIEVED), (1, 1, 0, False)),
        ((ACT, APPLIED, RELIEVED, CALM), (1, 1, 0, False)),
        ((ACT, CALM), (1, 0, 1, False)),
        ((decided("hold", Reason.BLOCKED_PERMANENTLY, 1, "12"),), (1, 0, 0, True)),
        ((decided("hold", Reason.BLOCKED_TEMPORARILY, 1, "-12"),), (0, 0, 0, False)),
        ((decided("act", Reason.SCALING_DOWN, 1, "-12"),
          record(Step.RELIEVED, 2, reason="scaling_down")), (0, 0, 0, False)),
        ((RELIEVED,), (1, 1, 0, False)),
        ((ACT, record(Step.GONE, 400)), (1, 0, 1, False)),
        ((ACT, decided("escalate", Reason.BLOCKED_PERMANENTLY, 367, "90")), (1, 0, 0, True)),
    ],
    ids=[
        "still open", "ended", "calm seen before it was verified", "calm seen after", "passed",
        "a raise is blocked", "a saving is blocked", "less was enough", "began a month before",
        "resource gone", "one episode however often it is seen",
    ],
)  # fmt: skip
def test_episodes_are_found_ended_passed_or_open(
    records: tuple[RecordSummary, ...], expected: tuple[int, int, int, bool]
) -> None:
    assert episodes(month(*records)) == expected


def test_a_foreseen_starvation_counts_as_prevented_and_not_as_found() -> None:
    found = month(
        decided("act", Reason.RECURRENCE_EXPECTED, 1, "5"),
        record(Step.APPLIED, 1, reason="recurrence_expected", usd="5"),
        record(Step.RELIEVED, 2, reason="recurrence_expected", usd="5"),
    )
    assert (found.foreseen, episodes(found)) == (1, (0, 0, 0, False))


@pytest.mark.parametrize(
    ("records", "added", "saved", "in_force"),
    [
        ((APPLIED,), "10", "0", "20"),
        ((record(Step.APPLIED, 365, usd="-20"),), "0", "10", "-20"),
        ((APPLIED, record(Step.FAILED, 400)), "0", "0", "0"),
        ((APPLIED, record(Step.DIVERGED, 365 + 73)), "2", "0", "0"),
        ((APPLIED, record(Step.GONE, 365 + 73, decision="other")), "2", "0", "0"),
        ((APPLIED, record(Step.APPLIED, 365 + 73, usd="-20", decision="d2")), "2", "0", "0"),
        ((record(Step.APPLIED, 365, usd="-3"), record(Step.APPLIED, 438, usd="20", decision="d2"),
          record(Step.APPLIED, 511, usd="-20", decision="d3")), "1.7", "1.2", "-3"),
    ],
    ids=["half a month", "a saving", "it never took effect", "somebody else changed it",
         "resource gone", "rolled back", "a lasting saving"],
)  # fmt: skip
def test_dollars_are_those_of_the_hours_in_force(
    records: tuple[RecordSummary, ...], added: str, saved: str, in_force: str
) -> None:
    found = month(*records)
    assert found.added_usd(UNTIL) == Decimal(added)
    assert found.saved_usd(UNTIL) == Decimal(saved)
    assert found.up_usd + found.down_usd == Decimal(in_force)


def test_a_raise_and_its_give_back_every_day_cost_their_hours_and_leave_nothing_in_force() -> None:
    records = [
        record(Step.APPLIED, 24 * day + hour, usd=usd, decision=f"{usd}{day}")
        for day in range(26)
        for hour, usd in ((9, "48.28"), (11, "-48.28"))
    ]
    found = month(*records)
    assert round(found.added_usd(UNTIL), 2) == Decimal("3.44")
    assert (found.saved_usd(UNTIL), found.up_usd, found.down_usd) == (0, 0, 0)


@pytest.mark.parametrize(
    ("before", "changes", "added", "saved", "in_force"),
    [
        (None, [(73, "20")], "18", "0", "20"),
        ("0", [(73, "20")], "18", "0", "20"),
        ("20", [(73, "-20")], "0", "0", "0"),  # it takes back a raise of the month before
        ("20", [(73, "-20"), (146, "20"), (219, "-20")], "2", "0", "0"),
        ("20", [(73, "-15"), (146, "10")], "8", "0", "10"),
        ("20", [(73, "10")], "9", "0", "10"),
        ("20", [(73, "-30")], "0", "9", "-10"),  # below what its owner set
        ("-30", [(73, "30")], "0", "0", "0"),  # it takes back a saving
        ("-30", [(73, "50")], "18", "0", "20"),
        ("-30", [(73, "30"), (146, "-30")], "0", "24", "-30"),
        ("-30", [(73, "-10")], "0", "9", "-10"),
    ],
)
def test_what_takes_back_a_change_of_an_earlier_month_saves_and_costs_nothing(
    before: str | None, changes: list[tuple[int, str]], added: str, saved: str, in_force: str
) -> None:
    found = month(*[
        record(Step.APPLIED, hours, usd=usd, decision=f"d{n}") for n, (hours, usd) in enumerate(changes)
    ])  # fmt: skip
    next(iter(found.landed.values())).before_usd = None if before is None else Decimal(before)
    assert (found.added_usd(UNTIL), found.saved_usd(UNTIL)) == (Decimal(added), Decimal(saved))
    assert found.up_usd + found.down_usd == Decimal(in_force)


@pytest.mark.parametrize(
    ("owners", "opening"), [("12", "38"), ("50", "0"), ("90", "-40"), (None, "30")]
)
def test_a_rollback_of_an_earlier_change_begins_from_what_all_earlier_changes_made(
    owners: str | None, opening: str
) -> None:
    """Without the owner's price only the change that is rolled back is known."""
    made = act("d1", "vol-1", increase="-30")
    undone = replace(
        made, rollback_of="d0", current_usd=Decimal(50),
        resource_state=replace(
            made.resource_state, enrolment_usd=None if owners is None else Decimal(owners)
        ),
    )  # fmt: skip
    found = month_of([record(Step.APPLIED, 365, usd="-30")], since=SINCE, until=UNTIL)
    add_decisions(found, [undone])
    assert found.resources[ARN].landed["d1"].before_usd == Decimal(opening)


RAISED = act("d1", "vol-1")
ORIGIN = RAISED.observation.volume.configuration


def later(config: Configuration, hours: float, name: str = "n1") -> Decision:
    seen = observation(vol=volume(ref=ref("vol-1"), configuration=config))
    found = decide(decision_input(seen))
    return replace(found, decision_id=name, at=SINCE + timedelta(hours=hours))


def seen_at(*decisions: Decision) -> ResourceMonth:
    """A month with a verified raise at 365 h, and a decision at 438 h."""
    found = month_of(
        [APPLIED, RELIEVED, decided("hold", Reason.NO_PRESSURE, 438, decision="n1")],
        since=SINCE, until=UNTIL,
    )  # fmt: skip
    assert (found.landed, found.newest) == (["d1"], ["n1"])
    add_decisions(found, [RAISED, *decisions])
    return found.resources[ARN]


def test_a_raise_that_its_owner_undid_ends_when_a_later_decision_shows_it() -> None:
    assert isinstance(RAISED.answer, Act)
    made = RAISED.answer.plan.target
    found = seen_at(later(ORIGIN, 438))
    assert (found.added_usd(UNTIL), found.up_usd, found.target) == (2, 0, str(ORIGIN))
    grown = replace(made, size_gib=made.size_gib + 100)
    for still in (made, grown):
        kept = seen_at(later(still, 438))
        assert (kept.added_usd(UNTIL), kept.up_usd, kept.target) == (10, 20, str(made))


def test_what_the_ledger_counts_no_increase_for_has_none_in_force() -> None:
    assert isinstance(RAISED.answer, Act)
    back = KnownModification(
        started_at=SINCE + timedelta(hours=438), by="other", origin=RAISED.answer.plan.target,
        target=ORIGIN,
    )  # fmt: skip
    for known, added, now in (((back,), 2, ORIGIN), ((), 10, RAISED.answer.plan.target)):
        found = month_of([APPLIED, RELIEVED], since=SINCE, until=UNTIL)
        add_decisions(found, [RAISED])
        assert found.more_than(()) == [ARN]
        assert found.more_than([ARN]) == []
        add_ledger(found, {ARN: known})
        resource = found.resources[ARN]
        assert (resource.added_usd(UNTIL), resource.up_usd) == (added, 0)
        assert resource.target == str(now)


def test_of_a_month_that_is_over_the_ledger_shows_what_was_undone_in_it() -> None:
    assert isinstance(RAISED.answer, Act)
    made = RAISED.answer.plan.target
    for hours, added, up in ((438, 2, 0), (800, 10, 20)):
        back = KnownModification(
            started_at=SINCE + timedelta(hours=hours), by="other", origin=made, target=ORIGIN
        )
        found = month_of([APPLIED, RELIEVED], since=SINCE, until=UNTIL)
        add_decisions(found, [RAISED])
        add_ledger(found, {ARN: (back,)}, ongoing=False)
        assert (found.resources[ARN].added_usd(UNTIL), found.resources[ARN].up_usd) == (added, up)


def test_an_escalation_is_open_until_something_settles_it() -> None:
    escalated = decided("escalate", Reason.INSTANCE_LIMITED, 1)
    held = decided("hold", Reason.BLOCKED_PERMANENTLY, 2, decision="d2")
    assert month(escalated, held).escalation == escalated
    assert month(escalated, CALM).escalation is None
    assert month(escalated, ACT).escalation is None


def test_records_of_no_resource_belong_to_none() -> None:
    found = month_of(
        [record(Step.PAUSED, resource="account#123#us-east-1"),
         record(Step.REJECTED_SIGNAL, resource="an event")], since=SINCE, until=UNTIL,
    )  # fmt: skip
    assert (found.resources, found.records) == ({}, 2)


def test_decisions_add_the_target_the_estimate_and_what_blocks() -> None:
    seen = starved_gp3(vol=volume(ref=ref("vol-2"), tags=()))
    held = replace(decide(decision_input(seen, rules=policy(mode=Mode.OBSERVE))), decision_id="h1")
    raised = act("d1", "vol-1")
    other = ref("vol-2").arn
    found = month_of(
        [APPLIED, record(Step.DECIDED, outcome="hold", reason=Reason.BLOCKED_PERMANENTLY,
                         decision="h1", resource=other)], since=SINCE, until=UNTIL,
    )  # fmt: skip
    assert (found.landed, found.blocked) == (["d1"], ["h1"])
    add_decisions(found, [raised, held])
    assert isinstance(raised.answer, Act)
    assert found.resources[ARN].target == str(raised.answer.plan.target)
    assert found.resources[ARN].relieved_minutes == raised.answer.plan.relieved_minutes_per_day
    assert found.resources[other].blocked_by == ("mode", "instance_limit")
    assert found.blocked_by == {"mode": 1, "instance_limit": 1}


BILL_ONLY = Reason.NOT_COST_EFFECTIVE


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    "records",
    [
        (decided("hold", BILL_ONLY, 2), decided("hold", Reason.ALREADY_CHEAPEST, 26)),
        (decided("act", Reason.SLOW_COMMITS, 2, "12"),),
        (decided("act", Reason.CHEAPER, 2, "-9"), record(Step.APPLIED, 2, reason="cheaper", usd="-9"),
         record(Step.RELIEVED, 30, reason="cheaper", usd="-9")),
        (decided("hold", Reason.BLOCKED_TEMPORARILY, 2, "12"),
         decided("hold", Reason.KEPT_FOR_PERFORMANCE, 26)),
        (record(Step.RELIEVED, 2, reason="slow_commits"),),
    ],
    ids=["in its right mode", "slow commits", "a switch that landed", "a switch that waited",
         "a switch of the month before"],
)  # fmt: skip
def test_what_is_decided_about_a_clusters_bill_is_no_starvation(
    records: tuple[RecordSummary, ...], first: bool
) -> None:
    before = () if first else (decided("hold", BILL_ONLY, 1, decision="d0"),)
    found = month(*before, *records, decided("hold", BILL_ONLY, 50, "-1", "d3"))
    assert episodes(found) == (0, 0, 0, False)
    assert (found.foreseen, found.episode_minutes(UNTIL)) == (0, 0)


def test_a_cluster_that_stays_in_its_right_mode_needs_nobody() -> None:
    escalated = decided("escalate", Reason.BLOCKED_PERMANENTLY, 1)
    for reason in (Reason.ALREADY_CHEAPEST, Reason.FAST_ENOUGH, Reason.KEPT_FOR_PERFORMANCE):
        found = month(escalated, decided("hold", reason, 26, decision="d2"))
        assert (found.escalation, found.blocked) == (None, None)


def test_only_the_decision_tells_an_aurora_cluster_from_another_cluster() -> None:
    seen_ = cluster_input(policy(mode=Mode.OBSERVE), seen(44_000_000.0))
    bill = replace(decide_cluster(seen_), decision_id="d2")
    assert bill.answer.reason is BILL_ONLY
    arn = bill.observation.volume.ref.arn
    records = [
        replace(decided("hold", BILL_ONLY, hours, decision=f"d{number}"), resource=arn)
        for number, hours in enumerate((1, 25, 49))
    ]
    found = month_of(records, since=SINCE, until=UNTIL)
    assert episodes(found.resources[arn]) == (1, 0, 0, True)
    assert found.newest == ["d2"]
    add_decisions(found, [bill])
    assert episodes(found.resources[arn]) == (0, 0, 0, False)
    assert found.resources[arn].episode_minutes(UNTIL) == 0


def test_the_saving_of_a_clusters_mode_is_reckoned_by_whole_months() -> None:
    observed_ = seen(90e6)
    hours = Series(
        start=NOW.replace(hour=0) - timedelta(days=64), period_s=3600, values=(50e6 / 24,) * 1200
    )
    past = replace(observed_, activity=replace(observed_.activity, hourly_ios=hours))
    rules = policy(mode=Mode.AUTO)
    made = replace(decide_cluster(cluster_input(rules, past)), decision_id="d1")
    assert isinstance(made.answer, Act)
    usd, arn = made.answer.plan.price_change_usd, made.observation.volume.ref.arn
    records = [
        replace(r, resource=arn, price_change_usd=usd)
        for r in (decided("act", Reason.CHEAPER, 365), record(Step.APPLIED, 365, reason="cheaper"))
    ]
    found = month_of(records, since=SINCE, until=UNTIL)
    add_decisions(found, [made])
    assert made.cluster is not None
    longer = made.cluster.by_longer_past(usd)
    assert longer is not None
    assert usd < longer[1] < 0
    assert found.resources[arn].down_usd == longer[1]
    assert found.resources[arn].saved_usd(UNTIL) == -longer[1] / 2
    undone = replace(
        made, decision_id="d2", rollback_of="d1",
        answer=replace(made.answer, plan=replace(made.answer.plan, price_change_usd=-usd)),
        cluster=replace(made.cluster, cluster=replace(made.cluster.cluster, mode=IO_OPTIMIZED)),
    )  # fmt: skip
    back = replace(record(Step.APPLIED, 438, decision="d2"), resource=arn, price_change_usd=-usd)
    found = month_of([*records, back], since=SINCE, until=UNTIL)
    add_decisions(found, [made, undone])
    assert (found.resources[arn].up_usd, found.resources[arn].down_usd) == (0, 0)
