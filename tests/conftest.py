"""Settings every test shares: the same examples on every machine, and no test is timed.

`make test` draws the same examples each time. `make fuzz` draws others: it loads the profile
`fuzz` and the rest of tests/fuzz.py, which keeps what it finds.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

QUIET = (HealthCheck.too_slow,)
settings.register_profile(
    "headroom", derandomize=True, database=None, deadline=None, suppress_health_check=QUIET,
    print_blob=True,
)  # fmt: skip
settings.register_profile(
    "fuzz", derandomize=False, database=None, deadline=None, suppress_health_check=QUIET,
    print_blob=True,
)  # fmt: skip
FUZZ = "HEADROOM_FUZZ" in os.environ
settings.load_profile("fuzz" if FUZZ else "headroom")
pytest_plugins = ["tests.fuzz"] if FUZZ else []
