"""What CloudWatch has published about volumes and instances, read with GetMetricData only."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from headroom.adapters.cloudwatch.disk_metrics import DiskSpace, Lists, disks_of
from headroom.adapters.cloudwatch.ebs_metrics import (
    glance_of,
    instance_activity,
    together_with,
    volume_activity,
    with_served,
)
from headroom.adapters.cloudwatch.ebs_queries import (
    balance_queries,
    checks_elsewhere,
    glance_queries,
    instance_queries,
    profile_queries,
    served_queries,
    volume_queries,
)
from headroom.adapters.cloudwatch.history import older_windows
from headroom.adapters.cloudwatch.instances import instances_of
from headroom.adapters.cloudwatch.metric_data import Query, Window, read, read_most, window
from headroom.adapters.cloudwatch.past import PastReads
from headroom.adapters.errors import code_of, reading
from headroom.adapters.events import rds as events_rds
from headroom.domain.detection import Glance, Metric
from headroom.domain.resources import (
    InstanceActivity,
    Kind,
    ResourceRef,
    Series,
    Volume,
    VolumeActivity,
)
from headroom.ports import ContributorsUnknown, GlanceRequest, ReadFailed, StorageView

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient

GLANCE = timedelta(minutes=30)
LATE = timedelta(minutes=10)
"""How much longer than the time between two scans a glance looks back: metrics come minutes late,
and a scan may start late."""
ACTIVITY = timedelta(hours=3)
HISTORY = timedelta(days=14)
MOST_MOVED = 10_000
"""Volumes of which the earlier instances are remembered."""
MOST_PAGES = 100
"""Pages of contributors that are read: an alarm has at most 500, and a token may repeat for ever."""
ALARM_GONE = frozenset({"ResourceNotFound", "ResourceNotFoundException"})
REFUSED = frozenset(
    {
        "AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "NotAuthorized",
        "ValidationException", "ValidationError", "InvalidParameterValue", "InvalidAction",
        "UnknownOperationException",
    }
)  # fmt: skip
"""Asking for contributors again does not help: a plain alarm, a role without the permission, or a
Region that does not know the call."""
_log = logging.getLogger(__name__)


def glance_window(scan_every: timedelta) -> timedelta:
    """How far a glance looks back so that no minute lies between two scans: at least 30 minutes."""
    return max(GLANCE, scan_every + LATE)


class CloudWatchMetrics:
    """Metrics of one account and Region, read with GetMetricData only.

    `glance` is how far a Glance looks back, in whole minutes. With `disks` free space is read too,
    of volumes whose file system the CloudWatch agent measures.
    """

    def __init__(
        self,
        client: CloudWatchClient,
        *,
        account_id: str,
        region: str,
        glance: timedelta = GLANCE,
        disks: bool = False,
    ) -> None:
        self._client = client
        self._glance = glance
        self._lists = Lists() if disks else None
        self._account_id = account_id
        self._region = region
        self._past = PastReads()
        self._moved: dict[tuple[str, ...], tuple[str, ...]] = {}

    def glance(self, views: Sequence[StorageView], now: datetime) -> Mapping[str, Glance]:
        """A Glance at the last half hour of every volume, by volume id; raises ReadFailed.

        Three metrics per attached volume, four where there are credits, none when detached: a
        scan every 15 minutes costs $88 a month per 1,000 gp3 volumes and $117 per 1,000 gp2
        (2,920 scans, $0.01 per 1,000 metrics). Where no Exceeded check is published, four more.
        """
        return self.glances(
            [GlanceRequest(view=view, metrics=None, back=self._glance) for view in views], now
        )

    def glances(self, asked: Sequence[GlanceRequest], now: datetime) -> Mapping[str, Glance]:
        """The same with only the metrics asked for, one call for each time that they look back.

        Four more are read where both Exceeded checks are asked for and neither is published. Without those of
        which CloudWatch does not answer every metric.
        """
        found: dict[str, Glance] = {}
        for back in dict.fromkeys(one.back for one in asked):
            same = {one.view.volume: one.metrics for one in asked if one.back == back}
            found |= self._glances(same, window(now, length=back, period_s=60))
        return found

    def _glances(
        self, asked: Mapping[Volume, frozenset[Metric] | None], span: Window
    ) -> dict[str, Glance]:
        mine = {one: glance_queries(one, metrics) for one, metrics in asked.items()}
        first = read_most(self._client, chain(*mine.values()), span)
        seen = {
            one: glance_of(one, first, span)
            for one, own in mine.items()
            if first.keys() >= set(own)
        }
        without = {one: served_queries(one, glance, asked[one]) for one, glance in seen.items()}
        served = read_most(self._client, chain(*without.values()), span)
        for one, queries in without.items():
            if not served.keys() >= set(queries):
                del seen[one]
            elif queries:
                seen[one] = with_served(one, seen[one], served, span)
        return {one.ref.resource_id: glance for one, glance in seen.items()}

    def activity(
        self, view: StorageView, now: datetime
    ) -> tuple[VolumeActivity, InstanceActivity | None]:
        """The last 3 hours at one-minute periods; raises ReadFailed.

        The instance's activity is the sum over all volumes attached to it; it is None when the
        view has no instance. Its balances come on a grid of five minutes of their own.
        """
        return self.activities([view], now)[view.volume.ref.arn]

    def activities(
        self, views: Sequence[StorageView], now: datetime
    ) -> Mapping[str, tuple[VolumeActivity, InstanceActivity | None]]:
        """The same of many volumes by ARN, 500 metrics a call; raises ReadFailed."""
        span = window(now, length=ACTIVITY, period_s=60)
        slow_span = window(now, length=ACTIVITY, period_s=300)
        instances = [view.instance for view in views if view.instance is not None]
        own = (q for v in views for q in volume_queries(v.volume, instance=v.instance))
        disks = self._disks(views, now)
        space = (query for disk in disks.values() for query in disk.queries)
        of_instances = (q for one in instances for q in instance_queries(one))
        moved = self._checks_elsewhere(views, span)
        found = self._read((*own, *of_instances, *space, *chain(*moved.values())), span)
        found = together_with(found, moved)
        slow = self._read((q for one in instances for q in balance_queries(one)), slow_span)
        return {
            view.volume.ref.arn: (
                volume_activity(
                    view.volume, found, span, view.instance, disks.get(view.volume.ref.resource_id)
                ),
                None
                if view.instance is None
                else instance_activity(view.instance, found, span, slow, slow_span),
            )
            for view in views
        }

    def history(self, view: StorageView, now: datetime) -> VolumeActivity | None:
        """The last 14 days at five-minute periods; None when nothing was published.

        What this process read of them in the last hours is not read again. Raises ReadFailed.
        """
        span = window(now, length=HISTORY, period_s=300)
        disk = self._disks([view], now).get(view.volume.ref.resource_id)
        space = () if disk is None else disk.queries
        moved = self._checks_elsewhere([view], span, must=True)
        queries = (*volume_queries(view.volume, span.period_s), *space, *chain(*moved.values()))
        found = together_with(self._past.read(self._read, queries, span), moved)
        if not any(series.known() for series in found.values()):
            return None
        return volume_activity(view.volume, found, span, disk=disk)

    def older_history(
        self, view: StorageView, now: datetime, *, since: datetime, until: datetime
    ) -> tuple[VolumeActivity, ...]:
        """Hours, then five minutes of the time between, in one call each; raises ReadFailed.

        Both of 400 days are 12 to 14 metrics, $0.00014 for a volume.
        """
        return tuple(
            volume_activity(
                view.volume, self._read(profile_queries(view.volume, span.period_s), span), span
            )
            for span in older_windows(now, since, until)
        )

    def _checks_elsewhere(
        self, views: Sequence[StorageView], span: Window, *, must: bool = False
    ) -> Mapping[Query, Sequence[Query]]:
        """For the checks of volumes that moved within `span`: the same under their instances of before.

        Raises ReadFailed if they `must` be known: nothing is decided without, and every decision reads earlier days.
        """
        found: dict[Query, list[Query]] = {}
        for volume in (view.volume for view in views):
            if volume.attached_at is None or volume.attached_at <= span.start:
                continue
            for instance_id in self._earlier_instances(volume, must=must):
                for here, there in checks_elsewhere(volume, instance_id, span.period_s).items():
                    found.setdefault(here, []).append(there)
        return found

    def _earlier_instances(self, volume: Volume, *, must: bool) -> tuple[str, ...]:
        """Other instances of the last two weeks under which a volume has metrics, listed once for each that it moves to.

        None where the role may not list them: its load is handled all the same.
        """
        key = (volume.ref.resource_id, str(volume.attached_at))
        if key not in self._moved:
            if len(self._moved) >= MOST_MOVED:
                self._moved.clear()
            try:
                self._moved[key] = instances_of(self._client, volume)
            except ReadFailed as problem:
                _log.warning("earlier instances of %s are not known: %s", key[0], problem)
                cause = problem.__cause__
                if not isinstance(cause, ClientError) or code_of(cause) not in REFUSED:
                    if must:
                        raise
                    return ()  # it is asked again next time
                self._moved[key] = ()
        return self._moved[key]

    def _disks(self, views: Sequence[StorageView], now: datetime) -> Mapping[str, DiskSpace]:
        """None where the role may not list them: loads are handled all the same."""
        if self._lists is None:
            return {}
        lists = self._lists
        try:
            return disks_of(self._client, views, lambda client, one: lists.of(client, one, now))
        except ReadFailed as problem:
            cause = problem.__cause__
            if not isinstance(cause, ClientError) or code_of(cause) not in REFUSED:
                raise
            _log.warning("free space of volumes is not read: %s", problem)
            return {}

    def _read(self, queries: Iterable[Query], span: Window) -> Mapping[Query, Series]:
        return read(self._client, queries, span)

    def contributors(self, alarm_name: str) -> tuple[ResourceRef, ...]:
        """Storage that contributes to this alarm's ALARM state now; none for an alarm that is gone.

        Raises ContributorsUnknown where AWS denies or refuses to say, else ReadFailed. IAM's
        published actions do not have this one, so that a role may lack it under whatever name.
        """
        found: dict[tuple[Kind, str], None] = {}
        token: str | None = None
        with reading(f"DescribeAlarmContributors {alarm_name}"):
            for _ in range(MOST_PAGES):
                more = {} if token is None else {"NextToken": token}
                try:
                    page = self._client.describe_alarm_contributors(AlarmName=alarm_name, **more)
                except ClientError as error:
                    if code_of(error) in ALARM_GONE:
                        return ()
                    if found and code_of(error) in REFUSED:
                        break
                    if code_of(error) in REFUSED:
                        why = f"the contributors of alarm {alarm_name} are not known: {error}"
                        raise ContributorsUnknown(why) from error
                    raise
                for contributor in page.get("AlarmContributors", ()):
                    labels = contributor.get("ContributorAttributes", {})
                    volume = labels.get("VolumeId")
                    database = events_rds.of_dimensions(labels)
                    if volume:
                        found[Kind.EBS, volume] = None
                    elif database is not None:
                        found[Kind.RDS, database] = None
                token = page.get("NextToken")
                if not token:
                    break
        return tuple(
            ResourceRef(
                kind=kind, account_id=self._account_id, region=self._region, resource_id=one
            )
            for kind, one in found
        )
