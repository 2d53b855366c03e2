"""Utility functions as shown, calculated from what is shown, are those of the model."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pytest

import ardchoice as ac
from ardchoice.report.utilities import MAX_CASES_WRITTEN, Equation, Factor, Group, equations, spoken
from selection.selection_support import made, read, table, usual

Floats = npt.NDArray[np.float64]

SPECIFICATIONS = {
    "plain": "A: ASC + TT + CO\nB: ASC + log(TT)\nC: sqrt(TT) + square(CO)",
    "one interaction": "A: ASC + ASC x H + TT + TT x G\nB: ASC + log1p(CO) + log1p(CO) x H",
    "several": "A: ASC + ASC x G + ASC x H + TT + TT x G + TT x H + TT x INC\nB: ASC",
    "without main": "A: TT x G + CO x INC\nB: ASC x H",
    "two covariates": "A: ASC + TT + TT x G x H + CO x G x INC\nB: ASC",
    "shared": "*: TT + CO x G\nA+B: log1p(CO)\nA: ASC",
    "forms": "A: boxcox(TT) + boxcox(CO, 1) x G\nB: piecewise(TT, 0.5, 1.5) + piecewise(CO, 1) x G",
    "classes": "A: segments(TT, 3) + quantiles(CO, 4)\nB: ASC + segments(TT, 3) x G",
}


@pytest.fixture(scope="module")
def data() -> ac.ChoiceData:
    return made(500, 2, usual)


def holds(when: str, data: ac.ChoiceData, alternative: int) -> npt.NDArray[np.bool_]:
    """Rows for which a condition such as ``G = u, 1 ≤ TT < 2`` holds."""
    out = np.ones(len(data), dtype=bool)
    for part in when.split(", "):
        if match := re.fullmatch(r"(\w+) = (\w+)", part):
            covariate = data.covariates[match[1]]
            out &= np.array(covariate.levels)[covariate.values] == match[2]
            continue
        match = re.fullmatch(r"(?:(\S+) ≤ )?(\w+)(?: < (\S+)| ≥ (\S+))", part)
        assert match, part
        x = data.attributes[match[2]].of(alternative)
        out &= (x >= float(match[1] or match[4] or -np.inf)) & (x < float(match[3] or np.inf))
    return out


def factor_of(factor: Factor, data: ac.ChoiceData, alternative: int) -> Floats:
    value = np.full(len(data), factor.value)
    if factor.cases:
        assert not factor.hidden
        taken = np.zeros(len(data), dtype=bool)
        for case in factor.cases:
            rows = holds(case.when, data, alternative) if case.when else ~taken
            assert not (rows & taken).any()
            value[rows] = case.value
            taken |= rows
        assert taken.all()
    for name in factor.times:
        value = value * data.covariates[name].values
    return value


def function_of(group: Group, x: Floats) -> Floats:
    match group.kind:
        case "linear":
            return x
        case "log" | "sqrt" | "square" | "log1p":
            return np.asarray(getattr(np, group.kind)(x))
        case "boxcox":
            exponent, shift = group.numbers
            return np.asarray(((x + shift) ** exponent - 1) / exponent)
        case "piece":
            low, high = group.numbers
            return np.clip(x, low, high) - (low if np.isfinite(low) else 0)
    raise AssertionError(group.kind)


def utility(equation: Equation, data: ac.ChoiceData, alternative: int) -> Floats:
    total = np.zeros(len(data))
    for group in equation.groups:
        value = sum(factor_of(f, data, alternative) for f in group.factors)
        if group.kind not in ("constant", "classes"):
            value = value * function_of(group, data.attributes[group.name].of(alternative))
        total += value
    return total


@pytest.mark.parametrize("name", SPECIFICATIONS)
def test_what_is_shown_predicts_what_the_model_predicts(name: str, data: ac.ChoiceData) -> None:
    if name == "classes":
        # Cuts are shown in four figures: no value lies between one and what is shown of it.
        data = read(table(500, 2, usual).round(1))
    result = ac.fit_mnl(data, SPECIFICATIONS[name])
    shown = {}
    for equation in equations(result):
        for alternative in equation.alternatives or data.alternatives:
            j = data.alternatives.index(alternative)
            shown[alternative] = utility(equation, data, j)
    v = np.stack([shown[a] for a in data.alternatives])
    p = np.exp(v) / np.exp(v).sum(axis=0)
    assert np.allclose(p, result.probabilities(), atol=1e-10)


def test_alternatives_with_the_same_terms_share_an_equation(data: ac.ChoiceData) -> None:
    assert [e.alternatives for e in equations(ac.fit_mnl(data, "*: TT + CO"))] == [()]
    made = equations(ac.fit_mnl(data, "A+B: TT\nC: CO"))
    assert [e.alternatives for e in made] == [("A", "B"), ("C",)]
    assert equations(ac.fit_mnl(data, "A: TT"))[1] == Equation(("B", "C"), ())


def test_a_main_effect_and_one_interaction_are_what_holds_for_each_level(
    data: ac.ChoiceData,
) -> None:
    result = ac.fit_mnl(data, "A: TT + TT x G")
    main, more = result.coefficients
    (group,) = equations(result)[0].groups
    assert [(c.value, c.when) for c in group.factors[0].cases] == [
        (main + more, "G = u"),
        (main, "G = v"),
    ]
    assert spoken(equations(result)[0]).startswith("Utility of A: (")


def test_of_many_levels_the_first_are_written_out() -> None:
    frame = table(900, 3, usual)
    frame["G"] = [f"level {i % 20}" for i in range(len(frame))]
    data = read(frame, covariates={"G": ac.Categorical()})
    result = ac.fit_mnl(data, "A: ASC + ASC x G")
    groups = equations(result)[0].groups
    factor = groups[-1].factors[0]
    assert len(factor.cases) + factor.hidden == 20
    assert len(factor.cases) < MAX_CASES_WRITTEN
