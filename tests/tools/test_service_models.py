"""Models of services that are cut to the calls of the functions: the same calls, and no others."""

from __future__ import annotations

import gzip
import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import botocore
import botocore.session
import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel, Shape

from tools.service_models import CUT, cut, cut_models, operations

DATA = Path(botocore.__file__).parent / "data"
SERVICES = ("cloudwatch", *CUT)


def whole(service: str) -> Any:
    latest = max((DATA / service).iterdir())
    return json.loads(gzip.decompress((latest / "service-2.json.gz").read_bytes()))


def described(shape: Shape | None, above: tuple[str, ...] = ()) -> object:
    """Everything about a shape but its documentation; a shape within itself by its name."""
    if shape is None or shape.name in above:
        return shape and shape.name
    inner = (*above, shape.name)
    about = shape.name, shape.type_name, shape.serialization, shape.metadata
    match shape.type_name:
        case "structure":
            return about, {name: described(each, inner) for name, each in shape.members.items()}
        case "list":
            return about, described(shape.member, inner)
        case "map":
            return about, described(shape.key, inner), described(shape.value, inner)
    return about, tuple(getattr(shape, "enum", ()))


@pytest.mark.parametrize("service", CUT)
def test_an_operation_that_stays_is_the_same(service: str) -> None:
    before = ServiceModel(whole(service))
    after = ServiceModel(cut(whole(service), operations(service)))
    assert set(after.operation_names) == operations(service) != set()
    for name in after.operation_names:
        was, now = before.operation_model(name), after.operation_model(name)
        assert (now.http, now.endpoint) == (was.http, was.endpoint)
        assert described(now.input_shape) == described(was.input_shape)
        assert described(now.output_shape) == described(was.output_shape)
        assert list(map(described, now.error_shapes)) == list(map(described, was.error_shapes))


def test_clients_of_a_cut_folder_make_the_same_requests(tmp_path: Path) -> None:
    for service in SERVICES:
        shutil.copytree(DATA / service, tmp_path / service)
    for name in (
        "endpoints.json",
        "partitions.json",
        "sdk-default-configuration.json",
        "_retry.json",
    ):
        shutil.copy(DATA / name, tmp_path)
    size = sum(file.stat().st_size for file in tmp_path.rglob("*.json*"))
    written = cut_models(tmp_path)
    assert {file.parent.parent.name for file in written} == {*SERVICES, tmp_path.parent.name}
    assert sum(file.stat().st_size for file in tmp_path.rglob("*.json*")) < size / 2
    for region in ("eu-central-1", "cn-north-1"):
        for service in SERVICES:
            before, after = (_client(service, region, folder) for folder in (DATA, tmp_path))
            assert after.meta.endpoint_url == before.meta.endpoint_url
            assert after.meta.service_model.metadata == before.meta.service_model.metadata
    cut_client = _client("ec2", "eu-central-1", tmp_path)
    asked = {"Filters": [{"Name": "volume-id", "Values": ["vol-1"]}]}
    requests = [
        _request(client, "DescribeVolumes", asked)
        for client in (_client("ec2", "eu-central-1", DATA), cut_client)
    ]
    assert requests[0] == requests[1]
    assert "DeleteVolume" not in cut_client.meta.service_model.operation_names
    assert cut_client.can_paginate("describe_volumes")


@cache
def _loader(data: Path) -> Loader:
    return Loader(extra_search_paths=[str(data)], include_default_search_paths=False)


def _client(service: str, region: str, data: Path) -> Any:
    session = botocore.session.Session()
    session.get_component("data_loader")  # else it would be made later, in the place of this one
    session.register_component("data_loader", _loader(data))
    return session.create_client(
        service, region_name=region, aws_access_key_id="x", aws_secret_access_key="x"
    )


def _request(client: Any, operation: str, asked: dict[str, Any]) -> Any:
    model = client.meta.service_model.operation_model(operation)
    return client._serializer.serialize_to_request(asked, model)
