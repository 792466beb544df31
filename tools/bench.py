"""Time what people wait for: simulating, synth and a function's cold import."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from headroom.proving.scenario import load
from headroom.proving.simulate import simulate
from stacks.constructs.asset import stage_function_code

ROOT = Path(__file__).resolve().parents[1]
SCENARIO = ROOT / "docs" / "scenarios" / "nightly-batch-gp2.yaml"
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


def main() -> None:
    """Print one line per measurement."""
    scenario = load(SCENARIO)
    run = simulate(scenario)
    minutes = len(run.minutes)
    alone = median_s(lambda: simulate(scenario, "none"), 3)
    whole = median_s(lambda: simulate(scenario), 3)
    print(f"physics      {minutes / alone:10,.0f} simulated minutes a second")
    print(f"whole loop   {minutes / whole:10,.0f} simulated minutes a second")
    asset = stage_function_code(ROOT)
    empty = median_s(lambda: subprocess.run([sys.executable, "-I", "-S", "-c", ""]), 5)
    for module in HANDLERS:
        cold = median_s(lambda module=module: imported(asset, module), 5) - empty  # type: ignore[misc]
        print(f"cold import  {1_000 * cold:10,.0f} ms {module}")
    print(f"synth        {median_s(synthesised, 3):10,.1f} s")


if __name__ == "__main__":
    main()
