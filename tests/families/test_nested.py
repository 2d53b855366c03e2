"""The nested and cross-nested logit against finite differences, brute force and published fits."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from families_support import business

import ardchoice as ac
from ardchoice._types import Floats
from ardchoice.data import ChoiceData
from ardchoice.design import Design
from ardchoice.errors import IdentificationError, SpecificationError
from ardchoice.families import Family, Mnl, Nested, family_pass, utilities
from ardchoice.numerics import Order, Sums
from ardchoice.space import as_specification

CASES = json.loads((Path(__file__).parents[1] / "reference" / "heterogeneity.json").read_text())
REFERENCE = {case["id"]: case for case in CASES}
FOUR = "TRAIN: ASC\nCAR: ASC\n*: TT + CO"
MIXED = "TRAIN: ASC + TT + CO x GA\nSM: ASC + TT\n*: CO"
DIFFERENCE_TOLERANCE = 1e-6
"""Relative to the largest element, on the scale of every parameter."""
SAME_AS_MNL = 1e-8
PUBLISHED_LOGLIK, PUBLISHED_ESTIMATE = 1e-3, 2e-4


@pytest.fixture(scope="module")
def data() -> ChoiceData:
    return business()


@pytest.fixture(scope="module")
def some() -> ChoiceData:
    """Weighted choices, some alternatives of which are unavailable."""
    some = ac.datasets.swissmetro_choices("real").take(np.arange(0, 6_000, 10))
    return replace(some, weight=np.random.default_rng(3).uniform(0.5, 2.0, len(some)))


class At:
    """A family at some parameters."""

    def __init__(self, family: Family, data: ChoiceData, extras: list[float]) -> None:
        self.family, self.design = family, Design(data, as_specification(MIXED).terms)
        self.layout = family.layout(self.design.encoding).reordered(self.design.order)
        self.blocks = list(self.design.blocks())
        size = np.zeros(self.design.n_columns)
        for part in self.blocks[0].parts:
            size[part.columns] = np.abs(part.x).max(axis=(1, 2))
        rng = np.random.default_rng(1)
        self.theta = np.concatenate([rng.normal(0, 0.8, len(size)) / size, extras])
        self.unit = 1 / np.concatenate([size, np.ones(len(extras))])

    def sums(self, theta: Floats, order: Order = 2) -> Sums:
        return family_pass(self.family, self.layout, theta, self.blocks, order)


NESTED = Nested({"existing": ["TRAIN", "CAR"]})
STRUCTURES = [
    (NESTED, [1.7]),
    (NESTED, [0.4]),
    (Nested({"rail": ["TRAIN", "SM"]}), [8.0]),
    (Nested({"a": ["TRAIN", "CAR"], "b": ["TRAIN", "SM"]}, cross=True), [1.6, 2.3, 0.35]),
    (Nested({"a": ["TRAIN", "CAR"], "b": ["TRAIN", "SM"]}, cross=True, equal=True), [2.3, 0.35]),
    (
        Nested({"a": ["TRAIN", "CAR"], "b": ["TRAIN", "SM"], "c": ["SM", "CAR"]}, cross=True),
        [1.6, 2.3, 0.8, 0.35, 0.6, 0.2],
    ),
    (
        Nested(
            {"a": ["TRAIN", "CAR"], "b": ["TRAIN", "SM"]},
            cross=True,
            allocation={"TRAIN": {"a": 0.3, "b": 0.7}},
        ),
        [1.6, 2.3],
    ),
]


@pytest.mark.parametrize(("family", "extras"), STRUCTURES)
def test_derivatives_are_those_of_finite_differences(
    some: ChoiceData, family: Family, extras: list[float]
) -> None:
    at, step = At(family, some, extras), 1e-5
    sums = at.sums(at.theta)
    gradient, hessian = np.empty_like(sums.gradient), np.empty_like(sums.curvature)
    for k in range(len(at.theta)):
        move = np.zeros_like(at.theta)
        move[k] = step * at.unit[k]
        up, down = at.sums(at.theta + move, 1), at.sums(at.theta - move, 1)
        gradient[k] = (up.loglik - down.loglik) / (2 * step)
        hessian[k] = -(up.gradient - down.gradient) * at.unit / (2 * step)
    for found, expected in [
        (sums.gradient * at.unit, gradient),
        (sums.curvature * at.unit * at.unit[:, None], hessian),
    ]:
        atol = DIFFERENCE_TOLERANCE * np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


@pytest.mark.parametrize(("family", "extras"), STRUCTURES)
def test_scores_and_responses_belong_to_the_probabilities(
    some: ChoiceData, family: Family, extras: list[float]
) -> None:
    at = At(family, some, extras)
    whole = at.sums(at.theta)
    each = [family.scores(at.theta, block, at.layout).each.sum(axis=1) for block in at.blocks]
    np.testing.assert_allclose(sum(each), whole.gradient, rtol=1e-9, atol=1e-8)
    block = at.blocks[0]
    for alternative in range(3):
        found = family.response(at.theta, block, at.layout, alternative)
        expected = Family.response(family, at.theta, block, at.layout, alternative)
        np.testing.assert_allclose(found, expected, atol=1e-7)


def test_probabilities_are_the_formula_written_out(some: ChoiceData) -> None:
    family = STRUCTURES[3][0]
    at = At(family, some, [1.6, 2.3, 0.35])
    block = at.blocks[0]
    found = family.probabilities(at.theta, block, at.layout)
    v = utilities(at.theta[: at.layout.n_columns], block)
    assert block.available is not None
    y = np.where(block.available, np.exp(v), 0.0)
    train, sm, car = y
    with np.errstate(divide="ignore", invalid="ignore"):
        a = (0.35 * train) ** 1.6 + car**1.6
        b = (0.65 * train) ** 2.3 + sm**2.3
        total = a ** (1 / 1.6) + b ** (1 / 2.3)
        by_a = np.where(a > 0, a ** (1 / 1.6 - 1), 0)
        by_b = np.where(b > 0, b ** (1 / 2.3 - 1), 0)
    expected = [
        by_a * (0.35 * train) ** 1.6 + by_b * (0.65 * train) ** 2.3,
        by_b * sm**2.3,
        by_a * car**1.6,
    ]
    np.testing.assert_allclose(found, np.array(expected) / total, rtol=1e-10)


def test_at_scale_one_everything_is_the_multinomial_logit(some: ChoiceData) -> None:
    at, plain = At(NESTED, some, [1.0]), At(Mnl(), some, [])
    here, there = at.sums(at.theta), plain.sums(plain.theta)
    d = at.layout.n_columns
    assert here.loglik == pytest.approx(there.loglik, rel=SAME_AS_MNL)
    np.testing.assert_allclose(here.gradient[:d], there.gradient, rtol=SAME_AS_MNL, atol=1e-7)
    np.testing.assert_allclose(here.curvature[:d, :d], there.curvature, rtol=SAME_AS_MNL, atol=1e-7)
    block = at.blocks[0]
    for alternative in range(3):
        np.testing.assert_allclose(
            NESTED.response(at.theta, block, at.layout, alternative),
            Mnl().response(plain.theta, block, plain.layout, alternative),
            atol=1e-12,
        )


def test_published_nested_logit_of_swissmetro(data: ChoiceData) -> None:
    reference = REFERENCE["swissmetro_nested_b09"]
    result = ac.fit(data, FOUR, family=NESTED)
    assert result.converged
    assert result.loglik == pytest.approx(reference["exact_LL"], abs=PUBLISHED_LOGLIK)
    published = reference["estimates"]
    names = {"ASC_TRAIN": "TRAIN: ASC", "ASC_CAR": "CAR: ASC", "b_time": "*: TT"}
    for theirs, ours in {**names, "b_cost": "*: CO", "mu": "mu(existing)"}.items():
        assert result.estimates[ours] == pytest.approx(published[theirs], abs=PUBLISHED_ESTIMATE)
    frame = result.to_frame()
    assert list(frame["kind"]) == ["mean"] * 4 + ["nest"]
    row = frame.loc["mu(existing)"]
    assert row["z"] == pytest.approx((row["estimate"] - 1) / row["std_err"])
    assert "lambda = 1/mu 0.4868" in result.summary()


@pytest.mark.parametrize(
    ("nest", "key", "mu_tolerance"),
    [(["TRAIN", "SM"], "train_sm", 2e-3), (["SM", "CAR"], "sm_car", 2e-3)],
)
def test_wrong_nests_are_inadmissible_and_reported_with_their_values(
    data: ChoiceData, nest: list[str], key: str, mu_tolerance: float
) -> None:
    reference = REFERENCE["swissmetro_nested_wrong_nests"]
    result = ac.fit(data, FOUR, family=Nested({"wrong": nest}))
    assert result.converged
    assert result.loglik == pytest.approx(reference["exact_LL"][key], abs=2e-3)
    mu = result.estimates["mu(wrong)"]
    assert mu == pytest.approx(reference["estimates"][f"mu_{key}"], abs=mu_tolerance)
    assert mu < 1
    assert any("do not belong together" in note for note in result.notes)


def test_published_cross_nested_logit_of_swissmetro(data: ChoiceData) -> None:
    reference = REFERENCE["swissmetro_cnl_b11a_3.3.4"]
    spec = "TRAIN: ASC + TT + HE + ASC x GA\nSM: TT + HE + ASC x GA\nCAR: ASC + TT\n*: CO"
    family = Nested({"existing": ["TRAIN", "CAR"], "public": ["TRAIN", "SM"]}, cross=True)
    result = ac.fit(data, spec, family=family)
    assert result.converged
    assert result.loglik == pytest.approx(reference["published_LL"], abs=reference["tol_LL"])
    published = reference["published_estimates"]
    assert result.estimates["mu(existing)"] == pytest.approx(
        published["existing_nest_parameter"], abs=2e-3
    )
    assert result.estimates["mu(public)"] == pytest.approx(
        published["public_nest_parameter"], abs=2e-3
    )
    assert result.estimates["alpha(TRAIN in existing)"] == pytest.approx(
        published["alpha_existing"], abs=2e-3
    )


def test_equal_scales_are_one_parameter() -> None:
    data = simulated(7)
    nests = {"a": ["a1", "a2"], "b": ["b1", "b2"]}
    free = ac.fit(data, "*: x", family=Nested(nests))
    equal = ac.fit(data, "*: x", family=Nested(nests, equal=True))
    assert free.n_parameters == equal.n_parameters + 1 == 3
    assert equal.loglik <= free.loglik
    low, high = sorted([free.estimates["mu(a)"], free.estimates["mu(b)"]])
    assert low <= equal.estimates["mu"] <= high


def test_scales_that_drew_the_choices_are_recovered() -> None:
    frame = ac.fit(simulated(1, 6_000), "*: x", family=Nested({"a": ["a1", "a2"]})).to_frame()
    truth = {"*: x": 1.0, "mu(a)": 2.5}
    for name, value in truth.items():
        assert abs(frame.loc[name, "estimate"] - value) < 3 * frame.loc[name, "std_err"]


def test_ragged_choice_sets_and_weights_that_repeat_rows() -> None:
    data = simulated(3, 800)
    rng = np.random.default_rng(0)
    available = data.available.copy()
    shut = rng.random(available.shape) < 0.3
    shut[data.chosen(), np.arange(len(data))] = False
    data = replace(data, available=available & ~shut)
    repeats = rng.integers(1, 3, len(data))
    family = Nested({"a": ["a1", "a2"]})
    weighted = ac.fit(replace(data, weight=repeats.astype(float)), "*: x", family=family)
    repeated = ac.fit(data.take(np.repeat(np.arange(len(data)), repeats)), "*: x", family=family)
    np.testing.assert_allclose(weighted.coefficients, repeated.coefficients, rtol=1e-8)
    np.testing.assert_allclose(
        weighted.covariances["classical"], repeated.covariances["classical"], rtol=1e-6
    )


def simulated(seed: int, n: int = 2_000) -> ChoiceData:
    """Choices among five alternatives, two of them with μ = 2.5 in a nest."""
    rng = np.random.default_rng(seed)
    names = ["a1", "a2", "b1", "b2", "c"]
    table = pd.DataFrame({f"{name}_x": rng.normal(size=n) for name in names})
    mu = 2.5
    v = table.to_numpy()
    inclusive = np.log(np.exp(mu * v[:, :2]).sum(axis=1)) / mu
    top = np.exp(np.column_stack([inclusive, v[:, 2:]]))
    top /= top.sum(axis=1, keepdims=True)
    inside = np.exp(mu * v[:, :2])
    inside /= inside.sum(axis=1, keepdims=True)
    p = np.column_stack([top[:, :1] * inside, top[:, 1:]])
    table["choice"] = [names[rng.choice(5, p=row)] for row in p]
    return ac.read_wide(table, alternatives=names, choice="choice", attributes={"x": "{alt}_x"})


# -- Errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nests", "words"),
    [
        ({"a": ["TRAIN"]}, "needs two alternatives or more"),
        ({}, "There is no nest"),
        ({"a": []}, "holds nothing"),
        ({"a": "TRAIN"}, "needs a list"),
        ({"a": ["TRAIN", "TRAIN"]}, "names TRAIN twice"),
        ({"a": ["TRAIN", "CAR"], "b": ["SM", "CAR"]}, "CAR is in two nests, 'a' and 'b'"),
        (["TRAIN", "CAR"], "Nests are a name and its alternatives"),
    ],
)
def test_nests_that_make_no_sense_are_refused(nests: object, words: str) -> None:
    with pytest.raises(SpecificationError, match=words):
        Nested(nests)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("nests", "words"),
    [
        ({"a": ["TRAIN", "CARS"]}, "no alternative 'CARS'. Did you mean 'CAR'"),
        ({"a": ["TRAIN", "CAR", "SM"]}, "holds every alternative"),
    ],
)
def test_nests_that_do_not_fit_the_data_are_refused(
    data: ChoiceData, nests: dict[str, list[str]], words: str
) -> None:
    with pytest.raises(SpecificationError, match=words):
        ac.fit(data, FOUR, family=Nested(nests))


def test_a_nest_never_available_together_has_no_scale(data: ChoiceData) -> None:
    only = data.take(~data.available[2])
    with pytest.raises(IdentificationError, match="never available together"):
        ac.fit(only, "*: TT + CO", family=NESTED)


def test_allocations_are_checked() -> None:
    nests = {"a": ["TRAIN", "CAR"], "b": ["TRAIN", "SM"]}
    for allocation, words in [
        ({"TRAIN": {"a": 0.3}}, "each of its nests"),
        ({"TRAIN": {"a": 0.3, "b": 0.3}}, "add up to 1"),
        ({"BUS": {"a": 1.0}}, "it is in none"),
    ]:
        with pytest.raises(SpecificationError, match=words):
            Nested(nests, cross=True, allocation=allocation)
    with pytest.raises(SpecificationError, match="needs cross=True"):
        Nested({"a": ["TRAIN", "CAR"]}, allocation={"TRAIN": {"a": 1.0}})
