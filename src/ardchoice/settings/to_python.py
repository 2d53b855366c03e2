"""From settings to the Python objects they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ardchoice.ard import Dsvi, DsviPaper, Newton, Solver
from ardchoice.data import (
    Categorical,
    ChoiceData,
    Cut,
    Numeric,
    Role,
    Table,
    look_at,
    read_long,
    read_wide,
    streams,
)
from ardchoice.errors import Mistake, SettingsError, did_you_mean
from ardchoice.selection import (
    Bic,
    Ebic,
    Evidence,
    FalseDiscovery,
    HeldOut,
    LambdaAbove,
    Rule,
    Structure,
)
from ardchoice.settings.names import column_mistakes, missing_mistakes
from ardchoice.space import SearchSpace

if TYPE_CHECKING:
    from ardchoice.settings.schema import (
        AnySelection,
        AnySolver,
        AttributeSettings,
        CovariateSettings,
        DataSettings,
        SpaceSettings,
        StructureSettings,
    )

MOST_ABSENT = 100
"""Columns that are not in the table; more are not looked for."""
SOLVERS: dict[str, type[Solver]] = {"newton": Newton, "dsvi": Dsvi, "dsvi-paper": DsviPaper}
RULES: dict[str, type[Rule]] = {
    "ebic": Ebic,
    "bic": Bic,
    "held-out": HeldOut,
    "lambda-above": LambdaAbove,
    "evidence": Evidence,
    "false-discovery": FalseDiscovery,
}
"""Name in the settings -> the Python object."""


def choices(
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
    source = look_at(table)
    mistakes = [
        *column_mistakes(settings),
        *(m for m in missing_mistakes(settings) if m.key[1] not in ("table", "choice", "chosen")),
        *table_mistakes(settings, source, observed),
    ]
    if mistakes:
        raise SettingsError(mistakes)
    common: dict[str, Any] = {
        "attributes": {name: _how(name, a) for name, a in settings.attributes.items()},
        "covariates": {name: _how(name, c) for name, c in settings.covariates.items()},
        "alternatives": settings.alternatives,
        "person": settings.person,
        "weight": settings.weight,
        "drop_invalid": settings.drop_invalid,
        "missing_values": settings.missing_values,
        "like": like,
    }
    whole: object = source if not streams(table, None) else table
    if settings.layout == "long":
        return read_long(
            whole,
            situation=settings.situation or "",
            alternative=settings.alternative or "",
            chosen=settings.chosen if observed else None,
            **common,
        )
    return read_wide(
        whole,
        choice=settings.choice if observed else None,
        availability=settings.availability,
        **common,
    )


def table_mistakes(settings: DataSettings, table: Table, observed: bool = True) -> list[Mistake]:
    """Every column that the settings name and the table does not have."""
    roles = ["situation", "alternative", "person", "weight"]
    roles += ["choice", "chosen"] if observed else []
    named: list[tuple[tuple[str, ...], object]] = [((r,), getattr(settings, r)) for r in roles]
    named += [(("covariates", n), c.column or n) for n, c in settings.covariates.items()]
    named += [(("attributes", n), a.column or n) for n, a in settings.attributes.items()]
    named.append((("availability",), settings.availability))
    known, out = set(table.columns), []
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
                if len(out) == MOST_ABSENT:
                    return out
    return out


def _how(name: str, settings: AttributeSettings | CovariateSettings) -> Any:
    """A column where nothing else is said, or else a role."""
    made = role(settings)
    return made if made is not None else settings.column or name


def role(settings: AttributeSettings | CovariateSettings) -> Role | None:
    """The role that settings stand for; None where the kind is to be guessed."""
    if settings.kind == "numeric":
        return Numeric(settings.column)
    if settings.kind == "categorical":
        return Categorical(
            settings.column,
            levels=settings.levels,
            reference=settings.reference,
            merge=settings.merge,
            pool_below=settings.pool_below,
            missing=settings.missing,
        )
    if settings.kind is None:
        return None
    return Cut(
        settings.column,
        edges=settings.edges,
        quantiles=settings.quantiles,
        labels=settings.labels,
        reference=settings.reference,
        missing=settings.missing,
    )


def space(settings: SpaceSettings, data: ChoiceData) -> SearchSpace:
    """The search space on these data."""
    words = {name: getattr(settings, name) for name in type(settings).model_fields}
    return SearchSpace(data, **words)


def structure(settings: StructureSettings) -> Structure | None:
    """What every specification must obey; None for no rules."""
    words = {name: getattr(settings, name) for name in type(settings).model_fields}
    return Structure(**words) if words.pop("rules") else None


def solver(settings: AnySolver) -> Solver:
    """The solver of relevance."""
    words = settings.model_dump()
    return SOLVERS[words.pop("method")](**words)


def rule(settings: AnySelection) -> Rule:
    """How many terms are enough."""
    words = settings.model_dump(exclude={"rule", "honest", "seed"})
    if "fold_seed" in words:
        words["seed"] = words.pop("fold_seed")
    return RULES[settings.rule](**words)
