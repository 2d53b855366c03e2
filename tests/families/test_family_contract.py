"""What every registered family must hold to, at parameters away from its start."""

from __future__ import annotations

from dataclasses import replace

import lapse_logit  # noqa: F401 - a family that is registered by being imported
import numpy as np
import pytest

import ardchoice as ac
from ardchoice._types import Floats
from ardchoice.design import Block, Design, Part
from ardchoice.families import FAMILIES, Family, Mnl, family_pass
from ardchoice.space import as_specification

SPEC = "TRAIN: ASC + TT + CO x GA\nSM: ASC + TT\n*: CO"
DIFFERENCE_STEP = 1e-5
GRADIENT_TOLERANCE, HESSIAN_TOLERANCE = 1e-6, 1e-5
"""Relative to the largest element: what central differences leave."""
EXAMPLES: dict[str, Family] = {
    "latent": ac.LatentClass(2),
    "nested": ac.Nested({"existing": ["TRAIN", "CAR"]}),
    "mixed": ac.Mixed({"*: CO": "normal", "SM: TT": "uniform"}),
}
"""Families whose options the data would decide by default, with some that fit SPEC."""


class Case:
    """A family on weighted choices, some alternatives of which are unavailable."""

    def __init__(self, family: Family) -> None:
        rng = np.random.default_rng(3)
        # A panel family needs several choices per person.
        rows = np.arange(900) if family.panel else np.arange(0, 6_000, 10)
        data = ac.datasets.swissmetro_choices("real").take(rows)
        self.data = replace(data, weight=rng.uniform(0.5, 2.0, len(data)))
        self.family, self.design = family, Design(self.data, as_specification(SPEC).terms)
        self.layout = family.layout(self.design.encoding).reordered(self.design.order)
        self.blocks = list(self.design.blocks())
        near = rng.normal(0, 0.3, self.design.n_columns) / self.sizes()
        self.theta = family.start(self.layout, near)

    def sizes(self) -> Floats:
        """The largest value of every column."""
        out = np.zeros(self.design.n_columns)
        for block in self.blocks:
            for part in block.parts:
                out[part.columns] = np.maximum(out[part.columns], np.abs(part.x).max(axis=(1, 2)))
        return out

    def steps(self) -> Floats:
        """Of differences, on the scale of every parameter."""
        extras = np.ones(len(self.theta) - self.design.n_columns)
        return DIFFERENCE_STEP / np.concatenate([self.sizes(), extras])


@pytest.fixture(params=sorted(FAMILIES))
def case(request: pytest.FixtureRequest) -> Case:
    tag = request.param
    return Case(EXAMPLES[tag] if tag in EXAMPLES else FAMILIES[tag]())


def test_a_family_has_a_name_and_parameters_within_their_bounds(case: Case) -> None:
    family, layout = case.family, case.layout
    assert family.tag == family.tag.lower()
    assert FAMILIES[family.tag] is type(family)
    assert family.title
    assert len(set(layout.names)) == len(layout.parameters) == len(case.theta)
    for parameter, value in zip(layout.parameters, case.theta, strict=True):
        assert parameter.bounds[0] <= value <= parameter.bounds[1]


def test_probabilities_sum_to_one_over_what_is_available(case: Case) -> None:
    for block in case.blocks:
        p = case.family.probabilities(case.theta, block, case.layout)
        np.testing.assert_allclose(p.sum(axis=0), 1, rtol=1e-12)
        assert (p >= 0).all()
        assert block.available is not None
        assert not p[~block.available].any()


def test_the_log_likelihood_of_situations_is_that_of_predicted_probabilities(case: Case) -> None:
    if case.family.panel:
        pytest.skip("the unit of this family is the person")
    total = 0.0
    for block in case.blocks:
        found = case.family.predict(case.theta, block, case.layout)
        assert block.weight is not None
        total += float(block.weight @ found.log_chosen)
        np.testing.assert_allclose(
            np.exp(found.log_chosen), found.probabilities.ravel()[block.picked], rtol=1e-10
        )
    sums = family_pass(case.family, case.layout, case.theta, case.blocks, 0)
    np.testing.assert_allclose(sums.loglik, total, rtol=1e-12)


def test_gradient_and_hessian_are_those_of_finite_differences(case: Case) -> None:
    frozen = case.family.frozen_at(case.theta)
    sums = family_pass(frozen, case.layout, case.theta, case.blocks)
    steps = case.steps()
    gradient, hessian = np.empty_like(sums.gradient), np.empty_like(sums.curvature)
    for k, step in enumerate(steps):
        move = np.zeros_like(steps)
        move[k] = step
        up, down = (
            family_pass(frozen, case.layout, case.theta + sign * move, case.blocks, 1)
            for sign in (1, -1)
        )
        gradient[k] = (up.loglik - down.loglik) / (2 * step)
        hessian[k] = -(up.gradient - down.gradient) / (2 * step)
    unit = steps / DIFFERENCE_STEP
    for found, expected, tolerance in [
        (sums.gradient * unit, gradient * unit, GRADIENT_TOLERANCE),
        (sums.curvature * unit * unit[:, None], hessian * unit * unit[:, None], HESSIAN_TOLERANCE),
    ]:
        atol = tolerance * np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=0, atol=atol)
    np.testing.assert_allclose(sums.curvature, sums.curvature.T, rtol=1e-9, atol=1e-9)


def test_scores_add_up_to_the_gradient(case: Case) -> None:
    whole = family_pass(case.family, case.layout, case.theta, case.blocks)
    scores = [case.family.scores(case.theta, block, case.layout) for block in case.blocks]
    added = sum(s.each.sum(axis=1) for s in scores)
    size = np.abs(whole.gradient).max()
    np.testing.assert_allclose(added, whole.gradient, rtol=1e-9, atol=1e-9 * size)
    assert sum(s.sums.loglik for s in scores) == pytest.approx(whole.loglik, rel=1e-12)
    np.testing.assert_allclose(
        sum(s.sums.curvature for s in scores), whole.curvature, rtol=1e-8, atol=1e-6
    )


def test_a_response_is_the_derivative_of_probabilities(case: Case) -> None:
    block = case.blocks[0]
    for alternative in range(block.shape[0]):
        found = case.family.response(case.theta, block, case.layout, alternative)
        expected = Family.response(case.family, case.theta, block, case.layout, alternative)
        np.testing.assert_allclose(found, expected, atol=1e-7)
        np.testing.assert_allclose(found.sum(axis=0), 0, atol=1e-9)


def test_a_response_to_an_attribute_is_the_derivative_of_probabilities(case: Case) -> None:
    slopes = Design(case.data, case.design.encoding, of="slope", attribute="CO")
    step = 1e-4
    for alternative, name in enumerate(case.data.alternatives):
        above, below = (_with_cost(case, alternative, sign * step) for sign in (1, -1))
        for rows in case.design.ranges():
            block = case.design.block(rows)
            found = case.family.attribute_response(
                case.theta, block, case.layout, alternative, slopes.block(rows)
            )
            p = [
                case.family.probabilities(case.theta, design.block(rows), case.layout)
                for design in (above, below)
            ]
            expected = (p[0] - p[1]) / (2 * step)
            np.testing.assert_allclose(found, expected, atol=1e-7, err_msg=name)


def _with_cost(case: Case, alternative: int, step: float) -> Design:
    """The design of data in which the cost of one alternative is a little more."""
    cost = case.data.attributes["CO"]
    values = np.array(cost.values, dtype=float)
    values[cost.alternatives.index(alternative)] += step
    changed = {**case.data.attributes, "CO": replace(cost, values=values)}
    return Design(replace(case.data, attributes=changed), case.design.encoding)


def test_a_share_gradient_is_the_derivative_of_shares(case: Case) -> None:
    rng = np.random.default_rng(5)
    for block in case.blocks:
        weights = rng.uniform(0, 1, (2, block.shape[1]))
        found = case.family.share_gradient(case.theta, block, case.layout, weights)
        assert found.shape == (2, block.shape[0], len(case.theta))
        for k, step in enumerate(case.steps()):
            move = np.zeros_like(case.theta)
            move[k] = step
            up, down = (
                weights @ case.family.probabilities(case.theta + sign * move, block, case.layout).T
                for sign in (1, -1)
            )
            atol = 1e-6 * np.abs(found[..., k]).max() + 1e-7
            np.testing.assert_allclose(found[..., k], (up - down) / (2 * step), atol=atol)


def test_a_logsum_has_probabilities_for_its_derivative(case: Case) -> None:
    block = case.blocks[0]
    if case.family.logsums(case.theta, block, case.layout) is None:
        pytest.skip("this family has no logsum")
    p = case.family.probabilities(case.theta, block, case.layout)
    wide, step = case.layout.with_shift(), 1e-4
    for alternative in range(block.shape[0]):
        more = _shifted(block, alternative)
        totals = []
        for sign in (1, -1):
            theta = np.insert(case.theta, case.layout.n_columns, sign * step)
            kinds = case.family.logsums(theta, more, wide)
            assert kinds is not None
            totals.append(sum(kind.weight * kind.value for kind in kinds))
        np.testing.assert_allclose((totals[0] - totals[1]) / (2 * step), p[alternative], atol=1e-7)


def _shifted(block: Block, alternative: int) -> Block:
    """With a last column that is one for an alternative, where it is available."""
    x = np.ones((1, 1, block.shape[1]))
    if block.available is not None:
        x = x * block.available[alternative]
    d = block.n_columns
    return replace(block, parts=(*block.parts, Part((alternative,), slice(d, d + 1), x)))


def test_estimation_ends_at_a_maximum_no_lower_than_the_multinomial_logit(case: Case) -> None:
    result = ac.fit(case.data, SPEC, family=case.family)
    assert result.converged
    assert result.family == case.family
    assert result.loglik >= ac.fit(case.data, SPEC, family=Mnl()).loglik - 1e-8
    order = case.layout.permutation(case.design.order)
    sums = family_pass(result.family, case.layout, result.coefficients[order], case.blocks)
    assert sums.loglik == pytest.approx(result.loglik, rel=1e-12)
    free = ~case.layout.at_bound(result.coefficients[order])
    scale = np.sqrt(np.diag(sums.curvature)[free])
    assert np.abs(sums.gradient[free] / scale).max() < 1e-5


def test_options_of_a_family_are_values(case: Case) -> None:
    assert replace(case.family) == case.family
    assert hash(replace(case.family)) == hash(case.family)
