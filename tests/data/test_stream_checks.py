"""Whatever holds of tables in memory holds of the same tables read part by part.

The tests of reading and checking, once more: every table goes to a Parquet file first and is read
three rows at a time.
"""

from itertools import count

import pandas as pd
import pyarrow as pa
import pytest
from test_checks import *  # noqa: F403
from test_long import *  # noqa: F403

import ardchoice as ac
from ardchoice.data import batches

for name in (
    # Such rows stand apart, which parts cannot know.
    "test_rows_may_come_in_any_order",
    "test_duplicate_rows",
    # Parts need one column that numbers situations.
    "test_situations_may_be_numbered_by_two_columns_together",
    "test_one_of_several_columns_alone_is_refused_with_the_remedy",
    "test_ids_that_would_read_alike_are_refused",
    "test_a_missing_part_of_an_id_is_an_error",
    # The line that reads is another one here.
    "test_warnings_point_at_the_line_that_reads",
):
    globals().pop(name, None)


@pytest.fixture(autouse=True)
def read_part_by_part(monkeypatch, tmp_path):
    monkeypatch.setattr(batches, "BATCH", 3)
    number = count()

    def streamed(read):
        def reading(table, **arguments):
            path = tmp_path / f"{next(number)}.parquet"
            if isinstance(table, pd.DataFrame):
                try:
                    table.to_parquet(path)
                except (pa.ArrowException, ValueError, TypeError):
                    return read(table, **arguments)  # such a table cannot be on disk
                return read(path, stream=True, **arguments)
            return read(table, **arguments)

        return reading

    monkeypatch.setattr(ac, "read_wide", streamed(ac.read_wide))
    monkeypatch.setattr(ac, "read_long", streamed(ac.read_long))
