"""What an application asks of storage over time: constant stretches, recorded traces, regular series.

May import `inputs`.
Offers: Workload and its loads, traces, load series, synthetic series, Aurora's billed I/O."""

from headroom.proving.workloads.aurora import (
    PERIOD,
    PERIODS_PER_HOUR,
    READ_SHARE,
    AuroraLoad,
    steady_billed_ios,
    traced_ios,
)
from headroom.proving.workloads.series import (
    IO_KIB,
    LEAST_DAYS,
    Bools,
    Floats,
    LoadSeries,
    auto_scale,
    read_load_series,
)
from headroom.proving.workloads.shapes import SHAPES, shape_load_series
from headroom.proving.workloads.synthetic import SAMPLES, sample_load_series
from headroom.proving.workloads.trace import TraceRow, TraceWorkload, read_trace
from headroom.proving.workloads.workload import (
    IDLE,
    Load,
    Mix,
    Steps,
    Stretch,
    Workload,
    closed_load,
    minute_floor,
    open_load,
)
