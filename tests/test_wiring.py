"""The adapters over AWS: built once, from settings and the function's own place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import boto3
import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import ReadTimeoutError
from botocore.utils import parse_timestamp
from moto import mock_aws

from headroom import wiring
from headroom.account import place_of, session_in
from headroom.adapters.dispatch import MetricsByKind, StorageByKind
from headroom.adapters.ebs import EbsStorage
from headroom.adapters.rds import RdsStorage
from headroom.adapters.responses import timestamp
from headroom.clock import utc_now
from headroom.domain.resources import Kind, ResourceRef
from headroom.domain.state import Unknown
from headroom.ports import Ports, ReadFailed, ResourceGone, StorageView
from headroom.settings import FunctionSettings, SettingsError
from tests.builders import ACCOUNT, REGION, gp3, ref, volume

ARN = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:headroom-sweep"
SETTINGS = FunctionSettings(
    records_table="records",
    state_table="state",
    policy_parameter="/headroom/policy",
    topic_arn=f"arn:aws:sns:{REGION}:{ACCOUNT}:headroom",
    queue_url="https://sqs.us-east-1.amazonaws.com/123456789012/work",
)


@pytest.fixture
def session() -> Iterator[boto3.Session]:
    with mock_aws():
        yield boto3.Session("testing", "testing", region_name=REGION)


def wired(session: boto3.Session) -> Ports:
    return wiring.FleetAccount(SETTINGS, region=REGION, account_id=ACCOUNT, session=session).ports


def test_the_clock_is_system_time_in_utc() -> None:
    now = utc_now()
    assert now.tzinfo is UTC
    assert abs(datetime.now(UTC) - now) < timedelta(seconds=5)


@pytest.mark.parametrize(
    ("arn", "place"),
    [
        (ARN, (REGION, ACCOUNT)),
        (f"{ARN}:live", (REGION, ACCOUNT)),
        ("arn:aws-cn:lambda:cn-north-1:111122223333:function:f", ("cn-north-1", "111122223333")),
    ],
)
def test_a_function_knows_its_place_from_its_own_arn(arn: str, place: tuple[str, str]) -> None:
    assert place_of(arn) == place


@pytest.mark.parametrize("arn", ["", "headroom", "arn:aws:s3:::bucket", "arn:aws:lambda::1:f:g"])
def test_what_is_no_arn_of_a_function_is_refused(arn: str) -> None:
    with pytest.raises(SettingsError):
        place_of(arn)


def test_without_its_environment_a_function_says_which_variable_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in SETTINGS.to_environment():
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SettingsError, match="HEADROOM_RECORDS_TABLE"):
        wiring.begin(f"{ARN}-nowhere")


def test_two_invocations_share_their_clients_and_not_their_policy(
    session: boto3.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SETTINGS.to_environment().items():
        monkeypatch.setenv(name, value)
    first, second = wiring.begin(f"{ARN}-twice"), wiring.begin(f"{ARN}-twice")
    assert first.ports.storage is second.ports.storage
    assert first.ports.ledger is second.ports.ledger
    assert first.ports.policies is not second.ports.policies
    assert (first.account_id, first.region) == (ACCOUNT, REGION)


def test_a_client_is_made_when_it_is_first_used_and_once(session: boto3.Session) -> None:
    made: list[str] = []
    make = session.client

    def client(service: str, **how: object) -> object:
        made.append(service)
        return make(service, **how)  # type: ignore[call-overload]

    session.client = client  # type: ignore[method-assign,assignment]
    account = wiring.FleetAccount(SETTINGS, region=REGION, account_id=ACCOUNT, session=session)
    assert account.ports is not None
    assert made == []
    for _ in range(2):
        assert account.reads("ec2").describe_volumes()["Volumes"] == []
    assert made == ["ec2"]
    assert account.reads("ec2") is account.reads("ec2")
    with pytest.raises(AttributeError, match="describe_everything"):
        account.reads("ec2").describe_everything()


@pytest.mark.parametrize(("every", "lookback"), [(15, 30), (60, 70)])
def test_a_glance_covers_the_time_between_two_scans(
    session: boto3.Session, every: int, lookback: int
) -> None:
    settings = replace(SETTINGS, scan_every_minutes=every)
    ports = wiring.FleetAccount(settings, region=REGION, account_id=ACCOUNT, session=session).ports
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    session.client("cloudwatch").put_metric_data(
        Namespace="AWS/EBS",
        MetricData=[
            {
                "MetricName": "VolumeQueueLength",
                "Dimensions": [{"Name": "VolumeId", "Value": "vol-1"}],
                "Timestamp": now - timedelta(minutes=minutes),
                "Value": minutes,
            }
            for minutes in range(1, 120)
        ],
    )
    view = StorageView(volume=volume(), modification=None, instance=None)
    assert ports.metrics.glance([view], now)["vol-1"].longest_queue == lookback


def test_a_change_is_sent_once_though_it_times_out_and_a_read_is_tried_again(
    session: boto3.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = session.client("ec2").create_volume(
        AvailabilityZone="us-east-1a", Size=100, VolumeType="gp3"
    )
    one = ref(made["VolumeId"])
    sent: list[str] = []

    def lose(operation: str) -> None:
        """From here on no answer to `operation` arrives."""

        def drop(request: AWSPreparedRequest, **_: object) -> AWSResponse | None:
            body = request.body
            text = body.decode() if isinstance(body, bytes) else str(body)
            if f"Action={operation}&" in text:
                sent.append(operation)
                raise ReadTimeoutError(endpoint_url="ec2")
            return None

        session.events.register_first("before-send.ec2", drop)

    monkeypatch.setattr("time.sleep", lambda _: None)
    lose("ModifyVolume")
    storage = wired(session).storage
    outcome = storage.apply(one, expected=gp3(), seen=None, target=gp3(iops=4000))
    assert isinstance(outcome, Unknown)
    assert sent == ["ModifyVolume"]

    sent.clear()
    lose("DescribeVolumes")
    with pytest.raises(ReadFailed):
        wired(session).storage.view(one)
    assert len(sent) == 4


def test_databases_are_wired_only_where_they_are_covered(session: boto3.Session) -> None:
    assert isinstance(wired(session).storage, EbsStorage)
    assert wiring.kinds_of(SETTINGS) == (Kind.EBS,)
    both = replace(SETTINGS, kinds="ebs,rds")
    ports = wiring.FleetAccount(both, region=REGION, account_id=ACCOUNT, session=session).ports
    assert isinstance(ports.storage, StorageByKind)
    assert isinstance(ports.metrics, MetricsByKind)
    assert wiring.kinds_of(both) == (Kind.EBS, Kind.RDS)
    database = ResourceRef(
        kind=Kind.RDS, account_id=ACCOUNT, region=REGION, resource_id="not-there"
    )
    with pytest.raises(ResourceGone):
        ports.storage.view(database)


def test_a_change_of_a_database_is_never_repeated_by_the_client(session: boto3.Session) -> None:
    both = replace(SETTINGS, kinds="ebs,rds")
    storage = wiring.FleetAccount(
        both, region=REGION, account_id=ACCOUNT, session=session
    ).ports.storage
    assert isinstance(storage, StorageByKind)
    databases = storage._storages[Kind.RDS]
    assert isinstance(databases, RdsStorage)
    assert databases._modify.meta.config.retries["total_max_attempts"] == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "given",
    [
        1_767_571_200, 1_767_571_200.25, "1767571200", "2026-01-05T00:00:00Z", "20260105",
        "2026-01-05T00:00:00.123Z", "2026-01-05T02:00:00+02:00", "Mon, 05 Jan 2026 00:00:00 GMT",
    ],
)  # fmt: skip
def test_timestamps_are_read_as_botocore_reads_them(given: str | float) -> None:
    read = timestamp(given)
    assert read == parse_timestamp(given)  # type: ignore[arg-type]
    assert read.tzinfo is UTC


@pytest.mark.parametrize(
    ("given", "environment", "region"),
    [
        ("eu-west-1", {"AWS_REGION": "eu-north-1"}, "eu-west-1"),
        (None, {"AWS_REGION": "eu-north-1", "AWS_DEFAULT_REGION": "us-west-2"}, "eu-north-1"),
        (None, {"AWS_REGION": "", "AWS_DEFAULT_REGION": "us-west-2"}, "us-west-2"),
    ],
)
def test_a_region_is_that_of_the_option_else_of_the_environment_as_for_the_aws_cli(
    monkeypatch: pytest.MonkeyPatch,
    given: str | None,
    environment: dict[str, str],
    region: str,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert session_in(given).region_name == region
