"""Metrics that functions print in CloudWatch's embedded metric format.

Source: CloudWatch User Guide, "Specification: Embedded metric format" (checked 2026-10).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from headroom.localaws.metrics import MetricKey


def metrics_in(line: bytes) -> Iterator[tuple[MetricKey, float, str | None]]:
    """Every metric value in a log line: its key, value and unit; nothing in any other line."""
    if b'"_aws"' not in line:
        return
    try:
        document = json.loads(line)
    except ValueError:
        return
    if not isinstance(document, dict):
        return
    for directive in (document.get("_aws") or {}).get("CloudWatchMetrics") or ():
        yield from _directive(directive, document)


def _directive(
    directive: dict[str, Any], document: dict[str, Any]
) -> Iterator[tuple[MetricKey, float, str | None]]:
    for names in directive.get("Dimensions") or [[]]:
        dimensions = [(name, str(document[name])) for name in names if name in document]
        for metric in directive.get("Metrics") or ():
            values = document.get(metric["Name"])
            key = MetricKey.of(directive["Namespace"], metric["Name"], dimensions)
            for value in values if isinstance(values, list) else [values]:
                if isinstance(value, int | float):
                    yield key, float(value), metric.get("Unit")
