"""What could matter: transforms, terms and their grammar, specifications."""

from ardchoice.space.grammar import parse_specification, parse_term
from ardchoice.space.published import swissmetro_space
from ardchoice.space.search import SearchSpace
from ardchoice.space.specification import Rival, Specification
from ardchoice.space.terms import Term
from ardchoice.space.transforms import (
    BoxCox,
    Linear,
    Log,
    Log1p,
    Piecewise,
    Quantiles,
    Segments,
    Sqrt,
    Square,
    Transform,
)

__all__ = [
    "BoxCox",
    "Linear",
    "Log",
    "Log1p",
    "Piecewise",
    "Quantiles",
    "Rival",
    "SearchSpace",
    "Segments",
    "Specification",
    "Sqrt",
    "Square",
    "Term",
    "Transform",
    "parse_specification",
    "parse_term",
    "swissmetro_space",
]
