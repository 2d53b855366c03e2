"""From what a script says of its model to a `ScriptModel`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ardchoice.errors import SpecificationError
from ardchoice.expressions import Expression, Literal, column_names
from ardchoice.scripts.capture import EVERY, Captured, Start
from ardchoice.scripts.forms import UnreadableError, operation
from ardchoice.scripts.model import ScriptModel, numeric
from ardchoice.scripts.terms import Columns, Drafted, finished, split_words
from ardchoice.scripts.utilities import Linear, linear
from ardchoice.scripts.values import Doubt
from ardchoice.space import BoxCox, Specification, Term
from ardchoice.space import Linear as LinearForm

AVAILABILITY_WORDS = frozenset({"av", "avail", "available", "availability", "sp", "aval", "is"})
UTILITY = re.compile(r"^(v|u|util|utility|vv)[_.]?(?=[^_.]|$)", re.IGNORECASE)


def build(captured: Captured) -> ScriptModel:
    """The specification and everything that belongs to it."""
    parts = linear(captured)
    raw = _raw_columns(captured, parts)
    captured.doubts += _assumptions(captured, raw)
    names = _names(captured, raw)
    words = {code: _words_of(captured, code, names[code]) for code in captured.utilities}
    columns = Columns(captured, raw, words, {**names, EVERY: EVERY})
    drafted = _drafted(captured, parts, columns)
    reading = _reading(captured, columns, names)
    terms, by_name = _terms(captured, drafted, columns, names)
    if not terms:
        why = "; ".join(str(d) for d in captured.doubts[:3]) or "no utility has a parameter"
        raise SpecificationError(f"No term of the model was understood. {why}.")
    captured.doubts += _exponents(captured, terms)
    fixed, start = _values(captured, by_name)
    return ScriptModel(
        package=captured.package,
        specification=Specification(tuple(terms)),
        reading=_in_order(reading, columns, names, captured),
        layout=_layout(captured),
        not_understood=tuple(sorted(captured.doubts, key=lambda d: d.line)),
        fixed=fixed,
        start=start,
        random=_random(captured, parts, by_name, names),
        names=by_name,
        table=captured.table.path,
        notes=tuple(captured.notes),
    )


def _layout(captured: Captured) -> str:
    return "long" if captured.is_long else "wide"


def _assumptions(captured: Captured, raw: set[str]) -> list[Doubt]:
    """Names that the script does not define, and that the model uses as columns."""
    used = {name: line for name, line in captured.assumed.items() if name in raw}
    if not used:
        return []
    names = ", ".join(sorted(used)[:8])
    more = f" and {len(used) - 8} more" if len(used) > 8 else ""
    reason = f"{names}{more}: not defined in the script, and taken for columns of the table"
    return [Doubt(min(used.values()), "", reason)]


def _raw_columns(captured: Captured, parts: Linear) -> set[str]:
    """Every column of the table that something is made of."""
    found = [e for by_code in parts.columns.values() for e in by_code.values()]
    found += [captured.table.resolved(e) for e in captured.availability.values()]
    found += captured.table.filters
    found += [e for e in (captured.choice, captured.weight) if e is not None]
    return {name for e in found for name in column_names(e)}


# -- Names of alternatives ------------------------------------------------------------------------


def _names(captured: Captured, raw: set[str]) -> dict[Any, str]:
    """The names whose words most columns have: of the script, of availability, or the codes."""
    codes = list(captured.utilities)
    plain = {code: str(code) for code in codes}
    ours = [
        {code: _bare(captured.names.get(code, "")) for code in codes},
        {code: _from_availability(captured.availability.get(code)) for code in codes},
    ]
    candidates = [c for c in ours if all(c.values()) and len(set(c.values())) == len(codes)]
    if all(isinstance(code, str) and not code.isdigit() for code in codes):
        candidates.insert(0, plain)
    candidates.append(plain)

    def known(names: Mapping[Any, str]) -> int:
        words = [split_words(name) for name in names.values()]
        return sum(1 for column in raw for w in words if w & split_words(column))

    return max(candidates, key=known)


def _bare(name: str) -> str:
    """``V_TRAIN`` as ``TRAIN``."""
    found = UTILITY.sub("", name)
    return "" if found.isdigit() else found


def _from_availability(condition: Expression | None) -> str:
    """``CAR_AV_SP`` as ``CAR``."""
    for column in column_names(condition) if condition is not None else ():
        parts = [p for p in re.split(r"[_.]", column) if p.lower() not in AVAILABILITY_WORDS]
        return "_".join(parts)
    return ""


def _words_of(captured: Captured, code: Any, name: str) -> frozenset[str]:
    """Words that columns of an alternative have in their names."""
    words = split_words(name) | split_words(_bare(captured.names.get(code, "")))
    if isinstance(code, str):
        words |= split_words(code)
    words |= split_words(_from_availability(captured.availability.get(code)))
    return frozenset(w for w in words if not w.isdigit())


# -- Terms ----------------------------------------------------------------------------------------


def _drafted(captured: Captured, parts: Linear, columns: Columns) -> dict[str, Drafted]:
    """Parameter -> term; the ones with attributes of several alternatives name them first."""
    out: dict[str, Drafted] = {}
    order = sorted(parts.columns, key=lambda p: -len(parts.columns[p]))
    for parameter in order:
        try:
            out[parameter] = columns.term(parameter, parts.columns[parameter])
        except UnreadableError as error:
            captured.doubts.append(Doubt(0, "", f"{parameter}: {error}"))
    return {p: out[p] for p in parts.columns if p in out}


def _terms(
    captured: Captured, drafted: Mapping[str, Drafted], columns: Columns, names: Mapping[Any, str]
) -> tuple[list[Term], dict[str, Term]]:
    by_name: dict[str, Term] = {}
    seen: dict[object, str] = {}
    for parameter, one in drafted.items():
        if one.what is None and not one.by and set(one.codes) == set(captured.utilities):
            reason = f"{parameter} is a constant in every utility, which has no effect"
            captured.doubts.append(Doubt(0, "", reason))
            continue
        term = finished(one, columns, names)
        alike = (frozenset(term.where), term.what, term.how, frozenset(term.by))
        if alike in seen:
            reason = f"{parameter} multiplies the same as {seen[alike]}: only that is read"
            captured.doubts.append(Doubt(0, "", reason))
            continue
        seen[alike] = parameter
        by_name[parameter] = term
    return list(by_name.values()), by_name


def _exponents(captured: Captured, terms: Iterable[Term]) -> list[Doubt]:
    """Where forms share exponents there, or have several: here every form has one of its own."""
    forms = {(term.what, term.where) for term in terms if isinstance(term.how, BoxCox)}
    there = sorted(captured.exponents)
    if not there or len(forms) == len(there):
        return []
    reason = (
        f"exponents that are estimated are {len(there)} there ({', '.join(there)}), and "
        f"{len(forms)} here: a Box-Cox form of an attribute has one of its own"
    )
    return [Doubt(0, "", reason)]


def _values(
    captured: Captured, by_name: Mapping[str, Term]
) -> tuple[dict[str, float], dict[str, float]]:
    """Fixed values and starting values, by term."""
    fixed, start = {}, {}
    for parameter, term in by_name.items():
        known = captured.parameters.get(parameter, Start())
        if known.is_fixed:
            fixed[str(term)] = known.value
        elif known.value:
            start[str(term)] = known.value
    return fixed, start


def _random(
    captured: Captured, parts: Linear, by_name: Mapping[str, Term], names: Mapping[Any, str]
) -> dict[str, str]:
    out: dict[str, str] = {}
    for parameter, how in parts.random.items():
        if parameter in by_name:
            out[str(by_name[parameter])] = how
        else:
            captured.doubts.append(Doubt(0, "", f"{parameter} is random and in no utility"))
    for codes, how in parts.components.values():
        where = tuple(names[code] for code in codes)
        out[str(Term(where, None, LinearForm(), ()))] = how
    return out


# -- Reading --------------------------------------------------------------------------------------


def _reading(captured: Captured, columns: Columns, names: Mapping[Any, str]) -> dict[str, Any]:
    """Arguments of the reader beyond attributes, covariates and derived columns."""
    out: dict[str, Any] = {}
    if captured.choice is not None:
        key = "choice" if _layout(captured) == "wide" else "chosen"
        choice = captured.choice
        if captured.table.wide is not None:
            choice = captured.table.in_alternative(choice, next(iter(names), ""))
        out[key] = columns.column(captured.table.resolved(choice), "CHOICE")
    known = [code for code in names if code != EVERY]
    if known:
        out["alternatives"] = {names[code]: _code(captured, code) for code in known}
    if _layout(captured) == "long":
        out["situation"], out["alternative"] = captured.situation, captured.alternative
    available = {
        names[code]: columns.column(captured.table.resolved(e), f"{names[code]}_AV")
        for code, e in captured.availability.items()
        if code in names
    }
    if available:
        out["availability"] = available
    if captured.person is not None:
        out["person"] = captured.person
    if captured.weight is not None:
        out["weight"] = columns.column(captured.table.resolved(captured.weight), "WEIGHT")
    if captured.drop_invalid:
        out["drop_invalid"] = True
    filters = list((captured.table.wide or captured.table).filters)
    if captured.table.wide is not None:
        filters += _long_filters(captured, names)
    if filters:
        both = filters[0]
        for one in filters[1:]:
            both = operation("and", both, one)
        out["where"] = str(both)
    return out


def _long_filters(captured: Captured, names: Iterable[Any]) -> list[Expression]:
    """Filters of a long table that was made of a wide one: those that are of the person."""
    out = []
    table = captured.table
    for one in table.filters:
        each = {str(table.in_alternative(one, code)) for code in names}
        if len(each) == 1:
            out.append(table.in_alternative(one, next(iter(names))))
        else:
            captured.doubts.append(Doubt(0, "", f"a filter of rows of alternatives: {one}"))
    return [e for e in out if not isinstance(e, Literal)]


def _code(captured: Captured, code: Any) -> Any:
    """The code in the table, where the script replaced it."""
    for raw, new in captured.codes.items():
        if new == code:
            return raw
    return int(code) if isinstance(code, float) and code.is_integer() else code


def _in_order(
    reading: Mapping[str, Any], columns: Columns, names: Mapping[Any, str], captured: Captured
) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    for name, by_code in columns.attributes.items():
        if EVERY in by_code or _layout(captured) == "long":
            attributes[name] = numeric(next(iter(by_code.values())))
        else:
            attributes[name] = numeric({names[code]: column for code, column in by_code.items()})
    out = dict(reading) | {"attributes": attributes}
    if columns.covariates:
        out["covariates"] = {n: numeric(column) for n, column in columns.covariates.items()}
    if columns.derive:
        out["derive"] = dict(columns.derive)
    return out
