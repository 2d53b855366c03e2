"""Fits on the published data, each a function of settings that JSON can hold.

They return plain dictionaries and do not depend on what is published.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ardchoice._types import Floats
from ardchoice.ard import (
    PAPER_LAMBDA_CUTOFF,
    ArdFit,
    Dsvi,
    Newton,
    Prior,
    Solver,
    fit_ard,
    laplace_evidence,
    posterior_probabilities,
)
from ardchoice.data import NOISE_PREFIX, ChoiceData, swissmetro_choices, swissmetro_specification
from ardchoice.errors import ArdchoiceWarning
from ardchoice.estimation import Model, Result, fit_mnl, probabilities, simulate_choices
from ardchoice.numerics import single_blas_thread
from ardchoice.reproduce.baselines import baseline_data, baselines
from ardchoice.selection import Ebic, RefitCache, Sign, SignRules, Structure, select
from ardchoice.space import Size, Term, parse_specification, swissmetro_space
from ardchoice.study import specify

Json = dict[str, Any]

MAX_TRACE_POINTS = 1000
EVIDENCE_POINTS = 24
"""Points of a trace where the evidence is evaluated again."""
POSTERIOR_DRAWS = 200
TEST_SHARE = 0.3
SIGNS: dict[str, Sign] = {"TT": "-", "CO": "-"}
PUBLISHED_RULE = Ebic(cluster=False)
"""The paper counts the answers of one person as independent, and so does everything beside it."""
STRUCTURES: dict[str, Structure | None] = {
    "default": Structure(),
    "signs": Structure(signs=SIGNS),
    "none": None,
}


def as_published(tied: Sequence[str] = ()) -> Prior:
    """The prior of the paper: constants shrunk like the rest, λ on the scale of all rows."""
    return Prior(shrink_constants=True, standardised="all", tied=tuple(tied))


def draw(specification: str, seed: int | None, noise_to: int | None = None) -> ChoiceData:
    """Choices drawn from a true specification fitted to the real ones; None, the mean draw."""
    real = swissmetro_choices(noise_to=noise_to, seed=seed or 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ArdchoiceWarning)  # S4 separates
        model = fit_mnl(real, swissmetro_specification(specification), separation="allow")
    return simulate_choices(real, model, seed=seed or 0, expected=seed is None)


def make_solver(name: str, seed: int, steps: int | None) -> Solver:
    """A solver by name."""
    if name == "paper":
        return Dsvi.paper(seed=seed) if steps is None else Dsvi.paper(seed=seed, steps=steps)
    if name == "dsvi":
        return Dsvi(seed=seed)
    return Newton(posterior="full") if name == "full" else Newton()


# -- Relevance -----------------------------------------------------------------------------------


def relevance(
    space: Size,
    specification: str,
    seed: int | None,
    solver: str,
    noise_to: int | None = None,
    tied: Sequence[str] = (),
    steps: int | None = None,
    evaluate: bool = False,
) -> Json:
    """λ of every term, on drawn choices or, with ``specification="real"``, on the real ones."""
    if specification == "real":
        data = swissmetro_choices("real")
    else:
        data = draw(specification, seed, noise_to)
    candidates = swissmetro_space(data, space)
    fit = fit_ard(
        data, candidates, solver=make_solver(solver, seed or 0, steps), prior=as_published(tied)
    )
    lam = np.where(np.isfinite(fit.lam), fit.lam, 0.0)
    noise = np.array([str(t.what).startswith(NOISE_PREFIX) for t in fit.terms])
    shown = np.flatnonzero(~noise)
    return {
        "terms": [str(fit.terms[i]) for i in shown],
        "columns": [fit.encoding.terms[i].n_columns for i in shown],
        "lam": lam[shown].tolist(),
        "noise": {
            "terms": int(noise.sum()),
            "active": int((lam[noise] > 0).sum()),
            "largest": float(lam[noise].max()) if noise.any() else 0.0,
            "rank_of_largest": int((lam > lam[noise].max()).sum()) + 1 if noise.any() else 0,
        },
        "converged": fit.converged,
        "seconds": fit.seconds,
        "passes": fit.passes,
        "trace": _trace(fit, evaluate),
    }


def _trace(fit: ArdFit, evaluate: bool) -> Json:
    """Objective by iteration; with `evaluate`, the evidence as well, all solvers alike."""
    steps = fit.trace
    thin = sorted(
        set(np.linspace(0, len(steps) - 1, min(MAX_TRACE_POINTS, len(steps))).astype(int))
    )
    made: Json = {
        "iteration": [steps[i].iteration for i in thin],
        "objective": [steps[i].objective for i in thin],
        "seconds": [steps[i].seconds for i in thin],
    }
    if evaluate:
        spaced = np.geomspace(1, len(steps), min(EVIDENCE_POINTS, len(steps))).astype(int) - 1
        some = sorted({*spaced.tolist(), len(steps) - 1})
        made["evaluated_seconds"] = [steps[i].seconds for i in some]
        made["evidence"] = [laplace_evidence(fit, steps[i].lam) for i in some]
    return made


# -- Held-out prediction -------------------------------------------------------------------------


def held_out(
    space: Size, specification: str, seed: int, by: Literal["person", "situation"]
) -> Json:
    """Log-likelihood and accuracy on 30 % of drawn choices, several ways."""
    data = draw(specification, seed)
    train, test = data.split(TEST_SHARE, seed=seed, by=by)
    # Of all data: a level that the training data lack does not make a candidate impossible.
    candidates = swissmetro_space(data, space)
    truth = parse_specification(swissmetro_specification(specification)).terms
    # Prediction, unlike ranking, needs the covariance of active terms.
    fit = fit_ard(train, candidates, solver=Newton(posterior="full"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ArdchoiceWarning)
        selected = select(fit_ard(train, candidates), PUBLISHED_RULE).terms
    mean = posterior_probabilities(fit, test, above=PAPER_LAMBDA_CUTOFF)
    averaged = posterior_probabilities(
        fit, test, above=PAPER_LAMBDA_CUTOFF, draws=POSTERIOR_DRAWS, seed=seed
    )
    return {
        "all": _score(test, _by_ridge(train, test, candidates.terms)),
        "ard mean": _score(test, mean),
        "ard": _score(test, averaged),
        "specify": _score(test, _by_ridge(train, test, selected)),
        "true": _score(test, _by_ridge(train, test, truth)),
        "n": len(test),
    }


def _by_ridge(data: ChoiceData, other: ChoiceData, terms: Sequence[Term]) -> Floats:
    """Probabilities of other data after maximum likelihood with a negligible ridge.

    With every column in, some are not identified (collinear), and some estimates diverge.
    """
    with single_blas_thread():
        models = RefitCache.for_terms(data, terms)
        fitted = models.refit(frozenset(range(len(terms))))
        return probabilities(Model(models.raw(fitted.beta), models.encoding), other)


def _score(data: ChoiceData, p: Floats) -> Json:
    chosen = p[data.chosen(), np.arange(len(data))]
    return {
        "loglik": float(np.log(np.maximum(chosen, 1e-300)).sum()),
        "accuracy": float((p.argmax(axis=0) == data.chosen()).mean()),
    }


# -- The real choices ----------------------------------------------------------------------------


def fitted_specification(name: str) -> Json:
    """Every statistic of a published specification on all real choices."""
    data, text = _real(name)
    return _statistics(fit_mnl(data, text), data)


def fitted_split(name: str, seed: int) -> Json:
    """A published specification on 70 % of the persons, and how it predicts the others."""
    data, text = _real(name)
    train, test = data.split(TEST_SHARE, seed=seed)
    return _split_scores(fit_mnl(train, text), test)


def _real(name: str) -> tuple[ChoiceData, str]:
    """The data and the text of R1 to R7 or of a baseline."""
    if name.startswith("R"):
        return swissmetro_choices("real"), swissmetro_specification(name)
    return baseline_data(name), baselines()[name]["text"]


def specified(space: Size, structure: str) -> Json:
    """What `specify` finds on all real choices."""
    data = swissmetro_choices("real")
    study = specify(
        data,
        swissmetro_space(data, space),
        rule=PUBLISHED_RULE,
        structure=STRUCTURES[structure],
    )
    made = _statistics(study.result, data)
    made["text"] = study.specification.to_text()
    made["seconds"] = study.seconds
    made["value_of_time"] = _value_of_time(study.result)
    return made


def specified_split(space: Size, structure: str, seed: int) -> Json:
    """The whole of it on 70 % of the persons, and how it predicts the others."""
    data = swissmetro_choices("real")
    train, test = data.split(TEST_SHARE, seed=seed)
    study = specify(
        train,
        swissmetro_space(data, space),
        rule=PUBLISHED_RULE,
        structure=STRUCTURES[structure],
    )
    return _split_scores(study.result, test)


def _split_scores(result: Result, test: ChoiceData) -> Json:
    inside, outside = result.score(result.data), result.score(test)
    return {
        "train_loglik": inside.loglik,
        "train_accuracy": inside.accuracy,
        "test_loglik": outside.loglik,
        "test_accuracy": outside.accuracy,
        "n": outside.n,
        "k": result.n_parameters,
    }


def _statistics(result: Result, data: ChoiceData) -> Json:
    clustered = result.to_frame("cluster")["std_err"]
    frame = result.to_frame("classical").assign(name=result.names, clustered=clustered)
    columns = ["name", "estimate", "std_err", "z", "clustered"]
    statistics = ("loglik", "aic", "bic", "rho2", "rho2_bar")
    return {
        "k": result.n_parameters,
        **{name: getattr(result, name) for name in statistics},
        "wrong_signs": wrong_signs(result, data),
        "coefficients": frame[columns].to_dict("records"),
    }


def wrong_signs(result: Result, data: ChoiceData) -> int:
    """Segments in which utility rises with time or cost."""
    signs = SignRules(SIGNS, result.encoding, data)
    return signs.count(range(len(result.specification.terms)), result.coefficients)


def _value_of_time(result: Result) -> list[Json]:
    """Francs an hour by alternative and segment; TT is in hours, CO in hundreds of francs."""
    frame = result.wtp("TT", "CO")
    frame = frame.assign(estimate=100 * frame["estimate"], std_err=100 * frame["std_err"])
    names = ["alternative", "segment", "estimate", "std_err"]
    return [dict(zip(names, row, strict=True)) for row in frame[names].itertuples(index=False)]


# -- Run times -----------------------------------------------------------------------------------


def timed(
    space: Size, specification: str, seed: int, method: str, noise_to: int | None = None
) -> Json:
    """Seconds of a whole `specify`, or of a solver."""
    data = draw(specification, seed, noise_to)
    candidates = swissmetro_space(data, space)
    started = time.perf_counter()
    if method == "specify":
        specify(data, candidates, rule=PUBLISHED_RULE)
    else:
        fit_ard(data, candidates, solver=make_solver(method, seed, None), prior=as_published())
    return {"seconds": time.perf_counter() - started}
