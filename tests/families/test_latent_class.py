"""The latent class logit against brute force, finite differences and reference fits."""

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
from ardchoice.errors import SpecificationError
from ardchoice.families import Family, LatentClass, Mnl, family_pass
from ardchoice.families.latent.estimate import ClassPasses
from ardchoice.families.latent.kernel import class_arrays, class_state
from ardchoice.numerics import Order, Sums
from ardchoice.space import as_specification

CASES = json.loads((Path(__file__).parents[1] / "reference" / "heterogeneity.json").read_text())
REFERENCE = {case["id"]: case for case in CASES}
FOUR = "TRAIN: ASC\nCAR: ASC\n*: TT + CO"
MIXED = "TRAIN: ASC + TT + CO x GA\nSM: ASC + TT\n*: CO"
DIFFERENCE_TOLERANCE = 1e-6
"""Relative to the largest element, on the scale of every parameter."""
REFERENCE_LOGLIK = 0.01


@pytest.fixture(scope="module")
def data() -> ChoiceData:
    return business()


@pytest.fixture(scope="module")
def some() -> ChoiceData:
    """Weighted persons, some alternatives of which are unavailable."""
    some = ac.datasets.swissmetro_choices("real").take(np.arange(0, 900))
    weight = np.random.default_rng(3).uniform(0.5, 2.0, some.n_persons)
    return replace(some, weight=weight[some.person])


class At:
    """A family at random parameters."""

    def __init__(self, family: LatentClass, data: ChoiceData) -> None:
        design = Design(data, as_specification(MIXED).terms)
        self.family, self.design = family, design.with_covariates(family.covariates)
        self.layout = family.layout(self.design.encoding).reordered(self.design.order)
        self.blocks = list(self.design.blocks())
        size = np.zeros(self.design.n_columns)
        for part in self.blocks[0].parts:
            size[part.columns] = np.abs(part.x).max(axis=(1, 2))
        columns = [p.column for p in self.layout.parameters]
        self.unit = np.array([1.0 if c is None else 1 / size[c] for c in columns])
        self.theta = np.random.default_rng(1).normal(0, 0.5, len(columns)) * self.unit

    def sums(self, theta: Floats, order: Order = 2) -> Sums:
        return family_pass(self.family, self.layout, theta, self.blocks, order)


FAMILIES = [
    LatentClass(2),
    LatentClass(3, membership=["AGE", "GA"]),
    LatentClass(3, shared=["*: CO", "SM: ASC"], membership=["GA"]),
    LatentClass(2, shared=["*: CO"], absent={"1": ["TRAIN: TT", "SM: TT"]}),
    LatentClass(1),
]


@pytest.mark.parametrize("family", FAMILIES)
def test_derivatives_are_those_of_finite_differences(some: ChoiceData, family: LatentClass) -> None:
    at, step = At(family, some), 1e-5
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


@pytest.mark.parametrize("family", FAMILIES[:4])
def test_steps_of_em_are_newton_steps_on_the_complete_data(
    some: ChoiceData, family: LatentClass
) -> None:
    """Against differences of Q(θ) = Σ_n w_n Σ_q h_nq log(π_nq p_nq(θ)), memberships h kept."""
    at, step = At(family, some), 1e-4
    arrays = class_arrays(at.layout, family.classes or 1)
    held = [class_state(at.theta, block, arrays) for block in at.blocks]

    def expected(theta: Floats) -> float:
        total = 0.0
        for block, known in zip(at.blocks, held, strict=True):
            there = class_state(theta, block, arrays)
            joint = np.log(there.posterior) + there.loglik
            total += float((known.posterior * joint).sum(axis=0) @ known.rows.weights(block))
        return total

    sums = ClassPasses(at.blocks, arrays).for_em(at.theta)
    moves = np.diag(step * at.unit)
    gradient = [(expected(at.theta + m) - expected(at.theta - m)) / (2 * step) for m in moves]
    np.testing.assert_allclose(sums.gradient * at.unit, gradient, atol=1e-4)
    k, last = 1, len(at.theta) - 1
    for i, j in [(k, k), (k, last), (last, last), (0, 2)]:
        corners = [
            a * b * expected(at.theta + a * moves[i] + b * moves[j])
            for a in (1, -1)
            for b in (1, -1)
        ]
        found = sums.curvature[i, j] * at.unit[i] * at.unit[j]
        assert found == pytest.approx(-sum(corners) / (4 * step**2), rel=1e-4, abs=1e-2)


def test_the_log_likelihood_is_that_of_products_over_persons(some: ChoiceData) -> None:
    family = LatentClass(3, membership=["AGE"])
    at = At(family, some)
    total = 0.0
    betas = family.class_coefficients(at.theta, at.layout)
    for block in at.blocks:
        shares = family.class_shares(at.theta, block, at.layout)
        chosen = [
            Mnl().probabilities(beta, block, at.layout).ravel()[block.picked] for beta in betas
        ]
        assert block.person is not None
        assert block.weight is not None
        for person in np.unique(block.person):
            rows = np.flatnonzero(block.person == person)
            within = sum(s[rows[0]] * c[rows].prod() for s, c in zip(shares, chosen, strict=True))
            total += block.weight[rows[0]] * np.log(within)
    assert at.sums(at.theta, 0).loglik == pytest.approx(total, rel=1e-12)


def test_one_class_is_the_multinomial_logit(data: ChoiceData) -> None:
    one, mnl = ac.fit(data, FOUR, family=LatentClass(1)), ac.fit_mnl(data, FOUR)
    assert one.loglik == pytest.approx(mnl.loglik, rel=1e-12)
    np.testing.assert_allclose(one.coefficients, mnl.coefficients, rtol=1e-8)
    np.testing.assert_allclose(
        one.covariances["cluster"], mnl.covariances["cluster"], rtol=1e-6, atol=1e-12
    )


@pytest.mark.parametrize(("classes", "seeds"), [(2, (0, 1, 2)), (3, (0, 1))])
def test_reference_classes_of_swissmetro_are_found(
    data: ChoiceData, classes: int, seeds: tuple[int, ...]
) -> None:
    reference = REFERENCE["latent_class_panel_swissmetro"]
    for seed in seeds:
        result = ac.fit(data, FOUR, family=LatentClass(classes, seed=seed))
        assert result.converged
        assert result.loglik >= reference["LL"][str(classes)] - REFERENCE_LOGLIK
        estimates = result.family.class_coefficients(result.coefficients, result.layout)
        expected = np.array(reference["estimates_ASC_CAR_ASC_TRAIN_CO_TT"][str(classes)])
        np.testing.assert_allclose(estimates, expected[:, [1, 0, 3, 2]], atol=0.006)
        shares = result.individual().mean()
        np.testing.assert_allclose(shares, reference["shares"][str(classes)], atol=1e-3)
    frame = result.to_frame()
    assert list(frame["kind"]) == ["mean"] * 4 * classes + ["class"] * (classes - 1)


def test_published_discrete_mixture_of_swissmetro(data: ChoiceData) -> None:
    reference = REFERENCE["swissmetro_discrete_mixture_b07"]
    family = LatentClass(2, shared=["TRAIN: ASC", "CAR: ASC", "*: CO"], absent={"1": ["*: TT"]})
    result = ac.fit(replace(data, person=None), FOUR, family=family)
    assert result.loglik == pytest.approx(reference["exact_LL"], abs=1e-3)
    published = reference["estimates"]
    assert result.estimates["*: TT (class 2)"] == pytest.approx(published["b_time"], abs=1e-4)
    assert result.estimates["*: CO"] == pytest.approx(published["b_cost"], abs=1e-4)
    share = 1 / (1 + np.exp(result.estimates["class 2: constant"]))
    assert share == pytest.approx(published["prob_class1"], abs=1e-4)


def simulated(
    seed: int, classes: int, n_persons: int = 300, *, depends: bool = False
) -> ChoiceData:
    """Eight choices each of persons in separated classes, largest first; membership by `rich`."""
    rng = np.random.default_rng(seed)
    tastes = np.array([[-2.0, -1.0], [0.2, -3.0], [2.0, 0.5], [-0.5, 2.5]])[:classes]
    weight = np.array([1.0, 0.7, 0.5, 0.4])[:classes]
    rich = rng.integers(0, 2, n_persons)
    tilt = np.where(depends, 2.0 * rich[:, None] * np.arange(classes), 0.0)
    p = weight * np.exp(tilt)
    p /= p.sum(axis=1, keepdims=True)
    member = np.array([rng.choice(classes, p=row) for row in p])
    person = np.repeat(np.arange(n_persons), 8)
    n = len(person)
    x = rng.normal(size=(2, 3, n))
    v = np.einsum("nk,kjn->jn", tastes[member][person], x)
    choice = (v + rng.gumbel(size=v.shape)).argmax(axis=0)
    names = ["a", "b", "c"]
    table = pd.DataFrame(
        {f"{name}_{what}": x[k, j] for j, name in enumerate(names) for k, what in enumerate("tc")}
    )
    table["choice"], table["who"] = np.array(names)[choice], person
    table["rich"] = np.where(rich[person] == 1, "yes", "no")
    return ac.read_wide(
        table,
        alternatives=names,
        choice="choice",
        attributes={"t": "{alt}_t", "c": "{alt}_c"},
        covariates=["rich"],
        person="who",
    )


@pytest.mark.parametrize("classes", [1, 2, 3])
def test_the_number_of_separated_classes_is_found(classes: int) -> None:
    result = ac.fit(simulated(classes, classes), "*: t + c", family=LatentClass(None, starts=4))
    assert result.family.classes == classes
    assert "BIC over 300 persons by number of classes" in result.notes[0]


def test_membership_that_drew_the_classes_is_recovered() -> None:
    data = simulated(5, 2, 600, depends=True)
    result = ac.fit(data, "*: t + c", family=LatentClass(2, membership=["rich"]))
    frame = result.to_frame()
    rows = [name for name in frame.index if "rich" in name]
    assert len(rows) == 1
    # Who is rich is in the second class of the simulation, with the positive coefficient of t or
    # nearly so; classes may be sorted either way.
    towards = 1 if frame.loc["*: t (class 2)", "estimate"] > frame.iloc[0]["estimate"] else -1
    level = 1 if "yes" in rows[0] else -1
    expected = 2.0 * towards * level
    assert abs(frame.loc[rows[0], "estimate"] - expected) < 3 * frame.loc[rows[0], "std_err"]
    individual = result.individual()
    assert list(individual.columns) == ["class 1", "class 2"]
    np.testing.assert_allclose(individual.sum(axis=1), 1)
    assert len(individual) == 600


def test_membership_is_selected_by_relevance() -> None:
    data = simulated(5, 2, 400, depends=True)
    noise = np.random.default_rng(2).integers(0, 2, 400)[data.person]
    varying = np.random.default_rng(3).integers(0, 2, len(data))
    levels = {"levels": ("no", "yes"), "reference": 0}
    covariates = {
        **data.covariates,
        "noise": replace(data.covariates["rich"], name="noise", values=noise, **levels),
        "varying": replace(data.covariates["rich"], name="varying", values=varying, **levels),
    }
    data = replace(data, covariates=covariates)
    result = ac.fit(data, "*: t + c", family=LatentClass(2, membership="auto"))
    assert result.family.membership == ("rich",)
    given = ac.fit(data, "*: t + c", family=LatentClass(2, membership=["rich"]))
    assert result.loglik == pytest.approx(given.loglik, abs=1e-3)
    np.testing.assert_allclose(result.coefficients, given.coefficients, atol=1e-3)
    assert "not on noise" in result.notes[0]
    assert "Not constant within persons, so not considered: varying" in result.notes[0]


def test_membership_that_nothing_explains_stays_without_covariates() -> None:
    data = simulated(6, 2, 300)
    result = ac.fit(data, "*: t + c", family=LatentClass(2, membership="auto"))
    assert not result.family.membership
    assert "No covariate improves" in result.notes[0]


def test_rows_of_persons_may_stand_anywhere(data: ChoiceData) -> None:
    few = data.take(np.arange(1_800))
    mixed = few.take(np.random.default_rng(0).permutation(len(few)))
    here, there = (ac.fit(d, FOUR, family=LatentClass(2)) for d in (few, mixed))
    assert here.loglik == pytest.approx(there.loglik, rel=1e-9)


def test_prediction_of_new_choices_uses_shares_of_classes(data: ChoiceData) -> None:
    result = ac.fit(data, FOUR, family=LatentClass(2))
    p = result.probabilities(data.take(np.arange(100)))
    np.testing.assert_allclose(p.sum(axis=0), 1)
    assert {"estimate", "std_err"} <= set(result.elasticities("CO").columns)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"classes": 0}, "1 or more"),
        ({"classes": 2, "starts": 0}, "At least one start"),
        ({"classes": 2, "membership": "INCOME"}, "lists of names"),
        ({"classes": 2, "absent": {"3": ["*: TT"]}}, "no class '3'"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(SpecificationError, match=words):
        LatentClass(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("family", "words"),
    [
        (LatentClass(2, shared=["*: TTT"]), "no term '\\*: TTT'"),
        (LatentClass(2, membership=["INCOMES"]), "no covariate 'INCOMES'"),
        (LatentClass(1, absent={"1": ["*: TT"]}), "absent from every class"),
    ],
)
def test_options_that_do_not_fit_the_data_are_refused(
    data: ChoiceData, family: Family, words: str
) -> None:
    with pytest.raises(SpecificationError, match=words):
        ac.fit(data, FOUR, family=family)
