"""The input of a rule's target, batch failures, and embedded metrics."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headroom.localaws.events.bus import target_input
from headroom.localaws.functions.embedded_metrics import metrics_in
from headroom.localaws.functions.mappings import failed_items
from headroom.localaws.functions.runtime_api import Answer

EVENT = {
    "id": "e1", "source": "aws.ec2", "account": "123456789012",
    "resources": ["arn:a", "arn:b"], "detail": {"result": "completed", "n": 3, "deep": {"x": None}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ({}, EVENT),
        ({"Input": '{"fixed": true}'}, {"fixed": True}),
        ({"InputPath": "$.detail"}, EVENT["detail"]),
        ({"InputPath": "$.resources[1]"}, "arn:b"),
        ({"InputPath": "$.detail.missing"}, None),
    ],
)
def test_input_and_input_path_replace_the_event(target: dict[str, Any], expected: object) -> None:
    assert json.loads(target_input(target, EVENT)) == expected


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ('{"r": <result>, "n": <n>}', '{"r": "completed", "n": 3}'),
        ('{"text": "it is <result> <n> times"}', '{"text": "it is completed 3 times"}'),
        ('"<result> in <account>"', '"completed in 123456789012"'),
        ('{"all": <aws.events.event.json>}', json.dumps({"all": EVENT})),
        ('{"unknown": "<nothing>"}', '{"unknown": "<nothing>"}'),
    ],
)
def test_an_input_transformer_fills_its_template(template: str, expected: str) -> None:
    paths = {"result": "$.detail.result", "n": "$.detail.n", "account": "$.account"}
    target = {"InputTransformer": {"InputPathsMap": paths, "InputTemplate": template}}
    assert json.loads(target_input(target, EVENT)) == json.loads(expected)


@pytest.mark.parametrize(
    ("answer", "partial", "expected"),
    [
        (Answer(True, b"null"), True, set()),
        (Answer(True, b'{"batchItemFailures": []}'), True, set()),
        (Answer(True, b'{"batchItemFailures": [{"itemIdentifier": "b"}]}'), True, {"b"}),
        (Answer(True, b'{"batchItemFailures": [{"itemIdentifier": "b"}]}'), False, set()),
        (Answer(True, b'{"batchItemFailures": [{"itemIdentifier": "zz"}]}'), True, {"a", "b"}),
        (Answer(True, b'{"batchItemFailures": [{}]}'), True, {"a", "b"}),
        (Answer(True, b"[1]"), True, {"a", "b"}),
        (Answer(False, b"{}"), True, {"a", "b"}),
        (Answer(False, b"{}"), False, {"a", "b"}),
    ],
)
def test_a_batch_leaves_in_the_queue_what_lambda_would_leave(
    answer: Answer, partial: bool, expected: set[str]
) -> None:
    assert failed_items(answer, ["a", "b"], partial=partial) == expected


def test_embedded_metrics_are_read_with_every_set_of_dimensions() -> None:
    line = json.dumps(
        {
            "_aws": {
                "Timestamp": 0,
                "CloudWatchMetrics": [
                    {
                        "Namespace": "N",
                        "Dimensions": [["a"], ["a", "b"]],
                        "Metrics": [{"Name": "m", "Unit": "Count"}],
                    }
                ],
            },
            "a": "1",
            "b": "2",
            "m": [1, 2],
        }
    ).encode()
    found = [(dict(key.dimensions), value, unit) for key, value, unit in metrics_in(line)]
    assert found == [
        ({"a": "1"}, 1.0, "Count"), ({"a": "1"}, 2.0, "Count"),
        ({"a": "1", "b": "2"}, 1.0, "Count"), ({"a": "1", "b": "2"}, 2.0, "Count"),
    ]  # fmt: skip


@pytest.mark.parametrize("line", [b"", b"START", b'{"_aws": 3', b'{"level": "INFO"}', b'["_aws"]'])
def test_other_log_lines_hold_no_metrics(line: bytes) -> None:
    assert list(metrics_in(line)) == []
