"""The day in words: short, whole, and with the command for what is left out."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from headroom.adapters.notifications.digest import LISTED, digest_message
from headroom.adapters.notifications.slack import blocks
from headroom.adapters.notifications.text import LONGEST, subject, text_of_message
from headroom.adapters.notifications.topic import LARGEST, envelope
from headroom.cli.terminal.names import named
from headroom.domain.reports import (
    BlockedSaving,
    Change,
    DailyDigest,
    ObservedChange,
    PendingApproval,
    RecordCount,
)
from headroom.domain.resources import Configuration, VolumeType
from headroom.domain.state import INDEFINITE, Breaker, Pause, RecordSummary, Step
from tests.builders import ACCOUNT, NOW, REGION, gp3

NOTHING = DailyDigest(account_id=ACCOUNT, region=REGION, since=NOW - timedelta(days=1), until=NOW)
GP2 = Configuration(volume_type=VolumeType.GP2, size_gib=100, iops=None, throughput_mibps=None)
SPAN = "--since 2026-01-04T12:00:00Z --until 2026-01-05T12:00:00Z --region us-east-1"


def change(number: int, ended: Step | None = Step.RELIEVED) -> Change:
    return Change(
        decision_id=f"{number:020x}", resource=f"vol-{number}", origin=gp3(),
        target=gp3(iops=6000), price_change_usd=Decimal("15"), ended=ended,
    )  # fmt: skip


def record_summary(number: int, step: Step, summary: str) -> RecordSummary:
    return RecordSummary(
        decision_id=f"{number:020x}", sequence=2, step=step, at=NOW, outcome=step.value,
        resource=f"arn:aws:ec2:{REGION}:{ACCOUNT}:volume/vol-{number}", summary=summary,
    )  # fmt: skip


def counted(
    count: int, step: Step, summary: str = "so it is", *, more: bool = False
) -> RecordCount:
    newest = tuple(record_summary(number, step, summary) for number in range(min(count, 100)))
    return RecordCount(newest=newest, count=count, more=more)


BUSY = replace(
    NOTHING,
    changes=(change(1), change(2, Step.INEFFECTIVE), change(3, None)),
    changed=counted(3, Step.APPLIED),
    ended=(("ineffective", 1), ("relieved", 1)),
    unsuccessful=counted(1, Step.INEFFECTIVE, "the change landed but did not help: its instance"),
    escalated=counted(1, Step.DECIDED, "vol-0: blocked for good: max_iops"),
    observed=(
        ObservedChange(kind="gp2 to gp3", volumes=12, price_change_usd=Decimal("-84.20")),
        ObservedChange(kind="gp3 raised", volumes=1, price_change_usd=Decimal("18")),
    ),
    blocked_savings=(
        BlockedSaving(guardrails=("mode",), volumes=12, saving_usd=Decimal("84.20")),
        BlockedSaving(guardrails=("types", "change_window"), volumes=1, saving_usd=Decimal(20)),
    ),
    observed_read=13,
    held=13,
    awaiting=(PendingApproval(decision_id="ab" * 10, summary="vol-9: 3000 IOPS served at a limit",
                      expires=NOW + timedelta(hours=3), change=change(9, None)),),
    awaiting_count=1,
    queued=4,
    pause=Pause(until=INDEFINITE, since=NOW, who="arn:aws:iam::1:user/ann", reason="migration"),
    breakers=(Breaker(resource=f"arn:aws:ec2:{REGION}:{ACCOUNT}:volume/vol-5", opened_at=NOW,
                      failures=5, why="AWS refused (UnauthorizedOperation): no"),),
    increase_usd=Decimal("45"),
    limit_usd=Decimal("2000"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("arn", "name"),
    [
        (f"arn:aws:rds:{REGION}:{ACCOUNT}:db:orders", "db:orders"),
        (f"arn:aws:rds:{REGION}:{ACCOUNT}:db:orders/rdsdbdata2", "db:orders/rdsdbdata2"),
        (f"arn:aws:rds:{REGION}:{ACCOUNT}:cluster:orders", "cluster:orders"),
    ],
)
def test_the_command_that_closes_a_breaker_names_the_storage(arn: str, name: str) -> None:
    breaker = Breaker(resource=arn, opened_at=NOW, failures=5, why="AWS refused")
    text = text_of_message(digest_message(replace(BUSY, breakers=(breaker,))))
    assert f"headroom breaker close {name} --region us-east-1" in text
    assert named(name, account_id=ACCOUNT, region=REGION).arn == arn


def test_a_busy_day_says_everything_in_the_order_of_what_needs_somebody() -> None:
    message = digest_message(BUSY)
    text = text_of_message(message)
    assert subject(message) == (
        "Headroom: daily digest of us-east-1: 3 changes, 1 went wrong, 2 need you, something is stopped"
    )
    titles = [section.title for section in message.sections]
    assert titles == [
        "Stopped until you act", "Waits for your approval", "Needs you",
        "Went wrong", "Changed", "Would change if the mode allowed it",
        "Savings that your limits block",
    ]  # fmt: skip
    for said in (
        "Changes: 3 changes; 1 did not help; 1 helped",
        "Increases in force: 45.00 USD a month, 2,000.00 USD allowed",
        "Waiting in the queue: 4",
        "paused without end by arn:aws:iam::1:user/ann: migration; headroom resume",
        "headroom breaker close vol-5 --region us-east-1",
        f"until 2026-01-05 15:00 UTC; headroom approve {'ab' * 10} --region us-east-1",
        "vol-1: gp3 100 GiB 3000 IOPS 125 MiB/s -> gp3 100 GiB 6000 IOPS 125 MiB/s, "
        "+15.00 USD a month, helped (00000000000000000001)",
        "not verified yet",
        "12 volumes gp2 to gp3, -84.20 USD a month together",
        "mode: 84.20 USD a month, 12 volumes",
        "types and change_window: 20.00 USD a month, 1 volume",
        f"All of it: headroom audit {SPAN}",
    ):
        assert said in text, said


def test_a_cluster_and_a_database_are_called_so() -> None:
    day = replace(
        BUSY, held=9, observed_read=2,
        observed=(ObservedChange(kind="aurora to aurora-iopt1", volumes=1, price_change_usd=Decimal(-9),
                                 noun="cluster"),
                  ObservedChange(kind="gp3 raised", volumes=2, price_change_usd=Decimal(9), noun="database")),
        blocked_savings=(BlockedSaving(guardrails=("mode",), volumes=1, saving_usd=Decimal(9),
                                       noun="cluster"),),
    )  # fmt: skip
    text = text_of_message(digest_message(day))
    for said in (
        "1 cluster aurora to aurora-iopt1, -9.00 USD a month together",
        "2 databases gp3 raised, +9.00 USD a month together",
        "mode: 9.00 USD a month, 1 cluster",
        "this is the newest 2 of 9 resources: headroom audit",
    ):
        assert said in text, said


def test_what_is_left_out_is_counted_with_the_command_that_lists_it() -> None:
    day = replace(
        NOTHING, changes=tuple(change(n) for n in range(100)),
        changed=counted(5_000, Step.APPLIED, more=True), unsuccessful=counted(12, Step.REFUSED),
        observed=BUSY.observed, observed_read=100, held=5_000, held_more=True,
    )  # fmt: skip
    text = text_of_message(digest_message(day))
    assert f"and at least 4,990 more: headroom audit --outcome applied {SPAN}" in text
    assert f"and 2 more: headroom audit {SPAN}" in text
    assert (
        "this is the newest 100 of at least 5,000 resources: headroom audit --outcome hold" in text
    )


def test_the_largest_day_fits_every_limit_and_nobody_loses_the_blocks() -> None:
    long = "é<&>" * 600
    many = tuple(
        Breaker(resource=f"arn:aws:ec2:{REGION}:{ACCOUNT}:volume/vol-{n}", opened_at=NOW,
                failures=5, why=long)
        for n in range(100_000)
    )  # fmt: skip
    day = replace(
        BUSY, changes=tuple(change(n) for n in range(100)),
        changed=counted(100_000, Step.APPLIED, long), unsuccessful=counted(100_000, Step.FAILED, long),
        escalated=counted(100_000, Step.DECIDED, long), breakers=many,
        awaiting=tuple(PendingApproval(decision_id="ab" * 10, summary=long, expires=NOW)
                       for _ in range(LISTED)),
        awaiting_count=100_000, policy_unreadable=long,
        observed=tuple(ObservedChange(kind=f"{n} to gp3", volumes=9, price_change_usd=Decimal(1))
                       for n in range(20)),
    )  # fmt: skip
    message = digest_message(replace(day, breakers=many[:2_000]))
    text = text_of_message(message)
    assert len(text) < LONGEST
    assert text.splitlines()[-1].startswith("All of it: headroom audit")
    assert len(blocks(message)) <= 50
    whole = envelope(message)
    assert len(whole.encode()) <= LARGEST
    assert "https" in json.loads(whole)
    assert "and 1,990 more: headroom breaker list --region us-east-1" in text


def test_whatever_aws_and_people_wrote_each_line_ends_in_its_whole_command() -> None:
    long = "You are not authorized to perform this operation. " * 20
    who = "arn:aws:sts::123456789012:assumed-role/" + "r" * 64 + "/" + "s" * 64
    account = Breaker(resource=f"account#{ACCOUNT}#{REGION}", opened_at=NOW, failures=10, why=long)
    volume = replace(account, resource=f"arn:aws:ec2:{REGION}:{ACCOUNT}:volume/vol-5")
    day = replace(
        NOTHING, account_breaker=account, breakers=(volume,),
        pause=Pause(until=INDEFINITE, since=NOW, who=who, reason=long),
        awaiting=(PendingApproval(decision_id="ab" * 10, summary=long, change=change(9, None),
                                  expires=NOW + timedelta(hours=3)),),
        awaiting_count=1,
    )  # fmt: skip
    lines = text_of_message(digest_message(day)).splitlines()
    for end in (
        "headroom resume --region us-east-1",
        "headroom breaker close --account --region us-east-1",
        "headroom breaker close vol-5 --region us-east-1",
    ):
        assert any(line.endswith(f"; {end}") for line in lines), end
    assert (
        "- vol-9: gp3 100 GiB 3000 IOPS 125 MiB/s -> gp3 100 GiB 6000 IOPS 125 MiB/s, +15.00 USD a "
        f"month, until 2026-01-05 15:00 UTC; headroom approve {'ab' * 10} --region us-east-1"
    ) in lines


def test_results_are_counted_in_words() -> None:
    day = replace(
        NOTHING, changed=counted(5, Step.APPLIED),
        ended=(("failed", 1), ("gone", 1), ("relieved", 3)), ended_earlier=(("untested", 2),),
    )  # fmt: skip
    assert (
        "Changes: 5 changes; 1 that AWS failed to make; 1 whose storage is gone; 3 helped; "
        "of earlier changes: 2 untested so far"
    ) in text_of_message(digest_message(day))


def test_a_policy_nobody_can_read_comes_first() -> None:
    day = replace(NOTHING, policy_unreadable="SSM parameter /headroom/policy is not JSON.")
    text = text_of_message(digest_message(day))
    assert "nothing is changed: SSM parameter /headroom/policy is not JSON." in text
    assert "no limit can be read" in text
