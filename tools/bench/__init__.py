"""Time what people wait for, print it and keep it in docs/benchmarks.md.

Deciding, simulating, one full comparison, synth, a function's cold start, a command's start, a fleet and a storm.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import boto3

from headroom.cdk.asset import stage_function_code
from headroom.cli.sources.records_file import line_of
from headroom.domain.state import GENESIS, Step, seal
from headroom.proving.oracle import Foresight
from headroom.proving.rivals import RULES
from headroom.proving.scenarios import load_scenario
from headroom.proving.scoring import (
    CONTROLLERS,
    compare,
    comparison_jobs,
    load_series_in,
    sample_load_series_list,
    usable_cores,
)
from headroom.proving.simulation import simulate
from headroom.proving.trials import STARTS, Conditions, run_engine, run_rule, run_schedule
from headroom.proving.workloads import SAMPLES, read_trace, sample_load_series
from headroom.serialization import decision_to_json
from tools.bench.cold_start import cold_starts
from tools.bench.deciding import deciding_s
from tools.figures import Figure, median_s, table_rows
from tools.fleet_bench import run
from tools.storm import storm

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = ROOT / "docs" / "scenarios" / "nightly-batch-gp2.yaml"
PAGE = ROOT / "docs" / "benchmarks.md"
SAMPLE = "sample-random-spikes"
DAY_MIN = 1_440
TRACE_ROWS = 100_000
DECISIONS = 1_000
"""Inputs that the pure core is measured on, at least."""
CORE = "the pure core, inputs of deployed size"
RECORDED = "the same, with a record of each decision"
LONG_PAST = "the same, with a profile of 400 days"
PER_S = "volume-days a second"
EXACT, EXACT_LOOP = "every minute, physics alone", "every minute, the whole loop"
FAST, RULE, ENGINE = "fast physics alone", "a published rule", "Headroom itself"
STARTS_OF_PYTHON = "times `python -c pass`"
TYPER, HELP = "python -c 'import typer'", "headroom --help"
STARTED = 7
"""Times that each start of a command is measured."""


def synthesised() -> None:
    """Run app.py as the CDK command line does."""
    with tempfile.TemporaryDirectory() as out:
        environment = {**os.environ, "CDK_OUTDIR": out}
        subprocess.run([sys.executable, "app.py"], cwd=ROOT, env=environment, check=True)


def physics() -> Iterator[Figure]:
    """The simulator that plays every minute, and the one that passes over quiet stretches."""
    scenario = load_scenario(SCENARIO)
    days = len(simulate(scenario).minutes) / DAY_MIN
    alone = median_s(lambda: simulate(scenario, "none"), 3)
    whole = median_s(lambda: simulate(scenario), 3)
    yield Figure(name=EXACT, value=days / alone, unit=PER_S)
    yield Figure(name=EXACT_LOOP, value=days / whole, unit=PER_S)
    load_series, conditions = sample_load_series(SAMPLE), Conditions()
    fast = median_s(lambda: run_schedule(load_series, STARTS["gp2"], [], conditions), 5)
    with tempfile.TemporaryDirectory() as folder:
        trace = _trace(Path(folder))
        read = median_s(lambda: read_trace(trace), 3)
    yield Figure(name="reading a trace", value=TRACE_ROWS / read, unit="rows a second")
    yield Figure(name=FAST, value=load_series.minutes / DAY_MIN / fast, unit=PER_S)


def _trace(folder: Path) -> Path:
    """A trace with a row a second."""
    start, path = datetime(2020, 3, 1, tzinfo=UTC), folder / "trace.csv"
    rows = (
        f"{(start + timedelta(seconds=n)).isoformat()},{n % 90},{n % 70},{n % 90 * 4096},"
        f"{n % 70 * 8192}"
        for n in range(TRACE_ROWS)
    )
    header = "timestamp,read_ops,write_ops,read_bytes,write_bytes"
    path.write_text("\n".join((header, *rows)), encoding="utf-8")
    return path


def deciding() -> Iterator[Figure]:
    """The pure core, and whole controllers on the fast physics."""
    load_series, start, conditions = sample_load_series(SAMPLE), STARTS["gp3"], Conditions()
    days = load_series.minutes / DAY_MIN
    taken = [each for name in SAMPLES for each in deciding_s(name, DECISIONS // len(SAMPLES) + 1)]
    said_of = (CORE, RECORDED, LONG_PAST)
    for said, seconds in zip(said_of, zip(*taken, strict=True), strict=True):
        yield Figure(name=said, value=len(taken) / sum(seconds), unit="decisions per CPU second")
    rules = median_s(
        lambda: [run_rule(load_series, start, r(), conditions) for r in RULES.values()], 3
    )
    yield Figure(name=RULE, value=days * len(RULES) / rules, unit=PER_S)
    engine = median_s(lambda: run_engine(load_series, start, conditions), 1)
    yield Figure(name=ENGINE, value=days / engine, unit=PER_S)
    foreseen = median_s(lambda: Foresight(load_series).oracle(start, conditions), 1)
    yield Figure(name="the oracle", value=days / foreseen, unit=PER_S)


def comparing(traces: Path | None) -> Iterator[Figure]:
    """One comparison of everybody, on every core."""
    courses = sample_load_series_list() if traces is None else load_series_in(traces)
    work = comparison_jobs(courses, workers=usable_cores())
    runs = sum(len(j.scales) * len(j.starts) for j in work) * len(CONTROLLERS)
    loads = f"{len(courses)} made-up loads" if traces is None else f"{len(courses)} traces"
    seconds = median_s(lambda: compare(work, workers=usable_cores()), 1)
    yield Figure(name=f"one full compare ({loads}, {runs:,} runs)", value=seconds, unit="s")


def deploying() -> Iterator[Figure]:
    """The functions' cold starts, and synth."""
    yield from cold_starts()
    yield Figure(name="synth", value=median_s(synthesised, 3), unit="s")


FLEETS = ((1_000, 0.0), (1_000, 0.02), (10_000, 0.0), (10_000, 0.02), (200, 1.0))
"""Volumes, and which share of them is under pressure."""


def fleets(custodian: Path | None) -> Iterator[Figure]:
    """Dispatcher and 8 workers over a stub of AWS that takes 50 ms a call, quotas on.

    With its command, Cloud Custodian finds the pressed volumes of the same fleets.
    """
    for volumes, pressed in FLEETS:
        said = f"{volumes:,} volumes, {'quiet' if not pressed else f'{pressed:.0%} pressed'}"
        took = run(volumes, pressed, quotas=True, custodian=custodian)
        for what, value, unit in (
            ("scan", took.scan_s, "s"),
            ("EC2 calls", took.ec2_calls, "calls"),
            ("GetMetricData", took.calls.get("GetMetricData", 0), "calls"),
            ("metrics read", took.metrics_read, "metrics"),
            ("read units", took.read_units, "RCU"),
            ("write units", took.write_units, "WCU"),
            ("until all are reconciled", took.wall_s, "s"),
            ("reconciled", took.reconciled, "resources"),
            ("twice within a minute", took.twice, "resources"),
            ("processor", took.cpu_s, "CPU s"),
        ):
            yield Figure(name=f"{said}: {what}", value=value, unit=unit)
        if (other := took.custodian) is not None:
            named = f"{said}: Cloud Custodian,"
            yield Figure(name=f"{named} volumes found", value=other.found, unit="resources")
            yield Figure(name=f"{named} calls", value=other.requests, unit="calls")
            yield Figure(name=f"{named} time", value=other.wall_s, unit="s")
            yield Figure(name=f"{named} processor", value=other.cpu_s, unit="CPU s")


STORM_EVENTS, STORM_VOLUMES, STORM_WORKERS = 10_000, 100, 8
STORM_HEAD = "\n## A storm of alarms\n"


def stormed(now: datetime) -> str:
    """The page's part about a storm, which is measured here."""
    took = storm(STORM_EVENTS, STORM_VOLUMES, workers=STORM_WORKERS)
    figures = [
        Figure(name="AWS calls of the workers per event", value=took.calls_per_event, unit="calls"),
        Figure(name="events with a record", value=took.recorded, unit=f"of {took.events:,}"),
        Figure(name="decisions", value=took.led_to.get("decision", 0), unit="events"),
        Figure(name="answered by a decision of another event", value=took.led_to.get("coalesced", 0), unit="events"),
        Figure(name="a change was open", value=took.led_to.get("change_open", 0), unit="events"),
        Figure(name="messages in the dead-letter queue", value=took.parked, unit="messages"),
        Figure(name="peak memory of a worker", value=took.worker_mib, unit="MiB"),
        Figure(name="changed at once", value=len(took.at_once), unit="volumes"),
        Figure(name="changed when a slot became free", value=len(took.in_turn), unit="volumes"),
        Figure(name="least starved of these", value=min(took.in_turn, default=0), unit="minutes"),
        Figure(name="most starved that still waits", value=max(took.queued, default=0), unit="minutes"),
    ]  # fmt: skip
    for figure in figures:
        print(figure, flush=True)
    calls = ", ".join(
        f"{name} {count:,}" for name, count in sorted(took.calls.items(), key=lambda c: -c[1])
    )
    return (
        f"{STORM_HEAD}\nWritten by `make bench`. `python -m tools.bench --only storm` runs this part only. {took.events:,} "
        f"alarm events about {took.volumes:,} starving volumes arrive in one minute at the deployed queue on the "
        f"local endpoint, with the template's queue settings and IAM evaluation. Up to {STORM_WORKERS} workers run at once, as deployed. "
        f"{now:%Y-%m-%d}.\n\n| what | figure | |\n|---|--:|---|\n{table_rows(figures)}\n"
        f"Calls until every message was processed: {calls}.\n"
    )


def decision_kept(path: Path) -> str:
    """Write one decision to `path`, as the demo keeps its records; returns its id."""
    decision = run_engine(sample_load_series(SAMPLE), STARTS["gp3"], Conditions()).decisions[0]
    record = seal(
        decision_id=decision.decision_id, sequence=0, step=Step.DECIDED,
        resource=decision.observation.volume.ref.arn, at=decision.at,
        outcome=type(decision.answer).__name__.lower(), summary=decision.summary,
        body=decision_to_json(decision), previous_hash=GENESIS,
    )  # fmt: skip
    path.write_text(line_of(record) + "\n", encoding="utf-8")
    return decision.decision_id


def started(*words: str) -> None:
    """Run Python with these arguments, and let it say what it says to nobody."""
    subprocess.run([sys.executable, *words], cwd=ROOT, check=True, capture_output=True)


def starting() -> Iterator[Figure]:
    """Whole commands on local files, as multiples of a Python that does nothing."""
    with tempfile.TemporaryDirectory() as folder:
        records = Path(folder) / "records.jsonl"
        name = decision_kept(records)
        commands: dict[str, tuple[str, ...]] = {
            HELP: ("--help",),
            "headroom policy check": ("policy", "check"),
            "headroom audit of a file": ("audit", "--file", str(records)),
            "headroom explain of a file": ("explain", name, "--file", str(records)),
        }
        bare = median_s(lambda: started("-c", "pass"), STARTED)
        typer = median_s(lambda: started("-c", "import typer"), STARTED)
        yield Figure(name="python -c pass", value=1_000 * bare, unit="ms")
        yield Figure(name=TYPER, value=typer / bare, unit=STARTS_OF_PYTHON)
        for said, words in commands.items():
            whole = ("-m", "headroom.cli.main", *words)
            started(*whole)  # bytecode is written the first time
            taken = median_s(lambda whole=whole: started(*whole), STARTED)  # type: ignore[misc]
            yield Figure(name=said, value=taken / bare, unit=STARTS_OF_PYTHON)


RATIOS = (
    ("the fast physics against the exact one", FAST, EXACT),
    ("a volume-day of a published rule against one of Headroom", RULE, ENGINE),
    ("a volume-day of the exact physics against one with the whole loop", EXACT, EXACT_LOOP),
)


def page(figures: list[Figure], now: datetime) -> str:
    """docs/benchmarks.md."""
    values = {figure.name: figure.value for figure in figures}
    head = (
        "# Benchmarks\n\nWritten by `make bench` (`TRACES=dir` for other loads than the made-up ones). "
        "The comparison is of all controllers and references, from three starts, at both scales and "
        "one preset.\n\n"
        f"{now:%Y-%m-%d}, {usable_cores()} cores ({platform.machine()}), "
        f"Python {platform.python_version()}. These are figures of one run on one machine; what "
        "carries over to others is their ratios.\n\n| what | figure | |\n|---|--:|---|\n"
    )
    ratios = "".join(
        f"| {said} | {values[above] / values[below]:,.1f} times as fast |\n"
        for said, above, below in RATIOS
    )
    ratios += (
        f"| `{HELP}` against `{TYPER}` | {values[HELP] / values[TYPER]:,.1f} times as long |\n"
    )
    return f"{head}{table_rows(figures)}\n| within this run | |\n|---|---|\n{ratios}"


def main() -> None:
    """Print a line per measurement as it is made, then write the page."""
    arguments = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    arguments.add_argument("--traces", type=Path, help="directory of traces to compare on")
    arguments.add_argument(
        "--custodian", type=Path, help="Cloud Custodian's command, to run it too"
    )
    arguments.add_argument("--only", choices=["storm"], help="measure and write this part alone")
    given = arguments.parse_args()
    now, traces = datetime.now(UTC), given.traces
    if given.only:
        rest = PAGE.read_text(encoding="utf-8").partition(STORM_HEAD)[0]
        PAGE.write_text(rest + stormed(now), encoding="utf-8")
        return
    figures = []
    for measuring in (starting(), physics(), deciding(), comparing(traces), deploying(),
                      fleets(given.custodian)):  # fmt: skip
        for figure in measuring:
            print(figure, flush=True)
            figures.append(figure)
    PAGE.write_text(page(figures, now) + stormed(now), encoding="utf-8")
