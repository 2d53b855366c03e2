"""Products of attributes, ratios, functions of covariates, splines: everything that terms pass."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import interpolate

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.design import Design
from ardchoice.space import Spline

sys.path.insert(0, str(Path(__file__).parents[1] / "exports"))
from export_models import RICHER_SPECIFICATION as SPEC
from export_models import read_richer as read
from export_models import richer_table as table
from export_support import check_scripts, our_columns

CLOSE = 1e-6


@pytest.fixture(scope="module")
def data() -> ChoiceData:
    return read(table())


@pytest.fixture(scope="module")
def result(data: ChoiceData) -> ac.Result:
    return ac.fit_mnl(data, SPEC)


def test_terms_print_in_the_grammar_and_parse_back() -> None:
    for text in [
        "TRAIN: ASC x log(INC)",
        "*: CO / INC",
        "SM: CO / INC x GA",
        "SM: TT x CO",
        "SM: log(TT) x sqrt(CO) x GA",
        "TRAIN: spline(TT, 4) x GA",
        "A: `my cost` / `my income` x log(`log income`)",
    ]:
        term = ac.parse_term(text)
        assert str(term) == text
        assert ac.parse_term(str(term)) == term
    for wrong in ["A: CO / ", "A: log(CO) / INC", "A: CO x exp(INC)", "A: ASC / INC"]:
        with pytest.raises(ac.SpecificationError):
            ac.parse_term(wrong)


def test_columns_are_what_the_grammar_says(data: ChoiceData, result: ac.Result) -> None:
    found = dict(zip(result.names, our_columns(result), strict=True))
    frame = table()

    def at(name: str, values: pd.Series) -> None:
        alternative = name.partition(":")[0]
        j = data.alternatives.index(alternative)
        expected = np.where(frame[f"{alternative}_AV"] == 1, values, 0.0)
        np.testing.assert_allclose(found[name][j], expected, rtol=1e-12, err_msg=name)
        assert not np.delete(found[name], j, axis=0).any()

    at("TRAIN: ASC x log(INC)", np.log(frame["INC"]))
    at("TRAIN: CO / INC", frame["TRAIN_CO"] / frame["INC"])
    at("SM: CO / INC x GA [0]", frame["SM_CO"] / frame["INC"] * (frame["GA"] == 0))
    at("SM: TT x CO", frame["SM_TT"] * frame["SM_CO"])
    at("CAR: TT x sqrt(CO)", frame["CAR_TT"] * np.sqrt(frame["CAR_CO"]))
    at("CAR: log1p(CO) x square(INC)", np.log1p(frame["CAR_CO"]) * frame["INC"] ** 2)
    at("TRAIN: spline(TT, 3) [1]", frame["TRAIN_TT"])


def test_a_spline_spans_the_natural_cubic_splines_of_its_knots() -> None:
    x = np.sort(np.random.default_rng(1).gamma(2.0, 1.0, 400))
    how = Spline(4)
    knots = how.learn(x)
    assert len(knots) == 5
    heights = np.array([0.3, -1.0, 2.0, 0.5, 1.5])
    natural = interpolate.CubicSpline(knots, heights, bc_type="natural")
    basis = np.vstack([np.ones_like(x), how.apply(x, knots)])
    coefficients, *_ = np.linalg.lstsq(basis.T, natural(x), rcond=None)
    np.testing.assert_allclose(coefficients @ basis, natural(x), atol=1e-9)
    slopes = coefficients[1:] @ how.slope(x, knots)
    np.testing.assert_allclose(slopes, natural(x, 1), atol=1e-8)
    # Beyond the ends it is linear.
    far = np.array([knots[-1], knots[-1] + 1, knots[-1] + 2])
    y = coefficients[1:] @ how.apply(far, knots)
    assert y[2] - y[1] == pytest.approx(y[1] - y[0], rel=1e-9)
    with pytest.raises(ac.TransformError, match="cannot place"):
        how.learn(np.array([1.0, 1, 1, 2, 2]))


def shifted(data: ChoiceData, name: str, j: int, step: float, factor: float = 1.0) -> ChoiceData:
    old = data.attributes[name]
    values = np.array(old.values, dtype=float)
    values[j] = values[j] * factor + step
    return replace(data, attributes={**data.attributes, name: replace(old, values=values)})


@pytest.mark.parametrize("attribute", ["TT", "CO"])
def test_effects_are_finite_differences_of_shares(
    data: ChoiceData, result: ac.Result, attribute: str
) -> None:
    some = data.take(np.flatnonzero(data.attributes["CO"].values.min(axis=0) > 0.01)[:600])
    keys = ["changed", "alternative"]
    effects = result.marginal_effects(attribute, data=some).set_index(keys)["estimate"]
    elasticity = result.elasticities(attribute, data=some).set_index(keys)["estimate"]
    base = result.shares(some)
    for j, changed in enumerate(data.alternatives):
        up, down = (result.shares(shifted(some, attribute, j, s)) for s in (1e-5, -1e-5))
        more, less = (result.shares(shifted(some, attribute, j, 0, 1 + s)) for s in (1e-5, -1e-5))
        for name in data.alternatives:
            slope = (up[name] - down[name]) / 2e-5
            relative = (more[name] - less[name]) / 2e-5 / base[name]
            assert effects[changed, name] == pytest.approx(slope, rel=CLOSE, abs=1e-8)
            assert elasticity[changed, name] == pytest.approx(relative, rel=CLOSE, abs=1e-8)


def test_wtp_with_a_product_is_the_ratio_of_mean_slopes(
    data: ChoiceData, result: ac.Result
) -> None:
    b, frame = result.estimates, table()
    here = frame[frame["SM_AV"] == 1]
    time = b["SM: TT"] + b["SM: TT x CO"] * here["SM_CO"].mean()
    segment = (here["GA"] == 0).astype(float)
    money = (
        b["SM: CO"]
        + b["SM: TT x CO"] * here["SM_TT"].mean()
        + b["SM: CO / INC x GA [0]"] * (segment / here["INC"]).mean()
    )
    found = result.wtp("TT", "CO", by=[]).set_index("alternative")
    assert found["estimate"]["SM"] == pytest.approx(time / money, rel=1e-9)


def test_new_data_are_treated_as_the_first(data: ChoiceData, result: ac.Result) -> None:
    rows = np.arange(0, 2700, 7)
    part = result.predict(data.take(rows))
    np.testing.assert_allclose(part, result.predict().iloc[rows], atol=1e-14)
    bad = replace(data.covariates["INC"], values=np.zeros(len(data)))
    with pytest.raises(ac.TransformError, match="needs"):
        result.predict(replace(data, covariates={**data.covariates, "INC": bad}))


def test_scenarios_touch_both_factors(data: ChoiceData, result: ac.Result) -> None:
    found = result.scenario("SM: CO * 1.1").predict().to_numpy().T
    changed = shifted(data, "CO", 1, 0.0, 1.1)
    np.testing.assert_allclose(found, result.probabilities(changed), atol=1e-13)
    richer = replace(data.covariates["INC"], values=data.covariates["INC"].numbers() * 2)
    more = replace(data, covariates={**data.covariates, "INC": richer})
    found = result.scenario("INC * 2").predict().to_numpy().T
    np.testing.assert_allclose(found, result.probabilities(more), atol=1e-13)


def test_python_scripts_have_our_columns(tmp_path: Path) -> None:
    table(1800).to_csv(tmp_path / "trips.csv", index=False)
    result = ac.fit_mnl(read(tmp_path / "trips.csv"), SPEC)
    check_scripts(result, tmp_path)
    for package in ("apollo", "text", "latex"):
        assert ac.export(result, package, tmp_path).read_text(encoding="utf-8")
    text = (tmp_path / "model.txt").read_text() if (tmp_path / "model.txt").exists() else ""
    assert "{" not in text


def test_a_saved_study_has_them(data: ChoiceData, tmp_path: Path) -> None:
    space = ac.SearchSpace(
        data, ["linear", "spline(3)", "/ INC"], by=["GA", "log(INC)", "CO"], base="CAR"
    )
    named = set(map(str, space.terms))
    assert {"SM: TT x CO", "TRAIN: ASC x log(INC)", "CAR: CO / INC", "SM: spline(TT, 3)"} <= named
    assert not any("CO x CO" in name or name.endswith("ASC x CO") for name in named)
    study = ac.specify(data, space)
    study.save(tmp_path / "study")
    again = ac.load(tmp_path / "study")
    assert again.space.terms == space.terms
    np.testing.assert_array_equal(again.predict(), study.predict())
    from ardchoice.settings import parse_settings, settings_of, to_toml

    settings = settings_of(study)
    assert parse_settings(to_toml(settings), complete=False).space == settings.space


def test_the_search_finds_a_product_and_its_main_terms(data: ChoiceData) -> None:
    spec = "TRAIN: ASC\nSM: ASC\n*: TT + CO\n*: TT x CO"
    true = ac.fit_mnl(data, spec)
    strong = true.estimates.to_numpy().copy()
    strong[true.names.index("*: TT x CO")] = 0.6
    drawn = ac.simulate_choices(data, replace(true, coefficients=strong), seed=1)
    space = ac.SearchSpace(drawn, by=["CO"], base="CAR", generic=True, specific=False)
    assert "*: TT x CO" in map(str, space.terms)
    found = ac.specify(drawn, space, structure=ac.Structure(signs={})).specification
    assert {"*: TT x CO", "*: TT", "*: CO"} <= set(map(str, found.terms))


def test_expected_signs_hold_for_products_and_splines_over_the_observed_range(
    data: ChoiceData,
) -> None:
    from ardchoice.selection.signs import SignRules

    spec = ["*: TT", "*: CO", "*: TT x CO", "TRAIN: spline(TT, 3)"]
    design = Design(data, [ac.parse_term(t) for t in spec])
    rules = SignRules({"TT": "-", "CO": "-"}, design.encoding, data)
    highest = data.attributes["CO"].values[0][data.available[0]].max()
    beta = np.zeros(design.n_columns)
    beta[:2] = -1.0
    for product, right in ((0.9 / highest, True), (1.1 / highest, False)):
        beta[2] = product
        wrong = [w for w in rules.violations([0, 2], beta) if w.attribute == "TT"]
        assert (not [w for w in wrong if w.alternative == "TRAIN"]) is right
    # A spline that turns within the range is wrong; one that only falls is right.
    x = data.attributes["TT"].values[0][data.available[0]]
    encoded = design.encoding.terms[3]
    grid = np.linspace(x.min(), x.max(), 400)
    basis = encoded.term.how.apply(grid, encoded.parameters)
    for shape in (np.array([-1.0, 0.0, 0.0]), np.array([-1.0, 4.0, -1.0])):
        beta = np.zeros(design.n_columns)
        beta[encoded.columns] = shape
        falls = bool((np.diff(shape @ basis) <= 1e-9).all())
        assert (not rules.violations([3], beta)) is falls


def test_expected_signs_hold_for_ratios_over_the_observed_range(data: ChoiceData) -> None:
    from ardchoice.selection.signs import SignRules

    design = Design(data, [ac.parse_term(t) for t in ("SM: CO", "SM: CO / INC")])
    rules = SignRules({"CO": "-"}, design.encoding, data)
    income = data.covariates["INC"].values[data.available[1]]
    beta = np.zeros(design.n_columns)
    first, second = (design.encoding.terms[k].columns for k in (0, 1))
    # The slope is b + c / INC: the one with the smallest income has most of c.
    for main, ratio in ((-1.0, 0.9), (-1.0, 1.1), (0.0, -1.0), (0.0, 1.0)):
        beta[first], beta[second] = main, ratio * income.min()
        falls = bool((main + ratio * income.min() / income <= 1e-12).all())
        assert (not rules.violations([0, 1], beta)) is falls


def test_what_cannot_be_multiplied_is_said(data: ChoiceData) -> None:
    for text, message in {
        "SM: TT x TT": "square",
        "SM: ASC x CO": "written CO",
        "SM: ASC x log(GA)": "categorical",
        "SM: CO / GA": "categorical",
        "SM: CO / WEALTH": "no covariate 'WEALTH'",
        "SM: ASC x log(WEALTH)": "no covariate 'WEALTH'",
    }.items():
        with pytest.raises(ac.SpecificationError, match=message):
            ac.fit_mnl(data, ["TRAIN: ASC", text])
