"""Where `audit` and `explain` read: an account's own tables, or the file a demo left."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Protocol

import typer

from headroom.cli.loading import imported
from headroom.cli.sources.records_file import DEMO_RECORDS, RecordsFile
from headroom.cli.terminal.names import named, short
from headroom.cli.terminal.output import err
from headroom.cli.terminal.problems import BadRequest
from headroom.domain.state import Record, StopState

FileOption = Annotated[
    Path | None, typer.Option("--file", help="Read record chains from this file.")
]
EndpointOption = Annotated[
    str | None, typer.Option("--endpoint-url", help="Ask this AWS endpoint, such as a local one.")
]
RegionOption = Annotated[str | None, typer.Option("--region", help="AWS Region of the tables.")]
ProfileOption = Annotated[str | None, typer.Option("--profile", help="AWS profile to use.")]
StackOption = Annotated[
    str | None, typer.Option("--stack", help="CloudFormation stack that holds the tables.")
]
LocalOption = Annotated[
    bool, typer.Option("--local", help="Ask the endpoint `headroom local up` started.")
]
TableOption = Annotated[
    str | None, typer.Option("--records-table", help="Name of the records table, if not by stack.")
]
DEFAULT_STACK = "HeadroomState"


class Records(Protocol):
    """What can be asked of records, wherever they are; all newest first but a chain."""

    def by_resource(self, arn: str, *, since: datetime, until: datetime) -> Iterable[Record]:
        """Records of one resource."""

    def by_time(self, *, since: datetime, until: datetime) -> Iterable[Record]:
        """Records of all resources."""

    def by_outcome(self, outcome: str, *, since: datetime, until: datetime) -> Iterable[Record]:
        """Records whose outcome is this one."""

    def chain(self, decision_id: str) -> tuple[Record, ...]:
        """All records of one decision, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """What the options said about where to read."""

    file: Path | None = None
    endpoint_url: str | None = None
    region: str | None = None
    profile: str | None = None
    stack: str | None = None
    records_table: str | None = None
    local: bool = False

    @property
    def names_an_account(self) -> bool:
        """Whether any option speaks of tables."""
        said = (self.endpoint_url, self.region, self.profile, self.stack, self.records_table)
        return self.local or any(said)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Records, where they are in words, and how a volume's id becomes its ARN there."""

    records: Records
    name: str
    account_id: str | None
    region: str | None
    now: datetime
    """The instant it is there: a local endpoint has a clock of its own."""
    stop_state: Callable[[], StopState | None] = lambda: None
    """What is paused or broken there; None where that is not known or cannot be read."""

    def arn(self, resource: str) -> str:
        """The ARN of `resource`, or what people call it where no account is known.

        It is an ARN already, or a name that `named` understands; raises BadRequest for others.
        """
        if resource.startswith("arn:"):
            return resource
        if self.account_id is None or self.region is None:
            return short(named(resource, account_id="", region="").arn)
        return named(resource, account_id=self.account_id, region=self.region).arn


def source(where: Where) -> Source:
    """Open the records that `where` points to and say on stderr which they are.

    Without any option: the file of the last demo if there is one, else the account that the
    AWS environment names. Raises BadRequest, Problem.
    """
    if where.file is not None and where.names_an_account:
        raise BadRequest("Give either --file or where the tables are, not both.")
    path = where.file
    if path is None and not where.names_an_account and DEMO_RECORDS.is_file():
        path = DEMO_RECORDS
        err().print(
            f"Reading {path}, left by the last demo; --region or --endpoint-url reads an "
            "account's own tables.", style="dim",
        )  # fmt: skip
    if path is not None:
        return Source(
            records=RecordsFile(path),
            name=str(path),
            account_id=None,
            region=None,
            now=datetime.now(UTC),
        )
    opened: Source = imported("headroom.cli.sources.tables:tables")(
        where
    )  # boto3 is slow to import
    return opened
