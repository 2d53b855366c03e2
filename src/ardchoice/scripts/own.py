"""Scripts that `ardchoice.export` wrote: their functions are known and need not be followed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ardchoice.scripts.capture import Captured, Start, column_name
from ardchoice.scripts.forms import (
    Form,
    Parameter,
    UnreadableError,
    apply,
    combine,
    multiply,
    number,
    symbol,
)
from ardchoice.scripts.forms import add as added
from ardchoice.scripts.interpret import CallMade, Reader, plain
from ardchoice.scripts.values import Doubt, Mapped, Table, Unknown, as_form

WRITTEN = re.compile(r"\A(?:#[^\n]*\n){0,2}?# An? [^\n]* for [^\n]*, written by ardchoice ")
FUNCTIONS = frozenset(
    (
        *("read", "read_choices", "numbers", "labels", "labels_of", "one_of", "yes", "cell"),
        *("put", "between", "finite", "known", "both", "either", "chosen"),
    )
)


def is_own(text: str) -> bool:
    """Whether ardchoice wrote a script."""
    return WRITTEN.match(text) is not None


def own_reader(reader: Reader, text: str) -> None:
    """Let a reader know the functions of our scripts, where it is one."""
    if not is_own(text):
        return
    reader.known = FUNCTIONS
    reader.calls = {
        **reader.calls,
        **dict.fromkeys(("read", "read_choices"), lambda r, made: _new_table(r)),
        "numbers": _same,
        "labels": _same,
        "labels_of": _same,
        "yes": _same,
        "cell": _cell,
        "put": _put,
        "one_of": _one_of,
        "between": _between,
        **dict.fromkeys(("finite", "known", "broadcast_to", "rep", "rep_len", "which"), _same),
        "both": _joined("and"),
        "either": _joined("or"),
        "chosen": _chosen,
        "factorize": _persons,
        **dict.fromkeys(("DataFrame", "data_frame"), _made_table),
        "isin": _chosen_rows,
        "match": _matched,
        "arange": lambda r, made: Unknown(r.doubt_of(made, "positions are not followed")),
    }


def _new_table(reader: Reader) -> Table:
    table = Table()
    path = reader.top.values.get("DATA")
    table.path = path if isinstance(path, str) else None
    reader.tables.append(table)
    return table


def _same(reader: Reader, made: CallMade) -> Any:
    return made.get(0)


def _cell(reader: Reader, made: CallMade) -> Any:
    """The values of a column."""
    name = made.get(0)
    if not isinstance(name, str):
        raise UnreadableError("the column of a cell is not known")
    return reader.column(reader.tables[-1], name) if reader.tables else Table().column(name)


def _put(reader: Reader, made: CallMade) -> Any:
    """Columns by their names; they are used only where the alternative is available."""
    names, given = reader.items(made.get(0)), made.get(1)
    values = list(given.values()) if isinstance(given, dict) else reader.items(given)
    own = reader.top.values.setdefault(" columns", {})
    for name, value in zip(names, values, strict=True):
        own[str(name)] = value
        if isinstance(table := reader.top.values.get(" table"), Table):
            reader.set_column(table, str(name), value)
        reader.label(str(name), value)


def _joined(word: str) -> Callable[[Reader, CallMade], Any]:
    return lambda reader, made: plain(combine(word, *map(as_form, made.arguments)))


def _chosen(reader: Reader, made: CallMade) -> Any:
    return plain(apply("if", *map(as_form, made.arguments)))


def _one_of(reader: Reader, made: CallMade) -> Any:
    """Labels as numbers, where all of them are such."""
    column, wanted = as_form(made.get(0)), reader.items(made.get(1))
    texts = [w for w in wanted if isinstance(w, str | int | float)]
    listed: list[Any] = texts
    if all(_is_number(t) for t in texts):
        listed = [float(t) for t in texts]
    out = number(0)
    if len(listed) == 1:
        out = combine("==", column, as_form(listed[0]))
    elif listed:
        out = combine("in", column, *map(as_form, listed))
    if len(texts) < len(wanted):
        missing = apply("is_missing", column)
        out = combine("or", missing, out) if listed else missing
    return plain(out)


def _is_number(text: object) -> bool:
    try:
        float(str(text))
    except ValueError:
        return False
    return True


def _between(reader: Reader, made: CallMade) -> Any:
    column, low, high = as_form(made.get(0)), made.get(1), made.get(2)
    sides = []
    if isinstance(low, int | float):
        sides.append(combine(">=", column, as_form(low)))
    if isinstance(high, int | float):
        sides.append(combine("<", column, as_form(high)))
    return sides[0] if len(sides) == 1 else combine("and", *sides)


def _persons(reader: Reader, made: CallMade) -> Any:
    """Who chose: the column itself."""
    column = made.get(0)
    reader.top.values.setdefault(" persons", []).append(column_name(column))
    return (column, None)


def _matched(reader: Reader, made: CallMade) -> Any:
    """``match(column, codes)`` of R: the number of every code; of persons, the column itself."""
    column, codes = made.get(0), made.get(1)
    if isinstance(codes, list) and isinstance(column, Form):
        return Mapped(column, {code: i for i, code in enumerate(codes, 1)})
    if isinstance(column, Form):
        reader.top.values.setdefault(" persons", []).append(column_name(column))
    return column


def _made_table(reader: Reader, made: CallMade) -> Any:
    """``pd.DataFrame(x)``: the table with all columns made."""
    table, columns = Table(), made.get(0, default=dict(made.keywords))
    if not isinstance(columns, dict):
        return NotImplemented
    every = {**columns, **reader.top.values.get(" columns", {})}
    if reader.tables:
        table = reader.tables[-1].copy()
    for name, value in every.items():
        reader.set_column(table, str(name), value)
    reader.tables.append(table)
    reader.top.values.setdefault(" table", table)
    return table


def _chosen_rows(reader: Reader, made: CallMade) -> Any:
    """Rows by their positions are those without a known choice; else whether values are listed."""
    wanted = made.arguments[-1]
    if wanted is reader.top.values.get("LEFT_OUT") or isinstance(wanted, Form):
        reader.top.values[" dropped"] = True
        return True
    column = made.on if len(made.arguments) == 1 else made.arguments[0]
    return plain(combine("in", as_form(column), *map(as_form, reader.items(wanted))))


def own_model(captured: Captured, reader: Reader) -> None:
    """What only our scripts say: names of alternatives, the coefficients of long tables."""
    values = reader.top.values
    names = values.get("ALTERNATIVES")
    if isinstance(names, dict):
        captured.names = {
            code: str(name) for code, name in names.items() if code in captured.utilities
        }
    captured.person = (values.get(" persons") or [None])[-1]
    captured.drop_invalid = bool(values.get(" dropped"))
    alternative, situation = (reader.assigned.get(n) for n in ("alternative", "situation"))
    if isinstance(alternative, Mapped):
        _long(captured, alternative, situation, reader)


def _long(captured: Captured, alternative: Mapped, situation: Any, reader: Reader) -> None:
    """A script that reads a table with a row per situation and alternative."""
    ids = reader.assigned.get("ids", situation)
    captured.layout, captured.availability = "long", {}
    captured.alternative, captured.codes = column_name(alternative.of), alternative.by
    captured.situation, chosen = column_name(ids), reader.assigned.get("chosen")
    if captured.person == captured.situation:
        captured.person = None
    captured.choice = None
    if isinstance(chosen, Form):
        captured.choice = chosen.pure("the choice")
    if captured.situation is None:
        reason = "several columns number the situations: pass situation=[...] to read"
        captured.doubts.append(Doubt(0, "", reason))


def own_long_model(package: str, reader: Reader) -> Captured | None:
    """PyLogit and xlogit: a dict of coefficients has what every one multiplies."""
    values = reader.top.values
    table, made = values.get(" table"), values.get("COEFFICIENTS")
    alternatives, available = values.get("ALTERNATIVES"), values.get("AVAILABILITY")
    if not (isinstance(made, dict) and isinstance(available, dict)):
        return None
    if not (isinstance(alternatives, dict) and isinstance(table, Table)):
        return None
    captured = Captured(package, table=table, labels=reader.labels)
    captured.utilities = {code: number(0) for code in alternatives}
    for name, factors in made.items():
        captured.parameters[str(name)] = Start()
        known = factors.items() if isinstance(factors, dict) else ()
        for code, columns in known:
            if code not in captured.utilities or not isinstance(columns, tuple):
                reason = f"{name}: there is no alternative {code!r:.40}"
                captured.doubts.append(Doubt(0, "", reason))
                continue
            product = symbol(Parameter(str(name)))
            for column in columns:
                product = multiply(product, as_form(reader.column(table, str(column))))
            captured.utilities[code] = added(captured.utilities[code], product)
    for code, column in available.items():
        condition = reader.column(table, str(column))
        if not isinstance(condition, Unknown):
            captured.availability[code] = as_form(condition).pure("availability")
    if "WEIGHT" in table.columns:
        captured.weight = table.columns["WEIGHT"]
    choice = reader.column(table, "CHOICE")
    if isinstance(choice, Mapped):
        captured.codes, choice = dict(choice.by), choice.of
    captured.choice = as_form(choice).pure("the choice")
    return captured
