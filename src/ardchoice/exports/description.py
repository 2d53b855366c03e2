"""One neutral description of a model, from which the writer of every package starts.

It has the columns to make of the table and how (`Variable`), and what each coefficient
multiplies in each alternative (`Coefficient`). Names are legal and unique in every package.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path

import numpy as np

from ardchoice.data import ChoiceData, Recoding
from ardchoice.design import Encoding, Levels, PersonColumns, TermColumns
from ardchoice.errors import ArdchoiceError
from ardchoice.estimation import Result
from ardchoice.exports.names import MOST_NAMED, Names, word, words
from ardchoice.exports.origin import Origin, find_origin, used_by
from ardchoice.families import LOCATIONS
from ardchoice.space import (
    BoxCox,
    Classes,
    Factor,
    Linear,
    Log,
    Log1p,
    Piecewise,
    Ratio,
    Spline,
    Sqrt,
    Square,
    Term,
    Thresholds,
    Transform,
)

PLAIN = {Linear, Log, Log1p, Sqrt, Square}
"""Transforms of one column that learn nothing."""
OWN = "own"
"""The kind of a form that the user made: it has a name, but no script could compute it."""


@dataclass(frozen=True)
class Form:
    """How one column is made of values v.

    Attributes
    ----------
    kind
        ``"linear"``, ``"log"``, ``"log1p"``, ``"sqrt"``, ``"square"`` of v; ``"boxcox"`` with
        (exponent, shift); ``"inverse"``; ``"spline"`` with knots ξ_j, ξ_{K-1}, ξ_K and the scale
        (ξ_K - ξ_1)²; ``"class"``: 1 where low <= v < high; ``"piece"``: how far v runs from
        low to high; ``"levels"``: 1 where the text of v is one of the labels; ``"missing"``: 1
        where v is missing; `OWN`.
    numbers
        Exponent and shift, or low and high; None where there is no bound.
    labels
        Of a level, as they stand in the table, None for a missing value; of the column of a
        transform of the user's own.
    """

    kind: str
    numbers: tuple[float | None, ...] = ()
    labels: tuple[str | None, ...] = ()


@dataclass(frozen=True)
class Made:
    """The columns made of one column of the table, for an alternative (from 1) or for all."""

    alternative: int | None
    column: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Variable:
    """Columns made alike: an attribute in one form, or a covariate.

    Attributes
    ----------
    label
        As the grammar writes it, with what its names stand for.
    is_text
        Whether levels are matched by text, rather than numbers computed.
    forms
        One for every name in `rows`.
    rows
    """

    label: str
    is_text: bool
    forms: tuple[Form, ...]
    rows: tuple[Made, ...]


@dataclass(frozen=True)
class Coefficient:
    """One coefficient.

    Attributes
    ----------
    name
        Such as ``B_LOG_TT_TRAIN_GA_1``.
    label
        Such as ``TRAIN: log(TT) x GA [1]``.
    factors
        Alternative (from 1) -> the columns whose product it multiplies; none for a constant.
    estimate, std_err
    classes
        The latent classes, from 0, that have it; empty for all.
    about
        Labels and units of what it multiplies, ``TT: travel time (min)``; empty where there are
        none.
    """

    name: str
    label: str
    factors: Mapping[int, tuple[str, ...]]
    estimate: float
    std_err: float
    classes: tuple[int, ...] = ()
    about: str = ""

    @property
    def has_error(self) -> bool:
        """Whether a standard error is known."""
        return bool(np.isfinite(self.std_err))


@dataclass(frozen=True)
class Alternative:
    """One alternative: its number in scripts, the user's name, the code in the table, our name."""

    number: int
    text: str
    code: str
    name: str
    available: str


@dataclass(frozen=True)
class Description:
    """Everything that a writer needs.

    Attributes
    ----------
    alternatives, variables, coefficients
    extras
        Parameters of the family that multiply no column, without factors.
    membership
        Columns of persons that the family uses beside the terms.
    origin
        The table that the script reads.
    weight_scale
        By which the weights of the user's table are multiplied.
    n_situations, n_persons
    """

    alternatives: tuple[Alternative, ...]
    variables: tuple[Variable, ...]
    coefficients: tuple[Coefficient, ...]
    extras: tuple[Coefficient, ...]
    membership: tuple[str, ...]
    origin: Origin
    n_situations: int
    n_persons: int | None
    weight_scale: float

    @property
    def parameters(self) -> tuple[Coefficient, ...]:
        """All of them."""
        return (*self.coefficients, *self.extras)

    def utility(
        self, alternative: int, in_class: int | None = None
    ) -> Iterator[tuple[Coefficient, tuple[str, ...]]]:
        """The coefficients in the utility of an alternative (from 1), with their columns.

        In a latent class (from 0), those that it has.
        """
        for coefficient in self.coefficients:
            if in_class is not None and coefficient.classes and in_class not in coefficient.classes:
                continue
            if alternative in coefficient.factors:
                yield coefficient, coefficient.factors[alternative]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns made."""
        return tuple(n for v in self.variables for row in v.rows for n in row.names)

    @property
    def has_repeats(self) -> bool:
        """Whether some person chose more than once."""
        return self.n_persons is not None and self.n_persons < self.n_situations


def describe(result: Result, script: Path) -> Description:
    """Describe an estimated model for a script at that path; writes its table there if need be."""
    data, encoding = result.data, result.encoding
    for term in encoding.terms:
        if term.base is None and term.term.what and forms_of(term)[0].kind == OWN:
            raise ArdchoiceError(
                f"'{term.term}': no script can make the transform {term.term.how.name!r}, which is "
                "your own. Put its values into a column, read that, and estimate again; or export "
                "to 'text' or 'latex'."
            )
    origin = find_origin(data, encoding, script)
    maker = _Maker(data, encoding, origin)
    names = [name for term in encoding.terms for name in maker.coefficients(term)]
    factors = [f for term in encoding.terms for f in maker.factors(term)]
    membership = tuple(name for one in encoding.persons for name in maker.person(one))
    abouts = [data.units_text(term.columns_used) for term in encoding.terms for _ in term.names]
    coefficients, extras = _parameters(result, maker.names, names, factors, abouts)
    return Description(
        alternatives=maker.alternatives,
        variables=tuple(maker.variables.values()),
        coefficients=coefficients,
        extras=extras,
        membership=membership,
        origin=origin,
        n_situations=result.n_situations,
        n_persons=result.n_persons,
        weight_scale=result.data.weight_scale,
    )


def _parameters(
    result: Result,
    names: Names,
    columns: list[str],
    factors: list[dict[int, tuple[str, ...]]],
    abouts: list[str],
) -> tuple[tuple[Coefficient, ...], tuple[Coefficient, ...]]:
    """Coefficients of columns, several of a column in latent classes; and all other parameters."""
    frame = result.to_frame().head(len(result.names))  # shapes are part of their columns
    rows = zip(result.layout.parameters, frame["estimate"], frame["std_err"], strict=True)
    coefficients, extras = [], []
    for parameter, estimate, std_err in rows:
        about = "" if parameter.column is None else abouts[parameter.column]
        rest = float(estimate), float(std_err), parameter.classes, about
        if parameter.kind not in LOCATIONS or parameter.column is None:
            name = names.new(word(parameter.name, "PARAMETER"))
            extras.append(Coefficient(name, parameter.name, {}, *rest))
            continue
        name = columns[parameter.column]
        if parameter.classes:
            name = names.new(name, *(f"CLASS_{q + 1}" for q in parameter.classes))
        own = factors[parameter.column]
        coefficients.append(Coefficient(name, parameter.name, own, *rest))
    return tuple(coefficients), tuple(extras)


class _Maker:
    """Makes variables as terms ask for them, each once, and gives names."""

    def __init__(self, data: ChoiceData, encoding: Encoding, origin: Origin) -> None:
        self.origin, self.data = origin, data
        self.names = Names()
        self.alt = words(data.alternatives, "ALT")
        used = used_by(encoding)
        persons = [one.levels for one in encoding.persons if one.levels is not None]
        self.attribute = words(used.attributes, "X")
        self.covariate = words(used.covariates, "Z")
        self.level = {
            levels.name: words(levels.levels, "LEVEL")
            for term in encoding.terms
            for levels in (*([term.base] if term.base else []), *term.by)
        } | {levels.name: words(levels.levels, "LEVEL") for levels in persons}
        codes, alone = origin.source.alternatives, Names()
        self.alternatives = tuple(
            Alternative(
                number=j,
                text=text,
                code=codes[text],
                name=alone.new("ALT" if word[0].isdigit() else "", word),
                available=self.names.new("AV", word),
            )
            for j, (text, word) in enumerate(self.alt.items(), 1)
        )
        self.variables: dict[object, Variable] = {}

    # -- Names of coefficients --------------------------------------------------------------

    def coefficients(self, term: TermColumns) -> list[str]:
        """The name of every coefficient of a term."""
        by = [
            [f"{self.covariate[levels.name]}_{self.level[levels.name][v]}" for v in levels.columns]
            for levels in term.by
        ]
        times = [self.covariate[name] for name in term.times]
        times += [f"{_function_word(f)}{self.covariate[f.name]}" for f in term.functions]
        times += [f"{_function_word(f)}{self.attribute[f.name]}" for f in term.products]
        head = ["ASC", self._place(term)]
        if term.term.what is not None:
            word = self.attribute[term.term.what]
            head = ["B", _form_word(term.term.how), word, self._place(term)]
        return [
            self.names.new(*head, *labels, *times) for labels in product(self._columns(term), *by)
        ]

    def _place(self, term: TermColumns) -> str:
        where = [self.alt[name] for name in term.term.where]
        if len(where) > MOST_NAMED:
            where = [where[0], "AND", str(len(where) - 1), "MORE"]
        return "_".join(where)

    # -- Columns ----------------------------------------------------------------------------

    def factors(self, term: TermColumns) -> list[dict[int, tuple[str, ...]]]:
        """What every coefficient of a term multiplies, by alternative."""
        bases = self._bases(term)
        levels = list(product(*(self._indicators(one) for one in term.by)))
        linear = (Form("linear"),)
        times = [n for c in term.times for n in self._covariate(c, [""], linear, is_text=False)]
        times += [self._function(factor) for factor in term.functions]
        others = [self._product(factor, term) for factor in term.products]
        count = max(len(names) for names in bases.values())
        return [
            {
                j: (
                    *((names[i],) if names[i] else ()),
                    *labels,
                    *times,
                    *(other[j] for other in others),
                )
                for j, names in bases.items()
            }
            for i, labels in product(range(count), levels)
        ]

    def _function(self, factor: Factor) -> str:
        """The column of a function of a covariate, made once."""
        if factor.text not in self.variables:
            name = self.names.new(_function_word(factor).rstrip("_"), self.covariate[factor.name])
            made = Made(None, self.origin.source.covariates[factor.name], (name,))
            forms = (Form(factor.function),)
            label = self._explained(factor.text, factor.name)
            self.variables[factor.text] = Variable(label, False, forms, (made,))
        return self.variables[factor.text].rows[0].names[0]

    def _product(self, factor: Factor, term: TermColumns) -> dict[int, str]:
        """Alternative (from 1) -> the column of another attribute that a term is multiplied by."""
        linear = not factor.function
        key = (factor.name, Linear(), ()) if linear else ("factor", factor)
        word = _function_word(factor).rstrip("_")
        heads = {j: [word, self.attribute[factor.name]] for j in term.alternatives}
        form = Form(factor.function or "linear")
        made = self._made(key, factor.text, (form,), factor.name, heads, [""], is_text=False)
        return {j: names[0] for j, names in made.items()}

    def _bases(self, term: TermColumns) -> dict[int, tuple[str, ...]]:
        """Alternative (from 1) -> the columns of the attribute; one empty name for a constant."""
        what, how = term.term.what, term.term.how
        if what is None:
            return {j + 1: ("",) for j in term.alternatives}
        key = (what, how, term.parameters)
        forms = forms_of(term) if term.base is None else self._level_forms(term.base)
        if isinstance(how, Ratio):  # the division is one by a column of the person
            key = (what, Linear(), ())
        heads = {j: [_form_word(how), self.attribute[what]] for j in term.alternatives}
        label = self.attribute_label(term)
        is_text = term.base is not None
        return self._made(key, label, forms, what, heads, self._columns(term), is_text=is_text)

    @staticmethod
    def attribute_label(term: TermColumns) -> str:
        """The form of a term's attribute as the grammar writes it."""
        if isinstance(term.term.how, Ratio):
            return Term(term.term.where, term.term.what).form
        return term.term.form

    def _explained(self, label: str, name: str) -> str:
        """A form of an attribute or covariate, with what that stands for where it was given."""
        text = self.data.units_text([name])
        return f"{label}; {text}" if text and label != name else text or label

    def _made(
        self,
        key: object,
        label: str,
        forms: tuple[Form, ...],
        what: str,
        heads: Mapping[int, list[str]],
        tails: Sequence[str],
        *,
        is_text: bool,
    ) -> dict[int, tuple[str, ...]]:
        """The columns of an attribute in one form, made once for every alternative (from 0)."""
        found = self.variables.get(key)
        rows = {row.alternative: row for row in found.rows} if found else {}
        for j, head in heads.items():
            if j + 1 not in rows:
                text = self.data.alternatives[j]
                names = tuple(self.names.new(*head, self.alt[text], tail) for tail in tails)
                rows[j + 1] = Made(j + 1, self.origin.source.attributes[what][text], names)
        label = self._explained(label, what)
        self.variables[key] = Variable(label, is_text, forms, tuple(rows.values()))
        return {j + 1: rows[j + 1].names for j in heads}

    def _columns(self, term: TermColumns) -> list[str]:
        """What distinguishes the columns of a term's base; one empty text for a single column."""
        if term.base is not None:
            return [self.level[term.base.name][v] for v in term.base.columns]
        n = 1 if term.term.what is None else len(forms_of(term))
        return [str(i) for i in range(1, n + 1)] if n > 1 else [""]

    def person(self, covariate: PersonColumns) -> tuple[str, ...]:
        """The columns of a covariate that a family uses beside the terms."""
        if covariate.levels is not None:
            return self._indicators(covariate.levels)
        return self._covariate(covariate.name, [""], (Form("linear"),), is_text=False)

    def _indicators(self, levels: Levels) -> tuple[str, ...]:
        words = [self.level[levels.name][v] for v in levels.columns]
        is_text = not self.origin.recodings[levels.name].edges
        return self._covariate(levels.name, words, self._level_forms(levels), is_text=is_text)

    def _covariate(
        self, name: str, words: Sequence[str], forms: tuple[Form, ...], *, is_text: bool
    ) -> tuple[str, ...]:
        """The columns of a covariate, made once."""
        if name not in self.variables:
            names = tuple(self.names.new(self.covariate[name], word) for word in words)
            made = Made(None, self.origin.source.covariates[name], names)
            label = self._explained(name, name)
            self.variables[name] = Variable(label, is_text, forms, (made,))
        return self.variables[name].rows[0].names

    def _level_forms(self, levels: Levels) -> tuple[Form, ...]:
        recoding = self.origin.recodings[levels.name]
        return tuple(_level_form(recoding, level) for level in levels.columns)


def _form_word(how: Transform) -> str:
    """How a form is written in a name: nothing for the attribute as it is."""
    if isinstance(how, Linear | Ratio):
        return ""
    return how.name.upper() + (str(how.k) if isinstance(how, Classes | Spline | Thresholds) else "")


def _function_word(factor: Factor) -> str:
    """How a function is written in a name, with an underscore behind it."""
    return f"{factor.function.upper()}_" if factor.function else ""


def forms_of(term: TermColumns) -> tuple[Form, ...]:
    """The columns of a transform with what it learned."""
    how, parameters = term.term.how, tuple(map(float, term.parameters))
    if isinstance(how, BoxCox):
        return (Form("boxcox", parameters),)
    if isinstance(how, Classes):
        # The last class has no column.
        return tuple(Form("class", ends) for ends in pairwise((None, *parameters)))
    if isinstance(how, Piecewise | Thresholds):
        knots = parameters if isinstance(how, Thresholds) else tuple(map(float, how.knots))
        return tuple(Form("piece", ends) for ends in pairwise((None, *knots, None)))
    if isinstance(how, Ratio):
        return (Form("linear"),)
    if isinstance(how, Spline):
        *inner, before, last = parameters
        scale = (last - parameters[0]) ** 2
        bends = (Form("spline", (knot, before, last, scale)) for knot in inner)
        return (Form("linear"), *bends)
    if type(how) in PLAIN:
        return (Form(how.name),)
    return tuple(Form(OWN, labels=(label,)) for label in how.labels(term.parameters))


def _level_form(recoding: Recoding, level: str) -> Form:
    if recoding.edges:
        if level == recoding.missing:
            return Form("missing")
        classes = [v for v in recoding.levels if v != recoding.missing]
        ends = tuple(pairwise((None, *map(float, recoding.edges), None)))
        return Form("class", ends[classes.index(level)])
    labels: list[str | None] = [old for old, new in recoding.to_level.items() if new == level]
    # A level never seen when the recoding was learned is itself.
    if level not in recoding.to_level and not recoding.closed:
        labels.append(level)
    if level == recoding.missing:
        labels.append(None)
    return Form("levels", labels=tuple(labels))
