"""Exponents and thresholds that the likelihood of the choices decides."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ardchoice as ac
from ardchoice.families import Profile, ProfilePoint
from ardchoice.space import BoxCox, Piecewise

BIOGEME_LOGLIK = -5292.095411
BIOGEME = {
    "TRAIN: ASC": (-0.4849736, 0.0613531, 0.0643978),
    "CAR: ASC": (-0.0046234, 0.0470809, 0.0480083),
    "*: boxcox(TT)": (-1.6749072, 0.0744124, 0.0765578),
    "*: CO": (-0.0107853, 0.00052008, 0.00068008),
    "exponent(*: boxcox(TT))": (0.5100614, 0.0518891, 0.0773051),
}
"""Of Biogeme 3.3.2, its Box-Cox example on Swissmetro: estimate, classical and robust error."""
DIGITS = 2e-5
"""Relative: where Biogeme's algorithm stops."""
PROFILE_GAP = 1e-6
"""Log-likelihood by which a maximum may miss the best of a fine grid."""


@pytest.fixture(scope="module")
def swissmetro():
    """The 6,768 rows of Biogeme's examples; times in units of 100 minutes."""
    table = ac.datasets.swissmetro()
    times = {f"{alt}_TT": f"{alt}_TT / 100" for alt in ("TRAIN", "SM", "CAR")}
    costs = {f"{alt}_CO": f"{alt}_CO * (GA == 0)" for alt in ("TRAIN", "SM")}
    return ac.read_wide(
        table,
        alternatives={"TRAIN": 1, "SM": 2, "CAR": 3},
        choice="CHOICE",
        attributes={"TT": "{alt}_TT", "CO": "{alt}_CO"},
        covariates=["GA"],
        availability="{alt}_AV",
        person="ID",
        derive=times | costs,
        where="PURPOSE in (1, 3) and CHOICE != 0",
    )


CONSTANTS = ["TRAIN: ASC", "CAR: ASC"]


@pytest.fixture(scope="module")
def boxcox(swissmetro):
    return ac.fit_mnl(swissmetro, [*CONSTANTS, "*: boxcox(TT) + CO"])


def drawn(utility, n=4000, seed=1, repeats=1):
    """Choices between two alternatives with given utilities of x."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.2, 10, size=(2, n))
    v = utility(x) + rng.gumbel(size=x.shape)
    table = pd.DataFrame({"x_a": x[0], "x_b": x[1], "choice": np.where(v[0] > v[1], "a", "b")})
    table["g"] = rng.choice(["m", "f"], n)
    table["who"] = np.arange(n) // repeats
    return ac.read_wide(
        table,
        alternatives=["a", "b"],
        choice="choice",
        attributes={"x": "x_{alt}"},
        covariates=["g"],
        person="who" if repeats > 1 else None,
    )


# -- Against another program -----------------------------------------------------------------------


def test_an_exponent_and_all_errors_are_those_of_biogeme(swissmetro, boxcox):
    assert len(swissmetro) == 6768
    assert boxcox.loglik == pytest.approx(BIOGEME_LOGLIK, abs=1e-5)
    classical, robust = (boxcox.to_frame(cov=cov) for cov in ("classical", "robust"))
    for name, (estimate, error, sandwich) in BIOGEME.items():
        assert classical.loc[name, "estimate"] == pytest.approx(estimate, rel=DIGITS, abs=1e-6)
        assert classical.loc[name, "std_err"] == pytest.approx(error, rel=DIGITS)
        assert robust.loc[name, "std_err"] == pytest.approx(sandwich, rel=DIGITS)
    assert boxcox.n_parameters == 5
    assert boxcox.bic == pytest.approx(-2 * BIOGEME_LOGLIK + 5 * np.log(6768), abs=1e-4)


# -- Against the profile by hand -------------------------------------------------------------------


def powered(data, exponent):
    """The same choices with the attribute transformed by hand."""
    attribute = data.attributes["x"]
    values = (attribute.values**exponent - 1) / exponent
    return replace(data, attributes={"x": replace(attribute, values=values)})


def test_an_exponent_maximises_the_profile_on_a_grid():
    data = drawn(lambda x: -2 * np.sqrt(x))
    result = ac.fit_mnl(data, "*: boxcox(x)\na: ASC")
    exponent = result.shapes.values[0]
    grid = exponent + np.linspace(-0.5, 0.5, 41)
    profile = [ac.fit_mnl(powered(data, e), "*: x\na: ASC").loglik for e in grid]
    assert result.loglik >= max(profile) - PROFILE_GAP
    assert grid[int(np.argmax(profile))] == pytest.approx(exponent, abs=0.0126)
    # Its variance is the inverse curvature of the profile, by second differences.
    h = 0.02
    ends = [ac.fit_mnl(powered(data, exponent + s), "*: x\na: ASC").loglik for s in (-h, h)]
    curvature = -(sum(ends) - 2 * result.loglik) / h**2
    error = result.to_frame(cov="classical").loc["exponent(*: boxcox(x))", "std_err"]
    assert error == pytest.approx(curvature**-0.5, rel=0.01)
    assert abs(exponent - 0.5) < 3 * error


def test_a_threshold_maximises_the_profile_over_knots():
    data = drawn(lambda x: -0.9 * np.minimum(x, 4.0) - 0.1 * np.maximum(x - 4.0, 0.0))
    result = ac.fit_mnl(data, "*: thresholds(x, 1)")
    cut = float(result.shapes.values[0])
    by_knot = {k: ac.fit_mnl(data, f"*: piecewise(x, {k})") for k in np.linspace(1, 9, 161)}
    assert result.loglik >= max(one.loglik for one in by_knot.values()) - PROFILE_GAP
    same = ac.fit_mnl(data, f"*: piecewise(x, {cut!r})")
    assert result.loglik == pytest.approx(same.loglik, abs=1e-8)
    assert result.n_parameters == same.n_parameters + 1 == 3
    frame = result.to_frame(cov="classical")
    assert abs(cut - 4.0) < 3 * frame["std_err"].iloc[-1]
    # Knowing the threshold makes slopes surer.
    known = same.to_frame(cov="classical")["std_err"].to_numpy()
    assert (frame["std_err"].to_numpy()[:2] > known).all()


def test_steps_find_the_best_cut_of_all():
    data = drawn(lambda x: 1.5 * (x < 3.0), n=300)
    result = ac.fit_mnl(data, "*: steps(x, 2)")
    values = np.unique(data.attributes["x"].values)
    middles = 0.5 * (values[1:] + values[:-1])
    x = data.attributes["x"].values

    def loglik(cut):
        column = replace(data.attributes["x"], values=(x < cut).astype(float))
        return ac.fit_mnl(replace(data, attributes={"x": column}), "*: x").loglik

    inside = middles[(middles > np.quantile(x, 0.02)) & (middles < np.quantile(x, 0.98))]
    best = max(loglik(cut) for cut in inside[::7])
    assert result.loglik >= best - PROFILE_GAP
    assert result.loglik == pytest.approx(loglik(result.shapes.values[0]), abs=1e-8)
    assert result.n_parameters == 2
    assert np.isnan(result.to_frame()["std_err"].iloc[-1])
    assert "conditional on threshold(*: steps(x, 2))" in result.notes[-1]


def test_two_thresholds_are_at_least_as_good_as_every_pair_of_a_grid():
    data = drawn(lambda x: -np.minimum(x, 3.0) - 1.2 * np.maximum(x - 7.0, 0.0), n=2500)
    result = ac.fit_mnl(data, "*: thresholds(x, 2)")
    first, second = result.shapes.values
    assert first < second
    grid = np.linspace(1, 9, 11)
    best = max(
        ac.fit_mnl(data, f"*: piecewise(x, {a}, {b})").loglik
        for i, a in enumerate(grid)
        for b in grid[i + 1 :]
    )
    assert result.loglik >= best
    assert result.n_parameters == 5


# -- Errors ----------------------------------------------------------------------------------------


def test_errors_of_thresholds_are_as_large_as_estimates_vary():
    estimates, errors = [], []
    for seed in range(40):
        data = drawn(
            lambda x: -1.2 * np.minimum(x, 5.0) + 0.2 * np.maximum(x - 5.0, 0.0), 1500, seed
        )
        result = ac.fit_mnl(data, "*: thresholds(x)")
        estimates.append(result.all_values)
        errors.append(result.to_frame(cov="classical")["std_err"].to_numpy())
    ratio = np.std(estimates, axis=0, ddof=1) / np.median(errors, axis=0)
    assert (np.abs(np.log(ratio)) < 0.4).all()  # 40 draws know a spread to 11 %
    assert abs(np.mean(estimates, axis=0)[-1] - 5.0) < 0.15


@pytest.mark.parametrize(
    "family",
    [
        ac.Nested({"b": ["TRAIN", "CAR"]}),
        ac.LatentClass(2, starts=2),
        ac.Mixed({"*: CO": "normal"}),
    ],
    ids=lambda f: f.tag,
)
def test_every_family_has_its_exponent_with_an_error(swissmetro, family):
    data = swissmetro.take(np.flatnonzero(np.asarray(swissmetro.person) < 150))
    result = ac.fit(data, [*CONSTANTS, "*: boxcox(TT) + CO"], family=family)
    name = "exponent(*: boxcox(TT))"
    frame = result.to_frame(cov="classical")
    assert result.n_parameters == len(result.names) + 1
    # The profile falls on either side as its error says.
    error, exponent = frame.loc[name, "std_err"], result.shapes.values[0]
    assert 0 < error < 5
    for sign in (-1, 1):
        other = fixed_exponent(data, family, exponent + sign * error, result)
        assert 0.2 < result.loglik - other < 1.0  # ½ for a quadratic profile


def fixed_exponent(data, family, exponent, near):
    """The maximum at another exponent, from these estimates."""
    found = near.family
    profile = Profile(data, near.encoding, found)
    order = np.concatenate(
        [np.argsort(profile.position), np.arange(profile.layout.n_columns, len(near.coefficients))]
    )
    start = ProfilePoint(near.shapes.values, near.coefficients[order], 0.0, np.empty((0, 0)))
    return profile.at([exponent], start).loglik


def test_wtp_and_elasticities_know_that_the_exponent_is_estimated(swissmetro, boxcox):
    """The delta method by all parameters, against draws from their joint distribution."""
    rng = np.random.default_rng(0)
    covariance = boxcox.covariance("classical").to_numpy()
    some = swissmetro.take(np.arange(0, 6768, 12))
    draws = rng.multivariate_normal(boxcox.all_values, covariance, 300)
    for compute in (
        lambda r: r.wtp("TT", "CO", data=some, cov="classical"),
        lambda r: r.elasticities("TT", data=some, cov="classical"),
    ):
        table = pd.DataFrame(compute(boxcox))
        each = [pd.DataFrame(compute(boxcox.at(row)))["estimate"].to_numpy() for row in draws]
        spread = np.std(each, axis=0, ddof=1)
        assert np.allclose(table["std_err"], spread, rtol=0.2)


@pytest.mark.parametrize("form", ["boxcox(TT)", "thresholds(TT)"])
def test_scenarios_and_predictions_know_it_too(swissmetro, form):
    """Errors of shares, surplus and counts against draws from the joint distribution."""
    some = swissmetro.take(np.arange(0, 6768, 10))
    change, lines = "TRAIN: TT * 0.7", [*CONSTANTS, f"*: {form} + CO"]
    result = ac.fit_mnl(swissmetro.take(np.arange(0, 6768, 4)), lines)
    assert np.isfinite(result.to_frame(cov="classical")["std_err"]).all()
    rng = np.random.default_rng(1)
    draws = rng.multivariate_normal(
        result.all_values, result.covariance("classical").to_numpy(), 300
    )
    scenario = result.scenario(change, data=some, cost="CO", cov="classical")
    each = [result.at(row).scenario(change, data=some, cost="CO") for row in draws]
    half = (scenario.shares["high"] - scenario.shares["low"]) / 2 / 1.959964
    changes = [one.shares_without_intervals["change"].to_numpy() for one in each]
    assert np.allclose(half, np.std(changes, axis=0, ddof=1), rtol=0.2)
    surplus = [pd.DataFrame(one.surplus)["estimate"].iloc[0] for one in each[:150]]
    error = pd.DataFrame(scenario.surplus)["std_err"].iloc[0]
    assert error == pytest.approx(np.std(surplus, ddof=1), rel=0.25)
    counts = [result.at(row).predict(some).sum().to_numpy() for row in draws]
    found = result.prediction_intervals(some, cov="classical")["std_err"]
    assert np.allclose(found, np.std(counts, axis=0, ddof=1), rtol=0.2)


def test_every_probability_has_an_error_that_knows_the_exponent(boxcox, swissmetro):
    some, names = swissmetro.take(np.arange(5)), boxcox.all_names
    found = boxcox.prediction_intervals(some, each=True, cov="classical")["std_err"].to_numpy()
    values, gradient = boxcox.all_values, np.empty((15, len(names)))
    for k, value in enumerate(values):
        step = np.zeros(len(values))
        step[k] = 1e-5 * max(1.0, abs(value))
        ends = [boxcox.at(values + sign * step).predict(some).to_numpy() for sign in (1, -1)]
        gradient[:, k] = ((ends[0] - ends[1]) / (2 * step[k])).ravel()
    covariance = boxcox.covariance("classical").to_numpy()
    expected = np.sqrt(np.einsum("ij,jk,ik->i", gradient, covariance, gradient))
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-12)


def test_calibrated_constants_take_the_exponent_as_given(boxcox):
    shares = {"TRAIN": 0.2, "SM": 0.5, "CAR": 0.3}
    found = boxcox.calibrate(shares)
    assert found.shares().to_dict() == pytest.approx(shares, abs=1e-8)
    assert np.isnan(found.to_frame()["std_err"].iloc[-1])
    assert np.isfinite(found.elasticities("TT")["std_err"]).all()


def test_a_ratio_test_of_the_linear_form_knows_persons(swissmetro, boxcox):
    linear = ac.fit_mnl(swissmetro, [*CONSTANTS, "*: TT + CO"])
    with pytest.warns(ac.ArdchoiceWarning, match="nested all the same"):
        found = ac.likelihood_ratio_test(linear, boxcox)
    variance = [
        boxcox.covariance(cov).loc["exponent(*: boxcox(TT))", "exponent(*: boxcox(TT))"]
        for cov in ("classical", "cluster")
    ]
    assert found.df == 1
    assert found.design_effect == pytest.approx(variance[1] / variance[0])
    assert found.statistic == pytest.approx(2 * (boxcox.loglik - linear.loglik))
    scaled = found.statistic * variance[0] / variance[1]
    assert found.p == pytest.approx(stats.chi2.sf(scaled, 1), rel=1e-6)
    bent = ac.fit_mnl(swissmetro, [*CONSTANTS, "*: thresholds(TT) + CO"])
    with pytest.warns(ac.ArdchoiceWarning), pytest.raises(ac.ArdchoiceError, match="by name"):
        ac.likelihood_ratio_test(linear, bent, cluster=True)


def test_a_bootstrap_estimates_the_exponent_again():
    data = drawn(lambda x: -2 * np.sqrt(x), n=900)
    result = ac.fit_mnl(data, "*: boxcox(x)")
    boot = result.bootstrap(40, seed=0)
    frame = boot.to_frame()
    assert list(frame.index) == ["*: boxcox(x)", "exponent(*: boxcox(x))"]
    robust = result.to_frame(cov="robust")["std_err"].to_numpy()
    assert np.allclose(frame["std_err"], robust, rtol=0.4)
    assert len({one.encoding.terms[0].parameters[0] for one in boot.results}) == len(boot)
    assert np.allclose(
        boot.result.to_frame(cov="bootstrap")["std_err"], frame["std_err"], rtol=1e-9
    )


# -- What is shared, counted, kept -----------------------------------------------------------------


def test_terms_with_one_form_share_one_exponent():
    data = drawn(lambda x: -2 * np.sqrt(x), n=800)
    result = ac.fit_mnl(data, "a: boxcox(x) + boxcox(x) x g\nb: boxcox(x)")
    assert result.shapes.names == ("exponent(a: boxcox(x))", "exponent(b: boxcox(x))")
    first, second, third = (t.parameters[0] for t in result.encoding.terms)
    assert first == second != third
    assert result.n_parameters == 5


def test_a_search_for_thresholds_leaves_no_data_behind():
    data = drawn(lambda x: -0.5 * np.maximum(x - 4, 0), n=300)
    known = weakref.ref(data)
    ac.fit(data, "*: thresholds(x, 1)")
    del data
    gc.collect()
    assert known() is None


def test_a_comparison_of_estimates_lists_the_exponent(boxcox, swissmetro):
    table = ac.compare({"box": boxcox, "linear": ac.fit(swissmetro, "*: CO")}, estimates=True)
    (name,) = boxcox.shapes.names
    assert table.loc[name, "box"].rstrip("*") == f"{boxcox.shapes.values[0]:.4g}"
    assert table.loc[name, "linear"] == ""


def test_a_shift_leaves_the_exponent_to_the_values():
    data = drawn(lambda x: -2 * np.sqrt(x), n=500)
    result = ac.fit_mnl(data, "*: boxcox(x, 1)")
    learned = BoxCox(1.0).learn(data.attributes["x"].values.ravel())
    assert result.shapes is None
    assert result.n_parameters == 1
    assert result.encoding.terms[0].parameters == pytest.approx(learned)


def test_order_of_rows_and_weights_of_zero_change_nothing():
    data = drawn(lambda x: -2 * np.sqrt(x), n=600, repeats=3)
    result = ac.fit_mnl(data, "*: boxcox(x)")
    shuffled = data.take(np.random.default_rng(0).permutation(len(data)))
    again = ac.fit_mnl(shuffled, "*: boxcox(x)")
    assert np.allclose(again.all_values, result.all_values, rtol=1e-5)
    assert np.allclose(again.covariance(), result.covariance(), rtol=1e-4)


def test_new_data_are_treated_as_the_first():
    data = drawn(lambda x: -0.9 * np.minimum(x, 4.0), n=1000)
    result = ac.fit_mnl(data, "*: thresholds(x)")
    new = drawn(lambda x: -x, n=50, seed=9)
    cut = float(result.shapes.values[0])
    x = Piecewise((cut,)).apply(new.attributes["x"].values.ravel(), ()).reshape(2, 2, -1)
    v = np.einsum("k,kjn->jn", result.coefficients, x)
    p = np.exp(v) / np.exp(v).sum(axis=0)
    assert np.allclose(result.predict(new).to_numpy().T, p, atol=1e-12)


@pytest.mark.parametrize("text", ["*: boxcox(x)", "*: thresholds(x, 2)", "*: steps(x, 3)"])
def test_a_saved_result_has_its_shapes(tmp_path, text):
    data = drawn(lambda x: -2 * np.sqrt(x), n=500)
    result = ac.fit_mnl(data, text)
    loaded = ac.load(result.save(tmp_path / "saved"), result=True)
    pd.testing.assert_frame_equal(loaded.to_frame(), result.to_frame())
    assert loaded.summary() == result.summary()
    assert loaded.n_parameters == result.n_parameters
    assert np.array_equal(loaded.probabilities(), result.probabilities())


@pytest.mark.parametrize("package", ["biogeme", "xlogit", "pylogit", "apollo", "text", "latex"])
def test_exports_have_the_exponent(boxcox, tmp_path, package):
    text = boxcox.export(package, tmp_path).read_text()
    is_script = package not in ("text", "latex")
    exponent = float(boxcox.shapes.values[0])
    assert (repr(exponent)[:12] if is_script else f"{exponent:.4f}") in text
    assert "exponent(*: boxcox(TT))" in text
    assert ("conditional on them" in " ".join(text.replace("#", " ").split())) == is_script


def test_an_exponent_that_says_nothing_has_no_error_and_a_note():
    rng = np.random.default_rng(2)
    data = drawn(lambda x: 0 * x, n=400)
    flat = data.with_choice(rng.integers(0, 2, 400))
    result = ac.fit_mnl(flat, "*: boxcox(x)")
    assert np.isfinite(result.to_frame(cov="classical")["std_err"].iloc[0])
    # Two values: every power is the linear form again.
    table = pd.DataFrame({"x_a": rng.choice([1.0, 2.0], 300), "x_b": rng.choice([1.0, 2.0], 300)})
    table["choice"] = np.where(table["x_a"] + rng.logistic(size=300) > table["x_b"], "a", "b")
    two = ac.read_wide(table, alternatives=["a", "b"], choice="choice", attributes={"x": "x_{alt}"})
    result = ac.fit_mnl(two, "*: boxcox(x)")
    assert result.loglik == pytest.approx(ac.fit_mnl(two, "*: x").loglik, abs=1e-8)
    assert "exponent(*: boxcox(x)) is not identified" in result.notes[-1]
    assert np.isnan(result.to_frame()["std_err"].iloc[-1])


def test_constraints_and_estimated_shapes_are_refused_together():
    data = drawn(lambda x: -x, n=200)
    with pytest.raises(ac.SpecificationError, match=r"cannot be combined with an estimated thresh"):
        ac.fit_mnl(data, "*: thresholds(x)", fixed={"*: thresholds(x, 1) [1]": -1.0})
