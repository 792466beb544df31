"""Rebuilds the load behind a resource's CloudWatch history and simulates it with and without Headroom.

May import `trials`, `vectorized`, `simulation`, `scenarios`, `physics`, `workloads`.
Offers: replay_volume, replay_together, replay_cluster and their results."""

from headroom.proving.replay.aurora import ReplayedCluster, replay_cluster
from headroom.proving.replay.instances import by_instance, chunks
from headroom.proving.replay.playback import PlaybackOutcome
from headroom.proving.replay.timeline import PlaybackTimeline
from headroom.proving.replay.together import replay_together
from headroom.proving.replay.volume import (
    NotReplayed,
    Replayed,
    largest_configuration,
    replay_volume,
    why_not_replayable,
)
