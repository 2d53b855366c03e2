"""The arguments of `read_wide` and `read_long`: alternatives, roles of columns, missing values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ardchoice.data.recode import Categorical, Cut, Numeric, Role
from ardchoice.data.tables import ANY_COLUMN, Series, Table, label
from ardchoice.errors import ArdchoiceError, did_you_mean, first_few

if TYPE_CHECKING:
    from ardchoice.data.source import ReadingOptions


def alternative_codes(alternatives: Mapping[str, object] | Sequence[object]) -> dict[str, str]:
    """Name -> label of its code in the table."""
    if isinstance(alternatives, str) or not isinstance(alternatives, Iterable):
        raise ArdchoiceError("alternatives is a dict name -> code, or a list of names.")
    if isinstance(alternatives, Mapping):
        if not any(isinstance(n, str) for n in alternatives) and all(
            isinstance(c, str) for c in alternatives.values()
        ):
            raise ArdchoiceError(
                "alternatives maps a name to its code, such as {'bus': 1, 'car': 2}; this looks "
                "like code to name."
            )
        pairs = [(label(name), label(code)) for name, code in alternatives.items()]
    else:
        pairs = [(label(code), label(code)) for code in alternatives]
    if len(pairs) < 2:
        raise ArdchoiceError("A choice needs at least two alternatives.")
    for what, side in (("name", 0), ("code", 1)):
        counts = Counter(pair[side] for pair in pairs)
        twice = [repr(text) for text, count in counts.items() if count > 1]
        if twice:
            raise ArdchoiceError(f"Two alternatives have the same {what}: {first_few(twice)}.")
    return dict(pairs)


def named_columns(values: Any, argument: str) -> dict[str, Any]:
    """``["GA", "AGE"]`` or ``{"age": "AGE", "income": Cut("INC", [30])}`` as name -> role."""
    if isinstance(values, str):
        raise ArdchoiceError(
            f"{argument} is a list of columns or a dict, not the text {values!r}; "
            f"write [{values!r}]."
        )
    return dict(values) if isinstance(values, Mapping) else dict.fromkeys(values or ())


def as_role(value: object, name: str) -> Role | None:
    """A role object, or None where only a column was named (its kind is then guessed)."""
    if isinstance(value, Numeric | Categorical | Cut):
        return value
    if value is None or isinstance(value, str | Mapping):
        return None
    raise ArdchoiceError(
        f"{name}: expected a column name, Numeric(...), Categorical(...) or Cut(...), "
        f"got {type(value).__name__}."
    )


def attribute_role(value: object, name: str) -> Role | None:
    """The same for an attribute, which cannot be cut when it is read."""
    if isinstance(value, Cut):
        raise ArdchoiceError(f"{name}: an attribute is cut in a term, as in quantiles({name}, 4).")
    return as_role(value, name)


def explicit_roles(values: Mapping[str, object]) -> dict[str, Role]:
    """Name -> role, of those with an explicit role."""
    roles = {name: as_role(value, name) for name, value in values.items()}
    return {name: role for name, role in roles.items() if role is not None}


def column_of(value: object, name: str) -> object:
    """The column, pattern or dict of a role. Default: its own name."""
    if isinstance(value, Numeric | Categorical | Cut):
        return value.column if value.column is not None else name
    return name if value is None else value


def missing_labels(
    values: Sequence[object] | Mapping[str, Sequence[object]],
) -> tuple[str, ...] | dict[str, tuple[str, ...]]:
    """Labels of the values that stand for missing ones; by column where they are given so."""
    if isinstance(values, Mapping):
        return {str(column): _labels(codes) for column, codes in values.items()}
    return _labels(values)


def _labels(values: object) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise ArdchoiceError(
            "missing_values is a list of values, such as [99999, -99], or a dict column -> list, "
            f"not {values!r}."
        )
    return tuple(label(v) for v in values)


def with_missing_values(table: Table, options: ReadingOptions) -> Table:
    """The table with some labels read as missing, except in columns of ids, choices, weights.

    A key of `options.missing_values` is a column, or an attribute or covariate: all its columns.
    """
    given = options.missing_values
    if not given:
        return table
    each = [(c,) if isinstance(c, str) else tuple(c) for c in options.role_columns().values()]
    plain = frozenset(c for one in each for c in one)
    if not isinstance(given, Mapping):
        return replace(table, codes={ANY_COLUMN: frozenset(given)}, plain=plain)
    codes: dict[str, frozenset[str]] = {}
    variables = options.named_attributes() | options.named_covariates()
    for key, labels in given.items():
        columns = [key]
        if key != ANY_COLUMN and key not in table.columns:
            columns = _columns_of(variables, key, options, table)
        codes |= dict.fromkeys(columns, frozenset(labels))
    return replace(table, codes=codes, plain=plain - set(given))


def _columns_of(
    variables: Mapping[str, Any], name: str, options: ReadingOptions, table: Table
) -> list[str]:
    """The columns of an attribute or covariate."""
    if name not in variables:
        known = [*table.columns, *variables]
        raise ArdchoiceError(
            f"missing_values names {name!r}, which is no column of {table.name}. "
            f"{did_you_mean(name, dict.fromkeys(known))}"
        )
    where = column_of(variables[name], name)
    if isinstance(where, Mapping):
        return [str(column) for column in where.values()]
    names = alternative_codes(options.alternatives) if options.alternatives else {}
    return [str(where).replace("{alt}", a) for a in names] or [str(where)]


def must_have(table: Table, column: object, role: str) -> Series:
    """The column of a role, or an error that names the role."""
    if not isinstance(column, str):
        raise ArdchoiceError(f"The column named as {role} must be text, not {column!r}.")
    if column not in table:
        raise ArdchoiceError(
            f"Column {column!r}, named as {role}, is not in {table.name}. "
            f"{did_you_mean(column, table.columns)}"
        )
    return table.column(column)


def refuse_clashes(attributes: Iterable[str], covariates: Iterable[str]) -> None:
    """Raise where an attribute and a covariate have one name: a term could mean either."""
    both = sorted(set(attributes) & set(covariates))
    if both:
        raise ArdchoiceError(
            f"{', '.join(both)} is both an attribute and a covariate; give one another name "
            "(covariates may be a dict, new name -> column)."
        )
