"""Terraform code is patched where its values are literal, and nowhere by guessing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.writeback.repository import (
    ARN,
    CLUSTER,
    DATABASE,
    FAST,
    GP3,
    TERRAFORM,
    VOLUME,
    changed_lines,
    event,
    repository,
    settings,
    volume_arn,
    written_back,
)

MAIN = '''# volumes of orders { not a block
locals { note = "a } brace and ${jsonencode({ a = "}" })}" }

resource "aws_ebs_volume" "data" {
  availability_zone = "us-east-1a" # where the instance is
  type              = "gp3"
  size              = 100
  iops              = 3000 /* the default */ // of gp3
  tags = {
    Name = "orders-data"
    note = <<-EOT
      iops = 1
    EOT
  }
}

resource "aws_ebs_volume" "other" {
  type = "gp3"
  iops = 3000
  tags = { Name = "orders-log" }
}
'''  # fmt: skip
REPLICA = """resource "aws_ebs_volume" "replica" {{
  type = "gp3"
  size = 100
  iops = 3000
  tags = {0}
}}
"""
EDITED = [
    "-  iops              = 3000 /* the default */ // of gp3",
    "+  iops              = 6000 /* the default */ // of gp3",
    "+  throughput        = 400",
]


def resource(address: str, kind: str, **values: Any) -> dict[str, Any]:
    return {"address": address, "mode": "managed", "type": kind, "values": values}


def state(folder: Path, *resources: dict[str, Any], **modules: list[dict[str, Any]]) -> str:
    """A file as `terraform show -json` prints it."""
    children = [{"address": name, "resources": inner} for name, inner in modules.items()]
    root = {"resources": list(resources), "child_modules": children}
    path = folder.parent / "state.json"
    path.write_text(json.dumps({"format_version": "1.0", "values": {"root_module": root}}))
    return str(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "code"
    made.mkdir()
    return made


def test_only_the_arguments_of_the_tagged_volume_change(folder: Path, capsys: Any) -> None:
    repository(folder, {"live/main.tf": MAIN})
    code, patch, said = written_back(folder, event(), capsys=capsys)
    assert code == 0, said
    assert "aws_ebs_volume.data, found by the tag Name = orders-data: patched" in said
    assert changed_lines(folder, patch) == EDITED


def test_the_same_from_a_folder_inside_the_repository(folder: Path, capsys: Any) -> None:
    repository(folder, {"live/main.tf": MAIN})
    code, patch, _ = written_back(folder / "live", event(), capsys=capsys)
    assert code == 0
    assert "--- a/live/main.tf" in patch
    assert changed_lines(folder, patch) == EDITED


def test_ends_of_lines_and_a_missing_last_one_stay(folder: Path, capsys: Any) -> None:
    text = MAIN.replace("\n", "\r\n").rstrip()
    repository(folder, {"main.tf": text})
    code, patch, _ = written_back(folder, event(), capsys=capsys)
    assert code == 0
    changed_lines(folder, patch)
    expected = text.replace("iops              = 3000", "iops              = 6000", 1)
    expected = expected.replace("of gp3\r\n", "of gp3\r\n  throughput        = 400\r\n", 1)
    assert (folder / "main.tf").read_bytes().decode() == expected


def test_a_second_time_there_is_nothing_to_patch(folder: Path, capsys: Any) -> None:
    repository(folder, {"main.tf": MAIN})
    _, patch, _ = written_back(folder, event(), capsys=capsys)
    changed_lines(folder, patch)
    code, again, said = written_back(folder, event(), capsys=capsys)
    assert (code, again) == (0, "")
    assert "the code already has the values" in said


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        (GP3, settings("io2", 100, 9000, None),
         ['-  type              = "gp3"', '+  type              = "io2"',
          "-  iops              = 3000 /* the default */ // of gp3",
          "+  iops              = 9000 /* the default */ // of gp3"]),
        (GP3, settings("gp3", 200, 3000, 125), ["-  size              = 100", "+  size              = 200"]),
    ],
    ids=["another type", "growth"],
)  # fmt: skip
def test_a_plan_changes_what_it_changes(
    folder: Path, capsys: Any, before: Any, after: Any, lines: list[str]
) -> None:
    repository(folder, {"main.tf": MAIN})
    code, patch, _ = written_back(folder, event(before, after), capsys=capsys)
    assert code == 0
    assert changed_lines(folder, patch) == lines


def test_a_setting_that_the_new_type_does_not_have_goes(folder: Path, capsys: Any) -> None:
    repository(
        folder,
        {"main.tf": MAIN.replace("  tags = {\n    N", "  throughput = 200\n  tags = {\n    N")},
    )
    back = settings("io2", 100, 9000, None)
    code, patch, _ = written_back(
        folder, event(settings("gp3", 100, 3000, 200), back), capsys=capsys
    )
    assert code == 0
    assert "-  throughput = 200" in changed_lines(folder, patch)


INSTANCE = """resource "aws_instance" "web" {
  root_block_device {
    volume_size = 100
  }
  ebs_block_device {
    device_name = "/dev/sdf"
    volume_type = "gp3"
    iops        = 3000
  }
  ebs_block_device {
    device_name = "/dev/sdg"
    iops        = 3000
  }
}
"""


def test_an_instance_finds_its_devices_by_the_state(
    folder: Path, made_volume: str, capsys: Any
) -> None:
    repository(folder, {"main.tf": INSTANCE})
    for root, device, inserted in (
        ([{"volume_id": made_volume}], [], ["+    iops        = 6000", "+    throughput  = 400"]),
        ([], [{"volume_id": made_volume, "device_name": "/dev/sdf"}],
         ["-    iops        = 3000", "+    iops        = 6000", "+    throughput  = 400"]),
    ):  # fmt: skip
        there = state(folder, resource("aws_instance.web", "aws_instance", root_block_device=root,
                                       ebs_block_device=device))  # fmt: skip
        made = event(arn=volume_arn(made_volume))
        code, patch, said = written_back(folder, made, "--state", there, capsys=capsys)
        assert code == 0, said
        assert ("check that terraform plan shows no changes" in said) == bool(device)
        assert sorted(changed_lines(folder, patch)) == sorted(inserted)
        (folder / "main.tf").write_text(INSTANCE)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"step": "decided"}, "replaces the instance"),
        ({"after": settings("gp3", 100, 5000, 400)}, "the volume is gp3 100 GiB 6000 IOPS 400 MiB/s, not gp3 100 GiB 5000"),
        ({"arn": ARN}, "the volume cannot be read"),
    ],
    ids=["not made", "not what the volume is", "gone"],
)  # fmt: skip
def test_an_ebs_block_device_is_patched_only_to_what_its_volume_is(
    folder: Path, made_volume: str, capsys: Any, changes: dict[str, Any], said: str
) -> None:
    repository(folder, {"main.tf": INSTANCE})
    what = event(**{"arn": volume_arn(made_volume), **changes})
    device = [{"volume_id": what["detail"]["resource"].split("/")[-1], "device_name": "/dev/sdf"}]
    there = state(folder, resource("aws_instance.web", "aws_instance", ebs_block_device=device))
    code, patch, message = written_back(folder, what, "--state", there, capsys=capsys)
    assert (code, patch) == (1, "")
    assert said in message


def test_an_ebs_block_device_is_not_patched_without_credentials(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(folder.parent / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    repository(folder, {"main.tf": INSTANCE})
    device = [{"volume_id": VOLUME, "device_name": "/dev/sdf"}]
    there = state(folder, resource("aws_instance.web", "aws_instance", ebs_block_device=device))
    code, patch, said = written_back(folder, event(), "--state", there, capsys=capsys)
    assert code != 0
    assert patch == ""
    assert "No AWS credentials found" in said


def test_a_volume_of_its_own_goes_before_the_instance_that_lists_it(
    folder: Path, capsys: Any
) -> None:
    repository(folder, {"main.tf": MAIN})
    there = state(
        folder, resource("aws_ebs_volume.other", "aws_ebs_volume", id=VOLUME),
        resource("aws_instance.web", "aws_instance",
                 ebs_block_device=[{"volume_id": VOLUME, "device_name": "/dev/sdf"}]),
    )  # fmt: skip
    code, patch, _ = written_back(folder, event(), "--state", there, capsys=capsys)
    assert code == 0
    assert changed_lines(folder, patch) == [
        "-  iops = 3000",
        "+  iops = 6000",
        "+  throughput = 400",
    ]


@pytest.mark.parametrize(
    ("arn", "text", "after", "lines"),
    [
        (DATABASE, 'resource "aws_db_instance" "x" {\n  identifier        = "orders"\n'
         '  storage_type      = "gp3"\n  allocated_storage = "400"\n  iops = 12000\n}\n',
         settings("gp3", 500, 16000, 700),
         ['-  allocated_storage = "400"', "-  iops = 12000", '+  allocated_storage = "500"',
          "+  iops = 16000", "+  storage_throughput = 700"]),
        (CLUSTER, 'resource "aws_rds_cluster" "x" {\n  cluster_identifier = "orders"\n}\n',
         settings("aurora-iopt1", 0, None, None), ['+  storage_type = "aurora-iopt1"']),
        (CLUSTER, 'resource "aws_rds_cluster" "x" {\n  cluster_identifier = "orders"\n'
         '  storage_type = "aurora-iopt1"\n}\n', settings("aurora", 0, None, None),
         ['-  storage_type = "aurora-iopt1"', '+  storage_type = ""']),
    ],
    ids=["instance", "I/O-Optimized", "back to Standard"],
)  # fmt: skip
def test_databases_are_found_by_their_identifier(
    folder: Path, capsys: Any, arn: str, text: str, after: Any, lines: list[str]
) -> None:
    repository(folder, {"main.tf": text})
    before = settings("gp3", 400, 12000, 500) if arn == DATABASE else settings(
        "aurora" if after["volume_type"] != "aurora" else "aurora-iopt1", 0, None, None
    )  # fmt: skip
    code, patch, said = written_back(folder, event(before, after, arn=arn), capsys=capsys)
    assert code == 0, said
    assert changed_lines(folder, patch) == lines


def test_an_address_of_a_database_of_another_name_is_refused(folder: Path, capsys: Any) -> None:
    text = 'resource "aws_db_instance" "x" {\n  identifier = "test"\n  iops = 12000\n}\n'
    repository(folder, {"main.tf": text})
    grown = event(
        settings("io1", 400, 12000, None), settings("io1", 400, 14000, None), arn=DATABASE
    )
    code, patch, said = written_back(folder, grown, "--address", "aws_db_instance.x", capsys=capsys)
    assert (code, patch) == (1, "")
    assert "main.tf:1 is test, not orders" in said


MODULE = {
    "modules/disk/main.tf": 'variable "iops" {\n  default = 3000\n}\nvariable "mibps" {}\n'
    'resource "aws_ebs_volume" "this" {\n  type = "gp3"\n  iops = var.iops\n  throughput = var.mibps\n}\n',
    "live/main.tf": 'variable "mibps" {\n  default = 125\n}\nmodule "disk" {\n  source = "../modules/disk"\n'
    "  iops   = 3000\n  mibps  = var.mibps\n}\n",
}  # fmt: skip
IN_MODULE = {
    "module.disk": [resource("module.disk.aws_ebs_volume.this", "aws_ebs_volume", id=VOLUME)]
}


def test_a_modules_values_are_patched_where_they_are_passed_in(folder: Path, capsys: Any) -> None:
    files = {**MODULE, "live/terraform.tfvars": "mibps = 125 # MiB/s\n"}
    repository(folder, files)
    there = state(folder, **IN_MODULE)
    code, patch, said = written_back(folder, event(), "--state", there, capsys=capsys)
    assert code == 0, said
    assert changed_lines(folder, patch) == [
        "-  iops   = 3000", "+  iops   = 6000", "-mibps = 125 # MiB/s", "+mibps = 400 # MiB/s",
    ]  # fmt: skip


TWICE = MODULE["live/main.tf"] + (
    'module "logs" {\n  source = "../modules/disk"\n  iops   = 3000\n  mibps  = 125\n}\n'
)


def test_a_value_that_the_call_passes_in_is_patched_though_another_calls_the_module(
    folder: Path, capsys: Any
) -> None:
    repository(folder, {**MODULE, "live/main.tf": TWICE})
    code, patch, said = written_back(
        folder, event(), "--state", state(folder, **IN_MODULE), capsys=capsys
    )
    assert code == 0, said
    assert changed_lines(folder, patch) == [
        "-  default = 125", "+  default = 400", "-  iops   = 3000", "+  iops   = 6000",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("disk", "before", "after"),
    [
        (MODULE["modules/disk/main.tf"].replace("= var.iops", "= 3000"), GP3, FAST),
        (MODULE["modules/disk/main.tf"].replace("  iops = var.iops\n", ""), GP3, FAST),
        (MODULE["modules/disk/main.tf"].replace('"gp3"', '"io2"').replace("var.mibps", "200"),
         settings("io2", 100, 3000, 200), settings("io2", 100, 6000, None)),
    ],
    ids=["a literal", "a new line", "a line that goes"],
)  # fmt: skip
def test_nothing_inside_a_module_of_several_calls_is_patched(
    folder: Path, capsys: Any, disk: str, before: Any, after: Any
) -> None:
    there = state(folder, **IN_MODULE)
    for files in (
        {"modules/disk/main.tf": disk, "live/main.tf": TWICE},
        {  # one call of the module, two of the module that holds it
            "modules/disk/main.tf": disk,
            "modules/pair/main.tf": MODULE["live/main.tf"].replace("../modules/disk", "../disk"),
            "live/main.tf": 'module "a" {\n  source = "../modules/pair"\n}\n'
            'module "b" {\n  source = "../modules/pair"\n}\n',
        },
    ):
        repository(folder, files)
        nested = "modules/pair/main.tf" in files
        options = (
            ("--address", "module.a.module.disk.aws_ebs_volume.this")
            if nested
            else ("--state", there)
        )
        code, patch, said = written_back(folder, event(before, after), *options, capsys=capsys)
        assert (code, patch) == (1, "")
        assert "which has several calls" in said


def test_a_module_called_from_outside_the_directory_is_not_patched(
    folder: Path, capsys: Any
) -> None:
    disk = MODULE["modules/disk/main.tf"].replace("= var.iops", "= 3000")
    repository(folder, {**MODULE, "modules/disk/main.tf": disk})
    code, patch, said = written_back(
        folder / "modules", event(), "--address", "aws_ebs_volume.this", capsys=capsys
    )
    assert (code, patch) == (1, "")
    assert "live/main.tf:4" in said


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"live/prod.tfvars": "mibps = 200\n"}, "live/prod.tfvars:1"),
        ({"live/main.tf": MODULE["live/main.tf"].replace("  default = 125\n", "")},
         "-var, TF_VAR_ or the pipeline"),
        ({"live/more.tf": "output \"x\" {\n  value = var.mibps\n}\n"}, "used in"),
        ({"live/main.tf": MODULE["live/main.tf"].replace("= var.mibps", "= max(var.mibps, 1)")},
         "computed: change it by hand"),
        ({"live/main.tf": MODULE["live/main.tf"].replace("  iops ", "  count = 2\n  iops ")},
         "several resources with count"),
        ({"stage/main.tf": MODULE["live/main.tf"]}, "is ambiguous: "),
        ({"live/main.tf": 'module "disk" {\n  source = "org/disk/aws"\n}\n'}, "Registry modules"),
        ({"live/bad.tf": "resource {{"}, "cannot be read as HCL: line 1"),
    ],
    ids=["another tfvars file", "set nowhere", "a variable of two uses", "computed", "count",
         "two roots", "registry", "unreadable"],
)  # fmt: skip
def test_what_would_be_a_guess_is_refused_with_the_place_of_the_value(
    folder: Path, capsys: Any, files: dict[str, str], said: str
) -> None:
    repository(folder, {**MODULE, **files})
    there = state(folder, **IN_MODULE)
    code, patch, message = written_back(folder, event(), "--state", there, capsys=capsys)
    assert (code, patch) == (1, "")
    assert said in message
    assert "throughput = 400" in message  # the values are there to paste


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (MAIN.replace("orders-log", "orders-data"), "is ambiguous: "),
        (MAIN.replace("orders-data", "${var.name}-data"), "has no aws_ebs_volume"),
        (MAIN.replace("  size              = 100", "  size              = 900"),
         "size is 900, but was 100 before the change"),
        (MAIN.replace("  iops              = 3000", "  iops              = 9000"),
         "iops is 9000, but was 3000 before the change"),
        (MAIN.replace('= "gp3"', '= "io2"'), "type is io2, but was gp3"),
        ('resource "aws_ebs_volume" "d" { tags = { x = 1, Name = "orders-data" } }\n', "is on one line"),
        (REPLICA.format('merge({ Name = "orders-data" }, { Name = "replica" })'), "has no aws_ebs_volume"),
        (REPLICA.format('{\n    # Name = "orders-data"\n    Name = "replica"\n  }'), "has no aws_ebs_volume"),
        (REPLICA.format('var.main ? { Name = "orders-data" } : {}'), "has no aws_ebs_volume"),
        (REPLICA.format('{ x = { Name = "orders-data" } }'), "has no aws_ebs_volume"),
        (REPLICA.format('{ Name = "orders-data" }').replace("= 3000", "= 3000 /* see\n  there */"),
         "a comment goes on in the next line: add throughput = 400 by hand"),
    ],
    ids=["two of one name", "a computed name", "smaller", "the owner's own raise", "another volume",
         "one line", "a merged name", "a name in a comment", "a name under a condition", "a name in another map",
         "a comment over two lines"],
)  # fmt: skip
def test_a_volume_that_is_not_certain_is_refused(
    folder: Path, capsys: Any, text: str, said: str
) -> None:
    repository(folder, {"main.tf": text})
    bigger = settings("gp3", 200, 6000, 400)
    code, patch, message = written_back(folder, event(GP3, bigger), capsys=capsys)
    assert (code, patch) == (1, "")
    assert said in message


def test_a_file_that_is_a_link_out_of_the_repository_is_not_patched(
    folder: Path, capsys: Any
) -> None:
    shared = folder.parent / "shared.tf"
    shared.write_text(MAIN, encoding="utf-8")
    (folder / "main.tf").symlink_to(shared)
    repository(folder, {"versions.tf": ""})
    code, patch, message = written_back(folder, event(), capsys=capsys)
    assert (code, patch) == (1, "")
    assert "main.tf is a link out of the repository" in message


def test_what_ignore_changes_leaves_to_headroom_is_left(folder: Path, capsys: Any) -> None:
    repository(
        folder,
        {
            "main.tf": MAIN.replace(
                "  tags = {\n    N",
                "  lifecycle {\n    ignore_changes = [iops]\n  }\n  tags = {\n    N",
            )
        },
    )
    code, patch, said = written_back(folder, event(), capsys=capsys)
    assert code == 0
    assert changed_lines(folder, patch) == ["+  throughput        = 400"]
    assert "ignore_changes leaves iops to Headroom" in said


@pytest.mark.parametrize(
    ("step", "why"),
    [
        *(
            (step, f"ended as {step}")
            for step in ("refused", "withdrawn", "expired", "diverged", "gone")
        ),
        ("released", "was released, and nothing shows that AWS accepted"),
    ],
)
def test_a_change_that_was_not_made_is_not_written_back(
    folder: Path, capsys: Any, step: str, why: str
) -> None:
    repository(folder, {"main.tf": MAIN})
    code, patch, said = written_back(folder, event(step=step), capsys=capsys)
    assert (code, patch) == (2, "")
    assert why in said
    assert "nothing to write back" in said


def test_without_a_recognised_owner_the_state_says_whose_it_is(folder: Path, capsys: Any) -> None:
    repository(folder, {"main.tf": MAIN})
    there = state(folder, resource("aws_ebs_volume.data", "aws_ebs_volume", id=VOLUME))
    code, patch, _ = written_back(folder, event(owner=None), "--state", there, capsys=capsys)
    assert code == 0
    assert changed_lines(folder, patch) == EDITED
    by_address = written_back(folder, event(owner={**TERRAFORM, "name": None}), "--address",
                              "aws_ebs_volume.other", capsys=capsys)  # fmt: skip
    assert by_address[0] == 0
    assert "aws_ebs_volume.other, found by the address" in by_address[2]


def test_an_instance_by_its_address_alone_is_no_device(folder: Path, capsys: Any) -> None:
    repository(folder, {"main.tf": 'resource "aws_instance" "web" {\n  ami = "x"\n}\n'})
    code, patch, said = written_back(
        folder, event(), "--address", "aws_instance.web", capsys=capsys
    )
    assert (code, patch) == (1, "")
    assert "use --state to find a device of an instance" in said


@pytest.mark.parametrize(("text", "code"), [("[]", 2), ("{}", 1), ('{"values": {}}', 1)])
def test_a_state_that_has_no_such_resource_is_refused(
    folder: Path, capsys: Any, text: str, code: int
) -> None:
    repository(folder, {"main.tf": MAIN})
    path = folder.parent / "state.json"
    path.write_text(text)
    assert written_back(folder, event(), "--state", str(path), capsys=capsys)[:2] == (code, "")


def test_json_has_the_patch_the_values_and_the_problem(folder: Path, capsys: Any) -> None:
    repository(folder, {"main.tf": MAIN})
    good = json.loads(written_back(folder, event(), "--json", capsys=capsys)[1])
    assert good["settings"] == {"type": "gp3", "size": 100, "iops": 6000, "throughput": 400}
    assert (good["problem"], good["made"], good["patch"][:13]) == (None, True, "--- a/main.tf")
    (folder / "main.tf").write_text("")
    code, out, _ = written_back(folder, event(GP3, FAST), "--json", capsys=capsys)
    assert code == 1
    assert json.loads(out)["patch"] is None
    assert "has no aws_ebs_volume" in json.loads(out)["problem"]
