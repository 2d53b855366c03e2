"""Red crosses: wrong signs, negative values of time, baselines that do better; and none without."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.estimation.cross_validation import CrossValidation, Fold, FoldScore
from ardchoice.evaluation import alarms, baselines, evaluate, willingness_to_pay
from ardchoice.evaluation.baselines import identified
from ardchoice.evaluation.evaluate import _difference_error
from ardchoice.space import parse_term
from selection.selection_support import made, read, table, usual


def cost_is_liked(frame: pd.DataFrame) -> dict[str, npt.ArrayLike]:
    return {a: 1.5 * frame[f"{a}_CO"] - 2 * frame[f"{a}_TT"] for a in ("A", "B", "C")}


@pytest.fixture(scope="module")
def liked() -> ac.Study:
    """Cost has a positive effect, and nothing forbids it."""
    data = made(900, 5, cost_is_liked)
    study = ac.specify(data, ac.SearchSpace(data, generic=True))
    return replace(study, evaluation=evaluate(study, folds=3))


def test_a_wrong_sign_is_an_alarm_although_none_was_required(liked: ac.Study) -> None:
    (note,) = alarms(liked)
    assert (note.verdict, note.title) == ("bad", "Wrong sign")
    assert note.text.startswith("Utility rises with CO of A (whole sample), CO of B")
    assert "✗ Wrong sign: Utility rises with CO of A" in liked.summary()


def test_a_wrong_sign_that_was_required_is_not_answered_by_requiring_it(liked: ac.Study) -> None:
    (free,) = alarms(liked)
    assert 'signs = "recognised" under [structure]' in free.text
    (note,) = alarms(replace(liked, structure=ac.Structure(signs={"CO": "-"})))
    assert note.title == "Wrong sign"
    assert "recognised" not in note.text
    assert "The sign was required, and no specification that the search met" in note.text


def test_a_study_with_the_right_signs_has_no_alarm() -> None:
    data = made(900, 1, usual)
    structure = ac.Structure(signs="recognised")
    study = ac.specify(data, ac.SearchSpace(data, by=["G"], generic=True), structure=structure)
    study = replace(study, evaluation=evaluate(study, folds=3))
    assert alarms(study) == []
    assert "✗" not in study.summary()


def test_a_negative_value_of_time_is_an_alarm_where_all_signs_are_right() -> None:
    # As where the mean of what each would pay has another sign than coefficients have.
    data = made(900, 1, usual)
    study = ac.specify(data, ac.SearchSpace(data))
    found = willingness_to_pay(study)
    assert found.frame is not None
    assert alarms(study, found) == []
    time = (found.frame["attribute"] == "TT") & (found.frame["alternative"] == "B")
    assert time.sum() == 1
    below = found.frame.assign(estimate=found.frame["estimate"].where(~time, -2.5))
    (note,) = alarms(study, replace(found, frame=below))
    assert (note.verdict, note.title) == ("bad", "Negative value of time")
    assert note.text == "TT of B: -2.5."


def worse(study: ac.Study, **changes: float) -> ac.Study:
    """The same with other figures of the textbook model."""
    assert study.evaluation is not None
    frame = study.evaluation.comparisons
    assert frame is not None
    frame = frame.copy()
    row = list(frame["model"]).index("textbook")
    for column, value in changes.items():
        frame[column] = frame[column].astype(float)
        frame.loc[row, column] = value
    return replace(study, evaluation=replace(study.evaluation, comparisons=frame))


def test_a_baseline_that_does_better_is_an_alarm_and_the_same_model_is_not() -> None:
    data = made(600, 1, usual)
    study = ac.specify(data, ac.SearchSpace(data, generic=True))
    study = replace(study, evaluation=evaluate(study, folds=3))
    assert study.evaluation is not None
    assert study.evaluation.comparisons is not None
    own = study.evaluation.comparisons.iloc[0]
    assert alarms(study) == []
    (note,) = alarms(worse(study, bic=own["bic"] - 3, loglik=own["loglik"] + 9))
    assert note.title == (
        "The textbook model (constants and generic linear attributes) does better"
    )
    assert (
        note.text == f"BIC {own['bic'] - 3:,.1f} against {own['bic']:,.1f} of the selected model."
    )
    held_out = {"held_out": own["held_out"] + 9, "loglik": own["loglik"] + 9}
    (note,) = alarms(worse(study, **held_out, held_out_se=2.0))
    assert "(difference 9.0, standard error 2.0)" in note.text
    # t at 2.5 % with 2 degrees of freedom is 4.30: a difference of 9 needs an error below 2.09.
    assert alarms(worse(study, **held_out, held_out_se=2.1)) == []
    wrong = worse(study, bic=own["bic"] - 3, loglik=own["loglik"] + 9, wrong_signs=2)
    (note,) = alarms(wrong)
    assert note.verdict == "look"
    assert "the wrong way in 2 segments" in note.text
    same = {"coefficients": own["coefficients"], "loglik": own["loglik"], "bic": own["bic"] - 0.1}
    assert alarms(worse(study, **same)) == []


def test_the_error_of_a_difference_is_that_of_a_sum_over_folds() -> None:
    held_out = made(30)
    pairs = [(-10.0, -11.0), (-12.0, -12.5), (-9.0, -9.0), (-8.0, -11.0)]
    folds = [Fold(held_out, (FoldScore(a), FoldScore(b))) for a, b in pairs]
    apart = np.array([b - a for a, b in pairs])
    expected = np.sqrt(4 * apart.var(ddof=1))
    assert _difference_error(CrossValidation(tuple(folds)), 1) == pytest.approx(expected)


def test_baselines_leave_out_what_they_cannot_identify() -> None:
    frame = table(300, 2, usual)
    for name in ("A", "B", "C"):
        frame[f"{name}_SUM"] = frame[f"{name}_TT"] + frame[f"{name}_CO"]
    attributes = {"TT": "{alt}_TT", "CO": "{alt}_CO", "SUM": "{alt}_SUM"}
    data = read(frame, attributes=attributes)
    found = baselines(data, ac.SearchSpace(data, generic=True))
    assert {name: spec.to_text() for name, spec in found.items()} == {
        "constants only": "A: ASC\nB: ASC",
        "textbook": "A: ASC\nB: ASC\n*: TT + CO",
        "all specific": "A: ASC + TT + CO\nB: ASC + TT + CO\nC: TT + CO",
    }
    for spec in found.values():
        assert ac.fit_mnl(data, spec).converged
    every = [parse_term(t) for t in ("A: ASC", "B: ASC", "C: ASC", "*: TT", "A: TT", "*: SUM")]
    assert [str(t) for t in identified(data, every)] == [
        "A: ASC",
        "B: ASC",
        "*: TT",
        "A: TT",
        "*: SUM",
    ]


@pytest.mark.parametrize("seed", range(6))
def test_what_is_selected_has_no_higher_bic_than_the_textbook_model(seed: int) -> None:
    """Weak effects, many candidates: a criterion that charged for them would drop them all."""

    def weak(frame: pd.DataFrame) -> dict[str, npt.ArrayLike]:
        return {a: -0.35 * frame[f"{a}_CO"] - 0.25 * frame[f"{a}_TT"] for a in ("A", "B", "C")}

    data = made(300, seed, weak)
    space = ac.SearchSpace(data, ["linear", "log1p"], by=["G", "H", "INC"], generic=True)
    study = ac.specify(data, space)
    textbook = ac.fit_mnl(data, baselines(data, space)["textbook"])
    assert study.result.bic <= textbook.bic + 0.01
