"""What happens in one trial: drawn from a seed before it is run, so that it can be cut short.

A script is data. `play` runs it under the law and then lets everything settle; `shortest` leaves
out whatever the law is broken without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random
from typing import Any

from headroom.application import remediate, sweep
from headroom.domain.catalog import why_invalid
from headroom.domain.policy import PolicyUnreadable, hard_caps_of, with_caps
from headroom.domain.resources import Claim, Configuration, ResourceRef, Signal, Volume, VolumeType
from headroom.domain.state import Record, Step
from headroom.policy import parse_policy
from headroom.ports import IllegalStep, LostLease, ReadFailed
from headroom.proving.awsrules import VolumeLifecycle
from tests.builders import NOW, gp2, gp3, io, ref, volume
from tests.laws.law import CODE_TAG, GROUP_TAG, Law
from tests.laws.permits import WINDOWS
from tests.laws.process import Crash, Process, Trouble
from tests.laws.wild import wild_plans
from tests.laws.world import DELAYS, Held, World

Event = tuple[Any, ...]
QUIET = Trouble()
SHAPES = (
    gp3(), gp3(), gp3(400, 6_000, 250), gp3(400, 12_000, 500), gp2(100), gp2(400), gp2(1_000),
    io(VolumeType.IO1, 400, 5_000), io(VolumeType.IO2, 100, 3_000),
)  # fmt: skip
FULL, BUSY, IDLE = (1.2, 2.0, 4.0), (0.3, 0.7), (0.01, 0.05)
MODES = ("auto",) * 12 + ("observe", "approve", "off")
ASKED = {
    "mode": MODES,
    "types": (["gp3"], ["gp3", "io2"], ["gp3", "gp2", "io1", "io2"], ["io1"], ["gp2"]),
    "max_iops": (3_000, 3_500, 4_000, 8_000, 16_000, 64_000),
    "max_throughput_mibps": (100, 125, 250, 1_000),
    "max_size_gib": (100, 500, 16_384), "growth": (True, False),
    "largest_step": (1.1, 1.5, 2, 4, 20),
    "price_increase_usd_per_month": (0, 5, 20, 60, 250, 2_000),
    "slots_reserve": (0, 0, 1, 2, 3), "cooldown": ("0m", "30m", "120m", "1440m"),
    "relief_value_usd_per_minute": (0.01, 0.1, 1, 10), "headroom_percent": (0, 10, 100),
    "give_back": (True, True, False), "give_back_after_days": (0, 1, 3),
    "min_iops": (0, 3_000, 6_000, 13_000), "min_throughput_mibps": (0, 200, 500),
    "infrastructure_as_code": ("act", "notify", "leave"), "revert_wait": ("0m", "300m", "10080m"),
    "approve_above_usd_per_month": (0, 1, 20), "approval_expires": ("30m", "480m"),
    "roll_back_ineffective": (True, False), "one_way": ("approve", "allow", "never"),
    "change_windows": ([], [], *([each] for each in WINDOWS), list(WINDOWS)[:2]),
}  # fmt: skip
"""Settings and what they may say in a trial."""
BY_TAG = tuple(name for name in ASKED if name not in (
    "headroom_percent", "relief_value_usd_per_minute", "change_windows"
))  # fmt: skip
ANSWERS = ("done", "denied", "throttled", "slots", "quota", "invalid", "other", "lost", "taken",
           "taken", "fails")  # fmt: skip
NOTHING_WRONG = 0.45
"""Share of runs of a function that nothing befalls."""
END = timedelta(days=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A trial: the account as it is found, and what happens then."""

    seed: int
    document: dict[str, Any]
    volumes: tuple[Event, ...]
    events: tuple[Event, ...]
    wild: bool = False
    """Whether the planner wants anything at all; see wild.py."""


def script(seed: int) -> Script:
    """The trial of a seed."""
    draw = Random(seed)
    names = [f"vol-{number}" for number in range(draw.choice((1, 1, 2, 3, 5)))]
    many = draw.randint(5, 16)
    document = _document(draw)
    wrong = tuple(draw.choice(ANSWERS) for _ in range(draw.choice((1, 2, 12))))
    first = (("answers", wrong),) if draw.random() < 0.4 else ()
    volumes = [_volume(draw, name) for name in names]
    if draw.random() < 0.2:  # one striped set, alike
        names = [f"vol-{number}" for number in range(draw.choice((1, 2, 3)))]
        _, *alike = _volume(draw, "")
        alike[5] = "striped"
        volumes = [(name, *alike) for name in names]
    if draw.random() < 0.06:  # AWS refuses for good, again and again
        first = (("answers", ("denied",) * 12),)
        names, volumes = names[:1], volumes[:1]
        events = tuple(e for _ in range(9) for e in (("alarm", names[0], 0, QUIET), ("wait", 370)))
    else:
        events = tuple(_event(draw, names) for _ in range(many))
    return Script(
        seed=seed,
        document=document,
        volumes=tuple(volumes),
        events=(*first, ("sweep", QUIET), *events),
        wild=seed % 2 == 1,
    )


def _settings(draw: Random, most: int) -> dict[str, Any]:
    names = draw.sample(sorted(ASKED), draw.randint(0, most))
    return {name: draw.choice(ASKED[name]) for name in names}


OPEN: dict[str, Any] = {
    "mode": "auto", "types": ["gp3", "gp2", "io1", "io2"], "max_iops": 64_000,
    "max_throughput_mibps": 2_000, "max_size_gib": 16_384, "growth": True, "largest_step": 20,
    "price_increase_usd_per_month": 5_000, "slots_reserve": 0, "give_back_after_days": 0,
    "relief_value_usd_per_minute": 100, "one_way": "allow",
}  # fmt: skip
"""A policy that allows nearly everything, so that one limit alone stands in the way."""


def _document(draw: Random) -> dict[str, Any]:
    if draw.random() < 0.4:
        return _open_but_for_one(draw)
    defaults = _settings(draw, draw.choice((1, 3, 6)))
    defaults["mode"] = draw.choice(MODES)
    if draw.random() < 0.7:
        defaults["relief_value_usd_per_minute"] = draw.choice((1, 10, 100))
    if draw.random() < 0.3:
        defaults["tags_may"] = draw.choice(("enrol", "narrow", "widen"))
    found: dict[str, Any] = {"defaults": defaults, "rules": []}
    if draw.random() < 0.5:
        most = draw.choice((0, 5, 20, 40, 100, 2_000))
        found["account"] = {"price_increase_usd_per_month": most}
    if draw.random() < 0.3:
        account = found.setdefault("account", {})
        account["max_in_flight"] = draw.choice((1, 2))
        account["max_changes_per_hour"] = draw.choice((1, 2, 3))
        account["max_in_flight_per_az"] = draw.choice((1, 5))
    if draw.random() < 0.15:
        begins, hours = draw.choice((0, 1, 26)), draw.choice((1, 30))
        limits = (NOW + timedelta(hours=begins), NOW + timedelta(hours=begins + hours))
        freeze = {
            name: each.isoformat() for name, each in zip(("from", "until"), limits, strict=True)
        }
        found.setdefault("account", {})["freezes"] = [freeze]
    if draw.random() < 0.03:
        found.setdefault("account", {})["calendars"] = ["year-end"]
    for _ in range(draw.choice((0, 0, 1, 2))):
        match = draw.choice(({"type": "gp2"}, {"type": "gp3"}, {"tags": {"team": "a"}}, {}))
        said = _settings(draw, 2) or {"max_iops": 4_000}
        found["rules"].append({"match": match, "set": said})
    return found


def _open_but_for_one(draw: Random) -> dict[str, Any]:
    name = draw.choice(sorted(ASKED))
    most = draw.choice((50_000, 50_000, 50_000, 40))
    return {
        "defaults": {**OPEN, name: draw.choice(ASKED[name])}, "rules": [],
        "account": {"price_increase_usd_per_month": most},
    }  # fmt: skip


def _asked(draw: Random) -> dict[str, Any] | None:
    """What the tags of a volume ask for; None for tags that cannot be understood."""
    if draw.random() < 0.05:
        return None
    found = {"mode": draw.choice(MODES)} if draw.random() < 0.5 else {}
    for name in draw.sample(BY_TAG, draw.choice((0, 0, 0, 1, 2))):
        found[name] = draw.choice(ASKED[name])
    return found


def _tags(asked: dict[str, Any] | None, team: str) -> tuple[tuple[str, str], ...]:
    if asked is None:
        return (("headroom", "auto"), ("headroom:max-iops", "many"), ("team", team))

    def text(value: Any) -> str:
        if isinstance(value, list):
            return " ".join(value)
        return str(value).lower() if isinstance(value, bool) else str(value)

    keys = {n: "headroom" if n == "mode" else "headroom:" + n.replace("_", "-") for n in asked}
    return tuple(sorted([(keys[n], text(v)) for n, v in asked.items()] + [("team", team)]))


def _volume(draw: Random, name: str) -> Event:
    shape = draw.choice(SHAPES)
    odd = draw.choice(
        (None,) * 24 + ("managed", "shared", "outpost", "detached", "coded", "coded", "striped")
    )
    on = draw.choice(("ample",) * 16 + ("bound", "unknown"))
    days = draw.choice((0.0, 0.0, 0.5, 2.0, 5.0))
    return (
        name, shape, _asked(draw), draw.choice("ab"), _load(draw), draw.choice((16.0, 16.0, 128.0)),
        odd, on, days, draw.choice(("whole",) * 8 + ("thin", "nothing")),
    )  # fmt: skip


def _load(draw: Random) -> float:
    return draw.choice(draw.choice((FULL, FULL, FULL, BUSY, IDLE, IDLE)))


def _event(draw: Random, names: list[str], *, nested: bool = False) -> Event:
    """One thing that happens; most are runs of the functions."""
    name = draw.choice(names)
    kind = draw.choice(EVENTS if not nested else MEANWHILE)
    match kind:
        case "wait":
            return kind, draw.choice((1, 5, 10, 30, 70, 200, 1_500) if not nested else (1, 5, 10))
        case "sweep" | "level":
            return kind, _trouble(draw, names, nested)
        case "alarm" | "event":
            return kind, name, draw.choice((0, 0, 3, 600)), _trouble(draw, names, nested)
        case "change":
            return kind, name, draw.choice(SHAPES)
        case "approve" | "reject" | "rollback":
            return kind, draw.randint(0, 9)
        case "pause":
            return kind, draw.choice((None, 30, 600))
        case "close":
            return kind, draw.choice((name, None))
        case "tags":
            return kind, name, _asked(draw)
        case "policy":
            return kind, None if draw.random() < 0.2 else _document(draw)
        case "load":
            return kind, name, _load(draw), draw.choice((16.0, 128.0))
        case "measured":
            return kind, name, draw.choice(("whole", "whole", "thin", "nothing"))
        case "fault":
            kinds = ("fleet", "view", "glance", "activity", "history", "prices")
            return kind, draw.choice(kinds), draw.choice((1, 3))
        case "answers":
            return kind, tuple(draw.choice(ANSWERS) for _ in range(draw.choice((1, 1, 3, 12))))
    return kind, name


EVENTS = (
    *("sweep",) * 8, *("alarm",) * 8, *("wait",) * 6, *("load",) * 3, *("change",) * 3, "event",
    "level", "pause", "resume", "close", "tags", "policy", "measured", "fault", *("answers",) * 3,
    "delete", *("approve",) * 3, "reject", *("rollback",) * 3,
)  # fmt: skip
ABOUT_ONE = ("change", "tags", "load", "measured", "delete")
MEANWHILE = (
    "alarm", "alarm", "sweep", "event", "change", "pause", "resume", "tags", "policy", "wait",
    "wait", "delete", "answers", "close", "approve", "reject", "rollback",
)  # fmt: skip


def _trouble(draw: Random, names: list[str], nested: bool) -> Trouble:
    if draw.random() < NOTHING_WRONG:
        return QUIET
    at = draw.choice((draw.randint(1, 12), draw.randint(1, 40)))
    kind = draw.choice(("crash", "crash", "before", "after", *(() if nested else ("else",) * 4)))
    match kind:
        case "crash":
            return Trouble(crash_after=at)
        case "before":
            return Trouble(lose_before=at)
        case "after":
            return Trouble(lose_after=at)
    meanwhile = tuple(_event(draw, names, nested=True) for _ in range(draw.choice((1, 1, 2))))
    crash = draw.choice((None, None, at + draw.randint(1, 6)))
    return Trouble(meanwhile_at=at, meanwhile=meanwhile, crash_after=crash)


class ScriptRunner:
    """Runs the events of a script on a world, under the law."""

    def __init__(self, found: Script) -> None:
        self.world = World()
        self.law = Law(world=self.world)
        self._publish(found.document)
        for each in found.volumes:
            self._add(*each)

    def _publish(self, document: dict[str, Any] | None) -> None:
        self.world.document = document
        self.world.policy = PolicyUnreadable(reason="the parameter is gone")
        if document is not None:
            text = {name: said for name, said in document.items() if name != "hard_caps"}
            caps = hard_caps_of(document.get("hard_caps", {}), "a trial")
            self.world.policy = with_caps(parse_policy(text, source="a trial"), caps)

    def _add(
        self, name: str, shape: Configuration, asked: dict[str, Any] | None, team: str,
        load: float, kib: float, odd: str | None, on: str, days: float, measured: str,
    ) -> None:  # fmt: skip
        changes: dict[str | None, dict[str, Any]] = {
            None: {}, "managed": {"managed_by": "eks.amazonaws.com"},
            "shared": {"instance_ids": ("i-1", "i-2")}, "outpost": {"on_outpost": True},
            "detached": {"instance_ids": ()}, "striped": {"instance_ids": ("i-set",)},
        }  # fmt: skip
        more = {"coded": ((CODE_TAG, "web"),), "striped": ((GROUP_TAG, "data"),)}.get(odd or "", ())
        own = {"instance_ids": (f"i-{name}",)} | changes.get(odd, {})
        vol: Volume = volume(shape, ref=ref(name), tags=_tags(asked, team) + more, **own)
        life = VolumeLifecycle(shape, created_at=vol.created_at, delays=DELAYS)
        held = Held(
            volume=vol, life=life, owner=shape, asked=asked, days=days, on=on, measured=measured,
            loads=[(NOW - timedelta(days=30), self._rate(shape, BUSY[0]), kib)],
        )  # fmt: skip
        self.world.held[name] = held
        self._load(name, load, kib, ago=timedelta(minutes=40))

    @staticmethod
    def _rate(shape: Configuration, load: float) -> float:
        from headroom.domain.catalog.ebs import capability

        return capability(shape).burst_iops * load

    def _load(self, name: str, load: float, kib: float, ago: timedelta = timedelta(0)) -> None:
        held = self.world.held[name]
        held.loads.append((self.world.now - ago, self._rate(held.owner, load), kib))

    def do(self, event: Event) -> None:
        """Let one thing happen; what a volume that is gone was to do does not."""
        kind, *rest = event
        world = self.world
        if kind in ABOUT_ONE and rest[0] not in world.held:
            return
        match kind:
            case "wait":
                world.now += timedelta(minutes=rest[0])
            case "sweep":
                self.run(rest[0], lambda p: sweep(p.ports, p.world.now))
            case "alarm" | "event" | "level":
                self._signal(kind, *rest)
            case "change":
                if why_invalid(rest[1]) is None:
                    world.change(rest[0], rest[1])
            case "pause":
                until = None if rest[0] is None else world.now + timedelta(minutes=rest[0])
                world.ledger.pause(until, at=world.now, who="alice")
                world.paused_until = until or world.now + timedelta(days=10_000)
            case "resume":
                world.ledger.resume(at=world.now, who="alice")
                world.paused_until = None
            case "close":
                self._close(rest[0])
            case "approve" | "reject":
                self._answer(kind, rest[0])
            case "rollback":
                self._undo(rest[0])
            case "tags":
                held = world.held[rest[0]]
                held.asked = rest[1]
                team = held.volume.tag("team") or "a"
                kept = tuple(t for t in held.volume.tags if t[0] in (CODE_TAG, GROUP_TAG))
                held.volume = replace(held.volume, tags=_tags(rest[1], team) + kept)
            case "policy":
                self._publish(rest[0])
            case "load":
                self._load(*rest)
            case "measured":
                world.held[rest[0]].measured = rest[1]
            case "fault":
                world.faults[rest[0]] = rest[1]
            case "answers":
                world.answers = list(rest[0])
            case "delete":
                world.gone[rest[0]] = world.held.pop(rest[0])

    def _close(self, name: str | None) -> None:
        about: ResourceRef | None = None if name is None else ref(name)
        self.world.ledger.close_breaker(about, at=self.world.now, who="alice")
        self.law.closed(about)

    def _answer(self, kind: str, number: int) -> None:
        """A person answers one of the requests that wait."""
        world = self.world
        waiting = world.ledger.waiting(world.now)
        if waiting:
            name = waiting[number % len(waiting)].decision_id
            step = Step.APPROVED if kind == "approve" else Step.REJECTED
            said = world.ledger.answer(name, step, at=world.now, who="alice")
            if step is Step.APPROVED and isinstance(said, Record):
                self.law.approved.add(name)

    def _undo(self, number: int) -> None:
        """A person wants one of the changes so far undone; no two ask at one instant."""
        self.world.now += timedelta(microseconds=1)
        made = sorted(self.law.by_decision)
        if made:
            name = made[number % len(made)]
            said = self.world.ledger.request_rollback(name, at=self.world.now, who="alice")
            if isinstance(said, Record):
                self.law.wished.add(name)

    def _signal(self, kind: str, *rest: Any) -> None:
        name, age, trouble = rest if kind != "level" else (None, 0, rest[0])
        claims = {"alarm": Claim.PRESSURE, "event": Claim.MODIFICATION}
        signal = Signal(
            event_id="e", claim=claims.get(kind, Claim.CHECK_CONTRIBUTORS),
            ref=None if name is None else ref(name), alarm_name="all", muted=False, detail="",
            claimed_at=self.world.now - timedelta(minutes=age),
        )  # fmt: skip
        self.run(trouble, lambda p: remediate(p.ports, signal, p.world.now))

    def run(self, trouble: Trouble, work: Callable[[Process], object]) -> None:
        """One run of a function; what it raises is the platform's to log and to deliver again."""
        process = Process(world=self.world, law=self.law, trouble=trouble, do=self.do)
        try:
            work(process)
        except (Crash, ReadFailed, IllegalStep, LostLease):  # the last two: another run was faster
            return

    def settle(self) -> None:
        """Faults are over; the sweep runs whenever anything is due, for days."""
        world = self.world
        world.faults.clear()
        world.answers.clear()
        last = world.now + END
        while world.now < last:
            due = world.ledger.next_due()
            world.now = max(world.now + timedelta(minutes=1), min(due or last, last))
            self.do(("sweep", QUIET))
            states = [world.ledger._state.held(each).state for each in self.law.refs()]
            if not any(s.chain or s.approval_request or s.rollback for s in states):
                break
        world.now += timedelta(minutes=30)
        self.do(("sweep", QUIET))


def play(found: Script) -> Law:
    """Play a script under the law, settle, and let the law judge what is left."""
    runner = ScriptRunner(found)
    with wild_plans() if found.wild else nullcontext():
        for event in found.events:
            runner.do(event)
            runner.law.holds()
        runner.settle()
        runner.law.settled()
    return runner.law


def shortest(found: Script, fails: Callable[[Script], bool]) -> Script:
    """What is left of a script that fails when nothing more can be left out."""
    again = True
    while again:
        again = False
        for fewer in _fewer(found):
            if fails(fewer):
                found, again = fewer, True
                break
    return found


def _fewer(found: Script) -> Iterator[Script]:
    for number in range(len(found.events)):
        yield replace(found, events=found.events[:number] + found.events[number + 1 :])
    for number, event in enumerate(found.events):
        if isinstance(event[-1], Trouble) and event[-1] != QUIET:
            calm = (*event[:-1], QUIET)
            yield replace(found, events=(*found.events[:number], calm, *found.events[number + 1 :]))
    for number in range(len(found.volumes)):
        if len(found.volumes) > 1:
            yield replace(found, volumes=found.volumes[:number] + found.volumes[number + 1 :])
    for key in found.document.get("defaults", {}):
        left = {k: v for k, v in found.document["defaults"].items() if k != key}
        yield replace(found, document={**found.document, "defaults": left})
