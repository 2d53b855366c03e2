"""Choice probabilities from a relevance fit: at the posterior mean, or averaged over it."""

from __future__ import annotations

import numpy as np

from ardchoice._types import Floats
from ardchoice.ard.likelihood import FamilyLikelihood
from ardchoice.ard.quadratic import Posterior, deviations, posterior
from ardchoice.ard.result import ArdFit
from ardchoice.data import ChoiceData
from ardchoice.design import Design
from ardchoice.numerics import seeded, single_blas_thread


def posterior_probabilities(
    fit: ArdFit, data: ChoiceData, *, above: float = 0.0, draws: int = 0, seed: int = 0
) -> Floats:
    """P of every alternative in every situation, zero where unavailable; shape (J, N).

    Parameters
    ----------
    fit
        Relevance.
    data
        Any choices or choice situations.
    above
        Terms whose λ is not above this are dropped; the others make up for them.
    draws
        Draws of the coefficients from the Gaussian posterior that P is averaged over, in
        antithetic pairs; 0 takes the posterior mean for the truth.
    seed
        Of the draws.
    """
    lam = np.where(fit.lam > above, fit.lam, 0.0)
    kept = np.flatnonzero(lam > 0)
    with single_blas_thread():
        post = posterior(fit.quadratic, fit.term_groups, lam)
        betas = _coefficients(post, draws, seed)
        whole = FamilyLikelihood(
            Design(data, fit.encoding), fit.centre, fit.scale, fit.family, fit.extras
        )
        some = whole.restrict(kept.tolist())
        betas = betas[:, some.design.order]
        blocks = []
        for block in some.blocks:
            p = np.zeros(block.shape)
            for beta in betas:
                p += fit.family.probabilities(some.theta(beta), block, some.layout)
            blocks.append(p / len(betas))
    return np.concatenate(blocks, axis=1)


def _coefficients(post: Posterior, draws: int, seed: int) -> Floats:
    """Coefficients of the active columns, a row per draw; the mean alone without draws."""
    mean = post.mean[post.columns]
    if not draws:
        return mean[None]
    away = deviations(post, max(draws // 2, 1), seeded(seed))
    return np.concatenate([mean + away, mean - away])
