"""`Factor`: what a term is multiplied by besides levels: a number, or a function of one.

In the grammar a factor is ``INCOME``, ``log(INCOME)`` or, of another attribute, ``CO``; of what
is divided by, it is the inverse.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ardchoice.errors import TransformError

Values = npt.NDArray[np.float64]
_CALL = re.compile(r"(\w+)\((.*)\)", re.DOTALL)
INVERSE = "inverse"


@dataclass(frozen=True)
class _Function:
    """A function of a number, its derivative, and where it is not defined."""

    value: Callable[[Values], Values]
    slope: Callable[[Values], Values]
    outside: Callable[[Values], npt.NDArray[np.bool_]]
    need: str


def _nowhere(x: Values) -> npt.NDArray[np.bool_]:
    return np.zeros(x.shape, dtype=bool)


_FUNCTIONS: Mapping[str, _Function] = {
    "": _Function(np.asarray, np.ones_like, _nowhere, ""),
    "log": _Function(np.log, lambda x: 1 / x, lambda x: x <= 0, "positive values"),
    "log1p": _Function(np.log1p, lambda x: 1 / (1 + x), lambda x: x <= -1, "values above -1"),
    "sqrt": _Function(
        np.sqrt, lambda x: 0.5 / np.sqrt(x), lambda x: x < 0, "values of zero or more"
    ),
    "square": _Function(np.square, lambda x: 2 * x, _nowhere, ""),
    INVERSE: _Function(
        lambda x: 1 / x, lambda x: -1 / x**2, lambda x: x == 0, "values other than zero"
    ),
}
FACTOR_FUNCTIONS = tuple(name for name in _FUNCTIONS if name not in ("", INVERSE))
"""Functions that the grammar allows of what a term is multiplied by."""


@dataclass(frozen=True)
class Factor:
    """A number that columns are multiplied by.

    Attributes
    ----------
    name
        A numeric covariate, or an attribute.
    function
        Empty for the number itself.
    """

    name: str
    function: str = ""

    @property
    def text(self) -> str:
        """``INCOME``, ``log(INCOME)``, ``1 / INCOME``."""
        if self.function == INVERSE:
            return f"1 / {self.name}"
        return f"{self.function}({self.name})" if self.function else self.name

    def apply(self, x: Values) -> Values:
        """The factor for values of the number."""
        return np.asarray(_FUNCTIONS[self.function].value(x))

    def slope(self, x: Values) -> Values:
        """Its derivative."""
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(_FUNCTIONS[self.function].slope(x))

    def check(self, x: Values) -> None:
        """Raise where it is not defined for some values."""
        function = _FUNCTIONS[self.function]
        bad = function.outside(x)
        if bad.any():
            raise TransformError(
                f"{self.text} needs {function.need}, but {int(bad.sum())} of {len(x)} values are "
                f"not (the smallest is {x.min():g})."
            )


def parse_factor(text: str) -> Factor:
    """``log(INCOME)`` as a function of INCOME; anything else is a name."""
    found = _CALL.fullmatch(text)
    if found and found[1] in FACTOR_FUNCTIONS:
        return Factor(found[2], found[1])
    return Factor(text)


def column_of(text: str, known: Mapping[str, object]) -> str:
    """The column that a name in an interaction stands for: itself, or what a function is of."""
    return text if text in known else parse_factor(text).name
