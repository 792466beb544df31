"""Checks of the storage itself: what is enrolled, what its alarms can tell, and who else changes it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from botocore.exceptions import ClientError

from headroom.adapters.ebs import EbsStorage
from headroom.adapters.errors import code_of
from headroom.cli.doctor.deployed import Deployed
from headroom.cli.doctor.findings import Fact, Finding, could_not_look
from headroom.cli.sources.storage import clusters_of, databases_of
from headroom.domain.policy import PolicyUnreadable, limits_for
from headroom.ports import ReadFailed, StorageView

Found = Iterator[Finding | Fact]
NOT_IN_USE = ("OptInRequired", "OptInRequiredException", "SubscriptionRequiredException")


def enrolment(deployed: Deployed) -> Found:
    """Something is enrolled, and RDS does not grow what Headroom may grow."""
    policy = deployed.policy
    if isinstance(policy, PolicyUnreadable):
        return
    account = deployed.here.account
    settings = next(iter(deployed.settings), None)
    kinds = ("ebs",) if settings is None else tuple(settings.kinds.split(","))
    readers = {
        "ebs": lambda: EbsStorage(
            account.ec2, account_id=account.account_id, region=account.region
        ).fleet(),
        "rds": lambda: databases_of(account).fleet(),
        "aurora": lambda: clusters_of(account).fleet(),
    }
    total = enrolled = 0
    for kind in kinds:
        try:
            views: list[StorageView] = list(readers[kind]())
        except ReadFailed as problem:
            yield could_not_look(problem)
            continue
        own = [view for view in views if limits_for(policy, view.volume).enrolled]
        total, enrolled = total + len(views), enrolled + len(own)
        yield Fact(text=f"{kind}: {len(own):,} of {len(views):,} are enrolled")
        for view in own:
            facts = view.volume.facts
            if facts is not None and facts.grows_by_itself:
                yield Finding(
                    problem=f"RDS's storage autoscaling is on for {view.volume.ref.resource_id}: "
                    "Headroom does not grow it, and each growth takes a modification slot of six hours",
                    fix="keep one of the two: set MaxAllocatedStorage to the allocated size to switch "
                    "autoscaling off (docs/operate/free-space.md)",
                )
    if not enrolled:
        yield Finding(
            problem=f"nothing is enrolled: none of {total:,} resources may be changed",
            fix="tag storage headroom=auto, or add a rule with mode auto or approve to the policy; "
            "`headroom plan --all` shows what would happen",
        )


def telemetry(deployed: Deployed) -> Found:
    """Alarms that select by tag can see tags."""
    names = [one.physical for one in deployed.of("AWS::CloudWatch::Alarm")]
    cloudwatch = deployed.client("cloudwatch")
    answers = (
        cloudwatch.describe_alarms(AlarmNames=names[start : start + 100])["MetricAlarms"]
        for start in range(0, len(names), 100)
    )
    by_tag = [
        alarm
        for alarm in chain.from_iterable(answers)
        if any("tag." in metric.get("Expression", "") for metric in alarm.get("Metrics", []))
    ]
    if not by_tag:
        yield Fact(text="no alarm selects by tag")
        return
    status = deployed.client("observabilityadmin").get_telemetry_enrichment_status()["Status"]
    if status != "Running":
        yield Finding(
            problem=f"resource tags on telemetry are {status}: {len(by_tag)} alarms select by tag and "
            "see nothing",
            fix="aws observabilityadmin start-telemetry-enrichment, or deploy with -c detection=fleet",
        )


def competitors(deployed: Deployed) -> Found:
    """No rule of Compute Optimizer changes volumes that Headroom may change."""
    if deployed.is_local:
        yield Fact(text="a local endpoint has no Compute Optimizer")
        return
    try:
        found = deployed.client("compute-optimizer-automation").list_automation_rules()
    except ClientError as problem:
        if code_of(problem) not in NOT_IN_USE:
            raise
        yield Fact(text="Compute Optimizer's automation is not in use")
        return
    for rule in found["automationRules"]:
        upgrades = "UpgradeEbsVolumeType" in rule.get("recommendedActionTypes", [])
        if rule.get("status") == "Active" and upgrades:
            yield Finding(
                problem=f"the Compute Optimizer rule {rule.get('name', rule.get('ruleId'))} changes types "
                "of volumes: both use the same four modifications in 24 hours",
                fix="exclude storage with the tag headroom from the rule, or set it inactive",
            )
    yield Fact(text=f"{len(found['automationRules'])} rules of Compute Optimizer")
