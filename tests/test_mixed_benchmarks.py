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
