"""The results of the demo, whatever kind of storage a story has."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from headroom.cli.demo.results.access import Access
from headroom.cli.demo.results.section import StoryResult, result_of
from headroom.cli.demo.results.summary import as_object, demo_result, page, print_all
from headroom.cli.demo.script.outcome import StoryVerdict
from headroom.cli.views.decision import decision_story
from tests.cli.demo.test_volume_expectations import run_of
from tests.cli.sources.chains import acted

ACCESS = Access(evaluated=7, grants=3, unused=1, problems=("Denied once",))


def stories() -> tuple[StoryResult, StoryResult]:
    first = result_of(run_of("iops", decision_story(acted()), starved=(10, 11, 12)))
    amiss = StoryVerdict(line="Nothing was changed.", unmet=("a change was made",))
    other = replace(first, key="aurora-40", title="A cluster", kind="cluster", resource="orders",
                    verdict=amiss, changes=0, starved_minutes=0)  # fmt: skip
    return first, other


def test_the_json_object_names_each_story_by_its_kind() -> None:
    said = as_object(
        demo_result(
            stories(), [acted()], access=ACCESS, sweep_only=False, seed=1, minutes=1_620
        ), Path("out"),
    )  # fmt: skip
    volume, cluster = [story.to_json() for story in stories()]
    assert said["stories"] == [volume, cluster]
    assert (volume["volume"], volume["as_expected"], volume["changes"]) == ("vol-1", True, 1)
    assert volume["starved_minutes"] == 3
    assert (cluster["cluster"], cluster["unmet"]) == ("orders", ["a change was made"])
    assert said["records"] == len(acted())
    assert said["iam"] == {"evaluated": 7, "problems": ["Denied once"]}


def test_an_unmet_expectation_is_in_the_table_and_on_the_page() -> None:
    what = demo_result(stories(), [acted()], access=ACCESS, sweep_only=False, seed=1, minutes=1_620)
    text = io.StringIO()
    print_all(what, Path("out"), Console(file=text, width=150))
    assert "2. A gp3 volume over its IOPS limit (as expected)" in text.getvalue()
    assert "15. A cluster (NOT as expected)" in text.getvalue()
    assert "Not met: a change was made." in text.getvalue()
    said = "7 accesses of the deployed roles evaluated, problems: 1; grants used: 2 of 3"
    assert said in text.getvalue()
    assert "Denied once." in text.getvalue()
    facts = dict(page(what).facts)
    assert (facts["changes made"], facts["starved minutes"]) == ("1", "3")
