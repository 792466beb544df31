"""What the owner's text and tags permit, worked out again without the code that is on trial.

Defaults are those of docs/policy.md, written out; rules, presets and tags are followed by the
words of that page. Prices and what a type can do come from the catalogue, which has its own tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from headroom.domain.catalog import why_invalid
from headroom.domain.catalog.ebs import capability
from headroom.domain.resources import Configuration, Volume

DEFAULTS: Mapping[str, Any] = {
    "mode": "observe", "types": ["gp3", "io2"], "max_iops": 16_000, "max_throughput_mibps": 1_000,
    "max_size_gib": 16_384, "growth": False, "largest_step": 4, "slots_reserve": 1,
    "price_increase_usd_per_month": 250, "cooldown": "0m", "headroom_percent": 10,
    "relief_value_usd_per_minute": 0.1, "give_back": True, "give_back_after_days": "usual",
    "min_iops": 0, "min_throughput_mibps": 0, "tags_may": "enrol",
    "infrastructure_as_code": "act", "revert_wait": "10080m", "approve_above_usd_per_month": None,
    "approval_expires": "480m", "roll_back_ineffective": False,
    "one_way": "approve",
}  # fmt: skip
NOT_VARIED = frozenset({
    "latency_objective_ms", "discount_percent", "grow_space", "free_space_percent", "space_horizon_days",
    "full_copy", "aurora_goal", "aurora_margin_percent", "aurora_slow_commit_ms", "aurora_restart",
})  # fmt: skip
"""Settings that the trials of volumes leave at their default; laws of their own vary those of space,
databases and clusters."""
ACCOUNT_USD = 2_000
MODES = ("off", "observe", "approve", "auto")
FEWER = ("max_iops", "max_throughput_mibps", "max_size_gib", "largest_step",
         "price_increase_usd_per_month", "approve_above_usd_per_month")  # fmt: skip
CODE = ("leave", "notify", "act")
ONE_WAY = ("never", "approve", "allow")
MORE = ("slots_reserve", "give_back_after_days", "min_iops", "min_throughput_mibps")
MOST_DURABLE = "io2"
SLOTS = 4
WINDOWS: Mapping[str, tuple[str, int, int]] = {
    "Mon-Sun 00:00-12:30 UTC": ("0123456", 0, 750),
    "Mon,Tue 12:00-14:00 UTC": ("01", 720, 840),
    "Mon-Fri 13:00-13:30 Europe/Berlin": ("01234", 720, 750),  # it is winter there
    "Sat,Sun 00:00-24:00 UTC": ("56", 0, 1_440),
}
"""Change windows that trials use, as days from Monday on and minutes of a UTC day."""
Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """What holds for one volume; nothing at all (None in `values`) where nothing can be read."""

    values: Mapping[str, Any] | None
    account_usd: Decimal = Decimal(0)
    account: Mapping[str, Any] = field(default_factory=dict)
    caps: Mapping[str, Any] = field(default_factory=dict)
    """The hard caps that are among the values."""

    def __getitem__(self, name: str) -> Any:
        assert self.values is not None
        return self.values[name]

    @property
    def least_days(self) -> float:
        """Measured days before a volume is lowered."""
        said = self["give_back_after_days"]
        if said != "usual":
            return float(said)
        return 0.25 if self["relief_value_usd_per_minute"] <= 0.01 else 1.0

    def span(self, name: str) -> timedelta:
        return span(self[name])

    def closed(self, at: datetime) -> list[str]:
        """Why nothing may be started at `at`, by windows, freezes and calendars."""
        if self.values is None:
            return []
        found, windows = [], self.values.get("change_windows", [])
        minute = at.hour * 60 + at.minute
        spans = [WINDOWS[each] for each in windows]
        if spans and not any(
            str(at.weekday()) in days and begins <= minute < ends for days, begins, ends in spans
        ):
            found.append(f"change_window: {at:%a %H:%M} is in none of {windows}")
        for each in self.account.get("freezes", []):
            if datetime.fromisoformat(each["from"]) <= at < datetime.fromisoformat(each["until"]):
                found.append(f"freeze: until {each['until']}")
        if self.account.get("calendars"):
            found.append("calendar: none can be read here")
        return found

    def most(self, name: str) -> int:
        """The most changes at once, by its name in the account's section."""
        usual = {"max_in_flight": 20, "max_changes_per_hour": 20, "max_in_flight_per_az": 10}
        return int(self.account.get(name, usual[name]))

    def needs_a_person(self, origin: Configuration, target: Configuration, more: Decimal) -> bool:
        """Whether a change that adds `more` USD a month waits for somebody to agree."""
        if self.values is None:
            return True
        if self["one_way"] != "allow" and _for_good(origin, target):
            return True
        above = self["approve_above_usd_per_month"]
        return self["mode"] == "approve" or (
            above is not None and more > max(Decimal(str(above)), Decimal(0))
        )


def _for_good(origin: Configuration, target: Configuration) -> bool:
    return target.volume_type.value == MOST_DURABLE != origin.volume_type.value


def span(text: str) -> timedelta:
    """`90m` as a time; the law writes minutes only."""
    return timedelta(minutes=int(str(text).removesuffix("m")))


def permit(document: Document | None, volume: Volume, asked: Mapping[str, Any] | None) -> Permit:
    """What `document` and the tags (what they ask for; None: not understood) permit for `volume`."""
    if document is None or asked is None:
        return Permit(values=None)
    values = {**DEFAULTS, **document.get("defaults", {})}
    for rule in document.get("rules", []):
        if _fits(rule["match"], volume):
            values |= rule["set"]
    may = values["tags_may"]
    for name, wanted in asked.items():
        if may == "widen" or (may == "enrol" and name == "mode"):
            values[name] = wanted
        else:
            values[name] = _tighter(name, values[name], wanted)
    account = document.get("account", {})
    most = account.get("price_increase_usd_per_month", ACCOUNT_USD)
    for name, cap in document.get("hard_caps", {}).items():
        if name == "account_price_increase_usd_per_month":
            most = min(most, cap)
        else:
            values[name] = _tighter(name, values[name], cap)
    caps = document.get("hard_caps", {})
    return Permit(values=values, account_usd=Decimal(str(most)), account=account, caps=caps)


def _fits(match: Mapping[str, Any], volume: Volume) -> bool:
    tags = dict(volume.tags)
    if "type" in match and volume.configuration.volume_type.value != match["type"]:
        return False
    return all(tags.get(key) == value for key, value in match.get("tags", {}).items())


def _tighter(name: str, one: Any, other: Any) -> Any:
    if name == "mode":
        return min(one, other, key=MODES.index)
    if name == "types":
        return [each for each in one if each in other]
    if name == "infrastructure_as_code":
        return min(one, other, key=CODE.index)
    if name == "one_way":
        return min(one, other, key=ONE_WAY.index)
    if name in ("growth", "give_back", "roll_back_ineffective"):
        return one and other
    if name in ("cooldown", "revert_wait"):
        return max(one, other, key=span)
    if name == "approval_expires":
        return min(one, other, key=span)
    if name in FEWER:
        return min(each for each in (one, other) if each is not None)
    if name == "give_back_after_days" and "usual" in (one, other):
        said = other if one == "usual" else one
        return one if said == "usual" or said < 1 else said
    if name in MORE:
        return max(one, other)
    raise LookupError(f"which {name} is tighter?")


def broken_limits(allowed: Permit, origin: Configuration, target: Configuration) -> list[str]:
    """The limits on what a change may be that `origin` -> `target` breaks, in words."""
    if allowed.values is None:
        return ["policy: nothing is permitted, or it cannot be understood"]
    found = []
    kind, was = target.volume_type.value, origin.volume_type.value
    now, then = capability(origin), capability(target)
    if allowed["mode"] not in ("auto", "approve"):
        found.append(f"mode: {allowed['mode']}")
    if kind not in allowed["types"] and (kind != was or kind == "gp2"):
        found.append(f"types: {kind}")
    if target.size_gib < origin.size_gib:
        found.append(f"never_shrink: {origin.size_gib} -> {target.size_gib}")
    if target.size_gib > origin.size_gib and not allowed["growth"]:
        found.append(f"growth: {origin.size_gib} -> {target.size_gib}")
    if target.size_gib > max(allowed["max_size_gib"], origin.size_gib):
        found.append(f"max_size: {target.size_gib}")
    if then.sustained_iops > max(allowed["max_iops"], now.sustained_iops):
        found.append(f"max_iops: {then.sustained_iops} > {allowed['max_iops']}")
    if (target.throughput_mibps or 0) > max(allowed["max_throughput_mibps"], now.sustained_mibps):
        found.append(f"max_throughput: {target.throughput_mibps}")
    if was == MOST_DURABLE and kind != MOST_DURABLE:
        found.append(f"durability: {was} -> {kind}")
    if allowed["one_way"] == "never" and _for_good(origin, target):
        found.append(f"one_way: {was} -> {kind}")
    if why_invalid(target) is not None:
        found.append(f"valid: {why_invalid(target)}")
    step = _step(origin, target)
    if step > float(allowed["largest_step"]) + 1e-4:
        found.append(f"largest_step: {step} > {allowed['largest_step']}")
    if then.sustained_iops < now.sustained_iops or then.sustained_mibps < now.sustained_mibps:
        found += _broken_floors(allowed, origin, target)
    return found


def _step(origin: Configuration, target: Configuration) -> float:
    """How many times more than can be reached today; what a type includes is no step."""
    now, then = capability(origin), capability(target)
    included = {"gp3": 3_000, "gp2": 3_000, "io1": 100, "io2": 100}.get(target.volume_type.value, 1)
    step = then.sustained_iops / max(now.burst_iops, included)
    if target.throughput_mibps is not None:
        step = max(step, target.throughput_mibps / max(now.burst_mibps, 125))
    return step


def _broken_floors(allowed: Permit, origin: Configuration, target: Configuration) -> list[str]:
    now, then, found = capability(origin), capability(target), []
    if not allowed["give_back"]:
        found.append("give_back: it lowers what is sustained")
    if then.sustained_iops < min(allowed["min_iops"], int(now.sustained_iops)):
        found.append(f"give_back_floor: {then.sustained_iops} IOPS")
    if then.sustained_mibps < min(allowed["min_throughput_mibps"], int(now.sustained_mibps)):
        found.append(f"give_back_floor: {then.sustained_mibps} MiB/s")
    if _step(target, origin) > float(allowed["largest_step"]) ** 2 + 1e-3:
        found.append(f"give_back_reversible: {origin} could not be reached again")
    return found
