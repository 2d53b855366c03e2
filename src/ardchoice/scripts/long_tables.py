"""Scripts for PyLogit and xlogit, whose tables have a row per situation and alternative."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ardchoice.expressions import Column, Expression, Literal
from ardchoice.scripts.calls import CALLS
from ardchoice.scripts.capture import EVERY, Captured, Start, column_name, is_code, with_choice
from ardchoice.scripts.forms import (
    Form,
    Parameter,
    UnreadableError,
    add,
    changed,
    multiply,
    number,
    of,
    operation,
    symbol,
)
from ardchoice.scripts.interpret import CallMade, Reader
from ardchoice.scripts.values import Doubt, Record, Selected, Table, Unknown, as_form

XLOGIT_DRAWS = {
    "n": "normal",
    "ln": "lognormal",
    "t": "triangular",
    "u": "uniform",
    "tn": "truncated",
}


# -- From wide to long ----------------------------------------------------------------------------


def _pylogit_long(reader: Reader, made: CallMade) -> Any:
    """``pylogit.convert_wide_to_long``."""
    wide = made.get(0, "wide_data")
    varying, available = made.get(2, "alt_specific_vars"), made.get(3, "availability_vars")
    if not (isinstance(wide, Table) and isinstance(varying, dict) and isinstance(available, dict)):
        raise UnreadableError("the columns of the long table are not known")
    long = Table(
        wide.path,
        person=wide.person,
        codes=tuple(available),
        number=str(made.get(6, "new_alt_id_name", default="alt_id")),
        varying={str(name): dict(of) for name, of in varying.items() if isinstance(of, dict)},
        wide=wide.copy(),
        doubts=list(wide.doubts),
    )
    long.mapped = dict(wide.mapped)
    reader.captured.append(("available", Record("available", dict(available))))
    return long


def _xlogit_long(reader: Reader, made: CallMade) -> Any:
    """``xlogit.utils.wide_to_long``."""
    wide, codes = made.get(0, "dataframe"), made.get(2, "alt_list")
    if not isinstance(wide, Table) or not isinstance(codes, list | tuple):
        raise UnreadableError("the columns of the long table are not known")
    sep, first = str(made.get(5, "sep", default="_")), made.get(6, "alt_is_prefix", default=False)
    names = made.get(4, "varying", default=()) or ()
    varying = {
        str(name): {c: f"{c}{sep}{name}" if first else f"{name}{sep}{c}" for c in codes}
        for name in names
    }
    long = Table(
        wide.path, codes=tuple(codes), number=str(made.get(3, "alt_name")), varying=varying,
        wide=wide.copy(), doubts=list(wide.doubts),
    )  # fmt: skip
    long.mapped = dict(wide.mapped)
    return long


# -- PyLogit --------------------------------------------------------------------------------------


def _choice_model(reader: Reader, made: CallMade) -> Any:
    words = ("data", "alt_id_col", "obs_id_col", "choice_col", "specification", "model_type")
    values: dict[str, Any] = {w: made.get(i, w) for i, w in enumerate(words)}
    values["names"] = made.get(8, "names")
    values["nests"] = made.get(11, "nest_spec")
    values["mixing_id"], values["mixing"] = (
        made.get(12, "mixing_id_col"),
        made.get(13, "mixing_vars"),
    )
    values |= {"line": made.line, "text": made.text}
    record = Record("pylogit", values)
    reader.captured.append(("pylogit", record))
    return record


def pylogit_model(reader: Reader, alternatives: Iterable[Any] | None) -> Captured | None:
    """The model that was captured; None where there is none."""
    found = [record for kind, record in reader.captured if kind == "pylogit"]
    if not found:
        return None
    made = found[-1].values
    captured = _start("pylogit", reader, made["data"], made["alt_id_col"], made["obs_id_col"])
    _only_one(captured, found)
    captured.alternative = column_name(made["alt_id_col"])
    if str(made["model_type"]) not in ("MNL", "Mixed Logit"):
        reason = f"a model of the kind {made['model_type']!r:.40} is read as a multinomial logit"
        captured.doubts.append(Doubt(made["line"], made["text"], reason))
    spec = made["specification"]
    if not isinstance(spec, dict):
        captured.doubts.append(Doubt(made["line"], made["text"], "the specification is not known"))
        return captured
    codes = _codes(captured, spec, alternatives)
    captured.utilities = {code: number(0) for code in codes}
    for name, entry in spec.items():
        given = made["names"].get(name) if isinstance(made["names"], dict) else None
        _add_entry(captured, str(name), entry, given, made["line"])
    _mixing(captured, made)
    choice = made["choice_col"]
    with_choice(captured, captured.table.column(str(choice)), made["line"], made["text"])
    wide = captured.table.wide
    for kind, record in reader.captured:
        if kind == "available" and wide is not None:
            columns = {code: str(column) for code, column in record.values.items()}
            made_of = {code: wide.columns.get(c, Column(c)) for code, c in columns.items()}
            captured.availability = {
                code: condition
                for code, condition in made_of.items()
                if condition not in (Literal(1.0), Literal(True))
            }
    return captured


def _only_one(captured: Captured, found: list[Record]) -> None:
    """Say which of several models is read."""
    lines = dict.fromkeys(record.values["line"] for record in found)
    if len(lines) > 1:
        reason = f"{len(lines)} models; the last is read (line {list(lines)[-1]})"
        captured.doubts.append(Doubt(0, "", reason))


def _start(package: str, reader: Reader, table: Any, number_of: Any, situation: Any) -> Captured:
    captured = Captured(package, labels=reader.labels, layout="long")
    if isinstance(table, Unknown):
        captured.doubts.append(table.doubt)
    if not isinstance(table, Table):
        table = reader.tables[-1] if reader.tables else Table()
    captured.table = table
    captured.doubts += table.doubts
    captured.situation = column_name(situation)
    captured.alternative = column_name(number_of)
    return captured


def _codes(captured: Captured, spec: Mapping[Any, Any], given: Iterable[Any] | None) -> list[Any]:
    """The alternatives: of the table, as given, or those that the specification names."""
    if captured.table.codes:
        return list(captured.table.codes)
    if given is not None:
        return list(given)
    if all(entry == "all_same" for entry in spec.values()):
        return [EVERY]
    named: dict[Any, None] = {}
    for entry in spec.values():
        for one in entry if isinstance(entry, list | tuple) else ():
            codes = one if isinstance(one, list | tuple) else (one,)
            named |= dict.fromkeys(code for code in codes if is_code(code))
    base = "those that the specification does not name, such as the reference, are missing"
    reason = f"its alternatives are not known: {base}; pass the table or alternatives=[...]"
    captured.doubts.append(Doubt(0, "", reason))
    return list(named)


def _add_entry(captured: Captured, name: str, entry: Any, given: Any, line: int) -> None:
    """One column of a specification, with its coefficients."""
    codes = list(captured.utilities)
    if isinstance(entry, str):
        groups: list[list[Any]] = [codes] if entry == "all_same" else [[c] for c in codes]
    elif isinstance(entry, list | tuple):
        groups = [list(one) if isinstance(one, list | tuple) else [one] for one in entry]
    else:
        captured.doubts.append(Doubt(line, name, "the alternatives of this column are not known"))
        return
    labels = given if isinstance(given, list | tuple) else [given]
    for i, group in enumerate(groups):
        label = str(labels[i]) if i < len(labels) and labels[i] else f"{name}_{i + 1}"
        label = _unique(label, captured)
        captured.hints[label] = name
        coefficient = symbol(Parameter(label))
        for code in group:
            if not is_code(code) or code not in captured.utilities:
                captured.doubts.append(Doubt(line, name, f"there is no alternative {code!r:.40}"))
                continue
            _add(captured, code, coefficient, name, line)


def _unique(label: str, captured: Captured) -> str:
    while label in captured.parameters:
        label += "_"
    captured.parameters[label] = Start()
    return label


def _add(captured: Captured, code: Any, coefficient: Form, name: str, line: int) -> None:
    """Add coefficient times column to the utility of an alternative."""
    column = _long_column(captured.table, name)
    if isinstance(column, Unknown):
        doubt = column.doubt
        if doubt not in captured.doubts:
            captured.doubts.append(doubt)
        return
    try:
        here = changed(column, lambda c: c)
        if captured.table.wide is not None:
            here = of(captured.table.in_alternative(column.pure(), code))
        elif captured.alternative is not None:
            here = changed(column, lambda c: _at(c, captured.alternative, code))
        captured.utilities[code] = add(captured.utilities[code], multiply(coefficient, here))
    except UnreadableError as error:
        captured.doubts.append(Doubt(line, name, str(error)))


def _at(column: Column, alternative: str | None, code: Any) -> Expression:
    """A column of the row of an alternative: its code is known."""
    if column.name == alternative and code != EVERY:
        return Literal(code if isinstance(code, str) else float(code))
    return column


def _long_column(table: Table, name: str) -> Form | Unknown:
    if name in ("intercept", "_intercept") and name not in table.columns:
        return number(1)
    by = table.mapped.get(name)
    if by is not None and set(by) == {None}:
        doubt = by[None] or Doubt(0, "", "it is not known")
        return Unknown(Doubt(doubt.line, doubt.text, f"column {name}: {doubt.reason}"))
    return table.column(name)


def _mixing(captured: Captured, made: Mapping[str, Any]) -> None:
    """Normal coefficients of a mixed logit, by the names of their means."""
    if isinstance(made["mixing"], list | tuple):
        captured.random |= {str(name): "normal" for name in made["mixing"]}
        captured.person = column_name(made["mixing_id"])


# -- xlogit ---------------------------------------------------------------------------------------


def _new_model(reader: Reader, made: CallMade) -> Any:
    return Record(made.name)


def _fit(reader: Reader, made: CallMade) -> Any:
    if not isinstance(made.on, Record) or made.on.kind not in ("MultinomialLogit", "MixedLogit"):
        return NotImplemented
    words = ("X", "y", "varnames", "alts", "ids")
    values: dict[str, Any] = {w: made.get(i, w) for i, w in enumerate(words)}
    values |= dict(made.keywords) | {"line": made.line, "text": made.text}
    reader.captured.append(("xlogit", Record(made.on.kind, values)))
    return None


def xlogit_model(reader: Reader, alternatives: Iterable[Any] | None) -> Captured | None:
    """The model that was captured; None where there is none."""
    found = [record for kind, record in reader.captured if kind == "xlogit"]
    if not found:
        return None
    made = found[-1].values
    table = made["X"].table if isinstance(made["X"], Selected) else made["X"]
    captured = _start("xlogit", reader, table, made["alts"], made["ids"])
    _only_one(captured, found)
    names = _texts(made["varnames"]) or _texts(made["X"])
    if not names:
        captured.doubts.append(Doubt(made["line"], made["text"], "varnames are not known"))
    fixed = _texts(made.get("isvars"))
    captured.covariates = set(fixed)
    codes = _xlogit_codes(captured, made, alternatives, fixed)
    captured.utilities = {code: number(0) for code in codes}
    base = (
        made.get("base_alt")
        if made.get("base_alt") is not None
        else min(codes, key=_order, default=None)
    )
    own = [*(["_intercept"] if made.get("fit_intercept") is True else []), *fixed]
    for name in own:
        for code in codes:
            if code != base:
                _one(captured, f"{name}.{code}", [code], name, made["line"])
    for name in names:
        if name not in fixed:
            _one(captured, name, codes, name, made["line"])
    _xlogit_options(captured, made)
    with_choice(captured, made["y"], made["line"], made["text"])
    return captured


def _order(code: Any) -> tuple[bool, Any]:
    return (isinstance(code, str), code)


def _one(captured: Captured, label: str, codes: Iterable[Any], column: str, line: int) -> None:
    captured.parameters.setdefault(label, Start())
    captured.hints[label] = column
    for code in codes:
        _add(captured, code, symbol(Parameter(label)), column, line)


def _texts(value: Any) -> list[str]:
    if isinstance(value, Selected):
        return list(value.names)
    return [str(v) for v in value] if isinstance(value, list | tuple) else []


def _xlogit_codes(
    captured: Captured, made: Mapping[str, Any], given: Iterable[Any] | None, fixed: list[str]
) -> list[Any]:
    if captured.table.codes:
        return list(captured.table.codes)
    if given is not None:
        return list(given)
    if not fixed and made.get("fit_intercept") is not True:
        return [EVERY]
    reason = "its alternatives are in the data: pass the table or alternatives=[...]"
    captured.doubts.append(Doubt(made["line"], made["text"], reason))
    return []


def _xlogit_options(captured: Captured, made: Mapping[str, Any]) -> None:
    """Random coefficients, persons, weights, availability."""
    line, text = made["line"], made["text"]
    random = made.get("randvars")
    for name, kind in (random or {}).items() if isinstance(random, dict) else ():
        if str(kind) not in XLOGIT_DRAWS:
            captured.doubts.append(Doubt(line, text, f"the distribution {kind!r:.40} is not known"))
            continue
        if kind == "tn":
            reason = (
                f"xlogit's truncated normal of {name} is censored, with persons at zero; here "
                "it is a normal distribution cut at zero"
            )
            captured.doubts.append(Doubt(line, text, reason))
        sign = "+" if kind in ("ln", "tn") else ""
        captured.random[str(name)] = sign + XLOGIT_DRAWS[str(kind)]
    captured.person = column_name(made.get("panels"))
    if isinstance(made.get("weights"), Form):
        captured.weight = made["weights"].pure("the weights")
    if made.get("transvars"):
        reason = "Box-Cox exponents that are estimated are not read: use boxcox(v) or a fixed one"
        captured.doubts.append(Doubt(line, text, reason))
    available = made.get("avail")
    if available is None:
        return
    try:
        condition = as_form(available).pure("availability")
    except UnreadableError as error:
        captured.doubts.append(Doubt(line, text, str(error)))
        return
    if captured.table.wide is None:
        captured.table = captured.table.filtered(operation("==", condition, Literal(1.0)))
        return
    for code in captured.utilities:
        here = captured.table.in_alternative(condition, code)
        if here not in (Literal(1.0), Literal(True)):
            captured.availability[code] = here


LONG: Mapping[str, Callable[[Reader, CallMade], Any]] = {
    **CALLS,
    "convert_wide_to_long": _pylogit_long,
    "wide_to_long": _xlogit_long,
    "create_choice_model": _choice_model,
    "MultinomialLogit": _new_model,
    "MixedLogit": _new_model,
    "fit": _fit,
}
