"""What docs/guardrails.md says about each guardrail beside its docstring, in groups.

`tools/guardrails/__init__.py` says how to add an entry. Each entry carries an example from which the page
and the tests make a real verdict. Nothing that decides reads this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from headroom.domain.guardrails import Guardrail
from headroom.domain.policy import Mode, OneWay, parse_window
from headroom.domain.resources import VolumeType
from headroom.domain.state import ConcurrencyState
from headroom.domain.workload import Binding
from tools.guardrails import examples as eg
from tools.guardrails.database_entries import CLUSTERS, DATABASES
from tools.guardrails.entry import Base, Entry

RAISE_IT = "Raise the limit in the policy, or leave the volume as it is."
YOURSELF = "Change the volume yourself; Headroom continues from the new configuration."

PERMISSION: Mapping[Guardrail, Entry] = {
    Guardrail.POLICY: Entry(
        do="Correct the tag. Until then the resource is only watched; if it would be enrolled "
        "without the mistake, its owner is notified when it starves. `headroom policy show VOLUME` "
        "says what is not understood.",
        example="The volume carries the tag `headroom:max-iops: many`.", blocked=eg.tag_misread,
    ),
    Guardrail.PAUSE: Entry(
        clears="when the pause ends; a pause without an end lasts until someone resumes",
        do="Run `headroom resume`. `headroom status` says who paused, since when and why.",
        example="Headroom is paused for two hours.",
        blocked=eg.resource_state(lambda case: {"paused_until": case.observation.at + timedelta(hours=2)}),
    ),
    Guardrail.BREAKER: Entry(
        do="Find out why the changes failed, then run `headroom breaker close --account`.",
        example="The account's circuit breaker opened half an hour ago.",
        blocked=eg.resource_state(
            lambda case: {"account_breaker_opened_at": case.observation.at - timedelta(minutes=30)}
        ),
    ),
    Guardrail.FAILURES: Entry(
        do="Find out why the changes failed, then run `headroom breaker close VOLUME`.",
        example="Five changes in a row failed.",
        blocked=eg.resource_state(lambda _: {"failures_in_a_row": 5}),
    ),
    Guardrail.MODE: Entry(
        settings=("mode", "tags_may"),
        do="Tag the volume `headroom: auto`, or set the mode in a policy rule.",
        example="The volume has no tag and is in mode `observe`.",
        blocked=eg.limits(mode=Mode.OBSERVE),
    ),
    Guardrail.APPROVAL: Entry(
        settings=("mode", "approve_above_usd_per_month", "approval_expires", "one_way"),
        do="Approve the new price when Headroom asks again.",
        example="A person approved an increase of $1 a month; it would now cost more.",
        blocked=lambda case: replace(case, approved_usd=Decimal(1)),
    ),
    Guardrail.ROLLED_BACK: Entry(
        settings=("roll_back_ineffective",), clears="one day after the rollback",
        do="Change the volume yourself. To stop Headroom from trying again, narrow its limits.",
        example="A change of this volume was rolled back three hours ago.",
        blocked=eg.resource_state(lambda c: {"rolled_back": eg.undone(c)}),
    ),
}  # fmt: skip

OWNER: Mapping[Guardrail, Entry] = {
    Guardrail.TYPES: Entry(
        settings=("types",), do="Add the type to `types`, or change the type yourself.",
        example="A move from gp3 to io1, with `types: [gp3, io2]`.",
        blocked=eg.target(volume_type=VolumeType.IO1, throughput_mibps=None),
    ),
    Guardrail.MAX_IOPS: Entry(
        settings=("max_iops",), do=RAISE_IT, example="`max_iops: 3500`",
        blocked=eg.limits(max_iops=3_500),
    ),
    Guardrail.MAX_THROUGHPUT: Entry(
        settings=("max_throughput_mibps",), do=RAISE_IT,
        example="A target of 250 MiB/s for a volume of 125, with `max_throughput_mibps: 200`.",
        blocked=lambda case: eg.limits(max_throughput_mibps=200)(
            eg.target(throughput_mibps=250)(case)
        ),
    ),
    Guardrail.MAX_SIZE: Entry(
        settings=("max_size_gib", "growth"), do=RAISE_IT,
        example="A target of 20,000 GiB, with `max_size_gib: 16384`.",
        blocked=eg.target(size_gib=20_000),
    ),
    Guardrail.GROWTH: Entry(
        settings=("growth", "grow_space"), do="Set `growth: true` where size may grow.",
        example="A target of 101 GiB for a volume of 100 GiB.", blocked=eg.target(size_gib=101),
    ),
    Guardrail.ONE_WAY: Entry(
        settings=("one_way",),
        do="Set `one_way: approve` to be asked, or change the type yourself.",
        example="A move from gp3 to io2, with `one_way: never`.",
        blocked=lambda case: eg.limits(one_way=OneWay.NEVER)(
            eg.target(volume_type=VolumeType.IO2, throughput_mibps=None)(case)
        ),
    ),
    Guardrail.LARGEST_STEP: Entry(
        settings=("largest_step",),
        do="Raise `largest_step`. Headroom already reduces a plan to this step where the smaller "
        "step still helps.",
        example="`largest_step: 1.1`", blocked=eg.limits(largest_step=1.1),
    ),
    Guardrail.PRICE_PER_RESOURCE: Entry(
        settings=("price_increase_usd_per_month",),
        do="Raise the limit, or change the volume yourself: increases then count from its new "
        "price. `headroom budget` shows both.",
        example="`price_increase_usd_per_month: 0.50`",
        blocked=eg.limits(price_increase_usd=Decimal("0.50")),
    ),
    Guardrail.PRICE_PER_ACCOUNT: Entry(
        settings=("account.price_increase_usd_per_month",),
        do="Raise the account's limit. `headroom budget` shows which volumes use it.",
        example="Increases of $1,999.99 are in force; the limit is $2,000.",
        blocked=eg.resource_state(lambda _: {"account_increase_usd": Decimal("1999.99")}),
    ),
    Guardrail.COOLDOWN: Entry(
        settings=("cooldown",), clears="when the cooldown has passed", do="Shorten `cooldown`.",
        example="Headroom's last change was 10 minutes ago, with `cooldown: 1h`.",
        blocked=lambda case: eg.limits(cooldown_minutes=60)(
            eg.resource_state(lambda c: {"last_act_at": c.observation.at - timedelta(minutes=10)})(case)
        ),
    ),
}  # fmt: skip

TIMING: Mapping[Guardrail, Entry] = {
    Guardrail.CHANGE_WINDOW: Entry(
        settings=("change_windows",), clears="when the next window opens",
        do="Wait, or add hours to `change_windows`.",
        example='`change_windows: ["Mon-Fri 22:00-06:00 Europe/Berlin"]`, on a Monday at noon.',
        blocked=eg.limits(change_windows=(parse_window("Mon-Fri 22:00-06:00 Europe/Berlin"),)),
    ),
    Guardrail.FREEZE: Entry(
        settings=("account.freezes",), clears="when the last active freeze ends",
        do="Wait, or remove the freeze from `account.freezes`.",
        example="A freeze ends in three hours.", blocked=eg.frozen,
    ),
    Guardrail.CALENDAR: Entry(
        settings=("account.calendars",), clears="when all calendars are open and can be read",
        do="Open the calendar, grant the functions read access, or remove it from the policy.",
        example="The calendar `company-closed-days` stays closed for two more hours.",
        blocked=eg.calendar_closed,
    ),
    Guardrail.MAX_IN_FLIGHT: Entry(
        settings=("account.max_in_flight",), clears="when a change in flight ends",
        do="Nothing: the most starved resource is next. Or raise `max_in_flight`.",
        example="20 changes are in flight in other zones.",
        blocked=lambda case: eg.under_way(case, 20, "us-east-1b"),
    ),
    Guardrail.MAX_IN_FLIGHT_PER_AZ: Entry(
        settings=("account.max_in_flight_per_az",), clears="when a change in the zone ends",
        do="Nothing: the most starved resource is next. Or raise `max_in_flight_per_az`.",
        example="10 changes are in flight in the volume's own zone.",
        blocked=lambda case: eg.under_way(case, 10, case.observation.volume.availability_zone),
    ),
    Guardrail.MAX_CHANGES_PER_HOUR: Entry(
        settings=("account.max_changes_per_hour",),
        clears="when the oldest of those changes is an hour old",
        do="Nothing: the most starved resource is next. Or raise `max_changes_per_hour`.",
        example="20 changes started in the last 40 minutes, and all have ended.",
        blocked=eg.resource_state(lambda case: {"concurrency": ConcurrencyState(starts=tuple(
            case.observation.at - timedelta(minutes=2 * n) for n in range(20, 0, -1)
        ))}),
    ),
    Guardrail.REGIONAL_QUOTA: Entry(
        settings=("account.regional_quotas",),
        clears="when changes end; never, if this change alone exceeds the quota",
        do="Ask AWS to raise the quota, then set the new value in `regional_quotas`.",
        example="Changes to 500 TiB of gp3 volumes are in flight.",
        blocked=lambda case: eg.under_way(case, 1, "us-east-1b", (("gp3_gib", 512_000),)),
    ),
}  # fmt: skip

AWS: Mapping[Guardrail, Entry] = {
    Guardrail.VALID: Entry(
        do="Nothing. Such a plan is a bug in Headroom; please report it.",
        example="3,000 IOPS with 900 MiB/s, which gp3 cannot have.",
        blocked=eg.target(iops=3000, throughput_mibps=900),
    ),
    Guardrail.NEVER_SHRINK: Entry(
        do="Copy the data to a smaller volume yourself; AWS offers no other way.",
        example="A target of 99 GiB for a volume of 100 GiB.", blocked=eg.target(size_gib=99),
    ),
    Guardrail.DURABILITY: Entry(
        do=YOURSELF, example="A move from io2 to gp3.", blocked=eg.less_durable,
    ),
    Guardrail.SLOTS: Entry(
        settings=("slots_reserve",),
        clears="when enough of the changes are 24 hours old; never, if all four are reserved",
        do="Lower `slots_reserve`, or use a reserved slot yourself.",
        example="Changes 1, 2 and 3 hours ago, with one slot reserved for people.",
        blocked=eg.resource_state(lambda case: eg.changed(case, 1, 2, 3)),
    ),
    Guardrail.IN_FLIGHT: Entry(
        clears="when AWS completes the change: minutes to hours, sometimes more than a day",
        do="Nothing: AWS accepts no other change meanwhile and cannot cancel this one.",
        example="A change began 20 minutes ago and is `optimizing`.", blocked=eg.in_flight,
    ),
    Guardrail.RETRY_BACKOFF: Entry(
        clears="at the time the refusal set: minutes to six hours later",
        do="Read the refusal with `headroom audit --resource VOLUME`.",
        example="AWS refused a change and may be asked again in an hour.",
        blocked=eg.resource_state(
            lambda case: {"retry_not_before": case.observation.at + timedelta(hours=1)}
        ),
    ),
}  # fmt: skip

OTHERS: Mapping[Guardrail, Entry] = {
    Guardrail.MANAGED_ELSEWHERE: Entry(
        do="Nothing in Headroom: change the volume through the service that manages it.",
        example="Amazon EKS manages the volume.", blocked=eg.volume(managed_by="eks.amazonaws.com"),
    ),
    Guardrail.MULTI_ATTACH: Entry(
        do=YOURSELF, example="The volume is attached to two instances.",
        blocked=eg.volume(instance_ids=("i-1", "i-2")),
    ),
    Guardrail.INFRASTRUCTURE_AS_CODE: Entry(
        settings=("infrastructure_as_code", "account.infrastructure_as_code_tags"),
        do="Copy the values from the record to the code that defines the volume, or set "
        "`infrastructure_as_code: act`.",
        example="`infrastructure_as_code: notify`, and the volume belongs to a CloudFormation stack.",
        blocked=eg.of_a_stack,
    ),
    Guardrail.REVERTED: Entry(
        settings=("revert_wait",),
        do="Either write the values to the code that defines the volume, or set the volume to "
        "Headroom's values again: the second ends the wait at once. `revert_wait` sets its length. "
        "After a rollback by Headroom nothing is needed.",
        example="Headroom raised the volume two days ago; someone reverted it the next day.",
        blocked=eg.put_back,
    ),
    Guardrail.GROUP: Entry(
        settings=("account.group_tag",),
        clears="when the block on the other volume clears, if that clears by itself",
        do="Look after the volume that is named, or remove a tag that should not be there.",
        example="Another volume of the set has a change in flight.", blocked=eg.held_back,
    ),
}  # fmt: skip


SENSE: Mapping[Guardrail, Entry] = {
    Guardrail.INSTANCE_LIMIT: Entry(
        clears="when the instance is no longer the limit, its limits become known, or the metrics show a raise beside it",
        do="Use a larger instance, or spread the load over several.",
        example="The instance's own EBS limit binds.", blocked=eg.bound(Binding.INSTANCE_IOPS),
    ),
    Guardrail.DATA: Entry(
        clears="when enough minutes have been measured",
        do="Nothing. If the volume is busy and stays unmeasured, check its CloudWatch metrics.",
        example="3 of the last 30 minutes were measured.", blocked=eg.seen(known_minutes=3),
    ),
    Guardrail.COST_BENEFIT: Entry(
        settings=("relief_value_usd_per_minute", "preset"),
        clears="when more starvation is expected, or a cheaper plan is found",
        do="Raise the value of a starved minute, or raise the volume yourself.",
        example="The starvation it would end is worth 40 cents a day less than the plan costs.",
        blocked=lambda case: replace(case, plan=replace(case.plan, value_usd_per_day=-0.4)),
    ),
}  # fmt: skip

SCALING_DOWN: Mapping[Guardrail, Entry] = {
    Guardrail.GIVE_BACK: Entry(
        settings=("give_back",), do="Set `give_back: true` where performance may be lowered.",
        example="`give_back: false`", blocked=eg.limits(give_back=False), base=Base.LOWER,
    ),
    Guardrail.GIVE_BACK_DATA: Entry(
        settings=("give_back_after_days",),
        clears="when that many days were measured since the last change by someone else",
        do="Lower `give_back_after_days`, or lower the volume yourself.",
        example="`give_back_after_days: 7`, with five days measured.",
        blocked=eg.limits(give_back_after_days=7.0), base=Base.LOWER,
    ),
    Guardrail.GIVE_BACK_STABILIZATION: Entry(
        clears="half an hour after a limit was last touched", do="Nothing.",
        example="The load touched a limit ten minutes ago.", blocked=eg.seen(clear_minutes=10),
        base=Base.LOWER,
    ),
    Guardrail.GIVE_BACK_SLOT: Entry(
        settings=("slots_reserve",),
        clears="when enough changes are 24 hours old, or one would be before load comes near; never, if `slots_reserve` is 3 or 4",
        do="Nothing: the slot is kept for raising the volume again.",
        example="Changes 3 and 9 hours ago, with one slot reserved for people.",
        blocked=eg.resource_state(lambda case: eg.changed(case, 3, 9)), base=Base.LOWER,
    ),
    Guardrail.GIVE_BACK_FLOOR: Entry(
        settings=("min_iops", "min_throughput_mibps"), do="Lower the floor.",
        example="`min_iops: 10000`", blocked=eg.limits(min_iops=10_000), base=Base.LOWER,
    ),
    Guardrail.GIVE_BACK_REVERSIBLE: Entry(
        settings=("largest_step",),
        do="Raise `largest_step`, or lower the volume yourself.",
        example="`largest_step: 1.5` for a volume of 12,000 IOPS, of which 3,000 are enough.",
        blocked=eg.limits(largest_step=1.5), base=Base.LOWER,
    ),
}  # fmt: skip


GROUPS: tuple[tuple[str, Mapping[Guardrail, Entry]], ...] = (
    # The order of the page.
    ("Permission", PERMISSION),
    ("Limits the owner sets", OWNER),
    ("Timing and concurrency", TIMING),
    ("AWS rules", AWS),
    ("Volumes with another owner", OTHERS),
    ("Databases", DATABASES),
    ("Diagnosis and value", SENSE),
    ("Giving back", SCALING_DOWN),
    ("Aurora clusters", CLUSTERS),
)
ENTRIES: Mapping[Guardrail, Entry] = {
    name: entry for _, group in GROUPS for name, entry in group.items()
}
