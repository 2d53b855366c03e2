"""The real Swissmetro choices: what `specify` selects, compared with the best published ones.

`python benchmarks/real.py [--quick]`: coefficients, BIC, segments in which utility rises with time
or cost, seconds and the same in units of one dense Gram pass X'WX, and the log-likelihood of
held-out persons in 5-fold cross-validation, with the whole selection repeated in every fold. With
--quick, without cross-validation and without the large space.

The default criterion prices interactions by the design effect of a person's answers, so its
specifications are smaller and their BIC, which counts answers as independent, is higher. The rows
"independent" are searched by the criterion that counts answers as independent.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import ardchoice as ac
from ard import gram_seconds
from ardchoice.reproduce.fits import STRUCTURES, wrong_signs
from ardchoice.space.published import Size

NAMES = {
    "specify": ("default", ac.Ebic()),
    "specify, signs": ("signs", ac.Ebic()),
    "specify, no structure": ("none", ac.Ebic()),
    "independent": ("default", ac.Ebic(cluster=False)),
    "independent, no struct": ("none", ac.Ebic(cluster=False)),
}
"""Row -> structure and rule."""


@dataclass(frozen=True)
class Row:
    """One specification."""

    space: str
    name: str
    coefficients: int
    bic: float
    wrong_signs: int
    held_out: float | None
    seconds: float
    grams: float | None = None


def published(data: ac.ChoiceData, name: str, folds: int) -> Row:
    """A specification of the paper."""
    text = ac.datasets.swissmetro_specification(name)
    started = time.perf_counter()
    result = ac.fit_mnl(data, text)
    seconds = time.perf_counter() - started
    held_out = ac.held_out(data, text, folds=folds).loglik if folds else None
    wrong = wrong_signs(result, data)
    return Row("", name, result.n_parameters, result.bic, wrong, held_out, seconds)


def found(data: ac.ChoiceData, size: Size, name: str, folds: int) -> Row:
    """What `specify` finds in a published space."""
    of, rule = NAMES[name]
    space, structure = ac.swissmetro_space(data, size), STRUCTURES[of]
    started = time.perf_counter()
    result = ac.specify(data, space, structure=structure, rule=rule).result
    seconds = time.perf_counter() - started
    held_out = None
    if folds:
        held_out = ac.held_out(data, space, folds=folds, structure=structure, rule=rule).loglik
    wrong = wrong_signs(result, data)
    grams = seconds / gram_seconds(len(data), space.n_columns, 5)
    return Row(size, name, result.n_parameters, result.bic, wrong, held_out, seconds, grams)


def main(arguments: list[str] | None = None) -> list[Row]:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    data, folds = ac.datasets.swissmetro_choices("real"), 0 if options.quick else 5
    rows = [published(data, name, folds) for name in ("R6", "R7")]
    rows += [found(data, "medium", name, folds) for name in NAMES]
    if not options.quick:
        rows += [found(data, "large", name, 0) for name in NAMES if "signs" not in name]
    names = f"{'space':8}{'':22}{'coef.':>6}{'BIC':>11}{'wrong':>7}"
    head = f"{names}{'held out':>11}{'sec':>5}{'Grams':>6}"
    print(f"{head}\n{'-' * len(head)}")
    for r in rows:
        held_out = "." if r.held_out is None else f"{r.held_out:,.1f}"
        grams = "." if r.grams is None else f"{r.grams:.0f}"
        print(
            f"{r.space:8}{r.name:22}{r.coefficients:6}{r.bic:11,.1f}{r.wrong_signs:7}"
            f"{held_out:>11}{r.seconds:5.1f}{grams:>6}"
        )
    return rows


if __name__ == "__main__":
    main()
