"""A histogram with exponential buckets whose samples lose half of their weight every half-life."""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray

from headroom.proving.workloads import Floats


class DecayingHistogram:
    """Weights of samples by bucket; bucket `i` ends at `first * growth ** i`."""

    BUCKETS = 512

    def __init__(self, *, first: float, growth: float, half_life_min: float) -> None:
        self._first, self._growth, self._half_life = first, growth, half_life_min
        self._weights = np.zeros(self.BUCKETS)

    def add(self, minutes: Floats) -> None:
        """Age the samples by these minutes and count them; NaN is an unmeasured minute."""
        count = len(minutes)
        self._weights *= 0.5 ** (count / self._half_life)
        known = ~np.isnan(minutes)
        age = np.arange(count - 1, -1, -1)[known]
        np.add.at(self._weights, self._bucket(minutes[known]), 0.5 ** (age / self._half_life))

    def percentile(self, percent: float) -> float | None:
        """End of the bucket that holds the percentile of the weight; None without any weight."""
        total = self._weights.sum()
        if total <= 0:
            return None
        reached = np.cumsum(self._weights) >= percent / 100 * total * (1 - 1e-12)
        return float(self._first * self._growth ** int(np.argmax(reached)))

    def _bucket(self, values: Floats) -> NDArray[np.int64]:
        above = np.maximum(values, self._first) / self._first
        places = np.ceil(np.log(above) / log(self._growth) - 1e-9).astype(np.int64)
        return np.minimum(np.maximum(places, 0), self.BUCKETS - 1)
