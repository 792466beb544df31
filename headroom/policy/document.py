"""What YAML or JSON made of a policy's text, read into a Policy: every problem found, none guessed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from headroom.domain.policy import (
    ACCOUNT,
    FRIENDLY,
    LONGEST_KEY,
    LONGEST_NAME,
    LONGEST_VALUE,
    MOST_EVENTS,
    PRESETS,
    RDS_CEILINGS,
    KnownEvent,
    Limits,
    Policy,
    PolicyError,
    Rule,
    Schedule,
    Selector,
    WindowError,
    parse_schedule,
    refuse,
    value_text,
)
from headroom.domain.resources import EBS_TYPES, GOVERNED, Kind, VolumeType

FORMAT = 1
MANY = 12
"""Names of which a sentence lists no more than two."""
ACCOUNT_ID = r"[0-9]{12}"
__all__ = ["LONGEST_KEY", "LONGEST_VALUE", "read_policy"]
REGION = r"[a-z]{2,5}(-[a-z]+)+-[0-9]{1,2}"
TOP = ("version", "defaults", "account", "rules", "known_events")
EVENT = ("name", "match", "when", "for", "iops", "throughput_mibps")
KINDS = ("ebs", "rds")
"""Kinds that a ceiling of the defaults may be given by."""
WORTH = "relief_value_usd_per_minute"


def read_policy(document: object, *, source: str) -> tuple[Policy, tuple[PolicyError, ...]]:
    """The policy that `document` describes, its version empty, and every problem with it.

    `source` names it in messages. Where there is a problem, what stands there is not the owner's.
    """
    reading = _Reading(source)
    return reading.policy(document), tuple(reading.problems)


class _Reading:
    """One pass over a document; what is wrong is collected and passed over."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.problems: list[PolicyError] = []

    def policy(self, document: object) -> Policy:
        if document is None:
            self._refuse("", "is empty; `{}` would mean all defaults")
            return Policy(version="")
        top = self._mapping(document, TOP, "")
        version = top.get("version", FORMAT)
        if isinstance(version, bool) or version != FORMAT:
            self._refuse("version", f"is {value_text(version)}; this release reads {FORMAT}")
        settings, ceilings = self._defaults(top.get("defaults", {}))
        account = self._mapping(top.get("account", {}), tuple(ACCOUNT), "account")
        defaults = replace(Limits(), **dict(settings))  # type: ignore[arg-type]
        policy = Policy(version="", defaults=defaults, rds_ceilings=ceilings)
        for name, said in account.items():
            setting = ACCOUNT[name]
            try:
                value = setting.read(said, self.source, f"account.{name}")
                policy = replace(policy, **{setting.name: value})  # type: ignore[arg-type]
            except PolicyError as problem:
                self.problems.append(problem)
        policy = replace(policy, known_events=self._events(top.get("known_events", [])))
        rules = top.get("rules", [])
        if not isinstance(rules, Sequence) or isinstance(rules, str):
            self._refuse("rules", f"is {value_text(rules)}; it must be a list of rules")
            return policy
        read = [self._rule(rule, f"rules[{i}]") for i, rule in enumerate(rules, 1)]
        return replace(policy, rules=tuple(read))

    def _refuse(self, path: str, problem: str) -> None:
        self.problems.append(refuse(self.source, path, problem))

    def _mapping(self, value: object, known: Sequence[str], path: str) -> Mapping[str, object]:
        """The known members of a mapping; none of what is no mapping."""
        if not isinstance(value, Mapping):
            what = _and(known) if len(known) < MANY else f"settings, such as {_and(known[:2])}"
            self._refuse(path, f"is {value_text(value)}; it must be a mapping of {what}")
            return {}
        for key in value:
            if key not in known:
                close = get_close_matches(str(key), known, n=1)
                hint = f"did you mean {close[0]}" if close else f"known are {', '.join(known)}"
                if key in FRIENDLY and "defaults" in known:
                    hint = "it is a setting, which goes under defaults or under set of a rule"
                self._refuse(path, f"has the unknown key {value_text(key)}; {hint}")
        return {key: said for key, said in value.items() if key in known}

    def _settings(self, value: object, path: str) -> tuple[tuple[str, object], ...]:
        """Fields of Limits and their values, sorted by field."""
        given = self._mapping(value, (*FRIENDLY, "preset"), path)
        if "preset" in given and WORTH in given:
            self._refuse(path, f"has both preset and {WORTH}; one says it all")
        found: dict[str, object] = {}
        for name, said in given.items():
            if name == "preset":
                if isinstance(said, str) and said in PRESETS:
                    found[WORTH] = PRESETS[said]
                else:
                    self._refuse(
                        f"{path}.preset", f"is {value_text(said)}; known are {', '.join(PRESETS)}"
                    )
                continue
            setting = FRIENDLY[name]
            try:
                found[setting.name] = setting.read(said, self.source, f"{path}.{name}")
            except PolicyError as problem:
                self.problems.append(problem)
        return tuple(sorted(found.items()))

    def _defaults(
        self, value: object
    ) -> tuple[tuple[tuple[str, object], ...], tuple[tuple[str, int], ...]]:
        """The settings of volumes, and the ceilings of databases.

        A ceiling may be given by kind: `max_iops: {ebs: 16000, rds: 64000}`. One number is for
        both, but raises no ceiling of databases.
        """
        given = dict(value) if isinstance(value, Mapping) else {}
        by_kind = {n: given[n] for n, _ in RDS_CEILINGS if isinstance(given.get(n), Mapping)}
        parts = {n: self._mapping(said, KINDS, f"defaults.{n}") for n, said in by_kind.items()}
        plain = {name: said for name, said in given.items() if name not in parts}
        plain |= {name: part["ebs"] for name, part in parts.items() if "ebs" in part}
        settings = self._settings(plain if given else value, "defaults")
        said = {name: part["rds"] for name, part in parts.items() if "rds" in part}
        for name, part in by_kind.items():
            if not part:
                self._refuse(f"defaults.{name}", "is empty; give it ebs, rds or both")
        plain_ceilings = dict(settings)
        found = []
        for name, usual in RDS_CEILINGS:
            both = usual if name in parts else plain_ceilings.get(name)
            most = min(both, usual) if isinstance(both, int) else usual
            found.append(
                (name, self._rds_ceiling(name, said[name], most) if name in said else most)
            )
        return settings, tuple(found)

    def _rds_ceiling(self, name: str, value: object, usual: int) -> int:
        try:
            most = FRIENDLY[name].read(value, self.source, f"defaults.{name}.rds")
        except PolicyError as problem:
            self.problems.append(problem)
            return usual
        return most if isinstance(most, int) else usual

    def _rule(self, value: object, path: str) -> Rule:
        before = len(self.problems)
        given = self._mapping(value, ("match", "set"), path)
        if not isinstance(value, Mapping):
            return Rule(selector=Selector(), settings=())
        if "match" not in given:
            self._refuse(path, "has no match; `match: {}` would mean every resource")
        if not given.get("set") and len(self.problems) == before:
            self._refuse(path, "sets nothing; give it a `set` with at least one setting")
        return Rule(
            selector=self._selector(given.get("match", {}), f"{path}.match"),
            settings=self._settings(given["set"], f"{path}.set") if given.get("set") else (),
        )

    def _events(self, value: object) -> tuple[KnownEvent, ...]:
        if not isinstance(value, list | tuple) or len(value) > MOST_EVENTS:
            wanted = f"it must be a list of at most {MOST_EVENTS} events"
            self._refuse("known_events", f"is {value_text(value)}; {wanted}")
            return ()
        read = (self._event(one, f"known_events[{i}]") for i, one in enumerate(value, 1))
        return tuple(event for event in read if event is not None)

    def _event(self, value: object, path: str) -> KnownEvent | None:
        before = len(self.problems)
        given = self._mapping(value, EVENT, path)
        for key in ("name", "when", "for"):
            if isinstance(value, Mapping) and key not in given:
                self._refuse(path, f"has no {key}")
        if not (given.get("iops") or given.get("throughput_mibps")):
            self._refuse(path, "needs iops or throughput_mibps: what the load will take")
        selector = self._selector(given.get("match", {}), f"{path}.match")
        try:
            if len(self.problems) > before:
                return None
            return KnownEvent(
                name=self._event_name(given["name"], f"{path}.name"),
                schedule=self._schedule(given["when"], f"{path}.when"),
                minutes=self._number("approval_expires", given["for"], f"{path}.for"),
                iops=self._number("min_iops", given.get("iops", 0), f"{path}.iops"),
                throughput_mibps=self._number(
                    "min_throughput_mibps", given.get("throughput_mibps", 0),
                    f"{path}.throughput_mibps",
                ),
                selector=selector,
            )  # fmt: skip
        except PolicyError as problem:
            self.problems.append(problem)
            return None

    def _number(self, like: str, value: object, path: str) -> int:
        """A number that is written as the setting `like` is."""
        found = FRIENDLY[like].read(value, self.source, path)
        return found if isinstance(found, int) else 0

    def _event_name(self, value: object, path: str) -> str:
        if isinstance(value, str) and 0 < len(value) <= LONGEST_NAME and value.isprintable():
            return value
        wanted = f"a text of at most {LONGEST_NAME} characters"
        raise refuse(self.source, path, f"is {value_text(value)}; it must be {wanted}")

    def _schedule(self, value: object, path: str) -> Schedule:
        try:
            return parse_schedule(value if isinstance(value, str) else "")
        except WindowError as problem:
            raise refuse(self.source, path, f"is {value_text(value)}, which {problem}") from None

    def _selector(self, value: object, path: str) -> Selector:
        given = self._mapping(value, ("kind", "type", "tags", "account", "region"), path)
        kind = given.get("kind")
        if "kind" in given and kind not in list(GOVERNED):
            self._refuse(f"{path}.kind", f"is {value_text(kind)}; known are {', '.join(GOVERNED)}")
            kind = None
        types = self._list(given, "type", path, every="every type")
        for one in types:
            if one not in list(EBS_TYPES):
                self._refuse(
                    f"{path}.type", f"names {value_text(one)}; known are {', '.join(EBS_TYPES)}"
                )
        return Selector(
            kind=Kind(kind) if isinstance(kind, str) else None,
            volume_types=tuple(
                dict.fromkeys(VolumeType(str(t)) for t in types if t in list(EBS_TYPES))
            ),
            tags=self._tags(given.get("tags", {}), f"{path}.tags", "tags" in given),
            accounts=self._names(given, "account", path, ACCOUNT_ID, "an account's 12 digits"),
            regions=self._names(given, "region", path, REGION, "a Region such as us-east-1"),
        )

    def _list(
        self, given: Mapping[str, object], name: str, path: str, *, every: str
    ) -> Sequence[object]:
        """One value or a list of them; empty when there is none."""
        value = given.get(name, [])
        listed = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
        if name in given and not listed:
            self._refuse(f"{path}.{name}", f"is an empty list; leave it out to match {every}")
        return listed

    def _names(
        self, given: Mapping[str, object], name: str, path: str, pattern: str, meaning: str
    ) -> tuple[str, ...]:
        found: list[str] = []
        for one in self._list(given, name, path, every=f"every {name}"):
            if isinstance(one, str) and re.fullmatch(pattern, one):
                found.append(one)
            else:
                quotes = "" if isinstance(one, str) else ", written in quotes"
                self._refuse(
                    f"{path}.{name}", f"names {value_text(one)}; it must be {meaning}{quotes}"
                )
        return tuple(dict.fromkeys(found))

    def _tags(self, tags: object, path: str, given: bool) -> tuple[tuple[str, str], ...]:
        if not isinstance(tags, Mapping) or (given and not tags):
            self._refuse(path, f"is {value_text(tags)}; it must map tag keys to values")
            return ()
        for key, value in tags.items():
            for part in (key, value):
                if not isinstance(part, str):
                    self._refuse(path, f"has {value_text(part)}; write it in quotes")
        return tuple(
            sorted((k, v) for k, v in tags.items() if isinstance(k, str) and isinstance(v, str))
        )


def _and(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
