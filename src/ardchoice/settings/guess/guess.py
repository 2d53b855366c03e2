"""From a table to a study file: guess, try it, and say what came of it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ardchoice.data import ChoiceData, Table, count_numbers, look_at, sentinels
from ardchoice.errors import (
    ArdchoiceError,
    ArdchoiceWarning,
    DataError,
    SettingsError,
    did_you_mean,
)
from ardchoice.settings.guess.long import find_layouts, guess_long, together, two_columns
from ardchoice.settings.guess.outcomes import without_outcomes
from ardchoice.settings.guess.page import write_page
from ardchoice.settings.guess.people import find_covariates, find_person, find_weight
from ardchoice.settings.guess.plan import plan_space
from ardchoice.settings.guess.prefix import common_prefix, with_prefix
from ardchoice.settings.guess.profile import Column, named, profile_table
from ardchoice.settings.guess.roles import Finding, Roles
from ardchoice.settings.guess.values import without_totals
from ardchoice.settings.guess.wide import guess_wide
from ardchoice.settings.guess.words import CHOICE_WORDS, says
from ardchoice.settings.reading import parse_settings

ROLE_NAMES = (
    "layout",
    "choice",
    "situation",
    "alternative",
    "chosen",
    "availability",
    "person",
    "weight",
)
"""What can be answered instead of guessed."""
MAX_SILENT_DROP_SHARE = 0.2
"""Share of rows dropped from which the file says so at the top."""
MAX_LISTED_SUSPECTS = 5
"""Suspicious values shown at the top, one by one."""


def guess_settings(
    path: str | Path,
    answers: Mapping[str, str] | None = None,
    *,
    folder: str | Path | None = None,
) -> str:
    """Look at a table and write a study file that guesses the roles of its columns.

    Parameters
    ----------
    path
        Of the table (CSV, TSV, Parquet, Excel, Stata, SPSS).
    answers
        Role -> column (layout: wide or long; availability: a pattern such as ``"{alt}_AV"``), where
        it is known; an empty text for none. The roles are those of `ROLE_NAMES`.
    folder
        Where the file will be: the table's path in it is relative to that. Default: the table's own
        folder.

    Returns
    -------
    str
        TOML, every guess with its reason and what else it could be. Where a guess is unsure, or
        cannot be right, the first lines say so.
    """
    table = look_at(path)
    columns, roles = _look(table, answers or {})
    where = Path(os.path.relpath(path, Path(path).parent if folder is None else folder)).as_posix()
    size = (len(table), len(columns))
    situation = _situation(columns, roles)
    plan = plan_space(roles, size[0] if situation is None else situation.distinct, columns)
    text = write_page(roles, plan, where, size, None, ())
    trial = _try(text, table)
    if trial.dropped is not None:
        text = write_page(roles, plan, where, size, trial.dropped, ())
        trial = replace(_try(text, table), dropped=trial.dropped)
    # What is missing is seldom news: then a doubt says already why it could not be found.
    doubts = trial.doubts if roles.doubts else (*trial.doubts, *trial.incomplete)
    suspects = {**_coded_suspects(roles, columns), **trial.suspects}
    roles = replace(roles, suspects=tuple(dict.fromkeys(c for c, _ in suspects)))
    said = [f"{what}: see missing_values." for what in suspects.values()]
    doubts += (
        *said[:MAX_LISTED_SUSPECTS],
        *["There are more such values."][: len(said) > MAX_LISTED_SUSPECTS],
    )
    if doubts:
        text = write_page(roles, plan, where, size, trial.dropped, doubts)
    return text


def guess_findings(
    path: str | Path, answers: Mapping[str, str] | None = None
) -> dict[str, Finding]:
    """What `guess_settings` would write of every role, for whoever asks a user about it.

    Parameters
    ----------
    path, answers
        As in `guess_settings`.

    Returns
    -------
    dict
        Role -> guess, with its reason and what else it could be; only roles of the guessed layout.
    """
    _, roles = _look(look_at(path), answers or {})
    found = {"layout": roles.layout, **roles.findings}
    return {role: found[role] for role in ROLE_NAMES if role in found}


def _look(table: Table, answers: Mapping[str, str]) -> tuple[list[Column], Roles]:
    """Profiles and roles."""
    _check_answers(table, answers)
    if not len(table):
        raise ArdchoiceError(f"{table.name} has no rows.")
    columns = profile_table(table)
    return columns, guess_roles(columns, answers)


def guess_roles(columns: Sequence[Column], answers: Mapping[str, str]) -> Roles:
    """The role of every column, from their profiles alone."""
    prefix = common_prefix([c.name for c in columns])
    if prefix and not answers:
        bare = [replace(c, name=c.name[len(prefix) :]) for c in columns]
        return with_prefix(_guess_roles(bare, answers), prefix)
    return _guess_roles(columns, answers)


def _guess_roles(columns: Sequence[Column], answers: Mapping[str, str]) -> Roles:
    wanted = answers.get("layout")
    wide = guess_wide(columns, answers) if wanted != "long" else None
    layouts = find_layouts(columns, answers) if wanted != "wide" else []
    if layouts and (wide is None or wide.column("choice") is None or _says_chosen(layouts)):
        roles = guess_long(columns, layouts[0], layouts[1:], answers)
    elif wide is not None:
        roles = wide
    else:
        roles = _nothing_found(answers)
    if roles.column("choice") is None and not layouts and wanted != "wide":
        pair = two_columns(columns, answers)
        if pair is not None:
            roles = _two_together(guess_long(columns, pair[2], (), answers), pair[0], pair[1])
    roles = without_outcomes(without_totals(roles, columns), columns)
    return _with_people(roles, columns, answers, _situation(columns, roles))


def _situation(columns: Sequence[Column], roles: Roles) -> Column | None:
    """The column that numbers the situations, or what two columns make together."""
    pair = [c for c in columns if c.name in roles.pair]
    return together(*pair) if len(pair) == 2 else named(columns, roles.column("situation"))


def _says_chosen(layouts: Sequence[object]) -> bool:
    chosen = getattr(layouts[0], "chosen", None)
    return chosen is not None and says(chosen.name, CHOICE_WORDS) > 0


def _with_people(
    roles: Roles, columns: Sequence[Column], answers: Mapping[str, str], situation: Column | None
) -> Roles:
    """The same roles with person, weight and covariates."""
    choice = named(columns, roles.column("choice"))
    used = {c for r in ("choice", "situation", "alternative", "chosen") if (c := roles.column(r))}
    used |= _columns_of(roles, columns) | set(roles.left_out)
    free = [c for c in columns if c.name not in used or c is choice]
    person = find_person([c for c in free if c is not choice], situation, answers)
    weight = find_weight(free, answers)
    used |= {f.value for f in (person, weight) if f.value} | set(roles.pair)
    covariates, left_out = find_covariates(
        columns, used, choice, situation, named(columns, person.value)
    )
    taken = {c.name for c in covariates}
    attributes = tuple(
        replace(a, name=f"{a.name}_alt", how={"column": a.name, **a.how}) if a.name in taken else a
        for a in roles.attributes
    )
    return replace(
        roles,
        findings={**roles.findings, "person": person, "weight": weight},
        attributes=attributes,
        covariates=covariates,
        left_out={**roles.left_out, **left_out},
    )


def _columns_of(roles: Roles, columns: Sequence[Column]) -> set[str]:
    """Every column that an attribute or the availability uses."""
    out: set[str] = set()
    where = [a.how.get("column", a.name) for a in roles.attributes]
    for one in [*where, roles.availability]:
        if isinstance(one, dict):
            out |= set(one.values())
        elif isinstance(one, str):
            out |= {one, *(one.replace("{alt}", a) for a in roles.alternatives)}
    return out


def _nothing_found(answers: Mapping[str, str]) -> Roles:
    """A page to fill in: neither layout could be seen."""
    layout = answers.get("layout", "wide")
    wide = layout == "wide"
    asked = ("choice", "availability") if wide else ("situation", "alternative", "chosen")
    findings = {
        role: Finding(answers[role], "as you said")
        if answers.get(role)
        else Finding(None, "not found", confidence=0.0)
        for role in asked
    }
    return Roles(
        layout=Finding(layout, "a mere assumption: the columns do not tell", confidence=0.0),
        alternatives={},
        findings=findings,
        attributes=(),
        doubts=(
            "This table does not look like choices. A wide one has a row per choice, a column "
            "with what was chosen, and columns such as time_bus, time_car; a long one has a row "
            "per choice and alternative, with 1 in one of them. Fill in what is missing below: "
            "data.alternatives, data.choice and data.attributes (wide), or data.situation, "
            "data.alternative and data.chosen (long).",
        ),
    )


def _two_together(roles: Roles, one: str, two: str) -> Roles:
    """The same, with a situation that no column numbers by itself."""
    found = roles.findings["situation"]
    said = f"only {one} and {two} together number the choice situations: {found.why}"
    return replace(
        roles,
        findings={**roles.findings, "situation": replace(found, why=said)},
        pair=(one, two),
    )


def _check_answers(table: Table, answers: Mapping[str, str]) -> None:
    for role, value in answers.items():
        if role not in ROLE_NAMES:
            raise ArdchoiceError(f"There is no role {role!r}. {did_you_mean(role, ROLE_NAMES)}")
        if role == "layout":
            if value not in ("wide", "long"):
                raise ArdchoiceError(f"The layout is 'wide' or 'long', not {value!r}.")
        elif role == "availability":
            if value and "{alt}" not in value:
                raise ArdchoiceError(
                    f"availability is a pattern such as '{{alt}}_AV', not {value!r}."
                )
            before, _, after = value.partition("{alt}")
            if not any(c.startswith(before) and c.endswith(after) for c in table.columns):
                raise ArdchoiceError(
                    f"availability: no column of {table.name} fits the pattern {value!r}. "
                    f"{did_you_mean(before + after, table.columns)}"
                )
        elif value and value not in table:
            if role == "situation" and all(part in table for part in value.split(", ")):
                continue
            raise ArdchoiceError(
                f"{role}: column {value!r} is not in {table.name}. "
                f"{did_you_mean(value, table.columns)}"
            )


# -- Trying it out -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Trial:
    """What came of reading the table as guessed.

    Attributes
    ----------
    dropped
        What is wrong with some rows; None where all can be used.
    incomplete
        What the file lacks.
    doubts
        What stands in the way, a sentence each.
    suspects
        Value that looks like a code for missing ones, and whose -> what to say of it.
    """

    dropped: str | None = None
    incomplete: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    suspects: Mapping[tuple[int, str], str] = field(default_factory=dict)


def _try(text: str, table: Table) -> _Trial:
    """Read the table as the file says, and make the space."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ArdchoiceWarning)
        try:
            settings = parse_settings(text)
        except SettingsError as error:
            return _Trial(incomplete=tuple(f"Not complete: {m}" for m in error.mistakes))
        try:
            data = settings.read_choices(table=table)
            space = settings.make_space(data)
        except DataError as error:
            errors = [p for p in error.problems if p.severity == "error"]
            if not settings.data.drop_invalid and all(p.rows for p in errors):
                return _Trial(dropped=" ".join(_first_sentence(p.message) for p in errors))
            return _Trial(doubts=tuple(f"Cannot be read: {p.message}" for p in errors))
        except ArdchoiceError as error:
            return _Trial(doubts=(f"Cannot be read: {error}",))
    if not len(space):
        return _Trial(doubts=("The search space is empty: no attribute varies.",))
    return _Trial(doubts=_left_out(data, len(table)), suspects=_suspects(data))


def _suspects(data: ChoiceData) -> dict[tuple[int, str], str]:
    """Values of numbers that stand far from all others where the alternative is available."""
    out: dict[tuple[int, str], str] = {}
    where: list[tuple[str, npt.NDArray[Any], npt.NDArray[np.bool_] | None]] = []
    for a in data.attributes.values():
        if a.levels is None:
            where += [
                (f"{a.name} of {data.alternatives[j]}", values, data.available[j])
                for j, values in zip(a.alternatives, a.values, strict=True)
            ]
    where += [(c.name, c.values, None) for c in data.covariates.values() if c.levels is None]
    for name, values, may in where:
        seen = count_numbers(values, may, data.situation)
        out |= {
            (code, name): _suspicious(code, name, seen.codes[code].n) for code in sentinels(seen)
        }
    return out


def _coded_suspects(roles: Roles, columns: Sequence[Column]) -> dict[tuple[int, str], str]:
    """The same among the codes of categories."""
    out: dict[tuple[int, str], str] = {}
    for variable in roles.covariates:
        column = named(columns, str(variable.how.get("column", variable.name)))
        if column is None or not column.whole or variable.how.get("kind") != "categorical":
            continue
        # A typing error among codes is no number.
        values = pd.to_numeric(pd.Series(column.labels, dtype=object), errors="coerce").to_numpy()
        whole = values[np.isfinite(values)].astype(float)
        for code in sentinels(count_numbers(whole, None, whole)):
            rows = round(column.shares[int(np.flatnonzero(values == code)[0])] * column.rows)
            out[code, variable.name] = _suspicious(code, variable.name, rows)
    return out


def _suspicious(code: int, name: str, rows: int) -> str:
    times = f"{rows:,} row{'s' if rows != 1 else ''}"
    return f"{name} is {code} in {times}, which looks like a code for 'missing'"


def _first_sentence(message: str) -> str:
    return message.partition(". ")[0] + "."


def _left_out(data: ChoiceData, rows: int) -> tuple[str, ...]:
    gone = next((len(p.rows) for p in data.warnings if p.code == "dropped"), 0)
    if gone <= MAX_SILENT_DROP_SHARE * (gone + len(data)):
        return ()
    share = 100 * gone / (gone + len(data))
    return (
        f"{share:.0f}% of the choice situations are dropped: see drop_invalid. Perhaps missing "
        "values say that an alternative was not available; then make columns with 1 and 0 that say "
        "so and name them as data.availability.",
    )
