"""What was observed: choice data, reading it, checking it, drawing it."""

from ardchoice.data import datasets
from ardchoice.data.batches import look_at, streams
from ardchoice.data.checks import LEAVE_OUT, rows_text, sentinels
from ardchoice.data.choices import Attribute, ChoiceData, Covariate, must_be_choice_data, pick
from ardchoice.data.datasets import NOISE, swissmetro, swissmetro_choices, swissmetro_specification
from ardchoice.data.distinct import Counts, Values, values_of, weighted_quantiles
from ardchoice.data.draw import draw_choices
from ardchoice.data.long import read_long, situation_ids
from ardchoice.data.read_like import every_situation, left_out, read_like
from ardchoice.data.recode import (
    CODE_LEVELS,
    FALSE,
    TRUE,
    Categorical,
    Cut,
    Numeric,
    Recoding,
    Role,
    as_numbers,
    factorise,
    mostly_numbers,
)
from ardchoice.data.source import Layout, Source
from ardchoice.data.tables import MISSING, Series, Table, TextFormat, label, must_exist, open_table
from ardchoice.data.tally import count_numbers
from ardchoice.data.wide import read_wide

__all__ = [
    "CODE_LEVELS",
    "FALSE",
    "LEAVE_OUT",
    "MISSING",
    "NOISE",
    "TRUE",
    "Attribute",
    "Categorical",
    "ChoiceData",
    "Counts",
    "Covariate",
    "Cut",
    "Layout",
    "Numeric",
    "Recoding",
    "Role",
    "Series",
    "Source",
    "Table",
    "TextFormat",
    "Values",
    "as_numbers",
    "count_numbers",
    "datasets",
    "draw_choices",
    "every_situation",
    "factorise",
    "label",
    "left_out",
    "look_at",
    "mostly_numbers",
    "must_be_choice_data",
    "must_exist",
    "open_table",
    "pick",
    "read_like",
    "read_long",
    "read_wide",
    "rows_text",
    "sentinels",
    "situation_ids",
    "streams",
    "swissmetro",
    "swissmetro_choices",
    "swissmetro_specification",
    "values_of",
    "weighted_quantiles",
]
