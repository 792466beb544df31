"""Checks of the storage itself: what is enrolled, what its alarms can detect, and who else changes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from headroom.adapters.cloudwatch import disks_of, unmeasured
from headroom.adapters.ebs import EbsStorage
from headroom.cli.doctor.deployed import Deployed
from headroom.cli.doctor.findings import Fact, Finding, unreadable
from headroom.cli.sources.storage import clusters_of, databases_of
from headroom.domain.policy import PolicyUnreadable, limits_for
from headroom.ports import ReadFailed, StorageView

MOST_NAMED = 5
Found = Iterator[Finding | Fact]
Views = tuple[StorageView, ...]


def enrolment(deployed: Deployed) -> Found:
    """Something is enrolled, and RDS does not grow what Headroom may grow."""
    if isinstance(deployed.policy, PolicyUnreadable):
        return
    total = count = 0
    for kind, views in storage(deployed).items():
        if isinstance(views, ReadFailed):
            yield unreadable(views)
            continue
        own = enrolled(deployed, views)
        total, count = total + len(views), count + len(own)
        volumes = (view.volume for view in own)
        for volume in unmeasured(deployed.client("cloudwatch"), volumes):
            yield Finding(
                problem=f"CloudWatch lists no metrics of {volume.ref.resource_id} alone, one of several storage "
                "volumes of its instance: its load is unknown, so Headroom does not change it",
                fix="search AWS/RDS for metrics with the dimension VolumeName; without any, set alarms of your own "
                "and headroom=off (docs/operate/databases.md#additional-storage-volumes)",
            )
        yield Fact(text=f"{kind}: {len(own):,} of {len(views):,} are enrolled")
        for view in own:
            facts = view.volume.facts
            if facts is not None and facts.grows_by_itself:
                yield Finding(
                    problem=f"RDS's storage autoscaling is on for {view.volume.ref.resource_id}: "
                    "Headroom does not grow it, and each growth by RDS counts as one of the four modifications in 24 hours",
                    fix="keep one of the two: set MaxAllocatedStorage to the allocated size to switch "
                    "autoscaling off (docs/operate/free-space.md)",
                )
    if not count:
        yield Finding(
            problem=f"nothing is enrolled: none of {total:,} resources may be changed",
            fix="tag storage headroom=auto, or add a rule with mode auto or approve to the policy; "
            "`headroom plan --all` shows what would happen",
        )


def free_space(deployed: Deployed) -> Found:
    """Of volumes that may grow before they are full it is read what is free."""
    on = any(settings.extend_document != "off" for settings in deployed.settings)
    views = storage(deployed).get("ebs", ())
    if not on or isinstance(views, ReadFailed):
        yield Fact(text="free space of volumes is not read" if not on else "no volume was read")
        return
    policy = deployed.policy
    may_grow = [
        view
        for view in enrolled(deployed, views)
        if not isinstance(policy, PolicyUnreadable)
        and view.volume.instance_ids
        and limits_for(policy, view.volume).limits.grow_space
    ]
    known = disks_of(deployed.client("cloudwatch"), _with_instances(deployed, may_grow))
    unread = [v.volume.ref.resource_id for v in may_grow if v.volume.ref.resource_id not in known]
    yield Fact(text=f"it is read of {len(known):,} of {len(may_grow):,} volumes that may grow")
    if unread:
        more = f" and {len(unread) - MOST_NAMED:,} more" if len(unread) > MOST_NAMED else ""
        yield Finding(
            problem=f"free space is not known of {', '.join(unread[:MOST_NAMED])}{more}, so that "
            "nothing is grown for it",
            fix="have the CloudWatch agent publish the size and the use of one file system with the "
            "volume's id (docs/operate/free-space.md#when-free-space-is-not-read), or set grow_space: false",
        )


def _with_instances(deployed: Deployed, views: Sequence[StorageView]) -> Views:
    """The views with their instances, which say whether C: of Windows can be any other volume."""
    account = deployed.here.account
    ebs = EbsStorage(account.ec2, account_id=account.account_id, region=account.region)
    found = ebs.instances(view.volume.instance_ids[0] for view in views)
    return tuple(replace(view, instance=found.get(view.volume.instance_ids[0])) for view in views)


def storage(deployed: Deployed) -> Mapping[str, Views | ReadFailed]:
    """Every resource by kind, read once; the failure where a kind cannot be read."""
    if not deployed.storage:
        account = deployed.here.account
        settings = next(iter(deployed.settings), None)
        readers: Mapping[str, Callable[[], Iterable[StorageView]]] = {
            "ebs": lambda: EbsStorage(
                account.ec2, account_id=account.account_id, region=account.region
            ).fleet(),
            "rds": lambda: databases_of(account).fleet(),
            "aurora": lambda: clusters_of(account).fleet(),
        }
        for kind in ("ebs",) if settings is None else settings.kinds.split(","):
            try:
                deployed.storage[kind] = tuple(readers[kind]())
            except ReadFailed as problem:
                deployed.storage[kind] = problem
    return deployed.storage


def enrolled(deployed: Deployed, views: Views) -> Views:
    """Those that the policy enrols."""
    policy = deployed.policy
    if isinstance(policy, PolicyUnreadable):
        return ()
    return tuple(view for view in views if limits_for(policy, view.volume).enrolled)


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
    if deployed.is_local:
        yield Fact(text="a local endpoint shows the tags of resources at once")
        return
    status = deployed.client("observabilityadmin").get_telemetry_enrichment_status()["Status"]
    if status != "Running":
        yield Finding(
            problem=f"resource tags on telemetry are {status}: {len(by_tag)} alarms select by tag and "
            "see nothing",
            fix="aws observabilityadmin start-telemetry-enrichment, or deploy with -c detection=fleet",
        )
