"""What the demo shows of its stories, whatever they are of."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from headroom.cli.demo.results.section import Ended
from headroom.cli.demo.results.summary import as_object, outcome, page, print_all
from headroom.cli.demo.results.volumes import of_volume
from headroom.cli.demo.script.outcome import Ending
from headroom.cli.views.decision import told
from tests.cli.demo.test_volume_expectations import played
from tests.cli.sources.chains import acted


def stories() -> tuple[Ended, Ended]:
    first = of_volume(played("iops", told(acted()), starved=(10, 11, 12)))
    amiss = Ending(line="Nothing was changed.", amiss=("a change was made",))
    other = replace(first, key="bill", title="A cluster", kind="cluster", resource="orders",
                    ending=amiss, changes=0, starved_minutes=0)  # fmt: skip
    return first, other


def test_every_story_is_told_in_the_object_under_what_it_is_of() -> None:
    said = as_object(outcome(stories(), [acted()], sweep_only=False, seed=1), Path("out"))
    volume, cluster = [story.to_json() for story in stories()]
    assert said["stories"] == [volume, cluster]
    assert (volume["volume"], volume["as_told"], volume["changes"]) == ("vol-1", True, 1)
    assert volume["starved_minutes"] == 3
    assert (cluster["cluster"], cluster["amiss"]) == ("orders", ["a change was made"])
    assert said["records"] == len(acted())


def test_what_is_not_as_told_is_said_in_the_table_and_on_the_page() -> None:
    what = outcome(stories(), [acted()], sweep_only=False, seed=1)
    text = io.StringIO()
    print_all(what, Path("out"), Console(file=text, width=150))
    assert "1. A gp3 volume over its IOPS limit (as told)" in text.getvalue()
    assert "2. A cluster (NOT as told)" in text.getvalue()
    assert "It is not so that a change was made." in text.getvalue()
    facts = dict(page(what).facts)
    assert (facts["changes made"], facts["starved minutes"]) == ("1", "3")
