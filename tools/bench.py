"""Time what people wait for, print it and keep it in docs/benchmarks.md.

Deciding, simulating, one full comparison, synth and a function's cold import.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from headroom.domain.decision import Evidence, decide
from headroom.proving.compare import CONTROLLERS, compare, cores, jobs, sample_courses
from headroom.proving.conditions import STARTS, Conditions
from headroom.proving.peers import RULES
from headroom.proving.samples import sample_course
from headroom.proving.scenario import load
from headroom.proving.simulate import simulate
from headroom.proving.trial import run_engine, run_rule
from stacks.constructs.asset import stage_function_code

ROOT = Path(__file__).resolve().parents[1]
SCENARIO = ROOT / "docs" / "scenarios" / "nightly-batch-gp2.yaml"
PAGE = ROOT / "docs" / "benchmarks.md"
SAMPLE = "sample-random-spikes"
HANDLERS = ("lambdas.signals", "lambdas.sweep")


def median_s(work: Callable[[], object], times: int) -> float:
    """Median wall-clock seconds of `times` runs."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def imported(asset: Path, module: str) -> None:
    """Import one handler in a new process, from the staged asset alone."""
    script = f"import sys; sys.path.insert(0, {str(asset)!r}); import {module}"
    subprocess.run([sys.executable, "-I", "-S", "-c", script], check=True)


def synthesised() -> None:
    """Run app.py as the CDK command line does."""
    with tempfile.TemporaryDirectory() as out:
        environment = {**os.environ, "CDK_OUTDIR": out}
        subprocess.run([sys.executable, "app.py"], cwd=ROOT, env=environment, check=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measurement."""

    name: str
    value: float
    unit: str

    def __str__(self) -> str:
        return f"{self.name:34} {self.shown:>12} {self.unit}"

    @property
    def shown(self) -> str:
        """The value to as many digits as it is worth."""
        return f"{self.value:,.1f}" if self.value < 100 else f"{self.value:,.0f}"


def exact_physics() -> Iterator[Figure]:
    """The simulator that plays every minute."""
    scenario = load(SCENARIO)
    minutes = len(simulate(scenario).minutes)
    alone = median_s(lambda: simulate(scenario, "none"), 3)
    whole = median_s(lambda: simulate(scenario), 3)
    yield Figure(name="simulate, physics alone", value=minutes / alone, unit="minutes a second")
    yield Figure(name="simulate, the whole loop", value=minutes / whole, unit="minutes a second")


def comparing() -> Iterator[Figure]:
    """The pure core, the fast physics, and one comparison of everybody on the made-up loads."""
    course, start, conditions = sample_course(SAMPLE), STARTS["gp3"], Conditions()
    days = course.minutes / 1_440
    decisions = run_engine(course, start, conditions).decisions
    evidence = [
        Evidence(
            trigger=d.trigger, observation=d.observation, standing=d.standing,
            policy=conditions.policy, prices=conditions.prices,
        )
        for d in decisions[:50]
    ]  # fmt: skip
    taken = median_s(lambda: [decide(each) for each in evidence], 3)
    yield Figure(name="the pure core", value=len(evidence) / taken, unit="decisions a second")
    rules = median_s(lambda: [run_rule(course, start, r(), conditions) for r in RULES.values()], 3)
    yield Figure(
        name="a published rule", value=days * len(RULES) / rules, unit="volume-days a second"
    )
    engine = median_s(lambda: run_engine(course, start, conditions), 1)
    yield Figure(name="Headroom itself", value=days / engine, unit="volume-days a second")
    work = jobs(sample_courses(), workers=cores())
    seconds = median_s(lambda: compare(work, workers=cores()), 1)
    runs = sum(len(j.scales) * len(j.starts) for j in work) * len(CONTROLLERS)
    yield Figure(name=f"one full compare ({runs} runs)", value=seconds, unit="s")


def deploying() -> Iterator[Figure]:
    """A function's cold import from the staged asset alone, and synth."""
    asset = stage_function_code(ROOT)
    empty = median_s(lambda: subprocess.run([sys.executable, "-I", "-S", "-c", ""]), 5)
    for module in HANDLERS:
        cold = median_s(lambda module=module: imported(asset, module), 5) - empty  # type: ignore[misc]
        yield Figure(name=f"cold import of {module}", value=1_000 * cold, unit="ms")
    yield Figure(name="synth", value=median_s(synthesised, 3), unit="s")


def page(figures: list[Figure], now: datetime) -> str:
    """docs/benchmarks.md."""
    head = (
        "# Benchmarks\n\nWritten by `make bench`. The comparison is of all controllers on the six "
        "made-up loads, a week each, from three starts, at both scales and one preset.\n\n"
        f"{now:%Y-%m-%d}, {cores()} cores ({platform.machine()}), "
        f"Python {platform.python_version()}.\n\n| what | figure | |\n|---|--:|---|\n"
    )
    return head + "".join(f"| {f.name} | {f.shown} | {f.unit} |\n" for f in figures)


def main() -> None:
    """Print a line per measurement as it is made, then write the page."""
    figures = []
    for measuring in (exact_physics, comparing, deploying):
        for figure in measuring():
            print(figure, flush=True)
            figures.append(figure)
    PAGE.write_text(page(figures, datetime.now(UTC)), encoding="utf-8")


if __name__ == "__main__":
    main()
