"""Scripts for Biogeme: ``Beta``, ``Variable``, dicts of utilities and availability."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from ardchoice.expressions import Expression, Literal
from ardchoice.scripts.calls import CALLS
from ardchoice.scripts.capture import (
    Captured,
    Start,
    column_name,
    known_utilities,
    with_choice,
)
from ardchoice.scripts.forms import (
    Draws,
    Form,
    Parameter,
    UnreadableError,
    add,
    apply,
    divide,
    function,
    multiply,
    number,
    operation,
    power,
    symbol,
)
from ardchoice.scripts.interpret import CallMade, Reader
from ardchoice.scripts.segmentation import segmentation, segmentation_tuple, segmented_beta
from ardchoice.scripts.values import Doubt, Record, Table, Unknown, as_form, later, negated

LOGITS = (
    *("loglogit", "logit", "bioLogLogit", "LogLogit", "bioLogLogitFullChoiceSet"),
    *("loglogit_full_choice_set", "logit_full_choice_set", "LogLogitFullChoiceSet"),
)
NESTED = (
    *("lognested", "nested", "lognestedMevMu", "lognested_mev_mu", "logcnl", "cnl"),
    *("logcnl_avail", "cnl_avail", "logmev", "mev", "nestedMevMu", "nested_mev_mu"),
)


def _beta(reader: Reader, made: CallMade) -> Any:
    name = made.get(0, "name")
    if not isinstance(name, str):
        raise UnreadableError("the name of a parameter is not known")
    start, fixed = made.get(1, "value", default=0), made.get(4, "status", default=0)
    reader.parameters[name] = Record("beta", {"value": start, "fixed": fixed not in (0, False)})
    return symbol(Parameter(name))


def _variable(reader: Reader, made: CallMade) -> Any:
    name = made.get(0, "name")
    if not isinstance(name, str):
        raise UnreadableError("the name of a variable is not known")
    return later(name)


def _define(reader: Reader, made: CallMade) -> Any:
    """``database.define_variable(name, expression)``, or ``DefineVariable`` of older versions."""
    name, value = made.get(0, "name"), made.get(1, "expression")
    table = made.on if isinstance(made.on, Table) else made.get(2, "database")
    if not isinstance(table, Table):
        table = reader.tables[-1] if reader.tables else Table()
    if not isinstance(name, str):
        raise UnreadableError("the name of a variable is not known")
    try:
        table.columns[name] = table.resolved(as_form(value).pure(f"the variable {name}"))
        table.mapped.pop(name, None)
    except UnreadableError as error:
        table.mapped[name] = {None: Doubt(made.line, made.text, str(error))}
    return later(name)


def _database(reader: Reader, made: CallMade) -> Any:
    table = made.get(1, "dataframe", "pandas_database")
    if not isinstance(table, Table):
        table = Table(doubts=[table.doubt] if isinstance(table, Unknown) else [])
    reader.tables.append(table)
    return table


def _remove(reader: Reader, made: CallMade) -> Any:
    if not isinstance(made.on, Table):
        return NotImplemented
    condition = made.on.resolved(as_form(made.arguments[0]).pure("a filter"))
    made.on.filters.append(negated(condition))
    return None


def _panel(reader: Reader, made: CallMade) -> Any:
    if isinstance(made.on, Table):
        made.on.person = column_name(made.get(0, "column_name"))
    return None


def _logit(reader: Reader, made: CallMade) -> Any:
    full = "full" in made.name.lower()
    values = {
        "utilities": made.get(0, "util", "utilities", "v"),
        "availability": None if full else made.get(1, "av", "availability"),
        "choice": made.get(1 if full else 2, "choice", "i"),
        "line": made.line,
        "text": made.text,
        "nests": made.name in NESTED,
    }
    if made.name in NESTED:
        values["choice"] = made.get(3, "choice")
    record = Record("logit", values)
    reader.captured.append(("logit", record))
    return record


def _draws(reader: Reader, made: CallMade) -> Any:
    name, kind = str(made.get(0, "name")), str(made.get(1, "draw_type", "drawType"))
    kind = kind.upper()
    if "NORMAL" in kind:
        return symbol(Draws(name, "normal"))
    if "UNIFORM" in kind:
        return symbol(Draws(name, "uniform"))
    raise UnreadableError(f"draws of the kind {kind:.30} are not known")


def _boxcox(reader: Reader, made: CallMade) -> Any:
    """With an exponent that is known, what it is; with one to be estimated, our form of it."""
    value, exponent = as_form(made.get(0, "x")), as_form(made.get(1, "ell"))
    name = next((s.name for k in exponent.monomials for s in k if isinstance(s, Parameter)), "")
    given = reader.parameters.get(name, Record("beta", {"fixed": False})).values
    if given["fixed"]:
        exponent = as_form(given["value"])
    if exponent == number(0):
        return apply("log", value)
    if exponent.is_pure:
        return divide(add(power(value, exponent), number(1), "-"), exponent)
    if exponent != symbol(Parameter(name)):
        raise UnreadableError("an exponent that is not one parameter")
    reader.captured.append(("exponent", Record("exponent", {"name": name})))
    return apply("boxcox", value)


def _pieces(reader: Reader, made: CallMade) -> list[Form]:
    value, thresholds = made.get(0, "variable"), reader.items(made.get(1, "thresholds"))
    column = later(value) if isinstance(value, str) else as_form(value)
    v = column.pure("a variable")
    out = []
    for low, high in pairwise(thresholds):
        piece: Expression = v
        if high is not None:
            piece = function("min", piece, Literal(float(high)))
        if low is not None:
            least = function("max", piece, Literal(float(low)))
            piece = operation("-", least, Literal(float(low)))
        out.append(Form({(): piece}))
    return out


def _piecewise(reader: Reader, made: CallMade) -> Any:
    betas, total = made.get(2, "betas"), number(0)
    pieces = _pieces(reader, made)
    if betas is None:
        raise UnreadableError("the coefficients of a piecewise function are made by Biogeme")
    for piece, beta in zip(pieces, reader.items(betas), strict=True):
        total = add(total, multiply(as_form(beta), piece))
    return total


def _linear(reader: Reader, made: CallMade) -> Any:
    total = number(0)
    for one in reader.items(made.get(0, "list_of_terms", "terms")):
        beta, x = (one.values["beta"], one.values["x"]) if isinstance(one, Record) else one
        sides = [later(v) if isinstance(v, str) else as_form(v) for v in (beta, x)]
        total = add(total, multiply(*sides))
    return total


def _term(reader: Reader, made: CallMade) -> Any:
    return Record("term", {"beta": made.get(0, "beta"), "x": made.get(1, "x")})


def _first(reader: Reader, made: CallMade) -> Any:
    return made.get(0, "child", "expression")


def _model(reader: Reader, made: CallMade) -> Any:
    table, formulas = made.get(0, "database"), made.get(1, "formulas", "log_like")
    record = Record("biogeme", {"database": table, "formulas": formulas})
    reader.captured.append(("biogeme", record))
    return record


def _globals(reader: Reader, made: CallMade) -> Any:
    return Unknown(Doubt(made.line, "globals()", "globals() is not followed"))


BIOGEME: Mapping[str, Callable[[Reader, CallMade], Any]] = {
    **CALLS,
    "Beta": _beta,
    "Variable": _variable,
    **dict.fromkeys(("define_variable", "DefineVariable", "defineVariable"), _define),
    "Database": _database,
    "remove": _remove,
    "panel": _panel,
    **dict.fromkeys((*LOGITS, *NESTED), _logit),
    **dict.fromkeys(("Draws", "bioDraws"), _draws),
    "boxcox": _boxcox,
    **dict.fromkeys(("piecewise_formula", "piecewiseFormula"), _piecewise),
    **dict.fromkeys(("piecewise_variables", "piecewiseVariables"), _pieces),
    **dict.fromkeys(("LinearUtility", "bioLinearUtility"), _linear),
    "LinearTermTuple": _term,
    **dict.fromkeys(("DiscreteSegmentationTuple", "generate_segmentation"), segmentation_tuple),
    "Segmentation": segmentation,
    "segmented_beta": segmented_beta,
    **dict.fromkeys(("MonteCarlo", "PanelLikelihoodTrajectory"), _first),
    "BIOGEME": _model,
    "globals": _globals,
}


def biogeme_model(reader: Reader) -> Captured | None:
    """The model that was captured; None where there is none."""
    captured = Captured("biogeme", labels=reader.labels)
    logits = [record for kind, record in reader.captured if kind == "logit"]
    models = [record for kind, record in reader.captured if kind == "biogeme"]
    if not logits:
        return None
    logit = logits[-1].values
    line, text = logit["line"], logit["text"]
    # Probabilities of several alternatives are one model; our own scripts change units only.
    different = len({id(record.values["utilities"]) for record in logits})
    if different > 1 and not reader.known:
        captured.doubts.append(Doubt(0, "", f"{different} models; the last is read (line {line})"))
    if logit["nests"]:
        captured.doubts.append(Doubt(line, text, "nests are not read: give them to ac.Nested"))
    table = models[-1].values["database"] if models else None
    if not isinstance(table, Table):
        table = reader.tables[-1] if reader.tables else Table()
    captured.table = table
    for doubt in table.doubts:
        captured.doubts.append(doubt)
    captured.utilities = known_utilities(logit["utilities"], captured.doubts)
    _, names = reader.entries.get(id(logit["utilities"]), (None, {}))
    captured.names = {code: name for code, name in names.items() if code in captured.utilities}
    _availability(captured, logit["availability"], line, text)
    with_choice(captured, logit["choice"], line, text)
    formulas = models[-1].values["formulas"] if models else None
    _weight(captured, formulas, line)
    captured.exponents = {str(r.values["name"]) for k, r in reader.captured if k == "exponent"}
    captured.person = table.person
    for name, record in reader.parameters.items():
        start = record.values["value"]
        number_given = isinstance(start, int | float)
        captured.parameters[name] = Start(
            float(start) if number_given else 0.0, record.values["fixed"]
        )
    return captured


def _availability(captured: Captured, given: Any, line: int, text: str) -> None:
    if isinstance(given, Unknown):
        captured.doubts.append(Doubt(line, text, f"availability: {given.doubt.reason}"))
    if not isinstance(given, dict):
        return
    for code, value in given.items():
        try:
            condition = as_form(value).pure("availability")
        except UnreadableError as error:
            captured.doubts.append(Doubt(line, text, f"availability of {code}: {error}"))
            continue
        if condition not in (Literal(1.0), Literal(True)):
            captured.availability[code] = condition


def _weight(captured: Captured, formulas: Any, line: int) -> None:
    if not isinstance(formulas, dict):
        return
    for key, value in formulas.items():
        if key != "weight":
            continue
        try:
            captured.weight = as_form(value).pure("the weight")
        except UnreadableError as error:
            captured.doubts.append(Doubt(line, "", f"the weight: {error}"))
