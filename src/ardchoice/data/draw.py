"""Drawing choices from probabilities."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def draw_choices(
    probabilities: npt.NDArray[np.float64], rng: np.random.Generator
) -> npt.NDArray[np.intp]:
    """One alternative per situation, drawn from its probabilities.

    Parameters
    ----------
    probabilities
        Shape (J, N); columns sum to one, zero where unavailable.
    rng
        Source of randomness.

    Returns
    -------
    array
        Shape (N,), positions of the drawn alternatives.
    """
    uniform = rng.random(probabilities.shape[1])
    cumulative = probabilities.cumsum(axis=0)
    drawn = (uniform * cumulative[-1] >= cumulative).sum(axis=0)
    # Rounding could step past the end or onto a zero; the last possible alternative is the draw.
    last = probabilities.shape[0] - 1 - (probabilities[::-1] > 0).argmax(axis=0)
    return np.asarray(np.minimum(drawn, last), dtype=np.intp)
