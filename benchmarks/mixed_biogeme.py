"""Estimate Swissmetro's panel model with Biogeme, in its own environment; run by `mixed.py`.

    python benchmarks/mixed_biogeme.py TABLE.csv DRAWS

Prints a line of JSON: processor seconds of the estimation (with its errors), log-likelihood.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time

import pandas as pd


def main() -> None:
    """Read the table, estimate, print."""
    import biogeme.biogeme as bio
    from biogeme.database import Database
    from biogeme.expressions import (
        Beta,
        Draws,
        MonteCarlo,
        PanelLikelihoodTrajectory,
        Variable,
        log,
    )
    from biogeme.models import logit

    table = pd.read_csv(sys.argv[1])
    table = table[table["PURPOSE"].isin([1, 3]) & (table["CHOICE"] != 0)].copy()
    for mode in ("TRAIN", "SM", "CAR"):
        free = (table["GA"] == 0) if mode != "CAR" else 1
        table[f"{mode}_TT"] /= 100
        table[f"{mode}_CO"] = table[f"{mode}_CO"] * free / 100
    for mode in ("TRAIN", "CAR"):
        table[f"{mode}_AV"] *= table["SP"] != 0
    database = Database("swissmetro", table.reset_index(drop=True))
    database.panel("ID")
    time_ = Beta("b_time", 0, None, None, 0) + Beta("sd_time", 1, None, None, 0) * Draws(
        "time", "NORMAL_HALTON2"
    )
    cost = Beta("b_cost", 0, None, None, 0)
    utility = {
        1 + k: time_ * Variable(f"{mode}_TT") + cost * Variable(f"{mode}_CO")
        for k, mode in enumerate(("TRAIN", "SM", "CAR"))
    }
    utility[1] += Beta("asc_train", 0, None, None, 0)
    utility[3] += Beta("asc_car", 0, None, None, 0)
    available = {1 + k: Variable(f"{mode}_AV") for k, mode in enumerate(("TRAIN", "SM", "CAR"))}
    chosen = logit(utility, available, Variable("CHOICE"))
    model = bio.BIOGEME(
        database,
        log(MonteCarlo(PanelLikelihoodTrajectory(chosen))),
        number_of_draws=int(sys.argv[2]),
        generate_html=False,
        generate_yaml=False,
        save_iterations=False,
        seed=1,
    )
    model.model_name = "panel"
    started = time.process_time()
    with contextlib.redirect_stdout(sys.stderr):
        results = model.estimate()
    seconds = time.process_time() - started
    print(json.dumps({"seconds": seconds, "loglik": float(results.final_log_likelihood)}))


if __name__ == "__main__":
    main()
