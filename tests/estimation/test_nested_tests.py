"""Clustered tests of nested results, against closed forms, draws and each other."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ardchoice as ac
from ardchoice.estimation.nested_tests import chi2_mixture_sf

SMALL = "TRAIN: ASC + TT + CO\nSM: ASC + TT + CO\nCAR: TT + CO"
LARGE = "TRAIN: ASC + TT + CO + HE\nSM: ASC + TT + CO + CO x AGE\nCAR: TT + CO"


@pytest.fixture(scope="module")
def data() -> ac.ChoiceData:
    return ac.datasets.swissmetro_choices("real")


@pytest.fixture(scope="module")
def small(data: ac.ChoiceData) -> ac.Result:
    return ac.fit_mnl(data, SMALL)


@pytest.fixture(scope="module")
def large(data: ac.ChoiceData) -> ac.Result:
    return ac.fit_mnl(data, LARGE)


@pytest.mark.parametrize("weights", [[2.0], [1.0, 1.0, 1.0], [5.0, 1.0, 0.3], [3.0, 2.9, 0.0]])
def test_tails_of_mixtures_are_those_of_draws(weights: list[float]) -> None:
    draws = np.random.default_rng(0).chisquare(1, size=(1_000_000, len(weights))) @ weights
    for x in np.quantile(draws, [0.3, 0.8, 0.95, 0.999]):
        found = chi2_mixture_sf(float(x), np.array(weights))
        error = np.sqrt(found * (1 - found) / len(draws))
        assert found == pytest.approx((draws > x).mean(), abs=5 * error + 2e-6)


def test_equal_weights_are_a_scaled_chi_square() -> None:
    for x in (3.0, 40.0, 400.0):
        found = chi2_mixture_sf(x, np.full(4, 2.5))
        assert found == pytest.approx(stats.chi2.sf(x / 2.5, 4), rel=1e-9)


def test_the_clustered_ratio_knows_the_design_effect(small: ac.Result, large: ac.Result) -> None:
    plain = ac.likelihood_ratio_test(small, large, cluster=False)
    clustered = ac.likelihood_ratio_test(small, large)
    assert clustered.statistic == plain.statistic
    assert clustered.p > plain.p
    new = [i for i, name in enumerate(large.names) if name not in small.names]
    a, c = (large.covariances[k][np.ix_(new, new)] for k in ("classical", "cluster"))
    assert clustered.design_effect == pytest.approx(np.trace(np.linalg.solve(a, c)) / len(new))
    assert "clustered by person, design effect" in str(clustered)
    assert "clustered" not in str(plain)


def test_one_coefficient_is_tested_alike_by_ratio_and_wald(
    data: ac.ChoiceData, small: ac.Result
) -> None:
    one = ac.fit_mnl(data, SMALL.replace("SM: ASC + TT", "SM: ASC + TT + HE"))
    ratio, wald = ac.likelihood_ratio_test(small, one), ac.wald_test(small, one)
    z = one.to_frame("cluster").loc["SM: HE", "z"]
    assert wald.statistic == pytest.approx(z**2)
    assert wald.p == pytest.approx(one.to_frame("cluster").loc["SM: HE", "p"])
    scaled = ratio.statistic / ratio.design_effect
    assert ratio.p == pytest.approx(stats.chi2.sf(scaled, 1), rel=1e-6)
    # A quadratic log-likelihood would make them the same.
    assert scaled == pytest.approx(wald.statistic, rel=0.05)
    assert "clustered by person" in str(wald)


def test_tests_refuse_what_they_cannot_compare(
    data: ac.ChoiceData, small: ac.Result, large: ac.Result
) -> None:
    with pytest.raises(ac.ArdchoiceError, match="contain the first and more: it lacks"):
        ac.wald_test(large, small)
    with pytest.raises(ac.ArdchoiceError, match="no other parameters"):
        ac.wald_test(large, large)
    log = ac.fit_mnl(data, SMALL.replace("CAR: TT", "CAR: log1p(TT)"))
    with (
        pytest.warns(ac.ArdchoiceWarning, match="nested all the same"),
        pytest.raises(ac.ArdchoiceError, match="by name"),
    ):
        ac.likelihood_ratio_test(log, large, cluster=True)


def test_the_design_effect_of_a_result_is_in_its_summary(
    data: ac.ChoiceData, small: ac.Result
) -> None:
    classical, cluster = small.covariances["classical"], small.covariances["cluster"]
    expected = np.trace(np.linalg.inv(classical) @ cluster) / small.n_parameters
    assert small.design_effect == pytest.approx(expected)
    assert f"Design effect {expected:.1f}: with several answers per person" in small.summary()
    assert max(map(len, small.summary().splitlines())) <= 80


def test_a_design_effect_of_one_is_not_told_as_a_loss_or_gain_of_answers() -> None:
    rng, n = np.random.default_rng(4), 1200
    table = pd.DataFrame({f"{a}_x": rng.normal(size=n) for a in "ab"})
    drawn = table[["a_x", "b_x"]].to_numpy() + rng.gumbel(size=(n, 2))
    table["c"] = np.where(drawn[:, 0] > drawn[:, 1], "a", "b")
    table["who"] = np.arange(n) // 6  # answers of a person have nothing in common
    data = ac.read_wide(
        table, alternatives=["a", "b"], choice="c", attributes={"x": "{alt}_x"}, person="who"
    )
    result = ac.fit_mnl(data, "*: x")
    assert result.design_effect is not None
    assert result.design_effect < 1.05
    text = " ".join(result.summary().split())
    assert "estimates are as precise as from as many independent answers" in text
    assert "say as much" not in text


def test_shares_in_percent_are_refused_with_what_to_do(small: ac.Result) -> None:
    with pytest.raises(ac.ArdchoiceError, match=r"sum to 100\. Percentages are divided by 100"):
        small.calibrate({"TRAIN": 15, "SM": 55, "CAR": 30})


def _answers(times: int, weight: np.ndarray | None = None) -> ac.ChoiceData:
    """Independent answers, `times` of each person: all alike, or with weights all different."""
    rng, persons = np.random.default_rng(3), 400
    n = persons * (times if weight is not None else 1)
    x = rng.normal(size=(n, 2))
    frame = pd.DataFrame({"x_a": x[:, 0], "x_b": x[:, 1], "id": np.arange(n) % persons})
    frame["choice"] = np.where(x[:, 0] - x[:, 1] + rng.logistic(size=n) > 0, "a", "b")
    if weight is None:
        frame = frame.loc[np.repeat(np.arange(n), times)].reset_index(drop=True)
    else:
        frame["w"] = weight[:n]
    return ac.read_wide(
        frame, alternatives=["a", "b"], choice="choice", attributes={"x": "x_{alt}"},
        person="id", weight=None if weight is None else "w",
    )  # fmt: skip


def test_answers_that_are_all_alike_have_their_number_for_a_person_effect() -> None:
    result = ac.fit_mnl(_answers(3), "a: ASC + x\nb: x")
    assert result.person_effect == pytest.approx(3.0, rel=1e-9)
    assert "with several answers per person, variances of estimates" in result.summary()


def test_unequal_weights_are_not_put_down_to_answers_of_a_person() -> None:
    weight = np.random.default_rng(4).lognormal(sigma=1.2, size=800)
    result = ac.fit_mnl(_answers(2, weight), "a: ASC + x\nb: x")
    effect, within = result.design_effect, result.person_effect
    assert effect is not None
    assert within is not None
    assert effect > 2.0  # more than two answers of a person can have by themselves
    assert within == pytest.approx(1.0, abs=0.25)  # the answers are independent
    text = " ".join(result.summary().split())
    assert "many independent answers of equal weight" in text
    assert f"account for a factor of {within:.1f} of it, and unequal weights or" in text
