"""Data that tempt an estimator into wrong numbers or raw messages."""

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.errors import IdentificationError
from ardchoice.estimation.covariance import inverse_curvature
from tests_support import small_data


def binary(n: int = 1000, seed: int = 0, **columns: np.ndarray) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"x_a": rng.normal(size=n), "x_b": rng.normal(size=n)})
    better = table["x_a"] - table["x_b"] + rng.logistic(size=n) > 0
    table["choice"] = np.where(better, "a", "b")
    return table.assign(**columns)


def read(table: pd.DataFrame, **options: object) -> ac.ChoiceData:
    return ac.read_wide(
        table, alternatives=["a", "b"], choice="choice", attributes={"x": "x_{alt}"}, **options
    )


def test_an_outlier_is_not_separation() -> None:
    table = binary()
    table.loc[0, ["x_a", "choice"]] = [90_000.0, "a"]
    result = ac.fit_mnl(read(table), "*: x")
    without = ac.fit_mnl(read(table.iloc[1:]), "*: x")
    assert result.converged
    # The outlier is explained with certainty and moves nothing.
    assert result.coefficients[0] == pytest.approx(without.coefficients[0], rel=1e-6)


def test_heavy_tails_are_not_separation() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.lognormal(0, 4, (2000, 2)), columns=["x_a", "x_b"])
    log = np.log(table)
    better = log["x_a"] - log["x_b"] + rng.logistic(size=2000) > 0
    table["choice"] = np.where(better, "a", "b")
    assert ac.fit_mnl(read(table), "*: x").converged


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e8])
def test_a_common_level_of_a_generic_attribute_does_not_matter(offset: float) -> None:
    table = binary()
    shifted = table.assign(x_a=table["x_a"] + offset, x_b=table["x_b"] + offset)
    a, b = ac.fit_mnl(read(table), "*: x"), ac.fit_mnl(read(shifted), "*: x")
    # Adding the offset itself rounds x to 1e-16 of it.
    rel = 1e-9 + 1e-14 * offset
    np.testing.assert_allclose(b.coefficients, a.coefficients, rtol=rel)
    np.testing.assert_allclose(b.covariances["classical"], a.covariances["classical"], rtol=rel)


@pytest.mark.parametrize("noise", [3e-8, 1e-8, 1e-9])
def test_columns_too_close_to_tell_apart_are_named(noise: float) -> None:
    table = binary()
    rng = np.random.default_rng(5)
    for alternative in "ab":
        wiggle = noise * rng.normal(size=len(table))
        table[f"z_{alternative}"] = table[f"x_{alternative}"] + wiggle
    data = ac.read_wide(
        table,
        alternatives=["a", "b"],
        choice="choice",
        attributes={"x": "x_{alt}", "z": "z_{alt}"},
    )
    with pytest.raises(ac.IdentificationError, match=r"'\*: z'.*\*: x"):
        ac.fit_mnl(data, "*: x + z")


def test_rows_of_weight_zero_are_as_good_as_absent() -> None:
    g = np.random.default_rng(2).choice(["p", "q", "r"], 1000)
    table = binary(g=g, w=(g != "p").astype(float))
    spec = "a: ASC\n*: x"
    a = ac.fit_mnl(read(table, weight="w"), spec)
    b = ac.fit_mnl(read(table[table["w"] > 0]), spec)
    np.testing.assert_allclose(a.coefficients, b.coefficients, rtol=1e-10)
    assert a.bic == pytest.approx(b.bic)
    data = read(table, weight="w", covariates={"g": ac.Categorical(reference="r")})
    with pytest.raises(ac.IdentificationError, match=r"g \[p\]' is zero in every row"):
        ac.fit_mnl(data, "a: ASC + ASC x g\n*: x")


@pytest.mark.parametrize("size", [1e-12, 1e6])
def test_the_scale_of_weights_does_not_move_estimates(size: float) -> None:
    a = ac.fit_mnl(read(binary(w=np.ones(1000)), weight="w"), "a: ASC\n*: x")
    b = ac.fit_mnl(read(binary(w=np.full(1000, size)), weight="w"), "a: ASC\n*: x")
    np.testing.assert_allclose(b.coefficients, a.coefficients, rtol=1e-8)
    assert b.constants_loglik == pytest.approx(a.constants_loglik, rel=1e-8)


def test_a_hopeless_choice_has_a_finite_score() -> None:
    result = ac.fit_mnl(read(binary()), "*: x")
    surprise = binary(n=3)
    surprise.loc[0, ["x_a", "x_b", "choice"]] = [5000.0, 0.0, "b"]
    with pytest.warns(ac.ArdchoiceWarning):
        data = read(surprise.assign(choice=["b", "a", "a"], x_b=[0.0, 0.0, 0.0]))
    score = result.score(data)
    assert np.isfinite(score.loglik)
    assert score.loglik < -4000


def test_classes_in_one_alternative_have_no_willingness_to_pay() -> None:
    rng = np.random.default_rng(3)
    table = binary(c_a=rng.normal(size=1000), c_b=rng.normal(size=1000))
    data = ac.read_wide(
        table,
        alternatives=["a", "b"],
        choice="choice",
        attributes={"x": "x_{alt}", "c": "c_{alt}"},
    )
    result = ac.fit_mnl(data, "a: quantiles(x, 3) + c\nb: x + c")
    assert result.wtp("x", "c")["alternative"].tolist() == ["b"]
    assert set(result.elasticities("x")["changed"]) == {"b"}


def test_willingness_to_pay_counts_the_situations_it_was_evaluated_on() -> None:
    table = binary(av=(np.arange(1000) % 4 > 0).astype(int))
    table.loc[table["av"] == 0, "choice"] = "b"
    with pytest.warns(ac.ArdchoiceWarning, match="[Oo]nly one alternative"):
        data = read(table, availability={"a": "av"})
    result = ac.fit_mnl(data, "a: x\nb: x")
    assert result.wtp("x", "x").set_index("alternative")["n"].to_dict() == {"a": 750, "b": 1000}


def test_a_table_in_place_of_choices_is_explained() -> None:
    table = binary()
    result = ac.fit_mnl(read(table), "*: x")
    for mistake in (lambda: ac.fit_mnl(table, "*: x"), lambda: result.predict(table)):  # type: ignore[arg-type]
        with pytest.raises(ac.ArdchoiceError, match="Read the table first"):
            mistake()


def test_other_mistakes_are_explained() -> None:
    data = small_data()
    result = ac.fit_mnl(data, "a: ASC\n*: x")
    other = ac.fit_mnl(ac.simulate_choices(data, result, seed=1), "a: ASC\n*: x + square(x)")
    with pytest.raises(ac.ArdchoiceError, match="different data"):
        ac.likelihood_ratio_test(result, other)
    with pytest.raises(ac.ArdchoiceError, match="between 0 and 1"):
        result.to_frame(level=95)
    for unnamed in (result, [result, "other"], [], {}):
        with pytest.raises(ac.ArdchoiceError, match="Give each result a name"):
            ac.compare(unnamed)  # type: ignore[arg-type]
    with pytest.raises(ac.SpecificationError, match="text such as"):
        ac.parse_specification(None)  # type: ignore[arg-type]
    with pytest.raises(ac.ArdchoiceError, match="must be text"):
        read(binary(), person=["id"])


def test_a_segment_may_be_one_name() -> None:
    data = read(binary(g=np.where(np.arange(1000) % 2, "u", "v")), covariates=["g"])
    result = ac.fit_mnl(data, "*: x")
    assert set(result.elasticities("x", by="g")["segment"]) == {"g=u", "g=v"}


@pytest.mark.parametrize("diagonal", [[1.0, -1.0], [1.0, np.nan], [1.0, 0.0]])
def test_a_hessian_that_is_not_positive_definite_is_an_error_and_no_warning(
    diagonal: list[float],
) -> None:
    with pytest.raises(IdentificationError, match="not positive definite"):
        inverse_curvature(np.diag(diagonal))
