"""Settings every test shares: shared machines are slow at times, so no test is timed."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "headroom", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("headroom")
