"""From the words of a rival to terms in our grammar, and their BIC on our rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import ardchoice as ac
from ardchoice.data.choices import Covariate
from ardchoice.space import SearchSpace, Term
from ardchoice.space.published import MEDIUM_BY
from recovery import Case, by_ridge

Language = Literal["terms", "columns", "segments", "indices"]
"""How a method writes its models; `translate` knows all of them."""


@dataclass(frozen=True)
class Found:
    """A model in our grammar.

    Attributes
    ----------
    terms
        What to estimate, on data `with_indicators`.
    candidates
        The terms of the space that it has, or has columns of.
    """

    terms: tuple[Term, ...]
    candidates: frozenset[Term]


def translate(model: Iterable[str], language: Language, case: Case) -> Found:
    """A model in our grammar.

    Parameters
    ----------
    model
        In the words of the method.
    language
        ``"terms"``: our grammar. ``"columns"``: names of coefficients, ``TRAIN: TT x AGE [2]``; a
        level of its own is the term ``TRAIN: TT x AGE_2`` on data `with_indicators`.
        ``"segments"``: choices from Biogeme's catalogs, ``form|TRAIN|TT:log1p`` and
        ``segments|TRAIN|TT:GA-AGE``. ``"indices"``: ``term|17:in``, by position in the space.
    """
    if language == "columns":
        known = column_terms(case)
        pairs = [known[name] for name in model]
        return Found(tuple(t for t, _ in pairs), frozenset(c for _, c in pairs))
    if language == "terms":
        terms = ac.parse_specification("\n".join(model)).terms
    elif language == "indices":
        chosen = (part.removeprefix("term|").split(":") for part in model)
        terms = tuple(case.space.terms[int(i)] for i, state in chosen if state == "in")
    else:
        terms = segmented(dict(part.split(":") for part in model), case.space)
    return Found(terms, frozenset(terms))


def column_terms(case: Case) -> dict[str, tuple[Term, Term]]:
    """For every coefficient of the space its own term, and the term of the space it is part of."""
    out: dict[str, tuple[Term, Term]] = {}
    for encoded in ac.Design(case.data, case.space.terms).encoding.terms:
        term = encoded.term
        levels = encoded.by[0].columns if encoded.by else ("",)
        for name, level in zip(encoded.names, levels, strict=True):
            by = (f"{term.by[0]}_{level}",) if encoded.by else ()
            out[name] = replace(term, by=by), term
    return out


def segmented(chosen: dict[str, str], space: SearchSpace) -> tuple[Term, ...]:
    """The terms of Biogeme's forms and segmentations, in the order of the space."""
    wanted: set[tuple[str, str, str]] = set()
    for controller, segments in chosen.items():
        kind, alternative, what = controller.split("|")
        if kind != "segments":
            continue
        form = "" if what == "ASC" else chosen[f"form|{alternative}|{what}"]
        content = {"": "ASC", "linear": what, "log1p": f"log1p({what})"}.get(form)
        if content is not None:
            by = [] if segments == "no_seg" else segments.split("-")
            wanted |= {(alternative, content, name) for name in ["", *by]}
    return tuple(t for t in space.terms if (t.where[0], t.form, *(t.by or ("",))) in wanted)


def with_indicators(data: ac.ChoiceData) -> ac.ChoiceData:
    """The same choices with every level as a covariate of its own, 1 or 0."""
    covariates = dict(data.covariates)
    for name in MEDIUM_BY:
        for code, level in enumerate(data.covariates[name].levels or ()):
            values = (data.covariates[name].values == code).astype(float)
            covariates[f"{name}_{level}"] = Covariate(f"{name}_{level}", values)
    return replace(data, covariates=covariates)


def bic_of(case: Case, terms: tuple[Term, ...]) -> float:
    """BIC of maximum likelihood on the rows of the case; by a tiny ridge where it is not unique."""
    data = with_indicators(case.data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ac.ArdchoiceWarning)
        try:
            return float(ac.fit_mnl(data, list(terms), separation="allow").bic)
        except ac.IdentificationError:
            return float(by_ridge(replace(case, data=data), terms).bic)
