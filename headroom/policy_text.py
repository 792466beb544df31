"""The policy as people write it (YAML) and as it is published (canonical JSON), both checked.

A policy that is not understood to the last key is refused with one sentence that says where and
why. Standard library only; `load_policy_file` needs PyYAML, which the functions do not have.
The format is described in docs/policy.md.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from headroom.domain.policy import Limits, Policy, Rule, Selector
from headroom.domain.resources import Kind, VolumeType
from headroom.policy_fields import (
    ACCOUNT_PRICE,
    FRIENDLY,
    PRESETS,
    PolicyError,
    money,
    refuse,
    shown,
    written,
    written_money,
)

FORMAT = 1
STANDARD_TIER = 4_096
ADVANCED_TIER = 8_192
"""Characters an SSM parameter holds. Source: SSM API reference, PutParameter (2026-09)."""


def parse_policy(document: object, *, source: str) -> Policy:
    """The policy that `document` (what YAML or JSON made of the text) describes.

    `source` names it in messages. Raises PolicyError with one sentence.
    """
    if document is None:
        raise refuse(source, "", "is empty; `{}` would mean all defaults")
    top = _mapping(document, ("version", "defaults", "account", "rules"), source, "")
    version = top.get("version", FORMAT)
    if isinstance(version, bool) or version != FORMAT:
        raise refuse(source, "version", f"is {shown(version)}; this release reads {FORMAT}")
    settings = _settings(top.get("defaults", {}), source, "defaults")
    account = _mapping(top.get("account", {}), (ACCOUNT_PRICE,), source, "account")
    increase = Policy(version="").account_increase_usd
    if ACCOUNT_PRICE in account:
        increase = money(account[ACCOUNT_PRICE], source, f"account.{ACCOUNT_PRICE}")
    rules = top.get("rules", [])
    if not isinstance(rules, Sequence) or isinstance(rules, str):
        raise refuse(source, "rules", f"is {shown(rules)}; it must be a list of rules")
    return _versioned(
        Policy(
            version="",
            defaults=replace(Limits(), **dict(settings)),  # type: ignore[arg-type]
            rules=tuple(_rule(rule, source, f"rules[{i}]") for i, rule in enumerate(rules, 1)),
            account_increase_usd=increase,
        )
    )


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
    import yaml

    class Loader(yaml.SafeLoader):
        """Safe YAML that refuses a key given twice, where plain YAML takes the last."""

    def mapping(loader: Loader, node: yaml.MappingNode) -> dict[object, object]:
        seen: list[object] = []
        for key_node, _ in node.value:
            key = loader.construct_object(key_node, deep=True)
            if key in seen:
                line = key_node.start_mark.line + 1
                raise refuse(str(path), "", f"gives {shown(key)} twice (line {line}); keep one")
            seen.append(key)
        return dict(loader.construct_mapping(node, deep=True))

    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    try:
        text = Path(path).read_text(encoding="utf-8")
        document = yaml.load(text, Loader)  # noqa: S506 - a subclass of SafeLoader
    except OSError as error:
        raise refuse(str(path), "", f"cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise refuse(str(path), "", "is not UTF-8 text") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        if isinstance(error, PolicyError):
            raise
        raise refuse(str(path), "", f"is not YAML ({' '.join(str(error).split())})") from None
    return parse_policy(document, source=str(path))


def canonical_json(policy: Policy) -> str:
    """The one JSON text of `policy`: ASCII, keys sorted, no spaces, every default spelled out.

    `policy_from_json` of it gives an equal policy, and its SHA-256 is the policy's version.
    """
    defaults = {name: getattr(policy.defaults, f.name) for name, f in FRIENDLY.items()}
    document: dict[str, object] = {
        "version": FORMAT,
        "defaults": {name: written(name, value) for name, value in defaults.items()},
        "account": {ACCOUNT_PRICE: written_money(policy.account_increase_usd)},
    }
    if policy.rules:
        document["rules"] = [
            {"match": _written_selector(rule.selector), "set": _written_settings(rule.settings)}
            for rule in policy.rules
        ]
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def ssm_tier(text: str) -> Literal["Standard", "Advanced"]:
    """The tier of SSM parameter that holds `text`; raises PolicyError when none does."""
    size = len(text.encode())
    if size <= STANDARD_TIER:
        return "Standard"
    if size <= ADVANCED_TIER:
        return "Advanced"
    raise PolicyError(
        f"The policy is {size:,} characters long and an SSM parameter holds {ADVANCED_TIER:,}; "
        "merge rules that set the same, or put resources under fewer tags."
    )


def policy_warnings(policy: Policy) -> tuple[str, ...]:
    """Sentences on what is legal and probably not meant; none for a policy that reads well."""
    found = []
    for number, rule in enumerate(policy.rules, 1):
        if rule.selector == Selector():
            found.append(f"Rule {number} matches every resource; write it under defaults instead.")
    for number, rule in enumerate(policy.rules, 1):
        if any(later.selector == rule.selector for later in policy.rules[number:]):
            found.append(f"Rule {number} has the same match as a later rule, which overrides it.")
    return tuple(found)


def _versioned(policy: Policy) -> Policy:
    digest = hashlib.sha256(canonical_json(policy).encode()).hexdigest()
    return replace(policy, version=digest[:16])


def _mapping(value: object, known: Sequence[str], source: str, path: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise refuse(source, path, f"is {shown(value)}; it must be a mapping of {_or(known)}")
    for key in value:
        if key not in known:
            close = get_close_matches(str(key), known, n=1)
            hint = f"did you mean {close[0]}" if close else f"known are {', '.join(known)}"
            raise refuse(source, path, f"has the unknown key {shown(key)}; {hint}")
    return value


def _or(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _settings(value: object, source: str, path: str) -> tuple[tuple[str, object], ...]:
    """Fields of Limits and their values, sorted by field."""
    given = _mapping(value, (*FRIENDLY, "preset"), source, path)
    if "preset" in given and "relief_value_usd_per_minute" in given:
        raise refuse(
            source, path, "has both preset and relief_value_usd_per_minute; one says it all"
        )
    found: dict[str, object] = {}
    for name, said in given.items():
        if name == "preset":
            if not isinstance(said, str) or said not in PRESETS:
                known = ", ".join(PRESETS)
                raise refuse(source, f"{path}.preset", f"is {shown(said)}; known are {known}")
            found["relief_value_usd_per_minute"] = PRESETS[said]
        else:
            found[FRIENDLY[name].name] = FRIENDLY[name].read(said, source, f"{path}.{name}")
    return tuple(sorted(found.items()))


def _rule(value: object, source: str, path: str) -> Rule:
    given = _mapping(value, ("match", "set"), source, path)
    if "match" not in given:
        raise refuse(source, path, "has no match; `match: {}` would mean every resource")
    if not given.get("set"):
        raise refuse(source, path, "sets nothing; give it a `set` with at least one setting")
    return Rule(
        selector=_selector(given["match"], source, f"{path}.match"),
        settings=_settings(given["set"], source, f"{path}.set"),
    )


def _selector(value: object, source: str, path: str) -> Selector:
    given = _mapping(value, ("kind", "type", "tags"), source, path)
    kind = given.get("kind")
    if "kind" in given and kind not in list(Kind):
        raise refuse(source, f"{path}.kind", f"is {shown(kind)}; known are {', '.join(Kind)}")
    types = given.get("type", [])
    listed = [types] if not isinstance(types, Sequence) or isinstance(types, str) else types
    if "type" in given and not listed:
        raise refuse(source, f"{path}.type", "is an empty list; leave it out to match every type")
    for one in listed:
        if one not in list(VolumeType):
            known = ", ".join(VolumeType)
            raise refuse(source, f"{path}.type", f"names {shown(one)}; known are {known}")
    tags = given.get("tags", {})
    if not isinstance(tags, Mapping) or ("tags" in given and not tags):
        raise refuse(source, f"{path}.tags", f"is {shown(tags)}; it must map tag keys to values")
    for key, one in tags.items():
        for part in (key, one):
            if not isinstance(part, str):
                raise refuse(source, f"{path}.tags", f"has {shown(part)}; write it in quotes")
    return Selector(
        kind=Kind(kind) if isinstance(kind, str) else None,
        volume_types=tuple(dict.fromkeys(VolumeType(str(one)) for one in listed)),
        tags=tuple(sorted(tags.items())),
    )


def _written_selector(selector: Selector) -> dict[str, object]:
    document: dict[str, object] = {}
    if selector.kind is not None:
        document["kind"] = selector.kind.value
    if selector.volume_types:
        document["type"] = [t.value for t in selector.volume_types]
    if selector.tags:
        document["tags"] = dict(selector.tags)
    return document


def _written_settings(settings: Sequence[tuple[str, object]]) -> dict[str, object]:
    names = {field.name: name for name, field in FRIENDLY.items()}
    return {names[field]: written(names[field], value) for field, value in settings}


__all__ = [
    "PolicyError", "canonical_json", "default_policy", "load_policy_file",
    "parse_policy", "policy_from_json", "policy_warnings", "ssm_tier",
]  # fmt: skip
