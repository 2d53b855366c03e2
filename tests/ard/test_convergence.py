"""`fit_ard` converges where plain iteration alternates, and warns where it is cut short."""

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice._types import Floats
from ardchoice.ard.constants import diverging_constants
from ardchoice.ard.likelihood import FamilyLikelihood
from ardchoice.ard.quadratic import posterior
from ardchoice.design import Design

MOST_PASSES = 20
OBJECTIVE_ROUNDING = 1e-5
"""Of a log-likelihood of hundreds in a pass that rounds, and of means that stand still to 1e-4
standard deviations."""


def first_rows() -> ac.ChoiceData:
    """The first 3,000 rows of Swissmetro: plain iteration alternates between two points."""
    table = ac.datasets.swissmetro()
    return ac.read_wide(
        table[table["CHOICE"] != 0].head(3000),
        alternatives={"TRAIN": 1, "SM": 2, "CAR": 3},
        choice="CHOICE",
        attributes={"TT": "{alt}_TT", "CO": "{alt}_CO"},
        covariates=["GA", "MALE"],
        availability="{alt}_AV",
        person="ID",
    )


def collinear_trips(seed: int, situations: int = 400) -> ac.ChoiceData:
    """Ragged situations with tottime = ivtt + ovtt: plain iteration takes 100 passes and more."""
    rng = np.random.default_rng(seed)
    constants = np.array([0.0, -0.5, -1.0, -1.5])
    rows = []
    for case in range(situations):
        income = rng.lognormal(0, 1)
        there = [a for a in range(4) if a == 0 or rng.random() < 0.8]
        there = there if len(there) > 1 else [0, 1]
        inside = rng.gamma(2, 10, len(there))
        outside = rng.gamma(1, 8, len(there))
        cost = rng.gamma(1, 1.5, len(there))
        utility = -0.03 * inside - 0.06 * outside - 0.4 * cost / income + constants[there]
        best = int((utility + rng.gumbel(size=len(there))).argmax())
        for k, alternative in enumerate(there):
            times = inside[k], outside[k], inside[k] + outside[k]
            rows.append((case, alternative, int(k == best), *times, cost[k], income))
    names = ["case", "alt", "chosen", "ivtt", "ovtt", "tottime", "totcost", "income"]
    return ac.read_long(
        pd.DataFrame(rows, columns=names),
        situation="case",
        alternative="alt",
        chosen="chosen",
        attributes=["ivtt", "ovtt", "tottime", "totcost"],
        covariates=["income"],
    )


def test_steps_that_alternate_on_swissmetro_are_shortened() -> None:
    data = first_rows()
    space = ac.SearchSpace(data, ["linear", "log1p"], by=["GA", "MALE"], base="CAR")
    fit = ac.fit_ard(data, space)
    assert fit.converged
    assert fit.passes <= MOST_PASSES
    # It alternated between -2064.033 and -2064.020.
    bound = posterior(fit.quadratic, fit.term_groups, fit.lam, "diagonal").log_evidence
    assert bound == pytest.approx(-2064.027, abs=1e-3)


def test_collinear_attributes_of_ragged_situations_converge() -> None:
    data = collinear_trips(51)
    fit = ac.fit_ard(data, ac.SearchSpace(data, ["linear", "log1p"], by=["income"]))
    assert fit.converged
    assert fit.passes <= MOST_PASSES


def test_a_run_cut_short_warns_and_names_the_terms_that_move() -> None:
    data = collinear_trips(51)
    space = ac.SearchSpace(data, ["linear", "log1p"], by=["income"])
    with pytest.warns(ac.ConvergenceWarning, match="still moving: .*max_passes"):
        fit = ac.fit_ard(data, space, solver=ac.Newton(max_passes=4))
    assert not fit.converged
    assert fit.moving
    assert str(fit.moving[0]) in fit.reason


def objective(fit: ac.ArdFit, lam: Floats, mean: Floats) -> float:
    """The bound at any λ and mean, from the data and the curvature of the end."""
    design = Design(fit.data, fit.encoding)
    loglik = FamilyLikelihood(design, fit.centre, fit.scale).sums(mean).loglik
    own, shrunk = np.diag(fit.quadratic.curvature), np.isfinite(lam) & (lam > 0)
    price = np.log(lam[shrunk] * own[shrunk] + 1).sum() + np.log(own[np.isinf(lam)]).sum()
    return loglik - 0.5 * float((mean[shrunk] ** 2 / lam[shrunk]).sum() + price)


def by_column(fit: ac.ArdFit, lam: Floats) -> Floats:
    """λ of every column, from those of the terms that are shrunk; infinite for others."""
    every = np.full(len(fit.terms), np.inf)
    every[np.isfinite(fit.lam)] = lam
    return np.repeat(every, [term.n_columns for term in fit.encoding.terms])


def rises(fit: ac.ArdFit) -> bool:
    """Whether the objective never falls between passes."""
    return bool((np.diff([step.objective for step in fit.trace]) >= 0).all())


@pytest.mark.parametrize("seed", [1, 51])
@pytest.mark.parametrize("posterior_", ["diagonal", "full"])
def test_the_objective_never_falls_between_passes(seed: int, posterior_: str) -> None:
    data = collinear_trips(seed)
    space = ac.SearchSpace(data, ["linear", "log1p"], by=["income"])
    fit = ac.fit_ard(data, space, solver=ac.Newton(posterior=posterior_))  # type: ignore[arg-type]
    assert fit.converged
    assert len(fit.trace) > MOST_PASSES / 4
    assert rises(fit)


@pytest.mark.parametrize("seed", [1, 51])
def test_every_entry_of_the_trace_is_the_objective_at_its_lambda_and_mean(seed: int) -> None:
    data = collinear_trips(seed)
    fit = ac.fit_ard(data, ac.SearchSpace(data, ["linear", "log1p"], by=["income"]))
    for step in fit.trace:
        assert step.mean is not None
        here = objective(fit, by_column(fit, step.lam), step.mean)
        assert step.objective == pytest.approx(here, abs=OBJECTIVE_ROUNDING)


@pytest.mark.parametrize("seed", [1, 51])
def test_nothing_near_the_end_has_a_higher_objective(seed: int) -> None:
    data = collinear_trips(seed)
    fit = ac.fit_ard(data, ac.SearchSpace(data, ["linear", "log1p"], by=["income"]))
    rng, end = np.random.default_rng(0), fit.trace[-1]
    assert end.mean is not None
    for size in (1e-3, 1e-2, 0.1, 1.0):
        for _ in range(10):
            lam = end.lam * np.exp(size * rng.standard_normal(len(end.lam)))
            mean = end.mean + size * fit.sd * rng.standard_normal(len(end.mean))
            there = objective(fit, by_column(fit, lam), mean)
            assert there <= end.objective + OBJECTIVE_ROUNDING
    # A move of a standard deviation is no rounding.
    assert there < end.objective - 1


def strong_tastes(never: bool) -> ac.ChoiceData:
    """Twelve alternatives and strong tastes; some alternatives may never be chosen."""
    rng = np.random.default_rng(3)
    n, j = 500, 12
    x = np.exp(0.8 * rng.standard_normal((n, j)))
    utility = -3 * x + rng.gumbel(size=(n, j))
    if never:
        utility[:, 8:] = -np.inf
    income = rng.standard_normal(n)
    row, mode = np.divmod(np.arange(n * j), j)
    table = pd.DataFrame({"id": row, "mode": mode, "x": x.ravel(), "income": income[row]})
    table["chosen"] = (utility.argmax(axis=1)[row] == mode).astype(int)
    return ac.read_long(
        table,
        situation="id",
        alternative="mode",
        chosen="chosen",
        attributes=["x"],
        covariates=["income"],
    )


@pytest.mark.filterwarnings("ignore::ardchoice.ArdchoiceWarning")
@pytest.mark.parametrize("never", [False, True])
def test_strong_tastes_converge_also_with_alternatives_that_nobody_chose(never: bool) -> None:
    data = strong_tastes(never)
    space = ac.SearchSpace(data, ["linear", "log1p"], by=["income"], generic=["x"], base="0")
    fit = ac.fit_ard(data, space)
    assert fit.converged
    assert fit.passes <= 25
    assert rises(fit)
    table = fit.table().set_index("term")["lambda"]
    constants = table[[name for name in table.index if name.endswith("ASC")]]
    # A constant that diverges is shrunk; one that has an estimate is not.
    assert np.isfinite(constants).sum() == (4 if never else 0)


def test_constants_diverge_where_preferences_do_not_connect_alternatives() -> None:
    """Of a, b and c: c is chosen, but never where a or b are to be had."""
    table = pd.DataFrame(
        {
            "choice": ["a", "b", "a", "b", "c", "c"],
            "a_av": [1, 1, 1, 1, 0, 0],
            "b_av": [1, 1, 1, 1, 0, 0],
            "c_av": [1, 1, 1, 1, 1, 1],
            "d_av": [0, 0, 0, 0, 1, 1],
            "x": [1.0, 2, 3, 4, 5, 6],
        }
    )
    with pytest.warns(ac.ArdchoiceWarning):
        data = ac.read_wide(
            table,
            alternatives=["a", "b", "c", "d"],
            choice="choice",
            attributes={"x": {"a": "x", "b": "x"}},
            availability="{alt}_av",
        )
    terms = ac.parse_specification("a: ASC\nb: ASC\nc: ASC").terms
    assert {str(t) for t in diverging_constants(data, Design(data, terms).encoding)} == {
        "a: ASC",
        "b: ASC",
        "c: ASC",
    }
    terms = ac.parse_specification("b: ASC\nc: ASC\nd: ASC").terms
    assert {str(t) for t in diverging_constants(data, Design(data, terms).encoding)} == {
        "c: ASC",
        "d: ASC",
    }
