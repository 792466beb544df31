"""A striped set from the alarm to its relief, on every ledger there is."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from headroom.application import sweep
from headroom.domain.state import Step, broken_link
from tests.application.harness import running_free
from tests.application.test_groups import REFUSED, SET, reconcile, striped
from tests.builders import ref


def steps(ledger: Any, name: str, until: Any) -> list[str]:
    found = list(ledger.by_resource(ref(name).arn, since=until - timedelta(days=2), until=until))
    for record in found:
        assert broken_link(ledger.chain(record.decision_id)) is None
    return [r.step.value for r in sorted(found, key=lambda r: (r.at, r.decision_id, r.sequence))]


def test_a_set_is_raised_and_relieved_on_record(ledger: Any) -> None:
    harness = striped()
    harness.ledger = ledger
    decision = reconcile(harness)
    assert ledger.decision(decision.decision_id).group == decision.group
    for name in SET:
        harness.loads[name] = running_free()
    for _ in range(5):
        harness.later(minutes=10)
        sweep(harness.ports, harness.now)
    assert decision.group is not None
    assert [member.volume_id for member in decision.group.members] == list(SET)
    for member in decision.group.members:
        chain = ledger.chain(member.decision_id)
        assert [r.step.value for r in chain] == ["decided", "intended", "applied", "relieved"]
        assert broken_link(chain) is None
    assert [step for _, step, _ in harness.messages] == [Step.APPLIED, Step.RELIEVED]


def test_a_set_that_aws_left_uneven_is_on_record_volume_by_volume(ledger: Any) -> None:
    harness = striped()
    harness.ledger = ledger
    apply = harness.apply
    harness.apply = (  # type: ignore[method-assign]
        lambda of, **call: REFUSED if of.resource_id == "vol-3" else apply(of, **call)
    )
    reconcile(harness)
    ends = [steps(ledger, name, harness.now)[-1] for name in SET]
    assert ends == ["applied", "applied", "refused", "stale"]
    known = [ledger.resource_state(ref(name), harness.now) for name in SET]
    each = known[0].resource_increase_usd
    assert [k.resource_increase_usd for k in known] == [each, each, 0, 0]
    assert known[0].account_increase_usd == 2 * each > 0
    assert [len(k.concurrency.in_flight) for k in known] == [2] * 4
