"""What goes wrong in the proving ground because of what it was given."""

from __future__ import annotations


class BadInput(ValueError):
    """A scenario, trace or table that cannot be used; the message is one sentence for people."""
