"""The public scenario format: what it means, and one sentence for everything it cannot mean."""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from headroom.domain.policy import Mode
from headroom.proving.awsrules import Delays
from headroom.proving.inputs import BadInput
from headroom.proving.physics import BOUNDLESS, instance_limits
from headroom.proving.scenarios import Scenario, load_scenario, parse_scenario
from headroom.proving.simulation import simulate
from tests.proving.build import T0, configuration, gp3

WHOLE: dict[str, object] = {
    "name": "nightly batch",
    "start": "2026-01-05T00:00:00Z",
    "resource": {"kind": "ebs", "type": "gp2", "size_gib": 400, "tags": {"headroom": "auto"}},
    "attachment": {"instance_type": "m6i.2xlarge"},
    "workload": {"steps": [{"for": "30m", "iops": 500, "io_kib": 16, "read_fraction": 0.5}]},
}


def parsed(document: object, base: Path = Path()) -> Scenario:
    return parse_scenario(document, source="case.yaml", base=base)


def changed(path: str, value: object) -> dict[str, object]:
    document = deepcopy(WHOLE)
    *parents, key = path.split(".")
    place: dict[str, object] = document
    for parent in parents:
        place = place.setdefault(parent, {})  # type: ignore[assignment]
    place[key] = value
    return document


def trace_file(folder: Path, name: str = "db.csv", minutes: int = 10) -> Path:
    file = folder / name
    lines = [f"2020-03-01T00:{n:02d}:00Z,600,600,9830400,9830400\n" for n in range(minutes)]
    file.write_text(
        "timestamp,read_ops,write_ops,read_bytes,write_bytes\n" + "".join(lines), encoding="utf-8"
    )
    return file


def test_what_is_left_out_has_the_documented_defaults() -> None:
    scenario = parsed({k: WHOLE[k] for k in ("resource", "workload")})
    assert scenario.name == "case.yaml"
    assert scenario.start == datetime(2026, 1, 5, tzinfo=UTC)
    assert scenario.end == scenario.start + timedelta(minutes=30)
    assert scenario.resource.burst_balance_percent is None
    assert scenario.attachment_settings.attachment.limits == BOUNDLESS
    assert scenario.attachment_settings.queue_limit == 1024
    aws = scenario.aws
    assert (aws.region, aws.metric_delay) == ("us-east-1", timedelta(minutes=2))
    assert aws.delays == Delays(effect=timedelta(minutes=10), completed=timedelta(hours=2))
    assert (aws.modified_at, aws.known_to_ledger) == ((), True)
    assert scenario.policy.defaults.mode is Mode.OBSERVE
    assert scenario.policy.defaults.price_increase_usd == Decimal(250)
    assert scenario.history is None


def test_gp3_without_figures_is_what_aws_makes() -> None:
    assert (
        parsed(changed("resource", {"type": "gp3", "size_gib": 100})).resource.configuration
        == gp3()
    )


def test_a_trace_is_read_from_beside_the_scenario_and_moved_to_its_start(tmp_path: Path) -> None:
    trace_file(tmp_path)
    text = """
name: from a file
start: 2026-02-01T00:00:00Z
resource: {type: io2, size_gib: 100, iops: 5000, tags: {headroom: off, team: 7}}
workload: {trace: {file: db.csv, scale: 5, repeat: 2}}
history: {trace: {file: db.csv}}
aws: {modified_at: [2026-01-31T20:00:00Z, 2026-02-01T00:05:00+00:00], known_to_ledger: false}
policy: {defaults: {mode: auto, max_iops: 9000}}
"""
    (tmp_path / "case.yaml").write_text(text, encoding="utf-8")
    scenario = load_scenario(tmp_path / "case.yaml")
    start = datetime(2026, 2, 1, tzinfo=UTC)
    assert (scenario.start, scenario.end) == (start, start + timedelta(minutes=20))
    assert scenario.resource.configuration == configuration("io2", 100, 5_000)
    assert scenario.resource.tags == (("headroom", "off"), ("team", "7"))
    assert scenario.history is not None
    assert scenario.history.start == start - timedelta(minutes=10)
    assert scenario.aws.modified_at == (start - timedelta(hours=4), start + timedelta(minutes=5))
    assert scenario.policy.defaults.max_iops == 9_000
    first = scenario.workload.segments(0, 60)[0].load
    assert first is not None
    assert first.ops_per_s == 100


def test_without_a_start_a_trace_keeps_its_own_time(tmp_path: Path) -> None:
    trace_file(tmp_path)
    document = changed("workload", {"trace": {"file": "db.csv"}})
    del document["start"]
    assert parsed(document, tmp_path).start == datetime(2020, 3, 1, tzinfo=UTC)


def test_a_policy_may_be_a_file_beside_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("defaults: {mode: auto}\n", encoding="utf-8")
    assert parsed(changed("policy", "mine.yaml"), tmp_path).policy.defaults.mode is Mode.AUTO


def test_an_instance_is_named_or_given_in_figures() -> None:
    named = parsed(WHOLE).attachment_settings.attachment.limits
    assert named == instance_limits("m6i.2xlarge")
    assert (named.baseline_iops, named.maximum_iops) == (12_000, 40_000)
    assert named.baseline_mibps == pytest.approx(312.5e6 / 1024**2)
    given = {"baseline_iops": 2_000, "baseline_throughput_mbps": 100, "queue_limit": 64}
    attachment_settings = parsed(
        changed("attachment", given | {"other_load": {"iops": 50, "mibps": 2}})
    ).attachment_settings
    limits = attachment_settings.attachment.limits
    assert (limits.maximum_iops, attachment_settings.queue_limit) == (2_000, 64)
    assert limits.baseline_mibps == limits.maximum_mibps == pytest.approx(95.367, abs=0.001)
    assert (
        attachment_settings.attachment.other_iops,
        attachment_settings.attachment.other_mibps,
    ) == (50, 2)


def test_durations_are_written_as_people_write_them() -> None:
    for text, minutes in (("180s", 3), ("30m", 30), ("1h30m", 90), ("1.5h", 90), ("2d", 2_880)):
        step = {"for": text, "iops": 1, "io_kib": 4}
        scenario = parsed(changed("workload", {"steps": [step]}))
        assert scenario.end - scenario.start == timedelta(minutes=minutes)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("resorce", {}, "resorce is not a known key (did you mean resource?)"),
        ("resource.sizegib", 4, "resource.sizegib is not a known key (did you mean size_gib?)"),
        ("resource", None, "resource is missing"),
        ("resource", "gp3", "resource is 'gp3'; it must be a mapping"),
        ("resource.kind", "efs", "resource.kind is 'efs'; it must be one of ebs, rds"),
        ("resource.type", "gp4", "resource.type is 'gp4'; it must be one of gp3"),
        ("resource.type", None, "resource.type is missing"),
        ("resource.size_gib", 0, "resource.size_gib is 0; it must be from 1"),
        ("resource.size_gib", "400", "resource.size_gib is '400'; it must be a number"),
        ("resource.size_gib", True, "resource.size_gib is True; it must be a number"),
        ("resource.size_gib", 4.5, "it must be a whole number"),
        ("resource.size_gib", 20_000, "gp2 takes 1 to 16384 GiB"),
        ("resource.iops", 3_000, "gp2 derives its IOPS"),
        ("resource.burst_balance_percent", 101, "it must be from 0 to 100"),
        ("resource.tags", ["auto"], "resource.tags is ['auto']; it must be a mapping"),
        ("attachment.instance_type", "m6i.2xlrge", "did you mean m6i.2xlarge?"),
        ("attachment.baseline_iops", 5, "is given beside instance_type"),
        ("attachment", {"baseline_iops": 5}, "attachment.baseline_throughput_mbps is missing"),
        ("attachment", {"baseline_iops": 9, "baseline_throughput_mbps": 9, "maximum_iops": 5},
         "attachment.maximum_iops is 5, below the baseline of 9"),
        ("workload", {}, "workload is empty; it must have exactly one of"),
        ("workload.trace", {"file": "x"}, "workload has trace and steps; it must have exactly one"),
        ("workload", {"trace": {"file": "no.csv"}}, "no.csv cannot be read"),
        ("workload", {"trace": {}}, "workload.trace.file is missing"),
        ("workload", {"trace": {"file": "no.csv", "scale": 0}}, "scale is 0; it must be above 0"),
        ("workload", {"steps": []}, "workload.steps is empty"),
        ("workload", {"steps": {}}, "workload.steps is {}; it must be a list"),
        ("workload", {"steps": [{"for": "1h", "iops": -1, "io_kib": 4}]}, "steps[1].iops is -1"),
        ("workload", {"steps": [{"for": "soon", "iops": 1, "io_kib": 4}]}, "must be a duration"),
        ("workload", {"steps": [{"for": 30, "iops": 1, "io_kib": 4}]}, "must be a duration"),
        ("workload", {"steps": [{"for": "0s", "iops": 1, "io_kib": 4}]}, "shorter than a second"),
        ("workload", {"steps": [{"for": "900d", "iops": 1, "io_kib": 4}]}, "lasts 900 days"),
        ("workload", {"closed_loop": {"outstanding": 8, "io_kib": 4, "duration": "1h",
                                      "read_fraction": 70}}, "read_fraction is 70"),
        ("workload", {"closed_loop": {"outstanding": 8, "duration": "1h"}}, "io_kib is missing"),
        ("workload", {"closed_loop": {"outstanding": 8, "io_kib": 4, "duration": "1h",
                                      "sequential": "yes"}}, "must be true or false"),
        ("aws.region", "mars-1", "aws.region is 'mars-1'"),
        ("aws.metric_delay", 2, "aws.metric_delay is 2; it must be a duration"),
        ("aws.effect_delay", "3h", "longer than completes_after"),
        ("aws.effect_delay", "5m..3h", "longer than completes_after"),
        ("aws.effect_delay", "40m..5m", "a range goes from the least to the most"),
        ("aws.metric_delay", "1m..soon", "it must be a duration"),
        ("aws.modified_at", ["noon"], "aws.modified_at is 'noon'; it must be an instant"),
        ("aws.modified_at", "2026-01-05T00:00:00Z", "it must be a list"),
        ("aws.known_to_ledger", "false", "must be true or false"),
        ("start", "2026-01-05", "start is '2026-01-05', which has no time zone"),
        ("start", "soon", "start is 'soon'; it must be an instant"),
        ("start", "9999-12-31T23:59:59-23:59", "it must be from 1970 to 2200"),
        ("start", "0001-01-01T00:00:00+23:00", "it must be from 1970 to 2200"),
        ("history", {"steps": [{"for": "900d", "iops": 1, "io_kib": 4}]}, "history lasts 900 days"),
        ("attachment", [], "attachment is []; it must be a mapping"),
        ("name", 7, "name is 7; it must be text"),
        ("policy", "none.yaml", "none.yaml"),
        ("policy", {"defalts": {}}, "defalts"),
        ("policy", {"defaults": {"max_iops": -1}}, "max_iops"),
        ("history", {"steps": [{"for": "1h", "iops": 1}]}, "history.steps[1].io_kib is missing"),
    ],
)  # fmt: skip
def test_nonsense_is_refused_in_one_sentence_with_its_place(
    path: str, value: object, words: str
) -> None:
    with pytest.raises(BadInput) as caught:
        parsed(changed(path, value))
    message = str(caught.value)
    assert words in message
    assert "\n" not in message
    assert message.endswith(".")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "case.yaml is empty; give at least resource and workload."),
        ("# nothing\n", "case.yaml is empty"),
        ("- a\n- b\n", "it must be a mapping"),
        ("name: [", "not valid YAML at line"),
        ("name: a\nname: b\n", "key 'name' is given twice (line 2)"),
        ("name: a\nresource: {size_gib: 0200}\n", "0200 (line 2) begins with 0"),
        ("resource: {size_gib: 0900}\n", "write the number without it"),
        ("name: !!python/object:os.system {}\n", "not valid YAML"),
        ("\t", "not valid YAML"),
    ],
)
def test_what_is_no_scenario_at_all_is_refused(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "case.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput) as caught:
        load_scenario(file)
    assert words in str(caught.value)
    assert "case.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_an_attachment_the_volume_alone_is_to_blame_however_much_is_asked() -> None:
    step = {"for": "5m", "iops": 1e8, "io_kib": 16}
    document = {"resource": {"type": "gp3", "size_gib": 100}, "workload": {"steps": [step]}}
    assert simulate(parsed(document), "none").starved_minutes == 5


@pytest.mark.parametrize(("delay", "named"), [("2m", False), ("40m", True), ("4h", True)])
def test_metrics_that_come_too_late_to_judge_by_are_named_in_the_notes(
    delay: str, named: bool
) -> None:
    step = {"for": "2h", "iops": 4500, "io_kib": 16}
    document = {**WHOLE, "workload": {"steps": [step]}, "aws": {"metric_delay": delay}}
    notes = " ".join(simulate(parsed(document)).notes)
    assert ("never had enough metrics" in notes and "(metric_delay)" in notes) is named


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        load_scenario(tmp_path / "none.yaml")


def test_the_first_minute_of_the_scenario_is_the_start() -> None:
    assert parsed(WHOLE).start == T0


def test_delays_in_ranges_are_drawn_by_the_name_of_the_scenario() -> None:
    ranges = {"metric_delay": "1m..5m", "effect_delay": "5m..40m", "completes_after": "1h..6h"}
    document = {k: WHOLE[k] for k in ("resource", "workload")} | {"aws": ranges}
    found = [parsed(document | {"name": name}).aws for name in ("a", "a", "b", "c", "d", "e")]
    assert found[0] == found[1]
    assert len({each.metric_delay for each in found}) > 1
    assert all(timedelta(minutes=1) <= each.metric_delay <= timedelta(minutes=5) for each in found)
    assert len({each.delays.at(T0) for each in found}) == 5
