"""The limits in force for a volume and the results of policy tests, as text and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console

from headroom.cli.terminal.names import short
from headroom.cli.terminal.output import table, utc
from headroom.domain.planning import group_of
from headroom.domain.policy import FRIENDLY, CodeOwned, EffectiveLimits, Mode, Policy, written
from headroom.domain.resources import CodeOwner, ResourceRef, Volume, code_owner
from headroom.proving.policytests import PolicyTests, Verdict

MEANS = {
    Mode.OFF: "Headroom ignores it",
    Mode.OBSERVE: "decisions are recorded and nothing is changed",
    Mode.APPROVE: "it is changed within these limits after a person approves",
    Mode.AUTO: "it is changed within these limits",
}


CODE_OWNED = {
    CodeOwned.ACT: "changed like any other, with code to write back",
    CodeOwned.NOTIFY: "never changed; its owner is notified what to write",
    CodeOwned.LEAVE: "never changed, without a notification",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyView:
    """A volume, the policy (and what it is called), and what that makes of it."""

    volume: Volume
    policy: Policy
    name: str
    effective: EffectiveLimits

    @property
    def matching(self) -> tuple[int, ...]:
        """Numbers of the rules that fit the volume."""
        rules = enumerate(self.policy.rules, 1)
        return tuple(n for n, rule in rules if rule.selector.matches(self.volume))

    @property
    def owner(self) -> CodeOwner | None:
        """Who else keeps the volume's settings."""
        return code_owner(self.volume.tags, self.policy.code_tags)


def rows(shown: PolicyView) -> tuple[tuple[str, object, str], ...]:
    """Every setting, its value as a policy writes it, and where it came from."""
    limits, origins = shown.effective.limits, dict(shown.effective.origins)
    return tuple(
        (name, written(name, getattr(limits, s.name)), origins.get(s.name, "defaults"))
        for name, s in FRIENDLY.items()
    )


def as_object(shown: PolicyView) -> dict[str, object]:
    """One JSON object."""
    ref = shown.volume.ref
    return {
        "volume": _called(ref), "kind": ref.kind.value, "account": ref.account_id, "region": ref.region,
        "configuration": str(shown.volume.configuration), "tags": dict(shown.volume.tags),
        "policy": shown.name, "version": shown.policy.version, "rules": list(shown.matching),
        "enrolled": shown.effective.enrolled, "problem": shown.effective.problem,
        "notes": list(shown.effective.notes),
        "limits": {name: {"value": value, "from": where} for name, value, where in rows(shown)},
        "account_price_increase_usd_per_month": float(shown.policy.account_increase_usd),
        **{n: getattr(shown.policy, n) for n in (
            "max_in_flight", "max_in_flight_per_az", "max_changes_per_hour",
        )},
        "code_owner": None if shown.owner is None else str(shown.owner),
        "group": group_of(shown.policy, shown.volume),
    }  # fmt: skip


def _called(ref: ResourceRef) -> str:
    """What people call it; what was made up has no name that could be typed."""
    return ref.resource_id if " " in ref.resource_id else short(ref.arn)


def show(shown: PolicyView, console: Console) -> None:
    """A table for people."""
    effective, ref = shown.effective, shown.volume.ref
    title = f"{_called(ref)} ({shown.volume.configuration}, {ref.region}) under {shown.name}"
    listed = [(name, _text(value), where) for name, value, where in rows(shown)]
    console.print(table(title, ("Setting", "In force", "From"), listed))
    fits = ", ".join(f"rule {n}" for n in shown.matching) or "no rule"
    _line(console, f"Policy version {shown.policy.version}; {fits} matches it.")
    increase = shown.policy.account_increase_usd
    _line(console, f"All increases in the account together: ${increase:,} a month.")
    places = shown.policy.blast_radius
    _line(
        console,
        f"Changes at once in the account: {places.max_in_flight} in progress, "
        f"{places.max_in_flight_per_az} in one zone, {places.max_changes_per_hour} started an hour.",
    )
    for freeze in shown.policy.freezes:
        why = f": {freeze.reason}" if freeze.reason else ""
        _line(console, f"Frozen from {utc(freeze.begins)} until {utc(freeze.until)}{why}.")
    if shown.policy.calendars:
        _line(console, f"Calendars that must be open: {', '.join(shown.policy.calendars)}.")
    _line(console, f"Mode {effective.limits.mode.value}: {MEANS[effective.limits.mode]}.")
    if shown.owner is not None:
        handling = effective.limits.infrastructure_as_code
        _line(console, f"Owned by {shown.owner} as well (tag {shown.owner.detected_from}): "
                       f"{CODE_OWNED[handling]}.")  # fmt: skip
    group = group_of(shown.policy, shown.volume)
    if group is not None:
        _line(console, f"Of the striped set {group or 'that its tags do not agree on'}: changed "
                       "with all the others on its instance, or not at all.")  # fmt: skip
    for note in effective.notes:
        _line(console, f"Note: {note}.")
    if effective.problem is not None:
        _line(console, f"Headroom changes nothing until this is corrected: {effective.problem}.")


def show_tests(verdicts: Sequence[Verdict], tests: PolicyTests, console: Console) -> None:
    """Each test with its result, and in the end how many passed."""
    for verdict in verdicts:
        _line(console, f"{'pass' if verdict.passed else 'FAIL'}  {verdict.test.name}")
        for difference in verdict.differences:
            _line(console, f"        {difference}")
        if not verdict.passed and verdict.decision is not None:
            _line(console, f"        decided: {verdict.decision.summary}")
    failed = sum(not verdict.passed for verdict in verdicts)
    passed = len(verdicts) - failed
    _line(console, f"{passed} passed, {failed} failed: {tests.policy_path}, version "
                   f"{tests.policy.version}.")  # fmt: skip


def _line(console: Console, text: str) -> None:
    console.print(text, markup=False, soft_wrap=True)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int | float) else str(value)
