"""One controller on one load series: what it changed, what that cost, which minutes starved.

May import `vectorized`, `simulation`, `memory`, `scenarios`, `physics`, `awsrules`, `workloads`.
Offers: run_engine, run_rule, run_schedule, Conditions, TrialRun, score_usd."""

from headroom.proving.trials.baseline import StaticRuns, UncontrolledVolume
from headroom.proving.trials.calibration import Calibration, bands
from headroom.proving.trials.conditions import (
    DRAWN_DELAYS,
    DRAWN_METRIC_DELAY,
    STARTS,
    Conditions,
    ceiling,
    within,
)
from headroom.proving.trials.engine import run_engine
from headroom.proving.trials.trial import (
    ControlRule,
    PublishedSoFar,
    TrialChange,
    TrialRun,
    avoidable,
    held_usd,
    run_rule,
    run_schedule,
    run_static,
    score_usd,
)
