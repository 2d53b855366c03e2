"""The real Swissmetro choices: what `specify` finds beside the best published specifications.

`python benchmarks/real.py [--quick]`: coefficients, BIC, segments in which utility rises with time
or cost, and the log-likelihood of persons left out in five folds, with the whole selection repeated
in every fold. With --quick, without folds and without the large space.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import ardchoice as ac
from ardchoice.selection.signs import SignRules
from ardchoice.selection.structure import Sign
from ardchoice.space.published import Size

SIGNS: dict[str, Sign] = {"TT": "-", "CO": "-"}
STRUCTURES = {
    "specify": ac.Structure(),
    "specify, signs": ac.Structure(signs=SIGNS),
    "specify, no structure": None,
}


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


def wrong_signs(result: ac.MnlResult, data: ac.ChoiceData) -> int:
    """Segments in which utility rises with time or cost."""
    signs = SignRules(SIGNS, result.encoding, data)
    return signs.count(range(len(result.specification.terms)), result.coefficients)


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
    space, structure = ac.swissmetro_space(data, size), STRUCTURES[name]
    started = time.perf_counter()
    result = ac.specify(data, space, structure=structure).result
    seconds = time.perf_counter() - started
    held_out = ac.held_out(data, space, folds=folds, structure=structure).loglik if folds else None
    wrong = wrong_signs(result, data)
    return Row(size, name, result.n_parameters, result.bic, wrong, held_out, seconds)


def main(arguments: list[str] | None = None) -> list[Row]:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    data, folds = ac.datasets.swissmetro_choices("real"), 0 if options.quick else 5
    rows = [published(data, name, folds) for name in ("R6", "R7")]
    rows += [found(data, "medium", name, folds) for name in STRUCTURES]
    if not options.quick:
        rows.append(found(data, "large", "specify, no structure", 0))
    head = f"{'space':8}{'':24}{'coef.':>6}{'BIC':>11}{'wrong signs':>13}{'held out':>11}{'sec':>7}"
    print(f"{head}\n{'-' * len(head)}")
    for r in rows:
        held_out = "." if r.held_out is None else f"{r.held_out:,.1f}"
        print(
            f"{r.space:8}{r.name:24}{r.coefficients:6}{r.bic:11,.1f}{r.wrong_signs:13}"
            f"{held_out:>11}{r.seconds:7.1f}"
        )
    return rows


if __name__ == "__main__":
    main()
