"""One run of one controller as a row of the comparison, and which half of the traces it is of."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Literal

from headroom.proving.trials import Calibration

Half = Literal["tuning", "unseen"]
ControllerKind = Literal["none", "published", "headroom", "reference"]
SHORT_DAYS = 7.0
RUNNING_USD_PER_MONTH = 0.43
RUNNING_WITHOUT_CREDITS = 0.30
"""What Headroom costs per volume and month: alarms, scans and a daily reconciliation
(docs/operate/deployment.md). A volume without burst credits publishes one metric less."""
HALVES = (
    "A trace belongs to the tuning half when the SHA-256 of its file name is an even number, and "
    "to the unseen half when it is odd."
)


def half_of(file_name: str) -> Half:
    """The half a trace belongs to: by its file name alone, whatever directory it is in."""
    return "unseen" if sha256(file_name.encode()).digest()[-1] % 2 else "tuning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """What a run is measured by besides its score; every count is of one run.

    `price_raising`: modifications that raise the monthly price. `episodes`: stretches of minutes
    that starve the volume as it started or as plain gp3, gaps under two hours joined.
    `foreseeable`, `foreseen`: episodes of an empty gp2 bucket that the slope or earlier days
    predicted, and those of them acted on before their first starved minute. `calm_days`: days on
    which the volume would not have starved had nothing been changed since the day began, or ever;
    `disturbed_days`: those on which something raised the price, or added performance without
    lowering it; `sped_up_days`: those on which anything added performance. `slotless_minutes`:
    starved minutes in which the last 24 hours held as many modifications as the policy lets.
    """

    price_raising: int = 0
    episodes: int = 0
    foreseeable: int = 0
    foreseen: int = 0
    calm_days: int = 0
    disturbed_days: int = 0
    sped_up_days: int = 0
    slotless_minutes: int = 0
    most_in_24h: int = 0
    invalid_plans: int = 0


NAMES = ("trace", "scale", "start", "preset", "controller")
"""The key of a run."""
FIELDS = (
    *NAMES, "score", "regret", "storage_usd", "shortfall_minutes", "starved_minutes", "modifications",
    "aws_refusals", "guardrail_violations",
)  # fmt: skip
"""The columns of a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """One controller on one trace, scale, start and preset. Money in USD, over the whole load series."""

    trace: str
    scale: str
    start: str
    preset: str
    controller: str
    kind: ControllerKind
    score: float
    regret: float
    storage_usd: float
    running_usd: float
    """What running the controller costs; 0 for all but Headroom, since others do not say."""
    shortfall_minutes: float
    """As far as the most within the guardrails would have avoided it."""
    starved_minutes: int
    """Those that some configuration within the guardrails would have avoided."""
    modifications: int
    aws_refusals: int
    guardrail_violations: int
    unsavable_minutes: int
    held: int
    """Targets that a guardrail blocked."""
    scale_factor: float
    days: float
    trace_days: float
    half: Half
    value_usd: float
    """Value of a minute of full shortfall at this preset."""
    oracle_bound: float
    """No schedule scores less."""
    oracle_exact: bool
    measures: Measures
    calibration: Calibration | None = None
    """How well Headroom's forecasts held in the run; None for all other controllers."""

    @property
    def case(self) -> tuple[str, str, str, str]:
        """The key without the controller."""
        return (self.trace, self.scale, self.start, self.preset)

    @property
    def short(self) -> bool:
        """Whether the trace itself is shorter than a week: reaction time dominates its score."""
        return self.trace_days < SHORT_DAYS

    def to_json(self) -> dict[str, object]:
        """The row under `rows` in `headroom compare --json`: FIELDS and nothing else."""
        flat = self._flat()
        return {name: flat[name] for name in FIELDS}

    def details(self) -> dict[str, object]:
        """All other facts of the run, under `details`, with the run's key."""
        return {n: v for n, v in self._flat().items() if n in NAMES or n not in FIELDS}

    def _flat(self) -> dict[str, object]:
        flat = {name: value for name, value in asdict(self).items() if name != "measures"}
        flat.update(asdict(self.measures))
        return {k: round(v, 6) if isinstance(v, float) else v for k, v in flat.items()}
