"""Rules against rules: which of them another replaces, and what a rule's own volumes get.

A policy for an organisation may have thousands of rules, one an account or a team. An index finds
the few that can match the same resources, so a check takes time by the rule and not by the pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType

from headroom.domain.policy import (
    FRIENDLY,
    EffectiveLimits,
    Limits,
    Policy,
    Rule,
    Selector,
    limits_for,
    overrides,
    plain_value,
)
from headroom.domain.resources import Configuration, Kind, ResourceRef, Volume, VolumeType

NAMES: Mapping[str, str] = MappingProxyType({s.name: name for name, s in FRIENDLY.items()})
"""What a policy calls each field of Limits."""
ANY_ACCOUNT = "000000000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleIndex:
    """The rules of a policy, numbered from 1, by an account or tag that they need."""

    policy: Policy
    by_need: Mapping[object, list[tuple[int, Rule]]]

    @classmethod
    def of(cls, policy: Policy) -> RuleIndex:
        """The index of all rules of `policy`."""
        by_need: dict[object, list[tuple[int, Rule]]] = {}
        for number, rule in enumerate(policy.rules, 1):
            for need in rule.selector.accounts or rule.selector.tags[:1] or (None,):
                by_need.setdefault(need, []).append((number, rule))
        return cls(policy=policy, by_need=by_need)

    def near(self, selector: Selector) -> Mapping[int, Rule]:
        """All rules that may match the sample of `selector` or cover it, in their order."""
        has = {None, _account(selector), *selector.tags}
        return dict(
            sorted(
                {n: r for need in has for n, r in self.by_need.get(need, ())}.items(), key=_number
            )
        )

    def limits(self, selector: Selector, kind: VolumeType) -> EffectiveLimits:
        """The limits of a volume of this type that `selector` fits, with no other tags."""
        return limits_for(self.policy, sample_resource(selector, kind), self.near(selector))

    def usual(self, rule: Rule) -> Limits:
        """The limits of a volume that the rule fits and that has nothing else to it."""
        kind = next(iter(rule.selector.volume_types), VolumeType.GP3)
        return self.limits(rule.selector, kind).limits

    def overriders(self, number: int) -> dict[str, int]:
        """Fields of a rule that a later one sets again wherever it matches, and that rule."""
        rule = self.policy.rules[number - 1]
        found: dict[str, int] = {}
        for later, other in self.near(rule.selector).items():
            if later <= number or not covers(other.selector, rule.selector):
                continue
            if overrides(other.selector, rule.selector):
                found |= {name: later for name, _ in other.settings if name in dict(rule.settings)}
        return found


def _number(one: tuple[int, Rule]) -> int:
    return one[0]


def _account(selector: Selector) -> str:
    return selector.accounts[0] if selector.accounts else ANY_ACCOUNT


def sample_resource(selector: Selector, kind: VolumeType) -> Volume:
    """A volume of this type that the selector fits and that has no tag but those it names."""
    region = selector.regions[0] if selector.regions else "nowhere"
    return Volume(
        ref=ResourceRef(
            kind=selector.kind or Kind.EBS, account_id=_account(selector), region=region,
            resource_id="vol-0",
        ),
        configuration=Configuration(volume_type=kind, size_gib=100, iops=None, throughput_mibps=None),
        availability_zone="", state="in-use", created_at=datetime(2026, 1, 1, tzinfo=UTC),
        instance_ids=(), multi_attach=False, managed_by=None, on_outpost=False, tags=selector.tags,
    )  # fmt: skip


def covers(wide: Selector, narrow: Selector) -> bool:
    """Whether every resource that `narrow` fits is one that `wide` fits."""

    def within(outer: Sequence[object], inner: Sequence[object]) -> bool:
        return not outer or (bool(inner) and set(inner) <= set(outer))

    return (
        wide.kind in (None, narrow.kind)
        and within(wide.volume_types, narrow.volume_types)
        and within(wide.accounts, narrow.accounts)
        and within(wide.regions, narrow.regions)
        and set(wide.tags) <= set(narrow.tags)
    )


def ineffective_rules(index: RuleIndex) -> Iterator[str]:
    """Rules all of whose settings are set again by later ones."""
    for number, rule in enumerate(index.policy.rules, 1):
        again = index.overriders(number)
        if rule.settings and set(again) == {name for name, _ in rule.settings}:
            by = sorted(set(again.values()))
            yield (
                f"Rule {number} has no effect: wherever it matches, {_rules(by)} {'sets' if len(by) == 1 else 'set'} all of it again; put "
                "the narrower rule last."
            )


def contradictions(index: RuleIndex) -> Iterator[str]:
    """Two statements about the very same resources of which only one can count."""
    for number, rule in enumerate(index.policy.rules, 1):
        again = index.overriders(number)
        if set(again) == {name for name, _ in rule.settings}:
            continue
        for name, later in again.items():
            other = index.policy.rules[later - 1]
            if other.selector == rule.selector:
                yield (
                    f"Rules {number} and {later} match the same volumes and say "
                    f"{_setting(rule, name)} and {_setting(other, name)}; keep one."
                )


def _setting(rule: Rule, field: str) -> str:
    return f"{NAMES[field]} {shown(field, dict(rule.settings)[field])}"


def shown(field: str, value: object) -> str:
    """A value of a setting as a policy says it."""
    plain = plain_value(NAMES[field], value)
    if isinstance(plain, bool):
        return str(plain).lower()
    if isinstance(plain, list):
        return ", ".join(map(str, plain))
    return f"{plain:,}" if isinstance(plain, int) else str(plain)


def _rules(numbers: Sequence[int]) -> str:
    each = [f"rule {number}" for number in numbers]
    return each[0] if len(each) == 1 else f"{', '.join(each[:-1])} and {each[-1]}"
