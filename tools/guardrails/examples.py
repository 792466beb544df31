"""Examples: each turns a case that every guardrail allows into one that a guardrail blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from headroom.domain.guardrails import Case, ClusterCase
from headroom.domain.planning import GroupConstraint
from headroom.domain.policy import CodeOwned, Freeze
from headroom.domain.resources import (
    Configuration,
    Database,
    DatabaseFacts,
    Engine,
    Goal,
    Member,
    Modification,
    ModificationState,
    VolumeType,
)
from headroom.domain.state import (
    QUIET_AFTER_ROLLBACK,
    CalendarState,
    ConcurrencyState,
    InFlight,
    KnownModification,
    RolledBack,
)
from headroom.domain.workload import Binding, SpaceBasis, SpaceForecast


def limits(**limits: Any) -> Callable[[Case], Case]:
    def made(case: Case) -> Case:
        effective = replace(case.effective, limits=replace(case.effective.limits, **limits))
        return replace(case, effective=effective)

    return made


def resource_state(change: Callable[[Case], Mapping[str, Any]]) -> Callable[[Case], Case]:
    return lambda case: replace(case, resource_state=replace(case.resource_state, **change(case)))


def volume(**changes: Any) -> Callable[[Case], Case]:
    def made(case: Case) -> Case:
        seen = replace(case.observation, volume=replace(case.observation.volume, **changes))
        return replace(case, observation=seen)

    return made


def target(**changes: Any) -> Callable[[Case], Case]:
    def made(case: Case) -> Case:
        return replace(case, plan=replace(case.plan, target=replace(case.plan.target, **changes)))

    return made


def nearly_full(case: Case) -> Case:
    space = SpaceForecast(
        size_gib=400, free_gib=4.0, reserve_gib=40.0, lowest_gib=-10.0, fill_gib_per_day=48.0,
        full_at=case.observation.at + timedelta(hours=2), needed_gib=480, basis=SpaceBasis.SURGE,
        short=True, explanation="4.0 of 400 GiB are free; 2.0 GiB an hour more for the last hour",
    )  # fmt: skip
    return replace(case, space=space)


def less_durable(case: Case) -> Case:
    origin = Configuration(
        volume_type=VolumeType.IO2, size_gib=100, iops=3000, throughput_mibps=None
    )
    return replace(case, plan=replace(case.plan, origin=origin))


def undone(case: Case) -> RolledBack:
    at = case.observation.at - timedelta(hours=3)
    return RolledBack(decision_id="0123456789abcdef0123", at=at, until=at + QUIET_AFTER_ROLLBACK)


def in_flight(case: Case) -> Case:
    change = Modification(
        state=ModificationState.OPTIMIZING, started_at=case.observation.at - timedelta(minutes=20),
        ended_at=None, origin=case.plan.origin, target=case.plan.origin, progress_percent=40,
    )  # fmt: skip
    return replace(case, observation=replace(case.observation, modification=change))


def bound(binding: Binding) -> Callable[[Case], Case]:
    return lambda case: replace(case, diagnosis=replace(case.diagnosis, binding=binding))


def seen(**changes: Any) -> Callable[[Case], Case]:
    return lambda case: replace(case, demand=replace(case.demand, **changes))


def changed(case: Case, *hours: float) -> Mapping[str, Any]:
    starts = sorted(case.observation.at - timedelta(hours=each) for each in hours)
    known = tuple(KnownModification(started_at=start, by="other") for start in starts)
    return {"modifications": known}


def tag_misread(case: Case) -> Case:
    problem = "the tag headroom:max-iops is 'many'"
    return replace(case, effective=replace(case.effective, problem=problem))


def of_a_stack(case: Case) -> Case:
    tags = (("aws:cloudformation:stack-name", "db"), *case.observation.volume.tags)
    return limits(infrastructure_as_code=CodeOwned.NOTIFY)(volume(tags=tags)(case))


def put_back(case: Case) -> Case:
    at, before, after = case.observation.at, case.plan.origin, case.plan.target
    ours = KnownModification(
        started_at=at - timedelta(days=2), by="headroom", origin=before, target=after
    )
    other = KnownModification(
        started_at=at - timedelta(days=1), by="other", origin=after, target=before
    )
    return replace(case, resource_state=replace(case.resource_state, modifications=(ours, other)))


def held_back(case: Case) -> Case:
    tagged = volume(tags=(("headroom:group", "data"), *case.observation.volume.tags))(case)
    problem = "vol-2 has a change in flight"
    return replace(tagged, group=GroupConstraint(name="data", problem=problem, temporary=True))


def database(**changes: Any) -> Callable[[Case], Case]:
    facts = DatabaseFacts(instance_class="db.r6g.large", status="available", members=("orders",))
    return volume(facts=replace(facts, **changes))


def across_the_threshold(case: Case) -> Case:
    database = Database(engine=Engine.POSTGRESQL)
    below, above = (
        Configuration(
            volume_type=VolumeType.GP3, size_gib=size, iops=iops, throughput_mibps=mibps,
            database=database,
        )
        for size, iops, mibps in ((300, None, None), (400, 12_000, 500))
    )  # fmt: skip
    seen = replace(case, plan=replace(case.plan, origin=below, target=above))
    return limits(growth=True)(volume(configuration=below)(seen))


def frozen(case: Case) -> Case:
    at = case.observation.at
    freeze = Freeze(begins=at - timedelta(days=1), until=at + timedelta(hours=3), reason="year end")
    return replace(case, policy=replace(case.policy, freezes=(freeze,)))


def calendar_closed(case: Case) -> Case:
    name, opens = "company-closed-days", case.observation.at + timedelta(hours=2)
    seen = CalendarState(name=name, open=False, changes_at=opens)
    resource_state = replace(case.resource_state, calendars=(seen,))
    return replace(
        case, resource_state=resource_state, policy=replace(case.policy, calendars=(name,))
    )


def under_way(case: Case, count: int, zone: str, counts: tuple[tuple[str, int], ...] = ()) -> Case:
    since = case.observation.at - timedelta(minutes=70)
    others = tuple(
        InFlight(resource=f"vol-{n}", decision_id=f"d{n}", since=since, zone=zone, counts=counts)
        for n in range(count)
    )
    return replace(
        case,
        resource_state=replace(case.resource_state, concurrency=ConcurrencyState(in_flight=others)),
    )


def about(change: Callable[[ClusterCase], ClusterCase]) -> Callable[[Case], Case]:
    def made(case: Case) -> Case:
        return case if case.cluster is None else replace(case, cluster=change(case.cluster))

    return made


def cluster(**changes: Any) -> Callable[[Case], Case]:
    return about(lambda found: _changed(found, **changes))


def _changed(found: ClusterCase, **changes: Any) -> ClusterCase:
    seen = found.observation
    return replace(found, observation=replace(seen, cluster=replace(seen.cluster, **changes)))


def _shut(found: ClusterCase) -> ClusterCase:
    return _changed(found, next_allowed_at=found.observation.at + timedelta(days=12))


def no_return(case: Case) -> Case:
    plan = replace(case.plan, origin=case.plan.target, target=case.plan.origin, reversible=False)
    return replace(gate_shut(case), plan=plan)


def _two_busy_days(found: ClusterCase) -> ClusterCase:
    busy = len(found.demand.days) - 2
    days = tuple(
        replace(day, ios=day.ios if i >= busy else 1e6) for i, day in enumerate(found.demand.days)
    )
    return replace(found, demand=replace(found.demand, days=days))


def _month_end(found: ClusterCase) -> ClusterCase:
    past = (5e6,) * 25 + (100e6,) * 5
    return replace(found, demand=replace(found.demand, past_ios=past))


month_end = about(_month_end)
gate_shut, two_busy_days = about(_shut), about(_two_busy_days)
fewer_days = about(lambda c: replace(c, demand=replace(c.demand, days=c.demand.days[:9])))
unpublished = about(lambda c: replace(c, demand=replace(c.demand, known=False)))
with_nvme = cluster(members=(Member(instance_class="db.r6gd.xlarge"),))
for_speed = about(lambda c: replace(c, goal=Goal.PERFORMANCE))
