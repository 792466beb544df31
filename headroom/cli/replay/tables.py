"""The result of a replay, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from rich.console import Console

from headroom.cli.replay import clusters as replay_clusters
from headroom.cli.replay.batch import Missed, Rules
from headroom.cli.terminal.names import short
from headroom.cli.terminal.output import money, say, table, utc
from headroom.domain.resources import Volume
from headroom.proving.replay import PlaybackOutcome, Replayed, largest_configuration

Json = dict[str, object]
NOTES = (
    "Starved minutes are a lower bound: load that a limit held back is rebuilt from what was "
    "served, in the same order and with nothing added. With Headroom there may be a few more where "
    "the load wanted more than four times what it got.",
    "Every volume and database is enrolled for the replay (mode auto) and begins as it is configured "
    "today. The instance's limits count where its volumes together might reach them: those that are "
    "replayed are played one after another, the most starved first, each beside the raises before it. "
    "The account's price limit does not count. For a database the instance class counts, as far as "
    "it is known.",
    "As when it is deployed, the engine knows the 14 days before, as far as CloudWatch kept them.",
)
PERIODS = {60: "minutes", 300: "5-minute periods", 3_600: "hours"}
MINIMUM_REPORTED_USD = 0.01
"""Share of minutes that is always missing: the newest are not published yet."""
MOST_CHANGES = 3
"""Changes named in a cell; --json has them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySummary:
    """A whole replay."""

    account_id: str
    region: str
    rules: Rules
    found: Sequence[Replayed | Missed]
    clusters: Sequence[replay_clusters.Found] = ()

    @property
    def replayed(self) -> tuple[Replayed, ...]:
        """Volumes that were replayed, those with the most starved minutes avoided first."""
        every = (one for one in self.found if isinstance(one, Replayed))
        return tuple(sorted(every, key=lambda one: (-one.avoided_minutes, one.usd_change)))

    @property
    def missed(self) -> tuple[Missed, ...]:
        """Volumes that were not."""
        return tuple(one for one in self.found if isinstance(one, Missed))

    def over_account_limit(self) -> Decimal | None:
        """What all increases together would have come to a month, if above the account's limit."""
        most = largest_configuration(self.replayed)
        return most if most > self.rules.policy.account_increase_usd else None

    def total_in_words(self) -> str:
        """All volumes together, in a sentence."""
        total, every = _total(self.replayed), self.replayed
        return (
            f"Total of {len(every):,}: {total['starved_minutes']:,} starved minutes, "
            f"{total['starved_minutes_headroom']:,} with Headroom "
            f"({total['avoided_minutes']:,} avoided, worth {money(_worth(every))}); "
            f"{money(_of(every, 'storage'))} for storage, "
            f"{money(_of(every, 'storage') + _of(every, 'change'))} with Headroom "
            f"({money(_of(every, 'change'), signed=True)}); "
            f"{total['modifications']:,} changes."
        )

    def to_json(self) -> Json:
        """The object that `headroom replay --json` prints; a row per volume and their total."""
        most = largest_configuration(self.replayed)
        return {
            "account_id": self.account_id,
            "region": self.region,
            "from": _instant(self.rules.since),
            "until": _instant(self.rules.until),
            "days": self.rules.days,
            "policy_version": self.rules.policy.version,
            "prices": f"{self.rules.prices.source}, {self.rules.prices.as_of.isoformat()}",
            "volumes": [
                *(_row(one) for one in self.replayed),
                *(_missed(one) for one in self.missed),
            ],
            "total": {
                **_total(self.replayed),
                "volumes": len(self.found),
                "replayed": len(self.replayed),
                "not_replayed": sum(not one.failed for one in self.missed),
                "failed": sum(one.failed for one in self.missed),
                "most_increase_usd_per_month": _usd(most),
                "account_limit_usd_per_month": _usd(self.rules.policy.account_increase_usd),
            },
            "clusters": replay_clusters.as_objects(self.clusters),
            "notes": list(NOTES),
        }


def show(summary: ReplaySummary, console: Console) -> None:
    """The table for people, the total, and what they must know to read it."""
    rows = [_cells(one) for one in summary.replayed]
    title = f"{summary.region}, {utc(summary.rules.since)} to {utc(summary.rules.until)}, as if enrolled"
    columns = ("Name", "It is", "Starved", "Storage", "Headroom would have made it")
    if rows:
        console.print(table(title, columns, rows))
    if summary.found:
        console.print(summary.total_in_words(), soft_wrap=True)
    replay_clusters.show(summary.clusters, console)
    for note in _remarks(summary):
        say(f"Note: {note}", console)


def _remarks(summary: ReplaySummary) -> Iterator[str]:
    yield from NOTES
    over = summary.over_account_limit()
    if over is not None:
        limit = money(summary.rules.policy.account_increase_usd)
        yield (
            f"Together the increases would have come to {money(over)} a month, above the account's "
            f"limit of {limit}: some of them would have been refused."
        )
    for one in summary.replayed:
        for sentence in remarks(one):
            yield f"{short(one.view.volume.ref.arn)}: {sentence}"
    for missed in summary.missed:
        yield f"{short(missed.view.volume.ref.arn)} was not replayed: {missed.why}."


def remarks(one: Replayed) -> Iterator[str]:
    """Peculiarities in the history of a volume, a sentence each."""
    known, change = one.known, one.view.modification
    lacking = known.minutes - known.measured
    if lacking > known.minutes * MINIMUM_REPORTED_USD:
        yield f"{lacking:,} of {known.minutes:,} minutes were not measured."
    database = one.view.volume.configuration.database
    if database is None and known.unchecked > known.minutes * MINIMUM_REPORTED_USD:
        yield (
            f"in {known.unchecked:,} minutes AWS published no Exceeded check (its instance is not "
            "Nitro, or was another one then); there what touched a limit counts as held back."
        )
    if known.by_instance:
        yield (
            f"in {known.by_instance:,} minutes its instance was the limit; no change of the "
            "volume would have helped there."
        )
    if known.not_rebuilt:
        yield (
            f"{known.not_rebuilt:,} bursts that a check saw were too short to be rebuilt from "
            "averages; they count nowhere."
        )
    if change is not None and change.started_at >= known.start:
        yield (
            f"it was changed from {change.origin} to {change.target} at {utc(change.started_at)}; "
            f"replayed as {one.view.volume.configuration} all along."
        )
    if known.periods_s != (60,):
        kept = ", then ".join(PERIODS.get(p, f"{p} s") for p in known.periods_s)
        yield f"CloudWatch keeps its past as {kept}; shorter bursts are averaged away."


def _cells(one: Replayed) -> tuple[str, ...]:
    alone, headroom = one.left_alone, one.headroom
    starved = f"{alone.starved_minutes:,} -> {headroom.starved_minutes:,} min"
    paid = f"{money(alone.storage_usd)} -> {money(headroom.storage_usd)}"
    changes = [f"{change.at:%m-%d %H:%MZ} {change.target}" for change in headroom.changes]
    more = [f"and {len(changes) - MOST_CHANGES} more"] if len(changes) > MOST_CHANGES else []
    return (
        short(one.view.volume.ref.arn),
        _what(one.view.volume),
        starved if alone.starved_minutes or headroom.starved_minutes else "never",
        paid if headroom.changes else money(alone.storage_usd),
        "\n".join([*changes[:MOST_CHANGES], *more]) or "no change",
    )


def _what(volume: Volume) -> str:
    database, facts = volume.configuration.database, volume.facts
    if database is None:
        return str(volume.configuration)
    return (
        f"{volume.configuration} ({database}{'' if facts is None else f', {facts.instance_class}'})"
    )


def _row(one: Replayed) -> Json:
    volume, known = one.view.volume, one.known
    return {
        "volume_id": short(volume.ref.arn),
        "kind": volume.ref.kind.value,
        "engine": None
        if volume.configuration.database is None
        else str(volume.configuration.database),
        "name": volume.tag("Name"),
        "replayed": True,
        "configuration": str(volume.configuration),
        "instance_id": volume.instance_ids[0] if volume.instance_ids else None,
        "minutes": known.minutes,
        "measured_minutes": known.measured,
        "throttled_minutes": known.held,
        "instance_limited_minutes": known.by_instance,
        "unchecked_minutes": known.unchecked,
        "bursts_not_rebuilt": known.not_rebuilt,
        "periods_s": list(known.periods_s),
        "relief_value_usd_per_minute": one.relief_usd_per_minute,
        **_total([one]),
        "usd_per_month": _usd(one.usd_per_month),
        "usd_per_month_end_headroom": _usd(one.headroom.usd_per_month_end),
        "decisions": _decisions(one.headroom),
        "changes": [
            {
                "at": _instant(change.at),
                "from": str(change.origin),
                "to": str(change.target),
                "usd_per_month": _usd(change.usd_change),
                "reason": change.reason,
            }
            for change in one.headroom.changes
        ],
        "notes": list(remarks(one)),
    }


def _missed(one: Missed) -> Json:
    return {
        "volume_id": short(one.view.volume.ref.arn),
        "kind": one.view.volume.ref.kind.value,
        "name": one.view.volume.tag("Name"),
        "replayed": False,
        "configuration": str(one.view.volume.configuration),
        "failed": one.failed,
        "why": one.why,
    }


def _total(every: Sequence[Replayed]) -> Json:
    avoided = sum(one.avoided_minutes for one in every)
    return {
        "starved_minutes": sum(one.left_alone.starved_minutes for one in every),
        "starved_minutes_headroom": sum(one.headroom.starved_minutes for one in every),
        "avoided_minutes": avoided,
        "worth_usd": round(_worth(every), 2),
        "storage_usd": _usd(_of(every, "storage")),
        "storage_usd_headroom": _usd(_of(every, "storage") + _of(every, "change")),
        "storage_usd_change": _usd(_of(every, "change")),
        "modifications": sum(len(one.headroom.changes) for one in every),
        "aws_refusals": sum(one.headroom.aws_refusals for one in every),
        "guardrail_violations": sum(one.headroom.guardrail_violations for one in every),
    }


def _worth(every: Sequence[Replayed]) -> float:
    return sum((o.avoided_minutes * o.relief_usd_per_minute for o in every), 0.0)


def _of(every: Sequence[Replayed], what: str) -> Decimal:
    if what == "storage":
        return sum((one.left_alone.storage_usd for one in every), Decimal(0))
    return sum((one.usd_change for one in every), Decimal(0))


def _decisions(played: PlaybackOutcome) -> Json:
    return {"act": played.acts, "hold": played.holds, "escalate": played.escalations}


def _usd(amount: Decimal) -> float:
    return round(float(amount), 4)


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
