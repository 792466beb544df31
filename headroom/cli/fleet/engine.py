"""What the deployed engine would decide about many resources: the one-resource dry run, read in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import cached_property, partial
from typing import NamedTuple

from headroom.adapters.cloudwatch import PrefetchedMetrics
from headroom.adapters.compute_optimizer import Recommendation
from headroom.adapters.ebs import EbsStorage
from headroom.application import DryRunResult, decide_dry_run
from headroom.cli.fleet.pool import portable, worked
from headroom.cli.fleet.rows import Change, Depth, PlanRow
from headroom.cli.fleet.screen import plain_row, with_instances
from headroom.cli.second_opinion.opinion import SecondOpinion, second_opinion
from headroom.cli.sources.account import Account
from headroom.cli.sources.deployment import Deployment, deployment_in
from headroom.cli.sources.dry_run import FixedPolicy, dry_run_ports
from headroom.cli.sources.options import AccountOptions
from headroom.cli.terminal.names import short
from headroom.cli.views import decision as decision_view
from headroom.domain.catalog import PriceTable
from headroom.domain.decision import Act, Decision, Escalate
from headroom.domain.ledger import admit_change
from headroom.domain.planning import Plan, group_of
from headroom.domain.policy import (
    MODE_TAG,
    PREFIX,
    Mode,
    Policy,
    Rule,
    Selector,
    limits_for,
    owner_prices,
)
from headroom.domain.resources import Kind, PriceUnknown, ResourceRef, Volume
from headroom.domain.state import ConcurrencyState, InFlight
from headroom.ports import Ports, ReadFailed, Storage, StorageView
from headroom.proving.memory import with_raises
from headroom.proving.replay import by_instance, chunks

CHUNK = 8
"""Volumes whose metrics are read together: 14 days of them fill a dozen pages."""
AT_ONCE = 4
"""Resources decided about at once: the years before these days are read for each by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What every resource of one account and Region is decided under."""

    options: AccountOptions
    policy: Policy
    prices: PriceTable | None
    as_if_auto: bool
    """Whether every resource counts as enrolled (mode auto), unless it is off."""
    now: datetime
    stack: str | None
    """The stack of the deployment whose tables are read; None for none."""
    recommended: Mapping[str, Recommendation] = field(default_factory=dict)
    """Compute Optimizer's recommendations by ARN, to compare with."""


def decided(
    views: Sequence[StorageView], rules: Rules, where: Account, *, processes: int
) -> Iterator[list[PlanRow]]:
    """The rows of `views`, a chunk at a time."""
    prices = None if rules.prices is None else portable(rules.prices)
    arns = {view.volume.ref.arn for view in views} & rules.recommended.keys()
    advice = {arn: rules.recommended[arn] for arn in arns}
    make = partial(Engine, replace(rules, prices=prices, recommended=advice))
    yield from worked(chunks(views, CHUNK), make, where, rules.options, processes=processes)


class _Decided(NamedTuple):
    """A row, and what it would raise; None where nothing."""

    row: PlanRow
    raises: InFlight | None = None


class Engine:
    """Decides about resources of one account and Region, a chunk at a time."""

    def __init__(self, rules: Rules, where: Account) -> None:
        self._rules = rules
        self._where = where

    @cached_property
    def _ports(self) -> Ports:
        ports = dry_run_ports(self._where, self._rules.policy, self._deployment, cluster=True)
        return replace(ports, prices=_FixedPrices(self._rules.prices))

    @cached_property
    def _deployment(self) -> Deployment | None:
        stack = self._rules.stack
        return None if stack is None else deployment_in(self._where, stack)

    @cached_property
    def _volumes(self) -> EbsStorage:
        where = self._where
        return EbsStorage(where.ec2, account_id=where.account_id, region=where.region)

    @cached_property
    def _metrics(self) -> PrefetchedMetrics:
        where = self._where
        return PrefetchedMetrics(
            where.cloudwatch, account_id=where.account_id, region=where.region
        )  # fmt: skip

    def __call__(self, views: Sequence[StorageView]) -> list[PlanRow]:
        """A row of each; what cannot be read or decided about says why."""
        volumes = [view for view in views if view.volume.ref.kind is Kind.EBS]
        try:
            whole = {view.volume.ref: view for view in with_instances(self._volumes, volumes)}
        except ReadFailed as failed:
            return [
                self._failed(view, failed) if view in volumes else self._row(view, {}).row
                for view in views
            ]
        with suppress(ReadFailed):  # then each reads its own, and only those that cannot fail
            self._metrics.prefetch(tuple(whole.values()), self._rules.now)
        with suppress(Exception):  # each row says why; clients are made here, not by two threads
            _ = self._ports
        with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
            rows = pool.map(lambda view: self._row(view, whole), views)
            found = dict(zip([view.volume.ref for view in views], rows, strict=True))
        for group in by_instance(volumes):
            self._in_turn(group, whole, found)
        return [found[view.volume.ref].row for view in views]

    def _in_turn(
        self, views: Sequence[StorageView], whole: Mapping[ResourceRef, StorageView],
        found: dict[ResourceRef, _Decided],
    ) -> None:  # fmt: skip
        """Decide about the raises of one instance again, each with those before it: the most starved
        first, a striped set at once."""
        sets: dict[str, list[StorageView]] = {}
        for view in views:
            if found[view.volume.ref].raises is not None:
                name = group_of(self._rules.policy, view.volume) or view.volume.ref.arn
                sets.setdefault(name, []).append(view)
        begun: list[InFlight] = []
        for members in sorted(sets.values(), key=lambda each: _most_starved(each, found)):
            if begun:
                found.update({v.volume.ref: self._row(v, whole, begun) for v in members})
            begun += [one for view in members if (one := found[view.volume.ref].raises) is not None]

    def _row(
        self, view: StorageView, whole: Mapping[ResourceRef, StorageView],
        beside: Sequence[InFlight] = (),
    ) -> _Decided:  # fmt: skip
        """What is decided about one, as if the raises `beside` it had just begun."""
        ref = view.volume.ref
        try:
            known = whole.get(ref)
            policy, ports, clean = self._rules.policy, self._ports, _as_it_is
            if self._rules.as_if_auto:
                policy, clean = as_if_auto(policy, view.volume), partial(untagged, policy=policy)
            if known is not None:
                ports = replace(ports, metrics=self._metrics)
            storage = _DryStorage(ports.storage if known is None else self._volumes, known, clean)
            ports = replace(
                ports, storage=storage, policies=FixedPolicy(policy),  # type: ignore[arg-type]
                state_store=with_raises(ports.state_store, beside),
            )  # fmt: skip
            found = decide_dry_run(ports, ref, self._rules.now)
            opinion = self._opinion(found.decision, policy)
        except Exception as error:  # one resource's trouble must not hide the others
            return _Decided(self._failed(view, error))
        row = replace(row_of(found, view.volume, self._rules), opinion=opinion)
        return _Decided(row, _raise_of(found.decision, self._rules.now))

    def _opinion(self, decision: Decision, policy: Policy) -> SecondOpinion | None:
        advice = self._rules.recommended.get(decision.observation.volume.ref.arn)
        if advice is None:
            return None
        return second_opinion(decision, advice, policy, self._rules.prices)

    def _failed(self, view: StorageView, error: Exception) -> PlanRow:
        why = str(error) if isinstance(error, ReadFailed) else f"{type(error).__name__}: {error}"
        prices = owner_prices(self._rules.policy, view.volume, self._rules.prices)
        return plain_row(
            view.volume, self._rules.policy, prices, change=Change.FAILED, why=why,
            depth=Depth.ENGINE,
        )  # fmt: skip


def _most_starved(
    views: Sequence[StorageView], found: Mapping[ResourceRef, _Decided]
) -> tuple[float, str]:
    minutes = sum(found[view.volume.ref].row.starved_minutes_per_day for view in views)
    return -minutes, views[0].volume.ref.arn


def _raise_of(decision: Decision, now: datetime) -> InFlight | None:
    """What a decision about a volume adds to what it may take of its instance."""
    if decision.observation.volume.ref.kind is not Kind.EBS:
        return None
    begun = admit_change(ConcurrencyState(), decision, now)
    mine = begun.in_flight if isinstance(begun, ConcurrencyState) else ()
    return next((one for one in mine if one.adds_iops + one.adds_mibps > 0), None)


def row_of(found: DryRunResult, volume: Volume, rules: Rules) -> PlanRow:
    """The line of a decision; `volume` is as it is really tagged."""
    decision = found.decision
    plan, change = decision_view.chosen(decision), _change(decision)
    why = "; ".join((_reason(decision, volume), *found.remarks))
    prices = owner_prices(rules.policy, volume, rules.prices)
    if plan is None:
        return plain_row(
            volume, rules.policy, prices, change=change, why=why, depth=Depth.ENGINE,
            blocked_by=_blocked_by(decision, plan),
        )  # fmt: skip
    return plain_row(
        volume, rules.policy, prices, change=change, why=why, depth=Depth.ENGINE,
        target=str(plan.target), usd_change=float(plan.price_change_usd),
        starved_minutes_per_day=plan.relieved_minutes_per_day,
        exceeded_minutes=decision.demand.pressed_minutes, blocked_by=_blocked_by(decision, plan),
    )  # fmt: skip


def _reason(decision: Decision, volume: Volume) -> str:
    """The summary without the names and the change, which have columns of their own."""
    text = decision.summary.removeprefix(f"{short(volume.ref.arn)}: ")
    return text.partition(f"; {volume.configuration} -> ")[0]


def _change(decision: Decision) -> Change:
    plan = decision_view.chosen(decision)
    if plan is None:
        return Change.HOLD if isinstance(decision.answer, Escalate) else Change.NONE
    if not isinstance(decision.answer, Act):
        return Change.HOLD
    if plan.target.volume_type is not plan.origin.volume_type:
        return Change.MOVE
    raises = plan.sustains_more or plan.grows or plan.price_change_usd > 0
    return Change.RAISE if raises else Change.LOWER


def _blocked_by(decision: Decision, plan: Plan | None) -> tuple[str, ...]:
    answer = decision.answer
    if isinstance(answer, Act):
        return () if answer.approval is None else ("approval",)
    if plan is None:
        return (answer.reason.value,) if isinstance(answer, Escalate) else ()
    blocking = (
        verdict.guardrail.value for judged in decision.judgements if judged.plan == plan
        for verdict in judged.blocking
    )  # fmt: skip
    return tuple(dict.fromkeys(blocking)) or (answer.reason.value,)


def as_if_auto(policy: Policy, volume: Volume) -> Policy:
    """The policy as if the mode of `volume` were auto, with all its other limits.

    One that is off, or whose tags are not understood, stays as it is.
    """
    effective = limits_for(policy, volume)
    mode = Mode.OFF if effective.limits.mode is Mode.OFF else Mode.AUTO
    if effective.problem is not None:
        mode = effective.limits.mode
    settings = {
        each.name: getattr(effective.limits, each.name) for each in fields(effective.limits)
    }
    rule = Rule(
        selector=Selector(kind=volume.ref.kind),
        settings=tuple(sorted((settings | {"mode": mode}).items())),
    )
    return replace(policy, rules=(rule,))


def untagged(view: StorageView, *, policy: Policy) -> StorageView:
    """Without the tags that set limits; what they say is in the policy of `as_if_auto`."""
    group = policy.group_tag.strip().lower()

    def sets(key: str) -> bool:
        plain = key.strip().lower()
        return plain == MODE_TAG or (plain.startswith(PREFIX) and plain != group)

    tags = tuple((key, value) for key, value in view.volume.tags if not sets(key))
    return replace(view, volume=replace(view.volume, tags=tags))


def _as_it_is(view: StorageView) -> StorageView:
    return view


class _DryStorage:
    """Storage of which one view may be known already; `clean` is applied to every view."""

    def __init__(
        self, base: Storage, known: StorageView | None, clean: Callable[[StorageView], StorageView]
    ) -> None:
        self._base, self._known, self._clean = base, known, clean

    def fleet(self) -> Iterator[StorageView]:
        return map(self._clean, self._base.fleet())

    def view(self, ref: ResourceRef) -> StorageView:
        return self._clean(self._known or self._base.view(ref))

    def attached(self, instance_id: str) -> tuple[StorageView, ...]:
        return tuple(map(self._clean, self._base.attached(instance_id)))


class _FixedPrices:
    def __init__(self, table: PriceTable | None) -> None:
        self._table = table

    def table(self, region: str) -> PriceTable:
        if self._table is None:
            raise PriceUnknown(f"no prices are known in {region}")
        return self._table
