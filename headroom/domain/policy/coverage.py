"""Remarks on what a policy does not cover for databases; see docs/policy.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace

from headroom.domain.catalog import GP3_INCLUDED_IOPS, GP3_INCLUDED_MIBPS
from headroom.domain.policy.enrolment import at_most, requires_named_kind
from headroom.domain.policy.fields import FRIENDLY, POLICY_NAMES
from headroom.domain.policy.limits import MODES, RDS_CEILINGS, Limits, Mode
from headroom.domain.policy.policy import Policy, Rule, Selector
from headroom.domain.policy.tags import MODE_TAG
from headroom.domain.resources import GOVERNED, STRIPES, Kind, VolumeType

DATABASES = tuple(kind for kind in GOVERNED if requires_named_kind(kind))
MEANT_FOR_DATABASES = frozenset(
    name for name in FRIENDLY
    if name in ("grow_space", "free_space_percent", "space_horizon_days", "full_copy")
    or name.startswith("aurora_")
)  # fmt: skip
"""Settings that are of no use for volumes, or only where their free space is read."""
_KINDS = " or ".join(f"kind: {kind.value}" for kind in DATABASES)


def overrides(later: Selector, rule: Selector) -> bool:
    """Whether a later rule replaces what `rule` set, where both match.

    A rule without a kind only narrows what a rule for databases set.
    """
    named = rule.kind is not None and requires_named_kind(rule.kind)
    return not named or later.kind is rule.kind


def remarks_on_kinds(policy: Policy) -> Iterator[str]:
    """Remarks where a policy seems to enrol or widen databases and does not."""
    named: set[str] = set()
    for rule in policy.rules:
        if rule.selector.kind in DATABASES:
            named |= {name for name, _ in rule.settings}
    if "mode" not in named:
        enrol = [where for where, said in _unnamed(policy) if _enrols(said.get("mode"))]
        if enrol:
            yield (
                f"{_listed(enrol)} {'enrols' if len(enrol) == 1 else 'enrol'} volumes and no "
                f"database, which takes a tag of its own or a rule that names {_KINDS}; a rule "
                "that names kind: ebs says the same without this remark."
            )
    usual = replace(Limits(), **dict(RDS_CEILINGS))  # type: ignore[arg-type]
    for where, said in _unnamed(policy):
        wider = [
            POLICY_NAMES[name] for name, value in said.items()
            if name != "mode" and name not in named
            and at_most(name, getattr(usual, name), value) != value
        ]  # fmt: skip
        for_databases = [name for name in wider if name in MEANT_FOR_DATABASES]
        if for_databases:
            yield (
                f"{where} sets {', '.join(for_databases)}, which databases take only from a rule that "
                f"names {_KINDS}."
            )
        wider = [name for name in wider if name not in for_databases]
        if wider and named:  # otherwise nobody expects it to widen databases
            yield (
                f"{where} widens {', '.join(wider)} for volumes; for a database it stays as it is "
                f"unless a rule that names {_KINDS} sets it."
            )


def remarks_on_ceilings(number: int, rule: Rule, limits: Limits) -> Iterator[str]:
    """Remarks where a ceiling excludes free performance; `limits` are those under the rule."""
    if rule.selector.kind is not Kind.RDS or not _enrols(limits.mode):
        return
    iops, mibps = STRIPES * GP3_INCLUDED_IOPS, STRIPES * GP3_INCLUDED_MIBPS
    low = [
        f"{POLICY_NAMES[name]} {value:,}"
        for name, value, least in (
            ("max_iops", limits.max_iops, iops),
            ("max_throughput_mibps", limits.max_throughput_mibps, mibps),
        )
        if value < least
    ]
    if low and VolumeType.GP3 in limits.types:
        yield (
            f"Rule {number} leaves databases {' and '.join(low)}, which rules out gp3 from the "
            f"striping threshold on (400 GiB, Oracle 200): it includes {iops:,} IOPS and {mibps} "
            "MiB/s at no charge, and can have no less."
        )


def _enrols(mode: object) -> bool:
    return isinstance(mode, Mode) and MODES.index(mode) > MODES.index(Mode.OBSERVE)


def _unnamed(policy: Policy) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Places that set something without naming a kind, and what they set."""
    yield "The defaults section", {f.name: getattr(policy.defaults, f.name) for f in fields(Limits)}
    for number, rule in enumerate(policy.rules, 1):
        by_mode = any(key.strip().lower() == MODE_TAG for key, _ in rule.selector.tags)
        if rule.selector.kind is None and not by_mode:  # a mode tag enrols every kind
            yield f"Rule {number}", dict(rule.settings)


def _listed(places: list[str]) -> str:
    first, *others = places
    listed = [first, *(place.lower() for place in others)]
    return first if not others else f"{', '.join(listed[:-1])} and {listed[-1]}"
