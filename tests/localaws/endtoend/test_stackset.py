"""The StackSets template in two accounts and two Regions, by the calls that CloudFormation takes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest

from headroom.cdk.stackset import as_text, template
from headroom.localaws.daemon import LocalAws
from headroom.policy import (
    TEMPLATE_PARTS,
    canonical_json,
    default_policy,
    parameter_texts,
    parse_policy,
)
from tests.localaws.endtoend.organization import START, Place, code_zip, given

ROOT = Path(__file__).resolve().parents[3]
ACCOUNTS = ("111111111111", "222222222222")
REGIONS = ("eu-central-1", "us-west-2")
PLACES = [(ACCOUNTS[0], REGIONS[0]), (ACCOUNTS[0], REGIONS[1]), (ACCOUNTS[1], REGIONS[0])]
BUCKET = "acme-headroom"
LONG = parse_policy(
    {
        "rules": [
            {
                "match": {"tags": {"team": f"number-{n}"}},
                "set": {"mode": "auto", "max_iops": 3_000 + n},
            }
            for n in range(60)
        ]
    },
    source="test",
)

pytestmark = pytest.mark.skipif(
    not (ROOT / "build" / "wheels").exists(), reason="needs the functions' wheels: run `make setup`"
)


@dataclass(frozen=True, kw_only=True)
class Lifecycle:
    """What was seen in each place after creation, after each update, and after a deletion."""

    created: dict[tuple[str, str], dict[str, Any]]
    tagged: dict[tuple[str, str], dict[str, Any]]
    updated: dict[tuple[str, str], dict[str, Any]]
    tables: list[str]
    functions: list[Any]


@pytest.fixture(scope="module")
def text() -> str:
    return as_text(template(json.loads((ROOT / "cdk.json").read_text())["context"]))


@pytest.fixture(scope="module")
def lifecycle(text: str) -> Iterator[Lifecycle]:
    with LocalAws(clock="lockstep", seed=7) as aws:
        for region in REGIONS:
            s3 = boto3.client("s3", endpoint_url=aws.url, region_name=region, **aws.credentials)
            where = {"LocationConstraint": region}
            s3.create_bucket(Bucket=f"{BUCKET}-{region}", CreateBucketConfiguration=where)
            for key, code in (("one.zip", code_zip()), ("two.zip", code_zip("two"))):
                s3.put_object(Bucket=f"{BUCKET}-{region}", Key=key, Body=code)
        aws.control("clock", {"set": START.isoformat(), "seed": 1})
        places = {place: Place(aws, *place) for place in PLACES}

        def everywhere(verb: str, **values: str) -> dict[tuple[str, str], dict[str, Any]]:
            for place in places.values():
                call = getattr(place.client("cloudformation"), f"{verb}_stack")
                call(
                    StackName="Headroom", TemplateBody=text, Parameters=given(**values),
                    Capabilities=["CAPABILITY_IAM"],
                )  # fmt: skip
            aws.control("tick", {"minutes": 2})
            return {name: place.seen() for name, place in places.items()}

        base = {"CodeBucket": BUCKET, "CodeKey": "one.zip"}
        created = everywhere("create", **base, Detection="fleet")
        tagged = everywhere("update", **base, Detection="tagged", NotifyEmail="a@example.com")
        first, *parts = parameter_texts(canonical_json(LONG))
        assert 1 < len(parts) <= TEMPLATE_PARTS
        policy = {f"Policy{number or ''}": t for number, t in enumerate([first, *parts])}
        updated = everywhere(
            "update", **{**base, "CodeKey": "two.zip"}, Detection="sweep", **policy
        )
        one = places[PLACES[0]]
        one.client("cloudformation").delete_stack(StackName="Headroom")
        yield Lifecycle(
            created=created, tagged=tagged, updated=updated,
            tables=one.client("dynamodb").list_tables()["TableNames"],
            functions=one.client("lambda").list_functions()["Functions"],
        )  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_a_stack_is_complete_and_sweeps_in_every_place(
    lifecycle: Lifecycle, text: str, place: tuple[str, str]
) -> None:
    seen = lifecycle.created[place]
    assert seen["stack"]["status"] == "CREATE_COMPLETE"
    assert seen["sweeps"] == 2
    assert seen["policy"] == default_policy().version
    assert len([a for a in seen["alarms"] if a.startswith("headroom-detect-")]) == 6
    own = {name for name in seen["alarms"] if name.startswith("headroom-own-")}
    named = set(re.findall(r'"(headroom-own-[a-z-]+)"', text))
    assert own == named - {"headroom-own-hub-events-waiting"}, "all but the one that needs a hub"
    assert len(seen["code"]) == 1


@pytest.mark.parametrize("place", PLACES)
def test_an_update_narrows_detection_in_place(lifecycle: Lifecycle, place: tuple[str, str]) -> None:
    before, after = lifecycle.created[place], lifecycle.tagged[place]
    assert after["stack"]["status"] == "UPDATE_COMPLETE"
    assert not any("tag.headroom" in each for each in before["expressions"])
    assert after["expressions"]
    assert all("tag.headroom" in each for each in after["expressions"])
    assert after["sweeps"] == 4
    assert (before["addresses"], after["addresses"]) == ([], ["a@example.com"])


@pytest.mark.parametrize("place", PLACES)
def test_an_update_changes_policy_code_and_detection_and_keeps_the_tables(
    lifecycle: Lifecycle, place: tuple[str, str]
) -> None:
    before, after = lifecycle.created[place], lifecycle.updated[place]
    assert after["stack"]["status"] == "UPDATE_COMPLETE"
    assert after["policy"] == LONG.version
    assert after["code"] != before["code"]
    assert not any(name.startswith("headroom-detect-") for name in after["alarms"])
    assert after["sweeps"] == 6, "the new code runs"
    kept = ("RecordsTable", "StateTable", "TopicArn")
    assert [after["stack"]["outputs"][n] for n in kept] == [
        before["stack"]["outputs"][n] for n in kept
    ]


def test_every_place_has_its_own_tables(lifecycle: Lifecycle) -> None:
    topics = {seen["stack"]["outputs"]["TopicArn"] for seen in lifecycle.created.values()}
    assert {tuple(topic.split(":")[4:2:-1]) for topic in topics} == set(PLACES)


def test_deleting_a_stack_keeps_its_tables_alone(lifecycle: Lifecycle) -> None:
    assert len(lifecycle.tables) == 2
    assert lifecycle.functions == []
