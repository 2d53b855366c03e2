"""Transforms learn the same from values one by one and from each once with how often."""

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.data import distinct
from ardchoice.data.distinct import Values, values_of, weighted_quantiles
from ardchoice.space.search import parse_transform

SAME = 1e-7
"""An exponent is found where a function is flat: to the root of rounding."""


def many(seed=0):
    return np.random.default_rng(seed).gamma(2.0, 30.0, 5000).round(0) + 1


@pytest.mark.parametrize("form", ["boxcox", "segments(4)", "quantiles(5)", "log", "piecewise(60)"])
def test_counted_values_teach_what_all_of_them_do(form):
    x, how = many(), parse_transform(form)
    once, counts = np.unique(x, return_counts=True)
    np.testing.assert_allclose(how.learn(once, counts), how.learn(x), rtol=SAME)


def test_quantiles_of_counted_values_are_those_of_all():
    x, shares = many(1), np.linspace(0, 1, 37)
    once, counts = np.unique(x, return_counts=True)
    np.testing.assert_array_equal(
        weighted_quantiles(Values(once, counts), shares), np.quantile(x, shares)
    )


def test_a_domain_is_refused_with_the_same_counts():
    x = np.array([0.0, 3.0, 0.0, 2.0, -1.0])
    once, counts = np.unique(x, return_counts=True)
    messages = []
    for values in ((x, ()), (once, (), counts)):
        with pytest.raises(Exception, match="3 of 5 values") as error:
            parse_transform("log").check(*values)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def read_data(values):
    table = pd.DataFrame({"x_a": values, "x_b": values[::-1], "choice": "a"})
    table.loc[::3, "choice"] = "b"
    return ac.read_wide(
        table, alternatives=["a", "b"], choice="choice", attributes={"x": "x_{alt}"}
    )


def test_too_many_values_are_counted_piece_by_piece(monkeypatch):
    data = read_data(many(2))
    monkeypatch.setattr(distinct, "MOST_VALUES", 100)
    monkeypatch.setattr("ardchoice.data.choices.ROWS", 64)
    found = values_of(data, data.attributes["x"], (0, 1))
    once, counts = np.unique(data.attributes["x"].values, return_counts=True)
    np.testing.assert_array_equal(found.values, once)
    np.testing.assert_array_equal(found.counts, counts)


def test_beyond_that_values_are_rounded_to_five_digits(monkeypatch):
    values = np.random.default_rng(3).lognormal(size=3000)
    data = read_data(values)
    monkeypatch.setattr(distinct, "MOST_VALUES", 100)
    monkeypatch.setattr(distinct, "MOST_DISTINCT", 500)
    found = values_of(data, data.attributes["x"], (0,))
    assert found.counts.sum() == 3000
    np.testing.assert_allclose(
        np.repeat(found.values, found.counts), np.sort(values), rtol=1 / 2**17
    )
    exact, nearly = (
        parse_transform("boxcox").learn(*pair)[0]
        for pair in ((values, None), (found.values, found.counts))
    )
    assert abs(exact - nearly) < 1e-5
