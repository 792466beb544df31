"""The demo's stories of Aurora clusters: configuration, load and earlier changes.

Instants are minutes after the demo's start.
"""

from __future__ import annotations

from dataclasses import dataclass

from headroom.cli.demo.stories.volumes import STORY_TAG

DAY = 24 * 60
MADE_MINUTE = -45 * DAY
"""When every cluster is created: nothing before it matters to AWS's gate of 30 days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Switched:
    """An owner's own change to I/O-Optimized and back to Standard, before Headroom was there."""

    there_minute: int
    back_minute: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterStory:
    """One Aurora PostgreSQL cluster in Standard; a member of `instance_class` each, the writer first.

    `io_millions` is billed I/O a month in millions.
    """

    key: str
    title: str
    io_millions: float
    members: int = 2
    instance_class: str = "db.r7g.xlarge"
    storage_gib: float = 100
    switched: Switched | None = None

    @property
    def all_tags(self) -> dict[str, str]:
        """The tags the cluster is created with: it is enrolled by its own."""
        return {STORY_TAG: self.key, "headroom": "auto"}


CLUSTER_STORIES = (
    ClusterStory(
        key="aurora-40", title="An Aurora cluster with 40 % of its bill in I/O", io_millions=2_740
    ),
    ClusterStory(
        key="aurora-15", title="An Aurora cluster with 15 % of its bill in I/O", io_millions=720
    ),
    ClusterStory(
        key="aurora-gate",
        title="An Aurora cluster that AWS lets go to I/O-Optimized only in the evening",
        io_millions=2_740,
        switched=Switched(there_minute=-30 * DAY + 18 * 60, back_minute=-20 * DAY),
    ),
)
"""The last one's gate opens 18 hours after the start: 30 days after its owner went there."""
