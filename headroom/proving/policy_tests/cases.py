"""Tests of a policy: situations with the decisions that are expected of them, beside the policy.

The format is in docs/policy.md. Every situation is decided by the engine itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

from headroom.domain.catalog import why_invalid
from headroom.domain.catalog.ebs import LIMITS
from headroom.domain.decision import Decision, Reason, decide
from headroom.domain.guardrails import Guardrail
from headroom.domain.policy import FRIENDLY, EffectiveLimits, Policy, PolicyError, limits_for
from headroom.domain.resources import (
    EBS_TYPES,
    Configuration,
    Kind,
    ResourceRef,
    Volume,
    VolumeType,
)
from headroom.policy import ACCOUNT_ID, REGION, load_policy_file
from headroom.proving.inputs import BadInput, Block, as_quoted, load_yaml
from headroom.proving.policy_tests.differences import Expected, differences
from headroom.proving.policy_tests.situation import (
    USUAL_REGION,
    LedgerFacts,
    Situation,
    SituationLoad,
    decision_input,
    described_volume,
    load_named,
)
from headroom.proving.vectorized import SSD

VOLUME = ("type", "size", "iops", "throughput", "tags", "account", "region")
LOAD = ("iops", "mibps", "io_kib", "for", "before_iops", "days")
LEDGER = ("changed_ago", "increase_usd", "account_increase_usd", "acted_ago", "paused", "failures")
EXPECT = ("answer", "approval", "reason", "to", "blocked_by", "limits", "price_change_at_most")
TO = ("type", "size", "iops", "throughput")
WORDS = ("idle", "busy", "starved")
ANSWERS = ("act", "hold", "escalate")
_RANGE = re.compile(r"(\d+)?\.\.(\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTest:
    """One test: a situation and its expectation. `situation` is None without a load."""

    name: str
    volume: Volume
    situation: Situation | None
    expected: Expected


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTests:
    """A file of tests and the policy they are about."""

    policy_path: Path
    policy: Policy
    tests: tuple[PolicyTest, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of one test; `differences` is empty when it passed."""

    test: PolicyTest
    effective: EffectiveLimits
    decision: Decision | None
    differences: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether there is no difference."""
        return not self.differences


def load_tests(path: Path, *, policy: Path | None = None) -> PolicyTests:
    """The tests in a file; `policy` is used in place of the one it names.

    Raises BadInput, PolicyError in one sentence.
    """
    top = Block(load_yaml(path), source=path.name, path="", known=("policy", "tests"))
    chosen = policy or path.parent / top.text("policy", "policy.yaml")
    listed = top.items("tests")
    if not listed:
        raise top.wrong("tests", "is empty; a file without tests tests nothing")
    tests = tuple(_test(one, path.name, f"tests[{i}]") for i, one in enumerate(listed, 1))
    return PolicyTests(policy_path=chosen, policy=load_policy_file(chosen), tests=tests)


def run_policy_test(tests: PolicyTests) -> Iterator[Verdict]:
    """Decide every situation and compare, in order."""
    for test in tests.tests:
        effective = limits_for(tests.policy, test.volume)
        decision = None
        if test.situation is not None:
            decision = decide(decision_input(test.situation, tests.policy))
        yield Verdict(
            test=test,
            effective=effective,
            decision=decision,
            differences=tuple(differences(test.expected, effective, decision)),
        )


def _test(value: object, source: str, path: str) -> PolicyTest:
    top = Block(value, source=source, path=path,
                known=("name", "volume", "load", "ledger", "expect"))  # fmt: skip
    top.required("volume", "expect")
    volume = _volume(top.block("volume", VOLUME))
    expected = _expected(top.block("expect", EXPECT))
    load = _load(top, volume)
    ledger_facts = _ledgered(top.block("ledger", LEDGER))
    if load is None and replace(expected, limits={}) != Expected():
        raise top.wrong("load", "is missing; nothing is decided without one")
    if load is not None and volume.configuration.volume_type not in SSD:
        raise top.wrong("load", f"cannot be simulated on {volume.configuration.volume_type.value}; "
                        "leave it out and expect limits only")  # fmt: skip
    situation = None
    if load is not None:
        situation = Situation(volume=volume, load=load, ledger_facts=ledger_facts)
    name = top.text("name", f"{volume.configuration} {path}")
    return PolicyTest(name=name, volume=volume, situation=situation, expected=expected)


def _volume(block: Block) -> Volume:
    kind = VolumeType(block.choice("type", list(EBS_TYPES)))
    ranges = LIMITS[kind]
    iops = mibps = None
    if ranges.iops is not None:
        iops = block.whole("iops", ranges.iops[0], low=1, high=1_000_000)
    if ranges.throughput_mibps is not None:
        mibps = block.whole("throughput", ranges.throughput_mibps[0], low=1, high=100_000)
    for key, own in (("iops", iops), ("throughput", mibps)):
        if block.has(key) and own is None:
            raise block.wrong(key, f"is given, but a {kind.value} volume has no {key} to set")
    configuration = Configuration(
        volume_type=kind, size_gib=block.whole("size", 100, low=1, high=1_000_000), iops=iops,
        throughput_mibps=mibps,
    )  # fmt: skip
    problem = why_invalid(configuration)
    if problem is not None:
        raise block.wrong("", f"is nothing AWS has: {problem}")
    ref = ResourceRef(
        kind=Kind.EBS,
        account_id=_place(block, "account", "123456789012", ACCOUNT_ID),
        region=_place(block, "region", USUAL_REGION, REGION),
        resource_id="vol-0123456789abcdef0",
    )
    return described_volume(ref, configuration, _tags(block))


def _place(block: Block, key: str, usual: str, pattern: str) -> str:
    text = block.text(key, usual)
    if not re.fullmatch(pattern, text):
        raise block.wrong(key, f"is {as_quoted(text)}; it must look like {usual}")
    return text


def _tags(block: Block) -> dict[str, str]:
    tags = block.raw("tags") or {}
    if not isinstance(tags, Mapping):
        raise block.wrong("tags", f"is {as_quoted(tags)}; it must map tag keys to values")
    return {
        str(key): str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in tags.items()
    }


def _load(top: Block, volume: Volume) -> SituationLoad | None:
    given = top.raw("load")
    if given is None:
        return None
    if isinstance(given, str):
        return load_named(top.choice("load", WORDS), volume)
    block = top.block("load", LOAD)
    if block.has("mibps") and block.has("iops") and block.has("io_kib"):
        raise block.wrong("mibps", "follows from iops and io_kib; give two of the three")
    kib = block.number("io_kib", 16, low=0.5, high=65_536)
    if block.has("mibps"):
        mibps = block.positive("mibps")
        iops = block.positive("iops") if block.has("iops") else mibps * 1024 / kib
        kib = mibps * 1024 / iops
    else:
        iops = block.number("iops", low=0, high=1e7)
    minutes = round(block.duration("for", "30m").total_seconds() / 60)
    if not 1 <= minutes <= 7 * 1_440:
        raise block.wrong("for", "must be from 1m to 7d")
    return SituationLoad(
        iops=iops, io_kib=kib, minutes=minutes,
        before_iops=block.number("before_iops", min(iops, 100), low=0, high=1e7),
        days=block.whole("days", 1, low=0, high=14),
    )  # fmt: skip


def _ledgered(block: Block) -> LedgerFacts:
    def ago(value: object) -> timedelta:
        one = Block({"ago": value}, source=block.source, path=f"{block.path}.changed_ago",
                    known=("ago",))  # fmt: skip
        return one.duration("ago")

    return LedgerFacts(
        changed_ago=tuple(ago(value) for value in block.items("changed_ago")),
        resource_increase_usd=Decimal(str(block.number("increase_usd", 0, low=0, high=1e6))),
        account_increase_usd=Decimal(str(block.number("account_increase_usd", 0, low=0, high=1e9))),
        acted_ago=block.duration("acted_ago") if block.has("acted_ago") else None,
        paused=block.flag("paused", False),
        failures=block.whole("failures", 0, low=0, high=1_000),
    )


def _expected(block: Block) -> Expected:
    to = block.block("to", TO)
    found = Expected(
        answer=block.choice("answer", ANSWERS) if block.has("answer") else None,
        reason=block.choice("reason", list(Reason)) if block.has("reason") else None,
        to_type=to.choice("type", list(EBS_TYPES)) if to.has("type") else None,
        to_rates={key: _range(to, key) for key in TO[1:] if to.has(key)},
        blocked_by=tuple(_names(block, "blocked_by", list(Guardrail))),
        limits=_limits(block),
        price_change_at_most=Decimal(str(block.number("price_change_at_most", low=-1e6, high=1e6)))
        if block.has("price_change_at_most")
        else None,
        approval=block.flag("approval", False) if block.has("approval") else None,
    )
    if found == Expected():
        raise block.wrong("", f"expects nothing; give at least one of {', '.join(EXPECT)}")
    return found


def _names(block: Block, key: str, allowed: Sequence[str]) -> Iterator[str]:
    given = block.raw(key)
    for one in [given] if isinstance(given, str) else block.items(key):
        if one not in allowed:
            raise block.wrong(key, f"names {as_quoted(one)}; known are {', '.join(allowed)}")
        yield str(one)


def _range(block: Block, key: str) -> tuple[int, int]:
    """A number, or from-to such as 4000..8000, ..8000 or 4000.. as two numbers."""
    value = block.raw(key)
    found = _RANGE.fullmatch(value) if isinstance(value, str) else None
    if found is not None and any(found.groups()):
        return int(found[1] or 0), int(found[2] or 10**9)
    if isinstance(value, bool) or not isinstance(value, int):
        raise block.wrong(
            key, f"is {as_quoted(value)}; it must be a number or a range like 4000..8000"
        )
    return value, value


def _limits(block: Block) -> dict[str, object]:
    given = block.block("limits", tuple(FRIENDLY))
    found: dict[str, object] = {}
    for name, setting in FRIENDLY.items():
        if given.raw(name) is not None:
            try:
                found[name] = setting.read(given.raw(name), block.source, f"{given.path}.{name}")
            except PolicyError as problem:
                raise BadInput(str(problem)) from None
    return found
