"""Whether a policy means anything: rules that never count, contradictions, what can never happen.

A policy that reads well may still say nothing. What is certain to be a mistake is a problem and is
not deployed; what is only probably one is a remark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from headroom.domain.catalog.ebs import DURABILITY_PERCENT, LIMITS, MAX_MODIFICATIONS
from headroom.domain.policy import (
    LONGEST_KEY,
    LONGEST_VALUE,
    MODE_TAG,
    PREFIX,
    EffectiveLimits,
    Limits,
    Mode,
    Policy,
    PolicyError,
    Rule,
    Selector,
    TagsMay,
    defaults_for,
    never_opens,
    remarks_on_ceilings,
    remarks_on_kinds,
    zone_or_none,
)
from headroom.domain.resources import EBS_TYPES, Kind, VolumeType
from headroom.policy.document import read_policy
from headroom.policy.known_events import events_above_limits, events_in_vain
from headroom.policy.overlaps import (
    NAMES,
    RuleIndex,
    contradictions,
    ineffective_rules,
    shown,
)
from headroom.policy.text import document_in, parse_policy

LONG_FREEZE = timedelta(days=366)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A policy that was checked; `policy` is None when it cannot be read."""

    policy: Policy | None
    problems: tuple[str, ...]
    """One sentence each; with any of them the policy is not deployed."""
    remarks: tuple[str, ...]


def check_file(path: str, *, now: datetime | None = None) -> Checked:
    """Check the policy in a file and list everything that is wrong; `now` decides which freezes are over."""
    try:
        document = document_in(path)
    except PolicyError as problem:
        return Checked(policy=None, problems=(str(problem),), remarks=())
    _, unread = read_policy(document, source=path)
    if unread:
        return Checked(policy=None, problems=tuple(map(str, unread)), remarks=())
    policy = parse_policy(document, source=path)
    found = check(policy)
    over = () if now is None else (*_over(policy, now), *events_in_vain(policy, now))
    return replace(found, remarks=(*found.remarks, *over))


def _over(policy: Policy, now: datetime) -> Iterator[str]:
    """Freezes that do nothing any more, or for longer than anybody plans ahead."""
    for freeze in policy.freezes:
        until = f"{freeze.until:%Y-%m-%d %H:%M} UTC"
        if freeze.until <= now:
            yield f"The freeze until {until} is over; take it out."
        elif freeze.until - freeze.begins > LONG_FREEZE:
            yield f"The freeze until {until} lasts longer than a year; mode observe says that too."


def check(policy: Policy) -> Checked:
    """What a policy that could be read means, or does not."""
    index = RuleIndex.of(policy)
    problems = (*_zones(policy), *_unmatchable(policy), *ineffective_rules(index), *contradictions(index),
                *_too_dear(policy), *_impossible_selectors(index))  # fmt: skip
    return Checked(policy=policy, problems=problems, remarks=tuple(_remarks(index)))


def _zones(policy: Policy) -> Iterator[str]:
    """Time zones that are not in the IANA database."""
    if policy.digest is not None and zone_or_none(policy.digest.zone) is None:
        yield (
            f"account.digest names the time zone {policy.digest.zone!r}, which the IANA time zone "
            "database does not have; one is Europe/Berlin."
        )


def _unmatchable(policy: Policy) -> Iterator[str]:
    """Rules that no volume there can be fits."""
    for number, rule in enumerate(policy.rules, 1):
        for key, value in rule.selector.tags:
            if not key or len(key) > LONGEST_KEY:
                yield (
                    f"Rule {number} can never match: a tag key has 1 to {LONGEST_KEY} characters."
                )
            elif len(value) > LONGEST_VALUE:
                yield (
                    f"Rule {number} can never match: a tag value has at most {LONGEST_VALUE} "
                    "characters."
                )


def _too_dear(policy: Policy) -> Iterator[str]:
    """Limits of one volume that are more than all volumes may have."""
    for where, settings in _everywhere(policy):
        increase = settings.get("price_increase_usd")
        if increase is not None and increase > policy.account_increase_usd:  # type: ignore[operator]
            yield (
                f"{where} allows one volume ${increase:,} a month more, but all volumes of the "
                f"account together may have ${policy.account_increase_usd:,}."
            )


def _everywhere(policy: Policy) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Each place of the policy that sets something, in words, and what it sets."""
    defaults = {name: getattr(policy.defaults, name) for name in NAMES}
    yield "The defaults section", defaults
    for number, rule in enumerate(policy.rules, 1):
        yield f"Rule {number}", dict(rule.settings)


def _impossible_selectors(index: RuleIndex) -> Iterator[str]:
    """Limits under which no change at all would ever be allowed."""
    reported: set[str] = set()
    for where, selector in _places(index.policy):
        reasons: list[str] = []
        for kind in selector.volume_types or EBS_TYPES:
            effective = index.limits(selector, kind)
            tags_may = effective.limits.tags_may
            if tags_may is TagsMay.WIDEN or not (effective.enrolled or tags_may is TagsMay.ENROL):
                break  # a tag may still allow it, or it is not meant to act there
            reason = why_never_matches(effective, kind)
            if reason is None:
                break
            reasons.append(reason)
        else:
            reason = max(reasons, key=reasons.count)
            if reason not in reported:
                reported.add(reason)
                yield f"{where} can never allow anything: {reason}."


def _places(policy: Policy) -> Iterator[tuple[str, Selector]]:
    if not policy.rules:
        yield "The policy", Selector()
    for number, rule in enumerate(policy.rules, 1):
        yield f"Rule {number}", rule.selector


def why_never_matches(effective: EffectiveLimits, origin: VolumeType) -> str | None:
    """Why a volume of type `origin` could never be changed under its limits, None if it could."""
    limits = effective.limits
    if limits.slots_reserve >= MAX_MODIFICATIONS:
        where = dict(effective.origins).get("slots_reserve", "defaults")
        return (
            f"slots_reserve {limits.slots_reserve} ({where}) leaves people all of AWS's "
            f"{MAX_MODIFICATIONS} changes in 24 hours"
        )
    if never_opens(limits.change_windows):
        where = dict(effective.origins).get("change_windows", "defaults")
        listed = "; ".join(map(str, limits.change_windows))
        return f"change_windows {listed} ({where}) are never open"
    kept = {origin} & {VolumeType.GP3, VolumeType.IO1, VolumeType.IO2}
    reasons = [_why_not(limits, origin, target) for target in {*limits.types, *kept}]
    if None in reasons:
        return None
    return "; ".join(sorted({reason for reason in reasons if reason is not None}))


def _why_not(limits: Limits, origin: VolumeType, target: VolumeType) -> str | None:
    """Why a volume may never be of type `target`, None if it may."""
    iops, mibps = LIMITS[target].iops, LIMITS[target].throughput_mibps
    if DURABILITY_PERCENT[target] < DURABILITY_PERCENT[origin]:
        return f"{target} is less durable than {origin}"
    if iops is not None and iops[0] > limits.max_iops:
        return f"max_iops is {limits.max_iops:,} and {target} begins at {iops[0]:,} IOPS"
    if mibps is not None and mibps[0] > limits.max_throughput_mibps:
        return (
            f"max_throughput_mibps is {limits.max_throughput_mibps:,} and {target} begins at "
            f"{mibps[0]:,} MiB/s"
        )
    if LIMITS[target].iops is None and target is origin and not limits.growth:
        return f"{target} can only grow, and growth is false"
    return None


def _remarks(index: RuleIndex) -> Iterator[str]:
    """What is legal and probably not meant."""
    policy, earlier = index.policy, set[str]()
    for number, rule in enumerate(policy.rules, 1):
        if rule.selector == Selector():
            yield f"Rule {number} matches every resource; write it under defaults instead."
        for name, value in rule.settings:
            usual = defaults_for(
                rule.selector.kind or Kind.EBS, policy.defaults, policy.rds_ceilings
            )
            without = {getattr(usual, name), getattr(policy.defaults, name)}
            if name not in earlier and without == {value}:
                yield (
                    f"Rule {number} sets {NAMES[name]} to what holds without it "
                    f"({shown(name, value)})."
                )
        earlier |= {name for name, _ in rule.settings}
        limits = index.usual(rule)
        yield from _of_tags(number, rule, limits)
        yield from _idle(number, rule, limits)
        yield from remarks_on_ceilings(number, rule, limits)
    for where, settings in _everywhere(policy):
        if settings.get("slots_reserve") == MAX_MODIFICATIONS - 1:
            yield (
                f"{where} leaves Headroom one change in 24 hours (slots_reserve "
                f"{MAX_MODIFICATIONS - 1}): what it raises it never gives back, because no slot "
                "would be left to raise it again."
            )
    yield from _contrary(index)
    yield from events_above_limits(policy)
    yield from remarks_on_kinds(policy)


def _contrary(index: RuleIndex) -> Iterator[str]:
    """Limits of which one leaves nothing of another."""
    policy = index.policy
    each = [("The defaults section", policy.defaults, {"min_iops", "min_throughput_mibps"})]
    each += [
        (f"Rule {number}", index.usual(rule), {name for name, _ in rule.settings})
        for number, rule in enumerate(policy.rules, 1)
    ]
    for where, limits, said in each:
        for least, most in (
            ("min_iops", "max_iops"),
            ("min_throughput_mibps", "max_throughput_mibps"),
        ):
            low, high = getattr(limits, least), getattr(limits, most)
            if low > high and {least, most} & said:
                yield (
                    f"{where} never gives back below {least} {low:,}, and never raises above {most} {high:,}: "
                    "of what Headroom raises it gives nothing back."
                )
    if policy.max_in_flight_per_az > policy.max_in_flight:
        yield (
            f"account.max_in_flight_per_az {policy.max_in_flight_per_az:,} does not count: max_in_flight "
            f"allows {policy.max_in_flight:,} in all zones together."
        )


def _of_tags(number: int, rule: Rule, limits: Limits) -> Iterator[str]:
    """Matching on a tag that decides by itself."""
    for key, _ in rule.selector.tags:
        plain = key.strip().lower()
        mode = "mode" in dict(rule.settings)
        if plain == MODE_TAG and mode and limits.tags_may is not TagsMay.NARROW:
            yield f"Rule {number} sets mode, but the tag it matches by ({key}) sets it again."
        elif plain.startswith(PREFIX):
            yield f"Rule {number} matches by {key}, a tag that is itself a setting."


def _idle(number: int, rule: Rule, limits: Limits) -> Iterator[str]:
    """Settings that others make idle."""
    said = dict(rule.settings)
    if "max_size_gib" in said and not (limits.growth or limits.grow_space):
        yield f"Rule {number} sets max_size_gib, which does not count while growth is false."
    if said.get("grow_space") and rule.selector.kind is Kind.EBS:
        how = "in a deployment with ebs_free_space on, for file systems that its agents measure"
        yield f"Rule {number} sets grow_space, which counts for volumes only {how}."
    if "space_horizon_days" in said and not limits.grow_space:
        idle = "which does not count while grow_space is false"
        yield f"Rule {number} sets space_horizon_days, {idle}."
    if said.get("full_copy") and not limits.growth:
        yield f"Rule {number} sets full_copy, which does not count while growth is false."
    if "approve_above_usd" in said and limits.mode is Mode.APPROVE:
        idle = "which does not count while the mode is approve"
        yield f"Rule {number} sets approve_above_usd_per_month, {idle}."
    for name in ("give_back_after_days", "min_iops", "min_throughput_mibps"):
        if name in said and not limits.give_back:
            yield f"Rule {number} sets {name}, which does not count while give_back is false."


def first_problem(policy: Policy, *, source: str) -> None:
    """Raise PolicyError with the first problem of what the policy means; nothing if there is none."""
    problems = check(policy).problems
    if problems:
        raise PolicyError(f"{source}: {problems[0]}")


__all__ = ["Checked", "check", "check_file", "first_problem"]
