"""What was observed: choice data, reading it, checking it, drawing it."""

from ardchoice.data import datasets
from ardchoice.data.batches import look_at, streams
from ardchoice.data.checks import sentinels
from ardchoice.data.choices import Attribute, ChoiceData, Covariate, must_be_choice_data, pick
from ardchoice.data.datasets import (
    NOISE_PREFIX,
    swissmetro,
    swissmetro_choices,
    swissmetro_specification,
)
from ardchoice.data.derived import with_derived
from ardchoice.data.distinct import Counts, Values, values_of, weighted_quantiles
from ardchoice.data.draft import FIX_OR_DROP, rows_text
from ardchoice.data.draw import draw_choices
from ardchoice.data.long import situation_ids
from ardchoice.data.person_rows import grouped_by_person, whole_person_ranges
from ardchoice.data.read import (
    dropped_situations,
    every_situation,
    read_like,
    read_long,
    read_wide,
)
from ardchoice.data.recode import (
    CODE_LEVELS,
    FALSE_WORDS,
    TRUE_WORDS,
    Categorical,
    Cut,
    Numeric,
    Recoding,
    Role,
    as_numbers,
    factorise,
    mostly_numbers,
)
from ardchoice.data.recognised import Kind, recognised_kind
from ardchoice.data.similar_names import one_spelling, other_spellings
from ardchoice.data.source import Layout, ReadingOptions, Source
from ardchoice.data.stream import read_table
from ardchoice.data.tables import (
    MISSING_TEXTS,
    Series,
    Table,
    label,
    must_exist,
    open_table,
)
from ardchoice.data.tally import count_numbers
from ardchoice.data.text_format import TextFormat, TextOptions
from ardchoice.data.units import (
    LONGEST_LABEL,
    LONGEST_UNIT,
    PERIODS,
    check_units,
    hours_in,
    text_mistake,
)

__all__ = [
    "CODE_LEVELS",
    "FALSE_WORDS",
    "FIX_OR_DROP",
    "LONGEST_LABEL",
    "LONGEST_UNIT",
    "MISSING_TEXTS",
    "NOISE_PREFIX",
    "PERIODS",
    "TRUE_WORDS",
    "Attribute",
    "Categorical",
    "ChoiceData",
    "Counts",
    "Covariate",
    "Cut",
    "Kind",
    "Layout",
    "Numeric",
    "ReadingOptions",
    "Recoding",
    "Role",
    "Series",
    "Source",
    "Table",
    "TextFormat",
    "TextOptions",
    "Values",
    "as_numbers",
    "check_units",
    "count_numbers",
    "datasets",
    "draw_choices",
    "dropped_situations",
    "every_situation",
    "factorise",
    "grouped_by_person",
    "hours_in",
    "label",
    "look_at",
    "mostly_numbers",
    "must_be_choice_data",
    "must_exist",
    "one_spelling",
    "open_table",
    "other_spellings",
    "pick",
    "read_like",
    "read_long",
    "read_table",
    "read_wide",
    "recognised_kind",
    "rows_text",
    "sentinels",
    "situation_ids",
    "streams",
    "swissmetro",
    "swissmetro_choices",
    "swissmetro_specification",
    "text_mistake",
    "values_of",
    "weighted_quantiles",
    "whole_person_ranges",
    "with_derived",
]
