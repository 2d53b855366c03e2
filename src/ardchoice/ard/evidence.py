"""The evidence of λ from anywhere, evaluated the same way for every solver."""

from __future__ import annotations

import numpy as np

from ardchoice._types import Floats
from ardchoice.ard.groups import Groups
from ardchoice.ard.likelihood import FamilyLikelihood
from ardchoice.ard.quadratic import Kind, expand, posterior
from ardchoice.ard.result import ArdFit
from ardchoice.design import Design, running
from ardchoice.errors import ArdchoiceError
from ardchoice.families import one_pass
from ardchoice.numerics import Sums, maximise, penalised, single_blas_thread


def laplace_evidence(fit: ArdFit, lam: Floats | None = None, kind: Kind = "full") -> float:
    """Log evidence at the posterior mode that belongs to λ, by Laplace's approximation.

    Or the mean-field bound on it, at the same mode.

    Parameters
    ----------
    fit
        Whose data, candidates and scales count.
    lam
        λ of every term, shape (T,), all finite; terms where it is zero
        are excluded. Default: those of the fit.
    kind
    """
    lam = fit.lam if lam is None else lam
    if not np.isfinite(lam).all():
        raise ArdchoiceError("The evidence needs a λ for every term: Prior(shrink_constants=True).")
    kept = [i for i, value in enumerate(lam) if value > 0]
    with running(fit.execution), single_blas_thread():
        if not kept:
            some = Design(fit.data, fit.terms[:1])
            return one_pass(np.zeros(some.n_columns), some.blocks(), 0).loglik
        whole = Design(fit.data, fit.encoding)
        likelihood = FamilyLikelihood(
            whole, fit.centre, fit.scale, fit.family, fit.extras
        ).restrict(kept)
        counts = [t.n_columns for t in likelihood.design.encoding.terms]
        groups = Groups(np.repeat(np.arange(len(kept)), counts), len(kept))
        precision = groups.precision(lam[kept])

        def target(beta: Floats, _: bool) -> Sums:
            return penalised(likelihood.sums(beta), beta, precision)

        mode = maximise(target, np.zeros(len(groups.of))).beta
        there = expand(likelihood.sums(mode), mode)
        return posterior(there, groups, lam[kept], kind).log_evidence
