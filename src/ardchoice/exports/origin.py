"""Which table a script reads: the user's own file, or the choices written beside the script.

The file is used only when reading it again gives exactly the choices that the model was estimated
on. Choices simulated, noise added, a file that changed or is gone: then they are written out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ardchoice.data import (
    Attribute,
    ChoiceData,
    Covariate,
    Recoding,
    Source,
    Table,
    TextFormat,
    open_table,
    read_like,
    situation_ids,
    streams,
    with_derived,
)
from ardchoice.design import Encoding
from ardchoice.errors import ArdchoiceError
from ardchoice.exports.derivations import is_text
from ardchoice.exports.names import Names, words
from ardchoice.expressions import (
    Column,
    Expression,
    column_names,
    evaluate,
    evaluate_condition,
    parse_expression,
)
from ardchoice.files import write

MOST_LISTED = 100
"""Up to this many excluded situations are listed in the script; else a file lists those used."""


@dataclass(frozen=True)
class Origin:
    """The table of a script.

    Attributes
    ----------
    source
        Where every column is; `path` is the user's file, or the name of one beside the script.
    beside
        Whether that file is ours, written beside the script.
    why
        Why it is; empty for the user's file.
    left_out
        Positions of the situations that are in the file and not in the model.
    rows_file
        Instead, the name of a file beside the script with the positions that are.
    recodings
        Categorical attribute or covariate -> how its levels are made of what stands in the table.
    derive
        Columns to derive, in order, and how.
    where
        The condition of the rows that are used; None for all.
    texts
        Columns in expressions that have texts.
    """

    source: Source
    beside: bool
    why: str
    left_out: tuple[int, ...]
    rows_file: str | None
    recodings: Mapping[str, Recoding]
    derive: tuple[tuple[str, Expression], ...] = ()
    where: Expression | None = None
    texts: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Used:
    """The attributes and covariates that a model uses."""

    attributes: tuple[str, ...]
    covariates: tuple[str, ...]


class Companions(NamedTuple):
    """Files that may be written beside a script."""

    choices: Path
    rows: Path


def companions(script: Path) -> Companions:
    """Where they would be."""
    return Companions(*(script.with_name(f"{script.stem}_{n}.csv") for n in ("choices", "rows")))


def _written(file: Path, text: str, source: Source | None) -> str:
    """The name of a file once it is written; never in place of the table that was read."""
    table = None if source is None or source.path is None else Path(source.path)
    if table is not None and table.exists() and file.exists() and file.samefile(table):
        raise ArdchoiceError(
            f"The script would need '{file}' for the choices that it reads, and that is your own "
            "table. Give the script another name."
        )
    write(file, text)
    return file.name


def used_by(encoding: Encoding) -> Used:
    """What the terms of a model use, in the order of the terms."""
    terms = encoding.terms
    what = dict.fromkeys(name for t in terms for name in t.attributes)
    by = dict.fromkeys(n for t in terms for n in t.columns_used if n not in t.attributes)
    by |= dict.fromkeys(one.name for one in encoding.persons)
    return Used(tuple(what), tuple(by))


def find_origin(data: ChoiceData, encoding: Encoding, script: Path) -> Origin:
    """The user's file where it still holds the same choices, else a table beside the script."""
    used = used_by(encoding)
    source = data.source
    if source is None or source.path is None:
        return _beside(data, used, script, "The choices did not come from a file")
    try:
        kept, total, made = _rows_of(data, source, used)
    except _OtherwiseError as error:
        return _beside(data, used, script, str(error))
    left_out, rows_file = np.setdiff1d(total, kept), None
    if len(left_out) > MOST_LISTED:
        lines = ["row", *map(str, np.sort(kept).tolist())]
        rows_file = _written(companions(script).rows, "\n".join(lines) + "\n", source)
        left_out = left_out[:0]
    return Origin(
        source=source,
        beside=False,
        why="",
        left_out=tuple(left_out.tolist()),
        rows_file=rows_file,
        recodings={v.name: v.recoding for v in _variables(data, used) if v.recoding is not None},
        derive=made.derive,
        where=made.where,
        texts=made.texts,
    )


def _variables(data: ChoiceData, used: Used) -> list[Attribute | Covariate]:
    return [
        *(data.attributes[name] for name in used.attributes),
        *(data.covariates[name] for name in used.covariates),
    ]


# -- The user's file ------------------------------------------------------------------------


class _OtherwiseError(Exception):
    """The file cannot be used; the message has the reason."""


@dataclass(frozen=True)
class _Made:
    """What is made of a table before anything else; see `Origin`."""

    derive: tuple[tuple[str, Expression], ...]
    where: Expression | None
    texts: frozenset[str]


def _made_of(table: Table, source: Source, used: Used) -> _Made:
    """The derived columns that a script needs, the filter, and which columns have texts."""
    derive = {name: parse_expression(text) for name, text in source.derive.items()}
    where = None if source.where is None else parse_expression(source.where)
    waiting = [c for name in used.attributes for c in source.attributes[name].values()]
    waiting += [source.covariates[name] for name in used.covariates]
    waiting += source.availability.values()
    waiting += [c for c in (source.choice, source.person, source.weight) if c is not None]
    waiting += [c for c in (source.alternative, source.situation) if isinstance(c, str)]
    waiting += () if where is None else column_names(where)
    needed: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in derive and name not in needed:
            waiting += column_names(derive[name])
        needed.add(name)
    kept = tuple((name, how) for name, how in derive.items() if name in needed)
    expressions = [*(how for _, how in kept), *(() if where is None else (where,))]
    own = {name for e in expressions for name in column_names(e)}
    texts = {name for name in own if name in table.frame.columns and _has_texts(table, name)}
    for name, how in kept:
        texts = (texts | {name}) if is_text(how, texts) else texts - {name}
    return _Made(kept, where, frozenset(texts))


def _has_texts(table: Table, name: str) -> bool:
    values = replace(table, derived=()).column(name).values
    return evaluate(Column(name), lambda _: values, len(table)).is_text


def _rows_of(
    data: ChoiceData, source: Source, used: Used
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], _Made]:
    """Positions in the file of the situations of the data, those that the filter keeps, and how."""
    name = Path(str(source.path)).name
    coded = [v for v in _variables(data, used) if v.recoding is not None and v.recoding.missing]
    if source.missing_values and coded:
        raise _OtherwiseError(f"Values of {name} that stand for missing ones are a level")
    added = {*used.attributes} - {*source.attributes} | {*used.covariates} - {*source.covariates}
    if added:
        raise _OtherwiseError(f"The model uses columns that {name} does not have")
    if source.missing_values and (source.derive or source.where is not None):
        raise _OtherwiseError(f"Columns derived from those of {name} depend on missing values")
    if source.text is None and Path(name).suffix.lower() not in (".parquet", ".pq"):
        raise _OtherwiseError(f"{name} is no text and no Parquet file")
    if streams(str(source.path), None):
        raise _OtherwiseError(f"{name} is read part by part")
    try:
        table = open_table(str(source.path), source)
        again = _read_again(table, data, used)
        derived = with_derived(table, source)
        made = _made_of(derived, source, used)
        rows = _filtered_rows(derived, made)
    except (ArdchoiceError, OSError):
        raise _OtherwiseError(f"{name} cannot be read as it was any more") from None
    ids = pd.Index(again.situation)
    where = ids.get_indexer(pd.Index(data.situation)) if ids.is_unique else np.array([-1])
    same = len(np.unique(where)) == len(data) and (where >= 0).all()
    if not (same and _alike(data, again.take(where), used)):
        raise _OtherwiseError(f"These choices are not those of {name}")
    if source.layout == "wide":
        return np.asarray(data.situation, dtype=np.intp), rows, made
    # A situation of a long table goes by its place among the ids as they first appear.
    ids = situation_ids(derived, source.situation or "").values
    every = pd.Index(pd.unique(ids[rows]))
    kept = np.asarray(every.get_indexer(pd.Index(data.situation)), dtype=np.intp)
    return kept, np.arange(len(every)), made


def _filtered_rows(table: Table, made: _Made) -> npt.NDArray[np.intp]:
    """Positions of the rows in which the filter holds."""
    if made.where is None:
        return np.arange(len(table))
    holds = evaluate_condition(made.where, lambda n: table.column(n).values, len(table))
    return np.flatnonzero(holds)


def _read_again(table: Table, data: ChoiceData, used: Used) -> ChoiceData:
    only = {*used.attributes, *used.covariates}
    # Rows that were dropped before are dropped again, by position.
    return read_like(table.frame.to_native(), data, only=only, drop_invalid=True, observed=True)


def _alike(data: ChoiceData, again: ChoiceData, used: Used) -> bool:
    """Whether a model that uses these variables would see no difference."""
    pairs: list[tuple[npt.NDArray[Any] | None, npt.NDArray[Any] | None]]
    pairs = [(data.available, again.available), (data.choice, again.choice)]
    pairs += [(data.person, again.person), (data.weight, again.weight)]
    if not all(_equal(a, b) for a, b in pairs):
        return False
    if data.weight_scale != again.weight_scale:
        return False
    for name in used.attributes:
        one, other = data.attributes[name], again.attributes[name]
        here = data.available[list(one.alternatives)]
        if one.alternatives != other.alternatives or not _same_values(one, other, here):
            return False
    everywhere = np.ones(len(data), dtype=bool)
    return all(
        _same_values(data.covariates[name], again.covariates[name], everywhere)
        for name in used.covariates
    )


def _equal(a: npt.NDArray[Any] | None, b: npt.NDArray[Any] | None) -> bool:
    return a is b if a is None or b is None else bool(np.array_equal(a, b))


def _same_values(
    one: Attribute | Covariate, other: Attribute | Covariate, here: npt.NDArray[np.bool_]
) -> bool:
    a, b = one.values[here], other.values[here]
    if one.levels is None or other.levels is None:
        return one.levels is other.levels and _equal(a, b)
    return one.recoding is not None and _equal(np.array(one.levels)[a], np.array(other.levels)[b])


# -- A table of our own ---------------------------------------------------------------------


def _beside(data: ChoiceData, used: Used, script: Path, why: str) -> Origin:
    """Write the choices as a wide CSV beside the script."""
    names = Names(())
    words_of = words(data.alternatives, "ALT")
    table: dict[str, npt.NDArray[Any]] = {}
    recodings: dict[str, Recoding] = {}

    def put(values: npt.NDArray[Any], *parts: str) -> str:
        name = names.new(*parts)
        table[name] = values
        return name

    choice = put(data.chosen() + 1, "CHOICE")
    person = None if data.person is None else put(data.person + 1, "PERSON")
    weight = None if data.weight is None else put(data.weight, "WEIGHT")
    ragged = [j for j in range(len(data.alternatives)) if not data.available[j].all()]
    availability = {
        data.alternatives[j]: put(
            data.available[j].astype(int), "AV", words_of[data.alternatives[j]]
        )
        for j in ragged
    }
    attributes: dict[str, dict[str, str]] = {}
    for name, word in words(used.attributes, "X").items():
        attribute = data.attributes[name]
        attributes[name] = {}
        for j in attribute.alternatives:
            alternative = data.alternatives[j]
            values = _cells(attribute, attribute.of(j), data.available[j])
            attributes[name][alternative] = put(values, word, words_of[alternative])
    covariates = {}
    for name, word in words(used.covariates, "Z").items():
        covariate = data.covariates[name]
        here = np.ones(len(data), dtype=bool)
        covariates[name] = put(_cells(covariate, covariate.values, here), word)
    for variable in _variables(data, used):
        if variable.levels is not None:
            recodings[variable.name] = _codes(variable)
    text = StringIO()
    pd.DataFrame(table).to_csv(text, index=False, lineterminator="\n")
    file = _written(companions(script).choices, text.getvalue(), data.source)
    source = Source(
        layout="wide",
        path=file,
        text=TextFormat("utf-8", ",", "."),
        alternatives={name: str(j) for j, name in enumerate(data.alternatives, 1)},
        attributes=attributes,
        covariates=covariates,
        choice=choice,
        availability=availability,
        person=person,
        weight=weight,
    )
    return Origin(source, True, why, (), None, recodings)


def _codes(variable: Attribute | Covariate) -> Recoding:
    """Levels as they are where they are whole numbers, else numbered from 1.

    Numbers read back as the same numbers by any program; text might read as a number, as nothing,
    or, in a spreadsheet, as a formula.
    """
    levels = variable.levels or ()
    whole = all(
        level.isascii() and level.isdigit() and str(int(level)) == level for level in levels
    )
    codes = levels if whole else tuple(str(i) for i in range(1, len(levels) + 1))
    return Recoding(levels, variable.reference, dict(zip(codes, levels, strict=True)), closed=True)


def _cells(
    variable: Attribute | Covariate, values: npt.NDArray[Any], here: npt.NDArray[np.bool_]
) -> npt.NDArray[Any]:
    """What is written: numbers or codes of levels, nothing where the alternative is unavailable."""
    out = np.full(len(values), None, dtype=object)
    if variable.levels is None:
        out[here] = values[here].tolist()
    else:
        codes = np.array(list(_codes(variable).to_level), dtype=object)
        out[here] = codes[values[here]]
    return out
