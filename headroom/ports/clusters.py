"""What a decision about an Aurora cluster needs beside its storage: metrics, prices, own history."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from headroom.domain.catalog.aurora import AuroraPrices
from headroom.domain.resources import AuroraActivity, AuroraCluster, ResourceRef

if TYPE_CHECKING:  # people's requests start without the decisions about clusters
    from headroom.domain.aurora import ClusterMemory


class Clusters(Protocol):
    """Reads of clusters, and the notes that Headroom keeps of each."""

    def activity(self, cluster: AuroraCluster, now: datetime) -> AuroraActivity:
        """Sixteen days at five-minute periods until `now`; raises ReadFailed."""

    def prices(self, region: str, engine: str) -> AuroraPrices:
        """Unit prices of an engine in a Region; raises PriceUnknown."""

    def memory(
        self, ref: ResourceRef, change: Callable[[ClusterMemory], ClusterMemory]
    ) -> ClusterMemory | None:
        """The notes of a cluster after `change`, which may be called more than once.

        None, and nothing is stored, for a cluster never observed. Raises ReadFailed.
        """
