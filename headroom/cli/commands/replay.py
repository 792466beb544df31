"""`headroom replay`: what this policy would have done, over an account's own metric history."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from heapq import heappop, heappush
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from headroom.adapters.aurora import AuroraClusterStorage
from headroom.adapters.cloudwatch import LONGEST_DAYS, CloudWatchHistory
from headroom.adapters.ebs import select_volumes
from headroom.adapters.rds import select_databases
from headroom.cli.replay import page as replay_page
from headroom.cli.replay import tables as replay_tables
from headroom.cli.replay.batch import Missed, Rules, replays
from headroom.cli.replay.clusters import MissedCluster, matching_clusters, replayed_clusters
from headroom.cli.sources.account import Account, account
from headroom.cli.sources.options import AccountOptions, JsonOption
from headroom.cli.sources.storage import clusters_of, databases_of
from headroom.cli.terminal.names import named, short
from headroom.cli.terminal.output import emit, err, out, say
from headroom.cli.terminal.problems import FAILED, OK, BadRequest, Problem
from headroom.cli.views import report
from headroom.cli.views.report import Section
from headroom.domain.policy import Policy
from headroom.domain.resources import Kind, PriceUnknown, ResourceRef
from headroom.policy import default_policy, load_policy_file, parse_policy
from headroom.ports import ReadFailed, StorageView
from headroom.proving.replay import Replayed

USUAL_DAYS = 14
"""CloudWatch keeps minutes for 15 days; what is older is coarser."""


class Preset(StrEnum):
    """What a starved minute is worth: $1.00, $0.10 or $0.01."""

    PERFORMANCE = "performance"
    BALANCED = "balanced"
    THRIFT = "thrift"


def replay(
    days: Annotated[
        int, typer.Option(min=1, max=LONGEST_DAYS, help="How many days back.")
    ] = USUAL_DAYS,
    tag: Annotated[
        list[str] | None,
        typer.Option(
            help="Only resources with this tag (KEY=VALUE); repeat it to require several."
        ),
    ] = None,
    volume: Annotated[
        list[str] | None,
        typer.Option(help="Only this resource: vol-ID, db:NAME or cluster:NAME. Repeatable."),
    ] = None,
    databases: Annotated[
        bool, typer.Option(help="Also replay databases and Aurora clusters.")
    ] = True,
    policy: Annotated[Path | None, typer.Option(help="Policy file (docs/policy.md).")] = None,
    preset: Annotated[
        Preset | None, typer.Option(help="What a starved minute is worth, without a policy file.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Replay up to this time. Default: now.")] = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Number of processes. Default: one per core.")
    ] = None,
    as_json: JsonOption = False,
    html: Annotated[Path | None, typer.Option(help="Write a report to this file.")] = None,
    *,
    options: AccountOptions,
) -> int:
    """Show what a policy would have done over the history of an account's volumes and databases.

    Read-only: it calls Describe in EC2 and RDS, and GetMetricData ($0.01 per 1,000 metrics). Exit
    code 1 if a resource cannot be read.
    """
    if html is not None:
        report.uplot()  # fail before the work, not after
    tags = tuple(_tag(text) for text in tag or ())
    chosen = _policy(policy, preset)
    where = account(**asdict(options), databases=databases)
    try:
        prices = where.prices.table(where.region)
    except PriceUnknown as unknown:
        raise BadRequest(f"A replay needs prices: {unknown}.") from None
    rules = Rules(
        until=_instant(until, where.now),
        days=days,
        policy=chosen,
        prices=prices,
        draw=html is not None,
    )
    views = _views(where, volume or (), tags, databases=databases)
    sections = Sections()
    found = _replay_all(views.volumes, where, rules, processes or os.cpu_count() or 1, sections)
    clusters = tuple(replayed_clusters(views.clusters, where, views.aurora, rules))
    summary = replay_tables.ReplaySummary(
        account_id=where.account_id, region=where.region, rules=rules, found=found,
        clusters=clusters,
    )  # fmt: skip
    if html is not None:
        report.write(replay_page.page(summary, sections.kept()), html)
        err().print(f"Report: {html}", style="dim", soft_wrap=True)
    if as_json:
        emit(summary.to_json())
    else:
        replay_tables.show(summary, out())
    missed = (one for one in (*found, *clusters) if isinstance(one, Missed | MissedCluster))
    return FAILED if any(one.failed for one in missed) else OK


class Sections:
    """The sections of the volumes that gain most; each chart's data is dropped once it is drawn."""

    def __init__(self) -> None:
        self._kept: list[tuple[int, str, Section]] = []

    def keep(self, one: Replayed | Missed) -> Replayed | Missed:
        """The same volume without its timeline."""
        if isinstance(one, Missed) or one.timeline is None:
            return one
        drawn = replay_page.section(one)
        if drawn is not None:
            heappush(self._kept, (one.avoided_minutes, drawn.key, drawn))
        if len(self._kept) > replay_page.MAX_SECTIONS:
            heappop(self._kept)
        return replace(one, timeline=None)

    def kept(self) -> list[Section]:
        """Those drawn, in no order."""
        return [drawn for _, _, drawn in self._kept]


def _tag(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise BadRequest(
            f"--tag {text!r} is not a tag; write KEY=VALUE, for example --tag team=data."
        )
    return key, value


def _policy(path: Path | None, preset: Preset | None) -> Policy:
    if path is None:
        if preset is None:
            return default_policy()
        return parse_policy({"defaults": {"preset": preset.value}}, source="--preset")
    if preset is not None:
        raise BadRequest(
            f"Give either --policy or --preset; a policy may contain `preset: {preset.value}`."
        )
    return load_policy_file(path)


def _instant(text: str | None, now: datetime) -> datetime:
    if text is None:
        return now
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise BadRequest(
            f"--until {text!r} is not a time; write 2026-01-05T03:00Z or 2026-01-05."
        ) from None
    instant = instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC)
    if instant > now + timedelta(minutes=1):
        raise BadRequest(f"--until {text} is in the future.")
    return instant


@dataclass(frozen=True, slots=True, kw_only=True)
class _Views:
    """What is replayed: by minutes, and Aurora clusters by days, with the storage they are of."""

    volumes: tuple[StorageView, ...]
    clusters: tuple[StorageView, ...]
    aurora: AuroraClusterStorage


def _views(
    where: Account, names: Sequence[str], tags: Sequence[tuple[str, str]], *, databases: bool
) -> _Views:
    refs = [named(each, account_id=where.account_id, region=where.region) for each in names]
    volume_ids = [ref.resource_id for ref in refs if ref.kind is Kind.EBS]
    asked = [ref for ref in refs if ref.kind is Kind.RDS]
    views: list[StorageView] = []
    if volume_ids or not refs:
        try:
            views += select_volumes(
                where.ec2, account_id=where.account_id, region=where.region,
                volume_ids=volume_ids, tags=tags,
            )  # fmt: skip
        except ReadFailed as failed:
            raise Problem(f"The volumes cannot be read: {failed}.") from None
    aurora, clusters = clusters_of(where), tuple[StorageView, ...]()
    if asked or (databases and not refs):
        of_rds, clusters = _databases(where, aurora, asked, tags)
        views += of_rds
    tagged = "".join(f" with tag {key}={value}" for key, value in tags)
    there = {view.volume.ref.arn for view in (*views, *clusters)}
    lacking = [short(ref.arn) for ref in refs if ref.arn not in there]
    what = "volume or database" if databases else "volume"
    if lacking:
        raise BadRequest(f"There is no {', '.join(lacking)}{tagged} in {where.region}.")
    if not views and not clusters:
        raise BadRequest(f"There is no {what}{tagged} in {where.region} of {where.account_id}.")
    if clusters:  # only now are prices asked for that take many pages
        aurora = clusters_of(where, price_list=where.price_list)
    return _Views(volumes=tuple(views), clusters=clusters, aurora=aurora)


def _databases(
    where: Account, aurora: AuroraClusterStorage, refs: Sequence[ResourceRef],
    tags: Sequence[tuple[str, str]],
) -> tuple[tuple[StorageView, ...], tuple[StorageView, ...]]:  # fmt: skip
    """Databases of RDS and Aurora clusters; that they may not be read is said where none is named."""
    names = [
        ref.resource_id.removeprefix("cluster:")
        for ref in refs
        if ref.resource_id.startswith("cluster:")
    ]
    try:
        found = select_databases(databases_of(where), refs=refs, tags=tags)
        if refs and not names:
            return found, ()
        return found, matching_clusters(aurora, names=names, tags=tags, account=where)
    except ReadFailed as failed:
        if refs:
            raise Problem(f"The databases cannot be read: {failed}.") from None
        say(
            f"Continuing without databases, which cannot be read ({failed}); --no-databases skips them.",
            err(), style="dim",
        )  # fmt: skip
        return (), ()


def _replay_all(
    views: Sequence[StorageView], where: Account, rules: Rules, processes: int, sections: Sections
) -> tuple[Replayed | Missed, ...]:
    found: list[Replayed | Missed] = []
    console = err()
    history = CloudWatchHistory(where.cloudwatch)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(f"{len(views):,} volumes and databases", total=len(views))
        for one in replays(views, history, rules, processes=processes):
            found.append(sections.keep(one))
            bar.update(task, completed=len(found))
            if not console.is_terminal and len(found) % 50 == 0:
                console.print(f"{len(found):,} of {len(views):,}")
    return tuple(found)
