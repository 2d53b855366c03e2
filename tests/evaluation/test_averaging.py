"""Averaged predictions and what predicts best, against sums and folds made by hand."""

import warnings

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.ard import posterior_probabilities
from ardchoice.evaluation import best_predictor, evaluate
from ardchoice.record import Evaluation
from ardchoice.selection import Rule, inclusion
from selection.selection_support import made, table, usual

CLOSE = 5e-4
"""Probability: refits stop when less than a few thousandths of log-likelihood can be gained."""
RULE = ac.Bic(0.4)


@pytest.fixture(scope="module")
def study() -> ac.Study:
    data = made(450, 1, usual)
    return ac.specify(data, ac.SearchSpace(data, by=["G", "H"]), rule=RULE, seed=3)


@pytest.fixture(scope="module")
def evaluation(study: ac.Study) -> Evaluation:
    return evaluate(study, folds=3)


def averaged(study: ac.Study, estimated_on: ac.ChoiceData, new: ac.ChoiceData) -> np.ndarray:
    found = inclusion(study.fit, study.specification, study.rule, study.structure)
    sets, weights = found.most_probable(0.99, 40)
    assert len(sets) > 3
    total = np.zeros(new.available.shape)
    for one, weight in zip(sets, weights, strict=True):
        spec = ac.Specification(tuple(study.fit.terms[t] for t in sorted(one)))
        total += weight * ac.fit_mnl(estimated_on, spec).probabilities(new)
    return total.T


def test_averaged_predictions_are_weighted_sums(study: ac.Study) -> None:
    found = study.predict(average=True)
    np.testing.assert_allclose(found, averaged(study, study.data, study.data), atol=CLOSE)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
    assert np.abs(found - study.predict()).to_numpy().max() > 0.01


def test_a_table_is_predicted_as_its_choices_are(study: ac.Study) -> None:
    new = table(30, 7, usual)
    read = made(30, 7, usual)
    expected = study.predict(read, average=True).to_numpy()
    np.testing.assert_allclose(study.predict(new, average=True), expected, atol=1e-12)
    new.loc[4, "G"] = "neither"
    with pytest.warns(ac.ArdchoiceWarning, match="left empty"):
        found = study.predict(new, average=True)
    assert found.iloc[4].isna().all()
    np.testing.assert_allclose(found.drop(index=4), np.delete(expected, 4, axis=0), atol=1e-12)


def test_honest_averages_are_estimated_on_those_who_did_not_select() -> None:
    data = made(600, 4, usual)
    study = ac.specify(data, ac.SearchSpace(data, by=["G"]), rule=RULE, honest=True)
    expected = averaged(study, study.result.data, study.result.data)
    np.testing.assert_allclose(study.predict(average=True), expected, atol=CLOSE)


def test_inclusion_is_a_row_per_candidate_surest_first(
    study: ac.Study, evaluation: Evaluation
) -> None:
    frame = study.inclusion()
    assert sorted(frame["term"]) == sorted(map(str, study.fit.terms))
    assert frame["probability"].is_monotonic_decreasing
    assert set(frame.loc[frame["selected"], "term"]) == set(map(str, study.specification))
    assert evaluation.inclusion is not None
    pd.testing.assert_frame_equal(evaluation.inclusion, frame)


def test_the_three_are_compared_on_the_same_folds(study: ac.Study, evaluation: Evaluation) -> None:
    frame = evaluation.predictors
    assert frame is not None
    expected = np.zeros((3, 3))
    for i, (train, test) in enumerate(study.data.folds(3, seed=study.seed)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ac.ArdchoiceWarning)
            again = ac.specify(train, study.space, rule=RULE)
        rows = np.arange(len(test))
        every = (
            again.predict(test).to_numpy(),
            again.predict(test, average=True).to_numpy(),
            posterior_probabilities(again.fit, test).T,
        )
        expected[i] = [np.log(p[rows, test.chosen()]).sum() for p in every]
    np.testing.assert_allclose(frame["held_out"], expected.sum(axis=0), atol=0.05)
    apart = expected - expected[:, :1]
    np.testing.assert_allclose(frame["difference"], apart.sum(axis=0), atol=0.05)
    error = np.sqrt(3) * apart.std(axis=0, ddof=1)
    np.testing.assert_allclose(frame["difference_se"], error, atol=0.05)


def test_what_folds_select_again_is_found_once_and_serves_the_three_as_well(
    study: ac.Study, evaluation: Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = []

    def counted(fit: ac.ArdFit, rule: Rule, structure: ac.Structure) -> ac.Specification:
        searches.append(fit)
        return ac.select(fit, rule, structure=structure)

    monkeypatch.setattr("ardchoice.evaluation.averaging.select", counted)
    found = evaluate(study, folds=3, search_in_folds=True)
    assert len(searches) == 3
    assert (found.searched, evaluation.searched) == (True, False)
    assert found.predictors is not None
    assert evaluation.predictors is not None
    pd.testing.assert_frame_equal(found.predictors, evaluation.predictors, check_exact=True)


def test_the_best_predictor_is_named_with_how_sure_that_is() -> None:
    frame = pd.DataFrame(
        {
            "predictor": ["selected", "averaged", "relevance posterior"],
            "held_out": [-100.0, -90.0, -95.0],
            "difference": [0.0, 10.0, 5.0],
            "difference_se": [0.0, 4.0, 4.0],
        }
    )
    text = best_predictor(frame)
    assert "average over specifications predicts held-out persons best, by 10.0 ± 4.0" in text
    assert "more than two" in text
    assert "no more than two" not in text
    assert "average=True" in text
    frame["held_out"] = [-80.0, -90.0, -95.0]
    assert "selected model predicts held-out choices best" in best_predictor(frame, "choices")
    frame["held_out"], frame["difference"] = [-80.0, -79.99, -95.0], [0.0, 0.01, -15.0]
    assert best_predictor(frame).startswith("None of the three predicts held-out persons better")


def test_large_data_are_compared_only_when_asked_to(
    study: ac.Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ardchoice.evaluation.averaging.MOST_CELLS", 10)
    assert evaluate(study, folds=2).predictors is None
    assert evaluate(study, folds=2, search_in_folds=True).predictors is not None


def test_the_summary_shows_what_is_open_and_what_predicts_best(study: ac.Study) -> None:
    text = study.evaluated(folds=3).summary()
    assert "Inclusion probabilities:" in text
    assert "held-out, selection repeated" in text
    assert max(map(len, text.splitlines())) <= 80
