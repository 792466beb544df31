"""A comparison as tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from headroom.cli.comparison import calibration
from headroom.cli.terminal.output import money, say, table
from headroom.proving.scoring import GROUPS

Json = Mapping[str, Any]
UNSAVABLE = "unsavable min"
OURS = "headroom"
REFERENCES = ("static-peak", "best-static", "oracle")
COLUMNS = ("", "controller", "score", "regret", "dollars", "shortfall min", "starved min", UNSAVABLE,
           "changes", "raises", "AWS refused", "outside limits")  # fmt: skip


def show(results: Json, console: Console) -> None:
    """Print what `headroom compare --json` says, for people."""
    runs = results["summary"]["cases"]
    for preset, found in results["summary"]["presets"].items():
        value = results["conditions"]["presets_usd_per_shortfall_minute"][preset]
        title = f"{preset}: a minute of shortfall is worth ${value:.2f}; {runs} runs each"
        columns = [name for name in COLUMNS if name != UNSAVABLE]
        console.print(_whole(table(title, columns, list(_ranked(found)))))
        for line in ("* on the Pareto front of shortfall against dollars",
                     unavoidable(found), oracle(found), ""):  # fmt: skip
            say(line, console)
        groups = [(each["controller"], *by_group(each)) for each in found["controllers"]]
        console.print(_whole(table(BY_GROUP, ("controller", *GROUPS), groups)))
        console.print(table(BY_TRACE, by_trace_columns(found), list(by_trace(found))))
        console.print()
        console.print(
            table(
                "targets", ("", "is", "must be", "tuning half", "unseen half", ""),
                [tuple(target(each)[name] for name in SHOWN) for each in found["targets"]],
            )
        )  # fmt: skip
        for each in found["targets"]:
            if each["met"] is False and each["detail"]:
                say(f"{each['key']}: {each['detail']}", console)
        console.print()
        if forecasts := found.get("calibration"):
            drawn = list(calibration.rows(forecasts))
            console.print(table(CALIBRATION, calibration.COLUMNS, drawn))
            say(calibration.remark(forecasts), console)
            console.print()
    if results.get("scenarios"):
        console.print(table("scenarios", SCENARIO, [scenario(s) for s in results["scenarios"]]))
    for line in remarks(results):
        say(line, console)


def _ranked(found: Json) -> Iterator[tuple[str, ...]]:
    for each in found["controllers"]:
        front = not each["dominated"] and each["kind"] != "reference"
        cells = dict(zip(COLUMNS[2:], sums(each["totals"]["all"]), strict=True))
        del cells[UNSAVABLE]  # it is the same for nearly everybody, and the terminal is narrow
        yield (place(each) + (" *" if front else ""), each["controller"], *cells.values())


def _whole(drawn: Table) -> Table:
    """The table with controllers' names and their money in one piece."""
    for column in drawn.columns:
        column.no_wrap = column.header in ("controller", "score", "regret", "dollars")
    return drawn


def place(each: Json) -> str:
    """A controller's rank, or that it is a reference."""
    return "ref" if each["kind"] == "reference" else f"{each['rank']}"


def sums(total: Json) -> tuple[str, ...]:
    """The sums of one controller in the order of COLUMNS."""
    return (
        money(total["score"]),
        money(total["regret"]),
        money(total["storage_usd"]),
        f"{total['shortfall_minutes']:,.0f}",
        f"{total['starved_minutes']:,}",
        f"{total['unsavable_minutes']:,}",
        f"{total['modifications']:,}",
        f"{total['price_raising']:,}",
        f"{total['aws_refusals']:,}",
        f"{total['guardrail_violations']:,}",
    )


def unavoidable(found: Json) -> str:
    """The starved minutes that are in nobody's score."""
    counts = sorted(each["totals"]["all"]["unsavable_minutes"] for each in found["controllers"])
    most = "" if counts[0] == counts[-1] else f" to {counts[-1]:,}"
    return (
        f"Besides, {counts[0]:,}{most} starved minutes that nothing within the guardrails would "
        "have saved; their shortfall is in no score."
    )


CALIBRATION = "calibration of the forecast"
BY_GROUP = "score (regret) by group of traces"
BY_TRACE = "score by trace, over all starts"


def by_group(each: Json) -> tuple[str, ...]:
    """One controller's score and regret in every group of traces."""
    totals = (each["totals"][group] for group in GROUPS)
    return tuple(f"{money(t['score'])} ({money(t['regret'])})" for t in totals)


def by_trace_columns(found: Json) -> tuple[str, ...]:
    """The columns of `by_trace`."""
    return ("trace", "scale", *_named(found), "oracle's bound", "best published rule")


def by_trace(found: Json) -> Iterator[tuple[str, ...]]:
    """Headroom between nobody, the references and the best published rule, on each trace."""
    published = [e["controller"] for e in found["controllers"] if e["kind"] == "published"]
    for each in found["by_trace"]:
        scores = each["scores"]
        best = min(published, key=lambda name: scores[name])
        shown = (money(scores[name]) for name in _named(found))
        bound = money(each["oracle_bound"])
        yield each["trace"], each["scale"], *shown, bound, f"{money(scores[best])} ({best})"


def _named(found: Json) -> tuple[str, ...]:
    names = ("none", OURS, *REFERENCES)
    return tuple(name for name in names if name in found["by_trace"][0]["scores"])


def oracle(found: Json) -> str:
    """How far the oracle can be from the best there is."""
    oracle = found["oracle"]
    return (
        f"The oracle's schedules score {money(oracle['score'])}; none scores less than "
        f"{money(oracle['bound'])}. In {oracle['proven_optimal']:,} of {oracle['runs']:,} runs its "
        "schedule is proven to be the best."
    )


def figure(key: str, value: float | None) -> str:
    """A target's figure as people read it."""
    if value is None:
        return "-"
    if key.endswith("_share"):
        return f"{value:.1%}"
    whole = key.endswith(("_on", "_slots", "_plans", "_none")) or key == "violations"
    return f"{value:,.0f}" if whole else f"{value:,.2f}"


def limit(target: Json) -> str:
    """What a target must be, for example `at most 0.50`."""
    word = "at most" if target["at_most"] else "at least"
    return f"{word} {figure(target['key'], target['limit'])}"


def verdict(target: Json) -> str:
    """Whether a target is met, in a word."""
    return {True: "met", False: "MISSED", None: "not measured"}[target["met"]]


def target(each: Json) -> dict[str, str]:
    """A target as tables show it."""
    key, shown = each["key"], figure(each["key"], each["figure"])
    if each["met"] is False and shown == figure(key, each["limit"]):  # two digits would hide it
        shown = f"{each['figure']:,.3f}"
    return {
        "key": key,
        "about": each["about"],
        "figure": shown,
        "limit": limit(each),
        "tuning": figure(key, each["tuning"]),
        "unseen": figure(key, each["unseen"]),
        "verdict": verdict(each),
        "detail": each["detail"],
    }


SHOWN = ("about", "figure", "limit", "tuning", "unseen", "verdict")
SCENARIO = (
    "scenario", "controller", "score", "dollars", "shortfall min", "starved min", "changes",
    "AWS refused",
)  # fmt: skip


def scenario(each: Json) -> tuple[str, ...]:
    """One line of a scenario, in the order of SCENARIO."""
    return (
        each["scenario"],
        each["controller"],
        money(each["score"]),
        money(each["storage_usd"]),
        f"{each['shortfall_minutes']:,.1f}",
        f"{each['starved_minutes']:,}",
        f"{each['modifications']:,}",
        f"{each['aws_refusals']:,}",
    )


SCALES_SAID = {
    "1": "as they are",
    "auto": "times the constant of at least 1 that brings the 99th percentile of demand to twice "
    "what gp3 serves at its baseline (3,000 IOPS or 125 MiB/s, whichever binds first)",
}


def _range(ends: list[int]) -> str:
    return f"{ends[0]} to {ends[1]}"


def remarks(results: Json) -> Iterator[str]:
    """Conditions and caveats, a line each."""
    c, halves = results["conditions"], results["summary"]["halves"]
    policy = c["policy"]
    yield (
        f"Conditions: {c['prices']}; starts {', '.join(c['starts'].values())}; "
        f"credit buckets {c['burst_balance_percent']:g} % full; "
        f"instance {c['instance']}; metrics {_range(c['metric_delay_min'])} minutes late; effect after "
        f"{_range(c['effect_after_min'])} minutes, completed after {_range(c['completed_after_min'])} "
        "(drawn, and unknown to controllers); loads "
        f"{' and '.join(SCALES_SAID[scale] for scale in c['scales'])}; traces under {c['traces_repeated_to_days']} days repeated to "
        f"that; {c['kib_per_operation_where_unknown']} KiB per operation where only bytes are known; "
        f"policy: {' and '.join(policy['types'])}, at most {policy['max_iops']:,} IOPS, "
        f"{policy['max_throughput_mibps']:,} MiB/s, x{policy['largest_step']:g} a step, "
        f"+${policy['price_increase_usd']:g} a month, {policy['modifications_per_24h']} "
        "modifications in 24 h."
    )
    running = c["running_usd_per_month"]
    yield (
        "Score = storage dollars + value x shortfall minutes that some configuration within the "
        f"guardrails would have saved + for running Headroom (its own only) "
        f"${running['with credits']:.2f} a month on types with burst credits, ${running['without']:.2f} "
        "on others. Regret = score above the oracle's."
    )
    yield (
        f"{halves['rule']} Tuning: {', '.join(halves['tuning']) or 'none'}. "
        f"Unseen: {', '.join(halves['unseen']) or 'none'}."
    )
    if results.get("suite") == "shapes":
        yield "These loads are synthetic: they show which rhythms are met, and no figure of merit."
    elif results.get("made_up"):
        yield "These loads are synthetic (no --traces); do not rely on these figures."
    yield f"{results['summary']['runs']:,} runs in {results['seconds']:,.0f} s."
