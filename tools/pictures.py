"""Render the pictures of the documentation: `python -m tools.pictures` after `make demo`.

docs/images/terminal.svg: `headroom --help`, and `headroom explain` of the demo's first relieved change.
docs/images/report.png: the top of the demo's report in headless Chromium.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "build" / "demo"
IMAGES = ROOT / "docs" / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
COLUMNS = 120
VIEWPORT = (1280, 1500)
"""Width and height of the screenshot in CSS pixels: the head of the report and its first story."""


class Missing(RuntimeError):
    """Something a picture needs is not there; the message is one sentence that says what to do."""


def headroom(*arguments: str) -> str:
    """What a command prints on a terminal of COLUMNS, with its colours."""
    done = subprocess.run(
        [sys.executable, "-m", "headroom.cli.main", *arguments],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "COLUMNS": str(COLUMNS), "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    if done.returncode:
        raise Missing(f"`headroom {arguments[0]}` failed: {done.stderr.strip() or done.stdout}")
    return done.stdout


def first_relieved(records: Path) -> str:
    """The id of the earliest decision whose change relieved an EBS volume."""
    if not records.is_file():
        raise Missing(f"{records} is not there: run `make demo` first.")
    listed = headroom(
        "audit", "--file", str(records), "--outcome", "relieved", "--limit", "1000", "--json"
    )
    found = [each for each in json.loads(listed) if ":volume/" in each["resource"]]
    if not found:
        raise Missing(f"No change in {records} relieved a volume: run `make demo` again.")
    return str(found[-1]["decision_id"])


def terminal(records: Path, into: Path) -> None:
    """Write the terminal's picture."""
    decision = first_relieved(records)
    shown = (
        ("headroom --help", headroom("--help")),
        (f"headroom explain {decision[:8]}", headroom("explain", decision, "--file", str(records))),
    )
    into.write_text(svg(shown), encoding="utf-8")


def svg(commands: Sequence[tuple[str, str]]) -> str:
    """Commands and their output as an SVG that asks no server for anything."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    for command, output in commands:
        console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
        console.print(Text.from_ansi(output.rstrip()))
        console.print()
    drawn = console.export_svg(title="headroom", theme=MONOKAI, unique_id="headroom")
    return re.sub(r"@font-face\s*\{.*?\}\s*", "", drawn, flags=re.S)


def screenshot(report: Path, into: Path) -> None:
    """Write the report's picture."""
    if not report.is_file():
        raise Missing(f"{report} is not there: run `make demo` first.")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=_browser(play.chromium.executable_path), args=["--no-sandbox"]
        )
        try:
            width, height = VIEWPORT
            page = browser.new_page(
                viewport={"width": width, "height": height}, color_scheme="light", locale="en-US",
                timezone_id="UTC",
            )  # fmt: skip
            page.goto(report.resolve().as_uri(), wait_until="load")
            page.screenshot(path=into, animations="disabled")
        finally:
            browser.close()


def _browser(of_playwright: str) -> str:
    on_path = (shutil.which(name) for name in BROWSERS)
    found = next(filter(None, on_path), None) or of_playwright
    if not Path(found).exists():
        raise Missing(
            "No Chromium was found, so docs/images/report.png is unchanged: install it, on Debian "
            "with `apt install chromium`."
        )
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Write both pictures; 2 when something they need is missing."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--demo", type=Path, default=DEMO, help="folder that `make demo` wrote")
    options.add_argument("--into", type=Path, default=IMAGES, help="folder of the pictures")
    chosen = options.parse_args(arguments)
    chosen.into.mkdir(parents=True, exist_ok=True)
    try:
        terminal(chosen.demo / "records.jsonl", chosen.into / "terminal.svg")
        screenshot(chosen.demo / "report.html", chosen.into / "report.png")
    except Missing as problem:
        print(problem, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
