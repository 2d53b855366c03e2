"""Refits of sets of candidates, against `fit_mnl`."""

import numpy as np
import pytest
from selection_support import made, numbers, read, table, usual

import ardchoice as ac
from ardchoice.design.encoding import learn_encoding
from ardchoice.selection.refits import RefitCache
from ardchoice.selection.surrogate import Surrogate

LOGLIK = 1e-3
"""A criterion that decides between specifications need not be known better."""
COEFFICIENTS = 1e-2
"""Of a standard error: so far from the maximum a log-likelihood is 5e-5 short of it."""

SETS = {
    "constants": ["A: ASC", "B: ASC"],
    "main terms": ["A: ASC", "B: ASC", "A: TT", "B: TT", "C: TT", "*: CO"],
    "no constants": ["A: TT", "C: log1p(TT)", "B: CO x H"],
    "one constant": ["B: ASC", "A: TT x G", "*: log1p(TT)"],
    "shared terms only": ["*: TT", "*: CO", "*: CO x H"],
    "shared and specific": ["A: ASC", "*: TT", "A: TT", "B: TT x H", "*: CO x G"],
    "classes": ["A: ASC", "B: ASC", "A: segments(TT, 3)", "B: segments(CO, 3)"],
    "one column": ["*: CO"],
}


def weighted() -> ac.ChoiceData:
    frame = table(700, 1, usual)
    # On average one, as the models make them, so that log-likelihoods can be compared.
    frame["W"] /= frame.loc[frame["W"] > 0, "W"].mean()
    return read(frame, weight="W")


DATA = {"plain": lambda: made(700, 1, usual), "weighted": weighted}


@pytest.fixture(scope="module", params=DATA)
def data(request: pytest.FixtureRequest) -> ac.ChoiceData:
    return DATA[request.param]()


@pytest.fixture(scope="module")
def space(data: ac.ChoiceData) -> ac.SearchSpace:
    return ac.SearchSpace(data, ["linear", "log1p", "segments(3)"], by=["G", "H"], generic=True)


@pytest.fixture(scope="module")
def fit(data: ac.ChoiceData, space: ac.SearchSpace) -> ac.ArdFit:
    return ac.fit_ard(data, space)


@pytest.fixture(params=["kept", "expanded anew"])
def models(
    request: pytest.FixtureRequest, fit: ac.ArdFit, monkeypatch: pytest.MonkeyPatch
) -> RefitCache:
    """Blocks in memory, or, for designs too large to keep, expanded in every pass."""
    if request.param == "expanded anew":
        monkeypatch.setattr("ardchoice.design.design.KEEP_BYTES", 0)
    made_of = RefitCache.of(fit)
    assert isinstance(made_of._blocks, list) == (request.param == "kept")
    return made_of


def estimated(space: ac.SearchSpace, data: ac.ChoiceData, chosen: frozenset) -> ac.Result:
    return ac.fit_mnl(data, [space.terms[t] for t in sorted(chosen)])


@pytest.mark.parametrize("kind", SETS)
def test_a_refit_is_what_fit_mnl_estimates(
    models: RefitCache, space: ac.SearchSpace, data: ac.ChoiceData, kind: str
) -> None:
    chosen = numbers(space, *SETS[kind])
    fitted, result = models.refit(chosen), estimated(space, data, chosen)
    assert fitted.loglik == pytest.approx(result.loglik, abs=LOGLIK)
    raw = dict(zip(models.encoding.names, models.raw(fitted.beta), strict=True))
    error = np.array([raw[name] for name in result.names]) - result.coefficients
    std_err = result.to_frame("classical")["std_err"].to_numpy()
    np.testing.assert_allclose(error / std_err, 0.0, atol=COEFFICIENTS)
    outside = [b for name, b in raw.items() if name not in result.names]
    assert not np.any(outside)


@pytest.mark.parametrize("keep", [1 << 28, 0], ids=["kept", "expanded anew"])
def test_coefficients_come_in_the_order_of_the_terms_wherever_blocks_hold_them(
    data: ac.ChoiceData, keep: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ardchoice.design.design.KEEP_BYTES", keep)
    mixed = ["B: TT", "A: ASC x H", "*: CO", "B: ASC", "A: TT", "*: TT x G", "C: TT", "A: ASC"]
    space = ac.SearchSpace(data, specific=False, add=mixed)
    models = RefitCache.of(ac.fit_ard(data, space))
    for chosen in (range(8), [1, 2, 3, 7], [0, 2, 4, 6]):
        fitted, result = (
            models.refit(frozenset(chosen)),
            estimated(space, data, frozenset(chosen)),
        )
        raw = dict(zip(models.encoding.names, models.raw(fitted.beta), strict=True))
        error = result.estimates - [raw[name] for name in result.names]
        std_err = result.to_frame("classical")["std_err"]
        assert (error / std_err).abs().max() < COEFFICIENTS
        assert models.loglik_on(data, fitted) == pytest.approx(result.loglik, abs=LOGLIK)


@pytest.mark.parametrize("kind", ["main terms", "shared and specific"])
def test_where_a_refit_starts_does_not_matter(fit: ac.ArdFit, kind: str) -> None:
    chosen = numbers(fit.space, *SETS[kind])
    cold = RefitCache.of(fit).refit(chosen)
    start = np.random.default_rng(0).normal(size=len(cold.beta))
    warm = RefitCache.of(fit).refit(chosen, start)
    assert warm.loglik == pytest.approx(cold.loglik, abs=LOGLIK)


def test_nothing_chosen_is_equal_shares(models: RefitCache, data: ac.ChoiceData) -> None:
    fitted = models.refit(frozenset())
    assert fitted.loglik == pytest.approx(-np.log(3) * data.weights.sum())
    assert models.loglik_on(data, fitted) == pytest.approx(fitted.loglik)
    assert not fitted.beta.any()


def test_known_sets_are_not_fitted_again(fit: ac.ArdFit) -> None:
    models = RefitCache.of(fit)
    chosen = numbers(fit.space, "A: TT")
    assert models.refit(chosen) is models.refit(chosen, np.ones(len(fit.scale)))
    assert models.refits == 1


@pytest.mark.parametrize("kind", SETS)
def test_a_quadratic_knows_the_refit_it_is_made_around(
    models: RefitCache, space: ac.SearchSpace, kind: str
) -> None:
    fitted = models.refit(numbers(space, *SETS[kind]))
    quadratic = models.quadratic(fitted)
    assert quadratic.value(fitted.beta) == pytest.approx(fitted.loglik, abs=LOGLIK)
    reached = Surrogate(quadratic, models.columns).reached([fitted.selected])[0]
    assert reached == pytest.approx(fitted.loglik, abs=LOGLIK)


def test_a_quadratic_knows_its_refit_also_where_the_ridge_takes_much(
    fit: ac.ArdFit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ardchoice.selection.refits.RIDGE_SHARE", 0.1)
    models = RefitCache.of(fit)
    fitted = models.refit(numbers(fit.space, *SETS["main terms"]))
    assert 0.5 * float(models.ridge @ fitted.beta**2) > 1
    reached = Surrogate(models.quadratic(fitted), models.columns).reached([fitted.selected])[0]
    assert reached == pytest.approx(fitted.loglik, abs=LOGLIK)


def test_a_quadratic_foretells_what_a_small_term_adds(
    models: RefitCache, space: ac.SearchSpace
) -> None:
    base = numbers(space, *SETS["main terms"])
    surrogate = Surrogate(models.quadratic(models.refit(base)), models.columns)
    _, gains = surrogate.additions(base)
    for t in numbers(space, "A: ASC x G", "B: TT x H", "C: CO x G"):
        gained = models.refit(base | {t}).loglik - models.refit(base).loglik
        # Terms as weak as these leave the log-likelihood nearly quadratic.
        assert gains[t] == pytest.approx(gained, rel=0.1, abs=0.05)


@pytest.mark.parametrize("kind", SETS)
def test_other_data_are_scored_as_by_fit_mnl(
    fit: ac.ArdFit, data: ac.ChoiceData, kind: str
) -> None:
    there = read(table(300, 77, usual), weight=None if data.weight is None else "W")
    here = RefitCache.of(fit)
    chosen = numbers(fit.space, *SETS[kind])
    expected = estimated(fit.space, data, chosen).score(there).loglik
    assert here.loglik_on(there, here.refit(chosen)) == pytest.approx(expected, abs=LOGLIK)


def test_availability_is_heeded() -> None:
    frame = table(500, 3, usual)
    away = (frame["H"] == "p") & (frame["PICK"] != "A")
    data = read(frame.assign(A_AV=~away, B_AV=True, C_AV=True), availability="{alt}_AV")
    space = ac.SearchSpace(data, by=["G"])
    fit = ac.fit_ard(data, space)
    models = RefitCache.of(fit)
    chosen = numbers(space, "A: ASC", "B: ASC", "A: TT", "A: TT x G", "B: CO")
    result = estimated(space, data, chosen)
    assert models.refit(chosen).loglik == pytest.approx(result.loglik, abs=LOGLIK)
    assert models.refit(frozenset()).loglik == pytest.approx(result.null_loglik)
    assert models.loglik_on(data, models.refit(frozenset())) == pytest.approx(result.null_loglik)


def test_an_estimate_that_runs_away_is_held_without_losing_log_likelihood() -> None:
    frame = table(500, 4, usual)
    frame.loc[frame["H"] == "p", "PICK"] = "A"
    data = read(frame)
    terms = ac.parse_specification("A: ASC + ASC x H\nB: ASC + TT").terms
    encoding = learn_encoding(data, terms)
    models = RefitCache(data, encoding, np.ones(encoding.n_columns))
    fitted = models.refit(frozenset(range(len(terms))))
    limit = ac.fit_mnl(data, terms, separation="allow")
    assert fitted.loglik == pytest.approx(limit.loglik, abs=0.01)
    assert np.abs(fitted.beta).max() < 100
