from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import (
    Act,
    Diverged,
    FailedAtAws,
    Ineffective,
    Pending,
    Relieved,
    Untested,
    assess,
    decide,
)
from headroom.domain.planning import Plan
from headroom.domain.resources import Deployment, Modification, ModificationState, Observation
from tests.builders import (
    NOW,
    activity,
    decision_input,
    gp3,
    instance,
    instance_activity,
    modification,
    observation,
    series,
    volume,
)
from tests.domain.databases import database, rds

APPLIED = NOW - timedelta(hours=2)


def plan() -> Plan:
    answer = decide(decision_input()).answer
    assert isinstance(answer, Act)
    return answer.plan


TARGET = plan().target
LIMIT = float(TARGET.iops or 0)


def change(state: ModificationState = ModificationState.COMPLETED) -> Modification:
    return modification(TARGET, state=state, started_at=APPLIED)


def seen(
    iops: float = 4000.0, check: float = 0.0, minutes: int = 110, **changes: object
) -> Observation:
    load = activity([iops] * minutes, iops_check=check, queue=5.0)
    base: dict[str, object] = {"modification": change(), **changes}
    return observation(load, volume(TARGET), **base)


def test_relief_needs_measured_minutes_without_pressure() -> None:
    assert isinstance(assess(seen(), plan(), APPLIED), Relieved)


def test_silence_is_not_relief() -> None:
    quiet = observation(activity([None] * 110), volume(TARGET), modification=change())
    assert isinstance(assess(quiet, plan(), APPLIED), Pending)


@pytest.mark.parametrize(
    ("pressed", "expected", "measured"),
    [
        (0, Untested, "nothing was measured in the last 2 h"),
        (3, Untested, "3 of 3 measured minutes of the last 2 h were at a limit"),
        (9, Untested, "9 of 9 measured minutes"),
        (10, Ineffective, "optimizing, 0 clear minutes so far"),
    ],
)
def test_after_the_timeout_only_measured_pressure_makes_a_change_ineffective(
    pressed: int, expected: type, measured: str
) -> None:
    """An instance that was stopped soon after a raise says nothing about the raise."""
    long_ago = NOW - timedelta(hours=31)
    load = activity([LIMIT] * pressed + [None] * (110 - pressed), iops_check=1.0, queue=5.0)
    optimizing = modification(TARGET, started_at=long_ago, state=ModificationState.OPTIMIZING)
    assessed = assess(observation(load, volume(TARGET), modification=optimizing), plan(), long_ago)
    assert isinstance(assessed, expected)
    text = assessed.cause if isinstance(assessed, Ineffective) else assessed.detail  # type: ignore[attr-defined]
    assert text.startswith("no proof of relief in 30 h")
    assert measured in text


def test_a_load_that_uses_up_the_new_limit_too_is_reported_as_such() -> None:
    assessed = assess(
        seen(LIMIT, check=1.0, instance=instance(baseline_iops=40_000)), plan(), APPLIED
    )
    assert isinstance(assessed, Ineffective)
    assert "natural demand" in assessed.cause


@pytest.mark.parametrize(
    ("clear", "verdict"), [(0, Ineffective), (1, Pending), (3, Pending), (5, Relieved)]
)
def test_a_backlog_that_fills_the_new_limit_while_it_drains_is_no_proof_against_the_change(
    clear: int, verdict: type
) -> None:
    """Twenty minutes at the new limit before AWS completed it, a minute ago, then `clear` calm ones."""
    applied = NOW - timedelta(minutes=30 + clear)
    load = activity(
        [300.0] * 60 + [3_000.0] * 10 + [LIMIT] * 20 + [3_500.0] * clear, queue=5.0,
        iops_check=[0.0] * 60 + [1.0] * 30 + [0.0] * clear,
    )  # fmt: skip
    done = replace(modification(TARGET, started_at=applied), ended_at=NOW - timedelta(minutes=1))
    found = observation(
        load, volume(TARGET), modification=done, instance=instance(baseline_iops=40_000)
    )
    assert isinstance(assess(found, plan(), applied), verdict)


def test_pressure_that_ended_long_before_aws_was_done_is_no_proof_against_the_change() -> None:
    """Forty minutes at the new limit, an hour of rest, and AWS completes it; as at RDS, without checks."""
    applied = NOW - timedelta(minutes=102)
    busy, rest = [LIMIT] * 40, [300.0] * 60
    load = activity(busy + rest, queue=[900.0] * 40 + [1.0] * 60, iops_check=None, mibps_check=None)
    done = replace(modification(TARGET, started_at=applied), ended_at=NOW)
    found = observation(
        load, volume(TARGET), modification=done, instance=instance(baseline_iops=40_000)
    )
    assert isinstance(assess(found, plan(), applied), Pending)
    lasts = activity([LIMIT] * 100, queue=900.0, iops_check=None, mibps_check=None)
    assert isinstance(assess(replace(found, activity=lasts), plan(), applied), Ineffective)


def test_an_instance_that_turns_out_to_be_the_limit_is_named() -> None:
    assessed = assess(
        seen(3900.0, check=1.0, instance=instance(baseline_iops=4000)), plan(), APPLIED
    )
    assert isinstance(assessed, Ineffective)
    assert assessed.cause.startswith("the instance is the limit")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"modification": change(ModificationState.FAILED)}, FailedAtAws),
        ({"volume": volume(gp3()), "modification": modification(gp3(), started_at=NOW)}, Diverged),
        ({"volume": volume(gp3()), "modification": None}, Diverged),
        ({"volume": volume(gp3(100, 16_000, 1000))}, Diverged),
        ({"modification": change(ModificationState.MODIFYING)}, Pending),
    ],
)
def test_what_aws_shows_comes_before_what_metrics_say(
    changes: dict[str, object], expected: type
) -> None:
    assert isinstance(assess(replace(seen(), **changes), plan(), APPLIED), expected)  # type: ignore[arg-type]


def test_pressure_while_aws_still_optimizes_is_no_verdict_yet() -> None:
    busy = seen(3000.0, check=1.0, modification=change(ModificationState.OPTIMIZING))
    assessed = assess(busy, plan(), APPLIED)
    assert isinstance(assessed, Pending)
    assert assessed.next_reconcile_at > NOW


def test_a_modification_aws_no_longer_lists_is_judged_by_the_pressure_alone() -> None:
    assert isinstance(assess(seen(modification=None), plan(), APPLIED), Relieved)


def test_a_volume_still_described_as_it_was_while_modifying_has_not_diverged() -> None:
    modifying = change(ModificationState.MODIFYING)
    assessed = assess(replace(seen(modification=modifying), volume=volume(gp3())), plan(), APPLIED)
    assert isinstance(assessed, Pending)


@pytest.mark.parametrize("state", [ModificationState.OPTIMIZING, ModificationState.COMPLETED])
def test_a_describe_that_is_older_than_the_list_of_modifications_blames_nobody(
    state: ModificationState,
) -> None:
    stale = replace(seen(modification=change(state)), volume=volume(gp3()))
    assert isinstance(assess(stale, plan(), APPLIED), Pending)


@pytest.mark.parametrize(
    ("iops", "expected"),
    [(0.0, Untested), (500.0, Untested), (2_000.0, Untested), (2_950.0, Relieved)],
)
def test_without_a_load_that_used_to_press_a_change_is_untested_and_not_relieved(
    iops: float, expected: type
) -> None:
    optimizing = change(ModificationState.OPTIMIZING)
    before = assess(seen(iops, modification=optimizing), plan(), APPLIED)
    assert isinstance(before, Pending if expected is Untested else Relieved)
    assert isinstance(assess(seen(iops), plan(), APPLIED), expected)


def test_the_load_that_pressed_before_the_change_proves_relief_below_the_old_limit() -> None:
    """Bursts inside the minute at a mean of 1,500; after the change 1,300 run free, or 900 do."""
    for iops, expected in ((1_300.0, Relieved), (900.0, Untested)):
        load = activity(
            [1_500.0] * 60 + [iops] * 110, iops_check=[1.0] * 60 + [0.0] * 110, queue=5.0
        )
        after = observation(load, volume(TARGET), modification=change())
        assert isinstance(assess(after, plan(), NOW - timedelta(minutes=110)), expected)


@pytest.mark.parametrize(("served", "expected"), [(3000.0, Pending), (3400.0, Relieved)])
def test_before_completion_an_unchecked_volume_must_serve_more_than_the_old_limit(
    served: float, expected: type
) -> None:
    load = activity([served] * 110, iops_check=None, mibps_check=None, queue=5.0)
    optimizing = change(ModificationState.OPTIMIZING)
    unchecked = observation(load, volume(TARGET), modification=optimizing)
    assert isinstance(assess(unchecked, plan(), APPLIED), expected)


def test_before_completion_an_unchecked_volume_with_waiting_operations_is_not_relieved() -> None:
    """3,400 of the new limit are served, but 900 operations wait a quarter of a second each."""
    load = activity(
        [3_400.0] * 110, iops_check=None, mibps_check=None, queue=900.0, latency_ms=265.0
    )
    optimizing = change(ModificationState.OPTIMIZING)
    waiting = observation(load, volume(TARGET), modification=optimizing)
    assert isinstance(assess(waiting, plan(), APPLIED), Pending)


def test_a_change_that_never_leaves_modifying_is_given_up_after_a_day() -> None:
    long_ago = NOW - timedelta(hours=31)
    stuck = modification(TARGET, state=ModificationState.MODIFYING, started_at=long_ago)
    assert assess(seen(modification=stuck), plan(), long_ago) == Untested(
        detail="no proof of relief in 30 h: the change has not landed"
    )


def test_only_the_side_that_pressed_is_what_proves_relief() -> None:
    """Held back by 125 MiB/s at 500 IOPS before; 450 small operations a second since prove nothing."""
    origin, target = gp3(400), gp3(400, 3_000, 250)
    before = activity([500.0] * 60, io_kib=256, mibps_check=1, queue=50.0)
    after = activity([450.0] * 120, io_kib=4)
    joined = replace(
        after,
        **{
            name: replace(
                getattr(after, name),
                start=getattr(after, name).start - timedelta(minutes=60),
                values=getattr(before, name).values + getattr(after, name).values,
            )
            for name in (
                "read_iops", "write_iops", "read_mibps", "write_mibps", "queue_length",
                "latency_ms", "burst_balance_percent", "iops_exceeded", "throughput_exceeded",
            )
        },
    )  # fmt: skip
    done = modification(
        target, origin=origin, state=ModificationState.COMPLETED, started_at=APPLIED
    )
    found = observation(joined, volume(target), modification=done)
    made = replace(plan(), origin=origin, target=target, capability=capability(target))
    assert isinstance(assess(found, made, APPLIED), Untested)


def beside(
    iops: float, *, at_limit: int, others: float = 0.0, minutes: int = 110
) -> dict[str, object]:
    """An instance whose own check was 1 in the newest minutes, with another volume on it."""
    total = [iops + others] * minutes
    activity_of = instance_activity(total, [0.0] * minutes)
    checks = series([0.0] * (minutes - at_limit) + [1.0] * at_limit)
    return {
        "instance": instance(baseline_iops=round(iops + others), volumes=("vol-2",)),
        "instance_activity": replace(activity_of, iops_exceeded=checks),
    }


@pytest.mark.parametrize(
    ("state", "at_limit", "expected"),
    [
        (ModificationState.COMPLETED, 0, Relieved), (ModificationState.COMPLETED, 1, Relieved),
        (ModificationState.COMPLETED, 2, Pending), (ModificationState.COMPLETED, 9, Pending),
        (ModificationState.COMPLETED, 10, Ineffective), (ModificationState.COMPLETED, 110, Ineffective),
        (ModificationState.OPTIMIZING, 0, Relieved), (ModificationState.OPTIMIZING, 2, Pending),
        (ModificationState.OPTIMIZING, 110, Pending),
    ],
)  # fmt: skip
def test_nobody_is_relieved_by_a_volume_while_its_instance_is_the_limit(
    state: ModificationState, at_limit: int, expected: type
) -> None:
    """The volume takes more than an even share of what its instance gives."""
    held = seen(4_000.0, modification=change(state), **beside(4_000.0, at_limit=at_limit))
    assessed = assess(held, plan(), APPLIED)
    assert isinstance(assessed, expected)
    if isinstance(assessed, Ineffective):
        assert assessed.cause == (
            "the instance is the limit: its own Exceeded check was 1 in "
            f"{at_limit} of 110 minutes in which the volume's was not"
        )


@pytest.mark.parametrize(
    ("queue", "latency_ms", "expected"),
    [(5.0, 1.0, Relieved), (400.0, 100.0, Ineffective), (None, None, Relieved)],
    ids=["flows", "waits", "nobody knows"],
)
def test_what_others_of_its_instance_do_is_no_fault_of_a_volume_whose_operations_flow(
    queue: float | None, latency_ms: float | None, expected: type
) -> None:
    load = activity([4_000.0] * 110, iops_check=0.0, queue=queue, latency_ms=latency_ms)
    busy = beside(4_000.0, at_limit=110, others=20_000.0)
    found = observation(load, volume(TARGET), modification=change(), **busy)
    assert isinstance(assess(found, plan(), APPLIED), expected)


def test_load_that_the_instance_held_back_is_no_proof_of_relief_once_it_is_gone() -> None:
    """Held back for eight minutes, then calm."""
    load = activity([300.0] * 60 + [4_000.0] * 8 + [300.0] * 42, iops_check=0.0, queue=5.0)
    around = beside(4_000.0, at_limit=0)
    checks = series([0.0] * 60 + [1.0] * 8 + [0.0] * 42)
    around["instance_activity"] = replace(
        instance_activity([4_000.0] * 110, [0.0] * 110), iops_exceeded=checks
    )
    assessed = assess(
        observation(load, volume(TARGET), modification=change(), **around), plan(), APPLIED
    )
    assert isinstance(assessed, Untested)
    assert assessed.detail.endswith(", except while the instance was the limit")
    assert "at up to 300 IOPS" in assessed.detail


@pytest.mark.parametrize(
    ("state", "later"),
    [(ModificationState.OPTIMIZING, " once AWS is done"), (ModificationState.COMPLETED, "")],
)
def test_relief_names_the_limit_that_was_bought_and_not_a_guess(
    state: ModificationState, later: str
) -> None:
    """While AWS optimizes, what was served is all that is known of the limit in force."""
    assessed = assess(seen(3_500.0, modification=change(state)), plan(), APPLIED)
    assert isinstance(assessed, Relieved)
    assert assessed.detail == (
        "110 measured minutes without pressure at up to 3500 IOPS and 54.7 MiB/s "
        f"(limit {TARGET.iops} and {TARGET.throughput_mibps}{later})"
    )


@pytest.mark.parametrize(
    ("origin", "state"),
    [
        ("before", ModificationState.OPTIMIZING), ("before", ModificationState.COMPLETED),
        ("made", ModificationState.MODIFYING), ("made", ModificationState.FAILED),
    ],
)  # fmt: skip
def test_a_deployment_that_was_changed_meanwhile_is_no_other_storage(
    origin: str, state: ModificationState
) -> None:
    """RDS shows the change of the storage to the end, or one of the deployment alone."""
    made, multi_az = rds(size=500, iops=20_000, mibps=500), database(deployment=Deployment.MULTI_AZ)
    before = replace(made, iops=12_000)
    now = replace(made, database=multi_az)
    raised = replace(plan(), origin=before, target=made, capability=capability(made))
    shown = modification(
        now, origin=before if origin == "before" else made, state=state, started_at=APPLIED
    )
    load = activity([13_000.0] * 110, iops_check=0.0, queue=5.0)
    found = observation(load, volume(now), modification=shown)
    assert isinstance(assess(found, raised, APPLIED), Relieved)
    other = replace(found, volume=volume(replace(now, iops=16_000)))
    assert isinstance(assess(other, raised, APPLIED), Diverged)
