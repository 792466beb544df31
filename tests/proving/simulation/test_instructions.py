"""What an escalation says people should change, followed to the letter."""

from __future__ import annotations

from typing import Any

from headroom.domain.decision import Escalate
from headroom.proving.simulation import Result
from tests.proving.simulation.situations import RDS, simulated, step, targets

LOAD = [step("30m", 1_000), step("5h", 6_000)]
GP3 = {"type": "gp3", "size_gib": 100}


def said(result: Result) -> str:
    """What the first escalation says."""
    return next(d.answer.remedy for d in result.decisions if isinstance(d.answer, Escalate))


def tagged(iops: int) -> Result:
    tags = {"headroom": "auto", "headroom:max-iops": str(iops)}
    return simulated({**GP3, "tags": tags}, LOAD, policy={"version": 1})


def test_a_limit_by_tag_is_changed_at_the_tag() -> None:
    """The policy allows more already: what it says there changes nothing."""
    before = tagged(3_000)
    assert not before.changes
    assert "change the tag headroom:max-iops from 3,000 to 4,950 or more" in said(before)
    assert "policy" not in said(before)
    assert targets(tagged(4_950))[0].iops == 4_950


def database(defaults: dict[str, Any], in_a_rule: dict[str, Any]) -> Result:
    rule = {"match": {"kind": "rds"}, "set": {"mode": "auto", **in_a_rule}}
    return simulated(
        {**RDS, "storage_type": "gp3", "allocated_storage_gib": 1_000,
         "instance_class": "db.r6g.16xlarge"},
        [step("1h", 5_000), step("7h", 45_000)],
        policy={"version": 1, "defaults": defaults, "rules": [rule]},
    )  # fmt: skip


def test_a_limit_of_a_database_is_changed_in_a_rule_that_names_the_kind() -> None:
    """Written under `defaults`, it permits nothing for a database."""
    price = "price_increase_usd_per_month"
    before = database({}, {})
    assert f"change {price} from 250 to " in said(before)
    assert "in the policy, in a rule with `match: {kind: rds}`" in said(before)
    assert targets(database({price: 2_000}, {})) == targets(before)
    after = database({}, {price: 2_000})
    assert max(t.iops or 0 for t in targets(after)) > max(t.iops or 0 for t in targets(before))


def test_the_owner_reads_the_next_useful_step_not_the_most_that_the_load_may_take() -> None:
    """20,000 IOPS at a ceiling of 16,000, which hides how many there are: 35,200 were asked for."""

    def limited(most: int) -> Result:
        return simulated(
            {"type": "gp3", "size_gib": 500, "iops": 16_000, "throughput_mibps": 500},
            [step("1h", 3_000), step("2h", 20_000)], attachment={"instance_type": "m6i.32xlarge"},
            policy={"version": 1, "defaults": {"max_iops": most}},
        )  # fmt: skip

    before = limited(16_000)
    assert "change max_iops from 16,000 to 26,401 or more in the policy" in said(before)
    assert "more may be asked for later" in said(before)
    after = limited(26_401)
    assert targets(after)[0].iops == 26_401
    assert after.starved_minutes < before.starved_minutes / 5
