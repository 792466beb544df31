"""Options that several commands share, each declared once.

A command takes a whole set of options as one keyword-only parameter, for example
`where: DeploymentOptions`; `cli.loading` gives the command one option for each field of the set.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

DEFAULT_STACK = "HeadroomState"

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
ReasonOption = Annotated[str, typer.Option(help="Why, for the record.")]
ProfileOption = Annotated[str | None, typer.Option("--profile", help="AWS profile to use.")]
EndpointOption = Annotated[
    str | None, typer.Option("--endpoint-url", help="Use this AWS endpoint, such as a local one.")
]
LocalOption = Annotated[
    bool, typer.Option("--local", help="Use the endpoint that `headroom local up` started.")
]
_STACK = typer.Option(
    "--stack",
    help="CloudFormation stack that holds the tables; STACK/PREFIX if it holds several deployments.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountOptions:
    """Which AWS account and Region a command reads."""

    region: Annotated[str | None, typer.Option("--region", help="AWS Region of the resources.")] = (
        None
    )
    profile: ProfileOption = None
    endpoint_url: EndpointOption = None
    local: LocalOption = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentOptions:
    """Which deployment of Headroom a command reads or writes."""

    region: Annotated[
        str | None, typer.Option("--region", help="AWS Region of the deployment.")
    ] = None
    profile: ProfileOption = None
    endpoint_url: EndpointOption = None
    stack: Annotated[str, _STACK] = DEFAULT_STACK
    local: LocalOption = False

    @property
    def account(self) -> AccountOptions:
        """The same without the stack."""
        return AccountOptions(
            region=self.region, profile=self.profile, endpoint_url=self.endpoint_url,
            local=self.local,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsOptions:
    """Where a command reads records: a file, or the tables of an account."""

    file: Annotated[
        Path | None, typer.Option("--file", help="Read record chains from this file.")
    ] = None
    endpoint_url: EndpointOption = None
    region: Annotated[str | None, typer.Option("--region", help="AWS Region of the tables.")] = None
    profile: ProfileOption = None
    stack: Annotated[str | None, _STACK] = None
    records_table: Annotated[
        str | None,
        typer.Option("--records-table", help="Name of the records table, if not by stack."),
    ] = None
    local: LocalOption = False

    @property
    def names_an_account(self) -> bool:
        """Whether any option selects tables."""
        selected = (self.endpoint_url, self.region, self.profile, self.stack, self.records_table)
        return self.local or any(selected)
