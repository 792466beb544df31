"""Checks after a simulation that no change broke the owner's limits, by its own arithmetic.

It shares only the policy and AWS's catalogue with the engine's guardrails, so that a mistake in one
is found by the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from headroom.domain.catalog import included, why_invalid
from headroom.domain.catalog.ebs import LIMITS, MAX_MODIFICATIONS, capability
from headroom.domain.catalog.rds import full_copy
from headroom.domain.policy import Limits, Mode, OneWay, Policy
from headroom.domain.resources import Configuration, VolumeType
from headroom.proving.scenarios import AwsBehaviour, Resource
from headroom.proving.simulation.result import Change

DAY = timedelta(hours=24)
ROUNDING = 1 + 1e-5


def violations(
    changes: Sequence[Change],
    starts: Sequence[datetime],
    *,
    since: datetime,
    resource: Resource,
    aws: AwsBehaviour,
    policy: Policy,
) -> tuple[str, ...]:
    """One sentence for every limit that a change broke.

    `starts` are all modifications; `resource` is what it was `since` the start. GiB that somebody
    else added meanwhile, such as RDS storage autoscaling, are no increase of Headroom's.
    """
    limits = _limits(policy, resource)
    found: list[str] = []
    grown_gib = 0
    for number, change in enumerate(changes):
        before = changes[number - 1] if number else None
        last = resource.configuration if before is None else before.target
        grown_gib += change.origin.size_gib - last.size_gib
        base = _base(resource.configuration, changes[:number], change.at, since, aws)
        base = replace(base, size_gib=base.size_gib + grown_gib)
        increase = aws.prices.monthly(change.target) - aws.prices.monthly(base)
        hidden = () if aws.known_to_ledger else [at for at in aws.modified_at if at < since]
        for what in (
            *_of_mode(limits),
            *_of_target(limits, change.origin, change.target),
            *_of_step(limits, change.origin, change.target),
            *_of_price(limits, policy, increase),
            *_of_slots(limits, change.at, [at for at in starts if at not in hidden]),
            *_of_cooldown(limits, change, before),
        ):
            found.append(f"{change.at.isoformat()}: {change.target}: {what}")
    return tuple(found)


def _limits(policy: Policy, resource: Resource) -> Limits:
    """The owner's limits for this volume: defaults, then rules, then the tag."""
    values = {name: getattr(policy.defaults, name) for name in Limits.__dataclass_fields__}
    if resource.configuration.database is not None:
        values |= dict(policy.rds_ceilings)
    tags = dict(resource.tags)
    kind = resource.configuration.volume_type
    for rule in policy.rules:
        chosen = rule.selector
        if chosen.volume_types and kind not in chosen.volume_types:
            continue
        if all(tags.get(key) == value for key, value in chosen.tags):
            values.update(dict(rule.settings))
    for key, word in tags.items():
        if key.strip().lower() in ("headroom", "headroom:mode"):
            mode = word.strip().lower()
            values["mode"] = Mode(mode) if mode in list(Mode) else Mode.OBSERVE
    return Limits(**values)


def _of_mode(limits: Limits) -> Iterator[str]:
    if limits.mode is not Mode.AUTO:
        yield f"the mode is {limits.mode.value}, only auto may act"


def _of_target(limits: Limits, origin: Configuration, target: Configuration) -> Iterator[str]:
    problem = why_invalid(target)
    if problem is not None:
        yield problem
    for_space = limits.grow_space and target.database is not None
    stays = target.volume_type is origin.volume_type and (
        for_space or target.size_gib == origin.size_gib
    )
    if target.volume_type not in limits.types and not stays:
        yield f"{target.volume_type.value} is not allowed"
    becomes_io2 = VolumeType.IO2 is target.volume_type is not origin.volume_type
    if becomes_io2 and limits.one_way is not OneWay.ALLOW:
        yield "io2 is for good, and nobody was asked"
    if target.size_gib < origin.size_gib:
        yield "the size shrank"
    if target.size_gib > origin.size_gib and not (limits.growth or for_space):
        yield "the size grew, which is not allowed"
    if full_copy(origin, target) and not limits.full_copy:
        yield "all data of the database was copied"
    if target.size_gib > max(limits.max_size_gib, origin.size_gib):
        yield f"the size is above {limits.max_size_gib} GiB"
    now, then = capability(origin), capability(target)
    if then.sustained_iops > max(limits.max_iops, now.sustained_iops):
        yield f"IOPS are above {limits.max_iops}"
    if (target.throughput_mibps or 0) > max(limits.max_throughput_mibps, now.sustained_mibps):
        yield f"MiB/s are above {limits.max_throughput_mibps}"
    if target == origin:
        yield "the change changes nothing"


def _of_step(limits: Limits, origin: Configuration, target: Configuration) -> Iterator[str]:
    now, then, ranges = capability(origin), capability(target), LIMITS[target.volume_type]
    least_iops, least_mibps = float(ranges.iops[0] if ranges.iops else 3_000), 125.0
    if target.database is not None:
        least_iops, least_mibps = included(target)
    allowed = limits.largest_step * max(now.burst_iops, least_iops)
    if then.sustained_iops > allowed * ROUNDING:
        yield f"IOPS grow to {then.sustained_iops:g}, more than {limits.largest_step:g}-fold"
    if target.throughput_mibps is not None:
        allowed = limits.largest_step * max(now.burst_mibps, least_mibps)
        if target.throughput_mibps > allowed * ROUNDING:
            yield f"MiB/s grow to {target.throughput_mibps}, over {limits.largest_step:g}-fold"


def _base(
    first: Configuration,
    earlier: Sequence[Change],
    at: datetime,
    since: datetime,
    aws: AwsBehaviour,
) -> Configuration:
    """The configuration at enrolment, or at the owner's last change before `at`."""
    owners = max((t for t in aws.modified_at if since <= t <= at), default=None)
    if owners is None:
        return first
    return next((c.target for c in reversed(earlier) if c.at <= owners), first)


def _of_price(limits: Limits, policy: Policy, increase: Decimal) -> Iterator[str]:
    if increase > limits.price_increase_usd:
        yield f"${increase} a month above the price at enrolment, over ${limits.price_increase_usd}"
    if increase > policy.account_increase_usd:
        yield f"${increase} a month, over the account's ${policy.account_increase_usd}"


def _of_slots(limits: Limits, at: datetime, starts: Sequence[datetime]) -> Iterator[str]:
    known = [start for start in starts if at - DAY < start <= at]
    if len(known) > MAX_MODIFICATIONS - limits.slots_reserve:
        yield f"{len(known)} modifications in 24 h, {limits.slots_reserve} slots are in reserve"


def _of_cooldown(limits: Limits, change: Change, before: Change | None) -> Iterator[str]:
    """The cooldown, for which nobody waits who restores what the last change lowered."""
    if before is None or (_lowers(before) and not _lowers(change)):
        return
    since = change.at - before.at
    if since < timedelta(minutes=limits.cooldown_minutes):
        yield f"{since} after the last change, cooldown is {limits.cooldown_minutes} min"


def _lowers(change: Change) -> bool:
    now, then = capability(change.origin), capability(change.target)
    return then.burst_iops < now.burst_iops or then.burst_mibps < now.burst_mibps
