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
    DECISION: "One look at a volume ended in a decision: act, hold or escalate.",
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
        "record_hash": _told(
            {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "Hash of the record: the same event has the same one, whenever it comes again.",
        ),
        "previous_hash": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "decision_id": _told(TEXT, "Names the chain: `headroom explain ID`."),
        "sequence": _told({"type": "integer", "minimum": 0}, "Place in the chain."),
        "step": _told(TEXT, "Kind of record; new ones may come."),
        "outcome": _told(TEXT, "act, hold or escalate for a decision, else the step."),
        "at": INSTANT,
        "resource": _told(TEXT, "ARN, or account#ACCOUNT#REGION."),
        "account": MAYBE,
        "region": MAYBE,
        "summary": _told({"type": "string", "maxLength": 2000}, "One sentence for people."),
    }
    if detail_type == STOP:
        return common | {
            "step": {"enum": [s.value for s in (Step.PAUSED, Step.RESUMED, Step.BREAKER_OPENED,
                                                Step.BREAKER_CLOSED)]},
            "who": _told(MAYBE, "Who switched it; null for a breaker that opened."),
            "because": _told(MAYBE, "The reason they gave."),
            "until": _told(MAYBE, "When a pause ends."),
            "failures": _told({"type": ["integer", "null"]}, "Failures that opened a breaker."),
            "last_decision_id": _told(MAYBE, "The last of them."),
        }  # fmt: skip
    decided = common | {
        "answer": {"enum": ["act", "hold", "escalate", None]},
        "reason": _told(MAYBE, "Why; new ones may come."),
        "trigger": _told(MAYBE, "alarm, event, sweep, due or person."),
        "mode": {"enum": [*(mode.value for mode in Mode), None]},
        "binding": _told(MAYBE, "The limit that binds."),
        "policy_version": MAYBE,
        "plan": {"anyOf": [{"type": "null"}, _plan()]},
        "blocking": {
            "type": "array", "items": TEXT, "maxItems": MAX_RESOURCES,
            "description": "Guardrails that did not allow the plan.",
        },
        "approval": _told(MAYBE, "Why a person must agree to an act first; null if none must."),
        "expires": _told(MAYBE, "Until when they may."),
        "held_until": _told(MAYBE, "When a hold clears by itself, if that is known."),
        "cause": _told(MAYBE, "Of an escalation."),
        "remedy": _told(MAYBE, "What the owner can do about it."),
        "write_back": _told(
            {"anyOf": [{"type": "null"}, _write_back()]},
            "The values that code needs for `plan.to` to last; null if no other owner is recognised.",
        ),
    }  # fmt: skip
    if detail_type == DECISION:
        decided["step"] = {"const": Step.DECIDED.value}
    if detail_type == REQUEST:
        decided["who"] = _told(MAYBE, "Who answered or asked.")
    return decided


def _write_back() -> Schema:
    return _all(
        {
            "tool": {"enum": [tool.value for tool in Tool]},
            "stack": _told(MAYBE, "The CloudFormation stack."),
            "logical_id": _told(MAYBE, "The resource's logical id in the template."),
            "cluster": _told(MAYBE, "The Kubernetes cluster."),
            "namespace": _told(MAYBE, "The namespace of the claim."),
            "claim": _told(MAYBE, "The PersistentVolumeClaim."),
            "driver": _told(MAYBE, "The CSI driver that created the volume."),
            "name": _told(MAYBE, "The tag `Name` of the resource."),
            "resource_type": _told(TEXT, "The resource type in that tool."),
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
            "size_gib": _told({"type": "integer"}, "0 of an Aurora cluster: nobody sets it."),
            "iops": {"type": ["integer", "null"]},
            "throughput_mibps": {"type": ["integer", "null"]},
        }
    )
    return _all(
        {
            "from": configuration,
            "to": configuration,
            "monthly_usd": _told({"type": "number"}, "Price of `to`, USD a month."),
            "price_change_usd": _told({"type": "number"}, "More (or less) than `from`."),
            "reversible": {"type": "boolean"},
        }
    )


def _told(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


def _all(properties: Schema) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


if __name__ == "__main__":
    for name in DETAIL_TYPES:
        (Path(sys.argv[1]) / file_name(name)).write_text(schema_text(name), encoding="utf-8")

__all__ = ["DETAIL_TYPES", "file_name", "schema", "schema_text"]
