"""Templates are patched where a property is literal; for CDK apps the construct is named."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.writeback.repository import (
    CLUSTER,
    DATABASE,
    FAST,
    GP3,
    STACK,
    VOLUME,
    changed_lines,
    event,
    repository,
    settings,
    written_back,
)

YAML = """Parameters:
  Iops: {Type: Number, Default: 3000}
Resources:
  DataVolume: # the data
    Type: AWS::EC2::Volume
    Properties:
      AvailabilityZone: !Sub "${AWS::Region}a"
      VolumeType: gp3   # since May
      Size: !Ref Size
      Iops: '3000'  # the default
      Tags:
        - {Key: Name, Value: data}
  Other:
    Type: AWS::EC2::Volume
    Properties: {Iops: 3000, Size: 1}
"""
JSON = """{
\t"Resources": {
\t\t"DataVolume": {
\t\t\t"Type": "AWS::EC2::Volume",
\t\t\t"Properties": {
\t\t\t\t"VolumeType": "gp3",
\t\t\t\t"Iops": 3000,
\t\t\t\t"Size": {"Ref": "Size"}
\t\t\t}
\t\t}
\t}
}"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "code"
    made.mkdir()
    return made


def owned(before: Any = GP3, after: Any = FAST, **others: Any) -> dict[str, Any]:
    return event(before, after, owner=STACK, **others)


def test_only_the_properties_of_the_resource_change(folder: Path, capsys: Any) -> None:
    repository(folder, {"stacks/orders.yaml": YAML, "docs/notes.yaml": "DataVolume: [Resources"})
    code, patch, said = written_back(folder, owned(), capsys=capsys)
    assert code == 0, said
    assert "DataVolume, found by its tag: patched" in said
    assert changed_lines(folder, patch) == [
        "-      Iops: '3000'  # the default", "+      Iops: '6000'  # the default",
        "+      Throughput: 400",
    ]  # fmt: skip


def test_a_template_of_json_stays_one(folder: Path, capsys: Any) -> None:
    repository(folder, {"orders.template": JSON})
    code, patch, _ = written_back(folder, owned(), capsys=capsys)
    assert code == 0
    assert changed_lines(folder, patch) == [
        '-\t\t\t\t"Iops": 3000,', '+\t\t\t\t"Iops": 6000,', '+\t\t\t\t"Throughput": 400,',
    ]  # fmt: skip
    made = json.loads((folder / "orders.template").read_text())["Resources"]["DataVolume"]
    assert made["Properties"]["Throughput"] == 400


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (YAML, {"VolumeType": "io2", "Iops": "9000"}),
        (JSON.replace('"Iops": 3000', '"Throughput": 200, "Iops": 3000'), {"VolumeType": "io2", "Iops": 9000}),
        ('{"Resources": {"DataVolume": {"Type": "AWS::EC2::Volume", "Properties": {"Throughput": 200, '
         '"VolumeType": "gp3"}}}}', {"VolumeType": "io2", "Iops": 9000}),
    ],
    ids=["yaml", "json", "first of a line"],
)  # fmt: skip
def test_a_property_that_the_new_type_does_not_have_goes(
    folder: Path, capsys: Any, text: str, expected: dict[str, Any]
) -> None:
    text = text.replace("      Tags", "      Throughput: 200\n      Tags")
    repository(folder, {"orders.yaml": text})
    after = settings("io2", 100, 9000, None)
    code, patch, said = written_back(
        folder, owned(settings("gp3", 100, 3000, 200), after), capsys=capsys
    )
    assert code == 0, said
    changed_lines(folder, patch)
    plain = re.sub("!(Sub|Ref) ", "", (folder / "orders.yaml").read_text())
    made = yaml.safe_load(plain.replace("\t", " "))["Resources"]["DataVolume"]["Properties"]
    assert {name: made.get(name) for name in ("VolumeType", "Iops", "Throughput")} == {
        **expected, "Throughput": None,
    }  # fmt: skip


def test_a_stacks_list_of_resources_finds_a_database_without_tags(
    folder: Path, capsys: Any
) -> None:
    text = 'Resources:\n  Db:\n    Type: AWS::RDS::DBInstance\n    Properties:\n      AllocatedStorage: "400"\n      Iops: 12000\n'
    repository(folder, {"db.yml": text})
    listed = folder.parent / "stack.json"
    listed.write_text(json.dumps({"StackResources": [
        {"LogicalResourceId": "Db", "PhysicalResourceId": "orders", "ResourceType": "AWS::RDS::DBInstance"},
        {"LogicalResourceId": "V", "PhysicalResourceId": VOLUME, "ResourceType": "AWS::EC2::Volume"},
    ]}))  # fmt: skip
    grown = event(
        settings("gp3", 400, 12000, 500), settings("gp3", 500, 14000, 500), arn=DATABASE, owner=None
    )
    code, patch, said = written_back(folder, grown, "--state", str(listed), capsys=capsys)
    assert code == 0, said
    assert changed_lines(folder, patch) == [
        '-      AllocatedStorage: "400"', "-      Iops: 12000",
        '+      AllocatedStorage: "500"', "+      Iops: 14000",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "named", "arn"),
    [("AWS::RDS::DBInstance", "DBInstanceIdentifier", DATABASE),
     ("AWS::RDS::DBCluster", "DBClusterIdentifier", CLUSTER)],
)  # fmt: skip
@pytest.mark.parametrize(("name", "code"), [("Orders", 0), ("orders-test", 1)])
def test_a_database_of_another_name_is_refused(
    folder: Path, capsys: Any, kind: str, named: str, arn: str, name: str, code: int
) -> None:
    repository(folder, {
        "db.yml": f"Resources:\n  Db:\n    Type: {kind}\n    Properties:\n      {named}: {name}\n      Iops: 12000\n"
    })  # fmt: skip
    grown = event(
        settings("io1", 400, 12000, None), settings("io1", 400, 14000, None), arn=arn,
        owner={**STACK, "logical_id": "Db"},
    )  # fmt: skip
    made, patch, said = written_back(folder, grown, capsys=capsys)
    assert (made, bool(patch)) == (code, not code)
    assert (f"{named} is {name}, not orders" in said) == bool(code)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a.yaml": YAML.replace("'3000'  # the default", "9000")},
         "Iops is 9000, but was 3000 before the change"),
        ({"a.json": JSON.replace('{"Ref": "Size"}', "800")},
         "Size is 800, but was 100"),
        ({"a.json": JSON.replace('"gp3"', '"io2"')}, "VolumeType is io2, but was gp3"),
        ({"a.yaml": YAML.replace("'3000'  # the default", "!Ref Iops")},
         "is the stack's parameter Iops (", ),
        ({"a.json": JSON.replace("3000", '{"Fn::If": ["P", 1, 2]}')}, "is Fn::If: change it by hand"),
        ({"a.yaml": YAML.replace("'3000'  # the default", "&i 3000")}, "is an alias or anchor"),
        ({"a.yaml": YAML.replace("      Iops: '3000'", "      <<: *common")
          .replace("Parameters:", "x: &common {Iops: 1}\nParameters:")}, "merged in with <<"),
        ({"a.yaml": YAML, "b.yaml": YAML}, "is in several templates: "),
        ({"a.yaml": YAML.replace("AWS::EC2::Volume", "AWS::EC2::Instance")}, "no template in"),
        ({"cdk.json": "{}"}, "run `cdk synth`"),
    ],
    ids=["the owner's own raise", "another size", "another volume", "parameter", "function", "anchor", "merge", "two templates", "another type", "cdk without output"],
)  # fmt: skip
def test_what_would_be_a_guess_is_refused_with_the_place_of_the_value(
    folder: Path, capsys: Any, files: dict[str, str], said: str
) -> None:
    repository(folder, files)
    code, patch, message = written_back(folder, owned(), capsys=capsys)
    assert (code, patch) == (1, "")
    assert said in message
    assert "Iops = 6000" in message


def test_a_cdk_app_gets_the_construct_that_makes_the_resource(folder: Path, capsys: Any) -> None:
    made = {
        "Type": "AWS::EC2::Volume",
        "Metadata": {"aws:cdk:path": "Orders/Storage/Data/Resource"},
    }
    repository(folder, {
        "cdk.json": "{}", "cdk.out/Orders.template.json": json.dumps({"Resources": {"DataVolume": made}}),
        "app.py": "import x\nec2.Volume(self, \"Data\", iops=3000)\n",
    })  # fmt: skip
    code, patch, message = written_back(folder, owned(), capsys=capsys)
    assert (code, patch) == (1, "")
    assert "the construct Orders/Storage/Data/Resource of a CDK app makes it" in message
    assert "app.py:2" in message
    assert "Throughput = 400" in message
