"""A start near the maximum changes how soon estimation ends, and nothing else."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.design import Design
from ardchoice.estimation.baselines import null_loglik
from ardchoice.families import one_pass
from ardchoice.families.mnl import start as module
from ardchoice.families.mnl.start import Start, spread_rows, start_near
from ardchoice.space.grammar import parse_specification

SAME = 1e-9
"""Of a standard error: what Newton's last step may leave."""
SAME_COVARIANCE = 1e-6
"""Relative to standard errors: covariances stand where less than the tolerance was to be gained."""
N = 12_000


@pytest.fixture(scope="module")
def swissmetro() -> ChoiceData:
    return ac.datasets.swissmetro_choices("real")


def near(data: ChoiceData, text: str) -> Start | None:
    design = Design(data, parse_specification(text).terms)
    return start_near(design.blocks(), design.n_columns, null_loglik(data))


def from_zero(monkeypatch, data: ChoiceData, text: str) -> ac.Result:
    with monkeypatch.context() as patch:
        patch.setattr(module, "WORTH", np.inf)
        return ac.fit_mnl(data, text)


def assert_same(found: ac.Result, expected: ac.Result) -> None:
    size = np.sqrt(np.diag(expected.covariances["classical"]))
    np.testing.assert_allclose(found.coefficients / size, expected.coefficients / size, atol=SAME)
    assert found.loglik == pytest.approx(expected.loglik, abs=1e-9)
    assert found.covariances.keys() == expected.covariances.keys()
    for kind, matrix in expected.covariances.items():
        size = np.sqrt(np.outer(np.diag(matrix), np.diag(matrix)))
        away = (found.covariances[kind] - matrix) / size
        np.testing.assert_allclose(away, 0.0, atol=SAME_COVARIANCE)


def table(n: int = N, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    out = pd.DataFrame(rng.normal(size=(n, 3)), columns=["x_a", "x_b", "x_c"])
    utility = out.to_numpy() + np.array([0.5, 0.0, -0.5]) + rng.gumbel(size=(n, 3))
    out["choice"] = np.array(["a", "b", "c"])[utility.argmax(axis=1)]
    out["group"] = np.where(rng.random(n) < 0.3, "new", "old")
    out["w"] = rng.uniform(0.2, 3.0, n)
    return out


def read(frame: pd.DataFrame, **options: object) -> ChoiceData:
    return ac.read_wide(
        frame,
        alternatives=["a", "b", "c"],
        choice="choice",
        attributes={"x": "x_{alt}"},
        covariates=["group"],
        **options,
    )


SPECIFIC = "a: ASC + x\nb: ASC + x\nc: x"
GROUPED = "a: ASC + ASC x group\nb: ASC\n*: x"


@pytest.mark.parametrize("model", ["R1", "R3", "R6"])
def test_estimates_are_those_of_a_climb_from_zero_in_fewer_steps(monkeypatch, swissmetro, model):
    text = ac.datasets.swissmetro_specification(model)
    assert near(swissmetro, text) is not None
    found, expected = ac.fit_mnl(swissmetro, text), from_zero(monkeypatch, swissmetro, text)
    assert_same(found, expected)
    assert found.iterations < expected.iterations


def test_the_same_data_give_the_same_digits(swissmetro):
    text = ac.datasets.swissmetro_specification("R1")
    a, b = ac.fit_mnl(swissmetro, text), ac.fit_mnl(swissmetro, text)
    np.testing.assert_array_equal(a.coefficients, b.coefficients)
    np.testing.assert_array_equal(a.covariances["cluster"], b.covariances["cluster"])


@pytest.mark.parametrize("by", ["choice", "x_a", "group"])
@pytest.mark.parametrize("text", [SPECIFIC, GROUPED])
def test_tables_in_any_order_have_the_same_estimates(monkeypatch, by, text):
    data = read(table())
    ordered = read(table().sort_values(by, kind="stable"))
    assert_same(ac.fit_mnl(ordered, text), from_zero(monkeypatch, data, text))


def test_weights_count_in_the_sample_too(monkeypatch):
    data = read(table(), weight="w")
    assert near(data, SPECIFIC) is not None
    assert_same(ac.fit_mnl(data, SPECIFIC), from_zero(monkeypatch, data, SPECIFIC))


def test_blocks_are_sampled_one_by_one(monkeypatch):
    data = read(table())
    expected = from_zero(monkeypatch, data, SPECIFIC)
    monkeypatch.setattr("ardchoice.design.design.BLOCK_BYTES", 1 << 16)
    assert near(data, SPECIFIC) is not None
    assert_same(ac.fit_mnl(data, SPECIFIC), expected)


def in_sample(n: int = N) -> np.ndarray:
    """Rows that a sample of so many has."""
    return spread_rows(n, module.ROWS / n)


def test_a_sample_without_a_level_leads_nowhere_and_all_is_estimated(monkeypatch):
    frame = table()
    frame.loc[in_sample(), "group"] = "old"
    data = read(frame)
    assert near(data, GROUPED) is None
    assert_same(ac.fit_mnl(data, GROUPED), from_zero(monkeypatch, data, GROUPED))


def test_a_sample_without_an_alternative_leads_nowhere_and_all_is_estimated(monkeypatch):
    data = read(table())
    available, choice, rows = data.available.copy(), data.choice.copy(), in_sample()
    available[2, rows], choice[rows] = False, np.minimum(choice[rows], 1)
    data = replace(data, available=available, choice=choice)
    assert near(data, SPECIFIC) is None
    assert_same(ac.fit_mnl(data, SPECIFIC), from_zero(monkeypatch, data, SPECIFIC))


def test_a_separated_sample_leads_nowhere_and_all_is_estimated(monkeypatch):
    frame = table()
    rows = in_sample()
    new = rows[(frame.loc[rows, "group"] == "new").to_numpy()]
    frame.loc[new, "choice"] = "a"
    data = read(frame)
    assert near(data, GROUPED) is None
    assert_same(ac.fit_mnl(data, GROUPED), from_zero(monkeypatch, data, GROUPED))


def test_a_start_worse_than_no_model_is_none(swissmetro):
    text = ac.datasets.swissmetro_specification("R1")
    design = Design(swissmetro, parse_specification(text).terms)
    assert start_near(design.blocks(), design.n_columns, 0.0) is None


@pytest.mark.parametrize("far", [1.0, 1e3])
def test_a_start_that_leads_astray_is_forgotten(monkeypatch, far):
    data = read(table())
    expected = from_zero(monkeypatch, data, SPECIFIC)

    def astray(blocks, n_columns, null_loglik):
        beta = np.full(n_columns, far)
        return Start(beta, one_pass(beta, blocks))

    monkeypatch.setattr("ardchoice.families.mnl.family.start_near", astray)
    assert_same(ac.fit_mnl(data, SPECIFIC), expected)


def test_few_rows_and_rows_that_are_not_kept_have_no_sample(monkeypatch, swissmetro):
    text = ac.datasets.swissmetro_specification("R1")
    assert near(swissmetro.take(np.arange(9_000)), text) is None
    monkeypatch.setattr("ardchoice.design.design.KEEP_BYTES", 0)
    assert near(swissmetro, text) is None


def test_what_cannot_be_told_apart_is_named_with_many_rows():
    with pytest.raises(ac.IdentificationError, match="Every alternative has a constant"):
        ac.fit_mnl(read(table()), "a: ASC + x\nb: ASC + x\nc: ASC + x")


@pytest.mark.parametrize("every", [3, 100, 3000])
def test_an_estimate_that_runs_away_is_named_as_from_zero(monkeypatch, every):
    frame = table()
    frame["group"] = np.where(np.arange(N) % every == 2, "new", "old")
    frame.loc[frame["group"] == "new", "choice"] = "a"
    data = read(frame)
    with pytest.raises(ac.SeparationError, match="to plus infinity") as found:
        ac.fit_mnl(data, GROUPED)
    with pytest.raises(ac.SeparationError) as expected:
        from_zero(monkeypatch, data, GROUPED)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("n", [1, 7, 1000, 10_692])
@pytest.mark.parametrize("share", [0.01, 0.15, 1 / 7, 1.0])
def test_rows_of_a_sample_ascend_and_are_there(n, share):
    rows = spread_rows(n, share)
    assert len(rows) == max(1, round(n * share))
    assert rows.min() >= 0
    assert rows.max() < n
    assert (np.diff(rows) > 0).all()


@pytest.mark.parametrize("period", range(2, 13))
def test_a_sample_has_no_period(period):
    rows = spread_rows(10_800, 1 / 9)
    share = np.bincount(rows % period, minlength=period) / len(rows)
    np.testing.assert_allclose(share, 1 / period, atol=0.02)
