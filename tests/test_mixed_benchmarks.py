"""The benchmarks of mixed logit, small: coverage of intervals, reference values, parts by name."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

PERSONS = 150
SETS = 6
Load = Callable[[str], ModuleType]


@pytest.fixture
def coverage(load: Load) -> ModuleType:
    return load("mixed_coverage")


@pytest.mark.filterwarnings("ignore::ardchoice.ArdchoiceWarning")
def test_intervals_of_a_few_sets_contain_the_truth_and_estimates_are_around_it(coverage):
    found = coverage.study(SETS, PERSONS)
    assert list(found.table.index) == list(coverage.truth())
    # Of 30 means and 18 standard deviations 5 % lie outside; more than five, or four, in one of
    # thousands of runs.
    for kind in coverage.ERRORS:
        assert found.means[kind] >= 25 / 30
        assert found.spreads[kind] >= 14 / 18
    # Student's t with five degrees of freedom.
    assert found.table["t"].abs().max() < 6.9
    # Errors are of the size of the spread over sets.
    ratio = found.table[["se", "se*"]].to_numpy() / found.table[["sd"]].to_numpy()
    assert 0.6 < float(np.exp(np.log(ratio).mean())) < 1.7
    assert "95 % intervals, cluster errors" in str(found)
    assert max(map(len, str(found).splitlines())) <= 80


def test_the_sets_are_what_they_are_said_to_be(coverage):
    data = coverage.drawn(1, PERSONS)
    assert len(data) == PERSONS * coverage.SITUATIONS
    assert data.n_persons == PERSONS


@pytest.mark.filterwarnings("ignore::ardchoice.ArdchoiceWarning")
def test_the_reference_table_has_the_exact_log_likelihood_and_estimates(load, capsys):
    (one,) = load("mixed_reference").print_references(quick=True)
    assert one.holds
    assert abs(one.difference) < 0.02
    assert one.in_errors < 0.1
    assert "held" in capsys.readouterr().out


def test_a_part_that_does_not_exist_is_refused(load, capsys):
    with pytest.raises(SystemExit):
        load("mixed").main(["rase"])
    assert "no part: rase" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore::ardchoice.ArdchoiceWarning")
def test_relevance_of_spreads_is_summed_up_over_sets(load):
    ard = load("mixed_ard")
    known = ard.Spreads(
        lam=np.array([0.5, 0.0, 0.01, 0.3]),
        p=np.array([0.001, 0.5, 0.2, 0.03]),
        truth=np.array([1.0, 0.0, 0.0, 0.6]),
        seconds=0.5,
        converged=True,
    )
    assert known.above == (4, 4)
    text = ard.summary("Newton()", [known])
    assert "λ > 0: 1.000 of 2 true, 0.500 of 2 others; λ > 0.02: 1.000, 0.000" in text
    assert "p < 0.01: 0.500 of true, 0.000 of others" in text
    one = load("mixed_sets").simulated_set(302, 2, persons=200)
    found = ard.relevance(one, ard.ac.Newton())
    assert found.converged
    right, pairs = found.above
    assert (right, pairs) == (16, 16)
