"""From terms to numbers, block by block."""

from ardchoice.design.block import Block, Part
from ardchoice.design.column_store import ColumnStore, Of
from ardchoice.design.design import BLOCK_BYTES, KEEP_BYTES, Design, Deviations, Rows, deviations
from ardchoice.design.encoding import (
    Encoding,
    Levels,
    PersonColumns,
    TermColumns,
    available_values,
    learn_encoding,
    person_columns,
)
from ardchoice.design.execution import Execution, current_execution, running
from ardchoice.design.far_from_zero import refuse_far_from_zero
from ardchoice.design.mostly_constant import MostlyConstant, mostly_constant
from ardchoice.design.sources import CachedBlocks, Standardizer, StreamedBlocks

__all__ = [
    "BLOCK_BYTES",
    "KEEP_BYTES",
    "Block",
    "CachedBlocks",
    "ColumnStore",
    "Design",
    "Deviations",
    "Encoding",
    "Execution",
    "Levels",
    "MostlyConstant",
    "Of",
    "Part",
    "PersonColumns",
    "Rows",
    "Standardizer",
    "StreamedBlocks",
    "TermColumns",
    "available_values",
    "current_execution",
    "deviations",
    "learn_encoding",
    "mostly_constant",
    "person_columns",
    "refuse_far_from_zero",
    "running",
]
