"""Compares controllers on the same load series, starts and presets, on all usable cores."""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import numpy as np

from headroom.domain.policy import PRESETS
from headroom.domain.resources import Configuration, VolumeType
from headroom.proving.awsrules import Range
from headroom.proving.inputs import BadInput
from headroom.proving.oracle import Foresight
from headroom.proving.rivals import RULES, BestStatic, static_peak
from headroom.proving.scoring.measures import measures_of
from headroom.proving.scoring.reuse import OURS, Case, joined
from headroom.proving.scoring.rows import (
    RUNNING_USD_PER_MONTH,
    RUNNING_WITHOUT_CREDITS,
    ComparisonRow,
    ControllerKind,
    half_of,
)
from headroom.proving.trials import (
    DRAWN_DELAYS,
    DRAWN_METRIC_DELAY,
    STARTS,
    Conditions,
    StaticRuns,
    TrialRun,
    UncontrolledVolume,
    avoidable,
    held_usd,
    run_engine,
    run_rule,
    run_schedule,
)
from headroom.proving.worker_process import begin_worker
from headroom.proving.workloads import (
    LEAST_DAYS,
    SAMPLES,
    SHAPES,
    LoadSeries,
    auto_scale,
    read_load_series,
    sample_load_series,
    shape_load_series,
)

SCALES = ("1", "auto")
BURSTS = frozenset({VolumeType.GP2, VolumeType.ST1, VolumeType.SC1})
"""Types that publish BurstBalance."""
CONTROLLERS: Mapping[str, ControllerKind] = {
    "none": "none",
    **dict.fromkeys(RULES, "published"),
    "headroom": "headroom",
    "static-peak": "reference",
    "best-static": "reference",
    "oracle": "reference",
}
"""All compared controllers, in the order of the tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One load series with the scale labels that lead to it, and all requested starts and presets."""

    load_series: LoadSeries
    file_name: str
    scales: tuple[str, ...]
    starts: tuple[str, ...]
    presets: tuple[str, ...]
    earlier: Mapping[Case, tuple[ComparisonRow, ...]] = field(default_factory=dict)
    """Rows of an earlier comparison to reuse."""

    @property
    def weight(self) -> int:
        """Minutes to be simulated, for progress and for beginning with the longest."""
        return self.load_series.minutes * len(self.starts)

    @property
    def label(self) -> str:
        """The load with its scales and starts, for progress."""
        scales, starts = " and ".join(self.scales), ", ".join(self.starts)
        return f"{self.load_series.name}, scale {scales}, from {starts}"


def load_series_in(directory: Path) -> list[tuple[str, LoadSeries]]:
    """File name and load series of every trace in a directory; raises BadInput in one sentence."""
    if not directory.is_dir():
        raise BadInput(f"{directory} is no directory; give one that holds traces (*.csv).")
    paths = sorted(path for path in directory.iterdir() if path.suffix.lower() == ".csv")
    if not paths:
        raise BadInput(f"{directory} holds no trace: no file in it ends in .csv.")
    stems = Counter(path.stem for path in paths)
    double = next((stem for stem, count in stems.items() if count > 1), None)
    if double is not None:
        raise BadInput(f"{directory} holds two traces named {double}; rename one of them.")
    return [(path.name, read_load_series(path, scale="1")) for path in paths]


def sample_load_series_list() -> list[tuple[str, LoadSeries]]:
    """The synthetic loads, if there are no traces."""
    return [(f"{name}.csv", sample_load_series(name)) for name in SAMPLES]


def shape_jobs(presets: Sequence[str] = ("balanced",)) -> list[Job]:
    """The jobs of the suite of synthetic shapes: each as it is, from the volume it begins on."""
    found = [
        Job(
            load_series=shape_load_series(name), file_name=f"{name}.csv", scales=("1",),
            starts=(shape.start,), presets=tuple(presets),
        )
        for name, shape in SHAPES.items()
    ]  # fmt: skip
    return sorted(found, key=lambda job: -job.weight)


def comparison_jobs(
    series: Sequence[tuple[str, LoadSeries]],
    *,
    scales: Sequence[str] = SCALES,
    starts: Sequence[str] = tuple(STARTS),
    presets: Sequence[str] = ("balanced",),
    workers: int = 1,
) -> list[Job]:
    """The jobs, the longest first; split by start if there are few load series."""
    found = []
    for file_name, load_series in series:
        by_factor: dict[float, list[str]] = {}
        for scale in scales:
            factor = 1.0 if scale == "1" else auto_scale(load_series)
            by_factor.setdefault(factor, []).append(scale)
        for factor, labels in by_factor.items():
            found.append(
                Job(
                    load_series=load_series if factor == 1.0 else load_series.scaled(factor),
                    file_name=file_name,
                    scales=tuple(labels),
                    starts=tuple(starts),
                    presets=tuple(presets),
                )
            )
    if len(found) < 3 * workers:
        found = [replace(job, starts=(start,)) for job in found for start in job.starts]
    return sorted(found, key=lambda job: -job.weight)


def compare(
    work: Sequence[Job], *, workers: int = 1, on_done: Callable[[Job], None] | None = None
) -> list[ComparisonRow]:
    """The rows of all jobs, by trace, scale, start and preset; `on_done` is called after each job."""
    rows = [row for done in _rows_by_job(work, workers, on_done) for row in done]
    order = {name: place for place, name in enumerate(CONTROLLERS)}
    places = {name: place for place, name in enumerate((*SCALES, *STARTS, *PRESETS))}
    return sorted(
        rows,
        key=lambda row: (
            row.trace, places[row.scale], places[row.start], places[row.preset],
            order[row.controller],
        ),
    )  # fmt: skip


def usable_cores() -> int:
    """How many processes may run at once."""
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity")
               else os.cpu_count() or 1)  # fmt: skip


def _rows_by_job(
    work: Sequence[Job], workers: int, on_done: Callable[[Job], None] | None
) -> Iterator[list[ComparisonRow]]:
    if workers <= 1:
        for job in work:
            yield run_controller(job)
            if on_done is not None:
                on_done(job)
        return
    context, others = multiprocessing.get_context("spawn"), set(multiprocessing.active_children())
    with ProcessPoolExecutor(workers, mp_context=context, initializer=begin_worker) as pool:
        try:
            waiting: dict[Future[list[ComparisonRow]], Job] = {
                pool.submit(run_controller, job): job for job in work
            }
            for future in as_completed(waiting):
                yield future.result()
                if on_done is not None:
                    on_done(waiting[future])
        except BaseException:  # a stopped comparison stops its processes too
            pool.shutdown(wait=False, cancel_futures=True)
            for child in set(multiprocessing.active_children()) - others:
                child.terminate()
            raise


def run_controller(job: Job) -> list[ComparisonRow]:
    """Every controller on one job's load series, from every start, at every preset."""
    static, foresight = StaticRuns(job.load_series), Foresight(job.load_series)
    rows: list[ComparisonRow] = []
    for name in job.starts:
        known = _known(job, name)
        uncontrolled = UncontrolledVolume(static, STARTS[name], drawn_conditions())
        made = (
            _from_start(job, uncontrolled, foresight)
            if known is None
            else _again(job, uncontrolled, known)
        )
        rows += [replace(row, start=name, scale=scale) for row in made for scale in job.scales]
    return rows


def _known(job: Job, start: str) -> dict[str, tuple[ComparisonRow, ...]] | None:
    """Earlier rows of a start at every preset; None unless all other controllers have one."""
    cases = {p: (job.load_series.name, job.scales[0], start, p) for p in job.presets}
    known = {preset: job.earlier.get(case, ()) for preset, case in cases.items()}
    wanted = set(CONTROLLERS) - {OURS}
    same = (
        {row.controller for row in rows} == wanted
        and all(abs(row.scale_factor - job.load_series.scale) < 1e-3 for row in rows)
        for rows in known.values()
    )
    return known if all(same) else None


def _again(
    job: Job, uncontrolled: UncontrolledVolume, known: Mapping[str, tuple[ComparisonRow, ...]]
) -> Iterator[ComparisonRow]:
    """New runs of Headroom beside the earlier rows of the others."""
    for preset, others in known.items():
        conditions = drawn_conditions(preset)
        run = run_engine(
            uncontrolled.load_series, uncontrolled.start, conditions, with_forecasts=True
        )
        own = _row(job, uncontrolled, conditions, OURS, run)
        yield from joined(others, own)


def _from_start(
    job: Job, uncontrolled: UncontrolledVolume, foresight: Foresight
) -> Iterator[ComparisonRow]:
    load_series, start = uncontrolled.load_series, uncontrolled.start
    first = drawn_conditions(job.presets[0])
    best = BestStatic(uncontrolled, first)
    shared = {"none": run_schedule(load_series, start, [], first)}
    shared |= {name: run_rule(load_series, start, rule(), first) for name, rule in RULES.items()}
    shared["static-peak"] = static_peak(uncontrolled, first)
    for preset in job.presets:
        conditions = drawn_conditions(preset)
        runs = dict(shared)
        runs[OURS] = run_engine(load_series, start, conditions, with_forecasts=True)
        runs["best-static"] = best.run(conditions)
        schedules = [_schedule(run) for run in runs.values() if not run.guardrail_violations]
        found = foresight.oracle(start, conditions, schedules)
        runs["oracle"] = found.run
        for name in CONTROLLERS:
            row = _row(job, uncontrolled, conditions, name, runs[name])
            yield replace(
                row, regret=row.score - found.score, oracle_bound=found.bound,
                oracle_exact=found.exact,
            )  # fmt: skip


def _row(
    job: Job, uncontrolled: UncontrolledVolume, conditions: Conditions, name: str, run: TrialRun
) -> ComparisonRow:
    """The row of one run, without its regret."""
    load_series, kind = uncontrolled.load_series, CONTROLLERS[name]
    starved = int(np.count_nonzero(run.starved & ~uncontrolled.unavoidable))
    running = 0.0
    if kind == "headroom":
        changes = _schedule(run)
        running = held_usd(uncontrolled.start, changes, load_series.minutes, _running_usd)
    missed = avoidable(run.shortfall, uncontrolled.unavoidable_shortfall)
    return ComparisonRow(
        trace=load_series.name, scale="", start="", preset=conditions.preset, controller=name,
        kind=kind, score=run.storage_usd + running + conditions.value_usd * missed, regret=0.0,
        storage_usd=run.storage_usd, running_usd=running, shortfall_minutes=missed, starved_minutes=starved,
        modifications=len(run.changes), aws_refusals=run.aws_refusals,
        guardrail_violations=run.guardrail_violations,
        unsavable_minutes=int(np.count_nonzero(run.starved & uncontrolled.unavoidable)),
        held=run.held, scale_factor=load_series.scale, days=load_series.minutes / 1_440,
        trace_days=load_series.trace_days, half=half_of(job.file_name),
        value_usd=conditions.value_usd, oracle_bound=0.0, oracle_exact=False,
        measures=measures_of(run, uncontrolled, whole=kind == "headroom"), calibration=run.calibration,
    )  # fmt: skip


def _running_usd(held: Configuration) -> float:
    """USD a month for running Headroom on a volume of that type."""
    return RUNNING_USD_PER_MONTH if held.volume_type in BURSTS else RUNNING_WITHOUT_CREDITS


def _schedule(run: TrialRun) -> tuple[tuple[int, Configuration], ...]:
    return tuple((change.minute, change.target) for change in run.changes)


def drawn_conditions(preset: str = "balanced") -> Conditions:
    """The standard conditions at a preset, with delays that are drawn and that no controller knows."""
    return Conditions(preset=preset, delays=DRAWN_DELAYS, metric_delay=DRAWN_METRIC_DELAY)


def _minutes(between: Range) -> list[int]:
    return [each // timedelta(minutes=1) for each in between]


def conditions_json(work: Sequence[Job]) -> dict[str, object]:
    """The standard conditions of the rows."""
    one, presets = drawn_conditions(), work[0].presets if work else ()
    limits = one.policy.defaults
    return {
        "prices": f"{one.region}, {one.prices.source} of {one.prices.as_of}",
        "starts": {name: str(STARTS[name]) for job in work[:1] for name in STARTS},
        "burst_balance_percent": one.burst_balance_percent,
        "instance": "never binds",
        "metric_delay_min": _minutes(DRAWN_METRIC_DELAY),
        "effect_after_min": _minutes(DRAWN_DELAYS.effect),
        "completed_after_min": _minutes(DRAWN_DELAYS.completed),
        "presets_usd_per_shortfall_minute": {name: PRESETS[name] for name in presets},
        "scales": sorted({scale for job in work for scale in job.scales}),
        "traces_repeated_to_days": LEAST_DAYS,
        "kib_per_operation_where_unknown": 16,
        "running_usd_per_month": {
            "with credits": RUNNING_USD_PER_MONTH, "without": RUNNING_WITHOUT_CREDITS,
        },
        "policy": {
            "mode": limits.mode.value, "types": [kind.value for kind in limits.types],
            "max_iops": limits.max_iops, "max_throughput_mibps": limits.max_throughput_mibps,
            "growth": limits.growth, "largest_step": limits.largest_step,
            "price_increase_usd": float(limits.price_increase_usd),
            "modifications_per_24h": one.slots,
        },
    }  # fmt: skip
