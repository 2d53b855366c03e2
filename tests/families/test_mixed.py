"""Mixed logit: exact derivatives, exact quadrature, published values, and every known pitfall."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from families_support import business
from scipy import optimize, special

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.design import Block, Design
from ardchoice.families import family_pass
from ardchoice.families.mixed import distributions
from ardchoice.families.mixed.kernel import Rule, simulate
from ardchoice.families.mixed.structure import from_loadings, structure_of, to_loadings
from ardchoice.space import as_specification

SPEC = "TRAIN: ASC\nCAR: ASC\n*: TT + CO"
DERIVATIVE_TOLERANCE = 1e-6
"""Relative to the largest element."""
QUADRATURE_TOLERANCE = 0.02
"""Of the log-likelihood, between 64 nodes and fine quadrature."""
ESTIMATE_TOLERANCE = 0.1
"""Of a standard error, against the exact maximum."""


@pytest.fixture(scope="module")
def data() -> ChoiceData:
    return business()


@pytest.fixture(scope="module")
def rows(data: ChoiceData) -> ChoiceData:
    return replace(data, person=None)


def fitted(data: ChoiceData, random: dict[str, str], **options: object) -> ac.Result:
    return ac.fit(data, SPEC, family=ac.Mixed(random, **options))


# -- Derivatives ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("random", "correlated"),
    [
        ({"*: TT": "normal"}, False),
        ({"*: TT": "uniform", "*: CO": "triangular"}, False),
        ({"*: TT": "-lognormal", "TRAIN: ASC": "normal"}, False),
        ({"*: TT": "-truncated", "TRAIN+SM: ASC": "normal"}, False),
        ({"*: TT": "normal", "*: CO": "-lognormal", "TRAIN: ASC": "normal"}, True),
        (
            {"*: TT": "normal", "*: CO": "uniform", "TRAIN: ASC": "normal"},
            [["*: TT", "TRAIN: ASC"]],
        ),
    ],
)
def test_gradient_and_hessian_agree_with_differences(data, random, correlated):
    some = data.take(np.arange(270))
    family = ac.Mixed(random, correlated=correlated, nodes=32)
    design = Design(some, as_specification(SPEC).terms)
    layout = family.layout(design.encoding).reordered(design.order)
    theta = np.array([-0.5, 0.3, -1.2, -1.0] + [0.7] * (len(layout.parameters) - 4))
    theta[4:] *= np.linspace(0.6, 1.2, len(theta) - 4)
    theta[[p.kind == "correlation" for p in layout.parameters]] = 0.3
    blocks, frozen = list(design.blocks()), family.frozen_at(theta)
    here = family_pass(frozen, layout, theta, blocks)
    gradient, hessian = np.empty_like(here.gradient), np.empty_like(here.curvature)
    for k in range(len(theta)):
        move = np.zeros(len(theta))
        move[k] = 1e-5
        up, down = (family_pass(frozen, layout, theta + s * move, blocks, 1) for s in (1, -1))
        gradient[k] = (up.loglik - down.loglik) / 2e-5
        hessian[k] = -(up.gradient - down.gradient) / 2e-5
    size = np.abs(gradient).max()
    np.testing.assert_allclose(here.gradient, gradient, atol=DERIVATIVE_TOLERANCE * size)
    size = np.abs(hessian).max()
    np.testing.assert_allclose(here.curvature, hessian, atol=DERIVATIVE_TOLERANCE * size)


def test_single_precision_changes_the_log_likelihood_by_less_than_a_thousandth(data):
    family = ac.Mixed({"*: TT": "normal", "TRAIN: ASC": "normal"})
    design = Design(data, as_specification(SPEC).terms)
    layout = family.layout(design.encoding).reordered(design.order)
    theta = np.array([-0.5, 0.3, -3.0, -1.6, 3.0, 2.0])
    for block in design.blocks():
        exact = family.evaluate(theta, block, layout)
        rough = family.evaluate(theta, block, layout, single_precision=True)
        assert rough.loglik == pytest.approx(exact.loglik, abs=1e-3)
        size = np.abs(exact.curvature).max()
        np.testing.assert_allclose(rough.curvature, exact.curvature, atol=1e-4 * size)


def test_loadings_and_correlations_are_inverse_to_each_other():
    family = ac.Mixed({"*: TT": "normal", "*: CO": "normal", "TRAIN: ASC": "normal"}, True)
    encoding = Design(business(), as_specification(SPEC).terms).encoding
    structure = structure_of(family.layout(encoding))
    extras = np.array([0.8, 1.5, 2.0, 0.3, -0.4, 0.5])
    np.testing.assert_allclose(from_loadings(structure, to_loadings(structure, extras)), extras)


# -- Distributions --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["normal", "uniform", "triangular", "lognormal", "truncated"])
def test_moments_shares_and_quantiles_are_those_of_many_draws(kind):
    location, spread, sign = (0.3, 0.5, -1) if kind == "lognormal" else (-0.6, 0.9, -1)
    z = special.ndtri((np.arange(200_000) + 0.5) / 200_000)
    bases = (distributions.basis(kind, z),)
    beta = distributions.draw(kind, sign, location, np.array([spread]), bases).value
    mean, sd = distributions.moments(kind, sign, location, spread)
    assert beta.mean() == pytest.approx(mean, rel=1e-3)
    assert beta.std() == pytest.approx(sd, rel=2e-3)
    share = distributions.share_positive(kind, sign, location, spread)
    assert (beta > 0).mean() == pytest.approx(share, abs=1e-4)
    found = distributions.quantile(kind, sign, location, spread, np.array([0.1, 0.5, 0.9]))
    np.testing.assert_allclose(found, np.quantile(beta, [0.1, 0.5, 0.9]), rtol=1e-3)


# -- Exact values ----------------------------------------------------------------------------------


def by_quadrature(data: ChoiceData, theta: np.ndarray) -> float:
    """Log-likelihood per person with a normal time coefficient, 1,601-point trapezoid."""
    z = np.linspace(-8, 8, 1_601)
    design = Design(data, as_specification(SPEC).terms)
    (block,) = list(design.blocks())
    x = np.zeros((4, *block.shape))
    for part in block.parts:
        x[part.columns, list(part.alternatives)] = part.x
    beta = np.array([theta[n] for n in np.asarray(design.names)[design.order]])
    time = list(np.asarray(design.names)[design.order]).index("*: TT")
    total = np.zeros((data.n_persons, len(z)))
    for k, node in enumerate(z):
        drawn = beta.copy()
        drawn[time] += theta["sd(*: TT)"] * node
        v = np.tensordot(drawn, x, 1)
        v[~block.available] = -np.inf
        log_p = v[block.choice, np.arange(v.shape[1])] - special.logsumexp(v, axis=0)
        total[:, k] = np.bincount(data.person, log_p)
    density = -0.5 * z**2 - 0.5 * np.log(2 * np.pi) + np.log(z[1] - z[0])
    return float(special.logsumexp(total + density, axis=1).sum())


def test_one_random_coefficient_agrees_with_fine_quadrature_away_from_the_maximum(data):
    family = ac.Mixed({"*: TT": "normal"})
    design = Design(data, as_specification(SPEC).terms)
    layout = family.layout(design.encoding).reordered(design.order)
    values = {"TRAIN: ASC": -0.3, "CAR: ASC": 0.5, "*: TT": -2.5, "*: CO": -1.2, "sd(*: TT)": 5.0}
    theta = np.array([values[n] for n in layout.names])
    found = family_pass(family, layout, theta, design.blocks(), 0).loglik
    assert found == pytest.approx(by_quadrature(data, pd.Series(values)), abs=1e-3)


def test_the_panel_model_of_time_is_the_exact_one(data):
    result = fitted(data, {"*: TT": "normal"})
    assert result.loglik == pytest.approx(-4359.4128, abs=QUADRATURE_TOLERANCE)
    exact = {"CAR: ASC": 0.2819, "TRAIN: ASC": -0.5752, "*: CO": -1.6603, "*: TT": -3.2216}
    exact["sd(*: TT)"] = 3.6521
    errors = {"CAR: ASC": 0.0567, "TRAIN: ASC": 0.082, "*: CO": 0.0781, "*: TT": 0.1889}
    errors["sd(*: TT)"] = 0.1741
    robust = {"CAR: ASC": 0.1077, "TRAIN: ASC": 0.1458, "*: CO": 0.2933, "*: TT": 0.2236}
    robust["sd(*: TT)"] = 0.2443
    classical, clustered = result.to_frame("classical"), result.to_frame("cluster")
    for name, value in exact.items():
        assert result.estimates[name] == pytest.approx(value, abs=ESTIMATE_TOLERANCE * errors[name])
        assert classical.loc[name, "std_err"] == pytest.approx(errors[name], rel=0.02)
        assert clustered.loc[name, "std_err"] == pytest.approx(robust[name], rel=0.02)
    assert result.bic == pytest.approx(-2 * result.loglik + 5 * np.log(752))
    np.testing.assert_array_equal(result.covariances["robust"], result.covariances["cluster"])


@pytest.mark.parametrize(
    ("kind", "loglik", "spread"),
    [
        ("triangular", -4375.302, 8.8136 / np.sqrt(6)),
        ("uniform", -4416.232, 5.9947 / np.sqrt(3)),
        ("lognormal", -4499.406, 1.3469),
    ],
)
def test_other_distributions_on_the_panel_are_exact(data, kind, loglik, spread):
    result = fitted(data, {"*: TT": kind})
    assert result.loglik == pytest.approx(loglik, abs=QUADRATURE_TOLERANCE)
    assert result.estimates["sd(*: TT)"] == pytest.approx(spread, rel=1e-3)


@pytest.mark.parametrize(
    ("kind", "loglik", "location", "spread"),
    [
        ("normal", -5214.893, -2.2598, 1.6576),
        ("uniform", -5215.058, -2.3206, 2.8756 / np.sqrt(3)),
        ("lognormal", -5231.420, 0.5758, 1.2396),
    ],
)
def test_one_choice_per_unit_is_exact_and_said_to_be_weakly_identified(
    rows, kind, loglik, location, spread
):
    result = fitted(rows, {"*: TT": kind})
    assert result.loglik == pytest.approx(loglik, abs=QUADRATURE_TOLERANCE)
    assert result.estimates["*: TT"] == pytest.approx(location, abs=2e-3)
    assert result.estimates["sd(*: TT)"] == pytest.approx(spread, abs=2e-3)
    assert any("weakly identified" in note for note in result.notes)


def test_time_and_two_constants_are_near_the_exact_maximum(data):
    result = fitted(data, {"*: TT": "normal", "*: ASC": "normal"})
    assert result.loglik == pytest.approx(-3571.691, abs=2.5)
    exact = {"*: TT": (-6.0976, 0.3095), "sd(*: TT)": (3.77, 0.2035)}
    exact |= {"sd(CAR: ASC)": (3.9484, 0.2375), "*: CO": (-3.8389, 0.2171)}
    for name, (value, error) in exact.items():
        assert result.estimates[name] == pytest.approx(value, abs=0.5 * error)


# -- Persons ---------------------------------------------------------------------------------------


def test_persons_may_stand_anywhere_and_answer_unequally_often(data):
    keep = np.random.default_rng(0).random(len(data)) < 0.6
    ragged = data.take(np.flatnonzero(keep))
    shuffled = ragged.take(np.random.default_rng(1).permutation(len(ragged)))
    a, b = (fitted(d, {"*: TT": "normal"}) for d in (ragged, shuffled))
    assert a.loglik == pytest.approx(b.loglik, abs=1e-3)
    np.testing.assert_allclose(a.estimates[list(b.names)], b.estimates, rtol=1e-4)


def test_a_weight_of_two_is_the_person_twice(data):
    some = data.take(np.arange(450))
    weights = np.where(some.person < 25, 2.0, 1.0)
    weighted = fitted(replace(some, weight=weights), {"*: TT": "normal"})
    again = np.concatenate([np.arange(450), np.flatnonzero(some.person < 25)])
    twice = some.take(again)
    person = np.concatenate([some.person, 50 + some.person[some.person < 25]])
    doubled = fitted(replace(twice, person=person), {"*: TT": "normal"})
    assert weighted.loglik == pytest.approx(doubled.loglik, abs=1e-3)
    np.testing.assert_allclose(weighted.coefficients, doubled.coefficients, rtol=1e-4)


def test_conditional_means_average_to_the_population_mean(data):
    result = fitted(data, {"*: TT": "normal"})
    tastes = result.individual()
    assert list(tastes.columns) == ["*: TT", "sd(*: TT)"]
    assert len(tastes) == 752
    # The means of the posteriors average to the mean of the prior at the maximum.
    assert tastes["*: TT"].mean() == pytest.approx(result.estimates["*: TT"], abs=0.02)
    total = (tastes["sd(*: TT)"] ** 2).mean() + tastes["*: TT"].var(ddof=0)
    assert np.sqrt(total) == pytest.approx(result.estimates["sd(*: TT)"], abs=0.02)


def test_multinomial_logit_has_nothing_individual(data):
    with pytest.raises(ac.ArdchoiceError, match="all persons have the same coefficients"):
        ac.fit_mnl(data, SPEC).individual()


def test_predicted_probabilities_are_those_of_many_draws(data):
    result = fitted(data.take(np.arange(900)), {"*: TT": "normal", "TRAIN+SM: ASC": "normal"})
    some = data.take(np.arange(50))
    rng = np.random.default_rng(0)
    mnl = ac.fit_mnl(data.take(np.arange(900)), SPEC)
    total = np.zeros((3, 50))
    draws = 4_000
    for _ in range(draws):
        beta = result.coefficients[:4].copy()
        beta[list(result.names).index("*: TT")] += (
            result.estimates["sd(*: TT)"] * rng.standard_normal()
        )
        v = _utilities(mnl, some, beta)
        v[:2] += result.estimates["sd(TRAIN+SM: ASC)"] * rng.standard_normal()
        v[~some.available] = -np.inf
        total += special.softmax(v, axis=0)
    np.testing.assert_allclose(result.probabilities(some), total / draws, atol=0.02)


def _utilities(result: ac.Result, data: ChoiceData, beta: np.ndarray) -> np.ndarray:
    design = Design(data, result.encoding)
    (block,) = list(design.blocks())
    v = np.zeros(block.shape)
    for part in block.parts:
        v[list(part.alternatives)] += np.tensordot(beta[design.order][part.columns], part.x, 1)
    return v


# -- What goes wrong, and what is said -------------------------------------------------------------


def test_all_constants_random_is_refused_by_name(rows):
    # One choice per person: only J - 1 variances are identified.
    random = {"TRAIN: ASC": "normal", "CAR: ASC": "normal", "SM: ASC": "normal"}
    with pytest.raises(ac.IdentificationError, match="constants of all 3 alternatives"):
        fitted(rows, random)


def test_all_constants_random_are_identified_where_persons_repeat(data):
    # Three variances for three covariances of differences; the scale from one person's choices.
    random = {"TRAIN: ASC": "normal", "CAR: ASC": "normal", "SM: ASC": "normal"}
    result = fitted(data, random, nodes=256)
    spreads = result.to_frame().query("kind == 'sd'")
    assert (spreads["std_err"] < 0.5 * spreads["estimate"]).all()
    without = [fitted(data, {k: v for k, v in random.items() if k != name}) for name in random]
    assert all(result.loglik > other.loglik + 2 for other in without)


def test_a_shared_taste_is_the_generic_one_where_coefficients_are_equal(data):
    specific = SPEC.replace("*: TT + CO", "TRAIN: TT\nSM: TT\nCAR: TT\n*: CO")
    result = ac.fit(data, specific, family=ac.Mixed({"*: TT": "shared normal"}))
    assert "sd(*: TT)" in result.to_frame().index
    generic = fitted(data, {"*: TT": "normal"})
    # The same data and one taste: the specific means can only do better, and hardly differ here.
    assert result.loglik >= generic.loglik - 0.05
    block, design = _one_block(data, specific)
    family = ac.Mixed({"*: TT": "shared normal"})
    layout = family.layout(design.encoding).reordered(design.order)
    simple = Design(data, as_specification(SPEC).terms)
    plain = ac.Mixed({"*: TT": "normal"})
    other = plain.layout(simple.encoding).reordered(simple.order)
    by_name = {"TRAIN: ASC": 0.2, "CAR: ASC": -0.1, "TT": -0.02, "CO": -0.01, "sd": 0.015}

    def value(name: str) -> float:
        return by_name["sd"] if name.startswith("sd") else by_name[name]

    def theta(names: tuple[str, ...]) -> np.ndarray:
        keys = [n if n in by_name or n.startswith("sd") else n[-2:] for n in names]
        return np.array([value(k) for k in keys])

    a = family_pass(family, layout, theta(layout.names), [block], 0).loglik
    b = family_pass(plain, other, theta(other.names), list(simple.blocks()), 0).loglik
    assert a == pytest.approx(b, rel=1e-9)


def test_a_shared_taste_needs_several_coefficients(data):
    with pytest.raises(ac.SpecificationError, match="cannot be shared normal"):
        fitted(data, {"TRAIN+SM: CO": "shared normal"})
    with pytest.raises(ac.SpecificationError, match="normal, triangular or uniform"):
        fitted(data, {"*: TT": "shared lognormal"})


def _one_block(data: ChoiceData, specification: str) -> tuple[Block, Design]:
    design = Design(data, as_specification(specification).terms)
    (block,) = list(design.blocks())
    return block, design


def test_a_lognormal_of_the_wrong_sign_is_refused(data):
    with pytest.raises(ac.SpecificationError, match=r"was to be \+lognormal"):
        fitted(data, {"*: TT": "+lognormal"})


def test_a_lognormal_takes_its_sign_from_the_multinomial_logit_and_says_so(data):
    result = fitted(data.take(np.arange(900)), {"*: CO": "lognormal"})
    assert result.family.random == {"*: CO": "-lognormal"}
    text = " ".join(result.notes)
    assert "negative for everyone" in text
    assert "ln(-β)" in text


def test_a_standard_deviation_at_zero_is_named_and_has_no_error():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(900, 3)), columns=["x_a", "x_b", "x_c"])
    utility = frame.to_numpy() + rng.gumbel(size=(900, 3))
    frame["choice"] = np.array(["a", "b", "c"])[utility.argmax(axis=1)]
    frame["who"] = np.repeat(np.arange(100), 9)
    data = ac.read_wide(
        frame,
        alternatives=["a", "b", "c"],
        choice="choice",
        attributes={"x": "x_{alt}"},
        person="who",
    )
    result = ac.fit(data, "a: ASC\nb: ASC\n*: x", family=ac.Mixed({"*: x": "normal"}))
    mnl = ac.fit_mnl(data, "a: ASC\nb: ASC\n*: x")
    assert result.estimates["sd(*: x)"] == 0
    assert result.converged
    assert any("at its boundary, zero" in note for note in result.notes)
    assert np.isnan(result.to_frame().loc["sd(*: x)", "std_err"])
    assert result.to_frame().loc["sd(*: x)", "p"] == 1.0
    assert result.loglik == pytest.approx(mnl.loglik, abs=1e-6)


def test_the_p_value_of_a_standard_deviation_is_one_sided(data):
    frame = fitted(data.take(np.arange(900)), {"*: TT": "normal"}).to_frame()
    z = frame.loc["sd(*: TT)", "z"]
    assert frame.loc["sd(*: TT)", "p"] == pytest.approx(special.ndtr(-z))
    assert frame.loc["*: TT", "p"] == pytest.approx(2 * special.ndtr(-abs(frame.loc["*: TT", "z"])))


def test_uneven_weights_within_a_person_are_said(data):
    some = data.take(np.arange(450))
    uneven = replace(some, weight=np.linspace(0.5, 1.5, 450))
    assert any("weights persons" in note for note in fitted(uneven, {"*: TT": "normal"}).notes)


def test_simulation_error_and_seed_are_printed_and_a_seed_gives_the_same_digits(data):
    some = data.take(np.arange(900))
    random = {"*: TT": "normal", "TRAIN: ASC": "normal"}
    a, b, other = (fitted(some, random, seed=s) for s in (3, 3, 4))
    np.testing.assert_array_equal(a.coefficients, b.coefficients)
    assert a.loglik != other.loglik
    assert "seed 3" in a.notes[0]
    assert "simulation error" in a.notes[0]
    assert a.loglik == pytest.approx(other.loglik, abs=2.0)


@pytest.mark.parametrize(
    ("random", "message"),
    [
        ({"*: TT": "gaussian"}, "no distribution 'gaussian'"),
        ({"*: HE": "normal"}, "no term of the model"),
        ({"TRAIN+BUS: ASC": "normal"}, "no alternative 'BUS'"),
        ({"TRAIN+SM: ASC": "lognormal"}, "error component"),
        ({"*: TT": "-normal"}, "only lognormal and truncated"),
        ({"*: TT": "normal", "TT": "normal"}, "named twice"),
        ({}, "table of terms"),
    ],
)
def test_random_coefficients_that_cannot_be_are_refused(data, random, message):
    with pytest.raises(ac.SpecificationError, match=message):
        fitted(data, random)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nodes": 50}, "power of two"),
        ({"nodes": 8}, "power of two"),
        ({"seed": -1}, "whole number"),
        ({"correlated": True}, "at least two"),
        ({"correlated": [["*: TT", "*: XX"]]}, "no random coefficient"),
    ],
)
def test_options_that_cannot_be_are_refused(data, options, message):
    with pytest.raises(ac.SpecificationError, match=message):
        fitted(data, {"*: TT": "normal"}, **options)


def test_a_diverging_distribution_is_reported_as_not_converged(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ac.ConvergenceWarning):
            ac.fit(data, SPEC, family=ac.Mixed({"*: TT": "truncated"}), max_iterations=15)


def test_the_maximum_is_the_one_that_a_general_optimiser_finds(data):
    some = data.take(np.arange(450))
    result = fitted(some, {"*: TT": "normal"})
    design = Design(some, as_specification(SPEC).terms)
    layout = result.family.layout(design.encoding).reordered(design.order)
    structure = structure_of(layout)
    (block,) = list(design.blocks())

    def loss(theta: np.ndarray) -> float:
        return -simulate(block, structure, theta, Rule(256, 9), 0).loglik.sum()

    order = layout.permutation(design.order)
    found = optimize.minimize(loss, result.coefficients[order] * 0.9, method="BFGS")
    assert -found.fun == pytest.approx(result.loglik, abs=1e-3)
    np.testing.assert_allclose(found.x, result.coefficients[order], atol=0.02)
