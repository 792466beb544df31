"""Compares controllers over many loads: rows, ranking, release targets, reference cases, glossary.

May import `rivals`, `oracle`, `trials`, `simulation` and the rooms below them.
Offers: compare, ComparisonRow, summary, reference_figures, scenario runs."""

from headroom.proving.scoring.comparison import (
    CONTROLLERS,
    SCALES,
    Job,
    compare,
    comparison_jobs,
    conditions_json,
    load_series_in,
    sample_load_series_list,
    shape_jobs,
    usable_cores,
)
from headroom.proving.scoring.glossary import CONTROLLER_TEXTS, WORDS
from headroom.proving.scoring.ranking import GROUPS, summary
from headroom.proving.scoring.reference_cases import (
    CASES,
    TITLES,
    ReferenceFigure,
    reference_figures,
)
from headroom.proving.scoring.reuse import earlier_rows
from headroom.proving.scoring.rows import ComparisonRow
from headroom.proving.scoring.scenario_runs import run_scenario_file, scenario_files
