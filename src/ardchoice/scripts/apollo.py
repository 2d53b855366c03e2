"""Scripts for Apollo: ``apollo_beta``, ``apollo_fixed`` and the function of probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ardchoice.expressions import Literal
from ardchoice.scripts.calls import CALLS
from ardchoice.scripts.capture import (
    Captured,
    Start,
    column_name,
    is_code,
    known_utilities,
    with_choice,
)
from ardchoice.scripts.forms import (
    Draws,
    Form,
    Parameter,
    UnreadableError,
    combine,
    symbol,
)
from ardchoice.scripts.interpret import CallMade, Function, Reader
from ardchoice.scripts.values import Doubt, Record, Table, Unknown, as_form

MODELS = ("apollo_mnl", "apollo_nl", "apollo_cnl", "apollo_fmnl")
OTHER = ("apollo_lc", "apollo_ol", "apollo_op", "apollo_el", "apollo_mdcev", "apollo_lcPars")


def _vector(reader: Reader, made: CallMade) -> Any:
    """``c(...)`` and ``list(...)``: a dict where entries have names."""
    if made.keywords:
        out: dict[Any, Any] = {}
        for value in made.arguments:
            out |= value if isinstance(value, dict) else {}
        return out | dict(made.keywords)
    if made.name == "list":
        return dict(enumerate(made.arguments, 1)) if made.arguments else {}
    flat: list[Any] = []
    for value in made.arguments:
        if isinstance(value, dict):
            return {k: v for a in made.arguments if isinstance(a, dict) for k, v in a.items()}
        flat += reader.items(value) if isinstance(value, list | tuple) else [value]
    return flat


def _colon(reader: Reader, made: CallMade) -> Any:
    low, high = made.arguments
    if isinstance(low, int) and isinstance(high, int) and 0 <= high - low < 1000:
        return list(range(low, high + 1))
    raise UnreadableError("a range is not known")


def _model(reader: Reader, made: CallMade) -> Any:
    settings = made.get(0, "mnl_settings", "nl_settings", "settings")
    values = {"settings": settings, "line": made.line, "text": made.text, "name": made.name}
    record = Record("apollo", values)
    reader.captured.append(("apollo", record))
    return record


def _names(reader: Reader, made: CallMade) -> Any:
    value = made.get(0)
    return list(value) if isinstance(value, dict) else NotImplemented


def _first(reader: Reader, made: CallMade) -> Any:
    return made.get(0)


def _is_na(reader: Reader, made: CallMade) -> Any:
    from ardchoice.scripts.forms import apply

    return apply("is_missing", as_form(made.get(0)))


def _estimate(reader: Reader, made: CallMade) -> Any:
    """The table as it is estimated on: what a script changes later is for its predictions."""
    database = reader.top.values.get("database")
    if isinstance(database, Table):
        reader.captured.append(("estimated", Record("table", {"database": database.copy()})))
    return Unknown(reader.doubt_of(made, "estimates are not known"))


def _other(reader: Reader, made: CallMade) -> Any:
    reader.doubts.append(reader.doubt_of(made, f"{made.name} is not read"))
    return Unknown(reader.doubt_of(made, f"{made.name} is not read"))


APOLLO: Mapping[str, Callable[[Reader, CallMade], Any]] = {
    **CALLS,
    "c": _vector,
    "list": _vector,
    "colon": _colon,
    **dict.fromkeys(MODELS, _model),
    **dict.fromkeys(OTHER, _other),
    "apollo_estimate": _estimate,
    "names": _names,
    **dict.fromkeys(
        ("identity", "suppressWarnings", "data_frame", "as_data_frame", "which"), _first
    ),
    "is_na": _is_na,
}


def apollo_model(reader: Reader) -> Captured | None:
    """The model, by following the function of probabilities; None where there is none."""
    values = reader.top.values
    captured = Captured("apollo")
    estimated = [r.values["database"] for kind, r in reader.captured if kind == "estimated"]
    database = estimated[-1] if estimated else values.get("database")
    captured.table = database if isinstance(database, Table) else Table()
    if isinstance(database, Unknown):
        captured.doubts.append(database.doubt)
    probabilities = values.get("apollo_probabilities")
    if not isinstance(probabilities, Function) and not isinstance(values.get("V"), dict):
        return None
    _parameters(captured, reader)
    _draws(reader)
    reader.columns_are_names = True
    if isinstance(probabilities, Function):
        call = CallMade("apollo_probabilities", None, (), {}, 0, "")
        reader.follow_function(probabilities, call)
    models = [r for kind, r in reader.captured if kind == "apollo"]
    captured.doubts += captured.table.doubts
    captured.labels = {k: v for k, v in reader.labels.items() if v not in captured.parameters}
    if not models:
        captured.utilities = known_utilities(values.get("V"), captured.doubts)
        captured.doubts.append(Doubt(0, "", "no call of apollo_mnl was understood"))
        return captured
    if len(models) > 1:
        reason = f"{len(models)} models; the first is read (line {models[0].values['line']})"
        captured.doubts.append(Doubt(0, "", reason))
    _settings(captured, models[0].values)
    _control(captured, values.get("apollo_control"))
    return captured


def _parameters(captured: Captured, reader: Reader) -> None:
    values = reader.top.values
    beta = values.get("apollo_beta")
    fixed = values.get("apollo_fixed")
    kept = [fixed] if isinstance(fixed, str) else fixed if isinstance(fixed, list) else []
    for name, start in beta.items() if isinstance(beta, dict) else ():
        known = isinstance(start, int | float)
        captured.parameters[str(name)] = Start(float(start) if known else 0.0, name in kept)
        values[str(name)] = symbol(Parameter(str(name)))


def _draws(reader: Reader) -> None:
    """Draws, and the coefficients made of them."""
    values = reader.top.values
    drawn = values.get("apollo_draws")
    for key, names in drawn.items() if isinstance(drawn, dict) else ():
        kind = "normal" if "Norm" in str(key) else "uniform" if "Unif" in str(key) else ""
        for name in names if kind and isinstance(names, list) else ([names] if kind else []):
            if isinstance(name, str):
                values[name] = symbol(Draws(name, kind))
    random = values.get("apollo_randCoeff")
    if isinstance(random, Function):
        reader.columns_are_names = True
        found = reader.follow_function(random, CallMade("apollo_randCoeff", None, (), {}, 0, ""))
        values |= {str(k): v for k, v in found.items()} if isinstance(found, dict) else {}


def _settings(captured: Captured, made: Mapping[str, Any]) -> None:
    """Utilities, alternatives, availability and choice of a model."""
    settings, line, text = made["settings"], made["line"], made["text"]
    if made["name"] != "apollo_mnl":
        reason = "nests are not read: give them to ac.Nested"
        captured.doubts.append(Doubt(line, text, reason))
    if not isinstance(settings, dict):
        captured.doubts.append(Doubt(line, text, "the settings of the model are not known"))
        return
    given = settings.get("utilities", settings.get("V"))
    utilities = known_utilities(given, captured.doubts)
    codes = settings.get("alternatives")
    codes = codes if isinstance(codes, dict) else {}
    codes = {name: code for name, code in codes.items() if is_code(code)}
    captured.utilities = {codes.get(name, name): form for name, form in utilities.items()}
    captured.names = {codes.get(name, name): str(name) for name in utilities}
    available = settings.get("avail", 1)
    if isinstance(available, Unknown):
        captured.doubts.append(available.doubt)
    for name, value in available.items() if isinstance(available, dict) else ():
        try:
            condition = as_form(value).pure("availability")
        except UnreadableError as error:
            captured.doubts.append(Doubt(line, text, f"availability of {name}: {error}"))
            continue
        if condition not in (Literal(1.0), Literal(True)):
            captured.availability[codes.get(name, name)] = condition
    with_choice(captured, settings.get("choiceVar"), line, text)
    rows = settings.get("rows")
    if isinstance(rows, Form):
        captured.table = captured.table.filtered(
            captured.table.resolved(combine("==", rows, as_form(1)).pure("rows"))
        )


def _control(captured: Captured, control: Any) -> None:
    if not isinstance(control, dict):
        return
    if control.get("panelData") is not False:
        captured.person = column_name(control.get("indivID"))
    weight = column_name(control.get("weights"))
    if weight is not None:
        captured.weight = captured.table.column(weight).pure()
