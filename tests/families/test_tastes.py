"""Distributions of tastes and of willingness to pay; predictions of persons who are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from families_support import business
from scipy import stats

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.estimation.taste_distributions import distributions

SPEC = "TRAIN: ASC\nCAR: ASC\n*: TT + CO"


@pytest.fixture(scope="module")
def data() -> ChoiceData:
    return business()


@pytest.fixture(scope="module")
def result(data: ChoiceData) -> ac.Result:
    return ac.fit(data, SPEC, family=ac.Mixed({"*: TT": "normal"}))


def test_shares_and_quantiles_of_a_normal_taste_are_those_of_the_normal_distribution(result):
    row = result.tastes().set_index("taste").loc["*: TT"]
    mean, sd = result.estimates["*: TT"], result.estimates["sd(*: TT)"]
    assert row["mean"] == pytest.approx(mean, abs=1e-3)
    assert row["sd"] == pytest.approx(sd, rel=1e-3)
    assert row["p10"] == pytest.approx(stats.norm.ppf(0.1, mean, sd), rel=1e-2)
    assert row["opposite"] == pytest.approx(stats.norm.sf(-mean / sd), abs=2e-3)
    # The delta method, for the same share.
    covariance = result.covariance().loc[["*: TT", "sd(*: TT)"], ["*: TT", "sd(*: TT)"]]
    gradient = stats.norm.pdf(mean / sd) * np.array([1 / sd, -mean / sd**2])
    half = 1.96 * np.sqrt(gradient @ covariance.to_numpy() @ gradient)
    assert row["high"] - row["low"] == pytest.approx(2 * half, rel=0.25)


def test_willingness_to_pay_with_a_fixed_cost_is_the_taste_divided_by_it(result):
    row = result.tastes().set_index("taste")
    cost = result.estimates["*: CO"]
    wtp = row.loc["*: TT / CO"]
    assert wtp["mean"] == pytest.approx(row.loc["*: TT", "mean"] / cost)
    assert wtp["opposite"] == pytest.approx(row.loc["*: TT", "opposite"])


@pytest.mark.parametrize("kind", ["normal", "-truncated"])
@pytest.mark.filterwarnings("ignore::ardchoice.errors.ConvergenceWarning")
def test_a_cost_with_a_density_at_zero_leaves_no_mean_of_the_ratio(data, kind):
    mixed = ac.fit(data, SPEC, family=ac.Mixed({"*: CO": kind}), max_iterations=4)
    row = mixed.tastes().set_index("taste").loc["*: TT / CO"]
    assert np.isnan(row["mean"])
    assert np.isnan(row["sd"])
    assert np.isfinite(row["median"])


def test_a_lognormal_cost_has_the_mean_of_a_lognormal_ratio(data):
    mixed = ac.fit(data, SPEC, family=ac.Mixed({"*: CO": "-lognormal"}))
    a, sd = mixed.estimates["*: CO"], mixed.estimates["sd(*: CO)"]
    row = mixed.tastes().set_index("taste").loc["*: TT / CO"]
    # β = -exp(a + sd z): E[1 / β] = -exp(-a + sd² / 2), and the median is -exp(-a).
    median = -mixed.estimates["*: TT"] * np.exp(-a)
    assert row["median"] == pytest.approx(median, rel=1e-2)
    assert row["mean"] == pytest.approx(median * np.exp(sd**2 / 2), rel=0.05)


def test_a_multinomial_logit_has_no_distribution_of_tastes(data):
    with pytest.raises(ac.ArdchoiceError, match="mixed logit"):
        ac.fit_mnl(data, SPEC).tastes()


def test_the_figure_has_a_panel_for_every_distribution_and_no_bar_of_two_signs(result):
    axes = result.plot.tastes().figure.axes
    names = [ax.get_xlabel() for ax in axes if ax.get_visible()]
    assert names == [t.name for t in distributions(result, result.coefficients, "CO")]
    edges = [(p.get_x(), p.get_x() + p.get_width()) for p in axes[0].patches]
    assert not any(low < -1e-9 and high > 1e-9 for low, high in edges)


def test_known_persons_are_predicted_as_bayes_rule_says(data, result):
    some = data.take(np.arange(45))
    known = result.score_further(some)["loglik"].iloc[1]
    # By quadrature over the taste of each person.
    z = np.linspace(-8, 8, 1_601)
    density = stats.norm.pdf(z) * (z[1] - z[0])
    rank = np.concatenate([np.arange(n) for n in np.bincount(some.person)])
    total = 0.0
    fixed = ac.fit_mnl(data, SPEC)
    p = []
    for node in z:
        beta = result.coefficients[:4].copy()
        beta[list(fixed.names).index("*: TT")] += result.estimates["sd(*: TT)"] * node
        at = replace(fixed, coefficients=beta)
        p.append(at.probabilities(some)[some.choice, np.arange(len(some))])
    p = np.array(p)
    for n in range(some.n_persons):
        rows = some.person == n
        every = density @ p[:, rows].prod(axis=1)
        total += np.log(every / (density @ p[:, rows & (rank < 4)].prod(axis=1)))
    assert known == pytest.approx(total, abs=0.05)


def test_nothing_is_known_further_in_a_multinomial_logit(data):
    new, known = ac.fit_mnl(data, SPEC).score_further()["loglik"]
    assert new == known


def test_persons_are_needed_to_know_them(data):
    without = replace(data, person=None)
    with pytest.raises(ac.ArdchoiceError, match="no person ids"):
        ac.fit_mnl(without, SPEC).score_further()


def test_the_table_prints_every_column_in_80_characters(result):
    text = repr(result.tastes())
    assert max(map(len, text.splitlines())) <= 80
    words = text.replace("\n", " ").split()
    assert [name for name in result.tastes().columns if name not in words] == []


def test_error_components_are_explained_and_have_no_wrong_sign(data):
    family = ac.Mixed({"*: TT": "normal", "TRAIN+CAR: ASC": "normal"})
    frame = ac.fit(data, SPEC, family=family).tastes()
    row = frame.set_index("taste").loc["TRAIN+CAR: ASC"]
    assert (row["kind"], row["mean"], row["median"]) == ("component", 0, 0)
    assert np.isnan(row["opposite"])
    assert "error component is what alternatives have in common" in " ".join(repr(frame).split())
    assert "error component" not in repr(frame[frame["kind"] != "component"].reset_index(drop=True))


def test_a_shared_taste_moves_the_willingness_to_pay_of_all_its_terms(data):
    spec = "TRAIN: ASC + TT\nCAR: ASC + TT\nSM: TT\n*: CO"
    shared = ac.fit(data, spec, family=ac.Mixed({"*: TT": "shared normal"}))
    frame = shared.tastes().set_index("taste")
    assert frame.loc["*: TT", "kind"] == "shared"
    assert "mean in its alternatives" in " ".join(repr(shared.tastes()).split())
    e = shared.estimates
    for mode in ("TRAIN", "SM", "CAR"):
        row = frame.loc[f"{mode}: TT / CO"]
        # A normal variable divided by a number.
        assert row["mean"] == pytest.approx(e[f"{mode}: TT"] / e["*: CO"], abs=5e-3)
        assert row["sd"] == pytest.approx(e["sd(*: TT)"] / -e["*: CO"], rel=5e-3)
        wrong = stats.norm.cdf(0, e[f"{mode}: TT"] / e["*: CO"], -e["sd(*: TT)"] / e["*: CO"])
        assert row["opposite"] == pytest.approx(min(wrong, 1 - wrong), abs=5e-3)


def test_constants_have_no_wrong_sign_but_moments(data):
    frame = ac.fit(data, SPEC, family=ac.Mixed({"TRAIN: ASC": "normal"})).tastes()
    row = frame.set_index("taste").loc["TRAIN: ASC"]
    assert row["kind"] == "constant"
    assert row["sd"] > 0
    assert np.isnan(row["opposite"])
