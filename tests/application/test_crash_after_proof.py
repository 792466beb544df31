"""A run that ends right after it proved a change forgets nothing that was wanted meanwhile."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headroom.application import look, sweep
from headroom.domain.records import Step
from tests.application.stage import Stage, calm
from tests.builders import volume


class Crash(BaseException):
    """The process is gone."""


def test_a_rollback_asked_for_meanwhile_is_taken_up_a_minute_after_a_crash(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage()
    vol = stage.add(volume())
    decision = look(stage.ports, vol, stage.now, trigger="alarm", must_record=True)
    assert decision is not None
    stage.loads["vol-1"] = calm()
    stage.ledger.ask_rollback(decision.decision_id, at=stage.now, who="alice")
    append = stage.ledger.append

    def and_crash(decision_id: str, step: Step, **named: object) -> object:
        append(decision_id, step, **named)  # type: ignore[arg-type]
        raise Crash

    stage.later(hours=3)
    monkeypatch.setattr(stage.ledger, "append", and_crash)
    with pytest.raises(Crash):
        sweep(stage.ports, stage.now)
    monkeypatch.undo()
    assert stage.ledger.standing(vol, stage.now).open_chain is None
    sweep(stage.ports, stage.later(minutes=1))
    assert "rolled" in stage.told[-1][2] or stage.steps(vol)[-1] == "applied"
    assert stage.ledger.standing(vol, stage.now + timedelta(minutes=1)).rollback is None
