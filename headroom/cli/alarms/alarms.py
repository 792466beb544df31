"""`headroom alarms`: lists the alarms on single resources, and removes them after a deployment is gone."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from headroom.adapters.cloudwatch import CloudWatchResourceAlarms, FoundAlarm
from headroom.cli.sources.account import account
from headroom.cli.sources.deployment import reading
from headroom.cli.sources.options import AccountOptions, JsonOption
from headroom.cli.terminal.output import emit, money, out, say, table, utc
from headroom.cli.terminal.problems import OK
from headroom.domain.detection import USD_PER_ALARM
from headroom.settings import DEFAULT_PREFIX, Names


def alarms(
    prefix: Annotated[
        str, typer.Option(help="The deployment's setting `prefix`.")
    ] = DEFAULT_PREFIX,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove them, after the deployment was deleted.")
    ] = False,
    as_json: JsonOption = False,
    *,
    options: AccountOptions,
) -> int:
    """List the alarms that Headroom made on single resources, or remove them.

    A deployment makes and removes them itself, within `alarm_budget_usd`. They are in no stack: use --remove
    after the stacks are deleted. A deployment that still runs makes them again within an hour. Alarms with
    such names that Headroom did not make, or to which somebody added an action, are listed and never removed.
    """
    where = account(**asdict(options))
    made = CloudWatchResourceAlarms(
        where.cloudwatch, prefix=Names(prefix).resource_alarms, deployment=prefix
    )
    with reading("The alarms"):
        there = made.found()
        found = [one for one in there if one.ours]
        others = [one.name for one in there if not one.ours]
        if remove:
            made.remove([one.name for one in found])
    usd = round(len(found) * USD_PER_ALARM, 2)
    if as_json:
        emit({"account": where.account_id, "region": where.region, "removed": remove,
              "usd_per_month": usd, "alarms": [_object(one) for one in found], "not_made_by_headroom": others})  # fmt: skip
        return OK
    place = f"{where.region} of {where.account_id}"
    if found:
        rows = [(one.name, _watches(one), one.state, utc(one.since)) for one in found]
        out().print(
            table("Alarms on single resources", ("Alarm", "Goes off at", "State", "Since"), rows)
        )
    many = "1 alarm" if len(found) == 1 else f"{len(found)} alarms"
    say(f"{many} in {place}, {money(usd)} a month{': removed' if remove and found else ''}.")
    if others:
        say(f"Not made by Headroom, and left alone: {', '.join(others)}.")
    return OK


def _watches(one: FoundAlarm) -> str:
    alarm = one.alarm
    if alarm is None:
        return "changed by somebody"
    return f"{alarm.metric.value.replace('_', ' ')} {alarm.threshold:g}"


def _object(one: FoundAlarm) -> dict[str, object]:
    alarm = one.alarm
    return {
        "name": one.name, "state": one.state, "since": one.since,
        "resource": None if alarm is None else alarm.resource_id,
        "metric": None if alarm is None else alarm.metric.value,
        "threshold": None if alarm is None else alarm.threshold,
    }  # fmt: skip
