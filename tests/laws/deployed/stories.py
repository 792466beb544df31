"""Scripted stories: storage, load and what happens to it, for each kind of storage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from headroom.domain.resources import StorageMode, VolumeType
from headroom.domain.state import Record, Step
from headroom.policy import canonical_json, parse_policy
from headroom.proving.awsrules import ModificationRefused, VolumeLifecycle
from tests.adapters.events import deliveries
from tests.builders import NOW, gp3, ref
from tests.domain.databases import rds
from tests.laws.deployed.account import Account
from tests.laws.deployed.databases import Load
from tests.laws.deployed.faults import Fault
from tests.laws.deployed.judge import Broken, Law, arn_of, nothing_open, relieved, stored_state
from tests.laws.deployed.running import ADAPTIVE, SETTINGS, Functions, deployed
from tests.laws.deployed.volumes import DELAYS, Volume

DAY = timedelta(days=1)
LONG_AGO = NOW - 90 * DAY
LONGEST = timedelta(hours=40)
"""Every chain ends in it, whatever befell its functions."""
MINUTES = timedelta(minutes=10)
STALE = (timedelta(seconds=90), timedelta(0), timedelta(seconds=100), timedelta(seconds=20))
"""Ages of what AWS's describes show, drawn for each call."""
ONE, TWO, THREE = (f"vol-0aaaaaaaaaaaaaaa{number}" for number in (1, 2, 3))
DB, CLUSTER = "orders", "books"
BUSY, STARVED = 1_500.0, 4_000.0


def policy(
    account: Mapping[str, Any] | None = None,
    rules: Sequence[Mapping[str, Any]] = (),
    **defaults: Any,
) -> str:
    """A policy under which one change is in flight at a time."""
    document = {
        "version": 1, "rules": list(rules), "defaults": {"mode": "auto", "max_iops": 64_000, **defaults},
        "account": {"max_in_flight": 1, "max_changes_per_hour": 20, **(account or {})},
    }  # fmt: skip
    return canonical_json(parse_policy(document, source="a story"))


@dataclass(slots=True, kw_only=True)
class Harness:
    """One history on its way: the account, its functions, the law, and the events so far."""

    account: Account
    functions: Functions
    law: Law
    delivered: set[str] = field(default_factory=set)

    @property
    def now(self) -> datetime:
        return self.account.now

    def alarm(self, volume: str, times: int = 1) -> None:
        """An alarm on a volume, delivered so often."""
        event = deliveries.contributor(attributes={"VolumeId": volume})
        self.deliver(event, times)

    def event(self, database: str, kind: str = "db") -> None:
        """An event of RDS about a database or cluster."""
        arn = f"arn:aws:rds:us-east-1:{deliveries.ACCOUNT}:{kind}:{database}"
        source = "DB_INSTANCE" if kind == "db" else "CLUSTER"
        detail = {
            "EventCategories": ["notification"], "SourceType": source, "SourceArn": arn,
            "Date": _text(self.now), "Message": "The gp2 burst balance credits are low.",
            "SourceIdentifier": database, "EventID": "RDS-EVENT-0189" if kind == "db" else "RDS-EVENT-0170",
        }  # fmt: skip
        name = "RDS DB Instance Event" if kind == "db" else "RDS DB Cluster Event"
        self.deliver(deliveries.envelope("aws.rds", name, detail, resources=[arn]))

    def deliver(self, event: dict[str, Any], times: int = 1) -> None:
        """An event on the queue, so often."""
        event["id"] = f"event-{len(self.delivered) + 1}"
        event["time"] = _text(self.now)
        self.delivered.add(event["id"])
        for _ in range(times):
            self.account.put(event)

    def run(self, **delta: float) -> None:
        """Let time pass, and the functions work."""
        self.functions.until(self.now + timedelta(**delta))

    def load(self, volume: str, iops: float) -> None:
        """Another load from now on."""
        self.account.ec2.volumes[volume].loads.append((self.now, iops))

    def publish(self, text: str) -> None:
        """Another policy from now on."""
        self.account.policy = text
        self.law.policy_at = self.account.calls

    def person(self, do: Callable[[Any], object]) -> None:
        """What a person asks of the ledger, which no fault befalls."""
        outer, self.account.invocation = self.account.invocation, None
        try:
            do(self.functions.process.ledger)
        finally:
            self.account.invocation = outer

    def pause(self) -> None:
        """All changes are paused for an hour."""
        until = self.now + timedelta(hours=1)
        self.person(lambda ledger: ledger.pause(until, at=self.now, who="alice"))
        self.law.paused_at, self.law.paused_until = self.account.calls, until

    def resume(self) -> None:
        """The pause ends."""
        self.person(lambda ledger: ledger.resume(at=self.now, who="alice"))
        self.law.paused_until = self.now

    def lift(self, text: str) -> None:
        """What was forbidden meanwhile is allowed again, and then the alarms ring once more."""
        self.account.refusals.clear()
        forbidden = self.law.paused_at is not None or self.account.policy != text
        if self.law.paused_until is not None and self.now < self.law.paused_until:
            self.resume()
        if self.account.policy != text:
            self.publish(text)
        for name in self.account.ec2.volumes if forbidden else ():
            self.alarm(name)
        for name in self.account.rds.loads if forbidden else ():
            self.event(name)
        self.functions.dispatch()
        self.run(minutes=5)
        for name in (*self.account.ec2.volumes, *self.account.rds.loads):
            self.approve(arn_of(self.account, name))
        self.run(minutes=40)

    def approve(self, arn: str) -> None:
        """A person approves what waits of a resource, if anything does."""
        asked = stored_state(self.account, arn).approval_request
        if asked is not None:
            self.person(
                lambda ledger: ledger.answer(
                    asked.decision_id, Step.APPROVED, at=self.now, who="alice"
                )
            )

    def roll_back(self) -> None:
        """A person wants the latest accepted change undone."""
        for used in sorted(self.law.used)[-1:]:
            self.person(lambda ledger, of=used: self._ask_back(ledger, of))

    def _ask_back(self, ledger: Any, decision_id: str) -> None:
        said = ledger.request_rollback(decision_id, at=self.now, who="alice")
        self.law.wanted_back = self.law.wanted_back or isinstance(said, Record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What there is, and what happens."""

    account: Callable[[], Account]
    script: Callable[[Harness], None]
    ends: Callable[[Account], None] = lambda account: None
    """What else must be true when all is quiet."""
    max_in_flight: int = 1
    most_usd: Decimal | None = None
    others_change: bool = False
    adaptive: bool = False
    """Whether it needs adaptive detection; else it is played with alarms of the fleet, or both."""


def run_story(
    story: Story,
    plan: Mapping[int, Fault] | None = None,
    *,
    stale: bool = False,
    meanwhile: str = "",
    adaptive: bool = False,
) -> Harness:
    """Play a story with what befalls its invocations, by their numbers; the law judges it."""
    account = story.account()
    if stale:
        account.lags = STALE
    law = Law(
        max_in_flight=story.max_in_flight,
        most_usd=story.most_usd,
        others_change=story.others_change,
    )
    account.before_change, account.after_change = law.before_change, law.after_change
    with deployed(account, ADAPTIVE if adaptive or story.adaptive else SETTINGS) as functions:
        harness = Harness(account=account, functions=functions, law=law)
        functions.plan = dict(plan or {})
        if meanwhile:
            functions.meanwhile = lambda: MEANWHILE[meanwhile](harness)
        story.script(harness)
        functions.plan.clear()
        if meanwhile:
            harness.lift(story.account().policy)
        settle(functions)
        law.settled(functions, harness.delivered)
        if not meanwhile or (story.ends is relieved and not law.wanted_back):
            _reach(story.ends, harness)
    return harness


def _reach(ends: Callable[[Account], None], harness: Harness) -> None:
    """It comes to that, if need be with the next day's scan and an approval that comes late."""
    try:
        ends(harness.account)
    except Broken:
        for _ in range(26):
            harness.run(hours=1)
            for name in harness.account.ec2.volumes:
                harness.approve(arn_of(harness.account, name))
        settle(harness.functions)
        ends(harness.account)


def settle(functions: Functions) -> None:
    """Let all that is open come to its end; a scan may find more, which ends as well."""
    account = functions.account
    for _ in range(5):
        functions.until(account.now + LONGEST, lambda: nothing_open(account))
        while True:  # what an index does not show yet, a later run publishes
            functions.dispatch()
            functions.until(account.now + MINUTES)
            if functions.published():
                break
        if nothing_open(account):
            return


def _text(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def _volume(account: Account, name: str, instance: str, **tags: str) -> None:
    account.ec2.volumes[name] = Volume(
        volume_id=name, owner=gp3(), measured_since=NOW, instance_id=instance,
        life=VolumeLifecycle(gp3(), created_at=LONG_AGO, delays=DELAYS, volume_id=name),
        loads=[(LONG_AGO, BUSY), (NOW - timedelta(minutes=20), STARVED)],
        tags={"headroom": "auto", **tags},
    )  # fmt: skip


def _one_volume(mode: str = "auto", **settings: Any) -> Account:
    account = Account(policy=policy(**settings))
    _volume(account, ONE, "i-1", headroom=mode)
    return account


def _two_volumes() -> Account:
    account = _one_volume()
    _volume(account, TWO, "i-2")
    return account


def _three_volumes() -> Account:
    account = _one_volume()
    account.ec2.volumes[ONE].loads.pop()
    _volume(account, TWO, "i-2")
    account.ec2.volumes[TWO].loads.pop()
    _volume(account, THREE, "i-3")
    return account


def _two_of_three() -> Account:
    account = _two_volumes()
    _volume(account, THREE, "i-3")
    account.ec2.volumes[THREE].loads.pop()
    return account


def _dear_volumes() -> Account:
    """Two volumes and money for the change of one of them."""
    account = Account(policy=policy({"max_in_flight": 2, "price_increase_usd_per_month": 60}))
    for name, instance in ((ONE, "i-1"), (TWO, "i-2")):
        _volume(account, name, instance)
    return account


def _set() -> Account:
    account = Account(policy=policy({"max_in_flight": 2}))
    for name in (ONE, TWO):
        _volume(account, name, "i-1", **{"headroom:group": "data"})
    return account


def _database(**settings: Any) -> Account:
    account = Account(policy=policy(types=["gp3", "io2"], **settings))
    storage = rds(VolumeType.GP3, 400, 12_000, 500)
    load = Load(owner=storage, loads=[(LONG_AGO, 5_000.0), (NOW - timedelta(minutes=20), 15_000.0)])
    account.rds.add_instance(DB, storage, load, LONG_AGO)
    return account


def _several_volumes() -> Account:
    """The instance has a volume beside its storage, and CloudWatch lists no metrics of each."""
    account = _database()
    volume = {"VolumeName": "RDSDBDATA2", "StorageType": "gp3", "AllocatedStorage": 500}
    account.rds.store.instances[DB].api_fields["AdditionalStorageVolumes"] = [volume]
    return account


def _cluster() -> Account:
    account = Account(policy=policy(), measured_since=NOW - 20 * DAY)
    account.rds.add_cluster(CLUSTER, 90e6, LONG_AGO)
    return account


def _growing() -> Account:
    grows = {"match": {"kind": "rds"}, "set": {"mode": "auto", "grow_space": True, "growth": True}}
    account = Account(policy=policy(rules=[grows], types=["gp3"]), measured_since=NOW - DAY)
    storage = rds(VolumeType.GP3, 300)
    load = Load(owner=storage, loads=[(LONG_AGO, 1_000.0)], free_gib=30.0, fills_gib_per_hour=2.0)
    account.rds.add_instance(DB, storage, load, LONG_AGO)
    return account


def _relief(harness: Harness) -> None:
    harness.alarm(ONE)
    harness.run(minutes=40)


def _relief_of_two(harness: Harness) -> None:
    harness.alarm(ONE)
    harness.alarm(TWO)
    harness.run(hours=1)


def _seen_at_a_glance(harness: Harness) -> None:
    """No alarm rings; one volume is known and calm for hours before its load comes."""
    harness.account.ec2.volumes[ONE].loads.pop()
    harness.functions.dispatch()
    harness.run(hours=3)
    harness.load(ONE, STARVED)
    harness.run(minutes=100)
    relieved(harness.account)


def _twice_and_late(harness: Harness) -> None:
    harness.alarm(ONE, times=2)
    harness.run(minutes=3)
    harness.alarm(ONE, times=2)
    harness.run(minutes=40)


def _twice_and_very_late(harness: Harness) -> None:
    """The same event comes once more after it was answered."""
    harness.alarm(ONE)
    first = next(iter(harness.account.queue.values())).body
    harness.run(minutes=3)
    harness.account.put(first)
    harness.run(minutes=3)
    harness.account.put(first)
    harness.run(minutes=40)


def _alarm_and_old_reads(harness: Harness) -> None:
    """Another alarm comes a minute after the first, and nothing shows the change yet."""
    harness.alarm(ONE)
    harness.run(seconds=65)
    _with_old_reads(harness, lambda: harness.alarm(ONE))
    harness.run(minutes=40)


def _event_and_old_reads(harness: Harness) -> None:
    harness.event(DB)
    harness.run(seconds=65)
    _with_old_reads(harness, lambda: harness.event(DB))
    harness.run(minutes=50)


def _with_old_reads(harness: Harness, wake: Callable[[], None]) -> None:
    usual, harness.account.lags = harness.account.lags, (timedelta(seconds=100),)
    wake()
    harness.run(seconds=20)
    harness.account.lags = usual


def _third_first(harness: Harness) -> None:
    """Two volumes need a change after one was changed already."""
    harness.alarm(THREE)
    harness.run(minutes=40)
    harness.load(ONE, STARVED)
    harness.load(TWO, STARVED)
    harness.run(minutes=20)
    harness.alarm(ONE)
    harness.run(hours=1)


def _asked_and_over(harness: Harness) -> None:
    """The need passes while approval is awaited, and another alarm is reconciled."""
    harness.alarm(ONE)
    harness.run(minutes=5)
    harness.load(ONE, BUSY)
    harness.run(minutes=15)
    harness.alarm(ONE)
    harness.run(minutes=20)


def _two_by_turns(harness: Harness) -> None:
    """The second alarm comes right after the first change, when AWS may not show it yet."""
    harness.alarm(ONE)
    harness.run(seconds=20)
    harness.alarm(ONE)
    harness.alarm(TWO)
    harness.run(minutes=2)
    harness.alarm(ONE)
    harness.run(hours=1)


def _refused(harness: Harness) -> None:
    harness.account.refusals = ["UnauthorizedOperation"]
    harness.alarm(ONE)
    harness.run(hours=7)


def _throttled(harness: Harness) -> None:
    harness.account.refusals = ["RequestLimitExceeded"]
    harness.alarm(ONE)
    harness.run(minutes=50)


def _broken(harness: Harness) -> None:
    """AWS denies every change, until a person closes the breaker."""
    harness.account.refusals = ["UnauthorizedOperation"] * 5
    harness.alarm(ONE)
    harness.run(hours=24, minutes=5)
    harness.law.breaker = (
        stored_state(harness.account, arn_of(harness.account, ONE)).breaker_opened_at is not None
    )
    harness.alarm(ONE)
    harness.run(hours=7)
    harness.law.breaker = False
    harness.person(lambda ledger: ledger.close_breaker(ref(ONE), at=harness.now, who="alice"))
    harness.alarm(ONE)
    harness.run(hours=1)


def _all_broken(harness: Harness) -> None:
    """AWS denies the changes of two volumes until the account's breaker opens, and a third one starves."""
    harness.account.refusals = ["UnauthorizedOperation"] * 10
    harness.alarm(ONE)
    harness.alarm(TWO)
    harness.run(hours=26)
    harness.person(lambda ledger: _see_breaker(harness, ledger))
    harness.load(THREE, STARVED)
    harness.run(minutes=20)
    harness.alarm(THREE)
    harness.run(hours=1)
    harness.law.breaker = False
    for volume in (None, ref(ONE), ref(TWO)):
        harness.person(
            lambda ledger, of=volume: ledger.close_breaker(of, at=harness.now, who="alice")
        )
    for name in (ONE, TWO, THREE):
        harness.alarm(name)
    harness.run(hours=3)


def _see_breaker(harness: Harness, ledger: Any) -> None:
    harness.law.breaker = ledger.stop_state().account.breaker is not None


def _rolled_back(harness: Harness) -> None:
    _relief(harness)
    harness.load(ONE, BUSY)
    harness.roll_back()
    harness.run(minutes=40)


def _approved(harness: Harness) -> None:
    harness.alarm(ONE)
    harness.run(minutes=5)
    harness.approve(arn_of(harness.account, ONE))
    harness.run(minutes=45)


def _given_back(harness: Harness) -> None:
    _relief(harness)
    harness.load(ONE, 200.0)
    harness.run(hours=30)


def _paused(harness: Harness) -> None:
    harness.pause()
    harness.alarm(ONE)
    harness.run(minutes=90)
    harness.resume()
    harness.alarm(ONE)
    harness.run(minutes=40)


def _tightened(harness: Harness) -> None:
    """The policy forbids all changes for a while."""
    harness.publish(policy(max_iops=3_000))
    harness.alarm(ONE)
    harness.run(minutes=30)
    harness.publish(policy())
    harness.alarm(ONE)
    harness.run(minutes=40)


def _others(harness: Harness) -> None:
    """Somebody changes the volume while ours is being verified."""
    harness.alarm(ONE)
    harness.run(minutes=30)
    MEANWHILE["somebody changes it"](harness)
    harness.run(minutes=40)


def _reverted(harness: Harness) -> None:
    """The owner undoes the change, once AWS permits another one, though the load is as it was."""
    _relief(harness)
    life = harness.account.ec2.volumes[ONE].life
    while (change := life.modification(harness.now)) is None or change.in_flight:
        harness.alarm(ONE)
        harness.run(minutes=30)
    life.modify(harness.now, iops=3_000, throughput_mibps=125)
    harness.alarm(ONE)
    harness.run(minutes=40)
    harness.alarm(ONE)
    harness.run(hours=1)


def _database_relief(harness: Harness) -> None:
    harness.event(DB)
    harness.run(minutes=50)


def _database_events(harness: Harness) -> None:
    """RDS reports every phase, and each event is read with answers of another age."""
    harness.event(DB)
    for _ in range(8):
        harness.run(seconds=65)
        harness.event(DB)
    harness.run(minutes=50)


def _database_goes_back(harness: Harness) -> None:
    """Once a describe showed the change, one from before our request answers, and another one."""
    harness.event(DB)
    harness.run(minutes=4, seconds=10)
    _older_after_newer(harness, lambda: harness.event(DB))
    harness.run(minutes=50)


def _cluster_goes_back(harness: Harness) -> None:
    """The same of a cluster, whose mode changes at once."""
    harness.functions.dispatch()
    harness.run(seconds=70)
    _older_after_newer(
        harness,
        lambda: harness.deliver(_call_of_rds("ModifyDBCluster", dBClusterIdentifier=CLUSTER)),
    )
    harness.run(hours=2)


def _call_of_rds(name: str, **parameters: str) -> dict[str, Any]:
    """A call as CloudTrail reports it."""
    event = deliveries.api_call(parameters, name, eventSource="rds.amazonaws.com")
    return {**event, "source": "aws.rds"}


def _older_after_newer(harness: Harness, wake: Callable[[], None]) -> None:
    usual = harness.account.lags
    for lag in (0, 330, 0, 460):
        harness.account.lags = (timedelta(seconds=lag),)
        wake()
        harness.run(seconds=65)
    harness.account.lags = usual


def _cluster_switch(harness: Harness) -> None:
    harness.functions.dispatch()
    harness.run(hours=2)


def _is_back(account: Account) -> None:
    here = account.ec2.volumes[ONE].life.billed(account.now)
    if here != gp3():
        raise Broken(f"liveness: {here} is not what it was before the change")


def _is_untouched(account: Account) -> None:
    if account.changes:
        raise Broken(f"unclear: {account.changes} were made")


def _is_less(account: Account) -> None:
    here = account.ec2.volumes[ONE].life.billed(account.now)
    if (here.iops or 0) > 8_000:
        raise Broken(f"liveness: nobody gave back {here}")


def _is_optimized(account: Account) -> None:
    rules = account.rds.store.clusters[CLUSTER].aurora
    if rules is None or rules.mode(account.now) is not StorageMode.IO_OPTIMIZED:
        raise Broken("liveness: the dearer mode is kept")


STORIES: Mapping[str, Story] = {
    "relief": Story(account=_one_volume, script=_relief, ends=relieved),
    "seen at a glance": Story(account=_one_volume, script=_seen_at_a_glance, ends=relieved, adaptive=True),
    "two volumes": Story(account=_two_volumes, script=_relief_of_two, ends=relieved),
    "twice and late": Story(account=_one_volume, script=_twice_and_late, ends=relieved),
    "twice and very late": Story(account=_one_volume, script=_twice_and_very_late, ends=relieved),
    "alarm and old reads": Story(account=_one_volume, script=_alarm_and_old_reads, ends=relieved),
    "event and old reads": Story(account=_database, script=_event_and_old_reads, ends=relieved),
    "third first": Story(account=_three_volumes, script=_third_first, ends=relieved),
    "asked and over": Story(account=partial(_one_volume, mode="approve"), script=_asked_and_over),
    "by turns": Story(account=_two_volumes, script=_two_by_turns, ends=relieved),
    "set": Story(account=_set, script=_relief, ends=relieved, max_in_flight=2),
    "database": Story(account=_database, script=_database_relief, ends=relieved),
    "database events": Story(account=_database, script=_database_events, ends=relieved),
    "database goes back": Story(account=_database, script=_database_goes_back, ends=relieved),
    "cluster goes back": Story(account=_cluster, script=_cluster_goes_back, ends=_is_optimized),
    "several volumes": Story(
        account=_several_volumes, script=_database_relief, ends=_is_untouched
    ),
    "space": Story(account=_growing, script=_database_relief),
    "cluster": Story(account=_cluster, script=_cluster_switch, ends=_is_optimized),
    "refused": Story(account=_one_volume, script=_refused, ends=relieved),
    "throttled": Story(account=_one_volume, script=_throttled, ends=relieved),
    "dear volumes": Story(
        account=_dear_volumes, script=_relief_of_two, max_in_flight=2, most_usd=Decimal(60)
    ),
    "one of two": Story(account=_two_volumes, script=_relief),
    "one of two dear": Story(
        account=_dear_volumes, script=_relief, max_in_flight=2, most_usd=Decimal(60)
    ),
    "broken": Story(account=_one_volume, script=_broken, ends=relieved),
    "all broken": Story(account=_two_of_three, script=_all_broken, ends=relieved),
    "rolled back": Story(account=_one_volume, script=_rolled_back, ends=_is_back),
    "approved": Story(account=partial(_one_volume, mode="approve"), script=_approved, ends=relieved),
    "given back": Story(
        account=partial(_one_volume, give_back_after_days=0.5), script=_given_back, ends=_is_less
    ),
    "paused": Story(account=_one_volume, script=_paused, ends=relieved),
    "tightened": Story(account=_one_volume, script=_tightened, ends=relieved),
    "others": Story(account=_one_volume, script=_others, ends=relieved, others_change=True),
    "reverted": Story(account=_one_volume, script=_reverted, ends=_is_back, others_change=True),
}  # fmt: skip
"""By name."""


def _again(harness: Harness) -> None:
    """Another worker takes the same alarm, and the dispatcher runs."""
    for name in harness.account.ec2.volumes:
        harness.alarm(name)
    for name in harness.account.rds.loads:
        harness.event(name)
    harness.functions.deliver()
    harness.functions.dispatch()
    harness.functions.deliver()


def _pause_a_while(harness: Harness) -> None:
    harness.pause()


def _forbid(harness: Harness) -> None:
    harness.publish(policy(max_iops=3_001))


def _allow_more(harness: Harness) -> None:
    harness.publish(policy(max_iops=50_000))


def _hang(harness: Harness) -> None:
    """A call takes two minutes."""
    harness.account.now += timedelta(minutes=2)


def _hang_and_again(harness: Harness) -> None:
    """The worker stalls until its claim is over, and another one does the work."""
    harness.account.now += timedelta(minutes=5)
    _again(harness)


def _wants_back(harness: Harness) -> None:
    harness.roll_back()


def _somebody(harness: Harness) -> None:
    """Somebody changes the first volume by hand."""
    harness.law.others_change = True
    for volume in list(harness.account.ec2.volumes.values())[:1]:
        with suppress(ModificationRefused):
            before = volume.life.billed(harness.now)
            volume.life.modify(harness.now, iops=3_500 if (before.iops or 0) < 3_500 else 15_000)
            added = max(0, (before.iops or 0) - (volume.owner.iops or 0))
            after = volume.life.billed(harness.now)
            volume.owner = gp3(100, (after.iops or 0) - added, volume.owner.throughput_mibps or 125)


MEANWHILE: Mapping[str, Callable[[Harness], None]] = {
    "another worker": _again, "pause": _pause_a_while, "a narrower policy": _forbid,
    "another policy": _allow_more, "a call hangs": _hang, "a worker stalls": _hang_and_again,
    "somebody changes it": _somebody,
    "a person wants it back": _wants_back,
}  # fmt: skip
"""What may happen between two calls."""
