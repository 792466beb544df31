"""What to write back: of a recorded decision, or of an event that a pipeline received."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headroom.cli.terminal.names import named
from headroom.cli.terminal.problems import BadRequest
from headroom.cli.views.decision import decision_story
from headroom.domain.catalog import setting_names
from headroom.domain.resources import (
    CodeOwner,
    Configuration,
    ResourceRef,
    SettingNames,
    Tool,
    VolumeType,
)
from headroom.domain.state import Record, Step

MADE = frozenset(
    {Step.APPLIED, Step.ALREADY_THERE, Step.RELIEVED, Step.UNTESTED, Step.INEFFECTIVE,
     Step.ROLLED_BACK, Step.RELEASED}
)  # fmt: skip
UNDONE = frozenset(
    {Step.WITHDRAWN, Step.REFUSED, Step.STALE, Step.NOT_APPLIED, Step.FAILED, Step.DIVERGED,
     Step.REJECTED, Step.EXPIRED, Step.GONE}
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoff:
    """A resource's settings before and after, and who else keeps them."""

    decision_id: str
    ref: ResourceRef
    name: str | None
    """Its tag `Name`."""
    owner: CodeOwner | None
    origin: Configuration
    target: Configuration
    made: bool
    """Whether AWS has accepted the change."""

    @property
    def names(self) -> SettingNames:
        """What code calls the resource and its settings."""
        return setting_names(self.ref)

    @property
    def identifier(self) -> str:
        """The id of the volume, or the name of the database."""
        return self.ref.resource_id.removeprefix("cluster:")


def of_chain(chain: Sequence[Record]) -> Handoff:
    """What a decision hands over; raises BadRequest where it changes nothing."""
    decision = decision_story(chain).decision
    plan, volume = decision.plan, decision.observation.volume
    if plan is None:
        raise BadRequest(f"Decision {decision.decision_id} has no plan: nothing to write back.")
    steps = [record.step for record in chain]
    _refuse_undone(decision.decision_id, steps[-1])
    return Handoff(
        decision_id=decision.decision_id, ref=volume.ref, name=volume.tag("Name"),
        owner=decision.code_owner, origin=plan.origin, target=plan.target,
        made=any(step in MADE for step in steps),
    )  # fmt: skip


def of_event(event: object) -> Handoff:
    """What an event hands over: as EventBridge delivers it, or its `detail` alone; raises BadRequest."""
    try:
        detail: Any = event
        detail = detail.get("detail", detail)
        step = Step(detail["step"])
        _refuse_undone(detail["decision_id"], step)
        if detail["plan"] is None:
            raise BadRequest("The event has no plan: nothing to write back.")
        place = detail["resource"].split(":", 5)
        back = detail["write_back"]
        return Handoff(
            decision_id=detail["decision_id"],
            ref=named(detail["resource"], region=place[3], account_id=place[4]),
            name=None if back is None else back["name"], owner=_owner(back),
            origin=_configuration(detail["plan"]["from"]),
            target=_configuration(detail["plan"]["to"]), made=step in MADE,
        )  # fmt: skip
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as problem:
        raise BadRequest(
            "The file is not an event of Headroom (docs/events.md): "
            f"{type(problem).__name__}: {problem}."
        ) from None


def _refuse_undone(decision_id: str, step: Step) -> None:
    if step in UNDONE:
        raise BadRequest(f"Decision {decision_id} ended as {step.value}: nothing to write back.")


def _configuration(plain: Mapping[str, Any]) -> Configuration:
    return Configuration(
        volume_type=VolumeType(plain["volume_type"]), size_gib=int(plain["size_gib"]),
        iops=_number(plain["iops"]), throughput_mibps=_number(plain["throughput_mibps"]),
    )  # fmt: skip


def _number(value: object) -> int | None:
    return None if value is None else int(str(value))


def _owner(back: Mapping[str, Any] | None) -> CodeOwner | None:
    if back is None:
        return None
    names = ("stack", "logical_id", "cluster", "namespace", "claim", "driver")
    return CodeOwner(
        tool=Tool(back["tool"]), detected_from="the event",
        **{name: str(back[name] or "") for name in names},
    )  # fmt: skip
