"""The owner's limits: a policy, and the limits it sets for one resource."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum

from headroom.domain.resources import Kind, Volume, VolumeType

MODE_TAG = "headroom"
"""Tag whose value is a mode; `headroom: auto` enrols a resource."""


class Mode(StrEnum):
    """How far Headroom may go with a resource; every next one includes the ones before."""

    OFF = "off"
    OBSERVE = "observe"
    APPROVE = "approve"
    AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the owner allows for one resource. Sizes GiB, throughput MiB/s, money USD per month."""

    mode: Mode = Mode.OBSERVE
    types: tuple[VolumeType, ...] = (VolumeType.GP3, VolumeType.IO2)
    max_iops: int = 16_000
    max_throughput_mibps: int = 1_000
    max_size_gib: int = 16_384
    growth: bool = False
    """Whether size may grow at all; it can never be undone."""
    largest_step: float = 4.0
    price_increase_usd: Decimal = Decimal(250)
    """Most the monthly price may exceed the price at enrolment."""
    slots_reserve: int = 1
    """Of AWS's four modifications per 24 h, how many are left for people."""
    cooldown_minutes: int = 0
    """Quiet time after Headroom's own last change."""
    headroom_percent: int = 10
    """Spare capacity planned above what is needed."""
    relief_value_usd_per_minute: float = 0.10
    """What a starved minute is worth to the owner."""
    give_back: bool = True
    """Whether IOPS and throughput that are not needed may be lowered again (size never)."""
    give_back_after_days: float = 1.0
    """Least measured days before anything is lowered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """Which resources a rule is for; every given part must match, an empty one matches all."""

    kind: Kind | None = None
    volume_types: tuple[VolumeType, ...] = ()
    tags: tuple[tuple[str, str], ...] = ()

    def matches(self, volume: Volume) -> bool:
        """Whether `volume` is one of those the rule is for."""
        if self.kind is not None and volume.ref.kind is not self.kind:
            return False
        if self.volume_types and volume.configuration.volume_type not in self.volume_types:
            return False
        return all(volume.tag(key) == value for key, value in self.tags)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Settings for the resources a selector names; a later rule overrides an earlier one."""

    selector: Selector
    settings: tuple[tuple[str, object], ...]
    """Field of Limits and its value, already of the field's type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A whole policy. `version` is the hash of its canonical text; see policy_text.py."""

    version: str
    defaults: Limits = field(default_factory=Limits)
    rules: tuple[Rule, ...] = ()
    account_increase_usd: Decimal = Decimal(2_000)
    """Most the increases in force may sum up to in this account and Region."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyUnreadable:
    """There is a policy but it cannot be used; nothing may be done until it can."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveLimits:
    """The limits for one resource and where the mode came from."""

    limits: Limits
    mode_from: str
    """`defaults`, `rule N`, or `tag`."""
    enrolled: bool
    """Whether a person asked for more than watching: by tag, or by a rule that sets the mode."""
    problem: str | None
    """Why the tag on the resource could not be understood, None when it could."""


def limits_for(policy: Policy, volume: Volume) -> EffectiveLimits:
    """The limits of `policy` for `volume`: defaults, then rules in order, then its own tag."""
    limits, mode_from = policy.defaults, "defaults"
    for number, rule in enumerate(policy.rules, start=1):
        if rule.selector.matches(volume):
            limits = replace(limits, **dict(rule.settings))  # type: ignore[arg-type]
            if "mode" in dict(rule.settings):
                mode_from = f"rule {number}"
    problem = None
    tag = volume.tag(MODE_TAG)
    if tag is not None:
        try:
            limits, mode_from = replace(limits, mode=Mode(tag.strip().lower())), "tag"
        except ValueError:
            problem = f"tag {MODE_TAG}={tag!r} is not one of off, observe, approve, auto"
            limits, mode_from = replace(limits, mode=Mode.OBSERVE), "tag"
    enrolled = limits.mode in (Mode.APPROVE, Mode.AUTO)
    return EffectiveLimits(limits=limits, mode_from=mode_from, enrolled=enrolled, problem=problem)
