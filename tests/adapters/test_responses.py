"""Long answers of AWS are parsed fast, and to the same values as by botocore's own parser."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.parsers import create_parser
from botocore.session import get_session

from headroom.adapters.responses import fast_session

RESULT = {
    "MetricDataResults": [
        {"Id": "q0", "Label": "x", "StatusCode": "Complete",
         "Timestamps": [1767614400, 1767614460.5, "2026-01-05T12:02:00Z"],
         "Values": [1, 2.5, 1e300]},
        {"Id": "q1", "Label": "y", "StatusCode": "Complete", "Timestamps": [], "Values": []},
    ],
    "Messages": [{"Code": "c", "Value": "v"}],
}  # fmt: skip


def both(service: str, operation: str, body: bytes, status: int = 200) -> list[Any]:
    """What the fast parser and botocore's make of one answer."""
    core = fast_session()
    model = get_session().get_service_model(service)
    shape = model.operation_model(operation).output_shape
    protocol = model.resolved_protocol
    answer = {"status_code": status, "headers": {}, "body": body}
    fast = core.get_component("response_parser_factory").create_parser(protocol)
    return [parser.parse(answer, shape) for parser in (fast, create_parser(protocol))]


def test_datapoints_are_those_of_the_usual_parser() -> None:
    fast, usual = both("cloudwatch", "GetMetricData", json.dumps(RESULT).encode())
    assert fast == usual
    assert len(fast["MetricDataResults"][0]["Timestamps"]) == 3


def test_errors_and_other_protocols_are_as_ever() -> None:
    error = b'{"__type": "ns#Throttling", "message": "slow down"}'
    fast, usual = both("cloudwatch", "GetMetricData", error, 400)
    assert fast == usual
    assert fast["Error"]["Code"] == "Throttling"
    xml = (
        b"<DescribeVolumesResponse><volumeSet><item><volumeId>vol-1</volumeId><size>8</size>"
        b"<createTime>2026-01-05T12:00:00.000Z</createTime></item></volumeSet>"
        b"</DescribeVolumesResponse>"
    )
    fast, usual = both("ec2", "DescribeVolumes", xml)
    assert fast == usual
    assert fast["Volumes"][0]["Size"] == 8


@pytest.mark.parametrize("service", ["cloudwatch", "ec2", "dynamodb", "sqs", "sns", "rds", "ssm"])
def test_every_client_gets_it(service: str) -> None:
    client = fast_session().create_client(
        service, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
    )  # fmt: skip
    protocol = client.meta.service_model.resolved_protocol
    factory = client._endpoint._response_parser_factory  # type: ignore[attr-defined]
    parser = type(factory.create_parser(protocol)).__name__
    assert (parser == "_JsonParser") == (protocol == "json")
