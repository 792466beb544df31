"""`headroom policy show`: the limits in force for one volume or database."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from headroom.cli.policy import view as policy_view
from headroom.cli.policy.check import USUAL_FILE, refuse_no_place
from headroom.cli.policy.synthetic import synthetic_volume
from headroom.cli.policy.view import PolicyView
from headroom.cli.sources.account import Account, account
from headroom.cli.sources.options import AccountOptions, JsonOption
from headroom.cli.sources.published import hard_caps_in, published_policy
from headroom.cli.sources.storage import read_storage
from headroom.cli.terminal.names import named, short
from headroom.cli.terminal.output import emit, out
from headroom.cli.terminal.problems import FAILED, OK, BadRequest, Problem
from headroom.domain.policy import Policy, PolicyUnreadable, limits_for, with_caps
from headroom.domain.resources import Kind, Volume, VolumeType
from headroom.policy import load_policy_file, published
from headroom.ports import ReadFailed, ResourceGone


def show(
    resource: Annotated[
        str | None,
        typer.Argument(
            help="vol-ID, db:NAME, cluster:NAME or ARN. Default: synthetic storage from the options."
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(help="Policy file. Default: policy.yaml, or the account's published policy."),
    ] = None,
    volume_type: Annotated[
        VolumeType | None, typer.Option("--type", help="Type of synthetic storage.")
    ] = None,
    kind: Annotated[Kind | None, typer.Option(help="Kind of synthetic storage.")] = None,
    size: Annotated[int, typer.Option(min=1, help="Its size in GiB.")] = 100,
    tag: Annotated[
        list[str] | None, typer.Option(help="A tag of it (KEY=VALUE). Repeatable.")
    ] = None,
    account_id: Annotated[
        str, typer.Option("--account", help="The account it is in.")
    ] = "123456789012",
    as_json: JsonOption = False,
    *,
    options: AccountOptions,
) -> int:
    """Show the limits in force for one volume or database, and the origin of each.

    Exit code 1 if its tags are invalid.
    """
    if (resource is None) == (volume_type is None and kind is None):
        raise BadRequest(
            "Name a volume or database, or describe a synthetic one with --type or --kind (and --size, --tag)."
        )
    tags = dict(_tag(text) for text in tag or ())
    if resource is not None:
        if tags:
            raise BadRequest("A resource of the account has its own tags; leave --tag out.")
        where = account(**asdict(options))
        volume = _described(where, resource)
        rules, name = in_force(where, policy)
    else:
        refuse_no_place(account_id, options.region)
        volume = synthetic_volume(
            kind or Kind.EBS, volume_type, size, tags, account_id=account_id,
            region=options.region or "us-east-1",
        )  # fmt: skip
        rules, name = load_policy_file(policy or USUAL_FILE), str(policy or USUAL_FILE)
    view = PolicyView(volume=volume, policy=rules, name=name, effective=limits_for(rules, volume))
    if as_json:
        emit(policy_view.as_object(view))
    else:
        policy_view.show(view, out())
    return OK if view.effective.problem is None else FAILED


def _tag(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise BadRequest(f"--tag {text!r} is not a tag; write KEY=VALUE.")
    return key, value


def _described(where: Account, resource: str) -> Volume:
    ref = named(resource, account_id=where.account_id, region=where.region)
    what = "volume" if ref.kind is Kind.EBS else "database"
    try:
        return read_storage(where, ref).volume
    except ResourceGone:
        raise BadRequest(f"There is no {what} {short(ref.arn)} in {where.region}.") from None
    except ReadFailed as problem:
        raise Problem(f"The {what} cannot be read: {problem}") from None


def in_force(where: Account, file: Path | None) -> tuple[Policy, str]:
    """The policy of a file as it would be published there, or the published one, under hard caps."""
    if file is not None:
        here = published(load_policy_file(file), where.account_id, where.region)
        return with_caps(here, hard_caps_in(where)), str(file)
    found = published_policy(where)
    if isinstance(found, PolicyUnreadable):
        raise Problem(f"{found.reason.rstrip('.')}; use --policy FILE to evaluate a file instead.")
    return found, f"the policy published in {where.region}"
