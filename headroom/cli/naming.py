"""How people name storage at the command line: a volume's id, `db:NAME`, `cluster:NAME`, an ARN."""

from __future__ import annotations

import re

from headroom.cli.problems import BadRequest
from headroom.domain.resources import Kind, ResourceRef

_VOLUME = re.compile(r"vol-[0-9a-f]+")
_DATABASE = re.compile(r"(?:db|cluster):[a-zA-Z][a-zA-Z0-9-]*")


def named(resource: str, *, account_id: str, region: str) -> ResourceRef:
    """The storage of that name in this account and Region; raises BadRequest for anything else.

    An ARN must be of this place.
    """
    place = f"{region}:{account_id}"
    name = resource
    if resource.startswith("arn:"):
        parts = resource.split(":", 5)
        if len(parts) < 6 or ":".join(parts[3:5]) != place:
            raise BadRequest(f"{resource!r} is no ARN of account {account_id} in {region}.")
        name = parts[5]
    volume = name.removeprefix("volume/")
    if _VOLUME.fullmatch(volume):
        return ResourceRef(kind=Kind.EBS, account_id=account_id, region=region, resource_id=volume)
    if _DATABASE.fullmatch(name):
        database = name.lower().removeprefix("db:")
        return ResourceRef(
            kind=Kind.RDS, account_id=account_id, region=region, resource_id=database
        )
    raise BadRequest(
        f"{resource!r} is no volume's id; one is like vol-0123456789abcdef0, and a database is "
        "named like db:orders or cluster:orders."
    )
