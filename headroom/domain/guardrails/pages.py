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

from headroom.domain.demand import Binding
from headroom.domain.guardrails.case import Case
from headroom.domain.guardrails.page_cases import (
    across_the_threshold,
    bound,
    calendar_closed,
    changed,
    database,
    frozen,
    held_back,
    in_flight,
    less_durable,
    limits,
    nearly_full,
    of_a_stack,
    put_back,
    seen,
    standing,
    tag_misread,
    target,
    under_way,
    undone,
    volume,
)
from headroom.domain.limits import Mode
from headroom.domain.resources import VolumeType
from headroom.domain.traffic import Traffic
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


RAISE_OR_WAIT = "raise the limit in the policy, or leave the volume as it is"
ON_PURPOSE = "change the volume yourself; Headroom goes on from there"

PAGES: Mapping[Guardrail, Page] = MappingProxyType(
    {
        Guardrail.POLICY: Page(
            do="put the tag right; `headroom policy show VOLUME` says what is not understood",
            example="the volume carries the tag `headroom:max-iops: many`", blocked=tag_misread,
        ),
        Guardrail.PAUSE: Page(
            clears="when the time the pause was given is over; without one, when somebody resumes",
            do="`headroom resume`; `headroom status` says who paused, since when and why",
            example="paused for two hours",
            blocked=standing(
                lambda case: {"paused_until": case.observation.at + timedelta(hours=2)}
            ),
        ),
        Guardrail.BREAKER: Page(
            do="find out why change after change failed, then `headroom breaker close --account`",
            example="the account's breaker opened half an hour ago",
            blocked=standing(lambda case: {
                "account_breaker_opened_at": case.observation.at - timedelta(minutes=30),
            }),
        ),
        Guardrail.MODE: Page(
            settings=("mode", "tags_may"),
            do="tag the volume `headroom: auto`, or set the mode in a rule",
            example="a volume without a tag, in mode `observe`",
            blocked=limits(mode=Mode.OBSERVE),
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
            blocked=volume(managed_by="eks.amazonaws.com"),
        ),
        Guardrail.MULTI_ATTACH: Page(
            do=ON_PURPOSE, example="a volume attached to two instances",
            blocked=volume(instance_ids=("i-1", "i-2")),
        ),
        Guardrail.INFRASTRUCTURE_AS_CODE: Page(
            settings=("infrastructure_as_code", "account.infrastructure_as_code_tags"),
            do="write what the record hands over where the volume's settings are kept, or set "
            "`infrastructure_as_code: act`",
            example="`infrastructure_as_code: tell`, a volume of a CloudFormation stack",
            blocked=of_a_stack,
        ),
        Guardrail.REVERTED: Page(
            settings=("revert_wait",),
            do="write the values where the volume's settings are kept, or make the volume what "
            "Headroom had made it: both are answers; `revert_wait` is how long it waits for one",
            example="raised two days ago, and made what it was before the day after",
            blocked=put_back,
        ),
        Guardrail.DATABASE_STATE: Page(
            clears="when RDS calls the database available; what is unusual about its storage stays",
            do="see to the database where its status asks for it (a full one needs storage now); "
            "an EBS volume has no such state",
            example="a database that is being backed up", blocked=database(status="backing-up"),
        ),
        Guardrail.PENDING_CHANGES: Page(
            do="apply them when it suits the database, or withdraw them; Headroom's call takes "
            "effect at once, and RDS would apply them with it",
            example="somebody left another instance class for the maintenance window",
            blocked=database(pending=("DBInstanceClass",)),
        ),
        Guardrail.SIZE_OWNER: Page(
            do="leave size to one of the two: switch RDS's storage autoscaling off, or leave growing to it",
            example="a target of 440 GiB for a database that RDS grows by itself up to 1,000 GiB",
            blocked=lambda case: target(size_gib=440)(database(max_allocated_gib=1_000)(case)),
        ),
        Guardrail.FREE_SPACE: Page(
            clears="when enough is free again, or the plan adds space",
            do="see [free space](../operate/free-space.md): let it grow, make room, or grow it yourself; an "
            "EBS volume publishes no free space and is not held for it",
            example="4 of 400 GiB are free, and it would be full in two hours",
            blocked=nearly_full,
        ),
        Guardrail.GROUP: Page(
            settings=("account.group_tag",),
            clears="when what stops the others clears, if that clears by itself",
            do="see to the volume that is named; a tag that should not be there can be taken off",
            example="one of the set's other volumes has a change in flight", blocked=held_back,
        ),
        Guardrail.VALID: Page(
            do="nothing: such a plan is a mistake of ours; please report it",
            example="3,000 IOPS with 900 MiB/s, which gp3 cannot have",
            blocked=target(iops=3000, throughput_mibps=900),
        ),
        Guardrail.NEVER_SHRINK: Page(
            do="copy the data to a smaller volume yourself; AWS has no other way",
            example="a target of 99 GiB for a volume of 100 GiB", blocked=target(size_gib=99),
        ),
        Guardrail.DURABILITY: Page(
            do=ON_PURPOSE, example="from io2 to gp3", blocked=less_durable,
        ),
        Guardrail.GROWTH: Page(
            settings=("growth", "grow_space"), do="set `growth: true` where size may grow",
            example="a target of 101 GiB for a volume of 100 GiB", blocked=target(size_gib=101),
        ),
        Guardrail.FULL_COPY: Page(
            settings=("full_copy", "growth"),
            do="begin it yourself at a quiet hour; or set `full_copy: true` (and `growth: true`), "
            "and Headroom begins it once the load rests",
            example="a PostgreSQL database that would grow from 300 to 400 GiB",
            blocked=across_the_threshold,
        ),
        Guardrail.TYPES: Page(
            settings=("types",), do="add the type to `types`, or change the type yourself",
            example="from gp3 to io1, with `types: [gp3, io2]`",
            blocked=target(volume_type=VolumeType.IO1, throughput_mibps=None),
        ),
        Guardrail.MAX_IOPS: Page(
            settings=("max_iops",), do=RAISE_OR_WAIT, example="`max_iops: 3500`",
            blocked=limits(max_iops=3_500),
        ),
        Guardrail.MAX_THROUGHPUT: Page(
            settings=("max_throughput_mibps",), do=RAISE_OR_WAIT,
            example="`max_throughput_mibps: 100`", blocked=limits(max_throughput_mibps=100),
        ),
        Guardrail.MAX_SIZE: Page(
            settings=("max_size_gib", "growth"), do=RAISE_OR_WAIT,
            example="a target of 20,000 GiB, with `max_size_gib: 16384`",
            blocked=target(size_gib=20_000),
        ),
        Guardrail.LARGEST_STEP: Page(
            settings=("largest_step",),
            do="raise `largest_step`; a plan is cut down to it by itself where that still helps",
            example="`largest_step: 1.1`", blocked=limits(largest_step=1.1),
        ),
        Guardrail.PRICE_PER_RESOURCE: Page(
            settings=("price_increase_usd_per_month",),
            do="raise the limit, or change the volume yourself: its new price is the one counted "
            "from; `headroom budget` shows both",
            example="`price_increase_usd_per_month: 0.50`",
            blocked=limits(price_increase_usd=Decimal("0.50")),
        ),
        Guardrail.PRICE_PER_ACCOUNT: Page(
            settings=("account.price_increase_usd_per_month",),
            do="raise the account's limit; `headroom budget` shows which volumes take it up",
            example="increases of $1,999.99 in force, of $2,000",
            blocked=standing(lambda _: {"account_increase_usd": Decimal("1999.99")}),
        ),
        Guardrail.SLOTS: Page(
            settings=("slots_reserve",),
            clears="when enough of the changes are 24 hours old; never, if all four are kept",
            do="lower `slots_reserve`, or use a slot that is kept for people yourself",
            example="changes 1, 2 and 3 hours ago, one slot kept for people",
            blocked=standing(lambda case: changed(case, 1, 2, 3)),
        ),
        Guardrail.IN_FLIGHT: Page(
            clears="when AWS completes the change: minutes to hours, more than a day at times",
            do="nothing: AWS takes no other change meanwhile, and cannot stop this one",
            example="a change began 20 minutes ago and is optimizing", blocked=in_flight,
        ),
        Guardrail.BACK_OFF: Page(
            clears="at the time that the refusal set: minutes to six hours",
            do="see the refusal with `headroom explain VOLUME`",
            example="AWS refused and may be asked again in an hour",
            blocked=standing(
                lambda case: {"retry_not_before": case.observation.at + timedelta(hours=1)}
            ),
        ),
        Guardrail.COOLDOWN: Page(
            settings=("cooldown",), clears="so long after our own last change as `cooldown` says",
            do="shorten `cooldown`",
            example="our own last change 10 minutes ago, `cooldown: 1h`",
            blocked=lambda case: limits(cooldown_minutes=60)(
                standing(lambda c: {"last_act_at": c.observation.at - timedelta(minutes=10)})(case)
            ),
        ),
        Guardrail.ROLLED_BACK: Page(
            settings=("roll_back_ineffective",),
            clears="a day after the rollback",
            do="change the volume yourself; to keep Headroom from trying again, narrow its limits",
            example="a change of this volume was rolled back three hours ago",
            blocked=standing(lambda c: {"rolled_back": undone(c)}),
        ),
        Guardrail.FAILURES: Page(
            do="find out why the changes failed, then `headroom breaker close VOLUME`",
            example="five changes in a row failed",
            blocked=standing(lambda _: {"failures_in_a_row": 5}),
        ),
        Guardrail.INSTANCE_LIMIT: Page(
            clears="when the instance is no longer the limit, or its limits are known",
            do="use a larger instance, or spread the load over more of them",
            example="the instance's own EBS limit binds", blocked=bound(Binding.INSTANCE_IOPS),
        ),
        Guardrail.DATA: Page(
            clears="when enough minutes were measured",
            do="nothing; if the volume is busy and stays unmeasured, see whether CloudWatch has it",
            example="three of the last 30 minutes were measured", blocked=seen(known_minutes=3),
        ),
        Guardrail.GIVE_BACK: Page(
            settings=("give_back",), do="set `give_back: true` where less is wanted",
            example="`give_back: false`", blocked=limits(give_back=False), lowers=True,
        ),
        Guardrail.GIVE_BACK_DATA: Page(
            settings=("give_back_after_days",),
            clears="when so many days were measured since the last change by somebody else",
            do="lower `give_back_after_days`, or lower the volume yourself",
            example="`give_back_after_days: 7`, five days measured",
            blocked=limits(give_back_after_days=7.0), lowers=True,
        ),
        Guardrail.GIVE_BACK_CALM: Page(
            clears="half an hour after a limit was last touched", do="nothing",
            example="a limit was touched ten minutes ago", blocked=seen(clear_minutes=10),
            lowers=True,
        ),
        Guardrail.GIVE_BACK_SLOT: Page(
            settings=("slots_reserve",),
            clears="when enough changes are 24 hours old; never, if `slots_reserve` is 3 or 4",
            do="nothing: the slot is kept for raising the volume again",
            example="changes 3 and 9 hours ago, one slot kept for people",
            blocked=standing(lambda case: changed(case, 3, 9)), lowers=True,
        ),
        Guardrail.GIVE_BACK_FLOOR: Page(
            settings=("min_iops", "min_throughput_mibps"), do="lower the floor",
            example="`min_iops: 10000`", blocked=limits(min_iops=10_000), lowers=True,
        ),
        Guardrail.GIVE_BACK_WAY_BACK: Page(
            settings=("max_iops", "max_throughput_mibps", "largest_step"),
            do="raise the ceiling to what the volume has, or lower the volume yourself",
            example="`max_iops: 8000` for a volume of 12,000 IOPS",
            blocked=limits(max_iops=8_000), lowers=True,
        ),
        Guardrail.CHANGE_WINDOW: Page(
            settings=("change_windows",), clears="when one of the windows opens",
            do="wait, or allow more hours in `change_windows`",
            example="`change_windows: [\"Mon-Fri 22:00-06:00 Europe/Berlin\"]` on a Monday at noon",
            blocked=limits(
                change_windows=(parse_window("Mon-Fri 22:00-06:00 Europe/Berlin"),)
            ),
        ),
        Guardrail.FREEZE: Page(
            settings=("account.freezes",), clears="when the last of the freezes ends",
            do="wait, or take the freeze out of `account.freezes`",
            example="a freeze that ends in three hours", blocked=frozen,
        ),
        Guardrail.CALENDAR: Page(
            settings=("account.calendars",),
            clears="when all calendars are open and can be read",
            do="open the calendar, let the functions read it, or name it no more",
            example="the calendar `company-closed-days` is closed for two more hours",
            blocked=calendar_closed,
        ),
        Guardrail.MAX_IN_FLIGHT: Page(
            settings=("account.max_in_flight",), clears="when a change under way has ended",
            do="nothing: the most starved gets the next place; or raise `max_in_flight`",
            example="20 changes under way in other zones",
            blocked=lambda case: under_way(case, 20, "us-east-1b"),
        ),
        Guardrail.MAX_IN_FLIGHT_PER_AZ: Page(
            settings=("account.max_in_flight_per_az",),
            clears="when a change under way in the zone has ended",
            do="nothing: the most starved gets the next place; or raise `max_in_flight_per_az`",
            example="10 changes under way in the volume's own zone",
            blocked=lambda case: under_way(case, 10, case.observation.volume.availability_zone),
        ),
        Guardrail.MAX_CHANGES_PER_HOUR: Page(
            settings=("account.max_changes_per_hour",),
            clears="when the oldest of those changes is an hour old",
            do="nothing: the most starved gets the next place; or raise `max_changes_per_hour`",
            example="20 changes begun in the last 40 minutes, all of them ended",
            blocked=standing(
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
            blocked=lambda case: under_way(case, 1, "us-east-1b", (("gp3_gib", 512_000),)),
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
