"""`headroom local`: the local AWS endpoint, for any AWS client."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from headroom.cli.sources.local_endpoint import STATE
from headroom.cli.sources.options import JsonOption
from headroom.cli.terminal.output import emit, err, out
from headroom.cli.terminal.problems import FAILED, OK

StateOption = Annotated[Path, typer.Option("--state-dir", help="Folder of its files and logs.")]


class Pace(StrEnum):
    """Who moves the endpoint's clock."""

    REAL = "real"
    LOCKSTEP = "lockstep"


def up(
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port; 0 takes a free one.")] = 0,
    clock: Annotated[
        Pace, typer.Option(help="Real time, or a clock that a client advances (lockstep).")
    ] = Pace.REAL,
    iam: Annotated[
        bool, typer.Option(help="Evaluate the policies of deployed roles, as IAM does.")
    ] = True,
    quotas: Annotated[
        bool, typer.Option("--quotas", help="Throttle EC2 and CloudWatch requests as AWS does.")
    ] = False,
    state_dir: StateOption = STATE,
    as_json: JsonOption = False,
) -> int:
    """Start the endpoint on 127.0.0.1 in the background."""
    from headroom.localaws import daemon

    err().print("Starting the local AWS endpoint ...", style="dim")
    endpoint = daemon.up(
        port=port, state_dir=state_dir, clock=clock.value, no_iam=not iam, quotas=quotas
    )
    if as_json:
        emit({"url": endpoint.url, "pid": endpoint.pid, "environment": endpoint.environment()})
    else:
        out().print(f"The local endpoint runs at {endpoint.url} (process {endpoint.pid}).")
        out().print("Point any AWS client at it:")
        settings = " ".join(f"{name}={value}" for name, value in endpoint.environment().items())
        out().print(f"  export {settings}", soft_wrap=True)
    return OK


def down(state_dir: StateOption = STATE, as_json: JsonOption = False) -> int:
    """Stop the endpoint and all its processes."""
    from headroom.localaws import daemon

    stopped = daemon.down(state_dir)
    if as_json:
        emit({"stopped": bool(stopped)})
    else:
        out().print("Stopped." if stopped else "No endpoint was running.")
    return OK


def status(state_dir: StateOption = STATE, as_json: JsonOption = False) -> int:
    """Show whether the endpoint is running; exit code 1 if it is not."""
    from headroom.localaws import daemon

    endpoint = daemon.status(state_dir)
    if as_json:
        emit({"running": endpoint is not None, "url": endpoint.url if endpoint else None})
    elif endpoint is None:
        out().print("No local endpoint is running; `headroom local up` starts one.")
    else:
        out().print(f"The local endpoint runs at {endpoint.url} (process {endpoint.pid}).")
    return OK if endpoint is not None else FAILED
