"""`read_like`: another table with the roles that the columns of an earlier one had."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from ardchoice.data.choices import ChoiceData
from ardchoice.data.long import read_long, situation_ids
from ardchoice.data.tables import open_table
from ardchoice.data.wide import read_wide
from ardchoice.errors import ArdchoiceError


def read_like(
    table: object,
    data: ChoiceData,
    *,
    only: Mapping[str, Collection[str]] | Collection[str] | None = None,
    drop_invalid: bool | None = None,
) -> ChoiceData:
    """Read choice situations to be predicted from a table like the one that data were read from.

    Parameters
    ----------
    table
        A path or a data frame with the same columns; the choice need not be there.
    data
        What was read before: the columns, the alternatives and what recoding learned are its own.
    only
        The attributes and covariates that are needed; all unless told. As a mapping, of an
        attribute only the alternatives that need it.
    drop_invalid
        As when they were read before unless told.

    Returns
    -------
    ChoiceData
        Without choices.
    """
    source = data.source
    if source is None:
        raise ArdchoiceError(
            "It is not known from which columns these data were read, so that another table "
            "cannot be read alike: read it with ac.read_wide or ac.read_long, and like=."
        )
    wanted = {n for n in (*source.attributes, *source.covariates) if only is None or n in only}
    covariates = {n: column for n, column in source.covariates.items() if n in wanted}
    attributes = {n: by for n, by in source.attributes.items() if n in wanted}
    drop = source.drop_invalid if drop_invalid is None else drop_invalid
    if source.layout == "wide":
        return read_wide(
            table,
            alternatives=source.alternatives,
            choice=None,
            attributes={n: _needed(n, by, only) for n, by in attributes.items()},
            covariates=covariates,
            availability=source.availability or None,
            drop_invalid=drop,
            missing_values=source.missing_values,
            like=data,
        )
    return read_long(
        table,
        situation=source.situation or "",
        alternative=source.alternative or "",
        chosen=None,
        attributes={n: next(iter(by.values())) for n, by in attributes.items()},
        covariates=covariates,
        alternatives=source.alternatives,
        drop_invalid=drop,
        missing_values=source.missing_values,
        like=data,
    )


def _needed(name: str, by: Mapping[str, str], only: object) -> dict[str, str]:
    """Alternative -> column, of the alternatives that need it."""
    wanted = only[name] if isinstance(only, Mapping) else by
    return {alternative: column for alternative, column in by.items() if alternative in wanted}


def left_out(read: ChoiceData) -> npt.NDArray[np.intp]:
    """Positions in the table of the situations that reading left out."""
    rows = [p.rows for p in read.warnings if p.code == "dropped"]
    return np.array(sorted({row for some in rows for row in some}), dtype=np.intp)


def every_situation(table: object, read: ChoiceData) -> list[object]:
    """The ids of the situations of a table in order, those left out in reading among them."""
    gone = left_out(read)
    source = read.source
    if not len(gone):
        return list(read.situation.tolist())
    if source is None or source.layout == "wide":
        return list(range(len(read) + len(gone)))
    ids = situation_ids(open_table(table), source.situation or "").values
    return list(pd.Series(pd.unique(ids)).dropna().tolist())
