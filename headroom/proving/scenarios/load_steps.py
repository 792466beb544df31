"""Parses the `steps` of a scenario's workload: open loads and pools, repeated and by the period."""

from __future__ import annotations

from headroom.proving.inputs import Block
from headroom.proving.workloads import Load, Stretch, closed_load, open_load

KINDS = ("iops", "outstanding")
MIX = ("io_kib", "read_fraction", "sequential")
PERIOD = ("every", "after", "else_iops")
POOL = ("outstanding", "service_ms", "think_ms")
STEP = ("for", "iops", *MIX, *POOL, *PERIOD, "repeat", "steps")
MOST = 1_000_000
"""Stretches that a workload may consist of."""
MOST_TIMES = 100_000


def stretches(block: Block) -> list[Stretch]:
    """The stretches that the `steps` of a block describe, repeats written out."""
    steps, path = block.items("steps"), f"{block.path}.steps"
    if not steps:
        raise block.wrong("steps", "is empty; give at least one step")
    found: list[Stretch] = []
    for number, step in enumerate(steps, start=1):
        one = Block(step, source=block.source, path=f"{path}[{number}]", known=STEP)
        times = one.whole("repeat", 1, low=1, high=MOST_TIMES)
        once = _once(one)
        if len(found) + times * len(once) > MOST:
            raise one.wrong("", f"makes more than {MOST:,} stretches; repeat it less often")
        found += once * times
    return found


def _once(step: Block) -> list[Stretch]:
    if step.has("steps"):
        given = next(
            (key for key in STEP if step.has(key) and key not in ("repeat", "steps")), None
        )
        if given is not None:
            raise step.wrong(given, "is given beside steps; put it into one of them")
        return stretches(step)
    if step.has("every"):
        return _period(step)
    for key in PERIOD[1:]:
        if step.has(key):
            raise step.wrong(key, "is given without every, the length of the period")
    return [Stretch(duration_s=lasting(step, "for"), load=_load(step))]


def _period(step: Block) -> list[Stretch]:
    """One period: the load for a while from `after` on, `else_iops` before and after it."""
    whole, busy = lasting(step, "every"), lasting(step, "for")
    before = step.duration("after", "0s").total_seconds()
    rest = whole - before - busy
    if rest < 0:
        raise step.wrong("every", f"is {whole:g} s, shorter than after and for together")
    calm = _open(step, step.number("else_iops", 0, low=0, high=1e8))
    parts = ((before, calm), (busy, _load(step)), (rest, calm))
    return [Stretch(duration_s=seconds, load=load) for seconds, load in parts if seconds]


def _load(step: Block) -> Load:
    given = [key for key in KINDS if step.has(key)]
    if len(given) == 2:
        raise step.wrong("outstanding", "is given beside iops; a step is a pool or an open load")
    if given == ["outstanding"]:
        return pool(step)
    for key in POOL[1:]:
        if step.has(key):
            raise step.wrong(key, "is given without outstanding, the number of workers")
    return _open(step, step.number("iops", low=0, high=1e8))


def _open(step: Block, iops: float) -> Load:
    return open_load(
        iops=iops,
        io_kib=_io_kib(step),
        read_fraction=step.number("read_fraction", 0.5, low=0, high=1),
        sequential=step.flag("sequential", False),
    )


def pool(block: Block) -> Load:
    """The workers that a block describes."""
    return closed_load(
        outstanding=block.number("outstanding", low=1, high=1e6),
        io_kib=_io_kib(block),
        read_fraction=block.number("read_fraction", 0.5, low=0, high=1),
        service_ms=block.positive("service_ms", 0.5),
        think_ms=block.number("think_ms", 0, low=0, high=1e9),
        sequential=block.flag("sequential", False),
    )


def lasting(block: Block, key: str) -> float:
    """The seconds of a duration of at least a second."""
    seconds = block.duration(key).total_seconds()
    if seconds < 1:
        raise block.wrong(key, "is shorter than a second; give it at least 1s")
    return seconds


def _io_kib(block: Block) -> float:
    value = block.positive("io_kib")
    if value > 65_536:
        raise block.wrong("io_kib", f"is {value:g}; the most is 65536")
    return value
