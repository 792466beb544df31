"""The AWS call that a plan becomes, and whether it would be sent now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headroom.cli.views import decision as decision_view
from headroom.domain.catalog import rules_of
from headroom.domain.decision import Act, Decision

Parameters = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """A call of AWS's API; `now` if nothing holds it and nobody must agree first."""

    operation: str
    parameters: Parameters
    now: bool

    def __str__(self) -> str:
        words = ", ".join(f"{key}={value}" for key, value in self.parameters.items())
        held = "Would be sent" if self.now else "Would be sent if nothing blocked it"
        return f"{held}: {self.operation}({words})"

    def as_object(self) -> dict[str, object]:
        """For JSON."""
        return {"operation": self.operation, "parameters": dict(self.parameters), "now": self.now}


def sending(decision: Decision) -> Sending | None:
    """The call that the decision's plan is; None without a plan, or for one AWS would not take."""
    plan = decision_view.chosen(decision)
    if plan is None:
        return None
    try:
        name, valid = decision.observation.volume.ref.resource_id, decision.observation.valid
        rules = rules_of(plan.target)
        operation, parameters = rules.request(name, plan.origin, plan.target, valid)
    except ValueError:
        return None
    answer = decision.answer
    now = isinstance(answer, Act) and answer.approval is None
    return Sending(operation=operation, parameters=parameters, now=now)
