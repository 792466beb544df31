"""Every story of the demo in its order, and the policy that they share."""

from __future__ import annotations

from dataclasses import dataclass

from headroom.cli.demo.stories.clusters import CLUSTER_STORIES, ClusterStory
from headroom.cli.demo.stories.databases import DATABASES, DatabaseStory
from headroom.cli.demo.stories.volumes import STORIES, STORY_TAG, Story
from headroom.cli.terminal.problems import BadRequest

KINDS = "ebs,rds,aurora"
"""The kinds of storage that the demo's deployment manages."""
AnyStory = Story | DatabaseStory | ClusterStory
EVERY: tuple[AnyStory, ...] = (*STORIES, *DATABASES, *CLUSTER_STORIES)
NUMBERS = {story.key: number for number, story in enumerate(EVERY, start=1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The stories to run, of each kind in their order."""

    volumes: tuple[Story, ...] = STORIES
    databases: tuple[DatabaseStory, ...] = DATABASES
    clusters: tuple[ClusterStory, ...] = CLUSTER_STORIES

    @property
    def stories(self) -> tuple[AnyStory, ...]:
        """All of them in order."""
        return (*self.volumes, *self.databases, *self.clusters)

    @property
    def whole(self) -> bool:
        """Whether it is every story."""
        return len(self.stories) == len(EVERY)


def selected(text: str | None) -> Program:
    """The stories whose numbers `text` lists, separated by commas; every story without it.

    Raises BadRequest.
    """
    if text is None:
        return Program()
    numbers = {_number(part.strip()) for part in text.split(",")}
    return Program(
        volumes=tuple(story for story in STORIES if NUMBERS[story.key] in numbers),
        databases=tuple(story for story in DATABASES if NUMBERS[story.key] in numbers),
        clusters=tuple(story for story in CLUSTER_STORIES if NUMBERS[story.key] in numbers),
    )


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= len(EVERY)):
        raise BadRequest(
            f"There is no story {text!r}; --story takes numbers from 1 to {len(EVERY)}, separated "
            "by commas."
        )
    return int(text)


def demo_policy() -> dict[str, object]:
    """The demo's policy: the shipped default, and a rule for each story that needs its own.

    Nothing is given back in the first week, because the demo only covers busy hours.
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
