"""`read_again`: another table with the roles that the columns of an earlier one had."""

from __future__ import annotations

from collections.abc import Collection

from ardchoice.data.choices import ChoiceData
from ardchoice.data.long import read_long
from ardchoice.data.wide import read_wide
from ardchoice.errors import ArdchoiceError


def read_again(
    table: object, data: ChoiceData, *, only: Collection[str] | None = None
) -> ChoiceData:
    """Read choice situations to be predicted from a table like the one that data were read from.

    Parameters
    ----------
    table
        A path or a data frame with the same columns; the choice need not be there.
    data
        What was read before: the columns, the alternatives and what recoding learned are its own.
    only
        The attributes and covariates that are needed; all unless told.

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
    if source.layout == "wide":
        return read_wide(
            table,
            alternatives=source.alternatives,
            choice=None,
            attributes={n: by for n, by in source.attributes.items() if n in wanted},
            covariates=covariates,
            availability=source.availability or None,
            drop_invalid=source.drop_invalid,
            like=data,
        )
    return read_long(
        table,
        situation=source.situation or "",
        alternative=source.alternative or "",
        chosen=None,
        attributes={
            n: next(iter(by.values())) for n, by in source.attributes.items() if n in wanted
        },
        covariates=covariates,
        alternatives=source.alternatives,
        drop_invalid=source.drop_invalid,
        like=data,
    )
