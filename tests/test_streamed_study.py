"""In memory, from compact columns on disk, and by several threads: the same study."""

import re

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.data.compact import open_compact, write_compact

SAME_LOGLIK = 1e-9
DRAWN = 0.1
"""Of λ, where some draws stand for all."""
SAME = 1e-8
"""Of estimates and λ, relative to their size or to one."""


def panel_table(n: int = 2400, seed: int = 0) -> pd.DataFrame:
    """Four alternatives, some unavailable, weights, and persons whose rows stand far apart."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"person": rng.integers(0, n // 6, n), "weight": rng.uniform(0.5, 2, n)})
    table["age"] = rng.integers(1, 4, n)
    table["income"] = rng.normal(size=n).round(3)
    value = {}
    for j, name in enumerate(["bus", "car", "rail", "walk"]):
        table[f"time_{name}"] = rng.gamma(2.0, 10.0, n).round(1) + 1
        table[f"cost_{name}"] = rng.gamma(2.0, 2.0, n).round(2)
        table[f"av_{name}"] = np.where(j < 2, 1, rng.random(n) < 0.8).astype(int)
        level = 0.3 * j - 0.9 * np.log(table[f"time_{name}"]) - 0.25 * table[f"cost_{name}"]
        level += np.where(table["age"] == j, 0.8, 0.0)
        value[name] = np.where(table[f"av_{name}"] == 1, level + rng.gumbel(size=n), -np.inf)
    return table.assign(choice=pd.DataFrame(value).idxmax(axis=1))


def read_panel(table, **how):
    return ac.read_wide(
        table,
        alternatives=["bus", "car", "rail", "walk"],
        choice="choice",
        attributes={"time": "time_{alt}", "cost": "cost_{alt}"},
        covariates={"age": ac.Categorical(), "income": ac.Numeric()},
        availability="av_{alt}",
        person="person",
        weight="weight",
        **how,
    )


def panel_space(data):
    return ac.SearchSpace(
        data,
        transforms=["linear", "log1p", "boxcox", "segments(3)"],
        by=["age", "income"],
        generic=["cost"],
    )


@pytest.fixture
def anew(monkeypatch):
    """Nothing is kept, parts are small, and threads are used as if it were worth it."""
    monkeypatch.setattr("ardchoice.design.design.KEEP_BYTES", 0)
    monkeypatch.setattr("ardchoice.design.design.BLOCK_BYTES", 1 << 16)
    monkeypatch.setattr("ardchoice.design.design.WORTH_THREADS", 0)
    monkeypatch.setattr("ardchoice.data.choices.ROWS", 500)
    monkeypatch.setattr("ardchoice.data.batches.BATCH", 700)
    monkeypatch.setattr("ardchoice.data.compact.ROWS", 500)


def without_steps(result: ac.Result) -> str:
    return re.sub(r"converged in \d+ Newton steps", "converged", str(result))


def assert_same_study(one: ac.Study, two: ac.Study) -> None:
    assert one.specification.terms == two.specification.terms
    assert two.result.loglik == pytest.approx(one.result.loglik, rel=SAME_LOGLIK)
    assert two.result.null_loglik == pytest.approx(one.result.null_loglik, rel=SAME_LOGLIK)
    assert two.result.constants_loglik == pytest.approx(one.result.constants_loglik, rel=1e-9)
    a, b = one.result, two.result
    np.testing.assert_allclose(b.coefficients, a.coefficients, rtol=SAME, atol=SAME)
    for kind, matrix in a.covariances.items():
        np.testing.assert_allclose(b.covariances[kind], matrix, rtol=1e-6, atol=SAME)
    np.testing.assert_allclose(two.fit.lam, one.fit.lam, rtol=SAME, atol=SAME)


def test_swissmetro_from_disk_is_specified_as_in_memory(tmp_path, request):
    data = ac.datasets.swissmetro_choices("real")
    study = ac.specify(data, ac.swissmetro_space(data))
    request.getfixturevalue("anew")
    write_compact(data, tmp_path)
    disk = open_compact(tmp_path)
    streamed = ac.specify(disk, ac.swissmetro_space(disk))
    assert_same_study(study, streamed)
    # Rows in memory may offer a start near the maximum, which takes fewer steps.
    assert without_steps(streamed.result) == without_steps(study.result)


def test_generic_terms_weights_ragged_sets_and_persons_apart_as_in_memory(tmp_path, request):
    table = panel_table()
    data = read_panel(table)
    study = ac.specify(data, panel_space(data), structure=None)
    request.getfixturevalue("anew")
    table.to_parquet(tmp_path / "panel.parquet")
    disk = read_panel(tmp_path / "panel.parquet", stream=True)
    space = panel_space(disk)
    assert space.terms == panel_space(data).terms
    streamed = ac.specify(disk, space, structure=None)
    assert any(not t.where for t in study.specification.terms)
    assert_same_study(study, streamed)
    # What follows from it, on data on disk.
    one, two = study.result, streamed.result
    assert two.score().loglik == pytest.approx(one.score().loglik, rel=SAME_LOGLIK)
    np.testing.assert_allclose(two.predict(disk), one.predict(data), rtol=1e-6, atol=1e-9)
    halves = [
        ac.specify(d, s, structure=None, honest=True)
        for d, s in ((data, study.space), (disk, space))
    ]
    assert_same_study(*halves)


def test_the_number_of_threads_changes_no_bit(anew):
    data = read_panel(panel_table())
    text = "bus: ASC + log(time) x age\ncar: ASC + time\n*: cost"
    one, three = (ac.fit_mnl(data, text, n_threads=n) for n in (1, 3))
    np.testing.assert_array_equal(one.coefficients, three.coefficients)
    np.testing.assert_array_equal(one.covariances["cluster"], three.covariances["cluster"])
    assert one.data is data


@pytest.mark.parametrize("n", [0, -1, 1.5])
def test_threads_are_counted(n):
    data = read_panel(panel_table(300))
    with pytest.raises(ac.ArdchoiceError, match="whole number"):
        ac.fit_mnl(data, "bus: ASC", n_threads=n)


def test_stochastic_relevance_goes_through_data_on_disk_in_parts(tmp_path, anew):
    data = read_panel(panel_table())
    write_compact(data, tmp_path)
    disk = open_compact(tmp_path)
    solver = ac.Dsvi(max_epochs=60)
    space = ac.SearchSpace(disk, by=["age"])
    fit = ac.fit_ard(disk, space, solver=solver)
    exact = ac.fit_ard(disk, space, solver=ac.Newton(posterior="diagonal"))
    strong = np.isfinite(exact.lam) & (exact.lam > 0.05)
    assert strong.sum() > 5
    np.testing.assert_allclose(fit.lam[strong], exact.lam[strong], rtol=DRAWN)
