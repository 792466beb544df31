"""The `headroom` command: reads what was typed, says what happened, answers with an exit code.

0: done. 1: the thing itself failed. 2: what was asked makes no sense (one sentence on stderr).
"""

from __future__ import annotations

import os
import sys

import typer
from botocore.exceptions import BotoCoreError, ClientError
from typer._click.exceptions import ClickException

from headroom.cli import (
    asking,
    audit,
    budget,
    cases,
    compare,
    demo,
    explain,
    local,
    plan,
    policy,
    replay,
    simulate,
    status,
    stopping,
    version,
)
from headroom.cli.output import err
from headroom.cli.problems import BAD_INPUT, FAILED, OK, Problem
from headroom.domain.policy_fields import PolicyError
from headroom.localaws.daemon import EndpointFailed
from headroom.proving.errors import BadInput

INTERRUPTED = 130
"""What Typer answers after Ctrl-C, and what shells expect."""

app = typer.Typer(
    name="headroom",
    help="Keeps AWS storage out of I/O starvation, by itself, within limits its owner sets.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
app.command("demo")(demo.demo)
app.command("simulate")(simulate.simulate)
app.command("compare")(compare.compare)
app.command("cases")(cases.cases)
app.command("plan")(plan.plan)
app.command("replay")(replay.replay)
app.add_typer(local.app, name="local")
app.add_typer(policy.app, name="policy")
app.command("pause")(stopping.pause)
app.command("resume")(stopping.resume)
app.add_typer(stopping.app, name="breaker")
app.command("status")(status.status)
app.command("approvals")(asking.approvals)
app.command("approve")(asking.approve)
app.command("reject")(asking.reject)
app.command("rollback")(asking.rollback)
app.command("budget")(budget.budget)
app.command("audit")(audit.audit)
app.command("explain")(explain.explain)
app.command("version")(version.version)


def run(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    try:
        answer = app(args=arguments, prog_name="headroom", standalone_mode=False)
    except ClickException as problem:
        _complain(problem.format_message())
        return BAD_INPUT
    except Problem as problem:
        _complain(str(problem))
        return problem.exit_code
    except (BadInput, PolicyError) as problem:
        _complain(str(problem))
        return BAD_INPUT
    except EndpointFailed as problem:
        _complain(str(problem))
        return FAILED
    except (ClientError, BotoCoreError) as problem:
        _complain(f"AWS did not answer as hoped: {problem}")
        return FAILED
    except (KeyboardInterrupt, typer.Abort):
        answer = INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    if answer == INTERRUPTED:
        _complain("Stopped; what it had started is stopped too.")
    return answer if isinstance(answer, int) else OK


def _complain(sentence: str) -> None:
    err().print(f"headroom: {sentence}", markup=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(run())
