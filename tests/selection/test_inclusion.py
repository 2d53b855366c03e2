"""Inclusion probabilities against all valid specifications one by one."""

from itertools import combinations

import numpy as np
import pytest
from selection_support import made, usual

import ardchoice as ac
from ardchoice.selection import Inclusion, compile_structure, criterion_of, inclusion

CLOSE = 0.02
"""Sets that weigh a thousandth are forgotten, and some are only predicted."""


@pytest.fixture(scope="module")
def fit() -> ac.ArdFit:
    data = made(300, 5, usual)
    space = ac.SearchSpace(data, {"TT": ["linear", "log1p"]}, by=["G"], remove=["C: * x *", "B: *"])
    return ac.fit_ard(data, space)


def one_by_one(
    fit: ac.ArdFit, rule: ac.Ebic | ac.Bic, structure: ac.Structure
) -> tuple[np.ndarray, frozenset[int]]:
    """From `fit_mnl` of every valid set; and the best."""
    constraints = compile_structure(structure, fit.space)
    criterion = criterion_of(rule, fit, len(fit.data), constraints)
    values = {}
    for q in range(len(fit.terms) + 1):
        for terms in map(frozenset, combinations(range(len(fit.terms)), q)):
            if constraints.is_valid(terms):
                spec = ac.Specification(tuple(fit.terms[t] for t in sorted(terms)))
                loglik = ac.fit_mnl(fit.data, spec).loglik
                value = criterion.value(loglik, criterion.coefficients(terms), len(terms))
                values[terms] = value + constraints.cost(terms)
    best = min(values, key=values.__getitem__)
    d = np.maximum(fit.tests.design_effect, 1.0) if rule.cluster else np.ones(len(fit.terms))
    out, total = np.zeros(len(fit.terms)), 0.0
    for terms, value in values.items():
        apart = list(terms ^ best)
        mean = np.average(d[apart], weights=constraints.columns[apart]) if apart else 1.0
        weight = np.exp(-0.5 * (value - values[best]) / mean)
        out[list(terms)] += weight
        total += weight
    return out / total, best


@pytest.mark.parametrize("rule", [ac.Ebic(), ac.Bic(0.4), ac.Ebic(cluster=False)], ids=str)
def test_probabilities_are_those_of_all_valid_specifications(
    fit: ac.ArdFit, rule: ac.Ebic | ac.Bic
) -> None:
    structure = ac.Structure()
    expected, best = one_by_one(fit, rule, structure)
    specification = ac.select(fit, rule, structure=structure)
    assert {fit.terms.index(t) for t in specification} == set(best)
    found = inclusion(fit, specification, rule, structure)
    np.testing.assert_allclose(found.probabilities, expected, atol=CLOSE)
    # Something must be open, or this says little.
    assert ((expected > 0.05) & (expected < 0.95)).any()


@pytest.fixture(scope="module")
def found(fit: ac.ArdFit) -> Inclusion:
    return inclusion(fit, ac.select(fit, ac.Bic(0.4)), ac.Bic(0.4))


def test_only_valid_specifications_have_weight(fit: ac.ArdFit, found: Inclusion) -> None:
    constraints = compile_structure(ac.Structure(), fit.space)
    assert all(constraints.is_valid(s) for s in found.sets)
    assert found.weights.sum() == pytest.approx(1)
    assert (np.diff(found.weights) <= 0).all()
    assert len(set(found.sets)) == len(found.sets)


def test_what_is_forced_is_sure_and_what_is_forbidden_is_not(fit: ac.ArdFit) -> None:
    rules = ac.Structure(force="A: log1p(TT)", forbid="C: CO")
    probabilities = inclusion(fit, ac.select(fit, structure=rules), None, rules).probabilities
    by_name = dict(zip(map(str, fit.terms), probabilities, strict=True))
    assert by_name["A: log1p(TT)"] == pytest.approx(1)
    assert by_name["C: CO"] == 0
    # One form of an attribute, and no interaction without its main term.
    assert by_name["A: TT"] == 0
    assert by_name["A: log1p(TT) x G"] <= by_name["A: log1p(TT)"] + 1e-12


def test_the_most_probable_ones_have_the_share_that_is_asked_for(found: Inclusion) -> None:
    sets, weights = found.most_probable(0.8, 1000)
    assert found.weights[: len(sets)].sum() >= 0.8 > found.weights[: len(sets) - 1].sum()
    assert weights.sum() == pytest.approx(1)
    assert found.most_probable(0.99, 2)[0] == found.sets[:2]


def test_terms_that_were_no_candidates_are_named(fit: ac.ArdFit) -> None:
    with pytest.raises(ac.ArdchoiceError, match="'A: HE' is not among the candidates"):
        inclusion(fit, ac.parse_specification("A: HE"))
