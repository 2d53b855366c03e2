"""How many terms are enough: the rules that `select` takes."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
import numpy.typing as npt

from ardchoice.errors import ArdchoiceError
from ardchoice.selection.criterion import Criterion, bic, ebic


@dataclass(frozen=True)
class LambdaAbove:
    """Terms whose λ exceeds a threshold, as in the paper.

    Attributes
    ----------
    threshold
        On the standardised scale.
    """

    threshold: float = 0.002

    @property
    def name(self) -> str:
        """How reports call it."""
        return f"λ > {self.threshold:g}"


@dataclass(frozen=True)
class Evidence:
    """Terms without which the log evidence falls by more than a threshold.

    Attributes
    ----------
    above
        A log Bayes factor; 3 is usually called strong.
    """

    above: float = 3.0

    @property
    def name(self) -> str:
        """How reports call it."""
        return f"log evidence > {self.above:g}"


@dataclass(frozen=True)
class FalseDiscovery:
    """Terms found by the calibrated statistic, with a bound on the share of false ones.

    Attributes
    ----------
    q
        The share of false discoveries allowed (Benjamini and Hochberg).
    """

    q: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.q < 1:
            raise ArdchoiceError(f"A false discovery rate lies between 0 and 1, not at {self.q}.")

    @property
    def name(self) -> str:
        """How reports call it."""
        return f"false discovery rate {self.q:g}"


@dataclass(frozen=True)
class Bic:
    """The smallest BIC that a local search finds.

    Attributes
    ----------
    weight
        Of the penalty: 1 for BIC, 2 / ln n for AIC.
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        if not self.weight > 0:
            raise ArdchoiceError(f"The weight of a penalty is positive, not {self.weight}.")

    @property
    def name(self) -> str:
        """How reports call it."""
        return "BIC" if self.weight == 1 else f"BIC with {self.weight:g} times its penalty"

    def criterion(self, n: int, columns: npt.NDArray[np.intp]) -> Criterion:
        """For n choice situations; the candidates do not count."""
        del columns
        plain = bic(n)
        return Criterion(self.name, self.weight * plain.per_coefficient)


@dataclass(frozen=True)
class Ebic:
    """The smallest extended BIC that a local search finds: it knows how large the space is.

    Attributes
    ----------
    gamma
        Weight of ln C(p, q) for q of p candidate terms; default: max(0, 1 - ln n / (2 ln p)).
    noise
        Unless gamma is given, it is raised where more noise terms than this would be expected to
        come in by chance: in spaces with thousands of small terms.
    """

    gamma: float | None = None
    noise: float = 0.1

    def __post_init__(self) -> None:
        if self.gamma is not None and not self.gamma >= 0:
            raise ArdchoiceError(f"gamma is a weight, zero or more, not {self.gamma}.")
        if not self.noise > 0:
            raise ArdchoiceError(f"noise is a number of terms above zero, not {self.noise}.")

    @property
    def name(self) -> str:
        """How reports call it."""
        return "EBIC"

    def criterion(self, n: int, columns: npt.NDArray[np.intp]) -> Criterion:
        """For n choice situations and candidates with these columns; shape (p,)."""
        if self.gamma is None:
            return ebic(n, len(columns), columns, self.noise)
        return Criterion(self.name, log(n), self.gamma, len(columns))


@dataclass(frozen=True)
class HeldOut:
    """The penalty that predicts the choices of other people best.

    In every fold of persons the search is repeated with every weight of the BIC penalty; the weight
    whose specifications predict held-out persons best is then used on all.

    Attributes
    ----------
    folds
    weights
        Of the BIC penalty.
    seed
        Of the folds.
    """

    folds: int = 5
    weights: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.folds < 2 or not self.weights or min(self.weights) <= 0:
            raise ArdchoiceError("HeldOut needs at least two folds and one positive weight.")

    @property
    def name(self) -> str:
        """How reports call it."""
        return f"held-out log-likelihood in {self.folds} folds"


def must_be_rule(rule: object) -> None:
    """Raise when something else comes where a rule is wanted."""
    if not isinstance(rule, Rule):
        name = rule.__name__ if isinstance(rule, type) else repr(rule)
        raise ArdchoiceError(
            "A rule is a value such as ac.Ebic(), ac.Bic(), ac.HeldOut() or "
            f"ac.LambdaAbove(0.002), not {name}."
        )


Threshold = LambdaAbove | Evidence | FalseDiscovery
Searched = Bic | Ebic
Rule = Threshold | Searched | HeldOut
