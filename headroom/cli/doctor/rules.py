"""Checks of the policy, the records, prices, limits, pauses and breakers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from headroom.adapters.prices import PriceStore
from headroom.cli.doctor.deployed import Deployed
from headroom.cli.doctor.findings import Fact, Finding, just_deployed
from headroom.cli.terminal.output import number, utc
from headroom.cli.views.breakers import lines
from headroom.domain.catalog import QUOTAS, quota_limit
from headroom.domain.policy import PolicyUnreadable
from headroom.domain.state import RECORD_FORMAT, Step
from headroom.serialization import Unreadable, decision_from_json

SETTLING = timedelta(minutes=15)
"""Warm functions may use the policy of before for a few minutes."""
RECENT = timedelta(days=7)
OLD_PRICES = timedelta(days=3)
NEARLY_FULL = 0.8

Found = Iterator[Finding | Fact]


def policy(deployed: Deployed) -> Found:
    """The policy is readable, the one that was deployed, and the one that decisions use."""
    found = deployed.policy
    if isinstance(found, PolicyUnreadable):
        yield Finding(
            problem=f"the policy is unreadable, so nothing is changed: {found.reason.removesuffix('.')}",
            fix="if nobody wanted to stop Headroom by this, deploy a valid policy: a changed file as usual, an unchanged one with "
            "`cdk deploy --all --revert-drift`; `headroom policy check FILE` says what is wrong with a file",
        )
        return
    version = deployed.output("PolicyVersion")
    alike = (
        len(set(deployed.settings)) < 2
    )  # else it is another finding, and which caps count is open
    if alike and version not in (None, found.version):
        yield Finding(
            problem=f"the policy in force is {found.version}, the deployed one is {version}: "
            "somebody wrote the parameter",
            fix="take the change into the file and deploy it; to undo the change, deploy with `cdk deploy --all --revert-drift`",
        )
    yield Fact(text=f"version {found.version}, default mode {found.defaults.mode.value}, "
               f"{len(found.rules)} rules")  # fmt: skip


def records(deployed: Deployed) -> Found:
    """The newest records can be read by this release, and were decided under the policy in force."""
    ledger, now = deployed.here.ledger, deployed.now
    newest = next(
        (
            one
            for one in ledger.record_summaries(since=now - RECENT, until=now, page=100)
            if one.step is Step.DECIDED
        ),
        None,
    )
    if newest is None:
        yield Fact(
            text="no decision was recorded in 7 days: nothing that is enrolled changed its state"
        )
        return
    (record,) = ledger.records([(newest.decision_id, 0)])
    yield Fact(text=f"the newest decision is of {utc(record.at)}, in format {record.format}")
    if record.format > RECORD_FORMAT:
        yield Finding(
            problem=f"the functions write records in format {record.format}, this command knows "
            f"{RECORD_FORMAT}",
            fix="upgrade this command to the release of the functions",
        )
    if record.format < RECORD_FORMAT:
        yield Finding(
            problem=f"the functions write records in format {record.format}, this command writes "
            f"{RECORD_FORMAT}",
            fix="deploy the functions of this release, or use the command of their release",
        )
    try:
        used = decision_from_json(record.body, for_display=True).policy_version
    except Unreadable as problem:
        yield Finding(
            problem=f"the newest decision cannot be read: {problem}",
            fix=f"`headroom audit --decision {record.decision_id}` verifies its chain",
        )
        return
    found = deployed.policy
    if isinstance(found, PolicyUnreadable) or used == found.version:
        return
    written = deployed.client("ssm").get_parameter(Name=deployed.parameter)["Parameter"]
    changed = written.get("LastModifiedDate")
    if changed is not None and record.at > changed + SETTLING:
        yield Finding(
            problem=f"the decision of {utc(record.at)} used policy {used}; {found.version} has been "
            f"in force since {utc(changed)}",
            fix="check that the functions read this parameter",
        )


def prices(deployed: Deployed) -> Found:
    """A price list was read lately and believed."""
    here = deployed.here
    held = PriceStore(
        deployed.client("dynamodb"), table=here.state_table, account_id=here.account.account_id
    ).held(here.account.region)
    if held.refused is not None:
        yield Finding(
            problem=f"the last price list was refused: {held.refused}",
            fix="Headroom goes on with the list before it; report this one",
        )
    if (held.table is None or held.read_at is None) and deployed.settled_at is not None:
        yield just_deployed("no price list was read yet", deployed.settled_at)
    elif held.table is None or held.read_at is None:
        yield Finding(
            problem="no price list was read: the dated table of this release counts, or nothing is "
            "changed where it has no prices",
            fix="allow the sweep pricing:GetProducts; its log says why the list was not read",
        )
    elif deployed.now - held.read_at > OLD_PRICES:
        yield Finding(
            problem=f"the price list was last read at {utc(held.read_at)}",
            fix="the sweep reads it once a day; its log says why it could not",
        )
    else:
        yield Fact(text=f"the price list was read at {utc(held.read_at)}")


def limits(deployed: Deployed) -> Found:
    """Concurrency limits and AWS's quotas for modifications leave room."""
    concurrency, policy = deployed.here.ledger.concurrency(), deployed.policy
    if isinstance(policy, PolicyUnreadable):
        return
    used = len(concurrency.in_flight_elsewhere("", deployed.now))
    most = policy.blast_radius.max_in_flight
    if used >= most:
        yield Finding(
            problem=f"all {most} slots for changes are in use: other resources wait",
            fix="`headroom status` lists them; raise max_in_flight, or wait for them to be verified",
        )
    yield Fact(text=f"{used} of {most} changes in flight")
    for full in concurrency.quota_full:
        if full.until > deployed.now:
            yield Finding(
                problem=f"AWS refused a change of {full.volume_type.value} for a quota of the Region; "
                f"none is tried before {utc(full.until)}",
                fix="have the modification quota raised in Service Quotas, then set `regional_quotas` in the policy",
            )
    for name, quota in QUOTAS.items():
        limit = quota_limit(name, policy.quotas)
        amount = concurrency.quota_in_use(name, "", deployed.now)
        if amount and amount >= NEARLY_FULL * limit:
            yield Finding(
                problem=f"Headroom's changes use {amount / limit:.0%} of the quota {quota.name}",
                fix="have the quota raised in Service Quotas, then set `regional_quotas` in the policy",
            )
        elif amount:
            yield Fact(text=f"{number(amount / quota.scale)} of {number(limit / quota.scale)} "
                       f"{quota.unit} of the quota {quota.name} in use")  # fmt: skip


def stops(deployed: Deployed) -> Found:
    """Nothing is paused, and no breaker is open."""
    found = list(lines(deployed.here.ledger.stop_state(), deployed.now))
    for line in found:
        paused = line.startswith("Paused")
        yield Finding(
            problem=line,
            fix="`headroom resume` when changes may go on" if paused
            else "remove the cause (`headroom breaker list`), then close the breaker",
        )  # fmt: skip
    if not found:
        yield Fact(text="nothing is paused, and no breaker is open")
