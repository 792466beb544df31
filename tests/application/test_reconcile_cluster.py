"""Aurora clusters through the same reconciliation, with RDS's adapter on a small RDS and days that are said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from headroom.adapters.aurora import AuroraClusterStorage
from headroom.adapters.dispatch import StorageByKind
from headroom.application import remediate, sweep
from headroom.domain.aurora import configuration_of
from headroom.domain.decision import Act, Decision, Escalate, Hold, Reason
from headroom.domain.guardrails import Guardrail
from headroom.domain.policy import Freeze, Mode, Policy, Rule, Selector, TagsMay, parse_window
from headroom.domain.resources import Claim, Configuration, Goal, Kind, ResourceRef, Signal, Volume
from headroom.domain.state import Outcome, Record, Refused, Step
from headroom.ports import Glance, Ports, StorageView
from headroom.serialization import decision_from_json, decision_to_json
from tests.adapters.aurora.service import GATE_SHUT, AuroraService, Days, member, orders
from tests.adapters.rds.service import refusal
from tests.application.harness import Harness, reconcile_now
from tests.builders import ACCOUNT, NOW, REGION, policy
from tests.domain.clusters import IO_OPTIMIZED, STANDARD

ORDERS = ResourceRef(kind=Kind.AURORA, account_id=ACCOUNT, region=REGION, resource_id="orders")
BUSY, QUIET = [100e6] * 16, [5e6] * 16


class Clusters(Harness):
    """The harness with Aurora behind its storage."""

    service: AuroraService
    days: Days
    aurora: AuroraClusterStorage

    @classmethod
    def of(cls, *, ios: list[float | None] | None = None, **changes: Any) -> Clusters:
        made = cls(rules=policy())
        made.service = AuroraService(cluster=orders(**changes))
        made.days = Days(ios_a_day=list(BUSY if ios is None else ios))
        made.aurora = AuroraClusterStorage(
            made.service, metrics=made.days, prices=made.days, notes=made.ledger,
            clock=lambda: made.now, account_id=ACCOUNT, region=REGION,
        )  # fmt: skip
        return made

    @property
    def ports(self) -> Ports:
        return replace(super().ports, clusters=self.aurora)

    def fleet(self) -> Iterator[StorageView]:
        return self.aurora.fleet()

    def view(self, ref: ResourceRef) -> StorageView:
        return StorageByKind({Kind.AURORA: self.aurora}).view(ref)

    def glance(self, views: Any, now: datetime) -> dict[str, Glance]:
        return {}

    def apply(
        self, ref: ResourceRef, *, expected: Configuration, seen: datetime | None,
        target: Configuration, decided_on: Volume | None = None,
    ) -> Outcome:  # fmt: skip
        return self.aurora.apply(
            ref, expected=expected, seen=seen, target=target, decided_on=decided_on
        )

    def reconcile(self, trigger: str = "due") -> Decision | None:
        return reconcile_now(self.ports, ORDERS, self.now, trigger=trigger)

    def decided(self) -> Decision:
        decision = self.reconcile()
        assert decision is not None
        return decision


def blocking(decision: Decision) -> set[Guardrail]:
    return {v.guardrail for judged in decision.judgements for v in judged.blocking}


def test_a_cluster_whose_io_is_most_of_its_bill_is_switched_once_and_seen_in_its_new_mode() -> None:
    harness = Clusters.of()
    decision = harness.decided()
    assert isinstance(decision.answer, Act), decision.summary
    assert decision.answer.reason is Reason.CHEAPER
    assert decision.answer.plan.target == configuration_of(IO_OPTIMIZED)
    assert harness.service.changes == [
        {"DBClusterIdentifier": "orders", "StorageType": "aurora-iopt1", "ApplyImmediately": True}
    ]
    assert harness.steps(ORDERS) == ["act", "intended", "applied"]
    harness.later(minutes=11)
    harness.service.lands(IOOptimizedNextAllowedModificationTime=NOW + timedelta(days=30))
    harness.reconcile()
    assert harness.steps(ORDERS)[:4] == ["act", "intended", "applied", "relieved"]
    assert len(harness.service.changes) == 1
    assert [(step, "is in force" in said) for _, step, said in harness.messages] == [
        (Step.APPLIED, False), (Step.RELIEVED, True),
    ]  # fmt: skip
    known = harness.ledger.resource_state(ORDERS, harness.now).modifications
    assert [(m.by, m.target) for m in known] == [("headroom", configuration_of(IO_OPTIMIZED))]


@pytest.mark.parametrize(
    ("mode", "before", "now", "ios"),
    [(STANDARD, 3, 1, 34e6), (IO_OPTIMIZED, 1, 3, 34e6)],
    ids=["readers are away", "readers came today"],
)
def test_members_of_one_day_are_not_what_thirty_days_are_judged_by(
    mode: Any, before: int, now: int, ios: float
) -> None:
    """One r7g.xlarge pays for I/O-Optimized at 21 million I/O a day, three at 61."""
    shut = {"IOOptimizedNextAllowedModificationTime": NOW - timedelta(days=60)}
    harness = Clusters.of(
        ios=[ios] * 16, StorageType=mode.value, **(shut if mode is IO_OPTIMIZED else {})
    )

    def has(count: int) -> None:
        names = [f"orders-{number}" for number in range(1, count + 1)]
        harness.service.members = [member(name) for name in names]
        harness.service.cluster["DBClusterMembers"] = [
            {"DBInstanceIdentifier": name, "IsClusterWriter": name == "orders-1"} for name in names
        ]

    has(before)
    assert isinstance(harness.decided().answer, Hold)
    harness.later(days=1)
    has(now)
    decision = harness.decided()
    assert isinstance(decision.answer, Hold), decision.summary
    assert decision.answer.reason is Reason.NOT_COST_EFFECTIVE
    assert "with its members of 2026-01-05" in decision.summary
    harness.later(days=8)
    assert isinstance(harness.decided().answer, Act)  # so they are to stay


@pytest.mark.parametrize(
    ("name", "rules", "tags"),
    [
        ("silence", policy(), []),
        ("defaults that say auto", policy(mode=Mode.AUTO), []),
        ("its tag", policy(), [{"Key": "headroom", "Value": "observe"}]),
        ("a pause of the policy", policy(mode=Mode.OFF), []),
    ],
)
def test_a_cluster_that_is_not_enrolled_is_only_observed(
    name: str, rules: Policy, tags: list[dict[str, str]]
) -> None:
    harness = Clusters.of(TagList=tags)
    harness.rules = rules
    decision = harness.reconcile()
    assert harness.service.changes == []
    assert decision is None or decision.answer.reason is Reason.OBSERVE_ONLY
    assert harness.messages == []


def test_a_rule_that_names_the_kind_enrols_a_cluster() -> None:
    harness = Clusters.of(TagList=[])
    rule = Rule(selector=Selector(kind=Kind.AURORA), settings=(("mode", Mode.AUTO),))
    harness.rules = replace(policy(), rules=(rule,))
    assert isinstance(harness.decided().answer, Act)
    assert len(harness.service.changes) == 1


@pytest.mark.parametrize(
    ("changes", "guardrail"),
    [
        ({"PendingModifiedValues": {"EngineVersion": "16.6"}}, Guardrail.PENDING_CHANGES),
        ({"PendingModifiedValues": {"StorageType": "aurora-iopt1"}}, Guardrail.PENDING_CHANGES),
        ({"Status": "backing-up"}, Guardrail.DATABASE_STATE),
        ({"EngineVersion": "13.9"}, Guardrail.ENGINE_VERSION),
        ({"IOOptimizedNextAllowedModificationTime": NOW + timedelta(days=3)}, Guardrail.MODE_CHANGE_INTERVAL),
        ({"TagList": [{"Key": "headroom", "Value": "auto"},
                      {"Key": "headroom:group", "Value": "data"}]}, Guardrail.GROUP),
        ({"TagList": [{"Key": "headroom", "Value": "auto"},
                      {"Key": "headroom:cooldowns", "Value": "1h"}]}, Guardrail.POLICY),
    ],
)  # fmt: skip
def test_a_blocked_change_names_its_guardrail_and_sends_nothing(
    changes: dict[str, Any], guardrail: Guardrail
) -> None:
    harness = Clusters.of(**changes)
    decision = harness.decided()
    assert guardrail in blocking(decision), decision.summary
    assert isinstance(decision.answer, Hold | Escalate)
    assert harness.service.changes == []


@pytest.mark.parametrize(
    ("what", "guardrail"),
    [
        ("reservations nobody may read", Guardrail.RESERVATIONS),
        ("a member that restarts", Guardrail.RESTART),
        ("a class that a member waits for", Guardrail.PENDING_CHANGES),
    ],
)
def test_members_and_reservations_block_a_change_too(what: str, guardrail: Guardrail) -> None:
    harness = Clusters.of()
    if guardrail is Guardrail.RESERVATIONS:
        harness.service.denied.add("describe_reserved_db_instances")
    elif guardrail is Guardrail.RESTART:
        harness.days.table = replace(
            harness.days.aurora(REGION, ""),
            hour={"db.r6gd.large": (Decimal("0.3"), Decimal("0.39"))},
        )
        harness.service.members = [
            member(name, DBInstanceClass="db.r6gd.large") for name in ("orders-1", "orders-2")
        ]
    else:
        harness.service.members[0]["PendingModifiedValues"] = {"DBInstanceClass": "db.r7g.2xlarge"}
    decision = harness.decided()
    assert guardrail in blocking(decision), decision.summary
    assert isinstance(decision.answer, Escalate)
    assert [whom for whom, _, _ in harness.messages] == ["orders"]
    harness.later(hours=25)
    harness.reconcile()
    assert len(harness.messages) == 1  # once per episode
    assert harness.service.changes == []


def test_the_pause_a_freeze_and_a_full_account_hold_for_clusters() -> None:
    for hold, guardrail in (
        ("pause", Guardrail.PAUSE), ("freeze", Guardrail.FREEZE),
        ("window", Guardrail.CHANGE_WINDOW),
    ):  # fmt: skip
        harness = Clusters.of()
        if hold == "pause":
            harness.ledger.pause(NOW + timedelta(days=1), at=NOW, who="alice")
        elif hold == "freeze":
            freeze = Freeze(begins=NOW - timedelta(days=1), until=NOW + timedelta(days=1))
            harness.rules = replace(policy(), freezes=(freeze,))
        else:
            harness.rules = policy(change_windows=(parse_window("Sat 00:00-24:00 UTC"),))
        decision = harness.decided()
        assert guardrail in blocking(decision), decision.summary
        assert decision.answer.reason is Reason.BLOCKED_TEMPORARILY
        assert harness.service.changes == []


def test_a_lost_answer_is_resolved_from_the_mode_that_rds_shows() -> None:
    harness = Clusters.of()
    harness.service.times_out = True
    harness.reconcile()
    assert harness.steps(ORDERS) == ["act", "intended", "unknown"]
    for _ in range(6):
        harness.later(minutes=3)
        harness.reconcile()
    assert harness.steps(ORDERS)[:4] == ["act", "intended", "unknown", "applied"]
    assert len(harness.service.changes) == 1
    harness.service.lands()
    harness.later(minutes=15)
    harness.reconcile()
    assert "relieved" in harness.steps(ORDERS)


def test_a_call_that_never_arrived_ends_the_chain() -> None:
    harness = Clusters.of()
    harness.service.fails_with = TimeoutError("connect timed out")
    harness.reconcile()
    harness.days.ios_a_day = list(QUIET)
    for _ in range(8):
        harness.later(minutes=5)
        harness.reconcile()
    assert harness.steps(ORDERS)[:4] == ["act", "intended", "unknown", "not_applied"]
    assert harness.service.changes == []


@pytest.mark.parametrize(
    ("code", "message", "failures"),
    [
        ("StorageTypeNotAvailableFault", GATE_SHUT, 0),
        ("StorageTypeNotAvailableFault", "The storage type is not available here.", 1),
        ("InvalidDBClusterStateFault", "not available", 0),
        ("AccessDenied", "no", 1),
    ],
)
def test_a_refusal_is_classified_and_retried_later(code: str, message: str, failures: int) -> None:
    harness = Clusters.of()
    harness.service.fails_with = refusal(code, message)
    harness.reconcile()
    assert harness.steps(ORDERS) == ["act", "intended", "refused"]
    resource_state = harness.ledger.resource_state(ORDERS, harness.now)
    assert resource_state.failures_in_a_row == failures
    assert resource_state.retry_not_before is not None
    harness.later(minutes=5)
    decision = harness.decided()
    assert blocking(decision) == {Guardrail.RETRY_BACKOFF}
    assert harness.service.changes == []


def test_a_cluster_that_changed_before_the_call_is_not_changed() -> None:
    harness = Clusters.of()
    seen = harness.view(ORDERS)
    harness.service.cluster["PendingModifiedValues"] = {"EngineVersion": "16.6"}
    outcome = harness.aurora.apply(
        ORDERS, expected=seen.volume.configuration, seen=None,
        target=configuration_of(IO_OPTIMIZED),
    )  # fmt: skip
    assert isinstance(outcome, Refused)
    assert "EngineVersion" in outcome.message
    assert harness.service.changes == []


def approved(harness: Clusters) -> Decision:
    """A change that is asked for and approved an hour later."""
    decision = harness.decided()
    assert isinstance(decision.answer, Act)
    assert decision.answer.approval == "the mode is approve"
    assert harness.steps(ORDERS) == ["act", "awaiting"]
    harness.later(hours=1)
    given = harness.ledger.answer(decision.decision_id, Step.APPROVED, at=harness.now, who="alice")
    assert isinstance(given, Record), given
    return decision


APPROVE = [{"Key": "headroom", "Value": "approve"}]


def test_an_approved_change_is_made_once_and_can_be_rolled_back() -> None:
    harness = Clusters.of(TagList=APPROVE)
    decision = approved(harness)
    harness.reconcile()
    assert harness.steps(ORDERS) == ["act", "awaiting", "approved", "intended", "applied"]
    harness.later(minutes=15)
    harness.service.lands(IOOptimizedNextAllowedModificationTime=NOW + timedelta(days=30))
    harness.reconcile()
    asked = harness.ledger.request_rollback(
        decision.decision_id, at=harness.now, who="alice", reason="we measure"
    )
    assert isinstance(asked, Record), asked
    harness.later(minutes=1)
    back = harness.decided()
    assert isinstance(back.answer, Act), back.summary
    assert back.rollback_of == decision.decision_id
    assert "I/O-Optimized again only from 2026" in back.summary
    assert back.answer.plan.target == configuration_of(STANDARD)
    assert [c["StorageType"] for c in harness.service.changes] == ["aurora-iopt1", "aurora"]
    harness.later(minutes=15)
    harness.service.lands(StorageType="aurora")
    harness.reconcile()
    assert "rolled_back" in harness.steps(ORDERS)
    harness.later(hours=12)
    harness.reconcile()
    assert len(harness.service.changes) == 2  # whoever asked for it meant it


def test_a_wish_for_a_cluster_whose_decision_expired_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Clusters.of(TagList=APPROVE)
    decision = approved(harness)
    harness.reconcile()
    harness.later(minutes=15)
    harness.service.lands()
    harness.reconcile()
    harness.ledger.request_rollback(decision.decision_id, at=harness.now, who="alice", reason="")

    def expired(decision_id: str) -> Decision:
        raise LookupError(f"no decision {decision_id}")

    harness.later(minutes=1)
    monkeypatch.setattr(harness.ledger, "decision", expired)
    harness.reconcile()
    monkeypatch.undo()
    assert harness.ledger.resource_state(ORDERS, harness.now).rollback is None
    assert any("its decision is no longer on record" in text for _, _, text in harness.messages)


def test_an_approved_change_is_withdrawn_when_its_load_is_gone() -> None:
    harness = Clusters.of(TagList=APPROVE)
    approved(harness)
    harness.days.ios_a_day = list(QUIET)
    harness.reconcile()
    assert "withdrawn" in harness.steps(ORDERS)
    assert harness.service.changes == []


def test_a_change_that_somebody_reverted_is_not_repeated_at_once() -> None:
    harness = Clusters.of()
    harness.reconcile()
    harness.later(minutes=15)
    harness.service.lands()
    harness.reconcile()
    harness.later(days=2)
    harness.service.cluster["StorageType"] = "aurora"  # by hand, and AWS reports no gate
    for _ in range(11):
        harness.reconcile()
        harness.later(days=1)
    assert len(harness.service.changes) == 1
    assert [m.by for m in harness.ledger.resource_state(ORDERS, harness.now).modifications] == [
        "headroom", "other",
    ]  # fmt: skip


def test_a_mode_that_somebody_set_while_headroom_was_off_is_known_as_theirs() -> None:
    harness = Clusters.of()
    harness.reconcile()
    harness.later(minutes=15)
    harness.service.lands()
    harness.reconcile()
    harness.rules = policy(mode=Mode.OFF, tags_may=TagsMay.NARROW)
    harness.later(days=2)
    harness.service.cluster["StorageType"] = "aurora"
    for _ in range(20):
        harness.reconcile()
        harness.later(days=1)
    harness.rules = policy(mode=Mode.OBSERVE, tags_may=TagsMay.NARROW)
    harness.reconcile()
    latest = harness.ledger.resource_state(ORDERS, harness.now).earlier_modification
    assert latest is not None
    assert (latest.by, latest.target) == ("other", configuration_of(STANDARD))


def test_a_nightly_backup_does_not_block_every_attempt() -> None:
    harness = Clusters.of(Status="backing-up")
    harness.reconcile()
    due = harness.ledger.due(harness.now + timedelta(hours=2), 10)
    assert [one.ref.arn for one in due] == [ORDERS.arn]


def test_a_week_after_a_switch_its_bill_is_reported_with_the_forecast_once() -> None:
    harness = Clusters.of()
    first = harness.decided()
    harness.later(minutes=15)
    harness.service.lands(IOOptimizedNextAllowedModificationTime=NOW + timedelta(days=30))
    harness.reconcile()
    sent = len(harness.messages)
    for _ in range(12):
        harness.later(days=1)
        harness.reconcile()
    said = [text for _, step, text in harness.messages[sent:] if step is Step.DECIDED]
    assert len(said) == 1
    assert "7 whole days after the change to aurora-iopt1 the bill is $1,072" in said[0]
    checks = [
        d.cluster.check
        for d in decisions(harness)
        if d.cluster is not None and d.cluster.check is not None
    ]
    assert [c.switch.decision_id for c in checks] == [first.decision_id]
    assert abs(checks[0].deviation_percent) < 1


def decisions(harness: Clusters) -> list[Decision]:
    found = harness.ledger.by_resource(
        ORDERS.arn, since=NOW - timedelta(days=1), until=harness.now + timedelta(days=1)
    )
    return [harness.ledger.decision(r.decision_id) for r in found if r.step is Step.DECIDED]


def test_where_io_optimized_publishes_nothing_the_cluster_stays_and_its_owner_is_notified() -> None:
    harness = Clusters.of()
    harness.reconcile()
    harness.later(minutes=15)
    harness.service.lands(IOOptimizedNextAllowedModificationTime=NOW + timedelta(days=30))
    harness.reconcile()
    harness.days.ios_a_day = [None] * 16
    for _ in range(6):
        harness.later(days=1)
        harness.reconcile()
    last = decisions(harness)[0]
    assert last.answer.reason is Reason.NO_BILLED_IO
    assert isinstance(last.answer, Hold)
    assert last.cluster is not None
    kept_days = last.cluster.earlier_days
    assert len(kept_days) >= 14  # the days before the change, kept by ourselves
    assert {day.mode for day in kept_days} == {STANDARD}
    said = [text for _, _, text in harness.messages if "nothing is published" in text]
    assert len(said) == 1
    assert len(harness.service.changes) == 1


def test_it_returns_to_standard_only_on_days_under_io_optimized_once_that_is_allowed() -> None:
    for opens, acts in ((timedelta(days=-20), True), (timedelta(days=9), False)):
        harness = Clusters.of(
            ios=list(QUIET), StorageType="aurora-iopt1",
            IOOptimizedNextAllowedModificationTime=NOW + opens,
        )  # fmt: skip
        decision = harness.decided()
        assert decision.answer.reason is (Reason.CHEAPER if acts else Reason.BLOCKED_TEMPORARILY)
        assert [c["StorageType"] for c in harness.service.changes] == ["aurora"] * acts
        if isinstance(decision.answer, Hold):
            assert blocking(decision) == {Guardrail.MODE_REVERSIBLE}
            assert decision.answer.until == NOW + opens
    unknown = Clusters.of(ios=list(QUIET), StorageType="aurora-iopt1")  # since when is not known
    for _ in range(14):
        assert unknown.decided().answer.reason is Reason.NOT_ENOUGH_DATA
        unknown.later(days=1)
    assert unknown.service.changes == []
    for _ in range(16):  # AWS names no gate: it counts as shut for thirty days since it was seen
        assert unknown.service.changes == []
        unknown.reconcile()
        unknown.later(days=1)
    unknown.reconcile()
    assert [c["StorageType"] for c in unknown.service.changes] == ["aurora"]


def test_a_call_that_cloudtrail_reports_triggers_a_reconciliation_whatever_its_kind() -> None:
    harness = Clusters.of()
    asked_as = ResourceRef(
        kind=Kind.RDS, account_id=ACCOUNT, region=REGION, resource_id="cluster:orders"
    )
    signal = Signal(
        event_id="e-1", claim=Claim.MODIFICATION, ref=asked_as, alarm_name=None, claimed_at=NOW,
        muted=False, detail="ModifyDBCluster called",
    )  # fmt: skip
    (decision,) = remediate(harness.ports, signal, harness.now)
    assert decision.observation.volume.ref == ORDERS
    assert decision.trigger == "event"
    assert remediate(harness.ports, signal, harness.now) == ()  # its own change is under way
    assert len(harness.service.changes) == 1


def test_the_sweep_reconciles_a_cluster_once_a_day_and_reads_no_metrics_between() -> None:
    harness = Clusters.of(ios=list(QUIET))
    harness.days.asked = 0
    for _ in range(2 * 96):
        report = sweep(harness.ports, harness.now)
        assert report.errors == ()
        harness.later(minutes=15)
    assert 2 <= harness.days.asked <= 5


def test_a_deleted_cluster_releases_its_open_change() -> None:
    harness = Clusters.of()
    harness.reconcile()
    harness.service.gone = True
    harness.later(minutes=15)
    assert harness.reconcile() is None
    assert harness.steps(ORDERS)[-1] == "gone"
    assert harness.ledger.resource_state(ORDERS, harness.now).open_chain is None


def test_for_speed_it_costs_at_most_what_its_owner_allows_and_that_is_reserved() -> None:
    slow = {"commit_ms": 30.0}
    for allowed, acts in ((20, False), (400, True)):
        harness = Clusters.of(ios=list(QUIET))
        harness.days.kept = dict(slow)
        harness.rules = replace(
            policy(),
            rules=(
                Rule(
                    selector=Selector(kind=Kind.AURORA),
                    settings=(
                        ("mode", Mode.AUTO), ("aurora_goal", Goal.PERFORMANCE),
                        ("price_increase_usd", Decimal(allowed)),
                    ),
                ),
            ),
        )  # fmt: skip
        decision = harness.decided()
        assert isinstance(decision.answer, Act) is acts, decision.summary
        own = harness.ledger.resource_state(ORDERS, harness.now).resource_increase_usd
        if isinstance(decision.answer, Act):
            assert decision.answer.reason is Reason.SLOW_COMMITS
            assert own == decision.answer.plan.price_change_usd > 0
        else:
            assert own == 0


def test_a_decision_about_a_cluster_reads_back_as_it_was_written() -> None:
    for ios in (BUSY, QUIET, [None] * 16):
        decision = Clusters.of(ios=list(ios)).decided()
        again = decision_from_json(decision_to_json(decision))
        assert again == decision


def test_a_change_between_the_record_and_the_call_is_noticed_before_the_call() -> None:
    for change, words in (
        ({"PendingModifiedValues": {"EngineVersion": "16.6"}}, "left pending too: EngineVersion"),
        ({"Status": "backing-up"}, "backing-up"),
        ({"TagList": [{"Key": "headroom", "Value": "off"}]}, "its tags changed"),
    ):
        harness = Clusters.of()
        remembered = harness.aurora.memory

        def spy(
            *asked: Any, harness: Clusters = harness, change: dict[str, Any] = change,
            remembered: Any = remembered,
        ) -> Any:  # fmt: skip
            after = remembered(*asked)
            if after is not None and after.last_request is not None:
                harness.service.cluster.update(change)
            return after

        harness.aurora.memory = spy  # type: ignore[method-assign, assignment]
        harness.decided()
        assert harness.service.changes == []
        assert harness.steps(ORDERS)[-1] in ("refused", "stale")
        assert any(words in r.summary for r in harness.ledger.by_resource(
            ORDERS.arn, since=NOW - timedelta(days=1), until=NOW + timedelta(days=1)
        ))  # fmt: skip


def test_another_cluster_under_an_old_name_begins_anew() -> None:
    harness = Clusters.of()
    harness.decided()
    harness.service.lands(DbClusterResourceId="cluster-NEW", StorageType="aurora")
    harness.later(minutes=11)
    before = harness.ledger.resource_state(ORDERS, harness.now)
    assert before.enrolment_usd is not None
    harness.days.ios_a_day = list(QUIET)
    harness.reconcile()
    assert harness.steps(ORDERS)[:4] == ["act", "intended", "applied", "gone"]
    after = harness.ledger.resource_state(ORDERS, harness.now)
    assert after.enrolment_usd != before.enrolment_usd
    assert after.modifications == ()


@pytest.mark.parametrize("names", [(), ("orders-1", "orders-2")])
def test_a_cluster_without_a_writer_is_escalated_once_and_not_changed(
    names: tuple[str, ...],
) -> None:
    # Without members its days are of another time, and what is replicated to a secondary of a
    # Global Database is billed alike in both modes.
    members = [{"DBInstanceIdentifier": name, "IsClusterWriter": False} for name in names]
    harness = Clusters.of(DBClusterMembers=members)
    if not names:
        harness.service.members = []
    decision = harness.decided()
    assert Guardrail.DATABASE_STATE in blocking(decision), decision.summary
    assert isinstance(decision.answer, Escalate)
    harness.later(hours=25)
    harness.reconcile()
    assert len(harness.messages) == 1
    seen = harness.aurora.apply(
        ORDERS, expected=configuration_of(STANDARD), seen=None,
        target=configuration_of(IO_OPTIMIZED),
    )  # fmt: skip
    assert isinstance(seen, Refused)
    assert harness.service.changes == []
