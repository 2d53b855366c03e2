"""ARD of a mixed logit: λ of means and of spreads, by `Newton()` and by `Dsvi()`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.ard import FamilyLikelihood, laplace_evidence
from ardchoice.ard.groups import Groups
from ardchoice.ard.mixed import MixedProblem
from ardchoice.ard.spreads import SpreadCandidates, Spreads, group_qualities, next_spreads
from ardchoice.data import ChoiceData, grouped_by_person
from ardchoice.design import Design, Standardizer
from ardchoice.families import PersonTastes
from ardchoice.families.mixed.persons import persons_of

MEANS = {"A: ASC": 0.4, "*: v": 1.0, "*: w": -0.8, "*: x": 0.6, "*: y": 0.5}
ATTRIBUTES = ("v", "w", "x", "y")
DIFFERENCE_TOLERANCE = 1e-6
"""Relative, of central differences of double precision."""


def drawn(sd: dict[str, float], seed: int = 0, persons: int = 300, answers: int = 8) -> ChoiceData:
    """Three alternatives; tastes in `sd` differ between persons, those for v … y or A."""
    rng = np.random.default_rng((77, seed))
    n = persons * answers
    x = rng.normal(size=(n, 3, 4))
    spread = np.array([sd.get(name, 0.0) for name in ("A", *ATTRIBUTES)])
    each = np.array(list(MEANS.values())) + spread * rng.normal(size=(persons, 5))
    beta = np.repeat(each, answers, axis=0)
    utility = np.einsum("njk,nk->nj", x, beta[:, 1:]) + rng.gumbel(size=(n, 3))
    utility[:, 0] += beta[:, 0]
    table = pd.DataFrame(
        {f"{a}_{w}": x[:, j, k] for j, a in enumerate("ABC") for k, w in enumerate(ATTRIBUTES)}
    )
    table["choice"] = np.array(list("ABC"))[utility.argmax(axis=1)]
    table["person"] = np.repeat(np.arange(persons), answers)
    return read(table)


def read(table: pd.DataFrame, **more: str) -> ChoiceData:
    return ac.read_wide(
        table,
        alternatives=list("ABC"),
        choice="choice",
        attributes={w: "{alt}_" + w for w in ATTRIBUTES},
        person="person",
        **more,
    )


def space_of(data: ChoiceData) -> ac.SearchSpace:
    return ac.SearchSpace(data, base="C", generic=True, specific=False)


def lam_of(fit: ac.ArdFit) -> dict[str, float]:
    assert fit.spreads is not None
    return dict(zip(fit.spreads.names, fit.spreads.lam, strict=True))


TRUE = {"v": 1.0, "w": 0.8, "A": 1.0}


@pytest.fixture(scope="module")
def data() -> ChoiceData:
    return drawn(TRUE)


@pytest.fixture(scope="module")
def fit(data: ChoiceData) -> ac.ArdFit:
    return ac.fit_ard(data, space_of(data), family=ac.Mixed())


# -- One pass --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def problem() -> MixedProblem:
    data = grouped_by_person(drawn(TRUE, persons=40))
    design = Design(data, space_of(data).terms)
    d = design.n_columns
    blocks = design.blocks(Standardizer(np.zeros(d), np.ones(d)))
    family = ac.Mixed({"*: v": "normal", "*: w": "normal", "A+B: ASC": "normal"})
    candidates = SpreadCandidates.of(family, design.encoding)
    return MixedProblem(design, blocks, Groups(np.arange(d), d), candidates)


TAU = np.array([0.8, 0.3, 0.5])


def profile(problem: MixedProblem, beta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Σ max over u of [log p - ½ Σ u²/τ], with the gradient and the curvature of the pass."""
    measure = problem.measure(beta, np.zeros_like(beta), TAU)
    sums, people = problem.pass_over(measure, problem.people())
    penalty = 0.5 * sum(float((p.mean**2 / TAU).sum()) for p in people)
    order = problem.design.position
    return sums.loglik - penalty, sums.gradient[order], sums.curvature[np.ix_(order, order)]


def test_gradient_and_curvature_are_those_of_the_profile_over_tastes(problem):
    beta, step = np.array([0.3, 0.8, -0.6, 0.5, 0.4, -0.1])[: problem.design.n_columns], 1e-5
    _, gradient, curvature = profile(problem, beta)
    for k in range(len(beta)):
        move = np.zeros_like(beta)
        move[k] = step
        up, down = profile(problem, beta + move), profile(problem, beta - move)
        scale = np.abs(gradient).max()
        assert (up[0] - down[0]) / (2 * step) == pytest.approx(
            gradient[k], abs=DIFFERENCE_TOLERANCE * scale * 10
        )
        difference = -(up[1] - down[1]) / (2 * step)
        assert difference == pytest.approx(
            curvature[k], abs=DIFFERENCE_TOLERANCE * np.abs(curvature).max() * 10
        )


def test_the_integral_is_the_simulated_one_up_to_the_square_of_the_variance(problem):
    beta = np.array([0.3, 0.8, -0.6, 0.5, 0.4, -0.1])[: problem.design.n_columns]
    family = replace(problem.candidates.family, nodes=256)
    layout = family.layout(problem.design.encoding).reordered(problem.design.order)
    away = []
    for variance in (0.02, 0.005):
        tau = np.full(3, variance)
        measure = problem.measure(beta, np.zeros_like(beta), tau)
        sums, _ = problem.pass_over(measure, problem.people())
        theta = np.append(beta[problem.design.order], np.sqrt(tau))
        exact = sum(family.evaluate(theta, block, layout, 0).loglik for block in problem.blocks)
        away.append(abs(sums.loglik - sums.divergence - exact))
    assert away[0] < 0.1
    assert away[1] < away[0] / 8


def test_the_gain_of_a_spread_is_the_log_of_an_integral_and_second_moments_are_its_slope(problem):
    family = ac.Mixed({"*: v": "normal"})
    one = replace(problem, candidates=SpreadCandidates.of(family, problem.design.encoding))
    beta, tau = np.zeros(problem.design.n_columns), 0.7
    sums, _ = one.pass_over(one.measure(beta, beta, np.array([tau])), one.people())
    (quality,) = group_qualities(one.candidates, sums)
    # ∫ N(u; 0, τ) exp(q u - ½ s u²) du by the trapezoidal rule, person by person.
    grid = np.linspace(-12, 12, 4001)[:, None] * np.sqrt(tau)
    density = np.exp(-0.5 * grid**2 / tau + quality.q * grid - 0.5 * quality.s * grid**2)
    integral = density.sum(axis=0) * (grid[1] - grid[0]) / np.sqrt(2 * np.pi * tau)
    assert quality.gain(tau) == pytest.approx(float(np.log(integral).sum()), rel=1e-9)
    step = 1e-5
    slope = (quality.gain(tau * np.exp(step)) - quality.gain(tau * np.exp(-step))) / (2 * step)
    assert 0.5 * (sums.second[0] / tau - sums.weight) == pytest.approx(slope, abs=1e-5)
    best = quality.best()
    assert quality.gain(best) >= max(quality.gain(0.8 * best), quality.gain(1.25 * best))


# -- λ of spreads ----------------------------------------------------------------------------------


def test_true_spreads_stay_and_the_others_vanish(fit):
    lam = lam_of(fit)
    assert fit.converged
    assert {name for name, value in lam.items() if value > 0.02} == {"*: v", "*: w", "A: ASC"}
    table = fit.table().set_index("term")
    for name, value in lam.items():
        assert table.loc[name, "lambda_sd"] == value
    true = table.loc[["*: v", "*: w", "A: ASC"]]
    assert (true["p_value_sd"] < 1e-4).all()
    assert (true["evidence_sd"] > 5).all()
    assert (table.loc[["*: x", "*: y"], "p_value_sd"] > 0.001).all()


def test_slow_steps_are_extrapolated_and_steps_that_turn_round_are_halved(problem):
    beta = np.zeros(problem.design.n_columns)
    sums, _ = problem.pass_over(problem.measure(beta, beta, TAU), problem.people())
    plain = next_spreads(problem.candidates, replace(Spreads.start(3), tau=TAU), sums)
    step = plain.last
    assert np.log(plain.tau / TAU) == pytest.approx(np.clip(step, -1.4, 1.4))
    slow = Spreads(TAU, np.full(3, 1.4), step / 0.8, np.full(3, 2.0))
    reached = next_spreads(problem.candidates, slow, sums)
    # 1 / (1 - 0.8) times as far, the sum of all steps to come.
    assert np.log(reached.tau / TAU) == pytest.approx(np.clip(5 * step, -1.4, 1.4), rel=1e-6)
    turned = next_spreads(problem.candidates, replace(slow, last=-step), sums)
    assert turned.reach.tolist() == [0.7, 0.7, 0.7]


def test_the_family_of_the_fit_has_the_spreads_that_stay(fit):
    assert isinstance(fit.family, ac.Mixed)
    assert {"*: v", "*: w", "A: ASC"} <= set(fit.family.random or {})
    assert all(value > 0 for value in fit.extras.values())


def test_spreads_that_are_named_are_the_only_candidates(data):
    found = ac.fit_ard(data, space_of(data), family=ac.Mixed({"*: v": "normal", "*: x": "normal"}))
    assert set(lam_of(found)) == {"*: v", "*: x"}
    assert lam_of(found)["*: v"] > 10 * lam_of(found)["*: x"]
    assert found.family == ac.Mixed({"*: v": "normal", "*: x": "normal"})


def test_persons_anywhere_in_the_table_give_the_same(data, fit):
    shuffled = data.take(np.random.default_rng(3).permutation(len(data)))
    again = ac.fit_ard(shuffled, space_of(shuffled), family=ac.Mixed())
    assert lam_of(again) == pytest.approx(lam_of(fit), rel=1e-6)
    assert again.lam[-4:] == pytest.approx(fit.lam[-4:], rel=1e-6)


def test_a_weight_of_two_is_the_person_twice():
    once = drawn(TRUE, persons=80)
    rows = np.arange(len(once))
    twice = once.take(np.concatenate([rows, rows]))
    assert once.person is not None
    twice = replace(twice, person=np.concatenate([once.person, once.person + 80]))
    weighted = replace(once, weight=np.full(len(once), 2.0))
    names = {"*: v": "normal", "*: w": "normal"}
    a, b = (ac.fit_ard(d, space_of(d), family=ac.Mixed(names)) for d in (twice, weighted))
    assert lam_of(a) == pytest.approx(lam_of(b), rel=1e-4)
    assert a.mean == pytest.approx(b.mean, abs=1e-4)


def test_a_constant_without_term_is_a_row_of_its_own(fit):
    table = fit.table()
    row = table[table["term"] == "C: ASC"]
    assert len(row) == 1
    assert np.isnan(row["lambda"].item())
    assert row["lambda_sd"].item() == 0.0 or row["lambda_sd"].item() < 0.3


def test_the_table_fits_80_columns_and_shows_both(fit):
    text = str(fit)
    assert max(map(len, text.splitlines())) <= 80
    assert "lambda sd" in text
    assert "*: v" in text


def test_score_tests_of_terms_are_given_the_tastes(fit):
    tests = fit.tests
    # The coefficients of attributes are far from zero, and the answers of a person are explained.
    attributes = [str(t).startswith("*") for t in fit.terms]
    assert (tests.p_value[attributes] < 1e-6).all()
    assert np.median(tests.design_effect) < 2.0


def test_a_given_prior_variance_is_kept(data):
    prior = ac.Prior(fixed=0.5)
    found = ac.fit_ard(data, space_of(data), family=ac.Mixed({"*: v": "normal"}), prior=prior)
    assert set(found.lam[np.isfinite(found.lam)]) == {0.5}
    assert lam_of(found)["*: v"] > 0.3


# -- Dsvi ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sampled(data: ChoiceData) -> ac.ArdFit:
    return ac.fit_ard(data, space_of(data), family=ac.Mixed(), solver=ac.Dsvi(seed=1))


def test_dsvi_ranks_spreads_as_newton_does(fit, sampled):
    assert sampled.converged
    a, b = lam_of(fit), lam_of(sampled)
    true = ["*: v", "*: w", "A: ASC"]
    assert sorted(true, key=a.get) == sorted(true, key=b.get)
    assert max(b[k] for k in b if k not in true) < 0.2 * min(b[k] for k in true)


def test_the_same_seed_gives_the_same_digits_and_progress_is_reported(data):
    steps: list[ac.Step] = []
    space, family = space_of(data), ac.Mixed({"*: v": "normal"})
    solver = ac.Dsvi(seed=5, max_epochs=4)
    first = ac.fit_ard(data, space, family=family, solver=solver, progress=steps.append)
    again = ac.fit_ard(data, space, family=family, solver=solver)
    other = ac.fit_ard(data, space, family=family, solver=replace(solver, seed=6))
    assert first.mean.tolist() == again.mean.tolist()
    assert lam_of(first) == lam_of(again)
    assert first.mean.tolist() != other.mean.tolist()
    assert [step.iteration for step in steps] == [1, 2, 3, 4]


def test_the_published_schedule_is_refused_by_name(data):
    with pytest.raises(ac.ArdchoiceError, match=r"use solver=Newton\(\) or Dsvi\(\)"):
        ac.fit_ard(data, space_of(data), family=ac.Mixed(), solver=ac.Dsvi.paper(steps=10))


def test_the_bound_is_below_the_exact_evidence_and_near_it():
    """The evidence by importance sampling: β around its mode, tastes by adapted nodes."""
    data = drawn({"v": 1.0}, persons=100)
    family = ac.Mixed({"*: v": "normal"}, nodes=32)
    found = ac.fit_ard(
        data,
        space_of(data),
        family=family,
        solver=ac.Dsvi(seed=0),
        prior=ac.Prior(shrink_constants=True),
    )
    on = found.lam > 0
    assert on.all()
    design = Design(grouped_by_person(data), found.encoding)
    some = FamilyLikelihood(design, found.centre, found.scale, family, found.extras)
    rng = np.random.default_rng(0)
    root = np.linalg.cholesky(
        np.linalg.inv(found.quadratic.curvature + np.diag(1 / found.lam)) * 1.2
    )
    d, logs = len(found.mean), []
    for _ in range(80):
        z = rng.standard_normal(d)
        beta = found.mean + root @ z
        theta = some.theta(beta[design.order])
        loglik = sum(family.evaluate(theta, b, some.layout, 0).loglik for b in some.blocks)
        prior = -0.5 * float((beta**2 / found.lam + np.log(found.lam)).sum())
        logs.append(loglik + prior + 0.5 * float(z @ z) + np.log(np.diag(root)).sum())
    exact = float(np.logaddexp.reduce(logs) - np.log(len(logs)))
    bound = float(np.mean([step.objective for step in found.trace[-8:]]))
    assert bound < exact
    assert bound > exact - 0.05 * len(data) / 8 - 5
    assert laplace_evidence(found) == pytest.approx(exact, abs=2.0)


EXACT_TIME = {"TRAIN: ASC": -0.5752, "CAR: ASC": 0.2819, "*: TT": -3.2216, "*: CO": -1.6603}
EXACT_ERRORS = {"TRAIN: ASC": 0.082, "CAR: ASC": 0.0567, "*: TT": 0.1889, "*: CO": 0.0781}
"""tests/reference/heterogeneity.json, swissmetro_panel_normal_time."""


def test_means_of_the_panel_model_of_time_are_near_the_exact_mixed_logit(load):
    data = load("mixed_reference").swissmetro()
    space = ac.SearchSpace(data, attributes=["TT", "CO"], base="SM", generic=True, specific=False)
    found = ac.fit_ard(
        data,
        space,
        family=ac.Mixed({"*: TT": "normal"}),
        solver=ac.Dsvi(),
        prior=ac.Prior(fixed=1e4),
    )
    assert found.converged
    mean = found.coefficients()["mean"]
    for name, exact in EXACT_TIME.items():
        assert mean[name] == pytest.approx(exact, abs=0.5 * EXACT_ERRORS[name])
    time = next(k for k, term in enumerate(found.terms) if str(term) == "*: TT")
    sd = np.sqrt(lam_of(found)["*: TT"]) / found.scale[time]
    assert sd == pytest.approx(3.6521, rel=0.08)
    # Below the exact maximum of the log-likelihood, and so below the evidence but for the prior.
    assert np.mean([step.objective for step in found.trace[-5:]]) < -4359.4


def test_persons_of_a_batch_are_whole(problem):
    block = next(iter(problem.blocks))
    measure = problem.measure(
        np.zeros(problem.design.n_columns), np.full(problem.design.n_columns, 0.01), TAU
    )
    persons = persons_of(block, measure.components)
    tastes = PersonTastes.nothing(measure.units(block), 3)
    sums, after = measure(block, tastes, np.random.default_rng(0), 1.0, 7)
    assert len(after.mean) == len(persons.code) == 40
    assert (after.mean != 0).all()
    assert sums.weight == 40


@pytest.mark.filterwarnings("ignore::ardchoice.ArdchoiceWarning")
def test_a_saved_study_has_its_spreads_when_it_is_loaded(tmp_path):
    data = drawn({"v": 1.0}, persons=60)
    space = ac.SearchSpace(data, base="C", generic=True, specific=False, attributes=["v", "w"])
    study = ac.specify(data, space, family=ac.Mixed({"*: v": "normal"}, nodes=16))
    study.save(tmp_path / "study")
    spreads, again = study.fit.spreads, ac.load(tmp_path / "study").fit.spreads
    assert spreads is not None
    assert again.names == spreads.names == ("*: v",)
    for name in ("lam", "evidence", "statistic", "p_value", "columns", "terms"):
        assert getattr(again, name).tolist() == getattr(spreads, name).tolist()
    pd.testing.assert_frame_equal(ac.load(tmp_path / "study").fit.table(), study.fit.table())


def test_what_notebooks_show_has_the_spreads(fit):
    html = fit._repr_html_()
    assert "lambda sd" in html
    assert "<script" not in html
