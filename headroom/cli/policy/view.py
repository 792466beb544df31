"""The limits in force for a volume and the results of policy tests, as text and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console

from headroom.cli.terminal.names import short
from headroom.cli.terminal.output import say, setting_text, table, utc
from headroom.domain.planning import group_of
from headroom.domain.policy import (
    FRIENDLY,
    CodeOwned,
    EffectiveLimits,
    HardCaps,
    Mode,
    Policy,
    events_of,
    plain_value,
)
from headroom.domain.resources import CodeOwner, ResourceRef, Volume, code_owner
from headroom.proving.policy_tests import PolicyTests, Verdict

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


def rows(view: PolicyView) -> tuple[tuple[str, object, str], ...]:
    """Every setting, its value as a policy writes it, and where it came from."""
    limits, origins = view.effective.limits, dict(view.effective.origins)
    return tuple(
        (name, plain_value(name, getattr(limits, s.name)), origins.get(s.name, "defaults"))
        for name, s in FRIENDLY.items()
    )


def as_object(view: PolicyView) -> dict[str, object]:
    """One JSON object."""
    ref = view.volume.ref
    return {
        "volume": _called(ref), "kind": ref.kind.value, "account": ref.account_id, "region": ref.region,
        "configuration": str(view.volume.configuration), "tags": dict(view.volume.tags),
        "policy": view.name, "version": view.policy.version, "rules": list(view.matching),
        "enrolled": view.effective.enrolled, "problem": view.effective.problem,
        "notes": list(view.effective.notes),
        "limits": {name: {"value": value, "from": where} for name, value, where in rows(view)},
        "account_price_increase_usd_per_month": float(view.policy.account_increase_usd),
        "hard_caps": None if view.policy.caps == HardCaps() else str(view.policy.caps),
        **{n: getattr(view.policy, n) for n in (
            "max_in_flight", "max_in_flight_per_az", "max_changes_per_hour",
        )},
        "code_owner": None if view.owner is None else str(view.owner),
        "group": group_of(view.policy, view.volume),
        "known_events": [
            {"name": event.name, "when": str(event.schedule), "minutes": event.minutes,
             "iops": event.iops, "throughput_mibps": event.throughput_mibps}
            for event in events_of(view.policy, view.volume)
        ],
    }  # fmt: skip


def _called(ref: ResourceRef) -> str:
    """The name by which people refer to it; a synthetic resource has none."""
    return ref.resource_id if " " in ref.resource_id else short(ref.arn)


def show(view: PolicyView, console: Console) -> None:
    """A table for people."""
    effective, ref = view.effective, view.volume.ref
    title = f"{_called(ref)} ({view.volume.configuration}, {ref.region}) under {view.name}"
    listed = [(name, setting_text(value), where) for name, value, where in rows(view)]
    console.print(table(title, ("Setting", "In force", "From"), listed))
    fits = ", ".join(f"rule {n}" for n in view.matching) or "no rule"
    say(f"Policy version {view.policy.version}; {fits} matches it.", console)
    increase = view.policy.account_increase_usd
    say(f"All increases in the account together: ${increase:,} a month.", console)
    if view.policy.caps != HardCaps():
        say(f"Hard caps of the deployment, which nothing exceeds: {view.policy.caps}", console)
    places = view.policy.blast_radius
    say(
        f"Changes at once in the account: {places.max_in_flight} in progress, "
        f"{places.max_in_flight_per_az} in one zone, {places.max_changes_per_hour} started an hour.",
        console,
    )
    for freeze in view.policy.freezes:
        why = f": {freeze.reason}" if freeze.reason else ""
        say(f"Frozen from {utc(freeze.begins)} until {utc(freeze.until)}{why}.", console)
    if view.policy.calendars:
        say(f"Calendars that must be open: {', '.join(view.policy.calendars)}.", console)
    for event in events_of(view.policy, view.volume):
        load = [f"{event.iops:,} IOPS"] * (event.iops > 0)
        load += [f"{event.throughput_mibps:,} MiB/s"] * (event.throughput_mibps > 0)
        say(f"Known event {event.name}: {event.schedule} for {event.minutes} minutes, "
            f"{' and '.join(load)}.", console)  # fmt: skip
    say(f"Mode {effective.limits.mode.value}: {MEANS[effective.limits.mode]}.", console)
    if view.owner is not None:
        handling = effective.limits.infrastructure_as_code
        say(f"Owned by {view.owner} as well (tag {view.owner.detected_from}): "
                       f"{CODE_OWNED[handling]}.", console)  # fmt: skip
    group = group_of(view.policy, view.volume)
    if group is not None:
        say(f"Of the striped set {group or 'that its tags do not agree on'}: changed "
                       "with all the others on its instance, or not at all.", console)  # fmt: skip
    for note in effective.notes:
        say(f"Note: {note}.", console)
    if effective.problem is not None:
        say(f"Headroom changes nothing until this is corrected: {effective.problem}.", console)


def show_tests(verdicts: Sequence[Verdict], tests: PolicyTests, console: Console) -> None:
    """Each test with its result, and in the end how many passed."""
    for verdict in verdicts:
        say(f"{'pass' if verdict.passed else 'FAIL'}  {verdict.test.name}", console)
        for difference in verdict.differences:
            say(f"        {difference}", console)
        if not verdict.passed and verdict.decision is not None:
            say(f"        decided: {verdict.decision.summary}", console)
    failed = sum(not verdict.passed for verdict in verdicts)
    passed = len(verdicts) - failed
    say(f"{passed} passed, {failed} failed: {tests.policy_path}, version "
                   f"{tests.policy.version}.", console)  # fmt: skip
