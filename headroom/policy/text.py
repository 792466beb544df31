"""The policy as people write it (YAML) and as it is published (canonical JSON), both checked.

A policy that is not understood to the last key is refused with one sentence that says where and
why. Standard library only; `load_policy_file` needs PyYAML, which the functions do not have.
The format is described in docs/policy.md.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from headroom.domain.policy import (
    ACCOUNT,
    FRIENDLY,
    RDS_CEILINGS,
    KnownEvent,
    Policy,
    PolicyError,
    Selector,
    narrowed,
    plain_value,
    refuse,
    value_text,
)
from headroom.policy.document import FORMAT, read_policy


def parse_policy(document: object, *, source: str) -> Policy:
    """The policy that `document` (what YAML or JSON made of the text) describes.

    `source` names it in messages. Raises PolicyError with one sentence, the first problem there is.
    """
    policy, problems = read_policy(document, source=source)
    if problems:
        raise problems[0]
    return _versioned(policy)


def published(policy: Policy, account_id: str | None, region: str | None) -> Policy:
    """What of `policy` counts in an account and Region (None: any), with a version of its own."""
    return _versioned(narrowed(policy, account_id, region))


def default_policy() -> Policy:
    """The policy in force when none is given: watch everything, act on what is tagged."""
    return _versioned(Policy(version=""))


def policy_from_json(text: str, *, source: str) -> Policy:
    """The policy in a JSON text; raises PolicyError, also for a key that is given twice."""

    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        keys = [key for key, _ in items]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise refuse(source, twice, "is given twice; keep one")
        return dict(items)

    try:
        document = json.loads(text, object_pairs_hook=pairs)
    except PolicyError:
        raise
    except (ValueError, RecursionError) as error:
        raise refuse(source, "", f"is not JSON ({error})") from None
    return parse_policy(document, source=source)


def load_policy_file(path: str | Path) -> Policy:
    """The policy in a YAML (or JSON) file; raises PolicyError, also when it cannot be read."""
    return parse_policy(document_in(path), source=str(path))


def document_in(path: str | Path) -> object:
    """What YAML makes of a file, a key given twice refused; raises PolicyError in one sentence."""
    import yaml

    class Loader(yaml.SafeLoader):
        """Safe YAML that refuses a key given twice, where plain YAML takes the last."""

    def mapping(loader: Loader, node: yaml.MappingNode) -> dict[object, object]:
        seen: list[object] = []
        for key_node, _ in node.value:
            key = loader.construct_object(key_node, deep=True)
            if key in seen:
                line = key_node.start_mark.line + 1
                raise refuse(
                    str(path), "", f"gives {value_text(key)} twice (line {line}); keep one"
                )
            seen.append(key)
        return dict(loader.construct_mapping(node, deep=True))

    def whole(loader: Loader, node: yaml.ScalarNode) -> int:
        digits = node.value.lstrip("-+")
        octal = digits[:1] == "0" and digits.replace("_", "").isdigit()
        if octal and int(digits.replace("_", "")) > 7:
            where = f"(line {node.start_mark.line + 1})"
            problem = f"has {node.value} {where}, which YAML reads as octal; write the number without the 0, or a name in quotes"
            raise refuse(str(path), "", problem)
        return loader.construct_yaml_int(node)

    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    Loader.add_constructor("tag:yaml.org,2002:int", whole)
    try:
        text = Path(path).read_text(encoding="utf-8")
        document: object = yaml.load(text, Loader)  # noqa: S506 - a subclass of SafeLoader
    except OSError as error:
        raise refuse(str(path), "", f"cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise refuse(str(path), "", "is not UTF-8 text") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        if isinstance(error, PolicyError):
            raise
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        raise refuse(str(path), "", f"is not valid YAML{where}: {problem}") from None
    return document


def canonical_json(policy: Policy) -> str:
    """The one JSON text of `policy`: ASCII, keys sorted, no spaces, every default spelled out.

    `policy_from_json` of it gives an equal policy, and its SHA-256 is the policy's version.
    """
    defaults = {name: getattr(policy.defaults, f.name) for name, f in FRIENDLY.items()}
    written = {name: plain_value(name, value) for name, value in defaults.items()}
    usual = dict(RDS_CEILINGS)
    for name, most in policy.rds_ceilings:
        if most != min(getattr(policy.defaults, name), usual[name]):
            written[name] = {"ebs": written[name], "rds": most}
    document: dict[str, object] = {
        "version": FORMAT,
        "defaults": written,
        "account": {name: s.write(getattr(policy, s.name)) for name, s in ACCOUNT.items()},
    }
    if policy.rules:
        document["rules"] = [
            {"match": _written_selector(rule.selector), "set": _written_settings(rule.settings)}
            for rule in policy.rules
        ]
    if policy.known_events:
        document["known_events"] = [_written_event(event) for event in policy.known_events]
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _versioned(policy: Policy) -> Policy:
    digest = hashlib.sha256(canonical_json(policy).encode()).hexdigest()
    return replace(policy, version=digest[:16])


def _written_selector(selector: Selector) -> dict[str, object]:
    document: dict[str, object] = {}
    if selector.kind is not None:
        document["kind"] = selector.kind.value
    if selector.volume_types:
        document["type"] = [t.value for t in selector.volume_types]
    if selector.tags:
        document["tags"] = dict(selector.tags)
    if selector.accounts:
        document["account"] = list(selector.accounts)
    if selector.regions:
        document["region"] = list(selector.regions)
    return document


def _written_event(event: KnownEvent) -> dict[str, object]:
    document: dict[str, object] = {
        "name": event.name, "when": str(event.schedule), "for": f"{event.minutes}m",
        "iops": event.iops, "throughput_mibps": event.throughput_mibps,
    }  # fmt: skip
    selector = _written_selector(event.selector)
    return {**document, "match": selector} if selector else document


def _written_settings(settings: Sequence[tuple[str, object]]) -> dict[str, object]:
    names = {field.name: name for name, field in FRIENDLY.items()}
    return {names[field]: plain_value(names[field], value) for field, value in settings}


__all__ = [
    "Policy",
    "PolicyError",
    "canonical_json",
    "default_policy",
    "document_in",
    "load_policy_file",
    "parse_policy",
    "policy_from_json",
    "published",
]  # fmt: skip
