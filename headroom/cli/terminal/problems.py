"""What can go wrong at the command line, with the exit code a script sees."""

from __future__ import annotations

OK, FAILED, BAD_INPUT = 0, 1, 2


class Problem(Exception):
    """One sentence for the person at the terminal, and the exit code for the script."""

    exit_code = FAILED


class BadRequest(Problem):
    """What was asked for makes no sense or names something that is not there."""

    exit_code = BAD_INPUT
