"""Seeds and solvers that are none, cells that are no values: errors that say what was meant."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.design.far_from_zero import MOST_STANDARD_DEVIATIONS
from ardchoice.errors import ArdchoiceError
from selection.selection_support import made, read, table, usual


@pytest.fixture(scope="module")
def data() -> ac.ChoiceData:
    return made(200, 1, usual)


SEEDED: dict[str, Callable[[ac.ChoiceData, object], object]] = {
    "specify": lambda data, seed: ac.specify(data, ac.SearchSpace(data), seed=seed),
    "split": lambda data, seed: data.split(seed=seed),
    "folds": lambda data, seed: list(data.folds(3, seed=seed)),
    "simulate": lambda data, seed: ac.simulate_choices(data, "*: TT", seed=seed),
    "bootstrap": lambda data, seed: ac.fit_mnl(data, "*: TT").bootstrap(2, seed=seed),
    "Dsvi": lambda data, seed: ac.fit_ard(
        data, ac.SearchSpace(data), solver=ac.Dsvi(seed=seed, max_epochs=1)
    ),
}


@pytest.mark.parametrize("name", SEEDED)
def test_a_seed_is_a_whole_number_of_zero_or_more(name: str, data: ac.ChoiceData) -> None:
    for seed in (-1, 1.5, "one", True):
        with pytest.raises(ArdchoiceError, match=r"A seed is a whole number, zero or more, not"):
            SEEDED[name](data, seed)


def test_a_solver_is_a_value_and_no_name(data: ac.ChoiceData) -> None:
    space = ac.SearchSpace(data)
    for call in (ac.specify, ac.fit_ard):
        with pytest.raises(ArdchoiceError, match=r"ac.Dsvi\(\).*not 'dsvi'"):
            call(data, space, solver="dsvi")


@pytest.mark.parametrize("cell", [[1, 2], {"a": 1}, {1}, np.arange(2), 1j, object])
@pytest.mark.parametrize("column", ["A_TT", "G", "PICK", "ID"])
def test_cells_with_more_than_a_value_are_refused_by_column_and_row(
    cell: object, column: str
) -> None:
    frame = table(60, 1, usual)
    assert column in frame
    values = list(frame[column])
    values[7] = cell
    frame[column] = pd.Series(values, dtype=object)
    with pytest.raises(ArdchoiceError, match=rf"Column '{column}' .*neither a number nor.*\(7\)"):
        read(frame)


@pytest.mark.parametrize("cell", [[1, 2], {"a": 1}, np.arange(2), object])
@pytest.mark.parametrize("column", ["ID", "G"])
def test_such_cells_are_refused_below_hundreds_of_rows_of_text(cell: object, column: str) -> None:
    frame = table(400, 1, usual)
    values: list[object] = [f"t{i % 200}" for i in range(400)]
    values[350] = cell
    frame[column] = pd.Series(values, dtype=object)
    with pytest.raises(ArdchoiceError, match=rf"Column '{column}' .*neither a number nor.*\(350\)"):
        read(frame)


@pytest.mark.parametrize(("offset", "unit"), [(3e7, 60.0), (1.7e9, 3600.0)])
def test_an_attribute_far_from_zero_gives_the_same_specification(
    offset: float, unit: float
) -> None:
    # Minutes of a long calendar, and seconds of Unix time.
    frame = table(600, 2, usual)
    frame = frame.assign(**{f"{a}_TT": unit * frame[f"{a}_TT"] for a in "ABC"})
    moved = frame.assign(**{f"{a}_TT": frame[f"{a}_TT"] + offset for a in "ABC"})
    near, far = read(frame), read(moved)
    a, b = (ac.specify(d, ac.SearchSpace(d, generic=True, specific=False)) for d in (near, far))
    assert "*: TT" in map(str, a.specification.terms)
    assert a.specification.terms == b.specification.terms
    assert b.result.loglik == pytest.approx(a.result.loglik, rel=1e-7)
    by_hand = [ac.fit_mnl(d, a.specification).loglik for d in (near, far)]
    assert by_hand[1] == pytest.approx(by_hand[0], rel=1e-7)
    np.testing.assert_allclose(a.fit.table()["lambda"], b.fit.table()["lambda"], rtol=1e-3)


def _answers(data: ac.ChoiceData, spec: str) -> list[Callable[[], object]]:
    space = ac.SearchSpace(data, by=["G"])
    return [
        lambda: ac.fit_mnl(data, spec),
        lambda: ac.fit_ard(data, space),
        lambda: ac.specify(data, space),
    ]


SPECIFIC = "A: ASC + TT\nB: ASC + TT\nC: TT"


@pytest.mark.filterwarnings("ignore:The standard deviations")
@pytest.mark.parametrize(("offset", "moved"), [(3e7, "ABC"), (1e12, "ABC"), (3e7, "A")])
def test_a_coefficient_of_one_alternative_far_from_zero_is_refused_by_all_alike(
    offset: float, moved: str
) -> None:
    frame = table(600, 2, usual)
    far = read(frame.assign(**{f"{a}_TT": frame[f"{a}_TT"] + offset for a in moved}))
    said = set()
    for answer in _answers(far, SPECIFIC):
        with pytest.raises(ArdchoiceError, match=r"TT of A lies around .*derive") as error:
            answer()
        said.add(str(error.value))
    assert len(said) == 1


@pytest.mark.filterwarnings("ignore:The standard deviations")
@pytest.mark.parametrize("moved", ["ABC", "A"])
def test_below_that_distance_the_specification_is_that_without_offset(moved: str) -> None:
    frame = table(600, 2, usual)
    offset = 0.9 * MOST_STANDARD_DEVIATIONS * min(frame[f"{a}_TT"].std() for a in moved)
    near = read(frame)
    far = read(frame.assign(**{f"{a}_TT": frame[f"{a}_TT"] + offset for a in moved}))
    a, b = (ac.specify(d, ac.SearchSpace(d)) for d in (near, far))
    assert {"A: TT", "B: TT", "C: TT"} <= set(map(str, a.specification.terms))
    assert a.specification.terms == b.specification.terms
    assert b.result.loglik == pytest.approx(a.result.loglik, rel=1e-8)
    np.testing.assert_allclose(a.fit.table()["lambda"], b.fit.table()["lambda"], rtol=1e-3)
    by_hand = [ac.fit_mnl(d, SPECIFIC).loglik for d in (near, far)]
    assert by_hand[1] == pytest.approx(by_hand[0], rel=1e-8)


@pytest.mark.filterwarnings("ignore:The standard deviations")
def test_a_generic_attribute_far_from_zero_in_one_alternative_is_refused() -> None:
    frame = table(600, 2, usual)
    far = read(frame.assign(A_TT=frame["A_TT"] + 3e7))
    with pytest.raises(ArdchoiceError, match=r"TT of A .*\(that of other alternatives around"):
        ac.fit_mnl(far, "A: ASC\nB: ASC\n*: TT")


def test_a_covariate_far_from_zero_is_refused() -> None:
    frame = table(600, 2, usual)
    frame["G"] = 1.7e9 + np.arange(600.0)
    far = read(frame, covariates={"G": ac.Numeric()})
    for answer in _answers(far, "A: ASC + ASC x G\n*: TT"):
        with pytest.raises(ArdchoiceError, match=r"G lies around 1.7e\+09"):
            answer()


def test_classes_and_constants_may_lie_anywhere() -> None:
    frame = table(600, 2, usual)
    near = read(frame)
    far = read(frame.assign(**{f"{a}_TT": frame[f"{a}_TT"] + 3e7 for a in "ABC"}))
    for spec in ("A: ASC + quantiles(TT, 3)\nB: ASC", "A: ASC\nB: ASC\n*: TT x G"):
        logliks = [ac.fit_mnl(d, spec).loglik for d in (near, far)]
        assert logliks[1] == pytest.approx(logliks[0], rel=1e-7)


def test_mutated_tables_end_in_an_answer_or_an_error(load, tmp_path: Path) -> None:
    mutated, workers = load("mutated_tables"), load("supervised")
    work = partial(mutated.through_all, folder=tmp_path, seed=5, steps=mutated.STEPS[:-1])
    log = tmp_path / "log.jsonl"
    outcomes = workers.supervise(work, range(24), log, 1)
    assert {o.kind for o in outcomes} == {"ok", "refused"}, [
        o.text for o in outcomes if o.kind not in ("ok", "refused")
    ]
    assert {o.number for o in outcomes} == set(range(24))
    assert max(o.megabytes for o in outcomes) * 2**20 < workers.MOST_BYTES
    # What the log has is not done again.
    lines = log.read_text(encoding="utf-8")
    assert workers.supervise(work, range(24), log, 1) == outcomes
    assert log.read_text(encoding="utf-8") == lines


def test_workers_survive_steps_that_die_loop_or_ask_for_too_much(load, tmp_path: Path) -> None:
    workers = load("supervised")

    def forever() -> None:
        while True:
            pass

    calls = {
        0: lambda: None,
        1: lambda: os._exit(9),
        2: lambda: bytearray(2 * workers.MOST_BYTES),
        3: forever,
        4: lambda: ac.load("no such study"),
        5: lambda: None,
    }

    def work(number: int):
        yield "call", "a job", calls[number]

    with patch.object(workers, "PROCESSOR_SECONDS", 1.0):
        outcomes = workers.supervise(work, range(6), tmp_path / "log.jsonl", 1)
    assert [o.number for o in outcomes] == list(range(6))
    assert [o.kind for o in outcomes] == ["ok", *["uncaught"] * 2, "hangs", "refused", "ok"]
    assert "the process ended with 9" in outcomes[1].text
    assert "MemoryError" in outcomes[2].text
