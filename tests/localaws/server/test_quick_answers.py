"""The fast serialiser writes what moto's own serialiser writes."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import boto3
import pytest
from hypothesis import given
from hypothesis import strategies as st
from moto import mock_aws
from moto.core.responses import ActionContext, ActionResult
from moto.core.serialize import (
    AttributePickerContext,
    BaseJSONSerializer,
    ResponseSerializer,
    XFormedAttributePicker,
    get_serializer_class,
)
from moto.core.utils import get_service_model
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.table import Table
from moto.dynamodb.responses import DynamoResult

from headroom.localaws.server import quick_answers


class Instance:
    """An object with names in moto's style."""

    id = "i-1"
    instance_type = "m6i.large"


def _context(service: str, operation: str, protocol: str) -> ActionContext:
    model = get_service_model(service)
    serializer = get_serializer_class(service, protocol)
    response: Any = object()
    return ActionContext(model, model.operation_model(operation), serializer, response)


def test_items_are_written_as_moto_writes_them() -> None:
    item = {
        "s": {"S": "text"}, "n": {"N": "1.50"}, "b": {"B": b"\x00\xff"}, "no": {"NULL": True},
        "yes": {"BOOL": False}, "l": {"L": [{"S": ""}, {"M": {"x": {"N": "1"}}}]},
        "ss": {"SS": ["a", "b"]}, "m": {"M": {}},
    }  # fmt: skip
    answers = {
        "Query": {"Items": [item, {}], "Count": 2, "ScannedCount": 2, "LastEvaluatedKey": None},
        "BatchGetItem": {"Responses": {"table": [item]}, "UnprocessedKeys": {}},
        "GetItem": {},
        "UpdateItem": {"Attributes": item},
    }
    for operation, answer in answers.items():
        context = _context("dynamodb", operation, "json")
        status, headers, body = quick_answers._items(DynamoResult(answer), context)
        slow_status, slow_headers, slow_body = ActionResult(
            DynamoResult(answer).result
        ).execute_result(context)
        assert (status, headers) == (slow_status, slow_headers)
        assert json.loads(body) == json.loads(slow_body)


TEXT = st.text(max_size=6)
VALUES = st.recursive(
    st.one_of(
        st.builds(dict, S=TEXT), st.builds(dict, N=st.integers().map(str)),
        st.builds(dict, B=st.binary(max_size=6)), st.builds(dict, BOOL=st.booleans()),
        st.just({"NULL": True}), st.builds(dict, SS=st.lists(TEXT, min_size=1)),
    ),
    lambda inner: st.one_of(
        st.builds(dict, L=st.lists(inner)), st.builds(dict, M=st.dictionaries(TEXT, inner))
    ),
)  # fmt: skip


@given(VALUES)
def test_a_value_is_as_large_as_moto_says(value: dict[str, Any]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DynamoType, "size", quick_answers._slow_size)
        assert quick_answers._size(DynamoType(value)) == DynamoType(value).size()


def test_datapoints_are_written_as_moto_writes_them() -> None:
    times = [datetime(2026, 1, 5, hour, tzinfo=UTC) for hour in range(3)]
    odd = [
        *times,
        times[0].replace(microsecond=250_000),
        times[0].astimezone(timezone(timedelta(hours=2))),
    ]
    results = [
        {"Id": "q0", "Timestamps": times, "Values": [1.5, 0.0, 1e12], "StatusCode": "Complete"},
        {"Id": "q1", "Timestamps": odd, "Values": [1, 2.5, 3, 4, 5], "Label": "x"},
        {"Id": "q2", "Timestamps": [], "Values": []},
    ]
    context = _context("cloudwatch", "GetMetricData", "json")
    answer = ActionResult({"MetricDataResults": results})
    quick_answers.install()
    body = answer.execute_result(context)[2]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseJSONSerializer, "_serialize_type_list", quick_answers._slow_list)
        patch.setattr(ResponseSerializer, "get_value", quick_answers._slow)
        assert answer.execute_result(context)[2] == body


def test_a_member_is_found_under_the_names_that_moto_knows() -> None:
    model = get_service_model("ec2").operation_model("DescribeInstances")
    instance = model.output_shape.members["Reservations"].member.members["Instances"].member
    serializer = get_serializer_class("ec2", "ec2")(
        operation_model=model, value_picker=XFormedAttributePicker()
    )
    values = [
        Instance(), {"InstanceType": None}, {"instance_type": "a", "id": "b"},
        {"InstanceId": "c", "instance_id": "d"}, "text", {},
    ]  # fmt: skip
    for value in values:
        for key, shape in instance.members.items():
            shape.parent = instance
            context = AttributePickerContext(
                obj=value, key=key, shape=shape, operation_model=model,
                service_model=model.service_model, key_path="",
            )  # fmt: skip
            assert quick_answers._member(serializer, value, key, shape) == XFormedAttributePicker()(
                context
            ), (value, key)


QUERIES: tuple[dict[str, Any], ...] = (
    {"KeyConditionExpression": "pk = :k", "ExpressionAttributeValues": {":k": {"S": "k1"}}},
    {"KeyConditionExpression": "pk = :k", "ExpressionAttributeValues": {":k": {"S": "none"}}},
    {
        "KeyConditionExpression": "pk = :k AND sk BETWEEN :a AND :b", "ScanIndexForward": False,
        "ExpressionAttributeValues": {":k": {"S": "k0"}, ":a": {"N": "2"}, ":b": {"N": "11"}},
    },
    {
        "KeyConditionExpression": "g = :g AND due <= :d", "IndexName": "by_due", "Limit": 2,
        "ExpressionAttributeValues": {":g": {"S": "g1"}, ":d": {"S": "d7"}},
    },
    {
        "KeyConditionExpression": "g = :g", "IndexName": "by_due", "FilterExpression": "sk > :n",
        "ExpressionAttributeValues": {":g": {"S": "g0"}, ":n": {"N": "3"}},
    },
    {
        "KeyConditionExpression": "n = :n", "IndexName": "by_number",
        "ExpressionAttributeValues": {":n": {"N": "1.0"}},
    },
)  # fmt: skip


@pytest.mark.parametrize("query", QUERIES)
@mock_aws
def test_queries_and_scans_find_what_moto_finds(query: dict[str, Any]) -> None:
    quick_answers.install()
    client = boto3.client("dynamodb", region_name="us-east-1")
    client.create_table(
        TableName="t", BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": kind}
            for name, kind in (("pk", "S"), ("sk", "N"), ("g", "S"), ("due", "S"), ("n", "N"))
        ],
        KeySchema=[
            {"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by_due", "Projection": {"ProjectionType": "ALL"},
                "KeySchema": [
                    {"AttributeName": "g", "KeyType": "HASH"},
                    {"AttributeName": "due", "KeyType": "RANGE"},
                ],
            },
            {
                "IndexName": "by_number", "Projection": {"ProjectionType": "KEYS_ONLY"},
                "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
            },
        ],
    )  # fmt: skip
    for number in (7, 2, 10, 0, 9, 4, 1, 11, 3, 8, 5, 6):
        item = {"pk": {"S": f"k{number % 2}"}, "sk": {"N": str(number)}, "n": {"N": "1"}}
        if number % 4:  # the others are in no index
            item |= {"g": {"S": f"g{number % 3}"}, "due": {"S": f"d{number % 5}"}}
        client.put_item(TableName="t", Item=item)

    def found() -> list[list[dict[str, Any]]]:
        pages = client.get_paginator("query").paginate(TableName="t", **query)
        return [page["Items"] for page in pages] + [client.scan(TableName="t")["Items"]]

    fast = found()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Table, "query", quick_answers._slow_query)
        patch.setattr(Table, "all_items", quick_answers._slow_all_items)
        assert found() == fast
    assert len(fast[-1]) == 12
