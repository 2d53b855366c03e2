"""What templates of the mixed logit show: how coefficients are drawn, in the words of packages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ardchoice.errors import ArdchoiceError
from ardchoice.estimation import Result
from ardchoice.exports.description import Description
from ardchoice.exports.names import Names
from ardchoice.families import structure_of
from ardchoice.formats import FORMATS

XLOGIT_KINDS = {"normal": "n", "lognormal": "ln", "uniform": "u", "triangular": "t"}
XLOGIT_WIDTHS = {"uniform": float(np.sqrt(3.0)), "triangular": float(np.sqrt(6.0))}
"""Half widths of distributions with standard deviation 1: what xlogit estimates."""
DRAWN_UNIFORMLY = frozenset({"uniform", "triangular"})
OTHERS = "export to 'biogeme', 'apollo', 'text' or 'latex'."


@dataclass(frozen=True)
class RandomTaste:
    """A random coefficient.

    Attributes
    ----------
    number
        From 1.
    mean
        The name of the coefficient that holds its mean; empty for what has none of its own.
    sd
        Of its standard deviation.
    distribution, sign
    alternatives
        Numbers of those that share an error component.
    shared
        Names of the coefficients that vary together.
    """

    number: int
    mean: str
    sd: str
    distribution: str
    sign: int
    alternatives: tuple[int, ...]
    shared: tuple[str, ...]

    @property
    def is_uniform(self) -> bool:
        """Whether it is made of uniform draws, not of normal ones."""
        return self.distribution in DRAWN_UNIFORMLY


@dataclass(frozen=True)
class MoneyNames:
    """WTP space: the cost coefficient by which all others are multiplied, and their signs."""

    cost: str
    others: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class TasteCorrelation:
    """Between two random coefficients, by number from 0; the first is the larger."""

    first: int
    second: int
    name: str


def mixed_context(result: Result, model: Description) -> dict[str, Any]:
    """Random coefficients and their correlations, and what each package calls them."""
    structure = structure_of(result.layout)
    names = [c.name for c in model.coefficients]
    extras = [extra.name for extra in model.extras]
    tastes = [
        RandomTaste(
            k + 1,
            "" if s.column is None else names[s.column],
            extras[k],
            s.distribution,
            s.sign,
            tuple(j + 1 for j in s.alternatives),
            tuple(names[c] for c in s.shared),
        )
        for k, s in enumerate(structure.spreads)
    ]
    correlations = [
        TasteCorrelation(max(c.first, c.second), min(c.first, c.second), extras[structure.q + k])
        for k, c in enumerate(structure.correlations)
    ]
    money = None
    if structure.money is not None:
        signs = ["-" if sign < 0 else "" for sign in structure.money.signs]
        cost = structure.money.cost
        others = [(name, signs[k]) for k, name in enumerate(names) if k != cost]
        money = MoneyNames(names[cost], tuple(others))
    out = {"tastes": tastes, "correlations": correlations, "money": money}
    return out | _xlogit(tastes, money) | _apollo(model, tastes, correlations, money)


def _xlogit(tastes: list[RandomTaste], money: MoneyNames | None) -> dict[str, Any]:
    """Its distributions, columns with the other sign, and spreads."""
    signs = {}
    if money is not None:  # V = λ (what things are worth - cost), and utility falls with β x
        signs = {name: 1 if sign else -1 for name, sign in money.others}
    for t in tastes:
        if t.distribution == "lognormal" and t.sign < 0:
            signs[t.mean] = -signs.get(t.mean, 1)
    return {
        "random": {t.mean: XLOGIT_KINDS.get(t.distribution, "") for t in tastes},
        "signs": {name: sign for name, sign in signs.items() if sign < 0},
        "spreads": {t.sd: (t.mean, XLOGIT_WIDTHS.get(t.distribution, 1.0)) for t in tastes},
        "has_lognormal": any(t.distribution == "lognormal" for t in tastes),
        "means_of": {t.sd: t.mean for t in tastes},
    }


def _apollo(
    model: Description,
    tastes: list[RandomTaste],
    correlations: list[TasteCorrelation],
    money: MoneyNames | None,
) -> dict[str, Any]:
    """Random coefficients as expressions of draws in R, under names of their own."""
    taken = Names([*(p.name for p in model.parameters), *model.columns])
    away = {t.number: _away(t, tastes, correlations) for t in tastes}
    values = {t.mean: _value(t, away[t.number]) for t in tastes if t.mean}
    for t in tastes:
        for name in t.shared:
            values[name] = f"{values.get(name, name)} + {away[t.number]}"
    components = {f"EC_{t.number}": away[t.number] for t in tastes if t.alternatives}
    if money is not None:
        alpha = f"({values.get(money.cost, money.cost)})"
        for name, sign in money.others:
            values[name] = f"{sign}{alpha} * ({values.get(name, name)})"
        components = {name: f"-{alpha} * {value}" for name, value in components.items()}
    called = {name: taken.new("RND", name) for name in values}
    drawn = [(called[name], value) for name, value in values.items()]
    return {
        "drawn": called,
        "drawn_values": [*drawn, *components.items()],
        "truncated": any(t.distribution == "truncated" for t in tastes),
    }


def _away(
    taste: RandomTaste, tastes: list[RandomTaste], correlations: list[TasteCorrelation]
) -> str:
    """How far a person is from the mean."""
    k = taste.number - 1
    if not correlations:
        return f"{taste.sd} * {_unit(taste)}"
    linked = [j for j in range(k) if any({c.first, c.second} == {k, j} for c in correlations)]
    products = [f"L[{k + 1}, {j + 1}] * {_unit(tastes[j])}" for j in (*linked, k)]
    return f"({' + '.join(products)})" if len(products) > 1 else products[0]


def _unit(taste: RandomTaste) -> str:
    return f"{'S' if taste.is_uniform else 'Z'}_{taste.number}"


def _value(taste: RandomTaste, away: str) -> str:
    minus = "-" if taste.sign < 0 else ""
    if taste.distribution == "lognormal":
        return f"{minus}exp({taste.mean} + {away})"
    if taste.distribution == "truncated":
        centre = f"{minus}{taste.mean} / {taste.sd}"
        tail = f"qnorm(pnorm(-{_unit(taste)}) * pnorm({centre}))"
        return f"{minus}{taste.sd} * ({centre} - {tail})"
    return f"{taste.mean} + {away}"


# -- What a package has no words for ---------------------------------------------------------------


def must_have_words_for_tastes(result: Result, package: str) -> None:
    """Refuse a script that would estimate another model."""
    structure = structure_of(result.layout)
    if not FORMATS[package].is_script:
        return
    if not structure.q:
        raise ArdchoiceError(
            "Nothing is random in this model: estimate it with ac.fit_mnl, whose results are "
            "exported to every package, or export to 'text' or 'latex'."
        )
    names: Mapping[str, list[str]] = {
        "truncated": [s.name for s in structure.spreads if s.distribution == "truncated"],
        "not normal": [s.name for s in structure.spreads if s.distribution != "normal"],
        "without mean": [s.name for s in structure.spreads if s.column is None],
    }
    listed = {kind: ", ".join(name[3:-1] for name in found) for kind, found in names.items()}
    refuse = {"biogeme": _biogeme, "xlogit": _xlogit_lacks, "pylogit": _pylogit}.get(package)
    reason = "" if refuse is None else refuse(result, listed)
    if reason:
        raise ArdchoiceError(reason)


def _biogeme(result: Result, listed: Mapping[str, str]) -> str:
    if not listed["truncated"]:
        return ""
    return (
        f"Biogeme has no truncated normal distribution ({listed['truncated']}): export to "
        "'apollo', 'text' or 'latex', or make it lognormal."
    )


def _xlogit_lacks(result: Result, listed: Mapping[str, str]) -> str:
    structure = structure_of(result.layout)
    if structure.correlations:
        return f"xlogit has no correlated coefficients: {OTHERS}"
    if listed["without mean"]:
        return (
            "xlogit estimates a mean of every random coefficient, and error components and shared "
            f"tastes ({listed['without mean']}) have none: {OTHERS}"
        )
    if listed["truncated"]:
        return (
            f"xlogit's truncated normal is a censored one, with persons at zero "
            f"({listed['truncated']}): export to 'apollo', 'text' or 'latex'."
        )
    if structure.money is not None and structure.money.cost in structure.columns:
        return f"In WTP space xlogit has one cost coefficient for everyone: {OTHERS}"
    return ""


def _pylogit(result: Result, listed: Mapping[str, str]) -> str:
    structure = structure_of(result.layout)
    if structure.money is not None:
        return f"PyLogit has no WTP space: {OTHERS}"
    if structure.correlations or listed["without mean"]:
        return (
            "PyLogit's mixed logit has independent random coefficients with means of their own "
            f"only, no correlations, error components or shared tastes: {OTHERS}"
        )
    if listed["not normal"]:
        return f"PyLogit draws normal coefficients only ({listed['not normal']} is not): {OTHERS}"
    if result.data.weight is not None:
        return f"PyLogit's mixed logit takes no weights: {OTHERS}"
    return ""
