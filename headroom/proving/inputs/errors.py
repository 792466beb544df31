"""The error of invalid input files."""

from __future__ import annotations


class BadInput(ValueError):
    """A scenario, trace or table that cannot be used; the message is one sentence for people."""
