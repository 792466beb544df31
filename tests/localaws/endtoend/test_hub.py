"""A hub and two deployments in three accounts: records arrive, people ask, and the hub goes and comes back."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import boto3
import pytest
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3

from headroom.adapters.callers import prove
from headroom.adapters.ledger import DynamoLedger
from headroom.cdk import Headroom, Hub
from headroom.cli.main import run
from headroom.localaws.daemon import LocalAws
from headroom.localaws.iam import ORGANIZATION
from headroom.policy import default_policy, parse_policy
from headroom.settings import REQUESTS_FUNCTION
from tests.builders import ACCOUNT, REGION
from tests.cli.commands.test_requests import ask, needing
from tests.localaws.endtoend.organization import START, Place, code_zip

ROOT = Path(__file__).resolve().parents[3]
HUB, HUB_REGION = "999999999999", "eu-central-1"
SPOKES = ((ACCOUNT, REGION), ("222222222222", "us-west-2"))
BUS = f"arn:aws:events:{HUB_REGION}:{HUB}:event-bus/headroom-hub"
ROLE = f"arn:aws:iam::{HUB}:role/people/operators"
ANN = f"arn:aws:sts::{HUB}:assumed-role/operators/ann"
EVA = f"arn:aws:sts::{HUB}:assumed-role/policy-owners/eva"
BUCKET, KEY = "acme-headroom", "one.zip"
POLICY_ROLE = f"arn:aws:iam::{HUB}:role/policy-owners"
CAPS = {"max_iops": 4_000}
BROAD = {"version": 1, "defaults": {"max_iops": 8_000}}
NARROW = {"version": 1, "defaults": {"max_iops": 4_000}}

pytestmark = pytest.mark.skipif(
    not (ROOT / "build" / "wheels").exists(), reason="needs the functions' wheels: run `make setup`"
)


@dataclass(slots=True)
class Seen:
    """What was seen at one point of the story."""

    codes: dict[str, int] = field(default_factory=dict)
    """Exit codes of commands."""
    observed: dict[str, Any] = field(default_factory=dict)
    """What else a test asks about."""
    said: dict[str, Any] = field(default_factory=dict)
    """The JSON that commands printed."""


class Organization:
    """Three accounts at one endpoint, and people of the hub's."""

    def __init__(self, aws: LocalAws, folder: Path) -> None:
        self.aws, self.folder = aws, folder
        self.hub = Place(aws, HUB, HUB_REGION)
        self.places = [Place(aws, *spoke) for spoke in SPOKES]
        self.spokes = folder / "spokes.txt"
        lines = (f"{account}/{region}" for account, region in SPOKES)
        self.spokes.write_text("# all of them\n" + "\n".join(lines) + "\n")

    def deploy_hub(self, verb: str = "create") -> None:
        call = getattr(self.hub.client("cloudformation"), f"{verb}_stack")
        body = {} if verb == "delete" else {"TemplateBody": json.dumps(hub_template(self.folder))}
        call(StackName="HeadroomHub", **body)
        if verb == "create":
            assert self.hub.of("HeadroomHub")["status"] == "CREATE_COMPLETE"

    def deploy_spokes(self) -> None:
        text = json.dumps(spoke_template(self.folder))
        package = code_zip()
        for (_, region), place in zip(SPOKES, self.places, strict=True):
            store = boto3.client(
                "s3", endpoint_url=self.aws.url, region_name=region, **self.aws.credentials
            )
            where = {} if region == "us-east-1" else {"LocationConstraint": region}
            made = {"CreateBucketConfiguration": where} if where else {}
            store.create_bucket(Bucket=f"{BUCKET}-{region}", **made)
            store.put_object(Bucket=f"{BUCKET}-{region}", Key=KEY, Body=package)
            place.client("cloudformation").create_stack(
                StackName="Headroom", TemplateBody=text, Capabilities=["CAPABILITY_IAM"]
            )
            assert place.stack["status"] == "CREATE_COMPLETE"

    def tick(self, minutes: int = 1) -> None:
        self.aws.control("tick", {"minutes": minutes})

    def person(self, name: str, role: str, account: str = HUB) -> dict[str, str]:
        """Environment variables of somebody who took on a role."""
        sts = boto3.client(
            "sts", endpoint_url=self.aws.url, region_name=HUB_REGION, **self.aws.credentials
        )
        arn = f"arn:aws:iam::{account}:role/{role}"
        keys = sts.assume_role(RoleArn=arn, RoleSessionName=name)["Credentials"]
        return {
            "AWS_ACCESS_KEY_ID": keys["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": keys["SecretAccessKey"],
            "AWS_SESSION_TOKEN": keys["SessionToken"],
        }

    def kept(self) -> list[dict[str, Any]]:
        """Every event in the hub's bucket, read as Athena reads it: a line each."""
        store = self.hub.client("s3")
        found = []
        for bucket in store.list_buckets()["Buckets"]:
            listed = store.list_objects_v2(Bucket=bucket["Name"], Prefix="records/day=2026-01-05/")
            for each in listed.get("Contents", []):
                body = store.get_object(Bucket=bucket["Name"], Key=each["Key"])["Body"].read()
                found += [json.loads(line) for line in gzip.decompress(body).splitlines()]
        return found

    def ledger(self, number: int) -> DynamoLedger:
        place, (account, region) = self.places[number], SPOKES[number]
        outputs = place.stack["outputs"]
        return DynamoLedger(
            place.client("dynamodb"), records_table=outputs["RecordsTable"],
            state_table=outputs["StateTable"], account_id=account, region=region,
        )  # fmt: skip

    def recorded(self, number: int, outcome: str) -> list[str]:
        found = self.ledger(number).by_outcome(
            outcome, since=START, until=START + timedelta(hours=1)
        )
        return [record.summary for record in found]

    def undelivered(self, number: int) -> int:
        """Events that wait to be delivered again."""
        sqs = self.places[number].client("sqs")
        url = self.queue(number)
        asked = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        return int(asked["ApproximateNumberOfMessages"])

    def queue(self, number: int) -> str:
        command = self.places[number].stack["outputs"]["HubRedelivery"].split()
        assert command[:3] == ["headroom", "hub", "redeliver"]
        assert command[command.index("--bus") + 1] == BUS
        return str(command[command.index("--queue") + 1])


def synthesised(folder: Path, fill: Callable[[cdk.Stack], object]) -> dict[str, Any]:
    """The template of a stack that `fill` puts something into."""
    app = cdk.App(outdir=str(folder), analytics_reporting=False)
    synthesizer = cdk.DefaultStackSynthesizer(generate_bootstrap_version_rule=False)
    fill(cdk.Stack(app, "Storage", synthesizer=synthesizer))
    found: dict[str, Any] = app.synth().get_stack_by_name("Storage").template
    return found


def hub_template(folder: Path) -> dict[str, Any]:
    return synthesised(
        folder / "hub", lambda stack: Hub(stack, "Hub", organization_id=ORGANIZATION)
    )


def spoke_template(folder: Path) -> dict[str, Any]:
    """A deployment that names the hub; its code is in a bucket of each Region."""

    def fill(stack: cdk.Stack) -> None:
        name = cdk.Fn.sub(f"{BUCKET}-${{AWS::Region}}")
        code = lambda_.Code.from_bucket(s3.Bucket.from_bucket_name(stack, "Code", name), KEY)
        Headroom(
            stack, "Headroom", code=code, detection="sweep", hard_caps=CAPS, hub_bus=BUS,
            hub_role=ROLE, hub_policy_role=POLICY_ROLE,
        )  # fmt: skip

    return synthesised(folder / "spoke", fill)


def play(there: Organization, monkeypatch: pytest.MonkeyPatch, said: Callable[[], Any]) -> Seen:
    """The story; commands run with the credentials of whoever is named."""
    seen = Seen()

    def command(name: str, who: dict[str, str], *arguments: str) -> None:
        for key, value in {**there.aws.environment(), **who}.items():
            monkeypatch.setenv(key, value)
        seen.codes[name] = run(["hub", *arguments])
        seen.said[name] = said()

    ann, eva = there.person("ann", "operators"), there.person("eva", "policy-owners")
    spokes = ("--spokes", str(there.spokes), "--json")
    first = ("--spoke", "/".join(SPOKES[0]), "--json")
    there.deploy_hub()
    there.deploy_spokes()
    there.tick(2)
    command("pause", ann, "pause", "--for", "2h", "--reason", "month end", *spokes)
    ask(there.ledger(0), needing("d1"))
    command("approve", ann, "approve", "d1", *first)
    there.tick(2)
    seen.observed["kept"] = there.kept()
    seen.observed["sweeps"] = [place.sweeps for place in there.places]

    there.deploy_hub("delete")
    command("resume", ann, "resume", *spokes)
    there.tick(2)
    seen.observed["sweeps without"] = [place.sweeps for place in there.places]
    seen.observed["undelivered"] = [there.undelivered(n) for n in range(len(SPOKES))]
    seen.observed["alarms without"] = [_alarms(place) for place in there.places]

    def redeliver(name: str, number: int) -> None:
        account, region = SPOKES[number]
        command(name, there.person("sam", "owners", account), "redeliver", "--queue",
                there.queue(number), "--bus", BUS, "--region", region)  # fmt: skip

    events = there.places[0].client("events")
    entry = {"Source": "headroom", "DetailType": "t", "Detail": "{}", "EventBusName": BUS}
    (seen.observed["of another Region"],) = events.put_events(Entries=[entry])["Entries"]
    redeliver("too early", 0)
    there.deploy_hub()
    there.tick()
    for number in range(len(SPOKES)):
        redeliver(f"redeliver {number}", number)
    seen.observed["undelivered after"] = [there.undelivered(n) for n in range(len(SPOKES))]
    seen.observed["kept after"] = there.kept()

    lose_records(there, command, seen, ann)
    for name, policy in (("broad", BROAD), ("narrow", NARROW)):
        file = there.folder / f"{name}.json"
        file.write_text(json.dumps(policy))
        command(name, eva, "publish", str(file), *spokes)
        seen.observed[name] = [place.policy for place in there.places]
    command("not hers", ann, "publish", str(there.folder / "narrow.json"), *first)
    command("not his", eva, "pause", *first)
    command("stranger", there.person("ann", "operators", "333333333333"), "pause", *first)
    command("no decision", ann, "approve", "unknown", *first)
    there.tick()
    seen.observed["replayed"] = replayed(there, ann)
    for outcome in ("paused", "approved", "resumed", "policy_refused", "policy_published"):
        seen.observed[outcome] = [there.recorded(n, outcome) for n in range(len(SPOKES))]
    seen.observed["denials"] = there.aws.control("iam")["denials"]
    seen.observed["sweeps at last"] = [place.sweeps for place in there.places]
    return seen


def lose_records(
    there: Organization, command: Callable[..., None], seen: Seen, person: dict[str, str]
) -> None:
    """The hub's rule loses its right to store, and gets it back."""
    iam, admin = there.hub.client("iam"), there.person("hal", "admin")
    outputs = there.hub.of("HeadroomHub")["outputs"]
    again = outputs["HeadroomHubRedelivery"].split()
    (role,) = [r["RoleName"] for r in iam.list_roles()["Roles"] if "RuleRole" in r["RoleName"]]
    denied = {"Effect": "Deny", "Action": "firehose:*", "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [denied]})
    topic = there.hub.client("sns")
    topic.subscribe(
        TopicArn=outputs["HeadroomHubTopicArn"], Protocol="sqs",
        Endpoint=f"arn:aws:sqs:{HUB_REGION}:{HUB}:people",
    )  # fmt: skip
    command("well", admin, "doctor", "--region", HUB_REGION, "--json")
    iam.put_role_policy(RoleName=role, PolicyName="Deny", PolicyDocument=document)
    ask(there.ledger(0), needing("d2"))
    command("unkept", person, "reject", "d2", "--spoke", "/".join(SPOKES[0]))
    there.tick(7)
    seen.observed["alarms of the hub"] = _alarms(there.hub)
    command("ill", admin, "doctor", "--region", HUB_REGION, "--json")
    iam.delete_role_policy(RoleName=role, PolicyName="Deny")
    seen.observed["kept before"] = there.kept()
    command("store again", admin, *again[2:])
    seen.observed["stored"] = there.kept()


def _alarms(place: Place) -> list[str]:
    found = place.client("cloudwatch").describe_alarms(StateValue="ALARM")["MetricAlarms"]
    return [alarm["AlarmName"] for alarm in found]


def replayed(there: Organization, person: dict[str, str]) -> dict[str, str]:
    """What the second deployment answers to a request that was signed for the first account."""
    content = {"verb": "pause", "prefix": "headroom", "reason": "", "seconds": None}
    session = boto3.Session(
        person["AWS_ACCESS_KEY_ID"], person["AWS_SECRET_ACCESS_KEY"], person["AWS_SESSION_TOKEN"]
    )
    text, credentials = json.dumps(content), session.get_credentials()
    assert credentials is not None
    made = prove(
        text, credentials.get_frozen_credentials(), account_id=SPOKES[0][0], region=SPOKES[1][1],
        url=there.aws.url,
    )  # fmt: skip
    account, region = SPOKES[1]
    client = session.client("lambda", region_name=region, endpoint_url=there.aws.url)
    answer = client.invoke(
        FunctionName=f"arn:aws:lambda:{region}:{account}:function:{REQUESTS_FUNCTION}",
        Payload=json.dumps({"request": text, "proof": made.as_object()}).encode(),
    )
    found: dict[str, str] = json.load(answer["Payload"])
    return found


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    folder = tmp_path_factory.mktemp("organization")
    with (
        LocalAws(clock="lockstep", seed=7) as aws,
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(io.StringIO()) as printed,
    ):
        aws.control("clock", {"set": START.isoformat(), "seed": 1})

        def said() -> Any:
            text = printed.getvalue()
            printed.seek(0)
            printed.truncate()
            return json.loads(text) if text.startswith("[") else text

        return play(Organization(aws, folder), patch, said)


def _events(kept: list[dict[str, Any]], step: str) -> list[tuple[str, str, str]]:
    """Account, Region of the record and who, of every event of a step."""
    found = [e for e in kept if e["detail"]["step"] == step]
    return sorted((e["account"], e["detail"]["region"], e["detail"]["who"]) for e in found)


EVERYWHERE = sorted((*spoke, ANN) for spoke in SPOKES)


def test_what_people_of_the_hub_ask_is_recorded_with_the_name_that_sts_says(story: Seen) -> None:
    assert (story.codes["pause"], story.codes["approve"]) == (0, 0)
    until = "2026-01-05T02:02:00+00:00"
    assert story.observed["paused"] == [[f"paused until {until} by {ANN}: month end"]] * 2
    assert story.observed["approved"] == [[f"approved by {ANN}"], []]


def test_records_of_every_deployment_arrive_as_lines_of_the_day(story: Seen) -> None:
    assert _events(story.observed["kept"], "paused") == EVERYWHERE
    (approved,) = _events(story.observed["kept"], "approved")
    assert approved == (*SPOKES[0], ANN)


def test_without_the_hub_deployments_go_on_and_people_may_still_ask(story: Seen) -> None:
    before, after = story.observed["sweeps"], story.observed["sweeps without"]
    assert (before, after) == ([4, 4], [6, 6])
    assert story.codes["resume"] == 0
    assert story.observed["resumed"] == [[f"resumed by {ANN}"]] * 2
    assert story.observed["alarms without"] == [[], []]


def test_what_the_hub_missed_is_kept_and_redelivered(story: Seen) -> None:
    assert story.observed["undelivered"] == [1, 1]
    assert _events(story.observed["kept"], "resumed") == []
    assert story.codes["too early"] == 1
    assert story.said["too early"] == "Redelivered 0 events. The bus refused 1.\n"
    for number in range(len(SPOKES)):
        assert story.codes[f"redeliver {number}"] == 0
        assert story.said[f"redeliver {number}"] == "Redelivered 1 events.\n"
    assert story.observed["undelivered after"] == [0, 0]
    assert _events(story.observed["kept after"], "resumed") == EVERYWHERE
    again = [e for e in story.observed["kept after"] if e["detail"]["step"] == "resumed"]
    assert {e["region"] for e in again} == {HUB_REGION}


def test_what_the_hub_itself_cannot_store_rings_and_is_stored_again_as_it_was(story: Seen) -> None:
    assert story.codes["well"] == 0, story.said["well"]
    assert story.observed["alarms of the hub"] == ["headroom-hub-own-records-not-kept"]
    assert story.codes["ill"] == 2
    problems = [
        f["problem"] for check in json.loads(story.said["ill"])["checks"] for f in check["findings"]
    ]
    assert any("because the hub's stream or log group did not take them" in one for one in problems)
    before, after = (
        [e for e in story.observed[name] if e["detail"]["step"] == "rejected"]
        for name in ("kept before", "stored")
    )
    assert before == []
    assert [(e["account"], e["region"]) for e in after] == [SPOKES[0]]  # not the hub's
    assert story.said["store again"] == "Redelivered 1 events.\n"


def test_a_bus_takes_events_of_its_own_region_alone(story: Seen) -> None:
    assert story.observed["of another Region"]["ErrorCode"] == "InvalidArgument"


def test_a_policy_that_is_broader_than_a_hard_cap_is_refused_and_the_old_one_stays(
    story: Seen,
) -> None:
    assert story.codes["broad"] == 1
    assert story.observed["broad"] == [default_policy().version] * 2
    why = "The published policy: defaults: max_iops 8000 is more than the hard cap 4000."
    assert [one["detail"] for one in story.said["broad"]] == [why, why]
    assert story.observed["policy_refused"] == [[f"policy of {EVA} refused: {why}"]] * 2


def test_a_policy_within_the_hard_caps_is_in_force_and_recorded(story: Seen) -> None:
    version = parse_policy(NARROW, source="test").version
    assert story.codes["narrow"] == 0
    assert story.observed["narrow"] == [version] * 2
    assert story.observed["policy_published"] == [[f"policy {version} published by {EVA}"]] * 2


@pytest.mark.parametrize(
    ("who", "status", "why"),
    [
        ("not hers", "refused", f"{ANN} may not publish_policy in account {ACCOUNT}."),
        ("not his", "refused", f"{EVA} may not pause in account {ACCOUNT}."),
        ("stranger", "unanswered", "Account 333333333333 is not authorized to perform: lambda:"),
        ("no decision", "refused", "there is no such decision"),
    ],
)
def test_nobody_else_may_ask(story: Seen, who: str, status: str, why: str) -> None:
    assert story.codes[who] == 1
    (answer,) = story.said[who]
    assert answer["status"] == status
    assert why in answer["detail"]


def test_a_request_to_one_deployment_proves_nothing_to_another(story: Seen) -> None:
    assert story.observed["replayed"]["status"] == "refused"
    assert "STS does not confirm who signed" in story.observed["replayed"]["detail"]


def test_no_role_lacked_a_permission(story: Seen) -> None:
    assert [d for d in story.observed["denials"] if "explicit deny" not in d["why"]] == []
    assert story.observed["sweeps at last"] == [15, 15]
