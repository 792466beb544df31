"""Check of the alarms on single resources, which the dispatcher makes and removes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from headroom.adapters.cloudwatch import CloudWatchResourceAlarms
from headroom.cli.doctor.deployed import Deployed
from headroom.cli.doctor.findings import Fact, Finding
from headroom.cli.terminal.output import money
from headroom.domain.detection import USD_PER_ALARM

LATE = timedelta(hours=2)
"""The dispatcher compares them every hour."""


def resource_alarms(deployed: Deployed) -> Iterator[Finding | Fact]:
    """Whether the alarms that exist are the planned ones, and no planned name is taken."""
    names = deployed.here.account.names
    alarms = CloudWatchResourceAlarms(
        deployed.client("cloudwatch"), prefix=names.resource_alarms, deployment=names.prefix
    )
    there, plan = alarms.existing(), deployed.here.ledger.alarm_plan()
    found = there.made
    planned = {alarms.name(one.alarm): one.alarm for one in plan.watched}
    taken = sorted(there.others & set(planned))
    if taken:
        yield Finding(
            problem=f"an alarm that Headroom did not make has a name of its alarms: {taken[0]}",
            fix="make it again under another name, or keep it: Headroom leaves it alone, and glances see the resource's pressure",
        )
    names_of_ours = {*found, *planned} - there.others
    different = {name for name in names_of_ours if found.get(name) != planned.get(name)}
    different |= set(found) - set(planned)
    late = plan.checked_at is None or deployed.now - plan.checked_at > LATE
    if different and late:
        one = len(different) == 1
        many = (
            "1 alarm on a single resource is"
            if one
            else f"{len(different)} alarms on single resources are"
        )
        yield Finding(
            problem=f"{many} not as planned, the first {min(different)}",
            fix="read the Sweep log for the reason, such as a missing permission or the account's quota of alarms",
        )
    usd = money(round(len(found) * USD_PER_ALARM, 2))
    yield Fact(
        text=f"{len(found)} alarms on single resources, {usd} a month, {len(planned)} planned"
    )
