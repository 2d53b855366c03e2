"""Recovery: how often the true specification is found, and what the found one is worth.

`python benchmarks/recovery.py [--quick] [--spaces medium,large,extreme] [--seeds N]
[--out RUNS.jsonl]` draws choices from the true specifications of the paper fitted to the real
choices, lets several ways of specifying loose on them, and prints one table. With --out, runs are
written as they end, and a second call resumes from there.

Columns: F1 of the terms found; share of runs with exactly the true terms; BIC above that of the
true specification, on average and how often by more than 2; Kullback-Leibler loss against the true
probabilities, as a ratio to that of the true specification re-estimated; seconds, and the same in
units of one dense Gram pass X'WX over the same data.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

import ardchoice as ac
from ard import gram_seconds
from ardchoice.estimation import Model, probabilities
from ardchoice.numerics import single_blas_thread
from ardchoice.selection.compile import compile_structure
from ardchoice.selection.criterion import bic
from ardchoice.selection.neighbours import predict
from ardchoice.selection.refits import Refit, RefitCache
from ardchoice.space import SearchSpace, Term
from ardchoice.space.published import Size

Floats = npt.NDArray[np.float64]

SPECIFICATIONS: dict[Size, tuple[str, ...]] = {
    "medium": ("S1", "S2", "S3", "S4", "S5", "S6"),
    "large": ("S1", "S2", "S3", "S7", "S8", "S9"),
    "extreme": ("S2",),
}
TRUTH = "truth re-estimated"


@dataclass(frozen=True)
class Case:
    """Choices with a known truth."""

    size: Size
    name: str
    seed: int
    data: ac.ChoiceData
    space: SearchSpace
    truth: tuple[Term, ...]
    probabilities: Floats
    gram: float


@dataclass(frozen=True)
class Run:
    """One way of specifying on one case."""

    space: str
    specification: str
    seed: int
    method: str
    terms: int
    f1: float
    exact: bool
    noise: int
    bic_above: float
    loss: float
    seconds: float
    grams: float
    missing: list[str]
    extra: list[str]
    ties: list[str]


@dataclass(frozen=True)
class Outcome:
    """What a method returns: terms, probabilities of the choices, log-likelihood, coefficients."""

    terms: tuple[Term, ...]
    probabilities: Floats
    bic: float
    ties: tuple[str, ...] = ()


def make_case(size: Size, name: str, seed: int) -> Case:
    """Draw the choices and build the space."""
    noise_to = 1000 if size == "extreme" else None
    real = ac.datasets.swissmetro_choices(noise_to=noise_to, seed=seed)
    truth = ac.parse_specification(ac.datasets.swissmetro_specification(name))
    model = ac.fit_mnl(real, truth, separation="allow")
    data = ac.simulate_choices(real, model, seed=seed)
    space = ac.swissmetro_space(data, size)
    gram = gram_seconds(len(data), space.n_columns, 1 if size == "extreme" else 5)
    return Case(size, name, seed, data, space, truth.terms, model.probabilities(data), gram)


# -- Ways to a specification -----------------------------------------------------------------------


def as_it_comes(case: Case) -> Outcome:
    """`specify` with its defaults."""
    study = ac.specify(case.data, case.space)
    ties = tuple(map(str, study.specification.near_ties))
    chance = study.result.probabilities(case.data)
    return Outcome(study.specification.terms, chance, study.result.bic, ties)


def without_structure(case: Case) -> Outcome:
    """`specify` with no rules at all."""
    study = ac.specify(case.data, case.space, structure=None)
    chance = study.result.probabilities(case.data)
    return Outcome(study.specification.terms, chance, study.result.bic)


def papers_rule(case: Case) -> Outcome:
    """λ > 0.002 after `Dsvi`, constants shrunk like the rest, then maximum likelihood."""
    prior = ac.Prior(shrink_constants=True)
    # It needs 10 to 50 epochs; where a term hovers at the line for ever, more would not tell.
    solver = ac.Dsvi(seed=case.seed, max_epochs=100)
    fit = ac.fit_ard(case.data, case.space, solver=solver, prior=prior)
    chosen = ac.select(fit, ac.LambdaAbove(0.002), structure=None)
    return by_ridge(case, chosen.terms)


def stepwise(case: Case) -> Outcome:
    """From constants, always the term that lowers BIC most, while one does; all are refitted."""
    constraints = compile_structure(ac.Structure.none(), case.space)
    with single_blas_thread():
        models = RefitCache.for_terms(case.data, case.space.terms)
        criterion = bic(models.n)

        def value(fitted: Refit) -> float:
            return predict(fitted.selected, fitted.loglik, constraints, criterion)

        constants = [t for t, u in enumerate(case.space.terms) if u.what is None and not u.by]
        best = models.refit(frozenset(constants))
        while True:
            larger = (best.selected | {t} for t in range(len(case.space)) if t not in best.selected)
            top = min((models.refit(s, best.beta) for s in larger), key=value)
            if value(top) >= value(best):
                break
            best = top
    return by_ridge(case, [case.space.terms[t] for t in sorted(best.selected)])


def every_column(case: Case) -> Outcome:
    """The MNL with all candidates."""
    return by_ridge(case, case.space.terms)


def by_ridge(case: Case, terms: Iterable[Term]) -> Outcome:
    """Maximum likelihood of terms that may be collinear, held by a ridge that does not matter."""
    terms = tuple(terms)
    models = RefitCache.for_terms(case.data, terms)
    with single_blas_thread():
        fitted = models.refit(frozenset(range(len(terms))))
    chance = probabilities(Model(models.raw(fitted.beta), models.encoding), case.data)
    return Outcome(terms, chance, -2 * fitted.loglik + len(fitted.beta) * np.log(len(case.data)))


def the_truth(case: Case) -> Outcome:
    """The true terms, re-estimated: the best anybody can hope for."""
    return by_ridge(case, case.truth)


METHODS: dict[str, Callable[[Case], Outcome]] = {
    TRUTH: the_truth,
    "specify": as_it_comes,
    "specify unstructured": without_structure,
    "paper's rule": papers_rule,
    "stepwise BIC": stepwise,
    "every column": every_column,
}


# -- Measuring -------------------------------------------------------------------------------------


def loss(case: Case, chance: Floats) -> float:
    """Σ_n Σ_i P ln (P / Q): the expected log-likelihood lost by believing Q."""
    p, q = case.probabilities, np.maximum(chance, 1e-300)
    return float(np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0) / q), 0.0).sum())


def measure(case: Case, method: str, true_bic: float) -> Run:
    """One method on one case."""
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ac.ArdchoiceWarning)  # separation, in S4
        outcome = METHODS[method](case)
    seconds = time.perf_counter() - started
    found, true = set(outcome.terms), set(case.truth)
    above = outcome.bic - true_bic
    return Run(
        space=case.size,
        specification=case.name,
        seed=case.seed,
        method=method,
        terms=len(found),
        f1=2 * len(found & true) / (len(found) + len(true)),
        exact=found == true,
        noise=sum(str(t.what).startswith("noise_") for t in found),
        bic_above=above,
        loss=loss(case, outcome.probabilities),
        seconds=seconds,
        grams=seconds / case.gram,
        missing=sorted(map(str, true - found)),
        extra=sorted(map(str, found - true)) if len(found) < 60 else [],
        ties=list(outcome.ties),
    )


def runs(
    cases: Iterable[tuple[Size, str, int]], methods: Iterable[str], done: dict[object, Run]
) -> Iterator[Run]:
    """Every method on every case, but for those done already."""
    methods = list(methods)
    for size, name, seed in cases:
        missing = [m for m in methods if (size, name, seed, m) not in done]
        if not missing:
            continue
        case = make_case(size, name, seed)
        true_bic = the_truth(case).bic
        for method in missing:
            yield measure(case, method, true_bic)


def key(run: Run) -> tuple[str, str, int, str]:
    """What a run is known by."""
    return run.space, run.specification, run.seed, run.method


# -- Showing ---------------------------------------------------------------------------------------


def show(done: Iterable[Run]) -> None:
    """The table, in 80 columns."""
    everything = list(done)
    head = (
        f"{'space':8}{'method':21}{'runs':>5}{'F1':>7}{'exact':>6}{'BIC+':>8}{'>2':>6}"
        f"{'KL':>7}{'sec':>6}{'Grams':>6}"
    )
    print(f"{head}\n{'-' * len(head)}")
    spaces = [s for s in SPECIFICATIONS if any(r.space == s for r in everything)]
    for space in [*spaces, "all"]:
        here = [r for r in everything if space in ("all", r.space)]
        base = {(r.space, r.specification, r.seed): r.loss for r in here if r.method == TRUTH}
        for method in METHODS:
            mine = [r for r in here if r.method == method]
            if mine:
                print(line(space, method, mine, base))
    print("BIC+: above the true specification, on average and share of runs by more than 2.")
    print("KL: loss against the true probabilities, relative to the truth re-estimated.")
    print("Grams: time in units of one dense X'WX over the same data.")
    mine = [r for r in everything if r.method == "specify"]
    for specification, term in (("S4", "CAR: CO"), ("S7", "TRAIN: boxcox(TT, 1)")):
        here = [r for r in mine if r.specification == specification]
        if here:
            found = sum(term not in r.missing for r in here)
            print(f"specify, {specification}: {term} found in {found} of {len(here)}")
    here = [r for r in mine if r.space == "extreme"]
    if here:
        clean = sum(r.noise == 0 and not r.missing for r in here)
        print(f"specify, extreme: no noise and every true term in {clean} of {len(here)}")


def line(space: str, method: str, mine: list[Run], base: dict[tuple[str, str, int], float]) -> str:
    """One row of the table."""
    reference = np.mean([base.get((r.space, r.specification, r.seed), np.nan) for r in mine])
    kl = np.mean([r.loss for r in mine]) / reference
    cells = [
        np.mean([r.f1 for r in mine]),
        np.mean([r.exact for r in mine]),
        np.mean([r.bic_above for r in mine]),
        np.mean([r.bic_above > 2 for r in mine]),
        np.mean([r.seconds for r in mine]),
        np.mean([r.grams for r in mine]),
    ]
    return (
        f"{space:8}{method:21}{len(mine):5}{cells[0]:7.3f}{cells[1]:6.0%}{cells[2]:8.1f}"
        f"{cells[3]:6.0%}{kl:7.2f}{cells[4]:6.1f}{cells[5]:6.0f}"
    )


def main(arguments: list[str] | None = None) -> list[Run]:
    """Run, print, and write as runs end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two seeds of S1 and S6, medium space")
    parser.add_argument("--spaces", default="medium,large,extreme")
    parser.add_argument("--specifications", default="")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    spaces: list[Size] = [s for s in SPECIFICATIONS if s in options.spaces.split(",")]
    cases = [(s, n, k) for s in spaces for n in SPECIFICATIONS[s] for k in range(options.seeds)]
    if options.specifications:
        cases = [c for c in cases if c[1] in options.specifications.split(",")]
    if options.quick:
        cases = [("medium", n, k) for n in ("S1", "S6") for k in (0, 1)]
    done: dict[object, Run] = {}
    if options.out and options.out.exists():
        for text in options.out.read_text(encoding="utf-8").splitlines():
            run = Run(**json.loads(text))
            done[key(run)] = run
    for run in runs(cases, options.methods.split(","), done):
        done[key(run)] = run
        print(f"{run.space} {run.specification} {run.seed} {run.method}", file=sys.stderr)
        if options.out:
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(run)) + "\n")
    wanted = [r for r in done.values() if (r.space, r.specification, r.seed) in cases]
    show(wanted)
    return wanted


if __name__ == "__main__":
    main()
