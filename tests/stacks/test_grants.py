"""Every grant of the template is one that the whole demo uses, or is listed with a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headroom.cli.demo.results.access import access_of, listed, names_of
from headroom.localaws.iam.conditions import condition_of
from headroom.localaws.iam.reference import known_actions
from tests.stacks.conftest import Synth, Synthesised, resources, text_of
from tests.stacks.test_hub import HUB_SETTINGS


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _grants(made: Synthesised) -> list[dict[str, Any]]:
    """The grants of all roles, as the endpoint reports them."""
    return [
        {
            "role": name,
            "sid": s["Sid"],
            "action": action,
            "resource": text_of(resource),
            "used": True,
        }
        for name, role in resources(made.loop, "AWS::IAM::Role").items()
        for policy in role["Properties"]["Policies"]
        for s in policy["PolicyDocument"]["Statement"]
        for action in _listed(s["Action"])
        for resource in _listed(s["Resource"])
    ]


def test_every_grant_is_used_by_the_demo_or_listed_with_a_reason(
    shipped: Synthesised, synth: Synth, tmp_path: Path
) -> None:
    names = names_of(_grants(shipped))
    assert len(set(names)) == len(names), "two grants have one name"
    known = listed().used | set(listed().unused)
    assert set(names) <= known, "run the demo, then list the grant"
    (tmp_path / "policy.yaml").write_text("account:\n  calendars: [closed-days]\n")
    everything = synth(
        topic_key="on", seal_records="on", ebs_free_space="on",
        policy_file=str(tmp_path / "policy.yaml"),
        **HUB_SETTINGS,
    )  # fmt: skip
    assert set(names_of(_grants(everything))) == known, "the list names a grant that is gone"
    assert all(len(reason) > 30 for reason in listed().unused.values())


def test_every_condition_of_every_role_is_one_that_the_endpoint_evaluates(synth: Synth) -> None:
    """A condition that is not understood denies its role everything there."""
    made = synth(ebs_free_space="on", seal_records="on", hard_caps={"resource_tag": "a=b"})
    found = [
        condition_of(operator, key, tuple(map(text_of, _listed(values)))).key
        for role in resources(made.loop, "AWS::IAM::Role").values()
        for policy in role["Properties"]["Policies"]
        for statement in policy["PolicyDocument"]["Statement"]
        for operator, keys in statement.get("Condition", {}).items()
        for key, values in keys.items()
    ]
    assert {"ssm:resourcetag/headroom", "aws:resourcetag/a"} <= set(found)


def test_every_action_of_the_template_is_one_that_iam_knows(shipped: Synthesised) -> None:
    assert {grant["action"] for grant in _grants(shipped)} <= known_actions()


def test_the_demo_notices_denials_and_a_list_that_is_not_true(shipped: Synthesised) -> None:
    grants = _grants(shipped)
    for grant, name in zip(grants, names_of(grants), strict=True):
        grant["used"] = name in listed().used
    report: dict[str, Any] = {"evaluated": 7, "denials": [], "grants": grants}
    assert access_of(report, whole=True).problems == ()
    assert access_of(report, whole=True).unused == len(grants) - len(listed().used)

    (modify,) = [one for one in grants if one["action"] == "ec2:ModifyVolume"]
    modify["used"] = False
    unused = ("No request used the grant Signals ChangeVolumesHere ec2:ModifyVolume",)
    assert access_of(report, whole=True).problems == unused
    assert access_of(report, whole=False).problems == ()
    off = access_of({**report, "evaluated": 0}, whole=False)
    assert off.problems == ("No access was evaluated",)
    for grant in grants:
        grant["used"] = True
    unused_here = [name for name in names_of(grants) if name in listed().unused]
    assert len(access_of(report, whole=True).problems) == len(unused_here) > 20

    denial = {"session": "s", "action": "ec2:RunInstances", "resource": "*", "why": "", "times": 2}
    found = access_of({**report, "denials": [denial]}, whole=False).problems
    assert len(found) == 1
    assert "Denied 2 times: s ec2:RunInstances" in found[0]
    more = [*grants, {**modify, "action": "ec2:DeleteVolume"}]
    found = access_of({**report, "grants": more}, whole=True).problems
    assert "The grant is not listed: Signals ChangeVolumesHere ec2:DeleteVolume" in found
