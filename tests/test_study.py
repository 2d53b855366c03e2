"""`specify`: everything in one call, the same every time, and honest where told."""

import importlib.metadata
import re

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.progress import Event
from selection.selection_support import made, obeys, read, table, usual

WIDTH = 80


@pytest.fixture(scope="module")
def data() -> ac.ChoiceData:
    return made(600, 1, usual)


@pytest.fixture(scope="module")
def space(data: ac.ChoiceData) -> ac.SearchSpace:
    return ac.SearchSpace(data, {"TT": ["linear", "log1p"]}, by=["G"])


@pytest.fixture(scope="module")
def study(data: ac.ChoiceData, space: ac.SearchSpace) -> ac.Study:
    return ac.specify(data, space)


@pytest.fixture(scope="module")
def honest(data: ac.ChoiceData, space: ac.SearchSpace) -> ac.Study:
    return ac.specify(data, space, honest=True, seed=2)


def persons(data: ac.ChoiceData) -> set[int]:
    """Of the made-up table, where each person has three rows."""
    return {int(row) // 3 for row in data.situation}


# -- The whole -----------------------------------------------------------------------------------


def test_a_study_is_relevance_selection_and_estimation(
    study: ac.Study, data: ac.ChoiceData, space: ac.SearchSpace
) -> None:
    fit = ac.fit_ard(data, space)
    np.testing.assert_array_equal(study.fit.lam, fit.lam)
    specification = ac.select(fit)
    assert study.specification == specification
    assert study.specification.near_ties == specification.near_ties
    result = ac.fit_mnl(data, specification)
    assert study.result.loglik == result.loglik
    np.testing.assert_array_equal(study.result.coefficients, result.coefficients)
    assert study.notes == ()
    assert study.data is data
    assert study.space is space
    assert study.selection_result is None


def test_strong_effects_are_found(study: ac.Study) -> None:
    kept = {str(t) for t in study.specification}
    assert {"A: ASC", "B: ASC", "A: CO", "B: CO", "C: CO"} <= kept
    for place in "AB":
        assert {f"{place}: TT", f"{place}: log1p(TT)"} & kept
    assert obeys(ac.Structure(), study.space, study.specification.terms)
    assert set(study.specification.reasons) == set(study.space.terms)


def test_settings_are_remembered(study: ac.Study, honest: ac.Study) -> None:
    assert study.rule == ac.Ebic()
    assert study.structure == ac.Structure()
    assert (study.honest, study.seed) == (False, 0)
    assert (honest.honest, honest.seed) == (True, 2)
    assert study.seconds > 0
    assert study.version == importlib.metadata.version("ardchoice")
    terms = f"{len(study.specification)} of {len(study.space)} terms"
    assert repr(study) == f"<Study: {terms}>"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"honest": True},
        {"rule": ac.HeldOut(folds=2, weights=(0.5, 2.0))},
        {"rule": ac.LambdaAbove(), "solver": ac.Dsvi(seed=3)},
    ],
    ids=["plain", "honest", "held out", "sampled"],
)
def test_the_same_seed_gives_the_same_study(data: ac.ChoiceData, options: dict) -> None:
    space = ac.SearchSpace(data, by=["G"], attributes=["TT"])
    a, b = (ac.specify(data, space, seed=5, **options) for _ in range(2))
    assert a.specification == b.specification
    np.testing.assert_array_equal(a.fit.lam, b.fit.lam)
    np.testing.assert_array_equal(a.result.coefficients, b.result.coefficients)
    without_time = [re.sub(r" in [\d.]+ s", "", str(s)) for s in (a, b)]
    assert without_time[0] == without_time[1]


def test_without_structure_there_are_no_rules() -> None:
    data = made(600, 1, lambda frame: {"A": -1.5 * frame["A_TT"] * (frame["G"] == "u")})
    space = ac.SearchSpace(data, by=["G"])
    study = ac.specify(data, space, structure=None)
    assert study.structure is None
    assert study.specification == ac.select(study.fit, structure=None)
    # Neither constants nor main terms have to stay.
    kept = {str(t) for t in study.specification}
    assert "A: TT x G" in kept
    assert kept.isdisjoint({"A: ASC", "B: ASC", "A: TT"})
    criterion = ac.Ebic().criterion(len(data), space.columns)

    def value(result: ac.Result) -> float:
        return criterion.value(result.loglik, result.n_parameters, len(result.specification))

    assert value(study.result) <= value(ac.fit_mnl(data, ac.select(study.fit))) + 1e-2


def test_rule_solver_and_structure_are_passed_on(
    data: ac.ChoiceData, space: ac.SearchSpace
) -> None:
    structure = ac.Structure(force="C: TT x G", forbid="*: log1p(*)", signs={"CO": "-"})
    rule, solver = ac.FalseDiscovery(0.1), ac.Dsvi(seed=1)
    study = ac.specify(data, space, structure=structure, rule=rule, solver=solver)
    assert study.fit.solver == solver
    assert obeys(structure, space, study.specification.terms)
    assert study.specification == ac.select(study.fit, rule, structure=structure)
    assert "selected by false discovery rate 0.1" in str(study)


def test_the_path_shows_the_criterion_that_selected(study: ac.Study, honest: ac.Study) -> None:
    assert study.path(folds=0).criterion == "EBIC"
    assert study.path(folds=2).best_held_out is not None
    # Of the persons that selected.
    path = honest.path(folds=0)
    expected = ac.fit_mnl(honest.fit.data, "A: ASC\nB: ASC").loglik
    assert path.frame["loglik"][0] == pytest.approx(expected, abs=1e-3)


# -- Honest --------------------------------------------------------------------------------------


def test_honest_estimates_come_from_persons_that_had_no_part_in_the_selection(
    honest: ac.Study, data: ac.ChoiceData
) -> None:
    selecting, estimating = honest.fit.data, honest.result.data
    assert persons(selecting).isdisjoint(persons(estimating))
    assert persons(selecting) | persons(estimating) == persons(data)
    assert len(selecting) + len(estimating) == len(data) == len(honest.data)
    assert selecting.n_persons == estimating.n_persons == 100
    assert honest.result.n_situations == len(estimating)
    assert honest.selection_result is not None
    assert honest.selection_result.data is selecting
    assert honest.result.specification == honest.selection_result.specification


def test_honest_results_are_those_of_fit_mnl_on_each_half(honest: ac.Study) -> None:
    for result in (honest.result, honest.selection_result):
        assert result is not None
        again = ac.fit_mnl(result.data, honest.specification)
        np.testing.assert_array_equal(result.coefficients, again.coefficients)
    assert honest.specification == ac.select(ac.fit_ard(honest.fit.data, honest.space))


def test_another_seed_draws_other_halves(
    honest: ac.Study, data: ac.ChoiceData, space: ac.SearchSpace
) -> None:
    other = ac.specify(data, space, honest=True, seed=3)
    assert persons(other.fit.data) != persons(honest.fit.data)


def test_without_persons_situations_are_divided() -> None:
    data = read(table(400, 1, usual), person=None)
    study = ac.specify(data, ac.SearchSpace(data), honest=True)
    assert len(study.fit.data) == len(study.result.data) == 200
    assert not set(study.fit.data.situation) & set(study.result.data.situation)


# -- What is printed -----------------------------------------------------------------------------


def test_the_explanation_is_that_of_the_specification(study: ac.Study) -> None:
    assert study.explain() == study.specification.explain()
    assert max(map(len, study.explain().splitlines())) <= WIDTH


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_the_summary_says_that_p_values_are_conditional_on_the_selection(study: ac.Study) -> None:
    text = one_line(str(study))
    assert "these p-values are conditional on the selection and too small" in text
    assert "honest=True in Python, honest = true in [selection] of a study file" in text
    assert "valid" not in text
    assert str(study) == study.summary()


def test_the_honest_summary_says_which_p_values_are_valid(honest: ac.Study) -> None:
    text = one_line(str(honest))
    assert "Right: the other persons, who had no part in the selection" in text
    assert "these p-values are valid" in text
    assert "conditional on the selection" not in text


def test_the_summary_has_the_specification_its_fit_and_its_near_ties(study: ac.Study) -> None:
    text = str(study)
    size = f"{len(study.specification)} of {len(study.space)} candidate terms"
    assert text.startswith(size)
    assert study.specification.to_text() in text
    assert study.result.summary() in text
    assert re.search(r"selected by EBIC, [\d,.]+, in [\d.]+ s", text)
    assert study.specification.near_ties
    assert one_line(str(study.specification.near_ties[0])) in one_line(text)


LONG = {"G": "TRAVELS_FOR_BUSINESS", "H": "REGION_OF_RESIDENCE"}


@pytest.mark.parametrize("is_honest", [False, True], ids=["plain", "honest"])
def test_every_line_fits_in_eighty_columns(is_honest: bool) -> None:
    def utility(frame: pd.DataFrame) -> dict[str, object]:
        much = np.where(frame["G"] == "u", 2.0, -2.0)  # so that signs have something to say
        return {name: much * frame[f"{name}_TT"] - frame[f"{name}_CO"] for name in "ABC"}

    frame = table(400, 2, utility).rename(columns=LONG)  # type: ignore[arg-type]
    data = read(frame, covariates={name: ac.Categorical() for name in LONG.values()})
    space = ac.SearchSpace(data, by=list(LONG.values()))
    structure = ac.Structure(signs={"TT": "-"})
    study = ac.specify(data, space, structure=structure, honest=is_honest, rule=ac.Bic(0.7))
    assert study.specification.notes
    for text in (str(study), study.explain()):
        assert max(map(len, text.splitlines())) <= WIDTH
    assert one_line(study.specification.notes[0]) in one_line(str(study))


def test_relevance_that_did_not_converge_is_told(data: ac.ChoiceData) -> None:
    solver = ac.Dsvi(max_epochs=2)
    study = ac.specify(data, ac.SearchSpace(data), solver=solver, rule=ac.LambdaAbove())
    assert "RELEVANCE DID NOT CONVERGE" in str(study)


def test_progress_goes_to_standard_error_only(
    data: ac.ChoiceData, space: ac.SearchSpace, capsys: pytest.CaptureFixture[str]
) -> None:
    ac.specify(data, space, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    said = [line.split()[2] for line in err.splitlines()]
    assert list(dict.fromkeys(said)) == ["relevance", "search", "estimate"]
    assert max(map(len, err.splitlines())) <= WIDTH


def test_progress_can_be_listened_to(data: ac.ChoiceData, space: ac.SearchSpace) -> None:
    heard: list[Event] = []
    study = ac.specify(data, space, progress=heard.append)
    assert sum(e.phase == "relevance" for e in heard) >= len(study.fit.trace)
    last = {e.phase: e for e in heard}
    assert last["relevance"].values["evidence"] == study.fit.trace[-1].objective
    assert last["search"].values["terms"] == len(study.specification)
    assert all(e.seconds_left is None for e in heard if e.phase != "estimate")
    with pytest.raises(ac.ArdchoiceError, match="not 'loudly'"):
        ac.specify(data, space, progress="loudly")  # type: ignore[arg-type]


def test_without_progress_nothing_is_written(
    data: ac.ChoiceData, space: ac.SearchSpace, capsys: pytest.CaptureFixture[str]
) -> None:
    ac.specify(data, space, rule=ac.LambdaAbove())
    assert capsys.readouterr() == ("", "")


# -- Data that tempt -----------------------------------------------------------------------------


def test_a_specification_that_separates_is_estimated_with_a_warning() -> None:
    frame = table(500, 4, usual)
    frame.loc[frame["H"] == "p", "PICK"] = "A"
    data = read(frame)
    space = ac.SearchSpace(data, by=["H"], attributes=["TT"])
    # The search drops interactions that diverge unless they are forced in.
    structure = ac.Structure(force=["A: ASC x H"])
    with pytest.warns(ac.ArdchoiceWarning, match=r"no finite maximum.*large numbers"):
        study = ac.specify(data, space, structure=structure)
    limit = ac.fit_mnl(data, study.specification, separation="allow")
    assert study.result.loglik == limit.loglik
    (note,) = study.notes
    assert one_line(note) in one_line(str(study))
    assert max(map(len, str(study).splitlines())) <= WIDTH


def test_weights_are_heeded() -> None:
    frame = table(600, 1, usual)
    # Each row that counts double stands there twice.
    twice = frame.assign(W=1.0 + (frame["ID"] % 2))
    weighted = read(twice, weight="W", weight_kind="frequency")
    repeated = read(pd.concat([frame, frame[frame["ID"] % 2 == 1]], ignore_index=True))
    space = ac.SearchSpace(weighted)
    rule = ac.LambdaAbove()
    a, b = (ac.specify(d, space, rule=rule, structure=None) for d in (weighted, repeated))
    assert a.specification.terms == b.specification.terms
    assert a.result.loglik == pytest.approx(b.result.loglik)


def test_nothing_selected_is_a_study_too() -> None:
    data = made(300, 5)
    space = ac.SearchSpace(data, by=["G"])
    study = ac.specify(data, space, structure=None)
    assert not len(study.specification)
    assert study.result.loglik == pytest.approx(-len(data) * np.log(3))
    assert all(why.startswith("dropped") for why in study.specification.reasons.values())
    assert str(study).startswith("0 of 16 candidate terms")
