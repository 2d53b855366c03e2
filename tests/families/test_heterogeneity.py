"""Score tests of no heterogeneity: exact moments by enumeration, differences, size."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from families_support import business
from scipy import stats

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.families import Component, MnlHeterogeneityMeasure, heterogeneity_test
from ardchoice.families.mixed.heterogeneity import HeterogeneitySums
from ardchoice.numerics import map_reduce

SPEC = "TRAIN: ASC\nCAR: ASC\n*: TT + CO"


@pytest.fixture(scope="module")
def data() -> ChoiceData:
    return business()


@pytest.fixture(scope="module")
def mnl(data: ChoiceData) -> ac.Result:
    return ac.fit_mnl(data, SPEC)


def sums_of(result: ac.Result, data: ChoiceData) -> HeterogeneitySums:
    inside = result.model.on(data)
    measure = MnlHeterogeneityMeasure(inside.theta, (Component((1,)),))
    return map_reduce(measure, inside.design.blocks())


def test_moments_under_the_null_are_those_of_all_possible_choices(data, mnl):
    one = replace(data.take(np.arange(2)), weight=np.array([1.5, 1.5]))
    p = mnl.probabilities(one)
    inside = mnl.model.on(one)
    known = sums_of(mnl, one)
    mean, variance, cross = np.zeros(5), np.zeros((5, 5)), np.zeros((5, 4))
    for choices in itertools.product(range(3), repeat=2):
        chance = p[choices[0], 0] * p[choices[1], 1]
        if chance == 0:
            continue
        chosen = replace(one, choice=np.array(choices))
        found = sums_of(mnl, chosen)
        np.testing.assert_allclose(found.variance, known.variance, rtol=1e-9, atol=1e-12)
        design = mnl.model.on(chosen)
        score = design.family.scores(
            design.theta, next(iter(design.design.blocks())), design.layout
        ).each.sum(axis=1)
        mean += chance * found.u
        variance += chance * np.outer(found.u, found.u) / 1.5
        cross += chance * np.outer(found.u, score) / 1.5
    assert inside.design.n_columns == 4
    np.testing.assert_allclose(mean, 0, atol=1e-10)
    np.testing.assert_allclose(variance, known.variance, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(cross, known.cross, rtol=1e-8, atol=1e-10)


def test_differences_of_scores_give_the_same_as_closed_forms(data, mnl, monkeypatch):
    closed = mnl.heterogeneity().set_index("coefficient")
    sums = sums_of(mnl, data)
    from ardchoice.estimation import heterogeneity as module

    inside = mnl.model.on(data)
    found, names, _ = module._of_family(inside, len(data))
    order = [list(inside.layout.names).index(n) for n in names]
    np.testing.assert_allclose(found.u, sums.u[order], rtol=1e-5)
    assert set(names) < set(closed.index)


def test_persons_who_differ_are_detected_and_every_constant_is_tested(mnl):
    found = mnl.heterogeneity()
    assert set(found["coefficient"]) == {
        "TRAIN: ASC",
        "CAR: ASC",
        "SM: ASC",
        "*: TT",
        "*: CO",
        "all of them (joint)",
    }
    assert found["kind"].iloc[-1] == "joint"
    assert (found["p"] < 1e-10).all()


def test_without_persons_every_choice_is_a_person(data):
    rows = ac.fit_mnl(replace(data, person=None), SPEC).heterogeneity()
    assert rows.set_index("coefficient").loc["*: TT", "p"] < 1e-4
    assert len(rows) == 6


@pytest.mark.parametrize(
    "family",
    [
        ac.Mixed({"*: TT": "normal", "TRAIN: ASC": "normal", "CAR: ASC": "normal"}, nodes=256),
        ac.Nested({"existing": ["TRAIN", "CAR"]}),
        ac.LatentClass(2, starts=1),
    ],
)
def test_any_family_tests_what_is_not_random_yet(data, family):
    result = ac.fit(data, SPEC, family=family)
    found = result.heterogeneity()
    names = set(found["coefficient"][:-1])
    random = set(getattr(family, "random", {}))
    assert not names & random
    assert names <= set(result.names)
    assert found["z"].iloc[0] > 3


def test_nothing_to_test_where_all_coefficients_are_random(data):
    result = ac.fit(data, "*: TT", family=ac.Mixed({"*: TT": "normal"}))
    with pytest.raises(ac.ArdchoiceError, match="nothing is left to test"):
        result.heterogeneity()


def test_the_joint_test_of_two_is_the_known_mixture_of_chi_squares():
    # Independent, one of them negative: weights 1/4, 1/2, 1/4 for 0, 1 and 2 degrees of freedom.
    sums = HeterogeneitySums(np.array([2.0, -3.0]), np.eye(2), np.zeros((2, 1)), np.ones((1, 1)))
    found = heterogeneity_test(sums)
    assert found.joint == pytest.approx(4, abs=1e-6)
    expected = 0.5 * stats.chi2.sf(4, 1) + 0.25 * stats.chi2.sf(4, 2)
    assert found.joint_p == pytest.approx(expected, rel=0.1)
    np.testing.assert_allclose(found.p, stats.norm.sf([2.0, -3.0]))


def test_the_size_of_the_tests_is_five_percent_where_nobody_differs():
    singles, joints = [], []
    for seed in range(40):
        result = ac.fit_mnl(same_for_everyone(seed), "A: ASC\n*: x + y + z")
        p = result.heterogeneity()["p"].to_numpy()
        singles += list(p[:-1])
        joints.append(p[-1])
    # 5 tests of 40 sets, correlated within a set: 2.5 standard errors of 120 independent ones.
    assert 0.005 < np.mean(np.array(singles) < 0.05) < 0.1
    assert np.mean(np.array(joints) < 0.05) < 0.15


def same_for_everyone(seed: int) -> ChoiceData:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(900, 2, 3))
    utility = x @ np.array([1.0, -0.7, 0.3]) + rng.gumbel(size=(900, 2))
    table = pd.DataFrame(
        {f"{a}_{w}": x[:, j, k] for j, a in enumerate("AB") for k, w in enumerate("xyz")}
    )
    table["choice"] = np.array(["A", "B"])[utility.argmax(axis=1)]
    table["person"] = np.repeat(np.arange(150), 6)
    return ac.read_wide(
        table,
        alternatives=["A", "B"],
        choice="choice",
        attributes={w: "{alt}_" + w for w in "xyz"},
        person="person",
    )
