"""Random generators of seeds that users give."""

from __future__ import annotations

import numpy as np

from ardchoice.errors import ArdchoiceError


def must_be_seed(seed: object) -> int:
    """A seed, or an error: a whole number, zero or more."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ArdchoiceError(f"A seed is a whole number, zero or more, not {seed!r}.")
    return int(seed)


def seeded(seed: int) -> np.random.Generator:
    """The generator of a seed."""
    return np.random.default_rng(must_be_seed(seed))
