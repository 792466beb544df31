"""A console that prints text as it is: names, tags and reasons are written by anybody.

Text is no markup, and what would move the cursor, recolour or reorder is shown as ?.
"""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from headroom.cli.terminal.printable import printable


class PlainConsole(Console):
    """Rich's console for text that may be of strangers; what is styled is a Text or has a style."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """The text without control characters."""
        return super().render_str(printable(text), **options)
