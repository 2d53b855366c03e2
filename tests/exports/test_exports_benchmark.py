"""The benchmark of exports reads what scripts print and notices what is wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from export_models import MODECHOICE_SPECIFICATION, modechoice
from export_support import namespace
from test_apollo import needs_r

import ardchoice as ac

Load = Callable[[str], ModuleType]


def test_differences_are_read_from_what_a_script_prints(
    load: Load, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exports = load("exports")
    result = ac.fit_mnl(modechoice(), MODECHOICE_SPECIFICATION)
    made = namespace(ac.export(result, "xlogit", tmp_path))
    estimates = {k: v for k, v in made["EXPECTED"].items() if k != "log-likelihood"}
    for off, is_right in ((0.0, True), (0.5, False)):
        print("log-likelihood 1 2")  # the summary of a package may look alike
        made["compare"](result.loglik + off, {**estimates, "B_GC": estimates["B_GC"] + off / 10})
        found = exports._compare(result, dict(exports._printed(capsys.readouterr().out)), 1.0)
        assert found.loglik == pytest.approx(off, abs=1e-6)
        assert found.estimates == pytest.approx(off / 10, abs=1e-6)
        assert found.is_right == is_right


@needs_r
def test_one_line_of_the_table_is_made(
    load: Load, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    exports = load("exports")
    monkeypatch.setattr(sys, "argv", ["exports.py", "--models", "modes", "--packages", "apollo"])
    assert exports.main() == 0
    line = next(x for x in capsys.readouterr().out.splitlines() if x.startswith("modes"))
    assert line.split()[:3] == ["modes", "6", "apollo"]
    assert line.split()[-1] == "ok"
