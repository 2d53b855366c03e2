"""Mixed logit in WTP space: exact derivatives, the MNL as a special case, and what is refused."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from families_support import business

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.design import Design
from ardchoice.families import family_pass
from ardchoice.settings import parse_settings
from ardchoice.space import as_specification

SPEC = "TRAIN: ASC\nCAR: ASC\n*: TT + CO"
RICH = "TRAIN: ASC\nCAR: ASC + TT x GA\n*: TT + CO\nTRAIN+SM: HE"
DERIVATIVE_STEP = 2e-6
DERIVATIVE_TOLERANCE = 1e-6
"""Relative to the largest element."""
SAME = 1e-8
"""Between two ways to write one model, as estimates of each."""
SIMULATION_TOLERANCE = 0.05
"""Of log-likelihoods with 4,096 nodes that lie differently: it is 0.03 from seed to seed."""


@pytest.fixture(scope="module")
def data() -> ChoiceData:
    return business()


def fitted(data: ChoiceData, random: dict[str, str], spec: str = SPEC, **more) -> ac.Result:
    return ac.fit(data, spec, family=ac.Mixed(random, space="wtp", cost="CO", **more))


@pytest.fixture(scope="module")
def both_random(data: ChoiceData) -> ac.Result:
    return fitted(data, {"*: TT": "normal", "*: CO": "lognormal"})


# -- Derivatives -----------------------------------------------------------------------------------

STRUCTURES = [
    ({}, False),
    ({"*: TT": "normal"}, False),
    ({"*: CO": "-lognormal"}, False),
    ({"*: TT": "normal", "*: CO": "-lognormal"}, False),
    ({"*: TT": "lognormal", "*: CO": "-truncated"}, False),
    ({"*: TT": "truncated", "TRAIN: ASC": "uniform", "*: CO": "-lognormal"}, False),
    ({"*: TT": "triangular", "TRAIN+SM: ASC": "normal", "*: CO": "-lognormal"}, False),
    ({"*: TT": "normal", "*: CO": "-lognormal", "TRAIN: ASC": "normal"}, True),
    (
        {"*: TT": "uniform", "*: CO": "-lognormal", "TRAIN: ASC": "normal"},
        [["*: CO", "TRAIN: ASC"]],
    ),
]


@pytest.mark.parametrize(("random", "correlated"), STRUCTURES)
def test_gradient_and_hessian_agree_with_differences(data, random, correlated):
    # Unequally many answers per person, and alternatives that are unavailable.
    some = data.take(np.setdiff1d(np.arange(270), [3, 4, 5, 30, 100]))
    family = ac.Mixed(random, correlated=correlated, nodes=32, space="wtp", cost="CO")
    design = Design(some, as_specification(SPEC).terms)
    layout = family.layout(design.encoding).reordered(design.order)
    known = {"TRAIN: ASC": -0.4, "CAR: ASC": 0.2, "*: TT": 0.9, "*: CO": -1.1}
    if "*: CO" in random:
        known["*: CO"] = 0.2 if random["*: CO"] == "-lognormal" else -1.4
    theta = np.array([known.get(p.name, 0.7) for p in layout.parameters])
    theta[4:] *= np.linspace(0.6, 1.2, len(theta) - 4)
    theta[[p.kind == "correlation" for p in layout.parameters]] = 0.3
    blocks, frozen = list(design.blocks()), family.frozen_at(theta)
    here = family_pass(frozen, layout, theta, blocks)
    gradient, hessian = np.empty_like(here.gradient), np.empty_like(here.curvature)
    for k in range(len(theta)):
        move = np.zeros(len(theta))
        move[k] = DERIVATIVE_STEP
        up, down = (family_pass(frozen, layout, theta + s * move, blocks, 1) for s in (1, -1))
        gradient[k] = (up.loglik - down.loglik) / (2 * DERIVATIVE_STEP)
        hessian[k] = -(up.gradient - down.gradient) / (2 * DERIVATIVE_STEP)
    size = np.abs(gradient).max()
    np.testing.assert_allclose(here.gradient, gradient, atol=DERIVATIVE_TOLERANCE * size)
    size = np.abs(hessian).max()
    np.testing.assert_allclose(here.curvature, hessian, atol=DERIVATIVE_TOLERANCE * size)


@pytest.mark.parametrize(("random", "correlated"), STRUCTURES[3:5])
def test_gradients_of_shares_agree_with_differences(data, random, correlated):
    some = data.take(np.arange(90))
    family = ac.Mixed(random, correlated=correlated, space="wtp", cost="CO")
    design = Design(some, as_specification(SPEC).terms)
    layout = family.layout(design.encoding).reordered(design.order)
    theta = np.array([-0.4, 0.2, 0.9, -0.3, 0.5, 0.6])
    weights = np.random.default_rng(0).uniform(size=(2, 90))
    (block,) = list(design.blocks())
    found = family.share_gradient(theta, block, layout, weights)
    for k in range(6):
        move = 1e-6 * np.eye(6)[k]
        up, down = (family.probabilities(theta + s * move, block, layout) for s in (1, -1))
        expected = weights @ ((up - down) / 2e-6).T
        np.testing.assert_allclose(found[..., k], expected, atol=1e-6)


# -- One model in two spaces -----------------------------------------------------------------------


@pytest.mark.parametrize("spec", [SPEC, RICH])
def test_without_random_coefficients_it_is_the_multinomial_logit(data, spec):
    mnl, money = ac.fit_mnl(data, spec), fitted(data, {}, spec)
    assert money.loglik == pytest.approx(mnl.loglik, rel=1e-13)
    assert money.estimates["*: CO"] == pytest.approx(mnl.estimates["*: CO"], abs=SAME)
    beta = mnl.estimates
    assert money.estimates["*: TT"] == pytest.approx(beta["*: TT"] / beta["*: CO"], abs=SAME)
    assert money.estimates["CAR: ASC"] == pytest.approx(-beta["CAR: ASC"] / beta["*: CO"], abs=SAME)
    for cov in ("classical", "cluster"):
        expected = mnl.wtp("TT", "CO", by=[], cov=cov)
        row = money.to_frame(cov).loc["*: TT"]
        found = money.wtp("TT", "CO", by=[], cov=cov)
        if spec == SPEC:
            # The standard error of the estimate is that of the delta method.
            assert row["estimate"] == pytest.approx(expected["estimate"].iloc[0], abs=SAME)
            assert row["std_err"] == pytest.approx(expected["std_err"].iloc[0], rel=1e-6)
        np.testing.assert_allclose(found["estimate"], expected["estimate"], rtol=1e-8)
        np.testing.assert_allclose(found["std_err"], expected["std_err"], rtol=1e-5)
    np.testing.assert_allclose(money.predict(), mnl.predict(), atol=1e-9)


def test_with_a_fixed_cost_it_is_preference_space_in_other_units(data):
    plain = ac.fit(data, SPEC, family=ac.Mixed({"*: TT": "normal"}))
    money = fitted(data, {"*: TT": "normal"})
    cost = plain.estimates["*: CO"]
    assert money.loglik == pytest.approx(plain.loglik, abs=1e-5)
    assert money.estimates["*: TT"] == pytest.approx(plain.estimates["*: TT"] / cost, rel=1e-5)
    sd = plain.estimates["sd(*: TT)"] / -cost
    assert money.estimates["sd(*: TT)"] == pytest.approx(sd, rel=1e-4)
    np.testing.assert_allclose(money.predict(), plain.predict(), atol=1e-5)
    one, other = (r.elasticities("TT")["estimate"] for r in (money, plain))
    np.testing.assert_allclose(one, other, rtol=1e-4)
    one, other = (r.scenario("TRAIN: CO * 1.1").surplus["estimate"] for r in (money, plain))
    np.testing.assert_allclose(one, other, rtol=1e-3)


def test_lognormal_cost_and_wtp_correlated_are_lognormal_coefficients_in_preference_space(data):
    """β = -α w is lognormal where α and w are: the same model, with other parameters."""
    some = data.take(np.arange(450))
    random = {"*: TT": "-lognormal", "*: CO": "-lognormal"}
    plain = ac.Mixed(random, correlated=True, nodes=4096)
    turned = {"*: TT": "+lognormal", "*: CO": "-lognormal"}
    money = ac.Mixed(turned, correlated=True, nodes=4096, space="wtp", cost="CO")
    design = Design(some, as_specification("*: TT + CO").terms)
    # ln(-β) of time and cost, standard deviations, correlation; then those of ln w and ln(-α).
    time, cost, sd_time, sd_cost, cor = 0.6, 0.2, 0.9, 0.7, 0.3
    sd = np.sqrt(sd_time**2 + sd_cost**2 - 2 * cor * sd_time * sd_cost)
    cor_w = (cor * sd_time - sd_cost) / sd
    values = {
        plain: {"*: TT": time, "*: CO": cost, "sd(*: TT)": sd_time, "sd(*: CO)": sd_cost},
        money: {"*: TT": time - cost, "*: CO": cost, "sd(*: TT)": sd, "sd(*: CO)": sd_cost},
    }
    loglik = []
    for family, correlation in ((plain, cor), (money, cor_w)):
        layout = family.layout(design.encoding).reordered(design.order)
        theta = np.array([values[family].get(p.name, correlation) for p in layout.parameters])
        loglik.append(family_pass(family, layout, theta, design.blocks(), 0).loglik)
    assert loglik[0] == pytest.approx(loglik[1], abs=SIMULATION_TOLERANCE)


def simulated(persons: int, answers: int, sign: float) -> tuple[ChoiceData, np.ndarray]:
    """Persons with a lognormal cost coefficient and a normal WTP for time, and the latter."""
    rng = np.random.default_rng(5)
    n = persons * answers
    person = np.repeat(np.arange(persons), answers)
    alpha = sign * np.exp(0.4 + 0.5 * rng.standard_normal(persons))[person]
    time = 0.8 + 0.4 * rng.standard_normal(persons)
    columns: dict[str, object] = {"ID": person}
    value = rng.gumbel(size=(3, n))
    for j, name in enumerate("ABC"):
        tt, co, seats = rng.uniform(0, 4, (3, n))
        columns |= {f"{name}_TT": tt, f"{name}_CO": co, f"{name}_SEATS": seats}
        value[j] += alpha * (co + time[person] * tt - 0.5 * seats - 0.6 * (j == 0))
    columns["CHOICE"] = np.array(list("ABC"))[value.argmax(axis=0)]
    table = ac.read_wide(
        pd.DataFrame(columns),
        alternatives=list("ABC"),
        choice="CHOICE",
        attributes={name: "{alt}_" + name for name in ("TT", "CO", "SEATS")},
        person="ID",
    )
    return table, time


def test_simulated_willingness_to_pay_is_found_again():
    table, time = simulated(400, 10, -1.0)
    result = fitted(table, {"*: TT": "normal", "*: CO": "lognormal"}, "A: ASC\n*: TT + CO + SEATS")
    truth = {"A: ASC": 0.6, "*: TT": 0.8, "*: CO": 0.4, "*: SEATS": 0.5}
    truth |= {"sd(*: TT)": 0.4, "sd(*: CO)": 0.5}
    frame = result.to_frame()
    for name, expected in truth.items():
        row = frame.loc[name]
        assert abs(row["estimate"] - expected) < 3 * row["std_err"], name
    assert frame["std_err"].max() < 0.12
    # Conditional means are unbiased predictions of persons' own willingness to pay.
    found = result.individual()["*: TT"].to_numpy()
    slope = np.cov(found, time)[0, 1] / found.var(ddof=1)
    assert slope == pytest.approx(1, abs=0.15)


# -- What it tells ---------------------------------------------------------------------------------


def test_swissmetro_with_a_random_cost_is_sensible(both_random):
    frame = both_random.to_frame()
    assert list(frame["kind"]) == ["wtp", "wtp", "wtp", "mean", "sd", "sd"]
    assert both_random.converged
    # The value of time per hour: 1.2 of the MNL, 1.9 with time alone random.
    assert 1.2 < both_random.estimates["*: TT"] < 2.2
    # Better than preference space with two normal coefficients.
    assert both_random.loglik > -4_125
    wtp = both_random.wtp("TT", "CO")
    assert wtp["estimate"].iloc[0] == pytest.approx(both_random.estimates["*: TT"])
    assert wtp["std_err"].iloc[0] == pytest.approx(frame.loc["*: TT", "std_err"], rel=1e-6)
    assert "willingness to pay in units of CO" in " ".join(both_random.summary().split())


def test_tastes_show_willingness_to_pay_once_and_as_estimated(both_random):
    frame = both_random.tastes().set_index("taste")
    assert list(frame.index) == ["*: TT / CO", "*: CO"]
    assert list(frame["kind"]) == ["WTP", "taste"]
    assert frame.loc["*: TT / CO", "mean"] == pytest.approx(
        both_random.estimates["*: TT"], abs=0.01
    )
    sd = both_random.estimates["sd(*: TT)"]
    assert frame.loc["*: TT / CO", "sd"] == pytest.approx(sd, rel=0.01)


def test_elasticities_and_scenarios_follow_from_probabilities(both_random, data):
    """By differences of predicted shares, at nodes of their own."""
    some = data.take(np.arange(900))
    own = replace(both_random, data=some)
    found = own.elasticities("TT").set_index(["changed", "alternative"])["estimate"]
    step = 1e-4
    attribute = some.attributes["TT"]
    base = own.predict(some).mean()
    for k, name in enumerate(some.alternatives):
        moved = own.scenario(f"{name}: TT * {1 + step}").shares.set_index("alternative")
        change = (moved["scenario"] / moved["base"] - 1) / step
        assert change[name] == pytest.approx(found[name, name], rel=2e-3), k
    assert base.sum() == pytest.approx(1)
    assert attribute is not None
    surplus = own.scenario("SM: CO - 0.1").surplus
    share = base["SM"]
    # A gain of 0.1 in money for those who choose it, and a little more.
    assert surplus["estimate"].iloc[0] == pytest.approx(0.1 * share, rel=0.1)


def test_it_is_saved_and_loaded_to_the_last_bit(both_random, tmp_path):
    both_random.save(tmp_path / "model")
    again = ac.load(tmp_path / "model", result=True)
    np.testing.assert_array_equal(again.coefficients, both_random.coefficients)
    assert again.family == both_random.family
    assert again.summary() == both_random.summary()
    np.testing.assert_array_equal(again.predict(), both_random.predict())
    page = again.report(tmp_path / "model.html").read_text(encoding="utf-8")
    assert "WTP space" in page


def test_constraints_and_calibration_hold_in_wtp_space(data):
    some = data.take(np.arange(900))
    family = ac.Mixed({"*: TT": "normal"}, space="wtp", cost="CO")
    fixed = ac.fit(some, SPEC, family=family, fixed={"*: TT": 1.5})
    assert fixed.estimates["*: TT"] == 1.5
    free = ac.fit(some, SPEC, family=family)
    assert fixed.loglik < free.loglik
    target = {"TRAIN": 0.2, "SM": 0.5, "CAR": 0.3}
    moved = free.calibrate(target)
    assert moved.predict(some).mean().to_dict() == pytest.approx(target, abs=1e-6)


def test_what_is_random_may_be_left_to_the_data(data):
    result = ac.fit(data.take(np.arange(1800)), SPEC, family=ac.Mixed(space="wtp", cost="CO"))
    assert result.family.space == "wtp"
    assert result.family.random
    assert result.estimates["*: TT"] > 0
    assert result.family.random.get("*: CO", "-lognormal") == "-lognormal"


# -- What is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "random", "options", "message"),
    [
        (SPEC, {"*: TT": "normal"}, {"cost": "PRICE"}, "no term of the cost 'PRICE'"),
        (SPEC, {"*: TT": "normal"}, {"cost": None}, "needs the attribute that stands for money"),
        (SPEC, {"*: TT": "normal"}, {"space": "money"}, "no space 'money'"),
        (SPEC, {"*: TT": "normal"}, {"space": "preference"}, "belongs to WTP space"),
        (
            "TRAIN: ASC\n*: TT\nTRAIN+SM: CO",
            {"*: TT": "normal"},
            {},
            "not in the utility of CAR",
        ),
        (
            "TRAIN: ASC + CO\nSM: CO\nCAR: CO\n*: TT",
            {"*: TT": "normal"},
            {},
            "one linear coefficient that all alternatives share",
        ),
        ("*: TT + log1p(CO)", {"*: TT": "normal"}, {}, "one linear coefficient"),
        (SPEC, {"*: CO": "normal"}, {}, "must have one sign"),
        (SPEC, {"*: TT": "-lognormal"}, {}, "willingness to pay in the multinomial logit"),
    ],
)
def test_what_cannot_be_is_refused_in_words(data, spec, random, options, message):
    with pytest.raises(ac.SpecificationError, match=message):
        ac.fit(data, spec, family=ac.Mixed(random, **{"space": "wtp", "cost": "CO", **options}))


def test_a_cost_that_is_liked_is_refused():
    liked, _ = simulated(50, 4, 1.0)
    with pytest.raises(ac.SpecificationError, match="money that is liked measures nothing"):
        fitted(liked, {}, "*: TT + CO")


def test_huge_coefficients_of_a_trial_step_leave_a_finite_log_likelihood(data):
    """Lognormal coefficients of e^30 make Hessians of persons indefinite by rounding."""
    some = data.take(np.arange(450))
    random = {"*: TT": "normal", "*: CO": "-lognormal"}
    family = ac.Mixed(random, space="wtp", cost="CO")
    design = Design(some, as_specification(SPEC).terms)
    layout = family.layout(design.encoding).reordered(design.order)
    for spread in (5.0, 15.0, 60.0):
        known = {"*: CO": 25.0, "sd(*: CO)": spread, "sd(*: TT)": 3.0}
        theta = np.array([known.get(p.name, 0.8) for p in layout.parameters])
        loglik = family_pass(family, layout, theta, design.blocks(), 0).loglik
        assert np.isfinite(loglik)
        assert loglik < 0


def test_a_study_file_asks_for_it(tmp_path):
    text = """
[data]
table = "trips.csv"
alternatives = { TRAIN = 1, SM = 2, CAR = 3 }
choice = "CHOICE"
attributes = { TT = "{alt}_TT", CO = "{alt}_CO" }
person = "ID"

[model]
family = "mixed"
space = "wtp"
cost = "CO"

[model.random]
"*: TT" = "normal"
"""
    asked = ac.Mixed({"*: TT": "normal"}, space="wtp", cost="CO")
    assert parse_settings(text).make_family() == asked
    with pytest.raises(ac.ArdchoiceError, match="space"):
        parse_settings(text.replace('"wtp"', '"money"'))


def test_a_note_says_what_is_paid_to_have_less_and_more_of(both_random: ac.Result) -> None:
    (note,) = (text for text in both_random.notes if text.startswith("WTP space"))
    assert "would be paid for (less of TT); *: CO is the cost coefficient" in note


def test_a_saved_model_keeps_its_signs_whatever_names_are_recognised(
    both_random: ac.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert both_random.family.less == ("TT", "CO")
    both_random.save(tmp_path / "model")
    monkeypatch.setattr("ardchoice.families.mixed.money.recognised_kind", lambda name: None)
    again = ac.load(tmp_path / "model")
    pd.testing.assert_frame_equal(again.predict(), both_random.predict())
    # Without them the willingness to pay would count for a unit more.
    forgetful = replace(again.family, less=None)
    flipped = replace(again, family=forgetful).predict()
    assert np.abs(flipped - both_random.predict()).max().max() > 0.1


# -- In a search -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def space(data: ChoiceData) -> ac.SearchSpace:
    return ac.SearchSpace(data, ["linear", "log1p"], by=["GA"], generic=True)


@pytest.mark.parametrize("random", [{"*: TT": "normal"}, None])
def test_a_search_keeps_the_cost_as_one_linear_coefficient(
    data: ChoiceData, space: ac.SearchSpace, random: dict[str, str] | None
) -> None:
    plain = ac.specify(data, space)
    assert [str(t) for t in plain.specification if t.what == "CO"] != ["*: CO"]  # else no test
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ac.ArdchoiceWarning)  # study.notes has them
        study = ac.specify(data, space, family=ac.Mixed(random, space="wtp", cost="CO"))
    assert [str(t) for t in study.specification if t.what == "CO"] == ["*: CO"]
    assert isinstance(study.result.family, ac.Mixed)
    assert study.result.family.space == "wtp"
    if random is None:
        assert study.result.family.random["*: CO"] == "-lognormal"
    else:  # the form that was selected in place of the one that is named
        assert list(study.result.family.random) == ["*: log1p(TT)"]
        assert "the search dropped *: TT; in another form: *: log1p(TT)" in study.notes[-1]


def test_without_such_a_candidate_nothing_is_searched(data: ChoiceData) -> None:
    specific = ac.SearchSpace(data, ["linear"])
    with pytest.raises(ac.SpecificationError, match=r"'\*: CO' is not among the candidate terms"):
        ac.specify(data, specific, family=ac.Mixed({}, space="wtp", cost="CO"))
