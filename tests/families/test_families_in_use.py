"""Effects, willingness to pay and calibration of every registered family against differences."""

from __future__ import annotations

from dataclasses import replace

import lapse_logit  # noqa: F401 - a family that is registered by being imported
import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice._types import Floats
from ardchoice.data import ChoiceData
from ardchoice.estimation import Result
from ardchoice.families import FAMILIES, Family, Logsum

SPEC = """
    TRAIN: ASC + log1p(TT) + CO x GA
    SM: ASC + sqrt(TT) + square(HE)
    CAR: piecewise(TT, 2.013)
    *: CO
"""
EXAMPLES: dict[str, Family] = {
    "latent": ac.LatentClass(2, membership=["INCOME"], shared=["SM: square(HE)"], starts=1),
    "nested": ac.Nested({"existing": ["TRAIN", "CAR"]}),
    "mixed": ac.Mixed({"*: CO": "normal", "SM: sqrt(TT)": "lognormal"}),
}
STEP, CLOSE = 1e-5, 1e-6
"""Of central differences, and what they leave."""


@pytest.fixture(scope="module", params=sorted(FAMILIES))
def result(request: pytest.FixtureRequest) -> Result:
    """Near an estimate: what holds there holds everywhere, and no family takes long."""
    rng = np.random.default_rng(3)
    data = ac.datasets.swissmetro_choices("real").take(
        np.arange(9_000).reshape(-1, 9)[::50].ravel()
    )
    data = replace(data, weight=np.repeat(rng.uniform(0.5, 2.0, 20), 9))
    tag = request.param
    family = EXAMPLES[tag] if tag in EXAMPLES else FAMILIES[tag]()
    plain = ac.fit_mnl(data, SPEC, separation="allow")
    family = family.resolve(_design(data, plain)).family
    encoding = _design(data, plain).with_covariates(family.covariates).encoding
    layout = family.layout(encoding)
    theta = family.start(layout, plain.coefficients)
    sizes = np.maximum(np.abs(theta), 0.1)
    theta = np.clip(
        theta + 0.05 * sizes * rng.normal(size=len(theta)),
        *(layout.bounds if layout.bounds is not None else (-np.inf, np.inf)),
    )
    root = 0.05 * np.diag(sizes)
    return replace(
        plain,
        family=family,
        encoding=encoding,
        coefficients=theta,
        covariances={"classical": root @ root, "robust": root @ root},
    )


def _design(data: ChoiceData, plain: Result) -> ac.Design:
    return ac.Design(data, plain.encoding)


def moved(
    data: ChoiceData, name: str, alternative: str, factor: float = 1.0, step: float = 0.0
) -> ChoiceData:
    """The same situations with one attribute of one alternative changed."""
    old = data.attributes[name]
    values = np.array(old.values, dtype=float)
    at = old.alternatives.index(data.alternatives.index(alternative))
    values[at] = values[at] * factor + step
    return replace(data, attributes={**data.attributes, name: replace(old, values=values)})


@pytest.mark.parametrize("attribute", ["TT", "CO", "HE"])
def test_marginal_effects_and_elasticities_are_finite_differences_of_shares(
    result: Result, attribute: str
) -> None:
    data, base = result.data, result.shares()
    keys = ["changed", "alternative"]
    effects = result.marginal_effects(attribute).set_index(keys)["estimate"]
    elasticities = result.elasticities(attribute).set_index(keys)["estimate"]
    assert len(effects) == len(elasticities) >= 3
    for changed in {key[0] for key in effects.index}:
        up, down = (result.shares(moved(data, attribute, changed, step=s)) for s in (STEP, -STEP))
        more, less = (
            result.shares(moved(data, attribute, changed, factor=1 + s)) for s in (STEP, -STEP)
        )
        for name in data.alternatives:
            slope = (up[name] - down[name]) / (2 * STEP)
            relative = (more[name] - less[name]) / (2 * STEP) / base[name]
            assert effects[changed, name] == pytest.approx(slope, rel=CLOSE, abs=1e-9)
            assert elasticities[changed, name] == pytest.approx(relative, rel=CLOSE, abs=1e-9)
        assert effects[changed].sum() == pytest.approx(0, abs=1e-9)


def test_errors_of_marginal_effects_are_those_of_the_delta_method(result: Result) -> None:
    data = result.data.take(np.arange(45))
    found = result.marginal_effects("CO", cross=False, data=data, cov="robust")
    changed = {
        (name, sign): moved(data, "CO", name, step=sign * 1e-3)
        for name in data.alternatives
        for sign in (1, -1)
    }

    def effects(theta: Floats) -> Floats:
        there = replace(result, coefficients=theta)
        ends = {key: there.shares(one)[key[0]] for key, one in changed.items()}
        return np.array([ends[n, 1] - ends[n, -1] for n in data.alternatives]) / 2e-3

    gradient = np.empty((len(found), result.n_parameters))
    for k, value in enumerate(result.coefficients):
        move = np.zeros(result.n_parameters)
        move[k] = 1e-3 * max(abs(value), 1e-2)
        there = [effects(result.coefficients + sign * move) for sign in (1, -1)]
        gradient[:, k] = (there[0] - there[1]) / (2 * move[k])
    variance = np.einsum("ij,jk,ik->i", gradient, result.covariances["robust"], gradient)
    np.testing.assert_allclose(found["std_err"], np.sqrt(variance), rtol=1e-3)


def lognormal_mean(result: Result) -> Floats:
    """Means of the coefficients of the mixed logit of `EXAMPLES`."""
    beta = result.coefficients[: result.encoding.n_columns].copy()
    k = result.names.index("SM: sqrt(TT)")
    beta[k] = -np.exp(beta[k] + result.estimates["sd(SM: sqrt(TT))"] ** 2 / 2)
    return beta


def mean_utility(result: Result, data: ChoiceData, alternative: str, use: Floats) -> float:
    """Mean of the expected utility of an alternative, kind of person by kind."""
    inside, total = result.model.on(data), 0.0
    j = data.alternatives.index(alternative)
    for rows in inside.design.ranges():
        block, w = inside.design.block(rows), data.weights_of(rows) * use[rows]
        kinds = inside.family.logsums(inside.theta, block, inside.layout)
        if result.family.tag == "mixed":
            kinds = [Logsum(w, lognormal_mean(result)[inside.design.order])]
        for kind in kinds or [Logsum(w, inside.theta[: result.encoding.n_columns])]:
            v = np.zeros(block.shape[1])
            for part in block.parts:
                if j in part.alternatives:
                    x, beta = part.x[:, part.alternatives.index(j)], kind.beta[part.columns]
                    v += (x * (beta[:, None] if beta.ndim == 1 else beta)).sum(axis=0)
            total += float(w @ (kind.weight * v))
    return total / float(data.weights @ use)


def test_wtp_is_the_ratio_of_mean_marginal_utilities(result: Result) -> None:
    data = result.data
    found = result.wtp("TT", "CO", by=["GA"], cov="robust").set_index(["alternative", "segment"])
    for name in data.alternatives:
        for level in (0, 1):
            available = data.available[data.alternatives.index(name)]
            use = (available & (data.covariates["GA"].values == level)).astype(float)
            slopes = []
            for attribute in ("TT", "CO"):
                up, down = (
                    mean_utility(result, moved(data, attribute, name, step=s), name, use)
                    for s in (STEP, -STEP)
                )
                slopes.append(up - down)
            expected = slopes[0] / slopes[1]
            assert found["estimate"][name, f"GA={level}"] == pytest.approx(expected, rel=CLOSE)
    assert (found["std_err"] > 0).all()


def test_errors_of_wtp_are_those_of_the_delta_method(result: Result) -> None:
    data = result.data.take(np.arange(45))
    found = result.wtp("TT", "CO", by=[], data=data, cov="robust")
    gradient = np.empty((len(found), result.n_parameters))
    for k, value in enumerate(result.coefficients):
        step = 1e-5 * max(abs(value), 1e-2)
        ends = []
        for sign in (1, -1):
            theta = result.coefficients.copy()
            theta[k] += sign * step
            there = replace(result, coefficients=theta)
            ends.append(there.wtp("TT", "CO", by=[], data=data)["estimate"].to_numpy())
        gradient[:, k] = (ends[0] - ends[1]) / (2 * step)
    variance = np.einsum("ij,jk,ik->i", gradient, result.covariances["robust"], gradient)
    np.testing.assert_allclose(found["std_err"], np.sqrt(variance), rtol=1e-3)


@pytest.mark.parametrize(
    "shares", [{"TRAIN": 0.15, "SM": 0.55, "CAR": 0.3}, {"TRAIN": 0.6, "SM": 0.1, "CAR": 0.3}]
)
def test_calibrated_shares_are_met(result: Result, shares: dict[str, float]) -> None:
    found = result.calibrate(shares)
    np.testing.assert_allclose(found.shares()[list(shares)], list(shares.values()), atol=1e-8)
    same = [k for k, name in enumerate(result.names) if "ASC" not in name]
    np.testing.assert_array_equal(found.coefficients[same], result.coefficients[same])
    # Shares that are given have no error, wherever the other parameters are.
    base = found.scenario("TRAIN: TT * 1.1").intervals()
    assert (base.loc[base["of"] == "base", "std_err"] < 1e-5).all()
    assert (base.loc[base["of"] == "change", "std_err"] > 1e-5).all()


def test_scenarios_of_every_family_are_predictions_on_changed_data(result: Result) -> None:
    scenario = result.scenario("TRAIN: TT * 1.2", by="GA")
    expected = result.probabilities(moved(result.data, "TT", "TRAIN", factor=1.2))
    np.testing.assert_allclose(scenario.predict().to_numpy().T, expected, rtol=0, atol=1e-12)
    if result.family.tag != "lapse":
        assert np.isfinite(pd.DataFrame(scenario.surplus)["std_err"]).all()
