"""The optimum: the cheapest schedule under perfect foresight, and a lower bound on any schedule.

May import `trials`, `vectorized`, `physics`, `awsrules`, `workloads`.
Offers: Foresight."""

from headroom.proving.oracle.foresight import Foresight
