"""The accounts and Regions that a command about a fleet reads, and the rules in each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from headroom.cli.policy.show import in_force
from headroom.cli.sources.account import Account, account
from headroom.cli.sources.deployment import Deployment
from headroom.cli.sources.dry_run import deployment_or_none
from headroom.cli.sources.options import AccountOptions
from headroom.cli.sources.storage import clusters_of, databases_of
from headroom.cli.terminal.output import err, say
from headroom.cli.terminal.problems import BadRequest, Problem
from headroom.domain.catalog import PriceTable
from headroom.domain.policy import Policy
from headroom.domain.resources import Kind, PriceUnknown
from headroom.policy import default_policy
from headroom.ports import ReadFailed, StorageView

Tags = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One account and Region, its policy, prices and deployment."""

    options: AccountOptions
    where: Account
    policy: Policy
    policy_name: str
    prices: PriceTable | None
    deployment: Deployment | None

    @property
    def name(self) -> str:
        """Which it is, in words."""
        return f"{self.where.region} of {self.where.account_id}"


def tags_of(texts: list[str] | None) -> Tags:
    """Tags written KEY=VALUE; raises BadRequest."""
    found = []
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise BadRequest(
                f"--tag {text!r} is not a tag; write KEY=VALUE, for example --tag team=data."
            )
        found.append((key, value))
    return tuple(found)


def places(
    options: AccountOptions, policy: Path | None, *, kinds: set[Kind], stack: str | None
) -> Iterator[Place]:
    """Every combination of the Regions and profiles that the options name, with commas between them.

    Where nothing is deployed and no policy is given, the default policy counts. `stack` is that of
    the deployment; with None nothing counts as deployed.
    """
    for profile in (options.profile or "").split(","):
        for region in (options.region or "").split(","):
            one = replace(options, region=region.strip() or None, profile=profile.strip() or None)
            where = account(**asdict(one), databases=bool(kinds - {Kind.EBS}))
            deployment = None if stack is None else _deployment(where, stack)
            rules, name = _policy(where, policy)
            yield Place(
                options=replace(one, region=where.region), where=where, policy=rules,
                policy_name=name, prices=_prices(where), deployment=deployment,
            )  # fmt: skip


def others(place: Place, kinds: set[Kind], tags: Tags) -> list[StorageView]:
    """The databases and Aurora clusters that carry all of `tags`; none where they cannot be read."""
    found: list[StorageView] = []
    for kind, read in ((Kind.RDS, databases_of), (Kind.AURORA, clusters_of)):
        if kind not in kinds:
            continue
        try:
            views = list(read(place.where).fleet())
        except ReadFailed as failed:
            say(f"Continuing without {kind.value}, which cannot be read: {failed}.", err())
            continue
        found += [view for view in views if set(tags) <= set(view.volume.tags)]
    return found


def _deployment(where: Account, stack: str) -> Deployment | None:
    try:
        return deployment_or_none(where, stack)
    except BadRequest:
        raise
    except Problem as problem:  # read-only credentials may lack CloudFormation
        say(f"Continuing as if nothing were deployed: {problem}", err(), style="dim")
        return None


def _policy(where: Account, file: Path | None) -> tuple[Policy, str]:
    try:
        return in_force(where, file)
    except Problem:
        if file is not None:
            raise
        return default_policy(), "the default policy (none is published)"


def _prices(where: Account) -> PriceTable | None:
    try:
        return where.prices.table(where.region)
    except PriceUnknown as unknown:
        say(f"No prices are known in {where.region}: {unknown}.", err())
        return None
