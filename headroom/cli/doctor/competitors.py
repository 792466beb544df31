"""Checks for other automations that change the same storage: each takes one of four changes a day.

Sources: Compute Optimizer Automation API (ListAutomationRules); Cloud Custodian, "mark-for-op" (tag
`maid_status` unless the policy names another); pvc-autoresizer, whose settings are annotations of
claims and classes, which AWS does not show (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from botocore.exceptions import ClientError

from headroom.adapters.errors import code_of
from headroom.cli.doctor.deployed import Deployed
from headroom.cli.doctor.findings import Fact, Finding
from headroom.cli.doctor.fleet import Views, enrolled, storage
from headroom.domain.policy import PolicyUnreadable
from headroom.domain.resources import Kind, Tool, code_owner
from headroom.ports import ReadFailed, StorageView

Found = Iterator[Finding | Fact]
NOT_IN_USE = ("OptInRequired", "OptInRequiredException", "SubscriptionRequiredException")
CUSTODIAN_TAGS = ("maid_status", "c7n", "custodian", "cloud-custodian", "cloudcustodian")
RECENT = timedelta(days=30)
OURS = timedelta(minutes=15)
"""A modification that started this close to Headroom's own last change is that change."""
NAMED = 5


def competitors(deployed: Deployed) -> Found:
    """Nothing else changes what Headroom may change."""
    mine = tuple(
        view
        for views in storage(deployed).values()
        if not isinstance(views, ReadFailed)
        for view in enrolled(deployed, views)
    )
    yield from _custodian(mine)
    yield from _claims(deployed, mine)
    yield from _compute_optimizer(deployed)


def _custodian(mine: Views) -> Found:
    marked = [
        view for view in mine if any(_is_custodians(key) for key, _ in view.volume.tags)
    ]  # fmt: skip
    if marked:
        yield Finding(
            problem=f"{_many(marked)} have Cloud Custodian's tags: its changes use the same four "
            "modifications in 24 hours, and it may have marked them for deletion",
            fix='exclude enrolled storage from the Custodian policy (filter `"tag:headroom": absent`), or '
            "do not enrol it",
        )


def _is_custodians(key: str) -> bool:
    plain = key.casefold()
    return plain in CUSTODIAN_TAGS or plain.startswith(("c7n:", "c7n-", "custodian:", "custodian-"))


def _claims(deployed: Deployed, mine: Views) -> Found:
    """Volumes of Kubernetes claims, and those that somebody else grew lately."""
    policy = deployed.policy
    if isinstance(policy, PolicyUnreadable):
        return
    claims = []
    for view in mine:
        owner = code_owner(view.volume.tags, policy.code_tags)
        if view.volume.ref.kind is Kind.EBS and owner and owner.tool is Tool.KUBERNETES:
            claims.append(view)
    grown = [view for view in claims if _grown_by_others(deployed, view)]
    if grown:
        yield Finding(
            problem=f"{_many(grown)} of Kubernetes claims were grown by something other than Headroom in "
            f"the last {RECENT.days} days, as pvc-autoresizer does: each growth uses one of four "
            "modifications in 24 hours",
            fix="resize in larger steps (annotation resize.topolvm.io/increase of the claims), or let only "
            "one of the two manage these claims",
        )
    if claims:
        yield Fact(text=f"{len(claims)} enrolled volumes belong to Kubernetes claims")


def _grown_by_others(deployed: Deployed, view: StorageView) -> bool:
    change = view.modification
    if change is None or deployed.now - change.started_at > RECENT:
        return False
    if change.target.size_gib <= change.origin.size_gib:
        return False
    last = deployed.here.ledger.resource_state(view.volume.ref, deployed.now).last_act_at
    return last is None or abs(change.started_at - last) > OURS


def _many(views: list[StorageView]) -> str:
    names = ", ".join(view.volume.ref.resource_id for view in views[:NAMED])
    more = f" and {len(views) - NAMED} more" if len(views) > NAMED else ""
    return f"{len(views)} enrolled resources ({names}{more})"


def _compute_optimizer(deployed: Deployed) -> Found:
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
                problem=f"the Compute Optimizer rule {rule.get('name', rule.get('ruleId'))} changes volume "
                "types: both use the same four modifications in 24 hours",
                fix="exclude storage with the tag headroom from the rule, or deactivate the rule",
            )
    yield Fact(text=f"{len(found['automationRules'])} Compute Optimizer rules")
