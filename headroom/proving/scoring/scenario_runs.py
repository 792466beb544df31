"""Scenario files in a comparison: the exact physics, with the controllers that can run there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from headroom.domain.policy import limits_for
from headroom.domain.resources import Kind, ResourceRef
from headroom.proving.inputs import BadInput, as_quoted, load_yaml
from headroom.proving.scenarios import Scenario, load_scenario
from headroom.proving.simulation import ACCOUNT, VOLUME_ID, Controller, described_volume, simulate

CONTROLLERS: tuple[Controller, ...] = ("none", "headroom")
"""Controllers of a scenario: the published rules know no closed loops or instances."""
Json = dict[str, object]


def scenario_files(path: Path) -> list[Scenario]:
    """The scenario in `path`, or those of a YAML list of files, relative to it; raises BadInput."""
    listed = load_yaml(path)
    if isinstance(listed, dict) and "workload" in listed:
        return [load_scenario(path)]
    if not isinstance(listed, list) or not listed:
        raise BadInput(f"{path.name} must be a YAML list of scenario files, such as [a.yaml].")
    found = []
    for each in listed:
        if not isinstance(each, str):
            raise BadInput(f"{path.name} lists {as_quoted(each)}, which is no file name.")
        found.append(load_scenario(path.parent / each))
    return found


def run_scenario_file(scenario: Scenario) -> Iterator[Json]:
    """One row per controller, under the scenario's own policy."""
    value = _value_usd(scenario)
    for controller in CONTROLLERS:
        result = simulate(scenario, controller)
        yield {
            "scenario": scenario.name,
            "start": str(scenario.resource.configuration),
            "controller": controller,
            "value_usd": value,
            "score": round(float(result.storage_usd) + value * result.shortfall_minutes, 4),
            "storage_usd": round(float(result.storage_usd), 4),
            "shortfall_minutes": round(result.shortfall_minutes, 4),
            "starved_minutes": result.starved_minutes,
            "modifications": len(result.changes),
            "aws_refusals": len(result.refusals),
            "guardrail_violations": len(result.violations),
        }


def _value_usd(scenario: Scenario) -> float:
    """Value of a minute of full shortfall of this volume by the scenario's policy."""
    ref = ResourceRef(
        kind=Kind.EBS, account_id=ACCOUNT, region=scenario.aws.region, resource_id=VOLUME_ID
    )
    resource = scenario.resource
    volume = described_volume(
        ref, resource.configuration, created_at=scenario.start, tags=resource.tags
    )
    return limits_for(scenario.policy, volume).limits.relief_value_usd_per_minute
