"""`headroom replay` of Aurora clusters: days instead of minutes, and the bill in both modes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from rich.console import Console

from headroom.adapters.aurora import AuroraClusterStorage
from headroom.adapters.cloudwatch import PERIOD_S, activity_of, queries, read, window
from headroom.cli.replay.batch import Rules
from headroom.cli.sources.account import Account
from headroom.cli.terminal.output import money, say, table, utc
from headroom.cli.views.bills import NAMES
from headroom.domain.policy import Mode, limits_for
from headroom.domain.resources import AuroraCluster, Kind, PriceUnknown, ResourceRef, Volume
from headroom.domain.workload import LOOKBACK_WINDOW
from headroom.ports import ReadFailed, ResourceGone, StorageView
from headroom.proving.replay import NotReplayed, ReplayedCluster, replay_cluster

KEPT_DAYS = 62
"""CloudWatch keeps five-minute counts for 63 days; longer periods do not show a day's I/O."""
Json = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedCluster:
    """A cluster that was not replayed; `failed` if it should have been."""

    name: str
    why: str
    failed: bool


Found = ReplayedCluster | MissedCluster


def matching_clusters(
    storage: AuroraClusterStorage, *, names: Sequence[str], tags: Sequence[tuple[str, str]],
    account: Account,
) -> tuple[StorageView, ...]:  # fmt: skip
    """The Aurora clusters that have all of `tags` and, if any are given, one of `names`.

    Names that do not exist are left out. Raises ReadFailed.
    """
    refs = [
        ResourceRef(
            kind=Kind.AURORA, account_id=account.account_id, region=account.region, resource_id=name
        )
        for name in names
    ] or [view.volume.ref for view in storage.fleet()]
    found = (_view(storage, ref) for ref in refs)
    return tuple(v for v in found if v is not None and set(tags) <= set(v.volume.tags))


def _view(storage: AuroraClusterStorage, ref: ResourceRef) -> StorageView | None:
    try:
        return storage.view(ref)
    except ResourceGone:
        return None


def replayed_clusters(
    views: Sequence[StorageView], where: Account, storage: AuroraClusterStorage, rules: Rules
) -> Iterator[Found]:
    """Every cluster in turn, replayed or the reason why not; one failure does not stop the others."""
    for view in views:
        name, cluster = view.volume.ref.resource_id, view.cluster
        if cluster is None:
            continue
        try:
            yield _replayed(view.volume, cluster, where, storage, rules)
        except NotReplayed as why:
            yield MissedCluster(name=name, why=str(why), failed=False)
        except ReadFailed as failed:
            why_not = f"its metrics could not be read: {failed}"
            yield MissedCluster(name=name, why=why_not, failed=True)


def _replayed(
    volume: Volume,
    cluster: AuroraCluster,
    where: Account,
    storage: AuroraClusterStorage,
    rules: Rules,
) -> ReplayedCluster:
    effective = limits_for(rules.policy, volume)
    if effective.problem is not None:
        raise NotReplayed(f"Headroom would change nothing: {effective.problem}")
    if effective.limits.mode is Mode.OFF:
        raise NotReplayed("the policy or its tag says off")
    try:
        listed = storage.prices(where.region, cluster.engine)
        prices = listed.after_discount(effective.limits.discount_percent)
    except PriceUnknown as unknown:
        raise NotReplayed(str(unknown)) from None
    length = timedelta(days=min(KEPT_DAYS, rules.days + LOOKBACK_WINDOW.days + 1))
    span = window(rules.until, length=length, period_s=PERIOD_S)
    activity = activity_of(cluster, read(where.cloudwatch, queries(cluster), span), span)
    # As if it were enrolled, and at any hour: a day of the replay has one instant.
    limits = replace(effective.limits, mode=Mode.AUTO, change_windows=(), approve_above_usd=None)
    return replay_cluster(cluster, activity, limits, prices)


def show(found: Sequence[Found], console: Console) -> None:
    """A row per cluster: the cost of its days in both modes, and with Headroom."""
    rows = [_row(one) for one in found if isinstance(one, ReplayedCluster)]
    if rows:
        columns = ("Name", "It is", "Days", "I/O share", *NAMES.values(), "Headroom", "Its changes")
        console.print(table("Aurora clusters, USD over their days", columns, rows))
    for one in found:
        if isinstance(one, MissedCluster):
            line = f"Note: cluster:{one.name} was not replayed: {one.why}."
            say(line, console)


def _row(one: ReplayedCluster) -> tuple[str, ...]:
    result = one.result
    changes = [f"{utc(c.at)} {NAMES[c.target]}" for c in result.changes]
    last = result.news[-1].answer.reason.value.replace("_", " ") if result.news else "-"
    return (
        f"cluster:{one.cluster.ref.resource_id}",
        NAMES[one.cluster.mode],
        str(result.scenario.days),
        f"{100 * result.first.standard.io_share:.1f} %",
        money(result.paid_in_standard_usd),
        money(result.paid_in_optimized_usd),
        money(result.paid_usd),
        "\n".join(changes) or f"none ({last})",
    )


def as_objects(found: Sequence[Found]) -> list[Json]:
    """Each cluster as `headroom simulate --json` prints it, or why it was not replayed."""
    return [_object(one) for one in found]


def _object(one: Found) -> Json:
    if isinstance(one, MissedCluster):
        return {"cluster": one.name, "replayed": False, "failed": one.failed, "why": one.why}
    return {
        "cluster": one.cluster.ref.resource_id, "replayed": True,
        "from": one.result.scenario.start.isoformat(), **one.result.to_json(),
    }  # fmt: skip
