"""Gradients of responses to an attribute, in closed form, against differences of responses."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from families_support import business

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.design import Design
from ardchoice.space import as_specification

SPEC = "TRAIN: ASC\nCAR: ASC\n*: TT + CO + TT x GA"
STEP = 1e-6
TOLERANCE = 1e-6
"""Of a gradient, relative to the largest element; differences are this far from derivatives."""
IN_MONEY = {"space": "wtp", "cost": "CO"}
BOTH = {"*: TT": "normal", "*: CO": "-lognormal"}
CASES: list[tuple[dict[str, str], Mapping[str, object]]] = [
    ({"*: TT": "normal"}, {}),
    ({"*: TT": "triangular", "TRAIN+SM: ASC": "normal"}, {}),
    ({"*: CO": "-truncated", "CAR: ASC": "uniform"}, {}),
    ({**BOTH, "TRAIN: ASC": "normal"}, {"correlated": True}),
    ({}, IN_MONEY),
    ({"*: TT": "normal"}, IN_MONEY),
    (BOTH, IN_MONEY),
    ({**BOTH, "TRAIN: ASC": "normal"}, {**IN_MONEY, "correlated": True}),
]
KNOWN = {"TRAIN: ASC": -0.4, "CAR: ASC": 0.2, "*: TT": -0.9, "*: CO": -1.1}


@pytest.fixture(scope="module")
def data() -> ChoiceData:
    # Alternatives that are unavailable among them.
    return business().take(np.arange(60, 150))


@pytest.mark.parametrize("of", ["slope", "elasticity"])
@pytest.mark.parametrize(("random", "more"), CASES)
def test_a_response_gradient_is_the_derivative_of_responses(data, random, more, of) -> None:
    family = ac.Mixed(random, **more)
    plain = Design(data, as_specification(SPEC).terms)
    layout = family.layout(plain.encoding).reordered(plain.order)
    theta = np.array([KNOWN.get(p.name, 0.3) for p in layout.parameters])
    for k, name in enumerate(layout.names):
        if name == "*: CO" and random.get(name) == "-lognormal":
            theta[k] = 0.2
    (block,) = plain.blocks()
    slopes = Design(data, plain.encoding, of=of, attribute="TT").block(slice(0, len(data)))
    weights = np.random.default_rng(0).uniform(0.5, 1.5, (2, len(data)))
    weights[1, 20:] = 0.0  # a segment
    pairs = [(i, j) for i in range(3) for j in range(3)]

    def sums(at: np.ndarray) -> np.ndarray:
        _, found = family.attribute_responses(at, block, layout, range(3), slopes)
        return np.stack([weights @ found[i][j] for i, j in pairs], axis=1)

    gradient = family.response_gradient(theta, block, layout, slopes, pairs, weights)
    assert gradient is not None
    expected = np.empty_like(gradient)
    for k in range(len(theta)):
        move = STEP * np.eye(len(theta))[k]
        expected[..., k] = (sums(theta + move) - sums(theta - move)) / (2 * STEP)
    size = np.abs(expected).max()
    np.testing.assert_allclose(gradient, expected, atol=TOLERANCE * size, rtol=0)


def test_errors_of_elasticities_are_those_of_differences(data, monkeypatch) -> None:
    family = ac.Mixed({"*: TT": "normal", "*: CO": "lognormal"})
    result = ac.fit(business().take(np.arange(900)), "*: TT + CO", family=family)
    found = [result.elasticities("TT", by=["GA"]), result.marginal_effects("CO", cross=False)]
    monkeypatch.setattr(ac.Mixed, "response_gradient", lambda *given: None)
    again = [result.elasticities("TT", by=["GA"]), result.marginal_effects("CO", cross=False)]
    for one, other in zip(found, again, strict=True):
        np.testing.assert_array_equal(one["estimate"], other["estimate"])
        np.testing.assert_allclose(one["std_err"], other["std_err"], rtol=1e-5)
