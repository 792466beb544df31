"""What the owner's limits cost: savings that nothing else blocks, once for each resource."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from headroom.domain.decision import Act, Decision, Hold, Reason, decide
from headroom.domain.policy import Mode, parse_window
from headroom.domain.reports.daily_digest import blocked_savings, group_observed
from headroom.domain.resources import Configuration, Kind
from tests.builders import activity, decision_input, gp3, observation, policy, starved_gp3, volume
from tests.domain.earlier import history


def idle(configuration: Configuration, *, days: float = 14, **limits: object) -> Decision:
    """A volume that uses 300 IOPS, in mode auto unless given otherwise."""
    earlier = history(lambda _: 300.0, days=days) if days else None
    seen = observation(activity([300.0] * 180), volume(configuration, tags=()), history=earlier)
    rules = policy(**{"mode": Mode.AUTO, **limits})
    return decide(decision_input(seen, rules=rules))


DEAR = gp3(400, 12_000, 500)
CLOSED = (parse_window("Sat,Sun 00:00-24:00 UTC"),)


@pytest.mark.parametrize(
    ("limits", "guardrails"),
    [
        ({"mode": Mode.OBSERVE}, ("mode",)),
        ({"change_windows": CLOSED}, ("change_window",)),
        ({"give_back": False}, ("give_back",)),
        ({"mode": Mode.OBSERVE, "give_back": False}, ("mode", "give_back")),
    ],
)
def test_a_saving_is_counted_by_the_limits_that_block_it(
    limits: dict[str, object], guardrails: tuple[str, ...]
) -> None:
    decision = idle(DEAR, **limits)
    assert isinstance(decision.answer, Hold)
    (one,) = blocked_savings([decision])
    assert one.guardrails == guardrails
    assert one.volumes == 1
    assert one.saving_usd > 0
    (two,) = blocked_savings([decision, decision])
    assert (two.volumes, two.saving_usd) == (2, 2 * one.saving_usd)


def test_what_is_done_or_waits_for_something_else_is_no_saving_that_a_limit_blocks() -> None:
    done = idle(DEAR)
    assert isinstance(done.answer, Act)
    too_new = idle(DEAR, days=0, mode=Mode.OBSERVE)  # also too little of the load is known
    cheapest = idle(gp3(400, 3_000, 125), mode=Mode.OBSERVE)
    assert blocked_savings([done, too_new, cheapest]) == ()


def test_the_dearest_comes_first() -> None:
    found = blocked_savings([idle(DEAR, mode=Mode.OBSERVE), idle(DEAR, give_back=False),
                             idle(DEAR, give_back=False)])  # fmt: skip
    assert [one.guardrails for one in found] == [("give_back",), ("mode",)]
    assert found[0].saving_usd == found[1].saving_usd * 2 == Decimal(60 * 2)


def named(decision: Decision, kind: Kind) -> Decision:
    """The same decision about storage of another kind."""
    seen = decision.observation
    other = replace(seen.volume, ref=replace(seen.volume.ref, kind=kind))
    return replace(decision, observation=replace(seen, volume=other))


@pytest.mark.parametrize(
    ("kinds", "noun"),
    [((Kind.EBS, Kind.EBS), "volume"), ((Kind.RDS,), "database"), ((Kind.AURORA,), "cluster"),
     ((Kind.EBS, Kind.RDS), "resource")],
)  # fmt: skip
def test_storage_is_counted_by_its_own_word(kinds: tuple[Kind, ...], noun: str) -> None:
    starved = decide(decision_input(starved_gp3(), rules=policy(mode=Mode.OBSERVE)))
    starved = replace(
        starved, answer=Hold(reason=Reason.OBSERVE_ONLY, until=None, proposed_plan=starved.plan)
    )
    (group,) = group_observed([named(starved, kind) for kind in kinds])
    assert (group.volumes, group.noun) == (len(kinds), noun)
    saving = idle(DEAR, mode=Mode.OBSERVE)
    (blocked,) = blocked_savings([named(saving, kind) for kind in kinds])
    assert (blocked.volumes, blocked.noun) == (len(kinds), noun)
