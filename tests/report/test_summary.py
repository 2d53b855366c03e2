"""The page that a study prints, figure by figure."""

from dataclasses import replace

import numpy as np
import pytest

import ardchoice as ac
from ardchoice.record import StudyRecord
from ardchoice.report import summarise_record
from ardchoice.report.summary import MAX_TIES_LISTED
from ardchoice.text import number, p_value
from report.report_support import plain_study
from selection.selection_support import made, usual

WIDTH = 80


@pytest.fixture(scope="module")
def data() -> ac.ChoiceData:
    return made(400, 1, usual)


@pytest.fixture(scope="module")
def fit(data: ac.ChoiceData) -> ac.ArdFit:
    return ac.fit_ard(data, ac.SearchSpace(data, by=["G"]))


@pytest.fixture(scope="module")
def specification(fit: ac.ArdFit) -> ac.Specification:
    return ac.select(fit)


def page(
    specification: ac.Specification, fit: ac.ArdFit, *results: ac.Result, seconds: float = 1.25
) -> str:
    right = results[0] if results else ac.fit_mnl(fit.data, specification)
    left = results[1] if len(results) > 1 else None
    record = StudyRecord(
        data=fit.data,
        space=fit.space,
        fit=fit,
        specification=specification,
        result=right,
        selection_result=left,
        structure=ac.Structure(),
        rule=ac.Ebic(),
        honest=left is not None,
        seed=0,
        seconds=seconds,
    )
    return summarise_record(record)


def test_the_head_counts_terms_and_coefficients(
    specification: ac.Specification, fit: ac.ArdFit
) -> None:
    first, second = page(specification, fit).splitlines()[:2]
    result = ac.fit_mnl(fit.data, specification)
    assert first == (
        f"{len(specification)} of {len(fit.terms)} candidate terms, "
        f"{result.n_parameters} of {fit.encoding.n_columns} coefficients"
    )
    assert second == f"selected by EBIC, {specification.criterion:,.1f}, in 1.2 s"
    by_hand = page(ac.Specification(specification.terms), fit).splitlines()
    assert by_hand[1] == "selected by EBIC in 1.2 s"


def test_halves_stand_side_by_side(
    specification: ac.Specification, fit: ac.ArdFit, data: ac.ChoiceData
) -> None:
    estimating, selecting = data.split(0.5, seed=0)
    right, left = (ac.fit_mnl(half, specification) for half in (estimating, selecting))
    text = page(specification, fit, right, left)
    head = next(line for line in text.splitlines() if "selecting" in line)
    assert head.split() == [
        *("coefficient", "selecting", "std", "err", "p", "estimating", "std", "err", "p")
    ]
    table = text[text.index(head) :].splitlines()[2 : 2 + len(right.names)]
    for line, name in zip(table, right.names, strict=True):
        assert line.startswith(name)
        cells = []
        for result in (left, right):
            row = result.to_frame().loc[name]
            cells += [number(row["estimate"], 3), number(row["std_err"], 2), p_value(row["p"])]
        assert line.removeprefix(name).split() == cells
    # The fit is that of the half with valid p-values.
    assert f"{right.loglik:,.3f}" in text
    assert f"{left.loglik:,.3f}" not in text
    assert max(map(len, text.splitlines())) <= WIDTH


def test_of_many_near_ties_the_first_are_listed(
    specification: ac.Specification, fit: ac.ArdFit
) -> None:
    term = fit.terms[0]
    costs = np.linspace(0, 2, MAX_TIES_LISTED + 3)
    several = tuple(ac.Rival((term,), fit.terms[1:4], float(c)) for c in costs)
    text = page(replace(specification, near_ties=several), fit)
    assert text.endswith("and 3 more")
    assert text.count(" instead of ") == MAX_TIES_LISTED
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "and 1 more" not in page(
        replace(specification, near_ties=several[:MAX_TIES_LISTED]), fit
    )
    assert "Near-ties" not in page(replace(specification, near_ties=()), fit)


def test_notes_come_right_after_the_specification(
    specification: ac.Specification, fit: ac.ArdFit
) -> None:
    notes = ("Something a reader should know. " * 5, "And something else.")
    text = page(replace(specification, notes=notes), fit)
    places = [text.index(part) for part in (specification.to_text(), "Something", "And something")]
    assert places == sorted(places)
    assert places[-1] < text.index("Multinomial logit")
    assert max(map(len, text.splitlines())) <= WIDTH


def test_a_study_prints_held_out_prediction_and_wtp() -> None:
    study = plain_study()
    text = str(study)
    assert max(map(len, text.splitlines())) <= WIDTH
    assert study.evaluation is not None
    frame = study.evaluation.comparisons
    assert frame is not None
    for name, loglik in zip(frame["model"], frame["held_out"], strict=True):
        line = next(x for x in text.splitlines() if x.startswith(name) and f"{loglik:,.1f}" in x)
        assert line.endswith("%")
    worth = study.result.wtp("TT", "CO", by=[])
    for alternative, estimate in zip(worth["alternative"], worth["estimate"], strict=True):
        assert any(
            x.startswith(f"TT of {alternative} ") and number(estimate, 3) in x.split()
            for x in text.splitlines()
        )
    assert "held-out, 3 folds" not in str(replace(study, evaluation=None))
