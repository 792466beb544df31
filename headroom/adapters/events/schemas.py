"""The JSON Schema of each kind of event: `python -m headroom.adapters.events.schemas docs/events`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from headroom.adapters.events.bus import (
    CHANGE,
    DECISION,
    DETAIL_TYPES,
    MAX_RESOURCES,
    REQUEST,
    SOURCE,
    STOP,
    VERSION,
)
from headroom.domain.policy import Mode
from headroom.domain.resources import Tool, VolumeType
from headroom.domain.state import Step

Schema = dict[str, object]
TEXT: Schema = {"type": "string"}
MAYBE: Schema = {"type": ["string", "null"]}
INSTANT: Schema = {"type": "string", "format": "date-time"}
SAYS = {
    DECISION: "A reconciliation ended in a decision: act, hold or escalate.",
    REQUEST: "A change awaits approval, was approved, rejected or expired; a rollback was requested; a hub published a policy.",
    CHANGE: "What became of a decision to act: intended, applied, relieved, failed and so on.",
    STOP: "What stops every change, or lets it go on: pauses and circuit breakers.",
}


def file_name(detail_type: str) -> str:
    """The file that holds the schema of a detail type."""
    return f"{detail_type.lower().replace(' ', '-')}.schema.json"


def schema_text(detail_type: str) -> str:
    """The schema as its file has it."""
    return json.dumps(schema(detail_type), indent=2, ensure_ascii=False) + "\n"


def schema(detail_type: str) -> Schema:
    """The schema of a whole event, as EventBridge hands it to the target of a rule (draft-07).

    Fields may be added under the same version, so none is forbidden; all that are there are
    required.
    """
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": detail_type,
        "description": SAYS[detail_type],
        **_all(
            {
                "version": {"const": "0"},
                "id": TEXT,
                "source": {"const": SOURCE},
                "detail-type": {"const": detail_type},
                "account": TEXT,
                "time": INSTANT,
                "region": TEXT,
                "resources": {
                    "type": "array", "items": TEXT, "maxItems": 1,
                    "description": "The volume's ARN; empty where it is about the account.",
                },
                "detail": _all(_detail(detail_type)),
            }
        ),
    }  # fmt: skip


def _detail(detail_type: str) -> Schema:
    common = {
        "version": {"const": VERSION},
        "record_hash": _described(
            {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "Hash of the record: the same event has the same one, whenever it comes again.",
        ),
        "previous_hash": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "decision_id": _described(TEXT, "Names the chain: `headroom explain ID`."),
        "sequence": _described({"type": "integer", "minimum": 0}, "Place in the chain."),
        "step": _described(TEXT, "Kind of record; new ones may come."),
        "outcome": _described(TEXT, "act, hold or escalate for a decision, else the step."),
        "at": INSTANT,
        "resource": _described(TEXT, "ARN, or account#ACCOUNT#REGION."),
        "account": MAYBE,
        "region": MAYBE,
        "summary": _described({"type": "string", "maxLength": 2000}, "One sentence for people."),
    }
    if detail_type == STOP:
        return common | {
            "step": {"enum": [s.value for s in (Step.PAUSED, Step.RESUMED, Step.BREAKER_OPENED,
                                                Step.BREAKER_CLOSED)]},
            "who": _described(MAYBE, "Who switched it; null for a breaker that opened."),
            "because": _described(MAYBE, "The reason they gave."),
            "until": _described(MAYBE, "When a pause ends."),
            "failures": _described({"type": ["integer", "null"]}, "Failures that opened a breaker."),
            "last_decision_id": _described(MAYBE, "The last of them."),
        }  # fmt: skip
    decided = common | {
        "answer": {"enum": ["act", "hold", "escalate", None]},
        "reason": _described(MAYBE, "Why; new ones may come."),
        "trigger": _described(MAYBE, "alarm, event, sweep, due or person."),
        "mode": {"enum": [*(mode.value for mode in Mode), None]},
        "binding": _described(MAYBE, "The limit that binds."),
        "policy_version": MAYBE,
        "plan": {"anyOf": [{"type": "null"}, _plan()]},
        "blocking": {
            "type": "array", "items": TEXT, "maxItems": MAX_RESOURCES,
            "description": "Guardrails that did not allow the plan.",
        },
        "approval": _described(MAYBE, "Why a person must agree to an act first; null if none must."),
        "expires": _described(MAYBE, "Until when they may."),
        "held_until": _described(MAYBE, "When a hold clears by itself, if that is known."),
        "cause": _described(MAYBE, "Of an escalation."),
        "remedy": _described(MAYBE, "What the owner can do about it."),
        "write_back": _described(
            {"anyOf": [{"type": "null"}, _write_back()]},
            "The values that code needs for `plan.to` to last; null if no other owner is recognised.",
        ),
    }  # fmt: skip
    if detail_type == DECISION:
        decided["step"] = {"const": Step.DECIDED.value}
    if detail_type == REQUEST:
        decided["who"] = _described(MAYBE, "Who answered or asked.")
    return decided


def _write_back() -> Schema:
    return _all(
        {
            "tool": {"enum": [tool.value for tool in Tool]},
            "stack": _described(MAYBE, "The CloudFormation stack."),
            "logical_id": _described(MAYBE, "The resource's logical id in the template."),
            "cluster": _described(MAYBE, "The Kubernetes cluster."),
            "namespace": _described(MAYBE, "The namespace of the claim."),
            "claim": _described(MAYBE, "The PersistentVolumeClaim."),
            "driver": _described(MAYBE, "The CSI driver that created the volume."),
            "name": _described(MAYBE, "The tag `Name` of the resource."),
            "resource_type": _described(TEXT, "The resource type in that tool."),
            "settings": {
                "type": "object",
                "additionalProperties": {"type": ["string", "integer", "null"]},
                "description": "Under the tool's own names. Remove a setting that is null.",
            },
        }
    )


def _plan() -> Schema:
    configuration = _all(
        {
            "volume_type": {"enum": [kind.value for kind in VolumeType]},
            "size_gib": _described({"type": "integer"}, "0 of an Aurora cluster: nobody sets it."),
            "iops": {"type": ["integer", "null"]},
            "throughput_mibps": {"type": ["integer", "null"]},
        }
    )
    return _all(
        {
            "from": configuration,
            "to": configuration,
            "monthly_usd": _described({"type": "number"}, "Price of `to`, USD a month."),
            "price_change_usd": _described({"type": "number"}, "More (or less) than `from`."),
            "reversible": {"type": "boolean"},
        }
    )


def _described(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


def _all(properties: Schema) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


if __name__ == "__main__":
    for name in DETAIL_TYPES:
        (Path(sys.argv[1]) / file_name(name)).write_text(schema_text(name), encoding="utf-8")

__all__ = ["DETAIL_TYPES", "file_name", "schema", "schema_text"]
