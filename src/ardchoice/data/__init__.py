"""What was observed: choice data, reading it, checking it, drawing it."""

from ardchoice.data import datasets
from ardchoice.data.choices import Attribute, ChoiceData, Covariate
from ardchoice.data.draw import draw_choices
from ardchoice.data.long import read_long
from ardchoice.data.recode import Categorical, Cut, Numeric
from ardchoice.data.wide import read_wide

__all__ = [
    "Attribute",
    "Categorical",
    "ChoiceData",
    "Covariate",
    "Cut",
    "Numeric",
    "datasets",
    "draw_choices",
    "read_long",
    "read_wide",
]
