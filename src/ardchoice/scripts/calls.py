"""Functions of Python, NumPy, pandas and R that scripts call, and what they stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ardchoice.expressions import Expression, ExpressionError, Literal, parse_expression
from ardchoice.scripts.forms import (
    Form,
    UnreadableError,
    add,
    apply,
    combine,
    divide,
    multiply,
    number,
    of,
    power,
)
from ardchoice.scripts.interpret import LONGEST_LIST, CallMade, Reader, plain
from ardchoice.scripts.values import Foreign, Mapped, Table, Unknown, as_form, negated

Call = Callable[[Reader, CallMade], Any]


def _function(name: str) -> Call:
    def call(reader: Reader, made: CallMade) -> Any:
        if name in ("min", "max") and len(made.arguments) == 1:
            return NotImplemented
        arguments = made.arguments or tuple(made.keywords.values())[:1]
        return plain(apply(name, *map(as_form, arguments)))

    return call


def _same(reader: Reader, made: CallMade) -> Any:
    """Methods and functions that change neither values nor their order."""
    if made.on is not None and not isinstance(made.on, Foreign):
        return made.on
    return made.get(0, "x", "data", "object", "obj", "a", "values", default=NotImplemented)


def _sum(reader: Reader, made: CallMade) -> Any:
    if isinstance(made.on, Form | Table | Mapped):
        return NotImplemented
    total = number(0)
    first = made.get(0, "list_of_expressions", "terms")
    for value in first.values() if isinstance(first, dict) else reader.items(first):
        total = add(total, as_form(value))
    return plain(total)


def _where(reader: Reader, made: CallMade) -> Any:
    if isinstance(made.on, Table | Form):
        return NotImplemented
    sides = [made.get(i, name) for i, name in enumerate(("test", "yes", "no"))]
    missing = of(Literal(None))  # NA in R
    return plain(apply("if", *(missing if s is None else as_form(s) for s in sides)))


def _isin(reader: Reader, made: CallMade) -> Any:
    column = made.on if isinstance(made.on, Form) else as_form(made.arguments[0])
    listed = made.arguments[0] if isinstance(made.on, Form) else made.arguments[1]
    return plain(combine("in", column, *map(as_form, reader.items(listed))))


def _unary(build: Callable[[Form], Form]) -> Call:
    def call(reader: Reader, made: CallMade) -> Any:
        value = made.arguments[0] if made.arguments else made.on
        return plain(build(as_form(value)))

    return call


def _method(operator: str | Callable[[Form, Form], Form]) -> Call:
    """``column.eq(1)``, ``column.mul(2)``."""

    def call(reader: Reader, made: CallMade) -> Any:
        if not isinstance(made.on, Form) or len(made.arguments) != 1:
            return NotImplemented
        other = as_form(made.arguments[0])
        if callable(operator):
            return plain(operator(made.on, other))
        return plain(combine(operator, made.on, other))

    return call


def _fillna(reader: Reader, made: CallMade) -> Any:
    if isinstance(made.on, Table):
        return _rows(reader, made)
    if not isinstance(made.on, Form):
        return made.on
    return apply("if", apply("is_missing", made.on), as_form(made.arguments[0]), made.on)


def _clip(reader: Reader, made: CallMade) -> Any:
    if not isinstance(made.on, Form):
        return NotImplemented
    low, high = made.get(0, "lower"), made.get(1, "upper")
    out = made.on if low is None else apply("max", made.on, as_form(low))
    return out if high is None else apply("min", out, as_form(high))


def _between(reader: Reader, made: CallMade) -> Any:
    low, high = (as_form(made.get(i, n)) for i, n in enumerate(("left", "right")))
    column = as_form(made.on)
    return combine("and", combine(">=", column, low), combine("<=", column, high))


def _map(reader: Reader, made: CallMade) -> Any:
    by = made.get(0, "arg", "to_replace")
    if isinstance(made.on, Form) and isinstance(by, dict):
        return Mapped(made.on, dict(by))
    return NotImplemented


def _ones(value: float) -> Call:
    """``np.ones(len(table))``: a constant in every row."""

    def call(reader: Reader, made: CallMade) -> Any:
        return value

    return call


# -- Lists ----------------------------------------------------------------------------------------


def _list(reader: Reader, made: CallMade) -> Any:
    if made.keywords and not made.arguments:
        return dict(made.keywords)
    first = made.get(0)
    if isinstance(first, Form):
        return first
    return [] if first is None else reader.items(first)


def _dict(reader: Reader, made: CallMade) -> Any:
    first = made.get(0)
    out: dict[Any, Any] = {}
    if isinstance(first, Unknown):
        raise UnreadableError(first.doubt.reason)
    if isinstance(first, dict):
        out = dict(first)
    elif isinstance(first, list | tuple):
        out = {pair[0]: pair[1] for pair in reader.items(first)}
    return out | dict(made.keywords)


def _range(reader: Reader, made: CallMade) -> Any:
    if not made.arguments or not all(isinstance(a, int) for a in made.arguments):
        raise UnreadableError("the length of a loop is not known")
    found = range(*made.arguments)
    if len(found) > LONGEST_LIST:
        raise UnreadableError("a loop is too long")
    return list(found)


def _zip(reader: Reader, made: CallMade) -> Any:
    return list(zip(*(reader.items(a) for a in made.arguments), strict=False))


def _enumerate(reader: Reader, made: CallMade) -> Any:
    start = made.get(1, "start", default=0)
    return [(i + start, v) for i, v in enumerate(reader.items(made.arguments[0]))]


def _entries(kind: str) -> Call:
    def call(reader: Reader, made: CallMade) -> Any:
        if not isinstance(made.on, dict):
            return NotImplemented
        return list(getattr(made.on, kind)())

    return call


def _append(reader: Reader, made: CallMade) -> Any:
    if isinstance(made.on, list) and len(made.on) < LONGEST_LIST:
        made.on.append(made.arguments[0])
        return None
    return NotImplemented


def _update(reader: Reader, made: CallMade) -> Any:
    if isinstance(made.on, dict):
        made.on.update(_dict(reader, made))
        return None
    if isinstance(made.on, Unknown) and made.on.doubt.text.startswith("globals"):
        reader.columns_are_names = True
        return None
    return NotImplemented


def _entry(method: str) -> Call:
    """``get``, ``pop`` and ``setdefault`` of a dict."""

    def call(reader: Reader, made: CallMade) -> Any:
        if not isinstance(made.on, dict) or not made.arguments:
            return NotImplemented
        return getattr(made.on, method)(made.arguments[0], made.get(1))

    return call


def _code(reader: Reader, made: CallMade) -> Any:
    """``exec`` and ``eval`` of a text: it is not read, and may change anything."""
    if made.on is None:
        reader.doubts.append(reader.doubt_of(made, f"{made.name} of a text is not followed"))
    return NotImplemented


def _len(reader: Reader, made: CallMade) -> Any:
    value = made.get(0)
    return len(value) if isinstance(value, list | tuple | dict | str) else value


def _text(reader: Reader, made: CallMade) -> Any:
    value = made.get(0)
    return str(value) if isinstance(value, str | int | float) else NotImplemented


def _joined(reader: Reader, made: CallMade) -> Any:
    parts = [str(a) for a in made.arguments if isinstance(a, str | int | float)]
    if len(parts) != len(made.arguments):
        raise UnreadableError("a text depends on something that is not known")
    return str(made.keywords.get("sep", "" if made.name == "paste0" else " ")).join(parts)


def _format(reader: Reader, made: CallMade) -> Any:
    if not isinstance(made.on, str):
        return NotImplemented
    out = made.on
    for i, value in enumerate(made.arguments):
        for mark in ("{}", f"{{{i}}}"):
            out = out.replace(mark, str(value), 1)
    for name, value in made.keywords.items():
        out = out.replace(f"{{{name}}}", str(value))
    if len(out) > LONGEST_LIST:
        raise UnreadableError("a text is too long")
    return out


# -- Tables ---------------------------------------------------------------------------------------


def _read(reader: Reader, made: CallMade) -> Any:
    path = made.get(0, "filepath_or_buffer", "path", "file")
    table = Table(path if isinstance(path, str) else None)
    reader.tables.append(table)
    return table


def _copy(reader: Reader, made: CallMade) -> Any:
    return made.on.copy() if isinstance(made.on, Table) else _same(reader, made)


def _query(reader: Reader, made: CallMade) -> Any:
    if not isinstance(made.on, Table) or not isinstance(made.get(0, "expr"), str):
        return NotImplemented
    return made.on.filtered(_parsed(str(made.get(0, "expr"))))


def _parsed(text: str) -> Expression:
    for python, ours in (("&", " and "), ("|", " or "), ("~", " not ")):
        text = text.replace(python, ours)
    try:
        return parse_expression(text.replace("[", "(").replace("]", ")"))
    except ExpressionError:
        raise UnreadableError("the condition is not understood") from None


def _assign(reader: Reader, made: CallMade) -> Any:
    if not isinstance(made.on, Table):
        return NotImplemented
    out = made.on.copy()
    for name, value in made.keywords.items():
        reader.set_column(out, name, value)
    return out


def _rows(reader: Reader, made: CallMade) -> Any:
    """A method of a table that changes its rows in a way that is not understood."""
    if not isinstance(made.on, Table):
        return NotImplemented
    if made.name == "drop" and ("columns" in made.keywords or made.keywords.get("axis") == 1):
        return made.on
    if made.name == "drop":
        index = made.get(0, "labels", "index")
        if isinstance(index, Table) and len(index.filters) > len(made.on.filters):
            return made.on.filtered(negated(index.filters[-1]))
    out = made.on.copy()
    from ardchoice.scripts.values import Doubt

    out.doubts.append(Doubt(made.line, made.text, f"{made.name} may change the table"))
    return out


def _subset(reader: Reader, made: CallMade) -> Any:
    table, condition = made.get(0, "x"), made.get(1, "subset")
    if isinstance(table, Table) and isinstance(condition, Form):
        return table.filtered(condition.pure("a filter"))
    return table


CALLS: Mapping[str, Call] = {
    **{name: _function(name) for name in ("abs", "ceil", "exp", "floor", "log", "log1p", "round")},
    **{name: _function(name) for name in ("sqrt", "max", "min")},
    **dict.fromkeys(("maximum", "bioMax", "BinaryMax", "pmax"), _function("max")),
    **dict.fromkeys(("minimum", "bioMin", "BinaryMin", "pmin"), _function("min")),
    **dict.fromkeys(("isna", "isnull", "isnan", "is_na"), _unary(lambda f: apply("is_missing", f))),
    "notna": _unary(lambda f: combine("not", apply("is_missing", f))),
    "logzero": _function("log"),
    "log10": _unary(lambda f: divide(apply("log", f), number(2.302585092994046))),
    "square": _unary(lambda f: power(f, number(2))),
    "expm1": _unary(lambda f: add(apply("exp", f), number(1), "-")),
    "where": _where,
    "ifelse": _where,
    "isin": _isin,
    "fillna": _fillna,
    "clip": _clip,
    **dict.fromkeys(("with_name", "Path"), lambda reader, made: made.get(0)),
    "order": lambda reader, made: True,
    "between": _between,
    "map": _map,
    "replace": _map,
    **dict.fromkeys(("sum", "bioMultSum", "MultipleSum"), _sum),
    **{n: _method(o) for n, o in (("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="))},
    **{n: _method(o) for n, o in (("gt", ">"), ("ge", ">="))},
    **{n: _method(o) for n, o in (("mul", multiply), ("multiply", multiply), ("div", divide))},
    "ones": _ones(1),
    "ones_like": _ones(1),
    "zeros": _ones(0),
    "zeros_like": _ones(0),
    **dict.fromkeys(
        ("astype", "to_numpy", "to_list", "tolist", "reset_index", "sort_values", "as_numeric",
         "asarray", "array", "to_numeric", "Numeric", "numeric", "int", "float", "as_integer",
         "unique", "reshape", "ravel", "as_matrix", "sort_index", "rename_axis", "strip"),
        _same,
    ),
    "list": _list,
    "tuple": _list,
    "sorted": _list,
    **dict.fromkeys(("dict", "OrderedDict", "defaultdict"), _dict),
    "range": _range,
    "zip": _zip,
    "enumerate": _enumerate,
    **{kind: _entries(kind) for kind in ("items", "keys", "values")},
    "append": _append,
    "update": _update,
    **{method: _entry(method) for method in ("get", "pop", "setdefault")},
    **dict.fromkeys(("exec", "eval"), _code),
    "len": _len,
    "str": _text,
    "paste0": _joined,
    "paste": _joined,
    "format": _format,
    **dict.fromkeys(
        ("read_csv", "read_table", "read_parquet", "read_excel", "read_stata", "read_spss",
         "read_delim", "fread", "readRDS", "open_dataset"),
        _read,
    ),
    "copy": _copy,
    "query": _query,
    "assign": _assign,
    "subset": _subset,
    **dict.fromkeys(
        ("drop", "dropna", "merge", "join", "sample", "groupby", "head", "tail", "melt", "pivot",
         "drop_duplicates", "rename", "concat", "explode", "iloc", "set_index"),
        _rows,
    ),
}  # fmt: skip
"""Name of a function or method -> how it is understood."""
