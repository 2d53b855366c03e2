"""Held-out figures against fits made by hand; calibration against counting."""

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.evaluation import evaluate
from ardchoice.evaluation.calibration import ALL_ALTERNATIVES, calibration, interval
from ardchoice.record import Evaluation
from selection.selection_support import made, table, usual
from tests_support import many_alternatives, small_data

CLOSE = 0.02
"""Log-likelihood: refits inside folds stop a little short of the maximum."""
BY_HAND = "A: ASC + TT\nB: ASC"


@pytest.fixture(scope="module")
def study() -> ac.Study:
    data = made(600, 1, usual)
    return ac.specify(data, ac.SearchSpace(data, ["linear", "log1p"], by=["G"]), seed=3)


@pytest.fixture(scope="module")
def evaluation(study: ac.Study) -> Evaluation:
    return evaluate(study, folds=4, compare={"by hand": BY_HAND})


def by_hand(study: ac.Study, spec: object, folds: int) -> tuple[float, float]:
    loglik, right, n = 0.0, 0.0, 0
    for rest, left_out in study.data.folds(folds, seed=study.seed):
        score = ac.fit_mnl(rest, spec).score(left_out)  # type: ignore[arg-type]
        loglik += score.loglik
        right += score.accuracy * score.n
        n += score.n
    return loglik, right / n


def test_every_model_is_scored_on_persons_left_out(study: ac.Study, evaluation: Evaluation) -> None:
    frame = evaluation.comparisons
    assert frame is not None
    specs = {
        "found": study.specification,
        "constants only": "A: ASC\nB: ASC",
        "textbook": "A: ASC\nB: ASC\n*: TT + CO",
        "all specific": "A: ASC + TT + CO\nB: ASC + TT + CO\nC: TT + CO",
        "by hand": BY_HAND,
    }
    assert list(frame["model"]) == list(specs)
    for row, spec in zip(frame.itertuples(), specs.values(), strict=True):
        result = ac.fit_mnl(study.data, spec)
        assert row.coefficients == result.n_parameters
        assert [row.loglik, row.aic, row.bic] == pytest.approx(
            [result.loglik, result.aic, result.bic]
        )
        assert [row.rho2, row.rho2_bar] == pytest.approx([result.rho2, result.rho2_bar])
        loglik, accuracy = by_hand(study, spec, 4)
        assert row.held_out == pytest.approx(loglik, abs=CLOSE)
        assert row.accuracy == pytest.approx(accuracy, abs=0.005)


def test_the_path_is_that_of_the_study(study: ac.Study, evaluation: Evaluation) -> None:
    assert evaluation.path is not None
    pd.testing.assert_frame_equal(evaluation.path.frame, study.path(folds=4).frame)
    assert (evaluation.folds, evaluation.searched, evaluation.stability) == (4, False, None)


def test_calibration_counts_every_person_once(study: ac.Study, evaluation: Evaluation) -> None:
    frame = evaluation.calibration
    assert frame is not None
    for j, (_, rows) in enumerate(frame.groupby("alternative", sort=False)):
        assert rows["n"].sum() == study.data.available[j].sum()
        assert rows["predicted"].is_monotonic_increasing
        share = (rows["observed"] * rows["n"]).sum() / len(study.data)
        assert share == pytest.approx(study.data.shares().iloc[j])
    assert ((frame["low"] <= frame["observed"]) & (frame["observed"] <= frame["high"])).all()


def test_the_search_can_be_repeated_in_every_fold(study: ac.Study) -> None:
    found = evaluate(study, folds=2, search_in_folds=True)
    expected = ac.held_out(study.data, study.space, folds=2, seed=study.seed)
    assert found.searched
    assert found.comparisons is not None
    assert found.comparisons["held_out"][0] == pytest.approx(expected.loglik, abs=CLOSE)


def test_a_search_that_some_persons_are_needed_for_costs_no_evaluation() -> None:
    table_of = table(240, 1, usual)
    # One person has more than two travel times: without it there are no three segments of them.
    alone = (table_of["ID"] == table_of["ID"].iloc[0]).to_numpy()
    for alt in "ABC":
        two_values = 1.0 + (table_of[f"{alt}_TT"] > 0.9)
        table_of[f"{alt}_TT"] = np.where(alone, 5.0 + np.arange(240) % 3, two_values)
    data = ac.read_wide(
        table_of,
        alternatives=["A", "B", "C"],
        choice="PICK",
        attributes={"TT": "{alt}_TT", "CO": "{alt}_CO"},
        person="ID",
    )
    study = ac.specify(data, ac.SearchSpace(data, ["linear", "segments(3)"]))
    found = evaluate(study, folds=2, search_in_folds=True, stability_pairs=1)
    notes = " ".join(map(str, found.notes))
    assert "only the estimation" in notes
    assert "No stability" in notes
    with pytest.warns(ac.ArdchoiceWarning, match="only the estimation"):
        study.evaluated(folds=2, search_in_folds=True)
    assert (found.searched, found.stability) == (False, None)
    plain = evaluate(study, folds=2)
    assert "Averaged predictions not compared" in " ".join(map(str, plain.notes))
    assert found.comparisons is not None
    assert plain.comparisons is not None
    pd.testing.assert_frame_equal(found.comparisons, plain.comparisons)


def test_without_folds_there_are_no_held_out_figures(study: ac.Study) -> None:
    found = evaluate(study, folds=0, stability_pairs=1)
    assert found.calibration is None
    assert found.comparisons is not None
    assert found.comparisons["held_out"].isna().all()
    assert found.stability is not None
    assert set(found.stability["term"]) == {str(t) for t in study.space.terms}


def test_an_honest_study_is_measured_on_those_who_did_not_select() -> None:
    data = made(600, 1, usual)
    study = ac.specify(data, ac.SearchSpace(data), honest=True)
    found = evaluate(study, folds=2)
    assert found.comparisons is not None
    assert found.comparisons["loglik"][0] == pytest.approx(study.result.loglik)
    assert found.calibration is not None
    assert found.calibration.groupby("alternative")["n"].sum().iloc[0] == len(study.result.data)


def test_where_alternatives_are_very_many_equal_shares_are_the_baseline() -> None:
    data = many_alternatives(120, 40)
    space = ac.SearchSpace(data, constants=False, specific=False, generic=True)
    found = evaluate(ac.specify(data, space), folds=2)
    assert found.comparisons is not None
    assert list(found.comparisons["model"]) == ["found", "equal shares", "textbook"]
    assert list(found.comparisons["coefficients"][1:]) == [0, 10]
    null = -np.log(data.available.sum(axis=0)).sum()
    assert found.comparisons["loglik"][1] == pytest.approx(null)
    assert found.comparisons["held_out"][1] == pytest.approx(null)
    assert found.calibration is not None
    assert set(found.calibration["alternative"]) == {ALL_ALTERNATIVES}


def test_a_specification_that_cannot_be_read_is_named(study: ac.Study) -> None:
    with pytest.raises(ac.SpecificationError, match=r"compare: 'wrong': .*no attribute 'TX'"):
        evaluate(study, compare={"wrong": "A: TX"})
    with pytest.raises(ac.SpecificationError, match="'found' is the name"):
        evaluate(study, compare={"found": "A: TT"})


def test_fewer_persons_than_folds_give_fewer_folds() -> None:
    data = small_data(60)
    study = ac.specify(data.take(np.arange(60)), ac.SearchSpace(data))
    assert evaluate(study, folds=1000).folds == 60
    with pytest.raises(ac.ArdchoiceError, match="2 or more folds"):
        evaluate(study, folds=1)


def test_intervals_of_shares_are_wilsons_and_widen_with_clusters() -> None:
    hit = np.array([True] * 30 + [False] * 70)
    alone = interval(0.3, hit, np.ones(100), np.arange(100))
    # Wilson's interval for 30 of 100, from published tables.
    assert alone == pytest.approx((0.2189, 0.3958), abs=1e-4)
    low, high = interval(0.3, hit, np.ones(100), np.arange(100) // 10)
    assert low < alone[0]
    assert high > alone[1]
    never = np.zeros(50, bool)
    assert interval(0.0, never, np.ones(50), np.arange(50))[0] == 0.0
    # Ten persons who never did it say no more than ten answers, however often they were asked.
    ten = interval(0.0, never[:10], np.ones(10), np.arange(10))
    assert interval(0.0, never, np.ones(50), np.arange(50) // 5) == pytest.approx(ten)


def test_calibration_of_certain_predictions_is_exact() -> None:
    rng = np.random.default_rng(0)
    choice = rng.integers(0, 2, 400)
    p = np.stack([choice == 0, choice == 1]).astype(float)
    frame = calibration(("a", "b"), p, p >= 0, choice, np.ones(400), None)
    assert np.allclose(frame["predicted"], frame["observed"])
