"""What the pages in docs/guardrails say of each guardrail beside what its function says of itself.

One entry per guardrail; `tools/guardrails.py` says how to add one. Each carries an example that
the pages and the tests make a real verdict from, so no sentence here stands alone. Nothing that
decides reads this table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from headroom.domain.databases import Database, DatabaseFacts, Engine
from headroom.domain.demand import Binding
from headroom.domain.free_space import SpaceBasis, SpaceForecast
from headroom.domain.freezes import CalendarSeen, Freeze
from headroom.domain.groups import GroupStanding
from headroom.domain.guardrails.case import Case
from headroom.domain.limits import CodeOwned, Mode
from headroom.domain.requests import QUIET_AFTER_ROLLBACK, RolledBack
from headroom.domain.resources import Configuration, Modification, ModificationState, VolumeType
from headroom.domain.standing import KnownModification
from headroom.domain.traffic import InFlight, Traffic
from headroom.domain.verdicts import Guardrail
from headroom.domain.windows import parse_window


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What to say of one guardrail. `blocked` turns a case that is allowed into one it blocks."""

    settings: tuple[str, ...] = ()
    """Settings of the policy that move it; `account.NAME` for those of the account."""
    clears: str | None = None
    """When a block passes by itself; None: it does not."""
    do: str
    """What a person can do."""
    example: str
    """What `blocked` changes, in words."""
    blocked: Callable[[Case], Case]
    lowers: bool = False
    """Whether the example is of a plan that lowers, not of one that raises."""
    cluster: bool = False
    """Whether it is of an Aurora cluster's storage mode."""


def _limits(**limits: Any) -> Callable[[Case], Case]:
    def made(case: Case) -> Case:
        effective = replace(case.effective, limits=replace(case.effective.limits, **limits))
        return replace(case, effective=effective)

    return made


def _standing(change: Callable[[Case], Mapping[str, Any]]) -> Callable[[Case], Case]:
    return lambda case: replace(case, standing=replace(case.standing, **change(case)))


def _volume(**changes: Any) -> Callable[[Case], Case]:
    def made(case: Case) -> Case:
        seen = replace(case.observation, volume=replace(case.observation.volume, **changes))
        return replace(case, observation=seen)

    return made


def _target(**changes: Any) -> Callable[[Case], Case]:
    def made(case: Case) -> Case:
        return replace(case, plan=replace(case.plan, target=replace(case.plan.target, **changes)))

    return made


def _nearly_full(case: Case) -> Case:
    space = SpaceForecast(
        size_gib=400, free_gib=4.0, reserve_gib=40.0, lowest_gib=-10.0, fill_gib_per_day=48.0,
        full_at=case.observation.at + timedelta(hours=2), needed_gib=480, basis=SpaceBasis.SURGE,
        short=True, explanation="4.0 of 400 GiB are free; 2.0 GiB an hour more for the last hour",
    )  # fmt: skip
    return replace(case, space=space)


def _less_durable(case: Case) -> Case:
    origin = Configuration(
        volume_type=VolumeType.IO2, size_gib=100, iops=3000, throughput_mibps=None
    )
    return replace(case, plan=replace(case.plan, origin=origin))


def _undone(case: Case) -> RolledBack:
    at = case.observation.at - timedelta(hours=3)
    return RolledBack(decision_id="0123456789abcdef0123", at=at, until=at + QUIET_AFTER_ROLLBACK)


def _in_flight(case: Case) -> Case:
    change = Modification(
        state=ModificationState.OPTIMIZING, started_at=case.observation.at - timedelta(minutes=20),
        ended_at=None, origin=case.plan.origin, target=case.plan.origin, progress_percent=40,
    )  # fmt: skip
    return replace(case, observation=replace(case.observation, modification=change))


def _bound(binding: Binding) -> Callable[[Case], Case]:
    return lambda case: replace(case, diagnosis=replace(case.diagnosis, binding=binding))


def _seen(**changes: Any) -> Callable[[Case], Case]:
    return lambda case: replace(case, demand=replace(case.demand, **changes))


def _changed(case: Case, *hours: float) -> Mapping[str, Any]:
    starts = sorted(case.observation.at - timedelta(hours=each) for each in hours)
    known = tuple(KnownModification(started_at=start, by="other") for start in starts)
    return {"modifications": known}


def _tag_misread(case: Case) -> Case:
    problem = "the tag headroom:max-iops is 'many'"
    return replace(case, effective=replace(case.effective, problem=problem))


def _of_a_stack(case: Case) -> Case:
    tags = (("aws:cloudformation:stack-name", "db"), *case.observation.volume.tags)
    return _limits(infrastructure_as_code=CodeOwned.TELL)(_volume(tags=tags)(case))


def _put_back(case: Case) -> Case:
    at, before, after = case.observation.at, case.plan.origin, case.plan.target
    ours = KnownModification(
        started_at=at - timedelta(days=2), by="headroom", origin=before, target=after
    )
    theirs = KnownModification(
        started_at=at - timedelta(days=1), by="other", origin=after, target=before
    )
    return replace(case, standing=replace(case.standing, modifications=(ours, theirs)))


def _held_back(case: Case) -> Case:
    tagged = _volume(tags=(("headroom:group", "data"), *case.observation.volume.tags))(case)
    problem = "vol-2 has a change in flight"
    return replace(tagged, group=GroupStanding(name="data", problem=problem, temporary=True))


def _database(**changes: Any) -> Callable[[Case], Case]:
    facts = DatabaseFacts(instance_class="db.r6g.large", status="available", members=("orders",))
    return _volume(facts=replace(facts, **changes))


def _across_the_threshold(case: Case) -> Case:
    database = Database(engine=Engine.POSTGRESQL)
    below, above = (
        Configuration(
            volume_type=VolumeType.GP3, size_gib=size, iops=iops, throughput_mibps=mibps,
            database=database,
        )
        for size, iops, mibps in ((300, None, None), (400, 12_000, 500))
    )  # fmt: skip
    seen = replace(case, plan=replace(case.plan, origin=below, target=above))
    return _limits(growth=True)(_volume(configuration=below)(seen))


RAISE_OR_WAIT = "raise the limit in the policy, or leave the volume as it is"
ON_PURPOSE = "change the volume yourself; Headroom goes on from there"


def _frozen(case: Case) -> Case:
    at = case.observation.at
    freeze = Freeze(begins=at - timedelta(days=1), until=at + timedelta(hours=3), reason="year end")
    return replace(case, policy=replace(case.policy, freezes=(freeze,)))


def _calendar_closed(case: Case) -> Case:
    name, opens = "company-closed-days", case.observation.at + timedelta(hours=2)
    seen = CalendarSeen(name=name, open=False, changes_at=opens)
    standing = replace(case.standing, calendars=(seen,))
    return replace(case, standing=standing, policy=replace(case.policy, calendars=(name,)))


def _under_way(case: Case, count: int, zone: str, counts: tuple[tuple[str, int], ...] = ()) -> Case:
    since = case.observation.at - timedelta(minutes=70)
    others = tuple(
        InFlight(resource=f"vol-{n}", decision_id=f"d{n}", since=since, zone=zone, counts=counts)
        for n in range(count)
    )
    return replace(case, standing=replace(case.standing, traffic=Traffic(in_flight=others)))


PAGES: Mapping[Guardrail, Page] = MappingProxyType(
    {
        Guardrail.POLICY: Page(
            do="put the tag right; `headroom policy show VOLUME` says what is not understood",
            example="the volume carries the tag `headroom:max-iops: many`", blocked=_tag_misread,
        ),
        Guardrail.PAUSE: Page(
            clears="when the time the pause was given is over; without one, when somebody resumes",
            do="`headroom resume`; `headroom status` says who paused, since when and why",
            example="paused for two hours",
            blocked=_standing(
                lambda case: {"paused_until": case.observation.at + timedelta(hours=2)}
            ),
        ),
        Guardrail.BREAKER: Page(
            do="find out why change after change failed, then `headroom breaker close --account`",
            example="the account's breaker opened half an hour ago",
            blocked=_standing(lambda case: {
                "account_breaker_opened_at": case.observation.at - timedelta(minutes=30),
            }),
        ),
        Guardrail.MODE: Page(
            settings=("mode", "tags_may"),
            do="tag the volume `headroom: auto`, or set the mode in a rule",
            example="a volume without a tag, in mode `observe`",
            blocked=_limits(mode=Mode.OBSERVE),
        ),
        Guardrail.APPROVAL: Page(
            settings=("mode", "approve_above_usd_per_month", "approval_expires"),
            do="approve what it costs now when it is asked for again",
            example="a person approved a change for $1 a month; by now it would cost more",
            blocked=lambda case: replace(case, approved_usd=Decimal(1)),
        ),
        Guardrail.OTHER_OWNER: Page(
            do="nothing here: change it through the service it belongs to",
            example="a volume that Amazon EKS manages",
            blocked=_volume(managed_by="eks.amazonaws.com"),
        ),
        Guardrail.MULTI_ATTACH: Page(
            do=ON_PURPOSE, example="a volume attached to two instances",
            blocked=_volume(instance_ids=("i-1", "i-2")),
        ),
        Guardrail.INFRASTRUCTURE_AS_CODE: Page(
            settings=("infrastructure_as_code", "account.infrastructure_as_code_tags"),
            do="write what the record hands over where the volume's settings are kept, or set "
            "`infrastructure_as_code: act`",
            example="`infrastructure_as_code: tell`, a volume of a CloudFormation stack",
            blocked=_of_a_stack,
        ),
        Guardrail.REVERTED: Page(
            settings=("revert_wait",),
            do="write the values where the volume's settings are kept, or make the volume what "
            "Headroom had made it: both are answers; `revert_wait` is how long it waits for one",
            example="raised two days ago, and made what it was before the day after",
            blocked=_put_back,
        ),
        Guardrail.DATABASE_STATE: Page(
            clears="when RDS calls the database available; what is unusual about its storage stays",
            do="see to the database where its status asks for it (a full one needs storage now); "
            "an EBS volume has no such state",
            example="a database that is being backed up", blocked=_database(status="backing-up"),
        ),
        Guardrail.PENDING_CHANGES: Page(
            do="apply them when it suits the database, or withdraw them; Headroom's call takes "
            "effect at once, and RDS would apply them with it",
            example="somebody left another instance class for the maintenance window",
            blocked=_database(pending=("DBInstanceClass",)),
        ),
        Guardrail.SIZE_OWNER: Page(
            do="leave size to one of the two: switch RDS's storage autoscaling off, or leave growing to it",
            example="a target of 440 GiB for a database that RDS grows by itself up to 1,000 GiB",
            blocked=lambda case: _target(size_gib=440)(_database(max_allocated_gib=1_000)(case)),
        ),
        Guardrail.FREE_SPACE: Page(
            clears="when enough is free again, or the plan adds space",
            do="see [free space](../free-space.md): let it grow, make room, or grow it yourself; an "
            "EBS volume publishes no free space and is not held for it",
            example="4 of 400 GiB are free, and it would be full in two hours",
            blocked=_nearly_full,
        ),
        Guardrail.GROUP: Page(
            settings=("account.group_tag",),
            clears="when what stops the others clears, if that clears by itself",
            do="see to the volume that is named; a tag that should not be there can be taken off",
            example="one of the set's other volumes has a change in flight", blocked=_held_back,
        ),
        Guardrail.VALID: Page(
            do="nothing: such a plan is a mistake of ours; please report it",
            example="3,000 IOPS with 900 MiB/s, which gp3 cannot have",
            blocked=_target(iops=3000, throughput_mibps=900),
        ),
        Guardrail.NEVER_SHRINK: Page(
            do="copy the data to a smaller volume yourself; AWS has no other way",
            example="a target of 99 GiB for a volume of 100 GiB", blocked=_target(size_gib=99),
        ),
        Guardrail.DURABILITY: Page(
            do=ON_PURPOSE, example="from io2 to gp3", blocked=_less_durable,
        ),
        Guardrail.GROWTH: Page(
            settings=("growth", "grow_space"), do="set `growth: true` where size may grow",
            example="a target of 101 GiB for a volume of 100 GiB", blocked=_target(size_gib=101),
        ),
        Guardrail.FULL_COPY: Page(
            settings=("full_copy", "growth"),
            do="begin it yourself at a quiet hour; or set `full_copy: true` (and `growth: true`), "
            "and Headroom begins it once the load rests",
            example="a PostgreSQL database that would grow from 300 to 400 GiB",
            blocked=_across_the_threshold,
        ),
        Guardrail.TYPES: Page(
            settings=("types",), do="add the type to `types`, or change the type yourself",
            example="from gp3 to io1, with `types: [gp3, io2]`",
            blocked=_target(volume_type=VolumeType.IO1, throughput_mibps=None),
        ),
        Guardrail.MAX_IOPS: Page(
            settings=("max_iops",), do=RAISE_OR_WAIT, example="`max_iops: 3500`",
            blocked=_limits(max_iops=3_500),
        ),
        Guardrail.MAX_THROUGHPUT: Page(
            settings=("max_throughput_mibps",), do=RAISE_OR_WAIT,
            example="`max_throughput_mibps: 100`", blocked=_limits(max_throughput_mibps=100),
        ),
        Guardrail.MAX_SIZE: Page(
            settings=("max_size_gib", "growth"), do=RAISE_OR_WAIT,
            example="a target of 20,000 GiB, with `max_size_gib: 16384`",
            blocked=_target(size_gib=20_000),
        ),
        Guardrail.LARGEST_STEP: Page(
            settings=("largest_step",),
            do="raise `largest_step`; a plan is cut down to it by itself where that still helps",
            example="`largest_step: 1.1`", blocked=_limits(largest_step=1.1),
        ),
        Guardrail.PRICE_PER_RESOURCE: Page(
            settings=("price_increase_usd_per_month",),
            do="raise the limit, or change the volume yourself: its new price is the one counted "
            "from; `headroom budget` shows both",
            example="`price_increase_usd_per_month: 0.50`",
            blocked=_limits(price_increase_usd=Decimal("0.50")),
        ),
        Guardrail.PRICE_PER_ACCOUNT: Page(
            settings=("account.price_increase_usd_per_month",),
            do="raise the account's limit; `headroom budget` shows which volumes take it up",
            example="increases of $1,999.99 in force, of $2,000",
            blocked=_standing(lambda _: {"account_increase_usd": Decimal("1999.99")}),
        ),
        Guardrail.SLOTS: Page(
            settings=("slots_reserve",),
            clears="when enough of the changes are 24 hours old; never, if all four are kept",
            do="lower `slots_reserve`, or use a slot that is kept for people yourself",
            example="changes 1, 2 and 3 hours ago, one slot kept for people",
            blocked=_standing(lambda case: _changed(case, 1, 2, 3)),
        ),
        Guardrail.IN_FLIGHT: Page(
            clears="when AWS completes the change: minutes to hours, more than a day at times",
            do="nothing: AWS takes no other change meanwhile, and cannot stop this one",
            example="a change began 20 minutes ago and is optimizing", blocked=_in_flight,
        ),
        Guardrail.BACK_OFF: Page(
            clears="at the time that the refusal set: minutes to six hours",
            do="see the refusal with `headroom explain VOLUME`",
            example="AWS refused and may be asked again in an hour",
            blocked=_standing(
                lambda case: {"retry_not_before": case.observation.at + timedelta(hours=1)}
            ),
        ),
        Guardrail.COOLDOWN: Page(
            settings=("cooldown",), clears="so long after our own last change as `cooldown` says",
            do="shorten `cooldown`",
            example="our own last change 10 minutes ago, `cooldown: 1h`",
            blocked=lambda case: _limits(cooldown_minutes=60)(
                _standing(lambda c: {"last_act_at": c.observation.at - timedelta(minutes=10)})(case)
            ),
        ),
        Guardrail.ROLLED_BACK: Page(
            settings=("roll_back_ineffective",),
            clears="a day after the rollback",
            do="change the volume yourself; to keep Headroom from trying again, narrow its limits",
            example="a change of this volume was rolled back three hours ago",
            blocked=_standing(lambda c: {"rolled_back": _undone(c)}),
        ),
        Guardrail.FAILURES: Page(
            do="find out why the changes failed, then `headroom breaker close VOLUME`",
            example="five changes in a row failed",
            blocked=_standing(lambda _: {"failures_in_a_row": 5}),
        ),
        Guardrail.INSTANCE_LIMIT: Page(
            clears="when the instance is no longer the limit, or its limits are known",
            do="use a larger instance, or spread the load over more of them",
            example="the instance's own EBS limit binds", blocked=_bound(Binding.INSTANCE_IOPS),
        ),
        Guardrail.DATA: Page(
            clears="when enough minutes were measured",
            do="nothing; if the volume is busy and stays unmeasured, see whether CloudWatch has it",
            example="three of the last 30 minutes were measured", blocked=_seen(known_minutes=3),
        ),
        Guardrail.GIVE_BACK: Page(
            settings=("give_back",), do="set `give_back: true` where less is wanted",
            example="`give_back: false`", blocked=_limits(give_back=False), lowers=True,
        ),
        Guardrail.GIVE_BACK_DATA: Page(
            settings=("give_back_after_days",),
            clears="when so many days were measured since the last change by somebody else",
            do="lower `give_back_after_days`, or lower the volume yourself",
            example="`give_back_after_days: 7`, five days measured",
            blocked=_limits(give_back_after_days=7.0), lowers=True,
        ),
        Guardrail.GIVE_BACK_CALM: Page(
            clears="half an hour after a limit was last touched", do="nothing",
            example="a limit was touched ten minutes ago", blocked=_seen(clear_minutes=10),
            lowers=True,
        ),
        Guardrail.GIVE_BACK_SLOT: Page(
            settings=("slots_reserve",),
            clears="when enough changes are 24 hours old; never, if `slots_reserve` is 3 or 4",
            do="nothing: the slot is kept for raising the volume again",
            example="changes 3 and 9 hours ago, one slot kept for people",
            blocked=_standing(lambda case: _changed(case, 3, 9)), lowers=True,
        ),
        Guardrail.GIVE_BACK_FLOOR: Page(
            settings=("min_iops", "min_throughput_mibps"), do="lower the floor",
            example="`min_iops: 10000`", blocked=_limits(min_iops=10_000), lowers=True,
        ),
        Guardrail.GIVE_BACK_WAY_BACK: Page(
            settings=("max_iops", "max_throughput_mibps", "largest_step"),
            do="raise the ceiling to what the volume has, or lower the volume yourself",
            example="`max_iops: 8000` for a volume of 12,000 IOPS",
            blocked=_limits(max_iops=8_000), lowers=True,
        ),
        Guardrail.CHANGE_WINDOW: Page(
            settings=("change_windows",), clears="when one of the windows opens",
            do="wait, or allow more hours in `change_windows`",
            example="`change_windows: [\"Mon-Fri 22:00-06:00 Europe/Berlin\"]` on a Monday at noon",
            blocked=_limits(
                change_windows=(parse_window("Mon-Fri 22:00-06:00 Europe/Berlin"),)
            ),
        ),
        Guardrail.FREEZE: Page(
            settings=("account.freezes",), clears="when the last of the freezes ends",
            do="wait, or take the freeze out of `account.freezes`",
            example="a freeze that ends in three hours", blocked=_frozen,
        ),
        Guardrail.CALENDAR: Page(
            settings=("account.calendars",),
            clears="when all calendars are open and can be read",
            do="open the calendar, let the functions read it, or name it no more",
            example="the calendar `company-closed-days` is closed for two more hours",
            blocked=_calendar_closed,
        ),
        Guardrail.MAX_IN_FLIGHT: Page(
            settings=("account.max_in_flight",), clears="when a change under way has ended",
            do="nothing: the most starved gets the next place; or raise `max_in_flight`",
            example="20 changes under way in other zones",
            blocked=lambda case: _under_way(case, 20, "us-east-1b"),
        ),
        Guardrail.MAX_IN_FLIGHT_PER_AZ: Page(
            settings=("account.max_in_flight_per_az",),
            clears="when a change under way in the zone has ended",
            do="nothing: the most starved gets the next place; or raise `max_in_flight_per_az`",
            example="10 changes under way in the volume's own zone",
            blocked=lambda case: _under_way(case, 10, case.observation.volume.availability_zone),
        ),
        Guardrail.MAX_CHANGES_PER_HOUR: Page(
            settings=("account.max_changes_per_hour",),
            clears="when the oldest of those changes is an hour old",
            do="nothing: the most starved gets the next place; or raise `max_changes_per_hour`",
            example="20 changes begun in the last 40 minutes, all of them ended",
            blocked=_standing(
                lambda case: {
                    "traffic": Traffic(
                        starts=tuple(
                            case.observation.at - timedelta(minutes=2 * n) for n in range(20, 0, -1)
                        )
                    )
                }
            ),
        ),
        Guardrail.REGIONAL_QUOTA: Page(
            settings=("account.regional_quotas",),
            clears="when changes have ended; never, if this one alone is above the quota",
            do="have AWS raise the quota, and say so in `regional_quotas`",
            example="changes under way of volumes of 500 TiB of gp3",
            blocked=lambda case: _under_way(case, 1, "us-east-1b", (("gp3_gib", 512_000),)),
        ),
        Guardrail.WORTH_IT: Page(
            settings=("relief_value_usd_per_minute", "preset"),
            clears="when more is expected to starve, or a cheaper plan is found",
            do="say that a starved minute is worth more, or raise the volume yourself",
            example="the starvation it would end is worth 40 cents a day less than it costs",
            blocked=lambda case: replace(case, plan=replace(case.plan, value_usd_per_day=-0.4)),
        ),
    }
)  # fmt: skip
"""What to say of each guardrail; the order of the pages is that of GUARDRAILS."""
