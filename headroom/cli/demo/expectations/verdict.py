"""The verdict on a story: its own check, found by the story's key."""

from __future__ import annotations

from headroom.cli.demo.expectations import blocked, clusters, databases, volumes
from headroom.cli.demo.script.outcome import ClusterRun, StorageRun, StoryRun, StoryVerdict

STORAGE = {**volumes.CHECKS, **blocked.CHECKS, **databases.CHECKS}
CLUSTERS = clusters.CHECKS


def verdict(run: StoryRun) -> StoryVerdict:
    """What happened, and which expectations were not met."""
    if isinstance(run, ClusterRun):
        return StoryVerdict.of(*CLUSTERS[run.story.key](run))
    assert isinstance(run, StorageRun)
    return StoryVerdict.of(*STORAGE[run.story.key](run))
