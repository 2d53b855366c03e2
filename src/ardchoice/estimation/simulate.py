"""Semi-artificial data: choices drawn from a model fitted to real ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ardchoice.data import ChoiceData, draw_choices
from ardchoice.estimation.maximum_likelihood import fit_mnl
from ardchoice.estimation.result import Result
from ardchoice.numerics import seeded
from ardchoice.space import Specification, Term


def simulate_choices(
    data: ChoiceData,
    spec: Specification | str | Iterable[Term | str] | Result,
    *,
    seed: int = 0,
    expected: bool = False,
) -> ChoiceData:
    """Fit a specification to the data and draw new choices from it.

    Parameters
    ----------
    data
        The situations; also the choices, unless `spec` is estimated already.
    spec
        What the choices are to follow: a specification to fit first, or an `Result`.
    seed
        The same seed draws the same choices.
    expected
        No draw but the mean of all: every situation as often as it has alternatives, each chosen
        once and weighted by its probability. What is found there is not a matter of chance.

    Returns
    -------
    ChoiceData
        The same situations with the drawn choices.
    """
    # Probabilities have a limit even where a coefficient has none.
    result = spec if isinstance(spec, Result) else fit_mnl(data, spec, separation="allow")
    p = result.probabilities(data)
    if not expected:
        return data.with_choice(draw_choices(p, seeded(seed)))
    rows, chosen = np.nonzero(p.T)
    shares = p[chosen, rows]
    repeated = data.take(rows).with_choice(chosen)
    given = repeated.weight
    return replace(repeated, weight=shares if given is None else given * shares)
