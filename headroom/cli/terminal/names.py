"""How people name storage at the command line: a volume's id, `db:NAME`, `cluster:NAME`, an ARN."""

from __future__ import annotations

import re

from headroom.cli.terminal.problems import BadRequest
from headroom.domain.resources import Kind, ResourceRef

_VOLUME = re.compile(r"vol-[0-9a-f]+")
_IDENTIFIER = r"[a-zA-Z](?:-?[a-zA-Z0-9])*"
"""Source: RDS API 2014-10-31, CreateDBInstance: no hyphen at the end, no two in a row."""
_DATABASE = re.compile(rf"cluster:{_IDENTIFIER}|db:{_IDENTIFIER}(?:/rdsdbdata[2-4])?")
"""An additional storage volume of a DB instance is `db:NAME/rdsdbdata2`."""


def named(resource: str, *, account_id: str, region: str) -> ResourceRef:
    """The storage of that name in this account and Region; raises BadRequest for anything else.

    An ARN must be of this place. `cluster:NAME` is a Multi-AZ DB cluster or an Aurora cluster:
    RDS gives no two clusters of an account and Region one name.
    """
    place = f"{region}:{account_id}"
    name = resource
    if resource.startswith("arn:"):
        parts = resource.split(":", 5)
        if len(parts) < 6 or ":".join(parts[3:5]) != place:
            raise BadRequest(f"{resource!r} is not an ARN of account {account_id} in {region}.")
        name = parts[5]
    volume = name.removeprefix("volume/")
    if _VOLUME.fullmatch(volume):
        return ResourceRef(kind=Kind.EBS, account_id=account_id, region=region, resource_id=volume)
    if _DATABASE.fullmatch(name):
        database = name.lower().removeprefix("db:")
        return ResourceRef(
            kind=Kind.RDS, account_id=account_id, region=region, resource_id=database
        )
    raise BadRequest(_unnamed(resource))


def short(arn: str) -> str:
    """What people call the storage with this ARN; `named` understands it again.

    What is no such ARN (the account's own key) comes back after its last slash.
    """
    name = arn.split(":", 5)[-1] if arn.startswith("arn:") else arn
    return name if _DATABASE.fullmatch(name) else name.rsplit("/", 1)[-1]


def _unnamed(resource: str) -> str:
    if re.fullmatch(_IDENTIFIER, resource):  # RDS lets an instance and a cluster have one name
        return (
            f"{resource!r} is not a volume id; write db:{resource} for a DB instance of that name, "
            f"cluster:{resource} for a cluster."
        )
    return (
        f"{resource!r} is not a volume id such as vol-0123456789abcdef0, nor a database such as "
        "db:orders or cluster:orders."
    )
