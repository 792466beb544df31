"""The terms of a comparison, as its page and its documentation print them."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import cleandoc
from types import MappingProxyType

from headroom.proving.rivals import RULES
from headroom.proving.scoring.measures import DEFINITIONS
from headroom.proving.scoring.rows import (
    HALVES,
    RUNNING_USD_PER_MONTH,
    RUNNING_WITHOUT_CREDITS,
)

WORDS: Mapping[str, str] = MappingProxyType(
    {
        "starved minute": (
            "A UTC clock minute in which more than 1 % of the operations due, backlog included, "
            "wait longer because of the volume's IOPS, throughput or credits. Minutes that are "
            "starved even with the most the guardrails allow from the first minute on are counted "
            "apart. A figure for people; the score counts shortfall."
        ),
        "shortfall": (
            "What was due by a minute's end and not served because of the volume, as a share of what "
            "came due in the minute, at most 1; for a pool the share of its unlimited rate that it "
            "lost. What is left even with the most the guardrails allow from the first minute on is "
            "in no score."
        ),
        "score": (
            "Storage dollars, by the second, plus the preset's value of every shortfall minute; for "
            "Headroom also what running it costs."
        ),
        "regret": "Score above the oracle's on the same trace, scale, start and preset.",
        "Pareto front": (
            "Controllers that no other beats: none has at most as much shortfall and at most as many "
            "dollars, and less of one. References are left out."
        ),
        "worst on a trace": (
            "Its score, summed over the starts of one trace at one scale, is above that of every "
            "other controller by more than half a cent."
        ),
        "tolerable run": (
            "Its score is at most that of the better of none and static-peak on the same run, plus "
            "one unforeseeable reaction: 15 minutes of shortfall, or $0.30 if that is more."
        ),
        "calibration": (
            "Every seven hours of a run, Headroom forecasts for each of the next 24 hours how likely it is that at "
            "least one minute needs more than each of three sizes of gp3 can serve: 3,000 IOPS and 125 MiB/s, 6,000 "
            "and 250, 12,000 and 500. It knows only what CloudWatch had published by then, and a volume at its limit hides the load "
            "above it. The trace shows what came: of the hours forecast at 10 %, about 10 % should have such a minute."
        ),
        **DEFINITIONS,
        "invalid plan": (
            "A configuration that was planned or asked for and breaks one of AWS's limits or "
            "couplings."
        ),
        "halves": HALVES,
        "short and long": (
            "Traces shorter than seven days are repeated to seven; they are also summed apart, "
            "since how fast one reacts the first time dominates them."
        ),
    }
)

CONTROLLER_TEXTS: Mapping[str, str] = MappingProxyType(
    {
        "none": "No changes at all.",
        **{name: " ".join(cleandoc(rule.__doc__ or "").split()) for name, rule in RULES.items()},
        "headroom": (
            "Headroom with alarms over every volume, events and a scan every 15 minutes (`detection: "
            "fleet`), and the default policy in mode auto at the preset. With the default, `adaptive`, "
            "pressure without an alarm of its own is seen 15-28 minutes later in the median; that is "
            "not part of the score. Its score includes what running it "
            f"costs a month: ${RUNNING_USD_PER_MONTH:.2f} on a type with burst credits, "
            f"${RUNNING_WITHOUT_CREDITS:.2f} on others."
        ),
        "static-peak": (
            "A reference: the cheapest configuration for the largest demand of any step of the "
            "trace, cut to the ceilings, from minute 0 on. It is reached at once, or in legal steps "
            "where the owner's largest step is shorter."
        ),
        "best-static": (
            "A reference: the one configuration that scores best in hindsight, of a grid of IOPS "
            "and MiB/s and of staying at the start, from minute 0 on; it is reached as static-peak's is."
        ),
        "oracle": (
            "A reference: the cheapest schedule found with perfect foresight under the same rules, "
            "delays, slots and guardrails; no schedule scores less than its bound."
        ),
    }
)
