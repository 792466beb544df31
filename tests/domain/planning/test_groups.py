from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from headroom.domain.decision import Hold, decide
from headroom.domain.guardrails import Guardrail
from headroom.domain.planning import (
    Candidate,
    group_of,
    under_way,
    volume_shape,
    why_not_a_group,
    why_not_alike,
    why_not_one_set,
    with_shape,
)
from headroom.domain.planning.groups import LARGEST
from headroom.domain.resources import Configuration
from headroom.domain.state import KnownModification, OpenChain
from tests.builders import (
    AUTO,
    NOW,
    decision_input,
    gp2,
    gp3,
    io,
    policy,
    ref,
    resource_state,
    starved_gp3,
    volume,
)


@pytest.mark.parametrize(
    ("tags", "key", "name"),
    [
        ({}, "headroom:group", None),
        ({"headroom:group": "data"}, "headroom:group", "data"),
        ({"headroom:group": " data "}, "headroom:group", "data"),
        ({"Headroom:Group": "data"}, "headroom:group", "data"),
        ({"headroom:group": ""}, "headroom:group", ""),
        ({"raid-set": "r0"}, "headroom:group", None),
        ({"raid-set": "r0"}, "raid-set", "r0"),
        ({"Raid-Set": "r0"}, "raid-set", None),
        ({"headroom:group": "data"}, "raid-set", "data"),
        ({"headroom:group": "r0", "raid-set": "r0"}, "raid-set", "r0"),
        ({"headroom:group": "data", "raid-set": "r0"}, "raid-set", ""),
    ],
)
def test_a_set_is_what_the_tags_say_and_nothing_where_they_differ(
    tags: dict[str, str], key: str, name: str | None
) -> None:
    rules = replace(policy(), group_tag=key)
    assert group_of(rules, volume(tags=tuple(tags.items()))) == name


def test_the_tag_of_a_set_is_no_setting_that_could_be_misread() -> None:
    seen = starved_gp3(vol=volume(tags=(("headroom", "auto"), ("headroom:group", "data"))))
    decision = decide(decision_input(seen))
    assert decision.effective.problem is None


def test_a_volume_of_a_set_is_never_changed_alone() -> None:
    seen = starved_gp3(vol=volume(tags=(("headroom:group", "data"),)))
    decision = decide(decision_input(seen, rules=policy(mode=AUTO)))
    assert not isinstance(decision.answer, Hold)
    assert all(
        Guardrail.GROUP in {v.guardrail for v in judged.blocking} for judged in decision.judgements
    )


def named(*names: str, **changes: Any) -> list[Any]:
    return [volume(ref=ref(name), **changes) for name in names]


@pytest.mark.parametrize(
    ("name", "members", "why"),
    [
        ("data", named("vol-1", "vol-2"), ""),
        ("data", named(*[f"vol-{i}" for i in range(LARGEST)]), ""),
        ("data", named("vol-1"), "no other volume of the set data is on i-1"),
        ("data", named("vol-2", "vol-3"), "vol-1 was not found"),
        ("data", named(*[f"vol-{i}" for i in range(LARGEST + 1)]), f"at most {LARGEST}"),
    ],
)
def test_a_set_has_a_name_and_two_to_thirty_two_volumes(
    name: str, members: list[Any], why: str
) -> None:
    said = why_not_a_group(name, volume(), members)
    assert (said is None) is (why == "")
    assert said is None or (why in said.problem and said.remedy and said.cause)


@pytest.mark.parametrize("instances", [(), ("i-1", "i-2")])
def test_the_set_of_a_volume_on_no_instance_or_two_is_not_known(instances: tuple[str, ...]) -> None:
    vol = volume(instance_ids=instances)
    said = why_not_a_group("data", vol, [])
    assert said is not None
    assert "is not attached to one instance" in said.problem


@pytest.mark.parametrize(
    ("values", "name", "said"),
    [
        (("data", "data"), "data", None),
        (("", ""), "", "its tags do not name one set (the tag is empty)"),
        (("data,logs", "data,logs"), "", "its tags do not name one set (they name data, logs)"),
        (("data", "data,logs"), "data",
         "the tags of vol-2 do not name one set (they name data, logs)"),
    ],
)  # fmt: skip
def test_tags_that_do_not_name_one_set_are_named_whichever_volume_is_looked_at(
    values: tuple[str, str], name: str, said: str | None
) -> None:
    keys = ("headroom:group", "Headroom:Group")
    members = [
        volume(ref=ref(f"vol-{n}"), tags=tuple(zip(keys, value.split(","), strict=False)))
        for n, value in enumerate(values, 1)
    ]
    found = why_not_one_set(policy(), name, members)
    assert said == (None if found is None else found.problem)
    assert found is None or found.remedy.startswith("write the name of one set in the tag of each")


def candidate(
    now: Configuration, *, before: Configuration | None = None, by: str = "headroom",
    **known: Any,
) -> Candidate:  # fmt: skip
    modifications = (
        ()
        if before is None
        else (
            KnownModification(
                started_at=NOW - timedelta(hours=2), by=by, origin=before, target=now
            ),
        )
    )
    return Candidate(
        volume=volume(now),
        in_flight=False,
        resource_state=resource_state(modifications=modifications, **known),
    )


@pytest.mark.parametrize(
    ("members", "alike"),
    [
        ([candidate(gp3()), candidate(gp3(100, 6000, 250))], True),
        ([candidate(gp3()), candidate(gp2(100))], False),
        ([candidate(gp3(400), before=gp2()), candidate(gp2())], True),
        ([candidate(gp3(400), before=gp2(), by="other"), candidate(gp2())], False),
        ([candidate(gp3(400), before=io()), candidate(gp2())], False),
        ([candidate(gp3(400), before=gp2()), candidate(gp3(400), before=io())], True),
    ],
)
def test_a_set_is_of_one_type_or_was_before_we_changed_a_part_of_it(
    members: list[Candidate], alike: bool
) -> None:
    assert (why_not_alike("data", members) is None) is alike


def test_what_is_under_way_is_reported_by_volume() -> None:
    chain = OpenChain(decision_id="d", phase="applied", since=NOW, fencing=1)
    quiet = candidate(gp3())
    busy = replace(quiet, in_flight=True)
    ours = candidate(gp3(), open_chain=chain)
    assert under_way([quiet, quiet], quiet.volume) == ""
    assert under_way([quiet, busy, ours], quiet.volume) == (
        "vol-1 has a change in flight; vol-1 has a change of ours that has not ended (applied)"
    )


@pytest.mark.parametrize(
    ("by", "now", "waits"),
    [
        ("headroom", gp3(100, 12_000), False),
        ("headroom", gp3(), True),  # it would be changed with the others
        ("other", gp3(100, 12_000), True),  # somebody changes them one after the other
    ],
)
def test_a_volume_that_headroom_raised_may_be_optimized_while_the_others_follow(
    by: str, now: Configuration, waits: bool
) -> None:
    raised = replace(candidate(now, before=gp3(100, 3_001), by=by), in_flight=True)
    assert bool(under_way([raised, candidate(gp3())], candidate(gp3()).volume)) is waits


@pytest.mark.parametrize("configuration", [gp3(100, 6000, 250), gp2(400), io(size=200, iops=9000)])
def test_a_shape_is_all_but_the_size(configuration: Configuration) -> None:
    other = with_shape(gp3(777), volume_shape(configuration))
    assert other == replace(configuration, size_gib=777)
