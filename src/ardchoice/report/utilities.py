"""Utility functions as mathematics: what multiplies each function of an attribute, by segment.

An equation is a sum of groups. A group is a function of an attribute (or nothing, for constants)
times a sum of factors; a factor is a number, a number times numeric covariates, or cases: a number
for every level of covariates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from ardchoice._types import Floats
from ardchoice.design import TermColumns
from ardchoice.estimation import Result
from ardchoice.space import BoxCox, Classes, Piecewise, Thresholds
from ardchoice.text import number

MAX_CASES_WRITTEN = 12
"""Levels that are written out; with more of them the table of estimates has the numbers."""
MAX_EQUATIONS_SHOWN = 12
WRITTEN_TRANSFORMS = ("linear", "log", "log1p", "sqrt", "square", "boxcox")
"""Transforms that mathematics has a sign for; others keep their name."""


@dataclass(frozen=True)
class Case:
    """A value and for whom it holds; empty for nobody else."""

    value: float
    when: str


@dataclass(frozen=True)
class Factor:
    """A number, perhaps times covariates, or one number per case.

    Attributes
    ----------
    value
        Of a plain number; the first of many where there are too many cases.
    times
        Numeric covariates that multiply it.
    cases
        Values by level; empty for a plain number.
    hidden
        How many cases are not written out.
    """

    value: float
    times: tuple[str, ...] = ()
    cases: tuple[Case, ...] = ()
    hidden: int = 0


@dataclass(frozen=True)
class Group:
    """Factors, and the function of an attribute that they multiply.

    Attributes
    ----------
    factors
    kind, name, numbers
        ``"constant"``, ``"classes"`` (the cases say it all), ``"piece"`` (between two numbers), one
        of `WRITTEN_TRANSFORMS` with what it learned, or ``"other"``, whose name says it.
    """

    factors: tuple[Factor, ...]
    kind: str
    name: str = ""
    numbers: tuple[float, ...] = ()


@dataclass(frozen=True)
class Equation:
    """The utility of alternatives with the same terms.

    Attributes
    ----------
    alternatives
        Their names; empty for all alternatives.
    groups
        Empty where utility is zero.
    """

    alternatives: tuple[str, ...]
    groups: tuple[Group, ...]


def equations(result: Result) -> list[Equation]:
    """The utility functions of a model; alternatives with the same terms share one."""
    encoding, together = result.encoding, dict[tuple[int, ...], list[int]]()
    for j in range(len(encoding.alternatives)):
        terms = tuple(t for t, e in enumerate(encoding.terms) if j in e.alternatives)
        together.setdefault(terms, []).append(j)
    return [
        Equation(
            ()
            if len(alike) == len(encoding.alternatives)
            else tuple(encoding.alternatives[j] for j in alike),
            tuple(_groups([encoding.terms[t] for t in terms], result.mean_coefficients)),
        )
        for terms, alike in together.items()
    ]


def _groups(terms: Sequence[TermColumns], beta: Floats) -> Iterator[Group]:
    """Terms of one function of one attribute together, in the order in which they first come."""
    alike: dict[object, list[TermColumns]] = {}
    for term in terms:
        alike.setdefault((term.term.what, term.term.how, term.parameters), []).append(term)
    for members in alike.values():
        first = members[0]
        for k, (kind, name, numbers) in enumerate(_columns(first)):
            factors = _steps(members, beta) if first.is_stepwise else _factors(members, k, beta)
            if kind in ("constant", "classes"):  # nothing to multiply: each stands for itself
                yield from (Group((factor,), kind, name) for factor in factors)
            else:
                yield Group(tuple(factors), kind, name, numbers)


def _columns(term: TermColumns) -> list[tuple[str, str, tuple[float, ...]]]:
    """What the columns of a term's base are: a kind, a name and numbers each."""
    how, name = term.term.how, term.term.what
    if name is None:
        return [("constant", "", ())]
    if term.is_stepwise:
        return [("classes", name, ())]
    if isinstance(how, Piecewise | Thresholds):
        knots = term.parameters if isinstance(how, Thresholds) else how.knots
        ends = (-np.inf, *knots, np.inf)
        return [("piece", name, (float(a), float(b))) for a, b in pairwise(ends)]
    if how.name in WRITTEN_TRANSFORMS:
        return [(how.name, name, term.parameters if isinstance(how, BoxCox) else ())]
    text, labels = how.text(name), how.labels(term.parameters)
    return [("other", f"{text} [{label}]" if label else text, ()) for label in labels]


def _factors(members: list[TermColumns], k: int, beta: Floats) -> Iterator[Factor]:
    """What multiplies column k of the base: main effect and interactions.

    A main effect and one interaction with levels become what holds for each level.
    """
    plain = [t for t in members if not t.by]
    main = [t for t in plain if not t.numbers]
    by = [t for t in members if t.by]
    if len(main) == 1 and len(by) == 1 and not by[0].numbers and _few(by[0]):
        yield _cases(by[0], k, beta, float(beta[main[0].start + k]))
        plain.remove(main[0])
        by = []
    for term in plain:
        yield Factor(float(beta[term.start + k]), term.numbers)
    for term in by:
        yield _cases(term, k, beta, 0.0)


def _few(term: TermColumns) -> bool:
    return int(np.prod([len(levels.levels) for levels in term.by])) <= MAX_CASES_WRITTEN


def _cases(term: TermColumns, k: int, beta: Floats, base: float) -> Factor:
    """A value for every combination of levels; the references have the base alone."""
    columns = list(product(*(levels.columns for levels in term.by)))
    start = term.start + k * len(columns)
    more = dict(zip(columns, beta[start : start + len(columns)].tolist(), strict=True))
    if len(term.by) == 1:
        levels = [(level,) for level in term.by[0].levels]
        return _cut([Case(base + more.get(c, 0.0), _when(term, c)) for c in levels], term.numbers)
    # Whatever has no column of its own is one case.
    combinations = product(*(levels.levels for levels in term.by))
    cases = [Case(base + more[c], _when(term, c)) for c in combinations if c in more]
    return _cut([*cases, Case(base, "")], term.numbers)


def _when(term: TermColumns, combination: tuple[str, ...], *first: str) -> str:
    pairs = zip(term.by, combination, strict=True)
    return ", ".join([*first, *(f"{levels.name} = {level}" for levels, level in pairs)])


def _cut(cases: list[Case], times: tuple[str, ...] = ()) -> Factor:
    if len(cases) <= MAX_CASES_WRITTEN:
        return Factor(cases[0].value, times, tuple(cases))
    return Factor(
        cases[0].value,
        times,
        tuple(cases[: MAX_CASES_WRITTEN - 1]),
        len(cases) - MAX_CASES_WRITTEN + 1,
    )


def _steps(members: list[TermColumns], beta: Floats) -> Iterator[Factor]:
    """Classes of an attribute, or its levels, perhaps by levels of covariates."""
    for term in members:
        labels = _class_names(term)
        combinations = product(*(levels.columns for levels in term.by))
        names = [_when(term, c, label) for label, c in product(labels[:-1], combinations)]
        values = beta[term.start : term.start + len(names)].tolist()
        cases = [Case(value, name) for value, name in zip(values, names, strict=True)]
        yield _cut([*cases, Case(0.0, "" if term.by else labels[-1])], term.numbers)


def _class_names(term: TermColumns) -> list[str]:
    """Where each class lies; the reference last."""
    name = term.term.what or ""
    if term.base is not None:
        reference = term.base.levels[term.base.reference]
        return [f"{name} = {level}" for level in (*term.base.columns, reference)]
    assert isinstance(term.term.how, Classes)  # noqa: S101 - what is stepwise and has no levels
    cuts = [number(c) for c in term.parameters]
    inside = [f"{a} ≤ {name} < {b}" for a, b in pairwise(cuts)]
    return [f"{name} < {cuts[0]}", *inside, f"{name} ≥ {cuts[-1]}"]


def spoken(equation: Equation) -> str:
    """An equation as a line of text, for those who listen to a page."""
    names = ", ".join(equation.alternatives) or "every alternative"
    groups = [_group_text(group) for group in equation.groups]
    return f"Utility of {names}: " + (" plus ".join(groups) or "zero")


def _group_text(group: Group) -> str:
    factors = [_factor_text(factor) for factor in group.factors]
    text = factors[0] if len(factors) == 1 else f"({' plus '.join(factors)})"
    name, numbers = group.name, [number(n) for n in group.numbers]
    function = {
        "constant": "",
        "classes": "",
        "linear": name,
        "log1p": f"log of 1 plus {name}",
        "square": f"{name} squared",
        "boxcox": f"Box-Cox of {name} with exponent {numbers[0] if numbers else ''}",
        "piece": f"{name} between {' and '.join(numbers)}",
        "other": name,
    }.get(group.kind, f"{group.kind} of {name}")
    return f"{text} times {function}" if function else text


def _factor_text(factor: Factor) -> str:
    if not factor.cases:
        return " times ".join([number(factor.value), *factor.times])
    cases = [f"{number(c.value)} if {c.when or 'none of these'}" for c in factor.cases]
    more = f" and {factor.hidden} more" if factor.hidden else ""
    return " times ".join([f"({', '.join(cases)}{more})", *factor.times])
