"""The JSON Schema of a policy, made from the same table that reads one, so that editors know it."""

from __future__ import annotations

import json

from headroom.domain.policy import (
    ACCOUNT,
    FRIENDLY,
    LONGEST_KEY,
    LONGEST_NAME,
    LONGEST_VALUE,
    MOST_EVENTS,
    PRESETS,
    RDS_CEILINGS,
    SCHEDULE_PATTERN,
    SOME_TIME_SCHEMA,
    Limits,
    Policy,
    plain_value,
)
from headroom.domain.resources import EBS_TYPES, GOVERNED
from headroom.policy.document import ACCOUNT_ID, FORMAT, KINDS, REGION, WORTH

Schema = dict[str, object]


def schema() -> Schema:
    """The schema, in the draft that editors of YAML understand (draft-07).

    Whatever a policy is read from fits it. What it cannot say is left to `headroom policy check`:
    cents, the longest cooldown, a key given twice, and whether the rules make sense.
    """
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Headroom's policy",
        "description": "What Headroom may do, to which volumes, and for how much: docs/policy.md.",
        **_mapping(
            {
                "version": {"const": FORMAT, "description": "The format of this file."},
                "defaults": {
                    "$ref": "#/definitions/defaults",
                    "description": "What holds for every volume that no rule and no tag speaks of.",
                },
                "account": _mapping(
                    {
                        name: {
                            **setting.schema,
                            "default": setting.write(getattr(Policy(version=""), setting.name)),
                            "description": setting.meaning,
                        }
                        for name, setting in ACCOUNT.items()
                    }
                ),
                "known_events": {
                    "type": "array",
                    "maxItems": MOST_EVENTS,
                    "items": {"$ref": "#/definitions/event"},
                    "description": "Load that you know of in advance.",
                },
                "rules": {
                    "type": "array",
                    "items": {"$ref": "#/definitions/rule"},
                    "description": "A later rule overrides an earlier one.",
                },
            }
        ),
        "definitions": {
            "defaults": _defaults(),
            "settings": _settings(),
            "rule": _rule(),
            "event": _event(),
        },
    }


def schema_text() -> str:
    """The schema as the file policy.schema.json has it."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _settings() -> Schema:
    settings: Schema = {}
    for name, setting in FRIENDLY.items():
        usual = plain_value(name, getattr(Limits(), setting.name))
        settings[name] = {**setting.schema, "default": usual, "description": setting.meaning}
    settings["preset"] = {
        "enum": list(PRESETS),
        "description": "What a starved minute is worth: "
        + ", ".join(f"{name} ${worth:.2f}" for name, worth in PRESETS.items())
        + ".",
    }
    return {**_mapping(settings), "not": {"required": ["preset", WORTH]}}


def _defaults() -> Schema:
    """The settings, whose ceilings may be given by kind of storage."""
    settings = _settings()
    properties = dict(settings["properties"])  # type: ignore[call-overload]
    for name, usual in RDS_CEILINGS:
        one = FRIENDLY[name]
        by_kind = _mapping({kind: dict(one.schema) for kind in KINDS})
        properties[name] = {
            "anyOf": [dict(one.schema), {**by_kind, "minProperties": 1}],
            "default": {"ebs": getattr(Limits(), one.name), "rds": usual},
            "description": one.meaning,
        }
    return {**settings, "properties": properties}


def _event() -> Schema:
    words: Schema = {
        "name": {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME},
        "match": {**_match(), "description": "The resources that take part; all if left out."},
        "when": {
            "type": "string", "pattern": SCHEDULE_PATTERN,
            "description": "When it begins: daily 01:30 UTC, weekly Sun 02:00 Europe/Berlin, "
            "monthly 28 22:00 UTC (or last), once 2026-11-27 18:00 UTC.",
        },
        "for": {**SOME_TIME_SCHEMA, "description": "How long it lasts: 10h, at most 7d."},
        "iops": {**FRIENDLY["min_iops"].schema, "description": "Operations a second it takes."},
        "throughput_mibps": {
            **FRIENDLY["min_throughput_mibps"].schema, "description": "MiB/s that it takes.",
        },
    }  # fmt: skip
    some = [
        {"required": [n], "properties": {n: {"minimum": 1}}} for n in ("iops", "throughput_mibps")
    ]
    return {**_mapping(words), "required": ["name", "when", "for"], "anyOf": some}


def _rule() -> Schema:
    settings = {"allOf": [{"$ref": "#/definitions/settings"}, {"minProperties": 1}]}
    match = {**_match(), "description": "All of it must fit."}
    return {**_mapping({"match": match, "set": settings}), "required": ["match", "set"]}


def _match() -> Schema:
    return _mapping(
        {
            "kind": {"enum": list(GOVERNED), "description": "The kind of storage."},
            "type": _one_or_more({"enum": list(EBS_TYPES)}, "The volume's present type."),
            "tags": {
                "type": "object",
                "minProperties": 1,
                "propertyNames": {"maxLength": LONGEST_KEY},
                "additionalProperties": {"type": "string", "maxLength": LONGEST_VALUE},
                "description": "Tags the volume must carry, all with exactly these values.",
            },
            "account": _one_or_more(_text(ACCOUNT_ID), "Account ids, in quotes."),
            "region": _one_or_more(_text(REGION), "Regions."),
        }
    )


def _mapping(properties: Schema) -> Schema:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _text(pattern: str) -> Schema:
    return {"type": "string", "pattern": f"^{pattern}$"}


def _one_or_more(one: Schema, meaning: str) -> Schema:
    return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}], "description": meaning}
