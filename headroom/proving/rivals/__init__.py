"""Controllers to compare with: published scaling rules and the best single change.

May import `trials`, `workloads`.
Offers: RULES, static_peak, BestStatic."""

from headroom.proving.rivals.published import RULES
from headroom.proving.rivals.static import BestStatic, static_peak
