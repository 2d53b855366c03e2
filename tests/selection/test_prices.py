"""What design effects do to prices: no more than answers that are all alike."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.selection import design_effects
from ardchoice.selection.prices import largest_design_effect
from ardchoice.space import Linear

PERSONS, ANSWERS = 300, 2
INTERACTION = "a: ASC x z"


def choices() -> pd.DataFrame:
    """Answers of persons; z matters."""
    rng = np.random.default_rng(4)
    n = PERSONS * ANSWERS
    frame = pd.DataFrame(rng.normal(size=(n, 2)), columns=["x_a", "x_b"])
    frame["id"], frame["z"] = np.arange(n) // ANSWERS, rng.normal(size=n)
    value = 4 * (frame["x_a"] - frame["x_b"]) + frame["z"] + rng.logistic(size=n)
    frame["choice"] = np.where(value > 0, "a", "b")
    return frame


def read(frame: pd.DataFrame, **options: object) -> ac.ChoiceData:
    return ac.read_wide(
        frame,
        alternatives=["a", "b"],
        choice="choice",
        attributes={"x": "x_{alt}"},
        covariates={"z": ac.Numeric()},
        person="id",
        **options,  # type: ignore[arg-type]
    )


def test_the_largest_design_effect_is_that_of_answers_that_are_all_alike() -> None:
    frame = choices()
    assert largest_design_effect(read(frame)) == pytest.approx(ANSWERS)
    assert largest_design_effect(read(frame.drop_duplicates("id"))) == 1.0
    weight = np.random.default_rng(0).uniform(0.1, 3, len(frame))
    weighted = read(frame.assign(w=weight), weight="w")
    total = pd.Series(weight).groupby(frame["id"]).sum()
    expected = (total**2).sum() / total.sum() * len(frame) / weight.sum()
    assert largest_design_effect(weighted) == pytest.approx(expected)
    # Scores of copied answers are as alike as answers can be.
    once = frame.drop_duplicates("id")
    one, two = (
        ac.fit_ard(d, ac.SearchSpace(d, by=["z"]))
        for d in (read(once.assign(id=range(len(once)))), read(pd.concat([once, once])))
    )
    ratio = two.tests.design_effect / one.tests.design_effect
    np.testing.assert_allclose(
        ratio, largest_design_effect(read(pd.concat([once, once]))), rtol=0.1
    )


def test_scores_that_vary_more_than_that_make_no_term_dearer() -> None:
    data = read(choices())
    fit = ac.fit_ard(data, ac.SearchSpace(data, ["linear", "square"], by=["z"]))
    interaction = np.array([bool(t.by) for t in fit.terms])
    form = np.array([t.how != Linear() for t in fit.terms]) & ~interaction
    assert form.any()
    # As where the model misses a few rows of great weight by far.
    wild = replace(fit.tests, substitute_effect=np.full(len(fit.terms), 700.0))
    fit.__dict__["tests"] = wild
    effects = design_effects(fit)
    assert effects is not None
    np.testing.assert_allclose(effects[interaction], 1 + 1.4 * (ANSWERS - 1))
    np.testing.assert_allclose(effects[form], 1 + 0.5 * (ANSWERS - 1))
    np.testing.assert_allclose(effects[~(interaction | form)], 1.0)
    found = ac.select(fit)
    assert INTERACTION in map(str, found.terms)
    assert "d is 1.5 to 2.4" in found.formula
