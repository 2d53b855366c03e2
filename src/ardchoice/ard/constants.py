"""Constants that the choices leave without a finite estimate, so that they have to be shrunk.

Whenever alternative i is chosen while j is available, i is at least once preferred to j. Constants
have a finite maximum where every alternative can be reached from every other one along such
preferences (Ford 1957). An alternative that is never chosen, say, has a constant that diverges.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csgraph

from ardchoice._types import Bools
from ardchoice.data import ChoiceData
from ardchoice.design import Encoding
from ardchoice.space import Term


def diverging_constants(data: ChoiceData, encoding: Encoding) -> frozenset[Term]:
    """The constants without a finite maximum-likelihood estimate.

    Parameters
    ----------
    data
    encoding
        Of all candidates.
    """
    constants = [t for t in encoding.terms if t.term.what is None and not t.term.by]
    if not constants:
        return frozenset()
    preferred, chosen = _preferences(data), data.times_chosen()
    _, component = csgraph.connected_components(preferred.astype(float), connection="strong")
    weight = np.bincount(component, weights=chosen)
    apart = (component != int(weight.argmax())) & (data.times_available > 0)
    if not apart.any():
        return frozenset()
    has_constant = np.zeros(len(apart), dtype=bool)
    for term in constants:
        has_constant[list(term.alternatives)] = True
    # Where an alternative without a constant is apart, all constants diverge together.
    every = bool((apart & ~has_constant).any())
    return frozenset(t.term for t in constants if every or apart[list(t.alternatives)].any())


def _preferences(data: ChoiceData) -> Bools:
    """Whether i is ever chosen while j is available; shape (J, J)."""
    count = len(data.alternatives)
    out = np.zeros((count, count), dtype=bool)
    choice = data.chosen()
    for rows in data.ranges():
        available, here = data.available[:, rows], choice[rows]
        for i in np.unique(here):
            if not out[i].all():
                out[i] |= available[:, here == i].any(axis=1)
    return out
