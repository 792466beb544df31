"""Every story of the demo, in the order in which they are told, and the policy that they share."""

from __future__ import annotations

from headroom.cli.stories import STORIES, STORY_TAG
from headroom.cli.stories_clusters import CLUSTER_STORIES
from headroom.cli.stories_databases import DATABASES

KINDS = "ebs,rds,aurora"
"""What the demo's deployment looks after."""
EVERY = (*STORIES, *DATABASES, *CLUSTER_STORIES)


def demo_policy() -> dict[str, object]:
    """The demo's policy: the shipped default, and a rule for each story that needs its own.

    Nothing is given back before a week was seen: a day of starvation is no day to learn from.
    """
    kinds = [("ebs", story.key, story.policy) for story in STORIES]
    kinds += [("rds", story.key, story.policy) for story in DATABASES]
    return {
        "version": 1,
        "defaults": {"give_back_after_days": 7},
        "rules": [
            {"match": {"kind": kind, "tags": {STORY_TAG: key}}, "set": settings}
            for kind, key, settings in kinds
            if settings
        ],
    }
