"""Statistics, tables and comparisons of results."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.estimation import Result


@pytest.fixture(scope="module")
def data() -> ChoiceData:
    return ac.datasets.swissmetro_choices("real")


@pytest.fixture(scope="module")
def results(data: ChoiceData) -> dict[str, Result]:
    spec = ac.datasets.swissmetro_specification
    return {name: ac.fit_mnl(data, spec(name)) for name in ("R1", "R5", "R6")}


def test_z_p_and_intervals_follow_from_estimates(results: dict[str, Result]) -> None:
    frame = results["R6"].to_frame("robust", level=0.9)
    z = frame["estimate"] / frame["std_err"]
    np.testing.assert_allclose(frame["z"], z)
    np.testing.assert_allclose(frame["p"], 2 * (1 - stats.norm.cdf(np.abs(z))), atol=1e-12)
    np.testing.assert_allclose(frame["high"] - frame["low"], 2 * 1.6448536 * frame["std_err"])
    assert frame.index.name == "coefficient"
    assert list(frame) == ["estimate", "std_err", "z", "p", "low", "high", "kind"]


def test_errors_are_clustered_by_person_unless_told(results: dict[str, Result]) -> None:
    result = results["R6"]
    pd.testing.assert_frame_equal(result.to_frame(), result.to_frame("cluster"))
    assert "clustered by person" in result.summary()
    # Nine answers per person are not nine persons.
    ratio = result.to_frame("cluster")["std_err"] / result.to_frame("classical")["std_err"]
    assert ratio.max() > 2


def test_without_persons_errors_are_robust_and_clusters_refused() -> None:
    from tests_support import small_data

    result = ac.fit_mnl(small_data(), "a: ASC\n*: x")
    pd.testing.assert_frame_equal(result.to_frame(), result.to_frame("robust"))
    with pytest.raises(ac.ArdchoiceError, match="no person ids"):
        result.to_frame("cluster")


def test_clustering_equals_a_sum_over_persons_by_hand(data: ChoiceData) -> None:
    result = ac.fit_mnl(data, "TRAIN: ASC\nSM: ASC\n*: TT + CO")
    p = result.predict().to_numpy()
    n = len(data)
    x = np.zeros((n, 3, 4))
    x[:, 0, 0] = x[:, 1, 1] = 1
    for k, name in ((2, "TT"), (3, "CO")):
        x[:, :, k] = np.where(data.available, data.attributes[name].values, 0.0).T
    score = x[np.arange(n), data.choice] - np.einsum("nj,njk->nk", p, x)
    by_person = pd.DataFrame(score).groupby(data.person).sum().to_numpy()
    inverse = result.covariances["classical"]
    expected = inverse @ (by_person.T @ by_person) @ inverse
    np.testing.assert_allclose(result.covariances["cluster"], expected, rtol=1e-6)


def test_clusters_need_not_be_sorted_by_person(data: ChoiceData) -> None:
    rows = np.random.default_rng(0).permutation(len(data))
    a = ac.fit_mnl(data, "TRAIN: ASC\nSM: ASC\n*: TT + CO")
    b = ac.fit_mnl(data.take(rows), "TRAIN: ASC\nSM: ASC\n*: TT + CO")
    np.testing.assert_allclose(b.covariances["cluster"], a.covariances["cluster"], rtol=1e-8)


def test_constants_only_log_likelihood_is_that_of_a_constants_model(data: ChoiceData) -> None:
    constants = ac.fit_mnl(data, "TRAIN: ASC\nSM: ASC")
    assert constants.constants_loglik == pytest.approx(constants.loglik, abs=1e-7)


def test_constants_only_log_likelihood_with_two_hundred_ragged_alternatives() -> None:
    from tests_support import many_alternatives

    data = many_alternatives(n=300, alternatives=60)
    result = ac.fit_mnl(data, "*: x0")
    available, choice = data.available, data.choice

    def loss(constants: np.ndarray) -> tuple[float, np.ndarray]:
        v = np.where(available, np.concatenate([[0.0], constants])[:, None], -np.inf)
        p = np.exp(v - v.max(axis=0))
        p /= p.sum(axis=0)
        picked = np.zeros_like(p)
        picked[choice, np.arange(len(choice))] = 1
        gradient = (p - picked).sum(axis=1)[1:]
        return -np.log(p[choice, np.arange(len(choice))]).sum(), gradient

    best = optimize.minimize(loss, np.zeros(59), jac=True, method="BFGS")
    assert result.constants_loglik == pytest.approx(-best.fun, abs=1e-2)
    assert result.constants_loglik >= -best.fun - 1e-6


def test_likelihood_ratio_test(results: dict[str, Result]) -> None:
    test = ac.likelihood_ratio_test(results["R5"], results["R6"], cluster=False)
    assert test.df == 1
    assert test.statistic == pytest.approx(2 * (7679.395 - 7645.951), abs=0.005)
    assert test.p == pytest.approx(stats.chi2.sf(test.statistic, 1))
    assert "1 degree" in str(test)


def test_likelihood_ratio_test_refuses_what_it_cannot_compare(
    data: ChoiceData, results: dict[str, Result]
) -> None:
    with pytest.raises(ac.ArdchoiceError, match="more parameters"):
        ac.likelihood_ratio_test(results["R6"], results["R5"])
    half = ac.fit_mnl(data.take(np.arange(5000)), ac.datasets.swissmetro_specification("R1"))
    with pytest.raises(ac.ArdchoiceError, match="different data"):
        ac.likelihood_ratio_test(half, results["R6"])
    with pytest.warns(ac.ArdchoiceWarning, match="only if the models are nested"):
        ac.likelihood_ratio_test(results["R1"], results["R6"])


def test_comparison_sets_results_side_by_side(results: dict[str, Result]) -> None:
    frame = ac.compare(results)
    assert list(frame.columns) == ["R1", "R5", "R6"]
    assert frame.loc["BIC", "R6"] == results["R6"].bic
    text = ac.compare(results, estimates=True)
    assert text.loc["TRAIN: TT", "R6"] == ""
    assert text.loc["TRAIN: TT", "R1"].startswith(f"{results['R1'].estimates['TRAIN: TT']:.4g}")


def test_a_comparison_prints_whole_numbers_and_digits_of_a_summary(
    results: dict[str, Result],
) -> None:
    frame = ac.compare(results)
    assert frame.loc["parameters", "R6"] == results["R6"].n_parameters
    assert frame.loc["log-likelihood", "R6"] == results["R6"].loglik
    lines = {line.split("  ")[0]: line.split()[-1] for line in str(frame).split("\n")}
    assert lines["parameters"] == str(results["R6"].n_parameters)
    assert (lines["log-likelihood"], lines["BIC"]) == ("-7,645.951", "15,542.4")
    assert "-7,645.951" in frame._repr_html_()
    assert "persons" not in str(frame)  # all count choices
    assert ac.compare(results, estimates=True).loc["BIC", "R6"] == "15,542.4"


def test_a_comparison_counts_persons_where_one_family_does() -> None:
    data = ac.datasets.swissmetro_choices("real").take(np.arange(900))
    spec = "TRAIN: ASC\nSM: ASC\n*: TT + CO"
    mnl = ac.fit_mnl(data, spec)
    mixed = ac.fit(data, spec, family=ac.Mixed({"*: TT": "normal"}))
    frame = ac.compare({"mnl": mnl, "mixed": mixed})
    assert frame.loc["BIC", "mixed"] == mixed.bic
    by_persons = -2 * mnl.loglik + mnl.n_parameters * np.log(mnl.n_persons)
    assert frame.loc["BIC", "mnl"] == pytest.approx(by_persons)
    assert frame.loc["BIC", "mnl"] < mnl.bic
    for shown in (str(frame), frame._repr_html_()):
        assert f"BIC counts {data.n_persons} persons" in " ".join(shown.split())


def test_the_summary_fits_in_eighty_columns(results: dict[str, Result]) -> None:
    text = results["R6"].summary()
    assert max(map(len, text.splitlines())) <= 80
    for shown in ("-7,645.951", "15,345.9", "15,542.4", "SM: ASC x AGE [2]", "1,188 persons"):
        assert shown in text


def test_semi_artificial_choices_come_from_the_fitted_model(data: ChoiceData) -> None:
    truth = ac.fit_mnl(data, ac.datasets.swissmetro_specification("R1"))
    drawn = ac.simulate_choices(data, ac.datasets.swissmetro_specification("R1"), seed=3)
    np.testing.assert_array_equal(drawn.choice, ac.simulate_choices(data, truth, seed=3).choice)
    assert (drawn.choice != ac.simulate_choices(data, truth, seed=4).choice).any()
    again = ac.fit_mnl(drawn, truth.specification)
    error = again.coefficients - truth.coefficients
    # Eight squared standardised errors: above 30 once in five thousand seeds.
    distance = error @ np.linalg.solve(again.covariances["classical"], error)
    assert distance < 30


@pytest.mark.parametrize("weighted", [False, True])
def test_the_mean_of_all_draws_has_the_truth_for_its_estimate(
    data: ChoiceData, weighted: bool
) -> None:
    some = data.take(np.arange(900))
    weight = np.random.default_rng(0).uniform(0.5, 2, 900) if weighted else None
    some = replace(some, weight=weight)
    truth = ac.fit_mnl(some, ac.datasets.swissmetro_specification("R1"))
    mean = ac.simulate_choices(some, truth, expected=True)
    assert mean.total_weight == pytest.approx(some.total_weight)
    assert len(mean) == truth.predict(some).to_numpy().astype(bool).sum()
    again = ac.fit_mnl(mean, ac.datasets.swissmetro_specification("R1"))
    np.testing.assert_allclose(again.coefficients, truth.coefficients, rtol=1e-7)


def test_two_hundred_ragged_alternatives_agree_with_brute_force() -> None:
    from tests_support import many_alternatives

    data = many_alternatives(n=500, alternatives=200)
    terms = "*: " + " + ".join(f"x{k}" for k in range(10))
    result = ac.fit_mnl(data, terms)
    assert result.converged
    x = np.stack([data.attributes[f"x{k}"].values for k in range(10)])
    loglik, gradient = 0.0, np.zeros(10)
    for n in range(len(data)):
        seen = np.flatnonzero(data.available[:, n])
        v = result.coefficients @ x[:, seen, n]
        p = np.exp(v - v.max())
        p /= p.sum()
        at = list(seen).index(data.choice[n])
        loglik += np.log(p[at])
        gradient += x[:, data.choice[n], n] - x[:, seen, n] @ p
    assert result.loglik == pytest.approx(loglik, rel=1e-12)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-6)
