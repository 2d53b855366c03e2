"""From the data section of a study file to choices: the table that it names, read as it says."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING

from ardchoice.data import ChoiceData, Table, TextOptions, look_at, read_long, read_wide, streams
from ardchoice.errors import Mistake, SettingsError, did_you_mean
from ardchoice.expressions import column_names, parse_expression
from ardchoice.settings.names import column_mistakes, missing_mistakes

if TYPE_CHECKING:
    from ardchoice.settings.schema import DataSettings

MAX_ABSENT_COLUMNS = 100
"""Columns that are not in the table; more are not looked for."""


def read_choices(
    settings: DataSettings,
    folder: str | Path,
    *,
    table: object = None,
    like: ChoiceData | None = None,
    observed: bool = True,
) -> ChoiceData:
    """Read the table that the settings name, or another the same way."""
    if table is None:
        if settings.table is None:
            said = "there is no table: these settings were made from a data frame. Name a file."
            raise SettingsError([Mistake(("data", "table"), said)])
        table = Path(folder) / settings.table
    # Opened once; what is wrong with the roles is said all at once, before anything is read.
    source = look_at(table, settings.make(TextOptions))
    mistakes = [
        *column_mistakes(settings),
        *(m for m in missing_mistakes(settings) if m.key[1] not in ("table", "choice", "chosen")),
        *table_mistakes(settings, source, observed),
    ]
    if mistakes:
        raise SettingsError(mistakes)
    # Settings are called what the arguments are, of which each layout has its own.
    read = read_long if settings.layout == "long" else read_wide
    words = {name: value for name, value in settings if name in signature(read).parameters}
    for names in ("attributes", "covariates"):
        words[names] = {n: how.role() or how.column or n for n, how in words[names].items()}
    if not observed:
        words["chosen" if settings.layout == "long" else "choice"] = None
    # The table itself goes first: one of the settings has its name.
    words.pop("table", None)
    return read(source if not streams(table, None) else table, like=like, **words)


def table_mistakes(settings: DataSettings, table: Table, observed: bool = True) -> list[Mistake]:
    """Every column that the settings name and the table does not have."""
    roles = ["situation", "alternative", "person", "weight"]
    roles += ["choice", "chosen"] if observed else []
    named: list[tuple[tuple[str, ...], object]] = [((r,), getattr(settings, r)) for r in roles]
    named += [(("covariates", n), c.column or n) for n, c in settings.covariates.items()]
    named += [(("attributes", n), a.column or n) for n, a in settings.attributes.items()]
    named.append((("availability",), settings.availability))
    named += _names_in_expressions(settings, table, observed)
    derive: Mapping[str, str] = settings.derive
    known, out = {*table.columns, *derive}, []
    for key, where in named:
        columns = list(where.values()) if isinstance(where, Mapping) else [where]
        columns = list(where) if isinstance(where, tuple) else columns
        pattern = isinstance(where, str) and key[0] in ("attributes", "availability")
        if pattern and settings.layout == "wide":
            columns = [str(where).replace("{alt}", a) for a in settings.alternatives or ()]
            # An alternative without a column does not have the attribute: some are enough.
            columns = [] if known & set(columns) else columns[:1]
        fits = f", nor another that fits {where!r}" if pattern and "{alt}" in str(where) else ""
        for column in columns:
            if column is not None and column not in known:
                said = f"column {column!r} is not in {table.name}{fits}."
                hint = did_you_mean(str(column), table.columns)
                out.append(Mistake(("data", *key), f"{said} {hint}"))
                if len(out) == MAX_ABSENT_COLUMNS:
                    return out
    return out


def _names_in_expressions(
    settings: DataSettings, table: Table, observed: bool
) -> list[tuple[tuple[str, ...], object]]:
    """The columns that derivations and the filter use; a derivation may use those before it."""
    named: list[tuple[tuple[str, ...], object]] = []
    made: set[str] = set()
    for name, text in settings.derive.items():
        needed = column_names(parse_expression(text))
        missing = [c for c in needed if c not in made and c not in table.columns]
        named += [(("derive", name), f"{c}") for c in missing]
        made.add(name)
    if settings.where is not None and observed:
        named += [(("where",), c) for c in column_names(parse_expression(settings.where))]
    return named
