"""How many terms are enough: the rules that `select` takes."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

from ardchoice._types import Bools, Floats, Ints
from ardchoice.errors import ArdchoiceError
from ardchoice.selection.criterion import Criterion, ebic, independent_ebic, priced


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
        In units of log evidence. It is no Bayes factor: λ is maximised, not integrated out.
    cluster
        Whether the evidence is divided by d, the design effect that prices have in them, where
        persons have several answers. Default: True.
    """

    above: float = 3.0
    cluster: bool = True

    @property
    def name(self) -> str:
        """How reports call it."""
        return f"log evidence > {self.above:g}"


@dataclass(frozen=True)
class FalseDiscovery:
    """Terms found by the score test clustered by person, with a bound on the share of false ones.

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
    cluster
        Whether interactions and nonlinear forms are priced by their design effect where persons
        have several answers. False: all answers count as independent. Default: True.
    """

    weight: float = 1.0
    cluster: bool = True

    def __post_init__(self) -> None:
        if not self.weight > 0:
            raise ArdchoiceError(f"The weight of a penalty is positive, not {self.weight}.")

    @property
    def name(self) -> str:
        """How reports call it."""
        return "BIC" if self.weight == 1 else f"BIC with {self.weight:g} times its penalty"

    def criterion(
        self,
        n: int,
        columns: Ints,
        *,
        design_effect: Floats | None = None,
        log_sets: Floats | None = None,
        searched: Bools | None = None,
    ) -> Criterion:
        """For n choice situations and candidates with these columns; the candidates do not count.

        Parameters
        ----------
        n
        columns, design_effect
            Of every candidate; shape (p,). No design effect: one.
        log_sets, searched
            Ignored.
        """
        del log_sets, searched
        plain = Criterion(self.name, self.weight * log(n), n=n)
        return priced(plain, np.asarray(columns), design_effect)


@dataclass(frozen=True)
class Ebic:
    """The smallest extended BIC that a local search finds: it knows how large the space is.

    Attributes
    ----------
    gamma
        Weight of ln V(q), V(q) being the number of valid specifications of q of the p candidate
        terms. Default: max(0, 1 - ln n / (2 ln p)).
    noise
        Unless gamma is given, terms pay a surcharge where more noise terms than this would be
        expected to come in by chance, were all noise: in spaces with many small terms. For 100
        candidates; up to four times as many in smaller spaces, down to a fifth in larger ones.
        Default: 0.1.
    cluster
        Whether interactions and nonlinear forms are priced by their design effect where persons
        have several answers. False: the criterion of earlier versions, for which all answers are
        independent and all sets of terms valid, so that V(q) = C(p, q). Default: True.
    """

    gamma: float | None = None
    noise: float = 0.1
    cluster: bool = True

    def __post_init__(self) -> None:
        if self.gamma is not None and not self.gamma >= 0:
            raise ArdchoiceError(f"gamma is a weight, zero or more, not {self.gamma}.")
        if not self.noise > 0:
            raise ArdchoiceError(f"noise is a number of terms above zero, not {self.noise}.")

    @property
    def name(self) -> str:
        """How reports call it."""
        return "EBIC"

    def criterion(
        self,
        n: int,
        columns: Ints,
        *,
        design_effect: Floats | None = None,
        log_sets: Floats | None = None,
        searched: Bools | None = None,
    ) -> Criterion:
        """For n choice situations and candidates with these columns.

        Parameters
        ----------
        n
        columns, design_effect
            Of every candidate; shape (p,). No design effect: one.
        log_sets
            ln V(q). Default: of all sets, ln C(p, q).
        searched
            Which candidates the search has to find; shape (p,). Default: all.
        """
        if not self.cluster and self.gamma is None:
            return independent_ebic(n, np.asarray(columns), noise=self.noise, searched=searched)
        return ebic(
            n,
            np.asarray(columns),
            noise=self.noise,
            gamma=self.gamma,
            design_effect=design_effect,
            log_sets=log_sets,
            searched=searched,
        )


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
    cluster
        As for `Bic`. Default: True.
    """

    folds: int = 5
    weights: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0)
    seed: int = 0
    cluster: bool = True

    def __post_init__(self) -> None:
        if self.folds < 2 or not self.weights or min(self.weights) <= 0:
            raise ArdchoiceError("HeldOut needs at least two folds and one positive weight.")

    @property
    def name(self) -> str:
        """How reports call it."""
        return f"held-out log-likelihood in {self.folds} folds"


def must_be_rule(rule: object) -> Rule:
    """The rule itself; an error where something else comes."""
    if isinstance(rule, Rule):
        return rule
    name = rule.__name__ if isinstance(rule, type) else repr(rule)
    raise ArdchoiceError(
        "A rule is a value such as ac.Ebic(), ac.Bic(), ac.HeldOut() or "
        f"ac.LambdaAbove(0.002), not {name}."
    )


Threshold = LambdaAbove | Evidence | FalseDiscovery
Searched = Bic | Ebic
Rule = Threshold | Searched | HeldOut
