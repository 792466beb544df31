"""Cuts botocore's models of services to what the functions call: the largest part of a cold start was reading them.

A client reads the whole model of its service: EC2's has 700 operations, of which the functions use five. What is
kept has no documentation, which is most of a model and read by nobody, and is not packed.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from headroom.adapters import actions

CUT = ("ec2", "rds", "ssm")
"""Services with large models whose operations are named like their IAM actions."""
Json = dict[str, Any]


def operations(service: str) -> frozenset[str]:
    """The operations of a service that the adapters are granted, so that they may call no other."""
    granted = (
        action
        for name, value in vars(actions).items()
        if name.endswith("_ACTIONS")
        for action in value
    )
    return frozenset(a.partition(":")[2] for a in granted if a.startswith(f"{service}:"))


def cut(model: Json, kept: Iterable[str]) -> Json:
    """The model with these operations, the shapes that they use, and no documentation."""
    chosen = {name: model["operations"][name] for name in sorted(kept)}
    shapes: Json = {}
    missing = [name for each in chosen.values() for name in _named(each)]
    while missing:
        name = missing.pop()
        if name not in shapes:
            shapes[name] = model["shapes"][name]
            missing += _named(shapes[name])
    found: Json = _undocumented(
        {**model, "operations": chosen, "shapes": dict(sorted(shapes.items()))}
    )
    return found


def _named(part: object) -> list[str]:
    """The shapes that an operation or a shape refers to."""
    if isinstance(part, Mapping):
        mine = [part["shape"]] if isinstance(part.get("shape"), str) else []
        return mine + [name for each in part.values() for name in _named(each)]
    return [name for each in part for name in _named(each)] if isinstance(part, list) else []


def _undocumented(part: Any) -> Any:
    if isinstance(part, dict):
        return {
            name: _undocumented(each)
            for name, each in part.items()
            if name != "documentation" or not isinstance(each, str)
        }
    return [_undocumented(each) for each in part] if isinstance(part, list) else part


def cut_models(data: Path) -> tuple[Path, ...]:
    """Cut the models and the list of endpoints in botocore's folder `data`; the files that it wrote.

    Of each service the latest version stays, with all its operations if it is not one of `CUT`. What it writes
    is plain JSON, whose bytes depend on no compressor: the same sources give the same asset.
    """
    written, prefixes = [], set()
    for service in sorted(each for each in data.iterdir() if each.is_dir()):
        *earlier, latest = sorted(each for each in service.iterdir() if each.is_dir())
        for folder in earlier:
            shutil.rmtree(folder)
        packed = latest / "service-2.json.gz"
        model = json.loads(gzip.decompress(packed.read_bytes()))
        packed.unlink()
        prefixes.add(model["metadata"]["endpointPrefix"])
        kept = operations(service.name) if service.name in CUT else model["operations"]
        written.append(_write(packed.with_suffix(""), cut(model, kept)))
    endpoints = data / "endpoints.json"
    listed = json.loads(endpoints.read_text(encoding="utf-8"))
    for partition in listed["partitions"]:
        partition["services"] = {
            name: each for name, each in partition["services"].items() if name in prefixes
        }
    return (*written, _write(endpoints, listed))


def _write(file: Path, content: Json) -> Path:
    file.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")
    return file
