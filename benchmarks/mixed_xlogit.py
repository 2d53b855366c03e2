"""Estimate one mixed logit with xlogit, in its own environment; run by `mixed.py`.

    python benchmarks/mixed_xlogit.py PROBLEM.npz DRAWS

Prints a line of JSON: processor seconds of the fit (with its errors), log-likelihood, estimates.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time

import numpy as np


def main() -> None:
    """Read the arrays, estimate, print."""
    from xlogit import MixedLogit

    problem = np.load(sys.argv[1], allow_pickle=False)
    names = problem["names"].tolist()
    random = dict.fromkeys(problem["random"].tolist(), "n")
    model = MixedLogit()
    started = time.process_time()
    with contextlib.redirect_stdout(sys.stderr):
        model.fit(
            X=problem["x"],
            y=problem["y"],
            varnames=names,
            alts=problem["alternative"],
            ids=problem["situation"],
            panels=problem["person"],
            avail=problem["available"],
            randvars=random,
            n_draws=int(sys.argv[2]),
            optim_method="L-BFGS-B",
            verbose=0,
        )
    seconds = time.process_time() - started
    estimates = dict(zip(model.coeff_names, map(float, model.coeff_), strict=True))
    print(json.dumps({"seconds": seconds, "loglik": float(model.loglikelihood), "b": estimates}))


if __name__ == "__main__":
    main()
