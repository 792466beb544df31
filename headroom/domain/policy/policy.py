"""The owner's policy: defaults and rules, and the effective limits of a resource."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache

from headroom.domain.policy.enrolment import Ceilings, LimitsReader
from headroom.domain.policy.events import KnownEvent
from headroom.domain.policy.fields import POLICY_NAMES, plain_value
from headroom.domain.policy.freezes import Freeze
from headroom.domain.policy.hard_caps import HARD_CAP, HardCaps, capped_limits
from headroom.domain.policy.limits import NARROWER, RDS_CEILINGS, Limits, Mode
from headroom.domain.policy.readers import GROUP_TAG
from headroom.domain.policy.selector import Selector
from headroom.domain.policy.tags import apply_tags, mode_tags
from headroom.domain.policy.time_of_day import TimeOfDay
from headroom.domain.resources import DEFAULT_CODE_TAGS, LATER, Volume, spoken
from headroom.domain.state import BlastRadius


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Settings for the resources a selector names; a later rule overrides an earlier one."""

    selector: Selector
    settings: tuple[tuple[str, object], ...]
    """Field of Limits and its value, already of the field's type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A whole policy. `version` is the hash of its canonical text; `headroom/policy/text.py` writes that."""

    version: str
    defaults: Limits = field(default_factory=Limits)
    rds_ceilings: Ceilings = RDS_CEILINGS
    """What the defaults say of the ceilings of databases: field of Limits and value."""
    rules: tuple[Rule, ...] = ()
    known_events: tuple[KnownEvent, ...] = ()
    """Load that the owner announces; see events.py."""
    account_increase_usd: Decimal = Decimal(2_000)
    """Most the increases in force may sum up to in this account and Region."""
    code_tags: tuple[tuple[str, str], ...] = DEFAULT_CODE_TAGS
    """Tags (key, value) that mean that code owns a volume."""
    group_tag: str = GROUP_TAG
    """Key of the tag whose value names the striped set a volume belongs to."""
    messages_per_hour: int = 20
    """Most messages to people within any 60 minutes; the digest is not one of them."""
    digest: TimeOfDay | None = TimeOfDay(hour=7, minute=0)  # noqa: RUF009 - it is frozen
    """When the daily digest is due; None for never."""
    max_in_flight: int = BlastRadius().max_in_flight
    max_changes_per_hour: int = BlastRadius().max_changes_per_hour
    max_in_flight_per_az: int = BlastRadius().max_in_flight_per_az
    freezes: tuple[Freeze, ...] = ()
    calendars: tuple[str, ...] = ()
    """Change Calendars, by name or ARN, that must all be open."""
    quotas: tuple[tuple[str, int], ...] = ()
    """AWS's quotas for concurrent modifications, where the owner knows them."""
    caps: HardCaps = HardCaps()  # noqa: RUF009 - it is frozen
    """What the deployment never exceeds, whatever the policy says; not part of its text."""

    @property
    def blast_radius(self) -> BlastRadius:
        """How many changes may be in flight at once."""
        return BlastRadius(
            max_in_flight=self.max_in_flight, max_changes_per_hour=self.max_changes_per_hour,
            max_in_flight_per_az=self.max_in_flight_per_az,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyUnreadable:
    """The policy cannot be read, and nothing may change until it can."""

    reason: str


def beyond_caps(policy: Policy, caps: HardCaps) -> Iterator[str]:
    """Each setting of a policy that allows more than the hard caps, in words."""
    places: list[tuple[str, dict[str, object]]] = [
        ("defaults", {name: getattr(policy.defaults, name) for name in caps.limits}),
        ("defaults of databases", dict(policy.rds_ceilings)),
        *((f"rule {number}", dict(rule.settings)) for number, rule in enumerate(policy.rules, 1)),
    ]
    for where, settings in places:
        for name, cap in caps.limits.items():
            if name in settings and NARROWER[name](settings[name], cap) != settings[name]:
                called = POLICY_NAMES[name]
                said = plain_value(called, settings[name]), plain_value(called, cap)
                yield f"{where}: {called} {said[0]} is more than the hard cap {said[1]}"
    most = caps.account_increase_usd
    if most is not None and policy.account_increase_usd > most:
        asked = policy.account_increase_usd
        yield f"account: an increase of ${asked:,} is more than the hard cap ${most:,}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveLimits:
    """The limits for one resource, and where each of them came from."""

    limits: Limits
    mode_from: str
    """`defaults`, `rule N`, or `tag`; and why not more, where the kind was not named."""
    enrolled: bool
    """Whether a person asked for more than watching this resource, of this kind."""
    problem: str | None
    """Why the tags on the resource were not understood, None if they were."""
    origins: tuple[tuple[str, str], ...] = ()
    """Fields of Limits not from the defaults, and where from: `rule N`, `tag KEY`, as shipped, `hard cap`."""
    notes: tuple[str, ...] = ()
    """Settings that were not applied, a sentence each: from tags, or without the kind."""
    kept_out: bool = field(default=False, metadata=LATER)
    """Whether it would be enrolled if its tags were understood."""

    @property
    def tags_that_set(self) -> dict[str, str]:
        """The tags that decided a limit, by its field."""
        return {
            name: origin.removeprefix("tag ")
            for name, origin in self.origins
            if origin.startswith("tag ")
        }

    @property
    def by_hard_cap(self) -> tuple[str, ...]:
        """What a policy calls the limits that the deployment's hard caps set."""
        return tuple(POLICY_NAMES[name] for name, where in self.origins if where == HARD_CAP)


def limits_for(
    policy: Policy, volume: Volume, near: Mapping[int, Rule] | None = None
) -> EffectiveLimits:
    """The limits of `policy` for `volume`: defaults, rules in order, its own tags, then hard caps.

    `near` are the only rules that can match it, by number and in order; None is all of them.
    For a database only what names its kind allows anything; see enrolment.py.
    """
    if near is None:
        return _limits_by_all_rules(_This(policy), volume)
    return _limits(policy, volume, near)


@lru_cache(maxsize=256)
def _limits_by_all_rules(this: _This, volume: Volume) -> EffectiveLimits:
    """Remembered: one reconciliation asks several times, and a scan asks of the same volumes again."""
    return _limits(this.policy, volume, dict(enumerate(this.policy.rules, start=1)))


class _This:
    """This policy and no equal one: a record would say 4.0 where the other has 4."""

    __slots__ = ("policy",)

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def __hash__(self) -> int:
        return id(self.policy)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _This) and other.policy is self.policy


def _limits(policy: Policy, volume: Volume, rules: Mapping[int, Rule]) -> EffectiveLimits:
    reading = LimitsReader(kind=volume.ref.kind)
    reading.defaults(policy.defaults, policy.rds_ceilings)
    for number, rule in rules.items():
        if rule.selector.matches(volume):
            reading.rule(number, rule.settings, rule.selector.kind)
    own = apply_tags(reading.limits, volume.tags)
    limits, origins = own.limits, reading.origins | dict(own.origins)
    asked = {limits.mode}
    if own.problem is not None:  # of tags that contradict each other, each counts
        each = [(), *((tag,) for tag in mode_tags(volume.tags))]
        asked = {apply_tags(reading.limits, tags).limits.mode for tags in each}
        limits = replace(limits, mode=min(limits.mode, Mode.OBSERVE, key=list(Mode).index))
        origins["mode"] = "tag"
    if limits.give_back_after_days is None:
        limits = replace(limits, give_back_after_days=limits.usual_days(volume.ref.kind))
    notes = reading.notes(limits, [name for name, where in origins.items() if where[:3] == "tag"])
    limits, by_cap, capped = capped_limits(policy.caps, limits, volume.tags)
    origins |= by_cap
    return EffectiveLimits(
        limits=limits,
        mode_from=_mode_from(origins, reading),
        enrolled=limits.mode in (Mode.APPROVE, Mode.AUTO),
        problem=None if own.problem is None else spoken(volume.ref.kind, own.problem),
        origins=tuple(sorted(origins.items())),
        notes=(*notes, *own.notes, *capped),
        kept_out=own.problem is not None and not asked.isdisjoint((Mode.APPROVE, Mode.AUTO)),
    )


def with_caps(policy: Policy, caps: HardCaps) -> Policy:
    """`policy` under the deployment's hard caps, which its version then names."""
    if caps == HardCaps():
        return policy
    most, cap = policy.account_increase_usd, caps.account_increase_usd
    digest = hashlib.sha256(str(caps).encode()).hexdigest()[:6]
    return replace(
        policy, caps=caps, version=f"{policy.version}+{digest}",
        account_increase_usd=most if cap is None else min(most, cap),
    )  # fmt: skip


def events_of(policy: Policy, volume: Volume) -> tuple[KnownEvent, ...]:
    """The known events of `policy` that `volume` takes part in."""
    return tuple(event for event in policy.known_events if event.selector.matches(volume))


def _mode_from(origins: Mapping[str, str], reading: LimitsReader) -> str:
    where = origins.get("mode", "defaults")
    if where.startswith("tag"):
        return "tag"
    if "mode" in reading.ignored_settings:
        return f"{where}; nothing that enrols it names kind: {reading.kind.value}"
    return where


def narrowed(policy: Policy, account_id: str | None, region: str | None) -> Policy:
    """The part of `policy` that applies in an account and Region, which its rules then need not name.

    None is an unknown one. The limits of a resource there stay the same, and so does the version.
    """

    def here(selector: Selector) -> Selector:
        return replace(
            selector,
            accounts=selector.accounts if account_id is None else (),
            regions=selector.regions if region is None else (),
        )

    rules = (rule for rule in policy.rules if rule.selector.counts_in(account_id, region))
    events = (one for one in policy.known_events if one.selector.counts_in(account_id, region))
    return replace(
        policy,
        rules=tuple(replace(r, selector=here(r.selector)) for r in rules),
        known_events=tuple(replace(e, selector=here(e.selector)) for e in events),
    )
