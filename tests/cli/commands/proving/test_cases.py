"""`headroom cases`: the published figures hold, and the page shows what the command prints."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from headroom.cli.commands.proving import cases as module
from headroom.cli.main import run
from headroom.proving.scoring import CASES, TITLES, reference_figures
from tests.docs.test_pages import output_in


@pytest.mark.parametrize("case", CASES)
def test_the_page_shows_what_the_command_prints(
    case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["cases", case.lower()]) == 0
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    documented = output_in("docs/reference-cases.md", f"headroom cases {case}").splitlines()
    assert documented == [line for line in printed if line]


def test_the_bills_are_to_the_cent_and_the_eight_measurements_within_five_percent() -> None:
    bills = {
        f.what: f.ours for case in ("A", "D") for f in reference_figures(case) if f.unit == "USD"
    }
    assert bills == {
        "gp2 400 GiB, a month": 40.0,
        "io1 400 GiB, 5,000 IOPS, a month": 375.0,
        "io1 400 GiB, 2,500 IOPS, a month": 212.5,
        'gp2 of 900 GiB, "about $90", a month': 90.0,
        "its storage in ap-northeast-1, a month": 1_845.0,
    }
    measured = reference_figures("B")
    assert len(measured) == 8
    assert all(abs(f.off) < 0.05 for f in measured)


def test_a_figure_that_does_not_hold_is_reported_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tuple(replace(f, ours=f.ours * 1.1) for f in reference_figures("D"))
    monkeypatch.setattr(module, "reference_figures", lambda _: wrong)
    assert run(["cases", "D"]) == 1
    assert "+10.0 % (too far)" in capsys.readouterr().out
    assert run(["cases", "D", "--json"]) == 1
    assert not any(f["holds"] for f in json.loads(capsys.readouterr().out)["D"])


def test_there_is_no_other_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cases", "F"]) == 2
    assert "There is no case 'F'; there are A, B, C, D, E." in capsys.readouterr().err
    assert set(TITLES) == set(CASES)
