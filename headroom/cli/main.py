"""The `headroom` command: runs a verb, prints errors as one sentence, returns an exit code.

0: success. 1: failure. 2: invalid input (one sentence on stderr). `plan --all` and `doctor` return 2
for changes that are due and for findings, so their invalid input is 1.
"""

from __future__ import annotations

import gc
import os
import sys

import typer
from typer._click.exceptions import ClickException, NoArgsIsHelpError

from headroom.cli.loading import Commands, imported
from headroom.cli.terminal.output import err, say
from headroom.cli.terminal.problems import BAD_INPUT, FAILED, OK, Problem

INTERRUPTED = 130
"""What Typer returns after Ctrl-C, as shells expect."""

app = typer.Typer(
    name="headroom",
    cls=Commands,
    help="Keeps AWS storage out of I/O starvation automatically, within limits that its owner sets.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def root() -> None:
    """The root has no options of its own."""


def run(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    gc.set_threshold(100_000, 20, 50)  # most of what a command makes are imports, which stay
    if sys.stdout is None:  # closed by who started it; a file that is opened would take its place
        return FAILED if sys.stderr is None else _failed("There is no standard output to write to.")
    try:
        answer = app(args=arguments, prog_name="headroom", standalone_mode=False)
        sys.stdout.flush()
    except NoArgsIsHelpError as nothing:
        say(nothing.format_message(), err())
        return BAD_INPUT
    except ClickException as problem:
        _complain(problem.format_message())
        return _code(BAD_INPUT, words)
    except Problem as problem:
        _complain(str(problem))
        return _code(problem.exit_code, words)
    except (KeyboardInterrupt, typer.Abort):
        answer = INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as raised:
        found: Problem | None = imported("headroom.cli.errors:complaint")(raised)
        if found is None:
            raise
        _complain(str(found))
        return _code(found.exit_code, words)
    if answer == INTERRUPTED:
        _complain("Stopped, with everything it had started.")
    return answer if isinstance(answer, int) else OK


def _code(code: int, words: list[str]) -> int:
    """The exit code of a problem: 1 instead of 2 where 2 is a result of the command."""
    result = words[:1] == ["doctor"] or (words[:1] == ["plan"] and "--all" in words)
    return FAILED if result and code == BAD_INPUT else code


def _failed(sentence: str) -> int:
    _complain(sentence)
    return FAILED


def _complain(sentence: str) -> None:
    say(f"headroom: {sentence}", err())


if __name__ == "__main__":
    sys.exit(run())
