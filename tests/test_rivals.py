"""The comparison with rivals: its quick mode, and the way from their words to our terms."""

import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import ardchoice as ac

Load = Callable[[str], ModuleType]

# Both are maxima of the same likelihood; the ridge of a refit moves it by less than this.
SAME_BIC = 0.01


@pytest.fixture
def rivals(load: Load, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = load("rivals")
    monkeypatch.syspath_prepend(str(module.HERE))
    return module


@pytest.fixture
def real(rivals: ModuleType) -> Any:
    return rivals.load("real", 0)


def test_quick_mode_measures_searches_and_goes_on_where_it_was(
    rivals: ModuleType, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arguments = ["--quick", "--budget", "1", "--data", "S2", "--out", str(tmp_path)]
    arguments += ["--methods", "stepwise by BIC;Biogeme, segments"]
    truth, run = rivals.main(arguments)
    assert (truth.status, truth.f1) == ("given", 1.0)
    # Stopped at the budget, with a BIC that falls along its curve to what the table says.
    assert run.method == "stepwise by BIC"
    assert run.status == "stopped" and not run.problem
    seconds, bics = np.array(run.curve).T
    assert seconds[-1] <= 1
    assert (np.diff(bics) < 0).all() and bics[-1] == run.bic
    assert 0 < run.f1 <= 1
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80
    written = (tmp_path / "runs.jsonl").read_text(encoding="utf-8")
    assert rivals.main(arguments) == [truth, run]
    assert (tmp_path / "runs.jsonl").read_text(encoding="utf-8") == written
    assert {p.name for p in tmp_path.iterdir()} == {
        *("runs.jsonl", "results.json", "table.md", "rivals.png", "rivals.svg")
    }
    assert len(json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["runs"]) == 2


def test_the_files_hold_the_same_choices_and_space(
    rivals: ModuleType, real: Any, tmp_path: Path
) -> None:
    rivals.write_problem(real, tmp_path)
    from rival_problem import read_problem

    data, space = read_problem(tmp_path)
    assert space.terms == real.space.terms
    text = ac.datasets.swissmetro_specification("R6").replace("WHO", "GA")
    terms = [t for t in ac.parse_specification(text).terms if t in set(space.terms)]
    assert len(terms) > 5
    again, before = (ac.fit_mnl(d, terms).bic for d in (data, real.data))
    assert again == pytest.approx(before, abs=1e-6)
    with np.load(tmp_path / "columns.npz", allow_pickle=False) as file:
        # Zero for all alternatives but one: Biogeme's runner adds them up.
        assert ((file["x"] != 0).any(axis=0).sum(axis=0) == 1).all()


def test_columns_become_terms_of_single_levels(rivals: ModuleType, real: Any) -> None:
    names = ac.Design(real.data, real.space.terms).names
    model = ["TRAIN: ASC", "SM: ASC", "TRAIN: TT", "CAR: log1p(TT) x AGE [2]"]
    found = rivals.translate(model, "columns", real)
    assert list(map(str, found.terms)) == [*model[:3], "CAR: log1p(TT) x AGE_2"]
    assert set(map(str, found.candidates)) == {*model[:3], "CAR: log1p(TT) x AGE"}
    # All levels of a term are that term: the same likelihood with as many coefficients.
    whole = [name for name in names if name.startswith("CAR: log1p(TT) x AGE [")]
    assert len(whole) == 4
    split = rivals.translate([*model[:3], *whole], "columns", real)
    joined = rivals.translate([*model[:3], "CAR: log1p(TT) x AGE"], "terms", real)
    assert split.candidates == joined.candidates
    assert rivals.bic_of(real, split.terms) == pytest.approx(
        rivals.bic_of(real, joined.terms), abs=1e-6
    )
    assert len(rivals.translate(names, "columns", real).terms) == len(names)


def test_forms_and_segments_become_terms(rivals: ModuleType, real: Any) -> None:
    model = [
        *("form|TRAIN|TT:log1p", "segments|TRAIN|TT:GA-PURPOSE"),
        *("form|CAR|CO:absent", "segments|CAR|CO:AGE"),
        *("form|SM|HE:linear", "segments|SM|HE:no_seg"),
        *("segments|SM|ASC:AGE", "segments|TRAIN|ASC:no_seg"),
    ]
    found = rivals.translate(model, "segments", real)
    assert set(map(str, found.candidates)) == {
        *("TRAIN: log1p(TT)", "TRAIN: log1p(TT) x GA", "TRAIN: log1p(TT) x PURPOSE"),
        *("SM: HE", "SM: ASC", "SM: ASC x AGE", "TRAIN: ASC"),
    }
    assert set(found.terms) == found.candidates


def test_positions_become_terms(rivals: ModuleType, real: Any) -> None:
    found = rivals.translate(["term|0:in", "term|17:out", "term|71:in"], "indices", real)
    assert found.terms == (real.space.terms[0], real.space.terms[71])


def test_incumbents_are_estimated_by_us(rivals: ModuleType, real: Any) -> None:
    small = ["TRAIN: ASC", "SM: ASC", "TRAIN: TT"]
    events = [
        {"event": "start"},
        {"event": "better", "seconds": 1.0, "model": small, "bic": 5.0, "tried": 1},
        {"event": "better", "seconds": 2.0, "model": small[:2], "bic": 4.0, "tried": 2},
        {"event": "alive", "seconds": 3.0, "tried": 9},
    ]
    run = rivals.measure(real, rivals.Run("real", 0, "stepwise by BIC", 10.0), events, "")
    # What it says of its BIC does not count: the second model is worse by our estimate.
    truly = ac.fit_mnl(real.data, small).bic
    assert run.bic == pytest.approx(truly) and run.seconds == 1.0
    assert (run.tried, run.terms, run.f1, run.status) == (9, 3, None, "stopped")
    true = replace(real, truth=tuple(ac.parse_specification("\n".join(small[:2])).terms))
    assert rivals.measure(true, run, events, "").f1 == pytest.approx(4 / 5)
    none = rivals.measure(real, run, events[:1], "")
    assert none.status == "failed" and "no model" in none.problem
    # All three constants cannot be told apart: the ridge gives the likelihood of two of them.
    terms = ac.parse_specification("\n".join([*small, "CAR: ASC"])).terms
    price = math.log(len(real.data))
    assert rivals.bic_of(real, terms) == pytest.approx(truly + price, abs=SAME_BIC)


def test_a_search_that_breaks_is_reported_with_its_last_words(
    rivals: ModuleType, tmp_path: Path
) -> None:
    method = replace(rivals.METHODS["group lasso"], script="missing.py")
    events, problem = rivals.search(method, tmp_path, 0, 1.0, sys.executable)
    assert events == [] and "missing.py" in problem


def test_the_group_lasso_is_optimal(rivals: ModuleType, real: Any) -> None:
    import group_lasso

    from ardchoice.families import one_pass

    few = real.data.take(np.arange(0, len(real.data), 10))
    terms = tuple(t for t in real.space.terms if t.what in (None, "TT"))
    likelihood, groups = group_lasso.problem(few, terms)
    path = group_lasso.path(likelihood, groups)
    empty, *_ = first = next(path)
    assert (groups.norms(first[1])[groups.price > 0] == 0).all() and empty > 0
    for _ in range(20):
        penalty, beta = next(path)
    slope = -one_pass(beta, likelihood.blocks, 1).gradient / likelihood.n
    norms, slopes = groups.norms(beta), groups.norms(slope)
    price = penalty * groups.price
    within = 0.01 * penalty  # ten times the tolerance of the solver
    assert 2 < (norms > 0).sum() < len(terms)
    # Outside, the slope does not pay the price; inside, it pays it exactly.
    assert (slopes <= price + within).all()
    assert np.allclose(slopes[norms > 0], price[norms > 0], atol=within)
