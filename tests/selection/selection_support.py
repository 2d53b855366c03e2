"""Choices made up for the tests of selection, and the same things computed another way."""

from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

import ardchoice as ac

Floats = npt.NDArray[np.float64]
Utility = Callable[[pd.DataFrame], dict[str, npt.ArrayLike]]

ALTERNATIVES = ("A", "B", "C")


def table(n: int = 600, seed: int = 0, utility: Utility | None = None) -> pd.DataFrame:
    """Three alternatives with time and cost; three answers per person; choices by logit.

    Parameters
    ----------
    n, seed
        Situations, and where draws begin.
    utility
        Columns -> utility of every alternative that has one; noise decides without.
    """
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"ID": np.arange(n) // 3})
    for name in ALTERNATIVES:
        frame[f"{name}_TT"] = rng.gamma(2.0, 0.5, n).round(3)
        frame[f"{name}_CO"] = rng.uniform(0.0, 2.0, n).round(3)
    frame["G"] = rng.choice(["u", "v"], n)
    frame["H"] = rng.choice(["p", "q", "r"], n)
    frame["INC"] = rng.uniform(0.5, 1.5, n).round(3)
    frame["W"] = rng.uniform(0.5, 1.5, n).round(3)
    value = rng.gumbel(size=(n, len(ALTERNATIVES)))
    for name, more in (utility(frame) if utility else {}).items():
        value[:, ALTERNATIVES.index(name)] += more
    frame["PICK"] = np.array(ALTERNATIVES)[value.argmax(axis=1)]
    return frame


def read(frame: pd.DataFrame, **options: object) -> ac.ChoiceData:
    """The table as choices; the last level is the reference, whatever comes first."""
    arguments: dict[str, object] = {
        "alternatives": list(ALTERNATIVES),
        "choice": "PICK",
        "attributes": {"TT": "{alt}_TT", "CO": "{alt}_CO"},
        "covariates": {
            "G": ac.Categorical(reference="v"),
            "H": ac.Categorical(reference="r"),
            "INC": ac.Numeric(),
        },
        "person": "ID",
    }
    return ac.read_wide(frame, **(arguments | options))  # type: ignore[arg-type]


def made(n: int = 600, seed: int = 0, utility: Utility | None = None) -> ac.ChoiceData:
    """Choices of a table."""
    return read(table(n, seed, utility))


def usual(frame: pd.DataFrame) -> dict[str, npt.ArrayLike]:
    """Time and cost displease; time more so where G is u; A is liked."""
    more = 1.0 + 0.8 * (frame["G"] == "u")
    return {
        "A": 0.5 - 1.2 * more * frame["A_TT"] - frame["A_CO"],
        "B": -1.2 * frame["B_TT"] - frame["B_CO"],
        "C": -1.2 * np.log1p(frame["C_TT"]) - frame["C_CO"],
    }


def numbers(space: ac.SearchSpace, *texts: str) -> frozenset[int]:
    """Positions of terms given by their text."""
    names = [str(t) for t in space.terms]
    return frozenset(names.index(text) for text in texts)


# -- What terms cost by BIC ----------------------------------------------------------------------


def price_by_hand(fit: ac.ArdFit, *, cluster: bool = True) -> Floats:
    """Of every candidate: K ln n, or more by its design effect, from what formulas say.

    d Q_K(α) with α = P(χ²_1 > ln(n/d)) and d = 1 + s (D - 1): s = 1.4 for interactions, 0.5 for a
    form where the linear one is a candidate, too, and 0 for all else.
    """
    n, columns = len(fit.data), np.asarray(fit.space.columns)
    plain = np.log(n) * columns
    if not cluster:
        return plain
    linear = {(t.where, t.what) for t in fit.terms if t.how.name == "linear" and not t.by}
    bent = [t.how.name != "linear" and (t.where, t.what) in linear for t in fit.terms]
    share = np.array([1.4 if t.by else 0.5 * b for t, b in zip(fit.terms, bent, strict=True)])
    d = 1 + share * np.maximum(fit.tests.substitute_effect - 1, 0)
    clustered = d * stats.chi2.isf(stats.chi2.sf(np.log(n / d), 1), columns)
    return np.maximum(plain, clustered)


# -- Validity, from the docstring of Structure ---------------------------------------------------


def fits(pattern: str, term: ac.Term) -> bool:
    """Whether a term fits a pattern."""
    where, what = (part.strip() for part in pattern.split(":", 1))
    place, content = str(term).split(": ", 1)
    return where in ("*", place) and fnmatchcase(content, what)


def _alternatives(term: ac.Term) -> set[str]:
    return set(term.where or ALTERNATIVES)


def _has_main_terms(term: ac.Term, kept: list[ac.Term], candidates: Iterable[ac.Term]) -> bool:
    for name in term.by:
        rest = set(term.by) - {name}
        if term.what is None and not rest:
            constants = [c for c in candidates if c.what is None and not c.by]
            if not any(_alternatives(term) <= _alternatives(c) for c in constants):
                continue  # the base alternative has none
        if not any(
            (u.what, u.how, set(u.by)) == (term.what, term.how, rest)
            and _alternatives(term) <= _alternatives(u)
            for u in kept
        ):
            return False
    return True


def _one_form(kept: list[ac.Term], everywhere: bool) -> bool:
    for a, b in combinations(kept, 2):
        apart = _alternatives(a).isdisjoint(_alternatives(b)) and not everywhere
        if a.what is not None and a.what == b.what and a.how != b.how and not apart:
            return False
    return True


def _listed(patterns: object) -> list[str]:
    return [patterns] if isinstance(patterns, str) else list(patterns)  # type: ignore[call-overload]


def _exclude(patterns: list[str], a: ac.Term, b: ac.Term) -> bool:
    if len(patterns) == 1:
        return fits(patterns[0], a) and fits(patterns[0], b)
    return any(fits(p, a) and fits(q, b) for p in patterns for q in patterns if p != q)


def obeys(structure: ac.Structure | None, space: ac.SearchSpace, terms: Iterable[ac.Term]) -> bool:
    """Whether a set of terms keeps every rule but signs: the docstring of `Structure`, again."""
    kept, candidates = list(terms), list(space.terms)
    if len(set(kept)) < len(kept) or not set(kept) <= set(candidates):
        return False
    if not set(space.forced) <= set(kept):
        return False
    if structure is None:
        return True
    if structure.heredity and not all(_has_main_terms(t, kept, candidates) for t in kept):
        return False
    if structure.one_form and not _one_form(kept, structure.one_form == "everywhere"):
        return False
    if structure.one_coefficient and any(_same_slot(a, b) for a, b in combinations(kept, 2)):
        return False
    constants = {t for t in candidates if t.what is None and not t.by}
    if structure.constants and not constants <= set(kept):
        return False
    must = {t for p in _listed(structure.force) for t in candidates if fits(p, t)}
    never = {t for p in _listed(structure.forbid) for t in candidates if fits(p, t)}
    if not must <= set(kept) or never & set(kept):
        return False
    for entry in structure.exclusive:
        if any(_exclude(_listed(entry), a, b) for a, b in combinations(kept, 2)):
            return False
    for entry in structure.together:
        members = {t for p in _listed(entry) for t in candidates if fits(p, t)}
        if members & set(kept) and not members <= set(kept):
            return False
    count = dict(zip(space.terms, space.columns, strict=True))
    if structure.max_terms is not None and len(kept) > structure.max_terms:
        return False
    most = structure.max_coefficients
    return most is None or sum(int(count[t]) for t in kept) <= most


def _same_slot(a: ac.Term, b: ac.Term) -> bool:
    """Whether two terms are the same attribute in the same form for the same persons somewhere."""
    everywhere = not a.where or not b.where
    here = everywhere or bool(set(a.where) & set(b.where))
    same = (a.what, a.how, frozenset(a.by)) == (b.what, b.how, frozenset(b.by))
    return a.what is not None and same and here


def subsets(count: int) -> Iterator[frozenset[int]]:
    """Every set of the first whole numbers."""
    for size in range(count + 1):
        yield from map(frozenset, combinations(range(count), size))


# -- Likelihood, from the textbook ---------------------------------------------------------------


def columns_by_hand(data: ac.ChoiceData, term: ac.Term) -> Floats:
    """The columns of a term without class transforms; shape (K, J, N)."""
    out = np.zeros((1, len(data.alternatives), len(data)))
    for j, name in enumerate(data.alternatives):
        if name in _alternatives(term):
            x = np.ones(len(data)) if term.what is None else data.attributes[term.what].of(j)
            out[0, j] = {"linear": x, "log1p": np.log1p(x)}[term.how.name]
    for name in term.by:
        covariate = data.covariates[name]
        times = covariate.values[None].astype(float)
        if covariate.levels is not None:
            shown = [i for i in range(len(covariate.levels)) if i != covariate.reference]
            times = np.array([covariate.values == i for i in shown], dtype=float)
        out = np.concatenate([out * row for row in times])
    return out


def maximum(x: Floats, choice: npt.NDArray[np.intp]) -> tuple[float, Floats]:
    """Log-likelihood and coefficients of a logit, by Newton; x has shape (K, J, N)."""
    k, j, n = x.shape
    flat, picked = x.reshape(k, j * n), x[:, choice, np.arange(n)].sum(axis=1)
    beta = np.zeros(k)
    while True:
        v = (beta @ flat).reshape(j, n)
        top = v.max(axis=0)
        e = np.exp(v - top)
        total = e.sum(axis=0)
        p = e / total
        loglik = float((v[choice, np.arange(n)] - top - np.log(total)).sum())
        weighted = flat * p.ravel()
        mean = weighted.reshape(k, j, n).sum(axis=1)
        gradient = picked - mean.sum(axis=1)
        step = np.linalg.solve(weighted @ flat.T - mean @ mean.T, gradient) if k else gradient
        beta = beta + step
        if gradient @ step < 1e-6:
            return loglik + 0.5 * float(gradient @ step), beta


def every_maximum(
    data: ac.ChoiceData, space: ac.SearchSpace, sets: Iterable[frozenset[int]]
) -> dict[frozenset[int], tuple[float, Floats]]:
    """Set -> its log-likelihood and coefficients, term by term in the order of the space."""
    columns = [columns_by_hand(data, term) for term in space.terms]
    none = np.empty((0, len(data.alternatives), len(data)))
    return {
        s: maximum(np.concatenate([none, *(columns[t] for t in sorted(s))]), data.chosen())
        for s in sets
    }
