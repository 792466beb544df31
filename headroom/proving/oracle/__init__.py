"""The optimum: the cheapest schedule for one who knows the whole load, and a bound on how far it can be off.

May import `trials`, `vectorized`, `physics`, `awsrules`, `workloads`.
Offers: Foresight."""

from headroom.proving.oracle.foresight import Foresight
