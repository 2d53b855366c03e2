"""Predictions, elasticities and willingness to pay against brute force and finite differences."""

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.estimation import Result

DIFFERENCE = 1e-5
CLOSE = 1e-6  # relative; what a central difference leaves

SPECIFICATION = """
    TRAIN: ASC + log1p(TT) + CO + CO x GA
    SM:    ASC + boxcox(TT) + CO + CO x PURPOSE
    CAR:   piecewise(TT, 2.013) + sqrt(CO)
    TRAIN+SM: square(HE)
"""


@pytest.fixture(scope="module")
def data() -> ChoiceData:
    return ac.datasets.swissmetro_choices("real")


@pytest.fixture(scope="module")
def result(data: ChoiceData) -> Result:
    return ac.fit_mnl(data, SPECIFICATION)


def with_attribute(data: ChoiceData, name: str, alternative: str, factor: float) -> ChoiceData:
    """The same situations with one attribute of one alternative scaled."""
    from dataclasses import replace

    old = data.attributes[name]
    values = old.values.copy()
    values[old.alternatives.index(data.alternatives.index(alternative))] *= factor
    return replace(data, attributes={**data.attributes, name: replace(old, values=values)})


@pytest.mark.parametrize("attribute", ["TT", "CO"])
def test_elasticities_equal_the_effect_of_a_small_change(
    data: ChoiceData, result: Result, attribute: str
) -> None:
    table = result.elasticities(attribute).set_index(["changed", "alternative"])["estimate"]
    assert len(table) == 9
    base = result.shares()
    for changed in data.alternatives:
        up = result.shares(with_attribute(data, attribute, changed, 1 + DIFFERENCE))
        down = result.shares(with_attribute(data, attribute, changed, 1 - DIFFERENCE))
        effect = (up - down) / (2 * DIFFERENCE) / base
        for alternative in data.alternatives:
            expected = effect[alternative]
            assert table[changed, alternative] == pytest.approx(expected, rel=CLOSE)


def test_elasticities_by_segment_are_those_of_the_segment_alone(
    data: ChoiceData, result: Result
) -> None:
    by = result.elasticities("CO", by=["GA"])
    for i, level in enumerate(("0", "1")):
        rows = data.covariates["GA"].values == i
        alone = result.elasticities("CO", data=data.take(rows))
        part = by[by["segment"] == f"GA={level}"]
        np.testing.assert_allclose(part["estimate"], alone["estimate"], rtol=1e-10)
        np.testing.assert_allclose(part["std_err"], alone["std_err"], rtol=1e-8)


def test_standard_errors_of_elasticities_follow_from_the_covariance(result: Result) -> None:
    assert result.all_names[-1] == "exponent(SM: boxcox(TT))"

    def value(values: np.ndarray) -> np.ndarray:
        return result.at(values).elasticities("CO")["estimate"].to_numpy()

    assert_delta_method(result, value, result.elasticities("CO")["std_err"].to_numpy())


def test_standard_errors_of_wtp_follow_from_the_covariance(result: Result) -> None:
    def value(values: np.ndarray) -> np.ndarray:
        return result.at(values).wtp("TT", "CO")["estimate"].to_numpy()

    assert_delta_method(result, value, result.wtp("TT", "CO")["std_err"].to_numpy())


def assert_delta_method(result: Result, value, std_err: np.ndarray) -> None:
    beta = result.all_values  # with the exponent, where one is estimated
    gradient = np.empty((len(std_err), len(beta)))
    for k in range(len(beta)):
        step = np.zeros_like(beta)
        step[k] = 1e-6 * max(1.0, abs(beta[k]))
        gradient[:, k] = (value(beta + step) - value(beta - step)) / (2 * step[k])
    covariance = result.covariance("cluster").to_numpy()
    variance = np.einsum("ij,jk,ik->i", gradient, covariance, gradient)
    np.testing.assert_allclose(std_err, np.sqrt(variance), rtol=1e-4)


def test_wtp_of_linear_terms_is_the_ratio_of_coefficients(data: ChoiceData) -> None:
    result = ac.fit_mnl(data, ac.datasets.swissmetro_specification("R1"))
    table = result.wtp("TT", "CO").set_index("alternative")
    for mode in data.alternatives:
        time, cost = result.estimates[f"{mode}: TT"], result.estimates[f"{mode}: CO"]
        assert table.loc[mode, "estimate"] == pytest.approx(time / cost, rel=1e-10)
        names = [f"{mode}: TT", f"{mode}: CO"]
        cov = result.covariance("cluster").loc[names, names].to_numpy()
        g = np.array([1 / cost, -time / cost**2])
        assert table.loc[mode, "std_err"] == pytest.approx(np.sqrt(g @ cov @ g), rel=1e-8)


def test_wtp_by_segment_adds_the_interaction_to_the_main_term(data: ChoiceData) -> None:
    spec = "TRAIN: ASC + TT + CO + CO x GA + TT x AGE\nSM: ASC + TT + CO\nCAR: TT + CO"
    result = ac.fit_mnl(data, spec)
    table = result.wtp("TT", "CO").set_index(["alternative", "segment"])["estimate"]
    b = result.estimates
    for ga in ("0", "1"):
        for age in ("1", "3", "5"):
            time = b["TRAIN: TT"] + b.get(f"TRAIN: TT x AGE [{age}]", 0.0)
            cost = b["TRAIN: CO"] + b.get(f"TRAIN: CO x GA [{ga}]", 0.0)
            found = [
                v
                for k, v in table["TRAIN"].items()
                if {f"GA={ga}", f"AGE={age}"} == set(k.split(", "))
            ]
            assert found == [pytest.approx(time / cost, rel=1e-9)]
    assert table["SM", "all"] == pytest.approx(b["SM: TT"] / b["SM: CO"], rel=1e-9)


def test_wtp_of_generic_terms_is_given_once(data: ChoiceData) -> None:
    result = ac.fit_mnl(data, "TRAIN: ASC\nSM: ASC\n*: TT + CO")
    table = result.wtp("TT", "CO")
    assert table["alternative"].tolist() == ["*"]
    expected = result.estimates["*: TT"] / result.estimates["*: CO"]
    assert table["estimate"][0] == pytest.approx(expected, rel=1e-10)


def test_wtp_where_cost_is_curved_is_the_mean_of_what_each_would_pay(
    data: ChoiceData, result: Result
) -> None:
    table = result.wtp("TT", "CO", by=[]).set_index("alternative")["estimate"]
    b, available = result.estimates, data.available[2]
    tt, co = data.attributes["TT"].of(2)[available], data.attributes["CO"].of(2)[available]
    slope_low, slope_high = (
        b["CAR: piecewise(TT, 2.013) [<2.013]"],
        b["CAR: piecewise(TT, 2.013) [>2.013]"],
    )
    marginal_time = np.where(tt < 2.013, slope_low, slope_high)
    marginal_cost = b["CAR: sqrt(CO)"] * 0.5 / np.sqrt(co)
    assert table["CAR"] == pytest.approx((marginal_time / marginal_cost).mean(), rel=1e-9)


def test_errors_of_the_mean_of_what_each_would_pay_are_those_of_differences(
    data: ChoiceData,
) -> None:
    spec = "TRAIN: ASC + log1p(TT) + log1p(CO) + TT x GA\nSM: ASC + log1p(CO)\n CAR: TT + sqrt(CO)"
    result = ac.fit_mnl(data, spec)

    def value(beta: np.ndarray) -> np.ndarray:
        return result.at(beta).wtp("TT", "CO")["estimate"].to_numpy()

    found = result.wtp("TT", "CO")
    assert set(found["segment"]) > {"all"}
    assert_delta_method(result, value, found["std_err"].to_numpy())


def test_where_the_utility_of_money_changes_its_sign_wtp_is_the_ratio_of_means(
    data: ChoiceData,
) -> None:
    result = ac.fit_mnl(data, "CAR: ASC + TT + CO + square(CO)\nTRAIN: ASC")
    b, available = result.estimates.copy(), data.available[2]
    b["CAR: CO"], b["CAR: square(CO)"] = -1.0, 0.4
    bent = result.at(b.to_numpy())
    co = data.attributes["CO"].of(2)[available & (data.attributes["CO"].of(2) != 0)]
    slope = -1.0 + 0.8 * co
    assert slope.min() < 0 < slope.max()
    found = bent.wtp("TT", "CO")["estimate"].iloc[0]
    assert found == pytest.approx(b["CAR: TT"] / slope.mean(), rel=1e-9)


def test_where_tastes_vary_each_would_pay_by_mean_tastes(data: ChoiceData) -> None:
    from dataclasses import replace

    few, family = data.take(np.arange(900)), ac.LatentClass(2, starts=2, seed=0)
    plain, curved = (
        ac.fit(few, f"TRAIN: ASC\nSM: ASC\n*: TT + {cost}", family=family)
        for cost in ("CO", "log1p(CO)")
    )
    # The same tastes with a linear cost: the ratio of their means.
    same = replace(plain, coefficients=curved.coefficients, covariances=curved.covariances)
    cost = few.attributes["CO"]
    paid = np.concatenate([cost.of(j)[few.available[j]] for j in range(3)])
    factor = (1 + paid[paid != 0]).mean()
    found, expected = (r.wtp("TT", "CO", by=[]).iloc[0] for r in (curved, same))
    for column in ("estimate", "std_err"):
        assert found[column] == pytest.approx(factor * expected[column], rel=1e-6)


def free_for_holders(data: ChoiceData) -> ChoiceData:
    """The same, with train and Swissmetro at no cost for holders of a season ticket."""
    from dataclasses import replace

    cost, holder = data.attributes["CO"], data.covariates["GA"].values == 1
    values = cost.values.copy()
    values[:2, holder] = 0.0
    return replace(data, attributes={**data.attributes, "CO": replace(cost, values=values)})


def test_who_pays_nothing_has_no_say_in_wtp_where_cost_is_curved(data: ChoiceData) -> None:
    free = free_for_holders(data)
    result = ac.fit_mnl(free, "TRAIN: ASC + TT + log1p(CO)\nSM: ASC + TT + sqrt(CO)\nCAR: TT + CO")
    table = result.wtp("TT", "CO").set_index("alternative")
    b = result.estimates
    pays = (free.covariates["GA"].values == 0) & (free.attributes["CO"].of(0) != 0)
    cost = free.attributes["CO"].of(0)[pays]
    each = b["TRAIN: TT"] / b["TRAIN: log1p(CO)"] * (1 + cost)
    assert table.loc["TRAIN", "estimate"] == pytest.approx(each.mean(), rel=1e-9)
    assert table.loc["TRAIN", "n"] == pays.sum()
    # A square root has no slope at zero at all; without those who pay nothing it has.
    cost = free.attributes["CO"].of(1)
    each = b["SM: TT"] / (b["SM: sqrt(CO)"] * 0.5 / np.sqrt(cost[cost != 0]))
    assert table.loc["SM", "estimate"] == pytest.approx(each.mean(), rel=1e-9)
    by = result.wtp("TT", "CO", by=["GA"])
    assert by[by["alternative"] == "TRAIN"]["segment"].tolist() == ["GA=0"]
    holders = free.take(free.covariates["GA"].values == 1)
    only = ac.fit_mnl(data, "TRAIN: ASC + TT + log1p(CO)\nSM: ASC")
    with pytest.raises(ac.SpecificationError, match="nobody trades money"):
        only.wtp("TT", "CO", data=holders)


def test_who_pays_nothing_counts_in_wtp_where_cost_is_linear(data: ChoiceData) -> None:
    free = free_for_holders(data)
    result = ac.fit_mnl(free, "TRAIN: ASC + log1p(TT) + CO\nSM: ASC + CO\nCAR: CO")
    table = result.wtp("TT", "CO").set_index("alternative")
    b = result.estimates
    marginal = (b["TRAIN: log1p(TT)"] / (1 + free.attributes["TT"].of(0))).mean()
    assert table.loc["TRAIN", "estimate"] == pytest.approx(marginal / b["TRAIN: CO"], rel=1e-9)
    assert table.loc["TRAIN", "n"] == len(free)


def test_who_has_nothing_to_save_has_no_say_where_the_form_is_curved(data: ChoiceData) -> None:
    from dataclasses import replace

    time = data.attributes["TT"]
    values = np.where(np.arange(len(data)) % 3 == 0, 0.0, time.values)
    some = replace(data, attributes={**data.attributes, "TT": replace(time, values=values)})
    result = ac.fit_mnl(some, "TRAIN: ASC + log1p(TT) + CO\nSM: ASC + TT + CO\nCAR: CO")
    table, b = result.wtp("TT", "CO").set_index("alternative"), result.estimates
    tt = some.attributes["TT"].of(0)[some.available[0] & (values[0] != 0)]
    expected = (b["TRAIN: log1p(TT)"] / (1 + tt)).mean() / b["TRAIN: CO"]
    assert table.loc["TRAIN", "estimate"] == pytest.approx(expected, rel=1e-9)
    assert table.loc["TRAIN", "n"] == len(tt)
    # A linear form has the same slope at zero as anywhere.
    assert table.loc["SM", "estimate"] == pytest.approx(b["SM: TT"] / b["SM: CO"], rel=1e-9)
    assert table.loc["SM", "n"] == some.available[1].sum()


def test_what_has_no_slope_is_explained(data: ChoiceData) -> None:
    result = ac.fit_mnl(data, "TRAIN: ASC + segments(TT, 3) + CO\nSM: ASC + CO")
    with pytest.raises(ac.SpecificationError, match="enters in classes only"):
        result.elasticities("TT")
    with pytest.raises(ac.SpecificationError, match="enters in classes only"):
        result.wtp("CO", "TT")
    with pytest.raises(ac.SpecificationError, match=r"no term of 'HE'.*There are: TT, CO"):
        result.elasticities("HE")
    with pytest.raises(ac.SpecificationError, match="no categorical covariate 'SEX'"):
        result.elasticities("CO", by=["SEX"])


def test_predictions_are_the_logit_formula(data: ChoiceData) -> None:
    result = ac.fit_mnl(data, ac.datasets.swissmetro_specification("R1"))
    b = result.estimates
    v = pd.DataFrame(
        {
            mode: b.get(f"{mode}: ASC", 0.0)
            + b[f"{mode}: TT"] * data.attributes["TT"].of(j)
            + b[f"{mode}: CO"] * data.attributes["CO"].of(j)
            for j, mode in enumerate(data.alternatives)
        }
    )
    e = np.exp(v).where(data.available.T, 0.0)
    expected = e.div(e.sum(axis=1), axis=0)
    np.testing.assert_allclose(result.predict().to_numpy(), expected, atol=1e-12)
    assert list(result.predict().columns) == ["TRAIN", "SM", "CAR"]


def test_constants_reproduce_the_observed_shares() -> None:
    # With a constant per alternative and full availability, first-order conditions say so.
    raw = ac.datasets.swissmetro()
    raw = raw[(raw["CHOICE"] != 0) & (raw["CAR_AV"] == 1)]
    data = ac.read_wide(
        raw,
        alternatives={"TRAIN": 1, "SM": 2, "CAR": 3},
        choice="CHOICE",
        attributes={"TT": "{alt}_TT"},
        person="ID",
    )
    result = ac.fit_mnl(data, "TRAIN: ASC + TT\nSM: ASC + TT\nCAR: TT")
    np.testing.assert_allclose(result.shares(), data.shares(), atol=1e-9)


def test_scores_on_held_out_persons(data: ChoiceData) -> None:
    train, test = data.split(0.3, seed=1)
    result = ac.fit_mnl(train, ac.datasets.swissmetro_specification("R6"))
    score = result.score(test)
    p = result.predict(test).to_numpy()
    chosen = p[np.arange(len(test)), test.choice]
    assert score.loglik == pytest.approx(np.log(chosen).sum(), rel=1e-12)
    assert score.accuracy == pytest.approx((p.argmax(axis=1) == test.choice).mean())
    assert score.n == len(test)
    np.testing.assert_allclose(score.shares["predicted"], p.mean(axis=0), rtol=1e-12)
    assert "accuracy" in str(score)
    assert result.score().loglik == pytest.approx(result.loglik, rel=1e-12)


def test_situations_without_choices_can_be_predicted_but_not_scored(data: ChoiceData) -> None:
    result = ac.fit_mnl(data, ac.datasets.swissmetro_specification("R1"))
    raw = ac.datasets.swissmetro().head(20)
    new = ac.read_wide(
        raw,
        alternatives={"TRAIN": 1, "SM": 2, "CAR": 3},
        choice=None,
        attributes={"TT": "{alt}_TT", "CO": "{alt}_CO"},
        availability="{alt}_AV",
    )
    assert result.predict(new).shape == (20, 3)
    with pytest.raises(ac.ArdchoiceError, match="no observed choices"):
        result.score(new)
    with pytest.raises(ac.ArdchoiceError, match="no observed choices"):
        ac.fit_mnl(new, "TRAIN: ASC")


@pytest.mark.parametrize("by", [None, [], ["AGE", "PURPOSE", "GA"]])
def test_what_is_printed_fits_and_hides_no_number(result: Result, by: list[str] | None) -> None:
    for frame in (result.wtp("TT", "CO", by=by), result.elasticities("TT", by=by or ())):
        lines = str(frame).splitlines()
        assert max(map(len, lines)) <= 80
        assert lines[0].split()[-4:] == ["estimate", "std_err", "low", "high"]
        first = float(lines[2].split()[-4])
        assert first == pytest.approx(frame["estimate"][0], rel=1e-3)
        assert type(frame[frame["n"] > 0]) is pd.DataFrame
