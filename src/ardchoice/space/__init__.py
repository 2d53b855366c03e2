"""What could matter: transforms, terms and their grammar, specifications."""

from ardchoice.space.factors import INVERSE, Factor, column_of, parse_factor
from ardchoice.space.grammar import as_specification, parse_specification, parse_term
from ardchoice.space.pieces import Classes, Piecewise, Quantiles, Segments, Spline
from ardchoice.space.published import Size, swissmetro_space
from ardchoice.space.search import SearchSpace, SpaceOptions, matches, parse_transform
from ardchoice.space.specification import Rival, Specification
from ardchoice.space.terms import CONSTANT, EVERYWHERE, Term, quoted
from ardchoice.space.thresholds import Steps, Thresholds
from ardchoice.space.transforms import (
    BoxCox,
    Linear,
    Log,
    Log1p,
    Ratio,
    ShapeParameter,
    Sqrt,
    Square,
    Transform,
    number_text,
)

__all__ = [
    "CONSTANT",
    "EVERYWHERE",
    "INVERSE",
    "BoxCox",
    "Classes",
    "Factor",
    "Linear",
    "Log",
    "Log1p",
    "Piecewise",
    "Quantiles",
    "Ratio",
    "Rival",
    "SearchSpace",
    "Segments",
    "ShapeParameter",
    "Size",
    "SpaceOptions",
    "Specification",
    "Spline",
    "Sqrt",
    "Square",
    "Steps",
    "Term",
    "Thresholds",
    "Transform",
    "as_specification",
    "column_of",
    "matches",
    "number_text",
    "parse_factor",
    "parse_specification",
    "parse_term",
    "parse_transform",
    "quoted",
    "swissmetro_space",
]
