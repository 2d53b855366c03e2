"""Transforms of an attribute: what they need is learned once and then applied to any data.

A transform turns n values into one or more columns. `learn` returns its parameters (plain
numbers), `apply` and `slope` take them back, so that new data are treated exactly as the first.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from ardchoice.data import Counts
from ardchoice.errors import SpecificationError, TransformError

Values = npt.NDArray[np.float64]
Parameters = tuple[float, ...]

LARGEST_SHIFT = 1e12
"""Of boxcox: beyond it, adding loses the digits of the values."""
MAX_BOXCOX_EXPONENT = 10.0
"""Beyond this a power shows only that values hardly vary."""
MAX_LOG_POWER = 300.0
"""Logarithm of the largest power of a value: its square is still a number."""
MIN_RELATIVE_SPREAD = 1e-9
"""Values that differ by a smaller share than this have no shape to learn an exponent from."""


@dataclass(frozen=True)
class Transform:
    """One functional form; subclasses say how."""

    name: ClassVar[str]
    is_classes: ClassVar[bool] = False
    """Whether it cuts the values into classes, one column each but for the last."""

    def text(self, attribute: str) -> str:
        """How it is written around an attribute: ``log(TT)``."""
        arguments = "".join(f", {number_text(a)}" for a in self.arguments())
        return f"{self.name}({attribute}{arguments})"

    def arguments(self) -> tuple[float, ...]:
        """What stands behind the attribute in the grammar."""
        return ()

    @classmethod
    def of_arguments(cls, arguments: tuple[float, ...]) -> Transform:
        """The transform that has these arguments in the grammar."""
        if arguments:
            raise SpecificationError(
                f"{cls.name} takes nothing besides the attribute: {cls.name}(v)."
            )
        return cls()

    def learn(self, x: Values, counts: Counts | None = None) -> Parameters:
        """What the transform needs to know, from the values it is fitted on.

        Parameters
        ----------
        x
            In any order, or ascending and different where they have counts; shape (n,).
        counts
            How often each occurs; None for once. Shape (n,).
        """
        return ()

    def labels(self, parameters: Parameters) -> tuple[str, ...]:
        """A label per column; one empty label for a single column."""
        return ("",)

    def check(self, x: Values, parameters: Parameters, counts: Counts | None = None) -> None:
        """Raise `TransformError` when a value lies outside the domain."""

    def apply(self, x: Values, parameters: Parameters) -> Values:
        """The columns; shape (C, n) for x of shape (n,)."""
        raise NotImplementedError

    def slope(self, x: Values, parameters: Parameters) -> Values:
        """The derivative of every column by x; shape (C, n)."""
        raise NotImplementedError

    def elasticity(self, x: Values, parameters: Parameters) -> Values:
        """The derivative of every column by log x, ``x`` times the slope; shape (C, n)."""
        return x * self.slope(x, parameters)

    def shapes(self) -> tuple[ShapeParameter, ...]:
        """Which of its parameters the choices decide, with the coefficients. Default: none."""
        return ()

    def shape_limits(
        self, x: Values, parameters: Parameters, counts: Counts | None = None
    ) -> tuple[tuple[float, float], ...]:
        """Smallest and largest value of each of these, for values as in `learn`."""
        return ()


@dataclass(frozen=True)
class ShapeParameter:
    """A parameter of a transform that is estimated with the coefficients.

    Attributes
    ----------
    place
        Among the parameters that the transform learns.
    kind
        ``"exponent"`` or ``"threshold"``.
    smoothness
        How often the columns can be differentiated by it: 2 for always, 1 where the derivative
        jumps, 0 where columns themselves jump, so that only some values make a difference.
    """

    place: int
    kind: Literal["exponent", "threshold"]
    smoothness: Literal[0, 1, 2]


def number_text(value: float) -> str:
    """A number as the grammar writes it: the shortest text that reads back to the same."""
    whole = float(value).is_integer() and abs(value) < 1e15
    return str(int(value)) if whole else repr(float(value))


def _outside(
    transform: Transform,
    bad: npt.NDArray[np.bool_],
    x: Values,
    need: str,
    counts: Counts | None,
) -> None:
    if bad.any():
        many, of = (bad.sum(), len(x)) if counts is None else (counts[bad].sum(), counts.sum())
        raise TransformError(
            f"{transform.name} needs {need}, but {int(many)} of {int(of)} values are not "
            f"(the smallest is {x.min():g})."
        )


@dataclass(frozen=True)
class Pointwise(Transform):
    """One column, a function of the value alone."""

    function: ClassVar[Callable[..., Any]]
    derivative: ClassVar[Callable[..., Any]]
    by_log: ClassVar[Callable[..., Any] | None] = None
    """The derivative by log x, where x times the derivative loses digits."""
    outside: ClassVar[Callable[..., Any] | None] = None
    """Values that it is not defined for."""
    need: ClassVar[str] = ""

    def check(self, x: Values, parameters: Parameters, counts: Counts | None = None) -> None:
        """Values where it is defined only."""
        if self.outside is not None:
            _outside(self, self.outside(x), x, self.need, counts)

    def apply(self, x: Values, parameters: Parameters) -> Values:
        """The function; shape (1, n)."""
        return np.asarray(self.function(x)[None])

    def slope(self, x: Values, parameters: Parameters) -> Values:
        """Its derivative; shape (1, n), infinite at a pole."""
        with np.errstate(over="ignore", divide="ignore"):
            return np.asarray(self.derivative(x)[None])

    def elasticity(self, x: Values, parameters: Parameters) -> Values:
        """Its derivative by log x; shape (1, n)."""
        if self.by_log is None:
            return super().elasticity(x, parameters)
        return np.asarray(self.by_log(x)[None])


def _ones(x: Values) -> Values:
    return np.ones(len(x))


@dataclass(frozen=True)
class Linear(Pointwise):
    """The attribute as it is: ``x``, slope ``1``."""

    name = "linear"
    function = staticmethod(np.asarray)
    derivative = staticmethod(_ones)

    def text(self, attribute: str) -> str:
        """Just the attribute."""
        return attribute


@dataclass(frozen=True)
class Log(Pointwise):
    """Natural logarithm: ``log x``, slope ``1 / x``, elasticity ``1``."""

    name = "log"
    function = staticmethod(np.log)
    derivative = staticmethod(lambda x: 1 / x)
    by_log = staticmethod(_ones)
    outside = staticmethod(lambda x: x <= 0)
    need = "positive values (log1p allows zero)"


@dataclass(frozen=True)
class Log1p(Pointwise):
    """Natural logarithm of one plus the value: ``log(1 + x)``, slope ``1 / (1 + x)``."""

    name = "log1p"
    function = staticmethod(np.log1p)
    derivative = staticmethod(lambda x: 1 / (1 + x))
    outside = staticmethod(lambda x: x <= -1)
    need = "values above -1"


@dataclass(frozen=True)
class Sqrt(Pointwise):
    """Square root: ``√x``, slope ``1 / (2 √x)``, elasticity ``√x / 2``, finite at zero too."""

    name = "sqrt"
    function = staticmethod(np.sqrt)
    derivative = staticmethod(lambda x: 0.5 / np.sqrt(x))
    by_log = staticmethod(lambda x: 0.5 * np.sqrt(x))
    outside = staticmethod(lambda x: x < 0)
    need = "values of zero or more"


@dataclass(frozen=True)
class Square(Pointwise):
    """The square: ``x²``, slope ``2 x``."""

    name = "square"
    function = staticmethod(np.square)
    derivative = staticmethod(lambda x: 2 * x)


@dataclass(frozen=True)
class BoxCox(Transform):
    """Box-Cox: ``((x + shift)^exponent - 1) / exponent``.

    Without a shift the choices decide the exponent: it is estimated with the coefficients. With
    one, as in the paper, it is the exponent that makes the values most nearly Gaussian, whatever
    was chosen.

    Parameters
    ----------
    shift
        Added to the values first. Default: 0 when all are positive, 1 when some are zero.
    """

    name = "boxcox"
    shift: float | None = None

    def __post_init__(self) -> None:
        if self.shift is not None and not np.isfinite(self.shift):
            raise SpecificationError("boxcox needs a finite shift, as in boxcox(v, 1).")
        if self.shift is not None and abs(self.shift) > LARGEST_SHIFT:
            raise SpecificationError(
                f"boxcox takes a shift of at most {LARGEST_SHIFT:,.0f} either way, not "
                f"{float(self.shift)!r}: beside a larger one values are all the same."
            )

    @classmethod
    def of_arguments(cls, arguments: tuple[float, ...]) -> Transform:
        """With the shift, if given."""
        if len(arguments) > 1:
            raise SpecificationError("boxcox takes at most a shift: boxcox(v) or boxcox(v, 1).")
        return cls(*arguments)

    def arguments(self) -> tuple[float, ...]:
        """The shift, if given."""
        return () if self.shift is None else (self.shift,)

    def learn(self, x: Values, counts: Counts | None = None) -> Parameters:
        """(exponent, shift); the exponent by maximum likelihood of the values."""
        shift = self.shift if self.shift is not None else (0.0 if x.min() > 0 else 1.0)
        self.check(x, (1.0, shift), counts)
        # Sorted, so that the same values in another order give the same exponent to the last bit.
        y = (np.sort(x) if counts is None else x) + shift
        if y[-1] - y[0] <= MIN_RELATIVE_SPREAD * y[-1]:
            return (1.0, shift)
        # In units of the geometric mean the exponent is the same and its Jacobian vanishes: the
        # likelihood is greatest where the variance is least. The logarithm of that is convex in
        # the exponent, so there is one minimum to find.
        log = np.log(y)
        scaled = np.exp(log - np.average(log, weights=counts))
        most = _largest_exponent(log[0], log[-1])
        least = optimize.minimize_scalar(
            lambda exponent: np.log(_variance(special.boxcox(scaled, exponent), counts)),
            bounds=(-most, most),
            method="bounded",
            options={"xatol": 1e-8},
        )
        return (float(least.x), shift)

    def shapes(self) -> tuple[ShapeParameter, ...]:
        """The exponent, without a shift of its own."""
        return (ShapeParameter(0, "exponent", 2),) if self.shift is None else ()

    def shape_limits(
        self, x: Values, parameters: Parameters, counts: Counts | None = None
    ) -> tuple[tuple[float, float], ...]:
        """Exponents whose powers are numbers."""
        most = _largest_exponent(*np.log(np.array([x.min(), x.max()]) + parameters[1]))
        return ((-most, most),)

    def check(self, x: Values, parameters: Parameters, counts: Counts | None = None) -> None:
        """Positive values only, after the shift."""
        shift = parameters[1]
        need = f"values above {-shift:g}" if shift else "positive values"
        if self.shift is None:
            need = "values of zero or more" if shift else "positive values, as it was fitted on"
            bad = x < 0 if shift else x <= 0
        else:
            bad = x + shift <= 0
        _outside(self, bad, x, need, counts)

    def apply(self, x: Values, parameters: Parameters) -> Values:
        """``((x + shift)^exponent - 1) / exponent``, or the logarithm at exponent 0."""
        exponent, shift = parameters
        # 1 + x forgets a small x; boxcox1p does not.
        columns = (
            special.boxcox1p(x, exponent) if shift == 1 else special.boxcox(x + shift, exponent)
        )
        return np.asarray(columns, dtype=float)[None]

    def slope(self, x: Values, parameters: Parameters) -> Values:
        """``(x + shift)^(exponent - 1)``."""
        exponent, shift = parameters
        with np.errstate(over="ignore"):
            return ((x + shift) ** (exponent - 1))[None]

    def elasticity(self, x: Values, parameters: Parameters) -> Values:
        """``x / (x + shift) (x + shift)^exponent``: near zero the slope alone may overflow."""
        exponent, shift = parameters
        with np.errstate(over="ignore"):
            return (x / (x + shift) * (x + shift) ** exponent)[None]


def _largest_exponent(low: float, high: float) -> float:
    """For values whose logarithms lie between these."""
    return float(min(MAX_BOXCOX_EXPONENT, MAX_LOG_POWER / np.abs([low, high, high - low]).max()))


def _variance(x: Values, counts: Counts | None) -> float:
    if counts is None:
        return float(x.var())
    return float(np.average((x - np.average(x, weights=counts)) ** 2, weights=counts))


@dataclass(frozen=True)
class Ratio(Pointwise):
    """The attribute divided by a numeric covariate: ``CO / INCOME``.

    As a function of the attribute it is linear; the division is one by a number of the person.
    """

    name = "ratio"
    function = staticmethod(np.asarray)
    derivative = staticmethod(_ones)
    covariate: str = ""

    def text(self, attribute: str) -> str:
        """``CO / INCOME``."""
        name = self.covariate
        return f"{attribute} / {name if _PLAIN_NAME.fullmatch(name) else _in_quotes(name)}"


_PLAIN_NAME = re.compile(r"\w[\w.]*")
_ESCAPES = {"\\": "\\\\", "`": "\\`", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _in_quotes(name: str) -> str:
    return "`" + "".join(_ESCAPES.get(c, c) for c in name) + "`"


TRANSFORMS: dict[str, Callable[[tuple[float, ...]], Transform]] = {
    transform.name: transform.of_arguments
    for transform in (Linear, Log, Log1p, Sqrt, Square, BoxCox)
}
"""What the grammar knows: name -> how to make the transform from its arguments. Forms with several
columns add themselves."""
