"""The bootstrap: reproducible, resumable, in parallel, and near the delta method."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.estimation import Result
from ardchoice.estimation.bootstrap import aligned, memberships, resampled

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import use_intervals

SPEC = ["TRAIN: ASC + TT + CO", "SM: ASC + TT + CO", "CAR: TT + CO"]


@pytest.fixture(scope="module")
def data() -> ChoiceData:
    return ac.datasets.swissmetro_choices("real").take(np.arange(1800))


@pytest.fixture(scope="module")
def result(data: ChoiceData) -> Result:
    return ac.fit_mnl(data, SPEC)


def test_whole_persons_are_drawn(data: ChoiceData) -> None:
    drawn = resampled(data, np.random.default_rng(0))
    assert drawn.weight is not None
    weights = pd.Series(drawn.weight).groupby(np.asarray(data.person)).agg(["min", "max"])
    assert (weights["min"] == weights["max"]).all()
    assert weights["min"].sum() == data.n_persons
    assert 0.3 < (weights["min"] == 0).mean() < 0.45  # 1/e of them are left out


def test_a_replication_is_a_fit_of_repeated_rows(data: ChoiceData, result: Result) -> None:
    drawn = resampled(data, np.random.default_rng([7, 0]))
    rows = np.repeat(np.arange(len(data)), drawn.weights.astype(int))
    expected = ac.fit_mnl(data.take(rows), SPEC).coefficients
    found = result.bootstrap(2, seed=7).estimates.iloc[0]
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_threads_and_numbers_of_replications_change_nothing(result: Result) -> None:
    few, many = result.bootstrap(15, seed=3), result.bootstrap(25, seed=3, n_threads=2)
    pd.testing.assert_frame_equal(few.estimates, many.estimates[:15])
    other = result.bootstrap(15, seed=4)
    assert not np.allclose(few.estimates, other.estimates)


def test_an_interrupted_bootstrap_is_resumed(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = result.bootstrap(30, seed=0)

    def stop(done: int, n: int) -> None:
        if done == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        result.bootstrap(30, seed=0, folder=tmp_path, progress=stop)
    assert len(list(tmp_path.iterdir())) == 2
    from ardchoice.estimation import bootstrap as module

    replicate, made = module._replicate, []
    monkeypatch.setattr(module, "_replicate", lambda *g: made.append(g[2]) or replicate(*g))
    again = result.bootstrap(30, seed=0, folder=tmp_path)
    assert made == list(range(20, 30))
    pd.testing.assert_frame_equal(again.estimates, whole.estimates)
    # A spoilt file, and what was made from another seed, are not used.
    next(iter(tmp_path.iterdir())).write_bytes(b"spoilt")
    pd.testing.assert_frame_equal(
        result.bootstrap(30, seed=0, folder=tmp_path).estimates, whole.estimates
    )
    assert not result.bootstrap(30, seed=1, folder=tmp_path).estimates.equals(whole.estimates)


def test_intervals_of_tables_are_percentiles_of_the_replications(result: Result) -> None:
    boot = result.bootstrap(40, seed=0)
    found = boot.interval(lambda r: r.wtp("TT", "CO"), level=0.9)
    values = np.array([r.wtp("TT", "CO")["estimate"] for r in boot.results])
    np.testing.assert_allclose(found["low"], np.quantile(values, 0.05, axis=0))
    np.testing.assert_allclose(found["std_err"], values.std(axis=0, ddof=1))
    shares = boot.scenario("TRAIN: TT * 1.1", by="GA")
    assert (shares["low"] <= shares["high"]).all()
    frame = boot.result.to_frame("bootstrap")
    np.testing.assert_allclose(frame["std_err"], boot.to_frame()["std_err"])
    assert "bootstrap" in boot.result.summary("bootstrap")


def test_fixed_parameters_stay_fixed_and_families_are_resampled(data: ChoiceData) -> None:
    nested = ac.Nested({"existing": ["TRAIN", "CAR"]})
    result = ac.fit(data, SPEC, family=nested, fixed={"SM: TT": -1.0})
    boot = result.bootstrap(4, seed=0)
    assert (boot.estimates["SM: TT"] == -1).all()
    assert boot.estimates["mu(existing)"].std() > 0


def two_equal_classes() -> ac.Result:
    """Two classes of about the same size: which one is the larger is chance."""
    rng = np.random.default_rng(4)
    person = np.repeat(np.arange(120), 8)
    x = rng.normal(size=(2, 3, len(person)))
    tastes = np.array([[-2.0, 0.5], [0.5, 1.5]])
    v = np.einsum("nk,kjn->jn", tastes[person % 2], x) + rng.gumbel(size=(3, len(person)))
    table = pd.DataFrame(
        {f"{a}_{w}": x[k, j] for j, a in enumerate("abc") for k, w in enumerate("tc")}
    )
    table["choice"], table["who"] = np.array(list("abc"))[v.argmax(axis=0)], person
    attributes = {w: "{alt}_" + w for w in "tc"}
    data = ac.read_wide(
        table, alternatives=list("abc"), choice="choice", attributes=attributes, person="who"
    )
    return ac.fit(data, "*: t + c", family=ac.LatentClass(2, starts=4))


def test_classes_of_replications_are_those_of_the_result() -> None:
    result = two_equal_classes()
    shares = result.individual().mean()
    assert abs(shares.iloc[0] - 0.5) < 0.05
    swapped = result.family.relabelled(result.coefficients, result.layout, np.array([1, 0]))
    turned = replace(result, coefficients=swapped)
    assert turned.score(result.data).loglik == pytest.approx(result.score(result.data).loglik)
    assert np.abs(swapped - result.coefficients).max() > 1
    np.testing.assert_allclose(
        aligned(result, swapped, memberships(result)), result.coefficients, rtol=1e-12
    )
    # Sorted by share, half of the replications would have the other class first.
    boot = result.bootstrap(20, seed=0)
    sorted_by_share = [
        ac.fit(
            resampled(result.data, np.random.default_rng([0, r])), "*: t + c", family=result.family
        )
        for r in range(6)
    ]
    first = np.array([one.estimates["*: t (class 1)"] for one in sorted_by_share])
    assert np.ptp(np.sign(first)) > 0
    assert np.ptp(np.sign(boot.estimates["*: t (class 1)"])) == 0
    for r, one in enumerate(sorted_by_share):  # the same maximum, whatever the order of classes
        np.testing.assert_allclose(
            np.sort(boot.estimates.iloc[r][:4]), np.sort(one.coefficients[:4]), atol=1e-3
        )
    ratio = boot.to_frame()["std_err"] / result.to_frame("cluster")["std_err"].to_numpy()
    assert ratio.between(0.5, 2.0).all()


def test_replications_without_estimates_are_counted() -> None:
    data = ac.datasets.swissmetro_choices("real").take(np.arange(900))
    rare = np.zeros(len(data))
    rare[:9] = 1  # one person: not drawn in a third of the replications
    covariate = replace(data.covariates["GA"], name="RARE", values=rare.astype(np.int32))
    data = replace(data, covariates={**data.covariates, "RARE": covariate})
    data = data.with_choice(np.where(np.arange(900) < 5, 0, data.chosen()))
    result = ac.fit_mnl(data, ["TRAIN: ASC + ASC x RARE", "SM: ASC", "*: TT"])
    boot = result.bootstrap(30, seed=0)
    assert 2 <= boot.failed <= 25
    assert boot.estimates.isna().any(axis=1).sum() == boot.failed


def test_intervals_of_shares_cover_and_agree_with_the_bootstrap() -> None:
    """In quick form; the figures of the study are in benchmarks/README.md."""
    assert 0.90 <= use_intervals.coverage(15)[0] <= 1.0
    assert use_intervals.widths(150).between(0.8, 1.25).all()


def test_prediction_intervals_are_the_delta_method_and_chance(result: Result) -> None:
    found = result.prediction_intervals()
    shares = result.scenario("TRAIN: TT * 1.1").intervals()
    base = shares[shares["of"] == "base"]
    n = len(result.data)
    np.testing.assert_allclose(found["std_err"], n * base["std_err"], rtol=1e-10)
    p = result.probabilities()
    z = (found["prediction_high"] - found["expected"]) / 1.959963984540054
    np.testing.assert_allclose(z**2, found["std_err"] ** 2 + (p * (1 - p)).sum(axis=1))
    each = result.prediction_intervals(result.data.take(np.arange(100)), each=True)
    assert each["low"].between(0, 1).all()
    assert each["high"].between(0, 1).all()
    assert (each["low"] <= each["probability"]).all()
    one = result.scenario("TRAIN: TT * 1.1", data=result.data.take(np.arange(7, 8))).intervals()
    np.testing.assert_allclose(
        each["std_err"][21:24], one.loc[one["of"] == "base", "std_err"], rtol=1e-9
    )


def test_realised_numbers_lie_within_prediction_intervals(data: ChoiceData) -> None:
    """Over new samples of situations and choices from a known model."""
    true = ac.fit_mnl(data, SPEC)
    rows = np.random.default_rng(5).permutation(len(data))
    one, other = data.take(rows[:900]), data.take(rows[900:])
    inside = []
    for seed in range(40):
        result = ac.fit_mnl(ac.simulate_choices(one, true, seed=seed), SPEC)
        found = result.prediction_intervals(other)
        drawn = ac.simulate_choices(other, true, seed=1000 + seed).shares().to_numpy() * len(other)
        inside.append(
            (found["prediction_low"].to_numpy() <= drawn)
            & (drawn <= found["prediction_high"].to_numpy())
        )
    assert 0.89 <= np.mean(inside) <= 0.995
