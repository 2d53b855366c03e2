"""`Estimates`: what maximum likelihood found for any family, with its statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from ardchoice._types import Floats
from ardchoice.data import ChoiceData
from ardchoice.design import Encoding
from ardchoice.errors import ArdchoiceError
from ardchoice.estimation.baselines import constants_loglik
from ardchoice.estimation.constraints import Constraints, Restriction
from ardchoice.estimation.delta import Uncertainty, check_level
from ardchoice.estimation.individual import individuals
from ardchoice.estimation.model import Model
from ardchoice.estimation.shapes import Shapes
from ardchoice.estimation.tastes import mean_coefficients, mean_of_finite
from ardchoice.families import Family, Mnl, ParameterLayout, TasteKind
from ardchoice.space import Specification

Covariance = Literal["classical", "robust", "cluster", "bootstrap"]


@dataclass(frozen=True, eq=False, repr=False)
class Estimates:
    """Estimates by maximum likelihood; P parameters, the first D of them coefficients.

    Attributes
    ----------
    family
        How utilities become probabilities.
    specification
        What was estimated.
    encoding
        How data become columns.
    coefficients
        Estimates of all parameters, in the order of `names`, in the user's units; shape (P,).
    covariances
        ``"classical"``, ``"robust"`` and, with persons, ``"cluster"``: shape (P, P) each.
    loglik, null_loglik
        At the estimates; with equal shares.
    n_situations, n_persons
    converged
        Whether the Newton decrement says that nothing is left to gain.
    iterations, decrement
        Newton steps, and the log-likelihood still to be gained at the end.
    data
        What it was estimated on.
    notes
        What to know of the estimates, a sentence each.
    constraints
        What was imposed on the parameters; None for nothing.
    shapes
        Exponents and thresholds that were estimated too; None without any.
    information
        Those of the notes that say what was decided or found: nothing is to be done about them.
    """

    specification: Specification
    encoding: Encoding
    coefficients: Floats
    covariances: Mapping[str, Floats]
    loglik: float
    null_loglik: float
    n_situations: int
    n_persons: int | None
    converged: bool
    iterations: int
    decrement: float
    data: ChoiceData = field(repr=False)
    family: Family = Mnl()  # noqa: RUF009 - frozen
    notes: tuple[str, ...] = ()
    constraints: Constraints | None = None
    shapes: Shapes | None = None
    information: tuple[str, ...] = ()

    # -- Statistics -------------------------------------------------------------------------

    @cached_property
    def model(self) -> Model:
        """What prediction needs of it: family, estimates and encoding."""
        moves = () if self.shapes is None else self.shapes.moves(self.encoding, self.data)
        return Model(self.coefficients, self.encoding, self.family, moves)

    @cached_property
    def layout(self) -> ParameterLayout:
        """What every parameter is: its name, kind and term."""
        return self.family.layout(self.encoding)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every parameter."""
        return self.layout.names

    @property
    def all_names(self) -> tuple[str, ...]:
        """The same with exponents and thresholds behind them, as in `to_frame`."""
        return self.names if self.shapes is None else (*self.names, *self.shapes.names)

    @property
    def all_values(self) -> Floats:
        """Estimates of all of these; shape (P + m,)."""
        if self.shapes is None:
            return self.coefficients
        return np.concatenate([self.coefficients, self.shapes.values])

    def at(self, values: Floats) -> Self:
        """The same model with other values of all of these; shape (P + m,)."""
        if self.shapes is None:
            return replace(self, coefficients=values)
        p = len(self.coefficients)
        return replace(
            self,
            coefficients=values[:p],
            shapes=replace(self.shapes, values=values[p:]),
            encoding=self.shapes.at(self.encoding, values[p:]),
        )

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: P without what is fixed, equal ones once, and shapes."""
        restriction, shapes = self.restriction, self.shapes
        free = len(self.coefficients) if restriction is None else restriction.turn.shape[1]
        return free + (0 if shapes is None else len(shapes.values))

    @cached_property
    def restriction(self) -> Restriction | None:
        """What the constraints mean for the parameters; None without any."""
        return None if self.constraints is None else self.constraints.resolved(self.layout)

    @property
    def is_fixed(self) -> npt.NDArray[np.bool_]:
        """Which parameters are fixed, so that they have no standard error; shape (P,)."""
        if self.restriction is None:
            return np.zeros(len(self.coefficients), dtype=bool)
        return self.restriction.is_fixed

    @cached_property
    def constants_loglik(self) -> float:
        """Log-likelihood with a constant per alternative and nothing else."""
        return constants_loglik(self.data)

    @property
    def aic(self) -> float:
        """Akaike's criterion, -2ℓ + 2D."""
        return -2 * self.loglik + 2 * self.n_parameters

    @property
    def bic(self) -> float:
        """The Bayesian criterion, -2ℓ + P log n, with n as in `n_units`."""
        return self.bic_counting(self.n_units)

    def bic_counting(self, n_units: int) -> float:
        """BIC with another n, such as that of the model it is compared with."""
        return -2 * self.loglik + self.n_parameters * float(np.log(n_units))

    @property
    def n_units(self) -> int:
        """What BIC counts: persons in families whose unit is the person, else situations."""
        by_person = self.family.panel and self.n_persons is not None
        return (self.n_persons or 0) if by_person else self.n_situations

    @property
    def rho2(self) -> float:
        """McFadden's 1 - ℓ / ℓ(0)."""
        return 1 - self.loglik / self.null_loglik

    @property
    def rho2_bar(self) -> float:
        """The same with a penalty for parameters, 1 - (ℓ - D) / ℓ(0)."""
        return 1 - (self.loglik - self.n_parameters) / self.null_loglik

    @property
    def default_cov(self) -> Covariance:
        """Clustered by person when there are persons, robust otherwise."""
        return "cluster" if "cluster" in self.covariances else "robust"

    @cached_property
    def design_effect(self) -> float | None:
        """tr(H⁻¹J) / P: how much more scores summed by person vary than independent answers would.

        None without persons. Estimates that diverge have no part in it.
        """
        return None if "cluster" not in self.covariances else self._score_variance("cluster")

    @property
    def person_effect(self) -> float | None:
        """The part of `design_effect` that comes from several answers of a person.

        tr(H⁻¹J) with scores summed by person, relative to that of single answers. Unequal weights,
        and what the model gets wrong of single answers, are in both. None without persons, and for
        families that know of persons, which have no scores of single answers.
        """
        if self.design_effect is None or self.family.panel:
            return None
        alone = self._score_variance("robust")
        return self.design_effect / alone if alone else None

    def _score_variance(self, kind: Covariance) -> float | None:
        """tr(H⁻¹J) / P of estimates that do not diverge; None without any."""
        classical, other = self.covariances["classical"], self.covariances[kind]
        known = np.flatnonzero(~np.isnan(np.diag(classical)))
        if self.restriction is not None:  # one of those that are equal, none that is fixed
            known = np.intersect1d(known, self.restriction.turn.argmax(axis=0))
        if not len(known):
            return None
        at = np.ix_(known, known)
        return float(np.trace(np.linalg.solve(classical[at], other[at])) / len(known))

    @property
    def is_infinite(self) -> npt.NDArray[np.bool_]:
        """Which estimates diverge, so that they have no standard error; shape (P,)."""
        unknown = np.isnan(np.diag(self.covariances["classical"]))
        at_bound = self.layout.at_bound(self.coefficients)
        if self.restriction is not None and self.restriction.bounds is not None:
            low, high = self.restriction.bounds[:, self.restriction.turn.argmax(axis=1)]
            here = ~self.restriction.is_fixed
            at_bound |= here & ((self.coefficients <= low) | (self.coefficients >= high))
        return unknown & ~at_bound

    @property
    def taste_kinds(self) -> tuple[TasteKind, ...]:
        """The coefficients of every class of a latent class logit; nothing for other families."""
        return self.family.taste_kinds(self.coefficients, self.layout)

    @cached_property
    def mean_coefficients(self) -> Floats:
        """Coefficients of the columns, their mean over persons where tastes vary; shape (D,).

        A class in which a coefficient diverges has no part in its mean, unless it does in all.
        """
        kinds, infinite = self.taste_kinds, self.is_infinite
        found = mean_coefficients(self.model, self.data)
        if not kinds or not infinite.any():
            return found
        shares = individuals(self.model, self.data).mean().to_numpy()
        return mean_of_finite(found, kinds, shares, infinite)

    def covariance(self, cov: Covariance | None = None) -> pd.DataFrame:
        """Covariance of the estimates, with names; exponents and thresholds last."""
        names = list(self.all_names)
        return pd.DataFrame(self._full_covariance(cov), index=names, columns=names)

    def _full_covariance(self, cov: Covariance | None) -> Floats:
        """Of parameters and shapes; shape (P + m, P + m)."""
        found, shapes = self._covariance(cov), self.shapes
        if shapes is None:
            return found
        kind, m = cov or self.default_cov, len(shapes.values)
        if kind in shapes.covariances:
            return shapes.covariances[kind]
        out = np.full((len(found) + m,) * 2, np.nan)
        out[: len(found), : len(found)] = found
        return out

    def _covariance(self, cov: Covariance | None) -> Floats:
        kind = cov or self.default_cov
        if kind not in self.covariances:
            known = ", ".join(self.covariances)
            why = " The data have no person ids." if kind == "cluster" else ""
            raise ArdchoiceError(f"There is no covariance {kind!r}: there are {known}.{why}")
        return self.covariances[kind]

    def _uncertainty(self, cov: Covariance | None, level: float) -> Uncertainty:
        """Of parameters, exponents and thresholds; those without an error are taken as given."""
        never = np.zeros(len(self.all_values) - len(self.coefficients), dtype=bool)
        infinite = np.concatenate([self.is_infinite, never])
        return Uncertainty(self._full_covariance(cov), self.all_values, infinite, level)

    def to_frame(self, cov: Covariance | None = None, *, level: float = 0.95) -> pd.DataFrame:
        """Estimates: estimate, std_err, z, p, low, high, kind; a row per parameter.

        Exponents and thresholds come last. An exponent is tested against 1, the attribute as it
        is; a threshold against nothing.

        Parameters
        ----------
        cov
            Which standard errors: clustered by person when there are persons, else robust.
        level
            Of the interval.
        """
        variance, parameters = np.diag(self._covariance(cov)), self.layout.parameters
        variance = np.where(self.is_fixed, np.nan, variance)
        null = np.array([p.null_value for p in parameters])
        columns = estimate_columns(self.coefficients, np.sqrt(variance), level, null)
        # A standard deviation has zero as its boundary: half of χ² with 0 and with 1 degrees of
        # freedom each.
        spread = np.array([p.kind == "sd" for p in parameters], dtype=bool)
        columns["p"][spread] *= 0.5
        columns["p"][spread & (self.coefficients == 0)] = 1.0
        index = pd.Index(self.names, name="coefficient")
        kinds = [p.kind for p in parameters]
        frame = pd.DataFrame({**columns, "kind": kinds}, index)
        if self.shapes is None:
            return frame
        return pd.concat([frame, self._shape_frame(cov, level)]).rename_axis("coefficient")

    def _shape_frame(self, cov: Covariance | None, level: float) -> pd.DataFrame:
        """The same of exponents and thresholds."""
        shapes = self.shapes
        assert shapes is not None  # noqa: S101 - asked for only where there are some
        variance = np.diag(self._full_covariance(cov))[len(self.coefficients) :]
        null = np.where([kind == "exponent" for kind in shapes.kinds], 1.0, np.nan)
        columns = estimate_columns(shapes.values, np.sqrt(variance), level, null)
        return pd.DataFrame({**columns, "kind": list(shapes.kinds)}, list(shapes.names))

    @property
    def estimates(self) -> pd.Series:
        """The coefficients, by name."""
        return pd.Series(self.coefficients, index=list(self.names), name="estimate")


def estimate_columns(
    values: Floats, std_err: Floats, level: float, null: Floats | float = 0.0
) -> dict[str, Floats]:
    """Estimate, std_err, z and p of a test against `null`, low, high; of the same shape."""
    check_level(level)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (values - null) / std_err
    half = special.ndtri(0.5 + level / 2) * std_err
    return {
        "estimate": values,
        "std_err": std_err,
        "z": z,
        "p": 2 * special.ndtr(-np.abs(z)),
        "low": values - half,
        "high": values + half,
    }
