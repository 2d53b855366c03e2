"""Mixed logits of the same terms with different random coefficients, estimated to be compared.

One after the other, each from the estimates of the last: by products of the persons' scores, in
single precision, until nodes that move change the log-likelihood more than is left to be gained.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ardchoice._types import Floats
from ardchoice.data import ChoiceData, grouped_by_person
from ardchoice.design import Design
from ardchoice.families.family import Family, family_pass
from ardchoice.families.mixed.checks import check_before
from ardchoice.families.mixed.estimate import maximise_simulated, warm_start
from ardchoice.families.mixed.family import Mixed
from ardchoice.families.mixed.structure import structure_of
from ardchoice.families.parameters import ParameterLayout
from ardchoice.families.records import EstimationTask, Maximum, Separation
from ardchoice.numerics import Sums
from ardchoice.space import Term

RIDGE_SHARE = 1e-9
"""Of the scores' products, on unit diagonal: what answers do not identify has large errors."""
MOST_STEPS = 100
DECREMENT = 1e-8
"""Log-likelihood still to be gained by the multinomial logit."""
FIRST_DEVIATION = 0.1
"""Of a coefficient that scores say does not differ."""


@dataclass(frozen=True, eq=False)
class QuickFit:
    """A mixed logit that was estimated to be compared.

    Attributes
    ----------
    random
        Name -> distribution.
    loglik
        Good to a few tenths.
    values
        Parameter -> estimate.
    z
        Random coefficient -> its standard deviation over the standard error.
    """

    random: Mapping[str, str]
    loglik: float
    values: Mapping[str, float]
    z: Mapping[str, float]


class QuickFits:
    """Of the same terms on the same data.

    Parameters
    ----------
    data
        With weights that average to one, so that log-likelihoods are comparable with prices.
    terms
    nodes, seed
        As in `Mixed`.
    """

    def __init__(self, data: ChoiceData, terms: tuple[Term, ...], nodes: int, seed: int) -> None:
        self.design = Design(grouped_by_person(data), terms)
        self.blocks = self.design.blocks()
        self.nodes, self.seed = nodes, seed
        self._mnl: Maximum | None = None

    def fit(self, random: Mapping[str, str], near: Mapping[str, float] | None = None) -> QuickFit:
        """The log-likelihood and the standard deviations with some coefficients random.

        Parameters
        ----------
        random
            Name -> distribution; not empty.
        near
            Parameter -> value close to its estimate, as far as any are known.

        Raises
        ------
        IdentificationError
            Some coefficients are not identified whatever the answers.
        """
        wanted = Mixed(random, nodes=self.nodes, seed=self.seed)
        family = check_before(wanted, self.design).family
        layout = family.layout(self.design.encoding).reordered(self.design.order)
        task = self._task(family, layout)
        structure = structure_of(layout)
        warm = warm_start(task, structure, self._mnl)
        self._mnl = warm.maximum
        start = self._start(layout, near or {}, np.sqrt(np.maximum(warm.variance, 0.0)))
        found = maximise_simulated(
            task,
            self.nodes,
            self.seed,
            warm,
            start=start,
            is_near=start is not None,
            is_final=False,
        )
        d = layout.n_columns
        spreads = found.theta[d : d + structure.q]
        z = spreads / _errors(found.sums.curvature, spreads, d)
        values = dict(zip(layout.names, found.theta.tolist(), strict=True))
        names = [name[3:-1] for name in layout.names[d : d + structure.q]]
        return QuickFit(
            dict(random), found.sums.loglik, values, dict(zip(names, z.tolist(), strict=True))
        )

    def _start(
        self, layout: ParameterLayout, near: Mapping[str, float], guess: Floats
    ) -> Floats | None:
        """What is known, and first guesses of standard deviations; None where little is."""
        d = layout.n_columns
        if not near.keys() >= set(layout.names[:d]):
            return None
        least = [near.get(name, 0.0) for name in layout.names[d:]]
        sd = [a if a > 0 else max(b, FIRST_DEVIATION) for a, b in zip(least, guess, strict=True)]
        return np.array([*(near[name] for name in layout.names[:d]), *sd])

    def _task(self, family: Family, layout: ParameterLayout) -> EstimationTask:
        def evaluate(theta: Floats, last: bool) -> Sums:
            return family_pass(family, layout, theta, self.blocks)

        def finish(ending: Family, theta: Floats) -> Sums:
            return family_pass(ending, layout, theta, self.blocks)

        separation: Separation = "allow"
        return EstimationTask(
            design=self.design,
            blocks=self.blocks,
            layout=layout,
            evaluate=evaluate,
            null_loglik=0.0,
            tolerance=DECREMENT,
            max_iterations=MOST_STEPS,
            separation=separation,
            finish=finish,
        )


def _errors(products: Floats, spreads: Floats, d: int) -> Floats:
    """Standard errors of the spreads from the products of scores; shape (q,)."""
    free = np.concatenate([np.ones(d, dtype=bool), spreads > 0])
    inside = products[np.ix_(free, free)]
    diagonal = np.diag(inside)
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    unit = inside * scale[:, None] * scale + RIDGE_SHARE * np.eye(len(inside))
    out = np.full(len(products), np.inf)
    out[free] = scale * np.sqrt(np.maximum(np.diag(np.linalg.inv(unit)), 0.0))
    return out[d:]
