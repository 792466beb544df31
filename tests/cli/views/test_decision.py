from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from headroom.cli.views import decision as decision_view
from headroom.cli.views import section as section_view
from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import decide, recorded
from headroom.domain.policy import Mode, PolicyUnreadable
from headroom.domain.state import Step
from tests.builders import NOW, activity, decision_input, observation, policy, starved_gp3, volume
from tests.cli.sources.chains import acted, chain


def test_a_row_says_what_was_seen_considered_and_done() -> None:
    row = section_view.row(decision_view.decision_story(acted()))
    assert row.kind == "act"
    assert row.observed.startswith("3,000 IOPS needed (served 3,000, held back by a limit)")
    assert "Binding: the volume's IOPS." in row.observed
    assert row.considered[0].startswith(
        "gp3 100 GiB 12000 IOPS 207 MiB/s: $56.28 a month (+$48.28), value +$"
    )
    assert row.considered[0].endswith(" a day; allowed; chosen")
    assert row.change == "gp3 100 GiB 3000 IOPS 125 MiB/s -> gp3 100 GiB 12000 IOPS 207 MiB/s"
    assert row.price_change == "+$48.28"
    assert row.result == "relieved 2026-01-05 12:25Z: No pressure for 10 minutes."


def test_plans_are_compared_with_the_need_that_was_observed() -> None:
    load = activity(
        [1500.0] * 150 + [3000.0] * 30, queue=[1.0] * 150 + [1024.0] * 30,
        iops_check=[0.0] * 150 + [1.0] * 30,
    )  # fmt: skip
    made = recorded(decide(decision_input(observation(load))))
    assert decision_view.observed(made).startswith("5,400 IOPS needed")
    lines = {plan.target: line for plan, line in zip(
        made.considered, decision_view.considered(made), strict=True,
    )}  # fmt: skip
    assert not all(plan.meets_need for plan in made.considered)
    for target, line in lines.items():
        short = capability(target).sustained_iops < 5400
        assert (", below the 5,400 IOPS needed; " in line) == short
        assert "does not meet the need" not in line
    assert {"below" in line for line in lines.values()} == {True, False}


def test_without_a_chosen_plan_the_nearest_says_what_blocks_it() -> None:
    made = decision_input()
    unread = recorded(decide(replace(made, policy=PolicyUnreadable(reason="line 3"))))
    assert unread.plan is None
    said = decision_view.guardrails(unread)
    assert said[0].startswith("gp3 100 GiB 12000 IOPS 207 MiB/s: blocked by policy, mode; ")
    assert said[1].startswith("policy: ")


def test_every_guardrail_speaks_and_those_that_block_speak_first() -> None:
    watched = decide(
        decision_input(starved_gp3(vol=volume(tags=())), rules=policy(mode=Mode.OBSERVE))
    )
    said = decision_view.guardrails(watched)
    every = len(watched.judgements[0].verdicts)
    assert said[0] == f"blocked by mode; {every - 1} of {every} allow"
    assert said[1] == "mode: observe is none of auto, approve (from defaults)"
    assert len(said) == 1 + every


def test_a_verdict_is_displayed_with_its_numbers() -> None:
    said = decision_view.guardrails(decision_view.decision_story(acted()).decision)
    assert "max_iops: 12,000 is at most 16,000 IOPS" in said
    assert "price_per_resource: 48.28 is at most 250.00 USD/month" in said


def test_a_hold_says_what_it_would_have_taken_and_changes_nothing() -> None:
    watched = decide(
        decision_input(starved_gp3(vol=volume(tags=())), rules=policy(mode=Mode.OBSERVE))
    )
    row = section_view.row(decision_view.decision_story(chain(watched)))
    assert row.change.startswith("none (would be gp3 100 GiB 3000 IOPS 125 MiB/s -> ")
    assert row.price_change == "(+$48.28)"


def test_marks_are_the_decision_and_what_came_of_it() -> None:
    story = decision_view.decision_story(acted())
    marks = section_view.marks(story)
    assert [mark.label for mark in marks] == ["Act", "applied", "relieved"]
    assert marks[-1].at == NOW + timedelta(minutes=25)
    assert decision_view.ended_at(story, Step.RELIEVED) == marks[-1].at
    assert decision_view.ended_at(story, Step.REFUSED) is None
